"""What a reader of a result must know of it, in words."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from acceptance.references import PARAMETERS, Claim, Side, write_parameters
from acceptance.relations.pairs import Pair, SideResults
from acceptance.relations.results import FOLLOWING, Value


def missing(claim: Claim, lacks: dict[str, str]) -> str:
    """Say of each side that has no value what it lacks."""
    return "; ".join(
        f"{name}: {'only values that are not above zero' if lack == 'zero' else lack} of "
        f"{described(claim, claim.named[name])}"
        for name, lack in lacks.items()
        if lack
    )


def described(claim: Claim, side: Side) -> str:
    """Return what a side speaks of: partition, benchmark, metric and keys; of a quotient both."""
    if side.over is not None:
        above, below = replace(side, over=None), side.over
        return f"{described(claim, above)} / {described(claim, below)}"
    benchmark, metric, keys = claim.stated(side)
    which = "any partition" if claim.kind.shape == "machines" else "any other partition"
    where = side.fullname if side.partition else f"{which} of {side.system}"
    return " ".join(filter(None, (where, benchmark, metric, write_parameters(keys))))


def disagreement(left: SideResults, right: SideResults, varied: Collection[str]) -> str:
    """Name the keys in which the results of the two sides never agree."""
    differ = []
    for key in PARAMETERS:
        if key in varied or key in FOLLOWING:
            continue
        values = [
            {series.keys[key] for series in side.measured if key in series.keys}
            for side in (left, right)
        ]
        if all(values) and not values[0] & values[1]:
            texts = [
                ",".join(sorted(words, key=lambda text: (len(text), text))) for words in values
            ]
            differ.append(f"{key} ({texts[0]} against {texts[1]})")
    what = ", ".join(differ) or "all of their keys at once"
    return f"no two results of the sides agree in {what}"


def several(
    left: SideResults, right: SideResults, compared: Sequence[Pair], window: float
) -> Iterator[str]:
    """Say of how many sessions and environments results were chosen; `window` is in days."""
    if max(left.sessions, right.sessions) > 1:
        yield (
            f"{left.sessions} sessions match on the left, {right.sessions} on the right: the "
            f"newest passing pair within {window:g} days was taken"
        )
    used = {value.environment for pair in compared for value in (pair.left, pair.right)}
    measured = {series.environment for side in (left, right) for series in side.measured}
    if others := sorted(measured - used):
        yield f"also measured with {', '.join(others)}"


def left_out(sides: Mapping[str, SideResults], left: Value, right: Value) -> Iterator[str]:
    """Say how many cases failed since, and how many values nothing can have measured."""
    newer = sum(
        time >= (left if name.startswith("left") else right).time
        for name, side in sides.items()
        for time in side.failed
    )
    if newer:
        yield f"{newer} failed {'case' if newer == 1 else 'cases'} of these or later sessions"
    if zeros := sum(side.impossible for side in sides.values()):
        yield f"{zeros} {'value' if zeros == 1 else 'values'} not above zero left out"


def curve(points: Sequence[Value], along: str) -> str:
    """Return the points of a curve: `np 2, 4, 8: 1.5, 1.7, 2 us`."""
    places = ", ".join(value.keys[along] for value in points)
    return (
        f"{along} {places}: {', '.join(f'{value.value:.4g}' for value in points)} {points[0].unit}"
    )


def quotient(value: Value) -> str:
    """Return what a quotient is made of: `mine:new 5 us / mine:old 10 us`."""
    return " / ".join(f"{part.partition} {part.value:.4g} {part.unit}" for part in value.parts)


def group(points: Sequence[Value]) -> str:
    """Return the quotients of several machines: `saini2006:nec-sx8 1.2, ...`."""
    ordered = sorted(points, key=lambda value: value.partition)
    return ", ".join(f"{value.partition} {value.value:.4g}" for value in ordered)


def differing(pair: Pair, varied: Collection[str]) -> Iterator[str]:
    """Say in what the two results differ that the claim does not speak of."""
    if pair.left.environment != pair.right.environment and "environment" not in varied:
        yield f"environments {pair.left.environment} against {pair.right.environment}"
    for key in pair.differing(varied):
        sides = [value.keys.get(key, "?") for value in (pair.left, pair.right)]
        yield f"{key} {sides[0]} against {sides[1]}"

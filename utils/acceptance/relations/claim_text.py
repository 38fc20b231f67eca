"""What a reader of a result must know of it, in words."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from acceptance.references import PARAMETERS, Claim, Side, write_parameters
from acceptance.relations.pairs import Pair, SideResults
from acceptance.relations.results import FOLLOWING, Result


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
        first, second = (
            {series.keys[key] for series in side.series if key in series.keys}
            for side in (left, right)
        )
        if first and second and not first & second:
            texts = (
                ",".join(sorted(words, key=lambda text: (len(text), text)))
                for words in (first, second)
            )
            differ.append(f"{key} ({' against '.join(texts)})")
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
    used = {result.series.environment for pair in compared for result in pair}
    measured = {series.environment for side in (left, right) for series in side.series}
    if others := sorted(measured - used):
        yield f"also measured with {', '.join(others)}"


def left_out(sides: Mapping[str, SideResults], left: Result, right: Result) -> Iterator[str]:
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


def curve(points: Sequence[Result], along: str) -> str:
    """Return the points of a curve: `np 2, 4, 8: 1.5, 1.7, 2 us`."""
    places = ", ".join(result.series.keys[along] for result in points)
    values = ", ".join(f"{result.value:.4g}" for result in points)
    return f"{along} {places}: {values} {points[0].series.unit}"


def quotient(result: Result) -> str:
    """Return what a quotient is made of: `mine:new 5 us / mine:old 10 us`."""
    return " / ".join(
        f"{part.series.partition} {part.value:.4g} {part.series.unit}"
        for part in result.series.parts
    )


def group(points: Sequence[Result]) -> str:
    """Return the quotients of several machines: `saini2006:nec-sx8 1.2, ...`."""
    values = {result.series.partition: result.value for result in points}
    return ", ".join(f"{partition} {value:.4g}" for partition, value in sorted(values.items()))


def differing(pair: Pair, varied: Collection[str]) -> Iterator[str]:
    """Say in what the two results differ that the claim does not speak of."""
    left, right = (result.series for result in pair)
    if left.environment != right.environment and "environment" not in varied:
        yield f"environments {left.environment} against {right.environment}"
    for key in pair.differing(varied):
        yield f"{key} {left.keys.get(key, '?')} against {right.keys.get(key, '?')}"

"""Claims: does a relation that a paper, or a site, states between two results hold here?

How a claim is evaluated is documented in `reference/README.md`; `acceptance.relations.pairs` says
which results are compared, `acceptance.relations.claim_comparisons` what of them. Claims of a real
system can be evaluated on the results of its model.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from msgspec import structs

from acceptance.core.errors import Fault
from acceptance.core.text import there_are
from acceptance.core.words import is_simulated, model_of, read_metric
from acceptance.ledger import Ledger, last_first, reading
from acceptance.ledger.reading import Run
from acceptance.references import (
    Claim,
    Library,
    ReferenceFault,
    Side,
    Tolerances,
    beyond,
    is_input,
    write_parameters,
)
from acceptance.relations import pairs
from acceptance.relations.claim_comparisons import DAY, Evaluation, described
from acceptance.relations.pairs import Figure, Incomparable, Places, Result, asked_by, gather

#: Days that the two results of a pair may lie apart.
WINDOW = 30.0

HOLDS, FAILS, NOT_MEASURED = "holds", "fails", "not measured"
#: Of the model of a system: what it lacks is the reason.
BEYOND_MODEL = "cannot be said"


@dataclass(frozen=True)
class ClaimResult:
    """Whether a claim holds.

    `left`, `right` and `ours`, the figure that they give, are those of the pair that decides;
    `held` of `compared` pairs are as claimed. Of a curve or of several machines they are the two
    `points` that decide, and curves or groups are counted; of quotients `points` are their parts.
    `reason` says in two or three words why nothing was compared, `detail` in full.
    """

    claim: Claim
    state: str
    left: Result | None = None
    right: Result | None = None
    ours: Figure | None = None
    held: int = 0
    compared: int = 0
    reason: str = ""
    detail: str = ""
    note: str = ""
    points: tuple[Result, ...] = ()
    #: Of the model of a system: the results are an input of the model.
    of_input: bool = False

    @property
    def fails_expected(self) -> bool:
        """Tell whether this is a failure of a claim that the system must fulfil."""
        return self.claim.expected and self.state == FAILS


def evaluate(
    claims: Sequence[Claim],
    sessions: Iterable[Iterable[Run]],
    tolerances: Tolerances,
    window: float = WINDOW,
) -> list[ClaimResult]:
    """Evaluate claims on the runs of sessions; the results are in the order of the claims.

    `window` is in days. Each session is looked at once; cases that failed, and fixtures, give no
    value. Raises ReferenceFault when nothing says how far the figure of a claim may be off.
    """
    places = gather(sessions)
    return [_evaluate(claim, places, tolerances, window * DAY) for claim in claims]


def _evaluate(claim: Claim, places: Places, tolerances: Tolerances, seconds: float) -> ClaimResult:
    try:
        evaluation = Evaluation(claim, places, tolerances, seconds)
        judged, notes = evaluation.judge()
    except Incomparable as err:
        return ClaimResult(claim, NOT_MEASURED, reason=err.reason, detail=err.detail)
    margins = [(each.margin, each.figure[0]) for each in judged]
    held = [pairs.holds(claim.relation, *each) for each in margins]
    number = pairs.deciding(claim.relation, claim.value, margins)
    one = judged[number]
    return ClaimResult(
        claim,
        HOLDS if held[number] else FAILS,
        *one[:3],
        sum(held),
        len(judged),
        note="; ".join([*notes, *evaluation.about(one)]),
        points=one.points,
    )


#: What `systems.csv` says of a partition that the model knows, too.
_FABRIC = ("technology", "rate", "lanes", "pcie", "pcie_lanes")


def of_model(claims: Iterable[Claim], system: str) -> list[Claim]:
    """Return the claims of which both sides are of a real system as claims of its model.

    None of them is expected to hold: no machine fulfils or breaks it.
    """
    real = model_of(system)
    return [
        structs.replace(
            claim,
            left=_moved(claim.left, system),
            right=claim.right and _moved(claim.right, system),
            expected=False,
        )
        for claim in claims
        if {side.system for side in claim.sides} == {real}
    ]


def _moved(side: Side, system: str) -> Side:
    return replace(side, system=system, over=side.over and _moved(side.over, system))


def _evaluate_on_model(
    claims: Sequence[Claim], sessions: Iterable[Iterable[Run]], library: Library, window: float
) -> list[ClaimResult]:
    """Evaluate claims of `of_model`: those that the model can say anything of, on such results."""
    within = (map(_within, runs) for runs in sessions)
    results = evaluate(claims, within, library.tolerances, window)
    return [
        replace(
            _told(claim, library) or result,
            of_input=all(is_input(*claim.stated(side)[1:]) for side in claim.sides),
        )
        for claim, result in zip(claims, results, strict=True)
    ]


def _told(claim: Claim, library: Library) -> ClaimResult | None:
    """Return that the model cannot say whether a claim holds, and why; None where it can."""
    lacks = {name: beyond(*claim.stated(side)) for name, side in claim.named.items()}
    if claim.right and _is_one_fabric(claim.left, claim.right, library):
        lacks["left and right"] = "processor"
    for name, lacking in lacks.items():
        if lacking:
            detail = f"{name}: the model has no {lacking}"
            return ClaimResult(claim, BEYOND_MODEL, reason=lacking, detail=detail)
    return None


def _is_one_fabric(left: Side, right: Side, library: Library) -> bool:
    """Tell whether two partitions differ in nothing that the model knows: it takes them for one."""
    if left.partition == right.partition:
        return False
    names = (f"{model_of(side.system)}:{side.partition}" for side in (left, right))
    known = [library.partitions[name] for name in names if name in library.partitions]
    facts = [[each[column] for column in _FABRIC] for each in known]
    return len(facts) > 1 and facts[0] == facts[1]


def _within(run: Run) -> Run:
    """Return a run with only those metrics that the model can say anything of."""
    metrics = [
        metric
        for metric in run.metrics
        for stem, own in (read_metric(metric[0]),)
        if beyond(run.benchmark, stem, {**run.keys, **own}) is None
    ]
    return run._replace(metrics=metrics)


def evaluate_database(
    library: Library,
    past: Ledger,
    configured: Callable[[], Iterable[Mapping[str, Any]]],
    system: str | None,
    window: float,
) -> list[ClaimResult]:
    """Evaluate the claims of a library on a ledger.

    Of a `system`, those that name it; of a simulated one, those of the system that it models.
    `configured` returns the systems of the configuration, where they are needed. Claims of a site
    may name what is in systems.csv, in the configuration, and what results exist of: a partition
    that an upgrade has replaced is in no configuration any more. Raises Fault for a system that
    none of these knows, and the faults of what is read.
    """
    simulated = is_simulated(system or "")
    claims = [
        claim
        for claim in (of_model(library.claims, system) if system and simulated else library.claims)
        if system in (None, *(side.system for side in claim.sides))
    ]
    for fault in past.faults:
        raise fault
    partitions = reading.partitions(past, reading.ALL, None)
    measured = {f"{name}:{partition}" for _, name, partition, _ in partitions}
    sessions = reading.runs(past, last_first(past.entries), asked_by(claims))
    if simulated:
        found = _evaluate_on_model(claims, sessions, library, window)
    else:
        found = evaluate(claims, sessions, library.tolerances, window)
    known = {*library.partitions, *measured}
    if _unknown(library.claims, known) or system not in (None, *_systems(known)):
        known |= {
            f"{entry['name']}:{partition['name']}"
            for entry in configured()
            for partition in entry["partitions"]
        }
    for claim, side in _unknown(library.claims, known)[:1]:
        raise ReferenceFault(
            f"there is no partition {side.fullname!r}; {there_are(side.fullname, sorted(known))}",
            where=str(claim.path),
            number=claim.line,
        )
    systems = sorted(_systems(known))
    if system is not None and system not in systems:
        raise Fault(f"no system {system!r}; {there_are(system, systems)}")
    return found


def _systems(partitions: Iterable[str]) -> set[str]:
    return {name.partition(":")[0] for name in partitions}


def _unknown(claims: Iterable[Claim], known: Collection[str]) -> list[tuple[Claim, Side]]:
    """Return the sides of claims of a partition, or all of a system, that nobody knows."""
    systems = _systems(known)
    return [
        (claim, side)
        for claim in claims
        for side in claim.sides
        if side.fullname not in known and (side.partition or side.system not in systems)
    ]


def as_data(results: Sequence[ClaimResult]) -> dict[str, Any]:
    """Return all results, and their counts, as plain data."""
    states = Counter(result.state for result in results)
    return {
        "counts": {
            **{state: states[state] for state in (HOLDS, FAILS, NOT_MEASURED)},
            **({BEYOND_MODEL: states[BEYOND_MODEL]} if BEYOND_MODEL in states else {}),
        },
        "failed_expected": sum(result.fails_expected for result in results),
        "claims": [_data(result) for result in results],
    }


def _data(result: ClaimResult) -> dict[str, Any]:
    claim = result.claim
    return {
        **_fields(claim, "paper", "where", "source", "expected"),
        "line": f"{claim.path}:{claim.line}",
        "claimed": {
            "left": described(claim, claim.left),
            "right": described(claim, claim.right) if claim.right else "",
            **_fields(claim, "relation", "value", "unit", "printed"),
        },
        **_fields(result, "state", "held", "compared", "reason", "detail", "note", "of_input"),
        "left": _value(result.left),
        "right": _value(result.right),
        "ours": result.ours and {"value": result.ours[0], "unit": result.ours[1]},
        "points": [_value(each) for each in result.points],
    }


def _fields(record: Claim | ClaimResult, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _value(result: Result | None) -> dict[str, Any] | None:
    if result is None:
        return None
    series, time = result.series, datetime.fromtimestamp(result.time, timezone.utc)
    return {
        "partition": series.partition,
        "environment": series.environment,
        "benchmark": series.benchmark,
        "metric": series.metric,
        "keys": {key: text for key, text in series.keys.items() if key != "message_size"},
        "value": result.value,
        "unit": series.unit,
        "session": result.session,
        "time": time.isoformat(timespec="seconds"),
    }


def what(result: ClaimResult) -> str:
    """Return what both sides share: benchmark, metric and keys, as far as they are the same."""
    if result.left is None or result.right is None:
        return ""
    left, right = result.left.series, result.right.series
    common = {key: value for key, value in left.keys.items() if right.keys.get(key) == value}
    common.pop("message_size", None)
    names = [
        first if first == second else f"{first} / {second}"
        for first, second in ((left.benchmark, right.benchmark), (left.metric, right.metric))
    ]
    return " ".join(filter(None, (*names, write_parameters(common))))


def side(result: ClaimResult, name: str) -> str:
    """Return a side: where, in which keys it differs from the other one, and its value."""
    left, right = result.left, result.right
    if left is None or right is None:
        stated = getattr(result.claim, name)
        return described(result.claim, stated) if stated else ""
    own, other = (left, right) if name == "left" else (right, left)
    keys, others = ({**each.series.keys, "environment": each.series.environment}
                    for each in (own, other))  # fmt: skip
    differing = {
        key: text for key, text in keys.items() if others.get(key) != text and key != "message_size"
    }
    where = ";".join(filter(None, (own.series.partition, write_parameters(differing))))
    return f"{where}: {_number(own.value, own.series.unit)}"


def published(result: ClaimResult) -> str:
    """Return the relation as it is stated: `>= 20 %`, `in 43..55 %`, `better`."""
    claim = result.claim
    value = "..".join(f"{bound:g}" for bound in claim.value)
    return " ".join(filter(None, (claim.relation, value, claim.unit)))


def ours(result: ClaimResult) -> str:
    """Return the figure that the results give."""
    return _number(*result.ours) if result.ours else ""


def note(result: ClaimResult) -> str:
    """Return what is to be known of the result, or why there is none."""
    return result.note if result.left else f"{result.reason}: {result.detail}"


def _number(value: float, unit: str) -> str:
    return f"{value:.5g}" + ("" if unit == "1" else f" {unit}")

"""What came of a fault on a partition: who saw it, what was named, and what ±10 % would have said.

All of it is read as data: kinds of observations, culprits, references of metrics, and values.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from acceptance.core import words
from acceptance.core.text import one_line
from acceptance.core.words import direction
from acceptance.fabric.kinds import BENCHMARK as VIEW
from acceptance.ledger import Case
from acceptance.nodes import FAILING
from acceptance.nodes.culprit import CABLE, NOT_JUDGED
from acceptance.references import source_of
from acceptance.simulation import Injected
from acceptance.verdict import PartitionNodes, Verdict

#: The loss in the metric that a fault touches from which it must be seen.
MUST_BE_SEEN = 0.05
#: What plain references allow on either side of the healthy system's values.
PLAIN = 0.10
#: A change that is none: digits that are not printed.
NOTHING = 0.005
#: What was named: the right cause and no other one, another one, none; or it could not be told.
RIGHT, WRONG, NONE, UNTOLD = "right", "wrong", "none", "cannot be told"


@dataclass(frozen=True)
class Named:
    """What a check named as the cause: a kind, and the places of it."""

    kind: str
    places: tuple[str, ...]
    text: str
    fails: bool = True


@dataclass(frozen=True)
class Outcome:
    """What was seen of a fault on a partition.

    `why_not` says why there can be no such fault there, `not_run` why nobody looked at it although
    there can; nothing else is told then. `by`: what saw it -> the cases; `noted`: what was named
    there without failing anything. `loss` is the largest one of any metric, a fraction of the
    healthy value; below 0 all became better. `plain` are the metrics that references of the healthy
    system and ±10 % would have failed. It is of the last of so many `nights` with the fault.
    """

    fault: str
    partition: str
    why_not: str = ""
    not_run: str = ""
    by: dict[str, list[str]] = field(default_factory=dict)
    noted: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    named: tuple[Named, ...] = ()
    cause: str = NONE
    metric: str = ""
    loss: float = 0.0
    plain: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    nights: int = 1

    @property
    def applied(self) -> bool:
        """Tell whether cases ran with it, and were compared with those of the healthy system."""
        return not self.why_not and not self.not_run

    @property
    def seen(self) -> bool:
        """Tell whether anything failed because of it."""
        return bool(self.by)

    @property
    def missed(self) -> bool:
        """Tell whether it costs enough that it had to be seen, and was not."""
        return self.applied and not self.seen and self.loss >= MUST_BE_SEEN

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            **asdict(self),
            "applied": self.applied,
            "seen": self.seen,
            "missed": self.missed,
        }


def outcomes(
    injected: Injected, healthy: Sequence[Case], faulty: Sequence[Case], verdict: Verdict
) -> Iterator[Outcome]:
    """Yield what was seen of a fault, for each partition that the healthy system ran on, too."""
    partitions = dict.fromkeys(f"{case.system}:{case.partition}" for case in (*healthy, *faulty))
    for partition in partitions:
        of = [each for each in faulty if f"{each.system}:{each.partition}" == partition]
        before = [each for each in healthy if f"{each.system}:{each.partition}" == partition]
        why_not = next(
            (case.provenance["no_fault"] for case in of if "no_fault" in case.provenance), ""
        )
        if any("fault" in case.provenance for case in of):
            yield _outcome(injected, partition, before, of, verdict)
        elif why_not:
            why = why_not.partition(": ")[2] or why_not
            yield Outcome(str(injected), partition, why_not=why)
        else:
            yield Outcome(str(injected), partition, not_run=_not_run(of))


def _not_run(cases: Sequence[Case]) -> str:
    """Say why no case ran with a fault: in the words of the first one that failed, if there is."""
    failed = (case for case in cases if not case.passed and case.fail_reason)
    reason = next((f": {one_line(case.fail_reason)}" for case in failed), "")
    return f"no case ran with it{reason}"


def _outcome(
    injected: Injected,
    partition: str,
    healthy: Sequence[Case],
    faulty: Sequence[Case],
    verdict: Verdict,
) -> Outcome:
    cases = [case for case in faulty if not case.fixture]
    by: dict[str, list[str]] = {}
    for what, case in _seen(cases, partition, verdict):
        if case not in by.setdefault(what, []):
            by[what].append(case)
    said = dict.fromkeys(_named(cases, partition, verdict))
    # What fails nothing says of a fault what its kind does; all else is there without it, too.
    named = tuple(each for each in said if each.fails or each.kind in injected.fault.kinds)
    at = next((case.provenance["fault_at"] for case in cases if "fault_at" in case.provenance), "")
    changes = sorted(_changes(healthy, cases), reverse=True)
    if not changes and not by and not named:
        why = "no metric can be compared with one of the healthy system"
        return Outcome(str(injected), partition, not_run=why)
    worst = changes[0] if changes else (0.0, "")
    if changes and worst[0] < NOTHING < -changes[-1][0]:
        worst = changes[-1]
    # What moved most: that which judges exactly fails the last digit of a metric, too.
    stems = {words.read_metric(name.rpartition(": ")[2])[0] for change, name in changes
             if change >= max(MUST_BE_SEEN, worst[0] / 2)}  # fmt: skip
    return Outcome(
        fault=str(injected),
        partition=partition,
        by=by,
        failed=tuple(case.name for case in cases if not case.passed),
        named=named,
        cause=_cause(injected, named, at.split(","), stems, partition, verdict),
        noted=tuple(dict.fromkeys(each.kind for each in named if not each.fails)),
        metric=worst[1],
        loss=worst[0],
        plain=tuple(name for change, name in changes if abs(change) > PLAIN),
        problems=tuple(each.text for each in verdict.problems),
    )


def _seen(cases: Sequence[Case], partition: str, verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Yield what saw that something is wrong, and in which case."""
    for case in cases:
        kinds = {each.kind for each in case.findings if each.fails}
        if case.suite == "fabric" and kinds:
            yield "whole fabric" if case.benchmark == VIEW else "link check", case.name
        if "misplaced" in kinds:
            yield "placement", case.name
        for metric in case.metrics:
            if not metric.passed:
                yield source_of(metric.judged_by) or "reference", case.name
        if not case.passed and not case.metrics and not kinds:
            yield "not measured", case.name
    for finding in _nodes(partition, verdict).findings:
        if finding.kind in FAILING:
            yield "culprit", ", ".join(finding.nodes) or finding.device
    for alert in verdict.alerts:
        if alert.finding.of_history and alert.finding.partition == partition:
            yield "history", alert.finding.subject


def _nodes(partition: str, verdict: Verdict) -> PartitionNodes:
    return verdict.nodes.get(partition, PartitionNodes(partition))


def _named(cases: Sequence[Case], partition: str, verdict: Verdict) -> Iterator[Named]:
    """Yield what the checks named: links and ranks of nodes, counters, and culprits."""
    for case in cases:
        if case.suite == "fabric":
            for each in case.findings:
                # Of a cable that is elsewhere these are the nodes at its ends.
                places = tuple((each.node or each.device).split(","))
                yield Named(each.kind, places, each.text, each.fails)
        for each in case.findings:
            if each.kind == "misplaced":
                yield Named(each.kind, (), each.text)
    for measured in _nodes(partition, verdict).all_pairs:
        for each in measured.culprits:
            if each.fails:
                # Of an uplink the first ones share it; the others are who they are slow with.
                both = (*each.nodes, *each.others)
                ends = both if each.kind == CABLE else each.nodes or each.others
                yield Named(each.kind, ends, f"{partition}: {each.text}")


def _cause(
    injected: Injected,
    named: Sequence[Named],
    at: Sequence[str],
    stems: set[str],
    partition: str,
    verdict: Verdict,
) -> str:
    """Judge what was named: the kind that tells this fault, at its place, and nowhere else."""
    fault, place = injected.fault, injected.place
    right = [each for each in named if each.kind in fault.kinds and _is_at(each, at)]
    others = [each for each in named if not _is_at(each, at)]
    if others:
        return WRONG
    if right:
        return RIGHT
    if not fault.kinds:
        moved = {stem.partition("_")[0] for stem in stems}
        return RIGHT if moved and moved <= {*fault.stems} and not named else NONE
    if place and fault.where != "uplink" and _too_few(partition, verdict):
        return UNTOLD
    return NONE


def _too_few(partition: str, verdict: Verdict) -> bool:
    """Tell whether nobody can say whose fault a slow pair is."""
    measured = _nodes(partition, verdict).all_pairs
    return bool(measured) and all(
        any(each.kind == NOT_JUDGED and each.nodes for each in pairs.culprits) for pairs in measured
    )


def _is_at(named: Named, at: Sequence[str]) -> bool:
    """Tell whether what was named is at the place of the fault, or on the way that it is on."""
    return {name.partition("[")[0] for name in named.places} <= {*at}


def _changes(healthy: Sequence[Case], faulty: Sequence[Case]) -> Iterator[tuple[float, str]]:
    """Yield by which fraction each metric is worse than that of the healthy system, and its name.

    One that became better has a negative one.
    """
    before = {
        (case.name, case.environment, metric.name): metric.value
        for case in healthy
        for metric in case.metrics
    }
    for case in faulty:
        for metric in case.metrics:
            value = before.get((case.name, case.environment, metric.name))
            if not value or metric.unit == "1":
                continue
            change = metric.value / value - 1
            worse = change if direction(metric.unit) == "lower" else -change
            yield worse, f"{case.name}: {metric.name}"

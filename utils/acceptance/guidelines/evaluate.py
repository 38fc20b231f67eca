"""Guidelines: what an MPI must satisfy on any machine, whether or not a reference exists for it.

A specialised operation is no slower than others that do its work, for a library could call those:
`Allgather <= Gather + Bcast`. A larger message is not faster than a smaller one, for that could be
padded, and 2n bytes cost at most two messages of n. Source: Traeff, Gropp, Thakur,
"Self-consistent MPI performance guidelines", IEEE TPDS 21(5), 2010. What is compared with what, in
which sizes, is in `acceptance.guidelines.comparisons`.

Noise: the tolerance comes from the measured spread (`acceptance.guidelines.sweeps`) of all
times on both sides. A violation at a single size must exceed a larger one, and stand out more than
single values of the other benchmarks on the same ranks do: on a busy machine, now and then a
repetition waits. Where three earlier sessions or more compared that size, one of them must have
found it violated.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from acceptance.core.extras import GUIDELINES, PartitionExtras
from acceptance.guidelines.comparisons import Comparer, Comparison, Instance
from acceptance.guidelines.findings import Report, Violation
from acceptance.guidelines.sweeps import LEAST_VALUES, Collected, collect
from acceptance.rfm import Session
from acceptance.rfm import configuration as site
from acceptance.rfm import database as results

#: Standard deviations of the ratio of both sides that a violation exceeds: 3 let pass one in 740 of
#: normally distributed ratios, and two adjacent ones at once hardly ever.
DEVIATIONS = 3.0
#: The same at a single size: a session makes hundreds of comparisons, whose errors have long tails.
DEVIATIONS_SINGLE = 6.0
#: No ratio below is a violation, however smooth the sweeps: a whole run of a benchmark may lie some
#: per cent beside the next one, for the place of its buffers, which no roughness shows.
FLOOR = 1.10
#: The same at a single size, and where nothing tells the spread.
FLOOR_SINGLE = 1.50
#: Earlier sessions that count; with more a machine that has become quiet would stay noisy.
EARLIER = 20

#: In `extras["guidelines"]` of a partition: whether a finding is shown, or fails the session.
SHOW, FAIL = GUIDELINES


def evaluate(session: Session, earlier_sessions: Iterable[Session] = ()) -> Report:
    """Compare the collectives and messages of a session with the guidelines.

    `earlier_sessions`, of any number, tell how far values differ between sessions, and which
    violations were there before.
    """
    sessions = list(earlier_sessions)
    past = [_Evaluation(collect(other), other.uuid) for other in sessions]
    evaluation = _Evaluation(collect(session, sessions), session.uuid, past)
    return Report(
        tuple(evaluation.findings),
        evaluation.comparer.compared,
        evaluation.single,
        dict(evaluation.comparer.skipped),
    )


def tolerance(comparison: Comparison) -> float:
    """Return what a ratio must exceed that is one of several adjacent ones."""
    if comparison.spread is None:
        return FLOOR_SINGLE
    return max(FLOOR, math.exp(DEVIATIONS * comparison.spread))


def tolerance_single(comparison: Comparison, jump: float) -> float:
    """Return what a ratio at a single size must exceed, where others stand out by `jump` (ln)."""
    spread = comparison.spread or 0.0
    return max(FLOOR_SINGLE, math.exp(max(DEVIATIONS_SINGLE * spread, jump)))


class _Evaluation:
    """The evaluation of one session: its findings and counts; `past` are those of earlier ones.

    `violated` has id of a guideline in a place -> size -> whether it was violated there.
    """

    def __init__(self, found: Collected, session: str, past: Sequence["_Evaluation"] = ()) -> None:
        self.found = found
        self.session = session
        self.past = past
        self.comparer = Comparer(found)
        self.findings: list[Violation] = []
        self.violated: dict[str, dict[int, bool]] = {}
        self.single = 0
        for group in found.groups():
            for instance in self.comparer.instances(group):
                self.conclude(instance)

    def conclude(self, instance: Instance) -> None:
        """Make findings of the comparisons of one guideline in one place."""
        self.violated[instance.id] = {c.size: c.factor > tolerance(c) for c in instance.comparisons}
        number = 0
        for run in _runs(instance.comparisons):
            worst = max(run, key=lambda comparison: comparison.factor)
            seen, sessions = self.before(instance.id, worst.size)
            bound = tolerance(worst)
            if len(run) == 1:
                bound = tolerance_single(worst, self.jump(instance, worst.left.message_size))
                if worst.factor <= bound or (sessions >= LEAST_VALUES and not seen):
                    self.single += 1
                    continue
            number += 1
            key = instance.sweeps[0].key
            self.findings.append(
                Violation(
                    id=instance.id + (f"#{number}" if number > 1 else ""),
                    guideline=instance.text,
                    suite=key.group.suite,
                    where=key.group.where,
                    np=int(key.keys["np"]),
                    keys=key.keys,
                    cases=tuple(sweep.name for sweep in instance.sweeps),
                    sizes=tuple(comparison.size for comparison in run),
                    smallest=run[0].size,
                    largest=run[-1].size,
                    worst=worst.size,
                    left=worst.left,
                    right=worst.right,
                    left_value=worst.left.value,
                    right_value=worst.right_value,
                    unit=worst.unit,
                    factor=worst.factor,
                    tolerance=bound,
                    session=self.session,
                    seen=seen,
                    sessions=sessions,
                )
            )

    def before(self, what: str, size: int) -> tuple[int, int]:
        """Count the earlier sessions that found a size violated, and those that compared it."""
        found = [e.violated[what][size] for e in self.past if size in e.violated.get(what, ())]
        return sum(found), len(found)

    def jump(self, instance: Instance, size: int) -> float:
        """Return ln of how far single values stand out on these ranks, besides the one in question.

        The second largest of the sweeps' largest: one benchmark with a fault hides no other one.
        """
        own = instance.sweeps[0]
        largest = sorted(
            sweep.largest_jump(besides=size if sweep is own else None)
            for sweep in self.found.of(own.key.group)
        )
        return largest[-2] if len(largest) > 1 else 0.0


def _runs(compared: Sequence[Comparison]) -> list[list[Comparison]]:
    """Return the violations among comparisons in the order of size, adjacent ones together."""
    runs: list[list[Comparison]] = []
    last = 0
    for comparison in compared:
        if comparison.factor <= tolerance(comparison):
            continue
        if runs and comparison.size == 2 * last:
            runs[-1].append(comparison)
        else:
            runs.append([comparison])
        last = comparison.size
    return runs


def earlier(database: Path, session: Session) -> list[Session]:
    """Return the sessions that ended before this one, the last ones first, `EARLIER` at most.

    Malformed ones are left out: the history names them. Raises ResultsFault when the database
    cannot be read.
    """
    before = (
        other
        for other in results.sessions(database, faults=[])
        if other.uuid != session.uuid and other.end <= session.end
    )
    return list(islice(before, EARLIER))


def judge(
    session: Session, configuration: site.Site, earlier_sessions: Iterable[Session] = ()
) -> tuple[Report, tuple[Violation, ...]]:
    """Return what came of the guidelines, and those findings whose partition has them fail.

    Raises ExtrasFault when a partition states what cannot be, anything else than SHOW or FAIL say.
    """
    asked = {}
    measured = {case.system for case in session.cases}
    for system in (system for system in configuration.systems if system["name"] in measured):
        for partition in system["partitions"]:
            name = f"{system['name']}:{partition['name']}"
            asked[name] = PartitionExtras.read(partition.get("extras", {}), name).guidelines
    report = evaluate(session, earlier_sessions)
    return report, tuple(f for f in report.findings if asked.get(f.partition) == FAIL)

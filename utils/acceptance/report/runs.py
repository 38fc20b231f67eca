"""Runs as people count them: a session by hand, or all sessions of a campaign, with its verdict."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from acceptance.core.words import SIMULATED
from acceptance.ledger import Case, Metric, Session, campaign_of
from acceptance.report.source import Source
from acceptance.verdict import WORDS, Status, Verdict


class Outcome(str, Enum):
    """What became of a case; only what was judged and passed is green."""

    GREEN = "green"
    RED = "red"
    NOT_JUDGED = "not judged"
    NOT_MEASURED = "not measured"

    @property
    def look(self) -> str:
        """Return the class of its style."""
        return {"green": "good", "red": "bad", "not judged": "open", "not measured": "none"}[self]


#: ReFrame's results of executions that ended, and were no success.
_FAILED = ("fail", "xpass")


def outcome(executions: Iterable[Case]) -> Outcome:
    """Return what became of a case by all of its executions: a repetition hides no failure."""
    results = [each.result for each in executions]
    if any(result in _FAILED for result in results):
        return Outcome.RED
    passed = [each for each in executions if each.passed]
    if not passed:
        expected = "xfail" in results
        return Outcome.NOT_JUDGED if expected else Outcome.NOT_MEASURED
    judged = any(metric.reference is not None for each in passed for metric in each.metrics)
    return Outcome.GREEN if judged else Outcome.NOT_JUDGED


@dataclass(frozen=True)
class Ran:
    """A case of a run: all of its executions, and where the last one stands."""

    session: Session
    number: int
    executions: tuple[Case, ...]

    @property
    def case(self) -> Case:
        """Return its last execution."""
        return self.executions[-1]

    @cached_property
    def outcome(self) -> Outcome:
        """Return what became of it."""
        return outcome(self.executions)

    @property
    def key(self) -> tuple[str, str]:
        """Return what is the same in each run: where it ran, and its name."""
        return self.case.where, self.case.name


@dataclass(frozen=True)
class Run:
    """Sessions that have one verdict, the newest first; `verdict` is None where nobody judged."""

    key: str
    sessions: tuple[Session, ...]
    verdict: Verdict | None

    @property
    def end(self) -> float:
        """Return when it ended, s since the epoch."""
        return max(each.end for each in self.sessions)

    @property
    def start(self) -> float:
        """Return when it began, s since the epoch."""
        return min(each.start for each in self.sessions)

    @cached_property
    def cases(self) -> tuple[Ran, ...]:
        """Return all cases, builds too; what a later session of it measured again counts."""
        found: dict[tuple[str, str], Ran] = {}
        for session in sorted(self.sessions, key=lambda each: each.start):
            executions: dict[tuple[str, str], list[tuple[int, Case]]] = {}
            for number, case in enumerate(session.cases):
                executions.setdefault((case.where, case.name), []).append((number, case))
            for key, listed in executions.items():
                found[key] = Ran(session, listed[-1][0], tuple(case for _, case in listed))
        return tuple(found.values())

    @property
    def systems(self) -> list[str]:
        """Return the systems that it has cases of."""
        return sorted({case.system for each in self.sessions for case in each.cases})

    @property
    def places(self) -> set[tuple[str, str]]:
        """Return the (system, partition) that it has cases of."""
        return {(case.system, case.partition) for each in self.sessions for case in each.cases}

    @property
    def simulated(self) -> bool:
        """Tell whether some of it was simulated."""
        return any(case.simulated for each in self.sessions for case in each.cases)

    def of(self, system: str, partition: str) -> list[Ran]:
        """Return its cases on a partition; builds count only where they failed."""
        place = system, partition
        return [
            ran
            for ran in self.cases
            if (ran.case.system, ran.case.partition) == place
            and (not ran.case.fixture or ran.outcome is Outcome.RED)
        ]


def runs(source: Source) -> list[Run]:
    """Return the runs whose sessions have a page, that which ended last first."""
    sessions: dict[str, list[Session]] = {}
    for each in source.sessions:
        sessions.setdefault(campaign_of(each.label) or each.uuid, []).append(each)
    return [Run(key, tuple(listed), _verdict(source, key)) for key, listed in sessions.items()]


def _verdict(source: Source, key: str) -> Verdict | None:
    current = source.current
    if current is not None and key in (current.campaign, *current.session.split()):
        return current
    return source.verdicts.get(key)


def counts(cases: Iterable[Ran]) -> dict[Outcome, int]:
    """Count cases by what became of them."""
    counted = Counter(each.outcome for each in cases)
    return {each: counted[each] for each in Outcome}


@dataclass(frozen=True)
class Told:
    """A verdict in a word, with the class of its style."""

    word: str
    look: str


def told(verdict: Verdict | None) -> Told:
    """Return the word of a verdict: a pass that nothing judged is none."""
    if verdict is None:
        return Told("not judged", "open")
    word = WORDS[verdict.status]
    if verdict.status is Status.PASSED:
        judged = bool(verdict.judged) or bool(verdict.history.get("judged"))
        return Told(word, "good") if judged else Told(f"{word}, nothing judged", "open")
    return Told(word, "bad" if verdict.status is Status.FAILED else "open")


def bounds(metric: Metric) -> tuple[float | None, float | None]:
    """Return between which numbers a metric has to lie; None: any in that direction."""
    if metric.reference is None:
        return None, None
    scale = abs(metric.reference) or 1.0
    return tuple(  # type: ignore[return-value]
        None if threshold is None else metric.reference + threshold * scale
        for threshold in (metric.lower, metric.upper)
    )


def software(cases: Iterable[Case]) -> dict[str, set[str]]:
    """Return suite -> what was measured with: its versions, builds and modules, a text each."""
    found: dict[str, set[str]] = {}
    for case in cases:
        if words := _software(case):
            found.setdefault(case.suite or case.filename.rpartition("/")[2], set()).add(words)
    return found


#: What of a provenance names software, in this order.
SOFTWARE = ("suite", "spec", "hash", "mpi", "mpi_standard", "compiler", "target", "modules")


def _software(case: Case) -> str:
    known = (*SOFTWARE, SIMULATED)
    words = (f"{key} {case.provenance[key]}" for key in known if case.provenance.get(key))
    built = ", ".join(words)
    return f"{case.environment}: {built}" if built else ""


def since(older: Run | None, newer: Run) -> dict[str, list[Ran]]:
    """Return what became of cases since an older run, by a word; nothing where none did."""
    if older is None:
        return {}
    before = {ran.key: ran.outcome for ran in older.cases}
    now = {ran.key: ran.outcome for ran in newer.cases}
    red, absent = Outcome.RED, Outcome.NOT_MEASURED
    measured_before = [ran for ran in older.cases if ran.outcome is not absent]
    measured_now = [ran for ran in newer.cases if ran.outcome is not absent]
    is_red = [ran for ran in newer.cases if ran.outcome is red]
    is_not = [ran for ran in newer.cases if ran.outcome is not red]
    return {
        "red now, not before": [r for r in is_red if before.get(r.key, red) is not red],
        "no longer red": [r for r in is_not if before.get(r.key) is red],
        "no longer measured": [r for r in measured_before if now.get(r.key, absent) is absent],
        "measured now, not before": [
            r for r in measured_now if before.get(r.key, absent) is absent
        ],
    }

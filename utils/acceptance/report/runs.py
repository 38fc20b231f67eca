"""Runs as people count them: a session by hand, or all sessions of a campaign, with its verdict."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

from acceptance.core.groups import grouped
from acceptance.core.words import SIMULATED
from acceptance.ledger import Case, Session, campaign_of
from acceptance.regressions import history
from acceptance.verdict import WORDS, Status, Verdict, text_of


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

    sessions: tuple[Session, ...]
    verdict: Verdict | None = None

    @property
    def end(self) -> float:
        """Return when it ended, s since the epoch."""
        return max(each.end for each in self.sessions)

    @cached_property
    def cases(self) -> tuple[Ran, ...]:
        """Return its cases; what a later session of it measured again counts.

        Builds count only where they failed. What all runs of a case decided together is its result.
        """
        decided = self.verdict.decided if self.verdict else {}
        found: dict[tuple[str, str], Ran] = {}
        for session in sorted(self.sessions, key=lambda each: each.start):
            cases = enumerate(session.cases)
            executions = grouped(cases, lambda entry: (entry[1].where, entry[1].name))
            for key, listed in executions.items():
                result = decided.get(text_of(listed[-1][1]))
                own = (replace(case, result=result or case.result) for _, case in listed)
                found[key] = Ran(session, listed[-1][0], tuple(own))
        return tuple(
            ran for ran in found.values() if not ran.case.fixture or ran.outcome is Outcome.RED
        )

    @property
    def places(self) -> set[tuple[str, str]]:
        """Return the (system, partition) that it has cases of."""
        return {(case.system, case.partition) for each in self.sessions for case in each.cases}

    @property
    def selection(self) -> tuple[str, ...]:
        """Return what is the same in runs of the same things: a campaign's kind, or its words."""
        newest = self.sessions[0]
        kind = campaign_of(newest.label).partition("-")[0]
        systems = sorted({system for system, _ in self.places})
        return (*systems, *((kind,) if kind else history.selection(newest.command)))

    def of(self, system: str, partition: str) -> list[Ran]:
        """Return its cases on a partition."""
        place = system, partition
        return [ran for ran in self.cases if (ran.case.system, ran.case.partition) == place]


def counts(cases: Iterable[Ran]) -> dict[Outcome, int]:
    """Count cases by what became of them."""
    counted = Counter(each.outcome for each in cases)
    return {each: counted[each] for each in Outcome}


def told(verdict: Verdict | None) -> tuple[str, str]:
    """Return a verdict in a word and the class of its style: a pass that nothing judged is none."""
    if verdict is None:
        return "not judged", "open"
    word = WORDS[verdict.status]
    if verdict.status is Status.PASSED:
        judged = bool(verdict.judged) or bool(verdict.history.get("judged"))
        return (word, "good") if judged else (f"{word}, nothing judged", "open")
    return word, "bad" if verdict.status is Status.FAILED else "open"


#: What of a provenance names software, in this order.
SOFTWARE = (
    *("suite", "spec", "hash", "mpi", "mpi_standard", "compiler", "target", "modules"),
    *("image", "easybuild"),
)


def provenance(case: Case) -> dict[str, str]:
    """Return what a case was measured with, what names software first."""
    known = case.provenance
    return {key: known[key] for key in (*SOFTWARE, *known) if key in known}


def software(cases: Iterable[Case]) -> dict[str, set[str]]:
    """Return suite -> what was measured with: its versions, builds and modules, a text each."""
    found: dict[str, set[str]] = {}
    for case in cases:
        known = {key: case.provenance.get(key) for key in (*SOFTWARE, SIMULATED)}
        if built := ", ".join(f"{key} {value}" for key, value in known.items() if value):
            suite = case.suite or case.filename.rpartition("/")[2]
            found.setdefault(suite, set()).add(f"{case.environment}: {built}")
    return found


def since(older: Run, newer: Run) -> dict[str, list[Ran]]:
    """Return what became of cases since an older run, by a word, each case under one at most."""
    before, now = ({ran.key: ran for ran in run.cases} for run in (older, newer))
    found: dict[str, list[Ran]] = {}
    for key in dict.fromkeys((*now, *before)):
        was, is_ = (known[key].outcome if key in known else Outcome.NOT_MEASURED
                    for known in (before, now))  # fmt: skip
        if was is not is_ and (word := _changed(was, is_)):
            found.setdefault(word, []).append(now[key] if key in now else before[key])
    return found


def _changed(was: Outcome, now: Outcome) -> str:
    """Return the word for a case of two outcomes that differ; empty where it is not told."""
    if now is Outcome.RED:
        return "red now, not before"
    if now is Outcome.NOT_MEASURED:
        return "no longer measured"
    if was is Outcome.RED:
        return "no longer red"
    return "measured now, not before" if was is Outcome.NOT_MEASURED else ""

"""A verdict as data: what was measured, what judged it, and what is wrong."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any


class Status(IntEnum):
    """What a verdict says: also the exit status of the command that gives it."""

    PASSED = 0
    FAILED = 1
    CANNOT_JUDGE = 2

    @property
    def word(self) -> str:
        """Return the status as verdicts that are data write it."""
        return ("pass", "fail", "cannot-judge")[self]


@dataclass(frozen=True)
class Problem:
    """A reason why the verdict is not green: a stable kind, and a sentence for the reader.

    `about` names what it is about, where that is not the whole run: a case, a file, the options
    that select cases. It is the same on every run that has the same problem.
    """

    kind: str
    message: str
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class SuiteUse:
    """What provided a suite in this session, and how many cases it had."""

    suite: str
    environments: tuple[str, ...]
    versions: tuple[str, ...]
    cases: int


@dataclass(frozen=True)
class Unprovided:
    """A check file without a case, and why that is no failure."""

    check: str
    reason: str


@dataclass(frozen=True)
class Unselected:
    """A check file without a case, and the options of the command that left it out."""

    check: str
    options: str


@dataclass
class Verdict:
    """What a session measured, what judged it, and what is wrong."""

    status: Status = Status.PASSED
    session: str = ""
    command: str = ""
    system: str = ""
    host: str = ""
    time: str = ""
    elapsed: float = 0.0
    selected: int = 0
    ran: int = 0
    builds: int = 0
    passed: int = 0
    failed: int = 0
    expected_failures: int = 0
    skipped: int = 0
    judged: dict[str, int] = field(default_factory=dict)
    recorded: int = 0
    suites: list[SuiteUse] = field(default_factory=list)
    unprovided: list[Unprovided] = field(default_factory=list)
    not_selected: list[Unselected] = field(default_factory=list)
    #: The names of the check files that gave cases.
    check_files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    database: str = ""
    #: What `verdict/conclude.py` adds: incidents of the history, and violated guidelines.
    alerts: list[dict[str, Any]] = field(default_factory=list)
    acknowledged: list[dict[str, Any]] = field(default_factory=list)
    history: dict[str, Any] = field(default_factory=dict)
    guidelines: dict[str, Any] = field(default_factory=dict)
    #: Partition -> what was measured of its nodes (`verdict/nodes.py`).
    nodes: dict[str, Any] = field(default_factory=dict)
    #: Counters of errors that stand above zero (`verdict/counters.py`).
    counters: list[dict[str, Any]] = field(default_factory=list)

    def fail(self, kind: str, message: str, *about: str) -> None:
        """Add a problem; the verdict is red from now on."""
        self.problems.append(Problem(kind, message, about))
        self.status = max(self.status, Status.FAILED)

    def cannot_judge(self, kind: str, message: str, *about: str) -> None:
        """Add a problem that leaves nothing to judge by."""
        self.fail(kind, message, *about)
        self.status = Status.CANNOT_JUDGE

    @property
    def not_run(self) -> list[str]:
        """Return the names of the check files of which no case was run."""
        return [
            *(each.check for each in self.unprovided),
            *(each.check for each in self.not_selected),
        ]

    def as_data(self) -> dict[str, Any]:
        """Return the verdict as plain data, `verdict` being pass, fail or cannot-judge."""
        return {"verdict": self.status.word, **asdict(self)}


#: What verdicts on several runs add up, and what they list.
_COUNTS = (
    *("elapsed", "selected", "ran", "builds", "passed", "failed", "expected_failures", "skipped"),
    "recorded",
)
_LISTS = ("unprovided", "check_files", "notes", "problems")


def merged(verdicts: Sequence[Verdict]) -> Verdict:
    """Return one verdict on several runs: the worst of them, with the sum of what they did."""
    first, *others = verdicts
    for other in others:
        first.status = max(first.status, other.status)
        first.command = "; ".join(filter(None, (first.command, other.command)))
        first.session = " ".join(filter(None, (first.session, other.session)))
        for name in ("database", "system", "host", "time"):
            setattr(first, name, getattr(first, name) or getattr(other, name))
        for name in _COUNTS:
            setattr(first, name, getattr(first, name) + getattr(other, name))
        for source, count in other.judged.items():
            first.judged[source] = first.judged.get(source, 0) + count
        first.suites = _merged_suites([*first.suites, *other.suites])
        for name in _LISTS:
            known = getattr(first, name)
            known += [entry for entry in getattr(other, name) if entry not in known]
        first.not_selected += other.not_selected
    first.not_selected = _never_selected(first)
    return first


def _never_selected(verdict: Verdict) -> list[Unselected]:
    """Return the check files that no run selected, each once, with what left it out first."""
    said = {each.check for each in verdict.unprovided} | {*verdict.check_files}
    first = {each.check: each for each in reversed(verdict.not_selected) if each.check not in said}
    return [first[check] for check in sorted(first)]


def _merged_suites(uses: Sequence[SuiteUse]) -> list[SuiteUse]:
    by_suite: dict[str, SuiteUse] = {}
    for use in uses:
        known = by_suite.get(use.suite, SuiteUse(use.suite, (), (), 0))
        by_suite[use.suite] = SuiteUse(
            use.suite,
            tuple(dict.fromkeys((*known.environments, *use.environments))),
            tuple(dict.fromkeys((*known.versions, *use.versions))),
            known.cases + use.cases,
        )
    return list(by_suite.values())

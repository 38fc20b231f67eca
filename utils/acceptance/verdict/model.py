"""A verdict as data: what was measured, what judged it, and what is wrong."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, field

from acceptance.alerts import Alert
from acceptance.core.findings import Finding, merged
from acceptance.core.kinds import OF_PAIRS
from acceptance.core.text import plural
from acceptance.core.words import NO_EVIDENCE, Status, is_simulated, model_of
from acceptance.relations import rounds
from acceptance.verdict.nodes import PartitionNodes

#: The kind of campaign that ends with a protocol.
ACCEPT = "accept"

#: Kinds of problems that sum up what cases, nodes, or a protocol have found.
_SUMS = {"case-failed", "left-out", "not-benchmarked", "protocol", *OF_PAIRS}


class SuiteUse(Struct, frozen=True, forbid_unknown_fields=True):
    """How many cases a suite had in this session, and the environments of those that ran."""

    suite: str
    environments: tuple[str, ...]
    versions: tuple[str, ...]
    cases: int


#: ReFrame's results of a case that it aborted, as it was told to stop or had enough failures; that
#: neither ended nor aborted; and that waited for another one which failed.
ABORTED, UNFINISHED, LEFT_OUT = "abort", "<unknown>", "fail_deps"
#: That of a case whose failure its check announces (`xfail`); if it passes, ReFrame lets it fail.
EXPECTED = "xfail"
#: Result of a case -> the field of a verdict that counts it, and what is said of one that is
#: neither a success nor a failure. Every other result is a failure.
COUNTED = {
    "pass": ("passed", ""),
    EXPECTED: ("expected_failures", "failed, as its check expects"),
    "skip": ("skipped", "skipped"),
    LEFT_OUT: ("not_run", "not run, since what it needs failed"),
    ABORTED: ("not_run", "not run to its end, since ReFrame aborted it"),
    UNFINISHED: ("not_run", "not run to its end, since ReFrame stopped"),
}


class CaseResult(Struct, frozen=True, forbid_unknown_fields=True):
    """What became of a case: `seconds` is None where ReFrame did not store it.

    `result` is ReFrame's word; `reason` says why a case did not pass, empty where it did. `nodes`
    are those that it ran on. `measured`: it has metrics. `culprits`: it failed for findings of
    nodes only, which are told by themselves; `findings` are all others.
    """

    where: str
    name: str
    result: str
    suite: str = ""
    benchmark: str = ""
    reason: str = ""
    seconds: float | None = None
    nodes: tuple[str, ...] = ()
    measured: bool = False
    culprits: bool = False
    findings: tuple[Finding, ...] = ()

    @property
    def place(self) -> str:
        """Return `NAME @system:partition+environment`, which problems are about."""
        return f"{self.name} @{self.where}"

    @property
    def passed(self) -> bool:
        """Tell whether it passed; nothing else counts as success."""
        return self.result == "pass"


class Verdict(Struct, forbid_unknown_fields=True):
    """What a session, or all steps of a campaign, measured, what judged it, and what is wrong.

    `campaign` is the id of a campaign, empty for a run by hand; `given` is when it was judged (ISO
    8601), `outcome` that of an acceptance's protocol. `alerts` are open, `acknowledged` are not
    counted: `excused` are the problems that only they tell. `findings` fail nothing. Each case,
    builds too, is in exactly one of `passed`, `failed`, `expected_failures`, `skipped` and
    `not_run`. `expected` are cases among the failed ones, with who expects that, until when and
    why.
    """

    status: Status = Status.PASSED
    session: str = ""
    command: str = ""
    system: str = ""
    host: str = ""
    time: str = ""
    elapsed: float = 0.0
    builds: int = 0
    passed: int = 0
    failed: int = 0
    expected_failures: int = 0
    skipped: int = 0
    not_run: int = 0
    judged: dict[str, int] = field(default_factory=dict)
    recorded: int = 0
    suites: list[SuiteUse] = field(default_factory=list)
    #: Check file without a case -> the options of the command that left it out.
    not_selected: dict[str, str] = field(default_factory=dict)
    #: The names of the check files that gave cases.
    check_files: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    database: str = ""
    campaign: str = ""
    given: str = ""
    outcome: str = ""
    cases: list[CaseResult] = field(default_factory=list)
    excused: list[Finding] = field(default_factory=list)
    alerts: list[Alert] = field(default_factory=list)
    acknowledged: list[Alert] = field(default_factory=list)
    expected: dict[str, str] = field(default_factory=dict)
    history: dict[str, Any] = field(default_factory=dict)
    #: What the guidelines counted (`Report.counts`): comparisons, findings, suspicions.
    guidelines: dict[str, int] = field(default_factory=dict)
    #: Of an acceptance: what became of the claims that its system can decide.
    claims: list[dict[str, Any]] = field(default_factory=list)
    #: Partition -> what is known of its nodes.
    nodes: dict[str, PartitionNodes] = field(default_factory=dict)
    #: Partition that looks at a whole fabric -> what is there, or why nobody looked.
    fabric: dict[str, str] = field(default_factory=dict)
    #: What simulated the cases (`SimGrid 3.32`); empty where machines were measured.
    simulators: list[str] = field(default_factory=list)

    @property
    def sort(self) -> str:
        """Return what kind of campaign it is on; empty for a run by hand."""
        return self.campaign.partition("-")[0]

    @property
    def decided(self) -> dict[str, str]:
        """Return case -> result, of those that all of their runs decided, or that may fail."""
        near = {each.what for each in self.findings if each.kind == "near-limit"}
        found = {case.place: case.result for case in self.cases if case.place in near}
        return found | dict.fromkeys(self.expected, EXPECTED)

    @property
    def simulated(self) -> bool:
        """Tell whether it is on a simulated system: then it says nothing of a machine."""
        return bool(self.simulators) or is_simulated(self.system)

    @property
    def no_evidence(self) -> str:
        """Say of a simulated system what it is no evidence about, and what simulated it."""
        by = f" ({', '.join(self.simulators)})" if self.simulators else ""
        return f"{self.system} is {NO_EVIDENCE.format(model_of(self.system))}{by}"

    @property
    def known(self) -> list[str]:
        """Say of what does not count who knows of it, until when and why."""
        told = {case for each in self.acknowledged for case in each.cases}
        others = (f"{why}: {case}" for case, why in self.expected.items() if case not in told)
        return [*(each.known for each in self.acknowledged), *others]

    @property
    def ran(self) -> int:
        """Count the cases that ran to their end."""
        return self.passed + self.failed + self.expected_failures

    @property
    def selected(self) -> int:
        """Count all cases that ReFrame selected."""
        return self.ran + self.skipped + self.not_run

    @property
    def cases_text(self) -> str:
        """Say what became of the cases: the numbers add up to the first one."""
        expected = self.expected_failures + len(self.expected)
        words = (
            f"{self.passed} passed",
            f"{self.failed - len(self.expected)} failed",
            f"{expected} failed as expected" * bool(expected),
            f"{self.skipped} skipped",
            f"{self.not_run} not run",
        )
        builds = f"; {plural(self.builds, 'build')} among them" if self.builds else ""
        return f"{plural(self.selected, 'case')}: {', '.join(filter(None, words))}{builds}"

    @property
    def everything(self) -> list[Finding]:
        """Return all that was found, each thing once and with its remedy; the worst first.

        Of problems that sum up what cases and nodes have found, that is there instead.
        """
        return merged((
            *(each for case in self.cases for each in case.findings),
            *(each for entry in self.nodes.values() for each in entry.findings),
            *(each for each in self.problems if each.kind not in _SUMS),
            *self.findings,
        ))  # fmt: skip

    def add(self, finding: Finding) -> None:
        """Add a finding, unless it was told; the verdict is red from now on if it fails."""
        known = self.problems if finding.fails else self.findings
        if finding not in known:
            known.append(finding)
        if finding.fails:
            self.status = max(self.status, Status.FAILED)

    def fail(self, kind: str, text: str, *place: str) -> None:
        """Add a finding that fails; `place` names it on every run the same."""
        self.add(Finding(kind, text, fails=True, place=place, source="gate"))

    def cannot_judge(self, kind: str, text: str, *place: str) -> "Verdict":
        """Add a finding that leaves nothing to judge by; return the verdict itself."""
        self.fail(kind, text, *place)
        self.status = Status.CANNOT_JUDGE
        return self

    @property
    def unprovided(self) -> list[Finding]:
        """Return why check files gave no case, on this system or on partitions of it."""
        return [each for each in self.findings if each.kind == "not-provided"]

    @property
    def files_not_run(self) -> list[str]:
        """Return the names of the check files of which no case was run."""
        return [
            *(each.what for each in self.unprovided if each.what == each.place[1]),
            *self.not_selected,
        ]

    @property
    def not_everywhere(self) -> list[str]:
        """Return the names of the check files of which none was run on some partition."""
        names = (each.place[1] for each in self.unprovided if each.what != each.place[1])
        return [*dict.fromkeys(names)]

    def as_data(self) -> dict[str, Any]:
        """Return the verdict as plain data, `verdict` being pass, fail or cannot-judge."""
        derived = {
            "verdict": self.status.word,
            "simulated": self.simulated,
            "selected": self.selected,
            "ran": self.ran,
        }
        return {**derived, **msgspec.to_builtins(self)}

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> "Verdict":
        """Return a verdict that was stored; raises ValueError for one that lacks anything."""
        verdict = msgspec.convert(data, cls)
        if lacking := [name for name in cls.__struct_fields__ if name not in data]:
            raise ValueError(f"it has no {', '.join(lacking)}")
        return verdict


def guidelines_text(counts: Mapping[str, int], sort: str = "") -> str:
    """Say what came of the guidelines, by what they counted (`Report.counts`).

    `sort` is the kind of campaign that they are of. An acceptance measures nothing again.
    """
    known = Counter(counts)
    compared, suspected = plural(known["compared"], "comparison"), known["suspected"]
    again = f"; acceptance {sort or 'gate'} --again {rounds.rounds_for(suspected)} "
    again *= sort != ACCEPT
    if suspected and suspected == known["undecided"]:
        possible = plural(suspected, "possible violation")
        return f"{possible} in {compared}, undecided" + (again and f"{again}decides")
    told = f"{known['violated']} violated in {compared}"
    if suspected:
        told += f"; {known['noise']} of {suspected} suspicions were noise"
    if known["undecided"]:
        told += f", {known['undecided']} undecided" + (again and f"{again}goes on")
    return told

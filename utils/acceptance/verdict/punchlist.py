"""A verdict as a punch list: what the vendor of a system is to put right, a line a defect.

It has what gate and protocol tell, the worst first: where it is, what was found and expected, the
case that shows it with a command that measures it again, and the remedy. What was not measured, or
not judged, has lines of its own: a list without a defect is none of a system that nobody measured.
"""

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from msgspec import Struct
from msgspec.structs import asdict, replace

from acceptance.core.findings import Finding, merged
from acceptance.core.kinds import (
    INFO,
    NOT_JUDGED,
    OF_CABLES,
    OF_FABRICS,
    OF_LINKS,
    OF_PAIRS,
    SEVERITIES,
)
from acceptance.core.text import (
    code,
    csv_text,
    markdown,
    markdown_table,
    natural,
    one_line,
    plural,
    shortened,
)
from acceptance.ledger import Case, Session
from acceptance.verdict.cases import text_of
from acceptance.verdict.model import Verdict
from acceptance.verdict.remeasured import command, narrowed
from acceptance.verdict.rules import of_claims

#: The severity of a line that tells what was not measured.
NOT_MEASURED = "not measured"
#: Kinds of findings that have a device.
_AT_A_DEVICE = {*OF_LINKS, *OF_FABRICS, *OF_CABLES, *OF_PAIRS}
#: What stands between both ends of a cable.
_BETWEEN_ENDS = " - "
#: Nodes that a cell of the Markdown shows.
_SHOWN = 8


class Defect(Struct, frozen=True):
    """A line: `id` is the same on every run, `cable` has both ends, `time` is in UTC (ISO 8601).

    `case` showed it in `session`, which ended at `time`; `test` is a command that measures it
    again. What does not apply is empty.
    """

    id: str
    severity: str
    partition: str = ""
    nodes: str = ""
    device: str = ""
    port: str = ""
    cable: str = ""
    what: str = ""
    found: str = ""
    expected: str = ""
    source: str = ""
    session: str = ""
    time: str = ""
    case: str = ""
    test: str = ""
    remedy: str = ""

    @property
    def place(self) -> str:
        """Return where it is, in a word or two."""
        link = self.cable or "/".join(filter(None, (self.device, self.port)))
        nodes = shortened(self.nodes.split(", "), _SHOWN)
        return " ".join(filter(None, (nodes, link))) or self.partition


class PunchList(Struct, frozen=True):
    """The defects that a verdict found, the worst first, and what was not measured or judged.

    `notes` counts the findings that fail nothing and are left out.
    """

    title: str
    about: str
    defects: tuple[Defect, ...]
    not_measured: tuple[str, ...]
    notes: int

    def csv(self) -> str:
        """Return it as CSV: a line a defect, then one for each thing that was not measured."""
        names = Defect.__struct_fields__
        open_points = (Defect("", NOT_MEASURED, found=text) for text in self.not_measured)
        rows = (map(one_line, asdict(each).values()) for each in (*self.defects, *open_points))
        return csv_text([names, *rows])

    def markdown(self) -> str:
        """Return it as Markdown."""
        parts = [f"# {markdown(self.title)}", markdown(self.about), "## Defects"]
        header = (
            *("severity", "place", "what", "found", "expected", "remedy"),
            *("shown by", "test", "id"),
        )
        rows = [
            (each.severity, each.place, each.what, each.found, each.expected, each.remedy,
             f"{each.case or each.source}, session {each.session or '-'}, {each.time or '-'}",
             code(each.test), code(each.id))
            for each in self.defects
        ]  # fmt: skip
        parts.append(markdown_table(header, rows) if rows else "None.")
        if self.notes:
            told = plural(self.notes, "finding")
            parts.append(f"Left out, since they fail nothing: {told} (`acceptance gate`).")
        parts.append("## Not measured, or not judged")
        parts.append("\n".join(f"- {markdown(text)}" for text in self.not_measured) or "Nothing.")
        return "\n\n".join(parts) + "\n"


def punch_list(verdict: Verdict, sessions: Sequence[Session]) -> PunchList:
    """Return the punch list of a verdict on these sessions; what is acknowledged is on it, too."""
    whole = replace(verdict, problems=[*verdict.problems, *verdict.excused])
    found = merged([*whole.everything, *of_claims(verdict.claims, verdict.system)])
    judged = [each for each in found if each.kind not in NOT_JUDGED]
    evidence = _Evidence(whole, sessions)
    defects = sorted(
        (evidence.defect(each) for each in judged if each.severity != INFO),
        key=lambda each: (
            SEVERITIES.index(each.severity),
            natural(f"{each.partition} {each.place}"),
            each.id,
        ),
    )
    return PunchList(
        title=("SIMULATED: " if verdict.simulated else "") + f"Punch list of {verdict.system}",
        about=_about(verdict, len(defects)),
        defects=tuple(defects),
        not_measured=tuple(_not_measured(verdict, found)),
        notes=len(judged) - len(defects),
    )


def _about(verdict: Verdict, count: int) -> str:
    words = [
        *([verdict.no_evidence] if verdict.simulated else []),
        f"{plural(count, 'defect')}; verdict: {verdict.status.word}",
        *([f"outcome: {verdict.outcome}"] if verdict.outcome else []),
        f"run: {verdict.campaign or 'by hand'}, {verdict.time or 'no time'}, on "
        f"{verdict.host or 'an unknown host'}",
        verdict.cases_text,
    ]
    return ". ".join(words) + "."


def _not_measured(verdict: Verdict, found: Sequence[Finding]) -> Iterator[str]:
    """Yield what was not measured or not judged, a line each."""
    if verdict.simulated:
        yield verdict.no_evidence
    skipped: dict[str, list[str]] = {}
    of_skipped = set()
    for case in verdict.cases:
        if case.result == "skip":
            skipped.setdefault(case.reason or "no reason is stored", []).append(case.place)
            of_skipped |= {each.id for each in case.findings}
    for each in found:
        if each.kind in NOT_JUDGED and each.id not in of_skipped:
            yield each.text if each.what in (each.kind, "") else f"{each.what}: {each.text}"
    for check, options in verdict.not_selected.items():
        yield f"{check}: not selected by {options}"
    for reason, places in skipped.items():
        yield f"{plural(len(places), 'case')} skipped: {shortened(places)}: {reason}"
    if verdict.recorded:
        yield f"{plural(verdict.recorded, 'metric')} recorded, and no reference judges them"
    if why := verdict.history.get("cannot_judge"):
        yield f"history: {why}"


class _Evidence:
    """Which case of a verdict showed a finding, and in which session."""

    def __init__(self, verdict: Verdict, sessions: Sequence[Session]) -> None:
        self.verdict = verdict
        #: Place of a case -> its session and itself: the first one that failed, else the first one.
        self.cases: dict[str, tuple[Session, Case]] = {}
        for session in sorted(sessions, key=lambda session: session.end):
            for case in session.cases:
                known = self.cases.setdefault(text_of(case), (session, case))
                if known[1].passed and not case.passed:
                    self.cases[text_of(case)] = session, case
        #: Id of a finding -> its device, which a merged one has not, and the cases that have it.
        self.devices: dict[str, str] = {}
        self.shown_by: dict[str, str] = {}
        for result in verdict.cases:
            for each in result.findings:
                self.devices.setdefault(each.id, each.device)
                self.shown_by.setdefault(each.id, result.place)
        others = (
            *(each for entry in verdict.nodes.values() for each in entry.findings),
            *verdict.problems,
            *verdict.findings,
        )
        for each in others:
            self.devices.setdefault(each.id, each.device)
            if each.of_history:
                self.shown_by.setdefault(each.id, f"{each.device} @{each.where}")
        #: What all pairs are called in a finding -> the case that measured them.
        self.all_pairs = {
            f"all pairs of nodes, {case.where}": text_of(case)
            for _, case in self.cases.values()
            if case.all_pairs
        }

    def defect(self, found: Finding) -> Defect:
        """Return a line of the list."""
        names = (self.shown_by.get(found.id), *found.place[:1], found.source)
        known = (self.all_pairs.get(name or "", name or "") for name in names)
        place = next((name for name in known if name in self.cases), "")
        session, case = self.cases.get(place, (None, None))
        seen = self.devices.get(found.id, "")
        device, port, cable = _device(found, seen)
        end = datetime.fromtimestamp(session.end, timezone.utc) if session else None
        return Defect(
            id=found.id, severity=found.severity,
            partition=f"{case.system}:{case.partition}" if case else found.partition,
            nodes=", ".join(found.nodes), device=device, port=port, cable=cable,
            what=found.kind if found.what == seen else found.what,
            found=found.found, expected=found.expected, remedy=found.remedy,
            source="" if found.source == place else found.source, case=place,
            session=session.uuid if session else self.verdict.session,
            time=end.isoformat(timespec="seconds") if end else self.verdict.time,
            test=self.test(session, case),
        )  # fmt: skip

    def test(self, session: Session | None, case: Case | None) -> str:
        """Return a command that measures it again: its case alone, or all of its run."""
        if session and case:
            words = command(shlex.split(session.command))
            # ReFrame selects no build by its name: it comes with the cases that need it.
            words += [] if case.fixture else narrowed([case.name])
            return shlex.join(["reframe", *words])
        sort = self.verdict.sort
        return f"acceptance {sort}" if sort else self.verdict.command


def _device(found: Finding, device: str) -> tuple[str, str, str]:
    """Return device, port and cable of a finding, each empty where it has none."""
    if found.kind not in _AT_A_DEVICE:
        return "", "", ""
    if _BETWEEN_ENDS in device:
        return "", "", device
    name, _, port = device.partition("/")
    return name, port, ""

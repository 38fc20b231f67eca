"""The whole verdict: on the session, on its history, on the guidelines that every MPI satisfies.

`verdict/session.py` judges a session by itself. This module adds the regressions of the whole
history up to it (`regressions/judge.py`), and the guidelines that need no reference
(`guidelines/evaluate.py`). Since when counters of errors stand above zero is told by earlier
sessions. Checks of plain ReFrame, which know nothing of this library and pass with whatever they
measured, are judged by the baselines of their site.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from acceptance import guidelines, ledger, references
from acceptance.core import state_files
from acceptance.core.extras import ExtrasFault
from acceptance.core.paths import Workspace
from acceptance.core.text import plural
from acceptance.core.words import is_measured, split_metric
from acceptance.fabric.link_check import STANDING
from acceptance.ledger import Case, Ledger, Metric, ResultsFault, Session
from acceptance.references import Library, Reference, ReferenceFault
from acceptance.regressions import judge as regressions
from acceptance.rfm import SiteFault, configuration
from acceptance.verdict import remeasure, stored
from acceptance.verdict import session as gate
from acceptance.verdict.coverage import judge_references, note_links
from acceptance.verdict.model import Problem, Status, Verdict, merged
from acceptance.verdict.nodes import Nodes, judge_nodes, stated_nodes
from acceptance.verdict.remeasure import Repetition

#: System and partition of a counter, its node, device and name.
_Key = tuple[str, str, str, str, str]
_DAY = 86400.0
#: Earlier readings that are looked at for when a counter last grew.
_READINGS = 200
#: The class of the link check, as ReFrame names its cases.
LINK_CHECK = "LinkCheck"


@dataclass(frozen=True)
class StandingCounter:
    """A counter of errors above zero. Times are in s since the epoch.

    `before` is what it was at the last reading, `days` before this one; both are None where there
    was none. `since` is the time of the earliest reading that had the same value; 0 where it is
    another one than before.
    """

    system: str
    partition: str
    node: str
    device: str
    counter: str
    value: int
    before: int | None = None
    days: float | None = None
    since: float = 0.0

    @property
    def change(self) -> str:
        """Say what became of it since the last reading."""
        if self.before is None or self.days is None:
            return "first reading"
        ago = f"{self.days:.1f} days"
        if self.value < self.before:
            return f"counter was reset: {self.before} before, in {ago}"
        if self.value > self.before:
            return f"+{self.value - self.before} in {ago}"
        return f"no more since {datetime.fromtimestamp(self.since).astimezone():%Y-%m-%d}"

    @property
    def text(self) -> str:
        """Return a line: `node1 mlx5_0/1: link_downed stands at 7 (+3 in 2.0 days)`."""
        place = f"{self.node} {self.device}"
        return f"{place}: {self.counter} stands at {self.value} ({self.change})"

    def as_data(self) -> dict[str, Any]:
        """Return the counter as plain data, with its text."""
        return {**asdict(self), "text": self.text}


def conclude(
    workspace: Workspace,
    run_id: str | None = None,
    *,
    database: Path | None = None,
    session: str | None = None,
    config_files: Sequence[Path] = (),
    send: bool = False,
    again: Repetition | None = None,
    keep: bool = True,
    now: datetime | None = None,
) -> Verdict:
    """Judge the run labelled so (default: the last one), its history, and what is acknowledged.

    `database`, `session` and `again` are those of `examine`. With `send` new alerts are sent and
    noted as sent; without it nothing is written but, to `keep` it, the verdict itself, and that
    only of a run.
    """
    verdict = examine(
        workspace,
        [run_id] if run_id else (),
        database=database,
        session=session,
        config_files=config_files,
        again=again,
    )
    now = now or datetime.now(timezone.utc)
    verdict.given = now.isoformat(timespec="seconds")
    stored.settle(verdict, workspace, now, send=send)
    if keep and database is None and session is None and verdict.session:
        try:
            stored.keep(workspace, verdict.session.split()[-1], verdict)
        except state_files.StoredFault as err:
            verdict.notes.append(f"this verdict is not kept: {err}")
    return verdict


def examine(
    workspace: Workspace,
    run_ids: Sequence[str] = (),
    *,
    database: Path | None = None,
    session: str | None = None,
    config_files: Sequence[Path] = (),
    again: Repetition | None = None,
    with_nodes: bool = True,
) -> Verdict:
    """Judge the runs labelled so, in order (default: the last one), and their history.

    `database` and `session` are those of `session.judge`. Judged is the history of the systems of
    the runs; of a database without a session that of all its systems. What is suspected to be worse
    is measured `again` before it is judged. Nobody is sent anything, and nothing is acknowledged.
    Without `with_nodes` the caller judges the nodes itself.
    """
    ids: list[str | None] = [*run_ids] or [None]
    verdicts = [gate.judge(workspace, database, run_id=run_id, session=session) for run_id in ids]
    uuids = [given.session for given in verdicts if given.session]
    verdict = merged(verdicts)
    if verdict.status == Status.CANNOT_JUDGE or not (verdict.database and uuids):
        return verdict
    newest = uuids[-1]
    place = Path(verdict.database)
    if database is None and session is None:
        if again:
            _measure_again(workspace, verdict, ledger.of(workspace, place), newest, again)
        newest = _judge_repetitions(workspace, verdict, newest)
    systems = {verdict.system}
    sessions: list[Session] = []
    try:
        past = ledger.of(workspace, place)
        _tell_gone(verdict, past)
        for uuid in uuids:
            judged = past.session(uuid)
            sessions.append(judged)
            systems.update(case.system for case in judged.cases)
            compare_with_guidelines(verdict, past, judged, config_files)
            compare_with_baselines(verdict, judged, workspace.reference)
    except ResultsFault as err:
        return verdict.cannot_judge("unreadable-database", str(err), str(place))
    if with_nodes:
        known = Nodes(stated=_stated(config_files, sessions))
        judge_nodes(verdict, sessions, known)
    if database is None or workspace.keeps(database):
        judge_references(verdict, workspace.reference, config_files, systems)
        cases = [case for session in sessions for case in session.cases]
        note_links(verdict, config_files, {(case.system, case.partition) for case in cases})
    whole = database is not None and session is None
    _compare_with_history(workspace, verdict, past, newest, systems, whole)
    return verdict


def _tell_gone(verdict: Verdict, past: Ledger) -> None:
    """Fail for sessions that are nowhere any more."""
    if past.gone:
        first, last = past.gone[0], past.gone[-1]
        numbers = f"number {first}" if first == last else f"of the numbers {first} to {last}"
        verdict.fail(
            "sessions-gone",
            f"{past.folder}: lacks {plural(len(past.gone), 'session')}, {numbers}: restore the "
            "folder from a backup; if they were deleted on purpose: "
            f"acceptance sessions --forget {ledger.GONE}",
            str(past.folder),
        )


def _stated(config_files: Sequence[Path], sessions: Iterable[Session]) -> dict[str, int]:
    """Return how many nodes the partitions of these sessions state."""
    systems = {case.system for session in sessions for case in session.cases}
    try:
        return stated_nodes(configuration.load(config_files), systems)
    except SiteFault:  # reported where the guidelines are compared
        return {}


def _measure_again(
    workspace: Workspace, verdict: Verdict, past: Ledger, newest: str, how: Repetition
) -> None:
    """Measure again what is suspected."""
    try:
        judgement = regressions.for_gate(
            past,
            workspace.reference,
            newest,
            simulated=verdict.simulated,
            kept=workspace.detection_of(past.results),
        )
    except ResultsFault:  # reported when the history is judged
        return
    suspected = remeasure.suspects(judgement.suspected, judgement.newest)
    if suspected:
        done = remeasure.repeat(workspace, suspected, newest, how)
        verdict.notes += done.notes


def _judge_repetitions(workspace: Workspace, verdict: Verdict, newest: str) -> str:
    """Judge what was measured again of a session, if anything was; return the last session."""
    runs = remeasure.repetitions(workspace.logs, newest)
    cases: set[str] = set()
    for run in runs:
        again = gate.judge(workspace, run_id=run.label)
        newest = again.session or newest
        cases.update(case.name for case in again.cases)
        verdict.cases += again.cases
        for problem in again.problems:
            verdict.fail(problem.kind, f"when measured again: {problem.message}", *problem.about)
    if runs:
        verdict.notes.append(
            f"measured again, {len(runs)} times in all: {', '.join(sorted(cases))}"
        )
    return newest


def compare_with_guidelines(
    verdict: Verdict, past: Ledger, session: Session, config_files: Sequence[Path]
) -> None:
    """Add what comes of the guidelines in a session; `past` has the earlier ones."""
    _note_counters(verdict, past, session)
    try:
        earlier = guidelines.earlier(past, session)
        report, failing = guidelines.judge(session, configuration.load(config_files), earlier)
    except ResultsFault as err:
        verdict.fail("unreadable-database", str(err), str(past.results))
        return
    except (SiteFault, ExtrasFault) as err:
        verdict.fail("guidelines", str(err))
        return
    known = verdict.guidelines or {"compared": 0, "single": 0, "skipped": {}, "findings": []}
    known["compared"] += report.compared
    known["single"] += report.single
    for reason, count in report.skipped.items():
        known["skipped"][reason] = known["skipped"].get(reason, 0) + count
    known["findings"] += [
        {**asdict(finding), "text": str(finding), "fails": finding in failing}
        for finding in report.findings
    ]
    verdict.guidelines = known
    for finding in failing:
        verdict.fail("guideline", str(finding))


def _note_counters(verdict: Verdict, past: Ledger, session: Session) -> None:
    """Add the counters of errors that stand above zero, which fail nothing."""
    try:
        found = standing_counters(past, session)
    except ResultsFault as err:
        verdict.fail("unreadable-database", str(err), str(past.results))
        return
    verdict.counters += [counter.as_data() for counter in found]
    verdict.notes += [f"links: {counter.text}" for counter in found]


def _compare_with_history(
    workspace: Workspace,
    verdict: Verdict,
    past: Ledger,
    uuid: str,
    systems: set[str],
    whole: bool,
) -> None:
    """Add what became worse on these systems; `whole`: on all those of the database."""
    try:
        judgement = regressions.for_gate(
            past,
            workspace.reference,
            uuid,
            simulated=verdict.simulated,
            kept=workspace.detection_of(past.results),
        )
    except ResultsFault as err:
        verdict.cannot_judge("unreadable-database", str(err), str(past.results))
        return
    verdict.notes += [f"history: {note}" for note in judgement.notes]
    for fault in judgement.faults:
        verdict.fail("unreadable-session", str(fault), fault.uuid)
    if judgement.fault:
        verdict.fail("references", judgement.fault)
    if whole and (others := [name for name in judgement.systems if name not in systems]):
        verdict.notes.append(
            f"of {', '.join(others)} the history was judged, no session: --session UUID judges one"
        )
        systems.update(others)
    if whole and judgement.apart:
        verdict.notes.append(
            f"the history of {', '.join(judgement.apart)} was not judged: simulated and measured "
            "results are judged apart; --session UUID judges one of them"
        )
    for row in (row for row in judgement.unmet if row.system in systems):
        place = f"{row.path}:{row.line}"
        what = f"no {row.metric} of {row.benchmark} was ever measured on {row.system}"
        verdict.fail("reference-unmet", f"{place}: judges nothing: {what}:{row.partition}", place)
    verdict.history = {
        "judged": judgement.judged,
        "cannot_judge": judgement.cannot_judge,
        "together": str(judgement.together),
        "stale": judgement.stale,
        "systems": sorted(systems),
    }
    alerts = [alert for alert in judgement.alerts if alert.system in systems]
    verdict.alerts = alerts
    verdict.problems += [
        Problem(alert.kind, f"{alert.line} [{alert.id}]", (alert.id,), (alert.id,))
        for alert in alerts
    ]
    if alerts:
        verdict.status = max(verdict.status, Status.FAILED)


def standing_counters(past: Ledger, session: Session) -> list[StandingCounter]:
    """Return the counters that stand in a session, compared with earlier ones.

    Raises ResultsFault when that cannot be read.
    """
    current = {key: value for case in session.cases for key, value in _standing(case)}
    if not current:
        return []
    last: dict[_Key, tuple[int, float]] = {}
    since: dict[_Key, float] = {}
    unsettled = set(current)
    earlier = past.sessions_of_check(LINK_CHECK, session.start)
    for number, reading in enumerate(earlier):
        if number == _READINGS or not unsettled:
            break
        values = {key: value for case in reading.cases for key, value in _standing(case)}
        looked_at = {place for case in reading.cases for place in _looked_at(case)}
        for key in [key for key in unsettled if key[:3] in looked_at]:
            value = values.get(key, 0)
            last.setdefault(key, (value, reading.end))
            if value == current[key]:
                since[key] = reading.end
            else:
                unsettled.remove(key)
    return [
        _counter(key, value, last.get(key), session.end, since.get(key, 0.0))
        for key, value in current.items()
    ]


def _counter(
    key: _Key, value: int, last: tuple[int, float] | None, now: float, since: float
) -> StandingCounter:
    if last is None:
        return StandingCounter(*key, value)
    before, time = last
    return StandingCounter(*key, value, before, (now - time) / _DAY, since)


def _standing(case: Case) -> Iterator[tuple[_Key, int]]:
    for seen in case.findings:
        if seen.kind == STANDING:
            place = case.system, case.partition, seen.node, seen.device, seen.what
            yield place, int(seen.found)


def _looked_at(case: Case) -> Iterable[tuple[str, str, str]]:
    """Return the nodes whose counters a case has read; older releases read none."""
    names = filter(None, case.provenance.get("counters", "").split(","))
    return [(case.system, case.partition, node) for node in names]


def compare_with_baselines(verdict: Verdict, session: Session, folder: Path) -> None:
    """Judge what plain checks measured by the baselines of a folder laid out like `reference/`.

    The benchmark of such a row is the name of the case.
    """
    plain = [case for case in session.cases if case.plain and case.passed and not case.fixture]
    if not plain:
        return
    try:
        library = references.load(folder)
    except ReferenceFault as err:
        verdict.fail("references", str(err))
        return
    for case in plain:
        _judge(verdict, case, library)


def _judge(verdict: Verdict, case: Case, library: Library) -> None:
    place = f"{case.name} @{case.where}"
    perfvalues: dict[str, Sequence[Any]] = {}
    citations: dict[str, str] = {}
    for metric in case.metrics:
        if not is_measured(metric.value):
            continue  # a problem already
        try:
            row = _row(case, metric, library)
        except (LookupError, ValueError) as err:
            verdict.fail("references", f"{place}: {metric.name}: {err}", place, metric.name)
            continue
        thresholds = row and library.thresholds(row)
        if not row or not thresholds:
            continue
        if metric.reference is None:  # it was counted as one that nothing judges
            verdict.recorded -= 1
            source = row.citation.split(",")[0]
            verdict.judged[source] = verdict.judged.get(source, 0) + 1
        off = references.outside(metric.value, row.value, *thresholds)
        values = (metric.value, row.value, *thresholds, metric.unit, "fail" if off else "pass")
        perfvalues[f"{case.system}:{case.partition}:{metric.name}"] = values
        citations[metric.name] = row.citation
    if misses := references.misses_text(perfvalues, citations):
        verdict.fail("off-baseline", f"{place}: {'; '.join(misses)}", place)


def _row(case: Case, metric: Metric, library: Library) -> Reference | None:
    """Return the baseline of a metric; raises LookupError and ValueError as `Library.look_up`."""
    stem, size = split_metric(metric.name)
    parameters = {"environment": case.environment}
    if size is not None:
        parameters["message_size"] = str(size)
    place = case.system, case.partition, case.subject
    return library.look_up(*place, stem, parameters, metric.unit, ("baseline",))

"""The whole verdict: on the session, on its history, on the guidelines that every MPI satisfies.

`verdict/session.py` judges a session by itself. This module adds the regressions of the whole
history up to it (`regressions/judge.py`), and the guidelines that need no reference
(`guidelines/evaluate.py`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

from acceptance import guidelines
from acceptance.core import state_files
from acceptance.core.extras import ExtrasFault
from acceptance.core.paths import Workspace
from acceptance.regressions import judge as regressions
from acceptance.rfm import ResultsFault, Session, SiteFault, configuration
from acceptance.rfm import database as results
from acceptance.verdict import remeasure, stored, stored_values
from acceptance.verdict import session as gate
from acceptance.verdict.asked_nodes import Nodes
from acceptance.verdict.counters import standing_counters
from acceptance.verdict.coverage import judge_references, note_links
from acceptance.verdict.merged import merged
from acceptance.verdict.model import Problem, Status, Verdict
from acceptance.verdict.nodes import judge_nodes, stated_nodes, tolerance_of
from acceptance.verdict.plain_checks import compare_with_baselines
from acceptance.verdict.remeasure import Repetition


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
        protect=keep,
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
    protect: bool = True,
) -> Verdict:
    """Judge the runs labelled so, in order (default: the last one), and their history.

    `database` and `session` are those of `session.judge`. Judged is the history of the systems of
    the runs; of a database without a session that of all its systems. What is suspected to be worse
    is measured `again` before it is judged. Nobody is sent anything, and nothing is acknowledged.
    Without `with_nodes` the caller judges the nodes itself; without `protect` no checksum is
    written.
    """
    ids: list[str | None] = [*run_ids] or [None]
    held = Verdict()
    if protect and database is None and session is None:
        stored_values.protect(held, workspace)
    verdicts = [gate.judge(workspace, database, run_id=run_id, session=session) for run_id in ids]
    uuids = [given.session for given in verdicts if given.session]
    verdict = merged([*verdicts, held])
    if verdict.database:
        stored_values.note_unprotected(verdict, workspace, Path(verdict.database))
    if verdict.status == Status.CANNOT_JUDGE or not (verdict.database and uuids):
        return verdict
    newest = uuids[-1]
    place = Path(verdict.database)
    if database is None and session is None:
        if again:
            _measure_again(workspace, verdict, place, newest, again)
        newest = _judge_repetitions(workspace, verdict, newest)
    systems = {verdict.system}
    sessions: list[Session] = []
    try:
        for uuid in uuids:
            judged = results.session(place, uuid)
            sessions.append(judged)
            systems.update(case.system for case in judged.cases)
            compare_with_guidelines(verdict, place, judged, config_files)
            compare_with_baselines(verdict, judged, workspace.reference)
    except ResultsFault as err:
        verdict.fail("unreadable-database", str(err), str(place))
    if with_nodes:
        known = Nodes(stated=_stated(config_files, sessions))
        tolerance = tolerance_of(workspace.reference / "tolerances.yaml")
        judge_nodes(verdict, sessions, known, tolerance)
    if database is None or workspace.keeps(database):
        judge_references(verdict, workspace.reference, config_files, systems)
        cases = [case for session in sessions for case in session.cases]
        note_links(verdict, config_files, {(case.system, case.partition) for case in cases})
    whole = database is not None and session is None
    _compare_with_history(workspace, verdict, place, newest, systems, whole)
    return verdict


def _stated(config_files: Sequence[Path], sessions: Iterable[Session]) -> dict[str, int]:
    """Return how many nodes the partitions of these sessions state."""
    systems = {case.system for session in sessions for case in session.cases}
    try:
        return stated_nodes(configuration.load(config_files), systems)
    except SiteFault:  # reported where the guidelines are compared
        return {}


def _measure_again(
    workspace: Workspace, verdict: Verdict, database: Path, newest: str, how: Repetition
) -> None:
    """Measure again what is suspected."""
    try:
        judgement = regressions.for_gate(
            database,
            workspace.reference,
            workspace.perflogs,
            newest,
            simulated=verdict.simulated,
            kept=workspace.detection_of(database),
            store=workspace.store_of(database),
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
    verdict: Verdict, database: Path, session: Session, config_files: Sequence[Path]
) -> None:
    """Add what comes of the guidelines in a session; `database` has the earlier ones."""
    _note_counters(verdict, database, session)
    try:
        earlier = guidelines.earlier(database, session)
        report, failing = guidelines.judge(session, configuration.load(config_files), earlier)
    except ResultsFault as err:
        verdict.fail("unreadable-database", str(err), str(database))
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


def _note_counters(verdict: Verdict, database: Path, session: Session) -> None:
    """Add the counters of errors that stand above zero, which fail nothing."""
    try:
        found = standing_counters(database, session)
    except ResultsFault as err:
        verdict.fail("unreadable-database", str(err), str(database))
        return
    verdict.counters += [counter.as_data() for counter in found]
    verdict.notes += [f"links: {counter.text}" for counter in found]


def _compare_with_history(
    workspace: Workspace,
    verdict: Verdict,
    database: Path,
    uuid: str,
    systems: set[str],
    whole: bool,
) -> None:
    """Add what became worse on these systems; `whole`: on all those of the database."""
    perflogs = workspace.perflogs if workspace.keeps(database) else None
    try:
        judgement = regressions.for_gate(
            database,
            workspace.reference,
            perflogs,
            uuid,
            simulated=verdict.simulated,
            kept=workspace.detection_of(database),
            store=workspace.store_of(database),
        )
    except ResultsFault as err:
        verdict.cannot_judge("unreadable-database", str(err), str(database))
        return
    verdict.notes += [f"history: {note}" for note in judgement.notes]
    stored_values.tell_faults(verdict, database, judgement.faults, perflogs)
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

"""`acceptance sessions`: what was stored, and what of it ReFrame's database need not hold."""

import argparse
import re
import time
from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct, structs

from acceptance import ledger
from acceptance.campaigns import Busy, state
from acceptance.cli.shared import (
    BUSY,
    DATABASE,
    FORMS,
    Columns,
    Commands,
    add_command,
    add_verbs,
    emit,
    option,
    positive,
    warn,
)
from acceptance.core.errors import Fault
from acceptance.core.text import plural
from acceptance.ledger import Ledger, Session, SessionFault, prune
from acceptance.regressions import BASELINE_NIGHTS, LOOKS_BACK
from acceptance.verdict import Status

#: Characters of an id that a table shows at least; as many as make it unique.
_SHORT = 8


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(commands, "sessions", run, forms=FORMS, failed="a session cannot be read")
    option(command, "--system SYSTEM", "only those with cases of this system")
    option(command, "--run ID", "the sessions of one run: the steps of a night", dest="run_id")
    option(command, "--since DATE", "only those that ended since")
    option(
        command,
        "--forget ID",
        "leave sessions out for good, as those that cannot be read; with "
        f"`{ledger.GONE}` miss none any more that the ledger lacks",
        nargs="+",
    )
    option(command, *DATABASE)
    old = add_command(add_verbs(command), "prune", _prune, others=f"{BUSY} a campaign runs")
    meaning = "how old (days) sessions become that stay in the database"
    option(old, "--keep DAYS", meaning, type=_days, required=True)
    option(old, "--dry-run", "say what would be deleted")


class Stored(Struct):
    """A session, or a run of several; fixtures are no cases, times are local.

    `what` is the step of a campaign, or the command; of a run the steps of its sessions.
    """

    id: str
    what: str
    start: datetime
    end: datetime
    host: str
    systems: list[str]
    simulated: list[str]
    passed: int
    failed: int
    cases: int
    label: str
    command: str
    sessions: list["Stored"] = []


def run(options: argparse.Namespace) -> int:
    """List stored runs, forget a session, or delete old ones from ReFrame's database.

    A night or an acceptance is one run, with a session for each step. The newest stands last.
    The id of a session, or its beginning, names it in other commands; compare and baseline take
    that of a night, too.
    """
    past = ledger.of(options.workspace, options.db)
    for name in past.forget(options.forget or ()):
        warn(options, f"session {name} is left out, and not missed, from now on")
    if options.forget:
        return Status.PASSED
    faults = [*past.faults]
    found = [row for row in _runs(past, options, faults) if options.system in (None, *row.systems)]
    for told in (*past.notes, *faults):
        warn(options, told)
    if not found:
        asked = " of these" if options.system or options.since or options.run_id else ""
        warn(options, Fault(f"{past.results}: holds no session{asked}"))
    several = [row.id for row in found if row.sessions]
    if options.run_id:
        found = [session for row in found for session in row.sessions or [row]]
    ids = past.ids()
    length = _SHORT
    while len({uuid[:length] for uuid in ids}) < len({*ids}):
        length += 1

    def short(id: str) -> str:
        return id if ledger.campaign_of(id) else id[:length]

    columns: Columns = {
        "run": lambda row: short(row.id),
        "ended": "end",
        "system": "systems",
        "passed": lambda row: f"{row.passed} of {row.cases}",
        "what": "what",
    }
    hint = [f"the sessions of a run: acceptance sessions --run {short(id)}" for id in several[-1:]]
    emit(options, found, columns, () if options.run_id else hint)
    return Status.FAILED if faults else Status.PASSED


def _runs(
    past: Ledger, options: argparse.Namespace, faults: list[SessionFault]
) -> Iterator[Stored]:
    """Yield the runs that are asked for, that which ended first at the beginning."""
    runs, ends = ledger.runs_of(past.entries), dict[str, float]()
    for entry in past.entries:
        ends[runs[entry.uuid]] = max(entry.end, ends.get(runs[entry.uuid], entry.end))
    wanted = {
        uuid
        for uuid, run in runs.items()
        if (not options.since or datetime.fromtimestamp(ends[run]).date() >= options.since)
        and (not options.run_id or run.startswith(options.run_id))
    }
    sessions: dict[str, list[Stored]] = {}
    for session in past.sessions(faults, wanted):
        sessions.setdefault(runs[session.uuid], []).insert(0, _row(session))
    for run in sorted(sessions, key=lambda run: ends[run]):
        first, *others = sessions[run]
        yield _together(run, sessions[run]) if others or run != first.id else first


def _row(session: Session) -> Stored:
    cases = [case for case in session.cases if not case.fixture]
    return Stored(
        id=session.uuid,
        what=ledger.step_of(session.label) or re.sub(r"^\S*/", "", session.command),
        start=datetime.fromtimestamp(session.start).replace(microsecond=0),
        end=datetime.fromtimestamp(session.end).replace(microsecond=0),
        host=session.host,
        systems=sorted({case.system for case in session.cases}),
        simulated=sorted({case.simulated for case in session.cases if case.simulated}),
        passed=sum(case.passed for case in cases),
        failed=sum(case.result == "fail" for case in cases),
        cases=len(cases),
        label=session.label,
        command=session.command,
    )


def _together(run: str, sessions: list[Stored]) -> Stored:
    """Return a run as one row."""
    steps = ", ".join(session.what for session in sessions)
    what = f"{plural(len(sessions), 'session')}: {steps}"
    start = min(session.start for session in sessions)
    named = {
        name: sorted({each for session in sessions for each in getattr(session, name)})
        for name in ("systems", "simulated")
    }
    counted = {
        name: sum(getattr(session, name) for session in sessions)
        for name in ("passed", "failed", "cases")
    }
    own = {"id": run, "what": what, "start": start, "label": run, "command": ""}
    return structs.replace(sessions[-1], **own, **named, **counted, sessions=sessions)


def _days(text: str) -> int:
    days = positive(text)
    if days < LOOKS_BACK:
        raise argparse.ArgumentTypeError(
            f"{text} is less than each night reads: detection looks back {LOOKS_BACK} nights, a "
            f"baseline takes {BASELINE_NIGHTS}; at least {LOOKS_BACK}"
        )
    return days


def _prune(options: argparse.Namespace) -> int:
    """Delete old sessions from ReFrame's database.

    Each is compared with what the ledger has of it, and stays there: all commands go on reading
    it.
    """
    workspace = options.workspace
    past = ledger.of(workspace)
    limit = time.time() - 86400.0 * options.keep
    try:
        with state.locked(workspace.campaigns, "sessions prune"):
            chosen, kept = prune.plan(past, limit)
            if not options.dry_run:
                prune.prune(workspace, past, chosen)
    except Busy as err:
        warn(options, err)
        return BUSY
    for why in kept:
        warn(options, why)
    deleted = "would be deleted" if options.dry_run else "deleted"
    print(
        f"{past.results}: {plural(len(chosen), 'session')} {deleted}{prune.period(chosen)}; the "
        f"ledger has all {len(past.every)}; the file keeps its size, and new runs fill it"
    )
    return Status.PASSED

"""`acceptance sessions`: what the results database holds, and what is moved into the archive."""

import argparse
import re
import time
from datetime import datetime
from typing import Any

from acceptance.campaigns import Busy, lock, state
from acceptance.cli.arguments import (
    Commands,
    add_command,
    add_database,
    add_format,
    add_verbs,
    day_of,
)
from acceptance.cli.output import BUSY, emit, warn
from acceptance.core.errors import Fault
from acceptance.core.text import plural
from acceptance.detection.constants import BASELINE_NIGHTS, REMEMBERED, WINDOWS
from acceptance.rfm import Session, SessionFault, database, lost, rows
from acceptance.rfm.archive import files, move, restore
from acceptance.verdict import Status

#: Characters of an id that a table shows at least; as many as make it unique.
_SHORT = 8
_DAYS = {"d": 1, "w": 7, "y": 365}
#: Days that detection looks back, which is more than baselines and claims do.
_LEAST = REMEMBERED + int(WINDOWS[-1])


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "sessions",
        "List stored sessions, forget or trust one, or archive old ones.",
        "The newest stands last. An id, or its beginning, names a session in other commands.",
        failed="a session cannot be read, or is not what was stored",
    )
    command.add_argument("--system", help="only those with cases of this system")
    command.add_argument("--since", metavar="DATE", type=day_of, help="only those that ended since")
    command.add_argument(
        "--forget",
        nargs="+",
        metavar="ID",
        help="leave sessions out for good that cannot be read, or are not what was stored; with "
        f"`{lost.GONE}` miss none any more that the database lacks",
    )
    command.add_argument(
        "--trust", nargs="+", metavar="ID", help="take sessions as they are in the database now"
    )
    add_database(command)
    add_format(command, "table", "csv", "json")
    command.set_defaults(run=run)
    prune = add_command(
        add_verbs(command),
        "prune",
        "Move old sessions out of the database into the archive, or put them back.",
        "They are checked, backed up, written as Parquet, read back, then deleted by ReFrame. All "
        "commands go on reading them.",
        others=f"{BUSY} a campaign runs",
    )
    action = prune.add_mutually_exclusive_group(required=True)
    action.add_argument(
        "--keep",
        metavar="TIME",
        type=_days,
        help="how old sessions become that stay in the database: 400d, 60w, 2y",
    )
    action.add_argument(
        "--restore",
        nargs="+",
        metavar="ID",
        help=f"put archived sessions back, `{restore.ALL}` of them; the archive keeps them, too",
    )
    prune.add_argument("--dry-run", action="store_true", help="say what --keep would move")
    prune.set_defaults(run=_prune)


def run(options: argparse.Namespace) -> int:
    """List them; that there is none is said."""
    path = options.db or options.workspace.results
    for uuid in lost.forget(path, options.forget or ()):
        warn(options, f"session {uuid} is left out, and not missed, from now on")
    for uuid in lost.trust(path, options.trust or ()):
        warn(options, f"session {uuid} counts as it is")
    if options.forget or options.trust:
        return Status.PASSED
    faults: list[SessionFault] = []
    found: list[dict[str, Any]] = []
    for session in database.sessions(path, faults):
        if options.since and datetime.fromtimestamp(session.end).date() < options.since:
            break  # that which ended last comes first
        row = _row(session)
        if options.system in (None, *row["systems"]):
            found.insert(0, row)
    for fault in faults:
        warn(options, fault)
    if not found:
        asked = " of these" if options.system or options.since else ""
        warn(options, Fault(f"{path}: holds no session{asked}"))
    ids = database.ids(path)
    length = _SHORT
    while len({uuid[:length] for uuid in ids}) < len({*ids}):
        length += 1
    emit(
        options,
        found,
        {
            "session": lambda row: row["session"][:length],
            "ended": lambda row: row["end"].replace("T", " "),
            "system": "systems",
            "passed": lambda row: f"{row['passed']} of {row['cases']}",
            "label": "label",
            "command": lambda row: re.sub(r"^\S*/", "", row["command"]),
        },
    )
    return Status.FAILED if faults else Status.PASSED


def _row(session: Session) -> dict[str, Any]:
    cases = [case for case in session.cases if not case.fixture]
    return {
        "session": session.uuid,
        "start": datetime.fromtimestamp(session.start).isoformat(timespec="seconds"),
        "end": datetime.fromtimestamp(session.end).isoformat(timespec="seconds"),
        "host": session.host,
        "systems": sorted({case.system for case in session.cases}),
        "simulated": sorted({case.simulated for case in session.cases if case.simulated}),
        "label": session.label,
        "campaign": state.id_of(session.label),
        "passed": sum(case.passed for case in cases),
        "failed": sum(case.result == "fail" for case in cases),
        "cases": len(cases),
        "command": session.command,
    }


def _days(text: str) -> int:
    found = re.fullmatch(r"(\d+)([dwy]?)", text)
    if found is None or not found[2]:
        meant = f"{text}d" if found else "400d"
        raise argparse.ArgumentTypeError(f"{text!r} has no unit (d, w, y); write {meant}")
    days = int(found[1]) * _DAYS[found[2]]
    if days < _LEAST:
        raise argparse.ArgumentTypeError(
            f"{text} is less than each night reads: detection looks back {_LEAST} nights, a "
            f"baseline takes {BASELINE_NIGHTS}; at least {_LEAST}d"
        )
    return days


def _prune(options: argparse.Namespace) -> int:
    """Move old sessions, or put them back."""
    workspace = options.workspace
    database = workspace.results
    rows.held(database)  # before anything is made beside it
    if options.dry_run and options.restore:
        raise Fault("--dry-run goes with --keep")
    try:
        if options.dry_run:
            _show(options)
            return Status.PASSED
        with lock.locked(workspace.campaigns, "acceptance sessions prune"):
            if options.restore:
                put_back = restore.restore(database, options.restore)
                print(f"{plural(len(put_back), 'session')} put back into {database}")
            else:
                _move(options)
    except Busy as err:
        warn(options, err)
        return BUSY
    return Status.PASSED


def _limit(options: argparse.Namespace) -> float:
    return time.time() - 86400.0 * float(options.keep)


def _show(options: argparse.Namespace) -> None:
    database = options.workspace.results
    plan = move.plan(database, _limit(options))
    print(f"{plural(len(plan.rows), 'session')} would be moved{_period(plan)}")
    if plan.archived:
        print(f"{len(plan.archived)} of them are in the archive already")
    if plan.blocked:
        warn(options, plan.blocked)


def _period(plan: move.Plan) -> str:
    ends = [datetime.fromtimestamp(row.end) for row in plan.rows if row.end]
    return f", of {min(ends):%Y-%m-%d} to {max(ends):%Y-%m-%d}" if ends else ""


def _move(options: argparse.Namespace) -> None:
    database = options.workspace.results
    limit = _limit(options)
    plan = move.plan(database, limit)
    if plan.blocked:
        warn(options, plan.blocked)
    moved = move.move(options.workspace, limit, print)
    if not moved.sessions:
        print(f"{database}: no session is older than {options.keep} days")
        return
    print(
        f"{plural(moved.sessions, 'session')} moved{_period(plan)}; the database holds "
        f"{len(rows.held(database))}, the archive {len(files.listed(database))}; verified, the "
        f"backup is gone; the file of the database keeps its size, and new runs fill it"
    )

"""`acceptance sessions`: what was stored, and what of it ReFrame's database need not hold."""

import argparse
import re
import time
from datetime import datetime
from typing import Any

from acceptance import ledger
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
from acceptance.ledger import Session, prune
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
        "List stored sessions, forget one, or delete old ones from ReFrame's database.",
        "The newest stands last. An id, or its beginning, names a session in other commands.",
        failed="a session cannot be read",
    )
    command.add_argument("--system", help="only those with cases of this system")
    command.add_argument("--since", metavar="DATE", type=day_of, help="only those that ended since")
    command.add_argument(
        "--forget",
        nargs="+",
        metavar="ID",
        help="leave sessions out for good, as those that cannot be read; with "
        f"`{ledger.GONE}` miss none any more that the ledger lacks",
    )
    add_database(command)
    add_format(command, "table", "csv", "json")
    command.set_defaults(run=run)
    old = add_command(
        add_verbs(command),
        "prune",
        "Delete old sessions from ReFrame's database.",
        "Each is compared with what the ledger has of it, and stays there: all commands go on "
        "reading it.",
        others=f"{BUSY} a campaign runs",
    )
    old.add_argument(
        "--keep",
        metavar="TIME",
        type=_days,
        required=True,
        help="how old sessions become that stay in the database: 400d, 60w, 2y",
    )
    old.add_argument("--dry-run", action="store_true", help="say what would be deleted")
    old.set_defaults(run=_prune)


def run(options: argparse.Namespace) -> int:
    """List them; that there is none is said."""
    past = ledger.of(options.workspace, options.db)
    for name in past.forget(options.forget or ()):
        warn(options, f"session {name} is left out, and not missed, from now on")
    if options.forget:
        return Status.PASSED
    found: list[dict[str, Any]] = []
    faults = [*past.faults]
    for session in past.sessions(faults):
        if options.since and datetime.fromtimestamp(session.end).date() < options.since:
            break  # that which ended last comes first
        row = _row(session)
        if options.system in (None, *row["systems"]):
            found.insert(0, row)
    for told in (*past.notes, *faults):
        warn(options, told)
    if not found:
        asked = " of these" if options.system or options.since else ""
        warn(options, Fault(f"{past.results}: holds no session{asked}"))
    ids = past.ids()
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
    """Delete old sessions from ReFrame's database, which the ledger keeps."""
    workspace = options.workspace
    past = ledger.of(workspace)
    limit = time.time() - 86400.0 * float(options.keep)
    try:
        with lock.locked(workspace.campaigns, "acceptance sessions prune"):
            chosen = prune.plan(past, limit)
            if not options.dry_run:
                prune.prune(workspace, past, chosen)
    except Busy as err:
        warn(options, err)
        return BUSY
    for kept in chosen.kept:
        warn(options, kept)
    deleted = "would be deleted" if options.dry_run else "deleted"
    print(
        f"{past.results}: {plural(len(chosen.rows), 'session')} {deleted}{chosen.period}; the "
        f"ledger has all {len(past.every)}; the file keeps its size, and new runs fill it"
    )
    return Status.PASSED

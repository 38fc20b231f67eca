"""`acceptance sessions`: what the results database holds, to be named in other commands."""

import argparse
from datetime import datetime
from typing import Any

from acceptance.campaigns import state
from acceptance.cli.arguments import Commands, add_command, add_database, add_format, day_of
from acceptance.cli.output import emit, warn
from acceptance.core.errors import Fault
from acceptance.core.text import one_line, table
from acceptance.rfm import Session, SessionFault, database, lost
from acceptance.verdict import Status

#: Characters of an id that a table shows at least; as many as make it unique.
_SHORT = 8


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "sessions",
        "list the sessions that --from and --session take",
        "List the runs in the results database, the newest last. An id, or its beginning, names a "
        "session in other commands.",
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
    add_format(command, "table", "json")
    command.set_defaults(run=run)


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
    rows: list[dict[str, Any]] = []
    for session in database.sessions(path, faults):
        if options.since and datetime.fromtimestamp(session.end).date() < options.since:
            break  # that which ended last comes first
        row = _row(session)
        if options.system in (None, *row["systems"]):
            rows.insert(0, row)
    for fault in faults:
        warn(options, fault)
    if not rows:
        asked = " of these" if options.system or options.since else ""
        warn(options, Fault(f"{path}: holds no session{asked}"))
    emit(options.format, lambda: rows, lambda: _text(rows, database.ids(path)) if rows else "")
    return Status.FAILED if faults else Status.PASSED


def _row(session: Session) -> dict[str, Any]:
    cases = [case for case in session.cases if not case.fixture]
    passed = sum(case.passed for case in cases)
    return {
        "session": session.uuid,
        "start": datetime.fromtimestamp(session.start).isoformat(timespec="seconds"),
        "end": datetime.fromtimestamp(session.end).isoformat(timespec="seconds"),
        "host": session.host,
        "systems": sorted({case.system for case in session.cases}),
        "simulated": sorted({case.simulated for case in session.cases if case.simulated}),
        "label": session.label,
        "campaign": state.id_of(session.label),
        "passed": passed,
        "failed": sum(case.result == "fail" for case in cases),
        "cases": len(cases),
        "command": session.command,
    }


def _command(text: str) -> str:
    """Return a command without the folder of its program."""
    program, _, arguments = text.partition(" ")
    return f"{program.rpartition('/')[2]} {arguments}"


def _text(rows: list[dict[str, Any]], ids: list[str]) -> str:
    length = _SHORT
    while len({uuid[:length] for uuid in ids}) < len(set(ids)):
        length += 1
    return table(
        ("session", "ended", "system", "passed", "label", "command"),
        [
            (
                row["session"][:length],
                row["end"].replace("T", " "),
                ", ".join(row["systems"]) or "-",
                f"{row['passed']} of {row['cases']}",
                row["label"] or "-",
                one_line(_command(row["command"])),
            )
            for row in rows
        ],
    )

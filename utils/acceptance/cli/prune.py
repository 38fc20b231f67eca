"""`acceptance prune`: old sessions moved out of the database into the archive, or put back."""

import argparse
import re
import time
from datetime import datetime

from acceptance.campaigns import Busy, lock
from acceptance.cli.arguments import Commands, add_command
from acceptance.cli.output import BUSY, warn
from acceptance.core.errors import Fault
from acceptance.core.text import plural
from acceptance.detection.constants import BASELINE_NIGHTS, REMEMBERED, WINDOWS
from acceptance.rfm import rows
from acceptance.rfm.archive import files, move, restore
from acceptance.verdict import Status

_DAYS = {"d": 1, "w": 7, "y": 365}
#: Days that detection looks back, which is more than baselines and claims do.
_LEAST = REMEMBERED + int(WINDOWS[-1])


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "prune",
        "move old sessions into the archive",
        "Move old sessions out of the results database into files of Parquet in archive/ beside "
        "it: checked, backed up, written, read back, then deleted by ReFrame. All commands go on "
        "reading them.",
        others="3 a campaign runs",
    )
    action = command.add_mutually_exclusive_group(required=True)
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
    command.add_argument("--dry-run", action="store_true", help="say what --keep would move")
    command.set_defaults(run=run)


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


def run(options: argparse.Namespace) -> int:
    """Move them, or put them back."""
    workspace = options.workspace
    database = workspace.results
    rows.held(database)  # before anything is made beside it
    if options.dry_run and options.restore:
        raise Fault("--dry-run goes with --keep")
    try:
        if options.dry_run:
            _show(options)
            return Status.PASSED
        with lock.locked(workspace.campaigns, "acceptance prune"):
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

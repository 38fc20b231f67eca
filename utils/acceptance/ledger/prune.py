"""Old sessions deleted from ReFrame's database, once the ledger has them: ReFrame deletes them."""

from collections.abc import Sequence
from datetime import datetime, timezone
from hashlib import sha256

from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.core.text import plural
from acceptance.ledger import results_db
from acceptance.ledger.ledger import Ledger
from acceptance.ledger.results_db import Row
from acceptance.rfm import marks, reframe_environment, reframe_program

#: Seconds in which ReFrame deletes some sessions, and how many it is told at once.
_TIMEOUT, _MANY = 600.0, 200


def plan(ledger: Ledger, limit: float) -> tuple[list[Row], list[str]]:
    """Return which sessions that ended before a time (s) can be deleted; raises ResultsFault.

    Each is read, and is what the ledger has. What could not be taken in stays: why, for each reason
    in a line.
    """
    known = {entry.uuid: entry for entry in ledger.every}
    old = [row for row in results_db.sessions(ledger.results) if _ended(row) < limit]
    held = ledger.holds(known[row.uuid] for row in old if row.uuid in known)
    rows: list[Row] = []
    changed: list[Row] = []
    for row, blob in results_db.contents(ledger.results, [row for row in old if row.uuid in held]):
        same = sha256(blob).hexdigest() == known[row.uuid].sum
        (rows if same else changed).append(row)
    lacking = [row for row in old if row.uuid not in held]
    kept = [
        f"{plural(len(others), 'session')} as old stay, which {why}: {others[0].uuid}"
        for why, others in (("the ledger has not whole", lacking), ("changed since", changed))
        if others
    ]
    return rows, kept


def period(rows: Sequence[Row]) -> str:
    """Say from when sessions are."""
    ends = [datetime.fromtimestamp(row.end) for row in rows]
    return f", of {min(ends):%Y-%m-%d} to {max(ends):%Y-%m-%d}" if ends else ""


def _ended(row: Row) -> float:
    return row.end if isinstance(row.end, int | float) else float("inf")


def prune(workspace: Workspace, ledger: Ledger, rows: Sequence[Row]) -> None:
    """Let ReFrame delete sessions of a plan; raises Fault where it cannot, or a run goes on."""
    for mark in marks.read(workspace.var):
        if not mark.ended and mark.lives is not False:
            raise Fault(f"{mark}, is under way; wait for it, or end it")
    for first in range(0, len(rows), _MANY):
        _ask(workspace, _query(rows[first : first + _MANY]))
    # One whose JSON has no name, or another one, is asked for by that of its row.
    there = {row.uuid for row in results_db.sessions(ledger.results)}
    for row in rows:
        if row.uuid in there and (said := _ask(workspace, row.uuid)):
            raise Fault(f"reframe --delete-stored-sessions={row.uuid}: {said}")


def _query(part: Sequence[Row]) -> str:
    """Return what selects just these sessions, whose JSON alone is decoded (ReFrame 4.8).

    A period is in whole seconds; a session belongs to that in which it began.
    """
    begin, end = min(row.start for row in part), max(row.start for row in part)
    period = ":".join(
        datetime.fromtimestamp(int(time), timezone.utc).strftime("%Y%m%dT%H%M%S+0000")
        for time in (begin, end + 1)
    )
    return f"{period}?uuid in { ({row.uuid for row in part})!r}"


def _ask(workspace: Workspace, query: str) -> str:
    """Let ReFrame delete what a query selects; return why it could not, empty where it did."""
    done = machine.run(
        [reframe_program(), f"--delete-stored-sessions={query}"],
        _TIMEOUT,
        env=reframe_environment(workspace),
        folder=workspace.start,
    )
    return done.fault

"""The store brought up to date: what is new is decoded, what is no longer there is dropped.

Of the sessions before their number of bytes is compared. Up to `VERIFIED` bytes of them are read
and compared with their checksums, each day others, until all had their turn: a smaller database is
compared as a whole. `acceptance sessions` always reads all of them.
"""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from acceptance.core.text import plural
from acceptance.rfm import SessionFault, StoredSession, checksums, database, session_schema
from acceptance.store.schema import new_generation
from acceptance.store.taking import Taker

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Samples that are held before they are written.
BATCH = 300_000
#: Bytes of older sessions that are compared with their checksums each time: a quarter of a second.
VERIFIED = 128_000_000


class Taken(NamedTuple):
    """What the store knows of a session that it has looked at."""

    uuid: str
    size: int | None
    sum: str
    refused: str
    fault: str


class Difference(NamedTuple):
    """From which session on, by its place, the store is to be brought up to date.

    `known` counts the sessions that it holds, `now` has sum and refusal of those that were read.
    """

    place: int
    known: int
    listing: list[tuple[str, int | None]]
    now: dict[str, tuple[str, str]]

    @property
    def any(self) -> bool:
        """Tell whether there is a difference."""
        return self.place < max(self.known, len(self.listing))


def difference(
    connection: "DuckDBPyConnection", results: Path, before: Difference | None = None
) -> Difference:
    """Compare the store with a results database; raises ResultsFault where that cannot be read.

    What was read for the comparison `before` is not read once more.
    """
    taken = [
        Taken(*row)
        for row in connection.execute(
            "SELECT uuid, size, sum, refused, fault FROM sessions ORDER BY session_id"
        ).fetchall()
    ]
    listing = database.listing(results)
    sums = checksums.read(results)
    # What could not be taken may have been restored.
    doubtful = {each.uuid for each in taken if each.refused or each.fault}
    doubtful |= _in_turn(listing, {each.uuid for each in taken}, date.today().toordinal())
    now = dict(before.now) if before is not None else {}
    doubtful -= now.keys()
    found = database.stored_sessions(results, doubtful) if doubtful else ()
    now.update((each.uuid, (each.sum, _refusal(sums, each))) for each in found)
    place = 0
    for (uuid, size), each in zip(listing, taken, strict=False):
        if (
            uuid != each.uuid
            or (size != each.size and None not in (size, each.size))
            or now.get(uuid, (each.sum, database.refusal(each.sum, sums.entries.get(uuid))))
            != (each.sum, each.refused)
        ):
            break
        place += 1
    return Difference(place, len(taken), listing, now)


def _in_turn(listing: list[tuple[str, int | None]], taken: set[str], day: int) -> set[str]:
    """Return which of the taken sessions are compared with their checksums on a day."""
    sizes = {uuid: size for uuid, size in listing if uuid in taken and size is not None}
    turns = sum(sizes.values()) // VERIFIED + 1
    return {uuid for number, uuid in enumerate(sizes) if number % turns == day % turns}


def bring_up_to_date(
    connection: "DuckDBPyConnection", results: Path, change: Difference
) -> Iterator[str]:
    """Drop what is no longer so, and take what is new; yield what to tell of that.

    Raises ResultsFault where the database cannot be read.
    """
    if change.place < change.known:
        _drop(connection, change.place)
        again = max(len(change.listing) - change.place, 0)
        yield (
            f"the store of samples: session {change.place + 1} of {change.known} was deleted, "
            f"forgotten, or is another one now; {plural(again, 'session')} read again"
        )
    faults: dict[str, str] = {}
    while True:
        try:
            _take(connection, results, change.listing, faults)
            return
        except _Malformed as err:
            # What was taken since the last writing is taken again, without it.
            faults[err.uuid] = err.message


def _refusal(sums: checksums.Sums, stored: StoredSession) -> str:
    return database.refusal(stored.sum, sums.entries.get(stored.uuid), stored.kept)


class _Malformed(Exception):
    def __init__(self, uuid: str, message: str) -> None:
        super().__init__(message)
        self.uuid, self.message = uuid, message


def _take(
    connection: "DuckDBPyConnection",
    results: Path,
    listing: list[tuple[str, int | None]],
    faults: dict[str, str],
) -> None:
    """Take the sessions that the store does not have; raises _Malformed for what is none."""
    taker, sums = Taker(connection), checksums.read(results)
    known = connection.execute("SELECT uuid, own_uuid FROM sessions").fetchall()
    number, own = len(known), {uuid for _, uuid in known}
    there = {uuid for uuid, _ in known}
    sizes = {uuid: size for uuid, size in listing if uuid not in there}
    for stored in database.stored_sessions(results, sizes) if sizes else ():
        refused = _refusal(sums, stored)
        fault = faults.get(stored.uuid, "")
        info, first = session_schema.NO_SESSION, taker.run
        if not refused and not fault:
            try:
                info, cases = session_schema.decode(stored.text(results))
                if info.uuid not in own:
                    taker.take(number, info, list(cases))
            except SessionFault as err:
                raise _Malformed(stored.uuid, err.reason) from None
            except (ValueError, KeyError, TypeError, AttributeError) as err:
                raise _Malformed(stored.uuid, f"is malformed: {err!r}") from None
        taker.sessions.add(
            number, stored.uuid, info.uuid, sizes[stored.uuid], stored.sum, refused, fault,
            info.uuid in own, info.time_start_unix, info.time_end_unix, info.cmdline,
            bool(info.num_aborted), first,
        )  # fmt: skip
        own.add(info.uuid)
        number += 1
        if taker.pending > BATCH:
            taker.write()
    taker.write()


def _drop(connection: "DuckDBPyConnection", place: int) -> None:
    """Drop the sessions from a place on, and what they brought: in one step."""
    ((run,),) = connection.execute(
        "SELECT run_id FROM sessions WHERE session_id = ?", [place]
    ).fetchall()
    connection.execute("BEGIN")
    for table in ("samples", "impossible", "runs", "series", "cases"):
        connection.execute(f"DELETE FROM {table} WHERE run_id >= ?", [run])
    connection.execute(
        "UPDATE series SET direction = NULL, directed = NULL WHERE directed >= ?", [run]
    )
    connection.execute("DELETE FROM sessions WHERE session_id >= ?", [place])
    connection.execute("UPDATE meta SET generation = ?", [new_generation()])
    connection.execute("COMMIT")

"""Sessions that a results database held, and holds no longer."""

from collections.abc import Collection, Sequence
from pathlib import Path

from acceptance.core.text import plural
from acceptance.rfm import checksums, database, run_log
from acceptance.rfm.checksums import (
    ARCHIVED,
    DELETED,
    FORGOTTEN,
    NO_SUM,
    SEEN,
    STORED,
    TRUSTED,
)

#: What names all sessions that a database lacks.
GONE = "gone"


def lost_sessions(results: Path) -> list[str]:
    """Return the sessions (UUID) that a database lacks, though it has met them: by its checksums.

    Raises ResultsFault when there is a database, and it cannot be read.
    """
    held = {*database.ids(results)} if results.exists() else set()
    return missed(checksums.read(results), held)


def missed(sums: checksums.Sums, held: Collection[str]) -> list[str]:
    """Return the sessions that have a checksum and are not held, though nobody gave them up."""
    kinds = (STORED, TRUSTED, SEEN, ARCHIVED)
    return [
        uuid for uuid, entry in sums.entries.items() if entry.kind in kinds and uuid not in held
    ]


def deleted(logs: Path, sums: checksums.Sums, uuids: Collection[str]) -> list[str]:
    """Return those of some sessions that ReFrame was told to delete, by its log.

    None that was archived: ReFrame has deleted it then, and it still was to be had.
    """
    return run_log.deleted(logs, [uuid for uuid in uuids if sums.kind(uuid) != ARCHIVED])


def why_gone(results: Path) -> str:
    """Say what a database held that is not there; nothing where it is, or was never missed."""
    if results.exists() or not (lost := lost_sessions(results)):
        return ""
    return (
        f"{results}: is gone, though it held {plural(len(lost), 'session')}; restore it from a "
        "backup, else the next run makes a new one, without a past"
    )


def forget(results: Path, names: Sequence[str]) -> list[str]:
    """Leave sessions out for good, by their ids or the beginnings of these; return the ids.

    One that is no longer in the database is not missed any more; `GONE` names all of them. Raises
    ResultsFault for what names no session, StoredFault when that cannot be written.
    """
    lacking = lost_sessions(results)
    gone: list[str] = []
    there: list[str] = []
    for name in names:
        found = lacking if name == GONE else [uuid for uuid in lacking if uuid.startswith(name)]
        if name == GONE or len(found) == 1:
            gone += found
        else:
            there.append(database.full_id(results, name))
    sums = checksums.read(results).entries
    for kind, uuids in ((DELETED, gone), (FORGOTTEN, there)):
        known = [(uuid, sums[uuid].sum if uuid in sums else NO_SUM) for uuid in uuids]
        checksums.append(results, kind, known)
    return [*gone, *there]


def trust(results: Path, names: Sequence[str]) -> list[str]:
    """Take sessions as they stand in the database from now on; return their ids.

    Raises ResultsFault for what names no session that can be read, StoredFault as `forget`.
    """
    uuids = [database.full_id(results, name) for name in names]
    stored = list(database.stored_sessions(results, uuids))
    for each in stored:
        database.decoded(results, each)
    checksums.append(results, TRUSTED, [(each.uuid, each.sum) for each in stored])
    return uuids

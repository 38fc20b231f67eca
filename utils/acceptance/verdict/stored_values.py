"""Whether the results database still holds what was stored: checksums, and lost sessions."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from acceptance.core import state_files
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.core.text import plural
from acceptance.rfm import (
    LoggedRun,
    ResultsFault,
    checksums,
    database,
    half_made,
    lost,
)
from acceptance.rfm.half_made import HALF_MADE
from acceptance.verdict.model import Verdict

#: Seconds between the start of ReFrame and its first line in the log, at most.
_START_OF_REFRAME = 5.0


def set_aside(run: LoggedRun) -> list[str]:
    """Tell of half-made databases that this run has set aside, just before it began to log."""
    if run.database is None or not run.time:
        return []
    since = datetime.fromisoformat(run.time).timestamp() - _START_OF_REFRAME
    return [
        f"{run.database}: was {HALF_MADE}; this run has set it aside as {path.name}"
        for path in half_made.since(run.database, since)
    ]


def protect(verdict: Verdict, workspace: Workspace) -> None:
    """Give each session of the workspace's database that has none a checksum; tell what is wrong.

    What the database lacks is told until it is restored or forgotten, unless ReFrame itself has
    deleted it.
    """
    try:
        results = workspace.results
        sums = checksums.read(results)
        _tell_lost(verdict, workspace, sums)
        if results.exists():
            _adopt(verdict, workspace, sums)
        verdict.notes += sums.faults
    except state_files.StoredFault as err:
        verdict.notes.append(f"sessions get no checksums: {err}")
    except Fault:  # whoever reads results tells it
        return


def _tell_lost(verdict: Verdict, workspace: Workspace, sums: checksums.Sums) -> None:
    """Tell which sessions are no longer in the database."""
    results = workspace.results
    missing = lost.lost_sessions(results)
    if gone := lost.why_gone(results):
        verdict.fail("sessions-gone", gone, str(results))
        return
    if not missing:
        return
    if deleted := lost.deleted(workspace.logs, sums, missing):
        checksums.append(results, checksums.DELETED, _sums_of(deleted, sums))
        verdict.notes.append(
            f"{results}: {plural(len(deleted), 'session')} less: ReFrame was told to delete them "
            f"({', '.join(deleted)})"
        )
    if missing := [uuid for uuid in missing if uuid not in deleted]:
        checksums.append(results, checksums.SEEN, [(uuid, checksums.NO_SUM) for uuid in missing])
        _fail_for(verdict, results, missing)


def _fail_for(verdict: Verdict, results: Path, missing: Sequence[str]) -> None:
    verdict.fail(
        "sessions-gone",
        f"{results}: no longer has {plural(len(missing), 'session')} that it held, the last "
        f"one {missing[-1]}: restore it from a backup; if they were deleted on purpose: "
        "acceptance sessions --forget gone",
        str(results),
    )


def _sums_of(uuids: Iterable[str], sums: checksums.Sums) -> list[tuple[str, str]]:
    known = sums.entries
    return [(uuid, known[uuid].sum if uuid in known else checksums.NO_SUM) for uuid in uuids]


def _adopt(verdict: Verdict, workspace: Workspace, sums: checksums.Sums) -> None:
    """Write the checksums of sessions that have none."""
    results = workspace.results
    new = {uuid for uuid in database.ids(results) if sums.kind(uuid) in ("", checksums.SEEN)}
    if not new:
        return
    adopted = [(stored.uuid, stored.sum) for stored in database.stored_sessions(results, new)]
    checksums.append(results, checksums.STORED, adopted)
    if (older := len(adopted) - 1) > 0:
        verdict.notes.append(f"{plural(older, 'older session')} had no checksum, and got one now")


def note_unprotected(verdict: Verdict, workspace: Workspace, results: Path) -> None:
    """Tell how many sessions of a database could not be compared with a checksum.

    Fail where checksums have sessions that it lacks, unless `protect` has told that.
    """
    try:
        sums = checksums.read(results)
        uuids = database.ids(results)
    except (ResultsFault, state_files.StoredFault):
        return
    missed = lost.missed(sums, uuids)
    deleted = lost.deleted(workspace.logs, sums, missed)
    missed = [uuid for uuid in missed if uuid not in deleted]
    if missed and not any(problem.kind == "sessions-gone" for problem in verdict.problems):
        _fail_for(verdict, results, missed)
    bare = [uuid for uuid in uuids if uuid not in sums.entries]
    if bare:
        verdict.notes.append(
            f"{results}: {len(bare)} of {plural(len(uuids), 'session')} not protected by a checksum"
        )

"""Where progress is kept from one night to the next: one file, written whole or not at all.

It is derived: whatever is wrong with it, all begins again with the first session.
"""

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from acceptance import detection
from acceptance.core import state_files
from acceptance.core.state_files import StoredFault
from acceptance.detection.constants import IN_MEMORY
from acceptance.regressions.history.series import History, PastSession
from acceptance.regressions.progress.progress import Progress, mark
from acceptance.regressions.progress.records import DamagedError, Kept


def update(history: History, place: Path | None, notes: list[str]) -> Progress:
    """Return what is known after the last session of a history, from the file of before if it can.

    Without a `place` nothing is kept. `notes` are told why all began again, or nothing was kept.
    """
    seen = [mark(session) for session in history.sessions]
    kept, why = _read(place, seen) if place is not None else (Kept(), "")
    progress = Progress(history, kept)
    if kept.seen and not progress.same_ways:
        progress, why = Progress(history, Kept()), "it is known now which way is better of a series"
    older = why == _OLDER
    try:
        progress = _go_on(progress, None if older else place, notes)
    except DamagedError as err:
        progress = _go_on(Progress(history, Kept()), place, notes)
        why = f"cannot be used: {err}"
    if why and not older:
        notes.append(f"{place}: {why}; what became worse was judged again from the first session")
    return progress


#: A judgement as of an earlier session; what is kept stays.
_OLDER = "it has seen more sessions"


def _read(place: Path, seen: list[str]) -> tuple[Kept, str]:
    """Return what is kept of the sessions with which these begin, or nothing, and why."""
    now = version()  # of the code that runs: that on the disk may be another one when it ends
    try:
        kept = Kept.read(cast("BinaryIO", place.open("rb")), now)
    except (FileNotFoundError, NotADirectoryError):
        return Kept(), ""
    except (OSError, DamagedError) as err:
        return Kept(), f"cannot be used: {err}"
    if kept is None:
        return Kept(), "the code or the constants of detection changed"
    if kept.seen == seen[: len(kept.seen)]:
        return kept, ""
    if kept.seen[: len(seen)] == seen:
        return Kept(), _OLDER
    return Kept(), "sessions that it has seen were deleted or changed"


def _go_on(progress: Progress, place: Path | None, notes: list[str]) -> Progress:
    """Take in the sessions that are new; keep what is known then where there is a place for it."""
    history, kept = progress.history, progress.kept
    new = history.sessions[len(kept.seen) :]
    if not new:
        for _ in kept.blocks():  # all of it is what was written
            pass
        progress.place = place
        return progress
    if place is not None:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with state_files.locked(place.with_name(f"{place.name}.lock"), 0.0):
                return _written(progress, new, place)
        except (OSError, StoredFault) as err:
            notes.append(f"what is known of series is not kept: {err}")
            kept, _ = _read(place, [mark(session) for session in history.sessions])
            progress = Progress(history, kept)
    for some in progress.portions(history.sessions[len(kept.seen) :]):
        progress.take(some, _temporary())
    return progress


def _temporary() -> Kept:
    return Kept(file=cast("BinaryIO", tempfile.SpooledTemporaryFile(IN_MEMORY)))


def _written(progress: Progress, new: list[PastSession], place: Path) -> Progress:
    """Take in the sessions that are new, and replace the file."""
    *others, last = progress.portions(new)
    for some in others:
        progress.take(some, _temporary())
    part = place.with_name(f"{place.name}.part")
    target = Kept(file=cast("BinaryIO", part.open("w+b")))
    try:
        progress.take(last, target)
        target.finish(version())
        os.fsync(target.file.fileno())
        part.replace(place)
    except BaseException:
        part.unlink(missing_ok=True)  # a full disk needs the place
        raise
    progress.place = place
    return progress


@cache
def version() -> str:
    """Return what stands for the code and the constants by which is judged."""
    found = hashlib.sha256(np.__version__.encode())
    folders = (Path(detection.__file__).parent, Path(__file__).parent)
    for path in sorted(path for folder in folders for path in folder.glob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()

"""Where ReFrame keeps what it writes, and whether it can be written and read there."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from acceptance import ledger
from acceptance.core.paths import Workspace
from acceptance.core.text import plural
from acceptance.ledger import ResultsFault
from acceptance.rfm import half_made


class Place(NamedTuple):
    """A place: what it holds, where it is, and what to do if it is not `fine`."""

    holds: str
    fine: bool
    where: str
    remedy: str = ""


def places(workspace: Workspace) -> Iterator[Place]:
    """Yield database, log and the rest, as the configuration in force has them."""
    if workspace.unrecorded:
        yield Place("runs", False, workspace.unrecorded, workspace.remedy)
    else:
        yield from _results(workspace)
        yield _writable("log", workspace.logs)
    yield _writable("var", workspace.var, "name another folder: ACCEPTANCE_VAR")


def _results(workspace: Workspace) -> Iterator[Place]:
    results = workspace.results
    if half_made.is_half_made(results):
        remedy = f"mv {results} {results}.half-made; the next run makes it anew"
        yield Place("results", False, f"{results}: {half_made.HALF_MADE}", remedy)
    yield _writable("results", results)
    yield from _sessions(workspace, results)


def _sessions(workspace: Workspace, results: Path) -> Iterator[Place]:
    """Tell which sessions are gone, or cannot be read."""
    if half_made.is_half_made(results):
        return
    try:
        past = ledger.of(workspace)
    except ResultsFault as err:
        if results.exists():
            yield Place("sessions", False, str(err), "restore the database from a backup")
        return
    if past.gone:
        found = f"{past.folder}: lacks {plural(len(past.gone), 'session')}"
        restore = "restore the folder from a backup; or miss them no more: acceptance sessions"
        yield Place("sessions", False, found, f"{restore} --forget {ledger.GONE}")
    held = past.holds(past.every)
    if lost := [entry.uuid for entry in past.every if entry.uuid not in held]:
        found = f"{past.folder}: has {plural(len(lost), 'session')} not whole, as {lost[0]}"
        yield Place("sessions", False, found, "restore the folder from a backup")
    for fault in past.faults:
        remedy = f"acceptance gate tells what is left; acceptance sessions --forget {fault.uuid}"
        yield Place("sessions", False, str(fault), remedy)
    if not (past.gone or past.faults or lost):
        yield Place("sessions", True, f"{len(past.entries)} in the ledger {past.folder}")


def _writable(holds: str, path: Path, otherwise: str = "let ReFrame write there") -> Place:
    """Look at a file or folder, or at what of it is there."""
    there = next(each for each in (path, *path.parents) if each.exists())
    fine = os.access(there, os.W_OK)
    remedy = "" if fine else f"{there} is not writable; {otherwise}"
    return Place(holds, fine, str(path), remedy)

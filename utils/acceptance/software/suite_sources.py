"""Sources of suites that are built for SimGrid: what somebody names, or what Spack has kept."""

import functools
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from acceptance.core.paths import Workspace

#: Suite -> the variable that names its source, and how its archive's one folder begins.
_SOURCES = {
    "osu": ("OSU_SOURCE", "osu-micro-benchmarks-"),
    "imb": ("IMB_SOURCE", "mpi-benchmarks-"),
    "npb": ("NPB_SOURCE", "NPB3."),
}
#: Where Spack keeps archives, below its source cache and in a mirror, by their checksums.
_KEPT = "_source-cache/archive/*/*"


def find_sources(workspace: Workspace) -> dict[str, str]:
    """Return suite -> its source, a folder or an archive, of those that are here.

    What a variable names goes before what Spack has kept, and is taken unseen: the build tells.
    """
    kept = _kept(workspace)
    named = {suite: os.environ.get(variable, "") for suite, (variable, _) in _SOURCES.items()}
    found = {suite: named[suite] or kept.get(suite, "") for suite in _SOURCES}
    return {suite: os.path.abspath(source) for suite, source in found.items() if source}


@functools.cache
def _kept(workspace: Workspace) -> dict[str, str]:
    """Return suite -> its newest archive, by the numbers in the name of its folder."""
    archives = sorted((_numbers(first), first, path) for first, path in _archives(workspace))
    return {
        suite: str(path)
        for _, first, path in archives
        for suite, (_, begin) in _SOURCES.items()
        if first.startswith(begin)
    }


def _archives(workspace: Workspace) -> Iterator[tuple[str, Path]]:
    mirror = os.environ.get("SPACK_MIRROR", "")
    folders = [Path(mirror).expanduser()] if mirror and "://" not in mirror else []
    for folder in [*folders, workspace.spack / "sources"]:
        yield from ((_first_folder(path), path) for path in folder.glob(_KEPT))


def _numbers(name: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", name)]


def _first_folder(path: Path) -> str:
    try:
        with tarfile.open(path) as archive:
            first = archive.next()
            return first.name.split("/")[0] if first else ""
    except (OSError, EOFError, tarfile.TarError):
        return ""  # no archive that this program reads


def release_of_npb(source: str) -> str:
    """Return the release of NPB, 3.4 or 3.3, that a source has: a folder, or an archive.

    Each has a folder for MPI that is named by the release; empty where neither is there.
    """
    has = {name.split("/")[1] for name in _names(source) if "/" in name}
    return next((release for release in ("3.4", "3.3") if f"NPB{release}-MPI" in has), "")


@functools.cache
def _names(source: str) -> list[str]:
    """Return the names in a folder, or in an archive, each below that folder or the archive's."""
    try:
        if os.path.isdir(source):
            return [f"./{name}" for name in os.listdir(source)]
        with tarfile.open(source) as archive:
            return archive.getnames()
    except (OSError, EOFError, tarfile.TarError):
        return []


def source_of(environment: Mapping[str, Any], suite: str) -> str:
    """Return the source from which a suite is built for an environment; empty: it is not."""
    sources = environment.get("extras", {}).get("sources")
    return str(sources.get(suite, "")) if isinstance(sources, Mapping) else ""


def how_to_name(suite: str) -> str:
    """Say how a simulated system gets a suite; empty where it cannot."""
    if suite not in _SOURCES:
        return ""
    variable, _ = _SOURCES[suite]
    return (
        f"set {variable} to the folder, or archive, of its source; or SPACK_MIRROR to a mirror of "
        "Spack that has it"
    )

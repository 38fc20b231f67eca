"""Where Spack and sources come from: a clone of Spack, and mirrors for sites without a network."""

import os
import shutil
from pathlib import Path

from acceptance.core import process
from acceptance.software.spack import Spack, SpackFault, commit, complaint
from acceptance.software.spack_environments import environment_for

#: What `make spack` gets.
SPACK_URL, SPACK_TAG = "https://github.com/spack/spack.git", "v1.1.0"
PACKAGES_URL, PACKAGES_TAG = "https://github.com/spack/spack-packages.git", "v2026.03.0"
COMMITS = {
    SPACK_TAG: "2e907202bcc8209a6a62243aab50c179b524cc3b",
    PACKAGES_TAG: "0e093dad700a9be836b0d4aefc4bb5183e4990bd",
}


def fill_mirror(destination: Path, suite: str, system: str, mpi: str, spack: Spack) -> str:
    """Put the sources of a suite, and a build cache of what is installed, into a mirror.

    Returns what the mirror has now. Raises SpackFault when a source cannot be had or its checksum
    is wrong.
    """
    pristine = environment_for(suite, system, mpi, spack)
    work = spack.home / "mirroring" / pristine.name
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(pristine, work)
    destination.mkdir(parents=True, exist_ok=True)
    for step in (["concretize"], ["mirror", "create", "--all", "-d", str(destination)]):
        done = spack.run("-e", str(work), *step)
        if done.fault:
            why = complaint(done.err + done.out) or done.fault
            raise SpackFault(f"{suite} with {mpi}: {why}")
    push = ["buildcache", "push", "--unsigned", "--update-index", str(destination)]
    done = spack.run("-e", str(work), *push)
    shutil.rmtree(work)
    return "sources; it is not built here" if done.fault else "sources and build cache"


def clone_spack(home: Path) -> str:
    """Clone the pinned Spack and package repository into a folder; return what was done.

    Raises SpackFault, in one line, when the network does not reach them.
    """
    done = []
    for url, tag, folder in (
        (SPACK_URL, SPACK_TAG, home / "spack"),
        (PACKAGES_URL, PACKAGES_TAG, home / "packages"),
    ):
        if not folder.exists():
            _clone(url, tag, folder)
        done.append(f"{folder.name} {tag}")
    return ", ".join(done)


def _clone(url: str, tag: str, folder: Path) -> None:
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    git = ["git", "clone", "-q", "--depth", "1", "-c", "advice.detachedHead=false"]
    done = process.run(
        [*git, "--branch", tag, url, str(part)],
        timeout=3600,
        env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
    )
    fault = ""
    if done.fault:
        why = complaint(done.err.replace("fatal:", "Error:")) or done.fault
        fault = (
            f"cannot clone {url}: {why}; without a network, set SPACK_ROOT to a Spack and "
            "see 'No internet' in spack-envs/README.md"
        )
    elif commit(part) != COMMITS[tag]:
        fault = f"{url}: {tag} is not the commit {COMMITS[tag]} it was"
    if fault:
        shutil.rmtree(part, ignore_errors=True)
        raise SpackFault(fault)
    part.rename(folder)

"""Where Spack and sources come from: a clone of Spack, and mirrors for sites without a network."""

import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Collection, Mapping
from pathlib import Path

from acceptance.core import process
from acceptance.core.text import plural, time_text
from acceptance.software.spack import Spack, SpackFault, commit, complaint
from acceptance.software.spack_environments import BUILD, environment_for, may_build, unbuilt

#: What `make spack` gets.
SPACK_URL, SPACK_TAG = "https://github.com/spack/spack.git", "v1.1.0"
PACKAGES_URL, PACKAGES_TAG = "https://github.com/spack/spack-packages.git", "v2026.03.0"
COMMITS = {
    SPACK_TAG: "2e907202bcc8209a6a62243aab50c179b524cc3b",
    PACKAGES_TAG: "0e093dad700a9be836b0d4aefc4bb5183e4990bd",
}

#: What Spack asks for sources unless a mirror is named, and s until it counts as out of reach.
PUBLIC, PATIENCE = "https://mirror.spack.io/", 5.0
#: Seconds that a build takes, as a rule: 7 to 50, and 20 to choose what is built.
BUILD_TIME = 60.0


def lines_on_builds(
    mpis: Collection[str], spack: Spack, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """Say before a run on `local` what Spack does not build in it, and whether it could."""
    missing = unbuilt(mpis, spack.workspace)
    waiting = [each for each in missing if not may_build(each[0], "local", environ)]
    lines = []
    if waiting:
        suites = dict.fromkeys(suite for suite, _ in waiting)
        each = (
            f"{suite} ({', '.join(mpi for of, mpi in waiting if of == suite)})" for suite in suites
        )
        lines.append(
            f"not built: {', '.join(each)}; Spack builds them in about "
            f"{time_text(len(waiting) * BUILD_TIME)} ({plural(len(waiting), 'build')}) with: "
            f"make run {BUILD}={','.join(suites)}"
        )
    if missing and not _reaches_sources(environ):
        lines.append(
            f"Spack reaches no source, and can build none of what is missing: {PUBLIC} does not "
            "answer, and SPACK_MIRROR names no mirror (spack-envs/README.md, No internet)"
        )
    return lines


def _reaches_sources(environ: Mapping[str, str]) -> bool:
    """Tell whether Spack has a mirror, or a network that reaches the one of its own."""
    if environ.get("SPACK_MIRROR"):
        return True  # which is looked at when an environment is composed
    request = urllib.request.Request(PUBLIC, method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=PATIENCE).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


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

"""Spack: which one, the environments that build the suites, and what was built.

Facts about Spack here were established with 1.1 and 1.2 and packages v2026.03.0.
"""

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from acceptance.core.errors import Fault
from acceptance.core.paths import ROOT, Workspace
from acceptance.software import externals as host

ENVS = ROOT / "spack-envs"

#: What `make spack` gets.
SPACK_URL, SPACK_TAG = "https://github.com/spack/spack.git", "v1.1.0"
PACKAGES_URL, PACKAGES_TAG = "https://github.com/spack/spack-packages.git", "v2026.03.0"
COMMITS = {
    SPACK_TAG: "2e907202bcc8209a6a62243aab50c179b524cc3b",
    PACKAGES_TAG: "0e093dad700a9be836b0d4aefc4bb5183e4990bd",
}


class SpackFault(Fault):
    """Something about Spack that the reader has to mend: what, where and how."""


@dataclass(frozen=True)
class Spack:
    """A Spack: the root of its clone, and the package repository to use with it.

    What it builds, its caches and the environments are in the workspace, and outlive a run.
    Without a package repository Spack gets its own, from the network.
    """

    root: Path
    packages: Path | None
    workspace: Workspace

    @property
    def home(self) -> Path:
        """Return the folder of environments, installed trees and caches."""
        return self.workspace.spack

    @property
    def program(self) -> Path:
        """Return the command `spack`."""
        return self.root / "bin/spack"

    def environment(self) -> dict[str, str]:
        """Return the environment variables that keep this Spack apart from the user's own."""
        return {
            "SPACK_USER_CONFIG_PATH": str(self.home / "config"),
            "SPACK_SYSTEM_CONFIG_PATH": str(self.home / "system"),
            "SPACK_USER_CACHE_PATH": str(self.home / "cache"),
            # It needs clingo, which this environment has from its lock file.
            "SPACK_PYTHON": os.environ.get("SPACK_PYTHON") or sys.executable,
        }

    def run(self, *arguments: str, timeout: float = 3600) -> subprocess.CompletedProcess[str]:
        """Run a command of Spack; its status is the caller's to judge."""
        return subprocess.run(
            [str(self.program), *arguments],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, **self.environment()},
        )

    def identity(self) -> dict[str, str]:
        """Return the version and commit of Spack, and the commit of the package repository.

        Reads files only, since starting Spack costs a second. An empty commit: no git clone.
        """
        text = _read(self.root / "lib/spack/spack/__init__.py")
        version = re.search(r'^__version__ = "(.+)"', text, re.MULTILINE)
        return {
            "spack": version[1] if version else "unknown",
            "spack_commit": _commit(self.root),
            "packages_commit": _commit(self.packages) if self.packages else "",
        }


def find(
    workspace: Workspace, environ: Mapping[str, str] = os.environ, home: Path | None = None
) -> Spack | None:
    """Find a Spack: SPACK_ROOT, `spack` on PATH, what `make spack` cloned, `~/spack`.

    The package repository is SPACK_PACKAGES, or a clone `packages` or `spack-packages` beside it.
    """
    on_path = shutil.which("spack", path=environ.get("PATH"))
    for root in (
        environ.get("SPACK_ROOT"),
        Path(on_path).resolve().parent.parent if on_path else None,
        workspace.spack / "spack",
        (home or Path.home()) / "spack",
    ):
        if root and (Path(root) / "bin/spack").is_file():
            return Spack(Path(root), _packages(Path(root), environ), workspace)
    return None


def _packages(root: Path, environ: Mapping[str, str]) -> Path | None:
    named = environ.get("SPACK_PACKAGES")
    candidates = (
        [Path(named)]
        if named
        else [root.parent / "packages", root.parent / f"{root.name}-packages"]
    )
    for folder in candidates:
        if (folder / "repos/spack_repo/builtin/repo.yaml").is_file():
            return folder
    return None


def features() -> list[str]:
    """Return the features of an environment for which Spack builds its suites with an MPI.

    Spack can build what `spack-envs/suites/` has a file for.
    """
    return ["spack", "mpi", *sorted(path.stem for path in (ENVS / "suites").glob("*.yaml"))]


@functools.cache
def pinned(suite: str) -> str:
    """Return the version of a suite that its file in `spack-envs/suites/` pins.

    Raises SpackFault when the file names none.
    """
    path = ENVS / "suites" / f"{suite}.yaml"
    found = re.search(r"@(\S+)", str(_load(path).get("specs")))
    if not found:
        raise SpackFault(f"{path}: pins no version")
    return found[1].rstrip("',]")


def compose(
    suite: str,
    system: str,
    mpi: str,
    spack: Spack,
    environ: Mapping[str, str] = os.environ,
    version: str = "",
    variants: str = "",
) -> str:
    """Return the spack.yaml of a suite on a system with one of its MPIs.

    `version` replaces the one that the suite's file pins, `variants` are added to its spec.
    Raises SpackFault when a file that it is made of is missing or no configuration of Spack.
    """
    roots = _load(ENVS / "suites" / f"{suite}.yaml").get("specs")
    if not isinstance(roots, list) or not roots:
        raise SpackFault(f"{ENVS / 'suites' / f'{suite}.yaml'}: names no specs")
    folders = [root / "spack-envs" for root in spack.workspace.systems]
    places = [folder / "systems" / system for folder in folders]
    folder = next((place for place in places if place.is_dir()), places[0])
    if not folder.is_dir():
        raise SpackFault(f"{folder}: missing; a system that uses Spack says here what it has")
    settings = _load(ENVS / "common.yaml")
    if system == "local":
        settings = _merged(settings, {"packages": host.externals(spack.workspace.spack / "prefix")})
    for path in sorted(folder.glob("*.yaml")):
        settings = _merged(settings, _load(path))
    settings = _merged(settings, _places(spack))
    if mirrors := _mirrors(environ.get("SPACK_MIRROR", "")):
        # The colon makes Spack forget the mirrors that it would ask otherwise.
        settings["mirrors:"] = mirrors
    if mpi not in settings.get("packages", {}):
        raise SpackFault(f"{folder}: its packages have no {mpi}; an environment asks for it")
    head = "".join(f"# {name}: {value}\n" for name, value in spack.identity().items())
    if version:
        roots = [re.sub(r"@\S+", f"@{version}", spec) for spec in roots]
    specs = [" ".join(filter(None, (spec, variants, f"^{mpi}"))) for spec in roots]
    body = {"spack": {"specs": specs, **settings}}
    return head + str(yaml.safe_dump(body, sort_keys=False, width=100))


def _places(spack: Spack) -> dict[str, Any]:
    """Return where Spack keeps its things, and its package repositories, ours first."""
    repos = {"interconnect": str(ENVS / "repo/spack_repo/interconnect")}
    if spack.packages:
        repos["builtin"] = str(spack.packages / "repos/spack_repo/builtin")
    return {
        "config": {
            # Padded, so that a build cache made here can be installed under another path.
            "install_tree": {"root": str(spack.home / "opt"), "padded_length": 128},
            "build_stage": [str(spack.home / "stage")],
            "source_cache": str(spack.home / "sources"),
            "misc_cache": str(spack.home / "misc"),
        },
        "bootstrap": {"sources:": []},
        "repos": repos,
    }


def _mirrors(mirror: str) -> dict[str, Any]:
    """Return the mirror that SPACK_MIRROR names: sources, and a build cache where it has one."""
    if not mirror:
        return {}
    folder = Path(mirror).expanduser()
    local = "://" not in mirror
    if local and not folder.is_dir():
        raise SpackFault(f"SPACK_MIRROR={mirror}: no such folder")
    binary = not local or (folder / "v3").is_dir() or (folder / "build_cache").is_dir()
    url = folder.resolve().as_uri() if local else mirror
    return {"site": {"url": url, "source": True, "binary": binary, "signed": False}}


def source(
    suite: str, system: str, mpi: str, spack: Spack, version: str = "", variants: str = ""
) -> Path:
    """Return a pristine folder with the spack.yaml, and its lock when that is still its own.

    Each choice of version and variants has a folder of its own, so that none undoes another's.

    The lock of an earlier build is kept as long as the spack.yaml, and with it the Spack, the
    recipes, the externals and the mirrors, are the same.
    """
    text = compose(suite, system, mpi, spack, version=version, variants=variants)
    name = f"{system}-{suite}-{mpi}"
    if version or variants:
        name += "-" + hashlib.sha256(f"{version} {variants}".encode()).hexdigest()[:8]
    folder = spack.home / "envs" / name
    folder.mkdir(parents=True, exist_ok=True)
    if _read(folder / "spack.yaml") != text:
        (folder / "spack.lock").unlink(missing_ok=True)
        replace(folder / "spack.yaml", text)
    return folder


def replace(path: Path, text: str) -> None:
    """Write a file so that no reader ever sees half of it."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text)
    part.replace(path)


def built(lock: str, identity: Mapping[str, str]) -> dict[str, str]:
    """Return what a spack.lock says was built: spec, hash, compiler, MPI, target.

    Source of the form: `spack.lock` version 6 and 7 (`roots`, `concrete_specs`). Raises SpackFault
    for anything else.
    """
    try:
        data = json.loads(lock)
        specs = data["concrete_specs"]
        roots = [specs[root["hash"]] for root in data["roots"]]
        first = roots[0]
        target = first["arch"]["target"]
        return {
            "spec": " ".join(f"{root['name']}@{root['version']}" for root in roots),
            "hash": " ".join(root["hash"] for root in roots),
            "compiler": _dependency(first, specs, "c"),
            "mpi": _dependency(first, specs, "mpi"),
            "target": target["name"] if isinstance(target, dict) else target,
            "lock": hashlib.sha256(lock.encode()).hexdigest()[:16],
            **identity,
        }
    except (ValueError, KeyError, IndexError, TypeError) as err:
        raise SpackFault(f"spack.lock: not of a form that this program knows: {err!r}") from None


def _dependency(spec: Mapping[str, Any], specs: Mapping[str, Any], virtual: str) -> str:
    for dependency in spec.get("dependencies", ()):
        if virtual in dependency.get("parameters", {}).get("virtuals", ()):
            found = specs[dependency["hash"]]
            return f"{found['name']}@{found['version']}"
    return ""


def complaint(output: str) -> str:
    """Return what Spack says went wrong, in one line; empty when it says nothing."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if "Error:" in line:
            # The line after the first often holds the reason.
            return " ".join([line.split("Error:", 1)[1].strip(), *lines[number + 1 : number + 2]])[
                :300
            ]
    return lines[-1][:300] if lines else ""


def mirror(destination: Path, suite: str, system: str, mpi: str, spack: Spack) -> str:
    """Put the sources of a suite, and a build cache of what is installed, into a mirror.

    Returns what the mirror has now. Raises SpackFault when a source cannot be had or its checksum
    is wrong.
    """
    pristine = source(suite, system, mpi, spack)
    work = spack.home / "mirroring" / pristine.name
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(pristine, work)
    destination.mkdir(parents=True, exist_ok=True)
    for step in (["concretize"], ["mirror", "create", "--all", "-d", str(destination)]):
        done = spack.run("-e", str(work), *step)
        if done.returncode:
            raise SpackFault(f"{suite} with {mpi}: {complaint(done.stderr + done.stdout)}")
    push = ["buildcache", "push", "--unsigned", "--update-index", str(destination)]
    done = spack.run("-e", str(work), *push)
    shutil.rmtree(work)
    return "sources and build cache" if done.returncode == 0 else "sources; it is not built here"


def clone(home: Path) -> str:
    """Clone the pinned Spack and package repository into a folder; return what was done.

    Raises SpackFault, in one line, when the network does not reach them.
    """
    done = []
    for url, tag, folder in (
        (SPACK_URL, SPACK_TAG, home / "spack"),
        (PACKAGES_URL, PACKAGES_TAG, home / "packages"),
    ):
        if not folder.exists():
            part = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            part.parent.mkdir(parents=True, exist_ok=True)
            result = subprocess.run(
                ["git", "clone", "-q", "--depth", "1", "-c", "advice.detachedHead=false",
                 "--branch", tag, url, str(part)],
                capture_output=True, text=True, env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
            )  # fmt: skip
            if result.returncode:
                shutil.rmtree(part, ignore_errors=True)
                why = complaint(result.stderr.replace("fatal:", "Error:"))
                raise SpackFault(
                    f"cannot clone {url}: {why}; without a network, set SPACK_ROOT to a Spack and "
                    "see 'No internet' in README.md"
                )
            if _commit(part) != COMMITS[tag]:
                shutil.rmtree(part, ignore_errors=True)
                raise SpackFault(f"{url}: {tag} is not the commit {COMMITS[tag]} it was")
            part.rename(folder)
        done.append(f"{folder.name} {tag}")
    return ", ".join(done)


def _merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with the entries of both; those of the second one win, tables are merged."""
    merged = dict(first)
    for key, value in second.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _merged(merged[key], value)
        else:
            merged[key] = value
    return merged


def _load(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as err:
        raise SpackFault(f"{path}: cannot be read: {err}") from None
    if not isinstance(data, dict):
        raise SpackFault(f"{path}: holds no table")
    return data


def _read(path: Path) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8")
    return ""


def _commit(folder: Path) -> str:
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", "-C", str(folder), "rev-parse", "HEAD"],
        capture_output=True,
        text=True,
    )
    return done.stdout.strip() if done.returncode == 0 else ""

"""Spack: which one this machine has, how to run it, and what it says of itself.

Facts about Spack in this package were established with 1.1 and 1.2 and packages v2026.03.0.

Spack and sources come from a clone, and from mirrors for sites without a network. The environments
that build the suites are made of files, and read back from their locks.
"""

import contextlib
import functools
import hashlib
import itertools
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec
import yaml

from acceptance.core import machine, records, state_files
from acceptance.core.errors import Fault
from acceptance.core.paths import ROOT, Workspace
from acceptance.core.text import bare_url, one_line, plural, time_text
from acceptance.machine import externals

#: A line of a build's log that Spack takes for an error, and how a broken line goes on.
_MARKED, _GOES_ON = re.compile(r"  >> \d+ +(?P<text>.*)"), re.compile(" {12}")


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

    def run(self, *arguments: str, timeout: float = 3600) -> machine.Done:
        """Run a command of Spack for at most `timeout` s; the caller judges how it ended."""
        return machine.run(
            [str(self.program), *arguments], timeout, env={**os.environ, **self.environment()}
        )

    def identity(self) -> dict[str, str]:
        """Return the version and commit of Spack, and the commit of the package repository.

        Reads files only, since starting Spack costs a second. An empty commit: no git clone.
        """
        text = machine.read_text(self.root / "lib/spack/spack/__init__.py")
        version = re.search(r'^__version__ = "(.+)"', text, re.MULTILINE)
        return {
            "spack": version[1] if version else "unknown",
            "spack_commit": commit(self.root),
            "packages_commit": commit(self.packages) if self.packages else "",
        }

    @classmethod
    def find(cls, workspace: Workspace) -> "Spack | None":
        """Find a Spack: SPACK_ROOT, `spack` on PATH, what `make spack` cloned, `~/spack`.

        The package repository is SPACK_PACKAGES, or a clone beside Spack's: `packages`, or
        `spack-packages`.
        """
        on_path = shutil.which("spack")
        for root in (
            os.environ.get("SPACK_ROOT"),
            Path(on_path).resolve().parent.parent if on_path else None,
            workspace.spack / "spack",
            Path.home() / "spack",
        ):
            if root and (Path(root) / "bin/spack").is_file():
                return cls(Path(root), _packages(Path(root)), workspace)
        return None


def _packages(root: Path) -> Path | None:
    named = os.environ.get("SPACK_PACKAGES")
    beside = [root.parent / "packages", root.parent / f"{root.name}-packages"]
    folders = [Path(named)] if named else beside
    held = (each for each in folders if (each / "repos/spack_repo/builtin/repo.yaml").is_file())
    return next(held, None)


#: What is told beside a source that Spack cannot get.
_NO_SOURCE = "(no source of this version in reach; `versions` names another: spack-envs/README.md)"


def complaint(output: str) -> str:
    """Return what Spack says went wrong, in one line; empty when it says nothing.

    Of a build that failed it is the first error of its log: the compiler's, most likely. Spack
    marks such lines (`  >> 67     text`), and goes on with a line that is too long in the next one,
    at its 13th column.
    """
    lines = output.splitlines()
    for number, line in enumerate(lines):
        if match := _MARKED.match(line):
            rest = itertools.takewhile(_GOES_ON.match, lines[number + 1 :])
            return (match["text"] + "".join(more[12:] for more in rest))[:300]
    lines = [line.strip() for line in lines if line.strip()]
    for number, line in enumerate(lines):
        if "Error:" in line:
            # The line after the first often holds the reason.
            parts = [line.split("Error:", 1)[1].strip(), *lines[number + 1 : number + 2]]
            told = " ".join(parts)[:300]
            return f"{told} {_NO_SOURCE}" if "fetchers failed" in told else told
    return lines[-1][:300] if lines else ""


def _read_yaml(path: Path) -> dict[str, Any]:
    """Return the table of a YAML file; raises Fault where it holds none."""
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError) as err:
        raise Fault(f"{path}: cannot be read: {err}") from None


def commit(folder: Path) -> str:
    """Return the commit of a git clone; empty for any other folder."""
    git = ["git", "-c", "safe.directory=*", "-C", str(folder), "rev-parse", "HEAD"]
    return machine.run(git, timeout=60).out.strip()


#: What `make spack` gets: folder -> repository, tag, and its commit.
CLONES = {
    "spack": ("spack/spack.git", "v1.1.0", "2e907202bcc8209a6a62243aab50c179b524cc3b"),
    "packages": ("spack/spack-packages.git", "v2026.03.0",
                 "0e093dad700a9be836b0d4aefc4bb5183e4990bd"),
}  # fmt: skip
GITHUB = "https://github.com/"

#: What Spack asks for sources unless a mirror is named, and s until it counts as out of reach.
PUBLIC, PATIENCE = "https://mirror.spack.io/", 5.0
#: Seconds that a build takes, as a rule: 7 to 50, and 20 to choose what is built.
BUILD_TIME = 60.0


def lines_on_builds(mpis: Collection[str], spack: Spack) -> list[str]:
    """Say before a run on `local` what Spack does not build in it, and whether it could."""
    missing = unbuilt(mpis, spack.workspace)
    waiting = {suite: of for suite, of in missing.items() if not may_build(suite, "local")}
    lines = []
    if waiting:
        builds = sum(map(len, waiting.values()))
        named = ", ".join(f"{suite} ({', '.join(of)})" for suite, of in waiting.items())
        lines.append(
            f"not built: {named}; Spack builds them in about {time_text(builds * BUILD_TIME)} "
            f"({plural(builds, 'build')}) with: make run {BUILD}={','.join(waiting)}"
        )
    if missing and not _reaches_sources():
        lines.append(
            f"Spack reaches no source, and can build none of what is missing: {PUBLIC} does not "
            "answer, and SPACK_MIRROR names no mirror (spack-envs/README.md, No internet)"
        )
    return lines


def _reaches_sources() -> bool:
    """Tell whether Spack has a mirror, or a network that reaches the one of its own."""
    if os.environ.get("SPACK_MIRROR"):
        return True  # which is looked at when an environment is composed
    import urllib.error
    import urllib.request

    request = urllib.request.Request(PUBLIC, method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=PATIENCE).close()
    except OSError as err:
        return isinstance(err, urllib.error.HTTPError)
    return True


def fill_mirror(destination: Path, suite: str, system: str, mpi: str, spack: Spack) -> str:
    """Put the sources of a suite, and a build cache of what is installed, into a mirror.

    Returns what the mirror has now. Raises Fault when a source cannot be had or its checksum
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
            raise Fault(f"{suite} with {mpi}: {why}")
    push = ["buildcache", "push", "--unsigned", "--update-index", str(destination)]
    done = spack.run("-e", str(work), *push)
    shutil.rmtree(work)
    return "sources; it is not built here" if done.fault else "sources and build cache"


def clone_spack(home: Path) -> str:
    """Clone the pinned Spack and package repository into a folder; return what was done.

    Raises Fault, in one line, when the network does not reach them.
    """
    for name, (repository, tag, wanted) in CLONES.items():
        if not (home / name).exists():
            _clone(f"{GITHUB}{repository}", tag, wanted, home / name)
    return ", ".join(f"{name} {tag}" for name, (_, tag, _) in CLONES.items())


def _clone(url: str, tag: str, wanted: str, folder: Path) -> None:
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.parent.mkdir(parents=True, exist_ok=True)
    git = ["git", "clone", "-q", "--depth", "1", "-c", "advice.detachedHead=false"]
    variables = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    done = machine.run([*git, "--branch", tag, url, str(part)], timeout=3600, env=variables)
    if not done.fault and commit(part) == wanted:
        part.rename(folder)
        return
    shutil.rmtree(part, ignore_errors=True)
    if not done.fault:
        raise Fault(f"{url}: {tag} is not the commit {wanted} it was")
    why = complaint(done.err.replace("fatal:", "Error:")) or done.fault
    raise Fault(
        f"cannot clone {url}: {why}; without a network, set SPACK_ROOT to a Spack and see 'No "
        "internet' in spack-envs/README.md"
    )


_ENVS = ROOT / "spack-envs"
_SUITES = "spack-envs/suites"
#: The features of an environment of Spack that are no suites.
_NO_SUITES = ("spack", "mpi")
#: The variable with the suites that Spack builds on `local`, separated by commas.
BUILD = "ACCEPTANCE_BUILD"


def spack_suites(workspace: Workspace) -> list[str]:
    """Return the suites that Spack can build.

    That is what a folder `spack-envs/suites/` has a file for: the clone's, or the site's.
    """
    folders = (root / _SUITES for root in workspace.systems)
    return sorted({path.stem for folder in folders for path in folder.glob("*.yaml")})


def spack_features(workspace: Workspace | None = None) -> list[str]:
    """Return the features of an environment for which Spack builds its suites with an MPI."""
    return [*_NO_SUITES, *spack_suites(workspace or Workspace.of())]


def features_on_local(mpi: str, workspace: Workspace) -> list[str]:
    """Return the features of the environment of `local` for what Spack builds with an MPI.

    It has what is built, and what may be. Without either there is no such environment: empty.
    """
    features = spack_features(workspace)
    waiting = [suite for suite in unbuilt([mpi], workspace) if not may_build(suite, "local")]
    ready = [feature for feature in features if feature not in waiting]
    return ready if len(ready) > len(_NO_SUITES) else []


def may_build(suite: str, system: str) -> bool:
    """Tell whether Spack may build a suite on a system: a cluster's own, or where it is asked to.

    `local` is whatever machine this is, of which a first run is to end soon.
    """
    return system != "local" or suite in os.environ.get(BUILD, "").split(",")


def unbuilt(mpis: Collection[str], workspace: Workspace) -> dict[str, list[str]]:
    """Return suites that Spack has never built on `local`, each with the MPIs that lack it."""
    # A suite may have been built in several forms, each in a folder of its own.
    folder = workspace.spack / "envs"
    never = {
        suite: [mpi for mpi in mpis if not any(folder.glob(f"local-{suite}-{mpi}*/spack.lock"))]
        for suite in spack_suites(workspace)
    }
    return {suite: of for suite, of in never.items() if of}


@functools.cache
def pinned_version(suite: str) -> str:
    """Return the version of a suite that its file in `spack-envs/suites/` pins.

    Raises Fault when the file names none.
    """
    path = _suite_file(suite, Workspace.of())
    version = re.search(r"@(\S+)", str(_read_yaml(path).get("specs")))
    if not version:
        raise Fault(f"{path}: pins no version")
    return version[1].rstrip("',]")


def _suite_file(suite: str, workspace: Workspace) -> Path:
    return _first(workspace, f"{_SUITES}/{suite}.yaml")


def _first(workspace: Workspace, name: str) -> Path:
    """Return a file, or folder, of the first who has it: the clone, or the site."""
    paths = [root / name for root in workspace.systems]
    return next((path for path in paths if path.exists()), paths[0])


def compose_environment(
    suite: str,
    system: str,
    mpi: str,
    spack: Spack,
    version: str = "",
    variants: str = "",
    require: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the spack.yaml of a suite on a system with one of its MPIs.

    `version` replaces the one that the suite's file pins, `variants` are added to its spec, and
    `require` is what packages have to be: name -> spec. Raises Fault when a file that it is made of
    is missing or no configuration of Spack.
    """
    path = _suite_file(suite, spack.workspace)
    roots = _read_yaml(path).get("specs")
    if not isinstance(roots, list) or not roots:
        raise Fault(f"{path}: names no specs")
    if version:
        roots = [re.sub(r"@\S+", f"@{version}", spec) for spec in roots]
    specs = [" ".join(filter(None, (spec, variants, f"^{mpi}"))) for spec in roots]
    settings = _settings(system, mpi, spack)
    demands = {name: {"require": [spec]} for name, spec in require.items()}
    settings = _merged(settings, {"packages": demands})
    if mirrors := _mirrors(os.environ.get("SPACK_MIRROR", "")):
        # The colon makes Spack forget the mirrors that it would ask otherwise.
        settings["mirrors:"] = mirrors
    head = "".join(f"# {name}: {one_line(value)}\n" for name, value in spack.identity().items())
    body = {"spack": {"specs": specs, **settings}}
    return head + str(yaml.safe_dump(body, sort_keys=False, width=100))


def _settings(system: str, mpi: str, spack: Spack) -> dict[str, Any]:
    """Return what every environment of a system has; its packages must have the MPI."""
    folder = _first(spack.workspace, f"spack-envs/systems/{system}")
    if not folder.is_dir():
        raise Fault(f"{folder}: missing; a system that uses Spack says here what it has")
    settings = _read_yaml(_ENVS / "common.yaml")
    if system == "local":
        packages = externals.externals(spack.workspace.spack / "prefix")
        settings = _merged(settings, {"packages": packages})
    for path in sorted(folder.glob("*.yaml")):
        settings = _merged(settings, _read_yaml(path))
    settings = _merged(settings, _places(spack))
    if mpi not in settings.get("packages", {}):
        raise Fault(f"{folder}: its packages have no {mpi}; an environment asks for it")
    return settings


def _places(spack: Spack) -> dict[str, Any]:
    """Return where Spack keeps its things, and its package repositories, ours first."""
    repos = {"interconnect": str(_ENVS / "repo/spack_repo/interconnect")}
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
        raise Fault(f"SPACK_MIRROR={mirror}: no such folder")
    binary = not local or (folder / "v3").is_dir() or (folder / "build_cache").is_dir()
    url = folder.resolve().as_uri() if local else mirror
    if not local and bare_url(mirror) != mirror:
        raise Fault(
            f"SPACK_MIRROR={bare_url(mirror)}: has a user, a password or a query, which would be "
            "kept in spack.yaml; keep them where Spack does (spack mirror add --help)"
        )
    return {"site": {"url": url, "source": True, "binary": binary, "signed": False}}


def environment_for(
    suite: str,
    system: str,
    mpi: str,
    spack: Spack,
    version: str = "",
    variants: str = "",
    require: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """Return a pristine folder with a suite's spack.yaml, and its lock while that is valid.

    Each choice of version, variants and requirements has its folder, so that none undoes another
    one's. The lock of an earlier build is kept as long as the spack.yaml, and with it the Spack,
    the recipes, the externals and the mirrors, are the same.
    """
    text = compose_environment(suite, system, mpi, spack, version, variants, require)
    name = f"{system}-{suite}-{mpi}"
    if version or variants or require:
        chosen = (version, variants, *(f"{key} {spec}" for key, spec in sorted(require.items())))
        name += "-" + hashlib.sha256(" ".join(chosen).encode()).hexdigest()[:8]
    folder = spack.home / "envs" / name
    with _locked(folder):
        if machine.read_text(folder / "spack.yaml") != text:
            (folder / "spack.lock").unlink(missing_ok=True)
            state_files.write_text(folder / "spack.yaml", text)
    return folder


def keep_lock(folder: Path, lock: str) -> None:
    """Keep the lock of a build in the folder of its environment, for the next run."""
    with _locked(folder):
        state_files.write_text(folder / "spack.lock", lock)


def _locked(folder: Path) -> contextlib.AbstractContextManager[None]:
    # Beside the folder, which must hold nothing that is not Spack's.
    return state_files.locked(folder.parent / ".lock", patience=60)


def read_lock(lock: str, identity: Mapping[str, str]) -> dict[str, str]:
    """Return what a spack.lock says was built: spec, hash, compiler, MPI, target.

    Source of the form: `spack.lock` version 6 and 7 (`roots`, `concrete_specs`). Raises Fault
    for anything else.
    """
    try:
        data = records.from_json(lock)
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
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as err:
        raise Fault(f"spack.lock: not of a form that this program knows: {err!r}") from None


def read_packages(lock: str) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """Return the packages of a spack.lock, each with its version and variants; and its roots.

    A package is {"": "@=VERSION", variant: as a spec has it}, a root its version. Of a package that
    is there more than once (a build tool, say) nothing is returned. Raises Fault as `read_lock`.
    """
    try:
        data = records.from_json(lock)
        specs = data["concrete_specs"]
        often = Counter(spec["name"] for spec in specs.values())
        roots = [specs[root["hash"]] for root in data["roots"]]
        packages = {
            spec["name"]: {"": f"@={spec['version']}", **_variants(spec.get("parameters", {}))}
            for spec in specs.values()
            if often[spec["name"]] == 1
        }
        return packages, {root["name"]: str(root["version"]) for root in roots}
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise Fault(f"spack.lock: not of a form that this program knows: {err!r}") from None


def _variants(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return variants as a spec has them; what a version itself brings is none (patches)."""
    texts = {}
    for name, value in parameters.items():
        if isinstance(value, bool):
            texts[name] = f"{'+' if value else '~'}{name}"
        elif value and name not in ("patches", "build_system"):
            words = value if isinstance(value, list) else [value]
            joined = (" " if name.endswith("flags") else ",").join(map(str, words))
            texts[name] = f'{name}="{joined}"'
    return texts


def _dependency(spec: Mapping[str, Any], specs: Mapping[str, Any], virtual: str) -> str:
    for dependency in spec.get("dependencies", ()):
        if virtual in dependency.get("parameters", {}).get("virtuals", ()):
            provider = specs[dependency["hash"]]
            return f"{provider['name']}@{provider['version']}"
    return ""


def _merged(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with the entries of both; those of the second one win, tables are merged."""
    merged = dict(first)
    for key, value in second.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _merged(merged[key], value)
        else:
            merged[key] = value
    return merged

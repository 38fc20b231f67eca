"""The Spack environments that build the suites: made of files, and read back from their locks."""

import contextlib
import functools
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from acceptance.core import state_files
from acceptance.core.paths import ROOT, Workspace
from acceptance.software import externals
from acceptance.software.spack import Spack, SpackFault, read_text, read_yaml

_ENVS = ROOT / "spack-envs"
_SUITES = "spack-envs/suites"
#: The features of an environment of Spack that are no suites.
_NO_SUITES = ("spack", "mpi")
#: The variable with the suites that Spack builds on `local`, separated by commas.
BUILD = "ACCEPTANCE_BUILD"


def spack_features(workspace: Workspace | None = None) -> list[str]:
    """Return the features of an environment for which Spack builds its suites with an MPI.

    Spack can build what a folder `spack-envs/suites/` has a file for: the clone's, or the site's.
    """
    folders = (workspace or Workspace.of()).systems
    suites = {path.stem for root in folders for path in (root / _SUITES).glob("*.yaml")}
    return [*_NO_SUITES, *sorted(suites)]


def features_on_local(mpi: str, workspace: Workspace) -> list[str]:
    """Return the features of the environment of `local` for what Spack builds with an MPI.

    It has what is built, and what may be. Without either there is no such environment: empty.
    """
    features = spack_features(workspace)
    waiting = [suite for suite, of in unbuilt([mpi], workspace) if not may_build(suite, "local")]
    ready = [feature for feature in features if feature not in waiting]
    return ready if len(ready) > len(_NO_SUITES) else []


def may_build(suite: str, system: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Tell whether Spack may build a suite on a system: a cluster's own, or where it is asked to.

    `local` is whatever machine this is, of which a first run is to end soon.
    """
    return system != "local" or suite in environ.get(BUILD, "").split(",")


def unbuilt(mpis: Iterable[str], workspace: Workspace) -> list[tuple[str, str]]:
    """Return suites that Spack has never built on `local`, each with an MPI."""
    suites = [name for name in spack_features(workspace) if name not in _NO_SUITES]
    pairs = ((suite, mpi) for suite in suites for mpi in mpis)
    folder = workspace.spack / "envs"
    # A suite may have been built in several forms, each in a folder of its own.
    return [
        (suite, mpi)
        for suite, mpi in pairs
        if not any(folder.glob(f"local-{suite}-{mpi}*/spack.lock"))
    ]


@functools.cache
def pinned_version(suite: str) -> str:
    """Return the version of a suite that its file in `spack-envs/suites/` pins.

    Raises SpackFault when the file names none.
    """
    path = _suite_file(suite, Workspace.of())
    version = re.search(r"@(\S+)", str(read_yaml(path).get("specs")))
    if not version:
        raise SpackFault(f"{path}: pins no version")
    return version[1].rstrip("',]")


def _suite_file(suite: str, workspace: Workspace) -> Path:
    paths = [root / _SUITES / f"{suite}.yaml" for root in workspace.systems]
    return next((path for path in paths if path.is_file()), paths[0])


def compose_environment(
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
    path = _suite_file(suite, spack.workspace)
    roots = read_yaml(path).get("specs")
    if not isinstance(roots, list) or not roots:
        raise SpackFault(f"{path}: names no specs")
    if version:
        roots = [re.sub(r"@\S+", f"@{version}", spec) for spec in roots]
    specs = [" ".join(filter(None, (spec, variants, f"^{mpi}"))) for spec in roots]
    settings = _settings(system, mpi, spack)
    if mirrors := _mirrors(environ.get("SPACK_MIRROR", "")):
        # The colon makes Spack forget the mirrors that it would ask otherwise.
        settings["mirrors:"] = mirrors
    head = "".join(f"# {name}: {value}\n" for name, value in spack.identity().items())
    body = {"spack": {"specs": specs, **settings}}
    return head + str(yaml.safe_dump(body, sort_keys=False, width=100))


def _settings(system: str, mpi: str, spack: Spack) -> dict[str, Any]:
    """Return what every environment of a system has; its packages must have the MPI."""
    places = [root / "spack-envs/systems" / system for root in spack.workspace.systems]
    folder = next((place for place in places if place.is_dir()), places[0])
    if not folder.is_dir():
        raise SpackFault(f"{folder}: missing; a system that uses Spack says here what it has")
    settings = read_yaml(_ENVS / "common.yaml")
    if system == "local":
        packages = externals.externals(spack.workspace.spack / "prefix")
        settings = _merged(settings, {"packages": packages})
    for path in sorted(folder.glob("*.yaml")):
        settings = _merged(settings, read_yaml(path))
    settings = _merged(settings, _places(spack))
    if mpi not in settings.get("packages", {}):
        raise SpackFault(f"{folder}: its packages have no {mpi}; an environment asks for it")
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
        raise SpackFault(f"SPACK_MIRROR={mirror}: no such folder")
    binary = not local or (folder / "v3").is_dir() or (folder / "build_cache").is_dir()
    url = folder.resolve().as_uri() if local else mirror
    return {"site": {"url": url, "source": True, "binary": binary, "signed": False}}


def environment_for(
    suite: str, system: str, mpi: str, spack: Spack, version: str = "", variants: str = ""
) -> Path:
    """Return a pristine folder with a suite's spack.yaml, and its lock while that is valid.

    Each choice of version and variants has its folder, so that none undoes another one's. The lock
    of an earlier build is kept as long as the spack.yaml, and with it the Spack, the recipes, the
    externals and the mirrors, are the same.
    """
    text = compose_environment(suite, system, mpi, spack, version=version, variants=variants)
    name = f"{system}-{suite}-{mpi}"
    if version or variants:
        name += "-" + hashlib.sha256(f"{version} {variants}".encode()).hexdigest()[:8]
    folder = spack.home / "envs" / name
    with _locked(folder):
        if read_text(folder / "spack.yaml") != text:
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

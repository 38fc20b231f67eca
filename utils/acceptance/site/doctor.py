"""What this machine can run, what provides it, and what is missing."""

import importlib.metadata
import os
import platform
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acceptance import references
from acceptance.core.paths import Workspace
from acceptance.fabric import FabricFault, facts_of, rates
from acceptance.launch import slurm_jobs
from acceptance.launch.topology import usable_cores
from acceptance.rfm import configuration as site
from acceptance.software import Spack, find_program
from acceptance.suites import SUITES

OK, MISSING, BROKEN = "ok", "missing", "BROKEN"


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, its state, what was found, and what to do about it."""

    what: str
    state: str
    found: str
    remedy: str = ""


def examine(
    workspace: Workspace, config_files: Iterable[Path], system: str | None = None
) -> list[Finding]:
    """Look at the machine, the project's set-up, the references and every suite."""
    findings = [
        *_machine(),
        *_storage(workspace),
        _references(workspace.reference),
        _spack(workspace),
    ]
    try:
        configuration = site.load(config_files)
        chosen = configuration.system(system)
    except site.SiteFault as err:
        return [
            *findings,
            Finding("configuration", BROKEN, str(err), "mend the file, or source env.sh"),
        ]
    findings.append(Finding("system", OK, f"{chosen['name']}: {chosen.get('descr', '')}"))
    findings += _schedulers(chosen)
    findings += _fabrics(chosen, workspace)
    for suite in SUITES:
        findings += _suite(suite, configuration, chosen)
    return findings


def _machine() -> Iterator[Finding]:
    cores = usable_cores()
    yield Finding(
        "cores",
        OK if cores > 1 else MISSING,
        f"{cores} usable, {platform.machine()}",
        "" if cores > 1 else "a message needs two processes, and each of them a core",
    )
    yield Finding("Python", OK, platform.python_version())
    yield Finding("ReFrame", OK, importlib.metadata.version("reframe-hpc"))
    compiler = shutil.which("gcc") or shutil.which("cc")
    yield Finding(
        "C compiler",
        OK if compiler else MISSING,
        compiler or "none",
        "" if compiler else "needed to build suites, not to run those that come as wheels",
    )


def _storage(workspace: Workspace) -> Iterator[Finding]:
    for path, holds in ((workspace.results, "results"), (workspace.logs, "log")):
        var = workspace.var
        present = path if path.exists() else var if var.exists() else var.parent
        writable = os.access(present, os.W_OK)
        yield Finding(
            holds,
            OK if writable else BROKEN,
            str(path),
            "" if writable else f"{present} is not writable; name another folder: ACCEPTANCE_VAR",
        )


def _spack(workspace: Workspace) -> Finding:
    found = Spack.find(workspace)
    if found is None:
        return Finding("Spack", MISSING, "none", "make spack, or set SPACK_ROOT")
    recipes = found.packages or "its own package repository, from the network"
    return Finding("Spack", OK, f"{found.root} {found.identity()['spack']}, {recipes}")


def _references(folder: Path) -> Finding:
    try:
        library = references.load(folder)
    except references.ReferenceFault as err:
        return Finding("references", BROKEN, str(err), "mend the line")
    return Finding(
        "references",
        OK,
        f"{len(library.values)} published, {len(library.baselines)} of this site, "
        f"{len(library.claims)} claims",
    )


def _schedulers(system: dict[str, Any]) -> Iterator[Finding]:
    """Look whether Slurm's commands answer that ReFrame's schedulers ask."""
    used = {partition.get("scheduler", "local") for partition in system["partitions"]}
    for scheduler in sorted(used & {"slurm", "squeue"}):
        what = f"scheduler {scheduler}"
        missing = [name for name in ("sbatch", "squeue", "scontrol") if not shutil.which(name)]
        if missing:
            here = f"no {', '.join(missing)} on PATH"
            yield Finding(what, MISSING, here, "look on a login node of the cluster")
        elif fault := slurm_jobs.controller_fault():
            yield Finding(what, BROKEN, fault, "start slurmctld, or wait until it is back")
        elif scheduler == "slurm" and (fault := slurm_jobs.accounting_fault()):
            yield Finding(what, BROKEN, fault, slurm_jobs.NO_ACCOUNTING)
        else:
            yield Finding(what, OK, "Slurm answers")


def _fabrics(system: dict[str, Any], workspace: Workspace) -> Iterator[Finding]:
    """Read the fabric facts of the partitions, as every check that runs there does."""
    for partition in system["partitions"]:
        what = f"fabric of {partition['name']}"
        place = workspace.place_of(system["name"], partition["name"])
        try:
            facts = facts_of(partition.get("extras", {}), place)
        except FabricFault as err:
            yield Finding(what, BROKEN, str(err), "fix its facts: no check runs there until then")
            continue
        if facts and facts.rate is None and rates.known_rates(facts.technology):
            remedy = 'write "rate", what a link has to run at, into its facts'
            yield Finding(what, MISSING, f"{facts.text}, no rate is stated", remedy)
        elif facts:
            slot = f", PCIe {facts.slot_text}" if facts.slot_text else ""
            yield Finding(what, OK, f"{facts.text}{slot}")


def _suite(suite: str, configuration: site.Site, system: dict[str, object]) -> Iterator[Finding]:
    title, how_to_get = SUITES[suite].title, SUITES[suite].how_to_get
    providers = configuration.providers(suite, system)
    if not providers:
        yield Finding(title, MISSING, "nothing provides it", how_to_get)
    for provider in providers:
        where = f"{provider.environment} on {provider.partition}"
        if not provider.folder:
            yield Finding(title, OK, f"{where}: built by Spack when it is needed")
            continue
        folder = Path(provider.folder)
        try:
            found = [find_program(folder, program) for program in SUITES[suite].programs]
        except FileNotFoundError as err:
            yield Finding(title, BROKEN, f"{where}: {err}", how_to_get)
        else:
            yield Finding(title, OK, f"{where}: {(found or [folder])[0]}")

"""What this machine can run, what provides it, and what is missing."""

import importlib.metadata
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from acceptance import references
from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.extras import ALL, ExtrasFault, read_environment
from acceptance.core.paths import CONFIGURED, GET_SIMGRID, GET_SPACK, Workspace
from acceptance.fabric import FabricFault, facts_of
from acceptance.machine import (
    MPIS,
    SLURM,
    Spack,
    broken_promise,
    builds,
    compiler_of,
    compiles,
    folder_of,
    launch_fault,
    left_to_do,
    missing,
    not_simulated,
    prepared,
    program_of,
    slurm_jobs,
    software_of,
    source_of,
    stated_of,
    usable_cores,
)
from acceptance.rfm import configuration
from acceptance.site.storage import places
from acceptance.site.to_paste import to_paste
from acceptance.site.unmet import unmet_rows
from acceptance.site.unprovided import partition_size
from acceptance.suites import SUITES, Suite

OK, MISSING, BROKEN = "ok", "missing", "BROKEN"
_GET_SPACK = f"{GET_SPACK}, or set SPACK_ROOT"


@dataclass(frozen=True)
class Examined:
    """One line: what was looked at, its state, what was found, and what to do about it."""

    what: str
    state: str
    found: str
    remedy: str = ""
    #: Lines to paste, where that is the remedy.
    lines: tuple[str, ...] = ()


def examine(
    workspace: Workspace,
    config_files: Iterable[Path],
    system: str | None = None,
    *,
    refused: str = "",
    ask_nodes: bool = False,
) -> list[Examined]:
    """Look at the machine, the project's set-up, the references and every suite.

    `refused` is what ReFrame says of a configuration that it does not take: it keeps nothing then.
    To `ask_nodes` short jobs look at the links of nodes that Slurm has.
    """
    spack = Spack.find(workspace)
    rows = [
        *_machine(),
        *(
            Examined(place.holds, OK if place.fine else BROKEN, place.where, place.remedy)
            for place in ([] if refused else places(workspace))
        ),
        _references(workspace.reference),
        _spack(spack),
    ]
    try:
        if refused:
            raise configuration.SiteFault(refused)
        site = configuration.load(config_files)
        chosen = site.system(system)
    except configuration.SiteFault as err:
        rows.append(Examined("configuration", BROKEN, str(err), "fix the file, or source env.sh"))
        return rows
    rows.append(Examined("system", OK, f"{chosen['name']}: {chosen.get('descr', '')}"))
    rows += [*_schedulers(chosen), *_simgrid(chosen)]
    wrong = [*_extras(chosen, site, workspace)]
    rows += [*wrong, *_fabrics(chosen, workspace)]
    rows += _unmet(chosen, site, workspace)
    for suite in () if wrong else SUITES.values():
        rows += _suite(suite, chosen, site, spack)
    rows += [] if wrong else [*_every_node(chosen), *_launchers(chosen, site)]
    for text in () if wrong else to_paste(workspace, site, chosen, ask_nodes=ask_nodes):
        found = f"does not state {', '.join(text.lacking)}"
        rows.append(Examined(text.what, MISSING, found, f"{text.into}:", text.lines))
    return rows


def _machine() -> Iterator[Examined]:
    cores = usable_cores()
    yield Examined(
        "cores",
        OK if cores > 1 else MISSING,
        f"{cores} usable, {platform.machine()}",
        "" if cores > 1 else "let processes use two: a message needs two of them, and each a core",
    )
    yield Examined("Python", OK, platform.python_version())
    reframe = importlib.metadata.version("reframe-hpc")
    fault = machine.unsupported_reframe(reframe)
    bounds = 'pip install "reframe-hpc>={},<{}"'.format(*machine.supported_reframe())
    yield Examined("ReFrame", BROKEN if fault else OK, fault or reframe, bounds if fault else "")
    compiler = shutil.which("gcc") or shutil.which("cc")
    yield Examined(
        "C compiler",
        OK if compiler else MISSING,
        compiler or "none",
        "" if compiler else "Debian: gcc libc6-dev; what comes as wheels runs without",
    )


def _spack(spack: Spack | None) -> Examined:
    if spack is None:
        return Examined("Spack", MISSING, "none", _GET_SPACK)
    recipes = spack.packages or "its own package repository, from the network"
    return Examined("Spack", OK, f"{spack.root} {spack.identity()['spack']}, {recipes}")


def _is_simulated(system: dict[str, Any]) -> bool:
    return any("simulated" in part.get("extras", {}) for part in system["partitions"])


def _simgrid(system: dict[str, Any]) -> Iterator[Examined]:
    """Look for SimGrid where a system is simulated."""
    if _is_simulated(system):
        lacking = [name for name in ("smpirun", "smpicc") if not shutil.which(name)]
        found = f"no {' and no '.join(lacking)} on PATH" if lacking else shutil.which("smpirun")
        state = MISSING if lacking else OK
        yield Examined("SimGrid", state, str(found), GET_SIMGRID if lacking else "")


def _references(folder: Path) -> Examined:
    try:
        library = references.load(folder)
    except references.ReferenceFault as err:
        return Examined("references", BROKEN, str(err), "fix the line")
    return Examined(
        "references",
        OK,
        f"{len(library.values)} published, {len(library.baselines)} of this site, "
        f"{len(library.claims)} claims",
    )


def _schedulers(system: dict[str, Any]) -> Iterator[Examined]:
    """Look whether Slurm's commands answer that ReFrame's schedulers ask."""
    used = {partition.get("scheduler", "local") for partition in system["partitions"]}
    for scheduler in sorted(used & {*SLURM}):
        what = f"scheduler {scheduler}"
        missing = [name for name in ("sbatch", "squeue", "scontrol") if not shutil.which(name)]
        if missing:
            here = f"no {', '.join(missing)} on PATH"
            yield Examined(what, MISSING, here, "look on a login node of the cluster")
        elif fault := slurm_jobs.controller_fault():
            yield Examined(what, BROKEN, fault, "start slurmctld, or wait until it is back")
        elif scheduler == "slurm" and (fault := slurm_jobs.accounting_fault()):
            yield Examined(what, BROKEN, fault, slurm_jobs.NO_ACCOUNTING)
        else:
            yield Examined(what, OK, "Slurm answers")


def _extras(
    system: dict[str, Any], site: configuration.Site, workspace: Workspace
) -> Iterator[Examined]:
    """Read what partitions and environments state, as every check does; tell what is wrong."""
    for partition in system["partitions"]:
        place = workspace.place_of(system["name"], partition["name"])
        states: dict[str, Callable[[], object]] = {
            partition["name"]: partial(
                stated_of,
                partition.get("extras", {}),
                partition.get("scheduler", "local"),
                place,
                system["name"],
            )
        }
        for environment in site.environments_of(partition, system):
            states[f"{partition['name']}+{environment['name']}"] = partial(
                read_environment,
                environment.get("extras", {}),
                environment.get("features", ()),
                SUITES,
                MPIS,
                f"{place}+{environment['name']}",
            )
        for name, read in states.items():
            try:
                read()
            except ExtrasFault as err:
                remedy = "fix it: no check runs there until then"
                yield Examined(f"extras of {name}", BROKEN, str(err), remedy)


def refuse_wrong(system: dict[str, Any], site: configuration.Site, workspace: Workspace) -> None:
    """Refuse a system whose checks would refuse to run: raises Fault with each wrong fact."""
    rows = [*_extras(system, site, workspace), *_fabrics(system, workspace)]
    if wrong := [row.found for row in rows if row.state == BROKEN]:
        where = ", ".join(map(str, workspace.config_files)) if workspace.is_of_site else ""
        raise Fault("\n".join(wrong), where=where)


def _every_node(system: dict[str, Any]) -> Iterator[Examined]:
    """Tell how many nodes are `all` of a partition, and which of them are not up."""
    for partition in system["partitions"]:
        if partition.get("extras", {}).get("nodes") == ALL and (size := partition_size(partition)):
            found = size.unknown or f"all: {size.nodes}{size.told and f'; {size.told}'}"
            state = MISSING if size.unknown else OK
            remedy = 'look where Slurm answers and has nodes up, or write a number for "nodes"'
            yield Examined(
                f"nodes of {partition['name']}", state, found, remedy if size.unknown else ""
            )


def _unmet(
    system: dict[str, Any], site: configuration.Site, workspace: Workspace
) -> Iterator[Examined]:
    """Tell which rows and claims of this site judge nothing."""
    try:
        library = references.load(workspace.reference)
    except references.ReferenceFault:  # told as `references`
        return
    for unmet in unmet_rows(library, site, {system["name"]}):
        remedy = "correct it, or take it out: what it was to judge is not judged"
        yield Examined("reference", BROKEN, str(unmet), remedy)


def _fabrics(system: dict[str, Any], workspace: Workspace) -> Iterator[Examined]:
    """Read the fabric facts of the partitions, as every check that runs there does."""
    for partition in system["partitions"]:
        what = f"fabric of {partition['name']}"
        place = workspace.place_of(system["name"], partition["name"])
        try:
            facts = facts_of(partition.get("extras", {}), place)
        except FabricFault as err:
            yield Examined(what, BROKEN, str(err), "fix its facts: no check runs there until then")
            continue
        if facts and facts.shown and facts.rate is None:
            remedy = 'write "rate", what a link has to run at, into its facts'
            yield Examined(what, MISSING, f"{facts.text}, no rate is stated", remedy)
        elif facts:
            slot = f", PCIe {facts.slot_text}" if facts.slot_text else ""
            yield Examined(what, OK, f"{facts.text}{slot}")


def _launchers(system: dict[str, Any], site: configuration.Site) -> Iterator[Examined]:
    """Look whether each launcher can be asked to place the ranks of what it starts."""
    for partition in system["partitions"]:
        verified = bool(partition.get("extras", {}).get("verify_placement", True))
        for environment in site.environments_of(partition, system):
            if {*SUITES} & {*environment.get("features", ())}:
                fault = launch_fault(environment, partition.get("launcher", "srun"), verified)
                if fault:
                    place = f"{system['name']}:{partition['name']}"
                    remedy = (
                        f"""write its "mpi" into `extras` ({", ".join(MPIS)}), another launcher """
                        'into the partition, or "verify_placement": False into its `extras`: all '
                        "cases between processes fail there until then"
                    )
                    yield Examined(f"launcher of {partition['name']}", BROKEN,
                                   f"{place}: {fault}", remedy)  # fmt: skip


def _suite(
    suite: Suite, system: dict[str, Any], site: configuration.Site, spack: Spack | None
) -> Iterator[Examined]:
    """Look for the programs of a suite wherever an environment names it."""
    provided = False
    for partition in system["partitions"]:
        for environment in site.environments_of(partition, system):
            if suite.key in environment.get("features", ()):
                provided = True
                where = f"{environment['name']} on {system['name']}:{partition['name']}"
                yield _provided(suite, environment, where, spack)
    if not provided:
        lacking = not_simulated(suite) if _is_simulated(system) else missing(suite)
        yield Examined(suite.title, MISSING, *lacking)


def _provided(
    suite: Suite, environment: dict[str, Any], where: str, spack: Spack | None
) -> Examined:
    remedy = f"correct the environment ({CONFIGURED}), or get the suite: {left_to_do(suite)}"
    if fault := broken_promise(environment, suite):
        return Examined(suite.title, BROKEN, f"{where}: {fault}", remedy)
    if builds(environment) and spack:
        return Examined(suite.title, OK, f"{where}: built by Spack when it is needed")
    if builds(environment):
        return Examined(suite.title, MISSING, f"{where}: no Spack to build it", _GET_SPACK)
    if source := source_of(environment, suite.key):
        return Examined(suite.title, OK, f"{where}: built from {source} when it is needed")
    if compiles(environment, suite):
        compiler = prepared(environment).program(compiler_of(environment, suite))
        return Examined(suite.title, OK, f"{where}: compiled by {compiler} when it is needed")
    try:
        programs = [program_of(environment, suite.key, program) for program in suite.programs]
    except FileNotFoundError as err:
        return Examined(suite.title, BROKEN, f"{where}: {err}", remedy)
    place = next(iter(programs), Path(folder_of(environment, suite.key)))
    software = software_of(environment, suite.key, place)
    told = [software[key] for key in ("modules", "mpi") if key in software]
    return Examined(suite.title, OK, f"{where}: {', '.join([str(place), *told])}")

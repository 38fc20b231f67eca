"""What this machine can run, what provides it, and what is missing, with lines to paste.

What partitions and environments do not state is filled in with what this machine, Slurm and a node
say, as `acceptance init-site` writes it for a new site; nothing is made up.
"""

import contextlib
import functools
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from typing import Any

from acceptance import references
from acceptance.core import kinds, machine
from acceptance.core.errors import Fault, ParseError
from acceptance.core.extras import ALL, ExtrasFault, read_environment
from acceptance.core.paths import CONFIGURED, GET_SIMGRID, GET_SPACK, Workspace
from acceptance.core.text import natural
from acceptance.fabric import FabricFault, Facts, facts_of, facts_or_none, link_check
from acceptance.machine import (
    ASKED,
    MPIS,
    SLURM,
    Prepared,
    SchedulerFault,
    Spack,
    access_of,
    broken_promise,
    builds,
    compiles,
    configured_size,
    externals,
    folder_of,
    image_named,
    launch_fault,
    left_to_do,
    nodes_of,
    not_provided,
    not_simulated,
    partition_option,
    prepared,
    provision,
    slurm,
    source_of,
    stated_of,
    usable_cores,
)
from acceptance.rfm import clean_environment, configuration, half_made
from acceptance.rfm.configuration import Site
from acceptance.site import cluster, fabric_of_node, init
from acceptance.site.fabric_of_node import Fabric
from acceptance.site.unmet import unmet_rows
from acceptance.suites import SUITES, Suite

_GET_SPACK = f"{GET_SPACK}, or set SPACK_ROOT"
OK, MISSING, BROKEN = "ok", "missing", "BROKEN"


@dataclass(frozen=True)
class Examined:
    """One line: what was looked at, its state, what was found, and what to do about it."""

    what: str
    state: str
    found: str
    remedy: str = ""
    #: Lines to paste, where that is the remedy.
    lines: tuple[str, ...] = ()


def row(
    what: str, found: object, fault: object = "", remedy: str = "", state: str = BROKEN
) -> Examined:
    """Return the line on what is fine, or has a `fault`, and then a remedy."""
    if fault:
        return Examined(what, state, str(fault), remedy)
    return Examined(what, OK, str(found))


def examine(
    workspace: Workspace,
    config_files: Iterable[Path],
    system: str | None = None,
    *,
    sessions: Iterable[Examined] = (),
    refused: str = "",
    ask_nodes: bool = False,
) -> list[Examined]:
    """Look at the machine, the project's set-up, the references and every suite.

    `sessions` are the lines on what the ledger has. `refused` is what ReFrame says of a
    configuration that it does not take: it keeps nothing then. To `ask_nodes` short jobs look at
    the links of nodes that Slurm has.
    """
    spack = Spack.find(workspace)
    rows = [
        *_machine(),
        *([] if refused else _places(workspace, sessions)),
        _references(workspace.reference),
        _spack(spack),
    ]
    try:
        if refused:
            raise configuration.SiteFault(refused)
        site = configuration.load(config_files)
        chosen = site.system(system)
    except configuration.SiteFault as err:
        rows.append(row("configuration", "", err, "fix the file, or source env.sh"))
        return rows
    rows.append(row("system", f"{chosen['name']}: {chosen.get('descr', '')}"))
    rows += [*_schedulers(chosen), *_simgrid(chosen)]
    wrong = [*_extras(chosen, site, workspace)]
    rows += [*wrong, *_fabrics(chosen, workspace), *_unmet(chosen, site, workspace)]
    if not wrong:
        rows += hardware(chosen, workspace)
        for suite in SUITES.values():
            rows += _suite(suite, chosen, site, spack)
        rows += [*_every_node(chosen), *_launchers(chosen, site)]
        rows += _devices(chosen, ask_nodes)
        rows += to_paste(workspace, site, chosen, ask_nodes=ask_nodes)
    return rows


def _machine() -> Iterator[Examined]:
    cores = usable_cores()
    found = f"{cores} usable, {platform.machine()}"
    remedy = "let processes use two: a message needs two of them, and each a core"
    yield row("cores", found, found if cores < 2 else "", remedy, MISSING)
    yield row("Python", platform.python_version())
    reframe = importlib.metadata.version("reframe-hpc")
    remedy = 'pip install "reframe-hpc>={},<{}"'.format(*machine.supported_reframe())
    yield row("ReFrame", reframe, machine.unsupported_reframe(reframe), remedy)
    yield from _patches(reframe, remedy)
    compiler = shutil.which("gcc") or shutil.which("cc")
    remedy = "Debian: gcc libc6-dev; what comes as wheels runs without"
    yield row("C compiler", compiler, "" if compiler else "none", remedy, MISSING)


@functools.cache
def _tried() -> machine.Done:
    """Have a process of its own try the patches of the one ReFrame that this process can have."""
    ask = "from acceptance.checks import reframe_patches; reframe_patches.tell()"
    return machine.run([sys.executable, "-c", ask], 60, env=clean_environment())


def _patches(reframe: str, remedy: str) -> Iterator[Examined]:
    """Say which patches of `checks/` do not fit ReFrame, and what is lost by each."""
    if (done := _tried()).fault:
        yield row("patches", "", f"cannot be tried with ReFrame {reframe}: {done.fault}", remedy)
        return
    patches = json.loads(done.out)
    unfit = [(target, lost) for target, lost in patches if lost]
    yield row("patches", f"{len(patches) - len(unfit)} of {len(patches)} fit ReFrame {reframe}")
    yield from (row("patch", "", f"{target}: {lost}", remedy, MISSING) for target, lost in unfit)


def _spack(spack: Spack | None) -> Examined:
    if spack is None:
        return row("Spack", "", "none", _GET_SPACK, MISSING)
    recipes = spack.packages or "its own package repository, from the network"
    return row("Spack", f"{spack.root} {spack.identity()['spack']}, {recipes}")


def _places(workspace: Workspace, sessions: Iterable[Examined]) -> Iterator[Examined]:
    """Look where ReFrame keeps what it writes, as the configuration in force has it."""
    if workspace.unrecorded:
        yield row("runs", "", workspace.unrecorded, workspace.remedy)
    else:
        results = workspace.results
        if half_made.is_half_made(results):
            fault = f"{results}: {half_made.HALF_MADE}"
            yield row("results", "", fault, half_made.remedy(results))
        else:
            yield from sessions
        yield _writable("results", results)
        yield _writable("log", workspace.logs)
    yield _writable("var", workspace.var, "name another folder: ACCEPTANCE_VAR")


def _writable(what: str, path: Path, otherwise: str = "let ReFrame write there") -> Examined:
    """Look at a file or folder, or at what of it is there."""
    there = next(each for each in (path, *path.parents) if each.exists())
    fault = "" if os.access(there, os.W_OK) else path
    return row(what, path, fault, f"{there} is not writable; {otherwise}")


def _is_simulated(system: dict[str, Any]) -> bool:
    return any("simulated" in part.get("extras", {}) for part in system["partitions"])


def _simgrid(system: dict[str, Any]) -> Iterator[Examined]:
    """Look for SimGrid where a system is simulated."""
    if _is_simulated(system):
        lacking = [name for name in ("smpirun", "smpicc") if not shutil.which(name)]
        fault = f"no {' and no '.join(lacking)} on PATH" if lacking else ""
        yield row("SimGrid", shutil.which("smpirun"), fault, GET_SIMGRID, MISSING)


def _references(folder: Path) -> Examined:
    try:
        library = references.load(folder)
    except references.ReferenceFault as err:
        return row("references", "", err, "fix the line")
    return row(
        "references",
        f"{len(library.values)} published, {len(library.baselines)} of this site, "
        f"{len(library.claims)} claims",
    )


def _schedulers(system: dict[str, Any]) -> Iterator[Examined]:
    """Look whether the commands answer that ReFrame's schedulers ask."""
    used = {partition.get("scheduler", "local") for partition in system["partitions"]}
    for scheduler in sorted(used & {*SLURM}):
        what = f"scheduler {scheduler}"
        missing = [name for name in ("sbatch", "squeue", "scontrol") if not shutil.which(name)]
        if missing:
            here = f"no {', '.join(missing)} on PATH"
            yield row(what, "", here, "look on a login node of the cluster", MISSING)
        elif fault := slurm.controller_fault():
            yield row(what, "", fault, "start slurmctld, or wait until it is back")
        else:
            fault = slurm.accounting_fault() if scheduler == "slurm" else ""
            yield row(what, "Slurm answers", fault, slurm.NO_ACCOUNTING)
    for part in system["partitions"]:
        if (scheduler := part.get("scheduler")) in {*ASKED} - {*SLURM}:
            yield _asked(f"scheduler {scheduler} of {part['name']}", scheduler, access_of(part))


def _asked(what: str, scheduler: str, access: list[str]) -> Examined:
    """Look whether PBS or Flux has nodes for a partition, and commands for its jobs."""
    needed = ("flux",) if scheduler == "flux" else ("qsub", "qstat", "pbsnodes")
    remedy = "look on a login node of the cluster"
    if missing := [name for name in needed if not shutil.which(name)]:
        return row(what, "", f"no {', '.join(missing)} on PATH", remedy, MISSING)
    if scheduler == "flux" and importlib.util.find_spec("flux") is None:
        return row(
            what, "", "no module `flux`, by which ReFrame asks it", "pip install flux-python"
        )
    try:
        nodes = nodes_of(scheduler, access)
    except SchedulerFault as err:
        return row(what, "", err, remedy)
    return row(what, f"{sum(node.up for node in nodes)} of {len(nodes)} nodes are up")


def _extras(
    system: dict[str, Any], site: configuration.Site, workspace: Workspace
) -> Iterator[Examined]:
    """Read what partitions and environments state, as every check does; tell what is wrong."""
    for part in system["partitions"]:
        name, place = part["name"], workspace.place_of(system["name"], part["name"])
        extras, scheduler = part.get("extras", {}), part.get("scheduler", "local")
        how = scheduler, place, system["name"], part.get("launcher", "local")
        yield from _wrong(name, stated_of, extras, *how)
        for each in site.environments_of(part, system):
            stated, features = each.get("extras", {}), each.get("features", ())
            known = SUITES, MPIS, f"{place}+{each['name']}"
            yield from _wrong(f"{name}+{each['name']}", read_environment, stated, features, *known)


def _wrong(name: str, read: Callable[..., object], *facts: object) -> Iterator[Examined]:
    try:
        read(*facts)
    except ExtrasFault as err:
        yield row(f"extras of {name}", "", err, "fix it: no check runs there until then")


def refuse_wrong(system: dict[str, Any], site: configuration.Site, workspace: Workspace) -> None:
    """Refuse a system whose checks would refuse to run: raises Fault with each wrong fact."""
    rows = [*_extras(system, site, workspace), *_fabrics(system, workspace)]
    if wrong := [each.found for each in rows if each.state == BROKEN]:
        where = ", ".join(map(str, workspace.config_files)) if workspace.is_of_site else ""
        raise Fault("\n".join(wrong), where=where)


def _every_node(system: dict[str, Any]) -> Iterator[Examined]:
    """Tell how many nodes are `all` of a partition, and which of them are not up."""
    for partition in system["partitions"]:
        if partition.get("extras", {}).get("nodes") == ALL and (size := configured_size(partition)):
            found = f"all: {size.nodes}{size.told and f'; {size.told}'}"
            remedy = 'look where its scheduler has nodes up, or write a number for "nodes"'
            yield row(f"nodes of {partition['name']}", found, size.unknown, remedy, MISSING)


#: Fact of `hardware` in `reference/` -> the key of a partition's extras that states it. No key
#: states a clock.
STATED = {"cpus_per_node": "cores", "peak_per_node": "peak"}


def hardware(system: dict[str, Any], workspace: Workspace) -> Iterator[Examined]:
    """Compare what partitions state with what papers print of the hardware of such a system.

    A peak may be that of one CPU, under the head of a node (saini2006, Table 1).
    """
    parts = {part["name"]: part.get("extras", {}) for part in system["partitions"]}
    try:
        values = references.load(workspace.reference).values
    except references.ReferenceFault:  # told by itself
        return
    for fact in values:
        key = STATED.get(fact.metric) if fact.benchmark == "hardware" else None
        is_here = fact.system == system["name"] and fact.partition in parts
        stated = parts[fact.partition].get(key) if is_here and key else None
        if stated:
            each = stated / parts[fact.partition].get("cores", 1) if key == "peak" else stated
            is_true = isclose(fact.value, stated) or isclose(fact.value, each)
            told, unit = f"{key} {stated:g} is stated", "" if fact.unit == "1" else f" {fact.unit}"
            yield row(
                f"hardware {system['name']}:{fact.partition}",
                f"{told}, as published ({fact.citation})",
                "" if is_true else f"{told}, {fact.value:g}{unit} is published ({fact.citation})",
                "correct the partition, or the system is another",
            )


def _unmet(
    system: dict[str, Any], site: configuration.Site, workspace: Workspace
) -> Iterator[Examined]:
    """Tell which rows and claims of this site judge nothing."""
    with contextlib.suppress(references.ReferenceFault):  # told as `references`
        for unmet in unmet_rows(references.load(workspace.reference), site, {system["name"]}):
            remedy = "correct it, or take it out: what it was to judge is not judged"
            yield row("reference", "", unmet.text, remedy)


def _fabrics(system: dict[str, Any], workspace: Workspace) -> Iterator[Examined]:
    """Read the fabric facts of the partitions, as every check that runs there does."""
    for partition in system["partitions"]:
        what = f"fabric of {partition['name']}"
        place = workspace.place_of(system["name"], partition["name"])
        try:
            facts = facts_of(partition.get("extras", {}), place)
        except FabricFault as err:
            yield row(what, "", err, "fix its facts: no check runs there until then")
            continue
        if facts:
            no_rate = facts.shown and facts.rate is None
            fault = f"{facts.text}, no rate is stated" if no_rate else ""
            remedy = 'write "rate", what a link has to run at, into its facts'
            slot = f", PCIe {facts.slot_text}" if facts.slot_text else ""
            yield row(what, f"{facts.text}{slot}", fault, remedy, MISSING)


def _devices(system: dict[str, Any], ask_nodes: bool) -> Iterator[Examined]:
    """Compare the GPUs and rails that the facts of a fabric state with those that a node has."""
    for partition in system["partitions"]:
        if facts := facts_or_none(partition.get("extras", {})):
            look = _look(partition, partition.get("scheduler", "local"), ask_nodes)
            yield from _gpus(f"GPUs of {partition['name']}", facts, look)
            yield from _rails(f"rails of {partition['name']}", facts, look)


def _gpus(what: str, facts: Facts, look: Fabric) -> Iterator[Examined]:
    if facts.gpus:
        wrong = [*link_check.gpu_deviations(look.links, facts)] if look.links else []
        unseen = "" if look.links else f"; not compared: {'; '.join(look.todo)}"
        remedy = kinds.of(wrong[0].kind).remedy if wrong else ""
        fault = "; ".join(each.text for each in wrong)
        yield row(what, f"{facts.gpu_text}{unseen}", fault, remedy)
    elif look.links and look.links.gpus:
        fault = f"{len(look.links.gpus)} seen, none stated: no case measures from their buffers"
        yield row(what, "", fault, look.notes[-1], MISSING)


def _rails(what: str, facts: Facts, look: Fabric) -> Iterator[Examined]:
    """Tell of stated links that are not there, and of those like them that nobody states."""
    mine = {*look.links.links_of(facts)} if look.links else set()
    if look.links and facts.shown and len(mine) < facts.ports > 1:
        seen = ", ".join(sorted(mine, key=natural)) or "none"
        remedy = "see why (ibstat, ip link), or state those that a node has"
        yield row(what, "", f"{facts.ports} a node are stated, seen: {seen}", remedy)
        return
    if not facts.devices and facts.ports == 1:  # whichever a message takes
        mine = {*look.rails[:1]}
    others = [name for name in look.rails if name not in mine] if mine & {*look.rails} else []
    if facts.ports > 1 or others:
        unseen = "" if look.links else f"; not compared: {'; '.join(look.todo)}"
        fault = f"{', '.join(look.rails)} run at the same rate; not stated: {', '.join(others)}"
        remedy = f'where a message may use all of them: "device": "{",".join(look.rails)}"'
        yield row(what, f"{facts.ports} a node{unseen}", fault if others else "", remedy, MISSING)


def _launchers(system: dict[str, Any], site: configuration.Site) -> Iterator[Examined]:
    """Look whether each launcher can be asked to place the ranks of what it starts."""
    remedy = (
        f'write its "mpi" into `extras` ({", ".join(MPIS)}), another launcher into the partition, '
        'or "verify_placement": False into its `extras`: all cases between processes fail there '
        "until then"
    )
    for partition in system["partitions"]:
        verified = bool(partition.get("extras", {}).get("verify_placement", True))
        for environment in site.environments_of(partition, system):
            if {*SUITES} & {*environment.get("features", ())}:
                fault = launch_fault(environment, partition.get("launcher", "srun"), verified)
                if fault:
                    place = f"{system['name']}:{partition['name']}"
                    yield row(f"launcher of {partition['name']}", "", f"{place}: {fault}", remedy)


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
        lacking = not_simulated(suite) if _is_simulated(system) else not_provided(suite)
        yield Examined(suite.title, MISSING, *lacking)


def _provided(
    suite: Suite, environment: dict[str, Any], where: str, spack: Spack | None
) -> Examined:
    fault = broken_promise(environment, suite, every=True)
    if builds(environment) and not (fault or spack):
        return row(suite.title, "", f"{where}: no Spack to build it", _GET_SPACK, MISSING)
    found = f"{where}: {provision(environment, suite)[0]}"
    remedy = f"correct the environment ({CONFIGURED}), or get the suite: {left_to_do(suite)}"
    return row(suite.title, found, fault and f"{where}: {fault}", remedy)


_NODE = "acceptance doctor --ask-nodes looks at a node with a short job"
#: A value that is to be filled in.
_UNKNOWN = object()


@dataclass
class _Draft:
    """What a partition or an environment lacks: its entries, and comments on their keys."""

    kind: str
    owner: Mapping[str, Any]
    entries: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, list[str]] = field(default_factory=dict)
    lacking: dict[str, None] = field(default_factory=dict)

    def add(self, key: str, value: object, *notes: str, place: str = "", lacks: str = "") -> None:
        """State a key: in the `place` `extras`, or in `suites` of these beside all that has."""
        entries = self.entries
        if place:
            entries = entries.setdefault("extras", {})
        if place == "suites":
            stated = self.owner.get("extras", {}).get("suites", {})
            entries = entries.setdefault("suites", dict(stated))
        entries[key], self.notes[key] = value, [text for text in notes if text]
        self.lacking[lacks or key] = None

    def rows(self) -> Iterator[Examined]:
        """Yield the line of the doctor, if anything is lacking."""
        name = self.owner["name"]
        into = f'into the {self.kind} "{name}"'
        if self.owner.get("extras"):
            into += ", in place of these keys, and in its `extras` beside the others"
        if self.lacking:
            yield _not_stated(
                f"{self.kind} {name}", self.lacking, into, _lines(self.entries, self.notes)
            )


def _not_stated(what: str, lacking: Iterable[str], into: str, lines: Iterable[str]) -> Examined:
    found = f"does not state {', '.join(lacking)}"
    return Examined(what, MISSING, found, f"{into}:", tuple(lines))


def _lines(
    entries: Mapping[str, Any], notes: Mapping[str, list[str]], indent: int = 0
) -> Iterator[str]:
    """Yield entries of a dictionary, below their comments; what is to be filled in is a comment."""
    start = " " * indent
    for key, value in entries.items():
        comments = [*notes.get(key, ()), *[f'fill in: "{key}": ...,'] * (value is _UNKNOWN)]
        for text in comments:
            yield from init.comment(text, indent).splitlines()
        if isinstance(value, Mapping):
            yield from (f'{start}"{key}": {{', *_lines(value, notes, indent + 4), f"{start}}},")
        elif value is not _UNKNOWN:
            yield from init.entry(key, value, indent).splitlines()


def to_paste(
    workspace: Workspace, site: Site, system: dict[str, Any], *, ask_nodes: bool = False
) -> Iterator[Examined]:
    """Yield what is not stated on a system; to `ask_nodes` a job looks at one of each partition."""
    environments: dict[str, dict[str, Any]] = {}
    for partition in system["partitions"]:
        yield from _of_partition(partition, ask_nodes).rows()
        environments |= {each["name"]: each for each in site.environments_of(partition, system)}
    named = {name for each in environments.values() for name in each.get("features", ())}
    for environment in environments.values():
        yield from _of_environment(environment, named).rows()
    for environment in [] if "imb" in named else externals.wheels_environments(workspace.wheels):
        into = 'into "environments", and "wheels" into "environs" of a partition'
        lines = ("{", *_lines(environment, {}, 4), "},")
        yield _not_stated("environment wheels", ["Intel MPI Benchmarks"], into, lines)


def _of_partition(partition: dict[str, Any], ask_nodes: bool) -> _Draft:
    """Return what a partition does not state, with what can be found out."""
    stated, scheduler = partition.get("extras", {}), partition.get("scheduler", "local")
    draft = _Draft("partition", partition)
    if "max_jobs" not in partition:
        draft.add("max_jobs", 1, "jobs side by side would measure each other; ReFrame has 8")
    if scheduler in SLURM and not partition.get("processor"):
        with contextlib.suppress(SchedulerFault):
            node = nodes_of(scheduler, access_of(partition))[0]
            draft.add("processor", init.processor(node), f"Slurm, of {node.name}")
    asked = {**dict.fromkeys(ASKED, scheduler), **dict.fromkeys(SLURM, "Slurm")}
    source = {"local": "this machine", **asked}.get(scheduler, "")
    size = configured_size({**partition, "extras": {}})
    has_cores = "cores" in stated or "num_cpus" in partition.get("processor", {})
    for key in ("nodes", "cores", "memory"):
        if key in stated or (key == "cores" and has_cores):
            continue
        if source and size and not size.unknown and (value := getattr(size, key)):
            unit = ", bytes of a node" if key == "memory" else ""
            draft.add(key, value, source + unit, place="extras")
        else:
            why = f"not known: {size.unknown}" if size and size.unknown else ""
            draft.add(key, _UNKNOWN, why, place="extras")
    if not stated.get("fabric"):
        fabric = _look(partition, scheduler, ask_nodes)
        notes = [*fabric.notes, *(f"fill in: {line}" for line in fabric.todo)]
        if notes:
            draft.add("fabric", fabric.facts or _UNKNOWN, *notes, place="extras")
    return draft


def _look(partition: dict[str, Any], scheduler: str, ask_nodes: bool) -> Fabric:
    """Look at the links of this machine, or of a node of Slurm; nothing where it has none."""
    try:
        if scheduler == "local":
            return fabric_of_node.here([])
        if scheduler not in SLURM or not ask_nodes:
            return Fabric(todo=[_NODE if scheduler in SLURM else "config/site.md has the keys"])
        access = access_of(partition)
        found = cluster.look_at_one(
            partition_option(access), nodes_of(scheduler, access), [], slurm.of_cluster(access)
        )
        return found if found.node else Fabric(todo=[f"no node looked: {found.fault}"])
    except (ParseError, OSError, SchedulerFault) as err:
        return Fabric(todo=[str(err)])


def _of_environment(environment: dict[str, Any], named: Collection[str]) -> _Draft:
    """Return what an environment does not say of its MPI, and of suites that are on its path.

    `named` are the features of all environments: a suite that one has is not offered to another.
    """
    draft = _Draft("environment", environment)
    if builds(environment):
        return draft
    features, ready = [*environment.get("features", ())], prepared(environment)
    for suite in SUITES.values():
        program, key = ready.program(*suite.programs), suite.key
        if key in features:
            places = (folder_of, source_of, image_named)
            got = program or any(place(environment, key) for place in places)
            if not (got or compiles(environment, suite)):
                text = f"the folder of {suite.title}"
                draft.add(key, _UNKNOWN, text, place="suites", lacks=text)
        elif key not in named and program and _is_of_mpi(program, ready):
            text = "if it was built with the MPI of this environment"
            features = [*features, key]
            draft.add("features", features, lacks=suite.title)
            draft.add(key, str(program.parent), text, place="suites", lacks=suite.title)
    if "mpi" not in environment.get("extras", {}) and {*features} & {*SUITES}:
        mpi = ready.mpi
        text = str(mpi) if mpi else "none is on the path of it"
        draft.add("mpi", mpi.name if mpi else _UNKNOWN, text, place="extras")
        if mpi and mpi.name == "openmpi" and os.geteuid() == 0:
            stated = map(list, dict(environment.get("env_vars", ())).items())
            variables = [*stated, *init.AS_ROOT]
            draft.add("env_vars", variables, "Open MPI refuses root, as which this runs")
    return draft


def _is_of_mpi(program: Path, ready: Prepared) -> bool:
    """Tell whether a program may be of the MPI of an environment.

    It is of another one where the environment puts only one of the two on PATH.
    """
    if ready.mpi is None:
        return True
    around = os.environ.get("PATH", "").split(":")
    return (str(program.parent) in around) == (str(ready.mpi.launcher.parent) in around)

"""A first configuration of a new site: Slurm, sysfs and the module system are asked, files written.

The files are for a human to edit, yet they run as they are. Where nobody could be asked they say
"fill in"; nothing is made up. `system.py.j2` is that of a system with its comments; here is what
depends on more than one answer.
"""

import contextlib
import os
import pprint
import re
import socket
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from acceptance.core import state_files
from acceptance.core.errors import Fault, ParseError
from acceptance.core.machine import names_in
from acceptance.core.paths import INSTALLED, ROOT, Workspace
from acceptance.core.text import WIDTH, one_line, plural, shortened
from acceptance.fabric import FabricFault, Facts
from acceptance.machine import (
    NODES,
    InstalledMpi,
    MpiSearch,
    SchedulerFault,
    Spack,
    externals,
    find_mpis,
    plugin,
)
from acceptance.machine.slurm import SlurmNode
from acceptance.site import cluster, fabric_of_node
from acceptance.site.cluster import Cluster, Kind, account
from acceptance.site.fabric_of_node import Fabric

if TYPE_CHECKING:
    import jinja2

#: A comment that asks for something, to the end of its sentence or of the comment.
_FILL_IN = re.compile(r"^ *# fill in: (?P<what>.*(?:(?<!\.)\n *# (?!fill in:).*)*)", re.MULTILINE)
#: As ReFrame's schema has it.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z", re.ASCII)
#: The files of a system, by its name.
_SYSTEM, _PACKAGES = "config/systems/{}.py", "spack-envs/systems/{}/packages.yaml"


#: Patterns of host names; a site with more kinds of name writes its own.
_MAX_PATTERNS = 8
_DIGITS = r"\d+"
#: Open MPI refuses to run as root, as in a container, unless it is allowed twice.
AS_ROOT = [["OMPI_ALLOW_RUN_AS_ROOT", "1"], ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"]]


@dataclass(frozen=True)
class Plan:
    """What is asked for, and what was found; without a cluster it is of this machine alone.

    `nodes` is the largest number of nodes that the checks use, or `ALL`. `shared` tells whether the
    nodes that were looked at see the clone; None: none was.
    """

    workspace: Workspace
    name: str
    command: str
    partitions: tuple[str, ...] = ()
    nodes: int | str = NODES
    force: bool = False
    local: bool = False
    search: MpiSearch = field(default_factory=MpiSearch)
    cluster: Cluster | None = None
    kinds: tuple[Kind, ...] = ()
    left_out: tuple[str, ...] = ()
    shared: bool | None = None
    date: str = field(default_factory=lambda: time.strftime("%Y-%m-%d"))

    @property
    def alone(self) -> str:
        """Return why there is no cluster."""
        return "--local" if self.local else "it has no sinfo, scontrol and sbatch"

    @property
    def descr(self) -> str:
        """Return what the system is, in a line."""
        if self.cluster is None:
            return f"the machine {socket.gethostname()}"
        return f"Slurm cluster {self.cluster.config.get('ClusterName') or '(without a name)'}"

    @property
    def hostnames(self) -> list[str]:
        """Return patterns of the names of all hosts, in which digits stand for any digits."""
        hosts = [socket.gethostname()]
        if self.cluster:
            hosts += [*self.cluster.controllers, *(node.name for node in self.cluster.nodes)]
        patterns: dict[str, None] = {}
        for short in (name.split(".")[0] for name in hosts):
            if short and short != "localhost":
                words = (re.escape(part).replace(r"\-", "-") for part in re.split(r"\d+", short))
                patterns.setdefault(rf"^{_DIGITS.join(words)}(\.|$)")
        return [*patterns][:_MAX_PATTERNS]

    def nodes_of(self, kind: Kind) -> int | str:
        """Return how many nodes of a kind the checks use."""
        if isinstance(self.nodes, str):
            return self.nodes
        return min(self.nodes, len(kind.nodes), kind.partition.most_nodes or len(kind.nodes))


def to_fill_in(files: Mapping[Path, str]) -> Iterator[tuple[Path, int, str]]:
    """Yield where a human has to fill in something, file and line, and what."""
    for path, text in files.items():
        for match in _FILL_IN.finditer(text):
            what = " ".join(match["what"].replace("#", " ").split())
            yield path, text.count("\n", 0, match.start("what")) + 1, what


def prepare_system(asked: Plan) -> tuple[Plan, dict[Path, str]]:
    """Look at everything; return what the files are made of, and path -> text; writes none of them.

    Makes the prefixes of links of Debian's MPIs, as the packages of Spack name them. Raises
    Fault, also of Slurm.
    """
    paths = _paths(asked)
    search = find_mpis(asked.workspace.spack / "prefix", Spack.find(asked.workspace))
    if asked.local or not cluster.is_here():
        if asked.partitions:
            raise Fault("partitions are Slurm's, which is not asked here")
        plan = replace(asked, search=search)
    else:
        plan = _of_cluster(asked, search)
    text = text_of(plan)
    _try(text, plan.name)
    return plan, {paths[0]: text, paths[1]: _packages(plan, asked.workspace)}


def copy_system(asked: Plan, like: str) -> dict[Path, str]:
    """Return the files of a system like another one, which a human makes those of the site.

    Raises Fault where there is no such system.
    """
    paths = _paths(asked)
    if not _NAME.match(like):
        raise Fault(f"{like!r} is no name of a system")
    roots = [root for root in asked.workspace.systems if (root / _SYSTEM.format(like)).is_file()]
    if not roots:
        raise Fault(f"there is no {_SYSTEM.format(like)} in {asked.workspace.systems[-1]}")
    names = names_in(roots[0] / _SYSTEM.format(like))
    system = {**names["SYSTEM"], "name": asked.name, "hostnames": [rf"^{asked.name}\b"]}
    # A folder of the machine that it is written on.
    del system["prefix"]
    parts = {"system": system, "environments": names["ENVIRONMENTS"]}
    literals = {
        key: pprint.pformat(value, width=100, sort_dicts=False) for key, value in parts.items()
    }
    text = render("like.py.j2", name=asked.name, like=like, **literals)
    packages = roots[0] / _PACKAGES.format(like)
    more = {paths[1]: packages.read_text()} if packages.is_file() else {}
    return {paths[0]: text, **more}


def write(files: Mapping[Path, str]) -> None:
    """Write files, path -> text; raises Fault where that is not allowed."""
    for path, text in files.items():
        if INSTALLED and path.is_relative_to(ROOT):
            raise Fault(
                "nothing is written into an installed copy; name a folder of your own in "
                "ACCEPTANCE_SYSTEMS"
            )
        try:
            state_files.write_text(path, text)
        except state_files.StoredFault as err:
            raise Fault(f"{err}; ACCEPTANCE_SYSTEMS names another folder") from None


def _paths(asked: Plan) -> tuple[Path, Path]:
    """Return the files of a system; raises Fault for a bad name, or one that is taken."""
    if not _NAME.match(asked.name):
        raise Fault(
            f"{asked.name!r} is no name of a system: a letter, then letters, digits, - and _"
        )
    files = (_SYSTEM.format(asked.name), _PACKAGES.format(asked.name))
    own = asked.workspace.systems[-1]
    for root in asked.workspace.systems:
        for path in (root / name for name in files if (root / name).exists()):
            if root != own:
                raise Fault(f"{path} is a system of this name; choose another one")
            if not asked.force:
                raise Fault(f"{path} is there; --force writes it anew, and what you edited")
    return own / files[0], own / files[1]


def _of_cluster(asked: Plan, search: MpiSearch) -> Plan:
    slurm = cluster.ask()
    partitions, left = cluster.choose(slurm, list(asked.partitions))
    clone = _clone(asked.workspace)
    paths = [os.fspath(path) for path in (*clone, *(mpi.launcher for mpi in search.mpis))]
    kinds: list[Kind] = []
    for partition in partitions:
        try:
            kinds += cluster.kinds_of(partition, slurm.usable(partition), paths)
        except SchedulerFault as err:
            if asked.partitions:
                raise SchedulerFault(f"Slurm takes no job for {partition.name}: {err}") from None
            left.append(f"{partition.name}: Slurm takes no job for it: {err}")
    if not kinds:
        raise SchedulerFault("no partition can be used: " + "; ".join(left))
    kinds = _with_names([_or_here(kind, paths) for kind in kinds])
    looks = [each.fabric for each in kinds if each.fabric.node and not each.fabric.fault]
    return replace(
        asked,
        search=_on_nodes(search, looks),
        cluster=slurm,
        kinds=tuple(kinds),
        left_out=tuple(left),
        shared=_all_see(looks, clone[0]),
    )


def _clone(workspace: Workspace) -> tuple[Path, ...]:
    """Return what jobs need of the clone: the folder that they run in, and the wheels."""
    # The first run makes `var`.
    there = next(path for path in (workspace.var, *workspace.var.parents) if path.exists())
    return there, workspace.wheels


def _all_see(looks: list[Fabric], path: Path) -> bool | None:
    if not looks:
        return None
    return all(os.fspath(path) in look.seen for look in looks)


def _or_here(kind: Kind, paths: list[str]) -> Kind:
    """Take the links of this machine for a kind of node that could not be looked at."""
    if not kind.fabric.node:
        with contextlib.suppress(ParseError, OSError):
            here = fabric_of_node.here(paths)
            return replace(kind, fabric=replace(here, fault=kind.fabric.fault))
    return kind


def _with_names(kinds: list[Kind]) -> list[Kind]:
    """Give each kind a name that no other one has: `a` with the feature b, a partition `a-b`."""
    names: set[str] = set()
    renamed = []
    for kind in kinds:
        name, number = kind.name, 2
        while name in names:
            name, number = f"{kind.name}-{number}", number + 1
        names.add(name)
        renamed.append(replace(kind, name=name))
    return renamed


def _on_nodes(search: MpiSearch, looks: list[Fabric]) -> MpiSearch:
    """Leave out MPIs that the nodes do not have."""
    kept = [mpi for mpi in search.mpis if _all_see(looks, mpi.launcher) is not False]
    lacking = [
        f"{mpi.name} {mpi.version}, {mpi.origin}: the nodes do not have it"
        for mpi in search.mpis
        if mpi not in kept
    ]
    return replace(search, mpis=kept, others=[*search.others, *lacking])


def _packages(plan: Plan, workspace: Workspace) -> str:
    """Return packages.yaml: compilers and libraries of this machine, and the MPIs."""
    packages: dict[str, Any] = {
        name: value
        for name, value in externals.externals(workspace.spack / "prefix").items()
        if name not in ("openmpi", "mpich")
    }
    packages["mpi"] = {"buildable": False}
    for mpi in plan.search.mpis:
        prefix = mpi.prefix
        if mpi.package == "intel-oneapi-mpi" and prefix.parent.name == "mpi":
            # Spack counts from the folder that all of oneAPI is in.
            prefix = prefix.parent.parent
        modules = {"modules": [mpi.module]} if mpi.module else {}
        spec = f"{mpi.package}@{mpi.version}"
        packages[mpi.package] = externals.external(spec, prefix, modules)
    body = yaml.safe_dump({"packages": packages}, sort_keys=False, width=100)
    command = one_line(plan.command)
    return render("packages.yaml.j2", plan=plan, command=command, packages=body.rstrip())


def _try(text: str, name: str) -> None:
    """Run the text as config/settings.py does; raises Fault where that cannot be."""
    names: dict[str, Any] = {}
    exec(compile(text, f"{name}.py", "exec"), names)
    for partition in names["SYSTEM"]["partitions"]:
        try:
            if facts := partition["extras"].get("fabric"):
                Facts.read(facts)
        except FabricFault as err:
            raise Fault(f"the fabric of {name}, as it was found, cannot be: {err}") from None


@cache
def _templates() -> "jinja2.Environment":
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def render(template: str, **values: object) -> str:
    """Return the text that a template of this folder makes of values."""
    return _templates().get_template(template).render(**values) + "\n"


def text_of(plan: Plan) -> str:
    """Return the whole file, formatted as ruff does it."""
    own = (access, account, comment, entry, literal, mpi_entry, plugin, plural, processor,
           prose, shortened)  # fmt: skip
    return render("system.py.j2", plan=plan, **{each.__name__: each for each in own})


def comment(line: str, indent: int = 0, lead: str = "# ") -> str:
    """Return a comment, whose lines are no longer than a line may be unless a word is."""
    lead = " " * indent + lead
    room = WIDTH - len(lead)
    lines = textwrap.fill(one_line(line), room, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent(lines, lead)


def prose(text: str) -> str:
    """Return a text as it may stand in a docstring, which it does not end."""
    return one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def literal(value: object, indent: int = 0, before: int = 0) -> str:
    """Return a string, a number, a list or a tuple; it begins after `before` columns of its line.

    A list that does not fit there has a line for each item; `indent` is that of its line.
    """
    if isinstance(value, str):
        if "\\" in value and value.isprintable() and not value.endswith("\\") and '"' not in value:
            return f'r"{value}"'
        plain = repr(value)
        return plain if '"' in plain else '"' + plain[1:-1].replace("\\'", "'") + '"'
    if isinstance(value, dict) or not isinstance(value, Iterable):
        return repr(value)
    items, (start, end) = list(value), "()" if isinstance(value, tuple) else "[]"
    line = start + ", ".join(map(literal, items)) + end
    # A comma follows.
    if before + len(line) < WIDTH or not items:
        return line
    inner = indent + 4
    rows = "".join(f"{' ' * inner}{literal(item, inner, inner)},\n" for item in items)
    return f"{start}\n{rows}{' ' * indent}{end}"


def entry(key: str, value: object, indent: int, notes: Iterable[str] = ()) -> str:
    """Return an entry of a dictionary, below its comments."""
    start = f'{" " * indent}"{key}": '
    line = start + literal(value, indent, len(start)) + ","
    return "\n".join([*(comment(note, indent) for note in notes), line])


def mpi_entry(plan: Plan, mpi: InstalledMpi) -> str:
    """Return the entry of an MPI in `MPIS`: package, modules, features, variables."""
    notes = [f"{mpi.version}: {mpi.origin}"]
    system = plan.search.module_system
    modules = [mpi.module] if mpi.module and system and system.reframe else []
    if mpi.module and not modules:
        notes.append("fill in: what its module sets; ReFrame cannot load modules of this system.")
    # MPICH 4.0 over UCX's TCP was seen to hang between processes of one node.
    features = ["no-loopback"] if mpi.name == "mpich" and mpi.version[:4] == "4.0." else []
    variables: list[list[str]] = []
    if plan.cluster is None:
        variables = [["PATH", f"{mpi.prefix}/bin:$PATH"]] * (not modules)
        variables += AS_ROOT * (mpi.name == "openmpi")
    elif start := plugin(mpi.name, plan.cluster.plugins):
        variables = [["SLURM_MPI_TYPE", start]]
    else:
        notes.append(f"fill in: SLURM_MPI_TYPE; srun has no plugin that starts {mpi.name}.")
    return entry(mpi.name, (mpi.package, modules, features, variables), 4, notes)


def processor(node: SlurmNode) -> dict[str, int]:
    """Return ReFrame's entry of the processors of a node."""
    return {
        "num_cpus": node.sockets * node.cores_per_socket * node.threads,
        "num_cpus_per_core": node.threads,
        "num_cpus_per_socket": node.cores_per_socket * node.threads,
        "num_sockets": node.sockets,
    }


def access(cluster: Cluster, kind: Kind) -> list[str]:
    """Return the options of jobs on a kind of node."""
    memory = ["--mem=0"] if cluster.counts_memory else []
    charged = [f"--account={account()}"] if account() else []
    return [f"--partition={kind.partition.name}", *kind.access, *charged, "--exclusive", *memory]

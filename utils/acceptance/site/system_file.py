"""The text of `config/systems/NAME.py`: what was found, where it comes from, what is to fill in.

`system.py.j2` is the file with its comments; here is what depends on more than one answer.
"""

import re
import socket
import textwrap
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import jinja2

from acceptance.core.paths import Workspace
from acceptance.core.text import WIDTH, plural, shortened
from acceptance.machine import NODES, InstalledMpi, MpiSearch, plugin
from acceptance.machine.slurm_nodes import SlurmNode
from acceptance.site.cluster import Cluster, Kind, account

_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    trim_blocks=True,
    undefined=jinja2.StrictUndefined,
)
#: Patterns of host names; a site with more kinds of name writes its own.
_MAX_PATTERNS = 8
_DIGITS = r"\d+"
#: Open MPI refuses to run as root, as in a container, unless it is allowed twice.
AS_ROOT = [["OMPI_ALLOW_RUN_AS_ROOT", "1"], ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"]]


@dataclass(frozen=True)
class Request:
    """What is asked for: `nodes` is the largest number of nodes that the checks use, or `ALL`."""

    workspace: Workspace
    name: str
    command: str
    partitions: tuple[str, ...] = ()
    nodes: int | str = NODES
    force: bool = False
    local: bool = False


@dataclass(frozen=True)
class Plan:
    """All that the text is made of; without a cluster it is of this machine alone.

    `shared` tells whether the nodes that were looked at see the clone; None: none was.
    """

    request: Request
    search: MpiSearch
    cluster: Cluster | None = None
    kinds: tuple[Kind, ...] = ()
    left_out: tuple[str, ...] = ()
    shared: bool | None = None
    date: str = field(default_factory=lambda: time.strftime("%Y-%m-%d"))

    @property
    def name(self) -> str:
        """Return the name of the system."""
        return self.request.name

    @property
    def alone(self) -> str:
        """Return why there is no cluster."""
        return "--local" if self.request.local else "it has no sinfo, scontrol and sbatch"

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
        if isinstance(self.request.nodes, str):
            return self.request.nodes
        return min(
            self.request.nodes, len(kind.nodes), kind.partition.most_nodes or len(kind.nodes)
        )


def render(template: str, **values: object) -> str:
    """Return the text that a template of this folder makes of values."""
    return _TEMPLATES.get_template(template).render(**values) + "\n"


def text(plan: Plan) -> str:
    """Return the whole file, formatted as ruff does it."""
    own = (access, account, comment, entry, literal, mpi_entry, plugin, plural, processor,
           shortened)  # fmt: skip
    return render("system.py.j2", plan=plan, **{each.__name__: each for each in own})


def comment(line: str, indent: int = 0, lead: str = "# ") -> str:
    """Return a comment, whose lines are no longer than a line may be unless a word is."""
    lead = " " * indent + lead
    room = WIDTH - len(lead)
    lines = textwrap.fill(line, room, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent(lines, lead)


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

"""The text of `config/systems/NAME.py`: what was found, where it comes from, what is to fill in."""

from collections.abc import Iterable
from dataclasses import dataclass

from acceptance.site.init.cluster import Cluster
from acceptance.site.init.node_kinds import Kind
from acceptance.site.init.python_literals import Code, Noted, comment, literal
from acceptance.software import InstalledMpi, MpiSearch, plugin

_WHEELS = """\
# The Intel MPI Benchmarks with Intel MPI, from Python wheels: `make setup` installs them (x86_64).
if (WHEELS / "bin").is_dir():
    ENVIRONMENTS.append(
        {{
            "name": "wheels",
            "features": ["imb", "mpi"],
            "extras": {{"suites": {{"imb": f"{{WHEELS}}/bin"}}, "mpi": "intel-mpi"}},
            "cc": f"{{WHEELS}}/bin/mpicc",
            "cxx": f"{{WHEELS}}/bin/mpicxx",
            "env_vars": [
                ["PATH", f"{{WHEELS}}/bin:$PATH"],
                ["LD_LIBRARY_PATH", f"{{WHEELS}}/lib:$LD_LIBRARY_PATH"],
                ["I_MPI_ROOT", str(WHEELS)],
{start}            ],
        }}
    )
"""
_SPACK = """\
# Built by Spack, with each of these MPIs, where there is a Spack: `make spack`.
if Spack.find(WORKSPACE):
    ENVIRONMENTS += [
        {
            "name": f"spack-{mpi}",
            "features": [*spack_features(), *features],
            "extras": {"spack": {"mpi": package}, "mpi": mpi},
            "modules": modules,
            "env_vars": env_vars,
        }
        for mpi, (package, modules, features, env_vars) in MPIS.items()
    ]
"""
#: Open MPI refuses to run as root, as in a container, unless it is told twice.
_AS_ROOT = [["OMPI_ALLOW_RUN_AS_ROOT", "1"], ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"]]


@dataclass(frozen=True)
class Plan:
    """All that the text is made of; without a cluster it is of this machine alone.

    `shared` tells whether the nodes that were looked at see the clone; None: none was.
    """

    name: str
    command: str
    date: str
    hostnames: tuple[str, ...]
    host: str
    search: MpiSearch
    cluster: Cluster | None = None
    kinds: tuple[Kind, ...] = ()
    nodes: int = 0
    left_out: tuple[str, ...] = ()
    shared: bool | None = None
    #: Why there is no cluster.
    alone: str = ""

    @property
    def descr(self) -> str:
        """Return what the system is, in a line."""
        if self.cluster is None:
            return f"the machine {self.host}"
        return f"Slurm cluster {self.cluster.name or '(without a name)'}"


def text(plan: Plan) -> str:
    """Return the whole file."""
    head = [
        f'"""`{plan.name}`: {plan.descr}.',
        "",
        *comment(
            f'Written on {plan.date} by `{plan.command}`, and yours to edit. "fill in" marks what '
            "could not be found out. The keys are explained in README.md, Adding a system.",
            lead="",
        ),
        '"""',
        "",
    ]
    if plan.cluster is None:
        head += ["from reframe.utility.cpuinfo import cpuinfo", ""]
    head.append("from acceptance.core.paths import Workspace")
    if plan.cluster is None:
        head.append("from acceptance.launch.topology import usable_cores, usable_memory")
    if plan.search.mpis:
        head.append("from acceptance.software import Spack, spack_features")
    head += ["", "WORKSPACE = Workspace.of()", "WHEELS = WORKSPACE.wheels"]
    lines = [*filter_blank(head), "", f"NAME = {literal(plan.name)}", "", "ENVIRONMENTS = []", ""]
    body = "\n".join(lines) + "\n" + _wheels(plan) + "\n" + _mpis(plan)
    body += '\nENVIRONS = [environment["name"] for environment in ENVIRONMENTS] or ["builtin"]\n'
    return body + "\n" + f"SYSTEM = {literal(_system(plan))}\n"


def filter_blank(lines: Iterable[str]) -> list[str]:
    """Return lines with no more than one blank one in a row."""
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    return kept


def _wheels(plan: Plan) -> str:
    lines = []
    if plan.cluster:
        known = ", ".join(plan.cluster.plugins)
        if start := plugin("intel-mpi", plan.cluster.plugins):
            lines = [*comment(f"`srun --mpi=list`: {known}", 16)]
            lines.append(f'                ["SLURM_MPI_TYPE", {literal(start)}],')
        else:
            lines = comment(
                f"fill in: SLURM_MPI_TYPE; of `srun --mpi=list` ({known or 'empty'}) none is known "
                "to start Intel MPI",
                16,
            )
    return _WHEELS.format(start="".join(f"{line}\n" for line in lines))


def _mpis(plan: Plan) -> str:
    lines = []
    if not plan.search.mpis:
        lines += comment(
            "fill in: no MPI was found on PATH, among the modules, of Debian or of Spack; where "
            "there is one, write its environment as in config/systems/koop2008.py"
        )
        lines += _others(plan)
        return "\n".join(lines) + "\n"
    lines += comment(
        "MPI -> package of Spack, modules and more features of its environment, and environment "
        f"variables; prefixes are in spack-envs/systems/{plan.name}/packages.yaml."
    )
    lines += _others(plan)
    entries = {found.name: Noted(*_mpi(plan, found)) for found in plan.search.mpis}
    lines.append(f"MPIS = {literal(entries)}")
    return "\n".join(lines) + "\n\n" + _SPACK


def _others(plan: Plan) -> list[str]:
    return [line for other in plan.search.others for line in comment(f"Not used: {other}.")]


def _mpi(plan: Plan, found: InstalledMpi) -> tuple[Code, tuple[str, ...]]:
    notes = [f"{found.version}: {found.origin}"]
    system = plan.search.module_system
    modules = [found.module] if found.module and system and system.reframe else []
    if found.module and not modules:
        notes.append("fill in: what its module sets; ReFrame cannot load modules of this system")
    # MPICH 4.0 over UCX's TCP was seen to hang between processes of one node.
    features = ["no-loopback"] if found.name == "mpich" and found.version[:4] == "4.0." else []
    variables: list[list[str]] = []
    if plan.cluster is None:
        variables = [["PATH", f"{found.prefix}/bin:$PATH"]] * (not modules)
        variables += _AS_ROOT * (found.name == "openmpi")
    elif start := plugin(found.name, plan.cluster.plugins):
        variables = [["SLURM_MPI_TYPE", start]]
    else:
        notes.append(f"fill in: SLURM_MPI_TYPE; srun has no plugin that starts {found.name}")
    parts = [found.package, modules, features, variables]
    line = "(" + ", ".join(literal(part) for part in parts) + ")"
    # With the key, its indentation and the comma.
    if len(line) + len(found.name) + 9 > 100:
        inner = "".join(f"        {literal(part, 8, 8)},\n" for part in parts)
        line = f"(\n{inner}    )"
    return Code(line), tuple(notes)


def _system(plan: Plan) -> dict[str, object]:
    system = plan.search.module_system
    hosts = "this host" + (", the nodes and the controller of Slurm" if plan.cluster else "")
    prefix = "Jobs run in there: a folder that all nodes see."
    if plan.shared is False:
        prefix = f"fill in: {prefix} The nodes that were looked at do not see this one."
    notes = {
        "hostnames": f"{hosts}.",
        "modules_system": f"{system.title} is here." if system else "No module system is here.",
        "prefix": prefix,
    }
    partitions = [
        Noted(_partition(plan, kind), ()) for kind in plan.kinds
    ] or [Noted(_alone(), (f"This machine alone: {plan.alone}.",))]  # fmt: skip
    left = tuple(f"Left out: {reason}." for reason in plan.left_out)
    return {
        "name": Code("NAME"),
        "descr": plan.descr,
        "hostnames": Noted(list(plan.hostnames), (notes["hostnames"],)),
        "modules_system": Noted(
            (system.reframe if system else "") or "nomod", (notes["modules_system"],)
        ),
        "prefix": Noted(Code("str(WORKSPACE.var)"), (notes["prefix"],)),
        "partitions": Noted(partitions, left),
    }


_ENVIRONS = Code("ENVIRONS")
_ALONE = "Two jobs at once would measure each other."


def _alone() -> dict[str, object]:
    return {
        "name": "default",
        "scheduler": "local",
        "launcher": "mpiexec",
        "environs": _ENVIRONS,
        "max_jobs": Noted(1, (_ALONE,)),
        "processor": Code("cpuinfo()"),
        "extras": {
            "nodes": 1,
            "cores": Code("usable_cores()"),
            "memory": Code("usable_memory()"),
            "mode": "smoke",
        },
    }


def _partition(plan: Plan, kind: Kind) -> dict[str, object]:
    cluster = plan.cluster
    assert cluster
    first = kind.nodes[0]
    processor = {
        "num_cpus": first.sockets * first.cores_per_socket * first.threads,
        "num_cpus_per_core": first.threads,
        "num_cpus_per_socket": first.cores_per_socket * first.threads,
        "num_sockets": first.sockets,
    }
    fabric = kind.looked.fabric
    made: dict[str, object] = {
        "name": kind.name,
        "descr": f"{len(kind.nodes)} nodes of the partition {kind.partition}",
        "scheduler": cluster.scheduler,
        "launcher": "srun",
        "access": Noted(_access(cluster, kind), _access_notes(cluster, kind)),
        "environs": _ENVIRONS,
    }
    if cluster.no_accounting:
        why = f"slurm asks sacct, which says: {cluster.no_accounting}"
        made["scheduler"] = Noted(cluster.scheduler, (why,))
    if fabric.variables:
        pairs = [[name, value] for name, value in fabric.variables.items()]
        why = "Keeps MPIs to the device of the fabric; others have variables of their own."
        made["env_vars"] = Noted(pairs, (why,))
    return {
        **made,
        "max_jobs": Noted(1, (_ALONE,)),
        "processor": Noted(processor, ("scontrol show node",)),
        "extras": _extras(plan, kind),
    }


def _access(cluster: Cluster, kind: Kind) -> list[str]:
    memory = ["--mem=0"] if cluster.counts_memory else []
    account = [f"--account={cluster.account}"] if cluster.account else []
    return [f"--partition={kind.partition}", *kind.access, *account, "--exclusive", *memory]


def _access_notes(cluster: Cluster, kind: Kind) -> tuple[str, ...]:
    notes = []
    if kind.access:
        notes.append("The nodes of this partition are of several kinds; these are the option's.")
    if cluster.counts_memory:
        notes.append("Jobs get no more memory than they ask for here; 0 is all of it.")
    if cluster.enforced and kind.looked.fault and not cluster.account:
        notes.append(
            f'fill in: "--account=...", where jobs want one: Slurm enforces {cluster.enforced}.'
        )
    return tuple(notes)


def _extras(plan: Plan, kind: Kind) -> dict[str, object]:
    fabric, looked = kind.looked.fabric, kind.looked
    every = len(kind.nodes)
    used = min(plan.nodes, every, kind.most or every)
    took = f"Of {every} that take jobs ({_some([n.name for n in kind.nodes])})."
    if used < every:
        limit = f"; a job may have {kind.most}" if used == kind.most else ""
        took = took[:-1] + (limit or "; more of them make larger jobs") + "."
    if looked.probe and looked.node.name:
        source = f"{plan.date}, link.sh on {looked.probe.node.name}: "
        if looked.fault:
            source = (
                f"fill in: these are of {looked.probe.node.name}, where the command ran; no job "
                f"looked at the nodes ({looked.fault}). "
            )
    else:
        source = f"fill in: {looked.node.name} was not looked at: {looked.fault}."
    notes = [source + "; ".join(fabric.notes) + "." * bool(fabric.notes)]
    if kind.taken:
        notes.append(f"Taken to be alike, as their processors are: {_some(list(kind.taken))}.")
    notes += [f"fill in: {line}." for line in fabric.todo]
    made: dict[str, object] = {
        "nodes": Noted(used, (took,)),
        "cores": kind.cores,
        "memory": Noted(kind.memory, ("Bytes: RealMemory of scontrol show node.",)),
        "fabric": Noted(fabric.facts, tuple(note.strip() for note in notes)),
    }
    if not kind.memory:
        made["memory"] = Noted(0, ("fill in: bytes of a node; Slurm has no RealMemory of it.",))
    return made


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more

"""The base of checks that run on several processes: placed as asked, and proven to be."""

from pathlib import Path

from reframe.core.exceptions import SanityError

from acceptance import suites
from acceptance.core import words
from acceptance.core.findings import Finding, seen
from acceptance.fabric import (
    FabricFault,
    adapters,
    facts_or_none,
    inside,
    latency_floor,
    limit,
    link_report,
    plausibility,
    rails,
)
from acceptance.machine import WAITED, Layout, image_of, placement, process_counts
from acceptance.suites import duration
from acceptance.suites.records import BUFFERS, SIZE_OF_FLOAT

from . import simulated, whole_fabric
from .base import JudgedCheck, library, stated
from .extras import environment_of, extras_of
from .inside import LINKS, Inside
from .no_case import lacking
from .partitions import (
    PACKED,
    cores_of,
    differs,
    fabric_facts,
    largest_job,
    memory_of,
    mode_of,
    not_for_gpus,
    partitions,
    standing,
)
from .pinned import Pinned

#: Of more ranks the adapters are not asked for: each writes a file.
MOST_LOGS = 256


def published_counts(partition, benchmark: str) -> set[int]:
    """Return the numbers of processes for which papers have results of a partition."""
    return {int(keys["np"]) for keys in stated(partition, benchmark) if "np" in keys}


def counts(*benchmarks: str) -> list[int]:
    """Return the numbers of processes that any partition of this system is measured with."""
    published = (published_counts(part, name) for part in partitions() for name in benchmarks)
    return sorted(set(process_counts(largest_job())).union(*published))


def part_of(memory: int, processes: int) -> int:
    """Return the bytes of memory that one of so many processes has; 0 if unknown."""
    return max(1, memory // processes) if memory else 0


def shown(variant: tuple | str) -> str:
    """Return a variant, a named tuple, as ReFrame shows parameters, or what a case has left of it.

    What is empty in it is not shown.
    """
    if isinstance(variant, str):
        return variant
    (_, first), *others = variant._asdict().items()
    return " %".join([first, *(f"{name}={value}" for name, value in others if value)])


class PlacedCheck(JudgedCheck, Pinned, Inside):
    """A check whose ranks stand where its parameters say, or which fails as misplaced.

    A subclass has the parameters `np` and `placement`, and may have `mapping` and `path`
    (`machine/placement.py`; without them block and shared). It overrides `most_nodes()` where it
    needs fewer nodes than there are, and `takes()` where not every case makes sense.
    """

    #: What the partition says of its simulation; None: it is measured.
    simulated = None
    #: Whether its ranks say where they stand.
    verified = False
    #: How many messages at once have buffers of their own.
    copies = 1
    #: Where the buffers of sender and receiver are, H (host) or D (a GPU); empty: nobody asks.
    gpu_buffers = ""
    #: Node -> rail -> the bytes that it carried; empty: its nodes have one each, or nobody knows.
    rails = variable(dict, value={}, loggable=True)
    #: The facts of the rails that its messages took; None: all that are stated may have been.
    carrying = None
    #: Environment -> why it is without the program, of one that it may lack.
    lacking = {}
    #: The program and its options, of what runs in an image; None: nothing does.
    in_image = None

    @run_after("init")
    def fit(self):
        """Take the partitions that have the cores, sockets and nodes for this case."""
        self.choose()
        self.row = suites.find(self.benchmark_name)
        if self.row.family:
            self.tags |= {self.row.family}
        if self.may_lack:
            self.lacking = lacking(self.suite, self.executable, self.fault_of)
        if without := {*self.lacking, *(not_for_gpus() if self.gpu_buffers else ())}:
            environments = (each for part in partitions() for each in part.environs)
            having = {each.name for each in environments if self.suite in each.features}
            self.valid_prog_environs = sorted(having - without)
        self.valid_systems = [part.fullname for part in partitions() if self.fits(part)]

    def choose(self):
        """Set what follows from the parameters."""

    def ways(self):
        """Return how ranks are laid over the nodes, and which way messages inside a node take."""
        return getattr(self, "mapping", "block"), getattr(self, "path", "shared")

    def most_nodes(self):
        """Return the largest number of nodes that this case makes sense on."""
        return self.np

    def spills(self):
        """Tell whether processes that cannot be spread evenly may fill one node after the other."""
        return False

    @staticmethod
    def fault_of(program, environment):
        """Say why a program that an environment has, and could lack, cannot run; empty: it can."""
        return ""

    def takes(self, part):
        """Tell whether this case makes sense on a partition, apart from its size."""
        return True

    def nodes(self, part):
        """Count the nodes of a partition that this case takes; 0 if it does not fit."""
        spills = self.spills() and self.ways()[0] == "block"
        return standing(part, self.np, self.placement, self.most_nodes(), spills=spills)

    def fits(self, part):
        """Tell whether a partition runs this case, in its mode, with no more ranks than cores."""
        if not self.row.is_in(mode_of(part, self.mode), self.np):
            return False
        nodes = self.nodes(part)
        if not nodes or not self.takes(part):
            return False
        if self.gpu_buffers:
            facts = facts_or_none(part.extras)
            if facts is None or facts.gpus < self.layout_on(part).per_node:
                return False
        return differs(self.np, nodes, *self.ways())

    def asked_sizes(self):
        """Return the message sizes (bytes) that this case has where all fit; some have none."""
        return []

    def most_buffers(self, part):
        """Return what bounds buffers that grow with the number of processes (bytes of one)."""
        return BUFFERS

    def room_on(self, part):
        """Return how many bytes the buffers of one process may take on a partition."""
        return self.row.room(self.memory_on(part), self.most_buffers(part))

    def memory_on(self, part):
        """Return the bytes of memory of a node that one process of this case has; 0 if unknown."""
        return part_of(memory_of(part), self.layout_on(part).per_node)

    def cut_on(self, part):
        """Say which message sizes do not fit into the memory of a partition; empty if all do."""
        row = self.row
        if not row.sized or not (sizes := self.asked_sizes()):
            return ""
        # No more processes share the memory of a node than it has cores.
        share = part_of(memory_of(part), cores_of(part) or 1)
        least = row.room(share, self.most_buffers(part))
        if row.buffers_of(sizes[-1], self.np, self.copies) <= least:
            return ""
        room, memory = self.room_on(part), self.memory_on(part)
        return row.cut(sizes, self.np, room, memory, self.copies)

    @run_before("run")
    def refuse_too_large(self):
        """Run nothing of which not even the smallest message fits."""
        part, sizes = self.current_partition, self.asked_sizes() if self.row.sized else []
        sizes = [size for size in sizes if size >= SIZE_OF_FLOAT or not self.row.reduction]
        least = self.row.buffers_of(min(sizes, default=0), self.np, self.copies)
        if least > self.room_on(part):
            raise SanityError(self.cut_on(part))

    @run_after("setup")
    def read_facts(self):
        """Read what the partition states of its fabric; nothing runs on facts that cannot be."""
        try:
            self.fabric = fabric_facts(self.current_partition.fullname)
        except FabricFault as err:
            raise SanityError(str(err)) from None

    @run_after("setup")
    def take_image(self):
        """Have ReFrame run the program in the image that the environment has it in, if in one.

        The folder of the job, and what says where ranks stand, are inside where they are outside.
        """
        environment = environment_of(self.current_environ, self.current_partition)
        try:
            image = image_of(environment, self.suite)
        except FileNotFoundError as err:
            raise SanityError(f"{self.benchmark_name}: {err}") from None
        if image is None:
            return
        container, scripts = self.container_platform, (placement.SCRIPT, link_report.SCRIPT)
        container.image = str(image.path)
        container.workdir, container.mount_stagedir = self.stagedir, None
        folders = dict.fromkeys(str(script.parent) for script in scripts)
        container.mount_points = [
            (self.stagedir, self.stagedir),
            *((folder, f"{folder}:ro") for folder in folders),
        ]
        if self.gpu_buffers:
            container.options = [{"cuda": "--nv", "rocm": "--rocm"}[self.fabric.gpu_kind]]

    def layout_on(self, part):
        """Return how the ranks stand on a partition."""
        where = "inter-node" if self.placement == PACKED else self.placement
        return Layout(self.np, -(-self.np // self.nodes(part)), where, self.ways()[0])

    def seconds(self, part):
        """Return how long a case on a partition takes, by formula: here its start."""
        return super().seconds(part) + duration.OF_RANK * self.np

    def way_on(self, part):
        """Return how fast a process's messages are on a partition, as far as that states it."""
        layout, facts = self.layout_on(part), facts_or_none(part.extras)
        if layout.nodes == 1:
            return duration.inside(self.np)
        latency, bandwidth = duration.OUTSIDE
        if facts and (least := limit(facts).least):
            latency = duration.OVER_LATENCY * latency_floor(facts) / 1e6
            bandwidth = duration.OF_BANDWIDTH * least.value * 1e6
        return latency, bandwidth / layout.per_node

    def settle(self):
        """Set layout and facts, and whether it is simulated."""
        self.layout = self.layout_on(self.current_partition)
        self.simulated = extras_of(self.current_partition).simulated
        self.read_facts()

    @run_after("setup")
    def place(self):
        """Tell the launcher where the ranks go, and have each rank report where it stands."""
        part = self.current_partition
        self.layout = self.layout_on(part)
        self.num_tasks, self.num_tasks_per_node = self.np, self.layout.per_node
        _, path = self.ways()
        self.verified = extras_of(part).verify_placement
        mpi = self.current_environ.extras.get("mpi", "")
        technology = self.fabric.technology if self.fabric else ""
        self.place_options = []
        try:
            self.family = placement.family(part.launcher_type.registered_name, mpi)
            options, told = placement.place(self.family, self.layout)
            variables = {
                **self.needed_variables(),
                **told,
                **placement.pinned(mpi),
                **placement.path(mpi, path, technology),
            }
        except placement.PlacementFault as err:
            if self.verified or self.layout.chosen or path != "shared":
                raise SanityError(f"{self.benchmark_name}: {err}") from None
            # A launcher of the site's own, which places ranks as it does.
            self.env_vars.update(self.needed_variables())
            return
        self.simulated = extras_of(part).simulated
        between = self.layout.nodes > 1 and not self.simulated
        if self.verified and (between or self.is_inside()):
            variables["ACCEPTANCE_LINKS"] = LINKS
            variables["ACCEPTANCE_LINK_SCRIPT"] = str(link_report.SCRIPT if between else WAITED)
            self.keep_files = [*self.keep_files, LINKS]
            if between and self.fabric and self.fabric.states_links and self.np <= MOST_LOGS:
                variables["ACCEPTANCE_UCX"] = "1"
        self.env_vars.update(variables)
        self.num_tasks_per_socket = self.layout.per_socket if self.family == "srun" else None
        self.exports = placement.exported(self.family, (), variables)
        self.place_options = [*options, *self.exports]
        self.job.launcher.options = [*self.place_options, *self.around()]

    def around(self):
        """Return what runs around the program: inside an image what runs there says it."""
        return [] if self.container_platform.image else self.reporter()

    @run_before("run", always_last=True)
    def enter_image(self):
        """Tell ReFrame what runs in the image, when all of it is known."""
        if self.container_platform.image:
            self.in_image = self.executable, self.executable_opts
            words = [*self.reporter(), self.executable, *self.executable_opts]
            self.container_platform.command = " ".join(words)

    @run_after("run")
    def leave_image(self):
        """Take program and options again, where ReFrame has put the command of the image."""
        if self.in_image:
            self.executable, self.executable_opts = self.in_image

    def reporter(self):
        """Return what runs in place of the program to say where a rank stands.

        Of simulated ranks the launcher says it: they are no processes.
        """
        return ["sh", str(placement.SCRIPT)] if self.verified and not self.simulated else []

    @run_before("run")
    def write_platform(self):
        """Write what a simulation runs on."""
        if self.simulated:
            simulated.write(self)

    @run_before("sanity")
    def tell_nodes(self):
        """Tell ReFrame the nodes of a job, and those of a simulation.

        Of a short one `squeue` shows none, so that it would store a node called None, and `sacct`
        names the first one only for a second after its end.
        """
        if hasattr(self.job, "_nodespec"):
            nodes = ",".join(sorted(self.nodes_seen()))
            self.job._nodespec = nodes or self.job._nodespec or ""
        elif self.simulated or not self.job.nodelist:
            self.job._nodelist = sorted(self.nodes_seen()) or self.job._nodelist

    def nodes_seen(self):
        """Return the nodes that ranks say they stood on."""
        try:
            return {rank.node for rank in placement.read_ranks(self.errors())}
        except ValueError:  # reported when the ranks are judged
            return set()

    def needed_variables(self):
        """Return environment variables that program and MPI need on every node."""
        mpi = self.current_environ.extras.get("mpi", "")
        return placement.gpus(mpi, self.fabric.gpu_kind) if self.gpu_buffers else {}

    @property
    def asked_gpu(self):
        """Return of which GPUs, and where, the buffers of sender and receiver are: `cuda-HD`."""
        return f"{self.fabric.gpu_kind}-{self.gpu_buffers}" if self.gpu_buffers else ""

    def last_words(self):
        """Return what the program said last, and what that means where it was to use GPUs."""
        said = "; ".join([super().last_words(), *self.said_of_node()])
        if not self.gpu_buffers:
            return said
        why = placement.no_gpus(self.said(), self.fabric.gpu_kind)
        return f"a node states {self.fabric.gpus} GPUs, {why} ({said})"

    def launch_command(self):
        """Return the command that launches ranks for one more step, placed in the same way."""
        # ReFrame itself tells the job only later.
        self.job.num_tasks = self.num_tasks
        self.job.num_tasks_per_node = self.num_tasks_per_node
        wrapped = self.job.launcher.options
        self.job.launcher.options = self.place_options
        command = self.job.launcher.run_command(self.job)
        self.job.launcher.options = wrapped
        return command

    def troubles(self):
        """Return why these numbers are not what they say, beside their values."""
        self.provenance.setdefault("date", "not told: nothing shows that the output is of this job")
        if cut := self.cut_on(self.current_partition):
            self.provenance["sizes"] = cut
        if self.gpu_buffers:
            self.provenance["gpus"] = self.fabric.gpu_text
        if not self.verified:
            self.provenance["placement"] = "not verified"
            return self.beyond_the_wire()
        ranks = placement.read_ranks(self.errors(), self.stderr.evaluate())
        found = [
            Finding("misplaced", f"misplaced: {what}")
            for what in placement.misplaced(ranks, self.layout)
        ]
        if self.layout.nodes > 1:
            nodes = {rank.node for rank in ranks}
            found += self.look_at_links({rank.rank: rank.node for rank in ranks})
            if hops := whole_fabric.hops_of(nodes, self.simulated is not None):
                self.provenance["hops"] = hops
        return [*found, *self.slow_inside(), *self.beyond_the_wire()]

    def look_at_links(self, ranks):
        """Read what the links of the nodes of ranks said before and after; return the faults."""
        if self.simulated:
            self.provenance["bytes"] = "not known: simulated"
            return []
        min_bytes = max(self.sizes_of_messages(), default=0) if self.is_bandwidth() else 0
        folder = Path(self.stagedir, LINKS)
        asked = folder, {*ranks.values()}, self.fabric
        try:
            faults, explaining, told = plausibility.evidence(*asked, min_bytes)
            found = rails.read(*asked)
            ways = adapters.read(folder, ranks, found) if self.fabric else {}
            faults += adapters.judge(folder, ranks, ways, self.fabric)
        except ValueError as err:
            raise SanityError(str(err)) from None
        if told:
            self.provenance["bytes"] = told
        if found or any(taken for taken, _ in ways.values()):
            self.provenance["adapters"] = adapters.text_of(ways)
        self.record(explaining)
        return [*faults, *self.look_at_rails(found, min_bytes)]

    def look_at_rails(self, found, min_bytes):
        """Tell what each rail carried; return those that carried nothing, though they had to."""
        if not found:
            return []
        self.provenance["rails"] = rails.text_of(found, self.fabric)
        self.rails = {each.node: dict(each.moved) for each in found if each.used}
        judged = rails.of_bandwidth(found, self.fabric, min_bytes)
        self.carrying = rails.left(judged, self.fabric, self.layout.nodes)
        peaks = {
            name: each
            for name, each in self.measurements.items()
            if self.limited_like(name) == "bandwidth_peak"
        }
        within = self.tolerances().thresholds("limit", "=", "MB/s", "bandwidth_peak")
        told = rails.left_text(
            self.row, peaks, self.carrying, self.layout, -within[0] if within else None
        )
        seen = [*rails.judge(judged, self.fabric, told)]
        self.record(each for each in seen if not each.fails)
        return [each for each in seen if each.fails]

    def is_bandwidth(self):
        """Tell whether this is a benchmark of the bandwidth between two nodes."""
        return self.row.link_factor is not None

    def sizes_of_messages(self):
        """Return the message sizes (bytes) of the metrics."""
        return [size for name in self.declared if (size := words.split_metric(name)[1]) is not None]

    def beyond_the_wire(self):
        """Return which results cannot be true, by what fabric, GPUs, or a node's memory can do."""
        if self.layout.nodes == 1 and "D" not in self.gpu_buffers:
            stated, place = extras_of(self.current_partition), "memory"
            lines, told = plausibility.implausible_inside(
                self.row, self.measurements, stated, self.layout
            )
            if self.unaided:
                lines += inside.implausible(self.row, self.measurements, self.unaided)
        else:
            facts, place, buffers = self.carrying or self.fabric, "wire", self.gpu_buffers
            told = plausibility.not_compared(facts, buffers, self.layout.nodes)
            lines = facts and plausibility.implausible(
                self.row, self.measurements, facts, self.layout, buffers
            )
        if told:
            self.provenance[place] = told
        return [Finding("implausible", line) for line in lines or ()]

    def reference_of(self, name, unit):
        """Return what the check's references say, else a fraction of the limit of the facts."""
        found = super().reference_of(name, unit)
        if found or not self.fabric:
            return found
        like, ways = self.limited_like(name), (self.gpu_buffers, self.layout.nodes)
        bound = plausibility.limit_of(self.row, like, unit, self.fabric, *ways)
        tolerances = self.tolerances().thresholds("limit", "=", unit, like)
        if bound is None or tolerances is None or "limit" not in self.sources(name):
            return None
        return (bound[0], *tolerances, unit), bound[1]

    def references_of(self, units):
        """Return what judges metrics; the node itself where nothing else does."""
        found = super().references_of(units)
        left = {name: unit for name, unit in units.items() if not found[name]}
        return found | self.references_inside(left)

    def limited_like(self, name):
        """Return the metric whose fraction of the fabric's limit judges this one."""
        return name

    def tolerances(self):
        """Return how far results of this system may lie from their references."""
        return library().tolerances_of(self.current_system.name)

    def causes(self):
        """Return what the links of the nodes showed, else which slower link the peak would fit."""
        found = list(seen(self.findings))
        if not found and self.layout.nodes > 1 and self.fabric and "D" not in self.gpu_buffers:
            within = self.tolerances().thresholds("limit", "=", "MB/s", "bandwidth_peak")
            slower = within and plausibility.slower_link(
                self.row, self.measurements, self.carrying or self.fabric, -within[0]
            )
            found = [slower] if slower else []
        return [f"cause may be: {text}" for text in found]

    def is_ours(self, line):
        """Tell whether a line of the standard error says where a rank stood."""
        return placement.is_line(line.strip())

    def parameters(self):
        """Return what a reference of this case must agree with."""
        found = {
            "np": str(self.np),
            "nodes": str(self.layout.nodes),
            "placement": self.layout.placement,
        }
        mapping, path = self.ways()
        if self.layout.nodes > 1:
            found["mapping"] = mapping
        if self.np > self.layout.nodes:
            found["intranode"] = path
        if self.gpu_buffers:
            found["gpu"] = self.asked_gpu
        return found

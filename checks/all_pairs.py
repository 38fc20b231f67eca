"""All pairs of the nodes of a partition, and the node, path or uplink behind the slow ones."""

import shutil
from pathlib import Path

import msgspec
import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError
from reframe.core.logging import getlogger

from acceptance.core import words
from acceptance.core.errors import Fault
from acceptance.core.findings import Observation
from acceptance.core.text import plural
from acceptance.machine import Layout
from acceptance.nodes import AllPairs as Stored
from acceptance.nodes import cables, culprits
from acceptance.suites import all_pairs, patterns

from .build import PatternsBuild
from .extras import extras_of
from .fabric_routes import ROUNDS, FabricRoutes
from .no_case import needs_build
from .partitions import cores_of, mode_of, nodes_of, nodes_up, uses_slurm
from .placed import PlacedCheck

#: What each pair measured; it is kept with the outputs of the case, good or bad.
MATRIX = "all-pairs.txt"


@rfm.simple_test
class AllPairs(PlacedCheck):
    """A process on every node of a partition: latency and bandwidth between each two of them.

    The nodes are those that the case is pinned to, else all that Slurm has up, else as many as the
    partition says in its extras (`nodes`). In rounds all nodes are busy; what is slow in its round
    is measured once more alone. `all_pairs` has what was measured and the culprits behind it, and
    the file `all-pairs.txt` each value. A culprit fails the case.
    """

    #: Rounds at most, 0: all. None: by the mode, smoke 4, nightly 16, acceptance all.
    rounds = variable(int, type(None), value=None, loggable=True)
    #: Take pairs that together cross every cable instead of some rounds of all nodes, where the
    #: mode does not ask for all rounds and the routes are known before the job runs.
    crossing = variable(typ.Bool, value=True, loggable=True)
    #: Whether it does.
    crosses = False
    #: Seconds for all rounds; those that are left are told. 0: by the mode.
    limit = variable(int, value=0, loggable=True)
    #: What `acceptance.nodes.AllPairs` holds, as plain data.
    all_pairs = variable(dict, value={}, loggable=True)

    if needs_build("patterns"):
        build = fixture(PatternsBuild, scope="environment")

    np = variable(int, loggable=True)
    placement = variable(str, value="inter-node", loggable=True)

    descr = "all pairs of nodes"
    suite = "patterns"
    benchmark_name = "patterns.all-pairs"
    executable = patterns.PROGRAM
    valid_prog_environs = ["+patterns"]
    tags = {"patterns", "mpi", "nodes", "maintenance"}
    differs_by_mode = True
    #: A case that waits longer for its nodes fails, and says so.
    max_pending_time = "1h"
    #: None: by the seconds for all rounds, and the number of nodes.
    time_limit = None

    def choose(self):
        """Take what the suite's table says of all pairs."""
        self.columns = all_pairs.BENCHMARKS["all-pairs"].columns

    def nodes(self, part):
        """Count the nodes of a partition that take part; raises Fault."""
        if pinned := self.pinned_nodes(part):
            return len(pinned)
        asks = self.asks_scheduler and uses_slurm(part)
        return nodes_up(tuple(part.access)) if asks else nodes_of(part)

    def fits(self, part):
        """Take each partition of several nodes of which ranks say where they stand."""
        return extras_of(part).verify_placement and cores_of(part) > 0 and nodes_of(part) > 1

    def layout_on(self, part):
        """Return how the ranks stand, now that the partition is known, and so its nodes."""
        try:
            self.np = self.nodes(part)
        except Fault as err:
            raise SanityError(f"{self.benchmark_name}: {err}") from None
        if self.np < 2:
            raise SanityError(f"{self.benchmark_name}: {plural(self.np, 'node')}: there is no pair")
        return Layout(self.np, 1, self.placement)

    def shifts(self):
        """Return the rounds that are measured, none for all."""
        mode = mode_of(self.current_partition, self.mode)
        most = all_pairs.MOST_ROUNDS[mode] if self.rounds is None else self.rounds
        return all_pairs.shifts(self.np, most)

    @run_before("run")
    def set_options(self):
        """Ask for these rounds, and tell how long they may take."""
        mode = mode_of(self.current_partition, self.mode)
        limit, shifts = self.limit or all_pairs.LIMITS[mode], self.shifts()
        self.executable_opts = [
            "all-pairs", f"--bytes {self.large}", f"--limit {limit}", f"--output {MATRIX}",
        ]  # fmt: skip
        if self.simulated:
            # No simulated rank hangs, and who polls for one that might pays in simulated time; what
            # has no noise need not last.
            self.executable_opts += ["--timeout 0", f"--time {all_pairs.SIMULATED}"]
        self.routes = FabricRoutes(self)
        if not self.is_dry_run():
            self.routes.read_before()
        self.crosses = bool(shifts) and self.crossing and self.routes.choose()
        if self.crosses:
            self.executable_opts.append(f"--rounds {ROUNDS}")
        elif shifts:
            self.executable_opts.append(f"--shifts {','.join(map(str, shifts))}")
        if self.time_limit is None:
            self.time_limit = f"{limit + 300 + self.np}s"
        getlogger().info(
            f"{self.current_partition.fullname}: all pairs of {self.np} nodes: "
            f"{self.rounds_text(shifts)} in at most {limit} s; the error output of the job has an "
            "estimate when it begins"
        )

    @property
    def large(self):
        """Return the bytes of the message whose bandwidth is told."""
        is_simulated = extras_of(self.current_partition).simulated
        return all_pairs.SIMULATED_LARGE if is_simulated else all_pairs.LARGE

    def rounds_text(self, shifts):
        """Say which rounds are measured."""
        if self.crosses:
            return "pairs that together cross every cable"
        return f"{len(shifts) or self.np - 1} of {self.np - 1} rounds"

    @run_before("sanity")
    def read_matrix(self):
        """Read what was measured, also of a job that ended early, and find the culprits."""
        self.read, self.fault = None, None
        if self.is_dry_run():
            return
        try:
            text = self.read_file(MATRIX)
            # ReFrame keeps files of cases that pass.
            shutil.copy(Path(self.stagedir, MATRIX), self.outputdir)
            self.read = all_pairs.read_so_far(text, MATRIX, self.np)
        except (OSError, ValueError) as err:
            self.fault = ValueError(f"{MATRIX}: not there") if isinstance(err, OSError) else err
            return
        self.fault, matrix = self.read.fault, self.read.matrix
        # The program exits with 1 for pairs that failed, too.
        self.says_all = self.fault is None
        ways = self.routes.ways(matrix.nodes)
        self.found = culprits.find(matrix, hops=None if ways is None else ways.hops)
        if ways is not None:
            self.found = cables.with_cables(matrix, ways, self.found)
        stored = Stored.of_matrix(matrix, self.read.job.rounds, self.found, ways, self.routes.why)
        self.all_pairs = msgspec.to_builtins(stored)
        self.routes.keep(Path(self.outputdir))

    def expected(self):
        """Return metric -> unit."""
        return {name: unit for name, (_, unit) in all_pairs.metrics(None, self.large).items()}

    def measure(self):
        """Return metric -> (value, unit)."""
        if self.fault:
            raise self.fault
        self.provenance["suite"] = f"patterns {self.read.job.version}"
        self.provenance["estimate"] = f"{self.read.job.estimate_s} s"
        return all_pairs.metrics(self.read.matrix, self.large)

    def troubles(self):
        """Return the culprits, and why these numbers are not what they say."""
        return [
            *super().troubles(),
            *(Observation(e.kind, e.text, node=e.node) for e in self.found if e.fails),
        ]

    def beyond_the_wire(self):
        """Return which pairs cannot be true; the medians would hide them."""
        measured, told = self.measurements, []
        for quantity, size in (("latency", all_pairs.SMALL), ("bandwidth", self.large)):
            pair, value = all_pairs.best(self.read.matrix, quantity)
            name = words.sized(quantity, size)
            self.measurements = {name: (value, measured[name][1])}
            told += [
                Observation(each.kind, f"{pair}: {each.text}") for each in super().beyond_the_wire()
            ]
        self.measurements = measured
        return told

    def limited_like(self, name):
        """Judge the median and the worst node as the peak of a sweep."""
        return "bandwidth_peak" if name.startswith("bandwidth") else name

    def parameters(self):
        """Return what a reference of this case must agree with."""
        found, shifts = super().parameters(), self.shifts()
        if self.crosses:
            return {**found, "pattern": "crossing"}
        return {**found, "repetitions": str(len(shifts))} if shifts else found

"""All nodes of a partition in pairs, and inside: the node, path or uplink behind what is slow."""

import shutil
from pathlib import Path

import msgspec
import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.logging import getlogger

from acceptance.core import words
from acceptance.core.findings import Finding
from acceptance.core.pairs import ROUND_S, UNITS
from acceptance.fabric import facts_or_none
from acceptance.nodes import Aim, cables, causes, culprits
from acceptance.nodes import AllPairs as Stored
from acceptance.suites import all_pairs

from .every_node import EveryNode
from .extras import extras_of
from .fabric_routes import ROUNDS, FabricRoutes
from .partitions import mode_of, nodes_of
from .placed import PlacedCheck

#: Shows what was said, but not where ranks stand: that is said once.
WITHOUT_RANKS = r"grep -v -e 'placement rank=' -e '\[rank [0-9]*\] ->'"


@rfm.simple_test
class AllPairs(EveryNode):
    """Two processes on every node of a partition: latency and bandwidth between all, and inside.

    The nodes are those that the case is pinned to, else all that are up, else as many as the
    partition says in its extras (`nodes`). In rounds all nodes are busy; what is slow in its round
    is measured once more alone. `all_pairs` has what was measured and the culprits behind it, and
    the file `all-pairs.txt` each value. A culprit fails the case. Nodes of one core, and simulated
    ones, are not measured inside.
    """

    #: Rounds at most, 0: all. None: by the mode, smoke 4, nightly 16, acceptance all.
    rounds = variable(int, type(None), value=None, loggable=True)
    #: Take pairs that together cross every cable instead of some rounds of all nodes, where the
    #: mode does not ask for all rounds and the routes are known before the job runs.
    crossing = variable(typ.Bool, value=True, loggable=True)
    #: Whether it does.
    crosses = False
    #: How often all of it is measured; of each pair the median counts.
    passes = variable(int, value=1, loggable=True)
    #: What is to be seen: the fraction that a node loses of its rates, with which probability, and
    #: the probability that a good run fails. `acceptance accept --detect` sets it, and the passes.
    aim = variable(typ.List[float], value=[], loggable=True)
    #: Seconds for all rounds and passes; what is left is told. 0: by the mode.
    limit = variable(int, value=0, loggable=True)
    #: What `acceptance.nodes.AllPairs` holds, as plain data.
    all_pairs = variable(dict, value={}, loggable=True)

    descr = "all pairs of nodes"
    benchmark_name = "patterns.all-pairs"
    tags = {"patterns", "mpi", "nodes", "maintenance"}
    most_per_node = 2
    #: None: by the seconds for all rounds, and the number of nodes.
    time_limit = None

    def choose(self):
        """Take what the suite's table says of all pairs."""
        self.columns = all_pairs.BENCHMARKS["all-pairs"].columns

    def seconds(self, part):
        """Return how long a case on a partition takes."""
        mode, nodes = mode_of(part, self.mode), nodes_of(part)
        most = all_pairs.MOST_ROUNDS[mode] if self.rounds is None else self.rounds
        rounds = len(all_pairs.shifts(nodes, most)) or nodes - 1
        limit = self.limit or all_pairs.LIMITS[mode]
        start = super(PlacedCheck, self).seconds(part)
        return start + min(self.passes * rounds * ROUND_S, limit)

    def shifts(self):
        """Return the rounds that are measured, none for all."""
        mode = mode_of(self.current_partition, self.mode)
        most = all_pairs.MOST_ROUNDS[mode] if self.rounds is None else self.rounds
        return all_pairs.shifts(self.layout.nodes, most)

    @run_before("run")
    def set_options(self):
        """Ask for these rounds, and tell how long they may take."""
        mode = mode_of(self.current_partition, self.mode)
        limit, shifts = self.limit or all_pairs.LIMITS[mode], self.shifts()
        self.executable_opts = [
            "all-pairs", f"--bytes {self.large}", f"--limit {limit / self.passes:g}",
            f"--output {all_pairs.MATRIX}", f"--ranks {self.layout.per_node}",
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
        if self.passes > 1:
            self.postrun_cmds = [*self.further_passes(), *self.postrun_cmds]
        if self.time_limit is None:
            starts = 300 + 20 * (self.passes - 1) + self.layout.nodes
            self.time_limit = f"{limit + starts}s"
        getlogger().info(
            f"{self.current_partition.fullname}: all pairs of {self.layout.nodes} nodes: "
            f"{self.rounds_text(shifts)}{f', {self.passes} times,' * (self.passes > 1)} in at most "
            f"{limit} s; the error output of the job has an estimate when it begins"
        )

    def further_passes(self):
        """Return the commands that measure all of it again; of one that fails the job says why."""
        launch, program = self.launch_command(), " ".join([self.executable, *self.executable_opts])
        commands = [
            f"{launch} {self.contained(program.replace(all_pairs.MATRIX, name))} "
            f"> {name}.out 2> {name}.err || {{ status=$?; {WITHOUT_RANKS} {name}.err >&2; }}"
            for name in self.files[1:]
        ]
        return ["status=$?", *commands, "(exit $status)"]

    @property
    def files(self):
        """Return the files that the passes write."""
        return [all_pairs.MATRIX, *(f"all-pairs-{n}.txt" for n in range(2, self.passes + 1))]

    @property
    def large(self):
        """Return the bytes of the message whose bandwidth is told."""
        is_simulated = extras_of(self.current_partition).simulated
        return all_pairs.SIMULATED_LARGE if is_simulated else all_pairs.LARGE

    def rounds_text(self, shifts):
        """Say which rounds are measured."""
        if self.crosses:
            return "pairs that together cross every cable"
        rounds = self.layout.nodes - 1
        return f"{len(shifts) or rounds} of {rounds} rounds"

    @run_before("sanity")
    def read_matrix(self):
        """Read what was measured, also of a job that ended early, and find the culprits."""
        self.read, self.fault = None, None
        if self.is_dry_run():
            return
        parts = [*self.parts()]
        try:
            matrix, times = all_pairs.middle([each.matrix for each in parts])
        except ValueError as err:
            self.fault = self.fault or err
            return
        self.read, self.matrix, aim = parts[0], matrix, Aim(*self.aim)
        # The program exits with 1 for pairs that failed, too.
        self.says_all = self.fault is None
        ways = self.routes.ways(matrix.nodes)
        hops = None if ways is None else ways.hops
        self.found, values = culprits.judge(matrix, hops=hops, aim=aim)
        if ways is not None:
            self.found = cables.with_cables(matrix, ways, self.found, aim)
        facts = facts_or_none(self.current_partition.extras)
        self.found = causes.with_causes(matrix, self.found, facts, ways)
        stored = Stored.of_matrix(
            matrix, self.read.job.rounds, self.found, values, ways, self.routes.why, times, aim
        )
        self.all_pairs = msgspec.to_builtins(stored)
        self.routes.keep(Path(self.outputdir))

    def parts(self):
        """Yield what the passes measured that left a file; `fault` is the first thing amiss."""
        for name in self.files:
            try:
                text = self.read_file(name)
                # ReFrame keeps files of cases that pass.
                shutil.copy(Path(self.stagedir, name), self.outputdir)
                part = all_pairs.Measured(text, name, self.layout.nodes)
            except OSError:
                self.fault = self.fault or ValueError(f"{name}: not there")
            except ValueError as err:
                self.fault = self.fault or err
            else:
                self.fault = self.fault or part.fault
                yield part

    def expected(self):
        """Return metric -> unit."""
        return {name: unit for name, (_, unit) in self.metrics_of(None).items()}

    def metrics_of(self, matrix):
        """Return metric -> (value, unit) of a matrix; of None what will be measured."""
        return all_pairs.metrics(matrix, self.large, inside=self.layout.per_node > 1)

    def measure(self):
        """Return metric -> (value, unit)."""
        if self.fault:
            raise self.fault
        self.provenance["suite"] = f"patterns {self.read.job.version}"
        self.provenance["estimate"] = f"{self.read.job.estimate_s} s"
        return self.metrics_of(self.matrix)

    def troubles(self):
        """Return the culprits, and why these numbers are not what they say."""
        return [
            *super().troubles(),
            *(Finding(e.kind, e.text, nodes=(*e.node.split(),)) for e in self.found if e.fails),
        ]

    def beyond_the_wire(self):
        """Return which pairs cannot be true; the medians would hide them."""
        measured, told = self.measurements, []
        for quantity, size in (("latency", all_pairs.SMALL), ("bandwidth", self.large)):
            pair, value = all_pairs.extreme(self.matrix, quantity, best=True)
            name = words.sized(quantity, size)
            self.measurements = {name: (value, measured[name][1])}
            told += [
                Finding(each.kind, f"{pair}: {each.text}") for each in super().beyond_the_wire()
            ]
        self.measurements = measured
        return told

    def limited_like(self, name):
        """Judge the median and the worst node as the peak of a sweep."""
        return "bandwidth_peak" if name.startswith("bandwidth") and "inside" not in name else name

    def causes(self):
        """Name the worst pairs, too; of two nodes nobody can tell which one it is."""
        worst = [
            f"{pair} with {value:.5g} {UNITS[quantity]}"
            for quantity in ("latency", "bandwidth")
            for pair, value in [all_pairs.extreme(self.matrix, quantity, best=False)]
        ]
        which = "; which of the two nodes it is nobody can tell" if self.layout.nodes == 2 else ""
        return [f"the worst pairs: {', '.join(worst)}{which}", *super().causes()]

    def parameters(self):
        """Return what a reference of this case must agree with."""
        found, shifts = super().parameters(), self.shifts()
        if self.crosses:
            return {**found, "pattern": "crossing"}
        return {**found, "repetitions": str(len(shifts))} if shifts else found

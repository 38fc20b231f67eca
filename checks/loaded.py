"""Some nodes measure while others load the network: what load does to latency and bandwidth."""

import msgspec
import reframe as rfm

from acceptance.core.findings import SUFFERS, Finding
from acceptance.nodes import under_load
from acceptance.suites import loaded

from .every_node import EveryNode
from .extras import extras_of
from .fabric_routes import FabricRoutes
from .partitions import mode_of
from .placed import PlacedCheck

#: Mode -> the cycles of a window for each load, and ms of each quantity in a window.
CYCLES = {"smoke": (4, 5), "nightly": (8, 30), "acceptance": (20, 100)}
#: The share of the nodes that are victims, unless another one is set; always of fewer nodes.
USUAL_SHARE, FEW_NODES = 0.5, 20
#: A simulated window, which has no noise: ms, and what SimGrid takes for looking whether a message
#: is there (s): by default it grows with each look, so that aggressors that look would do little.
SIMULATED, LOOK = 0.3, "--cfg=smpi/test:1e-7"


@rfm.simple_test
class Loaded(EveryNode):
    """Some nodes of a partition measure, beside others that load the network or do nothing.

    The victims measure the latency and the bandwidth in a ring in random order, and an allreduce of
    8 bytes. The aggressors do incast, all-to-all, broadcast-get, or nothing. `loaded` has what came
    of it: factors with intervals, and which victims suffer.
    """

    #: The share of the nodes that are victims, about; of fewer than 20 nodes it is a half.
    share = variable(float, value=USUAL_SHARE, loggable=True)
    #: Cycles, and ms of each quantity in a window; 0: by the mode.
    cycles = variable(int, value=0, loggable=True)
    window = variable(float, value=0.0, loggable=True)
    #: Ranks on each node.
    per_node = variable(int, value=1, loggable=True)
    #: What `acceptance.nodes.UnderLoad` holds, as plain data.
    loaded = variable(dict, value={}, loggable=True)

    descr = "latency and bandwidth under load"
    benchmark_name = "patterns.loaded"
    tags = {"patterns", "mpi", "nodes"}

    def choose(self):
        """Take what the suite's table says of it."""
        self.columns = loaded.BENCHMARKS["loaded"].columns

    def layout_on(self, part):
        """Return how the ranks stand, each on a core of its own."""
        self.take(part, self.per_node)
        return super().layout_on(part)

    def plan(self, part):
        """Return the cycles, and ms of each quantity in a window."""
        cycles, window = CYCLES[mode_of(part, self.mode)]
        if extras_of(part).simulated:
            cycles, window = CYCLES["smoke"][0], SIMULATED
        return self.cycles or cycles, self.window or window

    def seconds(self, part):
        """Return how long a case on a partition takes."""
        cycles, window = self.plan(part)
        loops = cycles * len(loaded.WINDOWS) * len(loaded.QUANTITIES)
        return super(PlacedCheck, self).seconds(part) + loops * window / 1000

    @run_before("run")
    def set_options(self):
        """Ask for so many cycles, and read the routes."""
        cycles, window = self.plan(self.current_partition)
        self.executable_opts = [
            "loaded", f"--cycles {cycles}", f"--time {window:g}", f"--share {self.share:g}",
            f"--bytes {loaded.LARGE}", f"--ranks {self.layout.per_node}",
        ]  # fmt: skip
        if self.simulated:
            self.job.launcher.options = [LOOK, *self.job.launcher.options]
        self.routes = FabricRoutes(self)
        if not self.is_dry_run():
            self.routes.read_before()

    @run_before("sanity")
    def read_times(self):
        """Read what was measured, and find who suffers."""
        self.measured_under_load, self.fault = None, None
        if self.is_dry_run() or self.job.exitcode:
            return
        try:
            source = self.stdout.evaluate()
            read = loaded.Measured(self.output(), source, self.np, loaded.LARGE)
        except ValueError as err:
            self.fault = err
            return
        self.run_of = read.run
        self.measured_under_load = found = under_load(
            read, self.routes.ways(read.nodes), self.routes.why
        )
        self.loaded = msgspec.to_builtins(found)

    def expected(self):
        """Return metric -> unit: of a run those that it had messages enough for."""
        found = getattr(self, "measured_under_load", None)
        return (
            {name: unit for name, (_, unit) in found.metrics.items()} if found else loaded.asked()
        )

    def measure(self):
        """Return metric -> (value, unit)."""
        if self.fault:
            raise self.fault
        found = self.measured_under_load
        self.provenance["suite"] = f"patterns {self.run_of.version}"
        self.provenance["mpi_library"] = self.run_of.mpi
        self.provenance["mpi_standard"] = self.run_of.mpi_standard
        self.provenance["load"] = found.text
        if found.unknown:
            self.provenance["not known"] = "; ".join(found.unknown)
        self.record(
            Finding(SUFFERS, each.text, nodes=each.nodes, what=f"{each.load} {each.quantity}")
            for each in found.suffering
        )
        return found.metrics

    def is_bandwidth(self):
        """Tell that bytes go between nodes: of the aggressors more than of the victims."""
        return True

    def parameters(self):
        """Return what a reference of this case must agree with."""
        is_usual = self.share == USUAL_SHARE or self.layout.nodes < FEW_NODES
        return super().parameters() | ({} if is_usual else {"share": f"{self.share:g}"})

"""Small messages between nodes in pairs: which node, or the network, makes some of them late."""

import reframe as rfm
from reframe.core.exceptions import SanityError

from acceptance.machine import osnoise
from acceptance.nodes import Causes
from acceptance.suites import detours

from .every_node import EveryNode
from .extras import extras_of
from .outputs import MOST, OF_PROCESS
from .partitions import cores_of, mode_of, nodes_of

#: Processes of which the output is read as a whole.
MOST_RANKS = MOST // OF_PROCESS
#: What the kernels of the nodes say of their noise.
KERNEL = "osnoise.txt"


@rfm.simple_test
class Detours(EveryNode):
    """A process on every node, in pairs: messages of 8 bytes, and fixed work between them.

    The nodes are those that the case is pinned to, else as many as the partition says in its extras
    (`nodes`). What makes messages late is in the provenance (`late`). A node, or the network, that
    makes most of them late is told as a finding, which fails nothing: no value is agreed on.
    """

    #: Processes on each node, each with one of the other node; 0: one for each core.
    per_node = variable(int, value=1, loggable=True)
    #: Seconds in which pairs exchange messages. 0: by the mode, smoke 2, nightly 10, acceptance 60.
    exchange_time = variable(float, value=0.0, loggable=True)

    #: Where Linux's tracers are, of which one may be on.
    tracing = variable(str, value="/sys/kernel/tracing", loggable=True)

    descr = "detours of nodes"
    benchmark_name = "patterns.detours"
    tags = {"patterns", "mpi", "nodes"}

    def choose(self):
        """Take what the suite's table says of it."""
        self.columns = detours.BENCHMARKS["detours"].columns

    def fits(self, part):
        """Take each partition of two nodes or more that is not simulated: there are no detours."""
        return super().fits(part) and extras_of(part).simulated is None

    def layout_on(self, part):
        """Return how the ranks stand, each on a core of its own."""
        self.take(part, self.per_node or cores_of(part))
        layout = super().layout_on(part)
        if self.np > MOST_RANKS:
            raise SanityError(
                f"{self.benchmark_name}: {self.np} processes write more than is read: with fewer "
                f"on each node (-S Detours.per_node=1) there are at most {MOST_RANKS}"
            )
        return layout

    def exchanging(self, part):
        """Return the seconds of a round."""
        return self.exchange_time or detours.SECONDS[mode_of(part, self.mode)]

    def seconds(self, part):
        """Return how long a case on a partition takes: of an odd number of nodes two rounds."""
        return super().seconds(part) + self.exchanging(part) * (1 + nodes_of(part) % 2)

    @run_before("run")
    def set_options(self):
        """Ask for these ranks and this time."""
        seconds = self.exchanging(self.current_partition)
        self.executable_opts = [
            "detours", f"--ranks {self.layout.per_node}", f"--seconds {seconds:g}",
        ]  # fmt: skip
        say = f"sh {osnoise.SCRIPT} {self.tracing}"
        self.postrun_cmds = [
            "status=$?",
            f"if [ -r {self.tracing}/current_tracer ]; then {self.launch_command()} {say}; "
            f"else {say}; fi > {KERNEL}",
            "(exit $status)",
            *self.postrun_cmds,
        ]

    def expected(self):
        """Return metric -> unit."""
        return {name: unit for name, (_, unit) in detours.metrics().items()}

    def measure(self):
        """Return metric -> (value, unit)."""
        measured = detours.Measured(self.output(), self.stdout.evaluate(), self.np)
        self.provenance["suite"] = f"patterns {measured.run.version}"
        self.provenance["mpi_library"] = measured.run.mpi
        self.provenance["mpi_standard"] = measured.run.mpi_standard
        late = Causes.of(measured)
        self.provenance["late"] = late.text()
        try:
            kernel = osnoise.seen(self.read_file(KERNEL), late.spans)
        except (OSError, ValueError) as err:  # what was measured is known without it
            kernel, self.provenance["kernel"] = {}, f"not read: {err}"
        else:
            self.provenance["kernel"] = osnoise.text(kernel, late.spans)
        self.record(late.findings(kernel))
        return late.metrics()

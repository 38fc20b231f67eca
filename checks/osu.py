"""OSU Micro-Benchmarks: every message size of every program is a metric."""

import reframe as rfm
import reframe.utility.typecheck as typ

from acceptance.machine import process_counts
from acceptance.suites import osu

from .build import SuiteBuild
from .extras import extras_of
from .no_case import needs_build
from .partitions import largest_job, mode_of, nodes_of, placements
from .placed import PlacedCheck

#: Environments whose MPI can take the network between processes of one node.
LOOPBACK = ["+osu -no-loopback"]
#: The sweep of every run that nobody asked for another one.
SWEEP = "1:4194304"
#: Repetitions of each message in the mode smoke.
FEW_REPETITIONS = 100
#: What the run that verifies the data prints; it stays beside the output.
VALIDATION = "validation.out"


class OsuBuild(SuiteBuild):
    """OSU for an environment."""

    suite = "osu"


@rfm.simple_test
class OsuBenchmark(PlacedCheck):
    """One program of the OSU Micro-Benchmarks at one number of processes."""

    #: Smallest and largest message in bytes, `low:high`, powers of two.
    sizes = variable(str, value=SWEEP, loggable=True)
    #: Repetitions of each message. 0: the program's own number, fewer of large messages; in the
    #: mode smoke few.
    iterations = variable(int, value=0, loggable=True)
    #: Verify the data that arrive, in a short run before the measured one: with `-c` a program
    #: writes its buffers anew for each message, which slows down what it measures. For OMB 7.1 and
    #: newer; older ones know neither `-c` (5.9) nor `-T` (7.1).
    validate = variable(typ.Bool, value=True, loggable=True)

    if needs_build("osu"):
        build = fixture(OsuBuild, scope="environment")

    benchmark = parameter(osu.BENCHMARKS, loggable=True)
    np = parameter(process_counts(largest_job()), loggable=True)
    placement = parameter(placements(), loggable=True)
    #: Whether all messages share their buffers.
    buffers = parameter(["same", "different"], loggable=True)

    descr = "OSU Micro-Benchmarks"
    suite = "osu"
    valid_prog_environs = ["+osu"]
    # mbw_mr has been seen to wait for ever.
    time_limit = "5m"
    tags = {"osu", "mpi"}
    differs_by_mode = True

    def choose(self):
        """Take what the suite's table says of this program."""
        self.benchmark_name = f"osu.{self.benchmark}"
        self.row = osu.BENCHMARKS[self.benchmark]
        self.columns = self.row.columns
        self.executable = f"osu_{self.benchmark}"

    def most_nodes(self):
        """Put pairs on two nodes."""
        return 2 if self.row.point_to_point else self.np

    def takes(self, part):
        """Leave out what the program refuses, and what a choice makes no difference to."""
        if self.buffers == "different" and not self.row.buffers:
            return False
        if self.placement not in ("intra-node", "inter-node") and not self.row.point_to_point:
            return False
        if extras_of(part).simulated and (self.buffers == "different" or not self.row.options):
            # The model knows no buffers, and the time that a launch takes is that of this machine.
            return False
        return self.row.runs_with(self.np)

    @run_before("run")
    def set_options(self):
        """Ask for these message sizes and repetitions."""
        self.executable_opts = []
        if self.row.sized:
            sizes = self.message_sizes()
            self.executable_opts.append(f"-m {sizes[0]}:{sizes[-1]}")
        if self.buffers == "different":
            self.executable_opts.append("-b multiple")
        if self.validates():
            self.verify_first()
        elif self.benchmark == "hello":
            self.time_launch()
        if self.simulated and self.row.options and not self.iterations:
            self.executable_opts.append("-i 5 -x 1")  # each one takes the same time
        elif count := self.repetitions():
            self.executable_opts.append(f"-i {count} -x {count // 10 or 1}")

    def repetitions(self):
        """Return how often each message is sent; 0: as often as the program sends it by itself."""
        if not self.row.options:
            return 0
        few = not self.simulated and mode_of(self.current_partition, self.mode) == "smoke"
        return self.iterations or (FEW_REPETITIONS if few else 0)

    def validates(self):
        """Tell whether the data of this case are verified; many buffers take minutes.

        Those of a simulation say nothing of any MPI of a site.
        """
        return self.validate and not self.simulated and self.row.verifies and self.buffers == "same"

    def verify_first(self):
        """Let the job run the program twice, first with few repetitions to verify the data."""
        options = [*self.executable_opts, "-c -i 10 -x 1 -u 0"]
        if self.row.reduction:
            # OMB's sums of bytes overflow; Open MPI saturates them then (its issue 8045).
            options.append("-T mpi_float")
        self.prerun_cmds = [
            f"{self.launch_command()} {self.executable} {' '.join(options)} > {VALIDATION}"
        ]
        self.keep_files = [VALIDATION]

    def time_launch(self):
        """Let the job time the launch of a program that measures nothing itself."""
        self.prerun_cmds = ["begin=$(date +%s%N)"]
        self.postrun_cmds = [
            "status=$? end=$(date +%s%N)",
            'echo "launched in $(((end - begin) / 1000)) us"',
            "(exit $status)",
        ]

    def message_sizes(self):
        """Return the message sizes (bytes) of this case's table; some programs have none."""
        if not self.row.sized:
            return [None]
        return osu.message_sizes(self.benchmark, self.np, *osu.size_range(self.sizes))

    def expected(self):
        """Return metric -> unit, from what the program was asked for."""
        rows = dict.fromkeys(self.message_sizes())
        return {name: unit for name, (_, unit) in self.named(rows).items()}

    def measure(self):
        """Return metric -> (value, unit) from the table of the output."""
        if self.validates():
            self.verify()
        source = self.stdout.evaluate()
        output = osu.parse(self.output(), source, self.np)
        table = output.only_table(self.benchmark, self.np)
        self.provenance["suite"] = f"OSU {output.version}"
        return self.named({row.size: row.values for row in table.rows})

    def is_full_sweep(self):
        """Tell whether the sweep is the one that has a peak to be compared with others."""
        return osu.size_range(self.sizes) == osu.size_range(SWEEP)

    def verify(self):
        """Fail the case unless the data of every message size were verified."""
        text = self.read_file(VALIDATION)
        output = osu.parse(text, VALIDATION, self.np)
        table = output.only_table(self.benchmark, self.np)
        verified = [row.size for row in table.rows if "validation" in table.columns]
        if verified != self.message_sizes():
            raise ValueError(
                f"{VALIDATION}:{table.number}: {self.benchmark}: verified the message sizes "
                f"{verified} instead of {self.message_sizes()}"
            )

    def parameters(self):
        """Return what a reference of this case must agree with."""
        found = super().parameters()
        if count := self.repetitions():
            found["repetitions"] = str(count)
        if self.row.processes == "even":
            found["pairs"] = str(self.np // 2)
        if self.row.buffers:
            found["buffers"] = self.buffers
        return found


@rfm.simple_test
class OsuLoopback(OsuBenchmark):
    """A program between processes of one node whose messages go through the network all the same.

    The other side of the communication balance, where a partition has a single node.
    """

    benchmark = parameter(
        inherit_params=True,
        filter_params=lambda names: tuple(n for n in names if osu.BENCHMARKS[n].balance),
    )
    placement = parameter(["intra-node"], loggable=True)
    buffers = parameter(["same"], loggable=True)

    descr = "OSU Micro-Benchmarks through the loopback of the network"
    valid_prog_environs = LOOPBACK
    #: The way of the messages inside a node, as `acceptance.machine.placement` calls it.
    path = "loopback"

    def takes(self, part):
        """Leave it out where there are two nodes to measure between."""
        return nodes_of(part) == 1 and super().takes(part)

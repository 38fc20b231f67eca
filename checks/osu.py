"""OSU Micro-Benchmarks: every message size of every program is a metric."""

from collections.abc import Iterator
from typing import NamedTuple

import reframe as rfm
import reframe.utility.typecheck as typ

from acceptance.fabric import takes_gpus
from acceptance.machine import process_counts
from acceptance.suites import duration, osu

from .build import SuiteBuild
from .extras import extras_of
from .no_case import needs_build
from .partitions import (
    largest_job,
    mode_of,
    nodes_of,
    partitions,
    placements,
    standing,
)
from .placed import PlacedCheck, shown

#: Environments whose MPI can take the network between processes of one node.
LOOPBACK = ["+osu -no-loopback"]
#: The sweep of every run that nobody asked for another one.
SWEEP = "1:4194304"
#: Repetitions of each message in the mode smoke.
FEW_REPETITIONS = 100
#: What the run that verifies the data prints; it stays beside the output.
VALIDATION = "validation.out"


#: Nodes that take part in bw_fan_in and bw_fan_out at most: OMB has room for 1,000 requests, and
#: takes 64 a partner (7.4).
MOST_OF_FAN = 16


class Variant(NamedTuple):
    """What one case runs: a parameter of all at once, since most of their product is no case.

    Names of cases read as with a parameter of each.
    """

    benchmark: str
    np: int
    placement: str
    #: Whether all messages share their buffers.
    buffers: str = "same"
    #: What `-s` lets a one-sided program synchronize by; empty: what it takes by itself.
    synchronization: str = ""
    #: Where the buffers of sender and receiver are, on a GPU (D) or the host (H); empty: no GPU is
    #: asked for.
    gpu: str = ""


#: How often the programs send a small message, unless they are told how often, at least.
LEAST_REPEATED = 1000


def variants() -> Iterator[Variant]:
    """Return what any partition of this system has the cores, sockets, nodes and GPUs for."""
    has_gpus = any(takes_gpus(part.extras) for part in partitions())
    for name, row in osu.BENCHMARKS.items():
        ways: list[tuple[str, ...]] = [("same",), *([("different",)] if row.buffers else [])]
        ways += [("same", each) for each in row.synchronizations[1:]]
        ways += [("same", "", each) for each in (row.gpu_buffers if has_gpus else ())]
        for np in filter(row.runs_with, process_counts(largest_job())):
            for placement in placements():
                if row.point_to_point or placement in ("intra-node", "inter-node"):
                    most = 2 if row.point_to_point else np
                    if any(standing(part, np, placement, most) for part in partitions()):
                        yield from (Variant(name, np, placement, *way) for way in ways)


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

    #: How a one-sided program makes the memory known that others reach into (`-w`): create,
    #: allocate or dynamic; empty: as it does by itself.
    window = variable(str, value="", loggable=True)

    #: All of `Variant`; from `choose` on its first alone.
    #: ReFrame drops a check whose parameter has no value; no partition fits this one then.
    benchmark = parameter(
        [*variants()] or [Variant("latency", 2, "intra-node")], fmt=shown, loggable=True
    )
    np = variable(int, loggable=True)
    placement = variable(str, loggable=True)
    buffers = variable(str, loggable=True)
    synchronization = variable(str, loggable=True)
    gpu = variable(str, loggable=True)

    descr = "OSU Micro-Benchmarks"
    suite = "osu"
    valid_prog_environs = ["+osu"]
    # mbw_mr has been seen to wait for ever.
    time_limit = "5m"
    tags = {"osu", "mpi"}
    differs_by_mode = True

    def choose(self):
        """Take the variant apart, and what the suite's table says of its program."""
        for name, value in self.benchmark._asdict().items():
            setattr(self, name, value)
        self.gpu_buffers = self.gpu
        self.benchmark_name = f"osu.{self.benchmark}"
        self.row = osu.BENCHMARKS[self.benchmark]
        self.columns = self.row.columns
        # Since 7.2 latency_mt ends without MPI_Finalize, which a launcher may call a failure.
        self.says_all = self.benchmark == "latency_mt"
        self.executable = f"osu_{self.benchmark}"
        self.may_lack = bool(self.row.since)

    def most_nodes(self):
        """Put pairs on two nodes."""
        return 2 if self.row.point_to_point else self.np

    def takes(self, part):
        """Leave out what the program refuses, what no model knows, and what a mode leaves out."""
        usual = (self.buffers, self.synchronization, self.gpu) == ("same", "", "")
        if extras_of(part).simulated and not (self.row.simulated and usual):
            # The model knows no buffers, no GPUs, and a launch takes the time of this machine.
            return False
        if self.row.family == "congestion":
            # One process a node, so that each pair shares nothing but the link to the first node.
            return self.nodes(part) == self.np <= MOST_OF_FAN
        nightly = not self.synchronization and self.gpu in ("", "DD")
        return nightly or mode_of(part, self.mode) == "acceptance"

    @run_before("run")
    def set_options(self):
        """Ask for these message sizes and repetitions."""
        self.version = osu.version_in(self.program_file())
        self.executable_opts = []
        if self.row.sized:
            sizes = self.message_sizes()
            self.executable_opts.append(f"-m {sizes[0]}:{sizes[-1]}")
        if self.buffers == "different":
            self.executable_opts.append("-b multiple")
        words = self.synchronization, self.asked_window(), self.gpu and self.fabric.gpu_kind
        for option, word in zip(("-s", "-w", "-d"), words, strict=True):
            if word:
                self.executable_opts.append(f"{option} {word}")
        if self.validates():
            self.verify_first()
        elif self.benchmark == "hello":
            self.time_launch()
        if self.simulated and self.row.options and not self.iterations:
            self.executable_opts.append("-i 5 -x 1")  # each one takes the same time
        elif count := self.repetitions():
            self.executable_opts.append(f"-i {count} -x {count // 10 or 1}")
        if percentiles := self.percentiles():
            self.columns = (*self.row.columns, *percentiles)
            wanted = ",".join(column.name[1:] for column in percentiles)
            self.executable_opts.append(f"-z{wanted}")
        self.executable_opts += self.places()

    def places(self):
        """Return what says, last of all, where the buffers of a pair are."""
        return [*self.gpu] if self.row.point_to_point else []

    def percentiles(self):
        """Return the percentiles that the program prints as well (7.4), of its own repetitions."""
        if self.simulated or self.repetitions() or self.version < (7, 4):
            return ()
        return self.row.percentiles

    def asked_window(self):
        """Return how a one-sided program is told to make its memory known, empty: it is not."""
        return self.window if self.row.synchronizations and not self.simulated else ""

    def repetitions(self):
        """Return how often each message is sent; 0: as often as the program sends it by itself."""
        return self.repetitions_on(self.current_partition)

    def repetitions_on(self, part):
        """Return the same of a partition."""
        if not self.row.options:
            return 0
        few = not extras_of(part).simulated and mode_of(part, self.mode) == "smoke"
        return self.iterations or (FEW_REPETITIONS if few else 0)

    def seconds(self, part):
        """Return how long a case on a partition takes, with the run that verifies its data."""
        is_simulated = extras_of(part).simulated
        count = self.repetitions_on(part) or (5 if is_simulated else 0)
        sizes, way = self.sizes_on(part), self.way_on(part)
        starts = 1 + (self.validate and self.row.verifies and not is_simulated)
        repeats = duration.of_osu(self.row, self.np, count, sizes, way)
        return starts * super().seconds(part) + repeats

    def validates(self):
        """Tell whether the data of this case are verified; many buffers take minutes.

        Those of a simulation say nothing of any MPI of a site.
        """
        if self.version and self.version < (7, 1):
            return False
        return self.validate and not self.simulated and self.row.verifies and self.buffers == "same"

    def verify_first(self):
        """Let the job run the program twice, first with few repetitions to verify the data."""
        options = [*self.executable_opts, "-c -i 10 -x 1 -u 0"]
        if self.row.reduction:
            # OMB's sums of bytes overflow; Open MPI saturates them then (its issue 8045).
            options.append("-T mpi_float")
        program = " ".join([self.executable, *options, *self.places()])
        self.prerun_cmds += [f"{self.launch_command()} {self.contained(program)} > {VALIDATION}"]
        self.keep_files = [*self.keep_files, VALIDATION]

    def time_launch(self):
        """Let the job time the launch of a program that measures nothing itself."""
        self.prerun_cmds += ["begin=$(date +%s%N)"]
        self.postrun_cmds = [
            "status=$? end=$(date +%s%N)",
            'echo "launched in $(((end - begin) / 1000)) us"',
            "(exit $status)",
        ]

    def message_sizes(self):
        """Return the message sizes (bytes) of this case's table; some programs have none."""
        return self.sizes_on(self.current_partition)

    def sizes_on(self, part):
        """Return the message sizes (bytes) on a partition."""
        if not self.row.sized:
            return [None]
        room = self.room_on(part)
        return osu.message_sizes(
            self.benchmark, self.np, *osu.size_range(self.sizes), room, self.copies
        )

    def asked_sizes(self):
        """Return the message sizes (bytes) that the sweep has where all fit."""
        low, high = osu.size_range(self.sizes)
        return [2**n for n in range(low.bit_length() - 1, high.bit_length())]

    @property
    def copies(self):
        """Return how many messages at once have buffers of their own (osu_bw.c, osu_put_bw.c)."""
        reached = self.row.family == "one-sided" and osu.BANDWIDTH in self.row.columns
        return osu.WINDOW if reached or self.buffers == "different" else 1

    def expected(self):
        """Return metric -> unit, from what the program was asked for."""
        rows = dict.fromkeys(self.message_sizes())
        return {name: unit for name, (_, unit) in self.named(rows).items()}

    def measure(self):
        """Return metric -> (value, unit) from the table of the output."""
        if self.validates():
            self.verify()
        source = self.stdout.evaluate()
        output = osu.parse(self.output(), source, self.np, self.benchmark, self.asked_gpu)
        table = output.only_table(self.benchmark, self.np)
        output.require_columns(table, [column.name for column in self.columns])
        if self.synchronization:
            output.require_comment("Synchronization", osu.SYNCHRONIZATIONS[self.synchronization])
        if window := self.asked_window():
            output.require_comment("Window creation", osu.WINDOWS.get(window, window))
        self.provenance["suite"] = f"OSU {output.version}"
        self.repeated = {row.size: self.repetitions() or LEAST_REPEATED for row in table.rows}
        return self.named({row.size: row.values for row in table.rows})

    def is_full_sweep(self):
        """Tell whether the sweep is the one that has a peak to be compared with others."""
        usual = osu.size_range(self.sizes) == osu.size_range(SWEEP)
        return usual and not self.cut_on(self.current_partition)

    def verify(self):
        """Fail the case unless the data of every message size were verified."""
        text = self.read_file(VALIDATION)
        output = osu.parse(text, VALIDATION, self.np, self.benchmark, self.asked_gpu)
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
        told = {"synchronization": self.synchronization, "window": self.asked_window()}
        return found | {key: word for key, word in told.items() if word}


class OsuLoopback(OsuBenchmark):
    """A program between processes of one node whose messages go through the network all the same.

    The other side of the communication balance, where a partition has a single node.
    """

    benchmark = parameter(
        inherit_params=True,
        filter_params=lambda variants: tuple(
            each
            for each in variants
            if osu.BENCHMARKS[each.benchmark].balance
            and (each.placement, each.buffers, each.gpu) == ("intra-node", "same", "")
        ),
        fmt=shown,
        loggable=True,
    )

    descr = "OSU Micro-Benchmarks through the loopback of the network"
    valid_prog_environs = LOOPBACK
    #: The way of the messages inside a node, as `acceptance.machine.placement` calls it.
    path = "loopback"

    def takes(self, part):
        """Leave it out where there are two nodes to measure between."""
        return nodes_of(part) == 1 and super().takes(part)


# ReFrame warns of a test that has nothing to choose from: nodes of one core have no pair inside.
if not OsuLoopback.is_abstract():
    rfm.simple_test(OsuLoopback)

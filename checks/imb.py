"""Intel MPI Benchmarks: every message size of every benchmark is a metric."""

import reframe as rfm

from acceptance.machine import process_counts
from acceptance.suites import imb
from acceptance.suites.records import BUFFERS

from .build import ImbBuild
from .no_case import needs_build
from .partitions import PACKED, largest_job, memory_of, packings, placements
from .placed import PlacedCheck

#: The sweep of every run that nobody asked for another one.
SWEEP = "0:22"
#: Bytes of the largest message of a collective whose buffers grow with the number of processes.
LARGEST = 2**20


@rfm.simple_test
class ImbMpi1(PlacedCheck):
    """One benchmark of IMB-MPI1 at one number of processes."""

    #: Exponents of two of the smallest and the largest message in bytes, `low:high`.
    msglog = variable(str, value=SWEEP, loggable=True)
    #: Repetitions of small messages; IMB itself takes fewer of large ones. 0: 1000, and 100 where
    #: each repetition is a window of messages (Uniband, Biband).
    repetitions = variable(int, value=0, loggable=True)

    if needs_build("imb"):
        build = fixture(ImbBuild, scope="environment")

    benchmark = parameter(imb.BENCHMARKS, loggable=True)
    np = parameter(process_counts(largest_job()), loggable=True)
    placement = parameter([*placements(), *packings()], loggable=True)

    descr = "Intel MPI Benchmarks"
    suite = "imb"
    executable = "IMB-MPI1"
    valid_prog_environs = ["+imb"]
    tags = {"imb", "mpi"}

    def choose(self):
        """Take what the suite's table says of this benchmark."""
        self.benchmark_name = f"imb.{self.benchmark}"
        self.row = imb.BENCHMARKS[self.benchmark]
        self.columns = self.row.columns

    def takes(self, part):
        """Leave out what IMB would run with two processes only, and sockets for collectives."""
        if not self.row.runs_with(self.np):
            return False
        if self.row.point_to_point:
            return True
        return self.placement in ("intra-node", "inter-node", PACKED)

    @run_before("run")
    def set_options(self):
        """Ask for this one benchmark, at this one number of processes."""
        # Each one takes the same time where it is simulated.
        repetitions = self.repetitions or (5 if self.simulated else imb.repetitions(self.benchmark))
        self.executable_opts = [self.benchmark, f"-npmin {self.np}", f"-iter {repetitions}"]
        if self.row.sized:
            low, _ = self.log2_sizes()
            self.executable_opts.append(f"-msglog {low}:{self.sizes()[-1].bit_length() - 1}")
            buffers = self.row.buffers_of(self.sizes()[-1], self.np)
            if buffers > BUFFERS:
                self.executable_opts.append(f"-mem {buffers / 2**30 + 0.5:g}")

    def log2_sizes(self):
        """Return `msglog` as two integers; the smallest message that IMB takes is one byte."""
        low, colon, high = self.msglog.partition(":")
        if not (colon and low.isdecimal() and high.isdecimal() and int(low) < int(high)):
            raise ValueError(f"msglog is {self.msglog!r}; it must be low:high, for example {SWEEP}")
        return int(low), int(high)

    def sizes(self):
        """Return the message sizes (bytes) of this case's table; some benchmarks have none."""
        if not self.row.sized:
            return [None]
        room = self.room_on(self.current_partition)
        return imb.message_sizes(self.benchmark, self.np, *self.log2_sizes(), room)

    def asked_sizes(self):
        """Return the message sizes (bytes above zero) that the sweep has where all fit."""
        low, high = self.log2_sizes()
        return [2**n for n in range(low, high + 1)]

    def most_buffers(self, part):
        """Take messages up to `LARGEST` where the memory is known, and has room for them."""
        known = memory_of(part) > 0
        return max(BUFFERS, 2 * LARGEST * self.np if known else 0)

    def expected(self):
        """Return metric -> unit, from what the program was asked for."""
        return {name: unit for name, (_, unit) in self.named(dict.fromkeys(self.sizes())).items()}

    def measure(self):
        """Return metric -> (value, unit) from the table of the output."""
        source = self.stdout.evaluate()
        output = imb.parse(self.output(), source)
        table = output.only_table(self.benchmark, self.np)
        self.provenance["suite"] = f"IMB {output.version}"
        self.provenance["mpi_standard"] = output.mpi_standard
        for column in self.columns:
            if column.name not in table.columns:
                raise ValueError(
                    f"{source}:{table.number}: {self.benchmark}: no column for {column.stem}, "
                    f"only {', '.join(table.columns)}"
                )
        return self.named({row.size: row.values for row in table.rows})

    def is_full_sweep(self):
        """Tell whether the sweep is the one that has a peak to be compared with others."""
        return ":".join(map(str, self.log2_sizes())) == SWEEP

    def parameters(self):
        """Return what a reference of this case must agree with."""
        found = super().parameters()
        if self.repetitions not in (0, imb.repetitions(self.benchmark)):
            found["repetitions"] = str(self.repetitions)
        return found

    def is_metric(self, column, size):
        """Tell whether a row of this size counts: an empty message often does not."""
        return imb.counts_size(self.benchmark, column, size)

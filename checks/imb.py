"""Intel MPI Benchmarks: every message size of every benchmark is a metric."""

import functools
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import reframe as rfm

from acceptance.core.machine import run
from acceptance.fabric import facts_or_none, takes_gpus
from acceptance.machine import image_of, prepared, process_counts, read_program
from acceptance.suites import duration, imb, imb_output
from acceptance.suites.records import BUFFERS

from .build import ImbBuild
from .extras import environment_of, extras_of
from .no_case import leave_out, needs_build
from .outputs import TELL_CLOCK
from .partitions import (
    PACKED,
    largest_job,
    memory_of,
    modes_of_run,
    packings,
    partitions,
    placements,
    standing,
)
from .placed import PlacedCheck, shown

#: The sweep of every run that nobody asked for another one.
SWEEP = "0:22"
#: Where ranks of a collective stand: sockets are for pairs.
WHOLE = ("intra-node", "inter-node", PACKED)
#: Bytes of the largest message of a collective whose buffers grow with the number of processes.
LARGEST = 2**20
#: Bytes that a process of IMB-IO writes at most with the usual sizes: 40 MiB were seen of two.
WRITTEN = 48 * 2**20


def benchmarks() -> list[str]:
    """Return the benchmarks of the modes that a run may have.

    Those of GPUs are for partitions that state some.
    """
    has_gpus, asked = any(takes_gpus(part.extras) for part in partitions()), modes_of_run()
    return [
        key
        for key, row in imb.BENCHMARKS.items()
        if any(map(row.is_in, asked)) and (row.family != "gpu" or has_gpus)
    ]


class Variant(NamedTuple):
    """What one case runs: a parameter of all at once, since most of their product is no case.

    Names of cases read as with a parameter of each.
    """

    benchmark: str
    np: int
    placement: str


def variants() -> list[Variant]:
    """Return what any partition of this system has the cores and sockets for.

    Where there is none the smallest one, which fits no partition: see `largest_job`.
    """
    ways = [
        (np, where)
        for np in process_counts(largest_job())
        for where in (*placements(), *packings())
        if any(standing(part, np, where, np) for part in partitions())
    ]
    found = [
        Variant(name, np, where)
        for name in benchmarks()
        for np, where in ways
        if imb.BENCHMARKS[name].runs_with(np)
        and (where in WHOLE or imb.BENCHMARKS[name].point_to_point)
    ]
    return found or [Variant("PingPong", 2, "intra-node")]


@functools.cache
def fault_of(benchmark: str):
    """Return what says why a program cannot run a benchmark, that came later than it; empty: any.

    A name is in a program that has it, at least as that of the MPI function it is linked to.
    """

    def look(program: Path, environment: dict, is_installed: bool = True) -> str:
        if benchmark:
            row = imb.BENCHMARKS[benchmark]
            words = read_program(environment, "imb", program).lower()
            if b"mpi_init" in words and row.name.lower().encode() not in words:
                return f"{program} is older than {row.since}"
        if program.name != "IMB-MT" or not is_installed or image_of(environment, "imb"):
            return ""
        loaded = run(["ldd", str(program)], timeout=60, env=prepared(environment).variables)
        return ", ".join(re.findall(r"\S*omp\d*\.so\S* => not found", loaded.out))

    return look


@rfm.simple_test
class ImbMpi1(PlacedCheck):
    """One benchmark of a component of IMB, at one number of processes.

    The class is named after one component: a case's history hangs on that name.
    """

    #: Exponents of two of the smallest and the largest message in bytes, `low:high`.
    msglog = variable(str, value=SWEEP, loggable=True)
    #: Repetitions of small messages; IMB itself takes fewer of large ones. 0: 1000, and 100 where
    #: each repetition is a window of messages (Uniband, Biband), and of MT, IO and HALO.
    repetitions = variable(int, value=0, loggable=True)
    #: Where IMB-IO writes and reads, a folder that all nodes see. Empty: there is no case of it.
    folder = variable(str, value="", loggable=True)
    #: The grid of IMB-HALO, for example 2.2.1: there is a case of it where it takes all processes,
    #: with each side as often as they have room for. Empty: there is none.
    grid = variable(str, value="", loggable=True)

    if needs_build("imb"):
        build = fixture(ImbBuild, scope="environment")

    #: All of `Variant`; from `choose` on its first alone.
    benchmark = parameter(variants(), fmt=shown, loggable=True)
    np = variable(int, loggable=True)
    placement = variable(str, loggable=True)

    descr = "Intel MPI Benchmarks"
    suite = "imb"
    valid_prog_environs = ["+imb"]
    tags = {"imb", "mpi"}

    def choose(self):
        """Take the variant apart, and what the suite's table says of its benchmark."""
        for name, value in self.benchmark._asdict().items():
            setattr(self, name, value)
        self.benchmark_name = f"imb.{self.benchmark}"
        self.row = imb.BENCHMARKS[self.benchmark]
        self.columns = self.row.columns
        self.executable = self.row.program
        self.may_lack = self.row.family != "mpi1" or bool(self.row.since)
        self.fault_of = fault_of(self.benchmark if self.row.since else "")
        if self.row.family == "gpu":
            self.gpu_buffers = "DD"

    def takes(self, part):
        """Leave out what lacks a GPU, a folder or a grid, and simulate nothing but IMB-MPI1."""
        family = self.row.family
        if family != "mpi1" and extras_of(part).simulated:
            return False
        if family == "gpu" and not self.finds_gpus(part):
            return False
        if family == "io" and not self.folder:
            return self.wants("folder=/scratch")
        if family == "halo" and not self.grid:
            return self.wants("grid=2.2.1")
        if family == "halo" and imb.in_grid(self.grid, self.np) != self.np:
            if all(imb.in_grid(self.grid, np) != np for np in process_counts(largest_job())):
                leave_out(f"imb.py: no case of IMB-HALO: no job here fills the grid {self.grid}")
            return False
        return True

    def wants(self, option):
        """Say once that there is no case of the program without an option; return False."""
        leave_out(
            f"imb.py: no case of {self.row.program} without, for example, -S ImbMpi1.{option}"
        )
        return False

    def finds_gpus(self, part):
        """Tell whether each rank finds a GPU of its own; IMB knows CUDA, and takes the first."""
        facts = facts_or_none(part.extras)
        # What runs around the program tells it which one that is.
        told = extras_of(part).verify_placement or self.layout_on(part).per_node == 1
        return facts is not None and facts.gpu_kind == "cuda" and told

    @run_before("run")
    def set_options(self):
        """Ask for this one benchmark, at this one number of processes."""
        low, _ = self.log2_sizes()
        sizes = self.sizes() if self.row.sized else []
        count = self.asked(self.current_partition)
        self.executable_opts = imb.options(self.benchmark, self.np, count, low, sizes)
        self.prerun_cmds += [TELL_CLOCK]
        if self.row.family == "gpu":
            self.executable_opts.append("-mem_alloc_type device")
        elif self.row.family == "halo":
            self.executable_opts.append(f"-topo {self.grid}")
        elif self.row.family == "io":
            image = self.container_platform.image
            self.skip_if(bool(image), f"the image {image} does not have the folder {self.folder}")
            # It writes where it runs; each job has a folder of its own.
            self.job.launcher.options += ["env", "-C", '"$files"']
            self.prerun_cmds += [
                f"files=$(mktemp -d -p {shlex.quote(self.folder)}) || exit",
                """trap 'rm -rf "$files"' EXIT""",
                # IMB does not look at what a write returns.
                f'head -c {self.np * max(WRITTEN, *sizes)} /dev/zero > "$files/room" || exit',
                'rm "$files/room"',
            ]
        buffers = self.row.buffers_of(sizes[-1], self.np) if sizes else 0
        if buffers > BUFFERS and self.row.family not in ("p2p", "mt", "halo"):
            self.executable_opts.append(f"-mem {buffers / 2**30 + 0.5:g}")

    def asked(self, part):
        """Return for how many repetitions it is asked; simulated, each one takes the same time."""
        usual = 5 if extras_of(part).simulated else imb.repetitions(self.benchmark)
        return self.repetitions or usual

    def seconds(self, part):
        """Return how long a case on a partition takes."""
        sizes, way = self.sizes_on(part), self.way_on(part)
        repeats = duration.of_imb(self.benchmark, self.np, self.asked(part), sizes, way)
        return super().seconds(part) + repeats

    def needed_variables(self):
        """Give a rank of IMB-MT, on its core, one thread; tell that IMB takes the first GPU."""
        found = super().needed_variables()
        if self.row.family == "mt":
            found["OMP_NUM_THREADS"] = "1"
        if self.row.family == "gpu":
            found["ACCEPTANCE_GPUS"] = str(self.fabric.gpus)
        return found

    def locate(self):
        """Find the program; a build may be of a version without this benchmark."""
        super().locate()
        environment = environment_of(self.current_environ, self.current_partition)
        why = self.fault_of(Path(self.executable), environment, is_installed=False)
        self.skip_if(bool(why), f"no {self.row.name}: {why}")

    def log2_sizes(self):
        """Return `msglog` as two integers; the smallest message that IMB takes is one byte."""
        low, colon, high = self.msglog.partition(":")
        if not (colon and low.isdecimal() and high.isdecimal() and int(low) < int(high)):
            raise ValueError(f"msglog is {self.msglog!r}; it must be low:high, for example {SWEEP}")
        return int(low), int(high)

    def sizes(self):
        """Return the message sizes (bytes) of this case's table; some benchmarks have none."""
        return self.sizes_on(self.current_partition)

    def sizes_on(self, part):
        """Return the message sizes (bytes) on a partition."""
        if not self.row.sized:
            return [None]
        room = self.room_on(part)
        return imb.message_sizes(self.benchmark, self.np, *self.log2_sizes(), room)

    def asked_sizes(self):
        """Return the message sizes (bytes above zero) that the sweep has where all fit."""
        return imb.asked_sizes(self.benchmark, *self.log2_sizes())

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
        output = imb_output.parse(self.output(), source)
        table = output.only_table(self.benchmark, self.np)
        output.require_columns(table, [column.name for column in self.columns])
        words, count = " ".join(self.executable_opts).split(), self.asked(self.current_partition)
        self.refuse(output.of_another_job(words, count, self.job_time()))
        sides = len(self.grid.split(".")) if self.row.family == "halo" else 0
        for what, ran, asked in (
            ("threads a process", output.threads, 1),
            ("dimensions", output.dimensions, sides),
        ):
            if ran != asked:
                raise ValueError(
                    f"{source}: {self.benchmark}: ran with {ran} {what} instead of {asked}"
                )
        told = {"suite": output.version and f"IMB {output.version}"}
        told["date"] = output.date and f"{output.date:%F %T}"
        told["mpi_standard"] = output.mpi_standard
        self.provenance |= {key: text for key, text in told.items() if text}
        self.repeated = {row.size: row.values.get("repetitions", 1) for row in table.rows}
        return self.named({row.size: row.values for row in table.rows})

    def is_full_sweep(self):
        """Tell whether the sweep is the one that has a peak to be compared with others."""
        usual = ":".join(map(str, self.log2_sizes())) == SWEEP
        return usual and not self.cut_on(self.current_partition)

    def parameters(self):
        """Return what a reference of this case must agree with."""
        found = super().parameters()
        if self.repetitions not in (0, imb.repetitions(self.benchmark)):
            found["repetitions"] = str(self.repetitions)
        if self.row.family == "halo":
            found["grid"] = self.grid
        return found

    def is_metric(self, column, size):
        """Tell whether a row of this size counts: an empty message often does not."""
        return imb.counts_size(self.benchmark, column, size)

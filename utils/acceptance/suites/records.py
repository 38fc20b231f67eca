"""What is known of a suite and of each of its benchmarks: one record each."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Literal

from acceptance.core.extras import MODES
from acceptance.core.paths import CONFIGURED, GET_SPACK, INSTALLED
from acceptance.core.text import bytes_text, rounded_bytes

#: Bytes that one process sends and receives, at most, where a message goes to each other process:
#: more of it takes too long. IMB itself stops at 1 GiB of buffers, OMB at 512 MiB of each.
BUFFERS = 2**28
#: Share of its part of a node's memory that the buffers of a process may take; the rest is for the
#: system and the MPI.
SHARE = 0.75
#: The largest count and displacement that MPI 3 knows, an int: IMB refuses what is beyond it.
_INT_MAX = 2**31 - 1
SIZE_OF_FLOAT = 4
#: What brings the programs that are Python wheels.
WHEELS = "pip install impi-rt (x86_64)" if INSTALLED else "make setup (Python wheels, x86_64)"


#: What Spack builds a suite with: its name -> what it is called, and Debian's packages of it.
_NEEDS = {
    "mpi": ("an MPI", "openmpi-bin libopenmpi-dev"),
    "gfortran": ("gfortran", "gfortran"),
    "blas": ("a BLAS", "libopenblas-dev"),
}


@dataclass(frozen=True)
class Column:
    """A column of a suite's tables that is a metric: its name in the parser, stem and unit."""

    name: str
    stem: str
    unit: str


#: How long an application took.
TIME = Column("time", "time", "s")


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: its metrics, and what follows from how it works.

    Further attributes that only the checks and the parser of one suite ask for are in a subclass
    beside that suite's rows.
    """

    #: As the suite calls it.
    name: str
    columns: tuple[Column, ...]
    #: What kind of a benchmark of its suite it is, a tag of its cases; empty: there are no kinds.
    family: str = field(default="", kw_only=True)
    #: The smallest mode that takes it: a handful shows that all works, a night takes what no other
    #: one shows, an acceptance all.
    since_mode: Literal["smoke", "nightly", "acceptance"] = field(default="nightly", kw_only=True)
    #: The version that brought it, which an installation may be older than; empty: each has it.
    since: str = field(default="", kw_only=True)
    #: With how many processes it runs, and ends: any, two, from three on, or an even number.
    processes: Literal["any", "two", "three", "even"] = field(default="any", kw_only=True)
    #: Messages go between pairs of processes; an empty one is a message, too.
    point_to_point: bool = field(default=False, kw_only=True)
    #: The nodes that it requires: two where it measures between nodes alone.
    least_nodes: int = field(default=1, kw_only=True)
    #: Its table has a row for each message size.
    sized: bool = field(default=True, kw_only=True)
    #: Its message sizes (bytes), where some are no powers of two.
    sizes: tuple[int, ...] = field(default=(), kw_only=True)
    #: It adds up vectors of floats.
    reduction: bool = field(default=False, kw_only=True)
    #: The message size is the part of one process, so that a buffer holds one for each.
    part: bool = field(default=False, kw_only=True)
    #: How many messages, or parts of all processes, one process has buffers of: what it sends and
    #: what it receives. Source: IMB 2021.11, IMB_init_buffers_iter (IMB_mem_manager.c); OMB 7.4 has
    #: a third one in its collectives, for the warm-up (osu_alltoall.c).
    held: int = field(default=2, kw_only=True)
    #: The versions (regular expression) in which it is the whole vector all the same.
    whole_in: str = field(default="", kw_only=True)
    #: MPI's name of the collective operation, and whether that has a root, which the other
    #: processes need not wait for.
    operation: str = field(default="", kw_only=True)
    rooted: bool = field(default=False, kw_only=True)
    #: How many one-way bandwidths of a link its bandwidth can add up to, between two nodes. None:
    #: not comparable, as that of collectives.
    link_factor: int | None = field(default=None, kw_only=True)
    #: Its bandwidth is the sum of all pairs: their bytes over the longest time of a process, or
    #: over the average of the pairs' times. Empty: there is one pair.
    pair_sum: Literal["", "longest", "average"] = field(default="", kw_only=True)
    #: The best bandwidth is that of one pair and one way, so that a fraction of the link's limit
    #: can judge it.
    one_way: bool = field(default=False, kw_only=True)
    #: Its time is that of one message on its way.
    one_message: bool = field(default=False, kw_only=True)
    #: In a benchmark of all processes: how the names of metrics begin that are the bandwidth of one
    #: pair, and the time of a message of `pair_size` bytes between a pair. Empty: there are none.
    pair_bandwidth: str = field(default="", kw_only=True)
    pair_latency: str = field(default="", kw_only=True)
    pair_size: int = field(default=0, kw_only=True)
    #: Which plain numbers (unit 1) are the better ones; None: no direction is.
    better: Literal["higher", "nearer to 1"] | None = field(default=None, kw_only=True)

    @property
    def messages(self) -> int:
        """Return how many messages, one after another, a process sends in the time that is told."""
        return 1

    @property
    def percentiles(self) -> tuple[Column, ...]:
        """Return the columns of percentiles, which are metrics where a run has them."""
        return ()

    @property
    def stems(self) -> tuple[str, ...]:
        """Return the stems of the metrics; a sweep of a bandwidth has its peak as well."""
        stems = tuple(column.stem for column in (*self.columns, *self.percentiles))
        return (*stems, "bandwidth_peak") if "bandwidth" in stems and self.sized else stems

    def is_in(self, mode: str, processes: int = 2) -> bool:
        """Tell whether a mode takes it; `smoke` takes those of a night with two processes."""
        taken = "nightly" if mode == "smoke" and processes == 2 else mode
        return MODES.index(self.since_mode) <= MODES.index(taken)

    def runs_with(self, processes: int) -> bool:
        """Tell whether it runs, and ends, with this number of processes."""
        if self.processes == "two":
            return processes == 2
        least = 3 if self.processes == "three" else 2
        return processes >= least and (self.processes != "even" or processes % 2 == 0)

    def fits(self, size: int, processes: int, room: float | None = None, copies: int = 1) -> bool:
        """Tell whether there are messages of this size (bytes above zero).

        A reduction has none below one float. Buffers of one process may take `room`, by default
        what they may where nobody knows the memory; so no run is stopped for it. `copies` is how
        many messages at once have buffers of their own.
        """
        if self.reduction and size < SIZE_OF_FLOAT:
            return False
        room = self.room() if room is None else room
        return self.buffers_of(size, processes, copies) <= room

    def buffers_of(self, size: int, processes: int, copies: int = 1) -> int:
        """Return the bytes of the buffers of one process.

        Counts and displacements, 16 bytes for each process, are not among them.
        """
        return self.held * size * copies * (processes if self.part else 1)

    def room(self, memory: int = 0, most: int = BUFFERS) -> float:
        """Return how many bytes the buffers of one process may take.

        `memory` are those of the process's part of its node, 0 if unknown. `most` bounds what is
        sent and received where that grows with the number of processes.
        """
        bounds = [SHARE * memory] if memory else []
        if self.part:
            bounds.append(self.held * min(most / 2, _INT_MAX))
        return min(bounds, default=inf)

    def cut(
        self, sizes: Sequence[int], processes: int, room: float, memory: int = 0, copies: int = 1
    ) -> str:
        """Say which of the message sizes (bytes) do not fit, and why not; empty if all do.

        Without those below one float. `room` is as for `fits`, `memory` as for `room`.
        """
        fitting = [size for size in sizes if self.buffers_of(size, processes, copies) <= room]
        if len(fitting) == len(sizes):
            return ""
        beyond = max(sizes) if fitting else min(sizes)
        upto = f"up to {bytes_text(max(fitting))}" if fitting else "no message fits"
        wants = rounded_bytes(self.buffers_of(beyond, processes, copies))
        why = (
            f"{100 * SHARE:.0f} % of its part of the node"
            if memory
            else "nobody says a node's memory"
        )
        if memory and room < SHARE * memory:
            why = "more takes too long"
        return (
            f"{self.name} on {processes:,} ranks: {upto}, since {bytes_text(beyond)} wants {wants} "
            f"a process of {rounded_bytes(room)} ({why})"
        )

    def is_part(self, version: str) -> bool:
        """Tell whether the message size is the part of one process, in a version of the suite.

        `version` is as in a case's provenance: "IMB 2021.11"; it may be empty.
        """
        return self.part and not (self.whole_in and re.fullmatch(self.whole_in, version))


@dataclass(frozen=True)
class Suite:
    """A suite of benchmarks; `checks/KEY.py` runs it, the environment feature KEY says who has it.

    `programs` are those that every installation has. `further` are other checks that run them, and
    `derived` those that measure nothing themselves: stem of the check file -> the benchmarks that
    it runs, or makes of this suite's results.
    """

    key: str
    title: str
    programs: tuple[str, ...]
    #: How one gets it without Spack; empty where Spack alone brings it.
    without_spack: str
    #: Name in `reference/` -> benchmark.
    benchmarks: Mapping[str, Benchmark]
    derived: Mapping[str, Mapping[str, Benchmark]] = field(default_factory=dict)
    further: Mapping[str, Mapping[str, Benchmark]] = field(default_factory=dict)
    #: Its times are the average of the processes, not that of the slowest one.
    averages: bool = False
    #: What compiles its sources, which this project has, on the PATH of an environment. Empty:
    #: they are upstream's, so that an environment has the suite, or Spack builds it.
    compiler: str = ""
    #: Its programs are those of an MPI.
    of_mpi: bool = True
    #: The variable that names the folder of these sources, where this project does not have them.
    source: str = ""
    #: What an installation has beside its programs, below the folder that an environment names.
    inputs: tuple[str, ...] = ()
    #: What Spack builds it with, of `_NEEDS`; empty: it does not.
    built_with: tuple[str, ...] = ()
    #: What says in the file of a program which version it is; empty: nothing does.
    version: bytes = b""

    def how_to_get(self, there: Collection[str] = ()) -> str:
        """Return how an environment gets it, without what is `there`: of `built_with`, or spack."""
        ways = [self.without_spack] if self.without_spack else []
        if self.built_with:
            lacking = [_NEEDS[name] for name in self.built_with if name not in there]
            names = " and ".join(name for name, _ in lacking)
            packages = " ".join(packages for _, packages in lacking)
            steps = [f"{names} (Debian: {packages})"] if lacking else []
            steps += [] if "spack" in there else [GET_SPACK]
            start = "run them with" if INSTALLED else "make run"
            ways.append(", then ".join([*steps, f"{start} ACCEPTANCE_BUILD={self.key}"]))
        if not self.compiler:
            programs = self.programs[0] if len(self.programs) == 1 else "its programs"
            beside = f" and {', '.join(self.inputs)}" if self.inputs else ""
            ways.append(
                f"name the folder of {programs}{beside} in the `extras` of an environment in "
                f"{CONFIGURED}"
            )
        return "; or ".join(ways)

    def version_in(self, program: bytes) -> str:
        """Return the version that a program prints, as its file has it; empty: it has none."""
        found = re.search(self.version, program) if self.version else None
        return found[1].decode() if found else ""

    @property
    def checks(self) -> dict[str, Mapping[str, Benchmark]]:
        """Return all check files (their stems) with their benchmarks."""
        return {self.key: self.benchmarks, **self.further, **self.derived}

    @property
    def sweeps(self) -> bool:
        """Tell whether its tables are sweeps over message sizes."""
        return any(benchmark.sized for benchmark in self.benchmarks.values())

    def taken_in(self, mode: str, check: str, *, gpus: bool = False) -> str:
        """Say how many benchmarks of a check file (its stem) a mode takes; empty: all of them.

        Those of GPUs count where there are `gpus`.
        """
        rows = [row for row in self.checks[check].values() if gpus or row.family != "gpu"]
        taken = sum(row.is_in(mode, 4) for row in rows)
        if taken == len(rows):
            return ""
        few = sum(row.is_in(mode) and row.runs_with(2) for row in rows if not row.is_in(mode, 4))
        told = f"{taken + few} of {len(rows)} benchmarks"
        told += f", {few} with two processes only" if few else ""
        return f"{check}.py: mode {mode}: {told}; all: -S mode={MODES[-1]}"

    def performing(self, operation: str) -> str:
        """Return the name of the benchmark of a collective operation; empty if it has none."""
        names = (name for name, row in self.benchmarks.items() if row.operation == operation)
        return next(names, "")

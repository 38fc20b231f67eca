"""HPCC: all seven tests in one run, and what they are worth beside HPL."""

import copy
from pathlib import Path

import reframe as rfm
from reframe.core.exceptions import SanityError

from acceptance.core.errors import QUOTED
from acceptance.core.findings import Finding
from acceptance.core.text import clipped
from acceptance.fabric import plausibility
from acceptance.machine import CACHE_SCRIPT, last_level_cache
from acceptance.references import SOURCES
from acceptance.suites import duration, hpcc, hpcc_output

from .build import SuiteBuild
from .extras import extras_of
from .no_case import needs_build
from .outputs import TELL_CLOCK
from .partitions import (
    cores_of,
    memory_of,
    mode_of,
    nodes_of,
    packings,
    placements,
)
from .placed import PlacedCheck, counts, published_counts

#: What the script said that tells a node's caches.
CACHE_OUT = "cache.out"
INPUT, OUTPUT = "hpccinf.txt", "hpccoutf.txt"
#: Mode -> share of the memory that the matrix takes; none: the smallest that gives numbers.
SHARES = {"smoke": 0.0, "nightly": 0.05, "acceptance": 0.8}
TIME_LIMITS = {"smoke": "10m", "nightly": "1h", "acceptance": "1d"}


def standard_block(order: int) -> int:
    """Return the order of the blocks of a matrix, where nobody asks for another one."""
    return 192 if order >= 192 * 8 else 80


class HpccBuild(SuiteBuild):
    """HPCC for an environment."""

    suite = "hpcc"


@rfm.simple_test
class Hpcc(PlacedCheck):
    """A run of HPCC at one number of processes, its problem cut to the memory of the partition."""

    #: Share of the memory that HPL's matrix takes: of all nodes, and where it has fewer processes
    #: than these have cores, of their part of it. 0: by the mode.
    share = variable(float, value=0.0, loggable=True)
    #: Order of HPL's matrix. 0: from the share.
    order = variable(int, value=0, loggable=True)
    #: Order of the blocks in which HPL distributes it. 0: 192, 80 in a small matrix.
    block = variable(int, value=0, loggable=True)

    if needs_build("hpcc"):
        build = fixture(HpccBuild, scope="environment")

    np = parameter(counts("hpcc"), loggable=True)
    placement = parameter(
        [where for where in placements() if where in ("intra-node", "inter-node")] + packings(),
        loggable=True,
    )

    descr = "HPC Challenge"
    suite = "hpcc"
    benchmark_name = "hpcc"
    executable = "hpcc"
    valid_prog_environs = ["+hpcc"]
    keep_files = [INPUT, OUTPUT, CACHE_OUT]
    tags = {"hpcc", "mpi"}
    differs_by_mode = True
    #: None: by the mode.
    time_limit = None

    def takes(self, part):
        """Take all cores, the numbers that papers have, and in the acceptance mode any other."""
        everything = cores_of(part) * nodes_of(part)
        return (
            self.np == everything
            or self.np in published_counts(part, "hpcc")
            or mode_of(part, self.mode) == "acceptance"
        )

    def needed_variables(self):
        """Keep the BLAS to one thread: each core has its own process."""
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        return dict.fromkeys(names, "1")

    @run_before("run")
    def write_input(self):
        """Cut the problem, and start without the output of another run: HPCC would append."""
        mode = mode_of(self.current_partition, self.mode)
        by_hand = self.share or self.order
        try:
            self.cut_problem(self.share or SHARES[mode])
            text = hpcc.input_file(self.order, self.block, *hpcc.grid(self.np))
        except ValueError as err:
            raise SanityError(f"hpcc: {err}") from None
        if self.time_limit is None:
            if by_hand:
                # The time of the mode is for its own problem.
                small = 0 < self.filled <= SHARES["nightly"]
                mode = "nightly" if small else "acceptance"
            self.time_limit = TIME_LIMITS[mode]
        Path(self.stagedir, INPUT).write_text(text)
        self.prerun_cmds += [TELL_CLOCK, f"rm -f {OUTPUT}", f"sh {CACHE_SCRIPT} > {CACHE_OUT}"]
        if not extras_of(self.current_partition).cache:
            # Told by the check at once, not a day later: nobody knew what STREAM has measured.
            self.prerun_cmds.append(f"grep -q '^cache ' {CACHE_OUT} || exit 0")

    def settle(self):
        """Cut the problem."""
        super().settle()
        self.cut_problem(self.share or SHARES[mode_of(self.current_partition, self.mode)])

    def seconds(self, part):
        """Return how long a case on a partition takes, by the problem that is cut for it."""
        check = copy.copy(self)
        check._current_partition = part
        check.cut_problem(self.share or SHARES[mode_of(part, self.mode)])
        return super().seconds(part) + duration.of_hpcc(check.order, self.np)

    def listed(self):
        """Return metric -> unit; where no cache is stated, as if all arrays lay in the memory."""
        if extras_of(self.current_partition).cache:
            return self.expected()
        return self.metrics_with(ep_in_cache=False, single_in_cache=False)

    def cut_problem(self, share):
        """Choose order and block of the matrix, where they are not given."""
        if self.order:
            self.filled = self.share_of(self.order)
        elif share:
            # Steps of eight blocks: a kernel that takes a little more memory changes nothing.
            steps = 8 * (self.block or 192)
            self.order = hpcc.problem_size(self.available(), share, steps)
            self.filled = share
        else:
            self.order = max(500, hpcc.smallest(self.np))
            self.filled = self.share_of(self.order)
        self.block = self.block or standard_block(self.order)

    def available(self):
        """Return the bytes of memory for these processes; ValueError where no node says its own.

        With fewer processes than cores it is their part of it: two that fill a node of hundreds of
        cores compute for days.
        """
        part = self.current_partition
        if not memory_of(part):
            raise ValueError(
                f"{part.fullname} does not say how much memory a node has: write "
                '"memory", in bytes, into its extras'
            )
        return memory_of(part) * self.np // cores_of(part)

    def share_of(self, order):
        """Return the share of the memory that a matrix of this order takes; 0 if unknown."""
        known = memory_of(self.current_partition)
        return 8 * order**2 / self.available() if known else 0.0

    def expected(self):
        """Return metric -> unit: all that HPCC measures, with or without the cache in its name."""
        return self.metrics_with(**self.in_cache())

    def metrics_with(self, **in_cache):
        """Return metric -> unit."""
        summary = {metric.name: 1.0 for metric in hpcc.METRICS.values()}
        found = hpcc.values(summary, self.np, peak=self.peak(), **in_cache)
        return {name: unit for name, (_, unit) in found.items()}

    def peak(self):
        """Return the peak (Gflop/s) of the cores used; None where the partition states none."""
        part = self.current_partition
        node = extras_of(part).peak
        return node * self.np / cores_of(part) if node else None

    def in_cache(self):
        """Tell which kinds of STREAM run in the cache, from the caches that the node has."""
        cache = extras_of(self.current_partition).cache
        if not cache:
            path = Path(self.stagedir, CACHE_OUT)
            cache = last_level_cache(self.read_file(CACHE_OUT) if path.exists() else "", CACHE_OUT)
        vector = hpcc.stream_vector(self.order, self.np)
        return {
            "ep_in_cache": not hpcc.in_memory(vector, self.layout.per_node, cache),
            "single_in_cache": not hpcc.in_memory(vector, 1, cache),
        }

    def measure(self):
        """Return metric -> (value, unit) of the run that was asked for, and of no other."""
        # Ranks other than the first tell wrong data of the rings nowhere else.
        for number, line in enumerate(self.errors().splitlines(), 1):
            if "]: ERROR" in line:
                said = clipped(line.strip(), QUOTED)
                raise ValueError(f"{self.stderr.evaluate()}:{number}: {said}")
        path = Path(self.stagedir, OUTPUT)
        if not path.is_file():
            raise ValueError(f"hpcc wrote no {OUTPUT}")
        output = hpcc_output.parse(self.read_file(OUTPUT), OUTPUT)
        job = self.job_time()
        self.refuse(output.of_another_job(job))
        output.check(order=self.order, block=self.block, grid=hpcc.grid(self.np), processes=self.np)
        self.provenance["suite"] = f"HPCC {output.version}"
        self.provenance["date"] = f"within {job[0]:%F %T} and {job[1]:%F %T}"
        self.provenance["order"] = str(self.order)
        self.provenance["filled"] = f"{self.filled:.2f}"
        return hpcc.values(output.summary, self.np, peak=self.peak(), **self.in_cache())

    def beyond_the_wire(self):
        """Return which results cannot be true, those of STREAM by the memory of a node."""
        vector, part = hpcc.stream_vector(self.order, self.np), self.current_partition
        lines, told = plausibility.implausible_stream(
            self.measurements, vector, extras_of(part), self.layout
        )
        if told:
            self.provenance["memory"] = told
        return [*super().beyond_the_wire(), *(Finding("implausible", line) for line in lines)]

    def sources(self, name):
        """Judge a small problem by no published number that depends on its size."""
        if self.filled < hpcc.COMPARABLE and hpcc.depends_on_size(name):
            return tuple(source for source in SOURCES if source != "published")
        return SOURCES

    def parameters(self):
        """Return what a reference of this case must agree with."""
        found = {**super().parameters(), "order": str(self.order)}
        if self.block != standard_block(self.order):
            found["block"] = str(self.block)
        return found

"""HPCC: all seven tests in one run, and what they are worth beside HPL."""

from pathlib import Path

import reframe as rfm
from reframe.core.exceptions import SanityError

from utils import hpl
from utils.parse import hpcc as parse
from utils.suites import hpcc
from utils.tolerances import SOURCES
from utils.topology import last_level_cache, process_counts

from .base import cores_of, largest_job, memory_of, mode_of, nodes_of, stated
from .build import SuiteBuild, uses_spack
from .placed import PlacedCheck, partitions, placements

#: The script that tells a node's caches, and what it said.
CACHE, CACHE_OUT = Path(__file__).parent / "src/cache.sh", "cache.out"
INPUT, OUTPUT = "hpccinf.txt", "hpccoutf.txt"
#: Mode -> share of the memory that the matrix takes; none: the smallest that gives numbers.
SHARES = {"smoke": 0.0, "nightly": 0.05, "acceptance": 0.8}
TIME_LIMITS = {"smoke": "10m", "nightly": "1h", "acceptance": "1d"}
#: Published results are of runs that filled the memory: a smaller one is not held against them.
COMPARABLE = 0.5


def published_counts(part) -> set[int]:
    """Return the numbers of processes for which papers have HPCC results of a partition."""
    return {int(keys["np"]) for keys in stated(part, "hpcc") if "np" in keys}


def counts() -> list[int]:
    """Return the numbers of processes that any partition of this system is measured with."""
    published = set().union(*map(published_counts, partitions()))
    return sorted({*process_counts(largest_job()), *published})


class HpccBuild(SuiteBuild):
    """HPCC for an environment."""

    suite = "hpcc"


@rfm.simple_test
class Hpcc(PlacedCheck):
    """A run of HPCC at one number of processes, its problem cut to the memory of the partition."""

    #: Share of the memory of all nodes that HPL's matrix takes. 0: by the mode.
    share = variable(float, value=0.0, loggable=True)
    #: Order of HPL's matrix. 0: from the share.
    order = variable(int, value=0, loggable=True)
    #: Order of the blocks in which HPL distributes it. 0: 192, 80 in a small matrix.
    block = variable(int, value=0, loggable=True)

    if uses_spack():
        build = fixture(HpccBuild, scope="environment")

    np = parameter(counts(), loggable=True)
    placement = parameter(
        [where for where in placements() if where in ("intra-node", "inter-node")], loggable=True
    )

    descr = "HPC Challenge"
    suite = "hpcc"
    benchmark_name = "hpcc"
    executable = "hpcc"
    valid_prog_environs = ["+hpcc"]
    keep_files = [INPUT, OUTPUT, CACHE_OUT]
    tags = {"hpcc", "mpi"}

    def takes(self, part):
        """Take all cores, the numbers that papers have, and in the acceptance mode any other."""
        everything = cores_of(part) * nodes_of(part)
        return (
            self.np == everything
            or self.np in published_counts(part)
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
        self.time_limit = TIME_LIMITS[mode]
        try:
            self.cut_problem(self.share or SHARES[mode])
            text = hpl.input_file(self.order, self.block, *hpl.grid(self.np))
        except ValueError as err:
            raise SanityError(f"hpcc: {err}") from None
        Path(self.stagedir, INPUT).write_text(text)
        self.prerun_cmds = [f"rm -f {OUTPUT}", f"sh {CACHE} > {CACHE_OUT}"]

    def cut_problem(self, share):
        """Choose order and block of the matrix, where they are not given."""
        self.filled = share
        least = hpl.smallest(self.np)
        if not self.order:
            block = self.block or 192
            memory = memory_of(self.current_partition) * self.layout.nodes if share else 0
            # Steps of eight blocks: a kernel that takes a little more memory changes nothing.
            self.order = hpl.problem_size(memory, share, 8 * block) if share else max(500, least)
        self.block = self.block or (192 if self.order >= 192 * 8 else 80)

    def expected(self):
        """Return metric -> unit: all that HPCC measures, with or without the cache in its name."""
        summary = {metric.key: 1.0 for metric in hpcc.METRICS.values()}
        found = hpcc.values(summary, self.np, peak=self.peak(), **self.in_cache())
        return {name: unit for name, (_, unit) in found.items()}

    def peak(self):
        """Return the peak (Gflop/s) of the cores used; None where the partition states none."""
        part = self.current_partition
        node = part.extras.get("peak")
        return node and node * self.np / cores_of(part)

    def in_cache(self):
        """Tell which kinds of STREAM run in the cache, from the caches that the node has."""
        cache = self.current_partition.extras.get("cache") or last_level_cache(
            Path(self.stagedir, CACHE_OUT).read_text(), CACHE_OUT
        )
        vector = hpl.stream_vector(self.order, self.np)
        return {
            "ep_in_cache": not hpcc.in_memory(vector, self.layout.per_node, cache),
            "single_in_cache": not hpcc.in_memory(vector, 1, cache),
        }

    def measure(self):
        """Return metric -> (value, unit) of the run that was asked for, and of no other."""
        # Ranks other than the first tell wrong data of the rings nowhere else.
        for number, line in enumerate(self.errors().splitlines(), 1):
            if "]: ERROR" in line:
                raise ValueError(f"{self.stderr.evaluate()}:{number}: {line.strip()}")
        path = Path(self.stagedir, OUTPUT)
        if not path.is_file():
            raise ValueError(f"hpcc wrote no {OUTPUT}")
        output = parse.parse(path.read_text(encoding="utf-8", errors="replace"), OUTPUT)
        parse.check(
            output,
            order=self.order,
            block=self.block,
            grid=hpl.grid(self.np),
            processes=self.np,
            source=OUTPUT,
        )
        self.provenance["suite"] = f"HPCC {output.version}"
        self.provenance["order"] = str(self.order)
        return hpcc.values(output.summary, self.np, peak=self.peak(), **self.in_cache())

    def sources(self, name):
        """Hold a small problem against no published number that depends on its size."""
        if self.filled < COMPARABLE and hpcc.depends_on_size(name):
            return tuple(source for source in SOURCES if source != "published")
        return SOURCES

    def parameters(self):
        """Return what a reference of this case must agree with."""
        return {**super().parameters(), "order": str(self.order)}

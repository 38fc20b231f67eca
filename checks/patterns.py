"""Communication patterns of our own program: dense ones, the effective bandwidth, distances."""

import reframe as rfm

from acceptance.suites import duration, patterns

from .build import PatternsBuild
from .extras import extras_of
from .no_case import needs_build
from .partitions import cores_of, mode_of, nodes_of, packings, placements
from .placed import PlacedCheck, counts, published_counts

#: Name in `reference/`, and how all of them begin.
NAMES = [f"patterns.{name}" for name in patterns.BENCHMARKS]
#: Ranks of a simulated pattern: the effective bandwidth of 16 takes half a minute.
SIMULATED_RANKS = 16


@rfm.simple_test
class PatternBenchmark(PlacedCheck):
    """A pattern at one number of processes; groups of its phases, or distances, are metrics."""

    if needs_build("patterns"):
        build = fixture(PatternsBuild, scope="environment")

    benchmark = parameter(patterns.BENCHMARKS, loggable=True)
    np = parameter(counts(*NAMES), loggable=True)
    placement = parameter(
        [where for where in placements() if where in ("intra-node", "inter-node")] + packings(),
        loggable=True,
    )

    descr = "Communication patterns"
    suite = "patterns"
    executable = patterns.PROGRAM
    valid_prog_environs = ["+patterns"]
    tags = {"patterns", "mpi"}
    differs_by_mode = True

    def choose(self):
        """Take what the suite's table says of this pattern."""
        self.benchmark_name = f"patterns.{self.benchmark}"
        self.row = patterns.BENCHMARKS[self.benchmark]
        self.columns = self.row.columns

    def takes(self, part):
        """Take all cores, the numbers that papers have, and in the acceptance mode any other.

        Of a simulation, whose time grows with the square of the ranks, some of its cores.
        """
        most = cores_of(part) * nodes_of(part)
        return (
            self.np == (min(most, SIMULATED_RANKS) if extras_of(part).simulated else most)
            or self.np in published_counts(part, self.benchmark_name)
            or mode_of(part, self.mode) == "acceptance"
        )

    def seconds(self, part):
        """Return how long a case on a partition takes."""
        mode, simulated = mode_of(part, self.mode), extras_of(part).simulated is not None
        loops = duration.of_pattern(self.row, self.np, mode, simulated=simulated)
        return super().seconds(part) + loops

    def asked(self):
        """Return the mode in force."""
        return mode_of(self.current_partition, self.mode)

    @run_before("run")
    def set_options(self):
        """Ask for this pattern; in a smoke test its loops are short."""
        self.executable_opts = patterns.options(
            self.row, self.np, self.asked(), self.simulated is not None
        )

    def expected(self):
        """Return metric -> unit, from what the program was asked for."""
        found = patterns.metrics(self.row, self.np)
        return {name: unit for name, (_, unit) in found.items()}

    def measure(self):
        """Return metric -> (value, unit) from the rows of the output."""
        source = self.stdout.evaluate()
        output = patterns.parse(self.output(), source, pattern=self.row.program, ranks=self.np)
        self.provenance["suite"] = f"patterns {output.run.version}"
        self.provenance["mpi_library"] = output.run.mpi
        self.provenance["mpi_standard"] = output.run.mpi_standard
        timed = [row for row in output.rows if hasattr(row, "repetitions")]
        self.repeated = {row.size_B: row.repetitions for row in timed}
        self.loops = output.options.repeat or 1
        return patterns.metrics(self.row, self.np, output, source)

    def parameters(self):
        """Return what a reference of this case must agree with."""
        found = super().parameters()
        if self.benchmark == "b_eff" and self.asked() == "smoke":
            found["repetitions"] = str(patterns.FEW_REPEATS)
        return found

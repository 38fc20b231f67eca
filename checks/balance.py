"""Communication balance: what the path inside a node does, over what that between nodes does.

Source: Subramoni, Koop and Panda 2009, slides "CBR": the ratio of intra-node to inter-node
performance at each message size; 1 is balanced.
"""

import reframe as rfm
from reframe.core.exceptions import SanityError

from acceptance.core import words
from acceptance.machine import process_counts
from acceptance.suites import osu

from .base import JudgedCheck
from .osu import LOOPBACK, OsuBenchmark, OsuLoopback, Variant
from .partitions import largest_job, nodes_of, partitions, placements, standing


def inside() -> list[str]:
    """Return where the two processes of a pair can stand inside a node."""
    return [placement for placement in placements() if placement != "inter-node"]


@rfm.simple_test
class CommunicationBalance(JudgedCheck):
    """The ratios of one OSU program, from its two results of this session; it measures nothing."""

    #: The OSU program, whose results inside a node are divided by those between nodes.
    benchmark = parameter(
        [name for name, program in osu.BENCHMARKS.items() if program.balance], loggable=True
    )
    np = parameter(process_counts(largest_job()), loggable=True)
    #: Where the processes stand in the result above the line.
    placement = parameter(inside(), loggable=True)
    #: The result below the line: between nodes, or, where there is one only, through its network.
    over = parameter(["inter-node", "loopback"], loggable=True)

    #: Those of the two results, where they are not the usual ones.
    repetitions = variable(str, value="")

    descr = "communication balance ratio, intra-node over inter-node"
    suite = "osu"
    valid_prog_environs = ["+osu"]
    tags = {"osu", "mpi", "balance"}
    executable = "true"
    # Nothing is measured: no node needs to be waited for.
    local = True
    time_limit = "1m"

    @run_after("init")
    def fit(self):
        """Take the partitions on which both results are measured, and wait for these."""
        self.row = osu.BENCHMARKS[self.benchmark]
        self.benchmark_name = f"cbr.{self.row.balance}"
        self.valid_systems = [part.fullname for part in partitions() if self.fits(part)]
        self.numerator = self.case(OsuBenchmark, self.placement)
        if self.over == "loopback":
            self.valid_prog_environs = LOOPBACK
            self.denominator = self.case(OsuLoopback, "intra-node")
        else:
            self.denominator = self.case(OsuBenchmark, "inter-node")
        if self.valid_systems:
            self.depends_on(self.numerator)
            self.depends_on(self.denominator)

    def fits(self, part):
        """Tell whether a partition has both results."""
        if not self.row.runs_with(self.np):
            return False
        if not standing(part, self.np, self.placement, 2):
            return False
        if self.over == "loopback":
            return nodes_of(part) == 1
        return bool(standing(part, self.np, "inter-node", 2))

    def case(self, check, placement):
        """Return the name of the one case of a check that is placed so; "" if it has none."""
        variant = Variant(self.benchmark, self.np, placement)
        if variant not in check.raw_params["benchmark"].values:
            return ""
        return check.variant_name(check.get_variant_nums(benchmark=variant)[0])

    def locate(self):
        """Take note of what the two results were measured with; there is no program to find."""
        numerator = self.getdep(self.numerator)
        self.provenance = dict(numerator.provenance)
        self.repetitions = numerator.parameters().get("repetitions", "")

    @run_before("sanity")
    def tell_nodes(self):
        """Tell ReFrame the nodes of the two results: nothing was measured where this one ran."""
        jobs = [self.getdep(name).job for name in (self.numerator, self.denominator)]
        self.job._nodelist = sorted({node for job in jobs if job for node in job.nodelist or ()})

    def measured_by(self, name):
        """Return the values of the case that this one waited for: metric -> (value, unit)."""
        found = getattr(self.getdep(name), "measurements", None)
        if found is None:
            raise SanityError(
                f"{self.getdep(name).display_name} was not measured in this session; run it again "
                "without --restore-session"
            )
        stem = self.row.columns[0].stem
        return {
            size: value
            for metric, (value, _) in found.items()
            for own, size in [words.split_metric(metric)]
            if own == stem and size is not None
        }

    def expected(self):
        """Return a ratio for each message size of the two results."""
        return {
            words.sized("ratio", size): "1"
            for name in (self.numerator, self.denominator)
            for size in self.measured_by(name)
        }

    def listed(self):
        """Return a ratio for each message size that the program prints."""
        sizes = osu.message_sizes(self.benchmark, self.np, *osu.size_range(OsuBenchmark.sizes))
        return {words.sized("ratio", size): "1" for size in sizes}

    def measure(self):
        """Divide one result by the other, message size by message size."""
        above, below = self.measured_by(self.numerator), self.measured_by(self.denominator)
        return {
            words.sized("ratio", size): (above[size] / below[size], "1")
            for size in above
            if size in below
        }

    def parameters(self):
        """Return what a reference of this case must agree with."""
        found = {"np": str(self.np), "placement": self.placement}
        if self.repetitions:
            found["repetitions"] = self.repetitions
        if self.row.processes == "even":
            found["pairs"] = str(self.np // 2)
        if self.row.buffers:
            found["buffers"] = "same"
        if self.over == "loopback":
            found["intranode"] = "loopback"
        return found

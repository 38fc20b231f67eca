"""Every node measured: IMB's PingPong in rounds of disjoint pairs, between nodes and inside each.

Rounds, and why not IMB's own `-map`: `machine/rounds.py`, `suites/imb.py`.
"""

import os
from pathlib import Path
from statistics import median

import msgspec
import reframe as rfm
from reframe.core.exceptions import SanityError

from acceptance.core import words
from acceptance.core.errors import Fault
from acceptance.core.findings import Observation
from acceptance.core.pairs import PairResult
from acceptance.machine import Layout, misplaced, placement, rounds
from acceptance.suites import imb

from .build import ImbBuild
from .extras import extras_of
from .no_case import needs_build
from .partitions import cores_of, mode_of, nodes_of, nodes_up, uses_slurm
from .placed import PlacedCheck

#: Bytes of the message whose time is the latency, and of that whose bandwidth is told.
SMALL, LARGE = 8, 2**22
SIZES = [SMALL, LARGE]
#: Small messages of a launch, and for how many of them a large one is sent: 20 of these, there and
#: back, take 1.4 s over 1 Gb/s.
MESSAGES, PER_LARGE = 1000, 50
#: The files of the job: message sizes, and its nodes.
SIZE_FILE, HOST_FILE = "sizes", "hosts"


@rfm.simple_test
class NodePairs(PlacedCheck):
    """All nodes of a partition in one job, each with several partners, or each by itself.

    The nodes are those that the case is pinned to; in the acceptance mode, where Slurm knows them,
    all that are up; else as many as the partition says in its extras (`nodes`). The metrics are the
    median of all pairs and the worst pair, but for those of the round `halves`, which may collide
    in a healthy fat tree; `pairs` has each of them.
    """

    #: How often each round is run, in turn; of each pair the median counts.
    repetitions = variable(int, value=3, loggable=True)
    #: How often the small message goes there and back in each of these.
    messages = variable(int, value=MESSAGES, loggable=True)
    #: The result of each pair at each message size (`acceptance.core.pairs`).
    pairs = variable(list, value=[], loggable=True)

    if needs_build("imb"):
        build = fixture(ImbBuild, scope="environment")

    where = parameter(["between", "inside"], loggable=True)

    np = variable(int, loggable=True)
    placement = variable(str, loggable=True)

    descr = "every node, in pairs"
    suite = "imb"
    executable = "IMB-MPI1"
    valid_prog_environs = ["+imb"]
    tags = {"imb", "mpi", "nodes"}
    #: None: by the number of nodes.
    time_limit = None

    def choose(self):
        """Take what the suite's table says of these pairs."""
        self.benchmark_name = f"imb.pairs-{self.where}"
        self.columns = imb.PAIRS[f"pairs-{self.where}"].columns

    @property
    def per_node(self):
        """Count the ranks on a node."""
        return 1 if self.where == "between" else 2

    def nodes(self, part):
        """Count the nodes of a partition that take part; raises Fault."""
        if pinned := self.pinned_nodes(part):
            return len(pinned)
        asks = self.asks_scheduler and uses_slurm(part)
        if asks and mode_of(part, self.mode) == "acceptance":
            return nodes_up(tuple(part.access))
        return nodes_of(part)

    def fits(self, part):
        """Take each partition of which ranks say where they stand: a pair is of nodes."""
        if not extras_of(part).verify_placement or cores_of(part) < self.per_node:
            return False
        try:
            return self.nodes(part) * self.per_node > 1
        except Fault:
            return True  # the case tells it

    def layout_on(self, part):
        """Return how the ranks stand, now that the partition is known, and so its nodes."""
        try:
            nodes = self.nodes(part)
        except Fault as err:
            raise SanityError(f"{self.benchmark_name}: {err}") from None
        self.np = nodes * self.per_node
        self.placement = "inter-node" if nodes > 1 else "intra-node"
        return Layout(self.np, self.per_node, self.placement)

    @run_before("run")
    def plan(self):
        """Choose the rounds; those that this launcher cannot do are told."""
        nodes = self.layout.nodes
        inside = rounds.Round("inside", ((0, nodes - 1),))
        wanted = rounds.rounds(nodes) if self.where == "between" else [inside]
        in_slurm = uses_slurm(self.current_partition) or "SLURM_JOB_ID" in os.environ
        any_order = placement.takes_any_order(self.family, in_slurm)
        self.rounds = [each for each in wanted if any_order or not each.in_turn]
        self.left_out = [each.name for each in wanted if each not in self.rounds]

    @run_before("run")
    def write_job(self):
        """Let the job run the rounds in turn: one moment that is disturbed is no median."""
        if self.time_limit is None:
            self.time_limit = f"{900 + self.layout.nodes}s"
        Path(self.stagedir, SIZE_FILE).write_text("".join(f"{size}\n" for size in SIZES))
        # IMB bounds repetitions by the MiB (its "MBytes") that they send.
        volume = max(1, self.messages // PER_LARGE) * LARGE // 2**20
        self.executable_opts = [
            imb.PAIR, "-npmin 2", "-multi 1", f"-msglen {SIZE_FILE}",
            f"-iter {self.messages},{volume}",
        ]  # fmt: skip
        first, *others = self.launches()
        self.prerun_cmds = [rounds.mark(first[0].name, first[1])]
        self.postrun_cmds = ["status=$?; [ $status = 0 ] || exit $status"]
        if len(self.rounds) > 1:
            command = f"sh {rounds.HOSTS_SCRIPT} {self.stderr.evaluate()} > {HOST_FILE}"
            self.postrun_cmds.append(command)
            self.postrun_cmds += [
                f"{each.choice} {HOST_FILE} > {HOST_FILE}.{each.name}" for each in self.rounds[1:]
            ]
        program = " ".join([*self.reporter(), self.executable, *self.executable_opts])
        for each, repetition in others:
            self.postrun_cmds += [
                rounds.mark(each.name, repetition), f"{self.command_of(each)} {program} || exit $?"
            ]  # fmt: skip

    def launches(self):
        """Return all launches of the job: round and repetition."""
        return [(each, n + 1) for n in range(self.repetitions) for each in self.rounds]

    def command_of(self, each):
        """Return the command that launches a round."""
        if each == self.rounds[0]:
            return self.launch_command()
        number = len(each.nodes)
        before, options = placement.on_hosts(self.family, f"{HOST_FILE}.{each.name}", number)
        return before + self.launch_command(number, [*options, *self.exports])

    def expected(self):
        """Return metric -> unit."""
        return {name: unit for name, (_, unit) in self.aggregates({}).items()}

    def measure(self):
        """Return metric -> (value, unit), and keep the result of each pair."""
        results = self.results()
        self.alone(results)
        self.pairs = msgspec.to_builtins(results)
        times, speeds = (
            {each: getattr(each, what) for each in results if each.size == size}
            for size, what in ((SMALL, "time"), (LARGE, "bandwidth"))
        )
        self.best = {SMALL: min(times, key=times.get), LARGE: max(speeds, key=speeds.get)}
        times, speeds = (
            {each: value for each, value in values.items() if each.round != rounds.HALVES}
            for values in (times, speeds)
        )
        self.worst = max(times, key=times.get), min(speeds, key=speeds.get)
        return self.aggregates(
            {
                "t": median(times.values()),
                "worst_t": max(times.values()),
                "mbytes": median(speeds.values()),
                "worst_mbytes": min(speeds.values()),
            }
        )

    def aggregates(self, values):
        """Return metric -> (value, unit) of columns."""
        return {
            words.sized(column.stem, SMALL if column.unit == "us" else LARGE): (
                values.get(column.name),
                column.unit,
            )
            for column in self.columns
        }

    def results(self):
        """Return the result of each pair in each round: the median of its repetitions."""
        source = self.stdout.evaluate()
        printed = rounds.launches(self.output(), source)
        reports = rounds.launches(self.errors(), self.stderr.evaluate())
        asked = [(each.name, repetition) for each, repetition in self.launches()]
        if list(printed) != asked:
            raise ValueError(f"{source}: {len(printed)} of {len(asked)} launches")
        times, order = {}, []
        for each, repetition in self.launches():
            key = each.name, repetition
            nodes = self.nodes_of_ranks(each, reports.get(key, ""))
            order = order or nodes
            if each.in_turn and nodes != [order[node] for node in each.nodes]:
                self.require_placed([f"round {each.name}: the ranks are on {', '.join(nodes)}"])
            output = imb.parse_pairs(printed[key], len(nodes), SIZES, source)
            for number, table in enumerate(output.tables):
                pair = tuple(dict.fromkeys(nodes[2 * number : 2 * number + 2]))
                for row in table.rows:
                    times.setdefault((each.name, pair, row.size), []).append(row.values["t"])
        self.provenance["suite"] = f"IMB {output.version}"
        self.provenance["mpi_standard"] = output.mpi_standard
        if self.left_out:
            self.provenance["rounds_left_out"] = ",".join(self.left_out)
        return [
            PairResult(name, pair, size, time, size / time)
            for (name, pair, size), all_times in times.items()
            for time in [median(all_times)]
        ]

    def nodes_of_ranks(self, each, report):
        """Return the node of each rank of a launch; ValueError where one stood elsewhere."""
        ranks = placement.read_ranks(report, self.stderr.evaluate())
        number = len(each.nodes)
        where = "inter-node" if number > 1 else "intra-node"
        layout = Layout(number * self.per_node, self.per_node, where)
        self.require_placed(f"round {each.name}: {w}" for w in misplaced(ranks, layout))
        return [rank.node for rank in ranks]

    def alone(self, results):
        """Fail where a node had fewer partners than it could have: who knows which is slow?"""
        partners = {}
        for result in results:
            for node in result.nodes:
                partners.setdefault(node, set()).update({*result.nodes} - {node})
        nodes = self.layout.nodes
        enough = min(2, nodes - 1) if self.where == "between" else 0
        self.require_placed(
            f"{node} was measured with {', '.join(others) or 'no partner'} only"
            for node, others in sorted(partners.items())
            if len(others) < enough
        )
        if len(partners) != nodes:
            self.require_placed([f"{len(partners)} nodes were measured instead of {nodes}"])

    def require_placed(self, faults):
        """Fail the case for ranks that stood elsewhere: nobody knows whose results these are."""
        if texts := self.fail(Observation("misplaced", f"misplaced: {text}") for text in faults):
            raise ValueError("; ".join(texts))

    def troubles(self):
        """Return why these numbers are not what they say, beside their values."""
        links = self.look_at_links(self.nodes_seen()) if self.layout.nodes > 1 else []
        return [*links, *self.beyond_the_wire()]

    def beyond_the_wire(self):
        """Return which pairs cannot be true; the aggregates would hide them."""
        measured, told = self.measurements, []
        values = {"latency": (SMALL, "time", "us"), "bandwidth": (LARGE, "bandwidth", "MB/s")}
        for stem, (size, what, unit) in values.items():
            best = self.best[size]
            self.measurements = {words.sized(stem, size): (getattr(best, what), unit)}
            told += [
                Observation(each.kind, f"{' and '.join(best.nodes)}: {each.text}")
                for each in super().beyond_the_wire()
            ]
        self.measurements = measured
        return told

    def limited_like(self, name):
        """Judge the median and the worst pair as the peak of a sweep."""
        return "bandwidth_peak" if name.startswith("bandwidth") else name

    def causes(self):
        """Name the worst pairs, too."""
        slow, low = self.worst
        return [
            f"the worst pairs: {' and '.join(slow.nodes)} with {slow.time:.5g} us, "
            f"{' and '.join(low.nodes)} with {low.bandwidth:.5g} MB/s",
            *super().causes(),
        ]

    def parameters(self):
        """Return what a reference of this case must agree with."""
        where = "inter-node" if self.where == "between" else "intra-node"
        found = {**super().parameters(), "placement": where}
        if self.messages != MESSAGES:
            found["repetitions"] = str(self.messages)
        return found

"""A year of nights of a cluster that nobody has: what each night measured, and what happened.

The cluster is an InfiniBand fat tree. Each night measures 16 of the rounds of all nodes in pairs,
and runs twelve benchmarks on four nodes, in turn, as `acceptance nightly` does: 28 metrics of
benchmarks, 14 of pairs, and three values of each node between nodes and inside. All of it is stored
as ReFrame stores it.

Noise (worse is up, logarithms): each sample has its own, and that of its case, with the heavy tails
of Student's t of 4 degrees of freedom. Its spread is 1 % for latencies, 0.7 % for bandwidths, and
1 to 2 % for collectives and applications: chosen.
Pairs spread by 2 %, and good nodes differ by 0.4 %, as in the bench `power`. All that a night
measures shares what the machine is like that night, correlated from one night to the next. Working
days are worse than weekends, one benchmark is in one of two states, and one case in 200 was
disturbed by a neighbour.
"""

import math
import random
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np

from acceptance.core.findings import Finding
from acceptance.core.pairs import INSIDE, Inside, PairMatrix
from acceptance.fabric import Facts, outputs
from acceptance.fabric.routes import NONE, Routes
from acceptance.machine import SlurmNode
from acceptance.nodes import AllPairs, cables, culprits
from acceptance.simulation import Platform, Tree, readings
from acceptance.suites import all_pairs
from tests.made import FIRST, NIGHT, SOFTWARE, Case
from tests.made_matrices import chosen, noise

SYSTEM, ENVIRONMENT = "made", "spack-openmpi"
FABRIC = {"technology": "infiniband", "rate": "HDR", "lanes": 4, "pcie": "4.0", "pcie_lanes": 16}
#: Nodes that a benchmark takes; each night has other ones.
BLOCK = 4
#: Spreads: of latencies, bandwidths, collectives, applications; of a pair, and between good nodes.
LATENCY, BANDWIDTH, COLLECTIVE, APPLICATION = 0.01, 0.007, 0.015, 0.012
PAIR, DIFFER = 0.02, 0.004
#: What all of a night shares: its spread, and its correlation with the night before; how much worse
#: working days are, and by how much of that a bandwidth is.
COMMON, LASTS, LOAD, LOAD_OF_RATE = 0.003, 0.6, 0.008, 0.4
#: The share of cases that a neighbour disturbs, and by how much.
DISTURBED, DISTURBANCE = 1 / 200, (0.04, 0.15)
#: The benchmark that is in one of two states, how often in the worse one, and how much worse.
TWO_STATES, WORSE_STATE, APART = "Alltoall", 0.2, 0.03
#: Of a latency between leaves to one inside: two more switches.
FAR = 0.2
#: From which logarithm on a value inside of a node is measured again.
SUSPECT = 0.08
#: What a pair measures, and a node inside.
PAIRS = {"latency": 1.6, "bandwidth": 23_500.0, "both": 44_000.0}
INNER = {"latency": 0.4, "bandwidth": 11_000.0, "both": 15_000.0}


@dataclass(frozen=True)
class Row:
    """A benchmark: its step, check, ranks, and metric -> (level, unit, spread)."""

    step: str
    name: str
    ranks: int
    metrics: dict
    kind: str = ""

    def is_latency(self, metric):
        """Tell whether a metric is the time of small messages."""
        return self.kind == "latency" and self.metrics[metric][1] == "us"


def sizes(stem, unit, spread, values):
    """Return metrics of message sizes: size -> level."""
    return {f"{stem}_{size}": (value, unit, spread) for size, value in values.items()}


ROWS = (
    Row("imb", "PingPong", 2, {
        **sizes("latency", "us", LATENCY, {8: 1.7, 1024: 2.4, 8192: 4.1}),
        **sizes("bandwidth", "MB/s", BANDWIDTH, {65536: 14e3, 1048576: 22e3, 4194304: 23.6e3}),
    }, "latency"),
    Row("imb", "Allreduce", 512, sizes(
        "time", "us", COLLECTIVE, {8: 9.1, 1024: 13.0, 65536: 60.0, 1048576: 620.0}), "latency"),
    Row("imb", "Bcast", 512, sizes("time", "us", COLLECTIVE, {8: 5.2, 65536: 31.0}), "latency"),
    Row("imb", "Alltoall", 512, sizes(
        "time", "us", COLLECTIVE, {8: 70.0, 1024: 330.0, 65536: 17e3}), "latency"),
    Row("imb", "Barrier", 512, {"time": (6.8, "us", COLLECTIVE)}, "latency"),
    Row("osu", "bibw", 2, sizes("bandwidth", "MB/s", BANDWIDTH, {65536: 21e3, 4194304: 45e3})),
    Row("osu", "mbw_mr", 128, sizes("bandwidth", "MB/s", BANDWIDTH, {65536: 23e3, 4194304: 24e3})),
    Row("hpcc", "hpcc", 512, {
        "NaturalRing-latency": (2.9, "us", LATENCY), "G-PTRANS": (38.0, "GB/s", BANDWIDTH),
        "G-RandomAccess": (2.1, "GUP/s", APPLICATION), "G-FFTE": (210.0, "Gflop/s", APPLICATION),
    }, "latency"),
    Row("npb", "cg", 256, {"mops_total": (31e3, "Mop/s", APPLICATION)}),
    Row("npb", "ft", 256, {"mops_total": (190e3, "Mop/s", APPLICATION)}),
    Row("npb", "lu", 256, {"mops_total": (420e3, "Mop/s", APPLICATION)}),
    Row("npb", "mg", 256, {"mops_total": (260e3, "Mop/s", APPLICATION)}),
)  # fmt: skip
STEPS = ("links", "all_pairs", "hpcc", "imb", "npb", "osu")
CHECKS = {"imb": "ImbMpi1", "osu": "OsuMpi", "hpcc": "Hpcc", "npb": "Npb"}


def unmoved(row, metric):
    return 0.0


@dataclass(frozen=True)
class Event:
    """What happened from a night to before another one (counted from 0).

    `shift` returns by how much a metric of a row is worse (logarithm), `node` or `cable` (its ends)
    is what loses the fraction `loss`; `fault`: somebody is to be told, and to repair it.
    """

    name: str
    text: str
    first: int
    last: int
    loss: float = 0.0
    node: str = ""
    cable: tuple = ()
    shift: Callable = unmoved
    fault: bool = False

    def lasts(self, night):
        return self.first <= night < self.last


#: What the new MPI changes: benchmark -> logarithm of the factor by which its times are larger.
RENEWED = {"Allreduce": -0.05, "Bcast": 0.045, "Alltoall": 0.035, "PingPong": 0.02}


def of_new_mpi(row, metric):
    return RENEWED.get(row.name, 0.0) if row.metrics[metric][1] == "us" else 0.0


def of_latencies(row, metric):
    return math.log(1.03) if row.is_latency(metric) else 0.0


def everything(row, metric):
    return 0.05


def calendar(seed, tree):
    """Return what happens in a year; the nights differ by seed, the order does not."""
    chance = random.Random(f"calendar {seed}")

    def about(night):
        return night + chance.randrange(-6, 7)

    node = f"n{chance.randrange(tree.leaf * 8)}"
    port = f"leaf{chance.randrange(8)}", f"spine{chance.randrange(tree.spines)}"
    slow, added, mpi, cable = about(80), about(112), about(140), about(200)
    renamed, late, busy = about(235), about(320), about(180)
    found = [
        Event("node", f"{node} loses 10 % of its rates", slow, slow + 14, 0.10, node, fault=True),
        Event("added", "8 nodes are added", added, 366),
        Event("replaced", f"{node} is another board", slow + 14, 366, node=node),
        Event("mpi", "a new MPI: some times -5 to +4.5 %", mpi, 366, shift=of_new_mpi),
        Event("busy", "a rebuild of the file system: all 5 % slower", busy, busy + 1,
              shift=everything),
        Event("cable", f"the port {' - '.join(port)} loses 5 %", cable, cable + 14, 0.05,
              cable=port, fault=True),
        Event("renamed", "the partition compute is called batch", renamed, 366),
        Event("latency", "all latencies are 3 % longer", late, late + 20, shift=of_latencies,
              fault=True),
        Event("drained", "60 nodes are drained", (drained := about(270)), drained + 1),
    ]  # fmt: skip
    found += [Event("window", "maintenance", night := about(quarter), night + days)
              for quarter, days in ((60, 2), (160, 1), (250, 3), (345, 2))]  # fmt: skip
    # Nodes are away for some nights, all the year.
    for number in range(6):
        away, days = chance.randrange(15, 360), chance.choice((1, 2, 4, 6, 9))
        name = f"n{tree.leaf * 8 + number}"
        found.append(Event("away", f"{name} is repaired", away, away + days, node=name))
    return sorted(found, key=lambda event: event.first)


@dataclass
class Year:
    """The cluster and its nights; `rows` are its benchmarks, `events` what happens to it.

    With `links` the links of each node are a case, as a scheduler lets it be: as their rates never
    change, these series cost time, and let each metric need more evidence. Else they are one job.
    """

    seed: int
    tree: Tree = field(default_factory=lambda: Tree(20, 10))
    leaves: int = 10
    added: int = 8
    rows: tuple = ROWS
    events: list = None
    links: bool = False

    def __post_init__(self):
        self.chance = np.random.default_rng([self.seed, 365])
        self.events = calendar(self.seed, self.tree) if self.events is None else self.events
        self.common = 0.0
        count = self.tree.leaf * self.leaves
        self.names = tuple(f"n{number}" for number in range(count))
        self.own = DIFFER * self.chance.standard_normal(count)
        self.of_sets, self.between = {}, None

    @cached_property
    def ways(self):
        """Return topology and routes of the whole fabric."""
        count = len(self.names)
        platform = Platform.of(Facts.read(FABRIC), count, tree=self.tree)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "fabric")
            command = readings.write_fabric(place, Facts.read(FABRIC), platform, None)
            reading = Path(folder, "reading")
            subprocess.run(["sh", "-c", f'{command} "$@"', "sh", reading], check=True)
            read = outputs.read(reading)
            topology, _ = outputs.join(read.topology, {}, self.names)
            return topology, Routes.of(topology, read.routes)

    def ways_of(self, nodes):
        """Return the routes between nodes."""
        if self.between is None or self.between[0] != nodes:
            self.between = nodes, cables.Ways(nodes, *self.ways)
        return self.between[1]

    def lasting(self, night, name=None):
        return [each for each in self.events
                if each.lasts(night) and name in (None, each.name)]  # fmt: skip

    def partition(self, night):
        return "batch" if self.lasting(night, "renamed") else "compute"

    def nodes(self, night):
        """Return the nodes of the partition, as the scheduler has them."""
        there = self.names
        if any(each.name == "added" for each in self.events) and not self.lasting(night, "added"):
            there = there[: len(there) - self.added]
        away = {each.node: "repair" for each in self.lasting(night, "away")}
        if self.lasting(night, "drained"):
            away |= dict.fromkeys(there[40:100], "firmware")
        return [SlurmNode(name, "drained" if name in away else "idle", away.get(name, ""),
                          name not in away) for name in there]  # fmt: skip

    def begin(self, night):
        """Take the noise that all of a night shares."""
        fresh = COMMON * math.sqrt(1 - LASTS**2) * self._tailed(())
        self.common = LASTS * self.common + float(fresh)
        working = datetime.fromtimestamp(FIRST + NIGHT * night, timezone.utc).weekday() < 5
        self.load = LOAD if working else 0.0
        for each in self.events:
            if (each.name, each.first) == ("replaced", night):
                self.own[self.names.index(each.node)] = DIFFER * self.chance.standard_normal()

    def _tailed(self, shape):
        return self.chance.standard_t(4, shape) / math.sqrt(2)

    def software(self, night):
        new = self.lasting(night, "mpi")
        return {**SOFTWARE, "mpi": "openmpi@5.0.3", "hash": "bbbbbbb"} if new else {**SOFTWARE}

    def benchmark(self, night, row, nodes):
        """Return the case of a benchmark on some nodes."""
        own, disturbed = 0.5 * self._tailed(()), self.chance.random() < DISTURBED
        other = self.chance.uniform(*DISTURBANCE) if disturbed else 0.0
        state = APART * (row.name == TWO_STATES and self.chance.random() < WORSE_STATE)
        nodes = nodes[: 2 if row.ranks == 2 else BLOCK]
        slow = max((-math.log1p(-each.loss) for each in self.lasting(night, "node")
                    if each.node in nodes), default=0.0)  # fmt: skip
        metrics = {}
        for metric, (level, unit, spread) in row.metrics.items():
            key = (row.name, metric, nodes)
            if key not in self.of_sets:
                self.of_sets[key] = DIFFER * self.chance.standard_normal()
            rate = unit not in ("us", "s")
            worse = spread * (own + math.sqrt(0.75) * float(self._tailed(())))
            worse += other + state + self.of_sets[key] + slow * rate
            worse += self.common + self.load * (LOAD_OF_RATE if rate else 1.0)
            worse += sum(each.shift(row, metric) for each in self.lasting(night))
            metrics[metric] = (level * math.exp(-worse if rate else worse), unit)
        keys = {"np": f"{row.ranks}", "nodes": f"{len(nodes)}", "placement": "inter-node"}
        return self._case(night, row.step, nodes,
            name=f"{CHECKS[row.step]} %benchmark={row.name} %np={row.ranks} %placement=inter-node",
            metrics=metrics, keys=keys, suite=row.step,
            benchmark="hpcc" if row.step == "hpcc" else f"{row.step}.{row.name}",
        )  # fmt: skip

    def _case(self, night, step, nodes, **fields):
        return Case(
            **{"system": SYSTEM, "partition": self.partition(night), "environment": ENVIRONMENT,
               "nodes": tuple(nodes), "provenance": self.software(night),
               "more": {"filename": f"/opt/clone/checks/{step}.py"}, **fields},
        )  # fmt: skip

    def link_check(self, night, nodes):
        """Return the cases of the link check: one job for all nodes, or with `links` one a node."""
        place, measured = self.partition(night), {"rate_min": (200_000.0, "Mbit/s")}
        return [
            self._case(
                night,
                "fabric",
                some,
                name=f"LinkCheck{f' %.nid={some[0]}' * self.links} %part={place}",
                suite="fabric",
                benchmark="fabric.link",
                keys={"nodes": "1"} if self.links else {},
                metrics={"nodes": (float(len(some)), "1"), **measured},
                provenance={"counters": ",".join(some)},
            )
            for some in ([(name,) for name in nodes] if self.links else [tuple(nodes)])
        ]

    def pairs(self, night, nodes):
        """Return the case of all pairs, judged as the check judges it."""
        matrix, ways = self.matrix(night, nodes), self.ways_of(tuple(nodes))
        found, values = culprits.judge(matrix, hops=ways.hops)
        found = cables.with_cables(matrix, ways, found)
        stored = AllPairs.of_matrix(matrix, 16, found, values, ways)
        failing = [each for each in found if each.fails]
        measured = all_pairs.metrics(matrix)
        keys = {"placement": "inter-node", "mapping": "block", "intranode": "intra-socket",
                "repetitions": "16"}  # fmt: skip
        return self._case(
            night, "all_pairs", nodes, name="AllPairs", suite="patterns", keys=keys,
            benchmark="patterns.all-pairs", metrics=measured,
            result="fail" if failing else "pass",
            findings=[
                Finding(e.kind, e.text, True, (*e.node.split(),)).as_data() for e in failing
            ],
            more={"all_pairs": msgspec.to_builtins(stored),
                  "filename": "/opt/clone/checks/all_pairs.py"},
        )  # fmt: skip

    def matrix(self, night, nodes):
        """Return what these nodes measure in 16 rounds, with what is slow once more alone."""
        count, places = len(nodes), np.array([self.names.index(name) for name in nodes])
        lost = self.own[places].copy()
        for each in self.lasting(night, "node"):
            lost[[name == each.node for name in nodes]] -= math.log1p(-each.loss)
        worse = lost[:, None] + lost
        for each in self.lasting(night, "cable"):
            worse = np.maximum(worse, np.where(self._over(each, places), -math.log1p(-each.loss),
                                               -np.inf))  # fmt: skip
        late = self.common + self.load + sum(math.log(1.03) for _ in self.lasting(night, "latency"))
        rate = self.common + LOAD_OF_RATE * self.load
        busy = sum(0.05 for _ in self.lasting(night, "busy"))
        rank = np.arange(count)
        shift = (rank - rank[:, None]) % count
        kept = all_pairs.shifts(count, 16)
        rounds = np.where(np.isin(shift, kept), shift, 0) if kept else shift
        leaf = places // self.tree.leaf
        far = np.log1p(FAR) * (leaf[:, None] != leaf)

        def values(quantity):
            own = noise("student", PAIR, self.chance, count) + busy
            if quantity == "latency":
                return PAIRS[quantity] * np.exp(own + far + late)
            return PAIRS[quantity] * np.exp(-own - worse - rate)

        measured = {name: np.where(rounds == 0, np.nan, values(name)) for name in PAIRS}
        suspects, controls = chosen(measured, rounds, self.chance)
        alone = {name: values(name) for name in PAIRS}
        again = {name: {pair: float(each[pair]) for pair in (*suspects, *controls)}
                 for name, each in alone.items()}  # fmt: skip
        inside = {INSIDE[name]: self._inside(name, count) for name in INNER}
        # What is slow there is measured once more, too.
        anew = {INSIDE[name]: self._inside(name, count) for name in INNER}
        slow = {
            name: {
                node: float(anew[name][node])
                for node in np.flatnonzero(abs(np.log(each / np.median(each))) > SUSPECT).tolist()
            }
            for name, each in inside.items()
        }
        return PairMatrix(
            tuple(nodes), measured, rounds.astype(np.int32), again, frozenset(controls),
            inside=Inside(inside, slow),
        )  # fmt: skip

    def _inside(self, name, count):
        return INNER[name] * np.exp(0.01 * self._tailed(count))

    def _over(self, event, places):
        """Return which pairs of nodes have a route over a cable, in either direction."""
        topology, routes = self.ways
        link = next(number for number, each in enumerate(routes.links)
                    if tuple(end.split("[")[0] for end in topology.link_text(each).split(" - "))
                    == event.cable)  # fmt: skip
        ways = cables.Ways(self.names, topology, routes)
        steps = ways.steps[places[:, None], places]
        return ((steps != NONE) & (steps // 2 == link)).any(axis=2)

    def cases(self, night, turn):
        """Return step -> cases of a night, the benchmarks on the nodes whose turn it is."""
        self.begin(night)
        up = [node.name for node in self.nodes(night) if node.up]
        found = {"links": self.link_check(night, up), "all_pairs": [self.pairs(night, up)]}
        for row in self.rows:
            found.setdefault(row.step, []).append(self.benchmark(night, row, turn))
        return {step: found[step] for step in STEPS if step in found}

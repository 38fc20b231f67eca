"""What `patterns loaded` writes: times of victims, while aggressors load the network or do nothing.

After the records that each pattern has, and before the end, in this order::

    {"type":"division","nodes":["node1","node2",...],"victims":[1,2,...],
     "loads":["isolated","nothing",...]}
    {"type":"ring","cycle":1,"ranks":[3,1,...]}
    {"type":"window","number":1,"cycle":1,"load":"isolated","victims_s":0.09,"load_s":0,
     "cut":0,"load_MBps":0,"latency_us":[1.6741,1.6762,...],"exchange_us":[...],"allreduce_us":[...]}
    ... a window of each load, then the ring and the windows of the next cycle ...
    {"type":"times","load":"isolated","quantity":"latency","node":1,"count":4096,"sum_us":6858.1,
     "bins":[170,171],"counts":[4000,96]}
    ... of each victim, load and quantity ...

`victims` are places in `nodes`; a window has the mean of each of them, in their order, in its first
half and then those in its second half; null where a victim had no partner. A ring has the ranks
of the victims: neighbours exchange with each other (`pairs`). `load_s` is how long the aggressors
moved `load_MBps` together; `cut` is 1 if they ended before the victims did. Bins are of the length
of a time: 0 to 127 ns one each, then 64 for each power of two, the first one from 128 ns on. The
time of `latency` is that of 8 bytes to a neighbour and from it at once, of `exchange` the same of
larger messages, of `allreduce` that of 8 bytes of all victims.

Numpy is imported where there are times, not by each start of ReFrame.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import msgspec

from acceptance.core.records import Measured as Positive
from acceptance.core.records import Text, Whole
from acceptance.core.words import keyed, sized
from acceptance.suites.output import BEGIN, Count, End, LineReader, NotNegative, Plan, Record, Run
from acceptance.suites.records import Benchmark, Column

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: What the aggressors do; in the first two windows nothing, of which one is compared with the other
#: as with a load: so one sees what is no load.
ISOLATED, NOTHING, *LOADS = WINDOWS = ("isolated", "nothing", "incast", "alltoall", "get")
#: Quantity -> the field of a window.
QUANTITIES = {name: f"{name}_us" for name in ("latency", "exchange", "allreduce")}
#: Bytes of a message of the latency and of the allreduce; of the exchange, and of the aggressors.
SMALL, LARGE = 8, 2**17
#: Statistic -> the share of the times that are at most as long; None: the mean.
STATISTICS = {"mean": None, "P99": 0.99, "P99.9": 0.999}
#: Quantity -> the stems of its mean and of its slow tail, in the order of `STATISTICS`. A bandwidth
#: is slow where it is low: at P1 and P0.1.
STEMS = {
    "latency": ("latency", "latency_p99", "latency_p999"),
    "exchange": ("bandwidth", "bandwidth_p1", "bandwidth_p01"),
    "allreduce": ("allreduce", "allreduce_p99", "allreduce_p999"),
}
UNITS = {"latency": "us", "exchange": "MB/s", "allreduce": "us"}
#: Halves of a window: with one neighbour in the ring, then with the other one.
HALVES = 2
#: What the aggressors moved together.
LOAD = Column("load", "load", "MB/s")

_OF = [(quantity, stem) for quantity, stems in STEMS.items() for stem in stems]
#: Name -> benchmark. A factor is a ratio of two of its metrics, of which 1 is the best.
BENCHMARKS = {
    "loaded": Benchmark(
        "loaded",
        (
            *(Column(stem, stem, UNITS[quantity]) for quantity, stem in _OF),
            *(Column(f"{stem}_factor", f"{stem}_factor", "1") for _, stem in _OF),
            LOAD,
        ),
        sized=False, least_nodes=4, since_mode="smoke", sizes=(SMALL, LARGE),
        pair_bandwidth="bandwidth", pair_latency="latency", better="nearer to 1",
    )
}  # fmt: skip


def metric(quantity: str, statistic: str, load: str, *, factor: bool = False) -> str:
    """Name a metric: `latency_p99.pattern.incast_8`; without load it is `isolated`."""
    stem = STEMS[quantity][[*STATISTICS].index(statistic)] + "_factor" * factor
    size = LARGE if quantity == "exchange" else SMALL
    return sized(keyed(stem, {"pattern": load}), size)


def asked() -> dict[str, str]:
    """Return metric -> unit of all that a run may know."""
    found = {}
    for load in WINDOWS:
        for quantity in QUANTITIES:
            for statistic in STATISTICS:
                if load != NOTHING:
                    found[metric(quantity, statistic, load)] = UNITS[quantity]
                if load != ISOLATED:
                    found[metric(quantity, statistic, load, factor=True)] = "1"
    return found | {keyed(LOAD.stem, {"pattern": load}): LOAD.unit for load in LOADS}


class Options(Record, tag="options", frozen=True):
    """The options in force; `time` is that of a quantity in a window, in ms, `limit` in s."""

    time: Positive
    warmup: Count
    seed: Count
    share: Positive
    cycles: Whole
    bytes: Whole
    load_bytes: Whole = msgspec.field(name="load-bytes")
    ranks: Whole
    limit: Positive


class Division(Record, tag="division", frozen=True):
    """The nodes, the victims among them, and the loads: where the MPI has no last one, without."""

    nodes: tuple[Text, ...]
    victims: tuple[Count, ...]
    loads: tuple[Text, ...]


class Ring(Record, tag="ring", frozen=True):
    """The ranks of the victims, each beside its neighbours; so are the last one and the first."""

    cycle: Whole
    ranks: tuple[Count, ...]


class Window(Record, tag="window", frozen=True):
    """How long a window took, what the aggressors did, and the mean of each victim."""

    number: Whole
    cycle: Whole
    load: Text
    victims_s: Positive
    load_s: NotNegative
    cut: Count
    load_MBps: NotNegative
    latency_us: tuple[Positive | None, ...]
    exchange_us: tuple[Positive | None, ...]
    allreduce_us: tuple[Positive | None, ...]


class Times(Record, tag="times", frozen=True):
    """How many times of a victim under a load are in which bin."""

    KEYS = ("load", "quantity", "node")

    load: Text
    quantity: Literal["latency", "exchange", "allreduce"]
    node: Count
    count: Whole
    sum_us: Positive
    bins: tuple[Count, ...]
    counts: tuple[Whole, ...]


_DECODER = msgspec.json.Decoder(Run | Options | Plan | Division | Ring | Window | Times | End)
_EXPONENT = re.compile(r"[eE][-+\d]")
#: What five digits make of a mean at most, and nine of a sum, as a share.
_ROUNDED, _ROUNDED_SUM = 1e-4, 1e-8
_OCTAVE = 64


def edges(bins: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the lower and upper bound of bins in us, (2, B): a time is rounded to 1 ns before."""
    import numpy as np

    octave = np.maximum(bins // _OCTAVE - 1, 0)
    low = (bins - octave * _OCTAVE) << octave
    return (np.array([low, low + (1 << octave)]) - 0.5).clip(min=0) / 1000


class Histogram:
    """The times of V victims under a load: `counts` (V, B) in bins, `sums` (V,) in us.

    `edges` (2, B) are the bounds of the bins, in us.
    """

    def __init__(self, rows: list[Times]) -> None:
        import numpy as np

        used = np.unique(np.concatenate([np.array(row.bins) for row in rows]))
        self.edges = edges(used)
        self.counts = np.zeros((len(rows), len(used)), dtype=np.int64)
        for victim, row in enumerate(rows):
            self.counts[victim, np.searchsorted(used, row.bins)] = row.counts
        self.sums = np.array([row.sum_us for row in rows])


class Measured(LineReader):
    """A whole run. Raises ParseError, with the line, for any other output.

    `ranks` and `size` (bytes of the exchange) are what was asked for, 0: any. `victims` and
    `aggressors` are places in `nodes`. `rings` has the ranks of the victims in each cycle,
    `histograms` load, quantity -> the times.
    """

    suite = "patterns"

    def __init__(self, text: str, source: str = "stdout", ranks: int = 0, size: int = 0) -> None:
        super().__init__(text, source)
        self.benchmark, self.asked = "loaded", (ranks, size)
        self.heads: list[Record] = []
        self.windows: list[Window] = []
        self.rings: list[tuple[int, ...]] = []
        self._times: dict[tuple[object, ...], Times] = {}
        self._means: dict[tuple[str, str], NDArray[np.float64]] = {}
        for line in self.lines():
            if line.startswith(BEGIN) and self.heads:
                raise self.error("a second output begins")
            if line.startswith(BEGIN) or 0 < len(self.heads) < 5:
                self._read(self.record(_DECODER))
        self.stand()
        if not self.heads:
            raise self.error('this is no output of patterns: no line {"type":"run"...')
        if len(self.heads) < 5:
            raise self.error("the output ends without its end: the program did not finish")
        self.histograms = {
            (load, quantity): Histogram(
                [self._times[load, quantity, node] for node in self.victims]
            )
            for load in self.loads
            for quantity in QUANTITIES
        }

    def _read(self, record: Record) -> None:
        """Take the record of a line, if it may stand there."""
        order = (Run, Options, Plan, Division, End)
        cycles = self.options.cycles if len(self.heads) > 1 else 0
        loads, times = len(self.loads), len(QUANTITIES) * len(self.victims)
        whole = len(self.windows) == cycles * loads
        all_times = whole and len(self._times) == loads * times
        expected: type[Record] = order[len(self.heads)]
        if expected is End and not all_times:
            per_cycle = len(self.windows) == len(self.rings) * loads
            expected = Times if whole else Ring if per_cycle else Window
        if type(record) is not expected:
            found = type(record).__name__.lower()
            raise self.error(f"{found} in the place of {expected.__name__.lower()}")
        if isinstance(record, Ring):
            self._read_ring(record)
        elif isinstance(record, Window):
            self._read_window(record)
        else:
            self.check_numbers()
            if isinstance(record, Times):
                self._read_times(record)
                return
            self.heads.append(record)
            if isinstance(record, Run):
                self.check_run(record, self.asked[0])
            if isinstance(record, Options) and self.asked[1] not in (0, record.bytes):
                raise self.error(f"messages of {record.bytes} bytes instead of {self.asked[1]}")
            if isinstance(record, Division):
                self._check_division(record)

    @property
    def run(self) -> Run:
        """Return what ran."""
        return self.heads[0]  # type: ignore[return-value]

    @property
    def options(self) -> Options:
        """Return what was asked for."""
        return self.heads[1]  # type: ignore[return-value]

    @property
    def victims(self) -> tuple[int, ...]:
        """Return the nodes that measured."""
        return self.heads[3].victims if len(self.heads) > 3 else ()  # type: ignore[attr-defined]

    @property
    def loads(self) -> tuple[str, ...]:
        """Return what the aggressors did, in the order of `WINDOWS`."""
        return self.heads[3].loads if len(self.heads) > 3 else ()  # type: ignore[attr-defined]

    @cached_property
    def aggressors(self) -> tuple[int, ...]:
        """Return the other nodes."""
        victims = {*self.victims}
        return tuple(node for node in range(len(self.nodes)) if node not in victims)

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Return the names of the nodes; of several of one name the second one is `name#1`."""
        seen: Counter[str] = Counter()
        found = []
        for name in self.heads[3].nodes:  # type: ignore[attr-defined]
            found.append(f"{name}#{seen[name]}" if seen[name] else name)
            seen[name] += 1
        return tuple(found)

    def _check_division(self, row: Division) -> None:
        count, victims = len(row.nodes), len(row.victims)
        if count * self.options.ranks != self.run.ranks:
            raise self.error(
                f"{count} nodes of {self.options.ranks} are not {self.run.ranks} ranks"
            )
        if not 2 <= victims <= count - 2 or [*row.victims] != sorted({*row.victims}):
            raise self.error("no two victims or more, and two aggressors or more, in their order")
        if row.victims[-1] >= count:
            raise self.error(f"{row.victims[-1]} is none of {count} nodes")
        if row.loads not in (WINDOWS, WINDOWS[:-1]):
            raise self.error(f"loads {', '.join(row.loads)} instead of {', '.join(WINDOWS)}")

    def _read_ring(self, row: Ring) -> None:
        each = self.options.ranks
        ranks = [node * each + rank for node in self.victims for rank in range(each)]
        if row.cycle != len(self.rings) + 1 or sorted(row.ranks) != ranks:
            raise self.error("no ring of all ranks of the victims, or one of another cycle")
        self.rings.append(row.ranks)

    def _read_window(self, row: Window) -> None:
        number, count = len(self.windows), len(self.loads)
        expected = number + 1, len(self.rings), self.loads[(number // count + number) % count]
        if (row.number, row.cycle, row.load) != expected:
            raise self.error(f"no window {expected[0]} of cycle {expected[1]}: {expected[2]}")
        idle = len(self.victims) * self.options.ranks % HALVES
        for quantity, name in QUANTITIES.items():
            values, most = getattr(row, name), idle * HALVES * (quantity != "allreduce")
            if len(values) != HALVES * len(self.victims) or values.count(None) > most:
                raise self.error(f"{name}: not a value of each of {len(self.victims)} victims")
        if _EXPONENT.search(self.line.partition('"latency_us"')[2]):
            raise self.error("a mean with an exponent, which patterns does not print")
        is_load = row.load in LOADS
        if is_load != (row.load_s > 0) or is_load != (row.load_MBps > 0):
            raise self.error("a load that moved nothing, or without a load something was moved")
        if row.cut:
            raise self.error(
                f"the load ended after {row.load_s:g} s, and the victims measured for "
                f"{row.victims_s:g} s: a longer --limit, or a shorter --time, is required"
            )
        self.windows.append(row)

    def _read_times(self, row: Times) -> None:
        import numpy as np

        if row.key in self._times or row.load not in self.loads or row.node not in self.victims:
            raise self.error("times that were there before, or of no victim, or of no load")
        if len(row.bins) != len(row.counts) or [*row.bins] != sorted({*row.bins}):
            raise self.error("not a count for each bin, or bins that do not grow")
        if sum(row.counts) != row.count:
            raise self.error(f"{sum(row.counts)} times in the bins instead of {row.count}")
        low, high = edges(np.array(row.bins)) @ np.array(row.counts)
        if not low * (1 - _ROUNDED_SUM) <= row.sum_us <= high * (1 + _ROUNDED_SUM):
            raise self.error(f"a sum of {row.sum_us:g} us is not that of these bins")
        means = self.means(row.quantity, row.load)[:, :, self.victims.index(row.node)]
        low, mean, high = np.nanmin(means), row.sum_us / row.count, np.nanmax(means)
        if not low * (1 - _ROUNDED) <= mean <= high * (1 + _ROUNDED):
            raise self.error(f"a mean of {mean:g} us, and windows with {low:g} to {high:g} us")
        self._times[row.key] = row

    def means(self, quantity: str, load: str) -> NDArray[np.float64]:
        """Return the means in us, (cycles, HALVES, V); NaN where a victim had no partner."""
        import numpy as np

        # Times are compared with them line by line, after the last window.
        if (key := (quantity, load)) not in self._means:
            rows = [getattr(row, QUANTITIES[quantity]) for row in self.windows if row.load == load]
            self._means[key] = np.array(rows, dtype=np.float64).reshape(len(rows), HALVES, -1)
        return self._means[key]

    def pairs(self, ring: tuple[int, ...], half: int) -> list[tuple[int, int]]:
        """Return the nodes that exchange with each other in a ring and a half of a window."""
        nodes = [rank // self.options.ranks for rank in ring]
        ends = nodes[half:] + nodes[:half] * (len(nodes) % 2 == 0)
        return [*zip(ends[::2], ends[1::2], strict=False)]

    def load_rate(self, load: str) -> float:
        """Return what the aggressors moved together under a load, in MB/s."""
        rows = [row for row in self.windows if row.load == load]
        return sum(row.load_MBps * row.load_s for row in rows) / sum(row.load_s for row in rows)

"""All pairs of nodes, a process on each: the rounds of a mode, what `patterns all-pairs` writes.

The file that `--output` names, of three nodes and the first of two rounds::

    {"type":"job","version":"1.0","ranks":3,"bytes":4194304,...,"schedule":"shifts","rounds":2,
     "estimate_s":0.4,"nodes":["node1","node2","node3"]}
    {"type":"round","number":0,"latency_us":[0.4121,0.4140,0.4117],"bandwidth_MBps":[...],...}
    {"type":"failed","sender":2,"receiver":0,"why":"latency: node1 did not answer within 5 s"}
    {"type":"round","number":1,"latency_us":[1.2312,1.2294,null],
     "bandwidth_MBps":[12021,12019,null],"both_MBps":[11873,11902,null]}
    {"type":"again","because":"suspect","sender":0,"receiver":1,"latency_us":1.23,...}
    {"type":"curve","because":"suspect","sender":0,"receiver":1,"bytes":[8,16,...],
     "time_us":[1.2301,...],"late_us":[1.2502,...],"overhead_us":[0.21000,0.20900]}
    {"type":"end","not_measured":0,"not_again":0}

each of them in one line. A round has a value of each sender by its rank; in round k of the
schedule `shifts` rank i sends to rank i + k (modulo the number of ranks). Rounds that were chosen
are of the schedule `chosen` and have a list `to` of the receivers, -1 for none. The rounds come in
any order. With two ranks on each node what these measured comes first, as round 0, where a node is
its own receiver. Values are null where a node does not send, or failed as a line before its round
says. A `suspect` was measured once more while no other was busy, because its value was low, a
`control` to compare it with; where that failed, it has a `why` in place of values. A curve has of
such a pair the median and the 99th percentile of a message's time by its size, and how long posting
one of 8 bytes takes at both ends, null where no clock shows it. The end has the
rounds that were not measured, and the suspects that were not measured again, for lack of time. A
file without it is that of a job that ended early.

Numpy is imported where there is a matrix, not by each start of ReFrame.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

import msgspec

from acceptance.core.errors import ParseError
from acceptance.core.pairs import ALL_UNITS, INSIDE, UNITS, Curve, Inside, Pair, PairMatrix
from acceptance.core.records import Measured as Positive
from acceptance.core.records import Text, Whole
from acceptance.core.words import sized
from acceptance.suites.output import (
    Count,
    LineReader,
    NotNegative,
    Record,
)
from acceptance.suites.records import Benchmark, Column

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_T = TypeVar("_T")
_K = TypeVar("_K")
#: What each pair measured; it is kept with the outputs of the case, good or bad.
MATRIX = "all-pairs.txt"
#: Bytes of the message whose time is the latency, and of that whose bandwidth is told.
SMALL, LARGE = 8, 2**22
#: The latter of a simulation: it has the same bandwidth there, and copies what is sent.
SIMULATED_LARGE = 2**18
#: Quantity -> how its median over all pairs, and the median of the worst node, are called.
STEMS = {
    "latency": ("latency", "latency_node_max"),
    "bandwidth": ("bandwidth", "bandwidth_node_min"),
    "both": ("bandwidth_both", "bandwidth_both_node_min"),
}
#: The same inside of the nodes: the median node, and the worst one.
STEMS_INSIDE = {
    INSIDE["latency"]: ("latency_inside", "latency_inside_max"),
    INSIDE["bandwidth"]: ("bandwidth_inside", "bandwidth_inside_min"),
}
#: Quantity -> the field of a record.
_FIELDS = {"latency": "latency_us", "bandwidth": "bandwidth_MBps", "both": "both_MBps"}
#: Milliseconds of a loop in simulated time, which has no noise.
SIMULATED = 0.02
COUNTS = ("pairs", "rounds")
#: Mode -> the rounds that are measured at most, and the seconds that they may take.
MOST_ROUNDS = {"smoke": 4, "nightly": 16, "acceptance": 0}
LIMITS = {"smoke": 60, "nightly": 600, "acceptance": 7200}

_COLUMNS = tuple(
    Column(stem, stem, ALL_UNITS[quantity])
    for quantity, stems in (STEMS | STEMS_INSIDE).items()
    for stem in stems
)
#: Name -> benchmark.
BENCHMARKS = {
    "all-pairs": Benchmark(
        "all-pairs", (*_COLUMNS, *(Column(name, name, "1") for name in COUNTS)),
        point_to_point=True, sized=False, link_factor=1, one_way=True, one_message=True,
        least_nodes=2, since_mode="smoke", sizes=(SMALL, SIMULATED_LARGE, LARGE),
    )
}  # fmt: skip


def shifts(nodes: int, most: int) -> list[int]:
    """Return the rounds that are measured, by the distance from sender to receiver; none for all.

    Of more than `most` (0: all) those are taken that are spread evenly, each with its way back: two
    at least.
    """
    half = (nodes - 1) // 2
    if not most or nodes - 1 <= most:
        return []
    number = max(most // 2, 1)
    there = {1 + k * (half - 1) // max(number - 1, 1) for k in range(number)}
    return sorted(there | {nodes - k for k in there})


def metrics(
    matrix: PairMatrix | None = None, large: int = LARGE, *, inside: bool = True
) -> dict[str, tuple[float | None, str]]:
    """Return metric -> (value, unit); without a matrix the values are None: what will be measured.

    `large` are the bytes of the message whose bandwidth is told; `inside`: whether nodes are
    measured inside. Raises ValueError where a quantity was measured of no pair, or no node.
    """
    found: dict[str, tuple[float | None, str]] = {}
    for quantity, stems in (STEMS | (STEMS_INSIDE if inside else {})).items():
        size = SMALL if ALL_UNITS[quantity] == "us" else large
        values = (None, None) if matrix is None else _median_and_worst(matrix, quantity)
        for stem, value in zip(stems, values, strict=True):
            found[sized(stem, size)] = value, ALL_UNITS[quantity]
    rounds = None if matrix is None else matrix.rounds[matrix.measured].tolist()
    counts = (None, None) if rounds is None else (float(len(rounds)), float(len({*rounds})))
    return found | {name: (count, "1") for name, count in zip(COUNTS, counts, strict=True)}


def _median_and_worst(matrix: PairMatrix, quantity: str) -> tuple[float, float]:
    """Return the median of all pairs, or nodes, and that of the worst node."""
    import numpy as np

    values = {**matrix.values, **matrix.inside.values}.get(quantity)
    if values is None:
        raise ValueError(f"nothing was measured inside of the nodes: {quantity}")
    of_nodes = medians(values) if quantity in STEMS else values
    if not np.isfinite(of_nodes).any():
        raise ValueError(f"no pair has a value: {quantity}")
    worst = np.nanmax if ALL_UNITS[quantity] == "us" else np.nanmin
    return float(np.nanmedian(values)), float(worst(of_nodes))


def medians(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median of what each node sends and receives, of those that have a value."""
    import numpy as np

    both = np.concatenate([values, values.T], axis=1)
    of_nodes: NDArray[np.float64] = np.nanmedian(both[np.isfinite(both).any(axis=1)], axis=1)
    return of_nodes


def extreme(matrix: PairMatrix, quantity: str, *, best: bool) -> tuple[str, float]:
    """Return the best or worst pair of a quantity, and its value; ValueError where none has one."""
    import numpy as np

    values = matrix.values[quantity]
    least = best == (quantity == "latency")
    row, column = np.unravel_index((np.nanargmin if least else np.nanargmax)(values), values.shape)
    return matrix.way((int(row), int(column))), float(values[row, column])


class Job(Record, tag="job", frozen=True):
    """What was asked for; `repetitions` are those of a loop of each quantity."""

    version: str
    ranks: Whole
    bytes: Whole
    timeout_s: NotNegative
    limit_s: Positive
    repetitions: tuple[Whole, Whole, Whole]
    schedule: Literal["shifts", "chosen"]
    rounds: Whole
    estimate_s: NotNegative
    nodes: tuple[Text, ...]


class Failed(Record, tag="failed", frozen=True):
    """Why a pair of the round that follows has no value, or not all of them."""

    sender: Count
    receiver: Count
    why: Text


class Round(Record, tag="round", frozen=True):
    """The values of each sender by its rank; in round 0 each is its own receiver."""

    number: Count
    latency_us: tuple[Positive | None, ...]
    bandwidth_MBps: tuple[Positive | None, ...]
    both_MBps: tuple[Positive | None, ...]
    to: tuple[int, ...] | None = None


class Again(Record, tag="again", frozen=True):
    """A pair that was measured again alone; or why it has no values."""

    because: Literal["suspect", "control"]
    sender: Count
    receiver: Count
    latency_us: Positive | None = None
    bandwidth_MBps: Positive | None = None
    both_MBps: Positive | None = None
    why: str = ""


class CurveLine(Record, tag="curve", frozen=True):
    """The curve of a pair that was alone, or why it has none; a pair has several."""

    because: Literal["suspect", "control"]
    sender: Count
    receiver: Count
    bytes: tuple[Whole, ...] = ()
    time_us: tuple[Positive, ...] = ()
    late_us: tuple[Positive, ...] = ()
    overhead_us: tuple[Positive | None, Positive | None] = (None, None)
    why: str = ""


class End(Record, tag="end", frozen=True):
    """The rounds that were not measured, and the suspects that were not measured again."""

    not_measured: Count
    not_again: Count


_EXPONENT = re.compile(r"[eE][-+\d]")
_JOB = msgspec.json.Decoder(Job)
_LINE = msgspec.json.Decoder(Failed | Round | Again | CurveLine | End)


class Measured(LineReader):
    """The whole rounds of a file up to its first `fault`: the job may have ended early.

    Of the rounds of its job `left` have no values. Raises ParseError when it does not say what was
    asked for.
    """

    suite = "patterns"

    def __init__(self, text: str, source: str = MATRIX, ranks: int = 0) -> None:
        import numpy as np

        super().__init__(text, source)
        self.benchmark = "all-pairs"
        lines = self.lines()
        next(lines)
        self.job: Job = self.record(_JOB)
        self._check_job(ranks)
        shape = (self.job.ranks, self.job.ranks)
        self.values = {name: np.full(shape, np.nan) for name in UNITS}
        self.rounds = np.zeros(shape, dtype=np.int32)
        self.seen: set[int] = set()
        self.failed: dict[Pair, str] = {}
        #: Those of the round that follows.
        self.failing: dict[Pair, str] = {}
        self.again: dict[str, dict[Pair, float]] = {quantity: {} for quantity in UNITS}
        self.controls: set[Pair] = set()
        self.curves: dict[Pair, list[Curve]] = {}
        #: Whether nodes were measured inside: what is on the diagonals.
        self.inside = False
        self.end: End | None = None
        #: Why the file is not complete.
        self.fault: ParseError | None = None
        try:
            self._read(lines)
        except ParseError as fault:
            self.fault = fault
        self.left = self.job.rounds - len(self.seen)
        self.matrix = self._matrix()

    def _check_job(self, ranks: int) -> None:
        count = self.job.ranks
        self.check_version(self.job.version)
        if count < 2 or ranks not in (0, count):
            raise self.error(f"{count} ranks instead of {ranks or 'two or more'}")
        if len(self.job.nodes) != count or len({*self.job.nodes}) < count:
            raise self.error(f"no {count} distinct names of nodes")

    def _read(self, lines: Iterable[str]) -> None:
        for _ in lines:
            if self.end:
                raise self.error("a line after the end")
            match self.record(_LINE):
                case Failed() as failed:
                    self.failing[self._pair(failed.sender, failed.receiver)] = failed.why
                case Round() as row:
                    self._read_round(row)
                case Again() as again:
                    self._read_again(again)
                case CurveLine() as curve:
                    self._read_curve(curve)
                case End() as end:
                    self.end = end
        if not self.end:
            raise self.error("the file has no end: the job ended before it had measured all")
        planned, left = self.job.rounds, self.end.not_measured
        if self.failing or len(self.seen) + left != planned:
            raise self.error(f"{len(self.seen)} rounds and {left} left are not {planned}")

    def _pair(self, sender: int, receiver: int) -> Pair:
        if max(sender, receiver) >= self.job.ranks:
            raise self.error(f"{sender} and {receiver} are no two of {self.job.ranks} ranks")
        return sender, receiver

    def _receivers(self, row: Round) -> dict[int, int]:
        """Return sender -> receiver of a round; inside of the nodes each is its own."""
        count = self.job.ranks
        if (row.to is None) != (self.job.schedule == "shifts" or not row.number):
            raise self.error("chosen pairs among shifts, or a shift among chosen pairs")
        if row.to is None:
            if row.number >= count:
                raise self.error(f"no shift of {count} ranks by {row.number}")
            return {rank: (rank + row.number) % count for rank in range(count)}
        found = dict(
            self._pair(rank, receiver) for rank, receiver in enumerate(row.to) if receiver != -1
        )
        if any(rank == receiver for rank, receiver in found.items()):
            raise self.error("a rank sends to itself")
        if len(row.to) != count or len({*found.values()}) < len(found) or min(row.to) < -1:
            raise self.error("a rank receives twice in this round, or there is no such rank")
        return found

    def _read_round(self, row: Round) -> None:
        """Take the values of a round, all of it or what failed, and why others are missing."""
        receivers = self._receivers(row)
        if _EXPONENT.search(self.line):
            raise self.error("a number with an exponent, which patterns prints in no round")
        if any(receivers.get(sender) != receiver for sender, receiver in self.failing):
            raise self.error("a pair failed that is not of this round")
        for quantity, name in _FIELDS.items():
            self._check_values(quantity, getattr(row, name), receivers)
        senders, to = [*receivers], [*receivers.values()]
        if not row.number:
            if self.inside or self.seen:
                raise self.error("what was measured inside stands twice, or after a round")
            self.inside = True
        elif row.number in self.seen:
            raise self.error(f"a second round {row.number}")
        elif self.rounds[senders, to].any():
            raise self.error("a pair is in two rounds")
        else:
            self.rounds[senders, to] = row.number
            self.seen.add(row.number)
        for quantity, name in _FIELDS.items():
            values = getattr(row, name)
            self.values[quantity][senders, to] = [values[sender] for sender in senders]
        self.failed |= self.failing
        self.failing = {}

    def _check_values(
        self, quantity: str, values: tuple[float | None, ...], receivers: dict[int, int]
    ) -> None:
        if len(values) != self.job.ranks:
            raise self.error(f"{len(values)} values of {self.job.ranks} ranks: {quantity}")
        for rank, value in enumerate(values):
            if value is not None and rank not in receivers:
                raise self.error(f"{quantity} of rank {rank}, which sends nothing in this round")
            if value is None and rank in receivers and (rank, receivers[rank]) not in self.failing:
                raise self.error(f"no {quantity} of rank {rank}, and no line says why")

    def _read_again(self, row: Again) -> None:
        """Take the values of a pair that was measured alone."""
        pair = self._pair(row.sender, row.receiver)
        values = {quantity: getattr(row, name) for quantity, name in _FIELDS.items()}
        if self.failing:
            raise self.error("a round before it has no end")
        if row.why and {*values.values()} == {None}:
            self.failed.setdefault(pair, f"alone: {row.why}")
            return
        self.check_numbers()
        if row.why or None in values.values():
            raise self.error("neither all values nor only why there are none")
        if pair in self.again["latency"]:
            raise self.error("this was measured again before")
        if pair[0] == pair[1] and (not self.inside or row.because == "control"):
            raise self.error("inside of a node again, and not before")
        for quantity, value in values.items():
            self.again[quantity][pair] = value
        if row.because == "control":
            self.controls.add(pair)

    def _read_curve(self, row: CurveLine) -> None:
        """Take a curve of a pair that was measured alone before."""
        pair = self._pair(row.sender, row.receiver)
        if self.failing or pair[0] == pair[1]:
            raise self.error("a curve within a round, or of a node with itself")
        lists = row.bytes, row.time_us, row.late_us
        if row.why and not any(lists):
            self.failed.setdefault(pair, f"alone: {row.why}")
            return
        if row.why or not row.bytes or len({*map(len, lists)}) > 1:
            raise self.error("neither a time of each size nor only why there is none")
        if [*row.bytes] != sorted({*row.bytes}) or row.bytes[-1] > self.job.bytes:
            raise self.error("sizes that are not in their order, or above that of the job")
        if any(late < time for time, late in zip(row.time_us, row.late_us, strict=True)):
            raise self.error("a 99th percentile below the median")
        others = next(iter(self.curves.values()), None)
        if others and row.bytes != others[0].sizes:
            raise self.error("other sizes than the curves before")
        known = self.again["latency"].keys() | self.failed.keys()
        if pair not in known or (pair in self.controls) != (row.because == "control"):
            raise self.error("a curve of a pair that was not measured again as this")
        curve = Curve(row.bytes, row.time_us, row.late_us, row.overhead_us)
        self.curves.setdefault(pair, []).append(curve)

    def _matrix(self) -> PairMatrix:
        """Return what was read, with that of the nodes inside apart from that of their pairs."""
        inside = Inside(
            {INSIDE[name]: values.diagonal().copy() for name, values in self.values.items()}
            if self.inside
            else {},
            {INSIDE[quantity]: _inside(again) for quantity, again in self.again.items()},
            _inside(self.failed),
        )
        for values in self.values.values():
            values[range(self.job.ranks), range(self.job.ranks)] = float("nan")
        again = {quantity: _between(again) for quantity, again in self.again.items()}
        return PairMatrix(
            self.job.nodes,
            self.values,
            self.rounds,
            {quantity: values for quantity, values in again.items() if values},
            frozenset(self.controls),
            _between(self.failed),
            self.end.not_again if self.end else 0,
            inside,
            {pair: tuple(curves) for pair, curves in self.curves.items()},
        )


def middle(parts: Sequence[PairMatrix]) -> tuple[PairMatrix, int]:
    """Return what the same nodes measured in several passes: of each value the median.

    With it comes in how many passes each pair was, at least. A pair is a control as long as no pass
    suspected it. Raises ValueError where the nodes are others, or in another order.
    """
    import numpy as np

    if not parts:
        raise ValueError("no pass left what it measured")
    first = parts[0]
    if any(part.nodes != first.nodes for part in parts):
        raise ValueError("the nodes are others than in the first pass, or in another order")
    times = np.sum([part.rounds > 0 for part in parts], axis=0)
    suspects = {
        pair for part in parts for of in part.again.values() for pair in {*of} - part.controls
    }
    matrix = PairMatrix(
        first.nodes,
        _middle_of_all([part.values for part in parts]),
        np.max([part.rounds for part in parts], axis=0),
        _middle_of_each([part.again for part in parts]),
        frozenset[Pair]().union(*(part.controls for part in parts)) - suspects,
        {pair: why for part in parts for pair, why in part.failed.items()},
        sum(part.not_again for part in parts),
        Inside(
            _middle_of_all([part.inside.values for part in parts]),
            _middle_of_each([part.inside.again for part in parts]),
            {node: why for part in parts for node, why in part.inside.failed.items()},
        ),
        {
            pair: tuple(curve for part in parts for curve in part.curves.get(pair, ()))
            for pair in dict.fromkeys(pair for part in parts for pair in part.curves)
        },
    )
    return matrix, int(times[times > 0].min(initial=len(parts)))


def _middle_of_all(
    parts: Sequence[Mapping[str, NDArray[np.float64]]],
) -> dict[str, NDArray[np.float64]]:
    """Return the median of each value, of the passes that have it; NaN where none has."""
    import numpy as np

    found = {}
    for name in dict.fromkeys(name for part in parts for name in part):
        each = np.array([part[name] for part in parts if name in part])
        found[name] = np.full(each.shape[1:], np.nan)
        has = np.isfinite(each).any(axis=0)
        found[name][has] = np.nanmedian(each[:, has], axis=0)
    return found


def _middle_of_each(
    parts: Sequence[Mapping[str, Mapping[_K, float]]],
) -> dict[str, dict[_K, float]]:
    """Return the same of what was measured again, of the passes that did."""
    found: dict[str, dict[_K, list[float]]] = {}
    for part in parts:
        for name, of in part.items():
            for key, value in of.items():
                found.setdefault(name, {}).setdefault(key, []).append(value)
    return {
        name: {key: statistics.median(values) for key, values in of.items()}
        for name, of in found.items()
    }


def _inside(pairs: Mapping[Pair, _T]) -> dict[int, _T]:
    return {i: value for (i, j), value in pairs.items() if i == j}


def _between(pairs: Mapping[Pair, _T]) -> dict[Pair, _T]:
    return {(i, j): value for (i, j), value in pairs.items() if i != j}

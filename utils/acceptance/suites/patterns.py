"""Communication patterns: a row for each pattern that the program `patterns` runs.

Its sources are `checks/src/patterns/`; it is compiled with the MPI of each environment. Source of
the patterns: Fatoohi et al. 2006, Sections 3.1 to 3.3.

The form of its output, a record of JSON in each line (but here the longest ones)::

    {"type":"run","version":"1.0","pattern":"aapc","ranks":2,"mpi":"Open MPI v4.1.4",
     "mpi_standard":"3.1"}
    {"type":"options","time":5,"warmup":3,"seed":1,"sizes":[8,1024],"phases":0,"repeat":3}
    {"type":"plan","memory_B":2080,"expected_s":0.04}
    {"type":"phase","size_B":8,"phase":1,...,"mean_MBps":31.0895,...}
    {"type":"end"}

What stands before the run and after the end is not of the program. MB are 10^6 bytes.
"""

import hashlib
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from acceptance.core.errors import ParseError
from acceptance.core.paths import INSTALLED, ROOT
from acceptance.core.records import Measured as Positive
from acceptance.core.records import Text, Whole
from acceptance.core.words import keyed, sized
from acceptance.suites import all_pairs, detours, loaded
from acceptance.suites.output import (
    BEGIN,
    Count,
    End,
    LineReader,
    Plan,
    Record,
    Run,
)
from acceptance.suites.records import WHEELS, Benchmark, Column, Suite

PROGRAM = "patterns"
SOURCES = ROOT / "checks/src/patterns"

LATENCY = Column("latency_us", "latency", "us")
BANDWIDTH = Column("bandwidth_MBps", "bandwidth", "MB/s")
#: Of all streams of a phase: the mean, the slowest and the fastest one.
DENSE = (
    Column("mean_MBps", "bandwidth", "MB/s"),
    Column("min_MBps", "bandwidth_min", "MB/s"),
    Column("max_MBps", "bandwidth_max", "MB/s"),
)
#: How the values of a column become one of several phases.
_OVER_PHASES: dict[str, Callable[[list[float]], float]] = {
    "mean_MBps": lambda values: sum(values) / len(values),
    "min_MBps": min,
    "max_MBps": max,
}
#: Columns of Table 1, in its order, with the patterns that they are of.
_RINGS, _ALL = {"pattern": "rings"}, {"pattern": "rings+random"}
TABLE_1: tuple[tuple[Column, Mapping[str, str]], ...] = (
    (Column("b_eff_MBps", "b_eff", "MB/s"), {}),
    (Column("per_process_MBps", "b_eff_per_process", "MB/s"), {}),
    (Column("at_lmax_MBps", "bandwidth_lmax", "MB/s"), _ALL),
    (Column("at_lmax_per_process_MBps", "bandwidth_lmax_per_process", "MB/s"), _ALL),
    (Column("at_lmax_rings_MBps", "bandwidth_lmax", "MB/s"), _RINGS),
    (Column("at_lmax_rings_per_process_MBps", "bandwidth_lmax_per_process", "MB/s"), _RINGS),
    (Column("ping_pong_MBps", "bandwidth_pingpong", "MB/s"), {}),
    (Column("latency_us", "latency_pingpong", "us"), {}),
)
#: Message sizes (bytes) of the dense patterns, and of the ping-pong over distances.
DENSE_SIZES = (8, 1024, 3072, 16384, 131072, 1048576)
DISTANCE_SIZES = (8, 1024, 8192, 65536, 131072, 1048576, 2097152, 4194304)
#: More phases than these are not run, but so many, evenly spread: an odd number has the middle one.
MOST_PHASES = 511

Metrics = dict[str, tuple[float | None, str]]


@dataclass(frozen=True)
class Pattern(Benchmark):
    """A pattern: what the program calls it.

    `phases` is the key by which groups of phases are told apart; empty: they are not.
    """

    program: str = field(kw_only=True)
    since_mode: Literal["smoke", "nightly", "acceptance"] = field(default="smoke", kw_only=True)
    phases: str = field(default="", kw_only=True)

    @property
    def stems(self) -> tuple[str, ...]:
        """Return the stems of the metrics."""
        stems = dict.fromkeys(column.stem for column in self.columns)
        return (*stems, "bandwidth_peak") if self.name == "distance" else (*stems,)


# In each phase a stream is one way of a pair.
_dense = partial(Pattern, columns=DENSE, sizes=DENSE_SIZES, pair_bandwidth="bandwidth")

_ROWS = (
    _dense("aapc", program="aapc", phases="pattern"),
    _dense("simple_pairwise", program="simple-pairwise", phases="pattern"),
    _dense("cumulative_pairwise", program="cumulative-pairwise", phases="pairs"),
    _dense("random_pairwise", program="random-pairwise"),
    Pattern("b_eff", tuple(column for column, _ in TABLE_1), program="b-eff", sized=False,
            pair_bandwidth="bandwidth_pingpong", pair_latency="latency_pingpong", pair_size=1),
    # One message at a time, as IMB's PingPong.
    Pattern("distance", (LATENCY, BANDWIDTH), program="distance", sizes=DISTANCE_SIZES,
            point_to_point=True, pair_bandwidth="bandwidth", pair_latency="latency"),
)  # fmt: skip

#: Name -> benchmark.
BENCHMARKS = {row.name: row for row in _ROWS}


#: The suite.
SUITE = Suite(
    "patterns",
    "Communication patterns",
    (PROGRAM,),
    f"a C compiler (Debian: gcc libc6-dev) and an MPI with mpicc ({WHEELS}; or Debian: "
    f"openmpi-bin libopenmpi-dev), then {'run them' if INSTALLED else 'make run'}",
    {f"patterns.{name}": row for name, row in BENCHMARKS.items()},
    further={
        "all_pairs": {f"patterns.{name}": row for name, row in all_pairs.BENCHMARKS.items()},
        "detours": {f"patterns.{name}": row for name, row in detours.BENCHMARKS.items()},
        "loaded": {f"patterns.{name}": row for name, row in loaded.BENCHMARKS.items()},
    },
    compiler="mpicc",
)


class Options(Record, tag="options", frozen=True):
    """The options in force, as the program calls them; None: the pattern has no such option."""

    time: Positive
    warmup: Count
    seed: Count
    sizes: tuple[Whole, ...] | None = None
    phases: Count | None = None
    repeat: Whole | None = None
    lmax: Whole | None = None
    random: Whole | None = None


class _Timed(Record, frozen=True):
    """A row: so many messages of a size, and the time of a loop of them."""

    size_B: Whole
    repetitions: Whole
    loop_us: Positive


class Phase(_Timed, tag="phase", frozen=True):
    """The rates of the streams of a phase of a dense pattern."""

    KEYS = ("size_B", "phase")

    phase: Whole
    distance: Positive
    streams: Whole
    waiting: Count
    min_MBps: Positive
    mean_MBps: Positive
    max_MBps: Positive
    slowest_from: Count
    slowest_to: Count


class Distance(_Timed, tag="distance", frozen=True):
    """The ping-pong of rank 0 with the rank at a distance."""

    KEYS = ("size_B", "distance")

    distance: Whole
    latency_us: Positive
    bandwidth_MBps: Positive


class Rate(_Timed, tag="rate", frozen=True):
    """What b_eff measured of all ranks together, by one method."""

    KEYS = ("pattern", "size_B", "method")

    pattern: Count
    method: Text
    rate_MBps: Positive


class Summary(Record, tag="summary", frozen=True):
    """The averages of b_eff over its rates, and the ping-pong of ranks 0 and 1."""

    KEYS = ("processes",)

    processes: Whole
    b_eff_MBps: Positive
    per_process_MBps: Positive
    at_lmax_MBps: Positive
    at_lmax_per_process_MBps: Positive
    at_lmax_rings_MBps: Positive
    at_lmax_rings_per_process_MBps: Positive
    ping_pong_MBps: Positive
    latency_us: Positive


Row = Phase | Distance | Rate | Summary
_DECODER = msgspec.json.Decoder(Run | Options | Plan | Row | End)
#: No loop is timed that is shorter, us, unless shorter ones were asked for (of a simulation).
SHORTEST_LOOP = 1000.0
#: What rounding to nine digits, and a loop to 1 ns, make of a value at most, as a share.
_ROUNDED = 1e-8
#: The first so many patterns of b_eff are rings, the others random.
_RING_PATTERNS = 6


def parse(
    text: str, source: str = "stdout", *, pattern: str | None = None, ranks: int | None = None
) -> "Output":
    """Read the complete output of one run; `pattern` and `ranks` are what was asked for, if known.

    Raises ParseError, with the line, for anything but a complete and consistent output.
    """
    output = Output(text, source)
    output.benchmark, output.ranks = pattern or "", ranks
    for line in output.lines():
        output.read_line(line)
    output.check_whole()
    return output


class Output(LineReader):
    """A whole run: what was asked for, and the rows."""

    suite = "patterns"

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.ranks: int | None = None
        self.head: dict[type, Any] = {}
        #: Kind and key -> row.
        self.by_key: dict[tuple[Any, ...], Row] = {}

    @property
    def run(self) -> Run:
        """Return what ran."""
        return self.head[Run]  # type: ignore[no-any-return]

    @property
    def options(self) -> Options:
        """Return what was asked for."""
        return self.head[Options]  # type: ignore[no-any-return]

    @property
    def rows(self) -> list[Row]:
        """Return the rows in their order."""
        return [*self.by_key.values()]

    def read_line(self, line: str) -> None:
        """Read a line, if it is one of the program."""
        if line.startswith(BEGIN):
            if self.head:
                raise self.error("a second output begins")
        elif End in self.head or not self.head:
            return
        record = self.record(_DECODER)
        self.check_numbers()
        kind = type(record)
        if record.KEYS:
            self._read_row(record)
        elif kind in self.head or (self.by_key and kind is not End):
            raise self.error(f"{kind.__name__.lower()} stands twice, or after a row")
        else:
            self.head[kind] = record
            if kind is Run:
                self.check_run(record, self.ranks)

    def _read_row(self, row: Row) -> None:
        if Options not in self.head:
            raise self.error("a row before the options")
        key = type(row), *row.key
        if key in self.by_key:
            raise self.error(f"a second row of {_text(key)}")
        if isinstance(row, Summary):
            self.check_summary(row)
        else:
            self.check_row(row)
        self.by_key[key] = row

    def check_row(self, row: Phase | Distance | Rate) -> None:
        """Compare the values of a row with each other, as far as one follows from another."""
        # A loop is a difference of two times: 1 ns.
        if row.loop_us < min(SHORTEST_LOOP, 1000 * self.options.time) - 1e-3:
            raise self.error(f"a timed loop of {row.loop_us:g} us, which is too short")
        # Of one message a repetition in the shortest loop of any rank.
        most, ranks = row.size_B * row.repetitions / row.loop_us, self.run.ranks
        if isinstance(row, Phase):
            # A stream is one way of a pair; of a pair that exchanges it is one of both.
            if not row.streams + row.waiting <= ranks <= 2 * row.streams + row.waiting:
                raise self.error(f"streams and ranks that wait are not those of {ranks} ranks")
            if row.slowest_from == row.slowest_to or max(row.slowest_from, row.slowest_to) >= ranks:
                raise self.error("the slowest stream is of no two ranks")
            self.check_average(row.min_MBps, row.mean_MBps, row.max_MBps, row.streams, slack=0)
            self._check_value("max_MBps", row.max_MBps, 0, most)
        elif isinstance(row, Distance):
            bandwidth = row.size_B / row.latency_us
            self._check_value("bandwidth_MBps", row.bandwidth_MBps, bandwidth, bandwidth)
            # There and back, of which one way is told.
            self._check_value("bandwidth_MBps", row.bandwidth_MBps, 0, 2 * most)
        else:
            # Each rank sends to two neighbours.
            self._check_value("rate_MBps", row.rate_MBps, 0, 2 * ranks * most)

    def _check_value(self, name: str, value: float, low: float, high: float) -> None:
        if not low * (1 - _ROUNDED) <= value <= high * (1 + _ROUNDED):
            raise self.error(f"{name} {value:.9g} is not in {low:.9g} to {high:.9g} as others say")

    def check_summary(self, row: Summary) -> None:
        """Compare the averages of b_eff with the rates of which `beff.c` makes them."""
        best: dict[int, dict[int, float]] = {}
        for rate in self.by_key.values():
            if isinstance(rate, Rate):
                sizes = best.setdefault(rate.pattern, {})
                sizes[rate.size_B] = max(rate.rate_MBps, sizes.get(rate.size_B, 0))
        if len(best) <= _RING_PATTERNS:
            raise self.error("no rates of all rings and of random patterns before the summary")
        means = [math.fsum(best[k].values()) / len(best[k]) for k in sorted(best)]
        largest = [best[k][max(best[k])] for k in sorted(best)]
        for name, value in {
            "b_eff_MBps": _of_both(means),
            "at_lmax_MBps": _of_both(largest),
            "at_lmax_rings_MBps": _average(largest[:_RING_PATTERNS]),
        }.items():
            each = name.removeprefix("b_eff_").replace("MBps", "per_process_MBps")
            self._check_value(name, getattr(row, name), value, value)
            part = value / row.processes
            self._check_value(each, getattr(row, each), part, part)

    def check_whole(self) -> None:
        """Refuse an output of which a part is missing."""
        self.stand()
        if not self.head:
            raise self.error('this is no output of patterns: no line {"type":"run"...')
        if End not in self.head:
            raise self.error("the output ends without its end: the program did not finish")
        if not self.by_key:
            raise self.error("the output has no rows")
        for kind in {type(row) for row in self.rows}:
            values = zip(*(key[1:] for key in self.by_key if key[0] is kind), strict=True)
            for rest in itertools.product(*({*column} for column in values)):
                if (kind, *rest) not in self.by_key:
                    raise self.error(f"no row of {_text((kind, *rest))}")


def _text(key: tuple[Any, ...]) -> str:
    kind, *values = key
    words = (f"{name} {value}" for name, value in zip(kind.KEYS, values, strict=True))
    return ", ".join(words)


def _average(rates: list[float]) -> float:
    """Return the logarithmic average."""
    return math.exp(math.fsum(map(math.log, rates)) / len(rates))


def _of_both(rates: list[float]) -> float:
    """Return the average of rings and of random patterns, which count alike."""
    return _average([_average(rates[:_RING_PATTERNS]), _average(rates[_RING_PATTERNS:])])


def metrics(
    row: Pattern, processes: int, output: Output | None = None, source: str = "stdout"
) -> Metrics:
    """Return metric -> (value, unit) of a run, which has all that were asked for.

    Without an output the values are None: what a run will measure. Raises ParseError where a row
    is missing.
    """
    kind = {"b_eff": Summary, "distance": Distance}.get(row.name, Phase)
    rows = {each.key: each for each in output.rows if isinstance(each, kind)} if output else {}
    found: Metrics = {}
    for name, column, keys, one_of in _asked(row, processes):
        try:
            value = one_of([getattr(rows[key], column.name) for key in keys]) if output else None
        except KeyError as err:
            what = f"the output has no row of {err.args[0]}"
            raise ParseError(source, what, benchmark=row.program) from None
        found[name] = value, column.unit
    return found


#: A metric, its column, the keys of the rows that it is of, and how their values become one.
_Asked = tuple[str, Column, Sequence[tuple[int, ...]], Callable[[list[float]], float]]


def _asked(row: Pattern, processes: int) -> Iterator[_Asked]:
    """Yield the metrics of a run; the first one is the figure of the case."""
    if row.name == "b_eff":
        for column, keys in TABLE_1:
            yield keyed(column.stem, keys), column, [(processes,)], max
    elif row.name == "distance":
        for distance in distances(processes):
            places: dict[int, tuple[int, ...]] = {size: (size, distance) for size in row.sizes}
            for column in row.columns:
                for size, place in places.items():
                    name = keyed(column.stem, {"distance": distance})
                    yield sized(name, size), column, [place], max
            peak = keyed("bandwidth_peak", {"distance": distance})
            yield peak, BANDWIDTH, [*places.values()], max
    else:
        for group, phases in groups(row, processes):
            for column in row.columns:
                for size in reversed(row.sizes):
                    name = sized(keyed(column.stem, group), size)
                    keys_of = [(size, phase) for phase in phases]
                    yield name, column, keys_of, _OVER_PHASES[column.name]


def distances(processes: int) -> list[int]:
    """Return the distances of the ping-pong: 1, 2, 4, ... and the farthest rank."""
    powers = [2**n for n in range(processes.bit_length()) if 2**n < processes - 1]
    return [*powers, processes - 1]


def phases(row: Pattern, processes: int) -> list[int]:
    """Return the phases that are run: of very many an odd number, evenly spread."""
    total = processes // 2 if row.phases == "pairs" else processes - 1
    if total <= MOST_PHASES:
        return [*range(1, total + 1)]
    steps = MOST_PHASES - 1
    return [1 + (k * (total - 1) + steps // 2) // steps for k in range(MOST_PHASES)]


def groups(row: Pattern, processes: int) -> Iterator[tuple[dict[str, object], list[int]]]:
    """Yield the groups of phases whose rates are metrics: their keys, and the phases.

    By `pairs`: the phases with 1, 2, 4, ... pairs at once, and with all. By `pattern`: all phases
    together, without a key; then those of the nearest distance on the ring of ranks (the first
    phase and the last), the second phase, the farthest distance (in the middle), and all between.
    """
    run = phases(row, processes)
    if row.phases == "pairs":
        for pairs in sorted({number for number in run if number.bit_count() == 1} | {run[-1]}):
            yield {"pairs": pairs}, [pairs]
        return
    yield {}, run
    distance = {phase: min(phase, processes - phase) for phase in run}
    near, far = min(distance.values()), max(distance.values())
    if row.phases != "pattern" or near == far:
        return
    for name, chosen in (
        ("nearest", [phase for phase in run if distance[phase] == near]),
        ("second-phase", [phase for phase in run if phase == 2]),
        ("middle", [phase for phase in run if near < distance[phase] < far]),
        ("farthest", [phase for phase in run if distance[phase] == far]),
    ):
        if chosen:
            yield {"pattern": name}, chosen


def options(row: Pattern, processes: int, mode: str, simulated: bool = False) -> list[str]:
    """Return the arguments of the program: in the mode smoke its loops are short.

    In simulated time, which has no noise, they are shorter still, and one is enough.
    """
    words = [row.program, "--seed 1"]
    if row.sizes:
        words.append(f"--sizes {','.join(map(str, row.sizes))}")
    if row.name not in ("b_eff", "distance") and len(phases(row, processes)) == MOST_PHASES:
        words.append(f"--phases {MOST_PHASES}")
    if simulated:
        words += [f"--time {SIMULATED}", "--repeat 1", *["--random 1"] * (row.name == "b_eff")]
    elif mode == "smoke":
        words.append("--time 1" if row.name == "b_eff" else "--time 2")
        words += ["--random 1", f"--repeat {FEW_REPEATS}"] if row.name == "b_eff" else []
    return words


#: Milliseconds of a loop in simulated time.
SIMULATED = 0.1
#: Repeats of b_eff, of which the fastest counts, in the mode smoke; else three.
FEW_REPEATS = 1


def checksum(folder: Path = SOURCES) -> str:
    """Return a checksum of the sources: results of others are those of another program."""
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if path.name == "Makefile" or path.suffix in (".c", ".h"):
            found.update(f"{path.name}\n".encode() + path.read_bytes())
    return found.hexdigest()[:16]

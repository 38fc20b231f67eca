"""Communication patterns: a row for each pattern that the program `patterns` runs.

Its sources are `checks/src/patterns/`; it is compiled with the MPI of each environment. Source of
the patterns: Fatoohi et al. 2006, Sections 3.1 to 3.3.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from acceptance.core.errors import ParseError
from acceptance.core.metrics import keyed, sized
from acceptance.core.paths import ROOT
from acceptance.suites.patterns.output import Output
from acceptance.suites.records import Benchmark, Column

PROGRAM = "patterns"
SOURCES = ROOT / "checks/src/patterns"

LATENCY = Column("latency", "latency", "us")
BANDWIDTH = Column("bandwidth", "bandwidth", "MB/s")
#: Of all streams of a phase: the mean, the slowest and the fastest one.
DENSE = (
    Column("mean", "bandwidth", "MB/s"),
    Column("min", "bandwidth_min", "MB/s"),
    Column("max", "bandwidth_max", "MB/s"),
)
#: How the values of a column become one of several phases.
_OVER_PHASES: dict[str, Callable[[list[float]], float]] = {
    "mean": lambda values: sum(values) / len(values),
    "min": min,
    "max": max,
}
#: Columns of Table 1, in its order, with the patterns that they are of.
_RINGS, _ALL = {"pattern": "rings"}, {"pattern": "rings+random"}
TABLE_1: tuple[tuple[Column, Mapping[str, str]], ...] = (
    (Column("b_eff", "b_eff", "MB/s"), {}),
    (Column("per_process", "b_eff_per_process", "MB/s"), {}),
    (Column("at_lmax", "bandwidth_lmax", "MB/s"), _ALL),
    (Column("at_lmax_per_process", "bandwidth_lmax_per_process", "MB/s"), _ALL),
    (Column("at_lmax_rings", "bandwidth_lmax", "MB/s"), _RINGS),
    (Column("at_lmax_rings_per_process", "bandwidth_lmax_per_process", "MB/s"), _RINGS),
    (Column("ping_pong", "bandwidth_pingpong", "MB/s"), {}),
    (Column("latency", "latency_pingpong", "us"), {}),
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


def metrics(
    row: Pattern, processes: int, output: Output | None = None, source: str = "stdout"
) -> Metrics:
    """Return metric -> (value, unit) of a run, which has all that were asked for.

    Without an output the values are None: what a run will measure. Raises ParseError where a table
    or a row is missing.
    """
    try:
        return _metrics(row, processes, output)
    except KeyError as err:
        what = "the output has no table, or no row, of"
        raise ParseError(source, f"{what} {err.args[0]}", benchmark=row.program) from None


def _metrics(row: Pattern, processes: int, output: Output | None) -> Metrics:
    if row.name == "b_eff":
        summary: Mapping[str, float] = {}
        if output:
            summaries = output.tables["summary"].rows
            summary = {each["processes"]: each for each in summaries}[processes]
        return {
            keyed(column.stem, keys): (summary.get(column.name), column.unit)
            for column, keys in TABLE_1
        }
    if row.name == "distance":
        return _of_distances(row, processes, _rows(output, "distance", "distance"))
    return _of_phases(row, processes, _rows(output, "phases", "phase"))


Rows = dict[tuple[int, int], Mapping[str, float]]


def _rows(output: Output | None, table: str, key: str) -> Rows:
    """Return the rows of a table by message size and another column."""
    if output is None:
        return {}
    return {(int(row["size"]), int(row[key])): row for row in output.tables[table].rows}


def _of(rows: Rows, column: Column, size: int, numbers: list[int]) -> list[float]:
    """Return the values of a column; none where there is no output yet."""
    return [rows[size, number][column.name] for number in numbers] if rows else []


def _of_phases(row: Pattern, processes: int, rows: Rows) -> Metrics:
    found: Metrics = {}
    for keys, phases in groups(row, processes):
        for column in row.columns:
            # The first one is the figure of the case: of the largest messages.
            for size in reversed(row.sizes):
                values = _of(rows, column, size, phases)
                value = _OVER_PHASES[column.name](values) if values else None
                found[sized(keyed(column.stem, keys), size)] = value, column.unit
    return found


def _of_distances(row: Pattern, processes: int, rows: Rows) -> Metrics:
    found: Metrics = {}
    for distance in distances(processes):
        keys = {"distance": distance}
        for column in row.columns:
            for size in row.sizes:
                values = _of(rows, column, size, [distance])
                name = sized(keyed(column.stem, keys), size)
                found[name] = values[0] if values else None, column.unit
        rates = [rate for size in row.sizes for rate in _of(rows, BANDWIDTH, size, [distance])]
        found[keyed("bandwidth_peak", keys)] = max(rates, default=None), BANDWIDTH.unit
    return found


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

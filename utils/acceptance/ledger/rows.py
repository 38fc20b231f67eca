"""Sessions as ReFrame stores them, as rows of the ledger: one a metric of a case."""

import hashlib
import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from acceptance.core.findings import SHARED, observations
from acceptance.core.words import SIMULATED, better, is_measured
from acceptance.ledger import files
from acceptance.ledger.files import COLUMNS, TABLES, File
from acceptance.ledger.records import (
    PerfValue,
    Session,
    StoredCase,
    as_table,
    as_text,
    as_words,
    metric_name,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: What a run of a case is (`kind`): a sample, or why it is none. What passes when it is repeated
#: has failed nevertheless; beside another run on the machine a value says nothing.
SAMPLE, UNFIT, FIXTURE, SHARED_MACHINE, REPEATED = range(5)
#: What begins with a row (`first`): a session, a case, or nothing.
SESSION, CASE, METRIC = 2, 1, 0
#: The series of a case that has no metric.
NO_SERIES = 0
#: What of a case's provenance says which software ran; the rest says how.
SOFTWARE = (
    *("spec", "hash", "mpi", "compiler", "target", "suite", "mpi_standard", "modules"),
    SIMULATED,
)
_WAYS = {None: 0, "higher": 1, "lower": -1}
#: What returns the cases and times of samples between two times (s since the epoch).
Earlier = Callable[[float, float], set[tuple[int, float]]]

#: Table of what is written -> the columns by which it is joined with the numbers: what is of a
#: session, or of a case, stands in its first row alone.
_KEYS = {"sessions": ("number",), "cases": ("number", "run"), "metrics": ("series",)}
_JOINED = f"""
FROM numbers LEFT JOIN sessions ON sessions.number = numbers.number AND first = {SESSION}
LEFT JOIN cases ON cases.number = numbers.number AND cases.run = numbers.run AND first >= {CASE}
LEFT JOIN metrics ON metrics.series = numbers.series
"""


def software_of(provenance: Mapping[str, str], modules: object = None) -> dict[str, str]:
    """Return what was built, by the provenance of a case and its modules."""
    found = {name: str(provenance[name]) for name in SOFTWARE if provenance.get(name)}
    if isinstance(modules, list) and modules:
        found["modules"] = " ".join(map(str, modules))
    return found


def _text(data: object) -> str:
    return msgspec.json.encode(data).decode()


def hash_of(*words: object) -> int:
    """Return what stands for a case or a series wherever it is stored: 64 bits of its words."""
    made = hashlib.blake2b("\0".join(map(str, words)).encode(), digest_size=8).digest()
    return int.from_bytes(made, "little", signed=True) or 1


@dataclass(slots=True)
class _Layout:
    """What a case measured last: its metrics, in which units, their series and directions."""

    metrics: tuple[str, ...] = ()
    units: list[str] = field(default_factory=list)
    series: "array[int]" = field(default_factory=lambda: array("q"))
    ways: "array[int]" = field(default_factory=lambda: array("b"))


class _Numbers:
    """The rows of the metrics of a session, as columns."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.run, self.first, self.kind = array("i"), array("b"), array("b")
        self.case_id, self.series = array("q"), array("q")
        self.direction, self.value = array("b"), array("d")

    def add(
        self,
        run: int,
        first: int,
        kind: int,
        case_id: int,
        layout: _Layout,
        values: Sequence[float],
    ) -> None:
        """Add the metrics of a case, or a row without one."""
        count = len(values)
        self.run.extend([run] * count)
        self.first.extend([first] + [METRIC] * (count - 1))
        self.kind.extend([kind] * count)
        self.case_id.extend([case_id] * count)
        self.series.extend(layout.series)
        self.direction.extend(layout.ways)
        self.value.fromlist([*values])

    @property
    def columns(self) -> list[Any]:
        """Return the columns of the table `numbers`."""
        count = len(self.run)
        own = (self.run, self.first, self.kind, self.case_id, self.series, self.direction)
        number, row = np.full(count, self.number, np.int32), np.arange(count, dtype=np.int32)
        return [number, row, *map(np.array, own), np.array(self.value)]


class Batch:
    """The rows of sessions that follow one another, until they are written."""

    def __init__(self, earlier: Earlier, latest: float) -> None:
        """`latest` is when the newest sample so far was measured, `earlier` finds older ones."""
        self.earlier, self.latest = earlier, latest
        #: Of what was measured once, as long as the same is measured again.
        self.layouts: dict[int, _Layout] = {}
        self.ways: dict[int, int] = {}
        self.metrics: dict[int, tuple[str, str]] = {}
        self.clear()

    def clear(self) -> None:
        """Begin without rows."""
        self.sessions: list[tuple[Any, ...]] = []
        self.blobs: list[tuple[int, bytes]] = []
        self.cases: list[tuple[Any, ...]] = []
        self.numbers: list[_Numbers] = []
        self.times: set[tuple[int, float]] = set()
        self.bytes = 0

    @property
    def rows(self) -> int:
        """Count the rows."""
        return sum(len(numbers.run) for numbers in self.numbers)

    def add(
        self, number: int, uuid: str, info: Session, cases: Iterable[StoredCase], blob: bytes
    ) -> None:
        """Add a session; raises what msgspec and Python do for one that is malformed.

        Nothing of such a session is added.
        """
        f"{uuid} {info.host} {info.command} {info.label}".encode()  # what is no text is malformed
        numbers, times = _Numbers(number), {*self.times}
        taken = _Session(self, info, numbers, times).take([*cases])
        self.times = times
        self.cases += taken
        self.numbers.append(numbers)
        self.bytes += len(blob)
        self.blobs.append((number, blob))
        self.sessions.append(
            (
                *(number, uuid, info.start, info.end, info.host),
                *(info.command, info.label, bool(info.aborted)),
                hashlib.sha256(blob).hexdigest(),
            )
        )

    def write(self, folder: Path) -> File:
        """Write the sessions into a file of a ledger; raises duckdb.Error or OSError."""
        metrics = [(series, *words) for series, words in self.metrics.items()]
        numbers = zip(*(each.columns for each in self.numbers), strict=True)
        shown = {name: f'{table}."{name}"' for table, names in TABLES.items() for name in names}
        shown["value"] = "nullif(value, 'nan'::DOUBLE)"
        shown["direction"] = "CASE direction WHEN 1 THEN 'higher' WHEN -1 THEN 'lower' END"
        columns = ", ".join(f'{what}::{COLUMNS[name]} AS "{name}"' for name, what in shown.items())
        first, last = self.sessions[0][0], self.sessions[-1][0]
        with files.database().cursor() as connection:
            _register(connection, "numbers", (*TABLES["numbers"],), map(np.concatenate, numbers))
            tables = {"sessions": self.sessions, "cases": self.cases, "metrics": metrics}
            for table, found in tables.items():
                names = *_KEYS[table], *TABLES[table]
                of_rows = [*zip(*found, strict=True)] or [()] * len(names)
                _register(connection, table, names, (np.array(each, object) for each in of_rows))
            connection.execute("CREATE TEMP TABLE blobs(number INTEGER, json BLOB)")
            connection.executemany("INSERT INTO blobs VALUES(?, ?)", self.blobs)
            # What has rows has its JSON.
            files.write(connection, "SELECT * FROM blobs", folder / "json", first, last)
            return files.write(connection, f"SELECT {columns} {_JOINED}", folder, first, last)


def _register(
    connection: "DuckDBPyConnection", table: str, names: Sequence[str], arrays: Iterable[Any]
) -> None:
    connection.register(table, dict(zip(names, arrays, strict=True)))


@dataclass
class _Session:
    """Makes the rows of one session."""

    batch: Batch
    info: Session
    numbers: _Numbers
    times: set[tuple[int, float]]
    unfit: set[tuple[str, str, str, str]] = field(default_factory=set)
    repeated: set[tuple[int, float]] = field(default_factory=set)

    def take(self, cases: Sequence[StoredCase]) -> list[tuple[Any, ...]]:
        """Return the rows of the cases; what they measured goes into `numbers`."""
        self.repeated = self._measured_before(cases)
        found = [self._case(run, case) for run, case in enumerate(cases)]
        if cases:
            self.numbers.first[0] = SESSION
        else:
            self.numbers.add(-1, SESSION, FIXTURE, NO_SERIES, _NOTHING, [math.nan])
        return found

    def _measured_before(self, cases: Iterable[StoredCase]) -> set[tuple[int, float]]:
        """Return (case, time) of those samples of sessions before that may be here again."""
        times = [
            case.job_completion_time_unix
            for case in cases
            if case.result == "pass" and case.job_completion_time_unix is not None
        ]
        latest = self.batch.latest
        self.batch.latest = max([latest, *times])
        if not times or min(times) > latest:
            return set()
        return {*self.batch.earlier(min(times), max(times)), *self.times}

    def _case(self, run: int, data: StoredCase) -> tuple[Any, ...]:
        name = (data.system, data.partition, data.environ, data.display_name or data.name)
        keys = _text(sorted(as_table(data.keys).items()))
        case_id = hash_of(*name, keys)
        logged = data.job_completion_time_unix
        time = self.info.end if logged is None else logged
        found = observations(data.findings)
        kind = SAMPLE
        if data.result != "pass" or name in self.unfit:
            kind = UNFIT
            self.unfit.add(name)
        elif data.fixture:
            kind = FIXTURE
        elif any(each.kind == SHARED for each in found):
            kind = SHARED_MACHINE
            self.unfit.add(name)
        elif logged is not None:
            kind = REPEATED if (case_id, time) in self.repeated else SAMPLE
            self.repeated.add((case_id, time))
            self.times.add((case_id, time))
        self._values(run, kind, case_id, data.perfvalues or {})
        words = (as_text(data.suite), as_text(data.benchmark_name))
        f"{words} {data.result}".encode()
        texts = (
            software_of(as_table(data.provenance), data.modules),
            as_words(data.job_nodelist),
            [each.text for each in found if not each.fails],
        )
        return (
            *(self.numbers.number, run, *name, keys, *words, data.plain, data.result, time),
            *map(_text, texts),
        )

    def _values(self, run: int, kind: int, case_id: int, perfvalues: dict[str, PerfValue]) -> None:
        """Add what a case measured, by `system:partition:metric`."""
        # None: of a case that failed before its metrics were read.
        there = {key: each for key, each in perfvalues.items() if each.value is not None}
        layout = self._layout(case_id, there) if there else _NOTHING
        values = [each.value for each in there.values()] or [math.nan]
        if {*map(type, values)} != {float} or not (min(values) > 0 and sum(values) < math.inf):
            values = [value if is_measured(value) else math.nan for value in values]
        self.numbers.add(run, CASE, kind, case_id, layout, values)

    def _layout(self, case_id: int, perfvalues: dict[str, PerfValue]) -> _Layout:
        """Return which series these are: mostly those of the case in the session before."""
        known = self.batch.layouts.get(case_id)
        units = [each.unit or "" for each in perfvalues.values()]
        same = known and known.metrics == tuple(perfvalues) and known.units == units
        # Once it is known which way is better of each, nothing of it changes.
        if known and same and 0 not in known.ways:
            return known
        layout = _Layout(tuple(perfvalues), units)
        for (key, data), unit in zip(perfvalues.items(), units, strict=True):
            metric = metric_name(key)
            series = hash_of(case_id, metric, unit)
            way = self.batch.ways.get(series, 0)
            if not way:
                way = _WAYS[better(unit, data.lower, data.upper)]
                self.batch.ways[series] = way
            layout.series.append(series)
            layout.ways.append(way)
            self.batch.metrics[series] = metric, unit
        self.batch.layouts[case_id] = layout
        return layout


#: What a case without a metric, and a session without a case, have instead.
_NOTHING = _Layout(series=array("q", [NO_SERIES]), ways=array("b", [0]))

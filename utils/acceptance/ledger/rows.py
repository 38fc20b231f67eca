"""Sessions as ReFrame stores them, as rows of the ledger: one a metric of a case."""

import hashlib
import math
from array import array
from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

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
    *("image", "easybuild"),
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


@lru_cache(maxsize=100_000)
def hash_of(*words: object) -> int:
    """Return what stands for a case or a series wherever it is stored: 64 bits of its words."""
    made = hashlib.blake2b("\0".join(map(str, words)).encode(), digest_size=8).digest()
    return int.from_bytes(made, "little", signed=True) or 1


class Batch:
    """The rows of sessions that follow one another, until they are written."""

    def __init__(self, earlier: Earlier, latest: float) -> None:
        """`latest` is when the newest sample so far was measured, `earlier` finds older ones."""
        self.earlier, self.latest = earlier, latest
        #: Case, all its `system:partition:metric`, units and limits -> the series, and which way of
        #: each is better: 0 where nobody knows.
        self.alike: dict[tuple[object, ...], tuple[array[int], array[int]]] = {}
        self.metrics: dict[int, tuple[str, str]] = {}
        self.clear()

    def clear(self) -> None:
        """Begin without rows."""
        #: The JSON that is not written yet, and the bytes of that of all sessions.
        self.blobs: list[tuple[int, bytes]] = []
        self.bytes = 0
        self.sessions: list[tuple[Any, ...]] = []
        self.cases: list[tuple[Any, ...]] = []
        #: Of each run of a case its session, its number there, its case, and how many rows it is.
        self.runs: list[tuple[int, int, int, int]] = []
        self.kinds = array("b")
        self.series, self.ways, self.values = array("q"), array("b"), array("d")
        self.times: set[tuple[int, float]] = set()

    def add(
        self, number: int, uuid: str, info: Session, cases: Iterable[StoredCase], blob: bytes
    ) -> None:
        """Add a session; raises what msgspec and Python do for one that is malformed.

        Nothing of such a session is added. Its cases are asked for one after the other.
        """
        f"{uuid} {info.host} {info.command} {info.label}".encode()  # what is no text is malformed
        columns: list[MutableSequence[Any]] = [self.cases, self.runs, self.kinds]
        columns += [self.series, self.ways, self.values]
        ends = [len(column) for column in columns]
        try:
            timed = self._take(number, info, cases)
        except Exception:
            for column, end in zip(columns, ends, strict=True):
                del column[end:]
            raise
        self._mark_repeated(timed)
        self.bytes += len(blob)
        self.blobs.append((number, blob))
        of_run = (info.start, info.end, info.host, info.command, info.label, bool(info.aborted))
        self.sessions.append((number, uuid, *of_run, hashlib.sha256(blob).hexdigest()))

    def _take(
        self, number: int, info: Session, cases: Iterable[StoredCase]
    ) -> list[tuple[int, int, float]]:
        """Add the rows of a session's cases; return the row, the case and the time of samples."""
        unfit: set[tuple[str, ...]] = set()
        timed: list[tuple[int, int, float]] = []
        for run, data in enumerate(cases):
            name = (data.system, data.partition, data.environ, data.display_name or data.name)
            keys = _text(sorted(as_table(data.keys).items()))
            case_id = hash_of(*name, keys)
            logged = data.job_completion_time_unix
            time = info.end if logged is None else logged
            found = observations(data.findings)
            kind = SAMPLE
            if data.result != "pass" or name in unfit:
                kind = UNFIT
                unfit.add(name)
            elif data.fixture:
                kind = FIXTURE
            elif any(each.kind == SHARED for each in found):
                kind = SHARED_MACHINE
                unfit.add(name)
            elif logged is not None:
                timed.append((len(self.runs), case_id, time))
            count = self._measured(case_id, data.perfvalues or {})
            self.runs.append((number, run, case_id, count))
            self.kinds.append(kind)
            words = (as_text(data.suite), as_text(data.benchmark_name))
            f"{' '.join(words)} {data.result}".encode()  # what is no text is malformed
            texts = (
                software_of(as_table(data.provenance), data.modules),
                as_words(data.job_nodelist),
                [each.text for each in found if not each.fails],
            )
            of_run = (keys, *words, data.plain, data.result, time, *map(_text, texts))
            self.cases.append((number, run, *name, *of_run))
        if not self.runs or self.runs[-1][0] != number:
            self.runs.append((number, -1, NO_SERIES, self._measured(NO_SERIES, {})))
            self.kinds.append(FIXTURE)
        return timed

    def _mark_repeated(self, timed: Sequence[tuple[int, int, float]]) -> None:
        """Tell which samples of a session were measured by one before it, or in it already."""
        times = [time for *_, time in timed]
        repeated: set[tuple[int, float]] = set()
        if times and min(times) <= self.latest:
            repeated = {*self.earlier(min(times), max(times)), *self.times}
        for row, case_id, time in timed:
            if (case_id, time) in repeated:
                self.kinds[row] = REPEATED
            repeated.add((case_id, time))
        self.latest = max([self.latest, *times])
        self.times.update((case_id, time) for _, case_id, time in timed)

    def _measured(self, case_id: int, perfvalues: dict[str, PerfValue]) -> int:
        """Add what a case measured, by `system:partition:metric`; return how many rows it is."""
        if any(each.value is None for each in perfvalues.values()):
            # Of a case that failed before its metrics were read.
            perfvalues = {key: each for key, each in perfvalues.items() if each.value is not None}
        values = [
            float(each.value) if is_measured(each.value) else math.nan
            for each in perfvalues.values()
        ]
        # From night to night a case has the same metrics.
        limits = [(each.unit, each.lower, each.upper) for each in perfvalues.values()]
        words = (case_id, *perfvalues, *limits)
        if (found := self.alike.get(words)) is None:
            found = self.alike[words] = self._series_of(case_id, perfvalues)
        self.series += found[0]
        self.ways += found[1]
        self.values += array("d", values or [math.nan])
        return len(values) or 1

    def _series_of(
        self, case_id: int, perfvalues: dict[str, PerfValue]
    ) -> "tuple[array[int], array[int]]":
        """Return the series of the metrics of a case, and which way of each is better."""
        series, ways = array("q"), array("b")
        for key, each in perfvalues.items():
            metric, unit = metric_name(key), each.unit or ""
            series.append(hash_of(case_id, metric, unit))
            ways.append(_WAYS[better(unit, each.lower, each.upper)])
            self.metrics[series[-1]] = metric, unit
        return series or array("q", [NO_SERIES]), ways or array("b", [0])

    def _columns(self) -> list[NDArray[Any]]:
        """Return the columns of the table `numbers`, a row for each metric."""
        number, run, case_id, counts = np.array(self.runs, np.int64).T
        number, run, case_id, kind = (
            np.repeat(column, counts) for column in (number, run, case_id, self.kinds)
        )
        row = np.arange(len(number)) - np.searchsorted(number, number)
        first = np.full(len(number), METRIC)
        first[np.cumsum(counts) - counts] = CASE
        first[row == 0] = SESSION
        of_metric = map(np.asarray, (self.series, self.ways, self.values))
        return [number, row, run, first, kind, case_id, *of_metric]

    def write_json(self, folder: Path) -> None:
        """Write the JSON of the sessions since that of others was written; raises as `write`."""
        numbers, json = zip(*self.blobs, strict=True)
        select = "SELECT number::INTEGER AS number, json::BLOB AS json FROM blobs"
        with files.database().cursor() as connection:
            _register(
                connection, "blobs", ("number", "json"), (np.array(numbers), np.array(json, object))
            )
            files.write(connection, select, folder / "json", numbers[0], numbers[-1])
        self.blobs = []

    def write(self, folder: Path) -> File:
        """Write the sessions into a file of a ledger; raises duckdb.Error or OSError."""
        if self.blobs:
            self.write_json(folder)  # what has rows has its JSON
        metrics = [(series, *words) for series, words in self.metrics.items()]
        shown = {name: f'{table}."{name}"' for table, names in TABLES.items() for name in names}
        shown["value"] = "nullif(value, 'nan'::DOUBLE)"
        shown["direction"] = "CASE direction WHEN 1 THEN 'higher' WHEN -1 THEN 'lower' END"
        columns = ", ".join(f'{what}::{COLUMNS[name]} AS "{name}"' for name, what in shown.items())
        first, last = self.sessions[0][0], self.sessions[-1][0]
        with files.database().cursor() as connection:
            _register(connection, "numbers", (*TABLES["numbers"],), self._columns())
            tables = {"sessions": self.sessions, "cases": self.cases, "metrics": metrics}
            for table, found in tables.items():
                names = *_KEYS[table], *TABLES[table]
                of_rows = [*zip(*found, strict=True)] or [()] * len(names)
                _register(connection, table, names, (np.array(each, object) for each in of_rows))
            return files.write(connection, f"SELECT {columns} {_JOINED}", folder, first, last)


def _register(
    connection: "DuckDBPyConnection", table: str, names: Sequence[str], arrays: Iterable[Any]
) -> None:
    connection.register(table, dict(zip(names, arrays, strict=True)))

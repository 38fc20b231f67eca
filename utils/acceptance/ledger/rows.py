"""Sessions as ReFrame stores them, as rows of the ledger: one a metric of a case."""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

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


class _Run(NamedTuple):
    """A run of a case in the session `number`; of each metric its series, way and value."""

    number: int
    run: int
    kind: int
    case_id: int
    measured: list[tuple[int, int, float]]


def _columns(runs: Sequence[_Run]) -> list[NDArray[Any]]:
    """Return the columns of the table `numbers`, a row for each metric."""
    *of_run, measured = zip(*runs, strict=True)
    counts = np.array([*map(len, measured)])
    number, run, kind, case_id = (np.repeat(column, counts) for column in of_run)
    row = np.arange(len(number)) - np.searchsorted(number, number)
    first = np.full(len(number), METRIC)
    first[np.cumsum(counts) - counts] = CASE
    first[row == 0] = SESSION
    of_metric = np.fromiter(chain.from_iterable(measured), "i8, i8, f8", len(number))
    of_each = (np.ascontiguousarray(of_metric[name]) for name in ("f0", "f1", "f2"))
    return [number, row, run, first, kind, case_id, *of_each]


class Batch:
    """The rows of sessions that follow one another, until they are written."""

    def __init__(self, earlier: Earlier, latest: float) -> None:
        """`latest` is when the newest sample so far was measured, `earlier` finds older ones."""
        self.earlier, self.latest = earlier, latest
        #: Case, `system:partition:metric` and unit -> series, and which way of it is better.
        self.known: dict[tuple[int, str, str | None], tuple[int, int]] = {}
        self.metrics: dict[int, tuple[str, str]] = {}
        self.clear()

    def clear(self) -> None:
        """Begin without rows."""
        self.sessions: list[tuple[Any, ...]] = []
        self.blobs: list[tuple[int, bytes]] = []
        self.cases: list[tuple[Any, ...]] = []
        self.runs: list[_Run] = []
        self.rows = 0
        self.times: set[tuple[int, float]] = set()
        self.bytes = 0

    def add(
        self, number: int, uuid: str, info: Session, cases: Iterable[StoredCase], blob: bytes
    ) -> None:
        """Add a session; raises what msgspec and Python do for one that is malformed.

        Nothing of such a session is added.
        """
        f"{uuid} {info.host} {info.command} {info.label}".encode()  # what is no text is malformed
        session = _Session(self, info, number, {*self.times})
        taken = session.take([*cases])
        self.times = session.times
        self.cases += taken
        self.runs += session.runs
        self.rows += sum(len(run.measured) for run in session.runs)
        self.bytes += len(blob)
        self.blobs.append((number, blob))
        self.sessions.append(
            (
                *(number, uuid, info.start, info.end, info.host),
                *(info.command, info.label, bool(info.aborted)),
                hashlib.sha256(blob).hexdigest(),
            )
        )

    def series_of(self, case_id: int, key: str, data: PerfValue) -> tuple[int, int]:
        """Return the series of a metric, and which way of it is better: 0 where nobody knows."""
        found = self.known.get((case_id, key, data.unit))
        if found is None:
            metric, unit = metric_name(key), data.unit or ""
            series = hash_of(case_id, metric, unit)
            self.metrics[series] = metric, unit
            found = series, _WAYS[better(unit, data.lower, data.upper)]
            # Once it is known which way is better nothing of it changes.
            if found[1]:
                self.known[case_id, key, data.unit] = found
        return found

    def write(self, folder: Path) -> File:
        """Write the sessions into a file of a ledger; raises duckdb.Error or OSError."""
        metrics = [(series, *words) for series, words in self.metrics.items()]
        shown = {name: f'{table}."{name}"' for table, names in TABLES.items() for name in names}
        shown["value"] = "nullif(value, 'nan'::DOUBLE)"
        shown["direction"] = "CASE direction WHEN 1 THEN 'higher' WHEN -1 THEN 'lower' END"
        columns = ", ".join(f'{what}::{COLUMNS[name]} AS "{name}"' for name, what in shown.items())
        first, last = self.sessions[0][0], self.sessions[-1][0]
        with files.database().cursor() as connection:
            _register(connection, "numbers", (*TABLES["numbers"],), _columns(self.runs))
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
    number: int
    times: set[tuple[int, float]]
    runs: list[_Run] = field(default_factory=list)
    unfit: set[tuple[str, str, str, str]] = field(default_factory=set)
    repeated: set[tuple[int, float]] = field(default_factory=set)

    def take(self, cases: Sequence[StoredCase]) -> list[tuple[Any, ...]]:
        """Return the rows of the cases; what they measured goes into `numbers`."""
        self.repeated = self._measured_before(cases)
        found = [self._case(run, case) for run, case in enumerate(cases)]
        if not cases:
            self.runs.append(_Run(self.number, -1, FIXTURE, NO_SERIES, [_NOTHING]))
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
            *(self.number, run, *name, keys, *words, data.plain, data.result, time),
            *map(_text, texts),
        )

    def _values(self, run: int, kind: int, case_id: int, perfvalues: dict[str, PerfValue]) -> None:
        """Add what a case measured, by `system:partition:metric`."""
        # None: of a case that failed before its metrics were read.
        measured = [
            (
                *self.batch.series_of(case_id, key, each),
                float(each.value) if is_measured(each.value) else math.nan,
            )
            for key, each in perfvalues.items()
            if each.value is not None
        ]
        self.runs.append(_Run(self.number, run, kind, case_id, measured or [_NOTHING]))


#: The series, way and value of a case without a metric, and of a session without a case.
_NOTHING = (NO_SERIES, 0, math.nan)

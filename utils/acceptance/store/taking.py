"""Sessions as ReFrame stores them, taken into the tables of the store one after the other."""

import json
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from acceptance.core.findings import SHARED, observations
from acceptance.core.words import SIMULATED, better, is_measured
from acceptance.rfm.session_schema import (
    PerfValue,
    SessionInfo,
    StoredCase,
    as_table,
    as_text,
    as_words,
    metric_name,
)
from acceptance.store.schema import FIXTURE, REPEATED, SAMPLE, SHARED_MACHINE, UNFIT, insert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: What of a case's provenance says which software ran; the rest says how.
SOFTWARE = (
    *("spec", "hash", "mpi", "compiler", "target", "suite", "mpi_standard", "modules"),
    SIMULATED,
)
#: Texts that are known again: nodes, software, findings.
KNOWN_TEXTS = 100_000


def software_of(provenance: Mapping[str, str], modules: object = None) -> dict[str, str]:
    """Return what was built, by the provenance of a case and its modules."""
    found = {name: str(provenance[name]) for name in SOFTWARE if provenance.get(name)}
    if isinstance(modules, list) and modules:
        found["modules"] = " ".join(map(str, modules))
    return found


@dataclass(slots=True)
class _Series:
    """A series as it goes on: its number, unit, and whether its direction is known."""

    number: int
    unit: str | None
    directed: bool


@dataclass(slots=True)
class _Layout:
    """Which metrics a run had, in their order, in which units, and the numbers of their series."""

    metrics: tuple[str, ...]
    units: list[str | None]
    series: "array[int]"


@dataclass(slots=True)
class _Case:
    number: int
    #: By metric and unit; and that of the last sample by `system:partition:metric`.
    series: dict[tuple[str, str | None], _Series] = field(default_factory=dict)
    newest: dict[str, _Series] = field(default_factory=dict)
    #: Of the last run whose directions were all known.
    layout: _Layout | None = None


class _Columns:
    """Rows of a table that are not written yet: lists, and arrays of numbers."""

    def __init__(self, table: str, **types: str) -> None:
        self.table, self.types = table, types
        self.clear()

    def clear(self) -> None:
        """Begin without rows."""
        self.columns: dict[str, Any] = {
            name: [] if kind == "O" else array(kind) for name, kind in self.types.items()
        }
        self.adders = [column.append for column in self.columns.values()]

    def add(self, *row: object) -> None:
        """Add a row."""
        for append, value in zip(self.adders, row, strict=True):
            append(value)

    def write(self, connection: "DuckDBPyConnection") -> None:
        """Write the rows, and begin again."""
        columns = {
            name: np.array(column) if isinstance(column, array) else column
            for name, column in self.columns.items()
        }
        insert(connection, self.table, columns)
        self.clear()


def _waiting() -> list[_Columns]:
    """Return the tables in which a session leaves rows, without any."""
    return [
        _Columns(
            "sessions", session_id="i", uuid="O", own_uuid="O", size="O", sum="O", refused="O",
            fault="O", twice="b", start_time="d", end_time="d", command="O", aborted="b",
            run_id="i",
        ),
        _Columns("texts", text_id="i", content="O"),
        _Columns(
            "names", name_id="i", system="O", partition="O", environment="O", name="O",
        ),
        _Columns(
            "cases", case_id="i", name_id="i", keys="O", suite="O", benchmark="O", plain="b",
            run_id="i",
        ),
        _Columns(
            "runs", run_id="i", session_id="i", name_id="i", case_id="i", kind="b", time="d",
            software="i", nodes="i", findings="i",
        ),
        _Columns("series", series_id="i", case_id="i", metric="O", unit="O", direction="O",
                directed="O", run_id="i"),
        _Columns("samples", series_id="i", run_id="i", value="d"),
        _Columns("impossible", series_id="i", run_id="i"),
    ]  # fmt: skip


class Taker:
    """Takes sessions into a store whose tables hold those before them."""

    def __init__(self, connection: "DuckDBPyConnection") -> None:
        self.connection = connection
        rows = connection.execute
        self.names: dict[tuple[str, str, str, str], int] = {
            row[1:]: row[0]
            for row in rows(
                "SELECT name_id, system, partition, environment, name FROM names"
            ).fetchall()
        }
        by_number: dict[int, _Case] = {}
        self.cases: dict[tuple[int, str], _Case] = {}
        for number, name, keys in rows("SELECT case_id, name_id, keys FROM cases").fetchall():
            by_number[number] = self.cases[name, keys] = _Case(number)
        self.series = 0
        for number, case, metric, unit, directed in rows(
            "SELECT series_id, case_id, metric, unit, direction IS NOT NULL FROM series"
        ).fetchall():
            by_number[case].series[metric, unit] = _Series(number, unit, directed)
            self.series = max(self.series, number + 1)
        ((self.run,),) = rows("SELECT coalesce(max(run_id) + 1, 0) FROM runs").fetchall()
        ((self.text,),) = rows("SELECT coalesce(max(text_id) + 1, 0) FROM texts").fetchall()
        # The newest ones: an older text may be stored once more.
        self.texts: dict[str, int] = dict(
            rows(
                "SELECT content, text_id FROM texts ORDER BY text_id DESC LIMIT ?", [KNOWN_TEXTS]
            ).fetchall()
        )
        #: The same by what they say: whether it is a table, and which.
        self.known: dict[tuple[tuple[Any, ...], bool], int] = {}
        #: (case, time) of samples that are not written yet.
        self.times: set[tuple[int, float]] = set()
        #: When the last one was measured.
        ((self.latest,),) = rows("SELECT coalesce(max(time), '-inf') FROM runs").fetchall()
        self.directions: list[tuple[str, int, int]] = []
        self.tables = _waiting()
        (self.sessions, self.text_rows, self.name_rows, self.case_rows, self.run_rows,
         self.series_rows, self.sample_rows, self.impossible) = self.tables  # fmt: skip

    @property
    def pending(self) -> int:
        """Count the samples that are not written yet."""
        return len(self.sample_rows.columns["value"])

    def take(self, number: int, info: SessionInfo, cases: Sequence[StoredCase]) -> None:
        """Take the cases of a session."""
        repeated = self._repeated(cases)
        unfit: set[int] = set()
        for case in cases:
            self._run(number, info, case, unfit, repeated)

    def write(self) -> None:
        """Write what was taken: all of it, or after a kill nothing."""
        execute = self.connection.execute
        execute("BEGIN")
        for table in self.tables:
            table.write(self.connection)
        for direction, run, series in self.directions:
            execute(
                "UPDATE series SET direction = ?, directed = ? WHERE series_id = ?",
                [direction, run, series],
            )
        execute("COMMIT")
        self.directions.clear()
        self.times.clear()

    def _repeated(self, cases: Iterable[StoredCase]) -> set[tuple[int, float]]:
        """Return (case, time) of those samples of sessions before that may be here again."""
        times = [
            case.job_completion_time_unix
            for case in cases
            if case.result == "pass" and case.job_completion_time_unix is not None
        ]
        if not times or min(times) > self.latest:
            self.latest = max(times, default=self.latest)
            return set()
        self.latest = max(self.latest, *times)
        found = self.connection.execute(
            "SELECT case_id, time FROM runs WHERE kind = ? AND time BETWEEN ? AND ?",
            [SAMPLE, min(times), max(times)],
        )
        return {*found.fetchall(), *self.times}

    def _run(
        self,
        session: int,
        info: SessionInfo,
        data: StoredCase,
        unfit: set[int],
        repeated: set[tuple[int, float]],
    ) -> None:
        title = data.display_name or data.name
        name = self._name((data.system, data.partition, data.environ, title))
        logged = data.job_completion_time_unix
        time = info.time_end_unix if logged is None else logged
        found = observations(data.findings)
        number, kind = -1, SAMPLE
        if data.result != "pass" or name in unfit:
            # What passes when it is repeated has failed nevertheless.
            kind = UNFIT
            unfit.add(name)
        elif data.fixture:
            kind = FIXTURE
        elif any(each.kind == SHARED for each in found):
            # A slow sample says nothing then, and a good one neither.
            kind = SHARED_MACHINE
            unfit.add(name)
        else:
            case = self._case(name, data)
            number = case.number
            if logged is not None:
                kind = REPEATED if (number, time) in repeated else SAMPLE
                repeated.add((number, time))
                self.times.add((number, time))
        provenance = as_table(data.provenance) if kind == SAMPLE else {}
        self.run_rows.add(
            self.run, session, name, number, kind, time,
            self._words(software_of(provenance, data.modules) if kind == SAMPLE else {}),
            self._words(as_words(data.job_nodelist) if kind == SAMPLE else ()),
            self._words(
                tuple(each.text for each in found if not each.fails) if kind == SAMPLE else ()
            ),
        )  # fmt: skip
        if kind == SAMPLE and data.perfvalues and not self._as_before(case, data.perfvalues):
            self._values(case, data.perfvalues)
        self.run += 1

    def _as_before(self, case: _Case, perfvalues: dict[str, PerfValue]) -> bool:
        """Add what a case measured, if it is plain numbers of what it measured before."""
        layout = case.layout
        if layout is None or layout.metrics != tuple(perfvalues):
            return False
        values = [each.value for each in perfvalues.values()]
        if {*map(type, values)} != {float} or [each.unit for each in perfvalues.values()] != (
            layout.units
        ):
            return False
        if not (min(values) > 0 and sum(values) < math.inf):  # false of NaN, too
            return False
        columns = self.sample_rows.columns
        columns["series_id"].extend(layout.series)
        columns["run_id"].extend(array("i", [self.run]) * len(values))
        columns["value"].fromlist(values)
        return True

    def _values(self, case: _Case, perfvalues: dict[str, PerfValue]) -> None:
        """Add what a case measured, by `system:partition:metric`."""
        newest, run = case.newest, self.run
        add_series, add_run, add_value = self.sample_rows.adders
        for key, data in perfvalues.items():
            value = data.value
            series = newest.get(key)
            if series is None or series.unit != data.unit:
                series = newest[key] = self._series(case, metric_name(key), data)
            if is_measured(value):
                add_series(series.number)
                add_run(run)
                add_value(value)
            elif value is not None:  # None: a case that failed before its metrics were read
                self.impossible.add(series.number, run)
            if not series.directed and (way := better(data.unit or "", data.lower, data.upper)):
                series.directed = True
                self.directions.append((way, run, series.number))
        those = [newest[key] for key in perfvalues]
        if all(each.directed for each in those):
            case.layout = _Layout(
                tuple(perfvalues),
                [each.unit for each in those],
                array("i", (each.number for each in those)),
            )

    def _name(self, words: tuple[str, str, str, str]) -> int:
        found = self.names.get(words)
        if found is None:
            " ".join(words).encode()  # what is no text is malformed
            found = self.names[words] = len(self.names)
            self.name_rows.add(found, *words)
        return found

    def _case(self, name: int, data: StoredCase) -> _Case:
        keys = json.dumps(sorted(as_table(data.keys).items()))
        case = self.cases.get((name, keys))
        if case is None:
            case = self.cases[name, keys] = _Case(len(self.cases))
            hash(tuple(as_table(data.keys).values()))  # as every case of a history is
            suite, benchmark = as_text(data.suite), as_text(data.benchmark_name)
            self.case_rows.add(case.number, name, keys, suite, benchmark, data.plain, self.run)
        return case

    def _series(self, case: _Case, metric: str, data: PerfValue) -> _Series:
        """Return the series of a metric in a unit that is not that of its last sample."""
        found = case.series.get((metric, data.unit))
        if found is None:
            f"{metric} {data.unit}".encode()
            way = better(data.unit or "", data.lower, data.upper)
            found = case.series[metric, data.unit] = _Series(self.series, data.unit, bool(way))
            directed = self.run if way else None
            self.series_rows.add(
                self.series, case.number, metric, data.unit, way, directed, self.run
            )
            self.series += 1
        return found

    def _words(self, data: dict[str, str] | tuple[str, ...]) -> int:
        """Return the number of a text that many runs share."""
        key = (tuple(data.items()), True) if isinstance(data, dict) else (data, False)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = self._text(json.dumps(data))
        return found

    def _text(self, content: str) -> int:
        found = self.texts.get(content)
        if found is None:
            found = self.texts[content] = self.text
            self.text_rows.add(found, content)
            self.text += 1
        return found

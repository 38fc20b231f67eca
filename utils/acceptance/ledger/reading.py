"""What a ledger holds up to a session, as rows and columns, for those who look at series.

`end` is the number of the first session that does not count any more, `system` leaves out what is
of others. A run of a case is known by `place`: its session's number and its own in there.
"""

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from acceptance.core.words import PREFIX
from acceptance.ledger.files import literal
from acceptance.ledger.ledger import Entry, Ledger
from acceptance.ledger.rows import (
    CASE,
    FIXTURE,
    NO_SERIES,
    REPEATED,
    SAMPLE,
    SESSION,
    SHARED_MACHINE,
    UNFIT,
)

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.signedinteger[Any]]

#: More than any number of a session.
ALL = 2**31 - 1
#: By how much the number of a session counts in a place.
SHIFT = 2**32

#: Sessions whose rows are read at once.
_AT_ONCE = 8

_PLACE = f"number::BIGINT * {SHIFT} + run"
_ROW = f"number::BIGINT * {SHIFT} + row"
_NAME = 'system, partition, environment, "check"'
_UP_TO = "number < $1 AND ($2 IS NULL OR system = $2)"
_MEASURED = f"kind = {SAMPLE} AND series <> {NO_SERIES}"


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of some series: those of a series together, in the order of their sessions.

    `series` is the number of the series in its history (`Series.number`), `value` is in its unit;
    `session` is the number of the session in the history (`PastSession.number`), `time` when the
    job was over (s since the epoch). `nodes` stands for the set of nodes that it ran on, in every
    history, and `named` has the names of each; `software` for the software, 0 where none is known.
    """

    series: Ints
    value: Floats
    session: Ints
    time: Floats
    nodes: NDArray[np.uint32]
    software: NDArray[np.uint32]
    named: Mapping[int, tuple[str, ...]]


class SampleColumns(NamedTuple):
    """Samples in the order of storing; and of each run, in their order, what it was.

    `nodes`, `software` and `findings` are JSON.
    """

    series: Ints
    run: Ints
    value: Floats
    run_id: Ints
    session: Ints
    time: Floats
    nodes: NDArray[np.object_]
    software: NDArray[np.object_]
    findings: NDArray[np.object_]


class Run(NamedTuple):
    """What became of a case in a session (UUID) that ended at a time, in s since the epoch.

    `software` is what is known of it, that of the suite as `suite`. `metrics` are (metric, unit,
    value); the value is None where nothing can have measured it.
    """

    session: str
    time: float
    system: str
    partition: str
    environment: str
    name: str
    keys: dict[str, str]
    suite: str
    benchmark: str
    result: str
    software: dict[str, str]
    metrics: list[tuple[str, str, float | None]]

    @property
    def where(self) -> str:
        """Return `system:partition+environment`, as ReFrame writes it."""
        return f"{self.system}:{self.partition}+{self.environment}"

    @property
    def passed(self) -> bool:
        """Tell whether the case passed; nothing else counts as success."""
        return self.result == "pass"


#: Tells by system, partition, suite and benchmark whether somebody asks for a case.
Wanted = Callable[[str, str, str, str], bool]


def partitions(
    ledger: Ledger, end: int, system: str | None
) -> list[tuple[int, str, str, int | None]]:
    """Return session, system, partition, and the most nodes that a passed case there took.

    That is None where no case has passed, or said so.
    """
    return ledger.rows(
        """SELECT number, system, partition, max(TRY_CAST(regexp_extract(keys, '"nodes","""
        f""""(\\d+)"', 1) AS INTEGER)) FILTER (kind = {SAMPLE}) FROM samples """
        f"WHERE first >= {CASE} AND system IS NOT NULL AND {_UP_TO} "
        "GROUP BY number, system, partition",
        end, system,
    )  # fmt: skip


def without_sample(ledger: Ledger, end: int) -> list[tuple[int, int, str, str, str]]:
    """Return what sessions have no sample of, in the order of storing.

    Of each run its `kind`, the number of the session, the system, `system:partition+environment`
    and the name of the case.
    """
    return ledger.rows(
        "SELECT kind, number, system, system || ':' || partition || '+' || environment, "
        f'"check" FROM samples WHERE first >= {CASE} AND number < $1 '
        f"AND kind IN ({UNFIT}, {SHARED_MACHINE}, {REPEATED}) ORDER BY number, run",
        end,
    )


def cases(ledger: Ledger, end: int, system: str | None) -> list[tuple[Any, ...]]:
    """Return the cases that have a sample, or could have one, in the order of appearance.

    Of each the id, system, partition, environment, name and keys (JSON); and as it appeared: its
    suite, its benchmark, and whether its check is plain ReFrame.
    """
    words = ", ".join(f"any_value({name})" for name in (*_NAME.split(", "), "keys"))
    return ledger.rows(
        f"SELECT case_id, {words}, min_by(suite, {_ROW}), min_by(benchmark, {_ROW}), "
        f"min_by(plain, {_ROW}) FROM samples WHERE first >= {CASE} AND kind = {SAMPLE} "
        f"AND {_UP_TO} GROUP BY case_id ORDER BY min({_ROW})",
        end, system,
    )  # fmt: skip


def series(ledger: Ledger, end: int) -> list[tuple[Any, ...]]:
    """Return the series in the order of appearance.

    Of each the id, that of its case, metric, unit and direction; how many samples it has, how many
    values that are none, and the number of the last session with one of these.
    """
    return ledger.rows(
        "SELECT series, any_value(case_id), any_value(metric), any_value(unit), "
        "min_by(direction, number) FILTER (direction IS NOT NULL), count(value), "
        "count(*) - count(value), max(number) FILTER (value IS NULL) "
        f"FROM samples WHERE {_MEASURED} AND number < $1 GROUP BY series ORDER BY min({_ROW})",
        end,
    )


def runs(ledger: Ledger, entries: Iterable[Entry], wanted: Wanted) -> Iterator[list[Run]]:
    """Yield of each session the runs of the cases that are wanted, in the order of storing.

    Fixtures are none; of a case that was run again each run is one.
    """
    rest = iter(entries)
    while some := [*islice(rest, _AT_ONCE)]:
        asked = {"id": np.array([entry.number for entry in some])}
        of_some = f"kind <> {FIXTURE} AND number IN (SELECT id FROM asked)"
        names = ledger.rows(
            "SELECT DISTINCT case_id, system, partition, suite, benchmark FROM samples "
            f"WHERE first >= {CASE} AND {of_some}",
            asked=asked,
        )
        chosen = {"id": np.array([case for case, *name in names if wanted(*name)], np.int64)}
        rows = ledger.rows(
            f"SELECT number, run, {_NAME}, keys, suite, benchmark, result, software, "
            f"metric, unit, value FROM samples WHERE {of_some} "
            "AND case_id IN (SELECT id FROM chosen) ORDER BY number, row",
            asked=asked, chosen=chosen,
        )  # fmt: skip
        found = {number: [*group] for number, group in groupby(rows, key=itemgetter(0))}
        for entry in some:
            of_session = groupby(found.get(entry.number, ()), key=itemgetter(1))
            yield [_run(entry, [*group]) for _, group in of_session]


def sharing(ledger: Ledger, number: int, suites: Iterable[str]) -> set[int]:
    """Return the numbers of the sessions that ran a case of these suites which this one ran."""
    rows = ledger.rows(
        f"SELECT DISTINCT number FROM samples WHERE first >= {CASE} AND case_id IN (SELECT case_id "
        f"FROM samples WHERE first >= {CASE} AND number = $1 AND list_contains($2, suite))",
        number, [*suites],
    )  # fmt: skip
    return {each for (each,) in rows}


def _run(entry: Entry, rows: list[tuple[Any, ...]]) -> Run:
    """Return a run of its rows, one a metric: what is of the case stands in the first one."""
    *place, keys, suite, benchmark, result, software = rows[0][2:-3]
    metrics = [(metric, unit, value) for *_, metric, unit, value in rows if metric]
    told = (dict(json.loads(keys)), suite, benchmark, result, json.loads(software))
    return Run._make((entry.uuid, entry.end, *place, *told, metrics))


def samples(
    ledger: Ledger, first: int, end: int, series: NDArray[np.int64] | None = None
) -> SampleColumns:
    """Return the samples of sessions from a number on; of these series, by default of all."""
    tables: dict[str, Any] = {} if series is None else {"asked": {"id": series}}
    bounds = f"kind = {SAMPLE} AND number >= {first} AND number < {end}"
    chosen = "" if series is None else "AND series IN (SELECT id FROM asked)"
    values = ledger.columns(
        f"SELECT series, {_PLACE} AS run, value FROM samples WHERE {bounds} "
        f"AND value IS NOT NULL AND series <> {NO_SERIES} {chosen} ORDER BY number, row",
        **tables,
    )
    ran = f"SELECT {_PLACE} AS run, number, time, nodes, software, findings FROM samples"
    if series is None:
        ran += f" WHERE {bounds} AND first >= {CASE}"
    else:
        # A case whose first metric is another one was run all the same.
        ran += (
            f" SEMI JOIN (SELECT DISTINCT {_PLACE} AS place FROM samples WHERE {bounds} {chosen}) "
            f"those ON those.place = {_PLACE} WHERE {bounds} AND first >= {CASE}"
        )
    runs = ledger.columns(f"{ran} ORDER BY run", **tables)
    return SampleColumns(*values, *runs)


#: What is exported: column -> type of DuckDB, and what it is of the ledger. It is a contract, told
#: in `config/storage.md`: names and types stay, new columns come last.
EXPORTED = {
    "time": ("TIMESTAMP WITH TIME ZONE", "try(to_timestamp(c.time))"),
    "session": ("VARCHAR", "s.session"),
    "session_start": ("TIMESTAMP WITH TIME ZONE", "try(to_timestamp(s.session_start))"),
    "session_end": ("TIMESTAMP WITH TIME ZONE", "try(to_timestamp(s.session_end))"),
    "system": ("VARCHAR", "c.system"),
    "partition": ("VARCHAR", "c.partition"),
    "environment": ("VARCHAR", "c.environment"),
    "check": ("VARCHAR", 'c."check"'),
    "suite": ("VARCHAR", "c.suite"),
    "benchmark": ("VARCHAR", "c.benchmark"),
    "keys": (
        "MAP(VARCHAR, VARCHAR)",
        "map_from_entries(list_transform(from_json(c.keys, '[[\"VARCHAR\"]]'), "
        "lambda pair: {'key': pair[1], 'value': pair[2]}))",
    ),
    "metric": ("VARCHAR", "v.metric"),
    "unit": ("VARCHAR", "v.unit"),
    "direction": ("VARCHAR", "min_by(v.direction, v.number) OVER (PARTITION BY v.series)"),
    "value": ("DOUBLE", "v.value"),
    "nodes": ("VARCHAR[]", "from_json(c.nodes, '[\"VARCHAR\"]')"),
    "software": ("MAP(VARCHAR, VARCHAR)", "from_json(c.software, '\"MAP(VARCHAR, VARCHAR)\"')"),
    "findings": ("VARCHAR[]", "from_json(c.findings, '[\"VARCHAR\"]')"),
    "simulated": ("BOOLEAN", f"starts_with(c.system, '{PREFIX}')"),
}


def export(ledger: Ledger, file: Path, end: int = ALL) -> int:
    """Write all samples of the sessions below a number as Parquet, a row each; return how many.

    The file is there as a whole or not at all. Raises duckdb.Error or OSError.
    """
    values = ", ".join(
        f'CAST({what} AS {kind}) AS "{name}"' for name, (kind, what) in EXPORTED.items()
    )
    # The folder may be of everybody.
    with tempfile.TemporaryDirectory(prefix=f".{file.name}-", dir=file.parent) as aside:
        part = Path(aside, "part")
        copied = ledger.cursor().execute(
            f"COPY (SELECT {values} FROM samples v JOIN samples c ON c.number = v.number "
            f"AND c.run = v.run AND c.first >= {CASE} JOIN samples s ON s.number = v.number "
            f"AND s.first = {SESSION} WHERE v.kind = {SAMPLE} AND v.value IS NOT NULL "
            f"AND v.series <> {NO_SERIES} AND v.number < {end} ORDER BY v.number, v.row) "
            f"TO {literal(part)} (FORMAT parquet, COMPRESSION zstd)"
        )
        ((count,),) = copied.fetchall()
        part.replace(file)
    return int(count)

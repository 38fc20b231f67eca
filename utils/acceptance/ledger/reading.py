"""What a ledger holds up to a session, as rows and columns, for those who look at series.

`end` is the number of the first session that does not count any more, `system` leaves out what is
of others. A run of a case is known by `place`: its session's number and its own in there.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acceptance.core.words import Direction
from acceptance.ledger.ledger import Entry, Ledger
from acceptance.ledger.rows import (
    CASE,
    FIXTURE,
    NO_SERIES,
    REPEATED,
    SAMPLE,
    SHARED_MACHINE,
    UNFIT,
)
from acceptance.ledger.samples import Floats, Ints

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


class CaseRow(NamedTuple):
    """A case; `keys` is JSON."""

    id: int
    system: str
    partition: str
    environment: str
    name: str
    keys: str
    suite: str
    benchmark: str
    plain: bool


class SeriesRow(NamedTuple):
    """A series: how many samples it has, and how many values that are none (the last in `last`).

    `last` is the number of a session.
    """

    id: int
    case: int
    metric: str
    unit: str | None
    direction: Direction | None
    samples: int
    impossible: int
    last: int | None


class Place(NamedTuple):
    """A case of a session: of which, and where."""

    session: int
    system: str
    partition: str
    environment: str
    name: str

    @property
    def where(self) -> str:
        """Return `system:partition+environment`, as ReFrame writes it."""
        return f"{self.system}:{self.partition}+{self.environment}"


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

    `version` is that of the suite. `metrics` are (metric, unit, value); the value is None where
    nothing can have measured it.
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
    version: str
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


def without_sample(ledger: Ledger, end: int, system: str | None) -> dict[int, list[Place]]:
    """Return what each session has no sample of, in its order, by the kind of its runs."""
    found: dict[int, list[Place]] = {UNFIT: [], SHARED_MACHINE: [], REPEATED: []}
    for kind, *row in ledger.rows(
        f"SELECT kind, number, {_NAME} FROM samples WHERE first >= {CASE} "
        f"AND kind IN ({', '.join(map(str, found))}) AND {_UP_TO} ORDER BY number, run",
        end, system,
    ):  # fmt: skip
        found[kind].append(Place(*row))
    return found


def cases(ledger: Ledger, end: int, system: str | None) -> list[CaseRow]:
    """Return the cases that have a sample, or could have one, in the order of appearance."""
    return [
        CaseRow(*row)
        for row in ledger.rows(
            f"SELECT s.case_id, {_NAME}, keys, suite, benchmark, plain FROM samples s JOIN "
            f"(SELECT case_id, min({_ROW}) AS place FROM samples WHERE first >= {CASE} "
            f"AND kind = {SAMPLE} AND {_UP_TO} GROUP BY case_id) firsts "
            f"ON s.case_id = firsts.case_id AND s.number = firsts.place // {SHIFT} "
            f"AND s.row = firsts.place % {SHIFT} ORDER BY number, row",
            end, system,
        )
    ]  # fmt: skip


def series(ledger: Ledger, end: int) -> list[SeriesRow]:
    """Return the series in the order of appearance."""
    counted = ledger.columns(
        f"SELECT series, min({_ROW}) AS place, count(value) AS samples, "
        "count(*) - count(value) AS impossible, max(number) FILTER (value IS NULL) AS last, "
        "min_by(direction, number) FILTER (direction IS NOT NULL) AS way "
        f"FROM samples WHERE {_MEASURED} AND number < $1 GROUP BY series",
        end,
    )
    series_id, place, *_ = counted
    firsts = {"series": series_id, "number": place // SHIFT, "row": place % SHIFT}
    named = ledger.rows(
        "SELECT series, case_id, metric, unit FROM samples JOIN firsts USING (series, number, row) "
        "ORDER BY number, row",
        firsts=firsts,
    )
    # Where there is no number or text, `tolist` of a masked array has None.
    counts = zip(*(column.tolist() for column in counted[2:]), strict=True)
    of_series = dict(zip(series_id.tolist(), counts, strict=True))
    return [
        SeriesRow(number, case, metric, unit, way, samples, impossible, last)
        for number, case, metric, unit in named
        for samples, impossible, last, way in (of_series[number],)
    ]


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


def _run(entry: Entry, rows: list[tuple[Any, ...]]) -> Run:
    """Return a run of its rows, one a metric: what is of the case stands in the first one."""
    *place, keys, suite, benchmark, result, software = rows[0][2:-3]
    metrics = [(metric, unit or "", value) for *_, metric, unit, value in rows if metric]
    told = (dict(json.loads(keys)), suite, benchmark, result, json.loads(software).get("suite", ""))
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

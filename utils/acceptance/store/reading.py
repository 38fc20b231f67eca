"""What the store holds up to a session, as rows and columns.

`end` is the first run that does not count any more (`end_of`), `system` leaves out what is of
others.
"""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from acceptance.core.words import Direction
from acceptance.store.samples import Floats, Ints
from acceptance.store.schema import REPEATED, SAMPLE, SHARED_MACHINE, UNFIT
from acceptance.store.store import Store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: More than any number of a run.
ALL = 2**31 - 1


class SessionRow(NamedTuple):
    """A session of the database: its place, and why it is left out (`fault`), if it is."""

    place: int
    uuid: str
    sum: str
    fault: str
    twice: bool
    start: float
    end: float
    command: str
    aborted: bool
    run: int


class CaseRow(NamedTuple):
    """A case; `keys` is JSON."""

    number: int
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

    `last` is the place of a session.
    """

    number: int
    case: int
    metric: str
    unit: str | None
    direction: Direction | None
    samples: int
    impossible: int
    last: int | None


class Place(NamedTuple):
    """Something of a session: of which, and where."""

    session: int
    system: str
    partition: str
    environment: str = ""
    name: str = ""

    @property
    def where(self) -> str:
        """Return `system:partition+environment`, as ReFrame writes it."""
        return f"{self.system}:{self.partition}+{self.environment}"


class SampleColumns(NamedTuple):
    """Samples, ordered by series and run; and of each run, in their order, what it was.

    `session` is a place in the store, `nodes` and `software` the number of one of `texts`, which
    are JSON.
    """

    series: NDArray[np.int32]
    run: NDArray[np.int32]
    value: Floats
    run_id: NDArray[np.int32]
    session: NDArray[np.int32]
    time: Floats
    nodes: NDArray[np.int32]
    software: NDArray[np.int32]
    texts: list[tuple[int, str]]


class CaseSamples(NamedTuple):
    """The runs of some cases, as rows of (run, session, time, software, nodes, findings as JSON).

    And the samples of these, ordered by series and run.
    """

    runs: list[tuple[int, int, float, str, str, str]]
    series: Ints
    run: Ints
    value: Floats


def sessions(store: Store) -> list[SessionRow]:
    """Return all sessions, those that are left out, too."""
    return [
        SessionRow(*row)
        for row in store.rows(
            "SELECT session_id, uuid, sum, refused || fault, twice, start_time, end_time, command, "
            "aborted, run_id FROM sessions ORDER BY session_id"
        )
    ]


def end_of(rows: list[SessionRow], uuids: Collection[str]) -> tuple[list[SessionRow], int]:
    """Return those of these UUIDs, with which the store begins, and the run after them."""
    count = sum(row.uuid in uuids for row in rows)
    return rows[:count], rows[count].run if count < len(rows) else ALL


def places(store: Store, end: int, system: str | None) -> list[Place]:
    """Return in which partitions each session had cases."""
    return [
        Place(*row)
        for row in store.rows(
            "SELECT DISTINCT session_id, system, partition FROM runs JOIN names USING (name_id) "
            "WHERE run_id < $1 AND ($2 IS NULL OR system = $2)",
            end, system,
        )
    ]  # fmt: skip


def most_nodes(store: Store, end: int, system: str | None) -> list[tuple[int, str, str, int]]:
    """Return session, system, partition, and the most nodes that a passed case there took."""
    return store.rows(
        "SELECT session_id, system, partition, max(taken) FROM runs JOIN names USING (name_id) "
        """JOIN (SELECT case_id, TRY_CAST(regexp_extract(keys, '"nodes", "(\\d+)"', 1) AS """
        "INTEGER) AS taken FROM cases) USING (case_id) WHERE kind = $3 AND taken IS NOT NULL "
        "AND run_id < $1 AND ($2 IS NULL OR system = $2) GROUP BY session_id, system, partition",
        end, system, SAMPLE,
    )  # fmt: skip


def without_sample(store: Store, end: int, system: str | None) -> dict[int, list[Place]]:
    """Return what each session has no sample of, in its order, by the kind of its runs."""
    found: dict[int, list[Place]] = {UNFIT: [], SHARED_MACHINE: [], REPEATED: []}
    for kind, *row in store.rows(
        "SELECT kind, session_id, system, partition, environment, name FROM runs "
        "JOIN names USING (name_id) WHERE kind IN ($3, $4, $5) AND run_id < $1 "
        "AND ($2 IS NULL OR system = $2) ORDER BY run_id",
        end, system, *found,
    ):  # fmt: skip
        found[kind].append(Place(*row))
    return found


def cases(store: Store, end: int, system: str | None) -> list[CaseRow]:
    """Return the cases in the order in which they appeared."""
    return [
        CaseRow(*row)
        for row in store.rows(
            "SELECT case_id, system, partition, environment, name, keys, suite, benchmark, plain "
            "FROM cases JOIN names USING (name_id) WHERE run_id < $1 "
            "AND ($2 IS NULL OR system = $2) ORDER BY case_id",
            end, system,
        )
    ]  # fmt: skip


def series(store: Store, end: int) -> list[SeriesRow]:
    """Return the series in the order in which they appeared."""
    return [
        SeriesRow(*row)
        for row in store.rows(
            "WITH counts AS (SELECT series_id, count(*) AS found FROM samples "
            "WHERE run_id < $1 GROUP BY series_id), none AS (SELECT series_id, count(*) AS found, "
            "max(run_id) AS last FROM impossible WHERE run_id < $1 GROUP BY series_id) "
            "SELECT s.series_id, s.case_id, metric, unit, "
            "CASE WHEN directed < $1 THEN direction END, coalesce(c.found, 0), "
            "coalesce(n.found, 0), r.session_id "
            "FROM series s LEFT JOIN counts c ON s.series_id = c.series_id "
            "LEFT JOIN none n ON s.series_id = n.series_id LEFT JOIN runs r ON r.run_id = n.last "
            "WHERE s.run_id < $1 ORDER BY s.series_id",
            end,
        )
    ]


def odd_sessions(store: Store) -> set[int]:
    """Return the places of sessions with impossible values, or that name themselves otherwise."""
    found = store.rows(
        "SELECT session_id FROM runs WHERE run_id IN (SELECT run_id FROM impossible) "
        "UNION SELECT session_id FROM sessions WHERE own_uuid <> uuid"
    )
    return {place for (place,) in found}


def passed(
    store: Store, first: int, end: int, cases: Sequence[int]
) -> list[tuple[int, int, str, str | None, float]]:
    """Return (run, case, metric, unit, value) of these cases in some runs, in their order."""
    return store.rows(
        "SELECT v.run_id, s.case_id, s.metric, s.unit, v.value FROM samples v "
        "JOIN series s ON s.series_id = v.series_id WHERE v.run_id >= ? AND v.run_id < ? "
        "AND s.case_id IN (SELECT unnest(?::INTEGER[])) ORDER BY v.run_id, v.rowid",
        first, end, list(cases),
    )  # fmt: skip


def of_cases(store: Store, first: int, last: int, end: int) -> CaseSamples:
    """Return the runs and samples of the cases between two numbers, both included."""

    def asked(connection: "DuckDBPyConnection") -> CaseSamples:
        runs = connection.execute(
            "SELECT run_id, session_id, time, s.content, n.content, f.content FROM runs "
            "JOIN texts s ON s.text_id = software JOIN texts n ON n.text_id = nodes "
            "JOIN texts f ON f.text_id = findings "
            "WHERE case_id BETWEEN ? AND ? AND kind = ? AND run_id < ?",
            [first, last, SAMPLE, end],
        ).fetchall()
        found: dict[str, Any] = connection.execute(
            "SELECT series_id, run_id, value FROM samples WHERE series_id IN "
            "(SELECT series_id FROM series WHERE case_id BETWEEN $1 AND $2) AND series_id BETWEEN "
            "(SELECT min(series_id) FROM series WHERE case_id BETWEEN $1 AND $2) AND "
            "(SELECT max(series_id) FROM series WHERE case_id BETWEEN $1 AND $2) AND run_id < $3 "
            "ORDER BY series_id, run_id",
            [first, last, end],
        ).fetchnumpy()
        columns = (np.asarray(found[name]) for name in ("series_id", "run_id", "value"))
        return CaseSamples(runs, *columns)

    return store.ask(asked)


def samples(
    store: Store, first: int, end: int, series: NDArray[np.int32] | None = None
) -> SampleColumns:
    """Return the samples of runs from a number on; of these series, by default of all."""
    bounds = f"run_id >= {first} AND run_id < {end}"
    chosen, ran = bounds, f"kind = {SAMPLE} AND {bounds}"
    if series is not None:
        chosen += " AND series_id IN (SELECT series_id FROM asked)"
        ran += (
            " AND case_id IN (SELECT case_id FROM series WHERE series_id IN "
            "(SELECT series_id FROM asked))"
        )

    def asked(connection: "DuckDBPyConnection") -> SampleColumns:
        if series is not None:
            connection.register("asked", {"series_id": series})
        found: dict[str, Any] = connection.execute(
            f"SELECT series_id, run_id, value FROM samples WHERE {chosen} "
            "ORDER BY series_id, run_id"
        ).fetchnumpy()
        runs: dict[str, Any] = connection.execute(
            f"SELECT run_id, session_id, time, nodes, software FROM runs WHERE {ran} "
            "ORDER BY run_id"
        ).fetchnumpy()
        texts = connection.execute(
            "SELECT text_id, content FROM texts WHERE text_id IN "
            f"(SELECT nodes FROM runs WHERE {ran} UNION SELECT software FROM runs WHERE {ran})"
        ).fetchall()
        if series is not None:
            connection.unregister("asked")
        series_id, run_id, value, *of_runs = map(np.asarray, (*found.values(), *runs.values()))
        ran_id, session, time, nodes, software = of_runs
        return SampleColumns(
            series_id, run_id, value, ran_id, session, time, nodes, software, texts
        )

    return store.ask(asked)

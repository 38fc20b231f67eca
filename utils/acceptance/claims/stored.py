"""What claims ask of all sessions, out of the store: only what it lacks is decoded.

The store has what passed. Sessions are decoded in which something else became of a case that a
claim may ask for: it failed, was measured twice or beside another run, or has impossible values.
"""

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from acceptance.claims.results import Wanted
from acceptance.rfm import Case, Metric, Session, database
from acceptance.store import Store, reading


def sessions(kept: Store, path: Path, wanted: Wanted) -> Iterator[Session]:
    """Yield what `database.sessions` does, in the same order, with the cases that are wanted.

    Raises ResultsFault as that does.
    """
    rows = {row.uuid: row for row in reading.sessions(kept)}
    cases = reading.cases(kept, reading.ALL, None)
    chosen = {
        row.number: row for row in cases if wanted.has(row.system, row.partition, row.benchmark)
    }
    names = [{row[1:5] for row in some} for some in (cases, chosen.values())]
    unwanted = names[0] - names[1]
    lacking = reading.odd_sessions(kept)
    for places in reading.without_sample(kept, reading.ALL, None).values():
        lacking |= {
            place.session
            for place in places
            if wanted.asks(place.system, place.partition) and place[1:] not in unwanted
        }
    decoded = {row.uuid for row in rows.values() if row.place in lacking or row.twice or row.fault}
    read = database.sessions(path, only=decoded) if decoded else iter(())
    firsts = sorted(row.run for row in rows.values())
    ends = dict(zip(firsts, [*firsts[1:], reading.ALL], strict=True))
    for uuid in database.last_first(path):
        if uuid in decoded:
            yield next(read)
        elif uuid in rows:
            yield _session(kept, rows[uuid], ends[rows[uuid].run], chosen)


def _session(
    kept: Store, row: reading.SessionRow, end: int, chosen: Mapping[int, reading.CaseRow]
) -> Session:
    found = reading.passed(kept, row.run, end, [*chosen])
    return Session(
        uuid=row.uuid,
        start=row.start,
        end=row.end,
        host="",
        command=row.command,
        label="",
        aborted=int(row.aborted),
        cases=tuple(
            _case(chosen[number], tuple(_metric(*each[2:]) for each in metrics))
            for (_, number), metrics in groupby(found, key=lambda each: each[:2])
        ),
    )


def _case(row: reading.CaseRow, metrics: tuple[Metric, ...]) -> Case:
    return Case(
        name=row.name, system=row.system, partition=row.partition, environment=row.environment,
        filename="", suite=row.suite, run_index=0, result="pass", fail_phase="", fail_reason="",
        nodes=(), fixture=False, benchmark=row.benchmark, keys=dict(json.loads(row.keys)),
        declared={}, provenance={}, findings=(), metrics=metrics,
    )  # fmt: skip


def _metric(name: str, unit: str | None, value: float) -> Metric:
    return Metric(name, value, unit or "", None, None, None, "", passed=True)

"""All samples of a history handed to other programs."""

import json
from pathlib import Path

from acceptance.regressions.history.lazy import Source
from acceptance.regressions.history.series import History
from acceptance.store import parquet


def to_parquet(history: History, file: Path) -> int:
    """Write all samples to a Parquet file (`store/parquet.py`); return their number.

    Raises duckdb.Error or OSError where it cannot be written.
    """
    assert isinstance(history.source, Source)
    logged = []
    for case in history.cases:
        for series in case.series:
            for sample, value in series.logged:
                session, key = sample.session, case.key
                logged.append(
                    (
                        *(sample.time, session.uuid, session.start, session.end, "perflog"),
                        *(key.system, key.partition, key.environment, key.check),
                        *(case.suite, case.benchmark, json.dumps(key.keys)),
                        *(series.metric, series.unit, series.direction, value),
                        *(json.dumps(sample.nodes), json.dumps(dict(sample.software)), "[]"),
                    )
                )
    return parquet.write(history.source.store, file, logged, history.source.end)

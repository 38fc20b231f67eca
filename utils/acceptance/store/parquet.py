"""All samples in one Parquet file, for other programs: a row a sample.

`COLUMNS` is the contract: names and types stay, new columns come last.
"""

from pathlib import Path

from acceptance.core.words import PREFIX
from acceptance.store.reading import ALL
from acceptance.store.store import Store

#: Column -> type of DuckDB; documented in `config/README.md`.
COLUMNS = {
    "time": "TIMESTAMP WITH TIME ZONE",
    "session": "VARCHAR",
    "session_start": "TIMESTAMP WITH TIME ZONE",
    "session_end": "TIMESTAMP WITH TIME ZONE",
    "system": "VARCHAR",
    "partition": "VARCHAR",
    "environment": "VARCHAR",
    "check": "VARCHAR",
    "suite": "VARCHAR",
    "benchmark": "VARCHAR",
    "keys": "MAP(VARCHAR, VARCHAR)",
    "metric": "VARCHAR",
    "unit": "VARCHAR",
    "direction": "VARCHAR",
    "value": "DOUBLE",
    "nodes": "VARCHAR[]",
    "software": "MAP(VARCHAR, VARCHAR)",
    "findings": "VARCHAR[]",
    "simulated": "BOOLEAN",
}
#: The columns of `_STORED`, with maps and lists as JSON, times in s.
_NAMES = tuple(COLUMNS)[:-1]

_STORED = """
SELECT r.time, p.uuid, p.start_time, p.end_time, n.system, n.partition, n.environment,
    n.name, c.suite, c.benchmark, c.keys, s.metric, coalesce(s.unit, ''), s.direction, v.value,
    o.content, w.content, f.content
FROM samples v JOIN runs r ON r.run_id = v.run_id JOIN sessions p ON p.session_id = r.session_id
    JOIN series s ON s.series_id = v.series_id JOIN cases c ON c.case_id = s.case_id
    JOIN names n ON n.name_id = c.name_id JOIN texts o ON o.text_id = r.nodes
    JOIN texts w ON w.text_id = r.software JOIN texts f ON f.text_id = r.findings
WHERE v.run_id < ?
"""
_TIMES = ("time", "session_start", "session_end")


def write(store: Store, file: Path, end: int = ALL) -> int:
    """Write all samples up to a run; return their number.

    The file is there as a whole or not at all. Raises duckdb.Error or OSError.
    """
    columns = ", ".join(f'"{name}"' for name in _NAMES)
    shown = {
        **{name: f'try(to_timestamp("{name}"))' for name in _TIMES},
        "keys": "map_from_entries(list_transform(from_json(keys, '[[\"VARCHAR\"]]'), "
        "lambda pair: {'key': pair[1], 'value': pair[2]}))",
        "software": "from_json(software, '\"MAP(VARCHAR, VARCHAR)\"')",
        "nodes": "from_json(nodes, '[\"VARCHAR\"]')",
        "findings": "from_json(findings, '[\"VARCHAR\"]')",
        "simulated": f"starts_with(system, '{PREFIX}')",
    }
    values = ", ".join(
        f'CAST({shown.get(name, chr(34) + name + chr(34))} AS {kind}) AS "{name}"'
        for name, kind in COLUMNS.items()
    )
    part = file.with_name(f".{file.name}.part")
    try:
        with store.opened() as connection:
            found = connection.execute(
                f"COPY (WITH every({columns}) AS ({_STORED}) "
                f"SELECT {values} FROM every) TO '{_quoted(part)}' "
                "(FORMAT parquet, COMPRESSION zstd)",
                [end],
            ).fetchall()
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return int(found[0][0])


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")

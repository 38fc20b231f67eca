"""All samples in one Parquet file, for other programs: a row a sample.

`COLUMNS` is the contract: names and types stay, new columns come last.
"""

from pathlib import Path

from acceptance.core.words import PREFIX
from acceptance.ledger.files import literal
from acceptance.ledger.ledger import Ledger
from acceptance.ledger.reading import ALL
from acceptance.ledger.rows import CASE, NO_SERIES, SAMPLE, SESSION

#: Column -> type of DuckDB, and what it is of the ledger; documented in `config/storage.md`.
COLUMNS = {
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


def write(ledger: Ledger, file: Path, end: int = ALL) -> int:
    """Write all samples of the sessions below a number; return how many.

    The file is there as a whole or not at all. Raises duckdb.Error or OSError.
    """
    values = ", ".join(
        f'CAST({what} AS {kind}) AS "{name}"' for name, (kind, what) in COLUMNS.items()
    )
    part = file.with_name(f".{file.name}.part")
    try:
        copied = ledger.cursor().execute(
            f"COPY (SELECT {values} FROM samples v JOIN samples c ON c.number = v.number "
            f"AND c.run = v.run AND c.first >= {CASE} JOIN samples s ON s.number = v.number "
            f"AND s.first = {SESSION} WHERE v.kind = {SAMPLE} AND v.value IS NOT NULL "
            f"AND v.series <> {NO_SERIES} AND v.number < {end} ORDER BY v.number, v.row) "
            f"TO {literal(part)} (FORMAT parquet, COMPRESSION zstd)"
        )
        ((count,),) = copied.fetchall()
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return int(count)

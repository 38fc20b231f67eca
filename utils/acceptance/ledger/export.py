"""All samples in one Parquet file, for other programs: a row a sample.

`COLUMNS` is the contract: names and types stay, new columns come last.
"""

from pathlib import Path

from acceptance.core.words import PREFIX
from acceptance.ledger.ledger import Ledger
from acceptance.ledger.reading import ALL
from acceptance.ledger.rows import NO_SERIES, SAMPLE

#: Column -> type of DuckDB, and what it is of the ledger; documented in `config/README.md`.
COLUMNS = {
    "time": ("TIMESTAMP WITH TIME ZONE", "try(to_timestamp(time))"),
    "session": ("VARCHAR", "session"),
    "session_start": ("TIMESTAMP WITH TIME ZONE", "try(to_timestamp(session_start))"),
    "session_end": ("TIMESTAMP WITH TIME ZONE", "try(to_timestamp(session_end))"),
    "system": ("VARCHAR", "system"),
    "partition": ("VARCHAR", "partition"),
    "environment": ("VARCHAR", "environment"),
    "check": ("VARCHAR", '"check"'),
    "suite": ("VARCHAR", "suite"),
    "benchmark": ("VARCHAR", "benchmark"),
    "keys": (
        "MAP(VARCHAR, VARCHAR)",
        "map_from_entries(list_transform(from_json(keys, '[[\"VARCHAR\"]]'), "
        "lambda pair: {'key': pair[1], 'value': pair[2]}))",
    ),
    "metric": ("VARCHAR", "metric"),
    "unit": ("VARCHAR", "coalesce(unit, '')"),
    "direction": ("VARCHAR", "min_by(direction, number) OVER (PARTITION BY series)"),
    "value": ("DOUBLE", "value"),
    "nodes": ("VARCHAR[]", "from_json(nodes, '[\"VARCHAR\"]')"),
    "software": ("MAP(VARCHAR, VARCHAR)", "from_json(software, '\"MAP(VARCHAR, VARCHAR)\"')"),
    "findings": ("VARCHAR[]", "from_json(findings, '[\"VARCHAR\"]')"),
    "simulated": ("BOOLEAN", f"starts_with(system, '{PREFIX}')"),
}


def write(ledger: Ledger, file: Path, end: int = ALL) -> int:
    """Write all samples of the sessions below a number; return how many.

    The file is there as a whole or not at all. Raises duckdb.Error or OSError.
    """
    values = ", ".join(
        f'CAST({what} AS {kind}) AS "{name}"' for name, (kind, what) in COLUMNS.items()
    )
    part = file.with_name(f".{file.name}.part")
    quoted = str(part).replace("'", "''")
    try:
        copied = ledger.cursor().execute(
            f"COPY (SELECT {values} FROM samples WHERE kind = {SAMPLE} AND value IS NOT NULL "
            f"AND series <> {NO_SERIES} AND number < {end} ORDER BY number, row) TO '{quoted}' "
            "(FORMAT parquet, COMPRESSION zstd)"
        )
        ((count,),) = copied.fetchall()
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)
    return int(count)

"""DuckDB, opened in one way by everybody: bounded, silent, and without anything from elsewhere."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Processors: others work on the machine, too.
THREADS = 2


def connect(
    path: Path | None = None,
    *,
    memory: str | None,
    read_only: bool = False,
    block_size: int | None = None,
) -> "DuckDBPyConnection":
    """Open the database of a file, made where there is none, else one in memory.

    `memory` is how much pages and queries may take (`512MB`), None for DuckDB's own 80 % of what
    there is; what a file's queries need beyond it goes into a folder beside it. `block_size`
    (bytes) is that of a new file. Raises duckdb.Error.
    """
    import duckdb

    options: dict[str, str | bool | int | float | list[str]] = {
        "threads": THREADS,
        "temp_directory": "" if path is None else f"{path}.tmp",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    if memory is not None:
        options["memory_limit"] = memory
    if block_size is not None:
        options["default_block_size"] = str(block_size)
    connection = duckdb.connect(":memory:" if path is None else str(path), read_only, options)
    # Slow queries would draw a bar on the standard output, which is ours.
    connection.execute("SET enable_progress_bar = false")
    return connection

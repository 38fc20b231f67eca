"""The tables of the store, and how its file is opened.

`samples` has a row a value, in the order of storing, so that what is new stands at the end of each
table. A number of a run, series or case is given once, in the order in which they appeared: what
was there up to a session is what has a number below that session's first run.
"""

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from acceptance.core import columns_database

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

#: Raised whenever the tables, or what is taken of a session, change.
VERSION = 3

#: Why a run of a case is no sample (`runs.kind`); 0: it is one.
SAMPLE, UNFIT, FIXTURE, SHARED_MACHINE, REPEATED = range(5)

#: `uuid` of a session is that of its row, `own_uuid` that in its JSON, whose bytes are `size`, and
#: `sum` its checksum. `refused` says by which checksum it is not what was stored, `fault` why it
#: cannot be read, `twice` that it is left out as a duplicate. `time` of a run is that of the end of
#: its session where none was stored. `impossible` has values that are no measurement. `directed` is
#: the first run that said which direction of a series is better.
TABLES = """
CREATE TABLE meta(version INTEGER, generation VARCHAR);
CREATE TABLE sessions(
    session_id INTEGER, uuid VARCHAR, own_uuid VARCHAR, size BIGINT, sum VARCHAR,
    refused VARCHAR, fault VARCHAR, twice BOOLEAN, start_time DOUBLE, end_time DOUBLE,
    command VARCHAR, aborted BOOLEAN, run_id INTEGER);
CREATE TABLE texts(text_id INTEGER, content VARCHAR);
CREATE TABLE names(
    name_id INTEGER, system VARCHAR, partition VARCHAR, environment VARCHAR, name VARCHAR);
CREATE TABLE cases(
    case_id INTEGER, name_id INTEGER, keys VARCHAR, suite VARCHAR, benchmark VARCHAR,
    plain BOOLEAN, run_id INTEGER);
CREATE TABLE runs(
    run_id INTEGER, session_id INTEGER, name_id INTEGER, case_id INTEGER, kind TINYINT,
    time DOUBLE, software INTEGER, nodes INTEGER, findings INTEGER);
CREATE TABLE series(
    series_id INTEGER, case_id INTEGER, metric VARCHAR, unit VARCHAR, direction VARCHAR,
    directed INTEGER, run_id INTEGER);
CREATE TABLE samples(series_id INTEGER, run_id INTEGER, value DOUBLE);
CREATE TABLE impossible(series_id INTEGER, run_id INTEGER);
"""

#: What the pages of the file may take; a store in memory holds all samples, and has no bound.
MEMORY = "128MB"
#: A small site takes less than in the usual 256 KB; in 16 KB nothing is packed.
BLOCK_SIZE = 65536


def connect(path: Path | None, *, read_only: bool = False) -> "DuckDBPyConnection":
    """Open the store of a file, made where there is none, else one in memory; or duckdb.Error."""
    import duckdb

    if path is None:
        connection = columns_database.connect(memory=None)
    else:
        connection = columns_database.connect(
            path, memory=MEMORY, read_only=read_only, block_size=BLOCK_SIZE
        )
    try:
        tables = connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall()
        if tables == [(0,)] and not read_only:
            connection.execute(f"BEGIN; {TABLES}")
            connection.execute("INSERT INTO meta VALUES(?, ?)", [VERSION, new_generation()])
            connection.execute("COMMIT")
        elif connection.execute("SELECT version FROM meta").fetchall() != [(VERSION,)]:
            raise duckdb.DataError("it was written by another release")
    except BaseException:
        connection.close()
        raise
    return connection


def new_generation() -> str:
    """Return a name for the numbers of a store, which hold until something is dropped."""
    return uuid.uuid4().hex


def insert(connection: "DuckDBPyConnection", table: str, columns: dict[str, Any]) -> None:
    """Add rows, given as columns of one length, to a table."""
    first = next(iter(columns.values()))
    if len(first):
        arrays = {
            name: column if isinstance(column, np.ndarray) else np.array(column, dtype=object)
            for name, column in columns.items()
        }
        connection.register("new_rows", arrays)
        names = ", ".join(f'"{name}"' for name in columns)
        connection.execute(f"INSERT INTO {table} SELECT {names} FROM new_rows")
        connection.unregister("new_rows")

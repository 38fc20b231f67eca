"""Rows of the store's tables that are not written yet."""

from array import array
from typing import TYPE_CHECKING, Any

import numpy as np

from acceptance.store.schema import insert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Columns:
    """Rows of a table that are not written yet: lists, and arrays of numbers."""

    def __init__(self, table: str, **types: str) -> None:
        self.table, self.types = table, types
        self.clear()

    def clear(self) -> None:
        """Begin without rows."""
        self.columns: dict[str, Any] = {
            name: [] if kind == "O" else array(kind) for name, kind in self.types.items()
        }
        self.adders = [column.append for column in self.columns.values()]

    def add(self, *row: object) -> None:
        """Add a row."""
        for append, value in zip(self.adders, row, strict=True):
            append(value)

    def write(self, connection: "DuckDBPyConnection") -> None:
        """Write the rows, and begin again."""
        columns = {
            name: np.array(column) if isinstance(column, array) else column
            for name, column in self.columns.items()
        }
        insert(connection, self.table, columns)
        self.clear()


def waiting() -> list[Columns]:
    """Return the tables in which a session leaves rows, without any."""
    return [
        Columns(
            "sessions", session_id="i", uuid="O", own_uuid="O", size="O", sum="O", refused="O",
            fault="O", twice="b", start_time="d", end_time="d", command="O", aborted="b",
            run_id="i",
        ),
        Columns("texts", text_id="i", content="O"),
        Columns(
            "names", name_id="i", system="O", partition="O", environment="O", name="O",
            plain_name="O",
        ),
        Columns(
            "cases", case_id="i", name_id="i", keys="O", suite="O", benchmark="O", plain="b",
            run_id="i",
        ),
        Columns(
            "runs", run_id="i", session_id="i", name_id="i", case_id="i", kind="b", time="d",
            second="q", software="i", nodes="i", findings="i",
        ),
        Columns("series", series_id="i", case_id="i", metric="O", unit="O", direction="O",
                directed="O", run_id="i"),
        Columns("samples", series_id="i", run_id="i", value="d"),
        Columns("impossible", series_id="i", run_id="i"),
    ]  # fmt: skip

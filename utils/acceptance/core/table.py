"""Tables of plain text."""

from collections.abc import Iterable, Sequence

from tabulate import tabulate


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a plain table."""
    return tabulate([list(map(str, row)) for row in rows], header, "simple", disable_numparse=True)

"""Reference values as tables and CSV."""

import csv
import io
from collections.abc import Iterable
from decimal import Decimal

from acceptance.core.text import there_are
from acceptance.references import external
from acceptance.references.library import Library, best
from acceptance.references.records import (
    VALUE_COLUMNS,
    Reference,
    ReferenceFault,
    decimal,
    write_parameters,
)
from acceptance.references.tolerances import RECORDED, SOURCES
from acceptance.suites import check_of

#: What a table for people leaves out.
SHORT_COLUMNS = tuple(
    name for name in VALUE_COLUMNS if name not in ("system", "partition", "printed", "note")
)


def select(
    library: Library,
    paper: str | None = None,
    partition: str | None = None,
    benchmark: str | None = None,
) -> list[Reference]:
    """Return published values and baselines, narrowed down.

    `partition` is `system:partition`; of a simulated one it is what was recorded. `benchmark` is
    `suite.program`, or a suite for all of its programs. Raises ReferenceFault for a paper or
    partition, or benchmark, that the references do not have, with the names that they have.
    """
    system = (partition or "").partition(":")[0]
    rows = [*library.values, *library.baselines, *library.recorded(system)]
    if paper is not None and paper not in library.papers:
        raise ReferenceFault(f"no paper {paper!r}; {there_are(paper, sorted(library.papers))}")
    names = {name for row in rows for name in _names(row)}
    if benchmark is not None and benchmark not in names:
        raise ReferenceFault(f"no benchmark {benchmark!r}; {there_are(benchmark, sorted(names))}")
    known = {*library.partitions, *(f"{row.system}:{row.partition}" for row in rows)}
    if partition is not None and partition not in known:
        raise ReferenceFault(f"no partition {partition!r}; {there_are(partition, sorted(known))}")
    return [
        row
        for row in rows
        if paper in (None, row.origin)
        and partition in (None, f"{row.system}:{row.partition}")
        and benchmark in (None, *_names(row))
    ]


def _names(row: Reference) -> tuple[str, str]:
    """Return the benchmark of a row, and its suite."""
    return row.benchmark, row.benchmark.split(".")[0]


def fields(row: Reference) -> dict[str, str]:
    """Return a row as text, in the columns of `reference/<paper>.csv`."""
    return {
        **{name: getattr(row, name) for name in VALUE_COLUMNS},
        "parameters": write_parameters(row.parameters),
        "value": decimal(row.value),
    }


def as_data(row: Reference) -> dict[str, object]:
    """Return a row with its value as a number, where it is from, and the check that measures it."""
    check = check_of(row.benchmark, row.metric)
    own = {"within": row.within} if row.within else {}
    return {**fields(row), "value": row.value, "source": row.source, "check": check, **own}


def as_reframe(library: Library, rows: Iterable[Reference]) -> str:
    """Return rows in ReFrame's own form of external references; of one result that which judges."""

    def judging(found: list[Reference]) -> Reference:
        source = min((row.source for row in found), key=(*SOURCES, RECORDED).index)
        return best([row for row in found if row.source == source])

    return external.as_text(rows, library.thresholds, judging)


def as_csv(rows: Iterable[Reference]) -> str:
    """Return rows as CSV, in the columns of `reference/<paper>.csv`; of baselines with `spread`."""
    rows, text = list(rows), io.StringIO()
    known = any(row.spread is not None for row in rows)
    columns = (*VALUE_COLUMNS, "spread") if known else VALUE_COLUMNS
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        spread = "" if row.spread is None else f"{Decimal(repr(row.spread)):f}"
        writer.writerow({**fields(row), "spread": spread})
    return text.getvalue()

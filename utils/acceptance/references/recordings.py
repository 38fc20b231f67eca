"""What simulated systems gave: `simulated/<system>.csv`, a row for all message sizes of a metric.

Their form is documented in `reference/README.md`. They are many, and read when they are asked for.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from acceptance.core.words import SIMULATED, UNITS, is_measured
from acceptance.references.records import Reference, read_parameters, write_parameters
from acceptance.references.rows import Row, known, number, read_rows, refuse
from acceptance.references.tolerances import RECORDED

#: `values` are `size=value` with semicolons, where the size may be empty.
COLUMNS = ("where", "partition", "benchmark", "metric", "parameters", "unit", "values")
_SIZE = "message_size"
#: What of a provenance must be as it was when a result was recorded.
_IDENTITY = (SIMULATED, "suite")


def recorded_with(provenance: Mapping[str, str]) -> str:
    """Return what a result hangs on, as a recording states it: `SimGrid 3.32, OSU 7.5`."""
    return ", ".join(provenance[key] for key in _IDENTITY if provenance.get(key))


def recording_of(folder: Path, system: str) -> Path:
    """Return the file of a simulated system, in a folder laid out like `reference/`."""
    return folder / "simulated" / f"{system}.csv"


def read(path: Path) -> list[Reference]:
    """Return the values of a file, none where there is none; raises ReferenceFault."""
    found: list[Reference] = []

    def take(row: Row, line: int) -> None:
        for name in COLUMNS:
            refuse(not row[name] and name != "parameters", f"{name} is ''; it has to be filled in")
        known("unit", row["unit"], UNITS)
        keys = read_parameters(row["parameters"])
        found.extend(_value(path, line, row, keys, text) for text in row["values"].split(";"))

    if path.exists():
        read_rows(path, COLUMNS, take)
    return found


def as_text(references: Iterable[Reference]) -> str:
    """Return what `read` takes, those of one metric together in the order of their sizes."""
    found: dict[tuple[str, ...], dict[int, str]] = {}
    for row in references:
        keys = {key: text for key, text in row.parameters.items() if key != _SIZE}
        place = (row.where, row.partition, row.benchmark, row.metric, write_parameters(keys))
        size = int(row.parameters.get(_SIZE, -1))
        found.setdefault((*place, row.unit), {})[size] = row.printed
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key, sizes in sorted(found.items()):
        values = (f"{size if size >= 0 else ''}={sizes[size]}" for size in sorted(sizes))
        writer.writerow([*key, ";".join(values)])
    return text.getvalue()


def _value(path: Path, line: int, row: Row, keys: dict[str, str], text: str) -> Reference:
    size, equals, printed = text.partition("=")
    refuse(not equals, f"{text!r} is not of the form size=value")
    value = number(printed)
    refuse(not is_measured(value), f"the value {printed!r} can be no measurement")
    return Reference(
        source=RECORDED, origin=path.stem, where=row["where"], system=path.stem,
        partition=row["partition"], benchmark=row["benchmark"], metric=row["metric"],
        parameters=keys | (read_parameters(f"{_SIZE}={size}") if size else {}), relation="=",
        value=value, unit=row["unit"], printed=printed, note="", path=path, line=line,
    )  # fmt: skip

"""What simulated systems gave: `simulated/<system>.csv`, a row for all message sizes of a metric.

Their form is documented in `reference/README.md`. They are many, and read when they are asked for.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from acceptance.core import records
from acceptance.core.records import Filled
from acceptance.core.words import SIMULATED, UNITS, is_measured
from acceptance.references.fields import Row, known, number, refuse, rows
from acceptance.references.records import Reference, read_parameters, write_parameters
from acceptance.references.tolerances import RECORDED


class _Line(Struct, frozen=True, forbid_unknown_fields=True):
    """The columns of a file; `values` are `size=value` with semicolons, the size may be empty."""

    where: Filled
    partition: Filled
    benchmark: Filled
    metric: Filled
    parameters: str
    unit: Filled
    values: Filled


COLUMNS = _Line.__struct_fields__
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
        read = records.read(_Line, row, "a row")
        known("unit", read.unit, UNITS)
        keys = read_parameters(read.parameters)
        found.extend(_value(path, line, read, keys, text) for text in read.values.split(";"))

    if path.exists():
        rows(path, COLUMNS, take)
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


def _value(path: Path, line: int, row: _Line, keys: dict[str, str], text: str) -> Reference:
    size, equals, printed = text.partition("=")
    refuse(not equals, f"{text!r} is not of the form size=value")
    value = number(printed)
    refuse(not is_measured(value), f"the value {printed!r} can be no measurement")
    return Reference(
        source=RECORDED, origin=path.stem, where=row.where, system=path.stem,
        partition=row.partition, benchmark=row.benchmark, metric=row.metric,
        parameters=keys | (read_parameters(f"{_SIZE}={size}") if size else {}), relation="=",
        value=value, unit=row.unit, printed=printed, note="", path=path, line=line,
    )  # fmt: skip

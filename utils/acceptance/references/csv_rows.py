"""The rows of `reference/`: each file read, each row typed, or the fault with its file and line.

The columns, keys and words are documented in `reference/README.md`.
"""

import csv
import io
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pybtex.database import parse_file
from pybtex.exceptions import PybtexError

from acceptance.core.metrics import split
from acceptance.core.technologies import TECHNOLOGIES
from acceptance.core.units import UNITS, is_measured
from acceptance.references.records import (
    CLAIM_COLUMNS,
    VALUE_COLUMNS,
    Claim,
    Partition,
    Reference,
    ReferenceFault,
    Side,
    read_parameters,
    write_parameters,
)

SYSTEM_COLUMNS = (
    *("system", "partition", "printed", "where", "processor", "clock_ghz", "sockets_per_node"),
    *("cores_per_node", "nodes", "memory_gb_per_node", "network", "technology", "rate", "lanes"),
    *("pcie", "pcie_lanes", "mpi", "mpi_version", "operating_system", "benchmarks", "note"),
)

#: What says how a printed number relates to the quantity.
RELATIONS = ("=", "~", ">=", "<=")
CLAIM_RELATIONS = (*RELATIONS, "in", "better", "similar")
#: Units of claims besides those of metrics; `x` is a plain quotient.
CLAIM_UNITS = ("x",)

_Record = TypeVar("_Record")
_Row = dict[str, str]


def _records(
    path: Path,
    columns: tuple[str, ...],
    make: Callable[[_Row, int], _Record],
    optional: tuple[str, ...] = (),
) -> list[_Record]:
    """Return what `make` makes of each row of a CSV file with exactly these columns.

    Those that are `optional` may follow. `make` takes the fields by column, and the line of the
    row; its ValueErrors become ReferenceFaults.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as err:
        raise ReferenceFault(f"cannot be read: {err}", where=str(path)) from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    records = []
    line = 1
    try:
        header = next(reader, None)
        if header == [*columns, *optional]:
            columns += optional
        _refuse(header != [*columns], f"the header is not {','.join(columns)}")
        line = reader.line_num + 1
        for fields in reader:
            if len(fields) != len(columns):
                raise ValueError(f"{len(fields)} fields where the header has {len(columns)}")
            records.append(make(dict(zip(columns, fields, strict=True)), line))
            line = reader.line_num + 1
    except (csv.Error, ValueError) as err:
        raise ReferenceFault(str(err), where=str(path), number=line) from None
    return records


def papers(path: Path) -> dict[str, str]:
    """Return the papers of a BibTeX file: key -> title."""
    try:
        entries = parse_file(str(path), bib_format="bibtex").entries
    except (PybtexError, OSError, UnicodeDecodeError) as err:
        raise ReferenceFault(f"cannot be read: {err}", where=str(path)) from None
    return {key: str(entry.fields.get("title", "")) for key, entry in entries.items()}


def partitions(path: Path, papers: Iterable[str]) -> dict[str, Partition]:
    """Return the partitions of `systems.csv`, by their full names."""
    partitions: dict[str, Partition] = {}
    names: dict[tuple[str, str], int] = {}

    def make(row: _Row, line: int) -> None:
        partition = Partition(row["system"], row["partition"], row)
        technology = row["technology"]
        _refuse(row["system"] not in papers, f"papers.bib has no entry {row['system']!r}")
        _refuse(
            not re.match(r"[\w-]+\Z", row["partition"]), f"{row['partition']!r} is no ReFrame name"
        )
        _refuse(partition.fullname in partitions, f"{partition.fullname} stands twice")
        unknown = f"unknown technology {technology!r}; known: {', '.join(TECHNOLOGIES)}"
        _refuse(technology not in ("", *TECHNOLOGIES), unknown)
        for name in partition.printed:
            first = names.setdefault((partition.system, name), line)
            _refuse(first != line, f"line {first} has the printed name {name!r}, too")
        partitions[partition.fullname] = partition

    _records(path, SYSTEM_COLUMNS, make)
    return partitions


def values(path: Path, source: str, partitions: Mapping[str, Partition] | None) -> list[Reference]:
    """Return the values of a file: of a paper, or of a site where there are no `partitions`."""

    def make(row: _Row, line: int) -> Reference:
        _require(row, "where", "system", "benchmark", "metric", "printed")
        system, relation, unit = row["system"], row["relation"], row["unit"]
        fullname = f"{system}:{row['partition']}"
        _refuse(system != path.stem, f"the system is {system!r} in the file of {path.stem!r}")
        if partitions is None:
            _refuse(not row["partition"], "a baseline without a partition judges nothing")
        elif row["partition"]:
            _refuse(fullname not in partitions, f"systems.csv has no partition {fullname!r}")
        _known("relation", relation, RELATIONS)
        _known("unit", unit, UNITS)
        if split(row["metric"])[1] is not None:
            raise ValueError(
                f"write the size of {row['metric']!r} as a parameter, message_size=..."
            )
        value = _number(row["value"])
        _refuse(not is_measured(value), f"the value {row['value']!r} can be no measurement")
        typed: dict[str, Any] = {
            **row,
            "parameters": _parameters(row["parameters"]),
            "value": value,
            "spread": _spread(row.get("spread", "")),
        }
        return Reference(source=source, origin=path.stem, path=path, line=line, **typed)

    return _records(path, VALUE_COLUMNS, make, () if partitions is not None else ("spread",))


def _spread(text: str) -> float | None:
    if not text:
        return None
    spread = _number(text)
    _refuse(spread < 0, f"the spread {text!r} is less than 0")
    return spread


def claims(
    path: Path, papers: Collection[str], partitions: Mapping[str, Partition] | None
) -> list[Claim]:
    """Return the claims of a file: of papers, or of a site where there are no `partitions`.

    A site's claims may name partitions that only its configuration knows, of any system; who
    evaluates them checks that.
    """
    seen: dict[tuple[str, ...], int] = {}

    def make(row: _Row, line: int) -> Claim:
        paper, expected = row["paper"], row["expected"]
        if paper not in papers:
            if partitions is None:
                raise ValueError(f"the paper is {paper!r} in the claims of {path.stem!r}")
            raise ValueError(f"papers.bib has no entry {paper!r}")
        _require(row, "where", "printed")
        _refuse(expected not in ("", "yes"), f"expected is {expected!r}; write yes, or nothing")
        value = _bounds(row)
        left, right = (_side(row[name], paper, partitions) for name in ("left", "right"))
        _refuse(left == right, "left and right are the same")
        _refuse(not (left.partition or right.partition), "neither side names a partition")
        _refuse(paper not in (left.system, right.system), f"neither side is of {paper}")
        if not row["benchmark"] and not ("benchmark" in left.keys and "benchmark" in right.keys):
            raise ValueError("the column 'benchmark' is empty, and not both sides name one")
        identity = tuple(
            row[name] for name in CLAIM_COLUMNS if name not in ("printed", "expected", "note")
        )
        first = seen.setdefault(identity, line)
        _refuse(first != line, f"the same claim as in line {first}")
        typed: dict[str, Any] = {
            **row,
            "parameters": _parameters(row["parameters"]),
            "left": left,
            "right": right,
            "value": value,
            "expected": expected == "yes",
        }
        source = "site" if partitions is None else "published"
        return Claim(source=source, path=path, line=line, **typed)

    return _records(path, CLAIM_COLUMNS, make)


def _bounds(row: _Row) -> tuple[float, ...]:
    """Return the value of a claim: two bounds of a range, none of an ordering."""
    relation, unit, text = row["relation"], row["unit"], row["value"]
    _known("relation", relation, CLAIM_RELATIONS)
    if relation in ("better", "similar"):
        _refuse(bool(text or unit), f"{relation!r} has neither value nor unit")
        return ()
    _known("unit", unit, (*UNITS, *CLAIM_UNITS))
    bounds = text.split("..") if relation == "in" else [text]
    _refuse(relation == "in" and len(bounds) != 2, f"{text!r} is no range low..high")
    value = tuple(map(_number, bounds))
    _refuse([*value] != sorted(value), f"{text!r} is a range upside down")
    return value


def _side(text: str, paper: str, partitions: Mapping[str, Partition] | None) -> Side:
    fullname, _, rest = text.partition(";")
    system, colon, partition = fullname.partition(":")
    if partitions is None:
        if not re.match(r"[\w-]+:[\w-]*\Z", fullname):
            raise ValueError(f"{fullname!r} is not of the form system:partition")
    elif system != paper or not colon:
        raise ValueError(f"{fullname!r} is no partition of {paper}")
    elif partition and fullname not in partitions:
        raise ValueError(f"systems.csv has no partition {fullname!r}")
    names = {}
    parameters = []
    for part in filter(None, rest.split(";")):
        key, _, value = part.partition("=")
        if key in ("benchmark", "metric"):
            names[key] = value
        else:
            parameters.append(part)
    return Side(system, partition, {**names, **_parameters(";".join(parameters))})


def _refuse(wrong: bool, message: str) -> None:
    if wrong:
        raise ValueError(message)


def _require(row: _Row, *names: str) -> None:
    for name in names:
        _refuse(not row[name], f"the column {name!r} is empty")


def _known(what: str, word: str, words: Iterable[str]) -> None:
    _refuse(word not in words, f"unknown {what} {word!r}; known: {', '.join(words)}")


def _parameters(text: str) -> dict[str, str]:
    parameters = read_parameters(text)
    ordered = write_parameters(parameters)
    _refuse(ordered != text, f"the parameters are not in order; write {ordered}")
    return parameters


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"the value {text!r} is no number") from None
    _refuse(not math.isfinite(value), f"the value {text!r} is not finite")
    return value

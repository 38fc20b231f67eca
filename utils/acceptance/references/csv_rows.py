"""The rows of `reference/`: each file read, each row typed, or the fault with its file and line.

The columns, keys and words are documented in `reference/README.md`.
"""

import csv
import io
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path

from pybtex.database import parse_file
from pybtex.exceptions import PybtexError

from acceptance.core.errors import Fault
from acceptance.core.metrics import split
from acceptance.core.units import UNITS, is_measured
from acceptance.references.records import (
    Claim,
    Partition,
    Reference,
    Side,
    read_parameters,
    write_parameters,
)

VALUE_COLUMNS = (
    "where,system,partition,benchmark,metric,parameters,relation,value,unit,printed,note".split(",")
)
CLAIM_COLUMNS = (
    "paper,where,benchmark,metric,parameters,left,right,relation,value,unit,printed,expected,note"
).split(",")
SYSTEM_COLUMNS = (
    "system,partition,printed,where,processor,clock_ghz,sockets_per_node,cores_per_node,nodes,"
    "memory_gb_per_node,network,technology,rate,lanes,pcie,pcie_lanes,mpi,mpi_version,"
    "operating_system,benchmarks,note"
).split(",")

#: What says how a printed number relates to the quantity.
RELATIONS = ("=", "~", ">=", "<=")
CLAIM_RELATIONS = (*RELATIONS, "in", "better", "similar")
#: Units of claims besides those of metrics; `x` is a plain quotient.
CLAIM_UNITS = ("x",)
TECHNOLOGIES = ("infiniband", "ethernet", "myrinet", "numalink", "cray", "ixs")


class ReferenceFault(Fault):
    """Reference data that cannot be used: file, line and what is wrong with it."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        self.path, self.line = path, line
        super().__init__(f"{path}:{line}: {message}" if line else f"{path}: {message}")


def _rows(path: Path, columns: list[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and fields of each row of a CSV file with exactly these columns."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as err:
        raise ReferenceFault(path, 0, f"cannot be read: {err}") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        if next(reader, None) != columns:
            raise ReferenceFault(path, 1, f"the header is not {','.join(columns)}")
        start = reader.line_num + 1
        for fields in reader:
            if len(fields) != len(columns):
                raise ReferenceFault(
                    path, start, f"{len(fields)} fields where the header has {len(columns)}"
                )
            yield start, dict(zip(columns, fields, strict=True))
            start = reader.line_num + 1
    except csv.Error as err:
        raise ReferenceFault(path, reader.line_num, str(err)) from None


def papers(path: Path) -> dict[str, str]:
    """Return the papers of a BibTeX file: key -> title."""
    try:
        entries = parse_file(str(path), bib_format="bibtex").entries
    except (PybtexError, OSError, UnicodeDecodeError) as err:
        raise ReferenceFault(path, 0, f"cannot be read: {err}") from None
    return {key: str(entry.fields.get("title", "")) for key, entry in entries.items()}


def partitions(path: Path, papers: Iterable[str]) -> dict[str, Partition]:
    """Return the partitions of `systems.csv`, by their full names."""
    partitions: dict[str, Partition] = {}
    names: dict[tuple[str, str], int] = {}
    for line, row in _rows(path, SYSTEM_COLUMNS):
        found = Partition(row["system"], row["partition"], row)
        if found.system not in papers:
            raise ReferenceFault(path, line, f"papers.bib has no entry {found.system!r}")
        if not re.match(r"[\w-]+\Z", found.partition):
            raise ReferenceFault(path, line, f"{found.partition!r} is no ReFrame name")
        if found.fullname in partitions:
            raise ReferenceFault(path, line, f"{found.fullname} stands twice")
        if row["technology"] and row["technology"] not in TECHNOLOGIES:
            raise ReferenceFault(path, line, f"unknown technology {row['technology']!r}")
        for name in found.printed:
            first = names.setdefault((found.system, name), line)
            if first != line:
                raise ReferenceFault(path, line, f"line {first} has the printed name {name!r}, too")
        partitions[found.fullname] = found
    return partitions


def values(
    path: Path, source: str, partitions: Mapping[str, Partition] | None
) -> Iterator[Reference]:
    """Yield the values of a file: of a paper, or of a site where there are no `partitions`."""
    for line, row in _rows(path, VALUE_COLUMNS):

        def fault(message: object, line: int = line) -> ReferenceFault:
            return ReferenceFault(path, line, str(message))

        for name in ("where", "system", "benchmark", "metric", "printed"):
            if not row[name]:
                raise fault(f"the column {name!r} is empty")
        if row["system"] != path.stem:
            raise fault(f"the system is {row['system']!r} in the file of {path.stem!r}")
        fullname = f"{row['system']}:{row['partition']}"
        if partitions is not None and row["partition"] and fullname not in partitions:
            raise fault(f"systems.csv has no partition {fullname!r}")
        if row["relation"] not in RELATIONS:
            raise fault(f"unknown relation {row['relation']!r}; known: {' '.join(RELATIONS)}")
        if row["unit"] not in UNITS:
            raise fault(f"unknown unit {row['unit']!r}; known: {', '.join(UNITS)}")
        if split(row["metric"])[1] is not None:
            raise fault(f"write the size of {row['metric']!r} as a parameter, message_size=...")
        if partitions is None and not row["partition"]:
            raise fault("a baseline without a partition judges nothing")
        value = _number(row["value"], fault)
        if not is_measured(value):
            raise fault(f"the value {row['value']!r} can be no measurement")
        yield Reference(
            source=source,
            origin=path.stem,
            parameters=_parameters(row["parameters"], fault),
            value=value,
            path=path,
            line=line,
            **{name: row[name] for name in VALUE_COLUMNS if name not in ("parameters", "value")},
        )


def claims(
    path: Path, papers: Collection[str], partitions: Mapping[str, Partition] | None
) -> Iterator[Claim]:
    """Yield the claims of a file: of papers, or of a site where there are no `partitions`.

    A site's claims may name partitions that only its configuration knows, of any system; who
    evaluates them checks that.
    """
    seen: dict[tuple[str, ...], int] = {}
    for line, row in _rows(path, CLAIM_COLUMNS):

        def fault(message: object, line: int = line) -> ReferenceFault:
            return ReferenceFault(path, line, str(message))

        if row["paper"] not in papers:
            if partitions is None:
                raise fault(f"the paper is {row['paper']!r} in the claims of {path.stem!r}")
            raise fault(f"papers.bib has no entry {row['paper']!r}")
        for name in ("where", "printed"):
            if not row[name]:
                raise fault(f"the column {name!r} is empty")
        if row["expected"] not in ("", "yes"):
            raise fault(f"expected is {row['expected']!r}; it wants yes, or nothing")
        relation, unit = row["relation"], row["unit"]
        if relation not in CLAIM_RELATIONS:
            raise fault(f"unknown relation {relation!r}; known: {' '.join(CLAIM_RELATIONS)}")
        if relation in ("better", "similar"):
            if row["value"] or unit:
                raise fault(f"{relation!r} has neither value nor unit")
            value: tuple[float, ...] = ()
        else:
            if unit not in UNITS and unit not in CLAIM_UNITS:
                raise fault(f"unknown unit {unit!r}")
            bounds = row["value"].split("..") if relation == "in" else [row["value"]]
            if relation == "in" and len(bounds) != 2:
                raise fault(f"{row['value']!r} is no range low..high")
            value = tuple(_number(bound, fault) for bound in bounds)
            if list(value) != sorted(value):
                raise fault(f"{row['value']!r} is a range upside down")
        sides = [_side(row[name], row["paper"], partitions, fault) for name in ("left", "right")]
        if sides[0] == sides[1]:
            raise fault("left and right are the same")
        if not any(side.partition for side in sides):
            raise fault("neither side names a partition")
        if row["paper"] not in {side.system for side in sides}:
            raise fault(f"neither side is of {row['paper']}")
        if not row["benchmark"] and not all("benchmark" in side.keys for side in sides):
            raise fault("the column 'benchmark' is empty, and not both sides name one")
        identity = tuple(
            row[name] for name in CLAIM_COLUMNS if name not in ("printed", "expected", "note")
        )
        if identity in seen:
            raise fault(f"the same claim as in line {seen[identity]}")
        seen[identity] = line
        yield Claim(
            source="site" if partitions is None else "published",
            expected=row["expected"] == "yes",
            parameters=_parameters(row["parameters"], fault),
            left=sides[0],
            right=sides[1],
            value=value,
            path=path,
            line=line,
            **{
                name: row[name]
                for name in CLAIM_COLUMNS
                if name not in ("parameters", "left", "right", "value", "expected")
            },
        )


_Fault = Callable[[object], ReferenceFault]


def _side(text: str, paper: str, partitions: Mapping[str, Partition] | None, fault: _Fault) -> Side:
    fullname, _, rest = text.partition(";")
    system, colon, partition = fullname.partition(":")
    if partitions is None:
        if not re.match(r"[\w-]+:[\w-]*\Z", fullname):
            raise fault(f"{fullname!r} is not of the form system:partition")
    elif system != paper or not colon:
        raise fault(f"{fullname!r} is no partition of {paper}")
    elif partition and fullname not in partitions:
        raise fault(f"systems.csv has no partition {fullname!r}")
    own = {}
    shared = []
    for part in filter(None, rest.split(";")):
        key, _, value = part.partition("=")
        if key in ("benchmark", "metric"):
            own[key] = value
        else:
            shared.append(part)
    return Side(system, partition, {**own, **_parameters(";".join(shared), fault)})


def _parameters(text: str, fault: _Fault) -> dict[str, str]:
    try:
        parameters = read_parameters(text)
    except ValueError as err:
        raise fault(err) from None
    if write_parameters(parameters) != text:
        raise fault(f"the parameters are not in order; write {write_parameters(parameters)}")
    return parameters


def _number(text: str, fault: _Fault) -> float:
    try:
        value = float(text)
    except ValueError:
        raise fault(f"the value {text!r} is no number") from None
    if not math.isfinite(value):
        raise fault(f"the value {text!r} is not finite")
    return value

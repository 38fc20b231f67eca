"""The rows of `reference/`: each file read, each row typed, or the fault with its file and line.

The columns, keys and words are documented in `reference/README.md`. A claim is validated by its
relation.
"""

import codecs
import csv
import io
import math
import re
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from acceptance.core import records
from acceptance.core.words import RATES, TECHNOLOGIES, UNITS, is_simulated, split_metric
from acceptance.references.records import (
    CLAIM_COLUMNS,
    RANGED,
    RELATIONS,
    VALUE_COLUMNS,
    Claim,
    Reference,
    ReferenceFault,
    Side,
    bounds,
    read_parameters,
    write_parameters,
)
from acceptance.suites import units_of

Record = TypeVar("Record")
#: Byte-order marks that editors write, of UTF-8 and UTF-16.
_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
Row = dict[str, str]

SYSTEM_COLUMNS = (
    *("system", "partition", "printed", "where", "processor", "clock_ghz", "sockets_per_node"),
    *("cores_per_node", "nodes", "memory_gb_per_node", "network", "technology", "rate", "lanes"),
    *("pcie", "pcie_lanes", "mpi", "mpi_version", "operating_system", "benchmarks", "note"),
)
#: Units of claims besides those of metrics: a plain quotient, and its decimal logarithm.
CLAIM_UNITS = ("x", "decade")


def read_rows(
    path: Path,
    columns: tuple[str, ...],
    make: Callable[[Row, int], Record],
    optional: tuple[str, ...] = (),
) -> list[Record]:
    """Return what `make` makes of each row of a CSV file with exactly these columns.

    Those that are `optional` may follow. `make` takes the fields by column, and the line of the
    row; its ValueErrors become ReferenceFaults.
    """
    reader = csv.reader(io.StringIO(text_of(path), newline=""), strict=True)
    records = []
    line = 1
    try:
        header = next(reader, None)
        if header == [*columns, *optional]:
            columns += optional
        refuse(header != [*columns], f"the header is not {','.join(columns)}")
        line = reader.line_num + 1
        for fields in reader:
            if len(fields) != len(columns):
                raise ValueError(f"{len(fields)} fields where the header has {len(columns)}")
            records.append(make(dict(zip(columns, fields, strict=True)), line))
            line = reader.line_num + 1
    except (csv.Error, ValueError) as err:
        raise ReferenceFault(str(err), where=str(path), number=line) from None
    return records


def text_of(path: Path) -> str:
    """Return the text of a file of `reference/`, which is UTF-8 without a byte-order mark.

    Raises ReferenceFault, with the line, for another encoding.
    """
    try:
        data = path.read_bytes()
    except OSError as err:
        raise ReferenceFault(f"cannot be read: {err}", where=str(path)) from None
    if data.startswith(_MARKS):
        message = "begins with a byte-order mark; save it as UTF-8 without one"
        raise ReferenceFault(message, where=str(path), number=1)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as err:
        line = data.count(b"\n", 0, err.start) + 1
        message = f"is not UTF-8: the byte 0x{data[err.start]:02x}; save it as UTF-8"
        raise ReferenceFault(message, where=str(path), number=line) from None


def refuse(wrong: bool, message: str) -> None:
    """Raise ValueError with this message where something is wrong."""
    if wrong:
        raise ValueError(message)


def known(what: str, word: str, words: Iterable[str]) -> None:
    """Raise ValueError for a word that is none of these."""
    refuse(word not in words, f"unknown {what} {word!r}; known: {', '.join(words)}")


def parameters(text: str, ranges: bool = False) -> dict[str, str]:
    """Return parameters, `ranges` among them; raise ValueError where their order is another one."""
    pairs = read_parameters(text, ranges)
    ordered = write_parameters(pairs)
    refuse(ordered != text, f"the parameters are not in order; write {ordered}")
    return pairs


def number(text: str) -> float:
    """Return a finite number, or raise ValueError."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"the value {text!r} is no number") from None
    refuse(not math.isfinite(value), f"the value {text!r} is not finite")
    return value


def papers(path: Path) -> dict[str, str]:
    """Return the papers of a BibTeX file: key -> title."""
    from pybtex.database import parse_string
    from pybtex.exceptions import PybtexError

    try:
        entries = parse_string(text_of(path), bib_format="bibtex").entries
    except PybtexError as err:
        raise ReferenceFault(f"cannot be read: {err}", where=str(path)) from None
    return {key: str(entry.fields.get("title", "")) for key, entry in entries.items()}


def partitions(path: Path, papers: Collection[str]) -> dict[str, Row]:
    """Return what `systems.csv` says of each partition, by `system:partition`."""
    partitions: dict[str, Row] = {}
    names: dict[tuple[str, str], int] = {}

    def make(row: Row, line: int) -> None:
        system, partition, technology = row["system"], row["partition"], row["technology"]
        fullname = f"{system}:{partition}"
        refuse(system not in papers, f"papers.bib has no entry {system!r}")
        refuse(not re.match(r"[\w-]+\Z", partition), f"{partition!r} is no ReFrame name")
        refuse(fullname in partitions, f"{fullname} stands twice")
        unknown = f"unknown technology {technology!r}; known: {', '.join(TECHNOLOGIES)}"
        refuse(technology not in ("", *TECHNOLOGIES), unknown)
        if row["rate"] and (rates := RATES.get(technology)):
            known(f"rate of {technology}", row["rate"], rates)
        for name in map(str.strip, row["printed"].split(";")):
            first = names.setdefault((system, name), line)
            refuse(first != line, f"line {first} has the printed name {name!r}, too")
        partitions[fullname] = row

    read_rows(path, SYSTEM_COLUMNS, make)
    return partitions


def values(path: Path, source: str, partitions: Collection[str] | None) -> list[Reference]:
    """Return the values of a file: of a paper, or of a site where there are no `partitions`."""

    def make(row: Row, line: int) -> Reference:
        given = {**row, "parameters": parameters(row["parameters"])}
        place = {"source": source, "origin": path.stem, "path": path, "line": line}
        spread = row.get("spread") or None
        read = records.read(Reference, {**given, **place, "spread": spread}, "a row", strict=False)
        fullname = f"{read.system}:{read.partition}"
        refuse(
            read.system != path.stem, f"the system is {read.system!r} in the file of {path.stem!r}"
        )
        if partitions is None:
            refuse(not read.partition, "a baseline without a partition judges nothing")
        elif read.partition:
            refuse(fullname not in partitions, f"systems.csv has no partition {fullname!r}")
        known("unit", read.unit, UNITS)
        if split_metric(read.metric)[1] is not None:
            raise ValueError(f"write the size of {read.metric!r} as a parameter, message_size=...")
        if source == "published":
            # What is wrong in rows of a site is told beside its results: its checks may be its own.
            _known_metric(read.benchmark, read.metric, read.unit)
            if not row["note"] and not _is_printed(read):
                raise ValueError(
                    f"the value {row['value']} is not what is printed, {read.printed}, and no note "
                    "says by which conversion it comes from that"
                )
        return read

    return read_rows(path, VALUE_COLUMNS, make, () if partitions is not None else ("spread",))


def _known_metric(benchmark: str, metric: str, unit: str) -> None:
    """Raise ValueError for what nothing reports, or not in this unit."""
    units = units_of(benchmark)
    if units is None:
        raise ValueError(
            f"unknown benchmark {benchmark!r}: no check runs it, and it is none of those of papers "
            "in utils/acceptance/suites/paper_only.py"
        )
    known(f"metric of {benchmark}", metric, units)
    refuse(unit != units[metric], f"{metric} of {benchmark} is in {units[metric]}, not in {unit}")


def _is_printed(row: Reference) -> bool:
    """Tell whether a value is the number that a paper prints, perhaps as 4.9 x 10^-5."""
    with suppress(ValueError):
        return math.isclose(row.value, float(row.printed.replace(" x 10^", "e")), rel_tol=1e-9)
    return False


def claims(path: Path, papers: Collection[str], partitions: Collection[str] | None) -> list[Claim]:
    """Return the claims of a file: of papers, or of a site where there are no `partitions`.

    A site's claims may name partitions that only its configuration knows, of any system; who
    evaluates them checks that.
    """
    seen: dict[tuple[str, ...], int] = {}

    def make(row: Row, line: int) -> Claim:
        paper, expected = row["paper"], row["expected"]
        if paper not in papers:
            if partitions is None:
                raise ValueError(f"the paper is {paper!r} in the claims of {path.stem!r}")
            raise ValueError(f"papers.bib has no entry {paper!r}")
        refuse(expected not in ("", "yes"), f"expected is {expected!r}; write yes, or nothing")
        value = _claimed(row)
        left = _side(row["left"], paper, partitions)
        right = _side(row["right"], paper, partitions) if row["right"] else None
        identity = tuple(
            row[name] for name in CLAIM_COLUMNS if name not in ("printed", "expected", "note")
        )
        first = seen.setdefault(identity, line)
        refuse(first != line, f"the same claim as in line {first}")
        typed = {
            "parameters": parameters(row["parameters"], ranges=True),
            "left": left,
            "right": right,
            "value": value,
            "expected": expected == "yes",
            "source": "site" if partitions is None else "published",
        }
        claim = records.read(Claim, {**row, **typed, "path": path, "line": line}, "a row")
        _check_form(claim)
        return claim

    return read_rows(path, CLAIM_COLUMNS, make)


def _claimed(row: Row) -> tuple[float, ...]:
    """Return the value of a claim: two bounds of a range, none of an ordering."""
    relation, unit, text = row["relation"], row["unit"], row["value"]
    known("relation", relation, RELATIONS)
    form = RELATIONS[relation].value
    if form == "none" or (form == "place" and not text):
        refuse(bool(text or unit), f"{relation!r} has neither value nor unit")
        return ()
    if form in ("place", "step"):
        refuse(bool(unit), f"the value of {relation!r} is one of the key: it has no unit")
    else:
        known("unit", unit, (*UNITS, *CLAIM_UNITS))
    ends = [text] if form == "number" else text.split("..")
    refuse(form in ("range", "step") and len(ends) != 2, f"{text!r} is no range low..high")
    value = tuple(map(number, ends))
    refuse([*value] != sorted(value), f"{text!r} is a range upside down")
    refuse(relation == "up-to" and value[0] == 0, "'up-to' nothing is no claim")
    return value


def _check_form(claim: Claim) -> None:
    """Refuse a claim whose sides are not what its kind of relation is said of."""
    relation, kind, left, right = claim.relation, claim.kind, claim.left, claim.right
    refuse(left == right, "left and right are the same")
    for side in claim.sides:
        refuse(not claim.stated(side)[0], "the column 'benchmark' is empty, and no side names one")
        refuse(side.over == replace(side, over=None), "above and below the line is the same")
    systems = [side.system for side in claim.sides]
    refuse(claim.paper not in systems, f"neither side is of {claim.paper}")
    kinds = {is_simulated(system) for system in systems}
    refuse(len(kinds) > 1, "what is simulated is not compared with what is measured")
    refuse((kind.shape == "curve") != (right is None), _FORMS[kind.shape].format(relation))
    if kind.shape == "curve":
        ranges = [key for key in RANGED if bounds(left.keys.get(key, ""))]
        alone = len(ranges) == 1 and left.over is None and bool(left.partition)
        refuse(not alone, _FORMS["curve"].format(relation))
    elif kind.shape == "machines":
        refuse(any(side.partition or side.over for side in claim.sides), _FORMS["machines"])
    else:
        refuse(not any(side.partition for side in claim.sides), "neither side names a partition")


#: Shape of a kind of relation -> what is wrong with a claim that has another form.
_FORMS = {
    "pair": "{!r} is said of two sides",
    "curve": "{!r} is said of one side: left names a partition, right is empty, and one of its "
    "keys has a range, low..high or low..",
    "machines": "'proportional' is said of all partitions: neither side names one",
}


def _side(text: str, paper: str, partitions: Collection[str] | None) -> Side:
    """Read a side, or a quotient of two: `system:partition;key=value / system:partition`."""
    above, line, below = text.partition(" / ")
    side = _result(above, paper, partitions)
    return replace(side, over=_result(below, paper, partitions)) if line else side


def _result(text: str, paper: str, partitions: Collection[str] | None) -> Side:
    fullname, _, rest = text.partition(";")
    system, colon, partition = fullname.partition(":")
    if partitions is None:
        if not re.match(r"[\w-]+:[\w-]*\Z", fullname):
            raise ValueError(f"{fullname!r} is not of the form system:partition")
    elif system != paper or not colon:
        raise ValueError(f"{fullname!r} is no partition of {paper}")
    elif partition and fullname not in partitions:
        raise ValueError(f"systems.csv has no partition {fullname!r}")
    parts = [part.partition("=") for part in filter(None, rest.split(";"))]
    names = {key: value for key, _, value in parts if key in ("benchmark", "metric")}
    others = ";".join("".join(part) for part in parts if part[0] not in names)
    return Side(system, partition, {**names, **parameters(others, ranges=True)})

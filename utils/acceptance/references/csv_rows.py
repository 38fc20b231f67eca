"""The rows of `reference/`: each file read, each row typed, or the fault with its file and line.

The columns, keys and words are documented in `reference/README.md`.
"""

import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from pybtex.database import parse_string
from pybtex.exceptions import PybtexError

from acceptance.core import records
from acceptance.core.words import RATES, TECHNOLOGIES, UNITS, split_metric
from acceptance.references.fields import (
    Row,
    known,
    parameters,
    refuse,
    rows,
    text_of,
)
from acceptance.references.records import VALUE_COLUMNS, Partition, Reference, ReferenceFault
from acceptance.suites import units_of

SYSTEM_COLUMNS = (
    *("system", "partition", "printed", "where", "processor", "clock_ghz", "sockets_per_node"),
    *("cores_per_node", "nodes", "memory_gb_per_node", "network", "technology", "rate", "lanes"),
    *("pcie", "pcie_lanes", "mpi", "mpi_version", "operating_system", "benchmarks", "note"),
)


def papers(path: Path) -> dict[str, str]:
    """Return the papers of a BibTeX file: key -> title."""
    try:
        entries = parse_string(text_of(path), bib_format="bibtex").entries
    except PybtexError as err:
        raise ReferenceFault(f"cannot be read: {err}", where=str(path)) from None
    return {key: str(entry.fields.get("title", "")) for key, entry in entries.items()}


def partitions(path: Path, papers: Iterable[str]) -> dict[str, Partition]:
    """Return the partitions of `systems.csv`, by their full names."""
    partitions: dict[str, Partition] = {}
    names: dict[tuple[str, str], int] = {}

    def make(row: Row, line: int) -> None:
        partition = Partition(row["system"], row["partition"], row)
        technology = row["technology"]
        refuse(row["system"] not in papers, f"papers.bib has no entry {row['system']!r}")
        refuse(
            not re.match(r"[\w-]+\Z", row["partition"]), f"{row['partition']!r} is no ReFrame name"
        )
        refuse(partition.fullname in partitions, f"{partition.fullname} stands twice")
        unknown = f"unknown technology {technology!r}; known: {', '.join(TECHNOLOGIES)}"
        refuse(technology not in ("", *TECHNOLOGIES), unknown)
        if row["rate"] and (rates := RATES.get(technology)):
            known(f"rate of {technology}", row["rate"], rates)
        for name in partition.printed:
            first = names.setdefault((partition.system, name), line)
            refuse(first != line, f"line {first} has the printed name {name!r}, too")
        partitions[partition.fullname] = partition

    rows(path, SYSTEM_COLUMNS, make)
    return partitions


def values(path: Path, source: str, partitions: Mapping[str, Partition] | None) -> list[Reference]:
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

    return rows(path, VALUE_COLUMNS, make, () if partitions is not None else ("spread",))


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

"""`acceptance references`: published values, baselines, tolerances and limits of fabrics."""

import argparse
from collections.abc import Iterator

import msgspec

from acceptance import references
from acceptance.cli.shared import FORMS, Columns, Commands, add_command, add_verbs, emit, option
from acceptance.references import SOURCES, Library, failing, tables
from acceptance.rfm import configuration
from acceptance.site import PartitionLimit, partition_limits
from acceptance.verdict import Status

#: Marks what is inferred.
INFERRED = "*"


def add(commands: Commands) -> None:
    """Add the subcommand."""
    more = "In the form of reframe they are YAML for checks of ReFrame itself."
    command = add_command(commands, "references", run, more, forms=(*FORMS, "reframe"))
    option(command, "--paper KEY", "only those of a paper, by its key")
    option(command, "--partition PARTITION", "only those of a partition, system:partition")
    option(command, "--benchmark NAME", "only those of suite.program, or of a whole suite")
    meaning = "how far from which reference a result fails, and which file says so"
    option(command, "--tolerances", meaning)
    limits = add_command(add_verbs(command), "limits", _limits, forms=FORMS)
    meaning = "only that one; without it, all that state a fabric"
    option(limits, "SYSTEM[:PARTITION]", meaning, dest="partition", nargs="?")


def run(options: argparse.Namespace) -> int:
    """List what judges results: published values, baselines, tolerances and limits."""
    library = references.load(options.workspace.reference)
    rows = tables.select(library, options.paper, options.partition, options.benchmark)
    if options.tolerances:
        names = ("system", "source", "of", "fails", "origin")
        emit(options, [*_tolerances(library)], {name: name for name in names})
        return Status.PASSED
    if options.format == "reframe":
        print(tables.as_reframe(library, rows), end="")
        return Status.PASSED
    if options.format == "csv":  # as a file of reference/ has them
        print(tables.as_csv(rows), end="")
        return Status.PASSED
    records = [*map(tables.as_data, rows)]
    columns: Columns = {
        "partition": lambda row: f"{row['system']}:{row['partition']}",
        **{name: name for name in tables.SHORT_COLUMNS},
        "value": lambda row: f"{row['value']:.10g}",
    }
    emit(options, records, columns)
    return Status.PASSED


def _tolerances(library: Library) -> Iterator[dict[str, str]]:
    """Yield the tolerances of all systems, and below them what sites state instead."""
    own = library.folder / "tolerances.yaml"
    for system, tolerances in (("any", library.tolerances), *library.of_sites.items()):
        # What a site does not state is among those of all systems.
        stated = tolerances.table if tolerances is library.tolerances else tolerances.origins
        for source, unit in sorted(stated, key=lambda key: SOURCES.index(key[0])):
            yield {
                "system": system,
                "source": source,
                "of": unit,
                "fails": failing(tolerances, source, unit) or "nothing",
                "origin": str(tolerances.origins.get((source, unit), own)),
                "reason": " ".join(tolerances.table[source, unit].reason.split()),
            }


def _limits(options: argparse.Namespace) -> int:
    """Show the limits of links and slots, each with the formula that it follows from."""
    library = references.load(options.workspace.reference)
    systems = configuration.load(options.config_files).systems
    place_of = options.workspace.place_of
    found = [*partition_limits(systems, library, options.partition, place_of)]
    mark = f"{INFERRED} has a fact that its source does not print"
    lines = [mark] if any(row.inferred for row in found) else []
    lines += _details(found[0]) if len(found) == 1 else ()
    data = []
    for row in found:
        following = {"binds": row.limit.binds, "bandwidth": (least := row.limit.bandwidth)}
        data.append(msgspec.to_builtins(row) | following | {"bidirectional": least and 2 * least})
    emit(options, found, _LIMITS, lines, data)
    return Status.PASSED


def _mark(row: PartitionLimit, *names: str) -> str:
    return f" {INFERRED}" if {*names} & {*row.inferred} else ""


def _mbs(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}"


_LIMITS: Columns = {
    "partition": "partition",
    "fabric": lambda row: row.facts.text + _mark(row, "technology", "rate", "lanes", "ports"),
    "PCIe": lambda row: (row.facts.slot_text or "-") + _mark(row, "pcie", "pcie_lanes"),
    "link MB/s": lambda row: _mbs(row.limit.link and row.limit.link.value),
    "PCIe MB/s": lambda row: _mbs(row.limit.pcie and row.limit.pcie.value),
    "binds": lambda row: row.limit.binds,
    "peak MB/s": lambda row: row.peak and _mbs(row.peak.value),
    "by": lambda row: row.peak and f"{row.peak.benchmark}, {row.peak.where}",
    "ratio": lambda row: row.peak and row.peak.ratio and f"{row.peak.ratio:.3f}",
}


def _details(row: PartitionLimit) -> Iterator[str]:
    bound, least, floor = row.limit, row.limit.least, row.latency_floor
    facts = {
        "inferred": ", ".join(row.inferred),
        "note": bound.note,
        "link": bound.link and bound.link.formula,
        "PCIe": bound.pcie and bound.pcie.formula,
        "both": least and f"{2 * least.value:.1f} MB/s in both directions together",
        "latency": floor and f"no 8 bytes take less than {floor:.4f} us",
    }
    yield ""
    yield from (f"{name:9}{text}" for name, text in facts.items() if text)

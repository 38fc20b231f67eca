"""`acceptance limits`: what the fabrics can do at most, beside the nearest reference."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from acceptance import references
from acceptance.cli.arguments import Commands, add_command, add_format
from acceptance.cli.output import emit
from acceptance.cli.published_peaks import Peak, peaks
from acceptance.core.extras import PartitionExtras
from acceptance.core.text import table
from acceptance.core.words import TECHNOLOGIES
from acceptance.fabric import FabricFault, Facts, Limit, facts_of, latency_floor, limit
from acceptance.references import Library
from acceptance.rfm import configuration
from acceptance.verdict import Status

#: Options that state facts, in place of those of the partitions.
STATED = {
    "technology": ", ".join(TECHNOLOGIES),
    "rate": "SDR to XDR of InfiniBand, Gb/s of a port of the others",
    "lanes": "lanes of an InfiniBand link",
    "pcie": "generation of PCI Express, 1.0 to 6.0",
    "pcie_lanes": "lanes of the slot",
    "mtu": "bytes of the largest packet",
}
HEADER = (
    "partition",
    "fabric",
    "PCIe",
    "link MB/s",
    "PCIe MB/s",
    "binds",
    "peak MB/s",
    "by",
    "ratio",
)

#: Marks what is inferred.
INFERRED = "*"


@dataclass(frozen=True)
class PartitionLimit:
    """A partition with its facts, their limit, and the reference that is nearest to it."""

    partition: str
    facts: Facts
    limit: Limit
    peak: Peak | None
    #: Names of what is stated, but not printed by the source (`extras["inferred"]`).
    inferred: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Return everything as data; bandwidths in MB/s, the floor of the latency in us."""
        return {
            "partition": self.partition,
            "facts": {
                key: value for key, value in structs.asdict(self.facts).items() if value is not None
            },
            "link": self.limit.link,
            "link_formula": self.limit.link_formula,
            "pcie": self.limit.pcie,
            "pcie_formula": self.limit.pcie_formula,
            "binds": self.limit.binds,
            "bandwidth": self.limit.bandwidth,
            "bidirectional": self.limit.bidirectional,
            "latency_floor": latency_floor(self.facts),
            "note": self.limit.note,
            "inferred": self.inferred,
            "peak": self.peak,
        }


def rows(
    systems: Iterable[Mapping[str, Any]],
    library: Library,
    only: str | None = None,
    stated: Mapping[str, object] | None = None,
    place_of: Callable[[str, str], str] = "{}:{}".format,
) -> Iterator[PartitionLimit]:
    """Yield the partitions that state a fabric, with facts of `stated` in place of their own.

    `only` is a system, or `system:partition`; `place_of` names a partition in messages. Raises
    FabricFault for facts that cannot be, with the partition, and where nothing is left to yield.
    """
    extras = {
        (system["name"], partition["name"]): partition.get("extras", {})
        for system in systems
        for partition in system["partitions"]
    }
    chosen = [key for key in extras if only in (None, key[0], ":".join(key))]
    if not chosen:
        known = ", ".join(map(":".join, extras))
        raise FabricFault(f"no system or partition {only!r}; there are {known}")
    count = 0
    for key in chosen:
        if facts := facts_of(extras[key], place_of(*key)):
            name, count = ":".join(key), count + 1
            if stated:
                # What the partition states is all right, so that only options can be wrong here.
                both = {"fabric": {**extras[key]["fabric"], **stated}}
                facts = facts_of(both, name) or facts
            inferred = PartitionExtras.read(extras[key], place_of(*key)).inferred
            yield replace(_row(name, facts, library), inferred=inferred)
    if not count:
        raise FabricFault(f"{', '.join(map(':'.join, chosen))}: no fabric is stated")


def _row(name: str, facts: Facts, library: Library | None) -> PartitionLimit:
    bound = limit(facts)
    published = peaks(library, name, bound.bandwidth) if library else []
    return PartitionLimit(name, facts, bound, published[0] if published else None)


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "limits",
        "what the fabrics can do at most, and why",
        "Show the limits of links and slots, each with the formula that it follows from.",
    )
    command.add_argument(
        "partition",
        nargs="?",
        metavar="SYSTEM[:PARTITION]",
        help="only that one; without it, and without --technology, all that state a fabric",
    )
    for name, text in STATED.items():
        command.add_argument(f"--{name.replace('_', '-')}", help=text)
    add_format(command, "table", "json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the limits of one partition, of all, or of the facts on the command line."""
    stated = {name: getattr(options, name) for name in STATED if getattr(options, name) is not None}
    if stated and options.partition is None:
        partitions = [_row("as stated", Facts.read(stated), None)]
    else:
        library = references.load(options.workspace.reference)
        systems = configuration.load(options.config_files).systems
        place_of = options.workspace.place_of
        partitions = list(rows(systems, library, options.partition, stated, place_of))
    emit(options.format, lambda: [row.as_data() for row in partitions], lambda: _text(partitions))
    return Status.PASSED


def _text(partitions: list[PartitionLimit]) -> str:
    text = table(HEADER, map(_cells, partitions))
    if any(row.inferred for row in partitions):
        text += f"\n{INFERRED} has a fact that its source does not print"
    return f"{text}\n\n{_details(partitions[0])}" if len(partitions) == 1 else text


def _cells(row: PartitionLimit) -> list[str]:
    peak = row.peak
    return [
        row.partition,
        row.facts.text + _mark(row, "technology", "rate", "lanes", "ports"),
        (row.facts.slot_text or "-") + _mark(row, "pcie", "pcie_lanes"),
        _mbs(row.limit.link),
        _mbs(row.limit.pcie),
        row.limit.binds or "-",
        _mbs(peak.value if peak else None),
        f"{peak.benchmark}, {peak.where}" if peak else "-",
        f"{peak.ratio:.3f}" if peak and peak.ratio else "-",
    ]


def _mark(row: PartitionLimit, *names: str) -> str:
    return f" {INFERRED}" if {*names} & {*row.inferred} else ""


def _mbs(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _details(row: PartitionLimit) -> str:
    bound = row.limit
    lines = [
        ("inferred", ", ".join(row.inferred)),
        ("note", bound.note),
        ("link", bound.link_formula),
        ("PCIe", bound.pcie_formula),
    ]
    if bound.bidirectional is not None:
        lines.append(("both", f"{bound.bidirectional:.1f} MB/s in both directions together"))
    if floor := latency_floor(row.facts):
        lines.append(("latency", f"no 8 bytes take less than {floor:.4f} us"))
    return "\n".join(f"{name:9}{text}" for name, text in lines if text)

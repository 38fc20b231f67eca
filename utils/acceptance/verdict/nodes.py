"""The nodes of a verdict: which were benchmarked, which of how many, and which are slow."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from acceptance.core.extras import node_count
from acceptance.core.findings import Finding
from acceptance.core.pairs import ALL_UNITS, UNITS
from acceptance.core.text import shortened
from acceptance.ledger import Case
from acceptance.machine import SlurmNode
from acceptance.nodes import AllPairs, compared_pairs, finding_of
from acceptance.rfm import SiteFault
from acceptance.rfm.configuration import Site

#: Who tells the nodes of a partition, where its facts do not.
SCHEDULER = "the scheduler"
#: Names of nodes that a line shows.
SHOWN = 8


class Nodes(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the nodes of partitions, by `system:partition`.

    `known` are those that its scheduler has, `stated` how many the facts of a partition state,
    `limited` those that the operator asked for. `every`: each of them must be benchmarked.
    `unpaired` says why all pairs of them are measured on no partition. `detect`: the loss of a node
    that was to be seen, 0 for none.
    """

    known: Mapping[str, Sequence[SlurmNode]] = field(default_factory=dict)
    stated: Mapping[str, int] = field(default_factory=dict)
    limited: Mapping[str, Sequence[str]] = field(default_factory=dict)
    every: bool = False
    unpaired: str = ""
    detect: float = 0.0


class Paired(AllPairs, frozen=True, forbid_unknown_fields=True):
    """What a case measured of all pairs, and the environment that it ran in."""

    environment: str = ""


class PartitionNodes(Struct, forbid_unknown_fields=True):
    """What a verdict knows of the nodes of a partition, `system:partition`.

    `known` are the names that the scheduler has, `count` is how many there are, by it or the facts
    of the partition, None where nobody knows. `benchmarked` are nodes with a benchmark's metrics,
    `looked_at` those whose links were looked at, `limited` those that the operator limited it to,
    empty where nobody did. `not_up` take no jobs: why, by their names. `all_pairs` has what
    each case measured of all pairs; `not_paired` says why there is none, of several nodes.
    """

    place: str
    known: tuple[str, ...] = ()
    count: int | None = None
    not_up: dict[str, str] = field(default_factory=dict)
    limited: tuple[str, ...] = ()
    benchmarked: tuple[str, ...] = ()
    looked_at: tuple[str, ...] = ()
    all_pairs: tuple[Paired, ...] = ()
    not_paired: str = ""

    @property
    def could_have_seen(self) -> list[dict[str, Any]]:
        """Return the chance of each loss in each comparison of its nodes, or why none is known."""
        found = []
        for measured in self.all_pairs:
            power = measured.power
            known = power is not None and power.crossing
            found.append({
                "place": f"{self.place}+{measured.environment}",
                "could": "; ".join(filter(None, (measured.could, measured.aim.text))),
                "accepted_good": round(power.accepted_good, 3) if power else None,
                "cables": "" if known else measured.unrouted
                or ("not each was crossed" if measured.uncrossed else measured.could),
                # With so many digits as all machines agree on.
                "chances": [
                    replace(each, loss=round(each.loss, 4), accepted=round(each.accepted, 3))
                    for each in (power.characteristic if power else ())
                ],
            })  # fmt: skip
        return found

    @property
    def findings(self) -> list[Finding]:
        """Return the culprits of all pairs, and which nodes nobody has benchmarked or compared."""
        found = [
            finding_of(culprit, self.place, measured.environment)
            for measured in self.all_pairs
            for culprit in (*measured.culprits, *measured.unseen)
        ]
        found += [
            Finding("node-absent", f"{self.place}: {name} is {why}", nodes=(name,), what=name,
                    expected="up", place=(self.place, name), source=SCHEDULER)
            for name, why in self.not_up.items()
        ]  # fmt: skip
        told = {"limited": self.limited_text * bool(self.limited)}
        if self.missing:
            told["not-benchmarked"] = f"{self.coverage_text}; {self.missing}"
        told["pairs-not-measured"] = self.not_paired
        source = SCHEDULER if self.known else "the facts of the partition" if self.count else ""
        if not self.known and len(self.looked_at) < (self.count or 0):
            answered = f"{len(self.looked_at)} answered: {', '.join(self.looked_at) or 'none'}"
            told["nodes-left-out"] = f"{answered}; {self.count} are stated"
        return found + [
            Finding(
                kind, f"{self.place}: {text}", place=(self.place,), found=text,
                what=f"nodes of {self.place}", source=source,
            )
            for kind, text in told.items()
            if text
        ]  # fmt: skip

    @property
    def compared(self) -> set[str]:
        """Return the nodes that were compared with each other by what is between them."""
        judged = (measured.judged(unit) for measured in self.all_pairs for unit in UNITS)
        return set[str]().union(*judged)

    @property
    def _asked(self) -> int | None:
        """Return how many nodes should have been benchmarked; None where that is not known."""
        return len(self.limited) or self.count

    @property
    def _measured(self) -> list[str]:
        """Return the benchmarked nodes that are among those that were to be."""
        wanted = short_names(self.limited or self.known)
        return [name for name in self.benchmarked if not wanted or short_name(name) in wanted]

    @property
    def missing(self) -> str:
        """Say which nodes were not benchmarked, or not with others that were; empty if all were.

        Empty, too, where nobody knows how many there are. Those that are not up are told by
        themselves.
        """
        measured, asked = short_names((*self._measured, *self.not_up)), self._asked
        if asked is None:
            return ""
        if lacking := max(0, asked - len(measured)):
            names = [x for x in self.limited or self.known if short_name(x) not in measured]
            return f"not: {shortened(names, SHOWN)}" if names else f"{lacking} are missing"
        compared = short_names(self.compared)
        alone = sorted(x for x in self._measured if compared and short_name(x) not in compared)
        return f"not compared with the others: {shortened(alone, SHOWN)}" if alone else ""

    @property
    def limited_text(self) -> str:
        """Say that the operator chose nodes."""
        return f"limited by the operator to {len(self.limited)} of {self.count} nodes"

    @property
    def coverage_text(self) -> str:
        """Say how many nodes were benchmarked, and which of them the operator asked for."""
        asked = self._asked
        of = f"of {asked} nodes" if asked is not None else "nodes; how many there are is not known"
        limited = f" ({self.limited_text})" if self.limited else ""
        return f"benchmarked {len(self._measured)} {of}{limited}"

    @property
    def line(self) -> str:
        """Say it in a line; empty without benchmarks, unless nodes should have had one, or lack.

        What a node that is not up lacks has no other line.
        """
        if not (self.benchmarked or self.limited or self.not_up):
            return ""
        words = [self.coverage_text]
        if self.looked_at:
            of = f" of {self.count}" if self.count else ""
            words.append(f"links of {len(self.looked_at)}{of} looked at")
        for measured in self.all_pairs:
            failing = sum(each.fails for each in measured.culprits)
            words.append(measured.text + (f", culprits: {failing}" if failing else ""))
        if self.not_paired:
            words.append(f"not compared with each other: {self.not_paired}")
        if away := [f"{name} is {why}" for name, why in self.not_up.items()]:
            words.append(f"not up: {shortened(away, SHOWN)}")
        return f"{self.place}: {'; '.join(words)}"

    def has_ended(self, what: str, nodes: Sequence[str]) -> bool:
        """Tell whether a quantity of nodes (`finding_of`) was judged again, and they are well.

        Of a path both of its directions have to be measured again; of a cable (its ends are the
        nodes) pairs whose routes take it.
        """
        for measured in self.all_pairs:
            for quantity in ("", *ALL_UNITS):
                environment = measured.environment
                judged = measured.judged(quantity) if quantity else {*measured.nodes}
                if what == compared_pairs(environment, quantity) and judged and judged >= {*nodes}:
                    return measured.is_back(quantity, nodes)
                if what == compared_pairs(environment, quantity, "paths"):
                    return judged >= {*nodes} and measured.looked_at(*nodes)
                if what == compared_pairs(environment, quantity, "cables"):
                    return measured.crossed(" - ".join(nodes))
        return False


def node_lines(partitions: Iterable[PartitionNodes]) -> list[str]:
    """Return a line for each partition of which there is something to say."""
    return [each.line for each in partitions if each.line]


def written_nodes(protocol: Mapping[str, Any]) -> list[PartitionNodes]:
    """Return what the data of a protocol say of nodes; raises ValueError for what is none."""
    return [*msgspec.convert(protocol["node_results"], dict[str, PartitionNodes]).values()]


def stated_nodes(site: Site, systems: Iterable[str]) -> dict[str, int]:
    """Return how many nodes the partitions of these systems state, by `system:partition`."""
    stated: dict[str, int] = {}
    for name in systems:
        with contextlib.suppress(SiteFault):  # a system that this configuration has no more
            for partition in site.system(name)["partitions"]:
                alone = 1 if partition.get("scheduler") == "local" else None
                if count := node_count(partition.get("extras", {}), alone):
                    stated[f"{name}:{partition['name']}"] = count
    return stated


def place_of(case: Case) -> str:
    """Return the partition of a case, as `system:partition`."""
    return f"{case.system}:{case.partition}"


def short_name(name: str) -> str:
    """Return a node's name without its domain: not everybody who names it writes that."""
    return name.partition(".")[0]


def short_names(names: Iterable[str]) -> set[str]:
    """Return names of nodes, each without its domain."""
    return {*map(short_name, names)}

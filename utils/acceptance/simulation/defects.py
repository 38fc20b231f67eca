"""Faults that a simulated system can have, one at a time: what each changes, and what names it.

What Linux would show of a fault is a change of the facts of one node's link: platform and tree of
sysfs follow from the same facts. Whatever Linux does not show is a change of the platform alone.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from msgspec import structs

from acceptance.core.errors import Fault
from acceptance.fabric import Facts, limits
from acceptance.simulation.platform import (
    Link,
    Platform,
    SimulatedRun,
    parameters_of,
)

#: The variable that names the fault of a run: `port-sdr`, or with its place `port-sdr:n3`.
VARIABLE = "ACCEPTANCE_FAULT"
#: Where a fault is unless something else is asked for.
_NODE, _UPLINK = "n1", "leaf1-up1"

#: How the checks name what is behind: kinds of observations, and of culprits in all pairs.
_PORT = ("link-rate", "fabric-speed", "fabric-width")
_SLOT = ("pcie-speed", "pcie-width")
_ONE_NODE = ("node-slow", "node-sends-slow", "node-receives-slow", "cable-slow")


@dataclass(frozen=True)
class Defect:
    """A fault: what it changes at its place, and what it must be recognised by.

    `facts` are those of one node's link that are others. `bandwidth`, `latency` and `loss` are
    shares of the links at its place: of a `node`, its `cable`, an `uplink`, or of the whole
    `fabric`. `ranks` stand elsewhere than they should, or nodes have changed `places`. `kinds` of
    observations and culprits name it; without any it is known by the metrics that it touches, of
    these `stems`. `counters` are errors that its port counts.
    """

    name: str
    text: str
    where: Literal["node", "cable", "uplink", "fabric"] = "node"
    facts: Mapping[str, str | int] = field(default_factory=dict)
    bandwidth: float = 1.0
    latency: float = 1.0
    loss: float = 0.0
    moved: Literal["", "places", "ranks"] = ""
    kinds: tuple[str, ...] = ()
    stems: tuple[str, ...] = ("bandwidth",)
    counters: Mapping[str, int] = field(default_factory=dict)


DEFECTS = {
    fault.name: fault
    for fault in (
        Defect("port-sdr", "a port trained at SDR", facts={"rate": "SDR"}, kinds=_PORT),
        Defect("port-ddr", "a port trained at DDR", facts={"rate": "DDR"}, kinds=_PORT),
        Defect("one-lane", "a port trained with one lane of four", facts={"lanes": 1}, kinds=_PORT),
        Defect("slot-1.1", "a slot trained at PCIe 1.1", facts={"pcie": "1.1"}, kinds=_SLOT),
        Defect("slot-x4", "a slot trained with four lanes", facts={"pcie_lanes": 4}, kinds=_SLOT),
        Defect("latency-10", "all latencies 10 % longer", "fabric", latency=1.1,
               stems=("latency",)),
        Defect("latency-50", "all latencies 50 % longer", "fabric", latency=1.5,
               stems=("latency",)),
        Defect("node-half", "a node at half of its rate", bandwidth=0.5, kinds=_ONE_NODE),
        Defect("cable-half", "a node's cable at half of its rate", "cable", bandwidth=0.5,
               kinds=_ONE_NODE),
        Defect("uplink-half", "an uplink of a leaf switch at half of its rate", "uplink",
               bandwidth=0.5, kinds=("uplink-slow", "cable-slow")),
        Defect("cable-loss", "a node's cable that loses a tenth of its packets", "cable", loss=0.1,
               kinds=("link-counters", "fabric-errors"), counters={"symbol_error": 1000}),
        Defect("nodes-swapped", "two nodes of different leaves, each in the place of the other",
               moved="places", kinds=("fabric-swapped",), stems=("latency",)),
        Defect("ranks-misplaced", "the ranks of the second node on the first", moved="ranks",
               kinds=("misplaced",), stems=("latency", "bandwidth")),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Injected:
    """A fault and its place: the name of a node, of an uplink, or empty for the whole fabric."""

    fault: Defect
    place: str

    @classmethod
    def of(cls, text: str) -> "Injected":
        """Read `NAME` or `NAME:PLACE`; raises Fault for a name that is not known."""
        name, _, place = text.partition(":")
        if name not in DEFECTS:
            raise Fault(f"unknown fault {name!r}; known: {', '.join(DEFECTS)}")
        fault = DEFECTS[name]
        default = {"uplink": _UPLINK, "fabric": ""}.get(fault.where, _NODE)
        if place and not default:
            raise Fault(f"{text}: {name} is of the whole fabric, and has no place")
        return cls(fault, place or default)

    def __str__(self) -> str:
        """Write it as it is asked for."""
        return f"{self.fault.name}:{self.place}" if self.place else self.fault.name

    def why_not(self, facts: Facts, platform: Platform) -> str:
        """Say why there is no such fault in a fabric; empty where there can be."""
        if self.fault.facts:
            return _why_not_trained(facts, self.fault.facts)
        if self.fault.moved == "ranks":
            return ""
        tree = platform.tree
        if self.fault.where == "uplink" and tree is None:
            return "it has no uplinks"
        if self.fault.moved and (tree is None or len(platform.hosts) <= tree.leaf):
            return "its nodes are alike: there are no two leaf switches"
        return ""

    def at(self, platform: Platform) -> tuple[str, ...]:
        """Return the names of nodes and switches at its place; none of the whole fabric."""
        if self.fault.where == "uplink" and platform.tree:
            leaf, _, spine = self.place.partition("-up")
            first = int(leaf.removeprefix("leaf")) * platform.tree.leaf
            hosts = platform.hosts[first : first + platform.tree.leaf]
            return (*hosts, leaf, f"spine{spine}")
        if self.fault.moved == "places":
            return self.place, _other_place(platform, self.place)
        return (self.place,) if self.place else ()

    def node(self, name: str, facts: Facts) -> Facts:
        """Return the facts of a node's link."""
        return structs.replace(facts, **self.fault.facts) if name == self.place else facts

    def apply(self, run: SimulatedRun) -> SimulatedRun:
        """Return a run with the fault; raises Fault where its place does not exist."""
        platform = run.platform
        if self.why_not(run.facts, platform):
            return run
        if self.fault.where in ("node", "cable") and self.place not in platform.hosts:
            raise Fault(f"{self}: there is no node {self.place!r}")
        if self.fault.moved == "ranks":
            first = run.ranks[0]
            return replace(run, ranks=tuple(first if h == self.place else h for h in run.ranks))
        if self.fault.moved:
            return replace(run, platform=_swapped(platform, self.place))
        other = {link.name: link for link in self._links(run.facts, platform)}
        links = tuple(other.get(link.name, link) for link in platform.links)
        return replace(run, platform=replace(platform, links=links))

    def _links(self, facts: Facts, platform: Platform) -> list[Link]:
        """Return the links that are others."""
        fault, place = self.fault, self.place
        if fault.facts:
            model = parameters_of(facts)
            trained = Platform.of(self.node(place, facts), 1, parameters=model)
            slot, cable = (f"{place}-{what}" for what in ("slot", "cable"))
            found = [replace(platform.link(cable), bandwidth=trained.link("n0-cable").bandwidth)]
            if facts.pcie and facts.pcie_lanes:
                found.append(replace(trained.link("n0-slot"), name=slot))
            return found
        names = {
            "node": (f"{place}-slot", f"{place}-cable"),
            "cable": (f"{place}-cable",),
            "uplink": (place,),
            "fabric": tuple(e.name for e in platform.links if not e.name.endswith("-memory")),
        }[fault.where]
        there = {link.name for link in platform.links}
        chosen = [platform.link(e) for e in names if e in there or fault.where != "node"]
        return [
            replace(
                link,
                bandwidth=link.bandwidth * fault.bandwidth,
                latency=link.latency * fault.latency,
                loss=fault.loss,
            )
            for link in chosen
        ]


def injected(environment: Mapping[str, str] = os.environ) -> Injected | None:
    """Return the fault that a run shall have, None for none; raises Fault."""
    asked = environment.get(VARIABLE)
    return Injected.of(asked) if asked else None


def _other_place(platform: Platform, place: str) -> str:
    """Return the node with which another one changes its place: one of the next leaf switch."""
    assert platform.tree is not None
    number = platform.hosts.index(place)
    return platform.hosts[(number + platform.tree.leaf) % len(platform.hosts)]


def _swapped(platform: Platform, place: str) -> Platform:
    other = _other_place(platform, place)
    names = {place: other, other: place}
    return replace(platform, hosts=tuple(names.get(host, host) for host in platform.hosts))


def _why_not_trained(facts: Facts, changed: Mapping[str, str | int]) -> str:
    """Say why a link cannot train lower than its facts say; empty where it can."""
    for key in changed:
        if (stated := getattr(facts, key)) is None:
            return f"its facts state no {key}"
        then = structs.replace(facts, **changed)
        try:
            Facts.read(structs.asdict(then))
        except ValueError as err:
            return str(err)
        for bound in (limits.link, limits.encoded_slot):
            before, after = bound(facts), bound(then)
            if before and after and after.value < before.value:
                break
        else:
            return f"its {key} is {stated}"
    return ""

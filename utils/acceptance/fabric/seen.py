"""The fabric of a system as its adapters see it, with what the configuration says of its nodes."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.findings import Finding
from acceptance.core.paths import Workspace
from acceptance.core.text import plural
from acceptance.core.words import is_simulated
from acceptance.fabric import kinds, outputs, stored, topology, view
from acceptance.fabric.facts import Facts, facts_of
from acceptance.fabric.outputs import Reading
from acceptance.fabric.topology import Topology
from acceptance.machine import ASKED, SchedulerFault, access_of, nodes_of

#: Seconds that a reading may take.
_LIMIT = 600
#: The kind of faults that leave a reading as good as it is.
_HARMLESS = "names"
#: Programs without which the fabric was looked at all the same.
_ROUTES, _COUNTERS = "dump_lfts", "ibqueryerrors"
_MINOR = (_ROUTES, _COUNTERS, outputs.TRAFFIC)


def fabric_of(
    system: Mapping[str, Any], place_of: Callable[[str, str], str], only: str | None = None
) -> tuple[str, tuple[str, ...], view.Hosts]:
    """Return the fabric of a system, or of the partition `only`; asks Slurm for the nodes.

    That are the name of its files, the adapters to look from, and what judges its hosts. An adapter
    without a name is the first one. Raises Fault where several partitions state who looks, and none
    of them is named.
    """
    name = system["name"]
    facts: dict[str, Facts] = {}
    for partition in system["partitions"]:
        stated = facts_of(partition.get("extras", {}), place_of(name, partition["name"]))
        if stated is not None and stated.technology == "infiniband":
            facts[partition["name"]] = stated
    if only is not None and only not in facts:
        raise Fault(f"{name} has no partition {only!r} that states InfiniBand")
    viewers = [part for part, stated in facts.items() if stated.view]
    if only is None and len(viewers) > 1:
        raise Fault(f"{name} has several fabrics: name one with --partition: {', '.join(viewers)}")
    chosen = only or next(iter(viewers), None) or next(iter(facts), None)
    hosts = hosts_of(
        (
            (facts[part["name"]], part["scheduler"], access_of(part))
            for part in system["partitions"]
            if part["name"] in facts
        ),
        facts[only] if only else None,
    )
    adapters = tuple(dict.fromkeys(facts[chosen].devices)) if chosen else ()
    return f"{name}-{only}" if len(viewers) > 1 else name, adapters or ("",), hosts


def hosts_of(
    partitions: Iterable[tuple[Facts, str, Sequence[str]]], only: Facts | None = None
) -> view.Hosts:
    """Return which facts judge which host, and which nodes are away, as the scheduler knows them.

    Partitions have facts of InfiniBand, a scheduler, and its options. Where none of them has nodes
    that can be asked for, `only`, or the facts of the one partition there is, judge all hosts.
    """
    by_node: dict[str, Facts] = {}
    away: dict[str, str] = {}
    alone: list[Facts] = []
    silent = ""
    for facts, scheduler, access in partitions:
        if scheduler not in ASKED:
            alone.append(facts)
            continue
        try:
            for node in nodes_of(scheduler, access):
                by_node[node.name] = facts
                away |= {} if node.up else {node.name: node.text}
        except SchedulerFault as err:
            silent = str(err)
    others = only or (alone[0] if len(alone) == 1 else None)
    return view.Hosts(by_node, None if by_node else others, away, silent)


@dataclass(frozen=True)
class Seen:
    """What was read, all adapters together; `topology` is None where the fabric was not looked at.

    `unfit` says what of the nodes did not fit to it, a line each. `deviations` are those of
    `view.judge`, `accepted` says what they were compared with, and `state` is what the next reading
    is compared with.
    """

    readings: Sequence[Reading]
    topology: Topology | None = None
    unfit: Sequence[str] = ()
    deviations: Sequence[Finding] = ()
    accepted: str = ""
    state: stored.State = field(default_factory=lambda: stored.State(0.0, None))

    @property
    def unread(self) -> list[str]:
        """Return the faults because of which something was not looked at."""
        return [fault.text for fault in _faults(self.readings)]

    @property
    def failing(self) -> list[Finding]:
        """Return what deviates."""
        return [each for each in self.deviations if each.fails]


def _faults(readings: Iterable[Reading]) -> list[Finding]:
    """Return the faults that leave something unread."""
    every = (fault for reading in readings for fault in reading.faults)
    return [fault for fault in every if fault.kind != _HARMLESS]


def not_looked(readings: Sequence[Reading]) -> str:
    """Return why the fabrics were not looked at; empty: they were, but for counters and routes."""
    faults = _faults(readings)
    why = [fault.text for fault in faults if fault.device not in _MINOR]
    return "; ".join(why) if readings else "no adapter to look from"


def notes(readings: Sequence[Reading]) -> Iterator[Finding]:
    """Yield what else was not read of fabrics that were looked at."""
    for reading in readings:
        for fault in reading.faults:
            kind, place = kinds.NOT_JUDGED, fault.device or "names"
            if fault.device == _COUNTERS:
                place = "counters"
                kind = kinds.NOT_LOOKED if reading.counters is None else kind
            yield kinds.observation(kind, place, found=fault.text)


def counts(readings: Iterable[Reading]) -> dict[str, int]:
    """Count the devices and links of the fabrics that were seen."""
    seen = topology.union(each.topology for each in readings if each.topology)
    switches = len(seen.switches)
    return {"switches": switches, "hosts": len(seen.devices) - switches, "links": len(seen.links)}


def read_live(folder: Path, adapters: Sequence[str]) -> list[Reading]:
    """Read from each adapter into a folder; raises Fault where the script itself does not run."""
    readings = []
    for number, adapter in enumerate(adapters, 1):
        into = folder / str(number)
        command = ["sh", str(outputs.SCRIPT), str(into), *outputs.options(adapter)]
        done = machine.run(command, _LIMIT)
        if done.fault and not into.is_dir():
            raise Fault(done.fault)
        readings.append(outputs.read(into))
    return readings


def read_stored(folder: Path) -> list[Reading]:
    """Read a stored reading, or all in a folder: one for each adapter."""
    below = sorted(path.parent for path in folder.glob("*/begin")) if folder.is_dir() else []
    return [outputs.read(path) for path in below or [folder]]


def judge_readings(
    readings: Sequence[Reading], name: str, hosts: view.Hosts, workspace: Workspace
) -> Seen:
    """Compare what was read with the facts, with what was accepted, and with the last counters.

    `name` is that of the files of the fabric. Adapters at the same fabric see the same, those at
    several all of them together. Raises Fault for a file of the past that is malformed.
    """
    found = [each.topology for each in readings if each.topology is not None]
    if not found:
        return Seen(readings)
    # What nodes of this name said elsewhere is nothing of a simulated fabric's.
    known = {} if is_simulated(name) else stored.known_nodes(workspace.var)
    joined, unfit = outputs.join(topology.union(found), known, hosts.by_node or None)
    path = stored.path_of(workspace.reference, name)
    accepted = stored.read(path, stored.AcceptedFabric)
    uncounted = any(each.counters is None for each in readings)
    half = any(fault.device == _COUNTERS for each in readings for fault in each.faults)
    before = stored.read_state(stored.state_path(workspace.var, name))
    errors = {end: it for each in readings for end, it in each.errors.items()}
    told = [each.traffic for each in readings if each.traffic is not None]
    traffic = {end: it for each in told for end, it in each.items()} if told else None
    try:
        deviations, state = view.judge(
            joined, None if uncounted else errors, hosts=hosts, accepted=accepted,
            before=before, now=max(each.end or 0 for each in readings) or time.time(),
            traffic=traffic, half=half,
        )  # fmt: skip
    except ValueError as err:  # a cable was moved between two readings
        raise Fault(f"{name}: its readings contradict each other: {err}; read it again") from None
    history = accepted.text_of_history if accepted else ""
    return Seen(readings, joined, unfit, deviations, history, state)


def accept(system: Mapping[str, Any], workspace: Workspace, reason: str) -> Iterator[str]:
    """Accept each fabric of a system as the last run has seen it, and its cables of Ethernet.

    Yields a line for each, and below it one for each change, indented. Raises Fault where no run
    has looked at any.
    """
    main, found = system["name"], False
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    for name in (main, *(f"{main}-{partition['name']}" for partition in system["partitions"])):
        state = stored.read_state(stored.state_path(workspace.var, name))
        if (fabric := state.fabric) is not None:
            found = True
            path = stored.path_of(workspace.reference, name)
            before = stored.take_over(path, stored.AcceptedFabric, fabric, now, reason)
            deviations, told = [], "for the first time"
            if before:
                if before.fabric == fabric:
                    yield f"{name}: nothing has changed since it was {before.text_of_history}"
                    continue
                deviations = view.changes(before.fabric.topology, fabric.topology)
                told = plural(len(deviations), "change")
            when = stored.stamp(state.read)
            yield f"{name}: accepted as it was read at {when}, {told}: {path}"
            yield from (f"  {each.text}" for each in deviations)
    if cables := stored.known_cables(workspace.var):
        found = True
        path = stored.path_of(workspace.reference, main, stored.SUFFIX)
        kind = stored.AcceptedCables
        known = stored.take_over(path, kind, cables, now, reason)
        told = "nothing has changed" if known and known.fabric == cables else f"accepted: {path}"
        count = plural(sum(map(len, cables.values())), "cable")
        yield f"{main}: {count} of Ethernet: {told}"
    if not found:
        raise Fault(
            f"no run has looked at the whole fabric of {main} yet: reframe --mode=maintenance "
            "does, where a partition states `view` (InfiniBand), or lldpd runs on its nodes "
            "(Ethernet; config/fabric.md)"
        )


def accept_first(
    checksums: Mapping[str, str], workspace: Workspace, when: str, reason: str, refused: str
) -> Iterator[str]:
    """Accept each fabric of these names that was measured, unless it was `refused`; say so.

    One that was accepted before stays: a lost cable would be accepted by measuring again. Raises
    Fault.
    """
    for name, checksum in checksums.items():
        path = stored.path_of(workspace.reference, name)
        last = stored.read_state(stored.state_path(workspace.var, name)).fabric
        if known := stored.read(path, stored.AcceptedFabric):
            told = f"stays as it was {known.text_of_history}; `acceptance fabric accept` changes it"
        elif refused:
            told = f"is not stored as accepted: {refused}"
        elif last is None or stored.checksum(last) != checksum:
            told = "is not stored as accepted: it was read again since"
        else:
            stored.take_over(path, stored.AcceptedFabric, last, when, reason)
            told = f"is accepted: {path}"
        yield f"fabric {name} {told}"

"""What the check of the whole fabric asks of the site: who looks, which nodes there are."""

import functools
import gzip
import itertools
import shutil
from contextlib import suppress
from pathlib import Path

import reframe.core.runtime as runtime

from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.core.state_files import StoredFault
from acceptance.core.words import is_simulated
from acceptance.fabric import FabricFault, topology, view
from acceptance.machine import SlurmFault, partition_nodes

from .partitions import fabric_facts, partitions, uses_slurm


def facts_or_none(part):
    """Return the facts of a partition; None where it states none, or such as cannot be."""
    try:
        return fabric_facts(part.fullname)
    except FabricFault:  # the link check says it
        return None


def viewers():
    """Return the partitions that state who looks at their fabric: one for each fabric."""
    return [part for part in partitions() if (facts := facts_or_none(part)) and facts.view]


def name_of(part):
    """Return the name of a partition's fabric: that of the system, if it has but one."""
    system = part.fullname.partition(":")[0]
    return system if len(viewers()) == 1 else f"{system}-{part.name}"


def var_folder():
    """Return the folder of what is kept between runs."""
    return Workspace.of().var


def adapters(facts):
    """Return the options of the script for each adapter that it looks from; none: the first one."""
    names = dict.fromkeys(facts.devices)
    return [
        ["-C", device, *(["-P", port] if port else [])]
        for device, _, port in (name.partition("/") for name in names)
    ] or [[]]


def nodes_of_facts():
    """Return node -> the facts of its partition, and node -> why it is away, as Slurm knows them.

    Also the facts of all others: None, unless no partition with InfiniBand is one of Slurm.
    """
    by_node, away, alone = {}, {}, []
    for part in partitions():
        facts = facts_or_none(part)
        if facts is None or facts.technology != "infiniband":
            continue
        if not uses_slurm(part):
            alone.append(facts)
            continue
        with suppress(SlurmFault):  # asked and told where nodes are counted
            for node in partition_nodes(tuple(part.access)):
                by_node[node.name] = facts
                away |= {} if node.up else {node.name: node.text}
    return by_node, away, alone[0] if len(alone) == 1 and not by_node else None


def joined(seen, names, known):
    """Return a topology whose hosts are the scheduler's nodes.

    By the GUIDs that the link check found, and else by their descriptions: of the `names` that
    Slurm has, or, where nobody says which nodes there are, whatever these begin with.
    """
    described = {
        device.name.split()[0].partition(".")[0]
        for device in seen.devices.values()
        if device.kind == "host" and len(device.name.split()) > 1
    }
    return topology.join(seen, known, names or described)


def pack(folder):
    """Compress the longest output of a reading that is kept: routes, MBs a night."""
    for path in Path(folder).glob("*/dump_lfts.out"):
        with path.open("rb") as file, gzip.open(f"{path}.gz", "wb") as packed:
            shutil.copyfileobj(file, packed)
        path.unlink()


def accepted_of(name):
    """Return the accepted state of a fabric, None where there is none; raises Fault."""
    return view.accepted.read(view.accepted.path_of(Workspace.of().reference, name))


def remember(nodes):
    """Keep GUIDs and neighbours of nodes; return an observation where that cannot be done.

    Of simulated ones nothing is kept: a node of this machine may have the same name.
    """
    if is_simulated(runtime.runtime().system.name):
        return []
    var = var_folder()
    try:
        for node in nodes:
            view.errors.remember_node(var, node)
    except StoredFault as err:
        return [view.kinds.observation(view.kinds.NOT_JUDGED, "nodes", found=str(err))]
    return []


def cables_of(nodes, system, facts):
    """Return what is said of the nodes' cables by lldpd; raises ValueError for a malformed file."""
    path = view.neighbours.path_of(Workspace.of().reference, system)
    accepted = view.neighbours.read(path)
    asked = facts is not None and facts.technology in ("ethernet", "roce")
    return [each for node in nodes for each in view.neighbours.compare(node, accepted, asked=asked)]


#: The most nodes of a case of which it is told how far they are from each other.
FEW = 8


@functools.cache
def last_seen(var, simulated):
    """Return the fabrics as they were read last, real or `simulated` ones.

    The check of the fabric tells what is wrong with them.
    """
    found = []
    paths = sorted((var / "fabric").glob("*.fabric"))
    for path in (path for path in paths if is_simulated(path.stem) == simulated):
        with suppress(Fault):
            found.append(view.accepted.last_read(path).topology)
    return found


def hops_of(nodes, simulated=False):
    """Return how many links are between a few nodes, `2` or `2..4`; empty where nobody knows.

    A real node and a `simulated` one may have the same name.
    """
    if len(nodes) > FEW:
        return ""
    pairs = list(itertools.combinations(sorted(nodes), 2))
    for seen in last_seen(var_folder(), simulated):
        if {*nodes} <= {*seen.hosts}:
            hops = [seen.hops(seen.hosts[one][0], seen.hosts[other][0]) for one, other in pairs]
            if hops and None not in hops:
                return "..".join(dict.fromkeys(map(str, (min(hops), max(hops)))))
    return ""

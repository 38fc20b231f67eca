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
from acceptance.fabric import FabricFault, kinds, outputs, seen, stored, view

from .partitions import access_of, fabric_facts, partitions


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
    return [outputs.options(adapter) for adapter in dict.fromkeys(facts.devices)] or [[]]


def hosts():
    """Return which facts judge which host, and which nodes are away by the scheduler."""
    stated = ((part, facts_or_none(part)) for part in partitions())
    return seen.hosts_of(
        (facts, part.scheduler.registered_name, access_of(part))
        for part, facts in stated
        if facts is not None and facts.technology == "infiniband"
    )


def pack(folder):
    """Compress the longest output of a reading that is kept: routes, MBs a night."""
    for path in Path(folder).glob("*/dump_lfts.out"):
        with path.open("rb") as file, gzip.open(f"{path}.gz", "wb") as packed:
            shutil.copyfileobj(file, packed)
        path.unlink()


def remember(nodes):
    """Keep GUIDs and neighbours of nodes; return an observation where that cannot be done.

    Of simulated ones nothing is kept: a node of this machine may have the same name.
    """
    if is_simulated(runtime.runtime().system.name):
        return []
    var = var_folder()
    try:
        for node in nodes:
            stored.remember_node(var, node)
    except StoredFault as err:
        return [kinds.observation(kinds.NOT_JUDGED, "nodes", found=str(err))]
    return []


def cables_of(nodes, system, facts):
    """Return what is said of the nodes' cables by lldpd; raises ValueError for a malformed file."""
    path = stored.path_of(Workspace.of().reference, system, stored.SUFFIX)
    accepted = stored.read(path, stored.AcceptedCables)
    asked = facts is not None and facts.technology in ("ethernet", "roce")
    return [each for node in nodes for each in view.compare(node, accepted, asked=asked)]


#: The most nodes of a case of which it is told how far they are from each other.
FEW = 8


@functools.cache
def last_seen(var, simulated):
    """Return the fabrics as they were read last, real or `simulated` ones.

    The check of the fabric tells what is wrong with them.
    """
    found = []
    paths = sorted((var / "fabric").glob("*.json"))
    for path in (path for path in paths if is_simulated(path.stem) == simulated):
        with suppress(Fault):
            if (fabric := stored.read_state(path).fabric) is not None:
                found.append(fabric.topology)
    return found


def hops_of(nodes, simulated=False):
    """Return how many links are between a few nodes, `2` or `2..4`; empty where nobody knows.

    A real node and a `simulated` one may have the same name.
    """
    if len(nodes) > FEW:
        return ""
    pairs = list(itertools.combinations(sorted(nodes), 2))
    for fabric in last_seen(var_folder(), simulated):
        if {*nodes} <= {*fabric.hosts}:
            guids = {node: adapters[0] for node, adapters in fabric.hosts.items()}
            hops = [fabric.hops(guids[one], guids[other]) for one, other in pairs]
            if hops and None not in hops:
                return "..".join(dict.fromkeys(map(str, (min(hops), max(hops)))))
    return ""

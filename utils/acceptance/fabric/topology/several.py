"""Several fabrics: put together from readings of several adapters, and taken apart again."""

from collections.abc import Iterable
from dataclasses import replace

from acceptance.fabric.topology.model import Topology


def union(seen: Iterable[Topology]) -> Topology:
    """Put fabrics together, whether adapters saw the same one or several."""
    fabrics = list(seen)
    links = {link.ends: link for each in fabrics for link in each.links}
    return Topology(
        {guid: device for each in fabrics for guid, device in sorted(each.devices.items())},
        tuple(links[ends] for ends in sorted(links)),
        {name: guids for each in fabrics for name, guids in each.hosts.items()},
        {end: text for each in fabrics for end, text in each.down.items()},
    )


def parts(topology: Topology) -> list[Topology]:
    """Return each fabric on its own, the largest first: what no link connects is another one."""
    import networkx

    groups = sorted(
        networkx.connected_components(topology.graph), key=lambda it: (-len(it), min(it))
    )
    if len(groups) == 1:
        return [topology]
    return [
        replace(
            topology,
            devices={guid: each for guid, each in topology.devices.items() if guid in group},
            links=tuple(link for link in topology.links if link.ends[0].guid in group),
            down={end: text for end, text in topology.down.items() if end.guid in group},
            hosts={
                name: mine
                for name, guids in topology.hosts.items()
                if (mine := tuple(guid for guid in guids if guid in group))
            },
        )
        for group in groups
    ]

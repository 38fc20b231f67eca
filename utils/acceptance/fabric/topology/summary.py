"""A fabric in a few lines: how many of what there are, and what it can carry."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from acceptance.core.text import plural, shortened
from acceptance.fabric.topology.levels import kind_of
from acceptance.fabric.topology.model import Topology
from acceptance.fabric.topology.structure import structure, switch_count


def link_count(topology: Topology) -> dict[str, Counter[str]]:
    """Return kind of a link (`leaf-spine`) -> what they trained at -> how many did."""
    count: dict[str, Counter[str]] = defaultdict(Counter)
    for link in topology.links:
        count[str(kind_of(topology, link))][link.trained] += 1
    return dict(sorted(count.items()))


def lines(topology: Topology) -> Iterator[tuple[str, str]]:
    """Yield label and text of each line for people."""
    hosts = [device for device in topology.devices.values() if device.kind == "host"]
    strangers = sum(device.guid not in topology.node_of for device in hosts)
    nodes = plural(len(topology.hosts), "node")
    if topology.hosts:
        more = f", and {plural(strangers, 'adapter')} of others" if strangers else ""
        yield "nodes", f"{nodes} with {plural(len(hosts) - strangers, 'adapter')}{more}"
    else:
        yield "hosts", plural(len(hosts), "adapter")
    levels = ", ".join(f"{number} {word}" for word, number in switch_count(topology).items())
    yield "switches", f"{len(topology.switches)}: {levels}"
    counted = [
        f"{kind} {count.total()} ({_each(count)})" for kind, count in link_count(topology).items()
    ]
    down = Counter(topology.down.values())
    free = f"; switch ports without: {_each(down)}" if down else ""
    yield "links", f"{len(topology.links)}: {', '.join(counted)}{free}"
    if words := carries(topology):
        yield "carries", ", ".join(words)


def _each(count: Counter[str]) -> str:
    return ", ".join(f"{number} {word}" for word, number in count.most_common())


def carries(topology: Topology) -> list[str]:
    """Return what a fabric can carry, as far as it is defined; the formulas: `Structure`."""
    built = structure(topology)
    ratios = [ratio for leaf in built.leaves if (ratio := leaf.oversubscription) is not None]
    ends = dict.fromkeys(map(_ratio, (min(ratios), max(ratios)))) if ratios else {}
    words = [f"oversubscription {' to '.join(ends)}"] if ends else []
    for name, value, unit in (
        ("bisection", built.bisection, "Gb/s"),
        ("all pairs at most", built.all_pairs_limit, "MB/s a host"),
        ("alltoall at most", built.alltoall_limit, "MB/s a host"),
    ):
        words += [f"{name} {value:,.0f} {unit}"] if value is not None else []
    return words


def _ratio(value: float) -> str:
    return f"{round(value, 2):g}:1"


def as_data(topology: Topology) -> dict[str, Any]:
    """Return all devices and links, and the structure, as data; bandwidths in Gb/s and MB/s."""
    built = structure(topology)
    return {
        "devices": [
            {
                "guid": guid,
                "kind": device.kind,
                "name": device.name,
                "node": topology.node_of.get(guid, ""),
                "lid": device.lid,
                "level": topology.level(guid),
                "ports": device.ports,
            }
            for guid, device in topology.devices.items()
        ],
        "links": [
            {
                "ends": [{"guid": end.guid, "port": end.port, "name": topology.name(end)}
                         for end in link.ends],
                "kind": str(kind_of(topology, link)),
                "width": link.width,
                "speed": link.speed,
                "state": link.state,
            }
            for link in topology.links
        ],
        "structure": {
            "switches": switch_count(topology),
            "links": {kind: dict(count) for kind, count in link_count(topology).items()},
            "tree": built.tree,
            "bisection_gbps": built.bisection,
            "all_pairs_limit_mbs": built.all_pairs_limit,
            "alltoall_limit_mbs": built.alltoall_limit,
            "leaves": [
                {"name": topology.device_name(leaf.guid), "guid": leaf.guid, "hosts": leaf.hosts,
                 "uplinks": leaf.uplinks, "uplinks_of_siblings": leaf.siblings,
                 "oversubscription": leaf.oversubscription}
                for leaf in built.leaves
            ],
            "notes": list(built.notes(topology)),
        },
    }  # fmt: skip


def dot(topology: Topology, marked: frozenset[str] = frozenset()) -> str:
    """Return the fabric as a graph for Graphviz; links of `marked` (`link_text`) are red.

    Each leaf shows how many hosts it has; a host stands on its own where its link is marked.
    """
    shown = set(topology.switches)
    edges = []
    for link in topology.links:
        text = topology.link_text(link)
        hosts = [end.guid for end in link.ends if end.guid not in topology.switches]
        if hosts and text not in marked:
            continue
        shown |= {*hosts}
        one, other = link.ends
        colour = ', color="red"' if text in marked else ""
        ports = f'taillabel="{one.port}", headlabel="{other.port}"'
        edges.append(f'  "{one.guid}" -- "{other.guid}" [label="{link.trained}", {ports}{colour}];')
    nodes = [f'  "{guid}" [label={_quoted(_label(topology, guid))}];' for guid in sorted(shown)]
    ranks = defaultdict(list)
    for guid in topology.switches:
        ranks[topology.level(guid)].append(f'"{guid}";')
    same = [f"  {{ rank=same; {' '.join(group)} }}" for group in ranks.values()]
    return "\n".join(["graph fabric {", "  node [shape=box];", *nodes, *same, *edges, "}"])


def _label(topology: Topology, guid: str) -> str:
    hosts = len(topology.hosts_at(guid)) if guid in topology.switches else 0
    return topology.device_name(guid) + (f"\n{plural(hosts, 'host')}" if hosts else "")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def named(topology: Topology) -> str:
    """Return which fabric it is, for people, where there are several: its first switches."""
    return shortened([topology.device_name(guid) for guid in topology.switches], 2)

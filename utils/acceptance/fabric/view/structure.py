"""The build of a fabric: leaves with fewer uplinks than their siblings, and what hangs on one."""

from collections.abc import Iterable

from acceptance.core.observations import Observation
from acceptance.core.text import plural
from acceptance.fabric.topology import Leaf, Topology, parts, structure, summary
from acceptance.fabric.view import kinds
from acceptance.fabric.view.accepted import Accepted


def uplinks(
    topology: Topology, accepted: Accepted | None, changed: Iterable[Observation]
) -> list[Observation]:
    """Return the leaves with fewer uplinks than their siblings, unless it is known why.

    Known are leaves that were accepted so, and those at which a change was found: `changed`.
    """
    then = {leaf.guid: leaf for leaf in structure(accepted.topology).leaves} if accepted else {}
    places = " ".join(each.device for each in changed if each.fails)
    found = []
    for leaf in structure(topology).fewer:
        name = topology.device_name(leaf.guid)
        if f"{name}[" in places or _is_same(leaf, then.get(leaf.guid)):
            continue
        found.append(
            kinds.observation(
                kinds.UPLINKS, name, found=plural(leaf.uplinks, "uplink"),
                expected=f"{leaf.siblings}, as most leaves of its kind have",
            )
        )  # fmt: skip
    return found


def _is_same(leaf: Leaf, then: Leaf | None) -> bool:
    return then is not None and then.uplinks == leaf.uplinks


def single_points(topology: Topology) -> list[Observation]:
    """Return what a person should know of the build: what hangs on one switch, or one cable."""
    notes = structure(topology).notes(topology)
    return [kinds.observation(kinds.SINGLE, "structure", what=f"{number}", found=text)
            for number, text in enumerate(notes, 1)]  # fmt: skip


def structure_text(topology: Topology) -> list[str]:
    """Return what each of the fabrics can carry, as far as it is defined."""
    return [text for fabric in parts(topology) for text in summary.carries(fabric)]

"""Check files that give no case on a system, or on some of its partitions, and what to do."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from acceptance.machine import NoCase, Size, configured_size, no_case
from acceptance.rfm.configuration import Site


def without_case(
    check: str, site: Site, system: dict[str, Any], only: str = ""
) -> list[NoCase | None]:
    """Say of each partition, or of the `only` one, why a check file (its stem) has no case there.

    None where nothing tells.
    """
    return [
        no_case(
            check,
            f"{system['name']}:{partition['name']}",
            configured_size(partition) or Size(1, 2),
            site.environments_of(partition, system),
            bool(partition.get("extras", {}).get("verify_placement", True)),
            "simulated" in partition.get("extras", {}),
        )
        for partition in system["partitions"]
        if only in ("", partition["name"])
    ]


def why_no_case(check: str, site: Site, system: dict[str, Any]) -> NoCase | None:
    """Say why a check file (its stem) gives no case on a system.

    None where nothing tells, or where something is promised on a partition.
    """
    found = [each for each in without_case(check, site, system) if each]
    if len(found) < len(system["partitions"]) or any(each.promised for each in found):
        return None
    return everywhere(found)


def everywhere(found: Sequence[NoCase]) -> NoCase:
    """Return why a check file gives no case on a system, of the reasons of all its partitions."""
    places: dict[str, list[str]] = {}
    for each in found:
        places.setdefault(each.reason, []).append(each.partition)
    if len(places) == 1:
        return replace(found[0], partition="")
    reasons = (f"{', '.join(names)}: {reason}" for reason, names in places.items())
    remedies = dict.fromkeys(each.remedy for each in found if each.remedy)
    return NoCase(found[0].check, "; ".join(reasons), "; ".join(remedies))

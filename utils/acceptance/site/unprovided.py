"""Check files that give no case on a system, or on some of its partitions, and what to do."""

from typing import Any

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


def why_no_case(check: str, site: Site, system: dict[str, Any]) -> tuple[str, str]:
    """Say why a check file (its stem) gives no case on a system, and what to do if it shall.

    Both are empty where nothing tells, or where something is promised on a partition; the second
    also where nothing is to be done.
    """
    found = [each for each in without_case(check, site, system) if each]
    if len(found) < len(system["partitions"]) or any(each.promised for each in found):
        return "", ""
    return in_words(found)


def in_words(found: list[NoCase]) -> tuple[str, str]:
    """Return the reasons of all partitions as one, and what to do."""
    reasons = {each.reason: "" for each in found}
    if len(reasons) == 1:
        return found[0].reason, found[0].remedy
    names = {
        reason: ", ".join(each.partition for each in found if each.reason == reason)
        for reason in reasons
    }
    remedies = dict.fromkeys(each.remedy for each in found if each.remedy)
    return "; ".join(f"{names[reason]}: {reason}" for reason in reasons), "; ".join(remedies)

"""What a fabric can do by its stated facts, and what the links of a node say of themselves."""

from acceptance.fabric import (
    bandwidth_shares,
    link_check,
    link_report,
    memory,
    plausibility,
    rates,
    topology,
    view,
)
from acceptance.fabric.facts import FabricFault, Facts, facts_of, is_viewed, not_judged, not_viewed
from acceptance.fabric.limits import Limit, exceeds, latency_floor, limit
from acceptance.fabric.link_check import deviations
from acceptance.fabric.node import Deviation, Interface, NodeLinks, Port, Slot, slot_text

__all__ = [
    "Deviation",
    "FabricFault",
    "Facts",
    "Interface",
    "Limit",
    "NodeLinks",
    "Port",
    "Slot",
    "bandwidth_shares",
    "deviations",
    "exceeds",
    "facts_of",
    "is_viewed",
    "latency_floor",
    "limit",
    "link_check",
    "link_report",
    "memory",
    "not_judged",
    "not_viewed",
    "plausibility",
    "rates",
    "slot_text",
    "topology",
    "view",
]

"""What a fabric can do by its stated facts, and what the links of a node say of themselves."""

from acceptance.fabric import (
    bandwidth_shares,
    limits,
    link_check,
    link_report,
    memory,
    node,
    plausibility,
    rates,
    seen,
    topology,
    view,
)
from acceptance.fabric.counters import ERRORS
from acceptance.fabric.facts import FabricFault, Facts, facts_of, is_viewed, not_judged, not_viewed
from acceptance.fabric.limits import Limit, latency_floor, limit
from acceptance.fabric.node import Interface, NodeLinks, Port, Slot, slot_text

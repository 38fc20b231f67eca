"""What a fabric can do by its stated facts, and what the links of a node say of themselves.

The whole fabric as one of its nodes sees it: `outputs` is what was read, `topology` its switches,
hosts and links, `summary` what it can carry, and `view` judges it, beside what is `stored`.
"""

from acceptance.fabric import (
    adapters,
    inside,
    kinds,
    limits,
    link_check,
    link_report,
    node,
    outputs,
    plausibility,
    rails,
    rates,
    routes,
    seen,
    stored,
    summary,
    topology,
    trainings,
    view,
)
from acceptance.fabric.counters import ERRORS
from acceptance.fabric.facts import (
    GPU_FACTS,
    FabricFault,
    Facts,
    facts_of,
    facts_or_none,
    is_viewed,
    not_judged,
    not_viewed,
    takes_gpus,
)
from acceptance.fabric.limits import Limit, latency_floor, limit
from acceptance.fabric.node import Interface, NodeLinks, Port, Slot, of_driver, slot_text

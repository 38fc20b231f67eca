"""Nights and acceptances: several runs of ReFrame that survive a kill, and their protocol."""

from acceptance.campaigns import limit, nodes, protocol, state, steps, suspects, verdict
from acceptance.campaigns.runner import Runner
from acceptance.campaigns.state import Busy, CampaignFault, State
from acceptance.campaigns.steps import Step

__all__ = [
    "Busy",
    "CampaignFault",
    "Runner",
    "State",
    "Step",
    "limit",
    "nodes",
    "protocol",
    "state",
    "steps",
    "suspects",
    "verdict",
]

"""Nights and acceptances: several runs of ReFrame that survive a kill, and their protocol."""

from acceptance.campaigns import (
    accepted_fabric,
    conclusion,
    limit,
    lock,
    nodes,
    protocol,
    rotation,
    state,
    steps,
    suspects,
    verdict,
)
from acceptance.campaigns.lock import Busy
from acceptance.campaigns.preview import Preview, preview
from acceptance.campaigns.runner import Runner
from acceptance.campaigns.state import CampaignFault, State
from acceptance.campaigns.steps import Step

__all__ = [
    "Busy",
    "CampaignFault",
    "Preview",
    "Runner",
    "State",
    "Step",
    "accepted_fabric",
    "conclusion",
    "limit",
    "lock",
    "nodes",
    "preview",
    "protocol",
    "rotation",
    "state",
    "steps",
    "suspects",
    "verdict",
]

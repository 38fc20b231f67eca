"""Nights and acceptances: several runs of ReFrame that survive a kill, and their protocol."""

from acceptance.campaigns import protocol
from acceptance.campaigns.runner import Runner
from acceptance.campaigns.state import (
    SAME_NIGHT,
    Busy,
    CampaignFault,
    State,
    begin,
    locked,
    now,
    stamp,
    unfinished,
)
from acceptance.campaigns.steps import Step, plan
from acceptance.campaigns.verdict import conclude, summary

__all__ = [
    "SAME_NIGHT",
    "Busy",
    "CampaignFault",
    "Runner",
    "State",
    "Step",
    "begin",
    "conclude",
    "locked",
    "now",
    "plan",
    "protocol",
    "stamp",
    "summary",
    "unfinished",
]

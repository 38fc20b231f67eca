"""Nights and acceptances: several runs of ReFrame that survive a kill, and their protocol."""

from acceptance.campaigns import conclusion, lock, nodes, protocol, rotation, state, steps
from acceptance.campaigns.lock import Busy
from acceptance.campaigns.runner import Runner
from acceptance.campaigns.state import CampaignFault, State, Step
from acceptance.campaigns.steps import Preview, preview

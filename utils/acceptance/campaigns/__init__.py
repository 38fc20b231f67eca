"""Nights and acceptances: several runs of ReFrame that survive a kill, and their protocol."""

from acceptance.campaigns import bisect, changes, conclusion, nodes, power, protocol, state, steps
from acceptance.campaigns.markdown import markdown
from acceptance.campaigns.protocol import ACCEPTED, REJECTED, RESERVED
from acceptance.campaigns.runner import Runner
from acceptance.campaigns.state import Busy, State, Step
from acceptance.campaigns.steps import Preview, preview

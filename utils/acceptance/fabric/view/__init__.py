"""The whole fabric judged: by facts and medians, by what was accepted, by its counters."""

from acceptance.fabric.view import accepted, kinds, neighbours, state
from acceptance.fabric.view.accepted import Accepted
from acceptance.fabric.view.judge import failing, judge, key_of
from acceptance.fabric.view.looked import Looked, counts, look
from acceptance.fabric.view.remedies import REMEDIES
from acceptance.fabric.view.state import State
from acceptance.fabric.view.structure import structure_text
from acceptance.fabric.view.trained import Hosts

__all__ = [
    "REMEDIES",
    "Accepted",
    "Hosts",
    "Looked",
    "State",
    "accepted",
    "counts",
    "failing",
    "judge",
    "key_of",
    "kinds",
    "look",
    "neighbours",
    "state",
    "structure_text",
]

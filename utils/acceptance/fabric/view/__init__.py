"""The whole fabric judged: by facts and medians, by what was accepted, by its counters."""

from acceptance.fabric.view import accepted, changes, errors, kinds, neighbours
from acceptance.fabric.view.accepted import AcceptedFabric, structure_text
from acceptance.fabric.view.changes import Hosts
from acceptance.fabric.view.errors import State
from acceptance.fabric.view.judge import judge, key_of

"""Arrays in, changes of level out: pure numerics, knows no session and no file."""

from acceptance.detection import (
    changepoint,
    common_mode,
    constants,
    families,
    family_constants,
    node_sets,
    noise,
    pools,
    spells,
    state,
)
from acceptance.detection.changepoint import LevelChange, Scan, scan
from acceptance.detection.state import State

__all__ = [
    "LevelChange",
    "Scan",
    "State",
    "changepoint",
    "common_mode",
    "constants",
    "families",
    "family_constants",
    "node_sets",
    "noise",
    "pools",
    "scan",
    "spells",
    "state",
]

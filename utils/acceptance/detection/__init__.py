"""Arrays in, changes of level out: pure numerics, knows no session and no file."""

from acceptance.detection import changepoint, common_mode, constants, node_sets, spells
from acceptance.detection.changepoint import LevelChange, Scan, scan

__all__ = [
    "LevelChange",
    "Scan",
    "changepoint",
    "common_mode",
    "constants",
    "node_sets",
    "scan",
    "spells",
]

"""Arrays in, changes of level out: pure numerics, knows no session and no file."""

from acceptance.detection import (
    causes,
    changepoint,
    common_mode,
    constants,
    delta,
    evidence,
    families,
    loggp,
    node_sets,
    sequential,
    state,
)

"""ReFrame started, its configuration, and what a run leaves: its mark and its lines in the log."""

from acceptance.rfm import (
    configuration,
    half_made,
    in_force,
    last_run,
    marks,
    recording,
    run_log,
)
from acceptance.rfm.configuration import SiteFault
from acceptance.rfm.environment import (
    ASK_TIMES,
    SelectedCase,
    clean_environment,
    reframe_environment,
    reframe_program,
    select,
)
from acceptance.rfm.process import Interrupted, ReframeProcess, end_left_by
from acceptance.rfm.run_log import LoggedRun, check_files

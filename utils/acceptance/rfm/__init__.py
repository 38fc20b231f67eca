"""ReFrame started, its configuration, and what a run leaves: its mark and its lines in the log."""

from acceptance.rfm import (
    check_files,
    configuration,
    half_made,
    in_force,
    last_run,
    leftovers,
    marks,
    recording,
    run_log,
)
from acceptance.rfm.configuration import SiteFault
from acceptance.rfm.environment import reframe_environment, reframe_program
from acceptance.rfm.process import Interrupted, ReframeProcess
from acceptance.rfm.run_log import LoggedRun
from acceptance.rfm.selection import SelectedCase, SelectionFault, select

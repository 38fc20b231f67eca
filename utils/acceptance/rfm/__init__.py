"""The only code that reads what ReFrame writes, or starts it."""

from acceptance.rfm import (
    archive,
    check_files,
    checksums,
    configuration,
    database,
    durations,
    half_made,
    in_force,
    last_run,
    leftovers,
    lost,
    marks,
    recording,
    rows,
    run_log,
    session_schema,
)
from acceptance.rfm.configuration import SiteFault
from acceptance.rfm.environment import reframe_environment, reframe_program
from acceptance.rfm.process import Interrupted, ReframeProcess
from acceptance.rfm.records import Case, Metric, Session
from acceptance.rfm.run_log import LoggedRun
from acceptance.rfm.selection import SelectedCase, SelectionFault, select
from acceptance.rfm.stored import ResultsFault, SessionFault, StoredSession

__all__ = [
    "Case",
    "Interrupted",
    "LoggedRun",
    "Metric",
    "ReframeProcess",
    "ResultsFault",
    "SelectedCase",
    "SelectionFault",
    "Session",
    "SessionFault",
    "SiteFault",
    "StoredSession",
    "archive",
    "check_files",
    "checksums",
    "configuration",
    "database",
    "durations",
    "half_made",
    "in_force",
    "last_run",
    "leftovers",
    "lost",
    "marks",
    "recording",
    "reframe_environment",
    "reframe_program",
    "rows",
    "run_log",
    "select",
    "session_schema",
]

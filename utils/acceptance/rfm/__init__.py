"""The only code that reads what ReFrame writes, or starts it."""

from acceptance.rfm import (
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
    perflogs,
    run_log,
    session_schema,
    witness,
)
from acceptance.rfm.configuration import SiteFault
from acceptance.rfm.environment import reframe_environment, reframe_program
from acceptance.rfm.listing import ListedCase, ListingFault, list_cases
from acceptance.rfm.process import Interrupted, ReframeProcess
from acceptance.rfm.records import Case, Metric, Session
from acceptance.rfm.rows import ResultsFault, SessionFault
from acceptance.rfm.run_log import LoggedRun
from acceptance.rfm.selection import SelectedCase, SelectionFault, select

__all__ = [
    "Case",
    "Interrupted",
    "ListedCase",
    "ListingFault",
    "LoggedRun",
    "Metric",
    "ReframeProcess",
    "ResultsFault",
    "SelectedCase",
    "SelectionFault",
    "Session",
    "SessionFault",
    "SiteFault",
    "check_files",
    "checksums",
    "configuration",
    "database",
    "durations",
    "half_made",
    "in_force",
    "last_run",
    "leftovers",
    "list_cases",
    "lost",
    "marks",
    "perflogs",
    "reframe_environment",
    "reframe_program",
    "run_log",
    "select",
    "session_schema",
    "witness",
]

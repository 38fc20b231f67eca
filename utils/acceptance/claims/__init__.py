"""Whether a relation that a paper or a site states holds in the results."""

from acceptance.claims import report
from acceptance.claims.evaluate import (
    FAILS,
    HOLDS,
    NOT_MEASURED,
    WINDOW,
    ClaimResult,
    described,
    evaluate,
)
from acceptance.claims.figures import Figure
from acceptance.claims.report import UnknownSystem
from acceptance.claims.results import Value

__all__ = [
    "FAILS",
    "HOLDS",
    "NOT_MEASURED",
    "WINDOW",
    "ClaimResult",
    "Figure",
    "UnknownSystem",
    "Value",
    "described",
    "evaluate",
    "report",
]

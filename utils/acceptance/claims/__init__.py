"""Whether a relation that a paper or a site states holds in the results."""

from acceptance.claims import report
from acceptance.claims.evaluate import (
    BEYOND_MODEL,
    FAILS,
    HOLDS,
    NOT_MEASURED,
    WINDOW,
    ClaimResult,
    evaluate,
)
from acceptance.claims.report import UnknownSystem

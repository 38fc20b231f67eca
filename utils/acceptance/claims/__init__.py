"""Whether a relation that a paper or a site states holds in the results, and HPCC's ratios."""

from acceptance.claims import hpcc_ratios, report
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

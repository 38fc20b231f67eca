"""Series of samples, read from ReFrame's database."""

from acceptance.regressions.history.reader import load
from acceptance.regressions.history.series import (
    CaseHistory,
    CaseKey,
    History,
    PastSession,
    Sample,
    Series,
    Software,
    day,
    night,
    selection,
    software_text,
)

"""Series of samples, read from ReFrame's database and perflogs."""

from acceptance.regressions.history.reader import load
from acceptance.regressions.history.series import (
    History,
    Sample,
    Series,
    day,
    software_text,
)

__all__ = ["History", "Sample", "Series", "day", "load", "software_text"]

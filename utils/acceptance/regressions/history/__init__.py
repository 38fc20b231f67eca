"""Series of samples, read from ReFrame's database and perflogs."""

from acceptance.regressions.history import columns
from acceptance.regressions.history.export import to_parquet
from acceptance.regressions.history.nights import night
from acceptance.regressions.history.parts import part
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
    software_text,
)

__all__ = [
    "CaseHistory",
    "CaseKey",
    "History",
    "PastSession",
    "Sample",
    "Series",
    "Software",
    "columns",
    "day",
    "load",
    "night",
    "part",
    "software_text",
    "to_parquet",
]

"""Two sides compared, sessions, systems or MPIs: ratios with their noise, and what became worse."""

from acceptance.comparison import grammar
from acceptance.comparison.compare import CHANCE, NIGHTS, Starts, compare, holm, percent
from acceptance.comparison.grammar import FORMS, Asked, SideFault, read
from acceptance.comparison.model import Comparison, Measured, Row, SideFacts, Word, as_data

__all__ = [
    "CHANCE",
    "FORMS",
    "NIGHTS",
    "Asked",
    "Comparison",
    "Measured",
    "Row",
    "SideFacts",
    "SideFault",
    "Starts",
    "Word",
    "as_data",
    "compare",
    "grammar",
    "holm",
    "percent",
    "read",
]

"""Nodes and pairs of one run compared with each other: the culprit, and the way between two."""

from acceptance.nodes.compare import Tolerance, compare
from acceptance.nodes.findings import FAILING, NodeFinding, number_text, quantity_text
from acceptance.nodes.results import Comparison, Kind
from acceptance.nodes.review import partners, review

__all__ = [
    "FAILING",
    "Comparison",
    "Kind",
    "NodeFinding",
    "Tolerance",
    "compare",
    "number_text",
    "partners",
    "quantity_text",
    "review",
]

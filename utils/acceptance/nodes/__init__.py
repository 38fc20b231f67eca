"""Nodes and pairs of one run compared with each other: the culprit, and the way between two."""

from acceptance.nodes.compare import compare
from acceptance.nodes.findings import FAILING, UNSTEADY, NodeFinding
from acceptance.nodes.results import Comparison, Kind
from acceptance.nodes.review import partners, review

__all__ = [
    "FAILING",
    "UNSTEADY",
    "Comparison",
    "Kind",
    "NodeFinding",
    "compare",
    "partners",
    "review",
]

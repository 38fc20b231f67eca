"""Nodes and pairs of one run compared with each other: the culprit, and the way between two."""

from acceptance.nodes import cables, culprits, findings
from acceptance.nodes.all_pairs import AllPairs, PairFinding, compared_pairs, finding_of
from acceptance.nodes.compare import Tolerance, compare
from acceptance.nodes.findings import NodeFinding, compared_in, number_text, quantity_text
from acceptance.nodes.results import Comparison, Kind
from acceptance.nodes.review import partners, review

#: The kinds of findings of which a verdict is red; the others are reservations.
FAILING = tuple(dict.fromkeys((*findings.FAILING, *culprits.FAILING)))

__all__ = [
    "FAILING",
    "AllPairs",
    "Comparison",
    "Kind",
    "NodeFinding",
    "PairFinding",
    "Tolerance",
    "cables",
    "compare",
    "compared_in",
    "compared_pairs",
    "culprits",
    "finding_of",
    "findings",
    "number_text",
    "partners",
    "quantity_text",
    "review",
]

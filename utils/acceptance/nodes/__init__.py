"""Nodes and pairs of one run compared with each other: the culprit, and the way between two."""

from acceptance.nodes import cables, culprits, findings
from acceptance.nodes.all_pairs import AllPairs, PairFinding, compared_pairs, finding_of
from acceptance.nodes.compare import Comparison, Kind, Tolerance, compare, partners, review
from acceptance.nodes.findings import compared_in, number_text, quantity_text

#: The kinds of findings of which a verdict is red; the others are reservations.
FAILING = tuple(dict.fromkeys((*findings.FAILING, *culprits.FAILING)))

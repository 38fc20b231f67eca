"""Nodes and pairs of one run compared with each other: the culprit, and the way between two."""

from acceptance.nodes import cables, culprits
from acceptance.nodes.all_pairs import ALL_PAIRS, AllPairs, PairFinding, compared_pairs
from acceptance.nodes.culprits import FAILING, number_text

"""Nodes and pairs of one run compared with each other: the culprit, and the way between two."""

from acceptance.nodes import cables, causes, culprit, culprits
from acceptance.nodes.all_pairs import ALL_PAIRS, AllPairs, compared_pairs, finding_of
from acceptance.nodes.culprit import FAILING, Culprit
from acceptance.nodes.detours import Causes
from acceptance.nodes.fit import Aim
from acceptance.nodes.loaded import UnderLoad, under_load
from acceptance.nodes.power import ROUNDS_LIMIT, Chance, Power, chance_table

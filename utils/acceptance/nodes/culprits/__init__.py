"""The culprit behind the slow pairs of a matrix: a node, a direction, a path or an uplink."""

from acceptance.nodes.culprits import model
from acceptance.nodes.culprits.find import Judgement, find, judge
from acceptance.nodes.culprits.model import FAILING, Culprit, NodeValues

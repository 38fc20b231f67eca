"""`simulated-fattree`: a fat tree of `ACCEPTANCE_FATTREE=nodes,nodes of a leaf,spines` on SimGrid.

Nothing of it is evidence of any machine. A rank stands on each node.
"""

from acceptance.simulation import fat_tree

SYSTEM, ENVIRONMENTS = fat_tree()

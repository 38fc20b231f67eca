"""The folders of this clone, as tests name them."""

from dataclasses import replace

from acceptance.core.paths import ROOT, Workspace

HERE = Workspace.of()
REFERENCE, WHEELS = HERE.reference, HERE.wheels
#: Seconds that a test waits for what takes one on an idle machine. Slurm itself may wait 60 s: for
#: the output of other ranks where one fails at once.
PATIENCE = 180

__all__ = ["HERE", "PATIENCE", "REFERENCE", "ROOT", "WHEELS", "workspace"]


def workspace(var, **others):
    """Return this clone's workspace with another `var`, and other folders where they are given."""
    return replace(HERE, var=var, **others)

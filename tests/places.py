"""The folders of this clone, as tests name them."""

from dataclasses import replace

from acceptance.core.paths import ROOT, Workspace

HERE = Workspace.of()
REFERENCE, WHEELS = HERE.reference, HERE.wheels

__all__ = ["HERE", "REFERENCE", "ROOT", "WHEELS", "workspace"]


def workspace(var, **others):
    """Return this clone's workspace with another `var`, and other folders where they are given."""
    return replace(HERE, var=var, **others)

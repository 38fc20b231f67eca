"""Listings of systems, each made once in a process: one costs some ten seconds."""

from acceptance.core.paths import Workspace
from acceptance.rfm import list_cases

_known = {}


def cases_of(systems):
    """Return the cases of systems, as `list_cases` makes them of this clone."""
    if missing := {*systems} - _known.keys():
        for case in list_cases(Workspace.of(), missing):
            _known.setdefault(case.system, []).append(case)
    return [case for system in sorted(systems) for case in _known[system]]

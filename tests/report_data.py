"""Databases and sites made for the tests of the report."""

import json
import os
import shutil
from datetime import datetime, timezone
from unittest import mock

from acceptance.core.paths import Workspace
from acceptance.report import Source, write
from acceptance.rfm import configuration
from tests.made import FIRST, NIGHT, Case, nights
from tests.places import ROOT

#: A name that is a script, to a page that would not escape it.
HOSTILE = "<script>alert('x')</script>\"&'\u202egnp.exe\u2028"


def workspace(folder, **environment):
    """Return a workspace whose `var/` is in a folder, with the clone's own references."""
    variables = {"ACCEPTANCE_VAR": str(folder / "var"), **environment}
    with mock.patch.dict(os.environ, variables):
        made = Workspace.of()
    made.var.mkdir(parents=True, exist_ok=True)
    return made


def source(folder, *, now=None, reference=False, **selected):
    """Return the source of a workspace in a folder; `selected` are fields of it.

    With `reference` it has a folder of references of its own, a copy.
    """
    made = workspace(folder)
    if reference:
        copied = shutil.copytree(made.reference, folder / "reference", dirs_exist_ok=True)
        made = workspace(folder, ACCEPTANCE_REFERENCE=str(copied))
    return Source(
        made,
        made.results,
        now or datetime.fromtimestamp(FIRST + 400 * NIGHT, timezone.utc),
        systems=configuration.load([ROOT / "config/settings.py"]).systems,
        **selected,
    )


def year(folder, count=365, cases=8, factor=None, **fields):
    """Make a database of nights in a folder's `var/` (`tests.made.nights`); return its source."""
    made = workspace(folder)
    nights(made.results, count, factor, cases, **fields)
    return source(folder)


def site(made, folder):
    """Write the report of a source; return its folder."""
    write(made, folder)
    return folder


def plot_data(folder, page, plot):
    """Return the JSON of a plot, as it is offered to download."""
    from acceptance.report import addresses

    return json.loads((folder / addresses.data(page, plot, "json")).read_text())


def hostile_case(**fields):
    """Return a case all of whose texts are hostile."""
    return Case(
        name=f"Hostile {HOSTILE}",
        metrics={"latency_8": (1.5, "us")},
        nodes=(HOSTILE,),
        keys={"np": "2", "environment": HOSTILE},
        provenance={"spec": HOSTILE, "suite": HOSTILE},
        findings=({"kind": "link", "text": HOSTILE, "nodes": HOSTILE},),
        **fields,
    )

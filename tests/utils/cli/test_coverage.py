"""`cli/coverage.py` on the project's own references."""

from collections import Counter

import pytest

from acceptance.cli.coverage import coverage
from acceptance.core.paths import ROOT
from acceptance.references import load, tables


@pytest.fixture(scope="module")
def library():
    return load(ROOT / "reference")


def test_coverage_names_the_check_that_produces_a_metric(library):
    rows = [row for row in library.values if (row.origin, row.where) == ("kandadai2009", "Table 5")]
    covered = coverage(rows)
    assert Counter((row.benchmark, row.metric, check) for row, check in covered) == {
        ("imb.PingPong", "bandwidth_peak", "checks/imb.py"): 3,
        ("imb.PingPong", "latency", "checks/imb.py"): 3,
        ("imb.Exchange", "bandwidth_peak", "checks/imb.py"): 3,
    }


def test_coverage_has_no_check_for_what_none_produces(library):
    rows = tables.select(library, benchmark="netperf")
    assert rows
    assert {check for _, check in coverage(rows)} == {None}

"""`site/doctor.py` on made systems."""

import pytest

from acceptance.core.paths import Workspace
from acceptance.site import doctor

SYSTEM = """
SYSTEM = {{
    "name": "made",
    "hostnames": [".*"],
    "partitions": [{{"name": "fast", "environs": [], "extras": {{"fabric": {fabric}}}}}],
}}
site_configuration = {{"systems": [SYSTEM], "environments": []}}
"""
QDR = {"technology": "infiniband", "rate": "QDR", "lanes": 4, "pcie": "2.0", "pcie_lanes": 8}


@pytest.fixture
def row(tmp_path, monkeypatch):
    """Write a system's file, and return what the doctor says of its fabric."""
    monkeypatch.setenv("ACCEPTANCE_SYSTEMS", str(tmp_path))

    def examine(fabric):
        path = tmp_path / "config/systems/made.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SYSTEM.format(fabric=fabric))
        rows = [
            row
            for row in doctor.examine(Workspace.of(), [path], "made")
            if row.what == "fabric of fast"
        ]
        return (path, *rows)

    return examine


def test_the_facts_of_a_partition_have_a_row(row):
    _, found = row(QDR)
    assert (found.state, found.found) == ("ok", "infiniband QDR 4x, PCIe 2.0 x8")
    assert len(row(None)) == 1, "the path alone"


@pytest.mark.parametrize("technology", ["infiniband", "ethernet", "roce"])
def test_a_fabric_without_a_rate_is_said(row, technology):
    _, found = row({"technology": technology})
    assert (found.state, found.found) == ("missing", f"{technology}, no rate is stated")
    assert "rate" in found.remedy


def test_a_technology_that_has_no_rates_misses_none(row):
    _, found = row({"technology": "numalink"})
    assert (found.state, found.found) == ("ok", "numalink")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({**QDR, "Rate": "QDR"}, "unknown key 'Rate' of a fabric; known: technology, rate, "),
        ({**QDR, "technology": "RoCE"}, "unknown technology: 'RoCE'; known: infiniband, "),
        ({**QDR, "rate": "qdr"}, "unknown rate of infiniband: 'qdr'; known: SDR, "),
        ({**QDR, "pcie": "2"}, "unknown pcie: '2'; known: 1.0, "),
    ],
)
def test_facts_that_nobody_knows_are_broken_with_file_and_partition(row, facts, said):
    path, found = row(facts)
    assert found.state == doctor.BROKEN
    assert found.found.startswith(f"{path}: made:fast: {said}")

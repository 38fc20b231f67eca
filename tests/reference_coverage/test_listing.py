"""`listing.py`: the cases of a system, without its scheduler and without a run."""

import os

import pytest

from acceptance.core.paths import Workspace
from tests.places import ROOT
from tests.reference_coverage.listing import ListingFault, cases_of, list_cases


@pytest.fixture(scope="module")
def koop2008():
    return cases_of(["koop2008"])


def test_a_case_has_the_keys_metrics_and_modes_that_a_run_of_it_would_have(koop2008):
    few, case, alike = (
        case
        for case in koop2008
        if (case.partition, case.environment, case.benchmark) == ("qdr-pcie2", "spack-openmpi",
                                                                   "osu.latency")
        and case.keys["placement"] == "inter-node"
    )  # fmt: skip
    assert case.keys == {"np": "2", "nodes": "2", "placement": "inter-node", "mapping": "block"}
    assert few.keys == {**case.keys, "repetitions": "100"}
    assert alike.keys == case.keys
    assert [each.modes for each in (few, case, alike)] == [
        ("smoke",), ("nightly",), ("acceptance",),
    ]  # fmt: skip
    assert not few.judged
    assert case.metrics["latency_1"] == "us"
    assert len(case.metrics) == 23
    path, _ = case.judged["latency_1"]
    assert (path, [*case.judged]) == (str(ROOT / "reference/koop2008.csv"), ["latency_1"])


def test_a_case_of_which_the_mode_decides_the_size_is_one_for_each_mode(koop2008):
    runs = [
        case
        for case in koop2008
        if (case.partition, case.environment) == ("qdr-pcie2", "spack-openmpi")
        and (case.benchmark, case.keys["np"]) == ("hpcc", "16")
    ]
    assert [case.modes for case in runs] == [("smoke",), ("nightly",), ("acceptance",)]
    assert len({case.keys["order"] for case in runs}) == 3


def test_programs_of_npb_are_of_the_modes_that_run_their_class(koop2008):
    modes = {
        mode
        for case in koop2008
        if case.benchmark == "npb.is" and case.keys["class"] == "S"
        for mode in case.modes
    }
    assert modes == {"smoke"}


def test_what_only_the_acceptance_runs_is_listed(koop2008):
    modes = {case.modes for case in koop2008 if case.benchmark == "imb.mt.BarrierMT"}
    assert modes == {("acceptance",)}


def test_a_system_that_nobody_knows_is_a_fault():
    with pytest.raises(ListingFault, match=r"^nowhere: .*'nowhere'"):
        list_cases(Workspace.of(), ["nowhere"])


def test_a_check_file_that_cannot_be_loaded_is_a_fault(tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(
        "import acceptance.suites.imb\ndel acceptance.suites.imb.BENCHMARKS\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(ListingFault, match=r"koop2008: .*checks/imb.py: .*BENCHMARKS"):
        list_cases(Workspace.of(), ["koop2008"])

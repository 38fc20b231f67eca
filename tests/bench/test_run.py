"""`make bench` says what cannot run here, and runs the others."""

import importlib
from types import SimpleNamespace

import pytest

from tests.bench.__main__ import BENCHES, run

HERE = SimpleNamespace(why_not=lambda: "")
NOT_HERE = SimpleNamespace(why_not=lambda: "no Slurm: install slurm-wlm")
PARTLY = SimpleNamespace(why_not=lambda: "", in_part=lambda: "without otava's columns")


def test_what_cannot_run_is_said_first_and_the_others_run(capsys):
    printed_before = []

    def start(name):
        printed_before.append(capsys.readouterr().out)
        return 0

    status = run({"harness": HERE, "cluster": NOT_HERE, "detection": PARTLY}, start)
    assert status == 0
    assert [text.split()[-1] for text in printed_before] == ["harness", "detection"]
    assert printed_before[0].splitlines()[:2] == [
        "cluster: cannot run here: no Slurm: install slurm-wlm",
        "detection: runs in part: without otava's columns",
    ]


def test_a_bench_that_fails_stops_no_other_one_and_fails_all(capsys):
    started = []
    status = run({"harness": HERE, "history": HERE}, lambda name: started.append(name) or 3)
    assert status == 1
    assert started == ["harness", "history"]
    assert capsys.readouterr().err == "failed: harness, history\n"


def test_nothing_that_can_run_is_no_failure(capsys):
    assert run({"cluster": NOT_HERE}, pytest.fail) == 0
    assert "cannot run here" in capsys.readouterr().out


@pytest.mark.parametrize("name", BENCHES)
def test_every_bench_says_whether_it_can_run(name):
    bench = importlib.import_module(f"tests.bench.{name}")
    assert isinstance(bench.why_not(), str)
    assert callable(bench.main)

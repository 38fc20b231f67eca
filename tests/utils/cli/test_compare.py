"""`acceptance compare`: its table, its data and its statuses."""

import csv
import json
from functools import partial

import pytest

from tests.made import SOFTWARE, STEPS, campaigns, nights


@pytest.fixture
def run(command):
    """Run the command; return status, output and errors."""
    return partial(command, "compare")


def slower(path, factor=1.3):
    nights(path, 20, lambda night, case, _: factor if (night, case) == (19, 1) else 1.0, cases=3)


def test_what_is_worse_stands_below_its_case_and_the_rest_is_counted(path, run, monkeypatch):
    slower(path)
    monkeypatch.setenv("COLUMNS", "100")
    status, output, _ = run("last-1", "last")
    assert status == 1
    assert "the same    system, partition, environment, check, parameters, metric" in output
    assert "worse: 6 metrics of 1 case" in output
    assert (
        "  OsuMpi %benchmark=b1 %np=2 %placement=inter-node  made:compute+spack-openmpi" in output
    )
    assert "same: 12 metrics" in output
    assert "total       6 worse, 0 better, 0 differs, 12 same, 0 cannot tell" in output
    assert max(map(len, output.splitlines())) <= 100


def test_two_nights_of_steps_are_compared_as_a_whole(path, run):
    campaigns(path, 20, lambda night, case, _: 1.3 if (night, case) == (19, 1) else 1.0)
    status, output, _ = run("last-1", "last")
    assert status == 1
    assert f"total       6 worse, 0 better, 0 differs, {6 * len(STEPS) - 6} same" in output
    assert "B           last (nightly-2026-01-20T220000): 6 sessions" in output


def test_what_is_better_is_no_failure(path, run):
    slower(path)
    status, output, _ = run("last", "last-1")
    assert status == 0
    assert "better: 6 metrics of 1 case" in output


def test_all_has_a_line_for_each_metric(path, run):
    slower(path)
    _, output, _ = run("--all", "last-1", "last")
    assert output.count(" us ") == 9


def test_the_data(path, run):
    slower(path)
    status, output, _ = run("--format", "json", "last-1", "last")
    data = json.loads(output)
    assert (status, data["counts"]["worse"], len(data["rows"])) == (1, 6, 18)
    assert data["rows"][0]["low"] < 1 < data["rows"][0]["high"]


def test_what_cannot_be_judged_is_not_passed(path, run):
    nights(path, 3, cases=1)
    status, output, _ = run("last-1", "last")
    assert status == 2
    assert "judged      nothing: of no metric that both have is the noise known" in output
    assert "cannot tell: 6 metrics" in output


def test_a_case_that_fails_in_b_is_not_passed(path, run):
    def change(night, number, case):
        case.result = "fail" if (night, number) == (19, 1) else "pass"
        return case

    nights(path, 20, cases=2, change=change)
    status, output, _ = run("last-1", "last")
    assert status == 2
    assert "failed      in B, and not in A: OsuMpi %benchmark=b1" in output
    assert "only in A: 6 metrics of 1 case" in output


def test_before_and_after_a_version_of_something(path, run):
    def change(night, _, case):
        case.provenance = {**SOFTWARE, "mpi": f"openmpi@{'5.0.6' if night >= 12 else '4.1.6'}"}
        return case

    nights(path, 24, lambda night, *_: 1.2 if night >= 12 else 1.0, cases=1, change=change)
    status, output, _ = run(",openmpi!=5.0.6", ",openmpi=5.0.6")
    assert status == 1
    assert "A           all sessions, without openmpi 5.0.6: 12 sessions" in output
    assert "B           all sessions, with openmpi 5.0.6: 12 sessions" in output


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["here", "made"], "here: is no system and no session; the newest sessions: 0000000c"),
        (["mode", "made"], "; of systems there are made; did you mean made?"),
    ],
)
def test_a_side_that_is_not_there(path, run, words, what):
    slower(path)
    status, _, errors = run(*words)
    assert status == 2
    assert what in errors


def test_one_side_is_a_wrong_argument(run, capsys):
    with pytest.raises(SystemExit, match="2"):
        run("last")
    assert "the following arguments are required: B" in capsys.readouterr().err


def test_as_csv_a_line_for_each_metric(path, run):
    slower(path)
    status, output, _ = run("--format", "csv", "last-1", "last")
    header, *lines = csv.reader(output.splitlines())
    assert header == ["check", "where", "result", "metric", "A", "B", "unit", "B/A", "noise"]
    assert (status, len(lines)) == (1, 18)
    assert {line[2] for line in lines} == {"worse", "same"}
    assert {line[3].split("_")[0] for line in lines} == {"latency", "bandwidth"}


@pytest.mark.parametrize("columns", [80, 140])
def test_a_table_is_as_wide_as_the_terminal_at_most(path, run, monkeypatch, columns):
    nights(path, 20, lambda night, case, _: 1.3 if (night, case) == (19, 1) else 1.0, cases=3)
    monkeypatch.setenv("COLUMNS", str(columns))
    output = run("last-1", "last")[1]
    _, rule, *rest = output.partition("\n    metric ")[2].splitlines()
    assert max(map(len, (rule, *rest[:6]))) <= columns
    assert ({*rule}, len(rule) > 40) == ({*" -"}, True)

"""`acceptance nightly --dry-run`: the cases of real ReFrame, and times of what ran before."""

import json
import re
import shutil
import sqlite3

import pytest

from tests.campaigns import Held
from tests.places import ROOT

PAIR = ("--", "-n", "(Barrier|Allreduce)%np=2%placement=intra-node")


@pytest.fixture
def held(site):
    return Held(site)


def steps(result):
    """Return what is said of each step."""
    assert result.status == 0, result.errors
    lines = [line for line in result.output.splitlines() if not line.startswith(" ")]
    return dict(line.split(": ", 1) for line in lines)


def test_cases_are_counted_and_times_are_those_of_the_last_run(site, held):
    fresh = steps(site.acceptance("nightly", "--dry-run", *PAIR))
    formula = r"2 cases, about (\d+ s), \1 of it by formula: 2 never ran here in this mode"
    assert re.fullmatch(formula, fresh["imb"])
    assert fresh["links"].startswith("1 case, ")
    assert fresh["osu+balance"].startswith("not run: nothing provides OSU Micro-Benchmarks here")
    assert not (site.var / "campaigns").exists()

    site.acceptance("nightly", "--no-alerts", *PAIR)
    connection = sqlite3.connect(site.database)
    for uuid, blob in connection.execute("SELECT uuid, json_blob FROM sessions").fetchall():
        data = json.loads(blob)
        (run,) = data["runs"]
        data["session_info"]["time_end_unix"] = data["session_info"]["time_start_unix"] + 600
        for number, case in enumerate(run["testcases"]):
            case["time_run"], case["time_compile"] = 10.0 * (number + 1), None
        connection.execute(
            "UPDATE sessions SET json_blob = ? WHERE uuid = ?", (json.dumps(data), uuid)
        )
    connection.commit()
    # What was read before it was changed by hand would count.
    shutil.rmtree(site.var / "ledger", ignore_errors=True)
    known = steps(site.acceptance("nightly", "--dry-run", *PAIR))
    assert known["imb"] == "2 cases, about 10 min"
    assert known["links"] == "1 case, about 10 min"
    assert known["all"].startswith("3 cases, about 20 min")

    more = site.acceptance("nightly", "--dry-run", "--", "-n", "%np=2%placement=intra-node")
    said = r"\d+ cases, about 1\d min, \d+ s of it by formula: \d+ never ran here in this mode"
    assert re.fullmatch(said, steps(more)["imb"])
    other = steps(site.acceptance("nightly", "--mode", "smoke", "--dry-run", *PAIR))
    assert re.fullmatch(formula, other["imb"])
    assert all(len(line) <= 100 for line in more.output.splitlines() if str(site.var) not in line)


@pytest.mark.parametrize(
    ("kind", "words", "error"),
    [
        ("nightly", ("--mode", "nihgtly"), "no mode 'nihgtly'; there are smoke, nightly, "),
        ("nightly", ("--system", "nowhere"), "no system 'nowhere'; there are "),
        ("nightly", ("--", "-n", "nothing"), "-n nothing selects no case of imb"),
        ("accept", ("--", "-n", "nothing"), "-n nothing selects no case of imb"),
        ("accept", ("--", "--no-such"), "reframe: unrecognized arguments: --no-such"),
        ("accept", ("--power", "90%"), "--power and --false say how surely --detect LOSS is seen"),
        ("accept", ("--detect", "5%", "--false", "1e-4"), "--false 0.0001: 0.001 is the least"),
    ],
)
def test_arguments_that_would_run_nothing_are_refused(site, held, kind, words, error):
    result = site.acceptance(kind, "--dry-run", *words)
    assert result.status == 2, result.output
    assert result.errors.startswith(f"acceptance {kind}: {error}")


@pytest.mark.parametrize("kind", ["nightly", "accept"])
def test_a_fact_that_nobody_knows_is_refused_before_anything_runs(site, held, kind):
    path = site.folder / "site.py"
    fabric = '"fabric": {"technology": "infiniband", "rate": "4"}, "nodes": 1'
    path.write_text(path.read_text().replace('"nodes": 1', fabric))
    result = site.acceptance(kind)
    assert result.status == 2, result.output
    told = "replay:default: unknown rate of infiniband: '4'; known: SDR, DDR, "
    assert result.errors.startswith(f"acceptance {kind}: ")
    assert told in result.errors
    assert not (site.var / "campaigns").exists()


def test_the_plan_of_an_acceptance_promises_nothing_of_pairs_that_are_not_measured(site, held):
    path = site.folder / "site.py"
    path.write_text(path.read_text().replace('"nodes": 1', '"nodes": 8'))
    result = site.acceptance("accept", "--plan", "--detect", "5%", *PAIR)
    assert result.status == 0, result.errors
    text = " ".join(result.output.split())
    assert "replay:default: no pair is measured: nothing provides " in text
    assert "loses" not in text
    assert not (site.var / "campaigns").exists()


def test_a_plan_says_how_often_pairs_are_measured_how_long_and_what_that_sees(site, held):
    path = site.folder / "site.py"
    text = path.read_text().replace('"nodes": 1', '"nodes": 8')
    text = text.replace('"verify_placement": False', '"verify_placement": True')
    path.write_text(text.replace("['imb']", "['imb', 'patterns']"))
    result = site.acceptance("accept", "--plan", "--detect", "5%", *PAIR)
    said = steps(result)
    # Three passes of seven rounds, a job and a build.
    assert said["all_pairs"].startswith("1 case and 1 build, about 9 s")
    text = " ".join(result.output.split())
    assert "-S AllPairs.aim=0.05,0.95,0.01 -S AllPairs.passes=3" in text
    assert said["replay:default"].startswith("all pairs of 8 nodes, 3 times; a loss of ")
    assert "28 pairs, each way, in 7 rounds, and inside of each node: about 3 s" in text


def test_what_reframe_warns_of_is_told(site, held):
    result = site.acceptance("nightly", "--dry-run", "--", "-S", "nothing")
    assert result.status == 0
    assert "ReFrame: invalid test variable assignment: 'nothing'; skipping" in result.errors


def test_a_check_file_that_cannot_be_loaded_is_a_warning(site, held, monkeypatch, tmp_path):
    held.site.environment["PYTHONPATH"] = f"{tmp_path}:{ROOT / 'utils'}"
    (tmp_path / "sitecustomize.py").write_text(
        "import acceptance.suites.imb\ndel acceptance.suites.imb.BENCHMARKS\n"
    )
    result = site.acceptance("nightly", "--dry-run")
    assert result.status == 0, result.errors
    assert "imb.py" in result.errors
    assert "skipping test file" in result.errors
    assert steps(result)["imb"] == "no case"


def test_the_misspelt_mode_of_a_real_night_begins_none(site, held):
    result = site.acceptance("nightly", "--mode", "nihgtly")
    assert result.status == 2
    assert not (site.var / "campaigns").exists()

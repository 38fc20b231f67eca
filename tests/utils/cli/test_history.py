"""`acceptance history`: the series of a terminal and as data."""

import csv
import json
import re
import shutil
from functools import partial

import pytest

from acceptance.cli.history import BLOCKS, PLAIN, fits, sparkline
from acceptance.detection.constants import FEWEST
from acceptance.regressions import judge
from acceptance.regressions.history import day
from tests.made import FIRST, NIGHT, SOFTWARE, Case, Database, nights, noisy
from tests.places import ROOT
from tests.stored import load, opened
from tests.terminal import on_terminal


@pytest.fixture
def run(command):
    """Run the command; return status, output and errors."""
    return partial(command, "history")


def stepped(path, count=80, at=60):
    database = Database(path)
    level = noisy("x", 1.5)
    for night in range(count):
        software = {**SOFTWARE, "mpi": "openmpi@5.0.3"} if night >= at else SOFTWARE
        value = level(night, 1.1 if night >= at else 1.0)
        database.add([Case(metrics={"latency_8": (value, "us")}, provenance=software)])


def test_one_series_with_its_change_and_its_samples(path, run):
    stepped(path)
    status, output, _ = run("latency_8")
    assert status == 0
    assert "latency_8 (us, lower is better)" in output
    assert "80 samples, 2026-01-" in output
    (change,) = [line for line in output.splitlines() if "decided" in line]
    assert change.strip().startswith(f"{day(FIRST + 60 * NIGHT)}  1.5 -> 1.6")
    assert " % worse), decided " in change
    assert "openmpi@4.1.6" in change
    assert "openmpi@5.0.3" in change
    assert "change, software" in output
    assert "50 samples before these: --format csv has all" in output
    assert "node01, node02" in output


def test_the_course_is_one_line_of_at_most_a_terminal_also_without_utf8(site, tmp_path):
    path = tmp_path / "results.db"
    stepped(path)
    words = ["acceptance", "history", "latency_8", "--db", str(path)]
    for encoding, signs in (("utf-8", BLOCKS), ("ascii", PLAIN)):
        variables = site.variables(COLUMNS="50", TERM="xterm", PYTHONIOENCODING=encoding)
        status, output = on_terminal(words, variables)
        (course,) = [line for line in output.splitlines() if {*line.strip()} <= {*signs} and line]
        heights = [signs.index(sign) for sign in course.strip()]
        # The last 46 of 80 samples: 26 before the step, and 20 after it.
        assert (status, len(heights)) == (0, 46)
        assert max(heights[:26]) < min(heights[26:])


def test_as_csv_all_samples(path, run):
    stepped(path)
    status, output, _ = run("--format", "csv")
    rows = [*csv.DictReader(output.splitlines())]
    assert (status, len(rows)) == (0, 80)
    assert {row["nodes"] for row in rows} == {"node01, node02"}
    assert {row["unit"] for row in rows} == {"us"}
    assert [row["marks"] for row in rows if row["marks"]] == ["change, software"]
    assert "openmpi@5.0.3" in rows[60]["software"]
    assert float(rows[0]["value"]) == pytest.approx(1.5, rel=0.1)


def test_several_series_are_a_line_each(path, run):
    nights(path, 20, cases=2)
    status, output, _ = run("b1")
    assert status == 0
    assert output.count("20 samples") == 6
    assert "node03" not in output


def test_many_series_are_cut_off_and_counted(path, run):
    nights(path, 12, cases=5)
    _, output, _ = run()
    assert output.count("12 samples") == 20
    assert "... and 10 more series: --format json has all" in output


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("OsuMpi/bandwidth", "nothing is named bandwidth, but bandwidth_8, bandwidth_65536, "
                             "bandwidth_4194304"),
        ("osumpi/*_8", "nothing is named osumpi, but OsuMpi"),
        ("b1/latncy_8", "nothing is named latncy_8, but latency_8, latency_65536, "
                         "latency_4194304"),
        ("OsuMpu/latency", "nothing is named OsuMpu, but OsuMpi; nothing is named latency, but "
                           "latency_8, latency_65536, latency_4194304"),
        ("b0/b1", "each part of b0/b1 fits some, but none fits all"),
        ("zzzz*", "nothing is named zzzz*"),
    ],
)  # fmt: skip
def test_what_fits_nothing_names_what_is_near(path, run, pattern, said):
    nights(path, 3, cases=2)
    status, output, errors = run(pattern)
    assert (status, output) == (2, "")
    assert errors == f"acceptance history: no series fits {pattern}; {said}\n"


@pytest.mark.parametrize("pattern", ["OsuMpi/bandwidth", "b1/latncy_8", "osumpi/*_8"])
def test_a_name_that_is_near_fits_in_its_place(path, run, pattern):
    nights(path, 3, cases=2)
    wrong, near = re.search(r"is named (.*), but ([^,\n]*)", run(pattern)[2]).groups()
    assert run(pattern.replace(wrong, near))[0] == 0


def test_a_short_series_says_when_it_can_be_judged(path, run):
    stepped(path, 3)
    assert f"cannot judge yet; can after {FEWEST - 3} more runs" in run()[1]


def of_one_night(night, case, size):
    return 1.2 if night == 39 else 1.0


def without_case(night, number, case):
    return None if night == 39 and number == 2 else case


def slowly(night, case, size):
    return 1 + 0.0006 * night if case == 3 else 1.0


@pytest.mark.parametrize(
    ("made", "kind", "said"),
    [
        ({"count": 40, "factor": of_one_night}, "machine", "change of the machine since 2026-02-"),
        ({"count": 40, "change": without_case}, "vanished", "vanished metric since 2026-02-"),
        ({"count": 160, "factor": slowly, "cases": 4, "noise": 0.02}, "drift", "drift since 2026-"),
    ],
)
def test_whatever_the_gate_alarms_is_shown(path, run, tmp_path, monkeypatch, made, kind, said):
    reference = tmp_path / "reference"
    shutil.copytree(ROOT / "reference", reference)
    (reference / "sites").mkdir(exist_ok=True)
    (reference / "sites/made.csv").write_text(
        "where,system,partition,benchmark,metric,parameters,relation,value,unit,printed,note,spread"
        "\nsessions of 2026-01-01,made,compute,osu.b3,latency,np=2;message_size=8,=,1.008,us,1.008,"
        ",0.005\n"
    )
    monkeypatch.setenv("ACCEPTANCE_REFERENCE", str(reference))
    nights(path, **made)
    gate = judge.for_gate(opened(path), reference)
    alarmed = {
        (incident.id, change.series.name)
        for incident in gate.incidents
        for change in incident.changes
    }  # fmt: skip
    assert kind in {incident.finding.kind for incident in gate.incidents}
    series = json.loads(run("--format", "json")[1])
    assert alarmed == {
        (alert["id"], f"{one['system']}:{one['partition']}+{one['environment']} {one['check']} "
         f"{one['metric']}")
        for one in series for alert in one["alerts"]
    }  # fmt: skip
    (first,) = [each for each in gate.incidents if each.finding.kind == kind]
    assert f"alert {first.id}: {said}" in run(first.finding.what)[1]


def test_no_database(run):
    status, output, errors = run()
    assert (status, output) == (2, "")
    assert "no such file" in errors


def test_notes_of_the_database_are_shown(path, run):
    database = Database(path)
    database.add([Case(metrics={"latency_8": (1.0, "us")})])
    database.store("broken", FIRST, FIRST, "{")
    database.add([], start=FIRST - 86400)
    status, output, errors = run()
    assert "note     session 00000001-" in output
    assert "session broken is malformed" in errors
    assert status == 1


def test_as_data(path, run):
    stepped(path)
    status, output, _ = run("--format", "json")
    (series,) = json.loads(output)
    assert status == 0
    assert (series["system"], series["metric"], series["unit"]) == ("made", "latency_8", "us")
    assert (series["direction"], series["needed"]) == ("lower", 0)
    assert len(series["samples"]) == 80
    assert series["samples"][0]["software"] == SOFTWARE
    (change,) = series["changes"]
    assert change["worse"] is True
    assert change["change"] == pytest.approx(0.1, abs=0.03)


def test_a_short_series_as_data_is_valid_json(path, run):
    stepped(path, 2)
    (series,) = json.loads(run("--format", "json")[1])
    assert (series["spread"], series["changes"]) == (None, [])
    assert series["needed"] > 0


@pytest.mark.parametrize(
    ("patterns", "fitting"),
    [
        (["made:*+spack-openmpi OsuMpi*"], True),
        (["made:*+spack-mpich OsuMpi*"], False),
        ([], True),
        (["latency_8"], True),
        (["latency_*"], True),
        (["latency"], False),
        (["OsuMpi"], True),
        (["OsuMpi*inter-node"], True),
        (["osu.bw"], True),
        (["bw"], True),
        (["made:compute"], True),
        (["made:compute+*"], True),
        (["bw/latency_8"], True),
        (["bw/latency_9"], False),
        (["bandwidth*", "lat*"], True),
        (["bandwidth*", "gpu"], False),
    ],
)
def test_patterns(path, patterns, fitting):
    stepped(path, 1)
    (series,) = load(path).series
    assert fits(series, patterns) is fitting


def test_a_sparkline_is_between_the_smallest_and_the_largest():
    assert sparkline([1, 2, 8], 10) == f"{BLOCKS[0]}{BLOCKS[1]}{BLOCKS[7]}"
    assert sparkline([1, 8], 10, utf8=False) == f"{PLAIN[0]}{PLAIN[7]}"
    assert sparkline([5, 5], 10) == BLOCKS[4] * 2
    assert len(sparkline(range(100), 40)) == 40


def test_false_alarms_stand_above_but_not_in_the_data(path, run):
    nights(path, 40, cases=1, sizes=(8,))
    status, output, _ = run("latency_8")
    assert status == 0
    assert "note     false alarms: promised at most 1 a year of 100 metrics, seen 0 (" in output
    assert "note     false words: promised at most 5 % of comparisons, seen " in output
    _, output, _ = run("latency_8", "--format", "json")
    assert "false_alarms" not in output
    assert "promised" not in output


def test_false_alarms_of_simulated_systems_are_not_counted(path, run):
    nights(path, 3, cases=1, sizes=(8,), system="simulated-made")
    assert "note     false alarms: not counted of simulated systems" in run("latency_8")[1]

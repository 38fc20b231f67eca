"""`acceptance baseline`: what it proposes, what it refuses, and that the file judges."""

import json
import shutil
import sqlite3

import pytest

from acceptance import references
from acceptance.core.errors import Fault
from acceptance.core.paths import ROOT
from acceptance.detection.constants import BASELINE_FEWEST
from acceptance.regressions.changes import baseline_of
from acceptance.regressions.history import day, software_text
from acceptance.regressions.new_baseline import propose, select, write
from tests.made import FIRST, NIGHT, SOFTWARE, Case, Database, campaigns, nights, noisy
from tests.stored import load

HEADER = "where,system,partition,benchmark,metric,parameters,relation,value,unit,printed,note"


@pytest.fixture
def folder(tmp_path):
    """References of the project's form, without baselines."""
    copy = tmp_path / "reference"
    shutil.copytree(ROOT / "reference", copy)
    shutil.rmtree(copy / "sites", ignore_errors=True)
    return copy


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.db"


def proposed(path, folder, *uuids, count=14):
    history = load(path)
    return propose(history, "made", select(history, uuids, count), references.load(folder))


def steady(database, count, value=1.5, spread=0.01, metric="latency_8", unit="us", **fields):
    level = noisy(f"{metric} {value}", value, spread)
    for night in range(count):
        database.add([Case(metrics={metric: (level(night), unit)}, **fields)])


def the_refusal(proposal):
    ((reason, names),) = proposal.refused.items()
    assert proposal.changes == []
    assert len(names) == 1
    return reason


def test_a_row_says_what_it_is_made_of(path, folder):
    steady(Database(path), 20)
    (change,) = proposed(path, folder).changes
    row = change.new
    assert (row.system, row.partition, row.benchmark) == ("made", "compute", "osu.bw")
    assert (row.metric, row.relation, row.unit) == ("latency", "=", "us")
    assert row.parameters == {
        "np": "2",
        "nodes": "2",
        "message_size": "8",
        "placement": "inter-node",
        "environment": "spack-openmpi",
    }
    assert row.value == pytest.approx(1.5, rel=0.02)
    assert row.printed == str(row.value)
    first, last = day(FIRST + 6 * NIGHT), day(FIRST + 19 * NIGHT)
    assert row.where == f"sessions of {first} to {last}"
    spread, samples, software = row.note.split(", ")
    assert spread.startswith("spread ")
    assert samples == "14 samples"
    assert software == "osu-micro-benchmarks@7.5.1 openmpi@4.1.6 gcc@13.2.0 hash aaaaaaa"
    assert (change.old, change.change) == (None, None)


def test_the_file_is_read_back_and_judges_the_same_metric(path, folder):
    nights(path, 20, cases=3)
    proposal = proposed(path, folder)
    write(proposal, references.load(folder))
    text = (folder / "sites/made.csv").read_text()
    assert text.startswith(HEADER + ",spread\n")
    library = references.load(folder)
    assert [row.spread for row in library.baselines] == [row.spread for row in proposal.rows]
    assert all(0.002 < row.spread < 0.03 for row in library.baselines)
    history = load(path)
    assert len(library.baselines) == len(history.series) == text.count("\n") - 1
    for series in history.series:
        found = baseline_of(series, library)
        assert found.value == pytest.approx(sum(series.values) / len(series.values), rel=0.02)


def test_the_same_benchmark_in_two_environments_has_two_rows(path, folder):
    database = Database(path)
    for night in range(10):
        database.add(
            [
                Case(metrics={"latency_8": (noisy(name, value)(night), "us")}, environment=name)
                for name, value in (("spack-openmpi", 1.5), ("spack-mpich", 2.5))
            ]
        )
    values = {
        change.new.parameters["environment"]: round(change.new.value, 1)
        for change in proposed(path, folder).changes
    }
    assert values == {"spack-openmpi": 1.5, "spack-mpich": 2.5}


@pytest.mark.parametrize("value", [1.234567e-7, 123456789.0, 0.5])
def test_a_value_is_printed_without_an_exponent_and_read_back(path, folder, value):
    steady(Database(path), 8, value, unit="s", metric="time")
    proposal = proposed(path, folder)
    (change,) = proposal.changes
    assert "e" not in change.new.printed
    write(proposal, references.load(folder))
    (row,) = references.load(folder).baselines
    assert row.value == change.new.value == pytest.approx(value, rel=0.02)


def test_the_change_against_the_old_baseline(path, folder):
    database = nights(path, 20, cases=1)
    write(proposed(path, folder), references.load(folder))
    assert database.count == 20
    again = proposed(path, folder, count=10)
    assert {change.old is not None for change in again.changes} == {True}
    assert all(abs(change.change) < 0.02 for change in again.changes)
    assert again.kept == []


def test_rows_that_were_not_measured_stay(path, folder):
    (folder / "sites").mkdir()
    others = [
        "session of 2025-01-01,made,compute,osu.latency,latency,message_size=8,=,1.1,us,1.1,mine",
        'session of 2025-01-01,made,compute,osu.bw,latency,np=2;message_size=8,~,1.2,us,1.2,"a, b"',
    ]
    (folder / "sites/made.csv").write_text("\n".join([HEADER, *others]) + "\n")
    steady(Database(path), 10)
    proposal = proposed(path, folder)
    assert len(proposal.kept) == 2
    write(proposal, references.load(folder))
    lines = (folder / "sites/made.csv").read_text().splitlines()
    assert len(lines) == 4
    assert {f"{row}," for row in others} < set(lines)


def test_a_refused_metric_keeps_its_old_row(path, folder):
    database = Database(path)
    steady(database, 10)
    write(proposed(path, folder), references.load(folder))
    again = proposed(path, folder, count=3)
    assert (len(again.changes), len(again.kept)) == (0, 1)


def test_a_ratio_has_a_baseline_that_bounds_both_sides(path, folder):
    steady(Database(path), 10, 2.5, metric="ratio_8", unit="1", benchmark="cbr.latency")
    write(proposed(path, folder), references.load(folder))
    library = references.load(folder)
    (series,) = load(path).series
    found = baseline_of(series, library)
    assert (found.benchmark, found.metric, found.unit) == ("cbr.latency", "ratio", "1")
    assert found.value == pytest.approx(2.5, rel=0.02)
    lower, upper = library.tolerances.thresholds(found.source, found.relation, found.unit)
    assert lower == -upper


def test_too_few_samples(path, folder):
    steady(Database(path), BASELINE_FEWEST - 1)
    assert the_refusal(proposed(path, folder)) == "fewer than 5 samples"


def test_samples_that_differ_by_what_is_tolerated(path, folder):
    steady(Database(path), 20, spread=0.08)
    reason = the_refusal(proposed(path, folder))
    assert reason.startswith("unstable: 3 spreads are more than the 10 % that a baseline in us")


def test_samples_with_a_change_that_is_too_young_to_be_found(path, folder):
    database = Database(path)
    level = noisy("x", 1.5)
    for night in range(10):  # the median and the spread are those of the level before
        value = level(night, 1.2 if night >= 7 else 1.0)
        database.add([Case(metrics={"latency_8": (value, "us")})])
    reason = the_refusal(proposed(path, folder))
    assert reason.startswith(
        "unstable: 3 of 10 samples are further from their median than the 10 %"
    )


def test_a_single_outlier_refuses_no_baseline(path, folder):
    database = Database(path)
    level = noisy("x", 1.5)
    for night in range(6):
        value = level(night, 1.5 if night == 2 else 1.0)
        database.add([Case(metrics={"latency_8": (value, "us")})])
    (change,) = proposed(path, folder).changes
    assert change.new.value == pytest.approx(1.5, rel=0.02)


def test_samples_with_a_change_among_them(path, folder):
    database = Database(path)
    level = noisy("x", 1.5)
    for night in range(80):
        value = level(night, 1.05 if night >= 70 else 1.0)
        database.add([Case(metrics={"latency_8": (value, "us")})])
    reason = the_refusal(proposed(path, folder))
    assert reason.startswith(f"changed on {day(FIRST + 70 * NIGHT)}: take sessions from one side")
    assert len(proposed(path, folder, count=9).changes) == 1


@pytest.mark.parametrize(
    ("fields", "unit", "says"),
    [
        ({}, "GHz", "tolerances.yaml has no tolerance of a baseline in GHz"),
        ({}, "furlongs", "furlongs: not a unit that a reference can have"),
        ({"keys": {"colour": "red"}}, "us", "that no reference can have: colour=red"),
        ({"keys": {"class": "Z"}}, "us", "that no reference can have: class=Z"),
        ({"environment": "a;b"}, "us", "that no reference can have: environment=a;b"),
    ],
)
def test_what_cannot_have_a_baseline(path, folder, fields, unit, says):
    steady(Database(path), 10, unit=unit, **fields)
    assert says in the_refusal(proposed(path, folder))


def test_a_plain_check_is_called_by_the_name_of_its_case(path, folder):
    steady(Database(path), 10, plain=True, name="Copy %size=8")
    (change,) = proposed(path, folder).changes
    assert change.new.benchmark == "Copy %size=8"
    assert change.new.parameters == {"message_size": "8", "environment": "spack-openmpi"}


def test_two_series_that_a_reference_cannot_tell_apart(path, folder):
    database = Database(path)
    for night in range(10):
        value = noisy("x", 1.5)(night)
        database.add(
            [Case(name=name, metrics={"latency_8": (value, "us")}) for name in ("One", "Two")]
        )
    proposal = proposed(path, folder)
    assert list(proposal.refused) == ["another series has the same parameters, too"]
    assert len(proposal.refused["another series has the same parameters, too"]) == 2


def test_sessions_by_the_beginning_of_their_uuid(path):
    steady(Database(path), 3)
    history = load(path)
    assert [one.number for one in select(history, ["00000001", "00000002-0000"])] == [2, 3]
    with pytest.raises(Fault, match="no session begins with 'ffff'"):
        select(history, ["ffff"])
    with pytest.raises(Fault, match="several sessions begin with '0'"):
        select(history, ["0"])


def test_a_night_by_its_id_has_all_of_its_steps(path):
    campaigns(path, 3)
    chosen = select(load(path), ["nightly-2026-01-02T220000", "00000000"])
    assert [one.number for one in chosen] == [7, 8, 9, 10, 11, 12, 1]


def test_the_last_nights_have_all_of_their_sessions(path):
    database = Database(path)
    for night in range(4):
        for hour in range(2):
            start = FIRST + NIGHT * night + 3600 * hour
            database.add([Case(metrics={"latency_8": (1.0, "us")})], start=start)
    history = load(path)
    assert [one.number for one in select(history, nights=2)] == [5, 6, 7, 8]
    assert len(select(history, nights=100)) == 8


def test_a_system_without_results(path, folder):
    steady(Database(path), 3)
    history = load(path)
    with pytest.raises(Fault, match="no result of the system 'other'"):
        propose(history, "other", history.sessions, references.load(folder))


def test_nothing_is_written_that_would_not_be_read(path, folder):
    steady(Database(path), 10)
    proposal = proposed(path, folder)
    proposal.kept.append(proposal.changes[0].new)
    with pytest.raises(Fault, match=r"was not written: .*made\.csv:3"):
        write(proposal, references.load(folder))
    assert not (folder / "sites").exists()


def test_a_folder_that_cannot_be_written(path, folder):
    steady(Database(path), 10)
    library = references.load(folder)
    proposal = proposed(path, folder)
    (folder / "sites").write_text("in the way")
    with pytest.raises(Fault, match="was not written"):
        write(proposal, library)


def test_software_in_a_few_words():
    assert software_text(tuple(SOFTWARE.items())).endswith("hash aaaaaaa")
    assert software_text((("suite", "IMB 2021.11"),)) == "IMB 2021.11"
    assert software_text(()) == ""


# The command.


@pytest.fixture
def run(site, path, folder):
    """Run the command on the database of the test, with references of its own."""
    site.environment["ACCEPTANCE_REFERENCE"] = str(folder)

    def run(*arguments):
        return site.acceptance("baseline", "--db", path, *arguments)

    return run


def test_the_command_shows_and_writes_only_when_it_is_told(path, folder, run):
    nights(path, 20, cases=1)
    shown = run()
    assert shown.status == 0, shown.errors
    assert "osu.b0" in shown.output
    assert "new" in shown.output
    assert "nothing was written; --write writes it" in shown.output
    assert not (folder / "sites").exists()
    written = run("--write")
    assert written.status == 0
    assert "sites/made.csv: 6 rows" in written.output
    again = run("--nights", "10")
    assert " %" in again.output
    assert len(references.load(folder).baselines) == 6


def test_the_command_names_what_it_refuses(path, run):
    steady(Database(path), 3)
    result = run("--write")
    assert result.status == 2
    assert "refused  fewer than 5 samples: made:compute+spack-openmpi" in result.output
    assert "nothing is fit to be a baseline; nothing was written" in result.errors


def test_the_command_without_results(path, run, tmp_path):
    assert "no such file" in run().errors
    Database(path)
    assert "no result of any system is stored" in run().errors
    steady(Database(tmp_path / "other.db"), 3)
    assert "no result of a system 'x'" in run("--system", "x").errors


def test_the_command_wants_to_know_which_system(path, run):
    database = Database(path)
    for system in ("one", "two"):
        database.add([Case(metrics={"latency_8": (1.0, "us")}, system=system)])
    result = run()
    assert result.status == 2
    assert "which system? name one with --system: one, two" in result.errors


@pytest.mark.parametrize("value", ["0", "-3", "many"])
def test_a_number_of_nights_that_is_none(run, value):
    assert run("--nights", value).status == 2


def repeat(database, count):
    """Store the newest session again, as that of other nights."""
    with sqlite3.connect(database) as connection:
        ((blob,),) = connection.execute("SELECT json_blob FROM sessions").fetchall()
        for number in range(count):
            report = json.loads(blob)
            report["session_info"]["uuid"] = f"again-{number}"
            for case in report["runs"][0]["testcases"]:
                case["job_completion_time_unix"] += number + 1
            row = (f"again-{number}", 0, 0, json.dumps(report), None)
            connection.execute("INSERT INTO sessions VALUES(?, ?, ?, ?, ?)", row)


def test_a_baseline_judges_the_next_run_of_a_real_check(site, recorded, folder):
    site.replay(recorded("imb/IMB-MPI1_PingPong.impi.txt"))
    site.environment["ACCEPTANCE_REFERENCE"] = str(folder)
    command = ("-c", "checks", "-r", "-n", "PingPong.*%placement=intra-node")
    assert site.reframe(*command).status == 0
    repeat(site.database, BASELINE_FEWEST - 1)
    written = site.acceptance("baseline", "--write")
    assert written.status == 0, written.output + written.errors
    assert site.reframe(*command).status == 0
    status, verdict = site.gate()
    assert status == 0
    assert (verdict["judged"], verdict["recorded"]) == ({"baseline replay": 48}, 0)


def test_what_a_site_states_in_reframes_form_stays_as_it_is(path, folder):
    (folder / "sites").mkdir()
    text = "osu_bw:\n  made:compute:\n    latency_8: [1.6, null, 0.1, us]\n"
    (folder / "sites/made.yaml").write_text(text)
    steady(Database(path), 20)
    proposal = proposed(path, folder)
    assert the_refusal(proposal) == f"{folder}/sites/made.yaml:3 states it"
    assert proposal.kept == []

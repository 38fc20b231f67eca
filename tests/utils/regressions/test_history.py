"""`regressions/history.py`: what of a results database is a sample."""

import json
import math
import sqlite3
import textwrap
import time

import pytest

from acceptance.ledger import ResultsFault, results_db
from acceptance.ledger.records import PerfValue, decode
from acceptance.regressions.history import selection
from tests import stored as results
from tests.conftest import Site
from tests.made import COMMAND, FIRST, NIGHT, SOFTWARE, Case, Database
from tests.stored import load

BANDWIDTH = {"bandwidth_8": (10.0, "MB/s")}


@pytest.fixture
def database(tmp_path):
    return Database(tmp_path / "results.db")


def the_one(history):
    (series,) = history.series
    return series


def measured(value, **fields):
    return Case(metrics={"bandwidth_8": (value, "MB/s")}, **fields)


def test_a_series_has_a_value_for_each_night_and_says_what_ran(database):
    uuids = [database.add([measured(10.0 + night)]) for night in range(3)]
    history = load(database.path)
    series = the_one(history)
    assert list(series.values) == [10.0, 11.0, 12.0]
    assert [one.session.uuid for one in series.samples] == uuids
    times = [FIRST + NIGHT * night + 10 for night in range(3)]
    assert [one.time for one in series.samples] == times
    assert (*series.case.key[:2], series.metric) == (
        "made",
        "compute",
        "bandwidth_8",
    )
    assert dict(series.case.key.keys) == {"np": "2", "nodes": "2", "placement": "inter-node"}
    assert (series.unit, series.direction) == ("MB/s", "higher")
    assert dict(series.samples[0].software) == SOFTWARE
    assert series.samples[0].nodes == ("node01", "node02")
    assert history.notes == []
    assert [session.number for session in history.sessions] == [1, 2, 3]


@pytest.mark.parametrize(
    "other",
    [
        {"system": "other"},
        {"partition": "gpu"},
        {"environment": "spack-mpich"},
        {"name": "OsuMpi %benchmark=bw %np=4"},
        {"keys": {"np": "2", "order": "6000"}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_what_differs_in_its_key_is_another_series(database, other):
    database.add([measured(10.0), measured(20.0, **other)])
    assert sorted(list(series.values) for series in load(database.path).series) == [[10.0], [20.0]]


def test_only_a_passing_case_is_a_sample(database):
    database.add([measured(10.0)])
    for result in ("fail", "skip", "abort", "fail_deps"):
        database.add([measured(99.0, result=result)])
    history = load(database.path)
    assert list(the_one(history).values) == [10.0]
    assert all(session.unfit for session in history.sessions[1:])


def test_what_passes_when_it_is_repeated_is_no_sample(database):
    database.add([measured(1.0, result="fail"), measured(99.0, run_index=1)])
    assert load(database.path).series == []


def test_reruns_of_what_passed_are_samples(database):
    database.add([measured(10.0), measured(11.0, run_index=1)])
    assert list(the_one(load(database.path)).values) == [10.0, 11.0]


def test_cases_of_an_aborted_session_that_passed_are_samples(database):
    database.add([measured(10.0), measured(0.0, name="Later", result="abort")], aborted=1)
    history = load(database.path)
    assert list(the_one(history).values) == [10.0]
    assert history.sessions[0].aborted


def test_a_build_is_no_series(database):
    database.add([measured(1.0, fixture=True), measured(10.0, name="Real")])
    assert the_one(load(database.path)).case.key.check == "Real"


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, True, "fast"])
def test_an_impossible_value_is_counted_and_no_sample(database, value):
    database.add([measured(10.0)])
    database.add([measured(value)])
    series = the_one(load(database.path))
    assert list(series.values) == [10.0]
    assert (series.impossible, series.last.number) == (1, 2)


def test_a_case_that_lost_a_metric_has_no_sample_of_it(database):
    database.add([measured(10.0)])
    database.add([measured(None)])
    series = the_one(load(database.path))
    assert (list(series.values), series.impossible) == ([10.0], 0)


def test_another_unit_is_another_series(database):
    for value, unit in ((10.0, "MB/s"), (0.01, "GB/s"), (11.0, "MB/s")):
        database.add([Case(metrics={"bandwidth_8": (value, unit)})])
    found = {series.unit: list(series.values) for series in load(database.path).series}
    assert found == {"MB/s": [10.0, 11.0], "GB/s": [0.01]}


def test_only_one_system_where_it_is_asked_for(database):
    database.add([measured(10.0), measured(20.0, system="other")])
    assert list(the_one(load(database.path, system="other")).values) == [20.0]


def test_nothing_after_the_session_that_is_asked_for(database):
    uuids = [database.add([measured(10.0 + night)]) for night in range(3)]
    assert list(the_one(load(database.path, until=uuids[1])).values) == [10.0, 11.0]
    with pytest.raises(ResultsFault, match="holds no session nowhere"):
        load(database.path, until="nowhere")


def test_a_database_of_plain_reframe(database):
    metrics = {"speed": (3.0, "ns/day"), "score": (5.0, "points", 5.0, -0.1, None)}
    metrics |= {"loss": (2.0, "", 2.0, None, 0.1), "colour": (7.0, None), "walltime": (3.0, "secs")}
    database.add([Case(name="Gromacs", metrics=metrics, plain=True)])
    history = load(database.path)
    assert {series.metric: series.direction for series in history.series} == {
        "speed": "higher",
        "score": "higher",
        "loss": "lower",
        "colour": None,
        "walltime": "lower",
    }
    series = history.series[0]
    (sample,) = series.samples
    assert (series.case.key.keys, sample.software, series.case.benchmark) == ((), (), "")


def test_modules_are_software_where_nothing_else_is_known(database):
    case = measured(10.0, plain=True)
    data = case.data
    case.data = lambda *arguments: {**data(*arguments), "modules": ["gcc/13", "openmpi/4.1"]}
    database.add([case])
    assert the_one(load(database.path)).samples[-1].software == (("modules", "gcc/13 openmpi/4.1"),)


def test_a_loggable_that_was_never_set(database):
    case = measured(10.0)
    data = case.data
    undefined = dict.fromkeys(("keys", "provenance", "findings", "suite"), "<undefined>")
    case.data = lambda *arguments: {**data(*arguments), **undefined}
    database.add([case])
    series = the_one(load(database.path))
    (sample,) = series.samples
    assert (series.case.key.keys, sample.software, series.case.suite) == ((), (), "")


def test_a_clock_that_goes_backwards_is_told_and_the_order_of_storing_counts(database):
    for value, start in ((10.0, FIRST), (11.0, FIRST + NIGHT), (12.0, FIRST - 30 * NIGHT)):
        database.add([measured(value)], start=start)
    history = load(database.path)
    assert list(the_one(history).values) == [10.0, 11.0, 12.0]
    assert len(history.notes) == 1
    assert "00000002-" in history.notes[0]
    assert "a clock went backwards" in history.notes[0]


def test_a_single_session_of_the_future_is_told_once(database):
    for night in range(6):
        start = FIRST + NIGHT * (night if night != 2 else 4000)
        database.add([measured(10.0 + night)], start=start)
    (note,) = load(database.path).notes
    assert "session 00000003-" in note


def test_a_metric_with_a_colon_in_its_name_is_one_of_its_own(database):
    database.add([Case(metrics={"read:rate": (10.0, "MB/s"), "write:rate": (99.0, "MB/s")})])
    assert [series.metric for series in load(database.path).series] == ["read:rate", "write:rate"]
    (case,) = results.session(database.path).cases
    assert [metric.name for metric in case.metrics] == ["read:rate", "write:rate"]


def test_sessions_side_by_side_are_no_clock_that_goes_backwards(database):
    database.add([measured(10.0)], start=FIRST + 600)
    database.add([measured(11.0, name="Other")], start=FIRST)
    assert load(database.path).notes == []


def test_a_session_that_is_stored_twice_counts_once(database):
    database.add([measured(10.0)], uuid="first")
    database.add([measured(10.0)], uuid="first", start=FIRST, stored_as="again")
    history = load(database.path)
    assert list(the_one(history).values) == [10.0]
    assert history.notes == ["session again is stored twice; the second one is left out"]


def test_cases_that_another_session_has_already_count_once(database):
    database.add([measured(10.0, completed=FIRST)])
    database.add([measured(10.0, completed=FIRST), measured(11.0)])
    history = load(database.path)
    assert list(the_one(history).values) == [10.0, 11.0]
    assert "00000001-0000-4000-8000-000000000000 repeats 1 cases" in history.notes[0]


@pytest.mark.parametrize(
    "blob", ["", "{", "[]", "{}", '{"session_info": {}, "runs": []}', '{"session_info": 5}']
)
def test_a_malformed_session_is_told_and_the_others_are_read(database, blob):
    database.add([measured(10.0)])
    database.store("broken", FIRST, FIRST + 1, blob)
    database.add([measured(11.0)])
    history = load(database.path)
    assert list(the_one(history).values) == [10.0, 11.0]
    assert history.notes == []
    (fault,) = history.faults
    assert fault.uuid == "broken"
    assert "session broken is malformed" in str(fault)


def test_a_database_without_sessions(database):
    history = load(database.path)
    assert (history.series, history.sessions, history.notes) == ([], [], [])


def test_no_database(tmp_path):
    with pytest.raises(ResultsFault, match=r"nothing\.db: no such file"):
        load(tmp_path / "nothing.db")


def test_another_schema_version(tmp_path):
    database = Database(tmp_path / "results.db", version="2.0")
    with pytest.raises(ResultsFault, match=r"schema \[\('2\.0',\)\], this program reads 1\.0"):
        load(database.path)


def test_no_database_of_reframe(tmp_path):
    path = tmp_path / "results.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE metadata(other TEXT)")
    with pytest.raises(ResultsFault, match="no such column: schema_version"):
        load(path)
    path.write_text("this is text, and long enough to be no header of a database\n" * 100)
    with pytest.raises(ResultsFault, match="not a database"):
        load(path)


def test_a_truncated_database(database):
    for _ in range(20):
        database.add([measured(10.0 + number, name=f"Check{number}") for number in range(20)])
    database.connection.close()
    whole = database.path.read_bytes()
    database.path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ResultsFault, match="malformed"):
        load(database.path)


def test_a_locked_database(database, monkeypatch):
    database.add([measured(10.0)])
    monkeypatch.setattr(results_db, "TIMEOUT", 0.05)
    database.connection.execute("BEGIN EXCLUSIVE")
    with pytest.raises(ResultsFault, match="database is locked"):
        load(database.path)
    database.connection.rollback()
    assert len(load(database.path).series) == 1


def test_a_run_can_write_while_the_database_is_read(database):
    for night in range(3):
        database.add([measured(10.0 + night)])
    read = results_db.contents(database.path, results_db.sessions(database.path))
    next(read)
    # Would fail at once if the reader held the database.
    database.connection.execute("PRAGMA busy_timeout = 0")
    database.add([measured(99.0)])
    assert len(list(read)) == 2
    assert list(the_one(load(database.path)).values) == [10.0, 11.0, 12.0, 99.0]


def test_a_run_that_is_just_writing_does_not_disturb(database):
    database.add([measured(10.0)])
    database.connection.execute("BEGIN IMMEDIATE")
    database.connection.execute("INSERT INTO sessions VALUES('half', 0, 1, '{', NULL)")
    assert list(the_one(load(database.path)).values) == [10.0]
    database.connection.rollback()


def test_a_database_with_a_write_ahead_log(database):
    database.connection.execute("PRAGMA journal_mode = WAL")
    database.add([measured(10.0)])
    assert list(the_one(load(database.path)).values) == [10.0]


def test_a_session_that_is_deleted_while_the_database_is_read(database):
    for night in range(3):
        database.add([measured(10.0 + night)])
    read = results_db.contents(database.path, results_db.sessions(database.path))
    next(read)
    database.connection.execute("DELETE FROM sessions WHERE rowid = 2")
    database.connection.commit()
    assert [row.uuid[:8] for row, _ in read] == ["00000002"]


def test_nothing_is_written(database):
    database.add([measured(10.0)])
    database.connection.close()
    before = database.path.read_bytes()
    database.path.chmod(0o444)
    load(database.path)
    assert database.path.read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        f"{COMMAND} --session-extras run=17",
        f"{COMMAND} --session-extras=run=18 -v",
        "/elsewhere/bin/reframe -o /scratch/out -c checks -r --prefix=/scratch",
        f"{COMMAND} -S 'pinned=ten=node1,node2;one=node3'",
        f"{COMMAND} --setvar=ImbMpi1.pinned=ten=node1",
    ],
)
def test_a_label_or_a_folder_makes_no_other_selection(command):
    assert selection(command) == ("-c", "checks", "-r")


@pytest.mark.parametrize(
    "more", ["-n PingPong", "--mode=smoke", "-S Hpcc.share=0.3", "-S mode=smoke"]
)
def test_an_option_that_selects_makes_another_selection(more):
    assert selection(f"{COMMAND} {more}") != selection(COMMAND)


def test_a_command_that_is_no_shell_command():
    assert selection("reframe -n 'Ping") == ("-n", "'Ping")


CHECK = """
    import reframe as rfm
    import reframe.utility.typecheck as typ

    @rfm.simple_test
    class Real(rfm.RunOnlyRegressionTest):
        valid_systems = ["*"]
        valid_prog_environs = ["*"]
        executable = "true"
        size = parameter([8, 16])
        suite = variable(str, value="osu", loggable=True)
        benchmark_name = variable(str, value="osu.bw", loggable=True)
        keys = variable(typ.Dict[str, str], value={"np": "2"}, loggable=True)
        declared = variable(typ.Dict[str, str], value={"latency": "us"}, loggable=True)
        judged_by = variable(typ.Dict[str, str], value={}, loggable=True)
        provenance = variable(typ.Dict[str, str], value={"mpi": "x@1"}, loggable=True)
        findings = variable(typ.List[str], value=[], loggable=True)

        @sanity_function
        def sane(self):
            return True

        @performance_function("us")
        def latency(self):
            return self.size / 4
"""


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A site whose results database ReFrame itself has written."""
    site = Site(tmp_path_factory.mktemp("real"))
    site.replay("")
    (site.folder / "real.py").write_text(textwrap.dedent(CHECK))
    assert site.reframe("-c", site.folder / "real.py", "-r").status == 0
    return site


def forms(value):
    """Return the types of a JSON value; of a list those of what it holds."""
    if isinstance(value, list):
        return [forms(one) for one in value]
    return "number" if type(value) in (int, float) else type(value).__name__


def test_what_is_made_here_has_the_form_that_reframe_writes(real, tmp_path):
    made = Database(tmp_path / "made.db")
    made.add([Case(name="Real", metrics={"latency": (2.0, "us")})])
    schemas, reports = [], []
    for path in (real.database, made.path):
        with sqlite3.connect(path) as connection:
            schemas.append(set(connection.execute("SELECT name, sql FROM sqlite_master")))
            ((blob,),) = connection.execute("SELECT json_blob FROM sessions").fetchall()
        reports.append(json.loads(blob))
    assert schemas[0] == schemas[1]
    written, ours = reports
    assert set(ours) <= set(written)
    assert set(ours["session_info"]) <= set(written["session_info"])
    assert set(ours["runs"][0]) <= set(written["runs"][0])
    case, own = written["runs"][0]["testcases"][0], ours["runs"][0]["testcases"][0]
    assert set(own) <= set(case)
    for key in set(own) - {"perfvalues", "job_completion_time", "job_nodelist", "findings"}:
        assert forms(own[key]) == forms(case[key]), key
    (value,), (mine,) = case["perfvalues"].values(), own["perfvalues"].values()
    assert forms(mine) == forms(value)


def test_a_real_database_has_its_cases(real):
    history = load(real.database)
    assert sorted((series.case.key.check, list(series.values)) for series in history.series) == [
        ("Real %size=16", [4.0]),
        ("Real %size=8", [2.0]),
    ]
    assert history.notes == []
    (session,) = history.sessions
    assert session.selection == ("replay", "-c", str(real.folder / "real.py"), "-r")
    assert abs(session.end - time.time()) < 3600


def test_what_is_no_json_is_decoded_like_the_rest():
    info = {"uuid": "u", "time_start_unix": 1, "time_end_unix": 2.5, "more": {"x": [1]}}
    case = {"name": "n", "system": "s", "partition": "p", "environ": "e", "result": "pass"}
    values = {"s:p:m": [1.5, None, None, None, "us", "pass"]}
    blob = {"session_info": info, "runs": [{"testcases": [{**case, "perfvalues": values}, case]}]}
    plain = decode(json.dumps(blob))
    values["s:p:n"] = [float("nan"), 0, 0, 0, "us", "pass"]
    text = json.dumps(blob)
    assert "NaN" in text
    loose = decode(text)
    assert plain[0] == loose[0]
    (one, second), (other, same) = map(list, (plain[1], loose[1]))
    assert math.isnan(other.perfvalues.pop("s:p:n").value)
    assert (one, second) == (other, same)
    assert one.perfvalues == {"s:p:m": PerfValue(1.5, None, None, None, "us", "pass")}


@pytest.mark.parametrize("info", ["{}", '{"uuid": 3, "time_start_unix": 1, "time_end_unix": 2}'])
def test_what_is_no_session_is_refused(info):
    with pytest.raises(ValueError, match="uuid"):
        decode(f'{{"session_info": {info}, "runs": []}}')

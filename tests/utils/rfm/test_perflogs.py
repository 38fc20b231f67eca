"""`rfm/perflogs.py`: lines of perflogs, and what the database lacks of them."""

from dataclasses import replace

import pytest

from acceptance.regressions.history.reader import load
from acceptance.regressions.history.series import day
from acceptance.rfm.perflogs import read
from acceptance.rfm.session_schema import PerfValue
from tests.made import FIRST, NIGHT, Case, Database, perflog

LATENCY = Case(metrics={"latency_8": (1.5, "us")})
OTHER = Case(name="Other", metrics={"latency_8": (2.5, "us"), "bandwidth_8": (5.0, "MB/s")})


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "perflogs"


@pytest.fixture
def path(folder):
    return folder / "made/compute/OsuMpi.log"


@pytest.fixture
def database(tmp_path):
    return Database(tmp_path / "results.db")


def values(history):
    return {(one.key.check, one.metric): list(one.values) for one in history.series}


def test_a_line(folder, path):
    perflog(path, FIRST, [LATENCY])
    (row,) = read(folder).rows
    assert (row.where, row.check) == ("made:compute+spack-openmpi", LATENCY.name)
    assert (row.time, row.result, row.nodes) == (FIRST, "pass", ("node01", "node02"))
    assert row.provenance["mpi"] == "openmpi@4.1.6"
    assert row.keys is None
    assert list(row.values()) == [
        ("made:compute:latency_8", PerfValue(1.5, None, None, None, "us"))
    ]


def test_no_perflogs(folder):
    assert (read(folder).rows, read(folder).faults) == ([], [])


def test_cases_of_other_metrics_under_the_same_header(folder, path):
    perflog(path, FIRST, [LATENCY, OTHER])
    found = read(folder)
    assert found.faults == []
    assert [[name for name, _ in row.values()] for row in found.rows] == [
        ["made:compute:latency_8"],
        ["made:compute:latency_8", "made:compute:bandwidth_8"],
    ]


def test_a_file_that_reframe_has_put_aside(folder, path):
    perflog(path, FIRST, [LATENCY])
    path.rename(path.with_name("OsuMpi.log.h0"))
    assert len(read(folder).rows) == 1


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("|us|", "|", "OsuMpi.log:2: 19 fields"),
        ("2026-01-01T22:00:00+00:00|", "yesterday|", "OsuMpi.log:2: Invalid isoformat"),
        ('{"spec"', '{"spec', "OsuMpi.log:2: "),
    ],
)
def test_a_malformed_line_is_told_with_its_place(folder, path, old, new, says):
    perflog(path, FIRST, [LATENCY])
    perflog(path, FIRST + NIGHT, [LATENCY])
    header, first, second = path.read_text().splitlines()
    path.write_text("\n".join([header, first.replace(old, new), second]) + "\n")
    found = read(folder)
    assert [row.time for row in found.rows] == [FIRST + NIGHT]
    assert says in found.faults[0]


def test_a_line_that_a_killed_run_did_not_end(folder, path):
    perflog(path, FIRST, [LATENCY, LATENCY])
    path.write_text(path.read_text()[:-30])
    found = read(folder)
    assert len(found.rows) == 1
    assert "OsuMpi.log:3: " in found.faults[0]


def test_many_malformed_lines_are_counted(folder, path):
    perflog(path, FIRST + 10, [LATENCY])
    path.write_text(path.read_text() + "rubbish\n" * 20)
    faults = read(folder).faults
    assert len(faults) == 6
    assert faults[-1].endswith("15 more malformed lines")


def test_a_header_that_does_not_say_enough(folder, path):
    path.parent.mkdir(parents=True)
    path.write_text("time|name\n1|2\n")
    (fault,) = read(folder).faults
    assert fault.endswith(
        "OsuMpi.log:1: the header lacks job_completion_time, system, partition, environ, result; "
        "this perflog is left out"
    )


def test_metrics_that_do_not_name_themselves_go_by_the_header(folder, path):
    path.parent.mkdir(parents=True)
    header = (
        "job_completion_time|name|system|partition|environ|result|a_value|a_unit|b_value|b_unit"
    )
    row = "2026-01-01T22:00:00+00:00|Check|made|compute|env|pass|1.0|us|2.0|MB/s"
    short = row.removesuffix("|2.0|MB/s")
    path.write_text("\n".join([header, row, short]) + "\n")
    found = read(folder)
    assert [[name, data.value, data.unit] for name, data in found.rows[0].values()] == [
        ["made:compute:a", 1.0, "us"],
        ["made:compute:b", 2.0, "MB/s"],
    ]
    assert "1 metrics where the header has 2" in found.faults[0]


def test_metrics_of_another_case_are_not_named_by_the_header(folder, path):
    path.parent.mkdir(parents=True)
    header = "job_completion_time|name|declared|system|partition|environ|result|a_value|a_unit"
    row = '2026-01-01T22:00:00+00:00|Check|{"%s": "us"}|made|compute|env|pass|1.0|us'
    path.write_text("\n".join([header, row % "a", row % "b"]) + "\n")
    found = read(folder)
    assert [name for line in found.rows for name, _ in line.values()] == ["made:compute:a"]
    assert found.faults == [f"{path}:3: b, ... are not the header's metrics"]


def test_what_the_database_has_is_not_taken_twice(database, folder, path):
    for night in range(3):
        database.add([LATENCY])
        perflog(path, FIRST + NIGHT * night + 10, [LATENCY])
    history = load(database.path, folder)
    assert values(history) == {(LATENCY.name, "latency_8"): [1.5, 1.5, 1.5]}
    assert history.notes == []


def test_a_killed_session_stands_between_those_that_were_stored(database, folder, path):
    for night, value in ((0, 1.0), (2, 3.0)):
        database.add([Case(metrics={"latency_8": (value, "us")})], start=FIRST + NIGHT * night)
    killed = Case(metrics={"latency_8": (2.0, "us")})
    perflog(path, FIRST + NIGHT, [killed])
    history = load(database.path, folder)
    (series,) = history.series
    assert list(series.values) == [1.0, 2.0, 3.0]
    assert [run.session.perflog for run in series.samples] == [False, True, False]
    assert [session.number for session in history.sessions] == [0, 1, 2]
    assert history.notes == [
        f"1 cases are in the perflogs only, of a session of {day(FIRST + NIGHT)} that the "
        "database lacks"
    ]
    # Its keys are those of the case in the database, which a line does not have.
    assert dict(series.key.parameters)["placement"] == "inter-node"


def test_several_killed_sessions_are_told_in_one_line(database, folder, path):
    for night in range(3):
        perflog(path, FIRST + NIGHT * night, [LATENCY, OTHER])
    history = load(database.path, folder)
    assert history.notes == [
        "6 cases are in the perflogs only, of 3 sessions, the last one of "
        f"{day(FIRST + 2 * NIGHT)} that the database lacks"
    ]
    assert len(history.sessions) == 3


def test_a_perflog_that_logs_the_keys(database, folder, path):
    database.add([LATENCY])
    large = Case(metrics=LATENCY.metrics, keys={"np": "2", "order": "6000"})
    perflog(path, FIRST + NIGHT, [large], columns=("keys",))
    found = {series.key.parameters for series in load(database.path, folder).series}
    assert (("np", "2"), ("order", "6000")) in found


def test_failed_and_repeated_cases_of_a_killed_session_are_no_samples(database, folder, path):
    failed = Case(metrics=LATENCY.metrics, result="fail")
    perflog(path, FIRST, [failed, LATENCY, OTHER])
    found = values(load(database.path, folder))
    assert found == {("Other", "latency_8"): [2.5], ("Other", "bandwidth_8"): [5.0]}


def test_a_retry_in_the_database_is_no_sample_of_the_perflog_either(database, folder, path):
    failed = Case(metrics=LATENCY.metrics, result="fail", completed=FIRST)
    retried = Case(metrics=LATENCY.metrics, run_index=1, completed=FIRST + 60)
    database.add([failed, retried])
    perflog(path, FIRST, [failed])
    perflog(path, FIRST + 60, [LATENCY])
    assert load(database.path, folder).series == []


def test_nothing_of_the_perflogs_after_the_session_that_is_asked_for(database, folder, path):
    uuid = database.add([LATENCY])
    perflog(path, FIRST + NIGHT, [LATENCY])
    (series,) = load(database.path, folder, until=uuid).series
    assert len(series.values) == 1


def test_a_value_that_is_no_number(database, folder, path):
    perflog(path, FIRST, [Case(metrics={"latency_8": (None, "us")})])
    assert load(database.path, folder).series == []


#: As ReFrame 4.10 writes them by default: the metrics stand in the middle.
DEFAULT = """\
result|job_completion_time|descr|environ|job_nodelist|name|partition|a_value|a_unit|a_ref|\
a_lower_thres|a_upper_thres|b_value|b_unit|b_ref|b_lower_thres|b_upper_thres|short_name|system
pass|2026-11-22T15:03:28||gnu|vm|Tiny|compute|12.5|MB/s|0|None|None|3|us|0|None|None|Tiny|mine
fail|2026-11-22T15:03:29||gnu|vm|Tiny|compute||Tiny|mine
pass|2026-11-22T15:03:30||gnu|vm|Tiny|compute|12.5|MB/s|0|None|None|Tiny|mine
pass|2026-11-22T15:03||gnu|vm|Tiny|compute|12.5|MB/s|0|None|None|3|us|0|None|None|Tiny|mine
"""


def test_the_default_format_is_read_and_what_is_not_is_said(folder, path):
    path.parent.mkdir(parents=True)
    path.write_text(DEFAULT)
    found = read(folder)
    assert [(row.where, row.check, row.result) for row in found.rows] == [
        ("mine:compute+gnu", "Tiny", "pass"),
        ("mine:compute+gnu", "Tiny", "fail"),
    ]
    assert [name for name, _ in found.rows[0].values()] == ["mine:compute:a", "mine:compute:b"]
    assert found.faults == [
        f"{path}:4: 1 metrics where the header has 2",
        f"{path}:5: the time '2026-11-22T15:03' does not say the second",
    ]


def test_what_reframe_repeats_is_not_taken_twice(folder, path, database):
    name = f"{LATENCY.name} %.repeat_id=1"
    database.add([replace(LATENCY, name=name)], FIRST)
    perflog(path, FIRST + 10, [LATENCY])
    path.write_text(path.read_text().replace("display_name", "name"))
    assert values(load(database.path, folder)) == {(name, "latency_8"): [1.5]}

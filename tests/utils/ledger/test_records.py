"""What a session's JSON says of its cases, and which rows of the ledger it becomes."""

import json
import math

import pytest

from acceptance.core.findings import SHARED
from acceptance.ledger import records, rows
from acceptance.ledger.rows import software_of
from tests.made import Case

BEGAN, ENDED = 100.0, 160.0


def decoded(*cases, **info):
    stored = [case.data("1", number, ENDED) for number, case in enumerate(cases)]
    info = {"uuid": "1", "time_start_unix": BEGAN, "time_end_unix": ENDED} | info
    return records.decode(json.dumps({"session_info": info, "runs": [{"testcases": stored}]}))


def read(*cases, **info):
    return records.session_of("1", *decoded(*cases, **info))


def test_a_metric_lies_between_its_limits_which_are_fractions_of_what_is_not_0():
    judged = {
        "recorded": (5.0, "us", 4.0, None, None),
        "most": (5.0, "us", 4.0, None, 0.25),
        "least": (5.0, "us", -8.0, -0.5, None),
        "absolute": (5.0, "us", 0, -3.0, 2.0),
    }
    (case,) = read(Case(metrics=judged)).cases
    found = {each.name: (each.reference, each.bounds, each.judged_by) for each in case.metrics}
    by_check = "a reference of the check"
    assert found == {
        "recorded": (None, (None, None), ""),
        "most": (4.0, (None, 5.0), by_check),
        "least": (-8.0, (-12.0, None), by_check),
        "absolute": (0, (-3.0, 2.0), by_check),
    }


def test_what_has_no_value_is_no_metric_and_what_python_writes_is_read():
    (case,) = read(Case(metrics={"a:b": (None, "us"), "c:d": (math.inf, None)})).cases
    assert [(each.name, each.value, each.unit) for each in case.metrics] == [("c:d", math.inf, "")]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("job error: job timed out (time limit 10m)", "time-limit"),
        ("job error: [jobid=1] it was blocked due to reason: QOSLimit", "job-blocked"),
        ("sanity error", ""),
    ],
)
def test_a_job_that_was_given_up_is_no_result(words, kind):
    (case,) = read(Case(result="fail", more={"fail_reason": words, "stagedir": "/s"})).cases
    assert (case.given_up, case.passed, case.folder, case.metrics) == (kind, False, "/s", ())


def test_a_plain_check_is_called_by_its_name():
    plain, ours, half = read(Case("a", plain=True), Case("b"), Case("c", suite="")).cases
    assert [case.plain for case in (plain, ours, half)] == [True, False, False]
    assert [case.subject for case in (plain, ours, half)] == ["a", "osu.bw", "osu.bw"]
    assert ours.where == "made:compute+spack-openmpi"
    assert not ours.simulated
    (simulated,) = read(Case(system="simulated-made")).cases
    assert simulated.simulated


def test_of_a_session_its_time_and_its_aborted_cases_count():
    session = read(num_aborted=3)
    assert (session.elapsed, session.aborted) == (60.0, 3)
    assert read(num_aborted=None).aborted == 0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(0, 0.0), (1.5, 1.5), (-1, None), (math.inf, None), (math.nan, None), ("1", None)],
)
def test_a_duration_is_a_number(value, seconds):
    assert records.as_seconds(value) == seconds


def test_the_node_of_a_case_is_in_its_name():
    assert records.node_of_case("Osu %.part='a' %.nid=node07 %np=2") == "node07"
    assert records.node_of_case("Osu %np=2") == ""


def batch(latest=0.0, earlier=()):
    return rows.Batch(
        lambda low, high: {each for each in earlier if low <= each[1] <= high}, latest
    )


def add(made, *cases, number=1):
    made.add(number, "1", *decoded(*cases), b"{}")
    return [*made.kinds[-max(len(cases), 1) :]]


def test_what_is_no_sample_says_why():
    shared = [{"kind": SHARED, "text": "beside another run"}]
    made = batch()
    kinds = add(
        made,
        Case("good"),
        Case("failed", result="fail"),
        Case("failed"),
        Case("build", fixture=True),
        Case("beside", findings=shared),
        Case("beside"),
        Case("good", environment="other", result="xfail"),
    )
    unfit = rows.UNFIT
    assert kinds == [
        rows.SAMPLE, unfit, unfit, rows.FIXTURE, rows.SHARED_MACHINE, unfit, unfit
    ]  # fmt: skip
    assert made.bytes == 2


def test_a_case_is_a_sample_once_however_often_it_is_stored():
    made = batch()
    assert add(made, Case(completed=110.0), Case(completed=110.0)) == [rows.SAMPLE, rows.REPEATED]
    assert add(made, Case(completed=110.0), Case(completed=111.0)) == [rows.REPEATED, rows.SAMPLE]
    assert made.latest == 111.0
    case_id = made.runs[0][2]
    # What is no newer than the newest is looked for among earlier ones.
    for latest, kind in ((110.0, rows.REPEATED), (109.0, rows.SAMPLE)):
        assert add(batch(latest, {(case_id, 110.0)}), Case(completed=110.0)) == [kind]


@pytest.mark.parametrize("field", ["suite", "benchmark", "result", "environment"])
def test_of_a_session_with_what_is_no_text_no_row_stays(field):
    made = batch()
    with pytest.raises(UnicodeEncodeError):
        add(made, Case(), Case(**{field: "\ud800"}))
    columns = (made.cases, made.runs, made.kinds, made.series, made.ways, made.values, made.blobs)
    assert [len(column) for column in columns] == [0] * 7


def test_each_metric_is_a_row_and_a_case_without_one_is_one_too():
    made = batch()
    add(made, Case("a", {"x": (1.0, "us"), "y": ("text", "MB/s"), "z": (3.0, "")}), Case("b"))
    _, row, run, first, _, _, series, ways, values = made._columns()
    assert [*row] == [0, 1, 2, 3]
    assert [*run] == [0, 0, 0, 1]
    assert [*first] == [rows.SESSION, rows.METRIC, rows.METRIC, rows.CASE]
    assert [*ways] == [-1, 1, 0, 0]
    assert [*map(str, values)] == ["1.0", "nan", "3.0", "nan"]
    assert len({*series}) == 4
    assert series[-1] == rows.NO_SERIES
    made.clear()
    assert add(made, number=2) == [rows.FIXTURE]
    assert [[*column] for column in made._columns()[:4]] == [[2], [0], [-1], [rows.SESSION]]


@pytest.mark.parametrize("modules", [None, [], "gcc/12", {}])
def test_without_a_list_of_modules_none_are_told(modules):
    assert software_of({"mpi": "openmpi@5", "compiler": "", "order": "3"}, modules) == {
        "mpi": "openmpi@5"
    }


def test_modules_are_told_with_what_was_built():
    assert software_of({}, ["gcc/12", "openmpi/5"]) == {"modules": "gcc/12 openmpi/5"}

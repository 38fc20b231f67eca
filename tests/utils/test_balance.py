"""The balance of machines: measured and published ratios side by side."""

import csv
import io
import json

import pytest

from utils import balance, cli, references
from utils.paths import REFERENCE
from utils.results import Case, Metric, Session
from utils.suites.hpcc import RATIOS

RING = "RandomRing-bandwidth/G-HPL"


def case(np, value, *, result="pass", metric=RING, unit="B/kflop", benchmark="hpcc"):
    return Case(
        name="Hpcc", system="here", partition="all", environment="e", filename="", suite="hpcc",
        run_index=0, result=result, fail_phase="", fail_reason="", nodes=(), fixture=False,
        benchmark=benchmark, keys={"np": str(np), "order": "500"}, declared={}, provenance={},
        findings=(),
        metrics=(Metric(metric, value, unit, None, None, None, "", True),),
    )  # fmt: skip


def session(uuid, *cases):
    return Session(uuid, 1.7e9, 1.7e9, "host", "", {}, 0, cases)


@pytest.fixture(scope="module")
def library():
    return references.load(REFERENCE)


def test_published_ratios_are_divided_by_the_largest(library):
    found = {(p.partition, p.np): p for p in balance.points([], library) if p.metric == RING}
    # saini2006, Section 4.1.1: 203.12 of 506 CPUs is the largest, 24.41 that of the Opteron.
    assert found["altix-nl4", "506"].normalised == 1
    assert found["cray-opteron", "64"].normalised == pytest.approx(24.41 / 203.12)
    assert found["nec-sx8", "576"].source == "published saini2006, Section 4.1.1"
    assert {p.metric for p in balance.points([], library)} <= set(RATIOS)


def test_the_newest_passing_result_counts_once(library):
    sessions = [
        session("failed", case(2, 999.0, result="fail")),
        session("new", case(2, 406.24), case(4, 5.0), case(2, 1.0, metric="G-HPL")),
        session("old", case(2, 800.0)),
        session("other", case(2, 7.0, benchmark="osu.bw")),
    ]
    own = [p for p in balance.points(sessions, library) if p.system == "here"]
    assert [(p.np, p.value, p.source) for p in own] == [
        ("2", 406.24, "session new of 2023-11-14"),
        ("4", 5.0, "session new of 2023-11-14"),
    ]
    assert own[0].normalised == 1
    published = next(
        p for p in balance.points(sessions, library) if p.metric == RING and p.np == "506"
    )
    assert published.normalised == pytest.approx(0.5)


def test_a_stream_in_the_cache_is_left_out(library):
    sessions = [session("a", case(2, 9.0, metric="EP-STREAM-Copy-in-cache/G-HPL"))]
    assert not [p for p in balance.points(sessions, library) if p.system == "here"]


def test_the_command_prints_csv_and_json_alike(tmp_path, capsys):
    database = str(tmp_path / "none.db")
    assert cli.main(["hpcc-balance", "--db", database, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert cli.main(["hpcc-balance", "--db", database, "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [{key: str(value) for key, value in row.items()} for row in data] == rows
    assert tuple(rows[0]) == balance.COLUMNS
    assert cli.main(["hpcc-balance", "--db", database, "--system", "kandadai2009"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_database_that_cannot_be_read_is_said(tmp_path, capsys):
    database = tmp_path / "results.db"
    database.write_text("no database")
    assert cli.main(["hpcc-balance", "--db", str(database)]) == 1
    assert "results.db: cannot be read" in capsys.readouterr().err

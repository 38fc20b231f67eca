"""`var/` of a clone before the package moved: all that it keeps is read as it was.

`tests/data/var/` was written by that code on a machine with the wheels only, two runs and a night;
its database is kept as the text of an SQL dump.
"""

import json
import shutil
import sqlite3

import pytest

from acceptance.campaigns import state as campaigns
from acceptance.cli.main import main
from acceptance.rfm import database
from acceptance.verdict import Verdict
from tests.conftest import DATA

OLD = DATA / "var"
NIGHT = "nightly-2026-11-22T082222"


@pytest.fixture
def var(tmp_path, monkeypatch):
    """Lay the old files out as they lay, the paths in them included."""
    folder = tmp_path / "var"
    shutil.copytree(OLD, folder)
    dump = (folder / "results.sql").read_text().replace("/site/var", str(folder))
    with sqlite3.connect(folder / "results.db") as connection:
        connection.executescript(dump)
    connection.close()
    for log in folder.glob("log/*.log"):
        log.write_text(log.read_text().replace("/site/var", str(folder)))
    monkeypatch.setenv("ACCEPTANCE_VAR", str(folder))
    monkeypatch.setenv("ACCEPTANCE_ALERTS", "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("RFM_CONFIG_FILES", raising=False)
    return folder


def said(capsys, *arguments):
    """Run a command; return its status and the data that it printed."""
    status = main([*arguments, "--format", "json"])
    return status, json.loads(capsys.readouterr().out)


def stored(var, uuid):
    return json.loads((var / f"verdicts/{uuid}.json").read_text())


@pytest.mark.parametrize("run", ["old1", "old2"])
def test_the_gate_gives_the_verdict_that_was_stored(var, capsys, run):
    _, given = said(capsys, "gate", "--run", run)
    before = stored(var, given["session"])
    same = ("system", "host", "time", "selected", "ran", "builds", "passed", "failed", "skipped",
            "judged", "recorded", "problems")  # fmt: skip
    assert {name: given[name] for name in same} == {name: before[name] for name in same}
    assert given["ran"] == 3
    assert given["recorded"] > 20


def test_the_database_has_its_sessions_cases_and_metrics(var):
    sessions = list(database.sessions(var / "results.db"))
    assert len(sessions) == 4
    cases = [case for session in sessions for case in session.cases]
    names = [case.name for case in cases]
    assert len(names) == 8
    assert "ImbMpi1 %benchmark=Allreduce %np=2 %placement=intra-node" in names
    assert all(case.result == "pass" and case.metrics for case in cases)
    assert {case.keys.get("np") for case in cases if case.suite == "imb"} == {"2"}


def test_the_history_has_every_run(var, capsys):
    status, (series,) = said(capsys, "history", "PingPong/latency_8")
    assert status == 0
    assert len(series["samples"]) == 3


def test_perflogs_have_what_the_database_lost(var, capsys):
    with sqlite3.connect(var / "results.db") as connection:
        lost = connection.execute("DELETE FROM sessions WHERE json_blob LIKE '%run=old2%'").rowcount
    connection.close()
    assert lost == 1
    _, (series,) = said(capsys, "history", "PingPong/latency_8")
    assert len(series["samples"]) == 3


def test_open_alerts_and_acknowledgements_are_known(var, capsys):
    _, kept = said(capsys, "alerts")
    assert [alert["id"] for alert in kept["open"]] == ["3fa2c1"]
    assert kept["open"][0]["targets"] == ["json-c051"]
    _, acks = said(capsys, "ack", "--list")
    assert [(ack["what"], ack["who"]) for ack in acks] == [("local:*", "operator")]


def test_a_night_is_read_and_one_that_was_stopped_goes_on(var):
    path = var / f"campaigns/{NIGHT}/state.json"
    state = campaigns.load(path)
    assert [step.name for step in state.steps if step.attempts] == ["links", "hpcc", "imb"]
    assert state.status == 0
    state.ended = ""
    state.save()
    again = campaigns.load(path)
    assert again == state
    data = json.loads(path.read_text())
    assert json.loads((OLD / f"campaigns/{NIGHT}/state.json").read_text()).keys() <= data.keys()


def test_a_night_that_kept_no_verdict_is_judged_anew_and_keeps_it(var, capsys):
    status, given = said(capsys, "gate", "--run", NIGHT)
    assert (status, given["campaign"], given["problems"]) == (0, NIGHT, [])
    assert given["selected"] == given["passed"] > 1
    assert json.loads((var / f"verdicts/{NIGHT}.json").read_text())["verdict"] == "pass"
    assert said(capsys, "gate", "--run", NIGHT) == (status, given)


def test_a_verdict_of_that_time_is_read_with_fields_missing(var):
    for path in (var / "verdicts").glob("*.json"):
        data = json.loads(path.read_text())
        verdict = Verdict.of_data(data)
        assert (verdict.session, verdict.passed) == (data["session"], data["passed"])
        assert verdict.cases == []

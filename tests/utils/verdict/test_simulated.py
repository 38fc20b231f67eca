"""Results of simulated systems: every output says so, and none counts for a measured system."""

import dataclasses
import json
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from acceptance.alerts import notify
from acceptance.core import words
from acceptance.ledger import Session
from acceptance.regressions import judge
from acceptance.verdict import Evidence, Nodes
from acceptance.verdict.model import Verdict
from tests import made
from tests.alerted import ALERT, NOW, of
from tests.stored import load, opened
from tests.utils.verdict.test_rules import case

BY = "SimGrid 3.32"
REAL, MODEL = "koop2008", "simulated-koop2008"
NIGHTS = 20
OF_MODEL = {"system": MODEL, "provenance": {**made.SOFTWARE, "simulated": BY}}


def worse(night, number, size):
    """Let all become worse by half on the last six nights."""
    return 1.5 if night >= NIGHTS - 6 else 1.0


def both(path, *, of_real=None, of_model=None):
    """Make a database in which each night a real system is measured, and then its model is run."""
    database = made.Database(path)
    for night in range(NIGHTS):
        for hours, factor, fields in ((0, of_real, {"system": REAL}), (3, of_model, OF_MODEL)):
            cases = [made.one_night(night, number, factor, **fields) for number in range(4)]
            database.add(cases, start=made.FIRST + made.NIGHT * night + 3600 * hours)
    return path


@pytest.mark.parametrize("faulty", [REAL, MODEL])
def test_a_fault_of_one_makes_no_alert_of_the_other(tmp_path, faulty):
    of_one = "of_model" if faulty == MODEL else "of_real"
    path = both(tmp_path / "results.db", **{of_one: worse})
    for system in (REAL, MODEL):
        found = judge.for_gate(opened(path), tmp_path, simulated=system == MODEL)
        assert found.systems == (system,)
        assert found.apart == (MODEL if system == REAL else REAL,)
        systems = {each.finding.system for each in found.incidents}
        assert systems == ({system} if system == faulty else set())
        assert {series.case.key.system for series in found.suspected} <= {system}


def test_a_real_system_is_judged_as_if_there_were_no_model(tmp_path):
    path = both(tmp_path / "results.db", of_real=worse)
    alone = made.Database(tmp_path / "alone.db")
    for night in range(NIGHTS):
        cases = [made.one_night(night, number, worse, system=REAL) for number in range(4)]
        alone.add(
            cases,
            start=made.FIRST + made.NIGHT * night,
            uuid=f"{2 * night:08x}-0000-4000-8000-000000000000",
        )
    beside, by_itself = (judge.for_gate(opened(each), tmp_path) for each in (path, alone.path))
    assert (beside.judged, beside.waiting) == (by_itself.judged, by_itself.waiting)
    assert beside.incidents
    assert [each.finding for each in beside.incidents] == [
        each.finding for each in by_itself.incidents
    ]


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """What commands show of a database whose last session is one of the model."""
    from tests.conftest import Site

    site = Site(tmp_path_factory.mktemp("simulated"))
    path = both(site.folder / "results.db", of_model=worse)
    shown = {
        " ".join(words): site.acceptance(*words, "--db", path)
        for words in (
            ("gate",),
            ("gate", "--format", "json"),
            ("gate", "--format", "junit"),
            ("export", "prometheus"),
            ("sessions", "--format", "json"),
            ("history", "osu.b0/latency_8"),
        )
    }
    return {name: result.output for name, result in shown.items()}


def test_the_gate_says_so_first_and_last(outputs):
    lines = outputs["gate"].splitlines()
    assert lines[0].startswith("SIMULATED")
    assert "simulated-koop2008 is a model of koop2008: no machine was measured" in lines[0]
    assert BY in " ".join(lines[:3])
    assert lines[-1].startswith("VERDICT: FAIL, simulated, ")
    assert f"the history of {REAL} was not judged" in " ".join(outputs["gate"].split())


def test_data_of_the_gate_say_so(outputs):
    data = json.loads(outputs["gate --format json"])
    assert data["simulated"] is True
    assert data["simulators"] == [BY]
    assert {alert["finding"]["where"].split(":")[0] for alert in data["alerts"]} == {MODEL}
    assert Verdict(system=MODEL).simulated, "also of a run that stored nothing"
    assert not Verdict(system=REAL).simulated


def test_junit_says_so(outputs):
    suite = ElementTree.fromstring(outputs["gate --format junit"])
    assert suite.get("name").endswith("simulated-koop2008, SIMULATED")
    told = {each.get("name"): each.get("value") for each in suite.iter("property")}
    assert BY in told["simulated"]


def test_every_series_of_the_export_has_a_label(outputs):
    families = text_string_to_metric_families(outputs["export prometheus"])
    labels = [sample.labels for family in families for sample in family.samples]
    of_systems = [each for each in labels if "system" in each]
    assert len(of_systems) > 20
    assert all((each["system"] == MODEL) == ("simulated" in each) for each in of_systems)
    assert any(each["system"] == MODEL for each in of_systems)


def test_sessions_and_history_say_so(outputs):
    rows = json.loads(outputs["sessions --format json"])
    assert {(*row["systems"], *row["simulated"]) for row in rows} == {(REAL,), (MODEL, BY)}
    titles = [
        line for line in outputs["history osu.b0/latency_8"].splitlines() if "osu" in line.lower()
    ]
    assert len(titles) == 2
    assert all((MODEL in title) == title.endswith(", simulated)") for title in titles)


def test_a_newer_simulator_is_another_software(tmp_path):
    database = made.Database(tmp_path / "results.db")
    for by in (BY, "SimGrid 4.0"):
        database.add([made.one_night(0, 0, system=MODEL, provenance={"simulated": by})])
    (series, *_) = load(database.path).series
    assert [dict(one.software)["simulated"] for one in series.samples] == [BY, "SimGrid 4.0"]


def test_messages_say_so():
    of_model = of(ALERT, where=f"{MODEL}:default")
    for news in ([of_model], [replace(of_model, ended=NOW)]):
        assert notify.subject(news).startswith("SIMULATED: ")
        assert "All of this is SIMULATED" in notify.body(news, NOW)
    news = [ALERT]
    assert "SIMULATED" not in notify.subject(news) + notify.body(news, NOW)


@pytest.mark.parametrize(
    ("system", "provenance", "simulated"),
    [(REAL, {}, False), (REAL, {words.SIMULATED: BY}, True), (MODEL, {}, True)],
)
def test_a_run_is_simulated_by_its_system_or_by_what_a_case_says(system, provenance, simulated):
    def evidence(*cases):
        sessions = [Session("a", 0.0, 1.0, "host", "reframe", "", 0, cases)]
        return Evidence(None, None, sessions, "a", None, Nodes(), system)

    measured = dataclasses.replace(case(0), system=system, provenance=provenance)
    assert evidence(measured).simulated == simulated
    assert evidence().simulated == (system == MODEL)


def test_neither_the_name_nor_the_fact_is_there_alone():
    assert not words.mismatch(REAL, None)
    assert not words.mismatch(MODEL, {"of": REAL})
    assert "has to be called simulated-" in words.mismatch(REAL, {"of": REAL})
    assert "have to state `simulated`" in words.mismatch(MODEL, None)

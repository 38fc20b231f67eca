"""One verdict a campaign: whoever asks for it, and however the campaign ended, it is the same."""

import json
import signal
import xml.etree.ElementTree as xml
from datetime import datetime, timedelta, timezone

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from acceptance import ledger
from acceptance.campaigns import state as campaign
from acceptance.core.paths import ROOT
from acceptance.core.state_files import StoredFault
from acceptance.ledger import ResultsFault
from acceptance.verdict import Verdict
from tests.campaigns import CASES, NAMES, Held
from tests.conftest import Site

FABRIC = '"fabric": {"technology": "infiniband", "rate": "QDR", "lanes": 4},'
UNTIL = str((datetime.now(timezone.utc) + timedelta(days=9)).date())


def make_site(folder):
    """A site whose alerts have no target."""
    site = Site(folder, {"ACCEPTANCE_ALERTS": "", "XDG_CONFIG_HOME": str(folder)})
    return Held(site)


def mistrain(held):
    """State a link that this machine does not have: the first step fails."""
    path = held.folder / "site.py"
    path.write_text(path.read_text().replace('"cores": 2,', f'"cores": 2, {FABRIC}'))


def break_program(held):
    """Let the benchmarks print nothing: the last step fails."""
    for name in NAMES:
        (held.folder / f"{name}.txt").write_text("no output of IMB\n")


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Nights that passed, failed in the first or the last step only, and that was killed."""
    made = {}
    for name, prepare in {"pass": None, "first": mistrain, "last": break_program}.items():
        made[name] = make_site(tmp_path_factory.mktemp(name))
        if prepare:
            prepare(made[name])
        done = made[name].run("nightly")
        assert done.status == (0 if name == "pass" else 1), done.output
    # It came after one that passed.
    made["killed"] = Held.after(made["pass"], Site(tmp_path_factory.mktemp("killed")))
    (made["killed"].folder / "ran").unlink()
    (made["killed"].folder / "go").unlink()
    process = made["killed"].start("nightly")
    made["killed"].kill(process)
    made["killed"].wait_for_lock()
    (made["killed"].folder / "go").touch()
    return made


@pytest.fixture
def night(nights, site):
    """Take over one of the nights, so that a test may change it."""

    return lambda name: Held.after(nights[name], site)


def verdict_file(held):
    return held.site.var / f"verdicts/{held.states[-1]['id']}.json"


def exported(held):
    """Return exit status, and campaign -> what was exported of the verdict."""
    done = held.site.acceptance("export", "prometheus")
    families = {family.name: family for family in text_string_to_metric_families(done.output)}
    samples = families["acceptance_verdict_status"].samples
    assert {sample.labels["system"] for sample in samples} == {"replay"}
    return done.status, {sample.labels["campaign"]: sample.value for sample in samples}


def suite_of(held, *options):
    done = held.site.acceptance("gate", "--format", "junit", *options)
    return done.status, xml.fromstring(done.output)


def open_alerts(held):
    return held.site.acceptance("alerts", "--format", "json").data["open"]


SCENARIOS = {
    # Scenario -> status everywhere, tags of JUnit's answers, kinds of open alerts.
    "pass": (0, set(), []),
    "first": (1, {"failure"}, ["link-missing"]),
    "last": (1, {"failure"}, ["case-failed", "case-failed"]),
    "killed": (2, {"error"}, []),
    "damaged": (2, {"error"}, []),
    "forged": (2, {"error"}, ["link-missing"]),
}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_who_asks_gets_the_same_verdict(night, scenario):
    status, tags, kinds = SCENARIOS[scenario]
    held = night({"damaged": "pass", "forged": "first"}.get(scenario, scenario))
    if scenario == "damaged":
        path = verdict_file(held)
        path.write_text(path.read_text()[:1000])
    if scenario == "forged":
        verdict_file(held).write_bytes(msgspec.json.encode(Verdict(campaign="x")))
    gate, given = held.site.gate()
    assert (gate, given["status"]) == (status, status)
    label = held.states[-1]["id"]
    asked = held.site.gate("--run", label)
    assert asked == (gate, given)
    assert given["campaign"] == label
    assert exported(held) == (status, {"nightly": status})
    junit, suite = suite_of(held)
    assert junit == status
    assert {child.tag for child in suite.findall("testcase/*")} - {"skipped"} == tags
    assert [alert["finding"]["kind"] for alert in open_alerts(held)] == kinds
    # A campaign that ended says the same itself.
    if scenario in ("pass", "first", "last"):
        assert held.states[-1]["status"] == status
        assert json.loads(verdict_file(held).read_text())["status"] == status


def test_of_a_night_that_was_killed_it_is_said_where_and_what_to_do(night):
    held = night("killed")
    (problem,) = held.site.gate()[1]["problems"]
    label = held.states[-1]["id"]
    assert problem["text"] == (
        f"{label} was stopped in its step imb; measure again: acceptance nightly"
    )


def test_of_a_verdict_that_cannot_be_read_or_is_gone_the_file_is_named_and_what_to_do(night):
    held = night("pass")
    path = verdict_file(held)
    path.write_text("{")
    for damage in (lambda: path.write_text("{"), path.unlink):
        damage()
        status, verdict = held.site.gate("--run", held.states[-1]["id"])
        (problem,) = verdict["problems"]
        assert status == 2
        assert str(path) in problem["text"]
        assert "restore it from a backup, or measure again" in problem["text"]


def test_a_campaign_that_runs_cannot_be_judged(night):
    held = night("pass")
    (held.folder / "ran").unlink()
    (held.folder / "go").unlink()
    process = held.start("nightly")
    try:
        status, verdict = held.site.gate()
        assert status == 2
        assert (
            "is not over: in its step imb; nightly runs since" in (verdict["problems"][0]["text"])
        )
        assert exported(held) == (2, {"nightly": 2})
    finally:
        held.kill(process, signal.SIGTERM)


def test_a_red_night_without_its_verdict_is_no_green_one(night):
    held = night("first")
    verdict_file(held).unlink()
    assert held.site.gate()[0] == 2
    state = campaign.load(held.log.with_name("state.json"))
    state.status = 0
    state.save()
    status, verdict = held.site.gate()
    assert (status, verdict["problems"][0]["kind"]) == (2, "verdict")


def test_a_state_that_cannot_be_read_is_no_older_verdict(night):
    held = night("pass")
    held.log.with_name("state.json").write_text("{")
    status, verdict = held.site.gate()
    assert (status, verdict["problems"][0]["kind"]) == (2, "campaign")
    assert "state.json: no state of a campaign" in verdict["problems"][0]["text"]
    assert exported(held) == (2, {"nightly": 2})


def test_a_night_that_cannot_be_read_is_told_beside_an_older_one_after_a_run_by_hand(night):
    held = night("pass")
    held.site.acceptance("nightly", "--new", "--", *CASES)
    older, newer = (held.site.var / "campaigns" / state["id"] for state in held.states)
    assert held.site.reframe("-c", "checks/imb.py", "-r", *CASES).status == 0
    assert exported(held) == (0, {"": 0, "nightly": 0})
    # An older one is of no interest any more.
    whole = (older / "state.json").read_text()
    (older / "state.json").write_text("{")
    assert exported(held) == (0, {"": 0, "nightly": 0})
    (older / "state.json").write_text(whole)
    (newer / "state.json").write_text("{")
    assert exported(held) == (0, {"": 0, "nightly": 2})
    status, verdict = held.site.gate()
    assert status == 0
    assert [note for note in verdict["notes"] if "no state of a campaign" in note]
    # What is no night is none, whatever it is called.
    (newer.parent / "nightly-log.txt").touch()
    (newer.parent / "nightly-old").mkdir()
    assert exported(held) == (0, {"": 0, "nightly": 2})
    # Of which system it was is known no more.
    (held.site.var / f"verdicts/{newer.name}.json").unlink()
    done = held.site.acceptance("export", "prometheus")
    assert 'acceptance_verdict_status{campaign="nightly",system=""} 2.0' in done.output


def test_a_night_that_could_not_even_be_stored_is_no_older_verdict(night, monkeypatch):
    held = night("pass")

    def full(state):
        raise StoredFault(f"{state.folder}: no space left")

    with monkeypatch.context() as disk:
        disk.setattr(campaign.State, "save", full)
        done = held.site.acceptance("nightly", "--new", "--", *CASES)
    assert (done.status, "no space left" in done.errors) == (2, True)
    status, verdict = held.site.gate()
    assert (status, [problem["kind"] for problem in verdict["problems"]]) == (2, ["campaign"])
    assert "there is no such file" in verdict["problems"][0]["text"]


def test_a_night_whose_database_is_gone_has_a_verdict_and_cannot_judge(night, monkeypatch):
    held = night("pass")

    def unreadable(*_):
        raise ResultsFault("results.db: file is not a database")

    monkeypatch.setattr(ledger, "of", unreadable)
    done = held.site.acceptance("nightly", "--new", "--", *CASES)
    assert done.status == 2, done.errors
    status, verdict = held.site.gate()
    assert (status, verdict["campaign"]) == (2, held.states[-1]["id"])
    assert "unreadable-database" in [problem["kind"] for problem in verdict["problems"]]


def test_a_run_by_hand_after_a_red_night_hides_it_from_nobody_who_watches(night):
    held = night("first")
    done = held.site.reframe("-c", "checks/imb.py", "-r", *CASES)
    assert done.status == 0, done.output
    status, verdict = held.site.gate()
    assert (status, verdict["campaign"]) == (0, "")
    assert exported(held) == (0, {"": 0, "nightly": 1})
    # Also where the clock was a century ahead in that night.
    path = held.log.with_name("state.json")
    path.write_text(path.read_text().replace('": "20', '": "21'))
    again = held.site.gate()
    assert (again[0], again[1]["session"]) == (status, verdict["session"])


def test_a_night_that_was_stopped_is_noted_beside_a_later_run_by_hand(night):
    held = night("killed")
    assert held.site.reframe("-c", "checks/imb.py", "-r", *CASES).status == 0
    status, verdict = held.site.gate()
    assert status == 0
    assert any("was stopped in its step imb" in note for note in verdict["notes"])
    assert exported(held) == (0, {"": 0, "nightly": 2})


def test_what_is_acknowledged_after_the_night_fails_it_no_more_until_it_ends(night):
    held = night("first")
    (alert,) = open_alerts(held)
    done = held.site.acceptance(
        "alerts", "ack", alert["id"], "--reason", "ordered", "--until", UNTIL
    )
    assert done.status == 0, done.errors
    status, verdict = held.site.gate()
    assert (status, verdict["problems"], verdict["alerts"]) == (0, [], [])
    assert [known["id"] for known in verdict["acknowledged"]] == [alert["id"]]
    assert "known       acknowledged until" in held.site.acceptance("gate").output
    assert exported(held) == (0, {"nightly": 0})
    # The file has what the night itself said.
    assert json.loads(verdict_file(held).read_text())["status"] == 1
    path = held.site.var / "alerts/acks.json"
    path.write_text(path.read_text().replace(UNTIL, "2026-01-01"))
    assert held.site.gate()[0] == 1


def test_every_case_is_a_test_of_junit(night):
    held = night("last")
    _, suite = suite_of(held)
    cases = {
        case.get("name"): case
        for case in suite.findall("testcase")
        if case.get("classname") == "replay:default+recorded"
    }
    assert [name.split(" ")[0] for name in cases] == ["LinkCheck", "ImbMpi1", "ImbMpi1"]
    links, *failed = cases.values()
    assert len(links) == 0
    assert float(links.get("time")) > 0
    for case in failed:
        assert case.find("failure").text.startswith("sanity error: ")
    properties = {each.get("name"): each.get("value") for each in suite.findall("properties/*")}
    assert properties["campaign"] == held.states[-1]["id"]


def test_an_acceptance_keeps_its_outcome_and_sends_nothing(night):
    held = night("first")
    done = held.run("accept", "--vendor", "V")
    assert done.status == 1, done.output
    label = held.states[0]["id"]
    assert label.startswith("accept-")
    status, verdict = held.site.gate()
    assert (status, verdict["campaign"], verdict["outcome"]) == (1, label, "rejected")
    assert exported(held) == (1, {"accept": 1, "nightly": 1})
    assert suite_of(held)[0] == 1
    assert held.site.acceptance("gate", "--send").status == 2
    assert verdict["alerts"] == []


def test_the_end_of_a_fault_is_told_once_when_a_later_night_has_looked(night, http):
    held = night("pass")
    held.site.environment["ACCEPTANCE_ALERTS"] = http.url
    good = (held.folder / "site.py").read_text()
    mistrain(held)
    assert held.run("nightly").status == 1
    (first,), (alert,) = http.posts, open_alerts(held)
    assert "1 faulty node on replay" in first["title"]
    assert "no InfiniBand adapter" in first["message"]
    config = f"-C {ROOT}/config/settings.py -C {held.folder}/site.py"
    assert f"see more: acceptance {config} gate\n" in first["message"]
    assert f"acknowledge: acceptance {config} alerts ack {alert['id']} " in first["message"]
    assert held.run("nightly").status == 1
    (alert,) = open_alerts(held)
    assert len(http.posts) == 1
    # A run that does not look at links says nothing of them, and ends nothing.
    (held.folder / "site.py").write_text(good)
    assert held.site.reframe("-c", "checks/imb.py", "-r", *CASES).status == 0
    assert held.site.acceptance("gate", "--send").status == 0
    assert [each["id"] for each in open_alerts(held)] == [alert["id"]]
    done = held.run("nightly")
    assert done.status == 0, done.output
    assert open_alerts(held) == []
    assert "1 ended on replay" in http.posts[1]["title"]
    assert len(http.posts) == 2


def test_what_ones_own_options_left_out_is_not_laid_to_a_mode(site):
    done = Held(site).site.acceptance("nightly", "--no-alerts", "--", "-n", "NoSuch")
    assert "imb.py: not selected by -n NoSuch\n" in done.output

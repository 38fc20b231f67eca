"""`verdict/conclude.py` and `verdict/outputs.py`: the gate with history, guidelines and alerts."""

import json
import random
import re
import sqlite3
import xml.etree.ElementTree as xml

import pytest

from acceptance.relations import noise
from tests import made

DROP = 30
CASES, SIZES = 12, (8, 1024, 65536, 4194304)


def worse(night, number, size):
    """The benchmarks of one partition lose 30 % for good."""
    return 1.3 if night >= DROP and number < 3 else 1.0


@pytest.fixture(scope="module")
def databases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("databases")
    made.nights(folder / "good.db", DROP + 10, cases=CASES, sizes=SIZES)
    made.nights(folder / "dropped.db", DROP + 10, worse, cases=CASES, sizes=SIZES)
    made.nights(folder / "young.db", 4)
    return folder


def gate(site, database, *options):
    return site.gate("--db", database, *options)


def gate_text(site, database):
    return " ".join(site.acceptance("gate", "--db", database).output.split())


def test_a_history_that_got_worse_is_red_as_one_incident(site, databases):
    status, verdict = gate(site, databases / "dropped.db")
    assert (status, verdict["verdict"]) == (1, "fail")
    (alert,) = verdict["alerts"]
    found = alert["finding"]
    assert found["where"] == "made:compute+spack-openmpi"
    latency = " us, " in found["found"]
    change = float(re.search(r", ([\d.]+) % worse$", found["found"])[1])
    assert change == pytest.approx(30 if latency else 100 - 100 / 1.3, abs=5)
    assert found["expected"].endswith("us" if latency else "MB/s")
    assert found["since"].startswith("2026-01-31")
    assert f"(with {3 * 2 * len(SIZES) - 1} related metrics; " in found["text"]
    (problem,) = verdict["problems"]
    assert (problem["kind"], problem["alerts"]) == ("regression", [alert["id"]])
    assert f"{found['text']} [{alert['id']}]" in problem["text"]
    assert verdict["history"]["judged"] == CASES * 2 * len(SIZES)


def test_a_history_as_ever_is_green(site, databases):
    status, verdict = gate(site, databases / "good.db")
    assert (status, verdict["alerts"], verdict["problems"]) == (0, [], [])
    families = verdict["history"].pop("together")
    assert "49 not yet: they can be after 21 more runs" in families
    history = {"judged": 96, "cannot_judge": "", "stale": 0, "systems": ["made"]}
    assert verdict["history"] == history


def test_the_gate_of_a_session_in_the_past_knows_its_past_only(site, databases):
    def uuid(night):
        return f"{night:08x}-0000-4000-8000-000000000000"

    before = gate(site, databases / "dropped.db", "--session", uuid(DROP - 1))
    assert (before[0], before[1]["alerts"]) == (0, [])
    assert gate(site, databases / "dropped.db", "--session", uuid(DROP + 8))[0] == 1


def test_nights_with_more_false_words_than_promised_are_a_finding_that_fails_nothing(
    site, tmp_path, monkeypatch
):
    """Each metric is in one of two states, and so is the median; without ranks that is told."""
    monkeypatch.setattr(noise, "ranked", lambda *_: 0.0)
    chance = random.Random(1)
    path = tmp_path / "two-states.db"
    made.nights(path, 40, lambda *_: chance.choice([1.0, 1.15]), sizes=(8,))
    status, verdict = gate(site, path)
    assert (status, verdict["problems"], verdict["alerts"]) == (0, [], [])
    (found,) = [each for each in verdict["findings"] if each["kind"] == "false-alarms"]
    assert found["text"].startswith("false words: promised at most 5 % of comparisons, seen ")
    assert found["where"] == "made:compute+spack-openmpi"
    assert "false words" in gate_text(site, path)


def test_another_database_is_judged_with_the_history_of_all_its_systems(site, tmp_path):
    database = made.Database(tmp_path / "two.db")
    for night in range(DROP + 10):
        sick = [made.one_night(night, number, worse, SIZES) for number in range(3)]
        sick_night = database.add(sick, start=made.FIRST + made.NIGHT * night)
        well = [made.one_night(night, number, system="well") for number in range(3)]
        database.add(well, start=made.FIRST + made.NIGHT * night + 4000)
    status, verdict = gate(site, tmp_path / "two.db")
    assert (status, verdict["system"]) == (1, "well")
    assert {alert["finding"]["where"].split(":")[0] for alert in verdict["alerts"]} == {"made"}
    assert any("of made the history was judged, no session" in note for note in verdict["notes"])
    status, verdict = gate(site, tmp_path / "two.db", "--session", sick_night)
    assert (status, verdict["system"], verdict["notes"]) == (1, "made", [])


def test_references_that_cannot_be_read_are_no_green_history(site, databases, tmp_path):
    site.environment["ACCEPTANCE_REFERENCE"] = str(tmp_path)
    status, verdict = gate(site, databases / "good.db")
    assert status == 1
    (problem,) = verdict["problems"]
    assert problem["kind"] == "references"
    assert "no drift can be found: " in problem["text"]


def test_a_malformed_session_of_the_past_is_a_finding(site, tmp_path):
    database = made.nights(tmp_path / "results.db", 3, cases=1)
    database.store("bad", made.FIRST - 1e6, made.FIRST - 1e6, "{")
    database.add([made.one_night(3, 0)])
    status, verdict = gate(site, tmp_path / "results.db")
    (problem,) = verdict["problems"]
    assert (status, problem["kind"], problem["place"]) == (1, "unreadable-session", ["bad"])
    assert "session bad is malformed" in problem["text"]
    assert "acceptance sessions --forget bad" in problem["text"]
    assert site.acceptance("sessions", "--db", tmp_path / "results.db").status == 1
    done = site.acceptance("sessions", "--db", tmp_path / "results.db", "--forget", "bad")
    assert (done.status, "session bad is left out" in done.errors) == (0, True)
    assert gate(site, tmp_path / "results.db")[0] == 0


def test_a_number_that_no_float_holds_is_no_measurement(site, tmp_path):
    def huge(night, number, case):
        case.metrics["latency_8"] = (10**400 if night == 2 else 1.0, "us")
        return case

    made.nights(tmp_path / "results.db", 3, change=huge, cases=1)
    status, verdict = gate(site, tmp_path / "results.db")
    assert status == 1
    assert "latency_8 is 1000" in verdict["problems"][0]["text"]


@pytest.mark.parametrize(
    "options",
    [
        ("--run", "7", "--db", "x.db"),
        ("--again", "2", "--db", "x.db"),
        ("--again", "2", "--session", "7"),
    ],
)
def test_options_that_do_not_go_together_are_not_ignored(site, options):
    done = site.acceptance("gate", *options)
    assert done.status == 2
    assert f"{options[0]} is of this clone's runs, not for {options[2]}" in done.errors


def test_a_terminal_that_does_not_know_the_letters_of_a_name(site, tmp_path):
    made.Database(tmp_path / "results.db").add(
        [made.Case(name="Größe", metrics={"zeit_8": (1.0, "µs")})]
    )
    ascii_only = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    for word in ("gate", "history"):
        done = site.run("acceptance", word, "--db", tmp_path / "results.db", **ascii_only)
        assert (done.status, done.errors) == (0, ""), done.errors
    assert "Gr\\xf6\\xdfe" in done.output


def test_a_reader_that_goes_away_early(site, databases):
    line = f"acceptance gate --db {databases / 'good.db'} | true; echo ${{PIPESTATUS[0]}} >&2"
    done = site.run("bash", "-c", line, PYTHONUNBUFFERED="")
    assert done.errors == "0\n"


def test_a_history_that_is_too_short_says_when_it_can_judge(site, databases):
    status, verdict = gate(site, databases / "young.db")
    assert status == 0
    assert verdict["history"]["judged"] == 0
    assert "cannot judge yet; can after" in verdict["history"]["cannot_judge"]
    assert "cannot judge yet; can after" in site.acceptance(
        "gate", "--db", databases / "young.db"
    ).output  # fmt: skip


def test_an_acknowledged_alert_is_listed_and_fails_nothing(site, databases):
    database = databases / "dropped.db"
    sent = site.acceptance("gate", "--db", database, "--send", "--format", "json")
    (alert,) = sent.data["alerts"]
    until = "2026-12-31"
    done = site.acceptance(
        "alerts", "ack", alert["id"], "--reason", "cable ordered", "--until", until
    )  # fmt: skip
    assert done.status == 0, done.errors
    status, verdict = gate(site, database)
    assert (status, verdict["alerts"]) == (0, [])
    (acknowledged,) = verdict["acknowledged"]
    assert acknowledged["id"] == alert["id"]
    assert acknowledged["acknowledged"]["reason"] == "cable ordered"
    assert [problem["alerts"] for problem in verdict["excused"]] == [[alert["id"]]]
    assert "cable ordered: made:" in gate_text(site, database)


def test_what_is_open_on_another_system_is_not_ended(site, databases, tmp_path):
    made.nights(tmp_path / "other.db", 3, cases=1, system="other")
    (alert,) = gate(site, databases / "dropped.db", "--send")[1]["alerts"]
    status, verdict = gate(site, tmp_path / "other.db", "--send")
    assert (status, verdict["alerts"]) == (0, [])
    assert not any("ended: " in note for note in verdict["notes"])
    (still,) = site.acceptance("alerts", "--format", "json").data["open"]
    assert still["id"] == alert["id"]
    assert any("ended: " in n for n in gate(site, databases / "good.db", "--send")[1]["notes"])


def test_without_send_nothing_is_written(site, databases):
    gate(site, databases / "dropped.db")
    assert not (site.var / "alerts").exists()
    assert not (site.var / "verdicts").exists()


@pytest.mark.parametrize(
    ("break_it", "words"),
    [
        (lambda path: path.unlink(), "no such file"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "cannot be read"),
        (
            lambda path: sqlite3.connect(path).executescript(
                "UPDATE metadata SET schema_version = '9.9'"
            ),
            "this program reads 1.0",
        ),
    ],
)  # fmt: skip
def test_a_database_that_cannot_be_read_cannot_be_judged(site, tmp_path, break_it, words):
    path = tmp_path / "results.db"
    made.nights(path, 3)
    break_it(path)
    status, verdict = gate(site, path)
    assert (status, verdict["verdict"]) == (2, "cannot-judge")
    assert words in verdict["problems"][0]["text"]
    suite = xml.fromstring(site.acceptance("gate", "--db", path, "--format", "junit").output)
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")


def test_junit_has_a_failure_for_what_failed_and_skips_what_is_not_known(site, databases):
    def answers(name):
        done = site.acceptance("gate", "--db", databases / name, "--format", "junit")
        suite = xml.fromstring(done.output)
        assert suite.get("tests") == str(len(suite.findall("testcase")))
        return suite, {
            case.get("name"): [child.tag for child in case] for case in suite.findall("testcase")
        }

    suite, found = answers("dropped.db")
    assert found["nothing became worse"] == ["failure"]
    assert found["every case passed"] == []
    assert suite.get("failures") == "1"
    assert "worse since 2026-01-31" in suite.find(".//failure").text
    assert answers("good.db")[1]["nothing became worse"] == []
    assert answers("young.db")[1]["nothing became worse"] == ["skipped"]


def test_a_run_ends_with_the_guidelines_and_keeps_its_verdict(site, recorded):
    text = recorded("osu/osu_latency.openmpi.txt")
    site.replay(text, "osu_latency", "osu")
    options = ["-n", "OsuBenchmark%benchmark=latency%.*intra-node", "-S", "validate=no"]
    done = site.reframe("-c", "checks/osu.py", "-r", *options)
    assert done.status == 0, done.output
    status, verdict = site.gate()
    assert status == 0
    # PingPong's latency is held against itself: monotony, and 2n in two messages of n.
    assert verdict["guidelines"]["compared"] > 20
    counts = verdict["guidelines"]
    assert (counts["violated"], counts["noise"]) == (0, 0)
    assert counts["undecided"] == counts["suspected"] > 1
    assert not [each for each in verdict["findings"] if each["kind"] == "guideline"]
    kept = json.loads((site.var / f"verdicts/{verdict['session']}.json").read_text())
    derived = {"verdict": "pass", "simulated": False, "selected": 1, "ran": 1}
    assert verdict == {**kept, **derived}
    told = " ".join(site.acceptance("gate").output.split())
    possible = (
        rf"guidelines {counts['suspected']} possible violations in \d+ comparisons, undecided; "
    )
    assert re.search(rf"{possible}acceptance (-C \S+ )*gate --again \d+ decides", told)
    questions = {
        each.get("name"): [(answer.tag, answer.get("message")) for answer in each]
        for each in xml.fromstring(site.acceptance("gate", "--format", "junit").output)
    }
    ((tag, said),) = questions["the MPI follows the guidelines"]
    assert (tag, "possible violations" in said) == ("skipped", True)

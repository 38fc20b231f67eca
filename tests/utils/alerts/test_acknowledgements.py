"""Acknowledgements: what they silence, for how long, and what is refused."""

import json
import subprocess
import sys
from datetime import date, datetime, timedelta

import msgspec
import pytest

from acceptance.alerts import acknowledgements, notify
from acceptance.core.errors import Fault
from acceptance.core.paths import ROOT
from tests.alerted import ALERT, DAY, NOW, OTHER, ids, of, update
from tests.places import PATIENCE

SECOND = timedelta(seconds=1)
END = date(2026, 12, 1)
AFTER = NOW.replace(month=12, day=2)


def acknowledge(folder, what="3fa2c1", until=END, now=NOW + SECOND):
    there = notify.listing(now, folder).alerts
    return acknowledgements.add(
        what, "the switch is being replaced", str(until), there, now, folder
    )


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "var/alerts"


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")


def test_an_acknowledged_alert_is_listed_not_sent_until_its_end_date(folder, http):
    update(folder, [ALERT], http.url)
    ack, covered = acknowledge(folder)
    assert ids(covered) == ["3fa2c1"]
    for night in (1, 10):
        outcome = update(folder, [ALERT], http.url, now=NOW + night * DAY)
        assert [(each.id, each.acknowledged) for each in outcome.acknowledged] == [("3fa2c1", ack)]
        assert outcome.open == []
    assert f'"until":"{END}"'.encode() in msgspec.json.encode(outcome)
    assert [each.known for each in outcome.acknowledged] == [f"{ack.text}: {ALERT.line} [3fa2c1]"]
    assert len(http.posts) == 1
    outcome = update(folder, [ALERT], http.url, now=AFTER)
    assert ids(outcome.open) == ["3fa2c1"]
    assert len(http.posts) == 2
    assert "Still open, no longer acknowledged:" in http.posts[1]["message"]
    assert f"was {ack.text}" in http.posts[1]["message"]
    assert update(folder, [ALERT], http.url, now=AFTER + DAY).alerts[0].acknowledged is None
    assert len(http.posts) == 2


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("local:*", True),
        ("*latency_?", True),
        ("*Latency_8", False),
        ("*latency_", False),
        ("local:default+wheels ImbMpi1 PingPong latency_8", True),
        ("*Ping[P]ong*", False),
    ],
)
def test_patterns(pattern, matches):
    ack = acknowledgements.Ack(pattern, "r", END, "me", NOW)
    assert ack.covers(ALERT) == matches


def test_brackets_stand_for_themselves():
    ack = acknowledgements.Ack("*Check[1] *", "r", END, "me", NOW)
    assert ack.covers(of(ALERT, device="Check[1]"))


def test_of_several_the_longest_counts():
    short = acknowledgements.Ack("local:*", "short", date(2026, 11, 25), "me", NOW)
    long = acknowledgements.Ack("*latency_8", "long", END, "me", NOW)
    assert acknowledgements.find([short, long], ALERT, NOW) == long
    assert acknowledgements.find([long, short], ALERT, NOW + 9 * DAY) == long
    assert acknowledgements.find([short, long], ALERT, AFTER) is None


def test_the_last_day_belongs_to_it():
    ack = acknowledgements.Ack("x", "r", END, "me", NOW)
    assert ack.holds(AFTER - DAY)
    assert not ack.holds(AFTER)


@pytest.mark.parametrize(
    ("what", "reason", "until", "said"),
    [
        ("3fa2c1", "", END, "say why: --reason"),
        ("3fa2c1", " \n", END, "say why: --reason"),
        ("", "r", END, "say what"),
        ("3fa2c1", "r", "2026-11-21", "not in the future; today is 2026-11-21"),
        ("3fa2c1", "r", "2025-01-01", "not in the future"),
        ("3fa2c1", "r", "2026-13-01", "no date; write it like 2026-12-05"),
        ("3fa2c1", "r", "tomorrow", "no date"),
        ("3fa2c1", "r", "2027-11-23", "more than a year away; the latest is 2027-11-22"),
        (
            "* ImbMpi1 *",
            "r",
            "2026-12-06",
            "more than 14 days, the longest for a pattern, away; the latest is 2026-12-05",
        ),
        ("3fa2", "r", END, "no open alert has the id '3fa2'; open are:\n  3fa2c1  local:default"),
    ],
)
def test_what_cannot_be_acknowledged(folder, what, reason, until, said):
    with pytest.raises(Fault) as caught:
        acknowledgements.add(what, reason, str(until), [ALERT, OTHER], NOW, folder)
    assert said in str(caught.value)
    assert acknowledgements.load(folder) == []


def test_an_unknown_id_when_none_is_open(folder):
    with pytest.raises(Fault, match=r"none is open\n`acceptance gate --send` takes note"):
        acknowledgements.add("3fa2c1", "r", str(END), [], NOW, folder)


def test_another_one_of_the_same_alert_replaces_it(folder):
    for until in ("2026-11-30", str(END)):
        acknowledgements.add("3fa2c1", "r", until, [ALERT], NOW, folder)
    assert [ack.until for ack in acknowledgements.load(folder)] == [END]


def test_removing_what_is_not_there_names_what_is(folder):
    acknowledgements.add("*peak", "r", str(END), [], NOW, folder)
    with pytest.raises(Fault, match=r"as 'x'; there are: '\*peak'"):
        acknowledgements.remove("x", folder)
    assert acknowledgements.remove("*peak", folder).reason == "r"
    assert acknowledgements.load(folder) == []


def test_a_pattern_silences_for_14_days_at_most_and_an_alert_for_a_year(folder):
    there = [ALERT, OTHER]
    ack, covered = acknowledgements.add("*", "r", "2026-12-05", there, NOW, folder)
    assert (str(ack.until), covered) == ("2026-12-05", there)
    ack, covered = acknowledgements.add("3fa2c1", "r", "2027-11-22", there, NOW, folder)
    assert (str(ack.until), covered) == ("2027-11-22", [ALERT])


GOOD = {"what": "x", "reason": "r", "until": str(END), "who": "me", "when": NOW.isoformat()}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a": 1}',
        "[1]",
        '[{"what": "x"}]',
        json.dumps([{**GOOD, "until": "soon"}]),
        json.dumps([{**GOOD, "when": "2026-11-21"}]),
        json.dumps([GOOD, {**GOOD, "reason": 1}]),
        json.dumps([{**GOOD, "more": 1}]),
    ],
)
def test_malformed_acknowledgements_are_refused_and_kept(folder, text):
    folder.mkdir(parents=True)
    path = folder / "acks.json"
    path.write_text(text)
    with pytest.raises(Fault, match=r"acks\.json: malformed"):
        acknowledgements.load(folder)
    with pytest.raises(Fault, match=r"acks\.json: malformed"):
        acknowledgements.add("3fa2c1", "r", str(END), [ALERT], NOW, folder)
    assert path.read_text() == text


def test_many_at_once_lose_none(folder):
    script = (
        "import sys; from pathlib import Path; from tests.alerted import NOW;"
        "from acceptance.alerts import acknowledgements as acks;"
        f"acks.add('*' + sys.argv[1], 'r', '{END}', [], NOW, Path({str(folder)!r}))"
    )
    names = [f"latency_{number}" for number in range(4)]
    running = [subprocess.Popen([sys.executable, "-c", script, name], cwd=ROOT) for name in names]
    assert [process.wait(timeout=PATIENCE) for process in running] == [0] * len(names)
    assert sorted(ack.what for ack in acknowledgements.load(folder)) == [
        f"*{name}" for name in names
    ]


def test_the_command(site):
    folder = site.var / "alerts"
    environment = {"XDG_CONFIG_HOME": str(site.folder), "USER": "jo"}

    def ack(*arguments):
        return site.acceptance("alerts", "ack", *arguments, **environment)

    unknown = ack("3fa2c1", "--reason", "r", "--until", "2126-01-01")
    assert (unknown.status, "more than a year" in unknown.errors) == (2, True)
    assert "say until when" in ack("3fa2c1", "--reason", "r").errors
    update(folder, [ALERT])
    until = str((datetime.now() + 30 * DAY).date())
    done = ack("3fa2c1", "--reason", "known\nalready", "--until", until)
    said = f"acknowledged until {until} by jo: known already"
    assert (done.status, done.output) == (0, f"3fa2c1  {ALERT.line}\n{said}\n")
    listed = json.loads(ack("--format", "json").output)
    assert [(one["what"], one["who"], one["holds"]) for one in listed] == [("3fa2c1", "jo", True)]
    assert "known already" in ack().output
    assert said in site.acceptance("alerts", **environment).output
    refused = ack("*", "--reason", "r", "--until", until)
    assert (refused.status, "the longest for a pattern" in refused.errors) == (2, True)
    soon = str((datetime.now() + 13 * DAY).date())
    assert "no open alert matches now" in ack("*xyz", "--reason", "r", "--until", soon).output
    done = ack("*", "--reason", "r", "--until", soon)
    assert f"{ALERT.line}\n1 of 1 open alert; those that match later" in done.output
    assert ack("--remove", "3fa2c1").output == f"removed: {said}\n"
    assert ack("--remove", "3fa2c1").status == 2

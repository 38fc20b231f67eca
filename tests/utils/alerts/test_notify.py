"""Alerts, delivered to a real SMTP and a real HTTP endpoint on loopback."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from datetime import datetime, timezone

import msgspec
import pytest

from acceptance.alerts import Alert, acknowledgements, notify, targets
from acceptance.core import state_files
from acceptance.core.findings import Finding
from acceptance.core.paths import ROOT
from acceptance.rfm.environment import reframe_environment
from tests import endpoints
from tests.alerted import ALERT, DAY, NOW, OTHER, ids, named, of, update
from tests.endpoints import PASSWORD
from tests.places import HERE, PATIENCE


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "var/alerts"


def stored_text(folder):
    return "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


# ---- what an alert says


def test_the_sentence_of_an_alert():
    assert ALERT.line == (
        "local:default+wheels ImbMpi1 PingPong latency_8: 1.21 -> 1.62 us, 33.9 % worse "
        "since 2026-11-18 (with 14 related metrics; all of node17)"
    )
    lost = Finding("no-suite", "nothing runs imb", device="no-suite imb", where="local",
                   since="2026-11-18T02:11:09+00:00")  # fmt: skip
    assert Alert("x", lost).line == "local no-suite imb: nothing runs imb since 2026-11-18"


@pytest.mark.parametrize(
    ("kind", "called"),
    [
        ("drift", "drifts"),
        ("link-rate", "faulty nodes"),
        ("no-bytes", "faulty nodes"),
        ("node-absent", "nodes not up"),
        ("many", "groups of failures"),
        ("no-suite", "missing measurements"),
        ("case-failed", "failures"),
        ("of-a-later-release", "failures"),
    ],
)
def test_what_alerts_are_called(kind, called):
    assert of(ALERT, kind=kind).called[1] == called


def test_an_alert_as_json_comes_back():
    assert msgspec.json.decode(msgspec.json.encode(ALERT), type=Alert) == ALERT


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": ""}, r"Expected `str` of length >= 1 - at `\$.id`"),
        ({"finding": {"kind": "x"}}, r"missing required field `text` - at `\$.finding`"),
        ({"cases": 3}, r"Expected `array`, got `int` - at `\$.cases`"),
        ({"opened": "2026-11-21T06:00:00"}, r"timezone component - at `\$.opened`"),
        ({"more": 1}, "unknown field `more`"),
    ],
)
def test_what_is_no_alert_is_refused(changes, said):
    with pytest.raises(ValueError, match=said):
        msgspec.convert({**msgspec.to_builtins(ALERT), **changes}, Alert)


# ---- delivery, by the real way


def test_alerts_reach_a_mail_server_and_a_web_hook_in_one_message_each(folder, http, mail):
    outcome = update(folder, [ALERT, OTHER], http.url, mail.url)
    assert outcome.failures == {}
    assert len(outcome.delivered) == 2
    (post,) = http.posts
    (message,) = mail.messages
    subject = "2 regressions on local: ImbMpi1 PingPong latency_8 1.62 us, 33.9 % worse and 1 more"
    assert post["title"] == message["Subject"] == subject
    assert message["To"] == "admins@example.org"
    for text in (post["message"], message.get_content()):
        for alert in (ALERT, OTHER):
            assert alert.line in text
            assert f"acceptance history {alert.finding.what}" in text
            assert f"acceptance alerts ack {alert.id} --reason TEXT --until YYYY-MM-DD" in text


def test_a_wrong_password_is_told_without_it(folder, mail):
    outcome = update(folder, [ALERT], mail.url_with("Wrong-" + PASSWORD))
    (failure,) = outcome.failures.values()
    assert failure.why == "did not take it; `apprise -vv -b test` with its URL says more"
    assert PASSWORD not in "".join(outcome.faults)
    assert mail.messages == []


def test_a_target_that_never_answers_is_given_up(tmp_path):
    with endpoints.silent() as port:
        target = targets.Target("slow", f"json://127.0.0.1:{port}/?rto=60")
        assert targets.send(target, "s", "b", deadline=2.0) == "took longer than 2 s"


def test_a_url_that_is_none_of_apprise_is_told():
    assert targets.send(targets.Target("x", "odd://x"), "s", "b") == (
        "apprise does not understand its URL"
    )


# ---- what is told of it, and to whom: one night after another

A, B = ALERT, OTHER
GROWN = of(A, text="1.21 -> 1.62 us, 33.9 % worse since 2026-11-18 (with 15 related metrics)")
FAR = of(A, "far", where="far:default+wheels", what="far_8")
#: What a message says of an alert, by its section: `+` new, `~` no longer acknowledged, `-` ended.
SECTIONS = {"New:": "+", "Still open, no longer acknowledged:": "~", "Ended:": "-"}
NAMES = {"latency_8": "a", "bandwidth_peak": "b", "far_8": "far"}
#: The last day of every acknowledgement.
LAST = 5


def said(post):
    """Return what a message says: `+a -b`."""
    words, sign = [], ""
    for line in post["message"].splitlines():
        sign = SECTIONS.get(line, sign)
        if line.startswith("* "):
            words.append(sign + next(NAMES[name] for name in NAMES if f" {name}: " in line))
    return " ".join(words)


def found(outcome):
    """Return what became of the alerts: `open a, ended b`."""
    groups = {"open": outcome.open, "ended": outcome.ended, "known": outcome.acknowledged}
    return ", ".join(
        f"{word} {NAMES[alert.finding.what]}" for word, alerts in groups.items() for alert in alerts
    )


#: Story -> nights: alerts found, what else happens, what is found of them, what is sent. `ack` and
#: `unack` happen before the night; `targets` are there on it, and `down` answers 500.
STORIES = {
    "an alert is sent once, and its end once": [
        ([A], {}, "open a", "+a"),
        ([A], {}, "open a", ""),
        ([A, B], {}, "open a, open b", "+b"),
        ([B], {}, "open b, ended a", "-a"),
        ([B], {}, "open b", ""),
        ([], {}, "ended b", "-b"),
        ([], {}, "", ""),
        ([A], {}, "open a", "+a"),
    ],
    "an incident that grows is the same alert": [
        ([A], {}, "open a", "+a"),
        ([GROWN], {}, "open a", ""),
    ],
    "a run that could not have found an alert does not end it": [
        ([A, FAR], {}, "open a, open far", "+a +far"),
        ([], {"judged": lambda alert: alert.finding.system == "local"}, "ended a", "-a"),
        ([FAR], {}, "open far", ""),
    ],
    "a new alert and an end share a message": [
        ([A], {}, "open a", "+a"),
        ([B], {}, "open b, ended a", "+b -a"),
    ],
    "without a target alerts are kept until there is one": [
        ([A], {"targets": ()}, "open a", ""),
        ([A], {}, "open a", "+a"),
        ([A], {}, "open a", ""),
    ],
    "a target that fails gets all of it later, in one message": [
        ([A], {"down": True}, "open a", ""),
        ([A, B], {"down": True}, "open a, open b", ""),
        ([A, B], {}, "open a, open b", "+a +b"),
        ([A, B], {}, "open a, open b", ""),
    ],
    "what began and ended while a target failed is told as an end": [
        ([A], {"down": True}, "open a", ""),
        ([], {"down": True}, "ended a", ""),
        ([], {}, "", "-a"),
        ([], {}, "", ""),
    ],
    "what ended and came again while a target failed is new": [
        ([A], {}, "open a", "+a"),
        ([], {"down": True}, "ended a", ""),
        ([A], {}, "open a", "+a"),
    ],
    "a target that is added is told of what is open": [
        ([A], {}, "open a", "+a"),
        ([A], {"targets": ("hook", "other")}, "open a", "+a"),
        ([A], {"targets": ("hook", "other")}, "open a", ""),
    ],
    "an acknowledged alert is listed, and sent again after the last day": [
        ([A], {}, "open a", "+a"),
        ([A], {"ack": A.id}, "known a", ""),
        *[([A], {}, "known a", "")] * (LAST - 1),
        ([A], {}, "open a", "~a"),
        ([A], {}, "open a", ""),
    ],
    "one that lapses while there is no target, or it fails, is sent when it can be": [
        ([A], {}, "open a", "+a"),
        ([A], {"ack": A.id}, "known a", ""),
        ([A], {"unack": A.id, "targets": ()}, "open a", ""),
        ([A], {"down": True}, "open a", ""),
        ([A], {}, "open a", "~a"),
        ([A], {}, "open a", ""),
    ],
    "the end of an acknowledged alert is sent where it was known": [
        ([A], {}, "open a", "+a"),
        ([A, B], {"ack": "*_peak"}, "open a, known b", ""),
        ([A, B], {"ack": A.id}, "known a, known b", ""),
        ([], {}, "ended a, ended b", "-a"),
    ],
    "a new incident of the same id is not acknowledged": [
        ([A], {}, "open a", "+a"),
        ([A], {"ack": A.id}, "known a", ""),
        ([], {}, "ended a", "-a"),
        ([A], {}, "open a", "+a"),
    ],
    "nor where its end was not told yet": [
        ([A], {}, "open a", "+a"),
        ([A], {"ack": A.id}, "known a", ""),
        ([], {"down": True}, "ended a", ""),
        ([A], {}, "open a", "+a"),
    ],
    "a target that is added is not told who had acknowledged what": [
        ([A], {}, "open a", "+a"),
        ([A], {"ack": A.id}, "known a", ""),
        ([A], {"unack": A.id}, "open a", "~a"),
        ([A], {"targets": ("hook", "other")}, "open a", "+a"),
    ],
    "a pattern is of later ones, too": [
        ([], {"ack": "local:default+* ImbMpi1 * latency_*"}, "", ""),
        ([A, B], {}, "open b, known a", "+b"),
    ],
}


@pytest.mark.parametrize("story", STORIES)
def test_stories(folder, http, story):
    end = str((NOW + LAST * DAY).date())
    for night, (alerts, events, told, sent) in enumerate(STORIES[story]):
        now = NOW + night * DAY
        if "ack" in events:
            acknowledgements.add(events["ack"], "r", end, [A], now - DAY / 2, folder)
        if "unack" in events:
            acknowledgements.remove(events["unack"], folder)
        http.status = 500 if events.get("down") else 200
        before = len(http.posts)
        names = [f"{name}={http.url}?{name}" for name in events.get("targets", ["hook"])]
        outcome = update(folder, alerts, *names, now=now, judged=events.get("judged", bool))
        assert found(outcome) == told, night
        assert " ".join(map(said, http.posts[before:])) == sent, night
        assert bool(outcome.failures) == bool(events.get("down")), night
    assert not [alert for alert in notify._read(folder, []).alerts if alert.ended]


def test_an_incident_that_grows_is_stored_as_it_is(folder, http):
    update(folder, [ALERT], http.url)
    update(folder, [GROWN], http.url)
    (alert,) = notify.listing(NOW, folder).open
    assert (alert.id, alert.finding, alert.opened) == (GROWN.id, GROWN.finding, NOW)


def test_subjects_count_what_is_told(folder, http):
    update(folder, [ALERT, FAR], http.url)
    update(folder, [OTHER, of(OTHER, "d", kind="drift"), FAR], http.url)
    update(folder, [FAR], http.url)
    assert http.subjects == [
        "2 regressions on local, far: ImbMpi1 PingPong latency_8 1.62 us, 33.9 % worse and 1 more",
        "1 regression, 1 drift, 1 ended on local: "
        "ImbMpi1 PingPong bandwidth_peak 1900 MB/s, 26.2 % worse and 2 more",
        "2 ended on local: ImbMpi1 PingPong bandwidth_peak and 1 more",
    ]


def test_a_hundred_alerts_are_one_message_that_can_be_read(folder, http):
    many = [of(ALERT, f"i{number}") for number in range(100)]
    update(folder, many, http.url)
    (post,) = http.posts
    assert post["title"].startswith("100 regressions on local: ")
    assert post["message"].count("acceptance alerts ack") == 20
    assert "... and 80 more: acceptance alerts" in post["message"]


def test_names_cannot_break_out_of_the_subject(folder, mail):
    odd = of(ALERT, device="x\r\nBcc: all@example.org", text="a\nb)", what="l" * 500)
    update(folder, [odd], mail.url)
    (message,) = mail.messages
    assert message["Bcc"] is None
    assert message["Subject"].startswith("1 regression on local: x Bcc: all@example.org lll")
    assert len(message["Subject"]) <= 160
    assert "a b)" in message.get_content()


def test_text_that_is_no_unicode_is_sent(folder, http):
    update(folder, [of(ALERT, text="broken \udce9 byte")], http.url)
    assert "broken byte" in http.posts[0]["message"]


def test_that_nobody_is_told_is_said(folder):
    for _ in range(2):
        assert "no target is configured" in update(folder, [ALERT]).notes[0]


def test_nothing_to_tell_leaves_nothing_behind(folder):
    assert update(folder, []) == notify.Notification()
    assert not folder.exists()


def test_a_preview_changes_nothing(folder, http):
    update(folder, [ALERT], http.url)
    before = stored_text(folder)
    outcome = notify.preview([OTHER], NOW, folder)
    assert (ids(outcome.open), ids(outcome.ended)) == (["77b0"], ["3fa2c1"])
    assert stored_text(folder) == before
    assert ids(notify.preview([ALERT], NOW, folder / "none").open) == ["3fa2c1"]
    assert not (folder / "none").exists()


def test_an_outcome_as_json_and_its_faults(folder, http):
    outcome = update(folder, [ALERT], http.url, "json://127.0.0.1:1/")
    data = json.loads(msgspec.json.encode(outcome))
    (alert,) = data["open"]
    assert alert["id"] == "3fa2c1"
    assert msgspec.convert(alert["finding"], Finding) == ALERT.finding
    assert outcome.faults[-1].endswith(
        "did not take it; `apprise -vv -b test` with its URL says more "
        "(since 2026-11-21; the next call tries again)"
    )


# ---- targets that fail


def test_a_target_that_fails_is_told_since_when_and_does_not_hold_up_the_others(folder, http, mail):
    http.status = 500
    for night in (0, 3):
        now = NOW + night * DAY
        outcome = update(folder, [ALERT], f"hook={http.url}", mail.url, now=now)
        failure = outcome.failures["hook"]
        assert failure.why.startswith("answered 500; ")
        assert failure.since == NOW
    assert len(mail.messages) == 1
    assert notify.listing(NOW, folder).failures == {"hook": failure}
    http.status = 200
    assert update(folder, [ALERT], f"hook={http.url}", mail.url).delivered == ["hook"]
    assert notify.listing(NOW, folder).failures == {}


def test_a_target_that_is_gone_fails_no_longer(folder, http):
    update(folder, [ALERT], f"old=json://127.0.0.1:{endpoints.closed()}/")
    assert list(notify.listing(NOW, folder).failures) == ["old"]
    update(folder, [ALERT], f"new={http.url}")
    assert notify.listing(NOW, folder).failures == {}


def test_what_was_not_taken_is_sent_by_itself(folder, http):
    http.status = 503
    update(folder, [ALERT], f"hook={http.url}")
    http.status = 200
    for place, delivered in ((folder, ["hook"]), (folder, []), (folder / "none", [])):
        to, listed = named(f"hook={http.url}"), notify.listing(NOW, place).open
        sent = notify.update((), NOW, place, judged=lambda _: False, to=to)
        assert sent.delivered == delivered
        assert len(notify.listing(NOW, place).open) == len(listed)
        assert not sent.ended


# ---- kills, two processes, malformed files

SCRIPT = """
    import os, signal, sys
    from datetime import datetime
    from pathlib import Path
    from tests.alerted import ALERT, NOW
    from acceptance.alerts import notify

    def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    {patch}
    print(notify.update([ALERT], NOW, Path(sys.argv[1])).delivered)
"""


def start(folder, http, patch=""):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT).format(patch=patch), str(folder)],
        cwd=ROOT,
        env={
            **os.environ,
            "ACCEPTANCE_ALERTS": http.url,
            "ACCEPTANCE_ALERTS_FILE": "",
            "XDG_CONFIG_HOME": str(folder),
        },
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("patch", "copies"),
    [
        # The state not written: made again.
        ("notify.state_files.write = die", 1),
        # The state written beside its place: made again.
        ("Path.replace = die", 1),
        # The state written, nothing sent: sent from it.
        ("notify._deliver = die", 1),
        # Sent, and killed before that was noted: at least once means twice here.
        ("notify.targets.send = lambda *a, send=notify.targets.send: (send(*a), die())", 2),
    ],
)
def test_a_kill_loses_no_alert(folder, http, patch, copies):
    killed = start(folder, http, patch)
    killed.communicate(timeout=PATIENCE)
    assert killed.returncode == -signal.SIGKILL
    for _ in range(2):
        update(folder, [ALERT], http.url)
    assert len(http.posts) == copies
    assert len(set(http.subjects)) == 1


def test_two_processes_at_once_send_an_alert_once(folder, http):
    both = [start(folder, http) for _ in range(2)]
    assert [one.communicate(timeout=PATIENCE) and one.returncode for one in both] == [0, 0]
    assert len(http.posts) == 1


def test_a_process_that_keeps_the_lock_is_named_by_the_lock(folder, monkeypatch):

    monkeypatch.setattr(notify, "PATIENCE", 0.1)
    with (
        state_files.locked(folder / "lock", 1),
        pytest.raises(state_files.StoredFault, match="alerts/lock: another process"),
    ):
        update(folder, [ALERT])


#: A state as it was stored when an alert was no finding.
OLDER = {
    "alerts": [{
        "alert": {
            "id": "3fa2c1", "kind": "failure", "system": "local", "partition": "", "environ": "",
            "check": "imb", "since": "2026-11-18T02:11:09+00:00", "text": "it failed",
        },
        "opened": "2026-11-18T02:20:00Z", "seen": "2026-11-20T02:20:00Z",
    }],
    "failing": {},
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(OLDER),
        "",
        "{",
        "[]",
        '{"form": 2}',
        '{"alerts": [{"alert": {}}]}',
        msgspec.json.encode({"alerts": [ALERT], "failing": {}}).decode(),
        '{"alerts": [], "failing": {"hook": {"why": "x"}}}',
        '{"alerts": 3}',
        "\xff",
    ],
)
def test_a_malformed_state_is_kept_aside_and_alerts_are_sent(folder, http, text):
    folder.mkdir(parents=True)
    (folder / "state.json").write_bytes(text.encode("latin-1"))
    outcome = update(folder, [ALERT], http.url)
    assert len(http.posts) == 1
    (note,) = outcome.notes
    assert re.fullmatch(
        rf"{folder}/state\.json: malformed \(.*\); kept as state\.json\.malformed-1; "
        "alerts found again are sent again; it alone has those that no run looks for again",
        note,
    )
    assert (folder / "state.json.malformed-1").read_bytes() == text.encode("latin-1")
    assert update(folder, [ALERT], http.url).notes == []
    assert len(http.posts) == 1


def test_malformed_acknowledgements_silence_nothing(folder, http):
    folder.mkdir(parents=True)
    (folder / "acks.json").write_text('[{"what": "3fa2c1"}]')
    outcome = update(folder, [ALERT], http.url)
    assert len(http.posts) == 1
    assert "acks.json: malformed" in outcome.notes[0]
    assert "nothing counts as acknowledged" in outcome.notes[0]


def test_a_path_that_is_no_folder_is_a_fault(tmp_path):
    (tmp_path / "alerts").write_text("")
    with pytest.raises(state_files.StoredFault, match=r"alerts/lock: cannot be written"):
        update(tmp_path / "alerts", [ALERT])


# ---- targets and their secrets


def read_targets(tmp_path, text="", mode=0o600, **environment):
    path = tmp_path / "targets"
    path.write_text(text)
    path.chmod(mode)
    return targets.load({"ACCEPTANCE_ALERTS_FILE": str(path), **environment})


def test_targets_from_environment_and_file(tmp_path):
    found = read_targets(
        tmp_path,
        "# comment\n\nteam = slack://a/b/c/#channel\nmailto://u:p@example.org?to=a&x=b\n",
        ACCEPTANCE_ALERTS="json://one/ hook=json://two/?a=b\n json://one/",
    )
    assert found.notes == ()
    assert [target.url for target in found.targets] == [
        "json://one/",
        "json://two/?a=b",
        "slack://a/b/c/#channel",
        "mailto://u:p@example.org?to=a&x=b",
    ]
    plain, hook, team, mailto = found.names
    assert (hook, team) == ("hook", "team")
    assert plain.startswith("json-")
    assert mailto.startswith("mailto-")
    assert len(mailto) == len("mailto-3fa2")


def test_the_default_file(tmp_path):
    (tmp_path / "acceptance").mkdir()
    path = tmp_path / "acceptance/alerts"
    assert targets.load({"XDG_CONFIG_HOME": str(tmp_path)}) == targets.Targets((), ())
    path.write_text("json://one/")
    path.chmod(0o600)
    assert len(targets.load({"XDG_CONFIG_HOME": str(tmp_path)}).targets) == 1


@pytest.mark.parametrize(
    ("text", "mode", "note"),
    [
        (f"{PASSWORD}\njson://b/", 0o600, "targets:1: not of the form"),
        (f"json:/{PASSWORD}\njson://b/", 0o600, "targets:1: not of the form"),
        (f"two words=json://{PASSWORD}\njson://b/", 0o600, "targets:1: not of the form"),
        ("json://b/", 0o640, "others may read"),
        (f"a=json://b/\na=json://{PASSWORD}/", 0o600, "targets:2: another target is called a"),
    ],
)
def test_a_malformed_line_is_named_not_shown_and_the_rest_is_used(tmp_path, text, mode, note):
    found = read_targets(tmp_path, text, mode)
    assert "json://b/" in [target.url for target in found.targets]
    assert any(note in one for one in found.notes)
    assert PASSWORD not in repr(found)
    assert len(set(found.names)) == len(found.names)


def test_a_file_that_is_named_and_missing_is_told(tmp_path):
    found = targets.load({"ACCEPTANCE_ALERTS_FILE": str(tmp_path / "none")})
    assert found.notes == (f"{tmp_path}/none: no targets of alerts can be read: "
                           "No such file or directory",)  # fmt: skip


def test_a_file_in_the_clone_is_warned_of(monkeypatch, tmp_path):
    monkeypatch.setattr(targets, "ROOT", tmp_path)
    assert "get committed" in read_targets(tmp_path, "json://b/").notes[0]


def test_a_file_that_is_no_text_is_told(tmp_path):
    (tmp_path / "targets").write_bytes(b"json://\xff")
    found = targets.load({"ACCEPTANCE_ALERTS_FILE": str(tmp_path / "targets")})
    assert "it is not UTF-8" in found.notes[0]


def test_no_secret_is_printed_stored_or_raised(site, tmp_path, http):
    """Ways in which a target can fail, and every command that speaks of targets."""
    http.status = 401
    path = tmp_path / "targets"
    path.write_text(f"file = {http.url}?a=b\nbad = {PASSWORD}\n")
    path.chmod(0o644)
    environment = {
        "ACCEPTANCE_ALERTS": (
            f"mailto://{PASSWORD}:{PASSWORD}@127.0.0.1:{endpoints.closed()}"
            "/?to=a@example.org&from=b@example.org "
            f"slack://{PASSWORD} {PASSWORD}"
        ),
        "ACCEPTANCE_ALERTS_FILE": str(path),
        "PYTHONWARNINGS": "always",
    }
    folder = site.var / "alerts"
    to = targets.load(environment)
    outcome = notify.update([ALERT], NOW, folder, to=to)
    assert [failure.why.partition(";")[0] for failure in outcome.failures.values()] == [
        "did not take it",
        "apprise does not understand its URL",
        "answered 401",
    ]
    assert len(outcome.notes) == 3
    texts = [repr(to), repr(outcome), *outcome.faults, msgspec.json.encode(outcome).decode()]
    for command, status in ((["--test"], 1), (["--send"], 1), (["--format", "json"], 0), ([], 0)):
        result = site.run("acceptance", "alerts", *command, **environment)
        assert result.status == status, command
        texts += [result.output, result.errors]
    texts.append(stored_text(folder))
    assert "answered 401" in texts[-1]
    for text in texts:
        assert PASSWORD.lower() not in text.lower()


def test_what_apprise_logs_is_not_printed(http, capfd):
    http.status = 500
    why = targets.send(targets.Target("x", http.url), "s", "b")
    assert why.startswith("answered 500; ")
    assert capfd.readouterr() == ("", "")


def test_apprise_is_imported_where_something_is_sent_alone():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, acceptance.cli.alerts; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert "acceptance.alerts.targets" in done.stdout.split()
    assert not {"apprise", "prometheus_client"} & set(done.stdout.split())


def test_reframe_and_its_jobs_do_not_get_the_urls(monkeypatch):
    monkeypatch.setenv("ACCEPTANCE_ALERTS", "json://user:secret@host/")
    assert "ACCEPTANCE_ALERTS" not in reframe_environment(HERE)
    assert "secret" not in str(reframe_environment(HERE, many_jobs=True))


# ---- the command


def test_the_command_lists_tests_and_sends(site, http):
    environment = {"ACCEPTANCE_ALERTS": f"hook={http.url}", "XDG_CONFIG_HOME": str(site.folder)}
    empty = site.acceptance("alerts", **environment)
    assert (empty.status, empty.output) == (0, "no alert is open\ntargets: hook\n")
    http.status = 500
    folder = site.var / "alerts"
    update(folder, [ALERT], f"hook={http.url}")
    listed = site.acceptance("alerts", **environment)
    assert re.search(rf"^3fa2c1  {re.escape(ALERT.line)}  not sent to hook ", listed.output, re.M)
    assert "target hook: answered 500; " in listed.output
    assert (
        "hook: FAILED: answered 500; " in site.acceptance("alerts", "--test", **environment).output
    )
    http.status = 200
    tested = site.acceptance("alerts", "--test", **environment)
    assert (tested.status, tested.output) == (0, "hook: ok\n")
    sent = site.acceptance("alerts", "--send", **environment)
    assert (sent.status, sent.output) == (0, "sent to hook\n")
    sent = site.acceptance("alerts", "--send", **environment)
    assert (sent.status, sent.output) == (0, "everything is sent\n")
    listed = site.acceptance("alerts", **environment)
    today = f"{datetime.now(timezone.utc):%Y-%m-%d}"
    assert re.search(rf"^3fa2c1  .*  sent {today} to hook ", listed.output, re.M)
    assert [subject.split()[0] for subject in http.subjects] == ["Test", "1"]
    header, row = site.acceptance("alerts", "--format", "csv", **environment).output.splitlines()
    assert header == 'id,alert,"sent, or acknowledged",last seen'
    assert row.startswith("3fa2c1,")
    data = site.acceptance("alerts", "--format", "json", **environment).data
    assert (data["open"][0]["id"], data["failing"], data["targets"]) == ("3fa2c1", {}, ["hook"])


def test_a_test_without_targets_says_how_to_name_them(site):
    result = site.acceptance("alerts", "--test", XDG_CONFIG_HOME=str(site.folder))
    assert result.status == 2
    assert f"write them to {site.folder}/acceptance/alerts" in result.errors

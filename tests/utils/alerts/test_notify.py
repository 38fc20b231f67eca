"""Alerts, delivered to a real SMTP and a real HTTP endpoint on loopback."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest

from acceptance.alerts import notify, targets
from acceptance.alerts.alert import Alert
from acceptance.core.paths import ROOT
from acceptance.rfm.environment import reframe_environment
from tests import endpoints
from tests.alerted import ALERT, DAY, NOW, OTHER, named, update
from tests.endpoints import PASSWORD
from tests.places import HERE, PATIENCE


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "var/alerts"


def waiting(folder):
    return notify.listing(NOW, folder).waiting


def spool(folder, serial, target, subject="s", **fields):
    """Leave an undelivered message as release 0.1 did."""
    message = {"serial": serial, "target": target, "created": NOW.isoformat(), "subject": subject,
               "body": "b", "attempts": 1, "why": "answered 500", **fields}  # fmt: skip
    path = folder / f"spool/{serial:08d}-{target}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(message))


def stored_text(folder):
    return "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


# ---- what an alert says


def test_the_sentence_of_an_alert():
    assert str(ALERT) == (
        "local:default+wheels ImbMpi1 PingPong latency_8: 1.21 -> 1.62 us, 33.9 % worse "
        "since 2026-11-18 (with 14 related metrics; all of node17)"
    )
    assert str(OTHER).endswith("bandwidth_peak: 2575 -> 1900 MB/s, 26.2 % worse since 2026-11-18")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "vanished"}, "latency_8: no longer measured since 2026-11-18"),
        ({"kind": "unit"}, "latency_8: its unit changed, now us, since 2026-11-18"),
        ({"kind": "drift", "change": 0.1, "before": 1.0, "after": 1.1},
         "latency_8: 1 -> 1.1 us, drifting, 10 % worse since 2026-11-18"),
        ({"kind": "machine", "cause": "a reboot"},
         "latency_8: change of the machine since 2026-11-18 (a reboot)"),
        ({"change": -0.5, "before": 2, "after": 1}, "2 -> 1 us, 50 % better since 2026-11-18"),
        ({"change": -0.5, "direction": None}, "latency_8: 50 % less since 2026-11-18"),
        ({"metrics": ("x",)}, "(with 1 related metric)"),
    ],
)  # fmt: skip
def test_sentences_of_other_kinds(changes, said):
    plain = {"before": None, "after": None, "change": None, "cause": "", "metrics": ()}
    assert str(replace(ALERT, **{**plain, **changes})).endswith(said)


def test_an_alert_as_data_comes_back():
    data = json.loads(json.dumps(ALERT.as_data()))
    assert set(data) == {
        "id", "kind", "system", "partition", "environ", "check", "metric", "unit", "direction",
        "before", "after", "change", "since", "confidence", "cause", "metrics",
        "text", "nodes", "cases", "parts", "sort", "compared",
    }  # fmt: skip
    assert Alert.from_data(data) == ALERT


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "odd"},
        {"id": ""},
        {"after": float("nan")},
        {"change": float("inf")},
        {"before": "1"},
    ],
)
def test_what_is_no_alert_is_refused(changes):
    with pytest.raises(ValueError, match="alert"):
        replace(ALERT, **changes)


@pytest.mark.parametrize("data", [{}, {"metrics": 3}, {**ALERT.as_data(), "more": 1}])
def test_data_that_are_no_alert_are_refused(data):
    with pytest.raises(ValueError, match="no alert"):
        Alert.from_data(data)


# ---- delivery, by the real way


def test_alerts_reach_a_mail_server_and_a_web_hook_in_one_message_each(folder, http, mail):
    outcome = update(folder, [ALERT, OTHER], http.url, mail.url)
    assert outcome.failures == []
    assert list(outcome.delivered.values()) == [1, 1]
    (post,) = http.posts
    (message,) = mail.messages
    subject = "2 regressions on local: ImbMpi1 PingPong latency_8 33.9 % worse and 1 more"
    assert post["title"] == message["Subject"] == subject
    assert message["To"] == "admins@example.org"
    for text in (post["message"], message.get_content()):
        for alert in (ALERT, OTHER):
            assert alert.line in text
            assert f"acceptance history {alert.metric}" in text
            assert f"acceptance ack {alert.id} --reason TEXT --until YYYY-MM-DD" in text
    assert not waiting(folder)


def test_a_wrong_password_is_told_without_it(folder, mail):
    outcome = update(folder, [ALERT], mail.url_with("Wrong-" + PASSWORD))
    (failure,) = outcome.failures
    assert failure.why == "authentication failed"
    assert mail.messages == []


def test_a_target_that_never_answers_is_given_up(tmp_path):
    with endpoints.silent() as port:
        target = targets.Target("slow", f"json://127.0.0.1:{port}/?rto=60")
        assert targets.send(target, "s", "b", deadline=2.0) == "took longer than 2 s"


def test_a_url_that_is_none_of_apprise_is_told():
    assert targets.send(targets.Target("x", "odd://x"), "s", "b") == (
        "apprise does not understand its URL"
    )


# ---- once


def test_an_alert_is_sent_once_and_its_end_once(folder, http, in_process):
    for night, (found, new, standing, ended) in enumerate(
        [
            ([ALERT], [ALERT], [], []),
            ([ALERT], [], [ALERT], []),
            ([ALERT, OTHER], [OTHER], [ALERT], []),
            ([OTHER], [], [OTHER], [ALERT]),
            ([OTHER], [], [OTHER], []),
            ([], [], [], [OTHER]),
            ([], [], [], []),
            ([ALERT], [ALERT], [], []),
        ]
    ):
        outcome = update(folder, found, http.url, now=NOW + night * DAY)
        assert (outcome.new, outcome.standing, outcome.ended) == (new, standing, ended), night
    assert http.subjects == [
        "1 regression on local: ImbMpi1 PingPong latency_8 33.9 % worse",
        "1 regression on local: ImbMpi1 PingPong bandwidth_peak 26.2 % worse",
        "1 ended on local: ImbMpi1 PingPong latency_8",
        "1 ended on local: ImbMpi1 PingPong bandwidth_peak",
        "1 regression on local: ImbMpi1 PingPong latency_8 33.9 % worse",
    ]
    assert f"Ended:\n\n* {ALERT.line}" in http.posts[2]["message"]


def test_an_incident_that_grows_is_the_same_alert(folder, http, in_process):
    update(folder, [ALERT], http.url)
    grown = replace(ALERT, metrics=(*ALERT.metrics, "time_8"))
    assert update(folder, [grown], http.url).standing == [grown]
    (entry,) = (entry for entry, _ in notify.listing(NOW, folder).entries)
    assert entry.alert == grown
    assert len(http.posts) == 1


def test_a_run_that_could_not_have_found_an_alert_does_not_end_it(folder, http, in_process):
    far = replace(ALERT, id="far", system="far")
    update(folder, [ALERT, far], http.url)
    outcome = update(folder, [], http.url, judged=lambda alert: alert.system == "local")
    assert outcome.ended == [ALERT]
    assert [entry.alert for entry, _ in notify.listing(NOW, folder).entries] == [far]
    assert http.subjects[0].startswith("2 regressions on local, far: ")
    assert len(http.posts) == 2


def test_a_new_end_and_a_new_alert_share_a_message(folder, http, in_process):
    update(folder, [ALERT], http.url)
    update(folder, [OTHER, replace(OTHER, id="d", kind="drift")], http.url)
    assert http.subjects[1] == (
        "1 regression, 1 drift, 1 ended on local: "
        "ImbMpi1 PingPong bandwidth_peak 26.2 % worse and 2 more"
    )


def test_a_hundred_alerts_are_one_message_that_can_be_read(folder, http, in_process):
    many = [replace(ALERT, id=f"i{number}") for number in range(100)]
    update(folder, many, http.url)
    (post,) = http.posts
    assert post["title"].startswith("100 regressions on local: ")
    assert post["message"].count("acceptance ack") == 20
    assert "... and 80 more: acceptance alerts" in post["message"]


def test_names_cannot_break_out_of_the_subject(folder, mail, in_process):
    odd = replace(ALERT, check="x\r\nBcc: all@example.org", cause="a\nb", metric="l" * 500)
    update(folder, [odd], mail.url)
    (message,) = mail.messages
    assert message["Bcc"] is None
    assert message["Subject"].startswith("1 regression on local: x Bcc: all@example.org lll")
    assert len(message["Subject"]) <= 160
    assert "a b)" in message.get_content()


def test_text_that_is_no_unicode_is_sent(folder, http, in_process):
    update(folder, [replace(ALERT, cause="broken \udce9 byte")], http.url)
    assert "broken byte" in http.posts[0]["message"]


def test_without_a_target_alerts_are_kept_and_sent_when_there_is_one(folder, http, in_process):
    first = update(folder, [ALERT])
    assert first.new == [ALERT]
    assert "no target is configured" in first.notes[0]
    second = update(folder, [ALERT], http.url)
    assert second.standing == [ALERT]
    assert len(http.posts) == 1
    update(folder, [ALERT], http.url)
    assert len(http.posts) == 1


def test_nothing_to_tell_leaves_nothing_behind(folder):
    outcome = update(folder, [])
    assert outcome.lines() == []
    assert not folder.exists()


def test_a_preview_changes_nothing(folder, http, in_process):
    update(folder, [ALERT], http.url)
    before = stored_text(folder)
    outcome = notify.preview([OTHER], NOW, folder)
    assert (outcome.new, outcome.ended, outcome.open) == ([OTHER], [ALERT], [OTHER])
    assert stored_text(folder) == before
    assert notify.preview([ALERT], NOW, folder / "none").new == [ALERT]
    assert not (folder / "none").exists()


def test_an_outcome_as_data_and_as_lines(folder, http, in_process):
    outcome = update(folder, [ALERT], http.url, "json://127.0.0.1:1/")
    data = json.loads(json.dumps(outcome.as_data()))
    assert data["new"] == [ALERT.as_data()]
    assert [failure["why"] for failure in data["failures"]] == ["connection refused"]
    assert outcome.lines()[0] == f"new: {ALERT.line} [3fa2c1]"
    assert outcome.lines()[-1].endswith(
        "connection refused; 1 message is kept (the oldest for 0 h) and sent next time"
    )


# ---- targets that fail


def test_a_target_that_fails_gets_its_messages_in_order_later_and_the_others_nothing_twice(
    folder, http, mail, in_process
):
    http.status = 500
    first = update(folder, [ALERT], f"hook={http.url}", mail.url)
    assert [(one.target, one.why) for one in first.failures] == [
        ("hook", "answered 500 (Internal Server Error)")
    ]
    second = update(folder, [ALERT, OTHER], f"hook={http.url}", mail.url, now=NOW + 3 * DAY)
    assert [(one.waiting, one.age) for one in second.failures] == [(2, "3 days")]
    assert len(mail.messages) == 2
    http.status = 200
    third = update(folder, [ALERT, OTHER], f"hook={http.url}", mail.url, now=NOW + 4 * DAY)
    assert third.failures == []
    assert third.delivered == {"hook": 2}
    assert [subject.split(":")[1] for subject in http.subjects] == [
        " ImbMpi1 PingPong latency_8 33.9 % worse",
        " ImbMpi1 PingPong bandwidth_peak 26.2 % worse",
    ]
    assert len(mail.messages) == 2


def test_a_message_that_is_refused_alone_does_not_hold_up_the_others_for_ever(
    folder, http, in_process
):
    http.refuse = "latency_8"
    update(folder, [ALERT], http.url)
    for _ in range(notify.STUBBORN):
        assert update(folder, [ALERT, OTHER], http.url).failures[0].waiting
    assert [subject.split()[5] for subject in http.subjects] == ["PingPong"]
    (message,) = waiting(folder)
    assert "latency_8" in message.subject
    assert message.why == "answered 400 (Bad Request)"


def test_what_waits_is_sent_by_itself(folder, http, in_process):
    http.status = 503
    update(folder, [ALERT], http.url)
    http.status = 200
    assert list(notify.send(NOW, folder, to=named(http.url)).delivered.values()) == [1]
    assert notify.send(NOW, folder, to=named(http.url)).delivered == {}
    assert notify.send(NOW, folder / "none", to=named(http.url)).delivered == {}


def test_a_named_target_keeps_its_messages_when_its_url_is_corrected(folder, http, in_process):
    update(folder, [ALERT], f"hook=json://127.0.0.1:{endpoints.closed()}/")
    assert update(folder, [ALERT], f"hook={http.url}").delivered == {"hook": 1}


def test_messages_for_a_target_that_is_gone_are_kept_until_they_are_dropped(
    folder, http, in_process
):
    update(folder, [ALERT], f"old=json://127.0.0.1:{endpoints.closed()}/")
    outcome = update(folder, [ALERT], http.url, now=NOW + 2 * DAY)
    assert outcome.notes == [
        "1 kept for target old, which is not configured (the oldest for 2 days); "
        "drop with: acceptance alerts --forget old"
    ]
    assert http.posts == []
    assert notify.forget("old", folder) == 1
    assert update(folder, [ALERT], http.url).notes == []


# ---- kills, two processes, malformed files

SCRIPT = """
    import os, signal, sys
    from datetime import datetime
    from pathlib import Path
    from tests.alerted import ALERT, NOW
    from acceptance.alerts import notify
    from acceptance.alerts import state

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
        ("state.write = die", 1),
        # The state written beside its place: made again.
        ("Path.replace = die", 1),
        # The state written, nothing sent: sent from it.
        ("notify._deliver = die", 1),
        # Sent, and killed before that was noted: at least once means twice here.
        ("notify.targets.send = lambda *a, send=notify.targets.send: (send(*a), die())", 2),
    ],
)
def test_a_kill_loses_no_alert(folder, http, patch, copies, in_process):
    killed = start(folder, http, patch)
    killed.communicate(timeout=PATIENCE)
    assert killed.returncode == -signal.SIGKILL
    for _ in range(2):
        update(folder, [ALERT], http.url)
    assert len(http.posts) == copies
    assert len(set(http.subjects)) == 1
    assert not waiting(folder)


def test_two_processes_at_once_send_an_alert_once(folder, http):
    both = [start(folder, http) for _ in range(2)]
    assert [one.communicate(timeout=PATIENCE) and one.returncode for one in both] == [0, 0]
    assert len(http.posts) == 1


def test_a_process_that_keeps_the_lock_is_named_by_the_lock(folder, monkeypatch):
    from acceptance.core import state_files

    monkeypatch.setattr(notify, "PATIENCE", 0.1)
    with (
        state_files.locked(folder / "lock", 1),
        pytest.raises(notify.AlertFault, match="alerts/lock: another process"),
    ):
        update(folder, [ALERT])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"form": 2}',
        '{"form": 1, "serial": 1, "open": [{"alert": {}}]}',
        '{"form": 1, "serial": 1, "open": [], "waiting": [{"target": "hook"}]}',
        '{"form": 1, "serial": 1, "open": [], "waiting": 3}',
        "\xff",
    ],
)
def test_a_malformed_state_is_kept_aside_and_alerts_are_sent(folder, http, in_process, text):
    folder.mkdir(parents=True)
    (folder / "state.json").write_bytes(text.encode("latin-1"))
    outcome = update(folder, [ALERT], http.url)
    assert len(http.posts) == 1
    (note,) = outcome.notes
    assert f"{folder}/state.json: malformed" in note
    assert (folder / "state.json.malformed-1").read_bytes() == text.encode("latin-1")
    assert update(folder, [ALERT], http.url).notes == []
    assert len(http.posts) == 1


# ---- undelivered messages that release 0.1 left in files of their own


@pytest.mark.parametrize("state", [None, "lost"])
def test_a_spool_without_its_state_is_sent(folder, http, in_process, state):
    spool(folder, 7, "hook", "kept")
    if state is not None:
        (folder / "state.json").write_text(state)
    assert [message.subject for message in waiting(folder)] == ["kept"]
    for _ in range(2):
        update(folder, [], f"hook={http.url}")
    assert http.subjects == ["kept"]
    assert not list((folder / "spool").iterdir())


def test_a_spool_is_sent_in_its_order_up_to_the_message_that_its_state_knows(
    folder, http, in_process
):
    update(folder, [ALERT])
    state = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps({**state, "serial": 2}))
    for serial in (3, 2, 1):
        spool(folder, serial, "hook", f"message {serial}")
    spool(folder, 1, "gone")
    outcome = update(folder, [ALERT], f"hook={http.url}")
    assert [subject.split()[:2] for subject in http.subjects] == [
        ["message", "1"],
        ["message", "2"],
        ["1", "regression"],
    ]
    assert outcome.notes[0].startswith("1 kept for target gone, which is not configured")
    assert [message.target for message in waiting(folder)] == ["gone"]


@pytest.mark.parametrize("patch", ["state.old_spool.clear = die", "state.write = die"])
def test_a_kill_while_a_spool_is_read_sends_its_messages_once(folder, http, patch, in_process):
    spool(folder, 1, "hook", "kept")
    spool(folder, 2, "hook", "kept, too")
    killed = start(folder, http, patch)
    killed.communicate(timeout=PATIENCE)
    assert killed.returncode == -signal.SIGKILL
    assert sorted(path.name[:8] for path in folder.glob("spool/*")) == ["00000001", "00000002"]
    for _ in range(2):
        update(folder, [ALERT], f"hook={http.url}")
    assert http.subjects[:2] == ["kept", "kept, too"]
    assert not [subject for subject in http.subjects[2:] if "kept" in subject]


def test_a_malformed_message_is_kept_aside_and_the_others_are_sent(folder, http, in_process):
    spool(folder, 2, "hook")
    (folder / "spool/00000000-bad.json").write_text("{")
    (folder / "spool/00000001-other.json").write_text('{"serial": 1}')
    outcome = update(folder, [], f"hook={http.url}")
    assert len(http.posts) == 1
    assert len(outcome.notes) == 2
    assert "00000000-bad.json.malformed-1" in outcome.notes[0]
    assert len(list((folder / "spool").glob("*.malformed-1"))) == 2


def test_malformed_acknowledgements_silence_nothing(folder, http, in_process):
    folder.mkdir(parents=True)
    (folder / "acks.json").write_text('[{"what": "3fa2c1"}]')
    outcome = update(folder, [ALERT], http.url)
    assert len(http.posts) == 1
    assert "acks.json: malformed" in outcome.notes[0]
    assert "nothing counts as acknowledged" in outcome.notes[0]


def test_a_path_that_is_no_folder_is_a_fault(tmp_path):
    (tmp_path / "alerts").write_text("")
    with pytest.raises(notify.AlertFault, match=r"alerts/lock: cannot be written"):
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


def test_no_secret_is_printed_stored_or_raised(site, tmp_path, http, in_process):
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
    assert [failure.why for failure in outcome.failures] == [
        "connection refused",
        "apprise does not understand its URL",
        "answered 401 (Unauthorized)",
    ]
    assert len(outcome.notes) == 3
    texts = [repr(to), repr(outcome), *outcome.lines(), json.dumps(outcome.as_data())]
    for command, status in ((["--test"], 1), (["--send"], 1), (["--format", "json"], 0), ([], 0)):
        result = site.run("acceptance", "alerts", *command, **environment)
        assert result.status == status, command
        texts += [result.output, result.errors]
    texts.append(stored_text(folder))
    assert "answered 401 (Unauthorized)" in texts[-1]
    for text in texts:
        assert PASSWORD.lower() not in text.lower()


def test_what_apprise_logs_is_not_printed(http, capfd):
    http.status = 500
    why = targets.send(targets.Target("x", http.url), "s", "b")
    assert why == "answered 500 (Internal Server Error)"
    assert capfd.readouterr() == ("", "")


def test_apprise_is_imported_by_the_process_that_sends_alone():
    done = subprocess.run(
        [sys.executable, "-c", "import sys, acceptance.cli.main; print(*sys.modules)"],
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


def test_the_command_lists_tests_sends_and_forgets(site, http, in_process):
    environment = {"ACCEPTANCE_ALERTS": f"hook={http.url}", "XDG_CONFIG_HOME": str(site.folder)}
    empty = site.acceptance("alerts", **environment)
    assert (empty.status, empty.output) == (0, "no alert is open\ntargets: hook\n")
    http.status = 500
    folder = site.var / "alerts"
    update(folder, [ALERT], f"hook={http.url}")
    listed = site.acceptance("alerts", **environment)
    assert f"3fa2c1  {ALERT.line}\n    waits for hook\n" in listed.output
    assert "waits for hook, " in listed.output
    assert site.acceptance("alerts", "--test", **environment).output == (
        "hook: FAILED: answered 500 (Internal Server Error)\n"
    )
    http.status = 200
    tested = site.acceptance("alerts", "--test", **environment)
    assert (tested.status, tested.output) == (0, "hook: ok\n")
    sent = site.acceptance("alerts", "--send", **environment)
    assert (sent.status, sent.output) == (0, "sent to hook: 1\n")
    listed = site.acceptance("alerts", **environment)
    assert f"3fa2c1  {ALERT.line}\n    sent 2026-11-21 to hook\n" in listed.output
    assert [subject.split()[0] for subject in http.subjects] == ["Test", "1"]
    data = site.acceptance("alerts", "--format", "json", **environment).data
    assert (data["open"][0]["id"], data["waiting"], data["targets"]) == ("3fa2c1", [], ["hook"])
    spool(folder, 0, "old")
    assert site.acceptance("alerts", "--forget", "old").output.startswith("1 dropped")


def test_a_test_without_targets_says_how_to_name_them(site):
    result = site.acceptance("alerts", "--test", XDG_CONFIG_HOME=str(site.folder))
    assert result.status == 2
    assert f"write them to {site.folder}/acceptance/alerts" in result.errors

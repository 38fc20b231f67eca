"""Secrets stand in no output, state or program: canaries in all that is secret, at each reader."""

import logging
import os
import subprocess

import pytest

from acceptance.alerts import targets
from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.paths import SECRETS
from acceptance.core.text import bare_url
from acceptance.machine import spack
from acceptance.rfm.environment import clean_environment
from acceptance.verdict import telemetry
from tests import endpoints, made
from tests.alerted import ALERT, update
from tests.places import ROOT

CANARY = "Kanarie-4711-vogel"


@pytest.fixture
def secrets(tmp_path):
    """Return an environment in which all that is secret has the canary, and nothing answers."""
    closed = f"127.0.0.1:{endpoints.closed()}"
    file = tmp_path / "targets"
    file.write_text(f"chat = json://user:{CANARY}@{closed}/{CANARY}?token={CANARY}\n{CANARY}\n")
    file.chmod(0o600)
    return {
        "ACCEPTANCE_ALERTS": f"json://user:{CANARY}@{closed}/{CANARY} slack://{CANARY} {CANARY}",
        "ACCEPTANCE_ALERTS_FILE": str(file),
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://user:{CANARY}@{closed}/p?token={CANARY}",
        **{name: f"authorization={CANARY}" for name in SECRETS if name.startswith("OTEL_")},
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
        "SPACK_MIRROR": f"https://user:{CANARY}@{closed}/mirror?sig={CANARY}",
    }


#: Each command that reads what is secret, or what is around it, and whether it fails.
COMMANDS = [
    ("alerts",), ("alerts", "--format", "json"), ("alerts", "--test"), ("alerts", "--send"),
    ("alerts", "ack"), ("gate", "--send"), ("gate", "--format", "json"), ("doctor",),
    ("export", "prometheus"), ("export", "otel"), ("--help",), ("alerts", "--help"),
    ("export", "--help"),
]  # fmt: skip


def test_no_command_prints_or_stores_a_secret(site, secrets):
    site.var.mkdir()
    made.Database(site.database).add([made.Case(metrics={"latency_8": (1.0, "us")})])
    update(site.var / "alerts", [ALERT])
    said = {}
    for words in COMMANDS:
        named = ("--db", site.database) if words[:2] == ("export", "otel") else ()
        done = site.acceptance(*words, *named, **secrets)
        said[words] = done.output + done.errors
        assert CANARY.lower() not in said[words].lower(), words
    assert "FAILED: did not take it" in said["alerts", "--test"]
    assert "did not take the" in said["export", "otel"]
    files = [path for path in site.folder.rglob("*") if path.is_file()]
    assert len(files) > 5
    leaking = [path for path in files if CANARY.encode() in path.read_bytes()]
    assert leaking == [site.folder / "targets"] * (site.folder / "targets").exists()


def test_targets_show_no_url(secrets):
    to = targets.load({name: secrets[name] for name in secrets if name.startswith("ACCEPT")})
    assert len(to.targets) == 3
    assert CANARY not in f"{to!r} {to} {to.targets[0]}" + "".join(to.notes)


def test_no_program_inherits_a_secret(secrets, monkeypatch):
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    shown = machine.run(["env"], 10).out + machine.run(["env"], 10, env=dict(os.environ)).out
    assert "SPACK_MIRROR" in shown
    assert not [name for name in SECRETS if f"{name}=" in shown or name in clean_environment()]


def test_the_reframe_of_the_clone_inherits_no_secret(tmp_path, secrets):
    (tmp_path / "utils/bin").mkdir(parents=True)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    wrapper = tmp_path / "utils/bin/reframe"
    wrapper.write_bytes((ROOT / "utils/bin/reframe").read_bytes())
    program = tmp_path / ".venv/bin/reframe"
    program.write_text("#!/bin/sh\nenv\numask\n")
    program.chmod(0o755)
    for mask, wanted in (("000", "0022"), ("002", "0002"), ("022", "0022"), ("077", "0077")):
        done = subprocess.run(
            ["sh", "-c", f"umask {mask}; exec sh {wrapper}"], capture_output=True, text=True,
            env={**os.environ, **secrets}, check=True,
        )  # fmt: skip
        assert not [name for name in SECRETS if f"{name}=" in done.stdout]
        assert done.stdout.splitlines()[-1] == wanted


def test_a_mirror_with_a_password_is_refused(secrets, monkeypatch):
    with pytest.raises(Fault, match=r"a user, a password or a query") as refused:
        spack._mirrors(secrets["SPACK_MIRROR"])
    assert CANARY not in str(refused.value)
    known = spack._mirrors("https://mirror.example.org/spack")
    assert known["site"]["url"] == "https://mirror.example.org/spack"


def test_of_what_an_exporter_logs_the_reason_alone_is_kept():
    log = telemetry._Why()
    for text, why in (
        (f"url: /p?token={CANARY} (Caused by [Errno 111] Connection refused: {CANARY})",
         " ([Errno 111] Connection refused)"),
        (f"Failed to export metrics batch code: 401, reason: {CANARY}", " (code: 401)"),
    ):  # fmt: skip
        log.emit(logging.makeLogRecord({"msg": text}))
        assert log.why == why


@pytest.mark.parametrize(
    ("url", "bare"),
    [
        ("https://user:secret@host:1/a/b?token=x#y", "https://host:1/a/b"),
        ("http://host", "http://host"),
        ("http://host?token=x", "http://host"),
        ("https://a@b:c@host/@d", "https://host/@d"),
        ("", ""),
    ],
)
def test_a_url_without_what_may_be_secret(url, bare):
    assert bare_url(url) == bare

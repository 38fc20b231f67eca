"""The verdict on a terminal, and what it says of a database that is damaged."""

import random

import pytest

from acceptance.cli.shared import painter
from acceptance.rfm import configuration
from acceptance.verdict import Status
from tests import made
from tests.places import ROOT
from tests.terminal import on_terminal

RED = "VERDICT: \x1b[1;31mFAIL\x1b[0m, 1 problem"


@pytest.mark.parametrize(
    ("variables", "last"),
    [
        ({}, RED),
        ({"NO_COLOR": ""}, RED),
        ({"NO_COLOR": "1"}, "VERDICT: FAIL, 1 problem"),
        ({"TERM": "dumb"}, "VERDICT: FAIL, 1 problem"),
    ],
)
def test_the_word_of_the_verdict_is_coloured_on_a_terminal(site, variables, last):
    environment = {"TERM": "xterm", **site.variables(**variables)}
    environment |= variables
    status, shown = on_terminal(["acceptance", "gate"], environment)
    assert (status, shown.splitlines()[-1]) == (1, last)


def test_nothing_else_is_coloured(site):
    result = site.run("acceptance", "gate", TERM="xterm")
    assert result.output.splitlines()[-1] == "VERDICT: FAIL, 1 problem"
    assert (
        "\x1b" not in on_terminal(["acceptance", "gate", "--format", "json"], site.variables())[1]
    )


def test_each_status_has_a_colour(monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert len({painter()(status, "word") for status in Status}) == len(Status)


def test_a_page_that_is_damaged_is_told_once_with_what_can_be_read(site, tmp_path):
    path = tmp_path / "results.db"
    made.nights(path, 12, cases=8).connection.close()
    data, size = path.read_bytes(), 4096
    at = 18 * size  # in the middle of a session
    path.write_bytes(data[:at] + random.Random(1).randbytes(size) + data[at + size :])
    status, verdict = site.gate("--db", path)
    (problem,) = verdict["problems"]
    assert (status, problem["kind"]) == (2, "unreadable-database")
    assert "malformed; 11 of 12 sessions can be read, not: 00000003-" in problem["text"]


def test_a_gate_executes_the_configuration_once(site, monkeypatch):
    files = (f"-cchecks/{name}.py" for name in ("fabric", "fabric_routes", "nodes"))
    assert "Ran " in site.reframe(*files, "-r", "-S", "mode=smoke").output
    executed, execute = [], configuration.names_in

    def counted(path):
        executed.append(path)
        return execute(path)

    monkeypatch.setattr(configuration, "names_in", counted)
    _, verdict = site.gate()
    assert verdict["session"]
    settings = ROOT / "config/settings.py"
    assert [path for path in executed if path == settings] == [settings]

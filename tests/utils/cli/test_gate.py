"""The verdict on a terminal."""

import pytest

from acceptance.cli.output import painter
from acceptance.verdict import Status
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

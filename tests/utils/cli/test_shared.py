"""`cli/shared.py`: what a terminal is shown, whatever names, reasons and outputs have in them."""

import io

import pytest

from acceptance.cli.shared import Shown
from tests.alerted import ALERT, update

#: Clears the screen, goes back to the first column, rings, and turns the direction round.
CODES = "a\x1b[2Jb\rc\x07d\u202ee"
SPELT = r"a\x1b[2Jb\rc\x07d\u202ee"


class Terminal(io.StringIO):
    """A terminal that remembers."""

    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_codes_of_terminals_are_spelt_out(stream):
    shown = Shown(stream())
    assert shown.write(f"{CODES}\n\tx\n") == len(CODES) + 4
    assert shown.getvalue() == f"{SPELT}\n\tx\n"


@pytest.mark.parametrize(
    ("stream", "shown"),
    [(Terminal, "\x1b[1;31mFAIL\x1b[0m\\x1b[5m"), (io.StringIO, "\\x1b[1;31mFAIL\\x1b[0m\\x1b[5m")],
)
def test_our_own_colours_reach_a_terminal_alone(stream, shown):
    seen = Shown(stream())
    seen.write("\x1b[1;31mFAIL\x1b[0m\x1b[5m")
    assert seen.getvalue() == shown


def test_no_command_prints_codes(site):
    update(site.var / "alerts", [ALERT])
    refused = site.acceptance("alerts", "ack", CODES, "--reason", "r", "--until", "2126-01-01")
    assert refused.status == 2
    done = site.acceptance(
        "alerts", "ack", "*latency_8", "--reason", CODES, "--until", "2126-11-30"
    )
    wrong = site.acceptance("references", "limits", CODES)
    unknown = site.acceptance("gate", CODES)
    for result in (refused, done, wrong, unknown):
        assert result.status == 2
        assert "\x1b" not in result.errors + result.output
    assert SPELT in unknown.errors

"""The form of a line of a log, from the format strings that sites write."""

import time

import pytest

from acceptance.core.paths import LOG_FORMAT, LogFiles
from acceptance.rfm import run_log
from acceptance.rfm.log_format import LogFormatFault, line_form

#: ReFrame's own default, and what its tutorials and sites write.
DEFAULT = "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s"
FORMATS = [
    (LOG_FORMAT, "%FT%T.%f"),
    (DEFAULT, "%FT%T.%f"),
    (DEFAULT, "%FT%T%:z"),
    ("%(asctime)s|%(levelname)-8s|%(name)s|%(process)6d|%(message)s", "%Y-%m-%d %H:%M:%S"),
    ("100%% %(levelname)s %(asctime)s (%(hostname)s) %(message)s", "%d/%b/%Y %T"),
    ("%(message)s <%(levelname)s %(asctime)s pid=%(process)d>", "%j %y %R"),
]
#: What ReFrame logs of a run: level, message.
MESSAGES = [
    ("info", "[ReFrame Setup]"),
    ("info", "  command:           'reframe -r --session-extras run=night'"),
    ("warning", "WARNING: skipping test 'x': [a|b] (2026)"),
    ("info", "[ PASSED ] Ran 2/2 test case(s) from 2 check(s) (0 failure(s), 0 skipped)"),
    ("info", "Current session stored with UUID: 1234"),
]


def lines(text, datefmt, messages=MESSAGES, process=7):
    """Write messages as ReFrame does."""
    for code, parts in {"%:z": "+01:00", "%F": "%Y-%m-%d", "%T": "%H:%M:%S"}.items():
        datefmt = datefmt.replace(code, parts)
    clock = time.strptime("2026-11-22 03", "%Y-%m-%d %H")
    fields = {
        "asctime": time.strftime(datefmt.replace("%f", "123456"), clock),
        "process": process,
        "name": "reframe",
        "check_info": "a:b c",
        "hostname": "node-1",
    }
    return "".join(
        f"{text % {**fields, 'levelname': level, 'message': message}}\n"
        for level, message in messages
    )


@pytest.mark.parametrize(("text", "datefmt"), FORMATS)
def test_a_run_is_read_from_a_log_of_any_format(tmp_path, text, datefmt):
    (tmp_path / "site.log").write_text(lines(text, datefmt))
    (run,) = run_log.runs(LogFiles(tmp_path, "site.log", text, datefmt))
    assert run.label == "night"
    assert (run.ran, run.stored, run.ended) == ((2, 2), "1234", True)
    assert run.warnings == ["skipping test 'x': [a|b] (2026)"]
    assert run.last.startswith("2026-11-22T0")


@pytest.mark.parametrize("left", [1, 30, 55, 90])
def test_a_line_that_was_cut_off_hides_no_run_of_the_default_format(tmp_path, left):
    run = lines(DEFAULT, "%FT%T.%f")
    (tmp_path / "site.log").write_text(run[:left] + "\0" * 9 + run)
    newest = next(run_log.runs(LogFiles(tmp_path, "site.log", DEFAULT, "%FT%T.%f")))
    assert (newest.ran, newest.stored) == ((2, 2), "1234")


def test_two_runs_at_once_without_a_process_are_no_run_that_passed(tmp_path):
    first = lines(DEFAULT, "%FT%T.%f").splitlines(keepends=True)
    (tmp_path / "site.log").write_text("".join(first[:2] + first + first[3:]))
    newest = next(run_log.runs(LogFiles(tmp_path, "site.log", DEFAULT, "%FT%T.%f")))
    assert newest.errors == ["two runs wrote to this log at once, and its format has no process"]


@pytest.mark.parametrize(
    ("text", "datefmt", "lacking"),
    [
        ("%(message)s", "", "%(asctime)s, %(levelname)s"),
        ("%(asctime)s %(levelname)s", "", "%(message)s"),
        (DEFAULT, "%T", "does not say year, day"),
        (DEFAULT, "%s", "%s, which cannot be read back"),
    ],
)
def test_what_cannot_be_read_is_said(text, datefmt, lacking):
    with pytest.raises(LogFormatFault, match=lacking.replace("(", r"\(").replace(")", r"\)")):
        line_form(text, datefmt)

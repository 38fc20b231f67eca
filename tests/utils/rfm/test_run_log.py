"""ReFrame's log, also as it is after a disk was full or the power failed."""

import pytest

from acceptance.rfm import run_log

RUN = """\
2026-11-21T22:00:0{0}.1+0000|{0}|info|[ReFrame Setup]
2026-11-21T22:00:0{0}.2+0000|{0}|info|  command:    'reframe -r --session-extras run=night{0}'
2026-11-21T22:00:0{0}.3+0000|{0}|info|Ran 2/2 test case(s) from 2 check(s) (0 failure(s), 0 skipped)
2026-11-21T22:00:0{0}.4+0000|{0}|info|Current session stored with UUID: uuid{0}
"""


@pytest.mark.parametrize("left", [0, 1, 20, 30, 60, 150], ids=str)
@pytest.mark.parametrize("zeros", ["", "\0" * 40])
def test_a_line_that_was_cut_off_does_not_hide_the_next_run(tmp_path, left, zeros):
    (tmp_path / "reframe_2026-11-21.log").write_text(RUN.format(1)[:left] + zeros + RUN.format(2))
    newest = next(run_log.runs(tmp_path))
    assert (newest.label, newest.ran, newest.stored) == ("night2", (2, 2), "uuid2")


def test_what_checks_leave_out_is_a_remark_and_no_loss(tmp_path):
    lines = RUN.format(1).splitlines(keepends=True)
    told = "osu.py: mode smoke: 9 of 80 programs"
    lines[2:2] = [f"2026-11-21T22:00:01.2+0000|1|info|{run_log.LEFT_OUT}{told}\n",
                  f"2026-11-21T22:00:01.2+0000|1|info|{told}\n"]  # fmt: skip
    (tmp_path / "reframe_2026-11-21.log").write_text("".join(lines))
    run = next(run_log.runs(tmp_path))
    assert (run.remarks, run.losses) == ([told], [])


@pytest.mark.parametrize(
    ("changes", "ended"),
    [
        ({"ran": (2, 2), "stored": "1234"}, True),
        ({"ran": (0, 0)}, True),
        # Killed, or told to stop, while it stored its results.
        ({"ran": (2, 2)}, False),
        ({}, False),
        ({"ran": (2, 2), "stored": "1234", "errors": ["run session stopped: keyboard"]}, False),
    ],
)
def test_a_run_has_come_to_its_end_once_its_results_are_stored(changes, ended):
    assert run_log.LoggedRun("t", 1, **changes).ended == ended


@pytest.mark.parametrize(
    ("options", "filters"),
    [
        ("-n Ping", ["-n Ping"]),
        ("-nPing --exclude=Pong -r", ["-nPing", "--exclude=Pong"]),
        ("--name 'Ping Pong' --failed -S name=-n", ["--name 'Ping Pong'", "--failed"]),
        ("--restore-session=a.json --mode=maintenance", ["--restore-session=a.json",
                                                         "--mode=maintenance"]),
        ("--mode nightly -v --system a:b --max-retries 2 --tagged", []),
        ("--mode maintenance --cpu-only", ["--mode maintenance", "--cpu-only"]),
    ],
)  # fmt: skip
def test_options_that_narrow_the_selection(options, filters):
    run = run_log.LoggedRun("t", 1, {"command": repr(f"reframe -c checks {options}")})
    assert run.filters == filters

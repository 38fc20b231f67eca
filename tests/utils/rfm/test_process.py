"""ReFrame as a child: told to stop, given time, killed at last; and what it holds."""

import os
import signal
import subprocess

import pytest

from acceptance.rfm import process as children
from acceptance.rfm.process import Interrupted, ReframeProcess

#: Is ready, and when it is told to stop takes its time for a last thing.
STORES = (
    'trap "sleep 0.3; echo yes > stored; exit 7" TERM; touch ready; while :; do sleep 0.1; done'
)
DEAF = 'trap "" TERM; touch ready; while :; do sleep 0.1; done'


@pytest.fixture(autouse=True)
def handlers():
    """Give back to the tests the signals that a stopped child's process keeps."""
    before = {number: signal.getsignal(number) for number in children._STOPS}
    yield before
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def run(tmp_path):
    """Run a script as a child that gets signals once it is ready, one at each look."""

    def ran(child, script, *signals):
        left = list(signals)

        def meanwhile():
            if left and (tmp_path / "ready").exists():
                os.kill(os.getpid(), left.pop(0))

        with child.heeding(), (tmp_path / "out").open("wb") as out:
            return child.run(
                ["sh", "-c", script], cwd=tmp_path, env=os.environ, output=out, meanwhile=meanwhile
            )

    return ran


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_told_to_stop_it_tells_its_child_and_waits_for_it(run, tmp_path, number):
    child = ReframeProcess()
    # Twice at once, as a terminal that is closed does.
    assert run(child, STORES, number, number) == 7
    assert (tmp_path / "stored").exists()
    # A third one does not kill the process, which says how it ended.
    os.kill(os.getpid(), number)
    with pytest.raises(Interrupted, match=f"stopped by {number.name}"):
        child.check()


def test_not_told_to_stop_it_goes_on(run, handlers):
    child = ReframeProcess()
    assert run(child, "exit 3") == 3
    assert {number: signal.getsignal(number) for number in handlers} == handlers
    child.check()


def test_a_child_that_does_not_end_in_time_is_killed(run, monkeypatch):
    monkeypatch.setattr(children, "GRACE", 0.3)
    assert run(ReframeProcess(), DEAF, signal.SIGTERM) == -signal.SIGKILL


def test_told_again_later_it_kills_its_child(run, monkeypatch):
    monkeypatch.setattr(children, "TOGETHER", 0.0)
    assert run(ReframeProcess(), DEAF, signal.SIGINT, signal.SIGINT) == -signal.SIGKILL


def test_a_signal_that_comes_before_its_child_is_passed_on(run, tmp_path):
    child = ReframeProcess()
    with child.heeding():
        os.kill(os.getpid(), signal.SIGTERM)
        assert run(child, "sleep 9") == -signal.SIGTERM


@pytest.mark.parametrize(
    ("script", "said", "cancelled"),
    [
        ("echo no Slurm here >&2; exit 1", "Slurm cannot be asked for jobs of night: no Slurm", []),
        ("echo '7|/of/night/a'; echo '8|/of/nights/a'", "job 7 of night was still in the", ["7"]),
    ],
)
def test_jobs_that_a_run_left_are_cancelled_or_it_is_said_why_not(
    tmp_path, monkeypatch, script, said, cancelled
):
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    for name, text in {"squeue": script, "scancel": f'echo "$@" >> {tmp_path}/gone'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "gone").touch()
    (line,) = children.end_left_by("night")
    assert line.startswith(said)
    assert (tmp_path / "gone").read_text().split() == cancelled


def test_what_does_not_end_is_not_told_to_be_killed(tmp_path, monkeypatch):
    folder = tmp_path / "2026-11-26T230000-1"
    folder.mkdir()
    monkeypatch.setattr(children, "PATIENCE", 0.2)
    with subprocess.Popen(["sleep", "60"], cwd=folder) as left:
        # As one that waits for a file system that is away.
        with monkeypatch.context() as deaf:
            deaf.setattr(os, "kill", lambda *_: None)
            (said,) = children._end_processes(folder.name)
        assert said.endswith("was still there: does not end within 0.2 s")
        (said,) = children._end_processes(folder.name)
        assert said == f"process {left.pid} of {folder.name} was still there: killed"

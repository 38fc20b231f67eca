"""Which run ended last, by real runs that overlapped, and what becomes of their marks."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import time
from datetime import date, timedelta

import pytest

from acceptance.core import machine
from acceptance.rfm import last_run, marks, run_log
from acceptance.rfm.marks import runs_checks
from tests.campaigns import Held
from tests.conftest import ROOT, Site

#: It measures 5 us, waits where it is told to, and fails where it is told to.
CHECK = """
import os
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class Tiny(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = os.environ.get("DOES", "echo 5.0")

    @sanity_function
    def sane(self):
        return sn.assert_found(os.environ.get("FINDS", "5.0"), self.stdout)

    @performance_function("us")
    def latency(self):
        return sn.extractsingle(r"(5.0)", self.stdout, 1, float)
"""
WAITS = "touch {0}/on; until [ -e {0}/go ]; do sleep 0.1; done; echo 5.0"


def make(folder):
    """Make a site of the one check."""
    site = Site(folder)
    site.replay("")
    (folder / "checks").mkdir()
    (folder / "checks/tiny.py").write_text(CHECK)
    return site


def start(site, *options, **environment):
    words = ["reframe", "-c", str(site.folder / "checks"), "-r", *options]
    with (site.folder / "out").open("ab") as out:
        return subprocess.Popen(
            words, cwd=ROOT, env=site.variables(**environment), stdout=out, stderr=out
        )


def said(site, *options):
    status, verdict = site.gate(*options)
    return status, verdict["problems"][0]["text"] if verdict["problems"] else ""


@pytest.fixture(scope="module")
def overlapped(tmp_path_factory):
    """A site where run 1, which failed, began before run 2, which was good, and ended after it."""
    site = make(tmp_path_factory.mktemp("overlapped"))
    label = ("--session-extras", "run=x")
    failed = start(site, *label, DOES=WAITS.format(site.folder), FINDS="never")
    Held.wait_for((site.folder / "on").exists)
    assert start(site, *label).wait() == 0
    site.while_the_first_ran = said(site)
    (site.folder / "go").touch()
    assert failed.wait() == 1
    return site


@pytest.fixture
def runs(site, overlapped):
    site.take_over(overlapped)
    return site


def mark(site, number):
    path = site.var / f"runs/{number}.json"
    return path, json.loads(path.read_text())


def change(site, number, **fields):
    path, data = mark(site, number)
    path.write_text(json.dumps({**data, **fields}))


def lines(site, number):
    """Take the lines of a run from the log, and return them."""
    (log,) = (site.var / "log").glob("*.log")
    of_run = re.compile(rf"[^|]*\|{mark(site, number)[1]['process']}\|")
    text = log.read_text().splitlines(keepends=True)
    log.write_text("".join(line for line in text if not of_run.match(line)))
    return "".join(line for line in text if of_run.match(line))


#: Each run has folders of its own: the output of the one is still there.
FAILED = "Tiny @replay:default+recorded: fail in sanity: sanity error: pattern 'never' not found"


def test_a_run_that_began_first_and_ended_last_is_judged(runs, overlapped):
    status, message = overlapped.while_the_first_ran
    assert (status, "is under way (PID " in message) == (2, True)
    for options in ((), ("--run", "x")):
        status, message = said(runs, *options)
        assert (status, message[: len(FAILED)]) == (1, FAILED)
    ends = {number: mark(runs, number)[1]["ended"] for number in (1, 2)}
    assert ends == {1: 4, 2: 3}


def test_a_file_of_the_log_that_a_wrong_clock_has_named_does_not_count(runs):
    (log,) = (runs.var / "log").glob("*.log")
    for days in (1, 365):
        today = date.fromisoformat(log.stem[-10:])
        later = today + timedelta(days=days)
        good = lines(runs, 2)
        log.with_name(f"reframe_{later}.log").write_text(good.replace(str(today), str(later)))
        path, data = mark(runs, 2)
        change(runs, 2, began=data["began"].replace(str(today), str(later)))
        assert said(runs)[1].startswith(FAILED)
        log.with_name(f"reframe_{later}.log").unlink()
        log.write_text(log.read_text() + good)
        path.write_text(json.dumps(data))


def remove_lines(site):
    lines(site, 1)


def remove_end(site):
    change(site, 1, ended=0)


def remove_end_and_lines(site):
    lines(site, 1)
    change(site, 1, ended=0)


def run_elsewhere(site):
    change(site, 1, ended=0, host="login2", boot="another pid:[1]")


def start_machine_again(site):
    change(site, 1, ended=0, boot="another pid:[1]")


def go_on(site):
    change(site, 1, ended=0, process=os.getpid(), ticks=machine.ticks(os.getpid()))


def take_number_of_process(site):
    change(site, 1, ended=0, process=os.getpid(), ticks="1")


def damage_mark(site):
    mark(site, 1)[0].write_text("{")


def forbid_marks(site):
    shutil.rmtree(site.var / "runs")
    (site.var / "runs").write_text("")


@pytest.mark.parametrize(
    ("damage", "status", "words"),
    [
        (remove_lines, 2, "log has no line of run 1 (reframe -c "),
        (remove_end, 1, " never ended: it was killed"),
        (
            remove_end_and_lines,
            1,
            " never ended: it was killed, and nothing that it measured is stored",
        ),
        (run_elsewhere, 2, "on login2, has not ended, and whether it still runs cannot be seen"),
        (start_machine_again, 1, " never ended: it was killed"),
        (go_on, 2, " is under way (PID "),
        (take_number_of_process, 1, " never ended: it was killed"),
        (damage_mark, 2, "runs/1.json: no mark of a run"),
        (forbid_marks, 2, "a run that began since then left no mark there"),
    ],
)
def test_the_older_good_run_is_never_judged(runs, damage, status, words):
    damage(runs)
    found, message = said(runs)
    assert (found, words in message) == (status, True), message
    # By its label it is the same.
    assert said(runs, "--run", "x") == (found, message)


def test_without_marks_there_is_no_run(runs):
    shutil.rmtree(runs.var / "runs")
    status, message = said(runs)
    assert (status, "no run of ReFrame is recorded" in message) == (1, True)


def test_a_run_that_can_leave_no_mark_does_not_start(runs):
    forbid_marks(runs)
    done = runs.reframe("-c", runs.folder / "checks", "-r")
    assert done.status == 1
    assert "a run needs that for its mark, and does not start" in done.output + done.errors
    assert "Ran " not in done.output
    assert runs.reframe("-c", runs.folder / "checks", "-l").status == 0, "what is no run needs none"


def test_a_run_that_can_write_no_log_does_not_start_and_no_older_one_is_judged(runs):
    shutil.rmtree(runs.var / "log")
    (runs.var / "log").write_text("in the way")
    done = runs.reframe("-c", runs.folder / "checks", "-r")
    assert done.status == 1
    assert "a run needs that for its log, and does not start" in done.output + done.errors
    assert "Traceback" not in done.output + done.errors
    assert runs.acceptance("gate").status == 2


def test_a_run_that_is_killed_before_its_results_are_stored_fails(runs):
    """Nothing of it is a sample: a campaign measures its step again."""
    for name in ("on", "go"):
        (runs.folder / name).unlink()
    process = start(runs, DOES=WAITS.format(runs.folder))
    Held.wait_for((runs.folder / "on").exists)
    process.kill()
    process.wait()
    (runs.folder / "go").touch()  # for its job
    status, message = said(runs)
    lost = "it never ended: it was killed, and nothing that it measured is stored: run 5 ("
    assert (status, message.startswith(f"{lost}reframe -c ")) == (1, True)
    (series,) = runs.acceptance("history", "--format", "json").data
    assert len(series["samples"]) == 1, "that of run 2"


def test_a_run_that_is_killed_before_its_first_line_leaves_its_mark(runs):
    process = start(runs)
    Held.wait_for((runs.var / "runs/5.json").exists)
    process.kill()
    process.wait()
    status, message = said(runs)
    assert (status, "run 5 (reframe -c " in message) == (1, True)
    # What cannot write its log does not run.
    (log,) = (runs.var / "log").glob("*.log")
    text = log.read_text()
    log.unlink()
    log.mkdir()
    assert start(runs).wait() == 1
    gate = runs.acceptance("gate")
    assert (gate.status, f"{log}: cannot be read: " in gate.errors) == (2, True)
    log.rmdir()
    log.write_text(text)
    status, message = said(runs)
    assert (status, "has no line of run 7 " in message) == (2, True)
    assert mark(runs, 5)[1]["killed"]
    # What only tries the checks is no run.
    runs.reframe("-c", runs.folder / "checks", "--dry-run")
    assert said(runs) == (status, message)


def test_a_run_that_ended_before_it_left_a_mark_is_told_by_how_it_was_started(runs):
    """As env.sh has it: the program that starts ReFrame writes before Python is loaded."""
    path = f"{ROOT / 'utils/bin'}:{os.environ['PATH']}"
    killed = start(runs, PATH=path)
    Held.wait_for((runs.var / f"runs/{killed.pid}.started").exists)
    killed.kill()
    killed.wait()
    assert said(runs)[0] == 1
    # No option of ReFrame: it ends before it reads its configuration.
    refused = start(runs, "--no-such-option", PATH=path)
    assert refused.wait() == 2
    status, message = said(runs)
    assert (status, "a run (reframe -c " in message) == (1, True)
    assert "--no-such-option), which began at " in message
    assert message.startswith("it ended before it left a mark: a run (")
    # What runs nothing, or by another configuration, is none; a run takes the place of all.
    (runs.var / f"runs/{refused.pid}.started").unlink()
    before = said(runs)
    for words in (["-l"], ["-C", "no.py", "-r"]):
        run = ["reframe", *words]
        subprocess.run(run, cwd=ROOT, env=runs.variables(PATH=path), capture_output=True)
    assert said(runs) == before
    assert start(runs, PATH=path).wait() == 0
    assert said(runs) == (0, "")
    assert not [*runs.var.glob("runs/*.started")]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("-r", True),
        ("--run", True),
        ("--ru", True),
        ("-c checks -vr", True),
        ("-rv -n Foo", True),
        ("-Rrq", True),
        ("-l -tproduction", False),
        ("-l -nring", False),
        ("-c checks --dry-run --recursive --restore-session", False),
        ("--ci-generate=run.yml", False),
        ("-L", False),
    ],
)
def test_only_what_runs_checks_is_a_run(words, answer):
    assert runs_checks(words.split()) == answer


def test_marks_of_ended_runs_are_pruned_and_killed_ones_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(marks, "KEPT", 3)
    monkeypatch.setattr(marks.atexit, "register", lambda *_: None)
    for _ in range(6):  # none of them writes its end, and its process seems to be another one
        monkeypatch.setattr(marks, "_own", None)
        marks.begin(tmp_path, ["-r"])
        (newest,) = (mark for mark in marks.read(tmp_path) if not mark.ended)
        path = tmp_path / f"runs/{newest.number}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "ticks": "1"}))
    known = marks.read(tmp_path)
    assert [mark.number for mark in known] == [5, 7, 9, 11]
    assert [(mark.ended, mark.killed) for mark in known] == [
        *((6, True), (8, True), (10, True)),
        (0, False),
    ]
    monkeypatch.setattr(marks, "_own", None)
    assert marks.begin(tmp_path, ["-l"]) == 0
    assert marks.begin(tmp_path, ["-r"]) == 0, "a process is asked once"


def test_two_runs_that_were_granted_one_lock_leave_a_mark_each(tmp_path, monkeypatch):
    """So do NFS without its lock daemon, and Lustre with `localflock`."""
    monkeypatch.setattr(marks.state_files, "locked", lambda *_: contextlib.nullcontext())
    number, others = marks._next, []

    def overtaken(*arguments):
        """Let the other run leave its mark after this one has got its number."""
        found = number(*arguments)
        if not others:
            others.append("other")
            begin("other")
        return found

    def begin(label):
        monkeypatch.setattr(marks, "_own", None)
        marks.begin(tmp_path, ["-r", "--session-extras", f"run={label}"])

    monkeypatch.setattr(marks, "_next", overtaken)
    monkeypatch.setattr(marks.atexit, "register", lambda *_: None)
    begin("mine")
    assert [mark.label for mark in marks.read(tmp_path)] == ["other", "mine"]
    assert [path.name for path in (tmp_path / "runs").glob("*.part")] == []


def test_without_hard_links_a_mark_is_left_all_the_same(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(marks.state_files.os, "link", refuse)
    monkeypatch.setattr(marks, "_own", None)
    monkeypatch.setattr(marks.atexit, "register", lambda *_: None)
    number = marks.begin(tmp_path, ["-r"])
    assert [mark.number for mark in marks.read(tmp_path)] == [number]


@pytest.mark.parametrize(
    ("began", "line", "fits"),
    [
        ("2026-10-25T02:59:58+02:00", "2026-10-25T02:00:11.089", True),
        ("2026-10-25T02:59:58+02:00", "2026-10-25T03:00:01.000", True),
        ("2027-03-28T01:59:57+01:00", "2027-03-28T03:00:05.000", True),
        ("2026-10-25T01:30:00+02:00", "2026-10-25T01:30:09.000", True),
        ("2026-10-25T12:00:00+01:00", "2026-10-25T11:00:09.000", False),
        ("2026-10-25T12:00:00+01:00", "2026-10-25T13:00:09.000", False),
    ],
)
def test_the_log_of_a_run_is_found_though_daylight_saving_ends_or_begins(
    monkeypatch, began, line, fits
):
    mark = marks.Mark(3, began, ["-r"], "host", "boot", 7, "1")
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        found = last_run._mark_of(run_log.LoggedRun(line, 7), [mark])
    time.tzset()
    assert (found is mark) == fits


def test_where_only_empty_files_find_room_no_older_run_is_taken_for_the_last_one(
    tmp_path, monkeypatch
):
    (tmp_path / "runs").mkdir()

    def write_text(path, text, **_):
        if text:
            raise marks.StoredFault(f"{path}: cannot be written: No space left on device")
        path.touch()

    monkeypatch.setattr(marks.state_files, "write_text", write_text)
    with pytest.raises(marks.StoredFault, match="a run that began since then left no mark"):
        marks.read(tmp_path)

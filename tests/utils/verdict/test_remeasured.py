"""`verdict/remeasured.py`: what is undecided is measured again, round after round."""

import fcntl
import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time

import pytest

from acceptance.detection.constants import AGAIN_FEWEST, LOOKS
from acceptance.ledger import Session
from acceptance.regressions import judge
from acceptance.rfm import LoggedRun, run_log
from acceptance.verdict import Evidence, Nodes, Repetition, Run, Status, SuiteUse, Verdict
from acceptance.verdict.conclude import judge_whole
from acceptance.verdict.remeasured import add, command, measure_again, own_options, suspects
from tests import made
from tests import stored as results
from tests.campaigns import Held
from tests.conftest import DATA, Site
from tests.places import REFERENCE, workspace
from tests.stored import opened

LATENCY = ("-S", "validate=no", "-n", "OsuBenchmark%benchmark=latency%.*intra-node")


@pytest.fixture(scope="module")
def nights_before(tmp_path_factory):
    """A site with twenty nights as ever, whose program is now five times as slow."""
    site = Site(tmp_path_factory.mktemp("nights"))
    text = (DATA / "osu/osu_latency.openmpi.txt").read_text()
    script = site.replay(text, "osu_latency", "osu")
    script.write_text(
        f'#!/bin/sh\ncd {site.folder}; echo "$*" >> runs.txt\n'
        # It holds from the second run on until `go` is there.
        'while [ -e hold ] && [ ! -e go ] && [ "$(wc -l < runs.txt)" -gt 1 ]; do sleep 0.05; done\n'
        "awk -v f=$(cat factor) "
        "'/^[0-9]/ { printf \"%-8s%20.2f\\n\", $1, $2 * f + 10; next } 1' output.txt\n"
    )
    system = site.folder / "site.py"
    system.write_text(system.read_text().replace('"nodes": 2', '"nodes": 1'))
    (site.folder / "factor").write_text("1")
    assert site.reframe("-c", "checks/osu.py", "-r", *LATENCY).status == 0
    with sqlite3.connect(site.database) as connection:
        (blob,) = connection.execute("SELECT json_blob FROM sessions").fetchone()
        connection.execute("DELETE FROM sessions")
        for night in range(20):
            earlier(connection, json.loads(blob), night, 20 - night)
    (site.folder / "factor").write_text("5")
    (site.folder / "runs.txt").unlink()
    return site


@pytest.fixture
def suspicious(site, nights_before):
    site.take_over(nights_before)
    return site


def earlier(connection, report, night, days):
    """Store a session as if it had been so many days ago, with a little noise."""
    info, ago = report["session_info"], days * 86400
    info["uuid"] = f"{night:08x}-0000-4000-8000-000000000000"
    for key in ("time_start_unix", "time_end_unix"):
        info[key] -= ago
    for case in report["runs"][0]["testcases"]:
        case["job_completion_time_unix"] -= ago
        for values in case["perfvalues"].values():
            values[0] *= 1 + night % 3 / 500
    times = info["time_start_unix"], info["time_end_unix"]
    connection.execute(
        "INSERT INTO sessions VALUES(?, ?, ?, ?, ?)",
        (info["uuid"], *times, json.dumps(report), None),
    )


def ran(site):
    path = site.folder / "runs.txt"
    return path.read_text().splitlines() if path.exists() else []


def test_what_looks_worse_is_measured_again_until_it_is_decided(suspicious):
    tonight = ("-c", "checks/osu.py", "-r", *LATENCY, "--session-extras", "run=tonight")
    assert suspicious.reframe(*tonight).status == 0
    unsure = suspicious.gate("--run", "tonight")
    assert (unsure[0], unsure[1]["alerts"]) == (0, [])
    status, verdict = suspicious.gate("--run", "tonight", "--again", "6")
    assert status == 1
    (alert,) = verdict["alerts"]
    assert " % worse since " in alert["finding"]["text"]
    rounds = len(ran(suspicious)) - 1
    assert 1 < rounds < 6
    assert any(f"measured again, {rounds} times in all: Osu" in note for note in verdict["notes"])
    assert not any("cannot tell" in note for note in verdict["notes"])
    assert len(set(ran(suspicious))) == 1  # the same arguments
    # The last repetition is part of that run, and no run of its own.
    status, again = suspicious.gate()
    assert (status, again["session"]) == (1, verdict["session"])
    assert [each["id"] for each in again["alerts"]] == [alert["id"]]
    # The raw output of each repetition is kept.
    assert len(list(suspicious.var.glob("output/*.again*/**/rfm_job.out"))) == rounds


def test_what_was_slow_once_is_measured_again_until_nothing_is_suspected(suspicious):
    assert suspicious.reframe("-c", "checks/osu.py", "-r", *LATENCY).status == 0
    (suspicious.folder / "factor").write_text("1")
    status, verdict = suspicious.gate("--again", "6")
    assert (status, verdict["alerts"]) == (0, [])
    # One good repetition takes nothing back.
    assert AGAIN_FEWEST <= len(ran(suspicious)) - 1 < 6


def test_what_no_round_decided_is_told(suspicious):
    assert suspicious.reframe("-c", "checks/osu.py", "-r", *LATENCY).status == 0
    told = "cannot tell at this cost, after 1 round: OsuBenchmark %benchmark=latency"
    again = "measured again, 1 time in all: OsuBenchmark"
    _, verdict = suspicious.gate("--again", "1")
    assert any(note.startswith(told) for note in verdict["notes"])
    # Without rounds nothing more is measured, and what was is judged.
    _, later = suspicious.gate("--again", "0")
    assert len(ran(suspicious)) == 2
    for notes in (verdict["notes"], later["notes"]):
        assert any(note.startswith(again) for note in notes)
    # More rounds go on from there.
    assert suspicious.gate("--again", "6")[0] == 1
    labels = {path.name for path in suspicious.var.glob("output/*.again*")}
    assert len(labels) == len(ran(suspicious)) - 1 > 1


def test_a_case_that_failed_once_by_its_reference_passes_by_all_of_its_runs(site, tmp_path):
    text = (DATA / "osu/osu_latency.openmpi.txt").read_text()
    (value,) = re.findall(r"^8 +(\S+)", text, re.M)
    script = site.replay(text, "osu_latency", "osu")
    script.write_text(
        f"#!/bin/sh\ncd {site.folder}; echo x >> runs.txt\n"
        'f=1; [ "$(wc -l < runs.txt)" -gt 1 ] || f=2\n'
        f"awk -v f=$f '/^8 / {{ printf \"%-8s%20.2f\\n\", $1, $2 * f; next }} 1' output.txt\n"
    )
    references = shutil.copytree(REFERENCE, tmp_path / "reference")
    (references / "sites").mkdir(exist_ok=True)
    (references / "sites/replay.csv").write_text(
        "where,system,partition,benchmark,metric,parameters,relation,value,unit,printed,note\n"
        f"session of 2026-11-01,replay,default,osu.latency,latency,np=2;message_size=8,=,"
        f"{value},us,{value},\n"
    )
    site.environment["ACCEPTANCE_REFERENCE"] = str(references)
    assert site.reframe("-c", "checks/osu.py", "-r", *LATENCY).status == 1
    status, verdict = site.gate()
    assert (status, verdict["failed"], len(verdict["problems"])) == (1, 1, 1)
    assert any("1 case near a limit" in note for note in verdict["notes"])
    status, verdict = site.gate("--again", "9")
    assert (status, verdict["problems"], verdict["alerts"]) == (0, [], [])
    assert (verdict["passed"], verdict["failed"], verdict["selected"]) == (1, 0, 1)
    runs = len(ran(site))
    assert 1 < runs <= LOOKS
    told = f"failed in 1 of {runs} runs; typically latency_8 is"
    assert any(told in note and "passes, at error 1%" in note for note in verdict["notes"])
    # What was decided once is not measured again.
    assert site.gate("--again", "9")[0] == 0
    assert len(ran(site)) == runs


def test_the_night_measures_again_too(suspicious):
    done = suspicious.acceptance("nightly", "--no-alerts", "--again", "6", "--", *LATENCY)
    assert done.status == 1, done.output
    rounds = len(ran(suspicious)) - 1
    assert f"measured again, {rounds} times in all: OsuBenchmark %benchmark=latency" in done.output
    assert "worse since" in done.output
    assert 1 < rounds < 6


def test_a_night_killed_while_it_measures_again_is_locked_until_reframe_has_stored_it(suspicious):
    (suspicious.folder / "hold").touch()
    words = ("acceptance", "nightly", "--no-alerts", "--again", "2", "--", *LATENCY)
    process = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=suspicious.variables()
    )
    try:
        Held.wait_for(lambda: len(ran(suspicious)) == 2 or process.poll() is not None)
    finally:
        process.kill()
        process.wait()
    # The ReFrame that measures again is told when its parent dies, and ends.
    with (suspicious.var / "campaigns/lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    last = results.session(suspicious.database)
    assert last.label.endswith(".again1")
    assert last.aborted == 1


def test_measuring_again_requires_a_number(site):
    done = site.acceptance("gate", "--again", "twice")
    assert done.status == 2
    assert "'twice' is no whole number above 0" in done.errors


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "reframe -c checks -r -n Ping --session-extras run=7 --mode=nightly",
            "-c checks -r --mode=nightly -n ^A%b=1$ --session-extras run=x --timestamp=x --quiet",
        ),
        (
            "reframe --name=Ping -nPong -r --timestamp=7 --session-extras=run=7 -S 'A.b=1 2'",
            "-r -S 'A.b=1 2' -n ^A%b=1$ --session-extras run=x --timestamp=x --quiet",
        ),
    ],
)
def test_a_repetition_has_the_options_of_the_run_and_the_cases_in_question(words, expected):
    assert [*command(shlex.split(words)), *own_options(["A %b=1"], "x")] == shlex.split(expected)


def test_a_suspicion_of_another_night_is_not_measured_again(tmp_path):
    database = made.Database(tmp_path / "results.db")
    for night in range(20):
        database.add([made.one_night(night, 0)])
    worse = made.one_night(20, 0, lambda *_: 3.0)
    uuid = database.add([worse])
    database.add([made.one_night(21, 1)])
    judgement = judge.for_gate(opened(tmp_path / "results.db"), REFERENCE)
    assert {one.case.key.check for one in judgement.suspected} == {worse.name}
    assert suspects(judgement.suspected, judgement.newest) == {}
    database.connection.execute("DELETE FROM sessions WHERE rowid = 22")
    database.connection.commit()
    judgement = judge.for_gate(opened(tmp_path / "results.db"), REFERENCE)
    assert suspects(judgement.suspected, judgement.newest) == {uuid: [worse.name]}


def test_what_measures_again_holds_the_lock_and_works_where_the_run_did(
    tmp_path, monkeypatch, capfd
):
    program = tmp_path / "bin/reframe"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nreadlink /proc/$$/fd/*\necho in $(pwd)\necho reframe $*\n")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python"))
    words = ["reframe", "-c", "checks", "-r", "--session-extras", "run=night"]
    fields = {"command": repr(shlex.join(words)), "working directory": repr(str(tmp_path))}
    monkeypatch.setattr(
        run_log,
        "runs",
        lambda logs: [LoggedRun("t", 1, fields, ran=(1, 1), stored="uuid")],
    )
    undecided = [{"uuid": ["A %b=1"]}, {"uuid": ["A %b=1", "C"], "lost": ["B"]}]
    here, verdict = workspace(tmp_path), Verdict()
    with (tmp_path / "lock").open("w") as lock:
        evidence = Evidence(here, None, [], "uuid", None, Nodes(), "mine")
        judges = [lambda _, each=each: each for each in undecided]
        measure_again(verdict, evidence, judges, Repetition(2, sys.stderr, [lock.fileno()]))
    lost, left = verdict.notes
    assert lost == "not measured again, since the log has no command of session lost: B"
    assert left == (
        "cannot tell at this cost, after 1 round, the last of which left no line in the log of "
        "ReFrame: A %b=1, C, B"
    )
    said = capfd.readouterr().err
    # Both cases in one command.
    narrowed = "reframe -c checks -r -n ^A%b=1$ -n ^C$ --session-extras run=uuid.again1"
    assert said.count(narrowed) == 1
    assert said.count(f"{tmp_path}/lock\n") == said.count(f"in {tmp_path}\n") == 1


def test_a_repetition_that_selected_nothing_is_told():
    """Of a step of a campaign, another one may have measured it."""
    verdict, again = Verdict(), Verdict()
    verdict.suites = [SuiteUse("imb", (), (), 1)]
    again.fail("no-cases", "ReFrame selected no case at all", "-n ^A$")
    add(verdict, again)
    judge_whole(verdict, Run())
    (problem,) = verdict.problems
    assert problem.text == "when measured again: ReFrame selected no case at all"
    assert verdict.status == Status.FAILED


def test_no_round_begins_when_the_minutes_of_the_run_are_over(tmp_path):
    here, verdict = workspace(tmp_path), Verdict()
    begun = Session("uuid", time.time() - 301, time.time())
    evidence = Evidence(here, None, [begun], "uuid", None, Nodes(), "mine")
    judges = [lambda _: {"uuid": ["A"]}]
    measure_again(verdict, evidence, judges, Repetition(2, sys.stderr, minutes=5))
    assert verdict.notes == [
        "cannot tell at this cost, after 0 rounds, when the 5 minutes of the run were over: A"
    ]


def test_a_guideline_fails_where_it_is_asked_to_once_rounds_have_decided(site, recorded):
    """What the run shows by itself fails nothing; twenty nights before it are rounds."""
    text = recorded("osu/osu_latency.openmpi.txt")
    rows = {line.split()[0]: line for line in text.splitlines() if line[:1].isdigit()}
    for size in ("512", "1024", "2048"):
        text = text.replace(rows[size], f"{size:8}{900:20.2f}")
    site.replay(text, "osu_latency", "osu")
    path = site.folder / "site.py"
    path.write_text(path.read_text().replace('"cores": 2', '"cores": 2, "guidelines": "fail"'))
    assert site.reframe("-c", "checks/osu.py", "-r", *LATENCY).status == 0
    status, verdict = site.gate("--again", "1")
    counts = verdict["guidelines"]
    assert (status, counts["violated"], counts["undecided"]) == (0, 0, counts["suspected"])
    assert any(note.startswith("measured again, 1 time in all: ") for note in verdict["notes"])
    assert any(note.startswith("cannot tell at this cost") for note in verdict["notes"])

    with sqlite3.connect(site.database) as connection:
        ((blob,), _) = connection.execute("SELECT json_blob FROM sessions").fetchall()
        for night in range(20):
            earlier(connection, json.loads(blob), night, 20 - night)
    status, verdict = site.gate("--again", "1")
    assert status == 1
    assert {problem["kind"] for problem in verdict["problems"]} == {"guideline"}
    assert verdict["guidelines"]["violated"] == len(verdict["problems"])
    assert verdict["guidelines"]["undecided"] == 0
    assert {problem["severity"] for problem in verdict["problems"]} == {"major"}
    texts = [problem["text"] for problem in verdict["problems"]]
    assert any(" is slower than a larger message, " in text for text in texts)

"""Real campaigns: in order, one at a time, and gone on with after every kind of end."""

import hashlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from acceptance.campaigns import state as campaign
from tests.campaigns import CASES, NAMES, Held
from tests.conftest import Site
from tests.places import PATIENCE, ROOT
from tests.processes import alive

NIGHT = ("nightly", "--no-alerts")


@pytest.fixture
def held(site):
    return Held(site)


@pytest.fixture(scope="module")
def night(tmp_path_factory):
    """A night that has ended, and what it printed; something stood where the report belongs."""
    held = Held(Site(tmp_path_factory.mktemp("night")))
    mine = held.site.var / "report/mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    return held, held.run(*NIGHT)


def test_a_night_runs_in_order_and_says_what_came_of_it(night):
    held, done = night
    # What stands where the report belongs stays, and changes no verdict.
    mine = held.site.var / "report/mine.txt"
    assert done.status == 0, done.output
    (state,) = held.states
    assert [(step["name"], step["state"]) for step in state["steps"]] == [
        ("links", "done"),
        # This system does not tell where ranks stood.
        ("all_pairs", "not provided"),
        ("osu+balance", "not provided"),
        ("cpmd", "not provided"),
        ("detours", "not provided"),
        ("himeno", "not provided"),
        ("hpcc", "not provided"),
        ("imb", "done"),
        *((name, "not provided") for name in ("loaded", "namd", "netperf", "npb", "patterns")),
        ("specmpi", "not provided"),
    ]
    assert (state["status"], state["summary"][:8]) == (0, "nightly-")
    assert sorted(held.ran) == sorted(NAMES)
    *_, last, told = done.output.strip().split("\n\n")
    assert told.startswith(f"report: not made: {mine.parent}: holds something that is no report")
    assert mine.read_text() == "mine"
    last = last.replace("\n", " ")
    assert last == state["summary"]
    assert "3 cases: 3 passed, 0 failed" in last
    assert (
        "not provided here: all_pairs, osu+balance, cpmd, detours, himeno, hpcc, loaded, namd, "
        "netperf, npb, patterns, specmpi"
    ) in last
    # All that was printed is in the log.
    assert held.log.read_text() == done.output
    # It has ended: there is nothing to go on with.
    again = held.run(*NIGHT, "--resume")
    assert (again.status, len(held.states)) == (0, 1)
    assert again.output == "acceptance nightly: no night of these arguments was stopped\n"


def test_killed_it_holds_the_lock_until_its_reframe_has_ended_and_repeats_nothing(held):
    process = held.start(*NIGHT)
    second = held.site.acceptance(*NIGHT)
    assert second.status == 3
    (line,) = second.errors.strip().splitlines()
    since = held.states[0]["started"][:16]
    assert f"nightly runs since {since}" in line
    assert f"(PID {process.pid}); wait for it, or end it: kill {process.pid}" in line
    (first,) = held.ran[:1]
    reframe = held.reframe_of(process)
    held.kill(process)
    held.wait_for_lock()
    # A process that ends lets go of its files first.
    held.wait_for(lambda: not alive([reframe]))
    assert held.step("imb")["state"] == "running"
    done = held.run(*NIGHT)
    assert done.status == 0, done.output
    assert len(held.states) == 1
    # What had passed was stored, and only what was under way ran again.
    assert [held.ran.count(name) for name in (first, *set(NAMES) - {first})] == [1, 2]
    assert [len(held.step(name)["attempts"]) for name in ("links", "imb")] == [1, 2]
    assert "3 cases: 3 passed, 0 failed" in held.states[0]["summary"]
    assert "1 times gone on with" in held.states[0]["summary"]


@pytest.mark.parametrize("options", [(), ("--new",)], ids=["resumed", "anew"])
def test_when_reframe_is_killed_too_the_step_is_repeated_and_nothing_is_left_of_it(held, options):
    process = held.start(*NIGHT)
    reframe = held.reframe_of(process)
    stage = held.site.var / "stage"
    # As when the power fails: neither can do anything more.
    process.send_signal(signal.SIGSTOP)
    os.kill(reframe, signal.SIGKILL)
    held.kill(process)
    left = working_in(stage)
    assert left
    done = held.run(*NIGHT, *options, go=False)
    assert done.status == 0, done.output
    assert sorted(held.ran) == sorted(NAMES * 2)
    assert any(f"process {number} of " in done.output for number in left)
    assert not alive(left)
    assert [step["state"] for step in held.states[0]["steps"][:1]] == ["done"]


def test_killed_four_times_a_night_is_still_one_and_ends_with_all_of_its_cases(held):
    for _ in range(4):
        # The programs hold from the second one on.
        (held.folder / "ran").unlink(missing_ok=True)
        process = held.start(*NIGHT)
        reframe = held.reframe_of(process)
        process.send_signal(signal.SIGSTOP)
        os.kill(reframe, signal.SIGKILL)
        held.kill(process)
        assert held.site.acceptance("gate").status != 0
    done = held.run(*NIGHT)
    assert done.status == 0, done.output
    assert (len(held.states), len(held.step("imb")["attempts"])) == (1, 5)
    assert "3 cases: 3 passed, 0 failed" in held.states[0]["summary"]
    assert held.site.acceptance("gate").status == 0


def test_what_a_reframe_leaves_that_was_killed_alone_is_ended_and_the_night_is_red(held):
    process = held.start(*NIGHT)
    stage = held.site.var / "stage"
    os.kill(held.reframe_of(process), signal.SIGKILL)
    assert process.wait(timeout=PATIENCE) == 1
    assert not working_in(stage)
    assert " was still there: killed" in held.log.read_text()
    assert "never ended: it was killed" in held.log.read_text()


def test_what_another_clone_runs_since_the_same_second_is_left_alone(held, night):
    other, _ = night
    mark = other.step("imb")["attempts"][0]["run"].rpartition(".")[2]
    process = held.start(*NIGHT)
    reframe = held.reframe_of(process)
    process.send_signal(signal.SIGSTOP)
    os.kill(reframe, signal.SIGKILL)
    held.kill(process)
    own = held.step("imb")["attempts"][0]["run"].rpartition(".")[0]
    folder = other.site.var / f"stage/{own}.{mark}/replay"
    folder.mkdir(parents=True)
    with subprocess.Popen(["sleep", "600"], cwd=folder) as theirs:
        try:
            done = held.run(*NIGHT, go=False)
            assert "was still there: killed" in done.output
            assert theirs.poll() is None
        finally:
            theirs.kill()


def working_in(folder):
    """Return the processes that work below a folder."""
    return [
        number.name
        for number in Path("/proc").glob("[0-9]*")
        if _cwd(number).startswith(str(folder))
    ]


def _cwd(process):
    try:
        return os.readlink(process / "cwd")
    except OSError:
        return ""


def test_told_to_stop_it_ends_reframe_and_what_had_failed_stays_failed(held):
    for name in NAMES:
        path = held.folder / f"{name}.txt"
        path.rename(path.with_suffix(".good"))
        path.write_text("no output of IMB\n")
    process = held.start(*NIGHT)
    (first,) = held.ran[:1]
    assert held.kill(process, signal.SIGTERM) == 128 + signal.SIGTERM
    assert held.step("imb")["state"] == "interrupted"
    assert "stopped by SIGTERM; the same command goes on with it" in held.log.read_text()
    for name in NAMES:
        path = held.folder / f"{name}.good"
        path.rename(path.with_suffix(".txt"))
    done = held.run(*NIGHT)
    # To stop it is no way to a second try.
    assert done.status == 1, done.output
    assert held.ran.count(first) == 1
    assert "3 cases: 2 passed, 1 failed" in held.states[0]["summary"]
    (problem,) = held.site.gate()[1]["problems"]
    assert f"benchmark={first}" in problem["text"]


def test_a_closed_terminal_sends_two_signals_and_what_was_measured_is_kept(held):
    process = held.start(*NIGHT)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    assert held.kill(process, signal.SIGHUP) == 128 + signal.SIGHUP
    (attempt,) = held.step("imb")["attempts"]
    assert attempt["session"]


def test_with_nohup_it_outlives_its_terminal(held):
    process = held.start(*NIGHT, before=["nohup"])
    process.send_signal(signal.SIGHUP)
    (held.folder / "go").touch()
    assert process.wait(timeout=PATIENCE) == 0
    assert [len(held.step(name)["attempts"]) for name in ("links", "imb")] == [1, 1]


def test_stopped_between_the_last_case_and_the_verdict_only_the_verdict_is_left(site, night):
    held = Held.after(night[0], site)
    path = held.log.with_name("state.json")
    state = campaign.load(path)
    state.ended, state.status, state.summary = "", None, ""
    imb = next(step for step in state.steps if step.name == "imb")
    imb.state = campaign.RUNNING
    state.save()
    done = held.run(*NIGHT)
    assert done.status == 0, done.output
    assert len(held.ran) == 2
    assert len(held.states) == 1


def test_dry_it_runs_nothing(held):
    done = held.run(*NIGHT, "--dry-run")
    assert done.status == 0
    assert not (held.site.var / "campaigns").exists()
    lines = [line for line in done.output.splitlines() if not line.startswith(" ")]
    assert [line.partition(":")[0] for line in lines] == [
        *("links", "all_pairs", "osu+balance", "cpmd", "detours", "himeno", "hpcc", "imb"),
        *("loaded", "namd", "netperf", "npb", "patterns", "specmpi", "all"),
    ]


def test_maintenance_looks_at_links_and_at_pairs_of_nodes_where_there_are_any(held):
    done = held.run("nightly", "--no-alerts", "--mode=maintenance")
    assert (done.status, held.ran) == (0, []), done.output
    steps = held.states[0]["steps"]
    assert [(step["name"], step["state"]) for step in steps] == [
        ("links", "done"), ("all_pairs", "not provided"),
    ]  # fmt: skip
    assert "Communication patterns" in steps[1]["reason"]


def test_the_mode_maintenance_of_reframe_looks_at_the_links_only_and_is_green(held):
    listed = held.site.reframe("-l", "--mode=maintenance")
    assert "Found 1 check(s)" in listed.output
    done = held.site.reframe("-c", "checks", "-r", "--mode=maintenance")
    assert done.status == 0, done.output
    status, verdict = held.site.gate()
    assert (status, verdict["selected"]) == (0, 1)
    assert "not-provided" not in {each["kind"] for each in verdict["findings"]}
    assert held.ran == []


def test_a_configuration_that_cannot_be_read_is_named(site):
    site.add_system("site_configuration = {}; raise RuntimeError('half edited')")
    done = site.acceptance(*NIGHT)
    assert done.status == 2
    assert "half edited" in done.errors
    assert len(done.errors.strip().splitlines()) == 1


@pytest.mark.parametrize("command", ["nightly --no-alerts", "accept"])
def test_a_reader_that_has_seen_enough_stops_nothing(held, command):
    with subprocess.Popen(
        ["acceptance", *command.split(), "--", *CASES],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=held.site.variables(),
    ) as process:
        assert process.stdout.readline().startswith("=== ")
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, "")
    assert held.states[0]["ended"]
    assert held.states[0]["status"] == 0
    assert len(held.ran) == 2


OWN = """
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class OwnMounts(rfm.RunOnlyRegressionTest):
    valid_systems = valid_prog_environs = ["*"]
    executable = "true"
    sanity_patterns = sn.assert_true({sane})
"""


@pytest.mark.parametrize("sane", [True, False])
def test_checks_of_a_site_take_part_in_a_night_and_count(held, sane):
    """They are named before the options of ReFrame; the campaign keeps them."""
    own = held.folder / "own"
    own.mkdir()
    (own / "mounts.py").write_text(OWN.format(sane=sane))
    chosen = ("-n", "Barrier%np=2%placement=intra-node|OwnMounts")
    refused = held.site.acceptance(*NIGHT, "--", "-c", own, *chosen)
    assert (refused.status, "-c belongs before --" in refused.errors) == (2, True)
    done = held.site.acceptance(*NIGHT, "-c", own, "--", *chosen)
    (state,) = held.states
    assert state["asked"]["own"] == [str(own / "mounts.py")]
    assert state["asked"]["reframe"] == [*chosen]
    # A folder may be shared by login nodes of two clusters.
    assert state["asked"]["system"] == "replay"
    step = held.step("own")
    assert (step["state"], step["files"]) == ("done", [str(own / "mounts.py")])
    status, verdict = held.site.gate()
    assert "mounts.py" in verdict["check_files"]
    if sane:
        assert (done.status, status, verdict["problems"]) == (0, 0, [])
        assert "1 case passed that promise no metric: OwnMounts" in verdict["notes"]
    else:
        assert (done.status, status) == (1, 1)
        assert [problem["kind"] for problem in verdict["problems"]] == ["case-failed"]
        assert verdict["problems"][0]["text"].startswith("OwnMounts @")


def test_checks_of_a_site_take_part_in_an_acceptance_whose_protocol_has_their_checksum(held):
    own = held.folder / "own"
    own.mkdir()
    path = own / "mounts.py"
    path.write_text(OWN.format(sane=True))
    chosen = ("-n", "Barrier%np=2%placement=intra-node|OwnMounts")
    done = held.site.acceptance("accept", "-c", own, "--", *chosen)
    assert done.status == 0, done.errors
    assert held.step("own")["state"] == "done"
    protocol = json.loads(next(held.site.var.glob("campaigns/*/protocol.json")).read_text())
    assert "OwnMounts" in [case["name"].split()[0] for case in protocol["measured"]]
    sums = protocol["asked"]["checks"]
    assert sums[str(path)] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert {"imb.py", "osu.py"} < sums.keys()
    assert "1 metric recorded, not judged" in done.output

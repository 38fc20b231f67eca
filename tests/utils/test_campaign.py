"""Campaigns: in order, one at a time, and gone on with after every kind of end."""

import json
import os
import re
import runpy
import signal
from dataclasses import asdict
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from tests.campaigns import CASES, NAMES, Held
from utils import gate
from utils import site as sites
from utils.campaigns import campaign, campaignrun, steps
from utils.paths import ROOT

NIGHT = ("nightly", "--no-alerts")
NOW = datetime(2026, 11, 21, 22, 0, tzinfo=timezone.utc)


@pytest.fixture
def held(site):
    return Held(site)


# What is run


def configuration(*features):
    """Return a system of one partition, whose environment provides suites."""
    system = {"name": "made", "hostnames": [".*"], "partitions": [{"name": "p", "environs": ["e"]}]}
    return sites.Site((system,), ({"name": "e", "features": features},))


def test_every_check_file_is_in_one_step_and_the_links_come_first():
    plan = steps.plan("nightly", configuration("imb", "osu", "hpcc", "npb"))
    files = [path for step in plan for path in step.files]
    assert sorted(files) == gate.check_files([ROOT / "checks"], recursive=False)
    assert plan[0].name == "links"
    assert plan[0].arguments[2:] == ("-r", "--mode=maintenance")
    assert all("--mode=nightly" in step.arguments for step in plan[1:])
    assert all(step.reason == "" for step in plan)


def test_what_waits_for_results_of_another_file_is_in_its_step():
    plan = {step.name: step for step in steps.plan("nightly", configuration("osu"))}
    assert [path.name for path in plan["osu+balance"].files] == ["osu.py", "balance.py"]
    assert plan["osu+balance"].arguments.count("-c") == 2


def test_a_step_that_nothing_provides_says_how_to_get_it():
    plan = {step.name: step.reason for step in steps.plan("nightly", configuration("imb"))}
    assert plan["imb"] == plan["links"] == ""
    assert plan["osu+balance"].startswith("nothing provides OSU Micro-Benchmarks here; get it")


def test_files_of_a_site_are_steps_and_helpers_are_none(tmp_path):
    test = (
        "import reframe as rfm\n{}\n@rfm.simple_test\nclass T(rfm.RunOnlyRegressionTest):\n  pass"
    )
    sources = {
        "first": "from .second import T",
        "second": "from . import third, helper",
        "third": "",
        "alone": "from .helper import f",
        "absolute": "import os",
    }
    for name, head in sources.items():
        (tmp_path / f"{name}.py").write_text(test.format(head))
    (tmp_path / "helper.py").write_text("def f(): pass\n")
    (tmp_path / "broken.py").write_text("def f(:\n")
    plan = steps.plan("nightly", configuration(), checks=tmp_path)
    names = [step.name for step in plan]
    # A file that cannot be read may hold a test: ReFrame will say what is wrong with it.
    assert names == ["links", "absolute", "alone", "broken", "third+second+first"]


def test_options_of_reframe_are_for_the_benchmarks_only():
    plan = steps.plan(
        "nightly", configuration("imb"), system="made", everywhere=True, extra=("-n", "x y")
    )
    assert plan[0].arguments[-2:] == ("--distribute=all", "--system=made")
    assert all(step.arguments[-3:] == ("--system=made", "-n", "x y") for step in plan[1:])


def test_a_system_that_is_not_there_is_refused():
    with pytest.raises(sites.SiteFault, match="nowhere"):
        steps.plan("nightly", configuration(), system="nowhere")


def test_exclusions_fit_into_arguments_and_match_whole_names_only():
    names = [f"ImbMpi1 %benchmark=Reduce_scatter %np={n} (a+b) %x=1.5" for n in range(5000)]
    options = campaignrun.exclusions(names)
    assert set(options[::2]) == {"-x"}
    assert all(len(pattern) < 100_000 for pattern in options[1::2])
    patterns = [re.compile(pattern) for pattern in options[1::2]]
    for name in names:
        assert sum(bool(one.search(name.replace(" ", ""))) for one in patterns) == 1
    assert not any(one.search(f"{names[0]}5".replace(" ", "")) for one in patterns)
    assert campaignrun.exclusions([]) == []


def test_the_link_check_has_many_jobs_at_once_but_never_on_this_machine(monkeypatch, tmp_path):
    monkeypatch.setattr("utils.paths.LOGS", tmp_path / "log")
    monkeypatch.setenv("ACCEPTANCE_MAX_JOBS", campaignrun.environment(True)["ACCEPTANCE_MAX_JOBS"])
    found = runpy.run_path(str(ROOT / "config/settings.py"))["site_configuration"]["systems"]
    most = {
        (part["scheduler"] == "local", part["max_jobs"])
        for system in found
        for part in system["partitions"]
    }
    assert most == {(True, 1), (False, campaignrun.LINK_JOBS)}


def test_templates_of_clusters_have_their_nodes_alone(monkeypatch, tmp_path):
    monkeypatch.setattr("utils.paths.LOGS", tmp_path / "log")
    found = runpy.run_path(str(ROOT / "config/settings.py"))["site_configuration"]["systems"]
    partitions = [part for system in found for part in system["partitions"]]
    assert all(part["max_jobs"] == 1 for part in partitions)
    assert all(
        "--exclusive" in part["access"] for part in partitions if part["scheduler"] != "local"
    )


# What is gone on with


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "FOLDER", tmp_path)
    return tmp_path


def begin(now=NOW, **asked):
    return campaign.begin("nightly", asked, steps.plan("nightly", configuration("imb")), now)


def test_a_night_is_gone_on_with_for_20_hours(folder):
    state = begin(mode="nightly")
    found = [
        campaign.unfinished("nightly", {"mode": "nightly"}, NOW + timedelta(hours=hours), 20.0)
        for hours in (1, 20, 20.1)
    ]
    assert found == [state, state, None]
    assert campaign.unfinished("nightly", {"mode": "nightly"}, NOW + timedelta(days=9)) == state


def test_only_the_same_that_has_not_ended_is_gone_on_with(folder):
    state = begin(mode="nightly")
    assert campaign.unfinished("nightly", {"mode": "smoke"}, NOW) is None
    assert campaign.unfinished("accept", {"mode": "nightly"}, NOW) is None
    state.ended = campaign.stamp(NOW)
    state.save()
    assert campaign.unfinished("nightly", {"mode": "nightly"}, NOW) is None


def test_two_that_begin_in_one_second_have_two_names(folder):
    first, second = begin(), begin()
    assert first.id != second.id
    assert campaign.load(folder / first.id / "state.json") == first


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"steps": [{}]}'])
def test_a_state_that_cannot_be_read_is_none_and_names_its_file(folder, text):
    path = begin(mode="nightly").folder / "state.json"
    path.write_text(text)
    assert campaign.unfinished("nightly", {"mode": "nightly"}, NOW) is None
    with pytest.raises(campaign.CampaignFault, match=re.escape(str(path))):
        campaign.load(path)


# What happens to real ones


def test_a_night_runs_in_order_and_says_what_came_of_it(held):
    done = held.run(*NIGHT)
    assert done.status == 0, done.output
    (state,) = held.states
    assert [(step["name"], step["state"]) for step in state["steps"]] == [
        ("links", "done"),
        ("osu+balance", "not provided"),
        ("hpcc", "not provided"),
        ("imb", "done"),
        ("npb", "not provided"),
    ]
    assert (state["status"], state["summary"][:8]) == (0, "nightly-")
    assert sorted(held.ran) == sorted(NAMES)
    last = done.output.strip().splitlines()[-1]
    assert last == state["summary"]
    assert "3 of 3 cases run: 3 passed, 0 failed" in last
    assert "not provided here: osu+balance, hpcc, npb" in last
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
    assert f"acceptance nightly runs since {since}" in line
    assert f"(PID {process.pid}); wait for it, or end it: kill {process.pid}" in line
    (first,) = held.ran[:1]
    reframe = held.reframe_of(process)
    held.kill(process)
    held.wait_for_lock()
    # A process that ends lets go of its files first.
    held.wait_for(lambda: not held.runs(reframe))
    assert held.step("imb")["state"] == "running"
    done = held.run(*NIGHT)
    assert done.status == 0, done.output
    assert len(held.states) == 1
    # What had passed was stored, and only what was under way ran again.
    assert [held.ran.count(name) for name in (first, *set(NAMES) - {first})] == [1, 2]
    assert [len(held.step(name)["attempts"]) for name in ("links", "imb")] == [1, 2]
    assert "3 of 3 cases run: 3 passed, 0 failed" in held.states[0]["summary"]
    assert "1 times gone on with" in held.states[0]["summary"]


def test_when_reframe_is_killed_too_the_step_is_repeated_and_nothing_is_left_of_it(held):
    process = held.start(*NIGHT)
    reframe = held.reframe_of(process)
    stage = held.site.var / "stage"
    # As when the power fails: neither can do anything more.
    process.send_signal(signal.SIGSTOP)
    os.kill(reframe, signal.SIGKILL)
    held.kill(process)
    left = [
        number.name
        for number in Path("/proc").glob("[0-9]*")
        if _cwd(number).startswith(str(stage))
    ]
    assert left
    done = held.run(*NIGHT, go=False)
    assert done.status == 0, done.output
    assert sorted(held.ran) == sorted(NAMES * 2)
    assert any(f"process {number} of " in done.output for number in left)
    assert not any(held.runs(number) for number in left)
    assert [step["state"] for step in held.states[0]["steps"][:1]] == ["done"]


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
    assert "3 of 3 cases run: 2 passed, 1 failed" in held.states[0]["summary"]
    assert f"benchmark={first}" in held.states[0]["summary"]


def test_stopped_between_the_last_case_and_the_verdict_only_the_verdict_is_left(held):
    held.run(*NIGHT)
    path = held.log.with_name("state.json")
    state = campaign.load(path)
    state.ended, state.status, state.summary = "", None, ""
    imb = next(step for step in state.steps if step.name == "imb")
    imb.state = campaign.RUNNING
    path.write_text(json.dumps(asdict(state)))
    done = held.run(*NIGHT)
    assert done.status == 0, done.output
    assert len(held.ran) == 2
    assert len(held.states) == 1


def test_dry_it_runs_nothing(held):
    done = held.run(*NIGHT, "--dry-run")
    assert done.status == 0
    assert not (held.site.var / "campaigns").exists()
    assert [line.partition(":")[0] for line in done.output.splitlines()] == [
        *("links", "osu+balance", "hpcc", "imb", "npb", "verdict")
    ]


def test_maintenance_looks_at_the_links_only(held):
    done = held.run("nightly", "--no-alerts", "--mode=maintenance")
    assert (done.status, held.ran) == (0, []), done.output
    assert [step["name"] for step in held.states[0]["steps"]] == ["links"]


def test_the_mode_maintenance_of_reframe_looks_at_the_links_only_and_is_green(held):
    listed = held.site.reframe("-l", "--mode=maintenance")
    assert "Found 1 check(s)" in listed.output
    done = held.site.reframe("-c", "checks", "-r", "--mode=maintenance")
    assert done.status == 0, done.output
    status, verdict = held.site.gate()
    assert (status, verdict["selected"], verdict["unprovided"]) == (0, 1, [])
    assert held.ran == []


def test_a_configuration_that_cannot_be_read_is_named(site):
    site.add_system("raise RuntimeError('half edited')")
    done = site.acceptance(*NIGHT)
    assert done.status == 2
    assert "half edited" in done.errors
    assert len(done.errors.strip().splitlines()) == 1


def test_a_reader_that_has_seen_enough_stops_nothing(held):
    command = f"acceptance nightly --no-alerts -- {CASES[0]} '{CASES[1]}' | head -1"
    done = held.site.run("sh", "-c", command)
    assert done.output.startswith("=== ")
    held.wait_for(lambda: held.states and held.states[0]["ended"])
    assert held.states[0]["status"] == 0
    assert len(held.ran) == 2

"""Campaigns: what is run, what is gone on with, and the lock."""

import errno
import fcntl
import json
import os
import re
import runpy
import socket
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest

from acceptance.campaigns import conclusion, nodes, runner, steps
from acceptance.campaigns import state as campaign
from acceptance.cli import campaigns as campaign_cli
from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.extras import MODES
from acceptance.core.paths import ROOT
from acceptance.ledger import Session
from acceptance.machine import SchedulerFault, SlurmNode
from acceptance.rfm import check_files as checkfiles
from acceptance.rfm import configuration as sites
from acceptance.rfm.environment import LINK_JOBS, reframe_environment
from acceptance.suites import SUITES
from acceptance.verdict import CaseResult, Run, Status, SuiteUse, Verdict
from acceptance.verdict.conclude import judge_whole
from acceptance.verdict.session import judge_run
from tests.places import HERE, workspace

NOW = datetime(2026, 11, 21, 22, 0, tzinfo=timezone.utc)


# What is run


def configuration(*features):
    """Return a system of one partition, whose environment provides suites, and our modes."""
    partition = {"name": "p", "scheduler": "local", "environs": ["e"]}
    system = {"name": "made", "hostnames": [".*"], "partitions": [partition]}
    modes = [{"name": mode, "options": [f"-S mode={mode}"]} for mode in MODES]
    look = [f"-c '{ROOT / 'checks'}'", "-t ^maintenance$", "-J account=ops"]
    modes.append({"name": "maintenance", "options": look, "target_systems": ["made"]})
    other = {"name": "maintenance", "options": ["-J account=b"], "target_systems": ["b", "*"]}
    environments = ({"name": "e", "features": features},)
    return sites.Site((system,), environments, (*modes, other))


def test_every_check_file_is_in_one_step_and_the_links_come_first():
    plan = steps.plan("nightly", configuration(*SUITES))
    files = [Path(path) for step in plan for path in step.files]
    assert sorted(files) == checkfiles([ROOT / "checks"], recursive=False)
    assert [step.name for step in plan[:2]] == ["links", "all_pairs"]
    assert plan[0].arguments == (
        *("-c", str(ROOT / "checks/fabric.py"), "-r"),
        *("-t", "^maintenance$", "-J", "account=ops"),
    )
    assert all("--mode=nightly" in step.arguments for step in plan[1:])
    of_pairs = "it measures pairs of nodes, and it has one"
    assert {step.name: step.reason for step in plan if step.reason} == {
        **dict.fromkeys(("all_pairs", "detours"), of_pairs),
        "loaded": "it measures 4 nodes or more, some beside the others, and it has one",
    }


@pytest.mark.parametrize("folder", ["-c '{}'", "--checkpath={}", "-c $MADE_ROOT/checks"])
def test_maintenance_loads_the_files_of_its_steps_only_and_those_that_a_site_names(
    folder, monkeypatch
):
    monkeypatch.setenv("MADE_ROOT", str(ROOT))
    site = configuration("patterns")
    options = site.modes[-2]["options"]
    options[:] = folder.format(ROOT / "checks"), *options[1:], f"-c {ROOT}/own.py"
    site.systems[0]["partitions"][0]["extras"] = {"nodes": 4}
    links, pairs = (step.arguments for step in steps.plan("maintenance", site))
    of_mode = ("-t", "^maintenance$", "-J", "account=ops", "-c", f"{ROOT}/own.py")
    assert links == ("-c", str(ROOT / "checks/fabric.py"), "-r", *of_mode)
    only = ("-n", "^AllPairs", "-r")
    assert pairs == ("-c", str(ROOT / "checks/all_pairs.py"), *only, *of_mode)


def test_what_waits_for_results_of_another_file_is_in_its_step():
    plan = {step.name: step for step in steps.plan("nightly", configuration("osu"))}
    assert [Path(path).name for path in plan["osu+balance"].files] == ["osu.py", "balance.py"]
    assert plan["osu+balance"].arguments.count("-c") == 2


def test_a_step_that_nothing_provides_says_how_to_get_it():
    planned = steps.plan("nightly", configuration("imb"))
    plan = {step.name: (step.reason, step.remedy) for step in planned}
    assert plan["imb"] == plan["links"] == ("", "")
    reason, remedy = plan["osu+balance"]
    assert reason == "nothing provides OSU Micro-Benchmarks here"
    assert remedy.startswith("get it with: ")


def test_nobody_measures_nodes_in_pairs_where_ranks_do_not_tell_where_they_stand():
    site = configuration("patterns")
    extras = {"verify_placement": False, "nodes": 4}
    site.systems[0]["partitions"][0]["extras"] = extras
    plan = {step.name: step.reason for step in steps.plan("nightly", site)}
    assert plan["patterns"] == ""
    words = "must know where ranks stood, and of e nobody tells (verify_placement)"
    assert words in plan["all_pairs"]
    extras["verify_placement"] = True
    plan = {step.name: step.reason for step in steps.plan("nightly", site)}
    assert plan["all_pairs"] == ""


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
        "nightly", configuration("imb"), system="made", pinned="p=node1", extra=("-n", "x y")
    )
    assert plan[0].arguments[-3:] == ("-J", "account=ops", "--system=made")
    # All pairs are of all nodes, unless the operator limits it to some.
    assert plan[1].name == "all_pairs"
    assert plan[1].arguments[-2:] == ("--mode=nightly", "--system=made")
    limited = steps.plan("nightly", configuration(), pinned="p=node1", limited="p=node1,node2")
    assert limited[1].arguments[-2:] == ("-S", "pinned=p=node1,node2")
    ends = {step.arguments[-5:] for step in plan[2:]}
    assert ends == {("--system=made", "-S", "pinned=p=node1", "-n", "x y")}


def test_checks_of_a_site_are_a_step_of_their_own(tmp_path):
    test = "@rfm.simple_test\nclass T(rfm.RunOnlyRegressionTest):\n  pass\n"
    folder = tmp_path / "own"
    folder.mkdir()
    for name in ("mounts", "modules"):
        (folder / f"{name}.py").write_text(test)
    (folder / "helper.py").write_text("")
    own = steps.own_files([folder, folder / "mounts.py"])
    assert own == (folder / "modules.py", folder / "mounts.py")
    paths = ("-c", str(own[0]), "-c", str(own[1]), "-r")
    for mode, words in (("nightly", ()), ("maintenance", ("-t", "^maintenance$"))):
        plan = steps.plan(mode, configuration("imb"), system="made", extra=("-x", "y"), own=own)
        assert [step.name for step in plan].count("own") == 1
        # The variables of our modes, and the nodes that our benchmarks are pinned to, are ours.
        assert plan[-1].arguments == (*paths, *words, "--system=made", "-x", "y")
        assert plan[-1].files == tuple(map(str, own))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nowhere.py", "is not there"),
        ("helper.py", "defines no test"),
        (str(ROOT / "checks/imb.py"), "imb.py is run anyway; name a site's own checks"),
        (str(ROOT / "checks"), ".py is run anyway; name a site's own checks"),
    ],
)
def test_no_check_of_a_site_is_left_out_without_a_word(tmp_path, name, why):
    (tmp_path / "helper.py").write_text("")
    with pytest.raises(Fault, match=f"-c .*: .*{why}"):
        steps.own_files([tmp_path / name])


def test_the_nodes_are_measured_whatever_is_chosen_and_as_their_own_variables_say():
    extra = ("-n", "x", "-S", "ImbMpi1.np=2", "-SAllPairs.a=b", "-S", "AllPairs.limit=9")
    plan = steps.plan("acceptance", configuration("imb"), extra=extra, excluded="node3")
    assert plan[0].arguments[-2:] == ("-J", "exclude=node3")
    chosen = ("--mode=acceptance", "-SAllPairs.a=b", "-S", "AllPairs.limit=9")
    assert plan[1].arguments[-4:] == chosen
    assert plan[2].arguments[-len(extra) :] == extra


@pytest.mark.parametrize(
    ("schedulers", "distributed"),
    [(["slurm"], True), (["local", "squeue"], True), (["local"], False), (["mine"], False),
     (["slurm", "mine"], False), (["slurm", "pbs", "torque", "flux"], True)],
)  # fmt: skip
def test_the_link_check_has_a_case_for_each_node_where_schedulers_tell_them(
    schedulers, distributed
):
    site = configuration("imb")
    site.systems[0]["partitions"] = [
        {"name": name, "environs": ["e"], "scheduler": name} for name in schedulers
    ]
    assert ("--distribute=up" in steps.plan("nightly", site)[0].arguments) == distributed


def test_a_system_that_is_not_there_is_refused():
    with pytest.raises(sites.SiteFault, match="nowhere"):
        steps.plan("nightly", configuration(), system="nowhere")


def test_exclusions_fit_into_arguments_and_match_whole_names_only():
    names = [f"ImbMpi1 %benchmark=Reduce_scatter %np={n} (a+b) %x=1.5" for n in range(5000)]
    options = runner.exclusions(names)
    assert set(options[::2]) == {"-x"}
    assert all(len(pattern) < 100_000 for pattern in options[1::2])
    patterns = [re.compile(pattern) for pattern in options[1::2]]
    for name in names:
        assert sum(bool(one.search(name.replace(" ", ""))) for one in patterns) == 1
    assert not any(one.search(f"{names[0]}5".replace(" ", "")) for one in patterns)
    assert runner.exclusions([]) == []


def test_the_link_check_has_many_jobs_at_once_but_never_on_this_machine(monkeypatch, tmp_path):
    monkeypatch.setenv("ACCEPTANCE_VAR", str(tmp_path))
    jobs = reframe_environment(HERE, many_jobs=True)["ACCEPTANCE_MAX_JOBS"]
    monkeypatch.setenv("ACCEPTANCE_MAX_JOBS", jobs)
    found = runpy.run_path(str(ROOT / "config/settings.py"))["site_configuration"]["systems"]
    most = {
        (part["scheduler"] == "local", part["max_jobs"])
        for system in found
        for part in system["partitions"]
        # Simulated time does not depend on what else runs.
        if "simulated" not in part["extras"]
    }
    assert most == {(True, 1), (False, LINK_JOBS)}


def test_templates_of_clusters_have_their_nodes_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("ACCEPTANCE_VAR", str(tmp_path))
    found = runpy.run_path(str(ROOT / "config/settings.py"))["site_configuration"]["systems"]
    partitions = [part for system in found for part in system["partitions"]]
    assert all(part["max_jobs"] == 1 for part in partitions if "simulated" not in part["extras"])
    assert all(
        "--exclusive" in part["access"] for part in partitions if part["scheduler"] != "local"
    )


# The nodes


def test_the_nodes_of_each_partition_whose_scheduler_tells_them_are_asked_for(monkeypatch):
    asked = {
        ("-p", "main"): [
            SlurmNode("node1", "idle", "", True),
            SlurmNode("node2", "drained", "bad cable", False),
        ]
    }
    monkeypatch.setattr(nodes, "nodes_of", lambda _, access: asked[tuple(access)])
    partitions = [
        {"name": "ten", "scheduler": "squeue", "access": ["-p", "main"]},
        {"name": "here", "scheduler": "local"},
        {"name": "other", "scheduler": "mine", "access": ["-q", "main"]},
    ]
    known = nodes.ask({"name": "made", "partitions": partitions})
    assert list(known) == ["ten"]
    assert nodes.lines(known) == ["1 of 2 nodes of ten are up; not: node2 is drained (bad cable)"]


def test_a_partition_whose_nodes_slurm_does_not_tell_is_named(monkeypatch):
    def refuse(scheduler, access):
        raise SchedulerFault("Slurm has no node mars")

    monkeypatch.setattr(nodes, "nodes_of", refuse)
    with pytest.raises(SchedulerFault, match="made:ten: Slurm has no node mars"):
        nodes.ask({"name": "made", "partitions": [{"name": "ten", "scheduler": "slurm"}]})


def test_the_nodes_are_stored_and_older_states_have_none(folder):
    known = {"ten": [SlurmNode("node2", "drained", "bad cable", False)]}
    state = campaign.begin(folder, "nightly", {}, [], NOW, known)
    state.save()
    path = folder / state.id / "state.json"
    assert campaign.load(path).nodes == known
    data = json.loads(path.read_text())
    assert data["nodes"]["ten"][0]["reason"] == "bad cable"
    del data["nodes"]
    path.write_text(json.dumps(data))
    assert campaign.load(path).nodes == {}


# What is gone on with


@pytest.fixture
def folder(tmp_path):
    return tmp_path


def begin(folder, now=NOW, **asked):
    plan = steps.plan("nightly", configuration("imb"))
    state = campaign.begin(folder, "nightly", asked, plan, now)
    state.save()
    return state


def test_a_night_is_gone_on_with_for_20_hours(folder):
    state = begin(folder, mode="nightly")
    found = [
        campaign.unfinished(
            folder, "nightly", {"mode": "nightly"}, NOW + timedelta(hours=hours), 20.0
        )
        for hours in (1, 20, 20.1)
    ]
    assert found == [state, state, None]
    assert (
        campaign.unfinished(folder, "nightly", {"mode": "nightly"}, NOW + timedelta(days=9))
        == state
    )


def test_only_the_same_that_has_not_ended_is_gone_on_with(folder):
    state = begin(folder, mode="nightly")
    assert campaign.unfinished(folder, "nightly", {"mode": "smoke"}, NOW) is None
    assert campaign.unfinished(folder, "accept", {"mode": "nightly"}, NOW) is None
    state.ended = campaign.stamp(NOW)
    state.save()
    assert campaign.unfinished(folder, "nightly", {"mode": "nightly"}, NOW) is None


def test_what_a_newer_one_has_taken_the_place_of_is_not_gone_on_with(folder):
    for night in (NOW, NOW, NOW - timedelta(hours=1)):
        begin(folder, night, mode="nightly")
    # Of the same second, as with --new; the third one began before both.
    newest = campaign.load(folder / "nightly-2026-11-21T220000.2/state.json")
    assert campaign.unfinished(folder, "nightly", {"mode": "nightly"}, NOW) == newest
    newest.ended = campaign.stamp(NOW)
    newest.save()
    assert campaign.unfinished(folder, "nightly", {"mode": "nightly"}, NOW) is None


def test_steps_that_nobody_saw_the_end_of_are_those_of_other_campaigns(folder):
    own, other, over = begin(folder, mode="a"), begin(folder, mode="b"), begin(folder, mode="c")
    for state in (own, other, over):
        state.steps[0].state = campaign.RUNNING
        state.ended = "long ago" if state is over else ""
        state.save()
    assert [(state.id, step.name) for state, step in campaign.given_up(besides=own)] == [
        (other.id, "links")
    ]


def held_lock(folder, **changes):
    """Hold the lock as another process, with changes in what that says of itself."""
    (folder / "lock").touch()
    lock = (folder / "lock").open("r+")
    fcntl.flock(lock, fcntl.LOCK_EX)
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": "22:00", "what": "W"}
    lock.write(json.dumps(holder | changes))
    lock.flush()
    return lock


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "W runs since 22:00 (PID <own>); wait for it, or end it: kill <own>"),
        ({"pid": 2**22 + 1}, f"W runs since 22:00 (PID {2**22 + 1}) was killed, and its ReFrame"),
        # A process of another host cannot be seen, and has not been killed.
        ({"host": "login2", "pid": 2**22 + 1},
         f"W runs since 22:00 (PID {2**22 + 1}) on login2; wait for it, or end it there: kill"),
        ({"what": None, "host": 5}, "is held by another process; try again later"),
    ],
)  # fmt: skip
def test_who_holds_the_lock_is_named(folder, changes, said):
    said = said.replace("<own>", str(os.getpid()))
    with (
        held_lock(folder, **changes),
        pytest.raises(campaign.Busy, match=re.escape(said)),
        campaign.locked(folder, "mine"),
    ):
        pass


def test_a_lock_that_is_granted_to_two_is_refused_to_the_second(folder, monkeypatch):
    monkeypatch.setattr(campaign.fcntl, "flock", lambda *_: None)
    first = subprocess.Popen(["sleep", "60"])
    try:
        began = machine.ticks(first.pid)
        with held_lock(folder, pid=first.pid, began=began):
            said = "W runs since 22:00 .*locks do not work there: "
            with pytest.raises(campaign.Busy, match=said), campaign.locked(folder, "mine"):
                pass
            # It keeps its own name.
            assert json.loads((folder / "lock").read_text())["pid"] == first.pid
    finally:
        first.kill()
        first.wait()
    # Who was killed holds nothing, nor does another process of that number.
    other = os.getppid()
    for pid, when in ((first.pid, began), (other, f"{machine.ticks(other)}1")):
        with held_lock(folder, pid=pid, began=when), campaign.locked(folder, "mine"):
            assert json.loads((folder / "lock").read_text())["pid"] == os.getpid()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}'])
def test_a_lock_that_does_not_say_who_holds_it_is_named(folder, text):
    with held_lock(folder) as lock:
        lock.seek(0)
        lock.truncate()
        lock.write(text)
        lock.flush()
        with (
            pytest.raises(campaign.Busy, match="lock is held by another"),
            campaign.locked(folder, "mine"),
        ):
            pass


def test_a_file_system_without_locks_is_named(folder, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(campaign.fcntl, "flock", refuse)
    with pytest.raises(campaign.CampaignFault, match="cannot be locked: Function not impl"):  # noqa: SIM117
        with campaign.locked(folder, "mine"):
            pass


def test_a_full_disk_is_reported_and_no_traceback(site, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "log.txt")

    monkeypatch.setattr(campaign_cli, "_plan", full)
    done = site.acceptance("nightly")
    assert done.status == 2
    assert done.errors == (
        "acceptance nightly: [Errno 28] No space left on device: 'log.txt'; the same command goes "
        "on\n"
    )


def test_what_a_later_attempt_has_again_counts_once(folder):
    def case(where, result):
        return SimpleNamespace(name="X", where=where, result=result)

    found = {
        "first": [case("a", "pass"), case("b", "abort"), case("c", "fail")],
        # Of one test, all of which is repeated as long as a part of it is left.
        "second": [case("a", "pass"), case("b", "pass")],
    }

    def session(uuid):
        return Session(uuid, 0, 0, "", "", "", 0, tuple(found[uuid]))

    state = begin(folder)
    state.steps[0].state = campaign.DONE
    state.steps[0].attempts = [campaign.Attempt(uuid, "", session=uuid) for uuid in found]
    (session,) = conclusion.stopped(state, SimpleNamespace(session=session))
    assert [(one.where, one.result) for one in session.cases] == [("c", "fail")]


@pytest.mark.parametrize(
    ("options", "suites", "left"),
    [
        # Options that chose from one suite left out all of another one.
        (("-n x",), ("fabric", "imb"), []),
        (("-n x",), ("fabric",), ["no-cases"]),
        # Whatever the words are: without such options nobody meant it.
        ((), ("fabric", "imb"), ["no-cases"]),
    ],
)
def test_options_that_chose_from_a_suite_may_leave_out_another(options, suites, left):
    given = Verdict(suites=[SuiteUse(suite, (), (), 1) for suite in suites])
    given.fail("no-cases", "ReFrame selected no case at all; or so", *options)
    judge_whole(given, Run())
    assert [problem.kind for problem in given.problems] == left
    assert given.status == (Status.FAILED if left else Status.PASSED)


@pytest.mark.parametrize(("measured", "left"), [(["imb"], []), (["osu"], ["nothing-measured"])])
def test_what_one_step_did_not_measure_another_one_may(measured, left):
    cases = [CaseResult("made:ten+gcc", name, "pass", name, measured=True) for name in measured]
    given = Verdict(cases=cases)
    given.fail("nothing-measured", "no case of imb measured anything", "imb")
    judge_whole(given, Run())
    assert [problem.kind for problem in given.problems] == left


def test_two_that_begin_in_one_second_have_two_names(folder):
    first, second = begin(folder), begin(folder)
    assert first.id != second.id
    assert campaign.load(folder / first.id / "state.json") == first


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"steps": [{}]}'])
def test_a_state_that_cannot_be_read_is_none_and_names_its_file(folder, text):
    path = begin(folder, mode="nightly").folder / "state.json"
    path.write_text(text)
    assert campaign.unfinished(folder, "nightly", {"mode": "nightly"}, NOW) is None
    with pytest.raises(campaign.CampaignFault, match=re.escape(str(path))):
        campaign.load(path)


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (
            -9,
            "interrupted",
            "the ReFrame of step links was killed before it left a mark (signal 9)",
        ),
        (1, "no-run", "no run of ReFrame labelled run=made.links is recorded; it did not start"),
    ],
)
def test_of_a_reframe_that_left_nothing_its_exit_status_tells_the_end(folder, status, kind, said):
    attempt = campaign.Attempt("made.links", "2026-11-22T22:00:00+00:00", status=status)
    step = campaign.Step("links", (), (), campaign.DONE, attempts=[attempt])
    when = datetime(2026, 11, 22, 22, tzinfo=timezone.utc)
    state = campaign.begin(folder, "nightly", {"system": "made"}, [step], when)
    verdict = Verdict()
    here = workspace(folder)
    for run in conclusion.run_of(state, here).runs:
        judge_run(verdict, here, run)
    (problem,) = verdict.problems
    assert (problem.kind, said in problem.text) == (kind, True)

"""`checks/detours.py` and `patterns detours`: real runs, on nodes in namespaces and on this one."""

import os

import pytest

from acceptance.core import kinds
from acceptance.nodes import Causes
from acceptance.suites import detours
from acceptance.suites.detours import Measured
from tests import made_detours
from tests import stored as results
from tests.patterns_program import build, run

#: As Linux's tracer of noise shows a thread that had a CPU.
EVENT = "backup-7 [{cpu:03}] d..3. 1.5: thread_noise: backup:7 start 1.4 duration 200897 ns\n"
SHORT = ("detours", "--seconds", "0.1", "--work", "20")


@pytest.fixture(scope="module")
def program():
    return build("openmpi")


def test_pairs_of_an_odd_number_of_nodes_take_two_rounds(program):
    done = run("openmpi", program, 3, *SHORT)
    measured = Measured(done.stdout, ranks=3)
    assert [(p.round, p.first, p.second) for p in measured.pairs] == [(0, 0, 1), (1, 0, 2)]
    assert done.stderr == ""


def test_each_rank_of_a_node_has_one_of_the_other_node(program):
    done = run("openmpi", program, 4, *SHORT, "--ranks", "2")
    measured = Measured(done.stdout, ranks=4)
    assert [(p.first, p.second) for p in measured.pairs] == [(0, 2), (1, 3)]


def test_slow_exchanges_are_bounded_and_the_clock_that_runs_away_is_followed(program):
    options = ("--seconds", "0.6", "--work", "1", "--keep", "20")
    done = run("openmpi", program, 2, "detours", *options, PATTERNS_TEST_CLOCK="1:200000")
    measured = Measured(done.stdout, ranks=2)
    (tail,) = Causes.of(measured).tails
    assert len(measured.of(tail.pair, "slow")) == min(tail.pair.slow, 20)
    # On a busy machine an answer may take 20 ms; a fifth of the run is far more than that.
    assert 0.1 < tail.clock.drift < 0.3


@pytest.mark.parametrize(
    ("options", "fault"),
    [(("--ranks", "2"), "2 ranks are not so many on each of two"), (("--work", "0"), "--work")],
)
def test_what_cannot_be_is_refused(program, options, fault):
    done = run("openmpi", program, 2, "detours", *options)
    assert done.returncode
    assert fault in done.stderr


def join(site, two_nodes, folder, **more):
    environment = two_nodes.environment("openmpi")
    environment["features"].append("patterns")
    environment["extras"]["suites"] = {"patterns": str(folder)}
    two_nodes.join(site, environment, **more)


def tracer(site, trace):
    """Make Linux's folder of a tracer that is on, with this line of each CPU; return its option."""
    folder = site.folder / "tracing"
    for cpu in range(os.cpu_count()):
        (folder / f"per_cpu/cpu{cpu}").mkdir(parents=True)
        (folder / f"per_cpu/cpu{cpu}/trace").write_text(trace.format(cpu=cpu))
    (folder / "osnoise").mkdir()
    said = {"current_tracer": "osnoise", "trace_clock": "[local]"}
    for name, text in {**said, "osnoise/options": "NO_OSNOISE_WORKLOAD"}.items():
        (folder / name).write_text(f"{text}\n")
    return "-S", f"Detours.tracing={folder}"


def test_two_real_nodes_are_measured_also_where_a_kernel_says_what_nobody_reads(
    site, two_nodes, program
):
    join(site, two_nodes, program.parent)
    options = ("-S", "Detours.exchange_time=0.5", *tracer(site, "some_noise: {cpu}\n"))
    site.reframe("-c", "checks/detours.py", "-r", *options)
    (case,) = results.session(site.database).cases
    assert case.result == "pass"
    assert {metric.name: metric.unit for metric in case.metrics} == {
        name: unit for name, (_, unit) in detours.metrics().items()
    }
    assert (case.keys["np"], case.keys["nodes"]) == ("2", "2")
    assert "late" in case.provenance["late"]
    assert case.provenance["bytes"]
    assert case.provenance["kernel"].startswith("not read: no line of osnoise.sh: 'node")


def test_a_noisy_node_is_named_and_fails_nothing(site, two_nodes):
    folder = site.folder / "program"
    folder.mkdir()
    noisy = [((0, made_detours.RECEIVER, 300.0),)] * 60
    (folder / "made.txt").write_text(made_detours.text(noisy))
    program = f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 0 ] || exit 0\ncat {folder}/made.txt\n'
    (folder / "patterns").write_text(program)
    (folder / "patterns").chmod(0o755)
    # This program sends nothing, so that no device can have carried it.
    join(site, two_nodes, folder, fabric={"technology": "ethernet"})
    site.reframe("-c", "checks/detours.py", "-r", "--mode=nightly", *tracer(site, EVENT))
    (case,) = results.session(site.database).cases
    assert case.result == "pass"
    assert "node-noisy" in [each.kind for each in case.findings]
    _, verdict = site.gate()
    assert verdict["problems"] == []
    (told,) = (each for each in verdict["cases"][0]["findings"] if each["kind"] == "node-noisy")
    assert told["nodes"] == ["node2"]
    assert "osnoise" in kinds.of("node-noisy").remedy
    (note,) = (each for each in verdict["notes"] if each.startswith("late messages: "))
    assert "node2, with node1: it made 60 of 60 late messages late" in note
    assert "its kernel: osnoise: thread backup" in note
    assert "node2 100%" in case.provenance["late"]


def test_a_bare_machine_has_no_case_of_it(site):
    listed = site.reframe("-c", "checks/detours.py", "-l").output
    assert "Found 0 check(s)" in listed

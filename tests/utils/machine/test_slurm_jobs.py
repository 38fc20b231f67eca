"""How Slurm and a launcher say that a job ended, and what its program said last."""

import subprocess
from pathlib import Path

import pytest

from acceptance.core.findings import Finding
from acceptance.machine import last_words, slurm
from tests.needs import skip_for, why_no_mpi
from tests.patterns_program import MPIS, environment
from tests.places import PATIENCE

LIMIT = """\
placement rank=0 node=node1 cpus=1 sockets=0 cores=0:1
srun: Job step aborted: Waiting up to 3 seconds for job step to finish.
slurmstepd-node1: error: *** STEP 16.0 ON node1 CANCELLED AT 2026-11-21T15:48:26 DUE TO TIME LIMIT ***
slurmstepd-node1: error: *** JOB 16 ON node1 CANCELLED AT 2026-11-21T15:48:26 DUE TO TIME LIMIT ***
srun: error: node1: task 0: Terminated
"""  # noqa: E501
CANCELLED = "slurmstepd-node1: error: *** JOB 7 ON node1 CANCELLED AT 2026-11-21T15:48:26 ***\n"
NODE = (
    "slurmstepd-node1: error: *** STEP 9.0 ON node1 CANCELLED AT 2026-11-21T15:48:26 DUE TO NODE "
    "FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***\n"
)
CRASH = """\
srun: error: node2: task 1: Segmentation fault
slurmstepd-node1: error: *** STEP 3.0 ON node1 CANCELLED AT 2026-11-21T15:48:26 ***
"""
SHOWN = (
    "JobId=5 JobName=rfm JobState=TIMEOUT Reason=TimeLimit Dependency=(null) "
    "NodeList=node[1-2] BatchHost=node1"
)


@pytest.mark.parametrize(
    ("errors", "kind", "said"),
    [
        (
            LIMIT,
            "time-limit",
            "the job 16 on node1 was CANCELLED DUE TO TIME LIMIT "
            "(a check's limit: -S time_limit=30m)",
        ),
        (CANCELLED, "job-ended", "the job 7 on node1 was CANCELLED"),
        (
            NODE,
            "job-ended",
            "the step 9.0 on node1 was CANCELLED DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR "
            "DETAILS",
        ),
        # The rank that crashed says more.
        (CRASH, "", ""),
        ("srun: got SIGCONT\n*** a program's own stars ***\n", "", ""),
        ("", "", ""),
    ],
)
def test_what_slurmstepd_writes_to_the_standard_error(errors, kind, said):
    assert slurm.cut_short(errors) == (Finding(kind, said) if said else None)


@pytest.mark.parametrize(
    ("state", "kind", "said"),
    [
        (
            "TIMEOUT",
            "time-limit",
            "the job did not end by itself: it reached its time limit (TIMEOUT)",
        ),
        (
            "CANCELLED by 0",
            "job-ended",
            "the job did not end by itself: somebody cancelled it (CANCELLED by 0)",
        ),
        (
            "OUT_OF_MEMORY",
            "job-ended",
            "the job did not end by itself: it used more memory than it may (OUT_OF_MEMORY)",
        ),
        *((state, "", "") for state in ("COMPLETED", "FAILED", "SUCCESS", "", None)),
    ],
)
def test_what_the_scheduler_says(state, kind, said):
    assert slurm.cut_short("", state) == (Finding(kind, said) if said else None)


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (SHOWN, "time-limit", "TIMEOUT (TimeLimit) on node[1-2]"),
        ("JobState=NODE_FAIL Reason=None NodeList=node1", "job-ended", "NODE_FAIL on node1"),
        ("JobId=5 JobState=RUNNING Reason=None NodeList=node1", "", "RUNNING on node1"),
        ("JobId=5 JobState=PENDING Reason=Resources NodeList=(null)", "", "PENDING (Resources)"),
        ("", "", "no state"),
    ],
)
def test_what_scontrol_shows_of_a_job(text, kind, said, monkeypatch, tmp_path):
    command(monkeypatch, tmp_path, "scontrol", f"echo '{text}'")
    assert slurm.ask("5") == Finding(kind, f"of job 5 Slurm says: {said}")


def command(monkeypatch, folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_controller_that_does_not_answer_is_told(monkeypatch, tmp_path):
    said = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
    command(monkeypatch, tmp_path, "scontrol", f"echo '{said}' >&2; exit 1")
    assert slurm.ask("12").text == f"Slurm cannot be asked about job 12: {said}"
    monkeypatch.setenv("PATH", "")
    assert "No such file" in slurm.ask("5").text
    assert "No such file" in slurm.controller_fault()


def test_accounts_that_are_not_kept_are_told(monkeypatch, tmp_path):
    command(
        monkeypatch, tmp_path, "sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1"
    )
    assert slurm.accounting_fault() == "Slurm accounting storage is disabled"
    command(monkeypatch, tmp_path, "sacct", "exit 0")
    assert slurm.accounting_fault() == ""
    command(monkeypatch, tmp_path, "sacct", "exit 3")
    assert slurm.accounting_fault() == "sacct ends with status 3"


def test_a_run_that_ended_for_want_of_sacct_is_known():
    assert slurm.lacks_accounting(
        "run session stopped: spawned process error: command 'sacct -S 2026-11-21 -P -j 15 -o "
        "jobid,state,exitcode,end,nodelist' failed with exit code 1:"
    )
    assert not slurm.lacks_accounting("run session stopped: force exit error: received signal 15")


SOURCE = Path(__file__).with_name("ends.c")
OWN = "ends: no room for 17 buffers"
#: How it ends -> what is to be said of it, beside its own words.
SIGNALS = {"kill": "9", "crash": "11"}


@pytest.fixture(scope="module", params=MPIS)
def ends(request, tmp_path_factory):
    """Return what runs the program with an MPI and returns its standard error."""
    mpi = MPIS[request.param]
    skip_for(why_no_mpi(request.param))
    program = tmp_path_factory.mktemp("ends") / "ends"
    known = environment(request.param)
    subprocess.run([mpi.compiler, SOURCE, "-o", program], env=known, check=True, timeout=PATIENCE)

    def run(how):
        done = subprocess.run(
            [mpi.launcher, "-n", "2", program, how],
            env=known, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode
        return done.stderr

    run.name = request.param
    return run


@pytest.mark.parametrize("how", ["abort", "exit"])
def test_they_are_those_of_the_program_and_not_of_its_mpi(ends, how):
    assert last_words(ends(how)).partition(";")[0] == OWN


@pytest.mark.parametrize("how", SIGNALS)
def test_a_signal_is_told_beside_them(ends, how):
    words = last_words(ends(how))
    assert words.startswith(OWN)
    # Hydra tells a signal on the standard output, or by the status.
    if ends.name == "openmpi":
        assert f"exited on signal {SIGNALS[how]}" in words


def test_the_error_of_a_call_is_what_mpi_says_of_it(ends):
    text = ends("call")
    # Open MPI now and then loses what it says itself.
    expected = "nvalid rank" if "nvalid rank" in text else OWN
    assert expected in last_words(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("\n------\n\n", ""),
        ("out of memory\n=====\n", "out of memory"),
        (
            "no file\n[n1:5] [[12782,0],0] ORTE_ERROR_LOG: Data unpack would read past end of "
            "buffer in file ../../../orte/util/show_help.c at line 501\n",
            "no file",
        ),
        # A frame that is the program's own.
        (f"{'-' * 74}\nERROR: no file\n{'-' * 74}\n", "ERROR: no file"),
        (
            "no file\nsrun: error: n1: task 0: Exited with exit code 3\n"
            "srun: launch/slurm: _step_signal: Terminating StepId=7.0\n",
            "no file",
        ),
        (
            "no file\nslurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-01-02T03:04:05 ***\n"
            "srun: error: n1: task 0: Out Of Memory\n",
            "no file; srun: error: n1: task 0: Out Of Memory",
        ),
        (
            "a warning\nslurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-02T03:04:05 DUE TO "
            "NODE FAILURE ***\nsrun: error: n1: task 0: Killed\n",
            "a warning; slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-02T03:04:05 DUE TO "
            "NODE FAILURE ***; srun: error: n1: task 0: Killed",
        ),
        (
            "srun: error: n1: task 0: Exited with exit code 3\n",
            "srun: error: n1: task 0: Exited with exit code 3",
        ),
        (
            "Abort(1) on node 0 (rank 0 in comm 0): application called "
            "MPI_Abort(MPI_COMM_WORLD, 1) - process 0\n",
            "Abort(1) on node 0 (rank 0 in comm 0): application called "
            "MPI_Abort(MPI_COMM_WORLD, 1) - process 0",
        ),
    ],
)
def test_what_was_said(text, words):
    assert last_words(text) == words

"""What a program said last, of what real MPIs print when one fails."""

import subprocess
from pathlib import Path

import pytest

from acceptance.launch import last_words
from tests.needs import skip_for, why_no_mpi
from tests.patterns_program import MPIS, environment
from tests.places import PATIENCE

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

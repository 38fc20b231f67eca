"""`patterns all-pairs` of `checks/src/patterns`: who sends when, real runs, and pairs that fail."""

import json
import os
import subprocess
from math import gcd

import numpy as np
import pytest

from acceptance.core.pairs import INSIDE, UNITS
from acceptance.nodes import culprits
from tests import netns
from tests.needs import skip_for
from tests.patterns_program import MPIS, build, environment, run, whole
from tests.places import PATIENCE

#: Short loops of small messages: nobody reads what they measured.
SHORT = ("--bytes", "4k", "--time", "1")
HOST = os.uname().nodename


@pytest.fixture(scope="module")
def program():
    return build("openmpi", "SANITIZE=1")


@pytest.fixture
def measure(program, tmp_path):
    def measure(ranks, *options, mpi="openmpi", nodes=None, **variables):
        path = tmp_path / "values.txt"
        made = program if mpi == "openmpi" else build(mpi)
        options = ("all-pairs", *SHORT, "--output", str(path), *options)
        variables["ASAN_OPTIONS"] = "detect_leaks=0"  # requests that are given up stay
        done = run(mpi, made, ranks, *options, **variables)
        assert path.exists(), done.stderr
        return done, whole(path.read_text(), ranks=nodes or ranks)

    return measure


def ring(start, shift, ranks):
    rank = start
    while True:
        yield rank
        rank = (rank + shift) % ranks
        if rank == start:
            return


def model(ranks):
    """Return a row of each rank and round: ranks, shift, rank, to, from, turn."""
    rounds = ranks - 1
    step = max(int(0.6180339887 * rounds), 1)
    step = next(each for each in range(step, 2 * rounds + 2) if gcd(each, rounds) == 1)
    rows = []
    for shift in (k * step % rounds + 1 for k in range(rounds)):
        turn = {}
        for start in range(gcd(ranks, shift)):
            members = [*ring(start, shift, ranks)]
            turn.update({rank: place % 2 for place, rank in enumerate(members)})
            if len(members) % 2:
                turn[members[-1]] = 2
        rows += [
            (ranks, shift, rank, (rank + shift) % ranks, (rank - shift) % ranks, turn[rank])
            for rank in range(ranks)
        ]
    return rows


def test_the_schedule_is_that_of_the_model_and_takes_each_pair_once(program):
    counts = range(2, 34)
    command = [program, "all-pairs", "--schedule", ",".join(map(str, counts))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    _, _, *lines, _ = map(json.loads, done.stdout.splitlines())
    rows = [tuple(line.values())[1:] for line in lines]
    assert rows == [row for ranks in counts for row in model(ranks)]
    for ranks in counts:
        ways = [row[2:4] for row in rows if row[0] == ranks]
        assert sorted(ways) == [(a, b) for a in range(ranks) for b in range(ranks) if a != b]
    # In no turn does a rank send and receive.
    sends = {(*row[:2], row[5], row[2]) for row in rows}
    receives = {(*row[:2], row[5], row[3]) for row in rows}
    assert not sends & receives


@pytest.mark.parametrize("mpi", MPIS)
def test_two_ranks_measure_each_other(measure, mpi):
    done, measured = measure(2, mpi=mpi)
    assert done.returncode == 0, done.stderr
    assert "1 rounds of" in done.stderr
    told = json.loads(done.stdout.splitlines()[-2])
    assert (told["type"], told["rounds"], told["failed"]) == ("pairs", 1, 0)
    matrix = measured.matrix
    assert matrix.nodes == (HOST, f"{HOST}#1")
    for quantity in UNITS:
        np.testing.assert_array_equal(np.isfinite(matrix.values[quantity]), ~np.eye(2, dtype=bool))
    assert {*matrix.again} in ({*UNITS}, set())


@pytest.mark.parametrize("mpi", MPIS)
def test_with_two_ranks_on_each_node_the_inside_is_measured_too(measure, mpi):
    done, measured = measure(4, "--ranks", "2", mpi=mpi, nodes=2)
    assert done.returncode == 0, done.stderr
    matrix = measured.matrix
    assert matrix.nodes == (HOST, f"{HOST}#1")
    assert {*matrix.inside.values} == {*INSIDE.values()}
    assert all(np.isfinite(values).all() for values in matrix.inside.values.values())
    assert matrix.measured.sum() == 2


@pytest.mark.parametrize(("hangs", "why"), [
    ("3:1", f"first message: {HOST}#1's second rank did not answer within 2 s"),
    ("3:-1", f"{HOST}#1's second rank was left out: it did not report within 8 s"),
])  # fmt: skip
def test_a_second_rank_that_hangs_fails_the_inside_of_its_node_and_nothing_else(
    measure, hangs, why
):
    options = ("--ranks", "2", "--timeout", "2", "--limit", "18")
    done, measured = measure(4, *options, nodes=2, PATTERNS_TEST_HANG=hangs)
    assert done.returncode not in (0, 2)
    matrix = measured.matrix
    assert matrix.inside.failed == {1: why}
    assert matrix.failed == {}
    assert np.isfinite(matrix.inside.values[INSIDE["latency"]]).tolist() == [True, False]
    assert np.isfinite(matrix.values["both"]).sum() == 2


def test_ranks_that_are_not_two_on_each_node_are_refused(program):
    done = run("openmpi", program, 3, "all-pairs", *SHORT, "--ranks", "2")
    assert done.returncode == 1
    assert "3 ranks are not two on each node" in done.stderr


def test_a_pair_that_hangs_is_named_and_the_others_are_measured(measure):
    hangs = {"PATTERNS_TEST_HANG": "2:1"}
    done, measured = measure(3, "--timeout", "1.5", "--limit", "3", **hangs)
    assert done.returncode not in (0, 2)
    matrix = measured.matrix
    why = matrix.failed[1, 2]
    assert why == f"first message: {HOST}#2 did not answer within 1.5 s"
    assert np.isnan(matrix.values["bandwidth"][1, 2])
    if measured.left == 0:
        assert np.isfinite(matrix.values["bandwidth"][2, 1])
    others = matrix.rounds > 0
    for pair in matrix.failed:
        others[pair] = False
    assert others.any()
    assert all(np.isfinite(matrix.values[quantity][others]).all() for quantity in UNITS)


def test_a_rank_that_does_nothing_more_is_left_out(measure):
    hangs = {"PATTERNS_TEST_HANG": "2:-1"}
    done, measured = measure(3, "--timeout", "0.5", "--limit", "2", **hangs)
    assert done.returncode not in (0, 2)
    assert f"{HOST}#2 is left out from now on: it did not report within 2 s" in done.stderr
    assert measured.matrix.failed[1, 2].startswith(f"{HOST}#2 was left out")


def test_wrong_data_are_named_with_their_first_byte(measure):
    done, measured = measure(2, PATTERNS_TEST_CORRUPT="1:77:1")
    assert done.returncode == 1
    assert [*measured.matrix.failed] == [(1, 0)]
    assert measured.matrix.failed[1, 0].startswith(
        "bandwidth: wrong data from byte 77 on: expected"
    )
    assert np.isnan(measured.matrix.values["both"][1, 0])
    assert np.isfinite(measured.matrix.values["both"][0, 1])


def test_chosen_rounds_are_by_name_and_a_stranger_is_told(measure, tmp_path):
    rounds = tmp_path / "rounds"
    names = [HOST, f"{HOST}#1", f"{HOST}#2"]
    rounds.write_text("# two rounds\n{0} {1}\n{1} {0}\nnode77 {2}\n\n\n{2} {0}\n".format(*names))
    done, measured = measure(3, "--rounds", str(rounds), "--limit", "5")
    assert done.returncode == 0, done.stderr
    assert "line 4: the node node77 is not in this job" in done.stderr
    np.testing.assert_array_equal(measured.matrix.rounds, [[0, 1, 0], [1, 0, 0], [2, 0, 0]])
    assert measured.job.rounds == 2


def test_what_there_was_no_time_for_is_told(measure, tmp_path):
    rounds = tmp_path / "rounds"
    rounds.write_text(f"{HOST} {HOST}#1\n\n{HOST}#1 {HOST}\n")
    done, measured = measure(2, "--limit", "0.001", "--rounds", str(rounds))
    assert done.returncode == 0, done.stderr
    assert "--limit 0.001 has time for about" in done.stderr
    assert (measured.job.rounds, measured.left) == (2, 1)
    assert np.isfinite(measured.matrix.values["latency"]).sum() == 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a b\n", "no pair of nodes of this job"),
        (f"{HOST}\n", "line 1: not two names"),
        (f"{HOST} {HOST}#1\n{HOST}#1 {HOST}\n{HOST} {HOST}#1\n", "line 3: a node of a round may"),
    ],
)
def test_rounds_that_cannot_be_are_refused(program, tmp_path, text, fault):
    rounds = tmp_path / "rounds"
    rounds.write_text(text)
    done = run("openmpi", program, 2, "all-pairs", *SHORT, "--rounds", str(rounds))
    assert done.returncode == 1
    assert fault in done.stderr


def test_shifts_beyond_the_ranks_are_refused(program):
    done = run("openmpi", program, 2, "all-pairs", *SHORT, "--shifts", "1,2")
    assert done.returncode == 1
    assert "a shift by 2 requires more than 2 nodes" in done.stderr


def test_the_node_behind_a_shaped_link_is_found(tmp_path):
    """Real MPI over real interfaces: four nodes with links of 1 Gb/s, one of 50 Mb/s."""
    skip_for(netns.why_not())
    made, values = build("openmpi"), tmp_path / "values.txt"
    names = tuple(f"node{number}" for number in range(1, 5))
    command = [MPIS["openmpi"].launcher, "-n", "4", made, "all-pairs", "--bytes", "256k"]
    with (
        netns.Pair(tmp_path, names) as nodes,
        nodes.shaped("1gbit", nodes=("node1", "node2", "node4")),
        nodes.shaped("50mbit", nodes=("node3",)),
    ):
        done = subprocess.run(
            [*command, "--time", "3", "--output", values],
            env={**environment("openmpi"), **nodes.variables("openmpi")},
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    matrix = whole(values.read_text(), ranks=4).matrix
    assert matrix.nodes == names
    found = culprits.find(matrix)
    # On a busy machine another one may seem slow as well.
    assert ("node3",) in [each.nodes for each in found if each.quantity != "latency"], found

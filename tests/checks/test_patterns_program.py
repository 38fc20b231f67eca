"""The program of `checks/src/patterns`: its schedules, its measurements, and its refusals.

The schedules are compared with a model of their own (`tests/patterns_model.py`).
"""

import json
import math
import re
import signal
import subprocess

import pytest

from acceptance.suites.patterns import Distance, Phase, Plan, Rate, Summary, parse
from tests import patterns_model as model
from tests.patterns_program import MPIS, build, environment, run
from tests.places import PATIENCE

DENSE = ("aapc", "simple-pairwise", "cumulative-pairwise", "random-pairwise")
RANKS = range(2, 34)
#: As little as b_eff's definition allows: 21 sizes, 6 rings, one random pattern, 3 methods.
SHORT_BEFF = ("b-eff", "--random", "1", "--repeat", "1", "--time", "1", "--lmax", "8k")
#: What an MPI leaves allocated is not ours; see the test of leaks.
NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}
CORRUPT = "PATTERNS_TEST_CORRUPT"


@pytest.fixture(scope="module")
def program():
    return build("openmpi")


@pytest.fixture(scope="module")
def sanitized():
    return build("openmpi", "SANITIZE=1")


def records(stdout, pattern):
    """Return the records of a run: the options, the rows and the end."""
    run, *others = [json.loads(line) for line in stdout.splitlines()]
    assert (run["pattern"], others[-1]) == (pattern, {"type": "end"})
    return others


def schedule(program, pattern, *options, counts=RANKS):
    counts = ",".join(map(str, counts))
    done = subprocess.run(
        [program, pattern, "--schedule", counts, *options],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    _, *rows, _ = records(done.stdout, pattern)
    return [tuple(row.values())[1:] for row in rows]


@pytest.mark.parametrize("pattern", DENSE)
def test_the_schedule_of_a_dense_pattern_is_that_of_the_model(program, pattern):
    expected = []
    for ranks in RANKS:
        phases = model.PHASES[pattern](ranks)
        for phase in range(1, phases + 1):
            partners = model.DENSE[pattern](ranks, phase)
            expected += [(ranks, phase, rank, *partners[rank]) for rank in sorted(partners)]
    assert schedule(program, pattern) == expected


def test_a_seed_decides_the_random_pairs_and_their_number_is_free(program):
    rows = schedule(program, "random-pairwise", "--seed", "7", "--phases", "2")
    pairs = {(ranks, phase): {} for ranks in RANKS for phase in (1, 2)}
    for ranks, phase, rank, to, come_from in rows:
        pairs[ranks, phase][rank] = (to, come_from)
    assert pairs == {key: model.random_pairs(*key, seed=7) for key in pairs}
    assert pairs[33, 1] != pairs[33, 2] != model.random_pairs(33, 2, seed=1)


def test_simple_pairs_meet_once_where_all_rings_are_even():
    for ranks in (2, 4, 8, 16, 32):
        met = [
            (rank, to)
            for phase in range(1, ranks)
            for rank, (to, _) in model.simple(ranks, phase).items()
        ]
        assert len(met) == len(set(met)) == ranks * (ranks - 1)


def test_the_rings_of_b_eff_are_those_of_the_model(program):
    """The last numbers of ranks have rings of a quarter and a half of all."""
    counts = (*RANKS, 71, 130)
    rows = schedule(program, "b-eff", "--random", "3", counts=counts)
    expected = []
    for ranks in counts:
        for pattern in range(9):
            neighbours = model.neighbours(ranks, pattern)
            expected += [(ranks, pattern, rank, *neighbours[rank]) for rank in range(ranks)]
    assert rows == expected


def test_the_distances_are_powers_of_two_and_the_last(program):
    rows = schedule(program, "distance")
    for ranks in RANKS:
        to = [row[2] for row in rows if row[0] == ranks]
        powers = [2**k for k in range(6) if 2**k < ranks]
        assert to == sorted({*powers, ranks - 1})


@pytest.mark.parametrize("pattern", DENSE)
def test_five_ranks_exchange_what_the_schedule_says(program, pattern):
    done = run("openmpi", program, 5, pattern, "--sizes", "5,1k", "--time", "1")
    assert done.returncode == 0, done.stderr
    output = parse(done.stdout, pattern=pattern, ranks=5)
    assert {*map(type, output.rows)} == {Phase}
    for row in output.rows:
        partners = model.DENSE[pattern](5, row.phase)
        pairs = {(rank, to) for rank, (to, _) in partners.items()}
        if pattern != "aapc":
            pairs = {tuple(sorted(pair)) for pair in pairs}
        around = [min(abs(a - b), 5 - abs(a - b)) for a, b in pairs]
        assert row.streams == len(pairs)
        assert row.waiting == 5 - len(partners)
        assert row.distance == sum(around) / len(pairs)
        assert (row.slowest_from, row.slowest_to) in pairs


@pytest.mark.parametrize("name", MPIS)
def test_two_ranks_measure_with_each_mpi(name):
    program = build(name)
    done = run(name, program, 2, "simple-pairwise", "--sizes", "8,64k", "--time", "1")
    assert done.returncode == 0, done.stderr
    output = parse(done.stdout, pattern="simple-pairwise", ranks=2)
    words = {"openmpi": "Open MPI", "mpich": "MPICH", "intel-mpi": "Intel(R) MPI"}
    assert output.run.mpi.startswith(words[name])
    assert output.head[Plan].memory_B > 2 * 65536
    # 2 sizes of 1 phase: 3 loops of 1 ms, and one for the calibration.
    assert output.head[Plan].expected_s == 0.008


def test_the_averages_of_b_eff_follow_from_its_table(sanitized):
    done = run("openmpi", sanitized, 2, *SHORT_BEFF, **NO_LEAKS)
    assert (done.returncode, done.stderr) == (0, "")
    output = parse(done.stdout, pattern="b-eff", ranks=2)
    rates = {}
    *rows, summary = output.rows
    for row in rows:
        assert isinstance(row, Rate)
        key = row.pattern, row.size_B
        rates[key] = max(rates.get(key, 0), row.rate_MBps)
    sizes = sorted({size for _, size in rates})
    assert len(sizes) == 21
    assert sizes[:13] == [2**k for k in range(13)]
    assert sizes[13:] == [round(4096 * 2 ** (k / 8)) for k in range(1, 9)]
    patterns = range(int(max(pattern for pattern, _ in rates)) + 1)
    means = [sum(rates[pattern, size] for size in sizes) / 21 for pattern in patterns]
    largest = [rates[pattern, 8192] for pattern in patterns]
    assert isinstance(summary, Summary)
    expected = {
        "b_eff": model.logarithmic(means),
        "at_lmax": model.logarithmic(largest),
        "at_lmax_rings": math.exp(sum(math.log(rate) for rate in largest[:6]) / 6),
    }
    for name, value in expected.items():
        each = {"b_eff": "per_process"}.get(name, name + "_per_process")
        assert getattr(summary, f"{name}_MBps") == pytest.approx(value, rel=1e-6)
        assert getattr(summary, f"{each}_MBps") == pytest.approx(value / 2, rel=1e-6)
    assert summary.latency_us > 0
    assert summary.ping_pong_MBps > 0


def test_distance_is_measured_to_each_partner(program):
    done = run("openmpi", program, 3, "distance", "--sizes", "1,4k", "--time", "1")
    assert done.returncode == 0, done.stderr
    rows = parse(done.stdout, pattern="distance", ranks=3).rows
    assert {*map(type, rows)} == {Distance}
    assert {(row.size_B, row.distance) for row in rows} == {
        (size, distance) for size in (1, 4096) for distance in (1, 2)
    }


def test_no_memory_is_misused(sanitized):
    options = ("random-pairwise", "--phases", "3", "--sizes", "1,9", "--time", "1")
    done = run("openmpi", sanitized, 2, *options, **NO_LEAKS)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("pattern", [*DENSE, "b-eff", "distance"])
def test_no_memory_is_lost(sanitized, pattern):
    command = [sanitized, pattern, "--schedule", "2,33"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (("aapc", "--sizes", "64"), "the message of 64 bytes from rank 1 in phase 1"),
        (("distance", "--sizes", "64"), "the message of 64 bytes from rank 1 in phase 1"),
        (SHORT_BEFF, "the message of 16 bytes from rank 1 in phase 0"),
    ],
)
@pytest.mark.parametrize("stage", ["untimed", "timed"])
def test_a_corrupted_byte_is_named(program, options, fault, stage):
    where = f"1:13:{('untimed', 'timed').index(stage)}"
    done = run("openmpi", program, 2, *options, **{CORRUPT: where})
    # mpirun of Open MPI 4.1 itself crashes in 1 of 200 aborts, when all is over.
    assert done.returncode in (1, -signal.SIGSEGV)
    assert '"end"' not in done.stdout
    assert "patterns: rank 0 on " in done.stderr
    assert f"{fault} ({stage}) is wrong from byte 13 on: expected 0x" in done.stderr


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ((), "'' is no pattern"),
        (("aap",), "'aap' is no pattern"),
        (("aapc",), "aapc requires at least 2 ranks, there is 1"),
        (("aapc", "--size", "8"), "aapc has no option '--size'"),
        (("aapc", "--lmax", "1m"), "aapc has no option '--lmax'"),
        (("aapc", "--sizes"), "--sizes requires a value"),
        (("aapc", "--sizes", "8,4"), "--sizes '8,4': requires a list of growing whole numbers"),
        (("aapc", "--sizes", "8,"), "--sizes '8,': requires a list"),
        (("aapc", "--sizes", "2g"), "from 1 to 1073741824"),
        (("aapc", "--time", "0.0005"), "--time '0.0005': requires a number from 0.001 to 100000"),
        (("aapc", "--time", "nan"), "--time 'nan': requires a number from 0.001 to 100000"),
        (("b-eff", "--lmax", "4k"), "--lmax '4k': requires a number of bytes"),
    ],
)
def test_wrong_options_are_named_before_anything_is_timed(program, options, fault):
    done = subprocess.run(
        [program, *options],
        env=environment("openmpi"),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert fault in done.stderr


def test_two_ranks_name_wrong_options_once(program):
    done = run("openmpi", program, 2, "aapc", "--sizes", "0")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("patterns: --sizes '0': requires a list") == 1


def test_an_error_of_the_mpi_names_call_rank_and_node(program):
    """Rank 1 expects 8 bytes and gets 16; rank 0 waits for an answer, so it cannot fail first."""
    other = (":", "-n", "1", program, "distance", "--sizes", "8")
    done = run("openmpi", program, 1, "distance", "--sizes", "16", *other)
    assert done.returncode == 1
    assert '"end"' not in done.stdout
    assert re.search(
        r"patterns: rank 1 on \S+: MPI_Recv: .*truncate.*pingpong.c", done.stderr, re.I
    )


def test_memory_that_is_not_there_is_named(program):
    """Two messages of 1 GiB where a process may have 2 GB; whichever rank fails first ends all."""
    limited = f"ulimit -v 2000000; exec {program} distance --sizes 1g"
    done = run("openmpi", "bash", 2, "-c", limited)
    assert done.returncode == 1
    assert '"end"' not in done.stdout
    assert "no memory for 1073741824 times 1 bytes" in done.stderr


def test_help_names_each_pattern_and_its_options(program):
    done = subprocess.run([program, "--help"], capture_output=True, text=True, check=True)
    for word in (*DENSE, "b-eff", "distance", "--sizes", "--lmax", "--schedule", "--time"):
        assert word in done.stdout


def test_an_output_that_cannot_be_written_is_a_failure(program):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [program, "aapc", "--schedule", "33"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "the output could not be written" in done.stderr

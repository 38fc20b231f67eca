"""The input file of `suites/hpcc.py`: its arithmetic, and its files in real runs of HPCC."""

import os
import subprocess

import pytest

from acceptance.core.errors import ParseError
from acceptance.suites import hpcc as hpl
from acceptance.suites import hpcc_output as hpcc
from tests.needs import find, requires

HPCC, MPIRUN = find("hpcc"), find("mpirun.openmpi")
needs_hpcc = requires("hpcc", "mpirun.openmpi")

GIB = 2**30
#: Line -> what HPCC reads there: the counts of values, and the values that it checks.
COUNTS = (5, 7, 10, 14, 16, 18, 20, 22, 24)


@pytest.mark.parametrize(
    ("processes", "expected"),
    [
        (1, (1, 1)),
        (2, (1, 2)),
        (6, (2, 3)),
        (12, (3, 4)),
        (13, (1, 13)),
        (48, (6, 8)),
        (64, (8, 8)),
        (4093, (1, 4093)),
        (4096, (64, 64)),
    ],
)
def test_the_grid_is_nearest_to_a_square(processes, expected):
    assert hpl.grid(processes) == expected


def test_no_other_grid_is_nearer_to_a_square():
    for processes in range(1, 500):
        rows, columns = hpl.grid(processes)
        grids = [(p, processes // p) for p in range(1, processes + 1) if processes % p == 0]
        assert (rows, columns) in grids
        assert columns - rows == min(abs(q - p) for p, q in grids)
        assert rows <= columns


@pytest.mark.parametrize(
    ("memory", "share", "block", "order"),
    [
        (8 * 1000**2, 1, 1, 1000),
        (8 * 1000**2 - 1, 1, 1, 999),
        (8 * 1000**2, 1, 128, 896),
        (8 * 1000**2, 0.25, 100, 500),
        # The FAQ of HPL: 4 nodes of 256 MB hold 11585, and 80 % of that memory some 10000.
        (4 * 256 * 2**20, 1, 1, 11585),
        (4 * 256 * 2**20, 0.8, 100, 10300),
        (512 * 1024 * GIB, 0.8, 384, 7502976),
        (8, 1, 1, 1),
    ],
)
def test_the_matrix_takes_its_share_of_the_memory(memory, share, block, order):
    assert hpl.problem_size(memory, share, block) == order
    assert 8 * order**2 <= memory * share < 8 * (order + block) ** 2


@pytest.mark.parametrize("share", [0, -0.1, 1.01, 80, float("nan"), float("inf")])
def test_a_share_that_is_none_is_refused(share):
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        hpl.problem_size(GIB, share, 128)


@pytest.mark.parametrize("block", [0, -1])
def test_a_block_below_one_is_refused(block):
    with pytest.raises(ValueError, match="at least 1"):
        hpl.problem_size(GIB, 0.8, block)


@pytest.mark.parametrize("memory", [-GIB, 0, 7, 8 * 128**2 - 1])
def test_memory_without_room_for_a_block_is_refused(memory):
    with pytest.raises(ValueError, match="hold no matrix of one block of 128"):
        hpl.problem_size(memory, 1, 128)


@pytest.mark.parametrize(
    ("processes", "order"),
    [(1, 250), (2, 354), (3, 434), (4, 500), (5, 1024), (16, 1024), (17, 1031), (4096, 16000)],
)
def test_the_smallest_order(processes, order):
    assert hpl.smallest(processes) == order


def test_every_test_of_hpcc_has_work_at_the_smallest_order():
    for processes in range(1, 4097):
        order = hpl.smallest(processes)
        table = 2 ** ((order**2).bit_length() - 1)
        assert 4 * (table // processes) // 100 >= 1
        assert 2 ** ((order**2 // processes).bit_length() - 1) >= 32
        assert hpl.stream_vector(order, processes) * 8 >= 160_000
        assert processes <= 4 or table // 100 > 7000


@pytest.mark.parametrize(
    ("order", "processes", "length"),
    [
        # As HPCC printed them.
        (1000, 2, 166666),
        (500, 2, 41666),
        (500, 3, 27777),
        (3520, 2, 2065066),
        (1024, 6, 58254),
        (100, 6, 555),
        (8, 2, 10),
        # A length that a C int holds, and one that it does not.
        (80264, 1, 2147436565),
        (80300, 1, 2**30),
        (10**6, 2, 2**30),
    ],
)
def test_the_length_of_the_vectors_of_stream(order, processes, length):
    assert hpl.stream_vector(order, processes) == length


@pytest.mark.parametrize(
    "name",
    ["", "_n500", "_no_input", "_grid_too_large", "_np1", "_np5_lost_updates", "_np6"],
)
def test_the_length_is_that_of_recorded_runs(recorded, name):
    summary = hpcc.parse(recorded(f"hpcc/hpccoutf{name}.openmpi.txt")).summary
    assert (
        hpl.stream_vector(summary["HPL_N"], summary["CommWorldProcs"])
        == (summary["STREAM_VectorSize"])
    )


def read_as_hpcc(text):
    """Return what HPCC reads from the file, having checked all that it checks itself.

    fgets with 82 bytes; the first word of a line; counts of 1; P, Q, NB, NBMIN of at least 1.
    """
    assert text.isascii()
    assert text.endswith("\n")
    lines = text.splitlines()
    assert len(lines) == 36
    assert max(len(line) for line in lines) <= 80
    words = {number: line.split()[0] for number, line in enumerate(lines, 1)}
    for number in COUNTS:
        assert words[number] == "1"
    for number in (33, 35):
        assert words[number] == "0"
    value = {number: int(words[number]) for number in range(5, 32) if number != 13}
    assert float(words[13]) == 16
    for least, numbers in {0: (6, 25, 27), 1: (8, 11, 12, 17, 31), 2: (19,)}.items():
        assert all(value[number] >= least for number in numbers)
    assert {value[9], value[28], value[29], value[30]} <= {0, 1}
    assert {value[15], value[21], value[26]} <= {0, 1, 2}
    assert value[23] in range(6)
    return value[6], value[8], value[11], value[12]


def test_the_file_is_legal_for_every_number_of_processes():
    for processes in range(1, 4097):
        rows, columns = hpl.grid(processes)
        order = hpl.smallest(processes)
        read = read_as_hpcc(hpl.input_file(order, 128, rows, columns))
        assert read == (order, 128, rows, columns)
        assert rows * columns == processes
        with pytest.raises(ValueError, match=f"HPCC takes {order} to 2147483647"):
            hpl.input_file(order - 1, 128, rows, columns)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((500, 80, 64, 64), "an order of 500 on a grid of 64 x 64"),
        ((0, 80, 1, 2), "an order of 0"),
        ((-500, 80, 1, 2), "an order of -500"),
        ((2**31, 80, 1, 2), "an order of 2147483648"),
        ((500, 0, 1, 2), "a block of 0"),
        ((500, -80, 1, 2), "a block of -80"),
        ((500, 501, 1, 2), "a block of 501"),
    ],
)
def test_illegal_values_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        hpl.input_file(*arguments)


def run_hpcc(folder, processes):
    # As root, and on fewer cores than processes: both are those of a container.
    environment = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [MPIRUN, "--oversubscribe", "-np", str(processes), HPCC],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done, hpcc.parse((folder / "hpccoutf.txt").read_text())


@needs_hpcc
@pytest.mark.parametrize("processes", [1, 2, 3, 4, 6])
def test_hpcc_accepts_the_file_and_each_test_gives_a_number(tmp_path, processes):
    order, grid = hpl.smallest(processes), hpl.grid(processes)
    (tmp_path / "hpccinf.txt").write_text(hpl.input_file(order, 80, *grid))
    done, output = run_hpcc(tmp_path, processes)
    assert (done.returncode, done.stderr) == (0, "")
    assert output.summary["STREAM_VectorSize"] == hpl.stream_vector(order, processes)
    wanted = {"order": order, "block": 80, "grid": grid, "processes": processes}
    if processes == 1:
        # Nobody to talk to: HPCC leaves out the one test that is only communication.
        with pytest.raises(ParseError, match="LatencyBandwidth: no result"):
            output.check(**wanted)
    else:
        output.check(**wanted)

"""`suites/imb/benchmarks.py` against the outputs of real runs."""

import pytest

from acceptance.suites.imb import benchmarks as imb
from acceptance.suites.imb import output as parse
from acceptance.suites.registry import SUITES, check_of

MIB = 2**20


@pytest.mark.parametrize(
    ("name", "table", "low", "high"),
    [
        ("IMB-MPI1_PingPong.impi.txt", 0, 0, 22),
        ("IMB-MPI1_PingPong.openmpi.txt", 0, 3, 16),
        ("IMB-MPI1_PingPong_Sendrecv_Allreduce.openmpi.txt", 1, 0, 20),
        ("IMB-MPI1_PingPong_Sendrecv_Allreduce.openmpi.txt", 2, 0, 20),
        ("IMB-MPI1_off_cache.openmpi.txt", 0, 0, 12),
        ("IMB-MPI1_Uniband.impi.txt", 0, 0, 22),
        ("IMB-MPI1_Allreduce.impi.txt", 0, 0, 22),
        ("IMB-MPI1_Alltoall_np4.openmpi.txt", 1, 0, 10),
        ("IMB-MPI1_Alltoall_np4.openmpi.txt", 3, 0, 10),
    ],
)
def test_message_sizes_are_those_that_imb_prints(recorded, name, table, low, high):
    found = parse.parse(recorded(f"imb/{name}")).tables[table]
    sizes = imb.message_sizes(found.benchmark, found.processes, low, high)
    assert sizes == [row.size for row in found.rows]


@pytest.mark.parametrize("benchmark", imb.REDUCTIONS)
def test_reductions_have_no_message_below_one_float(benchmark):
    assert imb.message_sizes(benchmark, 2, 0, 4) == [0, 4, 8, 16]
    assert imb.message_sizes(benchmark, 128, 3, 5) == [0, 8, 16, 32]


@pytest.mark.parametrize("benchmark", imb.GROWING)
@pytest.mark.parametrize(
    ("processes", "largest"),
    [(2, 4 * MIB), (32, 4 * MIB), (64, 2 * MIB), (96, MIB), (128, MIB), (1024, MIB // 8)],
)
def test_growing_buffers_bound_the_largest_message(benchmark, processes, largest):
    sizes = imb.message_sizes(benchmark, processes, 0, 22)
    first = [0, 4, 8] if benchmark in imb.REDUCTIONS else [0, 1, 2]
    assert (sizes[:3], sizes[-1]) == (first, largest)


@pytest.mark.parametrize("benchmark", ["PingPong", "Sendrecv", "Biband", "Bcast", "Allreduce"])
def test_other_buffers_do_not_grow_with_the_processes(benchmark):
    assert imb.message_sizes(benchmark, 1024, 0, 22)[-1] == 4 * MIB


@pytest.mark.parametrize(
    ("benchmark", "column", "counts"),
    [
        ("PingPong", imb.LATENCY, True),
        ("Sendrecv", imb.TIME, True),
        ("Uniband", imb.RATE, True),
        ("PingPong", imb.BANDWIDTH, False),
        ("Exchange", imb.BANDWIDTH, False),
        ("Biband", imb.BANDWIDTH, False),
        ("Allreduce", imb.TIME, False),
        ("Bcast", imb.TIME, False),
    ],
)
def test_an_empty_message_counts_where_it_is_sent(benchmark, column, counts):
    assert imb.counts_size(benchmark, column, 0) is counts
    assert imb.counts_size(benchmark, column, 1)


def test_a_table_without_sizes_counts():
    assert imb.counts_size("Barrier", imb.TIME, None)


@pytest.mark.parametrize(
    ("benchmark", "stems"),
    [
        ("PingPong", ("latency", "bandwidth", "bandwidth_peak")),
        ("Sendrecv", ("time", "bandwidth", "bandwidth_peak")),
        ("Uniband", ("bandwidth", "message_rate", "bandwidth_peak")),
        ("Allreduce", ("time",)),
        ("Barrier", ("time",)),
    ],
)
def test_stems_name_the_metrics_and_the_peak_of_a_bandwidth(benchmark, stems):
    assert imb.stems(benchmark) == stems


@pytest.mark.parametrize(
    "group", [imb.TWO_PROCESSES, imb.WINDOWED, imb.POINT_TO_POINT, imb.REDUCTIONS, imb.GROWING]
)
def test_groups_hold_benchmarks_that_there_are(group):
    assert set(group) <= set(imb.BENCHMARKS)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("IMB-MPI1_PingPong.impi.txt", 0),
        ("IMB-MPI1_PingPong_Sendrecv_Allreduce.openmpi.txt", 1),
        ("IMB-MPI1_off_cache.openmpi.txt", 0),
        ("IMB-MPI1_Uniband.impi.txt", 0),
        ("IMB-MPI1_Allreduce.impi.txt", 0),
        ("IMB-MPI1_Alltoall_np4.openmpi.txt", 0),
        ("IMB-MPI1_Alltoall_np4.openmpi.txt", 2),
        ("IMB-MPI1_Barrier.impi.txt", 0),
    ],
)
def test_metrics_are_columns_that_imb_prints(recorded, name, table):
    found = parse.parse(recorded(f"imb/{name}")).tables[table]
    assert {column.name for column in imb.BENCHMARKS[found.benchmark]} <= set(found.columns)


def test_the_suite_names_the_check_of_each_metric():
    assert set(SUITES["imb"].metrics) == {f"imb.{name}" for name in imb.BENCHMARKS}
    assert check_of("imb.PingPong", "bandwidth_peak") == "checks/imb.py"
    assert check_of("imb.Barrier", "bandwidth") is None
    assert check_of("himeno", "performance") is None

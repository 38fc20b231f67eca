"""`suites/imb.py` against the outputs of real runs."""

import pytest

from acceptance.suites import SUITES, check_of, imb, osu

MIB = 2**20
REDUCTIONS = ("Allreduce", "Reduce", "Reduce_scatter")
#: Attribute -> the benchmarks that have it, by the user guide of IMB 2021.
GROUPS = {
    "reduction": " ".join(REDUCTIONS),
    "part": "Allgather Allgatherv Alltoall Gather Reduce_scatter Scatter",
    "rooted": "Bcast Gather Reduce Scatter",
    "point_to_point": "PingPong PingPing Sendrecv Exchange Uniband Biband",
    "one_way": "PingPong",
    "one_message": "PingPong",
    "pair_sum": "Uniband Biband",
}


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
    found = imb.parse(recorded(f"imb/{name}")).tables[table]
    sizes = imb.message_sizes(found.benchmark, found.processes, low, high)
    assert sizes == [row.size for row in found.rows]


@pytest.mark.parametrize("benchmark", REDUCTIONS)
def test_reductions_have_no_message_below_one_float(benchmark):
    assert imb.message_sizes(benchmark, 2, 0, 4) == [0, 4, 8, 16]
    assert imb.message_sizes(benchmark, 128, 3, 5) == [0, 8, 16, 32]


@pytest.mark.parametrize("benchmark", GROUPS["part"].split())
@pytest.mark.parametrize(
    ("processes", "largest"),
    [(2, 4 * MIB), (32, 4 * MIB), (64, 2 * MIB), (96, MIB), (128, MIB), (1024, MIB // 8)],
)
def test_growing_buffers_bound_the_largest_message(benchmark, processes, largest):
    sizes = imb.message_sizes(benchmark, processes, 0, 22)
    first = [0, 4, 8] if benchmark in REDUCTIONS else [0, 1, 2]
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
    assert imb.BENCHMARKS[benchmark].stems == stems


@pytest.mark.parametrize("attribute", GROUPS)
def test_benchmarks_have_the_attributes_that_they_should(attribute):
    having = {name for name, row in imb.BENCHMARKS.items() if getattr(row, attribute)}
    assert having == set(GROUPS[attribute].split())


def test_each_bandwidth_is_compared_with_the_time_or_the_rate_of_its_line():
    timed = {name for name, row in imb.BENCHMARKS.items() if imb.BANDWIDTH in row.columns}
    rated = {name for name, row in imb.BENCHMARKS.items() if imb.RATE in row.columns}
    assert {*imb.COUNTED} == timed - rated == {"PingPong", "PingPing", "Sendrecv", "Exchange"}


@pytest.mark.parametrize(
    ("benchmark", "counts"),
    [("PingPong", [2]), ("PingPing", [2]), ("Uniband", [2, 3, 4]), ("Barrier", [2, 3, 4])],
)
def test_two_processes_are_all_that_some_benchmarks_use(benchmark, counts):
    assert [np for np in range(1, 5) if imb.BENCHMARKS[benchmark].runs_with(np)] == counts


@pytest.mark.parametrize(
    ("version", "part"),
    [
        ("IMB 2018", False),
        ("IMB 2018 Update 1", False),
        ("IMB 2019", False),
        ("IMB 2019 Update 1", True),
        ("IMB 2021.11", True),
        ("", True),
    ],
)
def test_reduce_scatter_changed_what_its_size_means(version, part):
    assert imb.BENCHMARKS["Reduce_scatter"].is_part(version) is part
    assert imb.BENCHMARKS["Allgather"].is_part(version)
    assert not imb.BENCHMARKS["Bcast"].is_part(version)
    assert not osu.BENCHMARKS["reduce_scatter"].is_part("OSU 7.4")


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
    found = imb.parse(recorded(f"imb/{name}")).tables[table]
    assert {column.name for column in imb.BENCHMARKS[found.benchmark].columns} <= set(found.columns)


def test_the_suite_names_the_check_of_each_metric():
    assert set(SUITES["imb"].benchmarks) == {f"imb.{name}" for name in imb.BENCHMARKS}
    assert check_of("imb.PingPong", "bandwidth_peak") == "checks/imb.py"
    assert check_of("imb.Barrier", "bandwidth") is None
    assert check_of("himeno", "performance") is None

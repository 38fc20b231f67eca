"""`suites/imb.py` against the outputs of real runs."""

from collections import Counter

import pytest

from acceptance.suites import SUITES, check_of, imb, imb_output, osu

MIB = 2**20
REDUCTIONS = ("Allreduce", "Reduce", "Reduce_local", "Reduce_scatter", "Reduce_scatter_block")
MPI1 = [row for row in imb.BENCHMARKS.values() if row.family == "mpi1"]
#: Attribute -> the benchmarks of IMB-MPI1 that have it, by the user guide of IMB 2021.
GROUPS = {
    "reduction": " ".join(REDUCTIONS),
    "part": "Allgather Allgatherv Alltoall Alltoallv Gather Gatherv Reduce_scatter "
    "Reduce_scatter_block Scatter Scatterv",
    "rooted": "Bcast Gather Gatherv Reduce Scatter Scatterv",
    "point_to_point": "PingPong PingPing PingPongSpecificSource PingPongAnySource "
    "PingPingSpecificSource PingPingAnySource Sendrecv Exchange Uniband Biband",
    "one_way": "PingPong PingPongSpecificSource PingPongAnySource",
    "one_message": "PingPong PingPongSpecificSource PingPongAnySource",
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
    found = imb_output.parse(recorded(f"imb/{name}")).tables[table]
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
    having = {row.name for row in MPI1 if getattr(row, attribute)}
    assert having == set(GROUPS[attribute].split())


def test_each_bandwidth_is_compared_with_the_time_or_the_rate_of_its_line():
    for row in imb.BENCHMARKS.values():
        has = any(column.unit == "MB/s" for column in row.columns)
        has &= row.family != "halo"  # each line tells how many messages it counts
        assert has == bool(row.counted or imb.RATE in row.columns), row.name


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
    found = imb_output.parse(recorded(f"imb/{name}")).tables[table]
    assert {column.name for column in imb.BENCHMARKS[found.benchmark].columns} <= set(found.columns)


def test_the_suite_names_the_check_of_each_metric():
    assert set(SUITES["imb"].benchmarks) == {f"imb.{name}" for name in imb.BENCHMARKS}
    assert check_of("imb.PingPong", "bandwidth_peak") == "checks/imb.py"
    assert check_of("imb.Barrier", "bandwidth") is None
    assert check_of("hardware", "clock") is None


def test_each_component_has_its_benchmarks():
    """As IMB_bnames_*.h, `-list` and Makefile of 2021.11 have them."""
    counts = Counter(row.family for row in imb.BENCHMARKS.values())
    assert counts == {
        "mpi1": 25, "nbc": 26, "mpi4": 26, "rma": 19, "ext": 6, "p2p": 8, "mt": 10, "io": 37,
        "halo": 1,
        # Those of IMB-MPI1 that send messages of a size.
        "gpu": 23,
    }  # fmt: skip
    assert {key for key, row in imb.BENCHMARKS.items() if row.family == "mpi1"} == {
        row.name for row in MPI1
    }
    assert {"rma.Accumulate", "ext.Accumulate", "p2p.PingPong", "nbc.Ibarrier_pure"} <= {
        *imb.BENCHMARKS
    }


def test_few_are_in_every_night():
    new = {key for key, row in imb.BENCHMARKS.items() if "." in key and row.is_in("nightly")}
    on_gpus = {"gpu.Allreduce", "gpu.Alltoall", "gpu.PingPong", "gpu.Sendrecv"}
    assert new == {"nbc.Iallreduce", "rma.Unidir_put"} | on_gpus


@pytest.mark.parametrize(
    ("benchmark", "low", "high", "sizes"),
    [
        ("nbc.Ireduce", 0, 3, [0, 4, 8]),
        ("ext.Unidir_Put", 0, 3, [0, 4, 8]),
        ("ext.Unidir_Put", 6, 7, [0, 4, 8, 16, 32, 64, 128]),
        ("rma.Fetch_and_op", 0, 22, [4]),
        ("p2p.PingPong", 3, 5, [8, 16, 32]),
        ("mt.BcastMT", 19, 22, [2**19, 2**20]),
        ("halo.simple_halo", 20, 22, [2**20]),
        ("io.P_Read_Priv", 0, 2, [0, 1, 2, 4]),
    ],
)
def test_components_have_sizes_of_their_own(benchmark, low, high, sizes):
    assert imb.message_sizes(benchmark, 2, low, high) == sizes


@pytest.mark.parametrize(
    ("benchmark", "sizes", "options"),
    [
        ("PingPong", [0, 1, 2], "PingPong -iter 9 -npmin 2 -msglog 0:1"),
        ("Barrier", [], "Barrier -iter 9 -npmin 2"),
        ("p2p.Corandom", [1, 2], "Corandom -iter 9 -msglog 0:1"),
        ("mt.BcastMT", [1, 2], "BcastMT -repeat 9 -warmup 10 -thread_level multiple "
         "-datatype char -count 1,2"),
        ("mt.ReduceMT", [4, 8], "ReduceMT -repeat 9 -warmup 10 -thread_level multiple "
         "-datatype int -count 1,2"),
        ("mt.BarrierMT", [], "BarrierMT -repeat 9 -warmup 10 -thread_level multiple"),
        ("halo.simple_halo", [1, 2], "simple_halo -repeat 9 -warmup 10 -datatype char "
         "-count 1,2"),
    ],
)  # fmt: skip
def test_each_program_is_asked_in_its_own_words(benchmark, sizes, options):
    assert " ".join(imb.options(benchmark, 2, 9, 0, sizes)) == options


@pytest.mark.parametrize(
    ("grid", "processes", "takes"),
    [("1", 2, 2), ("1.1", 4, 4), ("2.2", 4, 4), ("1.1.1", 2, 1), ("2.1", 2, 2), ("4.2", 2, 2),
     ("1.1", 6, 4), ("3.1", 2, 3)],
)  # fmt: skip
def test_a_grid_takes_as_many_processes_as_it_has_room_for(grid, processes, takes):
    assert imb.in_grid(grid, processes) == takes


@pytest.mark.parametrize("grid", ["", "0", "2x2", "2.", ".2", "-1", "2.0"])
def test_a_malformed_grid_is_refused(grid):
    with pytest.raises(ValueError, match=r"it must be whole numbers, for example 2\.2\.1"):
        imb.in_grid(grid, 2)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (
            b"\0Intel(R) MPI Benchmarks 2021.11\0#    Intel(R) MPI Benchmarks %s, MPI-1 part",
            "2021.11",
        ),
        (b"Intel (R) MPI Benchmarks 2019 Update 6\0", "2019 Update 6"),
        (b"#    Intel(R) MPI Benchmarks %s, MPI-1 part", ""),
    ],
)
def test_the_version_of_a_program_is_read_in_its_file(text, version):
    assert imb.SUITE.version_in(text) == version


def test_the_bandwidths_that_one_link_bounds_and_how_many_times():
    of_two = "Sendrecv Exchange Biband SendRecvMT ExchangeMT BiBandMT"
    bounded = {
        (row.family, row.name): row.link_factor
        for row in imb.BENCHMARKS.values()
        if row.link_factor is not None
    }
    assert len(bounded) == 42
    twice = {pair for pair, factor in bounded.items() if factor == 2}
    # IMB-P2P adds up what both ways carry.
    assert {name for family, name in twice if family != "p2p"} == {*of_two.split()}
    assert {name for family, name in twice if family == "p2p"} == {"PingPong", "PingPing"}
    assert {*bounded.values()} == {1, 2}
    alone = {name for (family, name), factor in bounded.items() if (family, factor) == ("rma", 1)}
    assert alone == {
        *"Unidir_put Unidir_get Bidir_put Bidir_get Put_local Get_local".split(),
        *"Accumulate Get_accumulate Fetch_and_op Compare_and_swap".split(),
    }

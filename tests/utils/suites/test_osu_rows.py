"""`suites/osu.py` against the outputs of real runs."""

from collections import Counter

import pytest

from acceptance.suites import SUITES, check_of, osu, units_of

MIB = 2**20


@pytest.mark.parametrize(
    ("name", "processes", "low", "high"),
    [
        ("osu_latency.openmpi.txt", 2, 1, 4 * MIB),
        ("osu_latency_m8.openmpi.txt", 2, 8, 8),
        ("osu_latency_c_validate.openmpi.txt", 2, 1, 1024),
        ("osu_mbw_mr_np4.openmpi.txt", 4, 1, 4096),
        ("osu_mbw_mr.openmpi.v5.6.1.txt", 2, 1, 64),
        ("osu_alltoall.openmpi.txt", 2, 1, MIB),
        ("osu_allreduce.openmpi.v6.2.txt", 2, 1, 64),
        ("osu_reduce_fc.mpich.txt", 2, 4, 64),
        ("osu_reduce_scatter_fc.mpich.txt", 2, 4, 64),
        ("osu_get_bw.mpich.txt", 2, 1, 64),
    ],
)
def test_message_sizes_are_those_that_osu_prints(recorded, name, processes, low, high):
    (found,) = osu.parse(recorded(f"osu/{name}")).tables
    sizes = osu.message_sizes(found.benchmark, processes, low, high)
    assert sizes == [row.size for row in found.rows]


@pytest.mark.parametrize("benchmark", ["allreduce", "reduce", "reduce_scatter"])
def test_reductions_have_no_message_below_one_float(benchmark):
    assert osu.message_sizes(benchmark, 2, 1, 16) == [4, 8, 16]
    assert osu.message_sizes(benchmark, 128, 8, 32) == [8, 16, 32]


@pytest.mark.parametrize(
    "benchmark", ["allgather", "allgatherv", "alltoall", "alltoallv", "gather", "scatter"]
)
@pytest.mark.parametrize(
    ("processes", "largest"),
    [(2, 4 * MIB), (32, 4 * MIB), (64, 2 * MIB), (96, MIB), (128, MIB), (1024, MIB // 8)],
)
def test_growing_buffers_bound_the_largest_message(benchmark, processes, largest):
    sizes = osu.message_sizes(benchmark, processes, 1, 4 * MIB)
    assert (sizes[:3], sizes[-1]) == ([1, 2, 4], largest)


@pytest.mark.parametrize("benchmark", ["latency", "mbw_mr", "bcast", "allreduce", "get_bw"])
def test_other_buffers_do_not_grow_with_the_processes(benchmark):
    assert osu.message_sizes(benchmark, 1024, 1, 4 * MIB)[-1] == 4 * MIB


@pytest.mark.parametrize(
    ("benchmark", "processes", "low", "high"),
    [("reduce", 2, 1, 2), ("alltoall", 1024, MIB, 4 * MIB)],
)
def test_a_range_without_a_message_is_refused(benchmark, processes, low, high):
    with pytest.raises(ValueError, match=f"no message of {benchmark} fits into {low}:{high}"):
        osu.message_sizes(benchmark, processes, low, high)


@pytest.mark.parametrize(("text", "bounds"), [("1:4194304", (1, 4 * MIB)), ("8:8", (8, 8))])
def test_a_range_is_two_powers_of_two(text, bounds):
    assert osu.size_range(text) == bounds


@pytest.mark.parametrize(
    "text", ["", "8", ":8", "8:", "8:4", "0:8", "1:12", "3:8", "-1:8", "1:8:16", "1:8k", "1.0:8"]
)
def test_another_range_is_refused_with_an_example(text):
    with pytest.raises(
        ValueError, match="it must be low:high, powers of two, for example 1:4194304"
    ):
        osu.size_range(text)


@pytest.mark.parametrize(
    ("benchmark", "counts"),
    [
        ("latency", [2]),
        ("bibw", [2]),
        ("put_bw", [2]),
        ("multi_lat", [2, 4, 6, 8]),
        ("mbw_mr", [2, 4, 6, 8]),
        ("alltoall", [2, 3, 4, 5, 6, 7, 8]),
        ("barrier", [2, 3, 4, 5, 6, 7, 8]),
        ("hello", [2, 3, 4, 5, 6, 7, 8]),
        ("neighbor_alltoall", [3, 4, 5, 6, 7, 8]),
    ],
)
def test_processes_are_those_with_which_a_program_ends(benchmark, counts):
    assert [np for np in range(1, 9) if osu.BENCHMARKS[benchmark].runs_with(np)] == counts


@pytest.mark.parametrize(
    ("benchmark", "stems"),
    [
        ("latency", ("latency", "latency_p50", "latency_p90", "latency_p99")),
        ("multi_lat", ("latency",)),
        ("bw", ("bandwidth", "bandwidth_p10", "bandwidth_p50", "bandwidth_peak")),
        (
            *("mbw_mr",),
            ("bandwidth", "message_rate", "bandwidth_p10", "bandwidth_p50", "bandwidth_peak"),
        ),
        ("bw_fan_in", ("bandwidth", "bandwidth_peak")),
        ("alltoall", ("time", "time_p50", "time_p90", "time_p99")),
        (
            *("ibarrier",),
            ("overall", "time", "overlap", "overall_p50", "overall_p90", "overall_p99"),
        ),
        ("init", ("time",)),
    ],
)
def test_stems_name_the_metrics_their_percentiles_and_the_peak_of_a_bandwidth(benchmark, stems):
    assert osu.BENCHMARKS[benchmark].stems == stems
    assert units_of(f"osu.{benchmark}").keys() == {*stems}


#: Of these there are non-blocking and persistent ones as well.
PARTS = "allgather allgatherv alltoall alltoallv alltoallw gather gatherv scatter scatterv"
REDUCTIONS = "allreduce reduce reduce_scatter reduce_scatter_block"
OF_NEIGHBOURS = "allgather allgatherv alltoall alltoallv alltoallw"
BETWEEN_TWO = "latency bw bibw latency_persistent bw_persistent bibw_persistent latency_mp"
ONE_SIDED = "put_latency get_latency put_bw get_bw put_bibw acc_latency get_acc_latency " + (
    "fop_latency cas_latency"
)


def of_each_kind(names):
    """Add the non-blocking and the persistent ones of blocking collectives."""
    kinds = [(name, f"i{name}", f"{name}_persistent") for name in names.split()]
    every = " ".join(name for kind in kinds for name in kind)
    return every.replace("reduce_scatter_block_persistent", "")


#: Attribute -> the programs that have it, as `-h` and the sources of OMB 7.4 say.
GROUPS = {
    "verifies": " ".join(
        [BETWEEN_TWO, "multi_lat mbw_mr", of_each_kind(f"{PARTS} {REDUCTIONS} bcast")]
        + [f"neighbor_{name} ineighbor_{name}" for name in OF_NEIGHBOURS.split()]
    ),
    "buffers": "bw bibw mbw_mr bw_persistent bibw_persistent",
    "reduction": of_each_kind(REDUCTIONS),
    "part": of_each_kind(PARTS),
    "rooted": of_each_kind("bcast gather gatherv reduce scatter scatterv"),
    "point_to_point": f"{BETWEEN_TWO} multi_lat mbw_mr latency_mt partitioned_latency {ONE_SIDED}",
    "one_way": "bw bw_persistent put_bw get_bw",
    "one_message": "latency latency_persistent multi_lat",
    "balance": "latency bw bibw mbw_mr",
    "pair_sum": "mbw_mr",
    "synchronizations": ONE_SIDED,
    "simulated": "latency_persistent bw_persistent bibw_persistent bw_fan_out alltoallw gatherv "
    "scatterv reduce_scatter_block latency bw bibw multi_lat mbw_mr allgather allgatherv allreduce "
    "alltoall "
    "alltoallv barrier bcast gather reduce reduce_scatter scatter put_latency get_latency put_bw "
    "get_bw",
}


@pytest.mark.parametrize("attribute", GROUPS)
def test_programs_have_the_attributes_that_they_should(attribute):
    having = {name for name, row in osu.BENCHMARKS.items() if getattr(row, attribute)}
    assert having == set(GROUPS[attribute].split())


@pytest.mark.parametrize(
    ("attribute", "lacking"),
    [
        (
            *("sized",),
            "barrier ibarrier barrier_persistent fop_latency cas_latency init hello",
        ),
        ("options", "init hello"),
        ("tails", "multi_lat bw_fan_in bw_fan_out init hello"),
    ],
)
def test_programs_lack_the_attributes_that_they_should(attribute, lacking):
    without = {name for name, row in osu.BENCHMARKS.items() if not getattr(row, attribute)}
    assert without == set(lacking.split())


def test_titles_that_programs_share_are_known():
    programs = {}
    for name, row in osu.BENCHMARKS.items():
        programs.setdefault(row.title, []).append(name)
    shared = sorted(names for names in programs.values() if len(names) > 1)
    assert shared == [["alltoallw", "neighbor_alltoallw"], ["bw", "bw_fan_in", "bw_fan_out"]]


#: Since when there are programs that 5.3 has not: of CHANGES of OMB 7.4, and of 7.5.
SINCE = {
    "5.5": "ireduce iallreduce",
    "5.6.3": "latency_mp",
    "6.2": "alltoallw",
    "7.0": "ireduce_scatter",
    "7.1": "latency_persistent bw_persistent bibw_persistent "
    + " ".join(f"neighbor_{name} ineighbor_{name}" for name in OF_NEIGHBOURS.split()),
    "7.3 with MPI 4": " ".join(
        f"{name}_persistent"
        for name in f"{PARTS} allreduce barrier bcast reduce reduce_scatter".split()
    ),
    "7.4": "bw_fan_in bw_fan_out reduce_scatter_block ireduce_scatter_block",
    "7.5 with MPI 4": "partitioned_latency",
}


def test_programs_say_which_version_brought_them():
    told = {name: row.since for name, row in osu.BENCHMARKS.items() if row.since}
    assert told == {name: since for since, names in SINCE.items() for name in names.split()}
    assert {*SUITES["osu"].programs} == {f"osu_{n}" for n in osu.BENCHMARKS if n not in told}


def test_there_are_all_programs_of_7_4_and_that_of_7_5_each_of_a_family():
    families = Counter(row.family for row in osu.BENCHMARKS.values())
    assert families == {
        "pt2pt": 5, "persistent": 4, "congestion": 2, "multithreaded": 2, "blocking": 15,
        "nonblocking": 15, "persistent-collective": 14, "neighbourhood": 10, "one-sided": 9,
        "startup": 2,
    }  # fmt: skip


def test_the_version_of_a_program_is_read_in_its_file():
    assert osu.version_in(b"\x7fELF\0# OSU MPI%s Bandwidth Test v7.5.2\n\0") == (7, 5, 2)
    assert osu.version_in(b"#!/bin/sh\nexec osu_bw\n") == ()
    assert osu.version_in(b"") == ()


@pytest.mark.parametrize(
    "name",
    [
        "osu_latency.openmpi.txt",
        "osu_latency.openmpi.v5.4.1.txt",
        "osu_bw.openmpi.txt",
        "osu_mbw_mr.openmpi.txt",
        "osu_barrier.openmpi.txt",
        "osu_scatter.mpich.txt",
        "osu_put_latency.openmpi.v5.3.2.txt",
        "osu_get_bw.mpich.txt",
        "osu_init.mpich.txt",
    ],
)
def test_metrics_are_columns_that_osu_prints(recorded, name):
    (found,) = osu.parse(recorded(f"osu/{name}")).tables
    assert {column.name for column in osu.BENCHMARKS[found.benchmark].columns} <= set(
        found.rows[0].values
    )


def test_the_suite_names_the_check_of_each_metric():
    assert set(SUITES["osu"].benchmarks) == {f"osu.{name}" for name in osu.BENCHMARKS}
    assert check_of("osu.bw", "bandwidth_peak") == "checks/osu.py"
    assert check_of("osu.hello", "time") == "checks/osu.py"
    assert check_of("osu.barrier", "bandwidth") is None
    assert check_of("cbr.mbw", "ratio") == "checks/balance.py"
    assert check_of("osu.put_bibw", "bandwidth_p10") == "checks/osu.py"
    assert check_of("osu.get_mbw", "bandwidth") is None

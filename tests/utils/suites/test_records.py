"""What a row says of modes, and of the memory that its buffers take."""

from math import inf

import pytest

from acceptance.core.extras import MODES
from acceptance.suites import SUITES, find
from acceptance.suites.records import BUFFERS, SHARE, Benchmark

GIB, MIB = 2**30, 2**20
SWEEP = [2**n for n in range(23)]


def test_a_mode_takes_what_a_smaller_one_takes():
    taken = {
        mode: [row.name for row in (Benchmark(since, (), since_mode=since) for since in MODES)
               if row.is_in(mode, 4)]
        for mode in MODES
    }  # fmt: skip
    assert taken == {"smoke": ["smoke"], "nightly": ["smoke", "nightly"], "acceptance": [*MODES]}
    of_a_night = Benchmark("", (), since_mode="nightly")
    assert of_a_night.is_in("smoke", 2)
    assert not of_a_night.is_in("smoke", 3)
    assert not Benchmark("", (), since_mode="acceptance").is_in("smoke", 2)


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.key)
def test_each_check_file_has_something_for_a_smoke_test_and_tells_the_rest(suite):
    for check, benchmarks in suite.checks.items():
        rows = {name: row for name, row in benchmarks.items() if row.family != "gpu"}
        of_all = {name for name, row in rows.items() if row.since_mode == "smoke"}
        of_night = {name for name, row in rows.items() if row.since_mode == "nightly"}
        of_two = {name for name in of_night if rows[name].runs_with(2)}
        # An application takes longer than a smoke test may.
        assert of_all or suite.inputs
        told = f"{check}.py: mode smoke: {len(of_all | of_two)} of {len(rows)} benchmarks"
        told += f", {len(of_two)} with two processes only" if of_two else ""
        told += "; all: -S mode=acceptance"
        assert suite.taken_in("smoke", check) == (told if len(of_all) < len(rows) else "")
        assert not suite.taken_in("acceptance", check)
        if with_gpus := len(benchmarks) - len(rows):
            told = suite.taken_in("nightly", check, gpus=True)
            assert f" of {len(rows) + with_gpus} benchmarks; " in told


def test_no_mode_leaves_out_a_benchmark_that_is_not_known():
    assert find("of.a.site").is_in("smoke")


def test_families_are_tags():
    families = {name: row.family for s in SUITES.values() for name, row in s.benchmarks.items()}
    assert families["osu.latency"] == "pt2pt"
    assert families["imb.Alltoall"] == "mpi1"
    assert not [family for family in families.values() if " " in family]


@pytest.mark.parametrize(
    ("benchmark", "size", "processes", "copies", "expected"),
    [
        ("osu.latency", MIB, 2, 1, 2 * MIB),
        ("osu.bw", 4 * MIB, 2, 64, 512 * MIB),
        # Sent, received, and received while it warms up.
        ("osu.alltoall", 4 * MIB, 1024, 1, 12 * GIB),
        ("imb.Alltoall", 4 * MIB, 1024, 1, 8 * GIB),
        ("imb.Bcast", 4 * MIB, 1024, 1, 8 * MIB),
    ],
)
def test_the_buffers_of_one_process(benchmark, size, processes, copies, expected):
    assert find(benchmark).buffers_of(size, processes, copies) == expected


def test_the_room_is_the_memory_and_where_buffers_grow_the_time_as_well():
    grows, stays = find("imb.Alltoall"), find("imb.PingPong")
    assert stays.room() == inf
    assert stays.room(GIB) == grows.room(GIB, 8 * GIB) == SHARE * GIB
    assert grows.room() == grows.room(GIB) == BUFFERS
    # An int holds no more bytes.
    assert grows.room(64 * GIB, 32 * GIB) == 2 * (2**31 - 1)


@pytest.mark.parametrize(
    ("name", "processes", "memory", "most", "copies", "told"),
    [
        ("imb.Alltoall", 1024, 4 * GIB, 64 * GIB, 1,
         "Alltoall on 1,024 ranks: up to 1 MiB, since 4 MiB wants 8 GiB a process of 3 GiB "
         "(75 % of its part of the node)"),
        ("osu.alltoall", 1024, 4 * GIB, BUFFERS, 1,
         "alltoall on 1,024 ranks: up to 128 KiB, since 4 MiB wants 12 GiB a process of 384 MiB "
         "(more takes too long)"),
        ("osu.alltoall", 1024, 0, BUFFERS, 1,
         "alltoall on 1,024 ranks: up to 128 KiB, since 4 MiB wants 12 GiB a process of 384 MiB "
         "(nobody says a node's memory)"),
        ("osu.bw", 2, 500 * MIB, BUFFERS, 64,
         "bw on 2 ranks: up to 2 MiB, since 4 MiB wants 512 MiB a process of 375 MiB "
         "(75 % of its part of the node)"),
        ("imb.Alltoall", 4096, 8000, BUFFERS, 1,
         "Alltoall on 4,096 ranks: no message fits, since 1 B wants 8 KiB a process of 5.859 KiB "
         "(75 % of its part of the node)"),
        ("imb.Alltoall", 32, 4 * GIB, BUFFERS, 1, ""),
        ("osu.bw", 2, 0, BUFFERS, 64, ""),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_with_its_number(name, processes, memory, most, copies, told):
    row = find(name)
    room = row.room(memory, most)
    assert row.cut(SWEEP, processes, room, memory, copies) == told
    fitting = [size for size in SWEEP if row.fits(size, processes, room, copies)]
    assert (fitting != SWEEP) == bool(told)

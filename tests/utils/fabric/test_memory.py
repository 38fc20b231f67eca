"""`fabric/plausibility.py`: bandwidths inside a node beside what its memory moves."""

import pytest

from acceptance.core.extras import PartitionExtras
from acceptance.fabric.plausibility import (
    CACHES,
    implausible_inside,
    implausible_stream,
    memory_limit,
)
from acceptance.machine import Layout
from acceptance.suites import find
from acceptance.suites.hpcc import KERNELS

ONE = Layout(2, 2, "intra-node")
#: 100 GB/s, and 1 MiB of caches, 3 with private ones.
NODE = PartitionExtras(memory_bandwidth=100_000, cache=2**20)
SIZE = 2**22


def judged(benchmark, measured, stated=NODE, layout=ONE):
    return implausible_inside(find(benchmark), measured, stated, layout)


@pytest.mark.parametrize(
    ("benchmark", "layout", "limit"),
    [
        # Two buffers of 4 MiB, of which 3 MiB may be in caches: each byte moved 5/8 times.
        ("osu.bw", ONE, 100_000 / 2 * 8 / 5),
        ("imb.PingPong", ONE, 100_000 / 2 * 8 / 5),
        # What is said of each pair is one way of it.
        ("patterns.distance", ONE, 100_000 / 2 * 8 / 5),
        ("patterns.aapc", Layout(8, 8, "intra-node"), 100_000 / 2 * 8 / 5),
        # Two ways have four buffers.
        ("osu.bibw", ONE, 100_000 * 16 / 13),
        ("imb.Sendrecv", ONE, 100_000 * 16 / 13),
        # Four pairs have eight; their sum by the average of their times may be 8/5 of the truth.
        ("imb.Uniband", Layout(8, 8, "intra-node"), 100_000 / 2 * 32 / 29),
        ("osu.mbw_mr", Layout(8, 8, "intra-node"), 100_000 / 2 * 32 / 29 * 8 / 5),
    ],
)
def test_a_bandwidth_inside_a_node_is_bound_by_its_memory(benchmark, layout, limit):
    assert memory_limit(find(benchmark), SIZE, NODE, layout) == pytest.approx(limit)
    name = f"bandwidth_{SIZE}"
    lines, told = judged(benchmark, {name: (limit * 1.01, "MB/s")}, layout=layout)
    assert (lines, told[:13]) == ([], "compared from")
    (line,), _ = judged(benchmark, {name: (limit * 1.03, "MB/s")}, layout=layout)
    assert line.startswith(f"implausible: {name} is {limit * 1.03:g} MB/s, memory of 100000 MB/s")


def test_large_messages_come_near_to_half_of_the_memory():
    assert memory_limit(find("osu.bw"), 2**34, NODE, ONE) == pytest.approx(50_000, rel=1e-3)


def test_messages_that_fit_into_the_caches_are_not_bound():
    inside, above = CACHES * 2**20 // 2, CACHES * 2**20 // 2 + 1
    measured = {f"bandwidth_{size}": (1e9, "MB/s") for size in (64, inside // 2, inside)}
    assert judged("osu.bw", measured) == ([], "not compared: the messages fit into the caches")
    lines, told = judged("osu.bw", {**measured, f"bandwidth_{2 * above}": (1e9, "MB/s")})
    assert len(lines) == 1
    assert told.startswith(f"compared from {2 * above} bytes on")


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"cache": 2**20}, "not compared: the partition states no memory_bandwidth"),
        ({"memory_bandwidth": 1.0}, "not compared: the partition states no cache"),
        ({}, "not compared: the partition states no memory_bandwidth and no cache"),
    ],
)
def test_what_is_not_stated_is_told_as_not_compared(stated, said):
    measured = {f"bandwidth_{SIZE}": (1e9, "MB/s")}
    assert judged("osu.bw", measured, PartitionExtras(**stated)) == ([], said)


@pytest.mark.parametrize(
    ("benchmark", "name", "unit"),
    [
        ("osu.latency", f"latency_{SIZE}", "us"),
        ("osu.allreduce", f"latency_{SIZE}", "us"),
        ("npb.cg", "mops_total", "Mop/s"),
    ],
)
def test_what_is_no_bandwidth_of_pairs_is_not_compared(benchmark, name, unit):
    assert judged(benchmark, {name: (1e-9, unit)}) == ([], "")


#: Four processes on a node, each with arrays of 2 MiB: four caches of 1 MiB, twice.
FOUR, VECTOR = Layout(8, 4, "inter-node"), 2**18


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        # Two arrays of four processes are 16 MiB, of which 3 may be in caches.
        ("EP-STREAM-Copy", 100 / 4 * 16 / 13),
        ("EP-STREAM-Scale", 100 / 4 * 16 / 13),
        ("EP-STREAM-Add", 100 / 4 * 24 / 21),
        ("EP-STREAM-Triad", 100 / 4 * 24 / 21),
        # One process alone has 4 MiB, or 6.
        ("Single-STREAM-Copy", 100 * 4),
        ("Single-STREAM-Triad", 100 * 2),
    ],
)
def test_stream_is_bound_by_the_memory_of_a_node(name, limit):
    beside = {"EP-DGEMM": (1e9, "Gflop/s"), "EP-STREAM-Copy/G-HPL": (1e9, "B/flop")}
    measured = {**beside, name: (1.01 * limit, "GB/s")}
    assert implausible_stream(measured, VECTOR, NODE, FOUR) == ([], "")
    measured[name] = 1.03 * limit, "GB/s"
    (line,), told = implausible_stream(measured, VECTOR, NODE, FOUR)
    assert told == ""
    assert line.startswith(f"implausible: {name} is {1.03 * limit:g} GB/s, memory of 100000 MB/s")
    assert f"a process at most {limit:.5g} of {4 if name.startswith('EP') else 1} at once" in line


def test_the_worst_kernel_of_stream_is_told():
    measured = {f"EP-STREAM-{kernel}": (30.0 + n, "GB/s") for n, kernel in enumerate(KERNELS)}
    (line,), _ = implausible_stream(measured, VECTOR, NODE, FOUR)
    assert line.startswith("implausible: EP-STREAM-Triad is 33 GB/s")


def test_stream_in_the_cache_is_not_compared():
    measured = {"EP-STREAM-Copy-in-cache": (1e9, "GB/s"), "G-HPL": (1.0, "Gflop/s")}
    said = "not compared: the arrays of STREAM fit into the caches"
    assert implausible_stream(measured, VECTOR, NODE, FOUR) == ([], said)
    # A node may state less than what decides on the name.
    assert implausible_stream({"EP-STREAM-Copy": (1e9, "GB/s")}, 10, NODE, FOUR) == ([], "")


def test_stream_is_not_compared_where_no_memory_is_stated():
    measured, said = {"EP-STREAM-Copy": (1e9, "GB/s")}, "not compared: the partition states no "
    for stated, lacking in (({}, "memory_bandwidth and no cache"), ({"cache": 1}, "memory_band")):
        lines, told = implausible_stream(measured, VECTOR, PartitionExtras(**stated), FOUR)
        assert not lines
        assert told.startswith(said + lacking)

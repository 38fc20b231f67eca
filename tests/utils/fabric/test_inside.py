"""`fabric/inside.py`: what judges MPI inside a node by what the node does without it."""

import json
import re
from dataclasses import replace

import pytest
from msgspec.structs import replace as with_fields

from acceptance.fabric import inside
from acceptance.machine import Layout
from acceptance.references import load, outside
from acceptance.suites import find
from tests.places import ROOT

TWO, EIGHT = Layout(2, 2, "intra-node"), Layout(8, 8, "intra-node")
#: Copies of 20 GB/s in caches and 6 beyond, all cores at once; one way over TCP takes 5 us.
NODE = inside.Unaided(
    node="node1",
    time=0.0,
    cores=8,
    alone={2**16: (30e3, 40e3, 41e3), 2**24: (8e3, 9e3, 10e3)},
    together={2**16: (20e3, 39e3, 40e3), 2**24: (6e3, 7e3, 8e3)},
    core=(0.2, 0.2, 0.3),
    tcp=(5.0, 5.5, 70.0),
    shm=(2**34, 2**33),
)


def judged(benchmark, name, unit, layout=TWO, node=NODE):
    found = inside.reference(find(benchmark), name, unit, node, layout)
    return found and found[0]


@pytest.mark.parametrize(
    ("benchmark", "name", "expected"),
    [
        ("imb.PingPong", "bandwidth_65536", 3000),
        ("imb.PingPong", "bandwidth_4194304", 3000),
        ("imb.Sendrecv", "bandwidth_65536", 6000),
        ("imb.Exchange", "bandwidth_65536", 6000),
        ("patterns.distance", "bandwidth.distance.1_65536", 3000),
        # Small messages, windows of them, and the best of all sizes.
        ("imb.PingPong", "bandwidth_32768", None),
        ("imb.Uniband", "bandwidth_65536", None),
        ("osu.bw", "bandwidth_65536", None),
        ("patterns.aapc", "bandwidth_1048576", None),
        ("imb.PingPong", "bandwidth_peak", None),
    ],
)
def test_a_way_has_half_of_what_a_core_copies(benchmark, name, expected):
    assert judged(benchmark, name, "MB/s") == expected


@pytest.mark.parametrize(
    ("benchmark", "name", "two", "eight"),
    [
        ("imb.PingPong", "latency_0", 2.5, 2.5),
        ("imb.PingPong", "latency_1024", 2.5, 2.5),
        ("osu.latency", "latency_8", 2.5, 2.5),
        ("imb.Sendrecv", "time_8", 2.5, 2.5),
        # A message to either neighbour.
        ("imb.Exchange", "time_8", 5.0, 5.0),
        ("patterns.distance", "latency.distance.1_8", 2.5, 2.5),
        # A tree, and something else for each partner.
        ("imb.Allreduce", "time_8", 2.5, 7.5),
        ("imb.Bcast", "time_8", 2.5, 7.5),
        ("osu.allreduce", "time_8", 2.5, 7.5),
        ("imb.Alltoall", "time_8", 2.5, 17.5),
        ("osu.gather", "time_8", 2.5, 17.5),
        # Large messages; nothing is sent; computation beside it.
        ("imb.PingPong", "latency_2048", None, None),
        ("imb.Reduce_local", "time_8", None, None),
        ("imb.nbc.Iallreduce", "time_8", None, None),
        ("imb.nbc.Iallreduce", "overall_8", None, None),
        ("patterns.b_eff", "b_eff", None, None),
        ("patterns.b_eff", "latency_pingpong", None, None),
    ],
)
def test_each_step_takes_half_of_a_way_over_tcp(benchmark, name, two, eight):
    assert judged(benchmark, name, "us") == two
    assert judged(benchmark, name, "us", EIGHT) == eight


def test_one_core_sends_no_message_so_that_nothing_judges_times():
    assert judged("imb.PingPong", "latency_8", "us", node=with_fields(NODE, tcp=None)) is None


def test_the_citation_names_source_numbers_node_and_time():
    _, cited = inside.reference(find("imb.Alltoall"), "time_8", "us", NODE, EIGHT)
    expected = (
        r"machine itself, half of one way over loopback TCP, 5 us x 7 steps, on node1 at \d\d:\d\d"
    )
    assert re.fullmatch(expected, cited)
    _, cited = inside.reference(find("imb.Sendrecv"), "bandwidth_65536", "MB/s", NODE, TWO)
    assert "half of a core's copies, 6000 MB/s x 2 ways" in cited


@pytest.mark.parametrize(
    "benchmark",
    ["imb.PingPong", "osu.bw", "osu.allreduce", "patterns.distance", "imb.rma.Unidir_put"],
)
def test_benchmarks_of_messages_have_a_formula(benchmark):
    assert inside.has_formula(find(benchmark))


@pytest.mark.parametrize(
    "benchmark",
    [
        "npb.cg",
        "osu.init",
        "imb.Barrier",
        "patterns.b_eff",
        "patterns.aapc",
        "imb.rma.Accumulate",
        "imb.ext.Unidir_Put",
    ],
)
def test_a_node_is_not_measured_for_what_has_no_formula(benchmark):
    assert not inside.has_formula(find(benchmark))


def test_what_over_tcp_takes_fails_and_what_memory_takes_passes():
    within = load(ROOT / "reference").tolerances.thresholds("machine", "=", "us")
    value = judged("imb.PingPong", "latency_8", "us")
    assert [outside(each, value, *within) for each in (0.25, 1.75, 4.5, 5.0)] == [0, 0, 1, 1]
    within = load(ROOT / "reference").tolerances.thresholds("machine", "=", "MB/s")
    assert [outside(each, 3000.0, *within) for each in (1000, 2500, 40e3)] == [-1, 0, 0]


def test_more_than_two_cores_copy_was_not_moved():
    row, most = find("imb.Sendrecv"), 2 * 2 * 41e3
    assert inside.implausible(row, {"bandwidth_65536": (1.01 * most, "MB/s")}, NODE) == []
    measured = {"bandwidth_65536": (1.1 * most, "MB/s"), "bandwidth_131072": (1.2 * most, "MB/s")}
    (line,) = inside.implausible(row, measured, NODE)
    assert line.startswith(
        "implausible: bandwidth_131072 is 196800 MB/s, two cores copy at most 82000"
    )


def test_the_fastest_cores_say_what_two_copy_where_cores_differ():
    slow_first = with_fields(NODE, alone={2**16: (10e3, 11e3, 12e3)})
    assert slow_first.most() == 2 * 40e3


def report(up, waited=None, stolen=0, cpus=()):
    lines = [f"{up} 17.5"]
    lines += [] if waited is None else [f"some avg10=0.12 avg60=0.00 avg300=1.00 total={waited}"]
    lines += [f"cpu{n} 0 0 0 0 0 0 123456789 {ns} 42" for n, ns in enumerate(cpus)]
    lines.append(f"cpu  100 2 3 4 5 0 7 {stolen} 0 0")
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (report(100.25, 5_000_000), report(102.75, 5_500_000), (0.5, 2.5)),
        # What a hypervisor took of all CPUs, in hundredths of a second.
        (report(100, 5, 10), report(102, 5, 35), None),
        (report("100.00", 5, 10), report("102.00", 5, 35), (0.25, 2.0)),
        # Without pressure the CPU with the most, in ns.
        (
            report(1.5, cpus=(10**9, 0)), report(2.5, cpus=(11 * 10**8, 3 * 10**8)), (0.3, 1.0),
        ),
        (report(1.5), report(2.5), None),
        ("", "", None),
    ],
)  # fmt: skip
def test_how_long_processes_waited_is_read(before, after, expected):
    found = inside.waited(before, after)
    assert found == (pytest.approx(expected) if expected else None)


BEFORE = report("100.00", 0)


@pytest.mark.parametrize(
    ("over", "waited", "whole", "certain"),
    [
        # By more than twice of what was waited.
        (0.5, 200_000, False, True),
        (0.5, 300_000, False, False),
        # All of a case, of whose 10 s little was waited.
        (0.02, 2_900_000, True, True),
        (0.02, 3_100_000, True, False),
        (0.02, 2_900_000, False, False),
    ],
)
def test_what_a_busy_machine_may_explain_is_no_failure(over, waited, whole, certain):
    why = inside.excuse(over, BEFORE, report("110.00", waited), whole=whole)
    assert (why == "") == certain
    if not certain:
        assert re.search(r"waited for a CPU [\d.]+ of 10 s", why)


def test_a_kernel_that_does_not_tell_excuses():
    assert "does not tell" in inside.excuse(9.0, "", "", whole=True)


@pytest.mark.parametrize(
    ("name", "value", "unit", "bound", "seconds"),
    [
        ("latency_8", 5.0, "us", 3.0, 0.002),
        ("latency_8", 2.0, "us", 3.0, 0.0),
        # 1 MB at 100 MB/s takes 10 ms, at 500 MB/s 2 ms.
        ("bandwidth_1000000", 100.0, "MB/s", 500.0, 8.0),
        ("bandwidth_1000000", 600.0, "MB/s", 500.0, 0.0),
    ],
)
def test_all_repetitions_are_too_long_by(name, value, unit, bound, seconds):
    assert inside.beyond(name, value, unit, bound, 1000) == pytest.approx(seconds)


def test_the_reason_is_what_the_node_says_of_itself():
    (network,) = inside.reasons({"latency_8": 5.0, "bandwidth_65536": 700.0}, NODE)
    assert network.startswith("1 time from 5 us on, where one way over loopback TCP takes 5 us")
    assert inside.reasons({"bandwidth_65536": 700.0}, NODE) == []
    poor = with_fields(NODE, shm=(2**26, 2**16), refused="Operation not permitted")
    small, refused = inside.reasons({"bandwidth_65536": 700.0}, poor)
    assert small.startswith("/dev/shm has 64 KiB free of 64 MiB on node1")
    assert "process_vm_readv: Operation not permitted" in refused
    assert inside.reasons({"bandwidth_65536": 7.0}, with_fields(NODE, shm=None))[0].startswith(
        "there is no /dev/shm"
    )


def test_a_pair_that_is_summed_up_is_no_message_of_its_own():
    row = replace(find("imb.PingPong"), pair_sum="longest", one_message=False)
    assert inside.ways(row, "bandwidth_65536") == inside.steps(row, "latency_8", 2) == 0


@pytest.mark.parametrize("text", ["", "no python3", json.dumps({"node": "a"})])
def test_what_is_no_measurement_is_refused(text):
    with pytest.raises(ValueError, match=r"without_mpi\.py: "):
        inside.read(text)

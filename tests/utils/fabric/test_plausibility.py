"""Whether results between nodes can be true: limits, floors, and the bytes on the wire."""

import re

import pytest

from acceptance.fabric import Facts, plausibility
from acceptance.fabric.plausibility import implausible, limit_of, not_compared, slower_link
from acceptance.machine import Layout
from acceptance.suites import find
from tests.sysfs import Sysfs

ETH = {"technology": "ethernet", "rate": "10"}
QDR = {"technology": "infiniband", "rate": "QDR", "lanes": 4, "pcie": "2.0", "pcie_lanes": 8}
TWO = Layout(2, 1, "inter-node")


def test_a_fraction_of_the_limit_judges_the_peak_of_one_way():
    value, citation = limit_of(find("osu.bw"), "bandwidth_peak", "MB/s", Facts.read(QDR))
    # 8 lanes of 5 GT/s, 8b/10b, 512 bytes of payload and 20 of overhead in a packet.
    assert value == pytest.approx(8 * 5000 * 0.8 / 8 * 512 / 532, abs=0.05)
    assert citation.startswith("limit of infiniband QDR 4x, 8 lanes x 5 GT/s")


@pytest.mark.parametrize(
    ("benchmark", "metric", "facts"),
    [
        ("osu.bw", "bandwidth_65536", QDR),
        ("osu.latency", "latency_8", QDR),
        ("osu.bibw", "bandwidth_peak", QDR),
        ("imb.Exchange", "bandwidth_peak", QDR),
        ("osu.bw", "bandwidth_peak", {"technology": "myrinet"}),
        ("osu.bw", "bandwidth_peak", {"technology": "infiniband", "rate": "QDR"}),
    ],
)
def test_nothing_else_is_judged_by_it(benchmark, metric, facts):
    assert limit_of(find(benchmark), metric, "MB/s", Facts.read(facts)) is None


@pytest.mark.parametrize(
    ("facts", "peak", "said"),
    [
        (ETH, 117.0, "ethernet 1 Gb/s (123.92 MB/s at most)"),
        (ETH, 290.0, "ethernet 2.5 Gb/s"),
        # 4 lanes of SDR.
        (QDR, 950.0, "infiniband SDR 4x"),
        # As stated, only not well; or slower than anything of its kind.
        (ETH, 810.0, ""),
        (ETH, 20.0, ""),
        ({"technology": "ethernet", "rate": "1"}, 50.0, ""),
        ({"technology": "ethernet"}, 117.0, ""),
        ({"technology": "myrinet", "rate": "2000"}, 50.0, ""),
        # The slot gives a limit, the technology no rates that could be slower.
        ({**QDR, "technology": "myrinet", "rate": "2000"}, 50.0, ""),
        # Half of the lanes, whatever the port has.
        ({**QDR, "rate": "HDR", "pcie": "4.0", "pcie_lanes": 16}, 12000.0, "HDR100 2x (12421"),
    ],
)
def test_a_peak_that_is_right_for_a_slower_link_names_it(facts, peak, said):
    measured = {"bandwidth_peak": (peak, "MB/s"), "bandwidth_8": (1.0, "MB/s")}
    found = slower_link(find("imb.PingPong"), measured, Facts.read(facts), 0.35)
    assert said in found
    assert bool(found) == bool(said)
    assert slower_link(find("imb.Allreduce"), measured, Facts.read(facts), 0.35) == ""
    assert slower_link(find("imb.PingPong"), {}, Facts.read(facts), 0.35) == ""


def test_shared_memory_in_place_of_the_fabric_is_implausible():
    # 10 Gb/s in frames of 9000 bytes are 1239 MB/s.
    measured = {
        "bandwidth_1024": (900.0, "MB/s"),
        "bandwidth_65536": (9000.0, "MB/s"),
        "bandwidth_peak": (13800.0, "MB/s"),
    }
    (line,) = implausible(find("imb.PingPong"), measured, Facts.read(ETH), TWO)
    assert re.match(
        r"implausible: bandwidth_peak is 13800 MB/s \(2 metrics\), .*ethernet 10.* carries at most "
        r"1239\.\d \(.*\): not measured over this fabric",
        line,
    ), line


@pytest.mark.parametrize(
    ("benchmark", "layout", "value", "true"),
    [
        ("osu.bw", TWO, 1263, True),  # 2 % more than 1239.2
        ("osu.bw", TWO, 1265, False),
        ("osu.bibw", TWO, 2500, True),
        ("osu.bibw", TWO, 2540, False),
        ("osu.mbw_mr", Layout(4, 1, "inter-node"), 2 * 1239 * 4 / 3, True),
        ("osu.mbw_mr", Layout(4, 1, "inter-node"), 2 * 1239 * 4 / 3 * 1.03, False),
        ("osu.alltoall", TWO, 1e9, True),
    ],
)
def test_a_bandwidth_is_held_against_what_the_benchmark_adds_up(benchmark, layout, value, true):
    measured = {"bandwidth_peak": (value, "MB/s")}
    assert (implausible(find(benchmark), measured, Facts.read(ETH), layout) == []) is true


@pytest.mark.parametrize(
    ("benchmark", "told", "links"),
    [
        ("osu.bw", {"nodes": 8}, 1),
        ("imb.Allreduce", {}, None),
        # Half of the nodes send, rounded up; with cyclic ranks all do, and in both directions too.
        ("imb.Uniband", {"nodes": 4}, 2),
        ("imb.Uniband", {"nodes": 5}, 3),
        ("imb.Uniband", {"nodes": 4, "mapping": "cyclic"}, 4),
        ("imb.Biband", {"nodes": 4}, 4),
        ("osu.mbw_mr", {"nodes": 4}, 2 * 2),
        ("osu.mbw_mr", {"nodes": 4, "pairs": 1}, 2),
        ("osu.mbw_mr", {"nodes": 4, "pairs": 3}, 2 * 1.5),
    ],
)
def test_a_sum_over_pairs_may_reach_what_their_nodes_send(benchmark, told, links):
    assert plausibility.factor(find(benchmark), **told) == links


def test_a_latency_below_the_floor_is_implausible():
    facts = Facts.read({**ETH, "cable": 30})
    # Adapters take 0.3 us, 30 m of cable are 0.1 us of light; 8 bytes in the smallest frame 0.0576.
    measured = {"latency_0": (0.01, "us"), "latency_8": (0.44, "us"), "latency_64": (0.6, "us")}
    (line,) = implausible(find("osu.latency"), measured, facts, TWO)
    assert line.startswith("implausible: latency_8 is 0.44 us, over ")
    assert "no message of its size takes less than 0.4577" in line
    assert implausible(find("osu.latency"), {"latency_8": (0.46, "us")}, facts, TWO) == []
    assert implausible(find("osu.allreduce"), measured, facts, TWO) == []


@pytest.mark.parametrize(
    ("layout", "measured", "said"),
    [
        (TWO, {"PingPong-bandwidth-max": (1.26, "GB/s")}, None),
        (TWO, {"PingPong-bandwidth-min": (1.27, "GB/s")}, "PingPong-bandwidth-min is 1.27 GB/s"),
        (TWO, {"PingPong-latency-avg": (0.05, "us")}, "PingPong-latency-avg is 0.05 us"),
        # A ring's neighbours may share a node, and so may a pair of two ranks a node.
        (TWO, {"RandomRing-bandwidth": (9.0, "GB/s"), "RandomRing-latency": (0.01, "us")}, None),
        (
            Layout(4, 2, "inter-node"),
            {"PingPong-bandwidth-max": (9.0, "GB/s"), "PingPong-latency-min": (0.01, "us")},
            None,
        ),
    ],
)
def test_the_pairs_of_hpcc_are_held_against_the_wire(layout, measured, said):
    found = implausible(find("hpcc"), measured, Facts.read(ETH), layout)
    assert bool(found) == bool(said)
    assert said is None or (said in found[0] and "not measured over this fabric" in found[0])


@pytest.mark.parametrize(
    ("benchmark", "per_node", "name", "value", "true"),
    [
        ("distance", 2, "bandwidth_peak.distance.1", 9000, True),
        ("distance", 2, "bandwidth_peak.distance.2", 9000, False),
        ("distance", 2, "bandwidth.distance.4_1024", 3200, True),
        ("distance", 1, "bandwidth.distance.1_1024", 9000, False),
        ("aapc", 2, "bandwidth.pattern.nearest_1024", 9000, True),
        ("aapc", 1, "bandwidth.pattern.nearest_1024", 9000, False),
        ("cumulative_pairwise", 1, "bandwidth_max.pairs.2_1024", 9000, False),
        ("b_eff", 1, "bandwidth_pingpong", 9000, False),
    ],
)
def test_of_patterns_each_pair_that_crosses_the_wire_is_held_against_it(
    benchmark, per_node, name, value, true
):
    layout = Layout(8, per_node, "inter-node")
    of = find(f"patterns.{benchmark}")
    assert (implausible(of, {name: (value, "MB/s")}, Facts.read(QDR), layout) == []) == true


@pytest.mark.parametrize(("distance", "true"), [(1, True), (2, False)])
def test_a_latency_at_a_distance_inside_a_node_has_no_floor(distance, true):
    layout, name = Layout(8, 2, "inter-node"), f"latency.distance.{distance}_8"
    of = find("patterns.distance")
    assert (implausible(of, {name: (0.3, "us")}, Facts.read(QDR), layout) == []) == true


def test_facts_without_a_formula_bound_nothing():
    measured = {"bandwidth_peak": (1e9, "MB/s"), "latency_8": (1e-9, "us")}
    assert implausible(find("osu.bw"), measured, Facts.read({"technology": "cray"}), TWO) == []


def evidence(folder, nodes, facts, min_bytes):
    return plausibility.evidence(folder, nodes, Facts.read(facts), min_bytes)


@pytest.fixture
def links(tmp_path):
    """Write what a made node with a port says, before and after some of its counters grew."""

    def write(node, *, after=None, **port):
        folder = tmp_path / "links"
        folder.mkdir(exist_ok=True)
        tree = Sysfs(tmp_path / node, node)
        tree.adapter()
        tree.port(**port)
        (folder / f"{node}.before").write_text(tree.text())
        counters = tree.root / "class/infiniband/mlx5_0/ports/1/counters"
        for key, value in (after or {}).items():
            (counters / key).write_text(f"{value}\n")
        (folder / f"{node}.after").write_text(tree.text())
        return folder

    return write


def test_bytes_are_counted_on_every_node(links):
    links("node1", after={"port_xmit_data": 10, "port_rcv_data": 15})
    folder = links("node2", after={"port_xmit_data": 30})
    told = "100 or more over the fabric of each node"
    assert evidence(folder, {"node1", "node2"}, QDR, 90) == ([], [], told)
    assert evidence(folder, {"node2"}, QDR, 90)[2] == "120 or more over the fabric of each node"
    (fault,), _, _ = evidence(folder, {"node1", "node2"}, QDR, 101)
    assert (fault.kind, fault.node) == ("no-bytes", "node1")
    assert fault.text.startswith("only 100 bytes went over the infiniband of node1")


def test_a_device_that_is_not_there_is_no_proof(links):
    folder = links("node1")
    _, deviations, told = evidence(folder, {"node1"}, {**QDR, "device": "mlx5_7"}, 1)
    assert told == "not known: node1 has no mlx5_7"
    assert any("mlx5_7" in deviation.text for deviation in deviations)


def test_a_node_that_told_nothing_is_said(links):
    folder = links("node1")
    _, _, told = evidence(folder, {"node1", "node2"}, QDR, 0)
    assert told == "not known: node2 reported nothing of its links"


def test_counters_that_went_back_prove_nothing(links):
    folder = links("node1", port_xmit_data=50, after={"port_xmit_data": 10})
    _, _, told = evidence(folder, {"node1"}, QDR, 1)
    assert told.startswith("not known: ")
    assert "went back from 50 to 10" in told


def test_a_link_that_went_down_is_a_fault_and_symbol_errors_are_none(links):
    folder = links("node1", after={"link_downed": 1, "symbol_error": 4})
    (fault,), deviations, _ = evidence(folder, {"node1"}, QDR, 0)
    assert len(deviations) == 2
    assert (fault.kind, fault.device, fault.what) == ("link-failed", "mlx5_0/1", "link_downed")
    assert "link_downed: 1 more (0 to 1)" in fault.text


@pytest.mark.parametrize("stated", [{}, {"device": "mlx5_0/1,mlx5_1/1"}, {"ports": 2}], ids=str)
def test_a_stated_link_that_vanished_meanwhile_is_a_fault(tmp_path, stated):
    for when, adapters in (("before", 2), ("after", 1)):
        tree = Sysfs(tmp_path / when, "node1")
        for number in range(adapters):
            tree.adapter(f"mlx5_{number}", f"0000:0{number}:00.0")
            tree.port(1, f"mlx5_{number}", port_xmit_data=0, port_rcv_data=0)
        (tmp_path / f"node1.{when}").write_text(tree.text())
    faults, deviations, told = evidence(tmp_path, {"node1"}, QDR | stated, 0)
    assert told == "not known: node1 mlx5_1/1 has vanished"
    assert ("link-missing", "mlx5_1/1") in {(one.kind, one.device) for one in deviations}
    assert [(one.kind, one.device, one.text) for one in faults] == [
        (
            "link-failed", "mlx5_1/1",
            "the link failed while it was measured: node1 mlx5_1/1: has vanished, expected what "
            "was there before",
        )
    ] * bool(stated)  # fmt: skip


def test_a_counter_that_is_full_tells_of_no_failure_now(links):
    folder = links("node1", link_downed=255, link_error_recovery=255)
    faults, deviations, _ = evidence(folder, {"node1"}, QDR, 0)
    assert [one.kind for one in deviations] == ["link-errors", "link-errors"]
    assert faults == []


@pytest.mark.parametrize(
    ("facts", "faults"),
    [
        (QDR, ["eth2", "mlx5_0/2"]),
        (QDR | {"device": "mlx5_0/1"}, ["eth2", "mlx5_0/2"]),
        (QDR | {"device": "mlx5_0/2"}, ["eth2"]),
        (ETH, ["mlx5_0/2"]),
        (ETH | {"device": "mlx5_0/1"}, ["eth2", "mlx5_0/2"]),
        (ETH | {"device": "eth3"}, ["eth2", "mlx5_0/2"]),
    ],
    ids=str,
)
def test_a_link_of_another_network_that_went_down_is_no_fault_of_this_one(tmp_path, facts, faults):
    tree = Sysfs(tmp_path / "node1", "node1")
    tree.adapter()
    tree.port()
    tree.port(2, state="4: ACTIVE" if facts.get("device") == "mlx5_0/2" else "1: DOWN")
    tree.interface()
    (tmp_path / "node1.before").write_text(tree.text())
    tree.add("class/infiniband/mlx5_0/ports/2/counters", link_downed=1)
    tree.add("class/net/eth2", carrier_changes=3)
    (tmp_path / "node1.after").write_text(tree.text())
    failing, deviations, _ = evidence(tmp_path, {"node1"}, facts, 0)
    grown = {one.device for one in deviations if one.kind == "link-errors"}
    assert grown == {"eth2", "mlx5_0/2"}
    failed = {fault.device for fault in failing}
    assert failed == grown - set(faults)


def test_a_reading_that_was_cut_is_refused(links):
    folder = links("node1")
    path = folder / "node1.after"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(ValueError, match=r"node1\.after"):
        evidence(folder, {"node1"}, QDR, 0)


def test_of_fabrics_that_linux_does_not_show_nothing_is_asked(tmp_path):
    assert plausibility.evidence(tmp_path, {"node1"}, None, 1) == ([], [], "")
    assert evidence(tmp_path, {"node1"}, {"technology": "numalink"}, 1) == ([], [], "")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (None, "not compared: the partition states no fabric"),
        (ETH, ""),
        ({"technology": "ethernet"}, "bandwidths not compared: rate not stated; pcie and pcie_"),
        ({"technology": "cray"}, "; latencies not compared: no least time of cray is known"),
    ],
)
def test_what_is_not_stated_is_told_as_not_compared(facts, said):
    told = not_compared(facts and Facts.read(facts))
    assert bool(told) == bool(said)
    assert said in told


GPUS = {"gpus": 4, "gpu_kind": "cuda", "gpu_pcie": "3.0", "gpu_pcie_lanes": 16, "nvlink": 50}
HDR = {"technology": "infiniband", "rate": "HDR", "lanes": 4, **GPUS}
ONE = Layout(2, 2, "intra-node")


@pytest.mark.parametrize(
    ("benchmark", "buffers", "layout", "most", "of"),
    [
        # HDR carries 24842 MB/s of messages, a slot of PCIe 3.0 x16 15162.
        ("osu.bw", "HH", TWO, 24842, "infiniband HDR 4x carries at most 24842"),
        ("osu.bw", "DD", TWO, 15162, "PCIe 3.0 x16, NVLink 50 GB/s carries at most 15162"),
        ("osu.bibw", "HD", TWO, 2 * 15162, "(2 x 16 lanes x 8 GT/s x 128/130 x 512/532)"),
        # Each of four pairs has its own GPUs, and all have one wire.
        ("osu.mbw_mr", "DD", Layout(8, 4, "inter-node"), 24842 * 1.6, "infiniband HDR 4x carries"),
        ("osu.mbw_mr", "DD", ONE, 50_000, "at most 50000 (50 GB/s of NVLink)"),
        ("osu.bw", "HD", ONE, 15162, "carries at most 15162"),
        ("osu.bibw", "DD", ONE, 100_000, "at most 1e+05 (2 x 50 GB/s of NVLink)"),
        # One of three may have another way to each of its neighbours.
        ("imb.gpu.Exchange", "DD", ONE, 100_000, "at most 1e+05 (2 x 50 GB/s of NVLink)"),
        ("imb.gpu.Exchange", "DD", Layout(4, 4, "intra-node"), 200_000, "(4 x 50 GB/s of NVLink)"),
        ("osu.alltoall", "DD", ONE, 0, ""),
    ],
)
def test_what_goes_to_and_from_gpus_is_held_against_wire_slot_and_nvlink(
    benchmark, buffers, layout, most, of
):
    def judged(value):
        measured = {"bandwidth_peak": (value, "MB/s"), "latency_8": (0.01, "us")}
        return implausible(find(benchmark), measured, Facts.read(HDR), layout, buffers)

    assert judged(most * 1.01) == []
    lines = judged(most * 1.03)
    assert len(lines) == bool(of)
    assert all(of in line for line in lines), lines
    # Of a node's own messages the fabric knows no least time.
    assert all("bandwidth_peak" in line for line in lines)


@pytest.mark.parametrize(
    ("buffers", "nodes", "value", "words"),
    [
        ("", 2, 24842.3, "limit of infiniband HDR 4x, "),
        ("DD", 2, 15161.6, "limit of 4 x cuda, PCIe 3.0 x16, NVLink 50 GB/s, 16 lanes x 8 GT/s"),
        ("DD", 1, 50_000.0, "limit of 4 x cuda, PCIe 3.0 x16, NVLink 50 GB/s, 50 GB/s of NVLink"),
        ("HD", 1, None, ""),
        ("", 1, None, ""),
    ],
)
def test_a_fraction_of_what_gpus_can_do_judges_the_peak(buffers, nodes, value, words):
    told = limit_of(find("osu.bw"), "bandwidth_peak", "MB/s", Facts.read(HDR), buffers, nodes)
    assert (told and told[0]) == value
    assert told is None or told[1].startswith(words)


@pytest.mark.parametrize(
    ("without", "buffers", "nodes", "said"),
    [
        ((), "DD", 1, ""),
        (("nvlink",), "DD", 1,
         "bandwidths not compared with those of a GPU: nvlink not stated (0 if there is none)"),
        (("nvlink",), "DD", 2, ""),
        (("gpu_pcie",), "HD", 2,
         "bandwidths not compared with those of a GPU: gpu_pcie not stated"),
        (("gpu_pcie",), "HH", 2, ""),
    ],
)  # fmt: skip
def test_what_is_not_stated_of_gpus_is_said(without, buffers, nodes, said):
    facts = Facts.read({key: value for key, value in HDR.items() if key not in without})
    assert plausibility.not_compared(facts, buffers, nodes) == said

"""Faults of a simulated system: what each changes, where there is none, and what Linux shows."""

import subprocess

import pytest
from msgspec import structs

from acceptance.core.errors import Fault
from acceptance.core.kinds import OF_CABLES, OF_FABRICS
from acceptance.fabric import Facts, link_check, link_report
from acceptance.machine import Layout
from acceptance.nodes import FAILING
from acceptance.simulation import (
    DEFECTS,
    Injected,
    Platform,
    SimulatedRun,
    Tree,
    injected,
    readings,
)

QDR = Facts.read(
    {"technology": "infiniband", "rate": "QDR", "lanes": 4, "pcie": "2.0", "pcie_lanes": 8}
)
#: Fault -> kind of what the link check says of it, and where.
SHOWN = {
    "port-sdr": ("link-rate", "10 Gb/sec (4X SDR)"),
    "port-ddr": ("link-rate", "20 Gb/sec (4X DDR)"),
    "one-lane": ("link-rate", "10 Gb/sec (1X QDR)"),
    "slot-1.1": ("pcie-speed", "2.5 GT/s x8 (1.1)"),
    "slot-x4": ("pcie-width", "5 GT/s x4 (2.0)"),
}


def run_of(tree=None, count=2, facts=QDR):
    platform = Platform.of(facts, count, tree=tree)
    return SimulatedRun.of(facts, platform, Layout(count, 1, "inter-node"))


def slowest(run, sender, receiver):
    """Return the bandwidth (MB/s) and the latency (us) of a way."""
    links = [run.platform.link(name) for name, _ in run.platform.route(sender, receiver)]
    rates = [link.bandwidth * (1 - link.loss) for link in links]
    return min(rates), sum(link.latency for link in links)


@pytest.mark.parametrize(
    ("name", "rate", "latency"),
    [
        ("port-sdr", 987.5, 1.06),  # 8 Gb/s, of 2074 bytes 2048
        ("port-ddr", 1975.0, 1.06),
        ("one-lane", 987.5, 1.06),
        ("slot-1.1", 1300, 1.16),
        ("slot-x4", 1300, 1.06),
        ("latency-10", 2600, 1.166),
        ("latency-50", 2600, 1.59),
        ("node-half", 1300, 1.06),
        ("cable-half", 1975.0, 1.06),
        ("cable-loss", 2600, 1.06),  # its slot is slower than what the cable loses
    ],
)
def test_a_fault_changes_what_it_says(name, rate, latency):
    run = Injected.of(name).apply(run_of())
    assert slowest(run, 0, 1) == pytest.approx((rate, latency), rel=1e-3)
    assert slowest(run, 1, 0) == slowest(run, 0, 1)
    if "latency" not in name:
        assert slowest(run_of(count=4), 2, 3) == pytest.approx((2600, 1.06))


def test_an_uplink_is_that_of_a_leaf_and_a_spine():
    fault, healthy = Injected.of("uplink-half"), run_of(Tree(4, 2), 8)
    run = fault.apply(healthy)
    slow = [
        (i, j)
        for i in range(8)
        for j in range(8)
        if i != j and slowest(run, i, j) != slowest(healthy, i, j)
    ]
    assert slow == [
        *((i, j) for i in range(4) for j in (5, 7)),
        *((i, j) for i in range(4, 8) for j in (1, 3)),
    ]
    assert fault.at(run.platform) == ("n4", "n5", "n6", "n7", "leaf1", "spine1")


def test_swapped_nodes_have_each_others_places_and_misplaced_ranks_another_host():
    swapped = Injected.of("nodes-swapped:n2")
    run = swapped.apply(run_of(Tree(4, 2), 8))
    assert run.platform.hosts == ("n0", "n1", "n6", "n3", "n4", "n5", "n2", "n7")
    assert swapped.at(run_of(Tree(4, 2), 8).platform) == ("n2", "n6")
    assert len(run.platform.route(0, run.platform.hosts.index("n2"))) == 6  # over a spine now
    assert run.ranks == tuple(f"n{k}" for k in range(8))
    assert Injected.of("ranks-misplaced").apply(run_of()).ranks == ("n0", "n0")


@pytest.mark.parametrize(
    ("name", "facts", "why"),
    [
        ("port-sdr", {"rate": "SDR"}, "its rate is SDR"),
        ("port-ddr", {"rate": "SDR"}, "its rate is SDR"),
        ("slot-1.1", {"pcie": "1.1"}, "its pcie is 1.1"),
        ("slot-x4", {"pcie_lanes": 4}, "its pcie_lanes is 4"),
        ("slot-x4", {"pcie_lanes": None}, "its facts state no pcie_lanes"),
        ("port-sdr", {"technology": "ethernet", "rate": "10", "lanes": None}, "unknown rate"),
        ("uplink-half", {}, "it has no uplinks"),
        ("nodes-swapped", {}, "its nodes are alike"),
    ],
)
def test_where_there_can_be_no_such_fault_it_says_why_and_changes_nothing(name, facts, why):
    stated = Facts.read({**{k: v for k, v in structs.asdict(QDR).items() if k != "ports"}, **facts})
    run, fault = run_of(facts=stated), Injected.of(name)
    assert why in fault.why_not(stated, run.platform)
    assert fault.apply(run) is run


def test_what_is_not_known_is_an_error():
    with pytest.raises(Fault, match=r"unknown fault 'port-sdd'; known: port-sdr, port-"):
        injected({"ACCEPTANCE_FAULT": "port-sdd"})
    with pytest.raises(Fault, match="latency-10 is of the whole fabric"):
        Injected.of("latency-10:n1")
    with pytest.raises(Fault, match="port-sdr:n7: there is no node 'n7'"):
        Injected.of("port-sdr:n7").apply(run_of())
    with pytest.raises(Fault, match="no link 'leaf9-up1'"):
        Injected.of("uplink-half:leaf9-up1").apply(run_of(Tree(4, 2), 8))
    assert injected({"ACCEPTANCE_FAULT": ""}) is None


def seen(folder, node, fault):
    """Return what the link check says of a simulated node, and the counters that stand there."""
    command = readings.write_node(folder, node, QDR, fault)
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    links = link_report.parse(done.stdout)
    assert links.name == node
    return link_check.deviations(links, QDR), link_check.standing(links, QDR)


@pytest.mark.parametrize("name", SHOWN)
def test_what_linux_shows_of_a_fault_is_of_its_node(tmp_path, name):
    (deviation,), _ = seen(tmp_path, "n1", Injected.of(name))
    assert (deviation.kind, deviation.found, deviation.node) == (*SHOWN[name], "n1")
    assert deviation.kind in DEFECTS[name].kinds


def test_a_healthy_node_shows_nothing_and_a_cable_that_loses_its_counters(tmp_path):
    assert seen(tmp_path / "healthy", "n0", Injected.of("port-sdr")) == ([], [])
    _, (counter,) = seen(tmp_path / "loss", "n1", Injected.of("cable-loss"))
    assert (counter.kind, counter.node, counter.what) == ("link-counters", "n1", "symbol_error")


@pytest.mark.parametrize(
    "stated",
    [
        {"technology": "infiniband", "rate": "HDR", "lanes": 4, "device": "mlx5_0/1,mlx5_0/2"},
        {"technology": "roce", "rate": "100", "mtu": 4096, "ports": 2},
        {"technology": "omni-path", "rate": "100", "pcie": "3.0", "pcie_lanes": 16},
        {"technology": "ethernet", "rate": "25", "mtu": 9000, "device": "eth1,eth2"},
    ],
)
def test_a_healthy_node_of_each_technology_is_as_stated(tmp_path, stated):
    facts = Facts.read(stated)
    command = readings.write_node(tmp_path, "n0", facts, None)
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    links = link_report.parse(done.stdout)
    assert len(link_check.serving(links, facts)) == facts.ports
    assert not link_check.deviations(links, facts)


def test_kinds_by_which_faults_are_recognised_exist():
    known = {
        *FAILING,
        *OF_FABRICS,
        *OF_CABLES,
        *(kind for kind, _ in SHOWN.values()),
        "link-counters",
        "misplaced",
    }
    assert {kind for fault in DEFECTS.values() for kind in fault.kinds} <= known

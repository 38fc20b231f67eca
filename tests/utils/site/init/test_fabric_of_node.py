"""Which adapter of a made node is its fabric."""

import pytest

from acceptance.fabric import Facts
from acceptance.fabric.link_check import deviations
from acceptance.machine import SchedulerFault, SlurmNode
from acceptance.site import cluster, fabric_of_node


def fabric_of(sysfs, address="", route=""):
    said = f"== links\n{sysfs.text()}== route\n{route}== paths\n== end\n"
    return fabric_of_node.read(said, address, "node17")


def test_the_fastest_link_that_is_up_is_the_fabric(slurm):
    sysfs = slurm.node("node9")
    sysfs.adapter("mlx5_0")
    sysfs.port(rate="40 Gb/sec (4X QDR)")
    sysfs.adapter("mlx5_1", address="0000:04:00.0", width=4)
    sysfs.port(name="mlx5_1", rate="100 Gb/sec (2X HDR)")
    sysfs.adapter("mlx5_2", address="0000:06:00.0")
    sysfs.port(name="mlx5_2", rate="200 Gb/sec (4X HDR)", state="1: DOWN")
    fabric = fabric_of(sysfs)
    assert fabric.facts == {
        "technology": "infiniband", "rate": "HDR100", "lanes": 2, "device": "mlx5_1/1",
        "pcie": "2.0", "pcie_lanes": 8,
    }  # fmt: skip
    assert "mlx5_0/1" in " ".join(fabric.notes)
    (todo,) = fabric.todo
    assert "the adapter can do 5 GT/s x8 (2.0), but runs at 5 GT/s x4 (2.0)" in todo


def test_links_that_run_alike_may_be_rails_which_a_human_states(slurm):
    sysfs = slurm.node("node9")
    for number, rate in enumerate(("40 Gb/sec (4X QDR)", *["200 Gb/sec (4X HDR)"] * 2)):
        sysfs.adapter(f"mlx5_{number}", address=f"0000:0{number}:00.0")
        sysfs.port(name=f"mlx5_{number}", rate=rate)
    fabric = fabric_of(sysfs)
    assert fabric.facts["device"] == "mlx5_1/1"
    assert fabric.rails == ("mlx5_1/1", "mlx5_2/1")
    (todo,) = fabric.todo
    assert todo.startswith("device: mlx5_1/1, mlx5_2/1 run at the same rate; ")


def test_of_roce_the_port_is_the_device(slurm):
    sysfs = slurm.node("node9")
    sysfs.adapter()
    sysfs.port(rate="100 Gb/sec (4X EDR)", link_layer="Ethernet")
    sysfs.interface("eth2", speed=100000, address="0000:03:00.0")
    fabric = fabric_of(sysfs)
    assert fabric.facts == {
        "technology": "ethernet", "rate": "100", "device": "mlx5_0/1",
        "pcie": "2.0", "pcie_lanes": 8,
    }  # fmt: skip
    assert (fabric.variables, fabric.todo) == ({}, [])
    # Its bytes are counted there, and the link check knows it.
    assert deviations(sysfs.node(), Facts.read(fabric.facts)) == []


def test_the_speed_of_what_is_no_hardware_is_no_fact(slurm):
    sysfs = slurm.node("node9")
    sysfs.interface("ctl0", address=None, speed=10000)
    sysfs.interface("fast0", address=None, speed=1000, mtu=1500)
    names = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
    everything = "fast0\t00000000\t0113A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0"
    control = "ctl0\t000013C6\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0"
    route = f"{names}\n{everything}\n{control}\n"
    fabric = fabric_of(sysfs, "198.19.0.5", route)
    assert fabric.facts == {"technology": "ethernet", "device": "fast0", "mtu": 1500}
    assert 'rate: "1" if it is true' in fabric.todo[0]
    # Nobody knows which one Slurm takes: then the faster one.
    assert fabric_of(sysfs, "node9", route).facts["device"] == "ctl0"


def test_what_has_no_known_rate_is_filled_in_by_a_human(slurm):
    sysfs = slurm.node("node9")
    sysfs.interface("eth0", speed=20000, slot={"speed": None})
    fabric = fabric_of(sysfs)
    assert fabric.facts == {"technology": "ethernet", "device": "eth0", "mtu": 9000}
    assert any("20 Gb/s is none of ethernet" in line for line in fabric.todo)
    assert any(line.startswith("pcie, pcie_lanes") for line in fabric.todo)


def test_gpus_are_noted_and_are_no_facts(slurm):
    sysfs = slurm.node("node9")
    sysfs.interface("eth0", speed=10000)
    sysfs.gpu(vendor="0x1002", of_class="0x120000", width=12, most="Unknown")
    fabric = fabric_of(sysfs)
    assert fabric.notes[-1] == (
        'to measure from GPUs, too: "gpus": 1, "gpu_kind": "rocm", "gpu_pcie_lanes": 12'
    )
    assert not any(key.startswith("gpu") for key in fabric.facts)


def test_no_link_at_all(slurm):
    fabric = fabric_of(slurm.node("node9"))
    assert fabric.facts == {}
    assert fabric.todo[0].startswith("no link is up")


@pytest.mark.parametrize(
    ("states", "asked"),
    [
        (["ALLOCATED", "MIXED", "IDLE"], "node2"),
        (["IDLE+POWERED_DOWN", "MIXED", "ALLOCATED"], "node1"),
        (["IDLE+POWERING_UP", "IDLE"], "node1"),
        (["IDLE+DRAIN", "ALLOCATED"], ""),
    ],
)
def test_a_job_looks_at_a_node_that_it_need_not_wait_for(states, asked, monkeypatch):
    looked = []

    def run_on(node, *_):
        looked.append(node)
        raise SchedulerFault("no answer")

    monkeypatch.setattr(cluster, "run_on", run_on)
    alike = [
        SlurmNode(f"node{n}", "", "", "DRAIN" not in text, frozenset(text.split("+")))
        for n, text in enumerate(states)
    ]
    look = cluster.look_at_one("main", alike, [])
    assert (looked, look.fault) == (
        ([asked], "no answer") if asked else ([], "all such nodes were busy")
    )

"""A fabric's outputs read as one, and its hosts by the names of the scheduler's nodes."""

import shutil
import subprocess
import sys

from acceptance.fabric.outputs import join
from acceptance.fabric.topology import End
from tests.ibsim import Fabric, fat_tree, topology_of
from tests.needs import FABRIC, requires
from tests.places import ROOT
from tests.processes import alive, wait_until


def test_a_healthy_fabric_is_read_without_a_fault(fabric, tree, look):
    reading = look(fabric)
    assert not reading.faults
    topology = reading.topology
    assert len(topology.devices) == 22
    assert len(topology.links) == 24
    assert {(link.trained, link.state) for link in topology.links} == {("4xHDR", "Active")}
    link = topology.by_end[End(tree.guid("leaf02"), 5)]
    assert topology.link_text(link) == "leaf02[5] - spine01[2]"
    assert topology.link_text(topology.by_end[End(tree.guid("node0006"), 1)]) == (
        "node0006 mlx5_0[1] - leaf02[2]"
    )
    assert {topology.level(tree.guid(name)) for name in ("node0001", "node0016")} == {0}
    assert topology.level(tree.guid("leaf04")) == 1
    assert topology.level(tree.guid("spine02")) == 2
    assert topology.leaf_of(tree.guid("node0005")) == tree.guid("leaf02")
    assert topology.hops(tree.guid("node0001"), tree.guid("node0002")) == 2
    assert topology.hops(tree.guid("node0001"), tree.guid("node0016")) == 4
    assert set(topology.down.values()) == {"Polling"}
    assert len(topology.down) == 12
    assert reading.counters == {}
    assert not reading.faults
    assert reading.routes.count("Unicast lids") == 6


def test_what_a_link_trained_at_and_what_a_port_counts(look):
    tree = fat_tree(8, 2, 2)
    tree.train(("leaf02", 5), "1xHDR")
    tree.train(("node0003", 1), "4xEDR")
    tree.unplug(("leaf01", 6))
    with Fabric(tree.net) as fabric:
        fabric.console(
            f'PerformanceSet "S-{tree.guids["leaf02"]:016x}"[2] PortCounters.SymbolErrorCounter=500'
        )
        reading = look(fabric)
    topology = reading.topology
    assert {
        topology.link_text(link): link.trained for link in topology.links if link.trained != "4xHDR"
    } == {"leaf02[5] - spine01[2]": "1xHDR", "node0003 mlx5_0[1] - leaf01[3]": "4xEDR"}
    assert End(tree.guid("leaf01"), 6) in topology.down
    assert reading.errors == {End(tree.guid("leaf02"), 2): {"SymbolErrorCounter": 500}}
    assert not reading.faults


@requires(*FABRIC)
def test_the_programs_of_a_fabric_are_gone_when_the_tests_are_killed():
    script = (
        "import time; from tests.ibsim import Fabric, fat_tree\n"
        "with Fabric(fat_tree(4, 2, 1).net) as fabric:\n"
        "    print(fabric.folder, *(each.pid for each in fabric.programs), flush=True)\n"
        "    time.sleep(600)\n"
    )
    tests = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    folder, *programs = tests.stdout.readline().split()
    try:
        assert len(alive(programs)) == 2
        tests.kill()
        tests.communicate()
        assert wait_until(lambda: not alive(programs)), programs
    finally:
        shutil.rmtree(folder)


def adapters(*guids):
    """Return what is kept of a node."""
    return {f"mlx5_{n}": guid for n, guid in enumerate(guids)}


def test_guids_join_whatever_the_adapters_call_themselves():
    tree = fat_tree(4, 2, 1)
    tree.names["node0001"], tree.names["node0002"] = tree.names["node0002"], "MT4123 ConnectX6"
    joined, unfit = join(
        topology_of(tree), {f"n{k}": adapters(tree.guid(f"node000{k}")) for k in (1, 2, 3, 4)}
    )
    assert joined.hosts == {f"n{k}": (tree.guid(f"node000{k}"),) for k in (1, 2, 3, 4)}
    assert joined.device_name(tree.guid("node0001")) == "n1"
    assert unfit == ()


def test_a_name_that_belongs_to_another_node():
    tree = fat_tree(4, 2, 1)
    names = [f"node000{k}" for k in (1, 2, 3, 4)]
    tree.names["node0001"], tree.names["node0002"] = tree.names["node0002"], tree.names["node0001"]
    _, unfit = join(topology_of(tree), {name: adapters(tree.guid(name)) for name in names})
    assert unfit == (
        "node0001: its adapter 0x98039b0300500000 calls itself node0002 mlx5_0",
        "node0002: its adapter 0x98039b0300500010 calls itself node0001 mlx5_0",
    )


def test_a_node_that_is_not_there_a_host_that_is_no_node_and_one_known_by_name():
    tree = fat_tree(4, 2, 1)
    joined, unfit = join(
        topology_of(tree),
        {
            "node0001": adapters(tree.guid("node0001"), "0x00000000000000aa"),
            "other": adapters("0x00000000000000bb"),
            "node0003": adapters(""),
            "gateway": adapters(),
        },
        ["node0002", "node0001", "node0009"],
    )
    assert joined.hosts.keys() == {"node0001", "node0002", "node0003"}
    assert unfit == (
        "node0009: no adapter of it is in the fabric (by its name)",
        "other: no adapter of it is in the fabric (mlx5_0 0x00000000000000bb)",
        "2 nodes (node0002, node0003) known by the adapters' descriptions only, as sysfs was not "
        "read: a description may be wrong",
        "1 host (node0004 mlx5_0) of the fabric, but none of these nodes",
    )


def test_two_rails_in_one_fabric_are_one_node():
    tree = fat_tree(4, 2, 1)
    both = (tree.guid("node0001"), tree.guid("node0002"))
    topology, _ = join(topology_of(tree), {"n1": adapters(*both)})
    assert topology.hosts == {"n1": both}
    assert topology.device_name(both[1]) == "node0002 mlx5_0"

"""Whole fabrics, read by the real programs from a simulated one."""

import shutil
import subprocess
import sys

from acceptance.fabric.topology import End
from tests.ibsim import Fabric, fat_tree
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
    assert reading.counters.ports == 60
    assert not reading.errors
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

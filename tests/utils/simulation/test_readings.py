"""Cables of a simulated fabric: read by the script and the readers of real ones."""

import subprocess

import pytest

from acceptance.core.errors import Fault
from acceptance.fabric import Facts, outputs
from acceptance.fabric.routes import Routes
from acceptance.fabric.topology import End
from acceptance.simulation import Injected, Platform, Tree, readings
from tests import ibsim

TREE = Tree(4, 2)
HDR = Facts.read({"technology": "infiniband", "rate": "HDR", "lanes": 4})


@pytest.fixture
def read(tmp_path):
    """Return what is read of a fabric of so many nodes, perhaps with a fault."""

    def reading(nodes=8, tree=TREE, fault=None, facts=HDR):
        platform = Platform.of(facts, nodes, tree=tree)
        injected = Injected.of(fault) if fault else None
        if injected and injected.fault.moved:
            hosts = [*platform.hosts]
            hosts[1], hosts[5] = hosts[5], hosts[1]
            platform = Platform(tuple(hosts), platform.links, tree)
        folder = tmp_path / str(len([*tmp_path.iterdir()]))
        command = readings.write_fabric(folder / "programs", facts, platform, injected)
        subprocess.run(f"{command} {folder / 'read'}", shell=True, check=True)
        return outputs.read(folder / "read")

    return reading


def names_of(seen):
    return {seen.topology.link_text(link) for link in seen.topology.links}


def test_a_tree_is_read_as_a_real_one(read):
    seen = read()
    assert seen.faults == ()
    assert (len(seen.topology.switches), len(seen.topology.links)) == (4, 12)
    assert {link.trained for link in seen.topology.links} == {"4xHDR"}
    assert {link.state for link in seen.topology.links} == {"Active"}
    assert {"n1 simulated[1] - leaf0[2]", "leaf1[6] - spine1[2]"} <= names_of(seen)
    assert (seen.errors, seen.version.startswith("simulated: ")) == ({}, True)
    joined, _ = outputs.join(seen.topology, {}, [f"n{k}" for k in range(8)])
    assert len(joined.hosts) == 8
    routes = Routes.of(joined, seen.routes)
    # To itself, below one leaf, over a spine.
    assert {*(routes.steps >= 0).sum(axis=2).ravel().tolist()} == {0, 2, 4}


def test_nodes_that_changed_places_have_each_others_ports(read):
    healthy, swapped = names_of(read()), names_of(read(fault="nodes-swapped"))
    assert len(healthy - swapped) == len(swapped - healthy) == 2


def test_what_a_port_trained_at_and_counts_is_seen_at_its_cable(read):
    trained = [link.trained for link in read(fault="port-sdr:n3").topology.links]
    assert sorted(trained) == ["4xHDR"] * 11 + ["4xSDR"]
    ((end, counters),) = read(fault="cable-loss:n3").errors.items()
    assert (end.port, counters) == (1, {"SymbolErrorCounter": 1000})
    assert isinstance(end, End)


def test_without_a_tree_there_is_one_switch(read):
    seen = read(3, None)
    assert (len(seen.topology.switches), len(seen.topology.links), seen.faults) == (1, 3, ())


def test_nobody_sees_all_of_another_technology(tmp_path):
    facts = Facts.read({"technology": "ethernet", "rate": 10})
    with pytest.raises(Fault, match="nobody sees all of a fabric of ethernet"):
        readings.write_fabric(tmp_path, facts, Platform.of(facts, 2))


def test_the_real_program_reads_and_prints_the_same_fabric(tmp_path):
    platform = Platform.of(HDR, 4, tree=Tree(2, 2))
    made = "\n".join(readings.ibnetdiscover(readings.cabling(HDR, platform)))
    with ibsim.Fabric(f"{made}\n", manager=False) as fabric:
        done = subprocess.run(
            ["ibnetdiscover"], env=fabric.environment, capture_output=True, text=True, check=True
        )
    seen = [outputs.parse_netdiscover(text)[0] for text in (f"{made}\n", done.stdout)]
    assert seen[0].devices.keys() == seen[1].devices.keys()
    assert [link.ends for link in seen[0].links] == [link.ends for link in seen[1].links]
    assert [link.trained for link in seen[0].links] == [link.trained for link in seen[1].links]

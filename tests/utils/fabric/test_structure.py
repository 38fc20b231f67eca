"""Levels, kinds of links, what a fabric can carry, and what of it hangs on one cable."""

from types import SimpleNamespace

import pytest

from acceptance.fabric.summary import structure, switch_count
from acceptance.fabric.topology import End, Link, kind_of, level_name
from tests.ibsim import fat_tree, topology_of


def names(topology, guids):
    return [topology.device_name(guid) for guid in guids]


def test_an_even_tree():
    topology = topology_of(fat_tree(32, 4, 4, uplinks=2))
    built = structure(topology)
    assert switch_count(topology) == {"leaf": 4, "spine": 4}
    assert {leaf.oversubscription for leaf in built.leaves} == {1.0}
    assert built.tree
    assert built.bisection == pytest.approx(32 * 200 / 2)
    # A fabric without oversubscription lets each host send at its link's rate.
    assert built.all_pairs_limit == pytest.approx(25000)
    assert built.alltoall_limit == pytest.approx(25000)
    assert list(built.notes(topology)) == []
    assert not built.fewer


def test_two_to_one():
    topology = topology_of(fat_tree(32, 4, 4, uplinks=1))
    built = structure(topology)
    assert {leaf.oversubscription for leaf in built.leaves} == {2.0}
    assert built.bisection == pytest.approx(16 * 200 / 2)
    assert built.all_pairs_limit == pytest.approx(12500)
    # 24 of 31 others are behind the uplinks: 4 links of 25,000 MB/s, 8 hosts.
    leaf = 4 * 25000 * 31 / (8 * 24)
    assert built.alltoall_limit == pytest.approx(min(leaf, 4 * 8 * 25000 * 31 / 32**2))


def test_an_uplink_that_is_missing_and_one_that_is_slow():
    tree = fat_tree(32, 4, 4, uplinks=1)
    tree.unplug(("leaf03", 10))
    tree.train(("leaf02", 9), "1xHDR")
    topology = topology_of(tree)
    built = structure(topology)
    (fewer,) = built.fewer
    assert names(topology, [fewer.guid]) == ["leaf03"]
    assert (fewer.uplinks, fewer.siblings) == (3, 4)
    assert built.all_pairs_limit == pytest.approx(3 * 25000 / 8)


def test_a_spine_with_a_few_hosts_is_a_spine():
    tree = fat_tree(40, 4, 2)
    tree.move(("leaf01", 1), ("spine02", 5))
    topology = topology_of(tree)
    assert switch_count(topology) == {"leaf": 4, "spine": 2}
    built = structure(topology)
    assert built.tree
    kinds = {str(kind_of(topology, link)) for link in topology.links}
    assert kinds == {"host-leaf", "host-spine", "leaf-spine"}


def test_three_levels_and_a_switch_that_leads_nowhere():
    tree = fat_tree(16, 4, 4)
    for number in (1, 2):
        tree.add(f"core{number}", 0x248A070300C00000 + number, 8, f"core{number}")
        for spine in range(4):
            tree.plug((f"core{number}", spine + 1), (f"spine{spine + 1:02}", 4 + number), "4xHDR")
    tree.add("stray1", 0x248A070300D00000, 8, "stray1")
    tree.add("stray2", 0x248A070300D00001, 8, "stray2")
    tree.plug(("stray1", 1), ("stray2", 1), "4xHDR")
    topology = topology_of(tree)
    assert switch_count(topology) == {"leaf": 4, "spine": 4, "core": 2, "no level": 2}
    assert level_name(4) == "level 4"
    built = structure(topology)
    assert built.level_gbps == pytest.approx((3200, 3200, 1600))
    assert not built.tree
    assert built.bisection is None
    assert next(built.notes(topology)) == "from stray1, stray2 no way leads to a host"


def test_a_ring_of_leaves_is_no_tree():
    tree = fat_tree(16, 4, 0, spare=2)
    for leaf in range(4):
        tree.plug((f"leaf{leaf + 1:02}", 5), (f"leaf{(leaf + 1) % 4 + 1:02}", 6), "4xHDR")
    topology = topology_of(tree)
    built = structure(topology)
    assert len(built.sideways) == 4
    assert (built.bisection, built.alltoall_limit, built.all_pairs_limit) == (None, None, None)
    assert "it is no tree: 4 links between switches" in next(built.notes(topology))
    assert topology.hops(tree.guid("node0001"), tree.guid("node0016")) == 3
    assert topology.hops(tree.guid("node0001"), tree.guid("node0009")) == 4


def test_what_hangs_on_one_cable_or_switch():
    tree = fat_tree(16, 4, 2)
    tree.unplug(("leaf02", 5))
    topology = topology_of(tree)
    assert list(structure(topology).notes(topology)) == [
        "one uplink only: leaf02",
        "without spine02, hosts lose each other",
    ]
    (bridge,) = structure(topology).bridges
    assert topology.link_text(bridge) == "leaf02[6] - spine02[2]"


def test_links_of_one_kind_have_alike_ends():
    topology = topology_of(fat_tree(16, 4, 2))
    kinds = {kind_of(topology, link) for link in topology.links}
    assert sorted(map(str, kinds)) == ["host-leaf", "leaf-spine"]


def test_hosts_with_two_ports_are_no_way_between_switches():
    tree = fat_tree(4, 2, 0, spare=2)
    tree.ports["node0001"] = 2
    tree.plug(("node0001", 2), ("leaf02", 3), "4xHDR")
    topology = topology_of(tree)
    assert topology.hops(tree.guid("node0001"), tree.guid("node0003")) == 2
    assert topology.hops(tree.guid("node0002"), tree.guid("node0003")) is None
    assert topology.leaf_of(tree.guid("node0001")) == tree.guid("leaf01")
    device = topology.devices[tree.guid("node0001")]
    assert topology.by_port_guid[device.port_guids[2]] == End(device.guid, 2)


def test_a_link_is_called_by_the_levels_of_its_ends_the_lower_one_first():
    levels = SimpleNamespace(levels={"host": 0, "leaf": 1, "spine": 2, "top": 4})

    def kind(*guids):
        return kind_of(levels, SimpleNamespace(ends=[SimpleNamespace(guid=of) for of in guids]))

    assert kind("leaf", "host") == "host-leaf"
    assert kind("spine", "top") == "spine-level 4"
    assert kind("leaf", "unknown") == "no level-leaf"


@pytest.mark.parametrize(
    ("width", "speed", "gbps"),
    [("4x", "HDR", 200), ("1x", "SDR", 2.5), ("", "HDR", 0), ("?", "HDR", 0), ("4x", "what", 0)],
)
def test_a_link_of_unknown_width_or_speed_has_no_rate(width, speed, gbps):
    assert Link((End("a", 1), End("b", 1)), width, speed).gbps == pytest.approx(gbps, rel=0.07)

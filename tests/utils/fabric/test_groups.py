"""Dragonflies, and trees that are built by rails: on ibsim, and drawn without any program."""

import itertools

import pytest

from acceptance.fabric import outputs, summary, view
from acceptance.fabric.outputs import join
from acceptance.fabric.routes import Routes
from acceptance.fabric.stored import State
from acceptance.fabric.summary import structure
from acceptance.fabric.view import Hosts
from tests.ibsim import Fabric, dragonfly, dragonfly_plus, fat_tree, rail_tree, topology_of
from tests.routed import broken, hops

#: MB/s of a link of HDR, data.
HDR = 25000


def lines(topology):
    return dict(summary.lines(topology))


def notes(topology):
    return [*structure(topology).notes(topology)]


def judged(topology):
    found, _ = view.judge(
        topology, None, hosts=Hosts({}), accepted=None, before=State(0.0, None), now=1.0
    )
    return [(each.kind, each.text) for each in found if each.fails]


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Return a topology and the routes of it, as the programs see it on ibsim."""

    def look(made):
        folder = tmp_path_factory.mktemp("fabric") / "reading"
        with Fabric(made.net) as fabric:
            done = fabric.run("sh", outputs.SCRIPT, folder)
        assert (done.returncode, done.stderr) == (0, "")
        reading = outputs.read(folder)
        assert not reading.faults
        return reading.topology, Routes.of(reading.topology, reading.routes)

    return look


def test_a_dragonfly_as_the_programs_see_it(seen):
    topology, routes = seen(dragonfly())
    assert not broken(routes)
    # Host, one switch of each group, host: in a group two hosts are 2 or 3 links apart.
    assert hops(routes).max() <= 6
    built = structure(topology)
    assert [len(group) for group in topology.groups] == [4, 4, 4, 4]
    assert (built.tree, built.known, len(built.groups)) == (False, True, 4)
    # 8 hosts share 3 links to the other groups; half of the groups have 4 to the other half.
    assert built.all_pairs_limit == pytest.approx(3 * HDR / 8)
    assert built.bisection == pytest.approx(4 * 200)
    assert built.alltoall_limit == pytest.approx(3 * HDR * 31 / (8 * 24))
    told = lines(topology)
    assert told["groups"] == "a dragonfly of 4 groups of 4 switches"
    assert told["carries"] == (
        "oversubscription of groups 2.67:1, bisection 800 Gb/s, all pairs at most 9,375 MB/s a "
        "host, alltoall at most 12,109 MB/s a host"
    )
    assert notes(topology) == []
    assert judged(topology) == []
    data = summary.as_data(topology)["structure"]
    assert [group["links"] for group in data["groups"]] == [3, 3, 3, 3]


def test_a_dragonfly_plus_as_the_programs_see_it(seen):
    topology, routes = seen(dragonfly_plus())
    assert not broken(routes)
    built = structure(topology)
    assert [len(group) for group in topology.groups] == [4, 4, 4]
    assert lines(topology)["switches"] == "12: 6 leaf, 6 spine"
    # 4 hosts of a group share 2 links to each of the two others, 2 those of their leaf.
    assert built.all_pairs_limit == pytest.approx(HDR)
    assert built.alltoall_limit == pytest.approx(HDR)
    # Of three groups no half can be told.
    assert built.bisection is None
    assert notes(topology) == []
    assert judged(topology) == []


def test_cables_that_a_dragonfly_lacks():
    made = dragonfly()
    made.unplug(("group2-1", 3))
    assert made.cables[("group1-1", 6)][0][0] == "group2-1"
    made.unplug(("group1-1", 6))
    topology = topology_of(made)
    assert len(topology.groups) == 4
    assert notes(topology) == [
        "between the groups of group1-1 and group2-1 0 links, fewer than most have"
    ]
    told = dict(judged(topology))
    assert told == {"fabric-uplinks": told["fabric-uplinks"]}
    assert told["fabric-uplinks"].endswith("2 uplinks, expected 3, as most leaves of its kind have")
    # The two groups still reach each other through the others.
    built = structure(topology)
    assert built.all_pairs_limit == pytest.approx(2 * HDR / 8)


@pytest.mark.parametrize("shape", ["tree", "ring", "mesh", "torus", "chain"])
def test_what_is_no_dragonfly_is_not_taken_for_one(shape):
    made = fat_tree(16, 16, 4 if shape == "tree" else 0, spare=16)
    fours = [range(first, first + 4) for first in range(0, 16, 4)]
    cables = {
        "tree": [],
        "ring": [(n, (n + 1) % 16) for n in range(16)],
        "mesh": [*itertools.combinations(range(16), 2)],
        "torus": [(n, n - n % 4 + (n + 1) % 4) for n in range(16)]
        + [(n, (n + 4) % 16) for n in range(16)],
        # Four groups, but each is linked with two others only.
        "chain": [pair for four in fours for pair in itertools.combinations(four, 2)]
        + [(4 * g, (4 * g + 4) % 16) for g in range(4)],
    }[shape]  # fmt: skip
    ports = itertools.count(2)
    for one, other in cables:
        ends = [(f"leaf{n + 1:02}", next(ports)) for n in (one, other)]
        made.plug(*ends, "4xHDR")
    topology = topology_of(made)
    assert topology.groups == ()
    built = structure(topology)
    assert built.tree == (built.bisection is not None) == (shape == "tree")


def by_rails(made):
    """Return the topology of a tree by rails, joined with the nodes by their descriptions."""
    return join(topology_of(made), {}, None)[0]


def test_a_tree_by_rails_as_the_programs_see_it(seen):
    topology, routes = seen(rail_tree())
    topology, _ = join(topology, {}, None)
    assert not broken(routes)
    # Adapters of one rail meet at their leaf, others at a spine.
    assert sorted({*hops(routes).ravel().tolist()}) == [0, 2, 4]
    told = lines(topology)
    assert told["nodes"] == "8 nodes with 32 adapters"
    assert told["rails"] == (
        "4, each on leaves of its own (1: leaf01; 2: leaf02; 3: leaf03; 4: leaf04)"
    )
    assert structure(topology).tree
    assert judged(topology) == []


def test_an_adapter_at_the_leaf_of_another_rail_is_named():
    made = rail_tree()
    made.swap(("node0003r1", 1), ("node0003r2", 1))
    topology = by_rails(made)
    assert sorted(judged(topology)) == [
        (
            "fabric-rail",
            f"{topology.link_text(topology.by_end[end])}: a leaf of rail {at}, expected one of "
            f"rail {rail}, as of other nodes",
        )
        for rail, at in ((2, 3), (3, 2))
        for end in [(made.guid(f"node0003r{rail - 1}"), 1)]
    ]


def test_adapters_of_one_leaf_are_no_rails_and_a_node_with_fewer_is_not_judged():
    made = rail_tree()
    # What is called mlx5_2 is the second of three here.
    made.remove("node0005r1")
    topology = by_rails(made)
    assert (len(topology.rails), judged(topology)) == (28, [])
    # All adapters of a node at one leaf.
    made = rail_tree(4, 4)
    for node, rail in itertools.product(range(4), range(4)):
        made.unplug((f"node{node + 1:04}r{rail}", 1))
    for node, rail in itertools.product(range(4), range(4)):
        made.plug((f"node{node + 1:04}r{rail}", 1), (f"leaf{node + 1:02}", rail + 1), "4xNDR")
    topology = by_rails(made)
    assert (dict(topology.rails_of_leaves), judged(topology)) == ({}, [])
    assert "rails" not in lines(topology)

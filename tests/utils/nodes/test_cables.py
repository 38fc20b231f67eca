"""The cable behind slow pairs, on matrices that are made with the routes of a real opensm."""

import msgspec
import numpy as np
import pytest

from acceptance.core.pairs import PairMatrix
from acceptance.fabric import outputs
from acceptance.fabric.routes import Routes, choose
from acceptance.nodes import Culprit
from acceptance.nodes.cables import STRAY, TAILS, Ways, _density, with_cables
from acceptance.nodes.culprits import find
from tests.ibsim import Fabric, fat_tree
from tests.routed import Routed, hops


@pytest.fixture(scope="module")
def routed(tmp_path_factory):
    """Return 32 nodes, 4 leaves with two cables to each of 4 spines, as the programs read them."""
    tree = fat_tree(32, 4, 4, 2)
    with Fabric(tree.net) as fabric:
        return Routed.of(fabric, tmp_path_factory.mktemp("routed") / "reading")


def cables(routed, matrix, culprits=()):
    ways = Ways(matrix.nodes, routed.topology, routed.routes)
    return with_cables(matrix, ways, culprits)


@pytest.mark.parametrize("tails", TAILS)
def test_all_values_of_a_pair_have_the_chance_of_one(tails):
    """But for strays, each of which is as likely in all of its range."""
    spread = 0.02
    off, step = np.linspace(-400 * spread, 400 * spread, 400_001, retstep=True)
    stray = np.exp(_density(np.array([1e9]), spread, tails))
    whole = (np.exp(_density(off, spread, tails)) - stray).sum() * step
    assert whole == pytest.approx(1 - 1 / STRAY, rel=1e-4)


def test_a_healthy_fabric_has_no_culprit(routed):
    for seed in range(20):
        assert not cables(routed, routed.matrix({}, seed=seed))


def test_each_kind_of_link_is_named_with_both_ends_and_what_it_trained_at(routed):
    for name in ("node0011[1] - leaf02[3]", "leaf03[12] - spine02[6]"):
        link = routed.link(name)
        (found,) = cables(routed, routed.matrix({2 * link: 0.7, 2 * link + 1: 0.7}))
        assert found.kind == "cable-slow"
        assert found.fails
        assert found.subject == name
        assert 0.66 < found.ratio < 0.74
        assert found.pairs == found.of
        assert found.text == (
            f"{name}: the bandwidth is {found.ratio:.2f} of good ones on {found.of} of its "
            f"{found.of} routes, on none of {32 * 31 - found.of} others; {name} trained at 4x HDR"
        )
        assert msgspec.json.decode(msgspec.json.encode(found), type=Culprit) == found


def test_a_slow_direction_is_told_from_a_slow_cable(routed):
    link = routed.link("leaf03[12] - spine02[6]")
    (found,) = cables(routed, routed.matrix({2 * link + 1: 0.5}))
    assert "; only from spine02[6] to leaf03[12]; " in found.text


def test_a_loss_at_the_least_that_is_named_is_told_each_time_and_is_no_other_cables(routed):
    """Its noisy median lies above and below; what it does to a node is not the node's cable's."""
    name = "leaf03[12] - spine02[6]"
    slow = {2 * routed.link(name) + way: 0.95 for way in (0, 1)}
    for seed in range(20):
        found = cables(routed, routed.matrix(slow, noise=0.02, seed=seed))
        assert [each.subject for each in found] == [name]
    # Half of it is told by no name, its own or another one.
    slight = dict.fromkeys(slow, 0.97)
    for seed in range(20):
        assert not cables(routed, routed.matrix(slight, noise=0.01, seed=seed))


def test_links_that_lose_less_than_is_named_hide_none_that_loses_more(routed, monkeypatch):
    """They explain their pairs before it, as each has more of them; none counts as named."""
    monkeypatch.setattr("acceptance.nodes.cables.MOST", 3)
    name = "leaf03[12] - spine02[6]"
    hosts = [
        number for number, link in enumerate(routed.routes.links)
        if "node" in routed.topology.link_text(link)
    ]  # fmt: skip
    slow = {2 * link + way: 0.965 for link in hosts[:4] for way in (0, 1)}
    slow |= {2 * routed.link(name) + way: 0.9 for way in (0, 1)}
    for seed in range(10):
        found = cables(routed, routed.matrix(slow, noise=0.005, seed=seed))
        assert [each.subject for each in found] == [name]


def test_two_slow_cables_are_two(routed):
    names = ["node0011[1] - leaf02[3]", "leaf03[12] - spine02[6]"]
    slow = {2 * routed.link(name) + way: 0.6 for name in names for way in (0, 1)}
    assert sorted(each.subject for each in cables(routed, routed.matrix(slow))) == sorted(names)


def test_a_few_pairs_that_cross_all_links_find_it_too(routed):
    chosen = choose(routed.routes, range(32))
    for name in ("leaf03[12] - spine02[6]", "leaf01[9] - spine01[1]"):
        link = routed.link(name)
        matrix = routed.matrix({2 * link: 0.7, 2 * link + 1: 0.7}, chosen, noise=0.03)
        assert [each.subject for each in cables(routed, matrix)] == [name]
        ways = Ways(matrix.nodes, routed.topology, routed.routes)
        assert (ways.number, ways.uncrossed(matrix.measured)) == (64, ())


def test_pairs_measured_again_alone_decide(routed):
    """A stray slow pair or two make no cable; the same slow when alone do."""
    chosen = choose(routed.routes, range(32))
    link = routed.link("leaf03[12] - spine02[6]")
    pairs = [pair for members in chosen for pair in members]
    on = [pair for pair in pairs if link in routed.routes.steps[pair] // 2]
    controls = [pair for pair in pairs if pair not in on][:8]
    matrix = routed.matrix({2 * link: 0.8, 2 * link + 1: 0.8}, chosen, noise=0.06)
    healthy = dict.fromkeys([*on, *controls], 12_000.0)
    for slow, expected in ((12_000.0, 0), (9_600.0, 1)):
        again = {"bandwidth": healthy | dict.fromkeys(on, slow)}
        judged = PairMatrix(matrix.nodes, matrix.values, matrix.rounds, again, frozenset(controls))
        assert len(cables(routed, judged)) == expected


@pytest.mark.parametrize("way", [0, 1])
def test_a_cable_takes_the_place_of_what_it_explains(routed, way):
    """From spine to leaf it has all routes to one node; from leaf to spine those of a few pairs."""
    name = "leaf03[12] - spine02[6]"
    matrix = routed.matrix({2 * routed.link(name) + way: 0.4}, again=True)
    (found,) = cables(routed, matrix, find(matrix))
    assert (found.kind, found.subject) == ("cable-slow", name)


def test_a_cable_takes_the_place_of_slow_pairs_whose_nodes_have_good_ones_together(routed):
    """Of pairs that are slow both ways over one cable most nodes are good with each other."""
    name = "leaf03[12] - spine02[6]"
    directions = [2 * routed.link(name) + way for way in (0, 1)]
    matrix = routed.matrix(dict.fromkeys(directions, 0.7))
    values, steps = matrix.values["bandwidth"], routed.routes.steps

    def block_of(pairs):
        return ({nodes[k] for nodes in pairs} for k in (0, 1))

    def uplink(pairs):
        ends = ((*sorted(matrix.nodes[k] for k in side),) for side in block_of(pairs))
        shown = {"quantity": "bandwidth", "unit": "MB/s", "value": 8_400.0, "median": 12_000.0}
        return Culprit("uplink-slow", *ends, ratio=0.7, **shown)

    over = [np.argwhere((steps == way).any(axis=2)).tolist() for way in directions]
    pairs = [*over[0][::6], *over[1][::6]]
    block = np.zeros_like(matrix.measured)
    block[np.ix_(*map(sorted, block_of(pairs)))] = True
    block |= block.T
    good = np.argwhere(block & (values > 10_000)).tolist()
    assert len(good) > block.sum() / 2
    assert [each.kind for each in cables(routed, matrix, [uplink(pairs)])] == ["cable-slow"]
    # What else is slow between such nodes is not the cable's.
    for i, j in good:
        values[i, j] *= 0.7
    found = cables(routed, matrix, [uplink(pairs)])
    assert [each.kind for each in found] == ["cable-slow", "uplink-slow"]


def test_pairs_that_are_slow_twice_never_pass_in_silence_without_routes(routed):
    """Few leaves: 24 pairs from all nodes of one, no path, node or uplink of the usual forms."""
    direction = 2 * routed.link("leaf01[9] - spine01[1]")
    matrix = routed.matrix({direction: 0.4}, again=True)
    slow = np.argwhere(matrix.values["bandwidth"] < 7_000)
    assert len(slow) > 8
    (found,) = find(matrix)
    assert found.fails
    assert found.pairs == len(slow)
    assert {*found.nodes} == {matrix.nodes[pair[0]] for pair in slow}
    assert {*found.others} == {matrix.nodes[pair[1]] for pair in slow}
    for seed in range(30):
        for tails in (None, 3):
            healthy = routed.matrix({}, noise=0.05, seed=seed, tails=tails, again=True)
            assert not [each for each in find(healthy) if each.fails]


def test_the_cable_of_a_slow_node_is_told_with_the_node(routed):
    link = routed.link("node0011[1] - leaf02[3]")
    matrix = routed.matrix({2 * link: 0.4, 2 * link + 1: 0.4})
    (found,) = cables(routed, matrix, find(matrix))
    assert (found.kind, found.nodes) == ("node-slow", ("node0011",))
    assert found.text.endswith("; node0011[1] - leaf02[3] trained at 4x HDR")


def test_links_that_explain_the_same_pairs_are_named_with_each_other(routed):
    """Two nodes of one leaf that measure the same node alone: its cable, or their route to it."""
    first, last = routed.matrix({}, seed=3), len(routed.routes.hosts) - 1
    links = {step // 2 for step in routed.routes.steps[0, last].tolist() if step >= 0}
    values = first.values["bandwidth"]
    # Nobody else measured node 1 or the last one.
    for place in (0, last):
        values[place, :] = values[:, place] = np.nan
    values[0, last] = values[last, 0] = 5000.0
    (found,) = cables(routed, first)
    named = {routed.topology.link_text(routed.routes.links[link]) for link in links}
    assert found.subject in named
    likely = found.text.partition("; as likely: ")[2]
    assert likely
    assert {found.subject, *likely.split(", ")} <= named
    ways = Ways(first.nodes, routed.topology, routed.routes)
    assert ways.crossing(first.measured) == 1
    assert ways.crossing(first.measured & False) == 0


def test_what_no_route_is_known_of_is_told(routed):
    matrix = routed.matrix({})
    ways = Ways(("stranger", *matrix.nodes[1:]), routed.topology, routed.routes)
    assert ways.unlooked == "stranger not in the fabric that was read"
    assert not ways.hops[0].any()
    lost = "Unicast".join(
        part.replace(" 001 :", " 099 :") if "(leaf01):" in part else part
        for part in routed.text.split("Unicast")
    )
    ways = Ways(matrix.nodes, routed.topology, Routes.of(routed.topology, lost))
    assert ways.unlooked == "no route leads between 31 pairs"
    latency = PairMatrix(matrix.nodes, {"latency": matrix.values["bandwidth"]}, matrix.rounds)
    assert not cables(routed, latency)


def test_links_that_no_pair_crossed_are_told(routed):
    matrix = routed.matrix({}, [[(0, 1), (1, 0)]])
    ways = Ways(matrix.nodes, routed.topology, routed.routes)
    left = ways.uncrossed(matrix.measured)
    assert len(left) == 62
    assert "leaf03[12] - spine02[6]" in left


def test_the_reading_is_the_real_one(routed):
    assert not outputs.read(routed.folder).faults
    assert np.unique(hops(routed.routes)).tolist() == [0, 2, 4]

"""Routes from the forwarding tables that opensm wrote, compared with what ibtracert follows."""

import itertools
import re

import numpy as np
import pytest

from acceptance.core.errors import Fault
from acceptance.fabric.routes import NONE, Routes, choose, forwarding_tables
from acceptance.fabric.topology import End
from tests.routed import broken, hops, path


@pytest.fixture
def reading(fabric, look):
    return look(fabric)


def test_routes_are_those_that_ibtracert_follows(fabric, reading):
    topology = reading.topology
    routes = Routes.of(topology, reading.routes)
    assert len(routes.hosts) == 16
    assert not broken(routes)
    for first, second in [(0, 1), (0, 15), (15, 0), (9, 3)]:
        one, other = routes.hosts[first].guid, routes.hosts[second].guid
        lids = [topology.devices[guid].lid for guid in (one, other)]
        printed = fabric.run("ibtracert", *lids).stdout
        entered = re.findall(r"^\[(\d+)\] -> \w+ port \{(0x\w+)\}\[(\d+)\]", printed, re.M)
        assert len(entered) in (2, 4)
        ways = [routes.ends(step) for step in routes.steps[first, second] if step != NONE]
        assert [(left.port, right.port) for left, right in ways] == [
            (int(out), int(into)) for out, _, into in entered
        ]
        # Of switches ibtracert prints the GUID of the node, of hosts that of the port.
        assert [right.guid for _, right in ways[:-1]] == [guid for _, guid, _ in entered[:-1]]
        assert path(routes, one, other) == tuple(topology.by_end[left] for left, _ in ways)
    assert {hops(routes)[0, 1], hops(routes)[0, 15]} == {2, 4}


def test_a_switch_without_a_table_is_named(reading):
    parts = reading.routes.split("Unicast")
    with pytest.raises(Fault, match="1 of 6 switches have no forwarding table: "):
        Routes.of(reading.topology, "Unicast".join(parts[:-1]))
    with pytest.raises(Fault, match="no forwarding table of any switch"):
        Routes.of(reading.topology, "")
    with pytest.raises(Fault, match="lfts:1: a row before the first switch"):
        forwarding_tables("0x0017 005 : (Switch)\n", "lfts")


def test_tables_that_lead_in_a_circle_or_nowhere_break_the_route(reading, tree):
    topology = reading.topology
    far = topology.devices[tree.guid("node0016")].lid
    leaf = f"(guid {tree.guid('leaf04')} .*?\n0x{far:04x}) \\d+"
    circle = re.sub(leaf, r"\1 005", reading.routes, count=1, flags=re.S)
    assert circle != reading.routes
    routes = Routes.of(topology, circle)
    # Nodes 13 to 15 are at that leaf: to them the circle does not matter.
    pairs = broken(routes)
    assert {right for _, right in pairs} == {tree.guid("node0016")}
    assert len(pairs) == 15
    assert path(routes, tree.guid("node0001"), tree.guid("node0016")) == ()
    lost = re.sub(leaf, r"\1 200", reading.routes, count=1, flags=re.S)
    assert len(broken(Routes.of(topology, lost))) == 15


def test_few_pairs_cross_every_link_in_rounds_that_share_none(reading):
    routes = Routes.of(reading.topology, reading.routes)
    chosen = choose(routes, range(16))
    assert chosen == choose(routes, range(16))
    crossed = np.zeros(2 * len(routes.links), dtype=int)
    for members in chosen:
        steps = [step for pair in members for step in routes.steps[pair] if step != NONE]
        assert len(steps) == len(set(steps))
        np.add.at(crossed, steps, 1)
    assert crossed.min() >= 2
    pairs = list(itertools.chain(*chosen))
    assert len(pairs) == len(set(pairs)) < 16 * 15 / 4


def test_links_that_no_pair_can_cross_are_left(reading, tree):
    routes = Routes.of(reading.topology, reading.routes)
    leaf = [routes.place[tree.guid(f"node{n:04}")] for n in range(1, 5)]
    chosen = choose(routes, leaf)
    pairs = itertools.chain(*chosen)
    crossed = {routes.links[n // 2] for pair in pairs for n in routes.steps[pair] if n != NONE}
    ends = [End(tree.guid("leaf01"), port) for port in range(1, 5)]
    assert crossed == {reading.topology.by_end[end] for end in ends}

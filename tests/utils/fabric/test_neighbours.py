"""Cables of Ethernet by lldpd of the nodes: moved, swapped, lost and new ones, against accepted."""

from datetime import datetime

import pytest

from acceptance.core.errors import ParseError
from acceptance.fabric import NodeLinks, stored, view
from acceptance.fabric.node import Adapter, Port

TIME = "2026-11-22T18:00:00+00:00"
WHEN = f'{{"{TIME}": "well"}}'
CABLES = {
    "node1": {"eth1": ("leaf01", "swp1")},
    "node2": {"eth1": ("leaf01", "swp2"), "eth2": ("leaf 02", "Ethernet1/2")},
}
ACCEPTED = stored.AcceptedCables({datetime.fromisoformat(TIME): "all is well"}, CABLES)


def node(*neighbours, name="node2", why=""):
    there = {}
    for interface, *far in neighbours:
        there.setdefault(interface, []).append(tuple(far))
    return NodeLinks(name, neighbours=None if why else there, no_neighbours=why)


AT_HOME = ("eth1", "leaf01", "swp2"), ("eth2", "leaf 02", "Ethernet1/2")


@pytest.mark.parametrize(
    ("neighbours", "expected"),
    [
        (AT_HOME, []),
        # Several answer at one interface, a hypervisor's bridge say: one of them is right.
        ((("eth1", "phone", "1"), *AT_HOME), []),
        ((("eth1", "leaf01", "swp9"), AT_HOME[1]), [("cable-moved", "at leaf01[swp9]")]),
        ((("eth1", "leaf01", "swp1"), AT_HOME[1]),
         [("cable-swapped", "at leaf01[swp1], the port of node1 eth1")]),
        ((AT_HOME[1],), [("cable-lost", "nothing answers")]),
        ((*AT_HOME, ("eth3", "leaf03", "swp1")), [("cable-new", "a cable")]),
    ],
)  # fmt: skip
def test_a_cable_that_is_elsewhere_is_named_by_both_ends(neighbours, expected):
    found = view.compare(node(*neighbours), ACCEPTED, asked=True)
    assert [(each.kind, each.found) for each in found] == expected
    for each in found:
        assert (each.fails, each.node) == (True, "node2")
        if each.kind != "cable-new":
            assert each.device == "node2 eth1 - leaf01[swp2]"


def test_what_nobody_tells_is_said_where_it_counts():
    silent = node(why="lldpd is not installed")
    (told,) = view.compare(silent, None, asked=True)
    assert "nobody tells where its cables lead: lldpd is not installed" in told.text
    assert view.compare(silent, None, asked=False) == []
    (told,) = view.compare(silent, ACCEPTED, asked=False)
    assert not told.fails
    (told,) = view.compare(node(*AT_HOME), None, asked=True)
    assert "nothing accepted yet" in told.text


def test_what_is_accepted_is_read_back(tmp_path):
    path = stored.path_of(tmp_path, "made", stored.SUFFIX)
    kind = stored.AcceptedCables
    assert stored.read(path, kind) is None
    assert stored.take_over(path, kind, CABLES, TIME, "all is well") is None
    assert stored.read(path, kind) == ACCEPTED
    assert stored.take_over(path, kind, CABLES, TIME, "again") == ACCEPTED
    assert stored.read(path, kind) == ACCEPTED
    for each, ends in CABLES.items():
        neighbours = [(interface, *far) for interface, far in ends.items()]
        stored.remember_node(tmp_path, node(*neighbours, name=each))
    # Who tells nothing now is known as before.
    stored.remember_node(tmp_path, node(name="node2", why="lldpd is not installed"))
    assert stored.known_cables(tmp_path) == CABLES
    assert stored.known_nodes(tmp_path) == {}


def test_the_guids_of_adapters_of_infiniband_are_kept(tmp_path):
    layers = {"mlx5_0": "InfiniBand", "mlx5_1": "Ethernet"}
    adapters = {name: Adapter(name, guid="0x00000000000000aa") for name in layers}
    ports = {f"{name}/1": Port(name, 1, link_layer=layer) for name, layer in layers.items()}
    stored.remember_node(tmp_path, NodeLinks("node1", adapters=adapters, ports=ports))
    known = {"node1": {"mlx5_0": "0x00000000000000aa"}}
    assert stored.known_nodes(tmp_path) == known
    # Who tells nothing now is known as before.
    stored.remember_node(tmp_path, NodeLinks("node1"))
    assert stored.known_nodes(tmp_path) == known


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "truncated"),
        ("<<<<<<< HEAD\n", "malformed"),
        (f'{{"accepted": {WHEN}}}', "fabric"),
        ('{"accepted": {"yesterday": "well"}, "fabric": {}}', "accepted"),
        (f'{{"accepted": {WHEN}, "fabric": {{"node1": {{"eth1": ["leaf01"]}}}}}}', "length 2"),
        (
            '{"accepted": {"2026-11-22T18:00:00+00:00": "well"}, "fabric": {}, "cables": {}}',
            "`cables`",
        ),
        ('{"accepted": {}, "fabric": {}}', "length >= 1"),
    ],
)
def test_another_text_is_refused_with_its_place(tmp_path, text, why):
    path = stored.path_of(tmp_path, "made", stored.SUFFIX)
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ParseError, match=why) as caught:
        stored.read(path, stored.AcceptedCables)
    assert caught.value.where == str(path)

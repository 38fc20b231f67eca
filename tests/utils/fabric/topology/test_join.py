"""Hosts of a fabric by the names of the scheduler's nodes."""

from acceptance.fabric import NodeLinks, Port
from acceptance.fabric.node import Adapter
from acceptance.fabric.topology import join
from tests.ibsim import fat_tree, topology_of


def node(name, *guids, layer="InfiniBand"):
    """Return what sysfs of a node says."""
    adapters = {f"mlx5_{n}": Adapter(f"mlx5_{n}", guid=guid) for n, guid in enumerate(guids)}
    ports = {f"{each}/1": Port(each, 1, link_layer=layer) for each in adapters}
    return NodeLinks(name, adapters=adapters, ports=ports)


def test_guids_join_whatever_the_adapters_call_themselves():
    tree = fat_tree(4, 2, 1)
    tree.names["node0001"], tree.names["node0002"] = tree.names["node0002"], "MT4123 ConnectX6"
    joined = join(
        topology_of(tree), [node(f"n{k}", tree.guid(f"node000{k}")) for k in (1, 2, 3, 4)]
    )
    assert joined.topology.hosts == {f"n{k}": (tree.guid(f"node000{k}"),) for k in (1, 2, 3, 4)}
    assert joined.topology.device_name(tree.guid("node0001")) == "n1"
    assert joined.notes == []


def test_a_name_that_belongs_to_another_node():
    tree = fat_tree(4, 2, 1)
    names = [f"node000{k}" for k in (1, 2, 3, 4)]
    tree.names["node0001"], tree.names["node0002"] = tree.names["node0002"], tree.names["node0001"]
    joined = join(topology_of(tree), [node(name, tree.guid(name)) for name in names])
    assert joined.notes == [
        "node0001: its adapter 0x98039b0300500000 calls itself node0002 mlx5_0",
        "node0002: its adapter 0x98039b0300500010 calls itself node0001 mlx5_0",
    ]


def test_a_node_that_is_not_there_a_host_that_is_no_node_and_one_known_by_name():
    tree = fat_tree(4, 2, 1)
    joined = join(
        topology_of(tree),
        [
            node("node0001", tree.guid("node0001"), "0x00000000000000aa"),
            node("other", "0x00000000000000bb"),
            node("node0003", ""),
            node("gateway", "0x00000000000000cc", layer="Ethernet"),
        ],
        ["node0002", "node0001", "node0009"],
    )
    assert joined.topology.hosts.keys() == {"node0001", "node0002", "node0003"}
    assert joined.by_name == ("node0002", "node0003")
    assert joined.strangers == (tree.guid("node0004"),)
    assert joined.notes == [
        "node0009: no adapter of it is in the fabric (by its name)",
        "other: no adapter of it is in the fabric (mlx5_0 0x00000000000000bb)",
        "2 nodes (node0002, node0003) known by the adapters' descriptions only, as sysfs was not "
        "read: a description may be wrong",
        "1 host (node0004 mlx5_0) of the fabric, but none of these nodes",
    ]


def test_two_rails_in_one_fabric_are_one_node():
    tree = fat_tree(4, 2, 1)
    both = (tree.guid("node0001"), tree.guid("node0002"))
    topology = join(topology_of(tree), [node("n1", *both)]).topology
    assert topology.hosts == {"n1": both}
    assert topology.device_name(both[1]) == "node0002 mlx5_0"

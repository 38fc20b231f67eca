"""Platforms made of facts: rates, latencies, ways, and what cannot be made."""

import re
from pathlib import Path

import pytest

from acceptance.core.errors import Fault
from acceptance.fabric import Facts
from acceptance.machine import Layout, placement
from acceptance.simulation import Platform, SimulatedRun, Tree, simulated, write
from acceptance.simulation import platform as model

QDR = Facts.read(
    {"technology": "infiniband", "rate": "QDR", "lanes": 4, "pcie": "2.0", "pcie_lanes": 8}
)
HDR = Facts.read({"technology": "infiniband", "rate": "HDR", "lanes": 4})


def facts(**changed):
    return Facts.read({"technology": "infiniband", **changed})


@pytest.mark.parametrize(
    ("rate", "pcie", "published", "most"),
    [("DDR", "1.1", 1301, 0.001), ("DDR", "2.0", 1942, 0.02), ("QDR", "2.0", 2575, 0.02)],
)
def test_the_slower_of_slot_and_cable_is_near_what_was_published(rate, pcie, published, most):
    platform = Platform.of(facts(rate=rate, lanes=4, pcie=pcie, pcie_lanes=8), 2)
    slower = min(platform.link("n0-slot").bandwidth, platform.link("n0-cable").bandwidth)
    assert abs(slower / published - 1) <= most


def test_a_slot_of_the_first_generation_takes_longer_at_each_end():
    old = Platform.of(facts(rate="DDR", lanes=4, pcie="1.1", pcie_lanes=8), 2)
    assert sum(old.link(name).latency for name, _ in old.route(0, 1)) == pytest.approx(1.26)
    new = Platform.of(QDR, 2)
    assert sum(new.link(name).latency for name, _ in new.route(0, 1)) == pytest.approx(1.06)


def test_ways_in_a_tree_go_up_and_down_through_the_spine_of_the_receiver():
    tree = Platform.of(HDR, 16, tree=Tree(4, 2))
    assert tree.route(1, 3) == [("n1-cable", "UP"), ("n3-cable", "DOWN")]
    assert tree.route(1, 7) == [
        ("n1-cable", "UP"), ("leaf0-up1", "UP"), ("leaf1-up1", "DOWN"), ("n7-cable", "DOWN"),
    ]  # fmt: skip
    assert tree.route(2, 2) == [("n2-memory", "")]
    assert {link for i in range(16) for j in range(16) for link, _ in tree.route(i, j)} == {
        link.name for link in tree.links
    }


def test_a_message_inside_a_node_can_take_its_slot():
    platform = Platform.of(QDR, 2, loopback=True)
    assert platform.route(1, 1) == [("n1-slot", "UP"), ("n1-adapter", ""), ("n1-slot", "DOWN")]
    # It is not faster than one to another node, nor than one through the memory.
    inside, outside, memory = (
        sum(where.link(name).latency for name, _ in where.route(1, other))
        for where, other in ((platform, 1), (platform, 0), (Platform.of(QDR, 2), 1))
    )
    assert inside == outside > memory


def test_without_a_slot_it_takes_the_cable():
    platform = Platform.of(HDR, 2, loopback=True)
    assert platform.route(1, 1) == [("n1-cable", "UP"), ("n1-cable", "DOWN")]


def test_the_file_has_the_ways_between_hosts_that_are_used(tmp_path):
    platform = Platform.of(HDR, 16, tree=Tree(4, 2))
    write(tmp_path, SimulatedRun.of(HDR, platform, Layout(4, 2, "inter-node", "cyclic")))
    assert (tmp_path / "ranks.hosts").read_text() == "n0\nn1\nn0\nn1\n"
    assert (tmp_path / "platform.xml").read_text().count("<route ") == 4
    assert "".join(platform.lines()).count("<route ") == 256


@pytest.mark.parametrize(
    ("stated", "text"),
    [
        (None, 'states no "fabric"'),
        (facts(), "rate and lanes must be stated"),
        (Facts.read({"technology": "myrinet"}), "myrinet: no parameters are known"),
    ],
)
def test_facts_that_are_not_enough(stated, text):
    with pytest.raises(Fault, match=text):
        Platform.of(stated, 2)


def test_a_tree_that_cannot_be_routed():
    with pytest.raises(Fault, match="whole leaves and a spine"):
        Platform.of(HDR, 10, tree=Tree(4, 2))


def test_each_parameter_has_its_source():
    """As a comment, in its line or in the one before."""
    value = r"    \w+(: float )?= ?[\d.]+"
    text = Path(model.__file__).read_text().partition("class Parameters:")[2]
    lines = text.partition("def parameters_of(")[0].splitlines()
    stated = [number for number, line in enumerate(lines) if re.match(value, line)]
    # Of seven parameters each set states three; three have a number by default.
    assert len(stated) == 4 * 3 + 3 + 5
    assert all("# " in lines[number] or "    # " in lines[number - 1] for number in stated)


def test_a_simulated_system_has_the_partitions_and_facts_of_the_real_one():
    system, _ = simulated("koop2008")
    assert system["name"] == "simulated-koop2008"
    names = [part["name"] for part in system["partitions"]]
    assert names == ["sdr-pcie1", "ddr-pcie1", "ddr-pcie2", "qdr-pcie2"]
    for part in system["partitions"]:
        assert (part["scheduler"], part["launcher"]) == ("local", "smpirun")
        assert part["extras"]["simulated"] == {"of": "koop2008"}
        assert part["extras"]["nodes"] == 2
        assert "access" not in part


def test_ranks_stand_where_simgrid_says():
    text = "".join(
        f"[0.000000] [smpi/INFO] [rank {rank}] -> n{node}\n"
        for rank, node in enumerate([0, 0, 1, 1])
    )
    ranks = placement.read_ranks(text)
    assert [rank.node for rank in ranks] == ["n0", "n0", "n1", "n1"]
    assert not placement.misplaced(ranks, Layout(4, 2, "inter-node"))
    assert placement.misplaced(ranks, Layout(4, 2, "inter-node", "cyclic"))
    assert placement.misplaced(ranks, Layout(4, 1, "inter-node"))

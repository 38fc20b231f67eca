"""`fabric/rails.py`: shares of rails, idle ones and traffic that moved, on made trees."""

import itertools

import pytest
from msgspec.structs import replace

from acceptance.fabric import Facts, limit, rails
from acceptance.fabric.traffic import shifted
from acceptance.machine import Layout
from acceptance.suites import find
from tests.sysfs import Sysfs

HDR = {"technology": "infiniband", "rate": "HDR", "lanes": 4}
TWO = Facts.read({**HDR, "device": "mlx5_0/1,mlx5_1/1"})
ETH = Facts.read({"technology": "ethernet", "rate": "10", "device": "eth1,eth2"})
PAIR = Layout(2, 1, "inter-node")
#: Bytes of the largest message of a case that has to use all rails.
LARGE = 2**22
DOWN = {"state": "1: DOWN", "phys_state": "3: Disabled"}


@pytest.fixture
def node(tmp_path):
    """Return the rails of a made node by what each of its ports sent and received, in words."""
    numbers = itertools.count()

    def read(*words, facts=TWO, name="node1", ports=()):
        folder = tmp_path / str(next(numbers))
        trees = [Sysfs(folder / when, name) for when in ("before", "after")]
        for number, count in enumerate(words):
            more = ports[number] if number < len(ports) else {}
            for tree, value in zip(trees, (1000, 1000 + count), strict=True):
                tree.adapter(f"mlx5_{number}", f"0000:0{number}:00.0")
                sent = {"port_xmit_data": value, "port_rcv_data": value}
                tree.port(1, f"mlx5_{number}", **sent, **more)
        return rails.rails_of(*(tree.node() for tree in trees), facts)

    return read


def judged(*every, facts=TWO, size=LARGE, told="TOLD"):
    return [*rails.judge(rails.of_bandwidth(every, facts, size), facts, told)]


def test_each_rail_has_its_bytes_and_even_shares_are_no_finding(node):
    found = node(10**6, 10**6)
    assert (found.moved, found.down) == ({"mlx5_0/1": 8 * 10**6, "mlx5_1/1": 8 * 10**6}, {})
    assert judged(found) == []
    text = rails.text_of([found], TWO)
    assert text.startswith("2 of 2 used, which carry 49")
    assert text.endswith("node1 mlx5_0/1 8000000 bytes (50 %), node1 mlx5_1/1 8000000 bytes (50 %)")


def test_a_rail_that_carried_nothing_though_it_is_up_fails_with_node_device_and_port(node):
    # What management sends over it is nothing.
    (found,) = judged(node(10**6, 900))
    assert (found.kind, found.node, found.device) == ("rail-idle", "node1", "mlx5_1/1")
    assert found.fails
    assert found.text == (
        "node1 mlx5_1/1: carried nothing of 8007200 bytes, though it is up, expected that 2 rails "
        "carry them, not 1; TOLD"
    )


def test_a_rail_that_is_down_or_not_there_is_named_so(node):
    (found,) = judged(node(10**6, 0, ports=({}, DOWN)))
    assert (found.kind, found.device, found.fails) == ("rail-down", "mlx5_1/1", True)
    assert "carried nothing of 8000000 bytes (DOWN)" in found.text
    (found,) = judged(node(10**6, name="node2"))
    assert (found.kind, found.device) == ("rail-down", "mlx5_1/1")
    assert "(not there)" in found.text
    facts = Facts.read({**HDR, "ports": 2})
    (found,) = judged(node(10**6, name="node3", facts=facts), facts=facts)
    assert (found.kind, found.device) == ("rail-down", "port-2")


def test_a_rail_that_is_down_at_all_other_nodes_is_not_to_blame(node):
    one, other = node(10**6, 0), node(10**6, 0, name="node2", ports=({}, DOWN))
    assert [(each.kind, each.node) for each in judged(one, other)] == [("rail-down", "node2")]
    third = node(10**6, 10**6, name="node3")
    kinds = [(each.kind, each.node) for each in judged(one, other, third)]
    assert kinds == [("rail-idle", "node1"), ("rail-down", "node2")]


@pytest.mark.parametrize("size", [0, 8, rails.STRIPED - 1])
def test_a_case_of_small_messages_or_of_no_bandwidth_may_use_one_rail(node, size):
    assert judged(node(10**6, 0), size=size) == []
    assert rails.text_of([node(10**6, 0, name="node2")], TWO).startswith("1 of 2 used")


def test_where_less_moved_than_the_case_sends_its_rails_are_not_to_blame(node):
    assert judged(node(LARGE // 8 - 1, 0)) == []
    assert judged(node(0, 0, name="node2")) == []
    assert rails.text_of([node(0, 0, name="node3")], TWO) == "not known: node3 moved nothing"


@pytest.mark.parametrize(
    ("words", "uneven", "said"),
    [
        ((59, 41), 0.2, ""),
        ((61, 39), 0.2, "node1 mlx5_0/1 share: 61 % of "),
        ((61, 39), 0.25, ""),
        ((40, 40, 20), 0.2, "node1 mlx5_2/1 share: 20 % of "),
    ],
)
def test_unequal_shares_beyond_the_stated_tolerance_are_told_and_fail_nothing(
    node, words, uneven, said
):
    names = ",".join(f"mlx5_{number}/1" for number in range(len(words)))
    facts = Facts.read({**HDR, "device": names, "uneven": uneven})
    found = judged(node(*(10**5 * each for each in words), facts=facts), facts=facts)
    assert [each.text.startswith(said) for each in found] == [True] * bool(said)
    for each in found:
        assert (each.kind, each.fails) == ("rail-uneven", False)
        assert f"expected {100 / len(words):.0f} %, within {100 * uneven:.0f} % of it" in each.text


def test_of_more_devices_than_a_message_uses_as_many_as_are_stated_will_do(node):
    facts = Facts.read({**HDR, "device": "mlx5_0/1,mlx5_1/1", "ports": 1})
    assert judged(node(10**6, 0, facts=facts), facts=facts) == []


def test_of_ports_that_nobody_states_the_shares_are_told_and_nothing_is_expected(node):
    facts = Facts.read(HDR)
    found = node(10**6, 0, facts=facts)
    assert judged(found, facts=facts) == []
    assert "node1 mlx5_1/1 0 bytes (0 %)" in rails.text_of([found], facts)
    assert node(10**6, name="node2", facts=facts) is None
    assert node(10**6, 10**6, name="node3", facts=Facts.read({"technology": "ethernet"})) is None


@pytest.mark.parametrize("words", [(10**6, -900), (10**6, 0xFFFFFFFF - 1000)])
def test_counters_that_went_back_or_are_full_tell_nothing(node, words):
    found = node(*words)
    assert (found.used, judged(found)) == ([], [])
    text = rails.text_of([found], TWO)
    assert text.startswith("not known: node1 mlx5_1/1: port_")
    facts = rails.left([], TWO, 2)
    assert facts is TWO


def test_a_rail_that_was_down_and_is_gone_carried_nothing(tmp_path):
    trees = [Sysfs(tmp_path / when, "node1") for when in ("before", "after")]
    for tree, words in zip(trees, (0, 10**6), strict=True):
        tree.adapter("mlx5_0", "0000:00:00.0")
        tree.port(1, "mlx5_0", port_xmit_data=words, port_rcv_data=words)
    trees[0].adapter("mlx5_1", "0000:01:00.0")
    trees[0].port(1, "mlx5_1", port_xmit_data=0, port_rcv_data=0, **DOWN)
    (found,) = judged(rails.rails_of(*(tree.node() for tree in trees), TWO))
    assert (found.kind, found.device, found.fails) == ("rail-down", "mlx5_1/1", True)
    assert "(DOWN)" in found.text


@pytest.mark.parametrize("states", [HDR, {**HDR, "ports": 2}, {**HDR, "device": "mlx5_0/1"}])
def test_a_node_without_readings_is_told(tmp_path, states):
    facts = Facts.read(states)
    unknown = "not known: node2 reported nothing of its links"
    found = rails.read(tmp_path, {"node2"}, facts)
    assert rails.text_of(found, facts) == unknown * (facts.ports > 1)
    for when, words in (("before", 0), ("after", 10**6)):
        tree = Sysfs(tmp_path / when, "node1")
        for number in range(2):
            tree.adapter(f"mlx5_{number}", f"0000:0{number}:00.0")
            tree.port(1, f"mlx5_{number}", port_xmit_data=words, port_rcv_data=words)
        (tmp_path / f"node1.{when}").write_text(tree.text())
    text = rails.text_of(rails.read(tmp_path, {"node1", "node2"}, facts), facts)
    assert text.endswith(f"; {unknown}") == (not facts.devices)
    (tmp_path / "node2.before").write_text("node")
    (tmp_path / "node2.after").write_text("node")
    with pytest.raises(ValueError, match="node2"):
        rails.read(tmp_path, {"node2"}, facts)


def test_rdma_over_the_adapter_of_an_interface_counts_for_that_rail(tmp_path):
    nodes = []
    for when, words in (("before", 0), ("after", 10**6)):
        tree = Sysfs(tmp_path / when, "node1")
        for number in (1, 2):
            address = f"0000:0{number}:00.0"
            tree.interface(f"eth{number}", address, rx_bytes=words // 100)
            tree.adapter(f"mlx5_{number}", address)
            sent = {"port_xmit_data": words * (number == 2), "link_layer": "Ethernet"}
            tree.port(1, f"mlx5_{number}", **sent)
        nodes.append(tree.node())
    found = rails.rails_of(*nodes, ETH)
    assert found.moved == {"eth1": 10**4, "eth2": 4 * 10**6 + 10**4}


def test_what_a_case_used_is_its_limit(node):
    one = node(10**6, 0)
    both = node(10**6, 10**6, name="node2")
    used = rails.left([one, both], TWO, 2)
    assert (used.ports, used.devices) == (1, ["mlx5_0/1"])
    assert limit(used).bandwidth == limit(TWO).bandwidth / 2
    # Of more nodes results may be of those with both, or are sums.
    assert rails.left([one, both, both], TWO, 3) is TWO
    assert rails.left([one, one, one], TWO, 3).ports == 1
    # Of one of them nothing is known.
    assert rails.left([one, one], TWO, 3) is TWO
    assert rails.left([both, both], TWO, 2) is TWO


@pytest.mark.parametrize(
    ("benchmark", "peak", "said"),
    [
        ("osu.bw", 24000.0, "97 % of the 24842 that infiniband HDR 4x carries at most"),
        ("osu.bw", 10000.0, ": less than what is left"),
        ("osu.bw", 40000.0, ": more than what is left"),
        ("osu.bibw", 48000.0, "97 % of the 49685 that infiniband HDR 4x carries at most"),
    ],
)
def test_whether_the_bandwidth_is_what_is_left_is_said(benchmark, peak, said):
    facts = replace(TWO, ports=1, device="mlx5_0/1")
    peaks = {"bandwidth_peak": (peak, "MB/s")}
    told = rails.left_text(find(benchmark), peaks, facts, PAIR, 0.35)
    assert said in told
    if peak in (24000.0, 48000.0):
        assert told.endswith(": what is left")


def test_where_no_limit_or_no_result_says_it_that_is_said():
    facts = replace(TWO, rate=None, ports=1)
    peaks = {"bandwidth_peak": (1.0, "MB/s")}
    told = rails.left_text(find("osu.bw"), peaks, facts, PAIR, 0.35)
    assert told.startswith("whether the bandwidth is what is left cannot be told: rate not stated")
    told = rails.left_text(find("osu.bw"), {}, TWO, PAIR, 0.35)
    assert told.endswith("cannot be told: no result is compared with a limit")


def test_traffic_that_moved_at_the_same_sum_is_told_and_fails_nothing(node):
    was, is_now = (
        {each.node: each.moved} for each in (node(10**6, 10**6), node(14 * 10**5, 6 * 10**5))
    )
    (found,) = rails.moved(was, is_now)
    assert (found.kind, found.node, found.device, found.fails) == (
        "rail-moved", "node1", "mlx5_0/1", False,
    )  # fmt: skip
    assert found.text == (
        "node1 mlx5_0/1 carried 70 % of 16000000 bytes, 50 % before: traffic moved between rails "
        "at the same sum, no regression"
    )
    assert [*rails.moved(is_now, is_now)] == [*rails.moved({}, is_now)] == []


@pytest.mark.parametrize(
    ("before", "now", "gained"),
    [
        ({"a": 50, "b": 50}, {"a": 59, "b": 41}, ""),
        ({"a": 50, "b": 50}, {"a": 61, "b": 39}, "a"),
        ({"a": 50, "b": 50}, {"a": 100, "b": 0}, "a"),
        # Another sum: other traffic.
        ({"a": 50, "b": 50}, {"a": 61, "b": 20}, ""),
        # Other links.
        ({"a": 50, "b": 50}, {"a": 61, "c": 39}, ""),
        ({"a": 0, "b": 0}, {"a": 0, "b": 0}, ""),
        ({"a": 10, "b": 40, "c": 50}, {"a": 40, "b": 10, "c": 50}, "a"),
    ],
)
def test_what_moved_has_the_same_sum(before, now, gained):
    assert shifted(before, now) == gained


def test_of_many_nodes_those_with_the_most_unequal_shares_are_named(node):
    one = node(10**6, 10**6)
    every = [replace_name(one, f"n{number:03}") for number in range(40)]
    every.append(replace_name(node(7 * 10**5, 10**6, name="odd"), "odd"))
    text = rails.text_of(every, TWO)
    assert "odd mlx5_0/1" in text
    assert text.count(" bytes (") == 2 * rails.MOST
    assert text.endswith("25 more nodes within 0 % of even shares")


def replace_name(found, name):
    return rails.Rails(name, found.moved)

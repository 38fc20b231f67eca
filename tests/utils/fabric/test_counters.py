"""`fabric/counters.py`, on made sysfs trees read by the real script."""

import shutil

import pytest

from acceptance.fabric import Facts
from acceptance.fabric.counters import ERRORS, bytes_moved, error_growth
from tests.sysfs import Sysfs


@pytest.fixture
def times(tmp_path):
    """One node, before and after."""
    return Sysfs(tmp_path / "before"), Sysfs(tmp_path / "after")


def ports(times, before, after, **both):
    for tree, counters in zip(times, (before, after), strict=True):
        tree.adapter()
        tree.port(**both, **counters)
    return [tree.node() for tree in times]


def interfaces(times, before, after, **both):
    for tree, values in zip(times, (before, after), strict=True):
        tree.interface(**both, **values)
    return [tree.node() for tree in times]


def test_counters_that_stand_still_are_no_deviation(times):
    counters = {"symbol_error": 7, "link_downed": 1}
    data = {"port_xmit_data": 100}
    assert error_growth(*ports(times, counters, counters | data)) == []


@pytest.mark.parametrize("name", [name for name, (end, _) in ERRORS.items() if end])
def test_a_port_counter_that_grows(times, name):
    [found] = error_growth(*ports(times, {name: 3}, {name: 15}))
    assert found.text == f"node17 mlx5_0/1 {name}: 12 more (3 to 15), expected no more"
    assert found.kind == "link-errors"


@pytest.mark.parametrize("name", [name for name, (end, _) in ERRORS.items() if not end])
def test_an_interface_counter_that_grows(times, name):
    [found] = error_growth(*interfaces(times, {name: 1}, {name: 2}))
    assert found.text == f"node17 eth2 {name}: 1 more (1 to 2), expected no more"


@pytest.mark.parametrize("values", [{"rx_dropped": 5}, {"rx_bytes": 5}])
def test_what_a_healthy_interface_counts_is_no_error(times, values):
    assert error_growth(*interfaces(times, {}, values)) == []


def test_interfaces_without_a_device_come_and_go(times):
    times[0].interface("veth1", None)
    times[0].interface("br0", None)
    times[1].interface("br0", None, rx_errors=3)
    assert error_growth(*(tree.node() for tree in times)) == []


@pytest.mark.parametrize("name", ["symbol_error", "port_rcv_data"])
def test_a_counter_that_went_back_was_reset(times, name):
    before, after = ports(times, {name: 40}, {name: 2})
    [found] = error_growth(before, after)
    assert found.kind == "link-reset"
    assert found.text == (
        f"node17 mlx5_0/1 counters: went back ({name} 40 to 2): reset in between, "
        "expected counters that only grow"
    )


def test_one_that_went_back_does_not_hide_one_that_grew(times):
    before, after = ports(times, {"symbol_error": 40}, {"symbol_error": 2, "link_downed": 1})
    assert [found.kind for found in error_growth(before, after)] == ["link-reset", "link-errors"]


def test_a_counter_at_its_end_cannot_tell(times):
    [found] = error_growth(*ports(times, {"symbol_error": 65535}, {"symbol_error": 65535}))
    assert (found.kind, found.what) == ("link-errors", "symbol_error")
    assert "65535, where it stops" in found.found


def test_what_vanished(times):
    before, after = times
    before.adapter()
    before.port()
    before.interface()
    found = error_growth(before.node(), after.node())
    assert [(one.device, one.kind) for one in found] == [
        ("mlx5_0/1", "link-missing"),
        ("eth2", "link-missing"),
    ]
    assert error_growth(after.node(), before.node()) == [], "what is new is none"


def test_a_counter_that_can_no_longer_be_read_has_vanished(times):
    ports(times, {}, {})
    times[1].spoil("class/infiniband/mlx5_0/ports/1/counters/link_downed")
    [found] = error_growth(*(tree.node() for tree in times))
    assert (found.kind, found.what) == ("link-missing", "link_downed")


def test_readings_of_two_nodes_cannot_be_compared(tmp_path):
    one, other = Sysfs(tmp_path / "1").node(), Sysfs(tmp_path / "2", name="node18").node()
    [found] = error_growth(one, other)
    assert (found.node, found.kind) == ("node17", "link-missing")
    assert "node18" in found.found
    with pytest.raises(ValueError, match="two nodes"):
        bytes_moved(one, other, INFINIBAND)


INFINIBAND = Facts("infiniband")
DATA = {"port_xmit_data": 1250, "port_rcv_data": 750}


@pytest.mark.parametrize("device", [None, "mlx5_0", "mlx5_0/1"])
def test_a_port_counts_words_of_four_bytes(times, device):
    before, after = ports(times, {"port_xmit_data": 1000, "port_rcv_data": 700}, DATA)
    facts = Facts("infiniband", device=device)
    assert bytes_moved(before, after, facts) == 4 * (250 + 50)


@pytest.mark.parametrize(
    ("device", "technology", "total"),
    [
        (None, "infiniband", 8000),
        (None, "ethernet", 140),
        (None, "roce", 80),
        ("eth2", "ethernet", 40),
        ("eth2,eth3", "ethernet", 140),
        ("mlx5_1", "roce", 80),
        ("mlx5_0/1,eth2", "infiniband", 8040),
    ],
)
def test_over_what_the_bytes_moved(times, device, technology, total):
    ports(times, {}, DATA)
    for tree, words in zip(times, (0, 20), strict=True):
        tree.adapter("mlx5_1", "0000:09:00.0")
        tree.port(name="mlx5_1", link_layer="Ethernet", port_rcv_data=words)
    interfaces(times, {"rx_bytes": 5}, {"rx_bytes": 15, "tx_bytes": 30})
    interfaces(times, {}, {"tx_bytes": 100}, name="eth3", address="0000:06:00.0")
    interfaces(times, {}, {"tx_bytes": 3}, name="br0", address=None)
    interfaces(times, {}, {"tx_bytes": 7}, name="ib0", address="0000:03:00.0", type=32)
    before, after = (tree.node() for tree in times)
    assert bytes_moved(before, after, Facts(technology, device=device)) == total


def test_a_node_without_links_of_the_fabric_moves_no_bytes_over_it(times):
    before, after = interfaces(times, {}, {"rx_bytes": 9})
    assert bytes_moved(before, after, Facts("ethernet")) == 9
    for technology in ("infiniband", "omni-path", "roce"):
        with pytest.raises(ValueError, match=f"no link of {technology}"):
            bytes_moved(before, after, Facts(technology))


@pytest.mark.parametrize(
    ("before", "after", "device", "why"),
    [
        ({"port_xmit_data": 9}, {"port_xmit_data": 8}, None, "went back from 9 to 8"),
        ({}, {"port_xmit_data": 2**32 - 1}, None, "at its end"),
        ({}, {}, "mlx5_1/1", "has no mlx5_1/1"),
        ({}, {}, "mlx5_0/2", "has no mlx5_0/2"),
        ({}, {}, "eth0", "has no eth0"),
    ],
)
def test_bytes_that_cannot_be_told(times, before, after, device, why):
    with pytest.raises(ValueError, match=why):
        bytes_moved(*ports(times, before, after), Facts("infiniband", device=device))


@pytest.mark.parametrize(
    ("device", "total"),
    [
        # What RDMA moves Linux counts with the RoCE port of the same adapter only.
        (None, 810),
        ("eth2", 810),
        # That port alone, and no word twice.
        ("mlx5_0/1", 800),
        ("mlx5_0/1,eth2", 810),
        # A bond may stand for any adapter; the adapter of another interface is not this one's.
        ("bond0", 803),
        ("eth3", 100),
    ],
)
def test_the_bytes_of_an_ethernet_are_also_those_of_roce(times, device, total):
    bytes_of_port = {"port_xmit_data": 150, "port_rcv_data": 50}
    ports(times, {}, bytes_of_port, link_layer="Ethernet")
    times[0].port(2)
    times[1].port(2, port_xmit_data=5000)  # InfiniBand, beside it on the same adapter
    interfaces(times, {}, {"rx_bytes": 10}, address="0000:03:00.0")
    interfaces(times, {}, {"tx_bytes": 3}, name="bond0", address=None)
    if device == "eth3":
        interfaces(times, {}, {"tx_bytes": 100}, name="eth3", address="0000:06:00.0")
    before, after = (tree.node() for tree in times)
    assert bytes_moved(before, after, Facts("ethernet", device=device)) == total


def test_the_bytes_of_slingshot_10_are_also_those_of_roce(times):
    ports(times, {}, {"port_xmit_data": 150, "port_rcv_data": 50}, link_layer="Ethernet")
    interfaces(times, {}, {"rx_bytes": 10}, name="hsn0", address="0000:03:00.0")
    before, after = (tree.node() for tree in times)
    assert bytes_moved(before, after, Facts("slingshot", device="hsn0"), min_bytes=800) == 810


def test_a_roce_port_that_is_silent_matters_where_too_few_bytes_were_counted(times):
    ports(times, {}, {}, link_layer="Ethernet")
    interfaces(times, {}, {"rx_bytes": 10}, address="0000:03:00.0")
    for tree in times:
        tree.spoil("class/infiniband/mlx5_0/ports/1/counters/port_rcv_data")
    before, after = (tree.node() for tree in times)
    facts = Facts("ethernet", device="eth2")
    assert bytes_moved(before, after, facts, min_bytes=10) == 10
    with pytest.raises(ValueError, match="mlx5_0/1 does not report port_rcv_data"):
        bytes_moved(before, after, facts, min_bytes=11)


def test_bytes_of_a_port_that_is_gone_or_silent(times):
    ports(times, {}, {})
    before, after = times
    after.spoil("class/infiniband/mlx5_0/ports/1/counters/port_xmit_data")
    with pytest.raises(ValueError, match="does not report port_xmit_data"):
        bytes_moved(before.node(), after.node(), INFINIBAND)
    before.port(2)
    with pytest.raises(ValueError, match="mlx5_0/2 has vanished"):
        bytes_moved(before.node(), after.node(), Facts("infiniband", device="mlx5_0/2"))


ROCE = Facts.read({"technology": "roce", "rate": "100"})
SLINGSHOT = Facts.read({"technology": "slingshot", "rate": "200"})


def test_ports_without_counters_may_count_bytes_elsewhere(times):
    for tree, count in zip(times, (1000, 9000), strict=True):
        tree.adapter()
        tree.port(link_layer="Ethernet")
        tree.uncounted(rx_bytes=count, tx_bytes=2 * count)
    before, after = (tree.node() for tree in times)
    # These are bytes, no words of four.
    assert bytes_moved(before, after, ROCE) == 8000 + 16000
    assert error_growth(before, after) == []


def test_what_no_counter_tells_is_not_zero_bytes(times):
    for tree in times:
        tree.adapter()
        tree.port(link_layer="Ethernet")
        tree.uncounted()
    with pytest.raises(ValueError, match=r"node17 mlx5_0/1 does not report rx_bytes"):
        bytes_moved(*(tree.node() for tree in times), ROCE)


def test_slingshot_counts_rdma_in_its_telemetry(times):
    for tree, count in zip(times, (1000, 9000), strict=True):
        tree.slingshot(0, count, rx_bytes=5)
        tree.slingshot(1, 2 * count)
    assert bytes_moved(*(tree.node() for tree in times), SLINGSHOT) == 2 * (8000 + 16000)
    for tree in times:
        shutil.rmtree(tree.root / "devices/pci0000:00/0000:20:00.0/telemetry")
    with pytest.raises(ValueError, match="hsn0 does not report hni_sts_rx_ok_octets"):
        bytes_moved(*(tree.node() for tree in times), SLINGSHOT)

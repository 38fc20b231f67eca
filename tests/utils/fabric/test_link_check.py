"""`fabric/link_check.py` on made sysfs trees that the real script has read."""

import shutil

import pytest

from acceptance.fabric import FabricFault, Facts, link_check
from acceptance.fabric.rates import INFINIBAND
from tests.sysfs import Sysfs

QDR = {"technology": "infiniband", "rate": "QDR", "lanes": 4, "pcie": "2.0", "pcie_lanes": 8}
TEN = {"technology": "ethernet", "rate": "10"}
ONE_DOWN = {"state": "1: DOWN", "phys_state": "2: Polling", "rate": "10 Gb/sec (4X SDR)"}


@pytest.fixture
def tree(tmp_path):
    """A node without an adapter and with no interface but lo."""
    return Sysfs(tmp_path)


def facts_in(mapping):
    return Facts.read(mapping) if mapping else None


def deviations(node, facts):
    return link_check.deviations(node, facts_in(facts))


def rates(node, facts):
    return link_check.rates(node, facts_in(facts))


def lines(tree, facts):
    return [found.text for found in deviations(tree.node(), facts)]


def kinds(tree, facts):
    return [found.kind for found in deviations(tree.node(), facts)]


def pair(tree, slot=None, **port):
    """Give the node an adapter with one port."""
    tree.adapter(**(slot or {}))
    tree.port(**port)
    return tree


@pytest.mark.parametrize("device", [None, "mlx5_0", "mlx5_0/1"])
def test_a_healthy_port_deviates_in_nothing(tree, device):
    assert lines(pair(tree), QDR if device is None else QDR | {"device": device}) == []


@pytest.mark.parametrize("rate", ["10 Gb/sec (4X SDR)", "10 Gb/sec (4X)"])
def test_a_port_that_trained_at_sdr(tree, rate):
    [found] = deviations(pair(tree, rate=rate).node(), QDR)
    assert found.text == "node17 mlx5_0/1: 10 Gb/sec (4X SDR), expected 40 Gb/sec (4X QDR)"
    assert (found.kind, found.device) == ("link-rate", "mlx5_0/1")


def test_an_sdr_port_of_an_old_kernel_is_what_sdr_demands(tree):
    assert lines(pair(tree, rate="10 Gb/sec (4X)"), QDR | {"rate": "SDR"}) == []


@pytest.mark.parametrize("rate", ["40 Gb/sec (4X FDR10)", "10 Gb/sec (1X QDR)", "20 Gb/sec (8X)"])
def test_the_rate_is_gigabits_lanes_and_speed(tree, rate):
    assert kinds(pair(tree, rate=rate), QDR) == ["link-rate"]


@pytest.mark.parametrize("word", [word for word in INFINIBAND if word != "HDR100"])
def test_every_speed_is_known(tree, word):
    rate = f"{INFINIBAND[word].nominal * 4:g} Gb/sec (4X {word})"
    assert lines(pair(tree, rate=rate), QDR | {"rate": word}) == []


def test_hdr100_is_hdr_on_two_lanes(tree):
    facts = {"technology": "infiniband", "rate": "HDR100"}
    assert lines(pair(tree, rate="100 Gb/sec (2X HDR)"), facts) == []
    assert kinds(tree, facts | {"rate": "EDR"}) == ["link-rate"]


@pytest.mark.parametrize(
    ("slot", "line", "kind"),
    [
        ({"speed": "2.5 GT/s PCIe"}, "2.5 GT/s x8 (1.1)", "pcie-speed"),
        ({"speed": "2.5 GT/s", "width": 4}, "2.5 GT/s x4 (1.1)", "pcie-speed"),
        ({"speed": "5 GT/s", "width": 4}, "5 GT/s x4 (2.0)", "pcie-width"),
        ({"speed": "8.0 GT/s PCIe", "most": "8.0 GT/s PCIe"}, "8 GT/s x8 (3.0)", "pcie-speed"),
        ({"speed": "Unknown", "width": 0}, "not known", "pcie-speed"),
        ({"speed": None}, "not known", "pcie-speed"),
    ],
    ids=["1.1", "1.1 x4", "x4", "faster", "not told", "old kernel"],
)
def test_a_slot_that_is_not_what_the_facts_say(tree, slot, line, kind):
    [found] = deviations(pair(tree, slot).node(), QDR)
    assert found.text == f"node17 mlx5_0 PCIe: {line}, expected 5 GT/s x8 (2.0)"
    assert found.kind == kind


@pytest.mark.parametrize("facts", [{}, {"technology": "infiniband", "rate": "QDR"}])
def test_a_slot_below_its_own_maximum_needs_no_facts(tree, facts):
    pair(tree, {"most": "8.0 GT/s PCIe", "width": 4})
    assert lines(tree, facts) == ["node17 mlx5_0 PCIe: 5 GT/s x4 (2.0), expected 8 GT/s x8 (3.0)"]


def test_a_slot_may_be_below_its_maximum_where_the_facts_demand_it(tree):
    slot = {"speed": "2.5 GT/s", "most": "5 GT/s", "width": 4}
    assert lines(pair(tree, slot), QDR | {"pcie": "1.1", "pcie_lanes": 4}) == []


@pytest.mark.parametrize("slot", [{"most": "Unknown", "wide": 255}, {"speed": None}])
def test_a_slot_of_which_nothing_is_known_and_nothing_demanded(tree, slot):
    assert lines(pair(tree, slot), {"technology": "infiniband", "rate": "QDR"}) == []


def test_a_port_that_is_down(tree):
    line = "node17 mlx5_0/1: DOWN (Polling), expected ACTIVE (LinkUp)"
    assert lines(pair(tree, **ONE_DOWN), QDR) == [line]


def test_a_second_port_may_be_unused_unless_it_is_declared(tree):
    pair(tree).port(2, **ONE_DOWN)
    assert lines(tree, QDR) == []
    assert lines(tree, QDR | {"device": "mlx5_0/1"}) == []
    both = lines(tree, QDR | {"device": "mlx5_0/1, mlx5_0/2"})
    assert both == ["node17 mlx5_0/2: DOWN (Polling), expected ACTIVE (LinkUp)"]
    assert lines(tree, QDR | {"device": "mlx5_0"}) == both


@pytest.mark.parametrize(
    "port", [{"state": "2: INIT"}, {"state": "4: ACTIVE", "phys_state": "6: LinkErrorRecovery"}]
)
def test_a_port_in_use_that_is_not_ready(tree, port):
    pair(tree).port(2, **port)
    assert kinds(tree, QDR) == ["link-state"]


def test_the_slot_of_an_unused_adapter_does_not_count(tree):
    pair(tree).adapter("mlx5_1", "0000:04:00.0", width=4)
    tree.port(1, "mlx5_1", **ONE_DOWN)
    assert lines(tree, QDR) == []
    assert kinds(tree, QDR | {"device": "mlx5_0,mlx5_1"}) == ["link-state", "pcie-width"]


def test_no_adapter_is_not_the_same_as_not_looked(tree):
    assert lines(tree, QDR) == ["node17: no InfiniBand adapter, expected 40 Gb/sec (4X QDR)"]
    (tree.root / "class/infiniband").write_text("")  # a folder that cannot be listed, even by root
    line = "node17: /sys/class/infiniband cannot be read, expected a file that can be read"
    assert lines(tree, QDR) == [line]
    assert lines(tree, QDR | {"device": "mlx5_0/1"}) == [line]


def test_an_adapter_that_is_set_to_ethernet(tree):
    pair(tree, link_layer="Ethernet")
    assert lines(tree, QDR) == ["node17: no InfiniBand port, expected 40 Gb/sec (4X QDR)"]
    assert kinds(tree, QDR | {"device": "mlx5_0/1"}) == ["link-state"]


def test_a_declared_port_that_is_not_there(tree):
    line = "node17 mlx5_1/1: no such port, expected 40 Gb/sec (4X QDR)"
    assert lines(pair(tree), QDR | {"device": "mlx5_1/1"}) == [line]


PORT = "class/infiniband/mlx5_0/ports/1"


@pytest.mark.parametrize("file", ["state", "phys_state", "rate", "counters/symbol_error"])
def test_a_file_of_a_port_that_cannot_be_read_is_the_one_deviation(tree, file):
    pair(tree).spoil(f"{PORT}/{file}")
    found = f"/sys/{PORT}/{file} cannot be read, expected a file that can be read"
    assert lines(tree, QDR) == [f"node17 mlx5_0/1: {found}"]
    assert lines(tree, QDR | {"device": "mlx5_0"}) == [f"node17 mlx5_0/1: {found}"]


def test_counters_that_cannot_be_listed_are_the_one_deviation(tree):
    shutil.rmtree(pair(tree).root / PORT / "counters")
    (tree.root / PORT / "counters").write_text("")
    found = f"/sys/{PORT}/counters cannot be read, expected a file that can be read"
    assert lines(tree, QDR) == [f"node17 mlx5_0/1: {found}"]


def test_a_file_of_an_ethernet_port_counts_only_where_it_is_declared(tree):
    pair(tree).adapter("mlx5_1", "0000:04:00.0")
    tree.port(1, "mlx5_1", link_layer="Ethernet")
    tree.spoil("class/infiniband/mlx5_1/ports/1/rate")
    assert lines(tree, QDR) == []
    assert kinds(tree, QDR | {"device": "mlx5_1"}) == ["link-unreadable", "link-state"]


def test_a_slot_that_cannot_be_read(tree):
    path = "devices/pci0000:00/0000:03:00.0/current_link_speed"
    pair(tree).spoil(path)
    line = f"node17 mlx5_0: /sys/{path} cannot be read, expected a file that can be read"
    assert lines(tree, QDR) == [line]


@pytest.mark.parametrize("version", ["20.31.1014", ""])
def test_an_adapter_whose_firmware_has_no_name_is_as_good(tree, version):
    pair(tree).add("class/infiniband/mlx5_0", fw_ver=version)
    assert tree.node().adapters["mlx5_0"].firmware == version
    assert lines(tree, QDR) == []


def test_a_firmware_that_cannot_be_read_is_told(tree):
    pair(tree).add("class/infiniband/mlx5_0", fw_ver="20.31.1014")
    tree.spoil("class/infiniband/mlx5_0/fw_ver")
    told = "/sys/class/infiniband/mlx5_0/fw_ver cannot be read, expected a file that can be read"
    assert lines(tree, QDR) == [f"node17 mlx5_0: {told}"]


def test_a_device_that_cannot_be_found_has_no_slot_to_judge(tree):
    device = pair(tree).root / "class/infiniband/mlx5_0/device"
    device.unlink()
    device.symlink_to("nowhere")
    assert kinds(tree, QDR) == ["link-unreadable"]


def test_what_belongs_to_other_links_does_not_count(tree):
    pair(tree).interface(speed=1000, duplex="half")
    tree.spoil("class/net/eth2/speed")
    assert lines(tree, QDR) == []
    tree.interface("eth3", "0000:06:00.0")
    tree.spoil(f"{PORT}/rate")
    assert lines(tree, TEN | {"device": "eth3"}) == []


@pytest.mark.parametrize("device", [{}, {"device": "eth2"}])
@pytest.mark.parametrize(
    ("interface", "line", "kind"),
    [
        ({}, None, None),
        ({"operstate": "unknown"}, None, None),
        ({"speed": 1000}, "eth2: 1000 Mb/s full, expected 10000 Mb/s full", "eth-speed"),
        ({"duplex": "half"}, "eth2: 10000 Mb/s half, expected 10000 Mb/s full", "eth-duplex"),
        (
            {"duplex": "unknown"},
            "eth2: 10000 Mb/s unknown duplex, expected 10000 Mb/s full",
            "eth-duplex",
        ),
        ({"mtu": 1500}, "eth2 MTU: 1500, expected 9000", "mtu"),
        ({"operstate": "down"}, "eth2: down, expected 10000 Mb/s full", "link-state"),
        (
            {"speed": 65535, "duplex": "unknown"},
            "eth2: unknown speed unknown duplex, expected 10000 Mb/s full",
            "eth-speed",
        ),
        (
            {"slot": {"width": 4}},
            "eth2 PCIe: 5 GT/s x4 (2.0), expected 5 GT/s x8 (2.0)",
            "pcie-width",
        ),
    ],
    ids="healthy,state unknown,1 Gb/s,half,no duplex,MTU,down,no speed,slot".split(","),
)
def test_ethernet(tree, device, interface, line, kind):
    tree.interface(**interface)
    found = deviations(tree.node(), TEN | {"mtu": 9000} | device)
    assert [one.text for one in found] == ([f"node17 {line}"] if line else [])
    assert [one.kind for one in found] == ([kind] if kind else [])


def test_one_interface_that_is_right_will_do(tree):
    tree.interface()
    tree.interface("eth0", "0000:01:00.0", speed=1000, slot={"width": 4})
    tree.interface("eth3", "0000:06:00.0", operstate="down")
    tree.interface("eth4", "0000:07:00.0", duplex="half")
    assert lines(tree, TEN) == []
    assert kinds(tree, TEN | {"device": "eth4"}) == ["eth-duplex"]


def test_interfaces_that_are_no_ethernet_adapter_do_not_count(tree):
    tree.interface("br0", None)
    tree.interface("ib0", "0000:03:00.0", type=32)
    assert lines(tree, TEN) == ["node17: no Ethernet adapter, expected 10000 Mb/s full"]
    assert lines(tree, TEN | {"device": "br0"}) == [], "but a bond may be declared"
    assert kinds(tree, TEN | {"device": "eth9"}) == ["link-missing"]


ROCE = {"technology": "ethernet", "rate": "100", "device": "mlx5_0/1"}
EDR = {"rate": "100 Gb/sec (4X EDR)", "link_layer": "Ethernet"}


@pytest.mark.parametrize(
    ("facts", "port", "line"),
    [
        ({}, {}, None),
        ({"device": "mlx5_0"}, {}, None),
        ({"rate": None, "mtu": None}, {}, None),
        ({}, {"rate": "100 Gb/sec (2X HDR)"}, None),
        # Linux has no word for less than SDR on a lane.
        ({"rate": "1"}, {"rate": "2.5 Gb/sec (1X SDR)"}, None),
        ({}, {"rate": "25 Gb/sec (1X EDR)"}, "25 Gb/sec (1X EDR), expected 100 Gb/sec"),
        ({"rate": "25"}, {"rate": "10 Gb/sec (1X QDR)"}, "10 Gb/sec (1X QDR), expected 25 Gb/sec"),
        ({}, ONE_DOWN, "DOWN (Polling), expected ACTIVE (LinkUp)"),
        (
            {},
            {"link_layer": "InfiniBand"},
            "link layer InfiniBand, expected link layer Ethernet",
        ),
    ],
    ids=str,
)
def test_a_declared_roce_port_is_judged_as_a_link_of_ethernet(tree, facts, port, line):
    pair(tree, **(EDR | port))
    assert lines(tree, ROCE | facts) == ([f"node17 mlx5_0/1: {line}"] if line else [])


def test_the_slot_and_the_files_of_a_declared_roce_port_count(tree):
    pair(tree, {"width": 4}, **EDR)
    tree.interface("eth2", "0000:03:00.0", speed=100000, slot={"width": 4})
    tree.spoil("class/net/eth2/speed")
    facts = ROCE | {"pcie": "2.0", "pcie_lanes": 8}
    assert kinds(tree, facts) == ["pcie-width"]
    tree.spoil(f"{PORT}/rate")
    assert kinds(tree, facts) == ["link-unreadable", "pcie-width"]
    assert kinds(tree, facts | {"device": "eth2"}) == ["link-unreadable", "pcie-width"]
    assert [one.text for one in deviations(tree.node(), facts | {"device": "mlx5_1/1"})] == [
        "node17 mlx5_1/1: no such interface, expected 100000 Mb/s full"
    ]


def test_a_roce_port_where_nobody_could_look(tree):
    (tree.root / "class/infiniband").write_text("")
    assert kinds(tree, ROCE) == ["link-unreadable"]
    tree.interface(speed=100000)
    assert kinds(tree, ROCE | {"device": "eth2"}) == []


OMNI_PATH = {"technology": "omni-path", "rate": "100"}


def omni_path(tree, **port):
    """Give the node an adapter that hfi1 drives."""
    tree.adapter("hfi1_0", "0000:18:00.0")
    driver = tree.root / "devices/pci0000:00/0000:18:00.0/driver"
    driver.unlink()
    tree.link("devices/pci0000:00/0000:18:00.0/driver", "bus/pci/drivers/hfi1")
    tree.port(name="hfi1_0", **{"rate": "100 Gb/sec (4X EDR)"} | port)
    return tree


@pytest.mark.parametrize(
    ("facts", "port", "line"),
    [
        ({}, {}, None),
        ({"device": "hfi1_0"}, {}, None),
        ({}, {"rate": "25 Gb/sec (1X EDR)"}, "25 Gb/sec (1X EDR), expected 100 Gb/sec (4X EDR)"),
        ({}, {"state": "2: INIT"}, "INIT (LinkUp), expected ACTIVE (LinkUp)"),
        # What Linux writes of it is not known: the state alone counts.
        ({"rate": "400"}, {"rate": "400 Gb/sec (4X NDR)"}, None),
        ({"rate": None}, {"rate": "25 Gb/sec (1X EDR)"}, None),
    ],
    ids=str,
)
def test_a_port_of_omni_path(tree, facts, port, line):
    omni_path(pair(tree, **ONE_DOWN), **port)
    tree.interface(speed=1000)
    assert lines(tree, OMNI_PATH | facts) == ([f"node17 hfi1_0/1: {line}"] if line else [])


def test_omni_path_and_infiniband_are_told_apart(tree):
    omni_path(tree)
    assert lines(tree, QDR) == ["node17: no InfiniBand port, expected 40 Gb/sec (4X QDR)"]
    assert rates(tree.node(), QDR) == []
    assert rates(tree.node(), OMNI_PATH) == rates(tree.node(), {}) == [100000.0]
    other = pair(Sysfs(tree.folder / "other"), **ONE_DOWN)
    expected = "expected 100 Gb/sec (4X EDR)"
    assert lines(other, OMNI_PATH) == [f"node17: no Omni-Path port, {expected}"]
    none = Sysfs(tree.folder / "none")
    assert lines(none, OMNI_PATH) == [f"node17: no Omni-Path adapter, {expected}"]


SLINGSHOT = {"technology": "slingshot", "rate": "200", "pcie": "4.0", "pcie_lanes": 16}


@pytest.mark.parametrize("device", [None, "hsn0"])
def test_an_adapter_of_slingshot_is_known_by_its_driver(tree, device):
    tree.interface(speed=25000)
    tree.slingshot()
    assert lines(tree, SLINGSHOT | {"device": device}) == []
    assert rates(tree.node(), SLINGSHOT) == [200000.0]
    # It speaks Ethernet, but is not the one that is meant.
    assert rates(tree.node(), {"technology": "ethernet", "rate": "25"}) == [25000.0]


def test_slingshot_that_runs_slower_or_is_not_there(tree):
    tree.interface(speed=200000)
    expected = "expected 200000 Mb/s full"
    assert lines(tree, SLINGSHOT) == [f"node17: no Slingshot adapter, {expected}"]
    tree.slingshot(speed=100000)
    assert lines(tree, SLINGSHOT) == [f"node17 hsn0: 100000 Mb/s full, {expected}"]
    other = Sysfs(tree.folder / "other")
    other.slingshot(operstate="down")
    assert lines(other, SLINGSHOT) == [f"node17 hsn0: down, {expected}"]


def test_a_port_of_slingshot_10_that_is_named_is_one_of_ethernet(tree):
    tree.adapter()
    tree.port(link_layer="Ethernet", rate="100 Gb/sec (4X EDR)")
    assert lines(tree, {"technology": "slingshot", "rate": "100", "device": "mlx5_0/1"}) == []


def test_a_port_whose_driver_counts_no_errors_is_told_and_not_taken_for_zero(tree):
    tree.adapter("bnxt_re0", driver="bnxt_en")
    tree.port(name="bnxt_re0", link_layer="Ethernet", rate="100 Gb/sec (4X EDR)")
    facts, node = Facts.read({"technology": "roce", "rate": "100"}), tree.node()
    assert (link_check.uncounted(node, facts), link_check.standing(node, facts)) == ([], [])
    tree.uncounted(name="bnxt_re0", rx_bytes=7, tx_bytes=8)
    node = tree.node()
    assert (deviations(node, {"technology": "roce", "rate": "100"}), node.unreadable) == ([], [])
    [found] = link_check.uncounted(node, facts)
    assert (found.kind, found.device, found.fails) == ("link-uncounted", "bnxt_re0/1", False)
    assert (
        "its driver bnxt_en has no such folder: whether it has errors cannot be told" in found.text
    )
    # One that nobody has plugged in is not the fabric's.
    tree.port(2, "bnxt_re0", link_layer="Ethernet", **ONE_DOWN)
    tree.uncounted(2, "bnxt_re0")
    assert len(link_check.uncounted(tree.node(), facts)) == 1


def test_a_port_that_is_down_need_not_tell_its_rate(tree):
    pair(tree).port(2, **ONE_DOWN)
    tree.spoil("class/infiniband/mlx5_0/ports/2/rate")
    assert lines(tree, QDR) == []
    assert kinds(tree, QDR | {"device": "mlx5_0"}) == ["link-state"]


@pytest.mark.parametrize(
    ("operstate", "name", "count"), [("up", "eth2", 1), ("down", "eth2", 0), ("up", "eth9", 0)]
)
def test_a_speed_that_cannot_be_read_counts_on_what_is_up_and_judged(tree, operstate, name, count):
    tree.interface()
    tree.interface("eth9", None if name == "eth9" else "0000:09:00.0", operstate=operstate)
    if operstate == "up":
        tree.spoil("class/net/eth9/speed")
    assert kinds(tree, TEN) == ["link-unreadable"] * count


def test_a_speed_that_cannot_be_read_does_not_excuse_the_others(tree):
    tree.interface(speed=1000)
    tree.interface("eth9", "0000:09:00.0")
    tree.spoil("class/net/eth9/speed")
    assert kinds(tree, TEN) == ["link-unreadable", "eth-speed"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"Rate": "SDR"},
        {"rate": "10"},
        {"technology": "ethernet", "rate": "QDR"},
        {"technology": "ethernet", "rate": "-1"},
        {"pcie": "2"},
        {"pcie_lanes": "x8"},
        {"lanes": 0},
        {"rate": "HDR100"},
        {"pcie_lanes": ""},
    ],
    ids=str,
)
def test_facts_that_cannot_be(wrong):
    with pytest.raises(FabricFault, match=r"known|it can be|lanes"):
        Facts.read(QDR | wrong)


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        # A bond or a VLAN is no hardware, and may be the fabric all the same.
        (TEN | {"device": "br0"}, [10000.0]),
        (TEN | {"device": "eth2,br0"}, [10000.0, 10000.0]),
        # The network of control is slower, and none of the fabric.
        (TEN, [10000.0]),
        ({"technology": "ethernet", "rate": "25"}, [1000.0, 10000.0]),
        (QDR, [40000.0]),
        (QDR | {"device": "mlx5_0/2"}, []),
        ({}, [1000.0, 10000.0, 40000.0]),
    ],
)
def test_rates_are_those_of_the_fabric(tree, facts, found):
    pair(tree).port(2, **ONE_DOWN)
    tree.interface()
    tree.interface("eth3", "0000:06:00.0", speed=1000)
    tree.interface("eth4", "0000:07:00.0", operstate="down")
    tree.interface("br0", None)
    assert sorted(rates(tree.node(), facts)) == found


def test_the_rate_of_a_declared_roce_port(tree):
    pair(tree, **EDR)
    tree.interface(speed=1000)
    assert rates(tree.node(), ROCE) == [100000.0]
    assert link_check.serving(tree.node(), Facts.read(ROCE)).keys() == {"mlx5_0/1"}
    # Not told to be the fabric it is none: its interface tells the same.
    assert rates(tree.node(), ROCE | {"device": None}) == [1000.0]
    assert rates(tree.node(), QDR) == []


ROCE_ALONE = {"technology": "roce", "rate": "100"}


@pytest.mark.parametrize(
    ("facts", "port", "line"),
    [
        ({}, {}, None),
        ({"device": "mlx5_0/1"}, {}, None),
        ({"rate": None}, {"rate": "25 Gb/sec (1X EDR)"}, None),
        ({}, {"rate": "25 Gb/sec (1X EDR)"}, "25 Gb/sec (1X EDR), expected 100 Gb/sec"),
        ({"device": "mlx5_0"}, ONE_DOWN, "DOWN (Polling), expected ACTIVE (LinkUp)"),
    ],
    ids=str,
)
def test_of_roce_every_port_counts_that_is_ethernet(tree, facts, port, line):
    pair(tree, **(EDR | port)).interface(speed=1000)
    tree.adapter("mlx5_1", "0000:04:00.0")
    tree.port(name="mlx5_1", **ONE_DOWN)
    assert lines(tree, ROCE_ALONE | facts) == ([f"node17 mlx5_0/1: {line}"] if line else [])


def test_of_roce_the_ports_are_the_links(tree):
    tree.interface(speed=100000)
    assert lines(tree, ROCE_ALONE) == ["node17: no RoCE adapter, expected 100 Gb/sec"]
    pair(tree)
    assert lines(tree, ROCE_ALONE) == ["node17: no RoCE port, expected 100 Gb/sec"]
    assert kinds(tree, ROCE_ALONE | {"device": "eth2"}) == ["link-missing"]
    tree.port(2, **EDR)
    assert rates(tree.node(), ROCE_ALONE) == [100000.0]
    assert rates(tree.node(), QDR) == [40000.0]


def test_a_port_at_sdr_is_found_or_the_facts_are_refused(tree):
    pair(tree, rate="10 Gb/sec (4X SDR)")
    facts = {**QDR, "Rate": QDR["rate"]}
    del facts["rate"]
    for wrong in (facts, {**QDR, "technology": "RoCE"}, {**QDR, "rate": "qdr"}):
        with pytest.raises(FabricFault, match=r"unknown .*; known: "):
            lines(tree, wrong)
    assert kinds(tree, QDR) == ["link-rate"]


GPUS = {**QDR, "gpus": 2, "gpu_kind": "cuda", "gpu_pcie": "4.0", "gpu_pcie_lanes": 16}
FULL = {"speed": "16.0 GT/s PCIe", "width": 16, "most": "16.0 GT/s PCIe", "wide": 16}


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (FULL, []),
        # One that is idle: what it could do counts.
        ({**FULL, "speed": "2.5 GT/s PCIe"}, []),
        ({**FULL, "width": 8}, ["GPU 0000:65:00.0 PCIe: 16 GT/s x8 (4.0), expected x16"]),
        (
            {**FULL, "most": "8.0 GT/s PCIe"},
            ["GPU 0000:65:00.0 PCIe: 8 GT/s (3.0) at most, expected 16 GT/s (4.0)"],
        ),
        ({**FULL, "vendor": "0x1002"}, ["GPUs: 1 of cuda, expected 2"]),
        ({**FULL, "of_class": "0x040300"}, ["GPUs: 1 of cuda, expected 2"]),
    ],
)
def test_gpus_are_held_against_the_facts(tree, second, said):
    pair(tree).gpu(**FULL)
    # The chip of a management board.
    tree.gpu("0000:02:00.0", vendor="0x1a03", of_class="0x030000")
    tree.gpu("0000:65:00.0", **second)
    assert lines(tree, GPUS) == [f"node17 {text}" for text in said]
    assert lines(tree, QDR) == []


@pytest.mark.parametrize(
    ("vendor", "of_class", "kind"),
    [
        ("0x10de", "0x030000", "cuda"),
        ("0x10de", "0x030200", "cuda"),
        ("0x1002", "0x038000", "rocm"),
        ("0x1002", "0x120000", "rocm"),
        ("0x1002", "0x040300", None),
    ],
)
def test_a_gpu_is_known_by_class_and_vendor(tree, vendor, of_class, kind):
    tree.gpu(vendor=vendor, of_class=of_class)
    assert tree.node().gpus == ({"0000:17:00.0": kind} if kind else {})


def test_a_node_may_have_more_gpus_than_jobs_get(tree):
    pair(tree).gpu(**FULL)
    tree.gpu("0000:65:00.0", **FULL)
    assert lines(tree, {**GPUS, "gpus": 1}) == []
    assert lines(tree, {**GPUS, "gpus": 3}) == ["node17 GPUs: 2 of cuda, expected 3"]


def test_the_display_of_a_server_is_no_gpu_though_amd_made_it(tree):
    for address, driver in (("0000:02:00.0", "radeon"), ("0000:17:00.0", "amdgpu")):
        tree.gpu(address, vendor="0x1002", of_class="0x030000", driver=driver)
    tree.gpu("0000:18:00.0", vendor="0x1002", of_class="0x030000", driver="")
    assert tree.node().gpus == {"0000:17:00.0": "rocm"}


def test_a_gpu_that_shares_its_slot_line_and_one_without_a_class(tree):
    tree.adapter(address="0000:17:00.0")
    tree.gpu()
    tree.link("bus/pci/devices/0000:18:00.0", "devices/pci0000:00/0000:18:00.0")
    node = tree.node()
    assert [*node.gpus] == [*node.slots] == ["0000:17:00.0"]

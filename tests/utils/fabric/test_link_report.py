"""`fabric/link.sh` on made trees and on this machine, and the parser of what it prints."""

import shutil
import socket
import subprocess

import pytest

from acceptance.core.errors import ParseError
from acceptance.fabric.link_report import parse, parse_all
from acceptance.fabric.rates import Rate
from tests.needs import skip_without
from tests.places import PATIENCE
from tests.sysfs import SCRIPT, Sysfs, run

SHELLS = [["sh"], ["dash"], ["bash", "--posix"], ["busybox", "ash"]]


@pytest.fixture
def tree(tmp_path):
    """A node with an adapter of two ports, two interfaces with a device and one without."""
    made = Sysfs(tmp_path)
    made.adapter(guid="9803:9b03:0050:00C0")
    made.adapter("mlx5_1", "0000:07:00.0", guid="0000:0000:0000:0000")
    made.port(symbol_error=3, port_xmit_data=12)
    made.port(2, state="1: DOWN", phys_state="2: Polling", rate="2.5 Gb/sec (1X)")
    made.interface(rx_bytes=2**40)
    made.interface("eth3", "0000:06:00.0", operstate="down")
    made.interface("br0", None, speed=-1)
    made.gpu("0000:17:00.0", width=16)
    return made


@pytest.mark.parametrize("shell", SHELLS, ids=" ".join)
def test_what_the_script_says_arrives_in_every_shell(tree, shell):
    skip_without(shell[0])
    node = parse(tree.text(shell))
    assert node.classes == {"infiniband": "listed", "net": "listed"}
    # Debian's busybox prefers its own hostname to the test's.
    assert node.name == "node17" or shell[0] == "busybox"
    adapter = node.adapters["mlx5_0"]
    assert (adapter.device, adapter.driver, adapter.pci) == ("pci", "mlx5_core", "0000:03:00.0")
    assert (adapter.guid, node.adapters["mlx5_1"].guid) == ("0x98039b03005000c0", "")
    one, two = node.ports.values()
    assert (one.name, one.state, one.phys_state) == ("mlx5_0/1", "4: ACTIVE", "5: LinkUp")
    assert (one.rate, one.infiniband) == (Rate(40, 4, "QDR"), True)
    assert len(one.counters) == 9
    assert (one.counters["symbol_error"], one.counters["port_xmit_data"]) == (3, 12)
    assert (str(two.rate), two.down, two.up) == ("2.5 Gb/sec (1X SDR)", True, False)
    assert node.slots.keys() == {f"0000:{number}:00.0" for number in ("03", "05", "06", "07", 17)}
    assert (node.gpus, node.slots["0000:17:00.0"].width) == ({"0000:17:00.0": "cuda"}, 16)
    assert str(node.slots["0000:03:00.0"]) == "5 GT/s x8 (2.0)"
    bridge, eth2, eth3, _ = node.interfaces.values()
    assert (eth2.driver, eth2.pci, eth2.type) == ("cxgb3", "0000:05:00.0", 1)
    assert (eth2.speed, eth2.duplex, eth2.mtu, eth2.up) == (10000, "full", 9000, True)
    assert len(eth2.counters) == 7
    assert eth2.counters["rx_bytes"] == 2**40
    assert (eth3.up, eth3.speed, eth3.duplex) == (False, None, "")
    assert (bridge.name, bridge.physical, bridge.speed) == ("br0", False, None)
    assert node.unreadable == ["class/net/eth3/speed", "class/net/eth3/duplex"]


def test_what_lldpd_knows_of_the_other_ends(tree, tmp_path, recorded):
    assert tree.node().neighbours is None
    (tmp_path / "lldp.json").write_text(recorded("lldp/lldpctl-two.json").replace("leaf01", "l *"))
    program = tmp_path / "bin/lldpctl"
    program.write_text(f"#!/bin/sh\n[ \"$*\" = '-f json' ] && cat {tmp_path}/lldp.json\n")
    program.chmod(0o755)
    assert tree.node().neighbours == {
        "eth1": [("l *", "Ethernet1/7")],
        "eth2": [("l *", "swp8")],
    }
    program.write_text("#!/bin/sh\necho '{}'\n")
    assert tree.node().neighbours is None
    assert tree.node().no_neighbours.startswith("this is no output of `lldpctl -f json`")
    program.write_text("#!/bin/sh\nexit 1\n")
    assert tree.node().no_neighbours.startswith("lldpd does not run")


def test_an_adapter_and_its_interface_share_a_slot_that_is_told_once(tree):
    tree.interface("ib0", "0000:03:00.0", type=32)
    text = tree.text()
    assert text.count("slot 0000:03:00.0 current_link_speed") == 1
    assert parse(text).interfaces["ib0"].pci == "0000:03:00.0"


@pytest.mark.parametrize(
    "path",
    [
        "class/infiniband/mlx5_0/ports/1/rate",
        "class/infiniband/mlx5_0/ports/1/counters/link_downed",
        "class/net/eth2/mtu",
        "class/net/eth2/statistics/rx_bytes",
        "devices/pci0000:00/0000:03:00.0/max_link_width",
    ],
)
@pytest.mark.parametrize("how", ["folder", "dead link", "empty"])
def test_no_file_that_is_there_is_left_out(tree, path, how):
    tree.spoil(path)
    place = tree.root / path
    if how != "folder":
        place.rmdir()
    if how == "dead link":
        place.symlink_to("nowhere")
    elif how == "empty":
        place.write_text("")
    unreadable = parse(tree.text()).unreadable
    shown = [name.split("/")[-2:] for name in unreadable]
    assert path.split("/")[-2:] in shown
    assert len(unreadable) == 3


@pytest.mark.parametrize(
    "path", ["class/infiniband/mlx5_0", "class/infiniband/mlx5_0/device", "class/net/eth2"]
)
def test_a_folder_that_cannot_be_entered_is_told(tree, path):
    place = tree.root / path
    place.unlink()
    place.symlink_to("nowhere")
    assert path in parse(tree.text()).unreadable


@pytest.mark.parametrize("path", ["class/infiniband/mlx5_0/ports", "class/infiniband", "class/net"])
def test_a_list_that_cannot_be_read_is_told(tree, path):
    shutil.rmtree(tree.root / path)
    (tree.root / path).write_text("")
    node = parse(tree.text())
    assert path in node.unreadable
    if path != "class/infiniband/mlx5_0/ports":
        assert node.classes[path.removeprefix("class/")] == "unreadable"


def test_what_is_not_there_is_not_unreadable(tree):
    (tree.root / "class/infiniband/mlx5_0/ports/1/link_layer").unlink()
    shutil.rmtree(tree.root / "class/infiniband/mlx5_0/ports/1/counters")
    shutil.rmtree(tree.root / "class/infiniband/mlx5_0/ports/2")
    (tree.root / "class/infiniband/mlx5_0/ports/1/state").write_text("4: ACTIVE")  # no newline
    node = parse(tree.text())
    assert [name for name in node.unreadable if "eth3" not in name] == []
    port = node.ports["mlx5_0/1"]
    assert (port.infiniband, port.counters, port.up) == (True, {}, True)


def test_no_adapter_and_no_sysfs_are_told_apart(tmp_path):
    empty = Sysfs(tmp_path / "empty").node()
    assert empty.classes == {"infiniband": "none", "net": "listed"}
    assert ([*empty.interfaces], empty.unreadable) == (["lo"], [])
    nowhere = parse(run(tmp_path / "nowhere", tmp_path / "bin"))
    assert nowhere.classes == {"infiniband": "unreadable", "net": "unreadable"}
    assert nowhere.unreadable == ["class/infiniband", "class/net"]


@pytest.mark.parametrize("name", ["", "two words"])
def test_a_node_without_a_name_says_nothing(tmp_path, name):
    with pytest.raises(subprocess.CalledProcessError) as error:
        run(tmp_path, tmp_path / "bin", name=name)
    assert not error.value.stdout


def test_this_machine():
    done = subprocess.run(
        ["sh", SCRIPT], capture_output=True, text=True, check=True, timeout=PATIENCE
    )
    node = parse(done.stdout)
    assert not done.stderr
    assert node.name.split(".")[0] == socket.gethostname().split(".")[0]
    assert node.interfaces["lo"].counters.keys() >= {"rx_bytes", "tx_bytes"}


def test_the_lines_of_several_nodes_may_come_mixed(tmp_path):
    texts = [Sysfs(tmp_path / name, name=name).text() for name in ("node18", "node17")]
    lines = [
        line for pair in zip(*(text.splitlines() for text in texts), strict=True) for line in pair
    ]
    text = "\n".join([*lines, ""])
    assert [node.name for node in parse_all(text)] == ["node18", "node17"]
    with pytest.raises(ParseError, match="2 nodes where one"):
        parse(text)


GOOD = """\
n link 1
n class infiniband listed
n adapter mlx5_0 device pci
n port mlx5_0 1 state 4: ACTIVE
n port mlx5_0 1 symbol_error 0
n slot 0000:03:00.0 current_link_width 8
n class net listed
n net eth2 speed 10000
n unreadable class/net/eth2/mtu
n end 9
"""


def test_the_example_is_good():
    assert parse(GOOD).ports["mlx5_0/1"].up


def test_any_line_that_is_lost_shows():
    lines = GOOD.splitlines(keepends=True)
    for number in range(len(lines)):
        with pytest.raises(ParseError):
            parse("".join(lines[:number] + lines[number + 1 :]))


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_output(text):
    with pytest.raises(ParseError, match="empty"):
        parse(text)


@pytest.mark.parametrize(
    ("line", "instead", "why"),
    [
        ("n link 1", "n link 2", "version '2'"),
        ("n link 1", "srun: error", "no line of link.sh"),
        ("n link 1", "", "has not begun"),
        ("n class net listed", "n class net maybe", "not known"),
        ("n class net listed", "n class infiniband none", "stands twice"),
        ("n class net listed", "n net eth2 mtu 1500", "not all classes"),
        ("n adapter mlx5_0 device pci", "n adapter mlx5_0 colour red", "has no 'colour'"),
        ("n adapter mlx5_0 device pci", "n adapter mlx5_1 device pci", "no line `adapter`"),
        ("n adapter mlx5_0 device pci", "n adapter mlx5_0 node_guid 98:zz", "is no GUID"),
        ("n port mlx5_0 1 state 4: ACTIVE", "n port mlx5_0 1 state ACTIVE", "no state"),
        ("n port mlx5_0 1 state 4: ACTIVE", "n port mlx5_0 1 rate fast", "no rate"),
        ("n port mlx5_0 1 state 4: ACTIVE", "n port mlx5_0 one state 4: ACTIVE", "no integer"),
        ("n port mlx5_0 1 state 4: ACTIVE", "n port mlx5_0 state", "too few words"),
        ("symbol_error 0", "symbol_error -1", "negative"),
        ("symbol_error 0", "symbol_error 1.5", "no integer"),
        ("symbol_error 0", "rx_errors 1", "has no 'rx_errors'"),
        ("symbol_error 0", "counters some", "counters of a port are 'some'"),
        ("link_width 8", "link_speed 5", "no speed of a PCI"),
        ("n net eth2 speed 10000", "n net eth2 speed -2", "no speed"),
        ("n net eth2 speed 10000", "n net eth2 speed fast", "no integer"),
        ("n net eth2 speed 10000", "n disk sda size 1", "unknown kind 'disk'"),
        ("n net eth2 speed 10000", "n gpu 0000:17:00.0 openacc", "kind that is not known"),
        ("n net eth2 speed 10000", "n gpu 0000:17:00.0 cuda rocm", "kind that is not known"),
        ("n net eth2 speed 10000", "n gpu 0 cuda\nn gpu 0 cuda", "gpu 0 stands twice"),
        ("n net eth2 speed 10000", "n adapter mlx5_0 device pci", "stands twice"),
        ("n net eth2 speed 10000", "n link 1", "begins twice"),
        ("n net eth2 speed 10000", "other net eth2 speed 10000", "other has not begun"),
        ("n end 9", "n end 8", "9 lines before"),
        ("n end 9", "", "cut off"),
        ("n end 9\n", "n end 9", "middle of a line"),
        ("n end 9\n", "n end 9\nn net eth2 mtu 1\n", "after the line `end`"),
    ],
)
def test_anything_else_is_an_error_that_names_the_line(line, instead, why):
    assert line in GOOD
    with pytest.raises(ParseError, match=why) as error:
        parse(GOOD.replace(line, instead), "node.txt")
    assert str(error.value).startswith("node.txt:")
    if "cut off" not in why:
        assert error.value.number


@pytest.mark.parametrize("speed", ["-1", "65535", "4294967295", "0"])
def test_a_speed_that_the_kernel_does_not_know(speed):
    assert parse(GOOD.replace("speed 10000", f"speed {speed}")).interfaces["eth2"].speed is None

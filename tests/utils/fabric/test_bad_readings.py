"""What cannot be read, or does not fit together: a line each, never an exception, never silence."""

import gzip
import shutil

import pytest

from acceptance.fabric import outputs
from acceptance.fabric.topology import End
from tests.ibsim import Fabric, fat_tree


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("healthy") / "reading"
    with Fabric(fat_tree(8, 2, 2).net) as fabric:
        fabric.run("sh", outputs.SCRIPT, folder)
    return folder


@pytest.fixture
def spoilt(healthy, tmp_path):
    """Return what reads a copy of the healthy reading in which texts were replaced."""

    def spoil(**files):
        folder = shutil.copytree(healthy, tmp_path / "reading")
        for name, change in files.items():
            path = folder / ".".join(name.rsplit("_", 1))
            if change is None:
                path.unlink()
            else:
                path.write_text(change(path.read_text()) if callable(change) else change)
        return outputs.read(folder)

    return spoil


def cut(number):
    return lambda text: text[: len(text) // number]


def cut_at_a_line(text):
    return text[: text.rindex("\n", 0, 2 * len(text) // 3) + 1]


@pytest.mark.parametrize(
    ("files", "kind", "text"),
    [
        ({"ibnetdiscover_out": ""}, "empty", "ibnetdiscover: it printed nothing"),
        ({"ibnetdiscover_out": cut(2)}, "form", "ends in the middle of a line"),
        ({"ibnetdiscover_out": "# nothing\n"}, "form", "the output has no device"),
        (
            {"ibnetdiscover_out": lambda text: text.replace("Switch\t", "Switch ")},
            "form",
            "a form that is not known: 'Switch 8",
        ),
        ({"ibnetdiscover_status": "late\n"}, "late", "ibnetdiscover: it did not end in time"),
        ({"ibnetdiscover_status": "255\n"}, "failed", "it ended with status 255"),
        ({"ibnetdiscover_status": "missing\n"}, "missing", "not installed, so the fabric cannot"),
        ({"ibnetdiscover_status": None}, "not-run", "it was not run"),
        ({"begin": None}, "not-run", "has no reading of a fabric"),
    ],
)
def test_no_fabric_and_one_line_that_says_why(spoilt, files, kind, text):
    reading = spoilt(**files)
    assert reading.topology is None
    (fault,) = reading.faults
    assert fault.kind == kind
    assert text in fault.text
    assert "\n" not in fault.text


def before(word):
    """Return what cuts a text where a word begins."""
    return lambda text: text.partition(word)[0]


@pytest.mark.parametrize(
    ("files", "kind", "text"),
    [
        ({"end": None}, "cut", "was stopped before its end"),
        ({"iblinkinfo_out": cut_at_a_line}, "disagree", "it has no link at leaf0"),
        ({"iblinkinfo_out": cut(3)}, "form", "ends in the middle of a line"),
        ({"iblinkinfo_status": "missing"}, "missing", "so the states of the links cannot be read"),
        ({"ibqueryerrors_out": cut(2)}, "form", "ends in the middle of a line"),
        ({"ibqueryerrors_out": before("##    ")}, "form", "cut off: its summary is missing"),
        ({"ibqueryerrors_out": "counters?\n"}, "form", "not known: 'counters?'"),
        ({"dump_lfts_status": "late"}, "late", "dump_lfts: it did not end in time"),
        (
            {"iblinkinfo_out": lambda text: text.replace("Active", "Initialize")},
            "no-manager",
            "no subnet manager has taken the fabric into service",
        ),
        (
            {"ibnetdiscover_err": "umad (DR path) bad status 110; Connection timed out\n"},
            "half",
            "1 question got no answer, so that parts of the fabric may be missing",
        ),
        (
            {"ibnetdiscover_out": lambda text: text.replace('"node0003', '"node0002')},
            "names",
            "several devices are called node0002 mlx5_0",
        ),
    ],
)
def test_what_is_left_is_read_and_the_rest_is_said(spoilt, files, kind, text):
    reading = spoilt(**files)
    assert len(reading.topology.devices) == 12
    (fault,) = [each for each in reading.faults if each.kind == kind]
    assert text in fault.text


def test_counters_that_were_not_read_are_not_zero(spoilt):
    reading = spoilt(ibqueryerrors_out="")
    assert reading.counters is None
    assert [(fault.kind, fault.device) for fault in reading.faults] == [("empty", "ibqueryerrors")]


def test_routes_are_read_when_they_are_asked_for_and_may_be_compressed(spoilt):
    reading = spoilt()
    path = reading.folder / "dump_lfts.out"
    text = path.read_text()
    with gzip.open(f"{path}.gz", "wt") as file:
        file.write(text)
    path.unlink()
    reading = outputs.read(reading.folder)
    assert not reading.faults
    assert reading.routes == text
    assert text.count("Unicast lids") == 4
    (reading.folder / "dump_lfts.status").write_text("late\n")
    assert outputs.read(reading.folder).routes == ""


def test_half_an_output_that_ends_with_a_line(spoilt):
    reading = spoilt(ibnetdiscover_out=cut_at_a_line)
    assert {"half"} <= {fault.kind for fault in reading.faults}
    assert "which was not discovered" in reading.faults[0].text


def test_a_cable_whose_ends_contradict_each_other(spoilt):
    def other_end(text):
        before, mark, after = text.partition("caguid=0x98039b0300500000\n")
        return before + mark + after.replace("4xHDR", "1xHDR", 1)

    reading = spoilt(ibnetdiscover_out=other_end)
    (fault,) = reading.faults
    assert fault.kind == "disagree"
    assert "is 4xHDR, but 1xHDR at 0x98039b0300500000[1]" in fault.text
    # The slower end counts.
    link = reading.topology.by_end[End("0x98039b0300500000", 1)]
    assert link.trained == "1xHDR"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ('node"0003" # "x" lid 3', 'node"0003" # "x" lid 3'),
        ("\x1b[31mnode0003", "[31mnode0003"),
        ("kn\u00f6ten \u202e3", "kn\u00f6ten 3"),
        ("", "(0x98039b0300500020)"),
    ],
)
def test_names_of_any_characters(spoilt, name, shown):
    def renamed(text):
        return text.replace("node0003 mlx5_0", name)

    reading = spoilt(ibnetdiscover_out=renamed, iblinkinfo_out=renamed)
    assert not reading.faults
    assert len(reading.topology.links) == 12
    assert reading.topology.device_name("0x98039b0300500020") == shown


def test_a_fabric_without_a_manager_and_one_half_of_which_does_not_answer(look):
    tree = fat_tree(8, 2, 2)
    with Fabric(tree.net, manager=False) as fabric:
        assert {"no-manager", "empty"} == {fault.kind for fault in look(fabric).faults}
        fabric.manage()
        fabric.console(f'Error "S-{tree.guids["spine02"]:016x}" 100')
        reading = look(fabric)
    faults = [fault.text for fault in reading.faults if fault.kind == "half"]
    assert "parts of the fabric may be missing" in faults[0]
    assert "leaf02[6] has a link, but its other end was not discovered" in faults[1]
    assert "questions of counters got no answer" in faults[2]


def test_an_adapter_inside_of_a_switch_is_no_host():
    tree = fat_tree(8, 2, 1)
    tree.add("node9", 0x248A070300E00000, 1, "Mellanox Technologies Aggregation Node")
    tree.plug(("node9", 1), ("spine01", 4), "4xHDR")
    seen = outputs.parse_netdiscover(tree.net + "\n")[0]
    assert len(seen.devices) == 11
    assert len(seen.links) == 10
    assert seen.level(tree.guid("spine01")) == 2


LINE = (
    '0x248a070300a00003 "    leaf04"     29    {port}[  ] ==( {what})==>  0x248a070300a00004     31'
    '    4[  ] "spine (01)" (Could be 12X Could be 53.125 Gbps)\n'
)


@pytest.mark.parametrize(
    ("what", "read"),
    [
        ("4X          10.0 Gbps Active/  LinkUp", ("Active", "LinkUp")),
        ("4X  10.0 Gbps (FDR10) Active/  LinkUp", ("Active", "LinkUp")),
        ("2X       14.0625 Gbps  Armed/  LinkUp", ("Armed", "LinkUp")),
        ("4X        106.25 Gbps Initialize/LinkUp", ("Initialize", "LinkUp")),
        ("4X         212.5 Gbps Active/LinkErrorRecovery", ("Active", "LinkErrorRecovery")),
        ("4X     undefined (64) Active/  LinkUp", ("Active", "LinkUp")),
        ("              Down/ Polling", ("Down", "Polling")),
        ("              Down/Disabled", ("Down", "Disabled")),
    ],
)
def test_lines_of_ports(what, read):
    ((end, state),) = outputs.parse_linkinfo(LINE.format(port=5, what=what)).items()
    assert (end.port, *state) == (5, *read)


def test_ports_of_a_chassis_and_a_port_without_its_other_end():
    text = LINE.format(port=5, what="4X  53.125 Gbps Active/  LinkUp").replace("[  ]", "[12]")
    other = text[: text.index("==>")].replace(" 5[12]", " 6[12]")
    text += other + '==>      "Port not available"\n'
    states = [state for state, _ in outputs.parse_linkinfo(text).values()]
    assert states == ["Active", "Active"]

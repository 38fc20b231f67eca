"""The file of an accepted fabric: written and read back, and refused with what is wrong."""

import json
import re
import textwrap

import msgspec
import pytest
from msgspec.structs import replace

from acceptance.core import state_files
from acceptance.core.errors import Fault, ParseError
from acceptance.fabric import seen, stored, view
from tests.places import ROOT, workspace
from tests.utils.fabric import faults as those

KIND = stored.AcceptedFabric
LEAF, NODE = "0x248a070300a00000", "0x98039b0300500000"
LINK = f"{LEAF}[1] {NODE}[1]"
FABRIC = {
    "switches": {LEAF: "leaf01"},
    "hosts": {NODE: "node0001 mlx5_0"},
    "nodes": {"node0001": [NODE]},
    "links": {LINK: "4x HDR # node0001[1] - leaf01[1]"},
}
SEES = {"technology": "infiniband", "rate": "HDR", "view": "here", "device": "mlx5_1,mlx5_2"}
FILE = {"accepted": {"2026-11-22T18:00:00+00:00": "a test"}, "fabric": FABRIC}


def test_what_was_written_is_read_back(tmp_path):
    found, _ = those.made(those.small())
    path = stored.path_of(tmp_path, "made")
    kept = stored.Kept.of(found)
    assert stored.take_over(path, KIND, kept, "2026-11-22T18:00:00+00:00", "a\ntest") is None
    known = stored.read(path, KIND)
    assert known.text_of_history == "accepted 2026-11-22 (a test)"
    assert stored.Kept.of(known.fabric.topology) == kept
    # What is read again and written again is the same text: a change is one of few lines in git.
    text = path.read_text()
    state_files.write(path, replace(known, fabric=stored.Kept.of(known.fabric.topology)))
    assert path.read_text() == text
    assert stored.checksum(kept) == stored.checksum(stored.Kept.of(known.fabric.topology))
    assert stored.read(tmp_path / "none", KIND) is None


def fabric(**changes):
    """Return a file of an accepted fabric that is another one in these keys."""
    return json.dumps({**FILE, "fabric": {**FABRIC, **changes}})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "truncated"),
        ("<<<<<<< HEAD\n", "malformed"),
        ("[]", "Expected `object`"),
        (fabric()[:-1], "truncated"),
        (fabric(cables={}), "unknown field `cables`"),
        (fabric(switches={"0x248a": "leaf01"}), "matching regex"),
        (fabric(links={LINK: "HDR"}), "matching regex"),
        (fabric(switches={}), f"{LEAF} is no switch and no host"),
        (fabric(hosts={}, links={}), f"{NODE} is no switch and no host"),
        (fabric(links={LINK: "4x HDR", f"{LEAF}[2] {NODE}[1]": "4x HDR"}), "has two links"),
        (fabric(switches={}, hosts={}, nodes={}, links={}), "there is no device"),
        (json.dumps({**FILE, "accepted": {"yesterday": "it was well"}}), "RFC3339"),
        (json.dumps({**FILE, "accepted": {}}), "length >= 1"),
    ],
)
def test_another_text_is_refused_with_its_file(tmp_path, text, why):
    path = tmp_path / "made.fabric"
    path.write_text(text)
    with pytest.raises(ParseError, match=re.escape(why)) as caught:
        stored.read(path, KIND)
    assert caught.value.where == str(path)


@pytest.mark.parametrize("text", ["[]", "{}", "{", '{"version": 2}'])
def test_a_state_that_is_none_is_refused(tmp_path, text):
    (tmp_path / "made.json").write_text(text)
    with pytest.raises(Fault, match="no state of a fabric"):
        stored.read_state(tmp_path / "made.json")


def test_a_link_of_which_nothing_is_known_is_kept_and_read_back(tmp_path):
    tree = those.small()
    tree.train(("node0001", 1), "?????")
    kept = stored.Kept.of(those.made(tree)[0])
    assert sum(each.startswith("?? ???") for each in kept.links.values()) == 1
    path = stored.state_path(tmp_path, "made")
    state_files.write(path, stored.State(1e9, None, fabric=kept))
    assert stored.read_state(path).fabric == kept


def test_a_fabric_whose_counters_were_never_read_is_accepted_with_the_time_of_its_reading(tmp_path):
    here = workspace(tmp_path / "var", reference=tmp_path / "reference")
    _, state = view.judge(
        those.made(those.small())[0], None, hosts=view.Hosts({}), accepted=None,
        before=stored.State(0.0, None), now=1.79e9,
    )  # fmt: skip
    assert (state.time, state.counters) == (0.0, None)
    state_files.write(stored.state_path(here.var, "made"), state)
    (line,) = seen.accept({"name": "made", "partitions": []}, here, "as built")
    assert "made: accepted as it was read at 2026-09-21T" in line


def test_cables_of_ethernet_alone_are_accepted_and_without_any_it_is_told(tmp_path):
    here = workspace(tmp_path / "var", reference=tmp_path / "reference")
    system = {"name": "made", "partitions": []}
    with pytest.raises(Fault, match="no run has looked at the whole fabric of made yet"):
        [*seen.accept(system, here, "as built")]
    kept = {"guids": {}, "cables": {"eth1": ["leaf01", "swp3"]}}
    state_files.write(here.var / "fabric/nodes/node1.json", kept)
    (line,) = seen.accept(system, here, "as built")
    assert line == f"made: 1 cable of Ethernet: accepted: {here.reference}/sites/made.lldp"
    (again,) = seen.accept(system, here, "as built")
    assert again == "made: 1 cable of Ethernet: nothing has changed"


def test_a_switch_that_is_gone_is_told_with_where_its_links_led():
    before, tree = those.made(those.small())[0], those.small()
    leads = sorted(
        f"{far[0][0]}[{far[0][1]}]" for end, far in tree.cables.items() if end[0] == "spine02"
    )
    tree.remove("spine02")
    (gone,) = view.changes(before, those.made(tree)[0])
    assert (gone.kind, gone.device) == ("fabric-switch", "spine02")
    assert gone.found == f"gone, with its links to {', '.join(leads)}"


@pytest.mark.parametrize(
    ("only", "found"),
    [(None, ("made", ("mlx5_1", "mlx5_2"))), ("ib", ("made", ("mlx5_1", "mlx5_2")))],
)
def test_a_fabric_is_looked_at_from_the_adapters_of_who_looks(only, found):
    system = {
        "name": "made",
        "partitions": [
            {"name": "eth", "scheduler": "local", "extras": {"fabric": {"technology": "ethernet"}}},
            {"name": "ib", "scheduler": "local", "extras": {"fabric": SEES}},
        ],
    }
    assert seen.fabric_of(system, lambda *names: ":".join(names), only)[:2] == found
    for other in ("eth", "none"):
        with pytest.raises(Fault, match=f"made has no partition '{other}' that states InfiniBand"):
            seen.fabric_of(system, lambda *names: ":".join(names), other)


def test_the_example_of_the_readme_is_read(tmp_path):
    text = (ROOT / "reference/README.md").read_text()
    block = text.partition('    {\n     "accepted"')[2].partition("\n\n")[0]
    path = tmp_path / "made.fabric"
    path.write_text(textwrap.dedent(f'    {{\n     "accepted"{block}\n'))
    known = stored.read(path, KIND)
    assert len(known.accepted) == 2
    assert known.fabric.topology.device_name(LEAF) == "leaf01"
    assert known.fabric == msgspec.convert(FABRIC, stored.Kept)
    assert stored.Kept.of(known.fabric.topology) == known.fabric

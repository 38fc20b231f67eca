"""Cables between the same two switches: made counters, and those that ibsim answers with."""

import json

import pytest

from acceptance.core import state_files
from acceptance.fabric import kinds, outputs, seen, stored, view
from acceptance.fabric.parallel import LEAST
from tests import ibsim
from tests.utils.fabric import faults as those

#: Two cables from each of two leaves to each of two spines.
TREE = ibsim.fat_tree(4, 2, 2, uplinks=2)
FOUND = ibsim.topology_of(TREE)
FIRST, SECOND = FOUND.parallel[0]
#: Words of 4 bytes that are as much as has to cross two switches to be told.
WORDS = LEAST // 4
SAID = (kinds.UNUSED, kinds.SHIFTED)


def readings(*sent, found=FOUND):
    """Judge one reading after the other: what the first two cables had sent; return the last."""
    state, told = stored.State(1.0, {}), []
    for number, counts in enumerate(sent):
        traffic = counts
        if counts is not None:
            traffic = {end: {"PortXmitData": 0} for end in found.by_end}
            for link, count in zip((FIRST, SECOND), counts, strict=True):
                traffic[link.ends[0]] = {"PortXmitData": count}
                if count is None:  # it did not answer
                    del traffic[link.ends[1]]
        told, state = view.judge(
            found, {}, hosts=view.Hosts({}, those.HDR), accepted=None, before=state,
            now=2.0 + number, traffic=traffic,
        )  # fmt: skip
    return told


def words(told):
    return [(each.kind, each.device) for each in told if each.kind in SAID]


def test_the_cables_between_two_switches_are_known_as_such():
    assert [len(links) for links in FOUND.parallel] == [2, 2, 2, 2]
    assert ibsim.topology_of(ibsim.fat_tree(4, 2, 2)).parallel == ()


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([(0, 0), (WORDS, WORDS)], []),
        ([(0, 0), (2 * WORDS, 0)], [(kinds.UNUSED, SECOND)]),
        # What is less than 1 % of an even share is nothing.
        ([(0, 0), (2 * WORDS, WORDS // 200)], [(kinds.UNUSED, SECOND)]),
        # Too little crossed.
        ([(0, 0), (WORDS - 1, 0)], []),
        # As much as before, over another cable.
        (
            [(0, 0), (WORDS, WORDS), (WORDS + 1, 3 * WORDS - 1)],
            [(kinds.UNUSED, FIRST), (kinds.SHIFTED, SECOND)],
        ),
        ([(0, 0), (WORDS, WORDS), (2.4 * WORDS, 1.6 * WORDS)], [(kinds.SHIFTED, FIRST)]),
        ([(0, 0), (WORDS, WORDS), (2.1 * WORDS, 1.9 * WORDS)], []),
        # Another sum is other traffic.
        ([(0, 0), (WORDS, WORDS), (5 * WORDS, 2 * WORDS)], []),
        # Counters that were reset, or stop, tell nothing, nor does a first reading.
        ([(WORDS, WORDS), (2 * WORDS, 0)], []),
        ([(0, 0), (0xFFFFFFFF, 0)], []),
        ([(2 * WORDS, 0)], []),
        ([(0, 0), (2 * WORDS, None)], []),
        ([(0, None), (2 * WORDS, 1)], []),
        # One that was not read: the next one is compared with the last that was.
        ([(0, 0), None], []),
        ([(0, 0), None, (2 * WORDS, 0)], [(kinds.UNUSED, SECOND)]),
    ],
)  # fmt: skip
def test_what_a_cable_carries_is_compared_with_those_beside_it(sent, expected):
    counts = [each and tuple(n if n is None else int(n) for n in each) for each in sent]
    told = readings(*counts)
    assert words(told) == [(kind, FOUND.link_text(link)) for kind, link in expected]
    assert not any(each.fails for each in told if each.kind in SAID)


def test_traffic_that_moved_is_said_to_be_no_regression():
    (found,) = [each for each in readings(
        (0, 0), (WORDS, WORDS), (24 * WORDS // 10, 16 * WORDS // 10)
    ) if each.kind == kinds.SHIFTED]  # fmt: skip
    assert found.text == (
        f"{FOUND.link_text(FIRST)}: traffic 70 % of 1.863 GiB over 2 cables between them, 50 % "
        "before: it moved at the same sum, no regression"
    )


def test_what_was_not_told_is_said():
    def unknown(*sent):
        return [each.found for each in readings(*sent) if each.device == "traffic"]

    (told,) = unknown((0, 0))
    assert told.startswith("between 4 pairs of switches with several cables each it is not told")
    assert unknown((0, 0), (1, 1)) == []
    (told,) = unknown((5, 5), (1, 6))
    assert told.startswith("between 1 pair of switches")


def test_a_state_without_traffic_is_that_of_no_reading(tmp_path):
    hosts, traffic = view.Hosts({}, those.HDR), {end: {"PortXmitData": 1} for end in FOUND.by_end}
    how = {"hosts": hosts, "accepted": None, "now": 2.0, "traffic": traffic}
    _, state = view.judge(FOUND, {}, before=stored.State(1.0, {}), **how)
    path = tmp_path / "made.json"
    state_files.write(path, state)
    assert stored.read_state(path) == state
    old = json.loads(path.read_text())
    assert len(old.pop("traffic")) == 8
    path.write_text(json.dumps(old))
    told, _ = view.judge(FOUND, {}, before=stored.read_state(path), **how)
    (found,) = [each.found for each in told if each.device == "traffic"]
    assert found.startswith("between 4 pairs of switches")


def test_a_cable_that_carries_nothing_is_seen_in_a_fabric(look):
    busy, guid = FIRST.ends[0], int(FIRST.ends[0].guid, 16)
    with ibsim.Fabric(TREE.net) as fabric:
        first = look(fabric)
        field = f"PortCountersExtended.PortXmitData={2 * WORDS}"
        fabric.console(f'PerformanceSet "S-{guid:016x}"[{busy.port}] {field}')
        second = look(fabric)
    assert (first.faults, second.faults) == ((), ())
    state = stored.State(1.0, {})
    for reading in (first, second):
        told, state = view.judge(
            reading.topology, {}, hosts=view.Hosts({}, those.HDR), accepted=None, before=state,
            now=2.0, traffic=reading.traffic,
        )  # fmt: skip
    assert words(told) == [(kinds.UNUSED, FOUND.link_text(SECOND))]
    path = second.folder / "traffic.out"
    path.write_text(path.read_text().partition("## Summary")[0])
    cut = outputs.read(second.folder)
    assert cut.traffic is None
    assert [(fault.kind, fault.device) for fault in cut.faults] == [("form", "traffic")]
    # The fabric was looked at all the same, and what is missing is told.
    assert seen.not_looked([cut]) == ""
    assert [(each.kind, each.device) for each in seen.notes([cut])] == [
        (kinds.NOT_JUDGED, "traffic")
    ]
    (second.folder / "traffic.status").unlink()
    (fault,) = outputs.read(second.folder).faults
    assert "it was not run, so the counters of data cannot be read" in fault.text

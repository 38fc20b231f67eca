"""Whose turn it is: nights benchmark the nodes of a partition in turn."""

from datetime import datetime, timedelta, timezone

import pytest

from acceptance.campaigns import nodes as campaign_nodes
from acceptance.campaigns import state as campaign
from acceptance.machine import SlurmNode, placement

START = datetime(2026, 11, 1, 22, 0, tzinfo=timezone.utc)
SYSTEM = {"name": "made", "partitions": [{"name": "ten", "extras": {"nodes": 4}}]}


class Nights:
    """Nights of a partition of some nodes, one after the other."""

    def __init__(self, folder, count):
        self.folder, self.count = folder, count
        self.night = 0

    def turn(self, *down):
        known = [
            SlurmNode(f"node{n}", "down" if n in down else "idle", "", n not in down)
            for n in range(1, self.count + 1)
        ]
        earlier = campaign.readable(self.folder, "nightly-*")
        chosen, lines = campaign_nodes.turns(SYSTEM, {"ten": known}, earlier)
        return chosen.get("ten"), *lines

    def measure(self, *down, done=True, kind="nightly"):
        """Have a night, and return the numbers of its nodes."""
        names = self.turn(*down)[0]
        plan = [
            campaign.Step("links", (), ("-r",)),
            campaign.Step("imb", (), (), pinned=placement.write_pins({"ten": names})),
        ]
        now = START + timedelta(days=self.night)
        self.night += 1
        state = campaign.begin(self.folder, kind, {"system": "made"}, plan, now)
        state.steps[1].state = campaign.DONE if done else campaign.INTERRUPTED
        state.save()
        return [int(name.removeprefix("node")) for name in names]


@pytest.fixture
def nights(tmp_path):
    return lambda count: Nights(tmp_path, count)


def test_no_more_nights_are_read_than_tell_of_each_node(nights):
    partition, read = nights(12), []
    for _ in range(9):
        partition.measure()

    def earlier():
        for state in campaign.readable(partition.folder, "nightly-*"):
            read.append(state.started)
            yield state

    known = [SlurmNode(f"node{n}", "idle", "", up=True) for n in range(1, 13)]
    chosen, _ = campaign_nodes.turns(SYSTEM, {"ten": known}, earlier())
    assert chosen == {"ten": ("node1", "node2", "node3", "node4")}
    assert len(read) == 3
    assert read == sorted(read, reverse=True)


def test_every_node_is_measured_within_the_stated_nights_and_sets_repeat(nights):
    partition = nights(12)
    sets = [partition.measure() for _ in range(6)]
    assert sets == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]] * 2
    assert partition.turn()[1] == (
        "made:ten: benchmarks run on node1, node2, node3, node4; each of its 12 nodes is measured "
        "within 3 nights"
    )


def test_the_last_block_is_filled_up_the_same_way_each_time(nights):
    partition = nights(10)
    sets = [partition.measure() for _ in range(6)]
    assert sets == [[1, 2, 3, 4], [5, 6, 7, 8], [1, 2, 9, 10]] * 2


def test_a_node_that_is_not_up_is_replaced_and_is_next_when_it_is_back(nights):
    partition = nights(12)
    assert partition.measure(2) == [1, 3, 4, 5]
    assert partition.measure(2) == [5, 6, 7, 8]
    # It was never measured, like the third block, and comes before it.
    assert partition.measure() == [1, 2, 3, 4]
    assert partition.measure() == [9, 10, 11, 12]


def test_a_block_without_a_node_that_is_up_has_no_turn(nights):
    partition = nights(8)
    assert [partition.measure(5, 6, 7, 8) for _ in range(2)] == [[1, 2, 3, 4]] * 2


def test_a_night_that_was_stopped_has_measured_nothing(nights):
    partition = nights(8)
    assert partition.measure(done=False) == [1, 2, 3, 4]
    assert partition.measure() == [1, 2, 3, 4]
    assert partition.measure() == [5, 6, 7, 8]


def test_too_few_nodes_that_are_up_are_left_to_slurm_and_said(nights):
    names, line = nights(8).turn(1, 2, 3, 4, 5)
    assert names is None
    assert "any nodes: only 3 of 8 nodes are up, fewer than 4" in line


def test_a_partition_whose_benchmarks_use_all_nodes_has_no_turns(nights):
    assert nights(4).turn() == (None,)
    assert campaign_nodes.turns(SYSTEM, {}, []) == ({}, [])


def test_nights_of_another_system_or_of_partitions_that_are_gone_do_not_count(nights, tmp_path):
    plan = [campaign.Step("imb", (), (), pinned="gone=node1")]
    for system in ("other", "made"):
        state = campaign.begin(tmp_path, "nightly", {"system": system}, plan, START)
        state.steps[0].state = campaign.DONE
        state.save()
    assert nights(8).measure() == [1, 2, 3, 4]


def test_a_partition_whose_number_of_nodes_is_refused_takes_no_turns():
    wrong = {"name": "made", "partitions": [{"name": "ten", "extras": {"nodes": "4"}}]}
    known = [SlurmNode(f"node{n}", "idle", "", up=True) for n in range(10)]
    assert campaign_nodes.turns(wrong, {"ten": known}, ()) == ({}, [])

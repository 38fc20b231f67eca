"""An acceptance of some nodes only, which are named rightly."""

import pytest

from acceptance.campaigns.nodes import exclusion, limit, pinned
from acceptance.core.errors import Fault
from acceptance.machine import SlurmNode, slurm


def node(name, up=True):
    return SlurmNode(name, "idle" if up else "down", "", up)


KNOWN = {"fat": [node("node1"), node("node2", up=False)], "thin": [node("node3"), node("node4")]}


@pytest.fixture(autouse=True)
def scontrol(monkeypatch):
    """Expand lists as scontrol does."""
    lists = {
        "node[1-3]": "node1\nnode2\nnode3\n",
        "node[1-3],node9": "node1\nnode2\nnode3\nnode9\n",
    }
    monkeypatch.setattr(
        slurm, "show", lambda _, text: lists.get(text, text.replace(",", "\n") + "\n")
    )


def test_a_list_of_slurm_is_that_of_each_partition():
    assert limit("node[1-3]", KNOWN) == {"fat": ["node1", "node2"], "thin": ["node3"]}
    assert limit("node3,node1,node3", KNOWN) == {"fat": ["node1"], "thin": ["node3"]}


@pytest.mark.parametrize(
    ("listed", "known", "words"),
    [
        (
            "node[1-3],node9",
            KNOWN,
            "no node node9 in fat, thin; there are: node1, node2, node3, no",
        ),
        ("nod1", KNOWN, "no node nod1 in fat, thin"),
        ("node1", KNOWN, "names no node of thin, whose cases would take any"),
        ("", KNOWN, "names no node"),
        ("node[3-1],node1", KNOWN, "node[3-1]: '3-1' is no range of numbers"),
        ("node1", {}, "no partition of this system has a scheduler to ask"),
    ],
)
def test_a_list_that_is_not_of_this_system_is_refused(listed, known, words):
    with pytest.raises(Fault) as caught:
        limit(listed, known)
    assert words in str(caught.value)


def test_benchmarks_are_pinned_to_those_that_are_up():
    assert pinned({"fat": ["node1", "node2"], "thin": ["node3"]}, KNOWN) == "fat=node1;thin=node3"
    assert pinned({}, KNOWN) == ""


def test_the_link_check_leaves_out_all_others_and_what_a_partition_excludes():
    partitions = [{"access": ["-p main", "--exclude=node[7-8]"]}, {"access": ["-x", "node[7-8]"]}]
    limited = {"fat": ["node1"], "thin": ["node3"]}
    assert exclusion(limited, KNOWN, partitions) == "node2,node4,node[7-8]"
    assert exclusion({}, KNOWN, partitions) == ""

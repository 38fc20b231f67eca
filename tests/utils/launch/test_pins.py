"""`launch/pins.py`: nodes that cases are pinned to."""

import pytest

from acceptance.launch import PinFault, pins

PARTITIONS = ("ten", "one")
BLOCK = ("node5", "node6", "node7", "node8")


@pytest.mark.parametrize(
    "found", [{}, {"ten": ("node1",)}, {"ten": ("node1", "node2"), "one": ("node3",)}]
)
def test_what_is_written_is_read(found):
    assert pins.read(pins.write(found), PARTITIONS) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("node1,node2", "is not of the form"),
        ("ten=", "is not of the form"),
        ("ten=node1,,node2", "is not of the form"),
        ("ten=node1,node1", "is not of the form"),
        ("tne=node1", "no partition tne; there are: ten, one"),
        ("ten=node1;ten=node2", "ten stands there twice"),
    ],
)
def test_what_cannot_be_meant_is_refused(text, words):
    with pytest.raises(PinFault) as caught:
        pins.read(text, PARTITIONS)
    assert words in str(caught.value)


def test_a_case_has_its_own_neighbours_and_all_cases_together_have_all_nodes():
    for number in (1, 2, 4):
        cases = {f"case {name}": None for name in range(40)}
        for case in cases:
            cases[case] = tuple(pins.nodes_of_case(BLOCK, number, case))
            assert tuple(pins.nodes_of_case(BLOCK, number, case)) == cases[case]
        blocks = {BLOCK[first : first + number] for first in range(0, 4, number)}
        assert set(cases.values()) == blocks


def test_of_nodes_that_are_no_multiple_some_may_be_left_out():
    assert len(pins.nodes_of_case(BLOCK, 3, "case")) == 3


def test_too_few_nodes_are_refused():
    with pytest.raises(PinFault, match="takes 5 nodes, and is pinned to 4: node5"):
        pins.nodes_of_case(BLOCK, 5, "case")

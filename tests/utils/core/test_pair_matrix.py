"""`core/pairs.py`: what cannot have been measured is refused, with its place."""

import numpy as np
import pytest

from acceptance.core.pairs import PairMatrix

NAN = np.nan
NODES = ("node1", "node2", "node3")
ROUNDS = (np.arange(3)[None, :] - np.arange(3)[:, None]) % 3
VALUES = np.array([[NAN, 1.0, 2.0], [3.0, NAN, 4.0], [5.0, NAN, NAN]])


def altered(row, column, value, array=VALUES):
    array = array.copy()
    array[row, column] = value
    return array


def test_what_was_measured_is_kept():
    matrix = PairMatrix(
        NODES,
        {"latency": VALUES},
        ROUNDS,
        again={"latency": {(0, 1): 1.5}},
        controls=frozenset({(0, 1)}),
        failed={(2, 1): "hung for 20 s"},
        not_again=1,
    )
    assert matrix.measured.sum() == 5
    assert matrix.way((2, 1)) == "node3 -> node2"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"nodes": ("node1",)}, "no pairs of 1 nodes"),
        ({"nodes": ("node1", "", "node3")}, "a node has no name"),
        ({"nodes": ("a", "b", "b")}, "the node b has several ranks"),
        ({"rounds": ROUNDS[:2]}, r"the rounds are \(2, 3\), not of 3 x 3 pairs"),
        ({"rounds": ROUNDS * 1.0}, "no counts from 0"),
        ({"rounds": -ROUNDS}, "no counts from 0"),
        ({"rounds": altered(0, 1, 0, ROUNDS)}, "latency of node1 -> node2 was measured in no"),
        ({"values": {"speed": VALUES}}, "unknown quantity 'speed'; known: latency, bandwidth"),
        ({"values": {"latency": VALUES[0]}}, r"latency are \(3,\), not of 3 x 3 pairs"),
        ({"values": {"latency": altered(1, 1, 1.0)}}, "latency of a node with itself"),
        ({"values": {"latency": altered(1, 2, 0.0)}}, "latency of node2 -> node3: 0.0 was not"),
        ({"values": {"latency": altered(1, 2, np.inf)}}, "node2 -> node3: inf was not measured"),
        ({"again": {"both": {}}}, "both was measured again, but not measured before"),
        ({"again": {"latency": {(0, 0): 1.0}}}, r"again: \(0, 0\) is no pair of 3 nodes"),
        ({"again": {"latency": {(0, 1): NAN}}}, "latency of node1 -> node2 again: nan"),
        ({"failed": {(0, 3): "hung"}}, r"failed pairs: \(0, 3\) is no pair of 3 nodes"),
        ({"controls": frozenset({(0, 1)})}, "node1 -> node2 is a control that was not measured"),
        ({"not_again": -1}, "-1 suspects not measured again"),
    ],
)
def test_what_cannot_have_been_measured_is_refused(wrong, says):
    fields = {"nodes": NODES, "values": {"latency": VALUES}, "rounds": ROUNDS}
    with pytest.raises(ValueError, match=says):
        PairMatrix(**{**fields, **wrong})

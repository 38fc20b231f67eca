"""`nodes/causes.py`: from the curves of a matrix to why its culprits are slow."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import structs

from acceptance.core.pairs import Curve, PairMatrix
from acceptance.fabric import Facts
from acceptance.nodes import AllPairs, causes, culprits, finding_of
from acceptance.nodes.culprit import ONE_WAY, Culprit

COUNT, LEAF, BAD = 16, 4, 5
SIZES = tuple(8 << k for k in range(16))
NEAR, FAR = 1.2, 1.46
FACTS = Facts.read({"technology": "infiniband", "rate": "HDR", "lanes": 4})


def curves(latency, gap, draw):
    made = [
        (latency + gap * np.array(SIZES)) * np.exp(0.01 * draw.standard_normal(len(SIZES)))
        for _ in range(5)
    ]
    return tuple(Curve(SIZES, tuple(times), tuple(1.2 * times), (0.2, 0.2)) for times in made)


@pytest.fixture(scope="module")
def matrix():
    """Return a tree with a node at half of its rate; suspects and controls near and far."""
    draw, rank = np.random.default_rng(7), np.arange(COUNT)
    shift = (rank - rank[:, None]) % COUNT
    far = rank[:, None] // LEAF != rank // LEAF
    slow = (rank[:, None] == BAD) | (rank == BAD)
    latency = np.where(far, FAR, NEAR) * np.exp(0.01 * draw.standard_normal(far.shape))
    rate = np.where(slow, 1e4, 2e4) * np.exp(0.01 * draw.standard_normal(far.shape))
    values = {"latency": latency, "bandwidth": rate, "both": rate}
    for each in values.values():
        np.fill_diagonal(each, np.nan)
    suspects, controls = (
        [(BAD, 4), (BAD, 6), (7, BAD), (4, BAD)],
        [(0, 9), (1, 14), (2, 3), (8, 12)],
    )
    of_pairs = {
        pair: curves(FAR if far[pair] else NEAR, 1e-4 if slow[pair] else 5e-5, draw)
        for pair in (*suspects, *controls)
    }
    again = {name: {pair: float(each[pair]) for pair in of_pairs} for name, each in values.items()}
    names = tuple(f"n{number}" for number in range(COUNT))
    return PairMatrix(
        names, values, shift.astype(np.int32), again, frozenset(controls), curves=of_pairs
    )


def test_the_culprit_has_its_cause_in_its_text_its_finding_and_what_a_case_stores(matrix):
    (found,) = causes.with_causes(matrix, culprits.find(matrix), FACTS)
    assert (found.nodes, found.cause.kind) == ((f"n{BAD}",), "link-trained-lower")
    assert found.text.endswith("L+2o and o the same: 2 of 4 lanes, or rate EDR instead of HDR")
    assert "G 1.99 times" in finding_of(found, "made:default", "openmpi").text
    stored = AllPairs.of_matrix(matrix, COUNT - 1, [found], [])
    assert stored.culprits[0].cause == found.cause


def test_a_latency_is_compared_at_the_same_distance(matrix):
    # All suspects are near, most controls far: by itself the latency of these would be longer.
    near = {pair: of for pair, of in matrix.curves.items() if pair != (2, 3)}
    (found,) = causes.with_causes(replace(matrix, curves=near), culprits.find(matrix), FACTS)
    assert "L+2o and o the same" in found.text


def test_a_pair_without_a_known_route_is_at_no_distance(matrix):
    far = np.arange(COUNT)[:, None] // LEAF != np.arange(COUNT) // LEAF
    hops = np.where(far, 4, 2)
    np.fill_diagonal(hops, 0)
    # Of one node no route is known, and it is later than all others.
    hops[0], hops[:, 0] = 0, 0
    latency = np.where(hops == 0, 5.0, np.where(far, FAR, NEAR))
    of_all = replace(matrix, values={**matrix.values, "latency": latency})
    later, switch = causes._later(of_all, SimpleNamespace(hops=hops))
    assert switch == pytest.approx((FAR - NEAR) / 2)
    assert not later[hops == 0].any()
    assert later[1, -1] == pytest.approx(FAR - NEAR)


def test_without_a_curve_of_its_pairs_nobody_can_tell(matrix):
    none = replace(matrix, curves={})
    (found,) = causes.with_causes(none, culprits.find(none), FACTS)
    assert found.cause.kind == "cannot-tell"
    assert found.text.endswith("cannot tell why: no curve of its pairs was measured")


def test_what_is_no_culprit_of_pairs_has_no_cause(matrix):
    told = [structs.replace(each, kind="node-unsteady") for each in culprits.find(matrix)]
    assert [each.cause for each in causes.with_causes(matrix, told, FACTS)] == [None]


def test_of_two_nodes_a_way_has_its_cause_although_there_is_one_distance():
    draw = np.random.default_rng(3)
    of_pairs = {(0, 1): curves(NEAR, 1e-4, draw), (1, 0): curves(NEAR, 5e-5, draw)}
    latency, rate = (np.full((2, 2), np.nan) for _ in range(2))
    for (sender, receiver), value in {(0, 1): 1e4, (1, 0): 2e4}.items():
        latency[sender, receiver], rate[sender, receiver] = NEAR, value
    values = {"latency": latency, "bandwidth": rate, "both": rate}
    two = PairMatrix(
        ("n0", "n1"), values, np.ones((2, 2), np.int32), controls=frozenset({(1, 0)}),
        curves=of_pairs,
    )  # fmt: skip
    slow = Culprit(kind=ONE_WAY, nodes=("n0",), others=("n1",), quantity="bandwidth")
    (told,) = causes.with_causes(two, [slow], FACTS)
    assert told.cause.kind == "link-trained-lower"


def test_the_way_to_far_pairs_is_taken_from_a_curve_but_never_more_than_half_of_it():
    curve = Curve((8, 16, 32), (1.0, 2.0, 4.0), (1.5, 2.5, 5.0), (0.2, None))
    nearer = causes._nearer(curve, 0.75)
    assert nearer == Curve(curve.sizes, (0.5, 1.25, 3.25), (1.0, 1.75, 4.25), (0.2, None))

"""Culprits of made matrices: each kind is named, and nobody else."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from acceptance.core.pairs import Inside, PairMatrix
from acceptance.nodes import AllPairs, Culprit
from acceptance.nodes.culprit import NOT_JUDGED
from acceptance.nodes.culprits import find, judge
from acceptance.nodes.fit import distances, log_loss
from tests.made_matrices import LEAF, made

ONE_WAY = [("node", "node-slow"), ("sends", "node-sends-slow"), ("receives", "node-receives-slow")]


def failing(matrix, **known):
    return [culprit for culprit in find(matrix, **known) if culprit.fails]


def identity(culprit):
    return culprit.kind, culprit.quantity, ",".join(culprit.nodes), ",".join(culprit.others)


def hops_of(count, leaf):
    """Return the links between nodes of which so many are on a leaf."""
    leaves = np.arange(count) // leaf
    return np.where(leaves[:, None] == leaves, 2, 4)


def altered(matrix, change):
    """Return a matrix of which the values of each quantity were changed in place."""
    values = {quantity: array.copy() for quantity, array in matrix.values.items()}
    for array in values.values():
        change(array)
    return replace(matrix, values=values)


@pytest.mark.parametrize("count", [4, 5, 6, 8, 13, 32, 200])
@pytest.mark.parametrize(("what", "kind"), ONE_WAY)
def test_a_slow_node_and_a_slow_direction_are_named_and_nobody_else(count, what, kind):
    matrix, truth = made(count, seed=count, what=what)
    found = failing(matrix)
    assert [(each.kind, each.nodes, each.others) for each in found] == [(kind, truth.nodes, ())]
    assert found[0].node == truth.nodes[0]
    assert 0.6 < found[0].ratio < 0.8
    assert found[0].of == count - 1
    assert found[0].again is None
    assert "not measured again" in found[0].text


@pytest.mark.parametrize("count", [32, 64, 200])
def test_a_slow_path_is_named_with_both_ends(count):
    matrix, truth = made(count, seed=count, what="path", spread=0.03)
    found = failing(matrix)
    assert [identity(each) for each in found] == [
        ("way-slow", "bandwidth", truth.nodes[0], truth.others[0])
    ]
    assert found[0].node == ""


def test_a_few_nodes_need_a_second_measurement_to_tell_a_path():
    matrix, truth = made(12, seed=3, what="path", repeats=True)
    (path,) = failing(matrix)
    assert (path.nodes, path.others) == (truth.nodes, truth.others)
    assert 0.6 < path.again < 0.8
    assert not failing(replace(matrix, again={}, controls=frozenset()))


def test_a_path_in_one_direction_needs_a_second_measurement():
    def slow(values):
        values[3, 9] *= 0.6

    matrix = altered(made(64, seed=1, repeats=True)[0], slow)
    repeated = {q: {**again, (3, 9): 5900.0} for q, again in matrix.again.items()}
    assert not failing(matrix)
    assert [identity(each) for each in failing(replace(matrix, again=repeated))] == [
        ("way-slow-one-way", "bandwidth", "node0004", "node0010")
    ]


@pytest.mark.parametrize("count", [32, 80, 192])
@pytest.mark.parametrize("known", [False, True])
def test_nodes_that_share_slow_uplinks_are_named_together(count, known):
    matrix, truth = made(count, seed=2, what="uplinks")
    (uplink,) = failing(matrix, hops=hops_of(count, LEAF) if known else None)
    rest = tuple(sorted({*matrix.nodes} - {*truth.nodes}))
    assert (uplink.kind, uplink.others) == ("uplink-slow", ())
    assert uplink.nodes in (truth.nodes, rest)
    assert uplink.of == 2 * LEAF * (count - LEAF)


@pytest.mark.parametrize("number", [2, 3, 16])
@pytest.mark.parametrize(("way", "why"), [
    ((True, True), ""), ((True, False), "in this direction only"),
    ((False, True), "in the direction to the first only"),
])  # fmt: skip
def test_what_a_few_nodes_share_is_an_uplink_and_slow_nodes_that_share_nothing_are_nodes(
    number, way, why
):
    def share(values):
        rest = np.arange(64) >= number
        values[:number, rest] *= 0.7 if way[0] else 1
        values[rest, :number] *= 0.7 if way[1] else 1

    def both(values):
        values[:2] *= 0.7
        values[:, :2] *= 0.7

    matrix = made(64, seed=3)[0]
    (uplink,) = failing(altered(matrix, share))
    assert (uplink.kind, uplink.nodes, uplink.others) == ("uplink-slow", matrix.nodes[:number], ())
    assert uplink.why == why
    assert {(each.kind, each.nodes) for each in failing(altered(matrix, both))} == {
        ("node-slow", (name,)) for name in matrix.nodes[:2]
    }


def test_one_slow_cable_between_switches_is_a_block_of_the_pairs_that_it_carries():
    matrix, truth = made(192, seed=2, what="cable")
    (uplink,) = failing(matrix)
    assert (uplink.kind, uplink.nodes, len(uplink.others)) == ("uplink-slow", truth.nodes, 11)


@pytest.mark.parametrize("seed", [41, 43, 49])
def test_a_node_near_the_smallest_loss_whose_pairs_are_slow_twice_is_that_node(seed):
    """It is no uplink between those of its partners that happen to be beyond the bound."""
    kept = (1, 5, 13, 22, 42, 51, 59, 63)
    matrix, truth = made(64, seed, "node", 0.9, 0.02, "student", repeats=True, kept=kept)
    assert [(each.kind, each.nodes) for each in failing(matrix)] == [("node-slow", truth.nodes)]


def test_two_faults_at_once_are_two_culprits():
    def slow(values):
        values[70] *= 0.5
        values[:, 70] *= 0.5
        values[20, 44] *= 0.6
        values[44, 20] *= 0.6

    matrix, truth = made(192, seed=2, what="uplinks")
    assert {(each.kind, each.nodes, each.others) for each in failing(altered(matrix, slow))} == {
        ("uplink-slow", truth.nodes, ()),
        ("node-slow", ("node0071",), ()),
        ("way-slow", ("node0021",), ("node0045",)),
    }


@pytest.mark.parametrize("count", [12, 64])
def test_of_slow_nodes_that_are_half_of_all_the_good_ones_tell(count):
    def slow(values):
        values[count // 2 :] *= 0.6
        values[:, count // 2 :] *= 0.6

    matrix = altered(made(count, seed=1, spread=0.02)[0], slow)
    (culprit,) = failing(matrix)
    assert (culprit.kind, culprit.nodes) == ("nodes-differ", matrix.nodes[count // 2 :])


@pytest.mark.parametrize("count", [4, 6])
def test_of_very_few_nodes_half_of_which_are_slow_that_is_not_passed_over(count):
    def slow(values):
        values[count // 2 :] *= 0.6
        values[:, count // 2 :] *= 0.6

    found = find(altered(made(count, seed=1, spread=0.02)[0], slow))
    assert {each.kind for each in found} <= {"not-judged", "nodes-differ"}
    assert {each.quantity for each in found} == {"bandwidth", "both"}


@pytest.mark.parametrize("family", ["normal", "student", "bursts", "round", "stragglers"])
def test_healthy_ones_raise_nothing(family):
    sizes = {4: 15, 5: 15, 8: 15, 24: 6, 64: 2}
    for count, runs in sizes.items():
        for seed in range(runs):
            assert not failing(made(count, seed, family=family)[0]), (count, seed)


@pytest.mark.parametrize(("count", "uplinks"), [(32, 8), (64, 8), (64, 4), (160, 8)])
def test_a_healthy_tree_with_fewer_uplinks_raises_nothing(count, uplinks):
    matrix, _ = made(count, seed=1, spread=0.02, uplinks=uplinks)
    assert find(matrix) == find(matrix, hops=hops_of(count, LEAF)) == []


def test_a_slow_node_is_seen_in_a_tree_with_fewer_uplinks():
    matrix, truth = made(160, seed=1, what="node", uplinks=8)
    assert [(each.kind, each.nodes) for each in failing(matrix)] == [("node-slow", truth.nodes)]


def test_a_latency_that_only_distance_makes_longer_is_no_fault_and_a_slow_node_is_one():
    hops = hops_of(48, LEAF)
    time = 1.0 + 0.5 * (hops > 2)
    time *= np.exp(0.05 * np.random.default_rng(1).standard_normal(time.shape))
    np.fill_diagonal(time, np.nan)
    rounds = made(48, seed=1)[0].rounds
    matrix = PairMatrix(made(48, seed=1)[0].nodes, {"latency": time}, rounds)
    assert find(matrix) == find(matrix, hops=hops) == []

    def slow(values):
        values[5] *= 1.8
        values[:, 5] *= 1.8

    (culprit,) = find(altered(matrix, slow), hops=hops)
    assert (identity(culprit), culprit.unit) == (("node-slow", "latency", "node0006", ""), "us")
    assert 1.6 < culprit.ratio < 2.0
    assert culprit.severity == "critical"


LATE = {"what": "node", "share": 1 / 1.15, "quantities": ("latency",)}


@pytest.mark.parametrize("count", [12, 64, 200])
def test_a_node_whose_latency_is_15_percent_above_all_others_is_named(count):
    for seed in range(3):
        matrix, truth = made(count, seed, **LATE)
        (culprit,) = failing(matrix)
        assert (culprit.kind, culprit.nodes) == ("node-slow", truth.nodes)
        assert 1.1 < culprit.ratio < 1.2


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize(("count", "far", "leaf"), [(64, 0.3, LEAF), (64, 0.5, 14), (36, 0.3, 8)])
def test_a_latency_is_compared_within_the_distance_with_and_without_routes(
    count, far, leaf, repeats
):
    for seed in range(4):
        matrix, truth = made(count, seed, far=far, leaf=leaf, repeats=repeats, **LATE)
        for known in ({}, {"hops": hops_of(count, leaf)}):
            (culprit,) = failing(matrix, **known)
            assert (culprit.kind, culprit.nodes) == ("node-slow", truth.nodes)


def test_where_distances_do_not_show_a_node_may_stand_farther_and_is_not_named():
    matrix, _ = made(64, 1, far=0.3, kept=(1, 2, 5, 29, 31), **LATE)
    assert not failing(matrix)


def test_a_latency_shows_two_distances_only_where_each_node_has_its_group():
    same = np.arange(64) // LEAF
    logs = log_loss(made(64, 1, far=0.3, **LATE)[0].values["latency"], "us")
    np.testing.assert_array_equal(distances(logs), same[:, None] != same)
    assert distances(log_loss(made(64, 1, **LATE)[0].values["latency"], "us")) is None
    for late in (slice(1), slice(2), slice(32)):  # with whomever: of other nodes no group
        values = made(64, 1, quantities=("latency",))[0].values["latency"].copy()
        values[late] *= 1.3
        values[:, late] *= 1.3
        assert distances(log_loss(values, "us")) is None


def test_a_node_without_any_pair_hides_no_node_that_is_near_to_no_group():
    same = np.arange(16) // 8
    values = np.where(same[:, None] == same, 1.0, 1.5)
    values[-1] = values[:, -1] = np.nan
    apart = distances(log_loss(values, "us"))
    np.testing.assert_array_equal(apart[:-1, :-1], (same[:, None] != same)[:-1, :-1])
    values[0, :-1] = values[:-1, 0] = 1.25
    assert distances(log_loss(values, "us")) is None


@pytest.mark.parametrize(("count", "leaf"), [(16, 14), (20, 16), (36, 16), (64, 14), (200, 48)])
def test_a_node_that_stands_in_a_small_leaf_is_no_slow_one(count, leaf):
    for seed in range(3):
        matrix, _ = made(count, seed, far=0.5, leaf=leaf, quantities=("latency",))
        assert not failing(matrix)
        assert not failing(matrix, hops=hops_of(count, leaf))


@pytest.mark.parametrize("count", [12, 16, 64])
@pytest.mark.parametrize("repeats", [False, True])
def test_a_quarter_of_older_nodes_is_told_as_a_kind_and_hides_no_fault(count, repeats):
    # Of few nodes a path is known once it was measured again.
    paths = [("newer", "path"), ("older", "path")] if repeats else []
    for kinds, what in (("", ""), ("older", "node"), ("newer", "node"), *paths):
        matrix, truth = made(count, count, what=what, kinds=kinds, repeats=repeats)
        (kind, *faults) = sorted(failing(matrix), key=lambda each: each.kind != "nodes-differ")
        assert kind.kind == "nodes-differ"
        assert {*kind.nodes} | {*truth.nodes} == {*truth.older} | {*truth.nodes}
        assert 0.75 < kind.ratio < 0.85
        assert f"{len(kind.nodes)} nodes alike, {1 - kind.ratio:.0%} slower than the" in kind.text
        assert kind.severity == "major"
        assert [(each.kind, each.nodes, each.others) for each in faults] == (
            [(truth.kind, truth.nodes, truth.others)] if what else []
        )


def test_the_value_of_an_older_node_is_what_its_pairs_have():
    matrix, truth = made(64, 1, kinds="")
    for each in judge(matrix)[1]:
        shares = {name: v / each.median for name, v in zip(matrix.nodes, each.values, strict=True)}
        assert all(0.75 < shares[name] < 0.85 for name in truth.older)
        assert all(abs(shares[name] - 1) < 0.05 for name in {*matrix.nodes} - {*truth.older})


def test_a_few_shifts_are_enough_to_name_a_node():
    matrix, truth = made(200, seed=1, what="node", kept=(1, 2, 5, 29, 77, 101))
    (culprit,) = failing(matrix)
    assert (culprit.kind, culprit.nodes, culprit.of) == ("node-slow", truth.nodes, 12)


@pytest.mark.parametrize("seed", [0, 1, 6, 13, 14, 16])
def test_what_a_slow_node_explains_makes_no_chance_beside_it_certain(seed):
    """Of few shifts a healthy pair is often among the slowest of its node, and measured again."""
    shifts = (1, 2, 5, 29, 77, 101)
    matrix, truth = made(200, seed, what="node", kept=shifts, repeats=True)
    assert [(each.kind, each.nodes) for each in failing(matrix)] == [("node-slow", truth.nodes)]


def test_measured_again_alone_a_culprit_is_confirmed_or_unsteady():
    matrix, truth = made(24, seed=1, what="node", repeats=True)
    (confirmed,) = find(matrix)
    assert confirmed.kind == "node-slow"
    assert 0.6 < confirmed.again < 0.8
    good = {quantity: dict.fromkeys(again, 1e4) for quantity, again in matrix.again.items()}
    (unsteady,) = find(replace(matrix, again=good))
    assert (unsteady.kind, unsteady.nodes, unsteady.fails) == ("node-unsteady", truth.nodes, False)
    assert unsteady.severity == "minor"


def test_missing_values_hide_no_culprit_and_are_told_where_they_are_too_many():
    def holes(values):
        values[np.random.default_rng(1).random(values.shape) < 0.3] = np.nan
        values[7] = np.nan

    matrix, truth = made(32, seed=4, what="receives")
    found = find(altered(matrix, holes))
    assert [(each.kind, each.nodes) for each in found if each.fails] == [
        ("node-receives-slow", truth.nodes)
    ]
    assert {(each.kind, each.nodes, each.quantity) for each in found if not each.fails} == {
        ("not-judged", ("node0008",), "bandwidth"),
        ("not-judged", ("node0008",), "both"),
    }


def test_two_nodes_are_one_pair_that_is_not_judged_and_that_is_said():
    matrix, _ = made(2, seed=1)
    (only,) = find(altered(matrix, lambda values: np.multiply(values, 0.5, out=values)))
    assert (only.kind, only.nodes, only.fails) == ("not-judged", matrix.nodes, False)
    assert "only a reference, the fabric's limit or their past can tell" in only.text
    assert "nothing tells which of them it is" in only.text


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("what", ["node", "sends", "receives", "path"])
def test_of_three_nodes_the_one_with_two_slow_partners_is_named_and_a_path_of_good_ones(what, seed):
    matrix, truth = made(3, seed, what=what, repeats=True)
    found = failing(matrix)
    assert [(e.kind, e.nodes, e.others) for e in found] == [(truth.kind, truth.nodes, truth.others)]
    # One look at six pairs may be noise.
    (unproven,) = find(replace(matrix, again={}, controls=frozenset()))
    assert (unproven.kind, unproven.nodes) == ("not-judged", truth.nodes)
    assert "not measured again alone: with three nodes it may be noise" in unproven.text


@pytest.mark.parametrize("family", ["normal", "student", "bursts", "round", "stragglers"])
def test_three_healthy_nodes_raise_nothing(family):
    assert not [s for s in range(60) if failing(made(3, s, family=family, repeats=True)[0])]


def test_what_one_quantity_alone_shows_again_or_noise_may_be_cannot_be_told_of_three_nodes():
    matrix, truth = made(3, 1, what="node", repeats=True)
    once = {**matrix.again, "both": dict.fromkeys(matrix.again["both"], 1e4)}
    (untold,) = find(replace(matrix, again=once))
    assert (untold.kind, untold.nodes) == ("not-judged", truth.nodes)
    assert "measured again alone in one quantity only" in untold.text
    wide, truth = made(3, 3, what="sends", share=0.3, spread=0.12, repeats=True)
    (untold,) = find(wide)
    assert (untold.kind, untold.nodes) == ("not-judged", truth.nodes)
    assert "the other pairs of three nodes differ too much" in untold.text


def inside(count, *slow, share=0.7, again=None, unit="MB/s", seed=1):
    """Return nodes of which some have this share of the bandwidth inside, or are as much later."""
    matrix, chance = made(count, seed)[0], np.random.default_rng(seed)
    values = {}
    for quantity in ("latency inside", "bandwidth inside", "both inside"):
        values[quantity] = 1e4 * np.exp(0.02 * chance.standard_normal(count))
        is_time = quantity == "latency inside"
        if is_time == (unit == "us"):
            values[quantity][list(slow)] *= 1 / share if is_time else share
    repeated = {name: dict.fromkeys(slow, again) for name in values} if again else {}
    return replace(matrix, inside=Inside(values, repeated))


@pytest.mark.parametrize("count", [3, 4, 8, 64])
@pytest.mark.parametrize(("unit", "share"), [("MB/s", 0.7), ("us", 0.5)])
def test_a_node_that_is_slow_inside_is_told_as_that_and_once(count, unit, share):
    matrix = inside(count, 1, unit=unit, share=share)
    (culprit,) = failing(matrix)
    assert (culprit.kind, culprit.nodes) == ("node-slow-inside", ("node0002",))
    assert culprit.quantity == {"us": "latency inside", "MB/s": "bandwidth inside"}[unit]
    assert 0.9 * share < min(culprit.ratio, 1 / culprit.ratio) < 1.1 * share
    assert "slow inside, between its own cores" in culprit.text
    bandwidth = next(e for e in judge(matrix)[1] if e.quantity == culprit.quantity)
    assert bandwidth.values[1] == pytest.approx(culprit.value)
    assert bandwidth.median == pytest.approx(culprit.median)


def test_of_two_nodes_the_slower_one_inside_is_known_and_half_of_many_are_told_together():
    (slower,) = failing(inside(2, 0))
    assert (slower.kind, slower.nodes) == ("nodes-differ", ("node0001",))
    (half,) = failing(inside(8, 1, 3, 5, 7))
    assert (half.kind, len(half.nodes)) == ("nodes-differ", 4)


def test_what_was_slow_inside_only_once_is_unsteady_and_healthy_nodes_raise_nothing():
    (unsteady,) = find(inside(8, 1, again=1e4))
    assert (unsteady.kind, unsteady.nodes, unsteady.fails) == (
        "node-unsteady",
        ("node0002",),
        False,
    )
    (confirmed,) = find(inside(8, 1, again=7e3))
    assert confirmed.kind == "node-slow-inside"
    assert not [
        n for n in (2, 3, 4, 16, 64) for s in range(20) if find(inside(n, seed=s))[n == 2 :]
    ]


def test_a_node_whose_inside_failed_is_named_with_the_reason():
    matrix = inside(8)
    lost = replace(matrix, inside=replace(matrix.inside, failed={3: "latency: no answer in 5 s"}))
    (failed,) = find(lost)
    assert (failed.kind, failed.nodes) == ("pair-failed", ("node0004",))
    assert "inside of the node: latency: no answer in 5 s" in failed.text


@pytest.mark.parametrize("count", [3, 12, 64])
def test_each_node_has_a_value_with_its_distance_from_the_median_of_the_good_ones(count):
    matrix, truth = made(count, seed=1, what="node", repeats=True)
    place = matrix.nodes.index(truth.nodes[0])
    for each in judge(matrix)[1]:
        good = [value for node, value in enumerate(each.values) if node != place]
        assert each.values[place] / each.median == pytest.approx(0.7, abs=0.06)
        if count > 3:  # of three, each one has a slow partner among its two
            assert max(abs(value / each.median - 1) for value in good) < 0.1


def test_pairs_that_differ_without_a_pattern_are_not_judged_and_that_is_said():
    found = find(made(32, seed=1, spread=0.3)[0])
    assert {(each.kind, each.nodes) for each in found} == {("not-judged", ())}
    assert "good pairs differ by 29%" in found[0].text


def test_a_matrix_without_values_is_not_judged():
    def nothing(values):
        values[:] = np.nan

    found = find(altered(made(8, seed=1)[0], nothing))
    assert [(each.kind, each.quantity) for each in found] == [
        ("not-judged", "bandwidth"), ("not-judged", "both"),
    ]  # fmt: skip


def test_failed_pairs_are_told_of_their_node_or_one_by_one():
    matrix, _ = made(8, seed=1)
    failed = {(3, other): "no answer for 10 s" for other in range(8) if other != 3}
    failed[0, 1] = "wrong data"

    def gone(values):
        for pair in failed:
            values[pair] = np.nan

    found = find(replace(altered(matrix, gone), failed=failed))
    node, pair = (each for each in found if each.kind == "pair-failed")
    assert (node.nodes, node.pairs, node.of) == (("node0004",), 7, 14)
    assert (pair.nodes, pair.others) == (("node0001",), ("node0002",))
    assert "no answer for 10 s" in node.text
    assert {each.nodes for each in found if each.kind == "not-judged"} == {("node0004",)}


def test_suspects_that_no_time_was_left_for_are_told():
    matrix, _ = made(24, seed=1, what="node")
    found = find(replace(matrix, not_again=40))
    assert [each.kind for each in found] == ["node-slow", "not-judged"]
    assert "40 suspicious pairs not measured again" in found[1].text


def test_a_culprit_is_the_same_on_each_look_and_comes_back_as_it_was_stored():
    matrix, _ = made(64, seed=5, what="path", spread=0.02, repeats=True)
    found = find(matrix)
    assert found
    assert find(matrix) == found
    assert msgspec.json.decode(msgspec.json.encode(found), type=list[Culprit]) == found
    other = find(made(64, seed=5, what="path", spread=0.02, share=0.6)[0])
    assert [identity(each) for each in other] == [identity(each) for each in found]
    assert {each.text for each in other}.isdisjoint(each.text for each in found)


def test_the_nodes_that_were_compared_are_those_that_were_judged_in_a_quantity():
    def judged(quantity, *culprits):
        counts = (6, 2, 2, 0)  # pairs, rounds, those planned, pairs again
        nodes, both = ("a", "b", "c"), ("bandwidth", "latency")
        return "".join(sorted(AllPairs(nodes, both, (1, 2), *counts, culprits).judged(quantity)))

    assert (judged("bandwidth"), judged("rate")) == ("abc", "")
    of_one = Culprit(NOT_JUDGED, ("a",), quantity="bandwidth")
    assert (judged("bandwidth", of_one), judged("latency", of_one)) == ("bc", "abc")
    assert judged("bandwidth", Culprit(NOT_JUDGED, quantity="bandwidth")) == ""
    assert judged("bandwidth", Culprit(NOT_JUDGED, ("a", "b"))) == ""
    # An aim that was out of reach is said beside it.
    assert judged("bandwidth", Culprit(NOT_JUDGED, why="no aim")) == "abc"

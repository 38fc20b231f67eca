"""Nodes compared with each other: a culprit is named, and nobody else."""

import random
from itertools import combinations

import pytest

from acceptance.core.pairs import PairResult
from acceptance.machine import rounds as launch_rounds
from acceptance.nodes import Kind, compare, partners, review

BETWEEN = Kind("made:qdr", "gcc", "between")
INSIDE = Kind("made:qdr", "gcc", "inside")
TOLERANCE = {"us": 0.5, "MB/s": 0.15}


def tolerance(_, unit):
    return TOLERANCE[unit]


def names(count):
    return [f"node{number:03}" for number in range(1, count + 1)]


def rounds(count):
    """Return the rounds of pairs of nodes that are run for so many."""
    nodes = names(count)
    return {
        each.name: [(nodes[left], nodes[right]) for left, right in each.pairs]
        for each in launch_rounds.rounds(count)
    }


def halves(count):
    """Return one round of pairs that are far from each other."""
    nodes = names(count)
    return {"half": list(zip(nodes, nodes[count // 2 :], strict=False))[: count // 2]}


def shared(count):
    """Return the pairs that share the upper switches of a tree with half of the links up there."""
    return rounds(count)["halves"]


def measured(count, slow=(), ways=(), factor=0.5, noise=0.0, seed=0, rounds_of=rounds):
    """Return what pairs measure of which a slow node, or way, has this share of the bandwidth."""
    chance = random.Random(seed)
    results = []
    for name, pairs in rounds_of(count).items():
        for pair in pairs:
            bad = set(pair) & set(slow) or pair in ways or pair[::-1] in ways
            share = (factor if bad else 1.0) * (1 - noise * chance.random())
            results += [
                PairResult(name, pair, 8, 2.0 / share, 4 * share),
                PairResult(name, pair, 2**22, 400 / share, 10_000 * share),
            ]
    return results


def inside(values):
    """Return what pairs inside of nodes measure: node -> bandwidth."""
    return [PairResult("inside", (node,), 2**22, 1.0, value) for node, value in values.items()]


def blamed(comparisons):
    return {
        (finding.kind, finding.nodes, finding.severity)
        for comparison in comparisons
        for finding in comparison.findings
    }


@pytest.mark.parametrize(
    ("count", "number"), [(count, number) for count in range(4, 10) for number in range(count)]
)
@pytest.mark.parametrize("factor", [0.5, 0.1])
def test_any_single_throttled_node_is_named_and_only_it(count, number, factor):
    node = names(count)[number]
    for seed in range(10):
        results = measured(count, slow=[node], factor=factor, noise=0.08, seed=seed)
        comparisons = compare({BETWEEN: results}, tolerance)
        assert {found[:2] for found in blamed(comparisons)} == {("node-slow", (node,))}
        (finding,) = comparisons[1].findings
        assert (finding.severity, finding.loss > 0.4) == ("critical", True)


@pytest.mark.parametrize("count", [3, 4, 5, 9, 16, 200])
def test_equal_nodes_are_all_good_also_with_noise(count):
    for seed in range(10):
        comparisons = compare({BETWEEN: measured(count, noise=0.1, seed=seed)}, tolerance)
        assert blamed(comparisons) == set()
        assert [comparison.reason for comparison in comparisons] == ["", ""]
        assert set(comparisons[0].nodes) == set(names(count))


def test_a_node_that_has_lost_less_than_twice_the_tolerance_is_major():
    results = measured(8, slow=["node003"], factor=0.8)
    (finding,) = compare({BETWEEN: results}, tolerance)[1].findings
    assert (finding.nodes, finding.severity) == (("node003",), "major")
    assert str(finding) == (
        "made:qdr: node003 is slow: bandwidth of 4 MiB between nodes 8000 MB/s; median 10000 MB/s: "
        "20% worse, tolerance 15%"
    )


def test_two_throttled_nodes_that_are_partners_are_both_named():
    results = measured(8, slow=["node001", "node002"])
    assert {names for _, names, _ in blamed(compare({BETWEEN: results}, tolerance))} == {
        ("node001",), ("node002",),
    }  # fmt: skip


#: Number of nodes -> two that are the only partners of the last one of an odd number, which waits
#: in the round `halves`: it is called slow, too.
AROUND_THE_LAST = {5: (0, 3), 7: (0, 5), 9: (0, 7)}


@pytest.mark.parametrize(
    ("count", "numbers"),
    [(count, two) for count in range(4, 10) for two in combinations(range(count), 2)],
)
def test_any_two_throttled_nodes_are_named_and_only_they(count, numbers):
    slow = {names(count)[number] for number in numbers}
    around = AROUND_THE_LAST.get(count) == numbers
    for seed in range(5):
        for comparison in compare(
            {BETWEEN: measured(count, slow=slow, noise=0.08, seed=seed)}, tolerance
        ):
            found = {finding.kind for finding in comparison.findings}
            assert comparison.suspects == slow | ({names(count)[-1]} if around else set())
            # Half of four nodes are a group; so are these two of five with the one between them.
            if 2 * len(comparison.suspects) >= count:
                assert found == {"nodes-differ"}
            else:
                assert found == {"node-slow", *(["pair-slow"] if around else [])}


def test_without_the_halves_every_second_of_four_nodes_may_be_slow_and_nothing_tells_it():
    ring = lambda count: {  # noqa: E731
        name: pairs for name, pairs in rounds(count).items() if name != "halves"
    }
    results = measured(4, slow=["node002", "node004"], rounds_of=ring)
    assert blamed(compare({BETWEEN: results}, tolerance)) == set()


@pytest.mark.parametrize("count", [*range(4, 10), 200])
@pytest.mark.parametrize("factor", [0.5, 0.3])
def test_upper_switches_that_are_shared_blame_the_round_and_neither_node_nor_way(count, factor):
    for seed in range(5):
        results = measured(count, ways=shared(count), factor=factor, noise=0.08, seed=seed)
        assert blamed(compare({BETWEEN: results}, tolerance)) == {("round-slow", (), "minor")}


@pytest.mark.parametrize(
    ("count", "number"), [(count, number) for count in range(4, 10) for number in range(count)]
)
def test_where_upper_switches_are_shared_the_slow_node_is_named_and_no_other(count, number):
    node = names(count)[number]
    results = measured(count, slow=[node], ways=shared(count))
    found = {names: kind for kind, names, _ in blamed(compare({BETWEEN: results}, tolerance))}
    # The round is told, too, as long as it has a pair of good nodes.
    assert found == {(node,): "node-slow", (): "round-slow"}


def test_a_partner_over_shared_switches_is_no_proof_against_a_node():
    # The neighbours of node003 are slow, and so is its way to node007.
    results = measured(8, slow=["node002", "node004"], ways=shared(8))
    found = {names: kind for kind, names, _ in blamed(compare({BETWEEN: results}, tolerance))}
    assert found == {
        ("node002",): "node-slow", ("node004",): "node-slow", ("node003",): "pair-slow",
        (): "round-slow",
    }  # fmt: skip
    results = measured(8, slow=["node002", "node003", "node004"])
    assert {names for _, names, _ in blamed(compare({BETWEEN: results}, tolerance))} == {
        ("node002",), ("node003",), ("node004",),
    }  # fmt: skip


@pytest.mark.parametrize("count", [4, 5, 8])
def test_some_pairs_that_share_a_link_up_there_are_named_as_a_reservation(count):
    pair = shared(count)[0]
    comparisons = compare({BETWEEN: measured(count, ways=[pair])}, tolerance)
    found = {(kind, severity) for kind, _, severity in blamed(comparisons)}
    assert found == {("round-slow", "minor")}
    if count == 8:
        (finding,) = comparisons[1].findings
        assert finding.nodes == pair
        assert "some pairs of the round halves are slow, while their nodes are not: " in str(
            finding
        )


@pytest.mark.parametrize(("count", "slow"), [(4, 2), (8, 4), (9, 5), (16, 12)])
def test_half_of_the_nodes_and_more_are_said_to_be_a_group_of_their_own(count, slow):
    # Neighbours, so that the good ones have each other in some round.
    bad = names(count)[:slow]
    comparisons = compare({BETWEEN: measured(count, slow=bad, factor=0.6)}, tolerance)
    (finding,) = comparisons[1].findings
    assert (finding.kind, finding.severity) == ("nodes-differ", "critical")
    assert set(finding.nodes) >= set(bad)
    assert f"{len(finding.nodes)} nodes are slower than the others" in str(finding)
    assert comparisons[1].median == 10_000


def test_a_few_nodes_that_are_better_than_all_others_are_a_reservation():
    bad = names(20)[:16]
    (_, large) = compare({BETWEEN: measured(20, slow=bad, factor=0.6)}, tolerance)
    assert blamed([large]) == {("nodes-better", tuple(names(20)[16:]), "minor")}


def test_a_way_between_two_good_nodes_is_told_from_a_node():
    comparisons = compare({BETWEEN: measured(8, ways=[("node003", "node004")])}, tolerance)
    assert blamed(comparisons) == {("way-slow", ("node003", "node004"), "major")}
    assert "the way between node003 and node004 is slow" in str(comparisons[1].findings[0])


def test_of_three_nodes_the_slow_way_is_told_with_all_pairs():
    all_pairs = lambda count: {  # noqa: E731
        "1": [("node001", "node002")], "2": [("node002", "node003")], "3": [("node001", "node003")],
    }  # fmt: skip
    results = measured(3, ways=[("node001", "node003")], rounds_of=all_pairs)
    assert blamed(compare({BETWEEN: results}, tolerance)) == {
        ("way-slow", ("node001", "node003"), "major")
    }
    results = measured(3, slow=["node003"], rounds_of=all_pairs)
    assert blamed(compare({BETWEEN: results}, tolerance)) == {
        ("node-slow", ("node003",), "critical")
    }


def test_a_slow_pair_without_other_partners_blames_neither_alone():
    comparisons = compare({BETWEEN: measured(8, slow=["node001"], rounds_of=halves)}, tolerance)
    assert blamed(comparisons) == {("pair-slow", ("node001", "node005"), "critical")}
    assert "are slow, but measured with each other only" in str(comparisons[1].findings[0])


def test_a_node_whose_only_partner_is_slow_is_not_called_good():
    pairs = {"1": [("a", "b"), ("c", "d"), ("e", "f")], "2": [("b", "c"), ("d", "e")]}
    results = measured(6, slow=["b"], rounds_of=lambda count: pairs)
    found = {names: kind for kind, names, _ in blamed(compare({BETWEEN: results}, tolerance))}
    assert found == {("b",): "node-slow", ("a",): "pair-slow"}


def test_a_node_with_one_partner_may_have_a_slow_way():
    pairs = {"1": [("a", "b"), ("c", "d")], "2": [("b", "c"), ("a", "d")], "3": [("d", "e")]}
    (_, large) = compare(
        {BETWEEN: measured(5, slow=["e"], rounds_of=lambda count: pairs)}, tolerance
    )
    assert "e is slow, or its way to d, its only partner" in str(large.findings[0])


def test_a_round_whose_ways_are_all_slow_is_told_and_no_node():
    results = measured(
        12, ways=halves(12)["half"], rounds_of=lambda count: rounds(count) | halves(count)
    )
    assert blamed(compare({BETWEEN: results}, tolerance)) == {("round-slow", (), "minor")}


def test_a_pair_that_is_missing_blames_nobody():
    results = [result for result in measured(8) if result.nodes != ("node001", "node002")]
    assert blamed(compare({BETWEEN: results}, tolerance)) == set()


@pytest.mark.parametrize(
    ("kind", "results", "reason"),
    [
        (BETWEEN, measured(2, rounds_of=lambda _: {"1": [("a", "b")]}), "two nodes, one pair"),
        (INSIDE, inside({"a": 10.0}), "one node"),
    ],
)
def test_too_few_nodes_are_not_compared_and_it_says_so(kind, results, reason):
    for comparison in compare({kind: results}, tolerance):
        assert comparison.reason.startswith(reason)
        assert (comparison.findings, comparison.median) == ((), None)


def test_kinds_are_not_compared_with_each_other():
    other = Kind("made:ddr", "gcc", "between")
    slow = [
        PairResult(result.round, result.nodes, result.size, result.time * 4, result.bandwidth / 4)
        for result in measured(4)
    ]
    comparisons = compare({BETWEEN: measured(4), other: slow}, tolerance)
    assert blamed(comparisons) == set()
    assert len(comparisons) == 4


def test_inside_of_nodes_one_is_compared_with_the_others():
    values = dict.fromkeys(names(5), 10_000.0) | {"node002": 7_000.0}
    (comparison,) = compare({INSIDE: inside(values)}, tolerance)
    assert blamed([comparison]) == {("node-slow", ("node002",), "critical")}
    assert "bandwidth of 4 MiB inside of a node" in str(comparison.findings[0])


def test_of_two_nodes_the_slower_one_inside_is_told():
    (comparison,) = compare({INSIDE: inside({"a": 10.0, "b": 5.0})}, tolerance)
    assert blamed([comparison]) == {("nodes-differ", ("b",), "critical")}


# Measured again.


def pinned(comparisons):
    suspects, good = partners(comparisons)
    return suspects, good, sorted(suspects + good)


def all_pairs(nodes):
    return [(left, right) for left in nodes for right in nodes if left < right]


def repeated(nodes, slow=(), ways=(), factor=0.5):
    pairs = {str(number): [pair] for number, pair in enumerate(all_pairs(nodes))}
    return measured(0, slow, ways, factor, rounds_of=lambda _: pairs)


def test_suspects_are_tried_with_good_nodes_that_they_were_not_with():
    comparisons = compare({BETWEEN: measured(9, slow=["node003"])}, tolerance)
    suspects, good, _ = pinned(comparisons)
    before = comparisons[1].findings[0].partners
    assert suspects == ["node003"]
    assert len(good) == 3
    assert not set(good) & {"node003", *before}


def test_a_node_that_is_slow_again_is_confirmed_with_both_values():
    comparisons = compare({BETWEEN: measured(6, slow=["node003"])}, tolerance)
    _, _, nodes = pinned(comparisons)
    (_, large) = [review(each, repeated(nodes, ["node003"], (), 0.4)) for each in comparisons]
    (finding,) = large.findings
    assert (finding.kind, finding.value, finding.again) == ("node-slow", 5_000, 4_000)
    assert "5000 MB/s, measured again 4000 MB/s; median 10000 MB/s" in str(finding)
    assert large.again["node003"] == 4_000


def test_a_node_that_is_good_the_second_time_is_unsteady_and_minor():
    comparisons = compare({BETWEEN: measured(6, slow=["node003"])}, tolerance)
    _, _, nodes = pinned(comparisons)
    (_, large) = [review(each, repeated(nodes)) for each in comparisons]
    (finding,) = large.findings
    assert (finding.kind, finding.severity, finding.again) == ("node-unsteady", "minor", 10_000)
    assert "node003 was slow in one of two measurements" in str(finding)


def test_a_good_node_that_is_slow_the_second_time_is_unsteady_too():
    comparisons = compare({BETWEEN: measured(8, slow=["node003"])}, tolerance)
    _, good, nodes = pinned(comparisons)
    again = repeated(nodes, ["node003", good[0]])
    (_, large) = [review(each, again) for each in comparisons]
    assert {(finding.kind, finding.nodes) for finding in large.findings} == {
        ("node-slow", ("node003",)), ("node-unsteady", (good[0],)),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("slow", "ways", "expected"),
    [
        (["node001"], [], {("node-slow", ("node001",))}),
        (["node005"], [], {("node-slow", ("node005",))}),
        ([], [("node001", "node005")], {("way-slow", ("node001", "node005"))}),
    ],
)
def test_which_of_a_slow_pair_it_is_the_second_measurement_tells(slow, ways, expected):
    comparisons = compare({BETWEEN: measured(8, slow, ways, rounds_of=halves)}, tolerance)
    _, _, nodes = pinned(comparisons)
    for comparison in comparisons:
        found = review(comparison, repeated(nodes, slow, ways)).findings
        assert {(finding.kind, finding.nodes) for finding in found} == expected


def test_what_was_not_measured_again_stays_as_it_was():
    (first, _) = compare({BETWEEN: measured(6, slow=["node003"])}, tolerance)
    assert review(first, []) == first
    assert review(first, repeated(["node001", "node002"])).findings == first.findings


def test_of_a_group_what_is_slow_again_is_a_node_or_still_a_group():
    comparisons = compare({BETWEEN: measured(8, slow=names(8)[:4])}, tolerance)
    again = repeated(names(8), ["node001"])
    found = {(each.kind, each.nodes) for each in review(comparisons[1], again).findings}
    assert ("node-slow", ("node001",)) in found
    assert {kind for kind, _ in found} == {"node-slow", "node-unsteady"}
    again = repeated(names(8), names(8)[:4])
    (finding,) = review(comparisons[1], again).findings
    assert (finding.kind, finding.nodes) == ("nodes-differ", tuple(names(8)[:4]))

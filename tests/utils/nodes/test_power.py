"""What a comparison of nodes can see: the formula beside simulations, and beside the judge."""

import math

import numpy as np
import pytest

from acceptance.core.pairs import PairMatrix
from acceptance.nodes import Aim, Power, chance_table, culprits
from acceptance.nodes.all_pairs import AllPairs
from acceptance.nodes.fit import FALSE_RATE, MEDIAN_ERROR, SMALLEST_OF_NODE, beyond_chance
from tests.made_matrices import made

AIM = Aim(0.05, 0.95, 0.01)


def simulated(power, loss, runs=20_000):
    """Return the chance by drawing shares and bounds instead of summing."""
    chance = np.random.default_rng(5)
    error = MEDIAN_ERROR * power.noise / math.sqrt(power.pairs)
    own = power.differ * chance.standard_normal((runs, 1))
    shares = -math.log1p(-loss) - power._shift(1) + own
    shares = shares + error * chance.standard_normal((runs, 4))
    free = power.nodes * power.pairs - 2 * power.nodes - power.pairs
    z = beyond_chance(power.nodes, free + 8, AIM.false_nodes)
    wide = 1 + chance.standard_normal((runs, 1)) / math.sqrt(2 * power.nodes)
    squares = (power.noise**2 * free + 8 * 0.03**2) / (free + 8)
    least = z * MEDIAN_ERROR * math.sqrt(squares / power.pairs)
    bound = np.maximum(max(least, AIM.smallest("both")), z * math.hypot(error, power.differ) * wide)
    return float((shares <= bound).all(axis=1).mean())


@pytest.mark.parametrize(
    ("power", "loss"),
    [
        (Power(16, 15, 0.04, 0.0, AIM), 0.045),
        (Power(64, 63, 0.06, 0.0, AIM), 0.04),
        (Power(32, 31, 0.02, 0.01, AIM), 0.05),
    ],
)
def test_the_sums_are_what_drawing_gives(power, loss):
    accepted = power.accepted(loss)
    assert 0.02 < accepted < 0.98
    assert accepted == pytest.approx(simulated(power, loss), abs=0.02)


@pytest.mark.parametrize(("nodes", "noise"), [(8, 0.02), (16, 0.03), (32, 0.04)])
def test_the_judge_finds_what_is_promised(nodes, noise):
    power = Power(nodes, nodes - 1, noise, 0.0, AIM)
    loss = power.smallest
    assert loss is not None
    found = 0
    for seed in range(40):
        matrix, truth = made(
            nodes, seed, what="node", share=1 - loss, spread=noise,
            quantities=("latency", "bandwidth", "both"),
        )  # fmt: skip
        blamed = [each.nodes for each in culprits.judge(matrix, aim=AIM)[0] if each.fails]
        found += truth.nodes in blamed
    # Of 40 with 0.95 fewer than 33 are found once in 500.
    assert found >= 33
    # As always it would not be looked for.
    assert loss < 1 - math.exp(-SMALLEST_OF_NODE["bandwidth"])


def test_what_good_nodes_differ_by_is_a_floor_that_no_repetition_lowers():
    assert Power(12, 11, 1e-4, 0.0, AIM).is_enough
    # Of few nodes nobody knows by how much good ones differ: they would be named.
    named = Power(12, 11, 1e-4, 0.01, AIM)
    assert not named.is_enough
    assert 1 - named.accepted_good > AIM.false
    many = Power(64, 63, 1e-4, 0.02, AIM)
    assert 1 - many.accepted_good <= AIM.false
    assert not many.is_enough
    assert "good nodes differ by 2.0%" in many.could


def test_two_slow_nodes_are_seen_as_long_as_most_pairs_are_good():
    power = Power(8, 7, 0.008, 0.0, AIM)
    assert power.accepted(0.05, 2) < power.accepted(0.05, 1) < 0.05
    assert 0.1 < power.accepted(0.035, 2) < 0.9
    # Of six nodes two are in 18 of 30 pairs.
    assert Power(6, 5, 0.008, 0.0, AIM).accepted(0.9, 2) == 1
    assert Power(6, 5, 0.008, 0.0, AIM).accepted_good > 0.99


def test_of_fewer_than_four_nodes_and_of_too_much_noise_nothing_is_promised():
    assert Power(3, 2, 0.01, 0.0, AIM).accepted(0.9) == 1
    assert Power(3, 2, 0.01, 0.0, AIM).could.startswith(
        "of 3 nodes no chance is known: the formula"
    )
    assert Power(16, 15, 0.3, 0.0, AIM).accepted(0.9) == 1
    assert Power(16, 15, 0.3, 0.0, AIM).could.startswith("no loss is found with 95%")


def test_a_cable_is_seen_the_better_the_more_pairs_cross_it():
    few, many = (Power(64, 63, 0.05, 0.0, AIM, 96, crossing) for crossing in (1, 100))
    assert few.accepted_cable(0.1) > 0.9
    assert many.accepted_cable(0.1) < 0.01
    assert many.accepted_cable(0.02) == 1  # below what is taken for a difference
    assert [each.what for each in many.characteristic].count("of the cables") == 4
    assert {each.what for each in Power(64, 63, 0.05, 0.0, AIM).characteristic} == {"of the nodes"}


def test_without_a_question_what_is_always_looked_for_is_told():
    usual = Power(16, 15, 0.02, 0.0, Aim())
    assert usual.seen == pytest.approx(0.1)
    assert usual.aim.false_nodes == pytest.approx(FALSE_RATE)
    header, rows = chance_table(usual.characteristic)
    assert header == ["slow", "loses 5.0%", "loses 10.0%", "loses 15.0%", "loses 20.0%"]
    assert [row[0] for row in rows] == ["1 of the nodes", "2 of the nodes"]
    assert rows[0][1] == "100.0%"
    assert rows[0][-1] == "0.0%"


@pytest.mark.parametrize("detect", [0.0005, 0.001, 0.6, 0.95, 0.999])
def test_each_loss_has_a_column_of_its_own_however_near_they_are(detect):
    header, rows = chance_table(Power(16, 15, 0.02, 0.0, Aim(detect)).characteristic)
    assert len(header) > 2
    assert {*map(len, rows)} == {len(header)}


def test_the_spread_is_that_of_the_pairs_and_the_nodes_that_were_measured():
    matrix, _ = made(32, 3, spread=0.03)
    chance = np.random.default_rng(1)
    own = 0.02 * chance.standard_normal(32)
    differing = {name: of * np.exp(-own[:, None] - own) for name, of in matrix.values.items()}
    for values, differ in ((matrix.values, 0.0), (differing, 0.02)):
        found, of_nodes = culprits.judge(PairMatrix(matrix.nodes, values, matrix.rounds))
        power = AllPairs.of_matrix(matrix, 31, found, of_nodes).power
        assert power.noise == pytest.approx(0.03, rel=0.1)
        assert power.differ == pytest.approx(differ, abs=0.006)


def test_what_was_asked_and_could_not_be_seen_is_told():
    matrix, _ = made(16, 3, spread=0.08)
    for aim, told in ((AIM, 1), (Aim(0.4, 0.95, 0.01), 0), (Aim(), 0)):
        stored = AllPairs.of_matrix(matrix, 15, *culprits.judge(matrix, aim=aim), aim=aim)
        assert len(stored.not_judged) == told
        assert not any(each.fails for each in (*stored.culprits, *stored.unseen))
    stored = AllPairs.of_matrix(matrix, 15, *culprits.judge(matrix, aim=AIM), aim=AIM)
    assert stored.not_judged[0].startswith(
        "that a node loses 5.0% was to be seen with 95%: a loss of "
    )
    assert stored.judged("bandwidth") == {*matrix.nodes}

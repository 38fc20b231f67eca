"""What an acceptance plans of all pairs, by what is known of a partition."""

import math

import msgspec
import pytest

from acceptance.campaigns.power import ASSUMED, MOST, options_of, planned
from acceptance.machine import SlurmNode
from acceptance.nodes import Aim, AllPairs, Power, culprits
from acceptance.rfm.configuration import Site
from acceptance.suites.all_pairs import LIMITS
from tests.made import Case, Database
from tests.made_matrices import made
from tests.stored import opened

AIM = Aim(0.05, 0.95, 0.01)


def plans(
    aim=AIM,
    past=None,
    known=None,
    limited=None,
    features=("patterns",),
    extras=None,
    mpi="",
    **nodes,
):
    """Return what is planned of partitions, of which each has so many nodes."""
    partitions = [
        {"name": name, "environs": ["e"], "scheduler": "local" if count else "squeue",
         "extras": {"nodes": count, **(extras or {})} if count else {}}
        for name, count in nodes.items()
    ]  # fmt: skip
    system = {"name": "made", "hostnames": [".*"], "partitions": partitions}
    site = Site((system,), ({"name": "e", "features": features, "extras": {"mpi": mpi}},))
    return planned(aim, site, system, known or {}, limited or {}, past)


def plan(count=16, aim=AIM, past=None, **more):
    """Return what is planned of the one partition."""
    (found,) = plans(aim, past, thin=count, **more)
    return found


def test_the_fewest_passes_are_taken_that_see_what_is_asked():
    once, often = plan(16), plan(6)
    assert once.passes == 1
    assert once.power.is_enough
    assert often.passes > 1
    assert often.power.is_enough
    fewer = often.power.of_passes(often.passes - 2) * ASSUMED
    assert fewer > often.power.noise
    assert options_of(AIM, [once, often]) == [
        "-S", "AllPairs.aim=0.05,0.95,0.01", "-S", f"AllPairs.passes={often.passes}",
        "-S", f"AllPairs.limit={math.ceil(2 * often.seconds) + LIMITS['acceptance']}",
    ]  # fmt: skip
    text = " ".join(" ".join(once.lines).split())
    assert "120 pairs, each way, in 15 rounds" in text
    assert "a spread of 2% is assumed: none was measured here; a pilot measures it" in text
    assert "Cables between switches: not known before the routes" in text
    assert "1 of the nodes" in text


def test_what_no_number_of_passes_shows_is_told():
    many = plan(16, Aim(0.01, 0.95, 0.01))
    assert (many.passes, many.power.is_enough) == (MOST, False)
    assert f"{MOST} times are the most, and too few for a loss of 1.0% as asked" in many.line
    # Of four nodes the noise that is supposed before any is seen is never overcome.
    never = plan(4)
    assert "no number is enough for a loss of 5.0% as asked" in never.line
    assert never.passes == 1


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (2, "of 2 nodes no chance is known: the formula takes four or more"),
        (3, "of 3 nodes no chance is known"),
        (None, "nobody knows how many nodes it has"),
    ],
)
def test_of_too_few_or_unknown_nodes_it_says_why_nothing_is_planned(count, words):
    found = plan(count)
    assert found.power is None
    assert words in " ".join(found.lines)
    assert options_of(AIM, [found])[-3] == "AllPairs.passes=1"


def test_without_a_question_nothing_is_set_and_the_chances_are_told_all_the_same():
    found = plan(16, Aim())
    assert options_of(Aim(), [found]) == []
    assert found.passes == 1
    assert "loses 10.0%" in " ".join(found.lines)


@pytest.mark.parametrize(
    ("count", "more", "why"),
    [
        (1, {}, "it measures pairs of nodes, and it has one"),
        (16, {"features": ()}, "nothing provides "),
    ],
)
def test_of_a_partition_without_pairs_it_says_why_none_is_measured(count, more, why):
    found = plan(count, **more)
    assert found.power is None
    assert f"made:thin: no pair is measured: {why}" in " ".join(found.lines)


def test_what_has_no_noise_is_measured_once(tmp_path):
    simulated = {"cores": 1, "simulated": {"of": "made"}}
    for count in (4, 16):  # of four no number is enough
        found = plan(count, extras=simulated, mpi="simgrid")
        assert (found.passes, found.source) == (1, "a simulation has no noise")
        assert found.power.is_enough == (count == 16)


def test_all_partitions_are_measured_as_often_as_the_one_that_needs_most():
    (alone,) = plans(large=16)
    few, large, single = plans(few=6, large=16, single=1)
    assert alone.passes == 1
    assert few.passes == large.passes > 1
    assert single.passes == 1
    assert large.power.noise == pytest.approx(alone.power.noise * Power.of_passes(few.passes))
    assert large.seconds == pytest.approx(few.passes * alone.seconds)
    assert f"all pairs of 16 nodes, {few.passes} times" in large.line
    assert options_of(AIM, [few, large, single])[-3] == f"AllPairs.passes={few.passes}"


def test_nodes_are_those_that_are_up_and_wanted():
    nodes = [SlurmNode(f"node{n}", "idle" if n < 9 else "down", "", n < 9) for n in range(1, 13)]
    assert plan(known={"thin": nodes}).power.nodes == 8
    names = [node.name for node in nodes[:5]]
    assert plan(known={"thin": nodes}, limited={"thin": names}).power.nodes == 5


def test_the_spread_is_that_which_was_measured_last(tmp_path):
    database = Database(tmp_path / "results.db")
    for spread, passes, partition in ((0.08, 1, "thin"), (0.03, 3, "thin"), (0.2, 1, "fat")):
        matrix, _ = made(32, 3, spread=spread)
        stored = AllPairs.of_matrix(matrix, 31, *culprits.judge(matrix), passes=passes)
        more = {"all_pairs": msgspec.to_builtins(stored)}
        metrics = {"pairs": (float(stored.pairs), "1")}
        database.add([Case("AllPairs", metrics, partition=partition, more=more)])
    found = plan(16, past=opened(database.path))
    assert found.source == "its spread is that of session 00000001"
    once = found.power.noise / found.power.of_passes(found.passes)
    assert once == pytest.approx(0.03 / found.power.of_passes(3), rel=0.15)


def test_what_is_stored_and_is_none_is_no_spread(tmp_path):
    database = Database(tmp_path / "results.db")
    more = {"all_pairs": {"nodes": 3}}
    database.add([Case("AllPairs", {"pairs": (2.0, "1")}, partition="thin", more=more)])
    assert "assumed" in plan(16, past=opened(database.path)).source

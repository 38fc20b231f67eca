"""The claims of the papers on made results; compared with the second reading of them."""

from collections import Counter

import pytest

from acceptance import references
from acceptance.references import PARAMETERS, RELATIONS
from acceptance.relations import claims
from acceptance.relations.claims import FAILS, HOLDS
from tests import stored as results
from tests.made import Database
from tests.utils.relations import favour
from tests.utils.relations.made_world import SIZES, store, world
from tests.utils.relations.second_reading import (
    REFERENCE,
    WORDS,
    expected,
    expected_figure,
    is_as_claimed,
    rows,
)


@pytest.fixture(scope="module")
def library():
    return references.load(REFERENCE)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A database of made results, and what they are."""
    sessions = world()
    return store(tmp_path_factory.mktemp("world") / "results.db", sessions), sessions


@pytest.fixture(scope="module")
def evaluated(made, library):
    return claims.evaluate(library.claims, results.runs(made[0]), library.tolerances)


def test_every_claim_of_the_papers_comes_out_as_computed_by_brute_force(made, evaluated):
    table = rows()
    assert len(evaluated) == len(table) > 0
    differing = []
    for row, outcome in zip(table, evaluated, strict=True):
        state, reason, held, compared = expected(row, made[1])
        found = outcome.reason
        if reason == "different":  # units, or units without a direction
            found = "different" if found in ("different units", "no direction") else found
        if (outcome.state, found, outcome.held, outcome.compared) != (
            state,
            reason,
            held,
            compared,
        ):
            differing.append((outcome.claim.line, outcome, (state, reason, held, compared)))
    assert not differing


def test_the_made_results_try_every_relation_both_ways_and_every_reason(evaluated):
    tried = Counter((outcome.claim.relation, outcome.state) for outcome in evaluated)
    for relation in RELATIONS:
        if relation != "in":
            assert tried[relation, HOLDS], relation
        assert tried[relation, FAILS] or relation == "in", relation
    # Most ranges are of b_eff, where the values are the published ones.
    assert tried["in", HOLDS] > sum(outcome.claim.relation == "in" for outcome in evaluated) / 2
    reasons = Counter(outcome.reason for outcome in evaluated)
    assert {"no result", "only failed cases", "zero", "outside the window", "no common keys"} <= {
        *reasons
    }
    assert reasons["different units"] + reasons["no direction"] > 0
    assert reasons[""] > len(evaluated) / 2
    assert max(outcome.compared for outcome in evaluated) > 20


def test_the_pair_that_decides_gives_the_figure_that_is_shown(evaluated):
    shown = 0
    for row, outcome in zip(rows(), evaluated, strict=True):
        if outcome.ours is None or outcome.points:
            continue
        sides = [
            (None, None, side.series.benchmark, None, None, None, side.value, side.series.unit)
            for side in (outcome.left, outcome.right)
        ]
        assert outcome.ours[0] == pytest.approx(expected_figure(row, *sides)), row
        unit = outcome.left.series.unit
        assert (outcome.state == HOLDS) == is_as_claimed(row, outcome.ours[0], unit), row
        shown += 1
    assert shown > len(evaluated) / 2


def test_table_1_of_fatoohi2006_bears_out_what_its_text_says_of_it(evaluated):
    """The published values themselves; the notes of `claims.csv` have the quotients."""
    rings = [outcome for outcome in evaluated if outcome.claim.benchmark == "patterns.b_eff"]
    assert {outcome.claim.paper for outcome in rings} == {"fatoohi2006"}
    # They are the first claims of that paper; the lines are those below the header.
    states = {
        2 + number: (outcome.state, round(outcome.ours[0], 1))
        for number, outcome in enumerate(rings)
        if outcome.ours
    }
    assert states[14] == (HOLDS, 8.9)
    assert states[15] == (HOLDS, 10.5)
    assert states[16] == (HOLDS, 25.9)
    assert states[17] == (HOLDS, 6.4)
    assert states[18][0] == states[19][0] == HOLDS
    assert states[20] == (HOLDS, -51.6)
    assert [states[line][0] for line in range(21, 37)] == [HOLDS] * 16


def test_every_claim_of_the_papers_can_hold_and_can_fail(tmp_path, library):
    """Each on a session of its own, with the keys that the checks write."""
    database = Database(tmp_path / "results.db")
    database.connection.execute("PRAGMA synchronous=OFF")
    for row in rows():
        for holds in (True, False):
            database.add(favour.cases(row, holds=holds))
    sessions = list(results.runs(database.path))[::-1]
    assert len(sessions) == 2 * len(library.claims)
    wrong = []
    for number, claim in enumerate(library.claims):
        for session, state in zip(
            sessions[2 * number : 2 * number + 2], (HOLDS, FAILS), strict=True
        ):
            (outcome,) = claims.evaluate([claim], [session], library.tolerances)
            if outcome.state != state:
                wrong.append((claim.line, state, outcome))
    assert not wrong


def test_the_message_sizes_of_words_cover_all_and_are_the_keys_of_the_references():
    assert all(PARAMETERS["sizes"].match(word) for word in references.SIZES)
    assert len(references.SIZES) == len(WORDS)
    for word, takes in WORDS.items():
        low, high = references.SIZES[word]
        assert [low <= size <= high for size in SIZES] == [takes(size) for size in SIZES], word
    text = (REFERENCE / "README.md").read_text()
    for word in references.SIZES:
        assert f"\n| `{word}` |" in text


def test_the_command_on_the_made_world_agrees_with_the_library(site, made, evaluated):
    done = site.acceptance("claims", "--db", made[0], "--format", "json")
    assert [claim["state"] for claim in done.data["claims"]] == [one.state for one in evaluated]
    unfulfilled = sum(one.fails_expected for one in evaluated)
    assert (done.status, done.data["failed_expected"]) == (1, unfulfilled)
    assert unfulfilled > 0
    done = site.acceptance("claims", "--db", made[0], "--system", "koop2008", "--format", "json")
    assert len(done.data["claims"]) == sum(row["paper"] == "koop2008" for row in rows())

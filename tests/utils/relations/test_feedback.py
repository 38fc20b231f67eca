"""What the papers print as numbers satisfies what they say of them."""

import pytest

from acceptance import references
from acceptance.core.words import sized
from acceptance.relations import claims
from acceptance.relations.claims import FAILS, HOLDS
from tests import stored as results
from tests.made import Case, Database
from tests.utils.relations.second_reading import REFERENCE


def printed(library, renamed=()):
    """Return a case for each set of keys of which papers print values, the more exact ones.

    `renamed`: partitions that are taken for other ones.
    """
    cases = {}
    for row in sorted(library.values, key=lambda row: row.relation == "="):
        if row.relation not in ("=", "~") or not row.partition:
            continue
        keys = {key: text for key, text in row.parameters.items() if key != "message_size"}
        if "np" in keys and (per_node := keys.pop("per_node", "")):
            keys["nodes"] = str(int(keys["np"]) // int(per_node))
        size = row.parameters.get("message_size")
        name = row.metric if size is None else sized(row.metric, int(size))
        partition = dict(renamed).get(row.partition, row.partition)
        where = row.system, partition, row.benchmark, tuple(keys.items())
        cases.setdefault(where, {})[name] = (row.value, row.unit)
    return [
        Case(
            system=system,
            partition=partition,
            benchmark=benchmark,
            keys=dict(keys),
            metrics=metrics,
        )
        for (system, partition, benchmark, keys), metrics in cases.items()
    ]


@pytest.fixture
def evaluated(tmp_path):
    """Evaluate the claims of the papers on what these print."""

    def evaluate(*renamed):
        library = references.load(REFERENCE)
        database = Database(tmp_path / "printed.db")
        database.add(printed(library, renamed))
        return claims.evaluate(library.claims, results.runs(database.path), library.tolerances)

    return evaluate


def test_no_claim_fails_of_which_a_paper_prints_both_sides(evaluated):
    outcomes = evaluated()
    assert not [outcome for outcome in outcomes if outcome.state == FAILS]
    holding = [outcome.claim for outcome in outcomes if outcome.state == HOLDS]
    # subramoni2009 prints no two values that it compares.
    assert {claim.paper for claim in holding} == {
        "fatoohi2006", "kandadai2009", "koop2008", "saini2006",
    }  # fmt: skip
    assert len(holding) > 60
    kinds = {claim.relation for claim in holding}
    assert kinds >= {"=", "~", ">=", "<=", "in", "better", "best", "much-better", "similar"}
    assert kinds >= {"differs", "falls"}


@pytest.mark.parametrize(
    ("one", "other", "claimed"),
    [
        ("cray-opteron", "cray-x1-ssp", "latency_pingpong"),
        ("eth-10g", "eth-1g", "throughput"),
        ("qdr-pcie2", "ddr-pcie2", "bandwidth_peak"),
    ],
)
def test_claims_fail_of_two_machines_that_are_mistaken_for_each_other(
    evaluated, one, other, claimed
):
    outcomes = evaluated((one, other), (other, one))
    failing = [outcome.claim for outcome in outcomes if outcome.state == FAILS]
    assert claimed in {claim.metric for claim in failing}
    assert all({one, other} & {side.partition for side in claim.sides} for claim in failing)

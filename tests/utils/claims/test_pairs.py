"""`claims/pairs.py`: which results fit the sides of a claim, and which pairs are compared."""

import pytest

from acceptance.claims import FAILS, HOLDS, NOT_MEASURED
from tests.utils.claims.made import NEW, OLD, result


def test_two_mappings_two_paths_and_two_pair_counts_are_sides(judge):
    change = {"left": "mine:new;mapping=block", "right": "mine:new;mapping=cyclic"}
    outcome = judge(change, result(NEW, 7.0), result(NEW, 10.0, mapping="cyclic"))
    assert (outcome.state, outcome.ours.value) == (HOLDS, pytest.approx(30))
    change = {"left": "mine:new;intranode=shared", "right": "mine:new;intranode=loopback"}
    outcome = judge(
        change, result(NEW, 7.0, intranode="shared"), result(NEW, 10.0, intranode="loopback")
    )
    assert outcome.state == HOLDS
    change = {"left": "mine:new;np=8;pairs=4", "right": "mine:new;np=4;pairs=2", "unit": "x",
              "relation": "~", "value": "2"}  # fmt: skip
    four, two = result(NEW, 20.0, pairs="4"), result(NEW, 10.0, np="4", pairs="2", nodes="4")
    outcome = judge(change, four, two)
    assert (outcome.state, outcome.note) == (HOLDS, "")


def test_a_key_that_a_side_does_not_name_agrees_where_both_results_have_it(judge):
    left, right = result(NEW, 7.0, intranode="loopback"), result(OLD, 10.0, intranode="shared")
    outcome = judge({}, left, right)
    assert (outcome.state, outcome.reason) == (NOT_MEASURED, "no common keys")
    assert outcome.detail == (
        "no two results of the sides agree in intranode (loopback against shared)"
    )
    # One process a node: there are no messages inside it.
    assert judge({}, left, result(OLD, 10.0, intranode="")).state == HOLDS


def test_results_of_other_numbers_of_processes_are_not_compared(judge):
    outcome = judge({}, result(NEW, 7.0, np="8"), result(NEW, 3.0, np="16"),
                    result(OLD, 10.0, np="4"))  # fmt: skip
    assert (outcome.state, outcome.reason) == (NOT_MEASURED, "no common keys")
    assert "np (8,16 against 4)" in outcome.detail


def test_the_number_of_nodes_may_differ_and_is_said(judge):
    outcome = judge({}, result(NEW, 7.0, nodes="4"), result(OLD, 10.0, nodes="2"))
    assert (outcome.state, outcome.note) == (HOLDS, "nodes 4 against 2")
    # Where both have the same, these are taken.
    outcome = judge(
        {}, result(NEW, 7.0, nodes="4"), result(NEW, 9.0, nodes="2"), result(OLD, 10.0, nodes="2")
    )
    assert (outcome.state, outcome.ours.value, outcome.compared) == (FAILS, pytest.approx(10), 1)


def test_of_two_layouts_the_one_on_the_fewest_nodes_is_compared(judge):
    both = [("4", 7.0, 10.0), ("2", 9.0, 10.0), ("8", 5.0, 10.0)]
    cases = [result(where, value[where == OLD], nodes=nodes) for nodes, *value in both
             for where in (NEW, OLD)]  # fmt: skip
    outcome = judge({}, *cases)
    assert (outcome.left.keys["nodes"], outcome.right.keys["nodes"]) == ("2", "2")
    assert (outcome.left.value, outcome.compared, outcome.note) == (9.0, 1, "")
    # A claim may state how many processes stand on each node.
    outcome = judge({"parameters": "per_node=2"}, *cases)
    assert (outcome.left.value, outcome.right.keys["nodes"]) == (7.0, "4")


def test_of_several_problem_sizes_of_hpcc_the_largest_are_compared(judge):
    change = {"benchmark": "hpcc", "metric": "G-HPL"}
    both = {"unit": "Gflop/s", "stem": "G-HPL", "benchmark": "hpcc"}
    outcome = judge(
        change,
        result(NEW, 9.0, order="500", **both),
        result(NEW, 150.0, day=-3, order="80000", **both),
        result(OLD, 100.0, day=-3, order="60000", **both),
    )
    assert (outcome.state, outcome.ours.value) == (HOLDS, pytest.approx(50))
    assert "order 80000 against 60000" in outcome.note


def test_a_suite_is_all_of_its_benchmarks_and_no_metric_all_that_both_have(judge):
    change = {"benchmark": "imb", "metric": "", "relation": "better", "value": "", "unit": ""}
    bcast = {"benchmark": "imb.Bcast"}
    sendrecv = {"benchmark": "imb.Sendrecv", "unit": "MB/s", "stem": "bandwidth_8"}
    outcome = judge(
        change,
        result(NEW, 9.0), result(OLD, 10.0),
        result(NEW, 9.0, **bcast), result(OLD, 10.0, **bcast),
        result(NEW, 9.0, **sendrecv), result(OLD, 10.0, **sendrecv),
        result(NEW, 9.0, benchmark="imbalance.Bcast"),
        result(OLD, 10.0, benchmark="imbalance.Bcast"),
    )  # fmt: skip
    assert (outcome.state, outcome.held, outcome.compared) == (HOLDS, 2, 3)


def test_no_partition_is_every_other_one_of_that_system(judge):
    change = {"right": "mine:"}
    outcome = judge(change, result(NEW, 7.0), result(OLD, 10.0), result("mine:third", 7.5),
                    result("yours:old", 1.0))  # fmt: skip
    assert (outcome.state, outcome.held, outcome.compared) == (FAILS, 1, 2)
    assert outcome.right.partition == "mine:third"


def test_of_several_sessions_the_newest_pair_within_the_window_is_taken(judge):
    cases = [
        result(NEW, 9.0, day=-40), result(OLD, 10.0, day=-39),
        result(NEW, 7.0, day=-8), result(NEW, 9.5, day=-9), result(OLD, 10.0, day=-5),
    ]  # fmt: skip
    outcome = judge({}, *cases)
    assert (outcome.state, outcome.left.session, outcome.right.session) == (HOLDS, "u-8", "u-5")
    assert outcome.note == (
        "3 sessions match on the left, 2 on the right: the newest passing pair within 30 days "
        "was taken"
    )
    # The newest result of all has no partner that is near enough: an older one has.
    outcome = judge({}, *cases, result(NEW, 1.0, day=100))
    assert outcome.left.session == "u-8"
    # Whoever asks for it gets a pair that is far apart.
    outcome = judge({}, *cases, result(NEW, 1.0, day=100), window=365.0)
    assert outcome.left.session == "u100"
    assert "within 365 days" in outcome.note


def test_an_old_message_size_does_not_decide_today(judge):
    outcome = judge(
        {},
        result(NEW, {"time_8": 7.0}), result(OLD, {"time_8": 10.0}),
        result(NEW, {"time_16": 9.0}, day=-50), result(OLD, {"time_16": 10.0}, day=-50),
    )  # fmt: skip
    assert (outcome.state, outcome.compared) == (HOLDS, 1)


def test_a_session_that_ran_a_case_again_counts_the_last_time(judge):
    day, again = result(NEW, 7.0)
    again.run_index = 1
    outcome = judge({}, result(NEW, 9.0), (day, again), result(OLD, 10.0))
    assert (outcome.left.value, outcome.compared) == (7.0, 1)


def test_the_same_environment_comes_before_a_newer_result(judge):
    cases = [
        result(NEW, 7.0, day=-3), result(OLD, 10.0, day=-3),
        result(NEW, 9.0, environment="spack-mpich"),
    ]  # fmt: skip
    outcome = judge({}, *cases)
    assert (outcome.left.value, outcome.left.environment) == (7.0, "spack-openmpi")
    assert "also measured with spack-mpich" in outcome.note
    outcome = judge({}, *cases[1:])
    assert outcome.left.value == 9.0
    assert "environments spack-mpich against spack-openmpi" in outcome.note


def test_two_environments_are_sides_of_one_partition(judge):
    change = {
        "left": "mine:new;environment=spack-mpich",
        "right": "mine:new;environment=spack-openmpi",
    }
    cases = [result(NEW, 7.0, environment="spack-mpich"), result(NEW, 10.0)]
    outcome = judge(change, *cases)
    assert (outcome.state, outcome.left.value, outcome.note) == (HOLDS, 7.0, "")
    failed = result(NEW, 7.0, environment="spack-mpich", result="fail")
    assert judge(change, failed, cases[1]).reason == "only failed cases"
    outcome = judge(change, result(NEW, 9.0, result="fail"), cases[0])
    assert outcome.detail.startswith("right: only failed cases of mine:new")

"""Results in pairs, and whether the figure of two results is as a site claims."""

import pytest

from acceptance.relations.claims import FAILS, HOLDS, NOT_MEASURED
from tests.utils.relations.made import NEW, OLD, result


def test_two_mappings_two_paths_and_two_pair_counts_are_sides(judge):
    change = {"left": "mine:new;mapping=block", "right": "mine:new;mapping=cyclic"}
    outcome = judge(change, result(NEW, 7.0), result(NEW, 10.0, mapping="cyclic"))
    assert (outcome.state, outcome.ours[0]) == (HOLDS, pytest.approx(30))
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
    assert (outcome.state, outcome.ours[0], outcome.compared) == (FAILS, pytest.approx(10), 1)


def test_of_two_layouts_the_one_on_the_fewest_nodes_is_compared(judge):
    both = [("4", 7.0, 10.0), ("2", 9.0, 10.0), ("8", 5.0, 10.0)]
    cases = [result(where, value[where == OLD], nodes=nodes) for nodes, *value in both
             for where in (NEW, OLD)]  # fmt: skip
    outcome = judge({}, *cases)
    assert (outcome.left.series.keys["nodes"], outcome.right.series.keys["nodes"]) == ("2", "2")
    assert (outcome.left.value, outcome.compared, outcome.note) == (9.0, 1, "")
    # A claim may state how many processes stand on each node.
    outcome = judge({"parameters": "per_node=2"}, *cases)
    assert (outcome.left.value, outcome.right.series.keys["nodes"]) == (7.0, "4")


def test_of_several_problem_sizes_of_hpcc_the_largest_are_compared(judge):
    change = {"benchmark": "hpcc", "metric": "G-HPL"}
    both = {"unit": "Gflop/s", "stem": "G-HPL", "benchmark": "hpcc"}
    outcome = judge(
        change,
        result(NEW, 9.0, order="500", **both),
        result(NEW, 150.0, day=-3, order="80000", **both),
        result(OLD, 100.0, day=-3, order="60000", **both),
    )
    assert (outcome.state, outcome.ours[0]) == (HOLDS, pytest.approx(50))
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


def test_a_suite_of_a_claim_has_no_other_components_and_no_percentiles(judge):
    change = {"benchmark": "imb", "metric": "", "relation": "better", "value": "", "unit": ""}
    overlap = {"benchmark": "imb.nbc.Iallreduce", "stem": "overlap_8", "unit": "%"}
    means = result(NEW, 9.0), result(OLD, 10.0)
    outcome = judge(change, *means, result(NEW, 30.0, **overlap), result(OLD, 60.0, **overlap))
    assert (outcome.state, outcome.compared) == (HOLDS, 1)
    outcome = judge(change | {"benchmark": "imb.nbc"}, *means,
                    result(NEW, 60.0, **overlap), result(OLD, 30.0, **overlap))  # fmt: skip
    assert (outcome.state, outcome.compared) == (HOLDS, 1)
    both = ({"latency_8": own, "latency_p99_8": tail} for own, tail in ((1.0, 9.0), (2.0, 3.0)))
    osu = change | {"benchmark": "osu"}
    outcome = judge(osu, *(
        result(where, values, benchmark="osu.latency")
        for where, values in zip((NEW, OLD), both, strict=True)
    ))  # fmt: skip
    assert (outcome.state, outcome.compared) == (HOLDS, 1)


@pytest.mark.parametrize(
    ("key", "value"), [("gpu", "cuda-DD"), ("synchronization", "fence"), ("window", "create")]
)
def test_what_makes_another_quantity_is_not_compared_with_a_result_without_it(judge, key, value):
    left, right = result(NEW, 7.0, **{key: value}), result(OLD, 10.0)
    assert judge({}, left, right).state == NOT_MEASURED
    assert judge({}, left, result(OLD, 10.0, **{key: value})).state == HOLDS


def test_no_partition_is_every_other_one_of_that_system(judge):
    change = {"right": "mine:"}
    outcome = judge(change, result(NEW, 7.0), result(OLD, 10.0), result("mine:third", 7.5),
                    result("yours:old", 1.0))  # fmt: skip
    assert (outcome.state, outcome.held, outcome.compared) == (FAILS, 1, 2)
    assert outcome.right.series.partition == "mine:third"


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
    assert (outcome.left.value, outcome.left.series.environment) == (7.0, "spack-openmpi")
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


@pytest.mark.parametrize(
    ("change", "left", "right", "state", "ours"),
    [
        # 25.9 % faster: 100 (10.0 - 7.41) / 10.0.
        ({"relation": "=", "value": "25.9"}, 7.41, 10.0, HOLDS, (25.9, "%")),
        ({"relation": "=", "value": "25.9"}, 7.8, 10.0, FAILS, (22.0, "%")),
        ({"relation": "~", "value": "-50"}, 15.5, 10.0, HOLDS, (-55.0, "%")),
        # Of a small gain at most half of it: 6 % is never none, though 10 points are allowed.
        ({"relation": "~", "value": "6"}, 9.6, 10.0, HOLDS, (4.0, "%")),
        ({"relation": "~", "value": "6"}, 9.8, 10.0, FAILS, (2.0, "%")),
        ({"relation": "~", "value": "6"}, 10.4, 10.0, FAILS, (-4.0, "%")),
        ({"relation": "=", "value": "-1.5"}, 10.1, 10.0, HOLDS, (-1.0, "%")),
        ({"relation": "=", "value": "-1.5"}, 10.0, 10.0, FAILS, (0.0, "%")),
        # An order of magnitude; almost one; more than one.
        ({"relation": "~", "value": "1", "unit": "decade"}, 60.0, 10.0, HOLDS, (0.778, "decade")),
        ({"relation": "~", "value": "1", "unit": "decade"}, 140.0, 10.0, HOLDS, (1.146, "decade")),
        ({"relation": "~", "value": "1", "unit": "decade"}, 30.0, 10.0, FAILS, (0.477, "decade")),
        ({"relation": "~", "value": "1", "unit": "decade"}, 330.0, 10.0, FAILS, (1.519, "decade")),
        (
            {"relation": "in", "value": "0.5..1", "unit": "decade"},
            90.0,
            10.0,
            HOLDS,
            (0.954, "decade"),
        ),
        (
            {"relation": "in", "value": "0.5..1", "unit": "decade"},
            110.0,
            10.0,
            FAILS,
            (1.041, "decade"),
        ),
        ({"relation": ">=", "value": "1", "unit": "decade"}, 101.0, 10.0, HOLDS, (1.004, "decade")),
        ({"relation": ">=", "value": "1", "unit": "decade"}, 95.0, 10.0, FAILS, (0.978, "decade")),
        # Up to 20 %: a gain, at least half of it, and no more. A drop; a factor.
        ({"relation": "up-to", "value": "20"}, 8.5, 10.0, HOLDS, (15.0, "%")),
        ({"relation": "up-to", "value": "20"}, 10.0, 10.0, FAILS, (0.0, "%")),
        ({"relation": "up-to", "value": "20"}, 7.9, 10.0, FAILS, (21.0, "%")),
        ({"relation": "up-to", "value": "-20"}, 11.5, 10.0, HOLDS, (-15.0, "%")),
        ({"relation": "up-to", "value": "-20"}, 10.5, 10.0, FAILS, (-5.0, "%")),
        ({"relation": "up-to", "value": "3", "unit": "x"}, 20.0, 10.0, HOLDS, (2.0, "x")),
        ({"relation": "up-to", "value": "3", "unit": "x"}, 15.0, 10.0, FAILS, (1.5, "x")),
        # A drop of less than 30 %.
        ({"relation": "in", "value": "-30..0"}, 12.9, 10.0, HOLDS, (-29.0, "%")),
        ({"relation": "in", "value": "-30..0"}, 9.9, 10.0, FAILS, (1.0, "%")),
        ({"relation": "~", "value": "2", "unit": "x"}, 17.0, 10.0, HOLDS, (1.7, "x")),
        ({"relation": "~", "value": "2", "unit": "x"}, 13.0, 10.0, FAILS, (1.3, "x")),
        ({"relation": "~", "value": "-0.2", "unit": "us"}, 1.3, 1.5, HOLDS, (-0.2, "us")),
        ({"relation": "~", "value": "-0.2", "unit": "us"}, 1.5, 1.5, FAILS, (0.0, "us")),
        ({"relation": "in", "value": "43..55"}, 5.0, 10.0, HOLDS, (50.0, "%")),
        ({"relation": "in", "value": "43..55"}, 4.4, 10.0, FAILS, (56.0, "%")),
        # A contract means what it says: no leeway, but for the rounding of floating point.
        ({}, 8.0, 10.0, HOLDS, (20.0, "%")),
        ({"value": "0.2", "relation": ">="}, 0.998, 1.0, HOLDS, (0.2, "%")),
        ({}, 8.01, 10.0, FAILS, (19.9, "%")),
        ({"relation": "<=", "value": "2", "unit": "x"}, 20.0, 10.0, HOLDS, (2.0, "x")),
        ({"relation": "<=", "value": "2", "unit": "x"}, 20.1, 10.0, FAILS, (2.01, "x")),
        ({"relation": "better", "value": "", "unit": ""}, 9.99, 10.0, HOLDS, (0.1, "%")),
        ({"relation": "better", "value": "", "unit": ""}, 10.0, 10.0, FAILS, (0.0, "%")),
        ({"relation": "best", "value": "", "unit": ""}, 9.99, 10.0, HOLDS, (0.1, "%")),
        ({"relation": "best", "value": "", "unit": ""}, 10.0, 10.0, FAILS, (0.0, "%")),
        # How much better the performance is: a time of 10 against 7 is 43 %.
        ({"relation": "slightly-better", "value": "", "unit": ""}, 7.0, 10.0, HOLDS, (42.86, "%")),
        ({"relation": "slightly-better", "value": "", "unit": ""}, 6.5, 10.0, FAILS, (53.85, "%")),
        ({"relation": "slightly-better", "value": "", "unit": ""}, 10.1, 10.0, FAILS, (-0.99, "%")),
        ({"relation": "much-better", "value": "", "unit": ""}, 5.0, 10.0, HOLDS, (100.0, "%")),
        ({"relation": "much-better", "value": "", "unit": ""}, 5.1, 10.0, FAILS, (96.08, "%")),
        ({"relation": "differs", "value": "", "unit": ""}, 10.0, 11.2, HOLDS, (12.0, "%")),
        ({"relation": "differs", "value": "", "unit": ""}, 11.0, 10.0, FAILS, (10.0, "%")),
        ({"relation": "similar", "value": "", "unit": ""}, 11.0, 10.0, HOLDS, (10.0, "%")),
        ({"relation": "similar", "value": "", "unit": ""}, 10.0, 11.2, FAILS, (12.0, "%")),
    ],
)
def test_a_relation_holds_or_fails(judge, change, left, right, state, ours):
    outcome = judge(change, result(NEW, left), result(OLD, right))
    assert outcome.state == state, outcome
    assert (pytest.approx(outcome.ours[0], abs=0.005), outcome.ours[1]) == ours
    assert (outcome.left.value, outcome.right.value) == (left, right)
    assert (outcome.held, outcome.compared) == (int(state == HOLDS), 1)
    assert outcome.fails_expected == (state == FAILS)


def test_more_is_better_of_a_bandwidth_and_less_of_a_time(judge):
    change = {"metric": "bandwidth", "benchmark": "imb.Sendrecv"}
    both = {"unit": "MB/s", "stem": "bandwidth_8", "benchmark": "imb.Sendrecv"}
    outcome = judge(change, result(NEW, 120.0, **both), result(OLD, 100.0, **both))
    assert (outcome.state, outcome.ours[0]) == (HOLDS, pytest.approx(20))


@pytest.mark.parametrize(
    ("left", "right", "state"),
    [(0.9, 1.2, HOLDS), (1.2, 0.9, FAILS), (1.1, 0.5, HOLDS), (0.5, 2.0, HOLDS)],
)
def test_of_two_balance_ratios_the_one_nearer_to_1_is_better(judge, left, right, state):
    change = {"benchmark": "cbr.bw", "metric": "ratio", "relation": "better", "value": "",
              "unit": ""}  # fmt: skip
    both = {"unit": "1", "stem": "ratio_8", "benchmark": "cbr.bw"}
    assert judge(change, result(NEW, left, **both), result(OLD, right, **both)).state == state


@pytest.mark.parametrize(
    ("relation", "holds"),
    [(">=", False), ("best", False), ("better", True), ("=", True), ("up-to", True)],
)
def test_bounds_are_said_of_all_message_sizes_and_the_rest_of_most(judge, relation, holds):
    value = {"better": "", "best": ""}.get(relation, "20")
    change = {"relation": relation, "value": value, "unit": "%" if value else ""}
    left = {f"time_{size}": 8.0 for size in (4, 8, 16, 32)} | {"time_64": 11.0}
    right = dict.fromkeys(left, 10.0)
    outcome = judge(change, result(NEW, left), result(OLD, right))
    assert outcome.state == (HOLDS if holds else FAILS)
    assert (outcome.held, outcome.compared) == (4, 5)
    # The pair that is shown is the one that decides.
    assert outcome.left.value == (8.0 if holds else 11.0)


def test_half_of_the_pairs_are_not_most_of_them(judge):
    change = {"relation": "better", "value": "", "unit": ""}
    left = {"time_4": 9.0, "time_8": 9.0, "time_16": 11.0, "time_32": 11.0}
    outcome = judge(change, result(NEW, left), result(OLD, dict.fromkeys(left, 10.0)))
    assert (outcome.state, outcome.held, outcome.compared) == (FAILS, 2, 4)


@pytest.mark.parametrize(
    ("word", "sizes"),
    [("small", 1), ("medium", 2), ("large", 1), ("small-medium", 3), ("all", 4)],
)
def test_a_word_for_the_message_sizes_leaves_out_the_others(judge, word, sizes):
    left = {"time_63": 9.0, "time_64": 9.0, "time_8192": 9.0, "time_8193": 9.0}
    change = {"parameters": f"sizes={word}", "relation": "better", "value": "", "unit": ""}
    outcome = judge(change, result(NEW, left), result(OLD, dict.fromkeys(left, 10.0)))
    assert (outcome.state, outcome.compared) == (HOLDS, sizes)

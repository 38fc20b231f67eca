"""`relations/claim_comparisons.py`: what is said of one side, of quotients, gaps and machines."""

import pytest

from acceptance.references import RELATIONS
from acceptance.relations.claims import FAILS, HOLDS, NOT_MEASURED
from tests.utils.relations.made import NEW, OLD, result

EMPTY = {"value": "", "unit": ""}
ALONG = {**EMPTY, "left": "mine:new;np=2..16", "right": ""}
BARRIER = {"benchmark": "imb.Barrier", "stem": "time"}


def over_np(*values, where=NEW, **others):
    """Return results on 2, 4, 8, ... processes."""
    return [
        result(where, value, np=str(2 ** (number + 1)), nodes=str(2 ** (number + 1)), **others)
        for number, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("relation", "value", "holding", "failing", "ours"),
    [
        ("level", "", (10, 11.5, 11, 10.5), (10, 12.5, 11, 10.5), (15.0, 25.0)),
        ("grows", "", (10, 14, 13, 20), (10, 14, 12, 20), (-7.1, -14.3)),
        ("grows", "", (10, 10, 10, 12), (10, 10, 10, 10.5), (20.0, 5.0)),
        ("falls", "", (20, 13, 14, 10), (20, 12, 14, 10), (-7.1, -14.3)),
        # Less is better of a time.
        ("peak", "4", (12, 9, 10, 11), (8, 9, 10, 11), (10.0, -12.5)),
        ("peak", "4..8", (12, 11, 9, 10), (12, 11, 9, 8), (10.0, -12.5)),
        ("peak", "", (12, 11, 9, 10), (12, 11, 10, 10), (10.0, 0.0)),
        ("step", "8..16", (10, 11, 12, 24), (10, 20, 22, 30), (1.82, 0.68)),
        ("step", "2..4", (20, 10, 11, 12), (10, 11, 22, 24), (1.82, 0.55)),
    ],
)
def test_a_relation_of_a_curve_holds_or_fails(judge, relation, value, holding, failing, ours):
    change = {**ALONG, "relation": relation, "value": value}
    for points, state, figure in ((holding, HOLDS, ours[0]), (failing, FAILS, ours[1])):
        outcome = judge(change, *over_np(*points))
        assert (outcome.state, outcome.held, outcome.compared) == (state, int(state == HOLDS), 1)
        assert outcome.ours[0] == pytest.approx(figure, abs=0.1)
        assert [point.value for point in outcome.points] == [*points]
        listed = ", ".join(f"{point:g}" for point in points)
        assert outcome.note == f"np 2, 4, 8, 16: {listed} us"


@pytest.mark.parametrize(
    ("relation", "value", "points", "words"),
    [
        ("level", "", (10, 11), "measured at np 2, 4; at least 2 points and the stated ends"),
        ("grows", "", (10, 11, 12), "measured at np 2, 4, 8; at least 3 points and the stated"),
        ("step", "16..32", (1, 2, 3, 4), "measured at np 2, 4, 8, 16; at least 3"),
        ("step", "2..8", (1, 2, 3, 4), "there are points inside of 2..8"),
        ("peak", "3", (1, 2, 3, 4), "nothing to compare with at np 3"),
        ("peak", "2..16", (1, 2, 3, 4), "nothing to compare with at np 2..16"),
    ],
)
def test_a_curve_without_its_ends_or_with_too_few_points_is_not_measured(
    judge, relation, value, points, words
):
    change = {**ALONG, "relation": relation, "value": value}
    outcome = judge(change, *over_np(*points))
    assert (outcome.state, outcome.reason) == (NOT_MEASURED, "too few points")
    assert words in outcome.detail
    assert (outcome.left, outcome.ours, outcome.points) == (None, None, ())
    assert judge(change).detail == "left: no result of mine:new imb.Alltoall time np=2..16"


def test_a_peak_of_what_has_no_direction_is_not_measured(judge):
    change = {**ALONG, "relation": "peak", "value": "4"}
    assert judge(change, *over_np(1, 2, 3, 4, unit="furlong")).reason == "no direction"


def test_an_open_range_needs_its_low_end_alone(judge):
    change = {**ALONG, "left": "mine:new;np=4..", "relation": "level"}
    assert judge(change, *over_np(99, 10, 11)).state == HOLDS
    assert judge(change, *over_np(99)[:1], result(NEW, 5, np="8")).state == NOT_MEASURED


def test_a_curve_has_one_value_of_each_key_that_its_points_have(judge):
    change = {**ALONG, "relation": "level"}
    one_a_node = over_np(10, 10, 10, 10)
    # A path inside of a node only where there are several processes on one; another mapping.
    packed = [result(NEW, 10, np=np, nodes="2", intranode="shared") for np in ("4", "8", "16")]
    assert judge(change, *one_a_node[:1], *packed).state == HOLDS
    cyclic = over_np(10, 10, 10, 20, mapping="cyclic")
    outcome = judge(change, *one_a_node, *cyclic)
    assert (outcome.state, outcome.held, outcome.compared) == (FAILS, 1, 2)
    # Of two layouts the one with the fewest nodes, though the other one is newer.
    spread = [result(NEW, 99, np="16", nodes="16", day=2, intranode="")]
    assert judge(change, *over_np(10, 10, 10), result(NEW, 10, np="16"), *spread).state == HOLDS


def test_a_curve_is_of_one_environment_and_of_one_time(judge):
    change = {**ALONG, "relation": "level"}
    others = over_np(10, 20, 30, 40, environment="spack-mpich")
    assert judge(change, *over_np(10, 10, 10, 10), *others[:2]).state == HOLDS
    old = [(-40, case) for _, case in over_np(10, 10)]
    assert judge(change, *old, *over_np(9, 9, 10, 10)[2:]).reason == "too few points"


def test_pairs_and_processes_of_a_curve_go_together(judge):
    change = {**EMPTY, "left": "mine:new;pairs=1..4", "right": "", "relation": "level"}
    cases = [result(NEW, 10, np=str(2 * int(pairs)), pairs=pairs) for pairs in ("1", "2", "4")]
    assert judge(change, *cases).state == HOLDS


def test_curves_that_are_not_whole_are_said(judge):
    change = {**ALONG, "relation": "level"}
    cases = [*over_np(10, 10, 10, 10), result(NEW, 10, np="2", mapping="cyclic")]
    outcome = judge(change, *cases)
    assert (outcome.state, outcome.compared) == (HOLDS, 1)
    assert outcome.note.startswith("1 curve left out: too few points; np 2, 4, 8, 16")


def test_of_several_curves_most_decide(judge):
    change = {**ALONG, "parameters": "message_size=8..64", "relation": "level"}
    values = [
        {"time_4": 99 * step, "time_8": 10, "time_16": 10, "time_64": step} for step in (1, 2)
    ]
    cases = [result(NEW, value, np=np) for value, np in zip(values, ("2", "16"), strict=True)]
    outcome = judge(change, *cases)
    assert (outcome.state, outcome.held, outcome.compared) == (HOLDS, 2, 3)


GAPS = {
    **EMPTY,
    "benchmark": "",
    "left": "mine:new;benchmark=imb.Reduce / mine:old;benchmark=imb.Reduce",
    "right": "mine:new;benchmark=imb.Bcast / mine:old;benchmark=imb.Bcast",
}


def gaps(reduce, bcast):
    """Return results of which new is so many times as fast as old."""
    return [
        result(where, 100 / factor, benchmark=benchmark)
        for benchmark, gap in (("imb.Reduce", reduce), ("imb.Bcast", bcast))
        for where, factor in ((NEW, gap), (OLD, 1))
    ]


@pytest.mark.parametrize(
    ("relation", "holding", "failing", "ours"),
    [
        ("better", (4, 3.9), (3.9, 4), (2.6, "%")),
        ("much-better", (4, 2), (4, 2.1), (100.0, "%")),
        ("similar", (4, 3.2), (4, 3), (1.25, "x")),
        ("differs", (4, 3), (4, 3.2), (1.33, "x")),
    ],
)
def test_two_gaps_are_compared(judge, relation, holding, failing, ours):
    outcome = judge({**GAPS, "relation": relation}, *gaps(*holding))
    assert (outcome.state, outcome.ours[1]) == (HOLDS, ours[1])
    assert outcome.ours[0] == pytest.approx(ours[0], abs=0.05)
    assert outcome.left.series.partition == "mine:new / mine:old"
    assert (outcome.left.value, outcome.left.series.unit) == (pytest.approx(holding[0]), "x")
    assert [point.value for point in outcome.points[::2]] == [100 / holding[0], 100 / holding[1]]
    assert f"mine:new {100 / holding[0]:.4g} us / mine:old 100 us" in outcome.note
    assert judge({**GAPS, "relation": relation}, *gaps(*failing)).state == FAILS


def test_a_quotient_says_what_is_missing_above_or_below_its_line(judge):
    outcome = judge({**GAPS, "relation": "better"}, *gaps(4, 3)[:3])
    assert (outcome.state, outcome.reason) == (NOT_MEASURED, "no result")
    assert outcome.detail == "right below: no result of mine:old imb.Bcast time"
    cases = [*gaps(4, 3)[:3], result(OLD, 10, benchmark="imb.Bcast", np="16")]
    assert judge({**GAPS, "relation": "better"}, *cases).reason == "no common keys"
    cases = [*gaps(4, 3)[:3], result(OLD, 10, benchmark="imb.Bcast", unit="s")]
    assert judge({**GAPS, "relation": "better"}, *cases).reason == "different units"


def test_growths_are_compared_at_each_number_of_processes(judge):
    change = {**EMPTY, "parameters": "np=4..", "relation": "similar",
              "left": "mine:new / mine:new;np=2", "right": "mine:old / mine:old;np=2"}  # fmt: skip
    new, old = over_np(1, 2, 4, 8), over_np(10, 22, 41, 79, where=OLD)
    outcome = judge(change, *new, *old)
    assert (outcome.state, outcome.held, outcome.compared) == (HOLDS, 3, 3)
    outcome = judge(change, *new, *over_np(10, 22, 81, 199, where=OLD))
    assert (outcome.state, outcome.held, outcome.compared) == (FAILS, 1, 3)


MACHINES = {
    **EMPTY,
    "benchmark": "",
    "metric": "",
    "left": "mine:;benchmark=imb.Alltoall;metric=time;message_size=8",
    "right": "mine:;benchmark=hpcc;metric=RandomRing-bandwidth",
    "relation": "proportional",
}


def machines(*quotients):
    """Return results of machines on which 1 / time is so many times the bandwidth of the ring."""
    ring = {"benchmark": "hpcc", "stem": "RandomRing-bandwidth", "unit": "GB/s", "order": "1000"}
    for number, quotient in enumerate(quotients, 1):
        yield result(f"mine:m{number}", 1 / quotient / number)
        yield result(f"mine:m{number}", number, **ring)


def test_two_things_are_proportional_over_machines_or_not(judge):
    outcome = judge(MACHINES, *machines(1.0, 1.2, 1.4))
    assert (outcome.state, outcome.ours[0]) == (HOLDS, pytest.approx(40))
    assert outcome.note.endswith("mine:m1 1, mine:m2 1.2, mine:m3 1.4")
    assert judge(MACHINES, *machines(1.0, 1.2, 1.6)).state == FAILS
    outcome = judge(MACHINES, *machines(1.0, 1.2))
    assert (outcome.state, outcome.reason) == (NOT_MEASURED, "too few points")
    assert outcome.detail == "at most 2 partitions have both results; 3 are needed"
    outcome = judge(MACHINES)
    assert "no result of any partition of mine imb.Alltoall time message_size=8" in outcome.detail


def test_each_kind_is_tried_here_or_with_the_figures():
    curves = {"level", "grows", "falls", "peak", "step"}
    assert {name for name, kind in RELATIONS.items() if kind.shape == "curve"} == curves

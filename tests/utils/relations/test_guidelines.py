"""What a sound MPI satisfies on any machine, on made sessions and on recorded outputs."""

import json
import math
import re
from dataclasses import asdict

import pytest

from acceptance.ledger import reading
from acceptance.ledger.reading import Run
from acceptance.relations import guidelines
from acceptance.relations.guidelines import (
    _RULES,
    FLOOR,
    FLOOR_SINGLE,
    collect,
    deviation,
    evaluate,
    jumps,
    roughness,
)
from acceptance.suites import imb, imb_output, osu
from tests.made import Case as MadeCase
from tests.made import Database
from tests.stored import opened

SIZES = [2**n for n in range(0, 13)]


KEYS = {"np": "2", "nodes": "1", "placement": "intra-node", "intranode": "shared"}


def case(benchmark, times, *, np=2, unit="us", stem="time", name="", **changes):
    """Make a run of `imb.Bcast` and the like: `times` has message size -> value."""
    suite = benchmark.partition(".")[0]
    run = Run(
        session="", time=1.7e9 + 60, system="local", partition="default", environment="wheels",
        name=f"{benchmark} {np}{name}", keys={**KEYS, "np": str(np)}, suite=suite,
        benchmark=benchmark, result="pass",
        version="IMB 2021.11" if suite == "imb" else "OSU 7.4",
        metrics=[(f"{stem}_{size}", unit, value) for size, value in times.items()],
    )  # fmt: skip
    return run._replace(**changes)


def session(*cases, uuid="s1"):
    return [case._replace(session=uuid) for case in cases]


def part(suite, operation, np):
    """Return by what the message size of an operation is smaller than n, written down once more."""
    parts = {"Gather", "Scatter", "Allgather", "Alltoall"}
    if suite == "imb":
        parts.add("Reduce_scatter")
    return np if operation in parts else 1


def collective(suite, operation, np, cost):
    """Make a case whose time is `cost(n)`, n being the bytes of the whole vector."""
    name = operation if suite == "imb" else operation.lower()
    least = 4 if operation in ("Reduce", "Allreduce", "Reduce_scatter") else 1
    scale = part(suite, operation, np)
    times = {size: cost(size * scale) for size in SIZES if size >= least}
    return case(f"{suite}.{name}", times, np=np)


def flat(level):
    return lambda n: level * (1 + n / 1e6)


def of_kind(report, kind):
    """Return the findings of a kind, named by their text, or by the rule that is broken."""
    text = kind.replace("<=", "costs more than")
    return [finding for finding in report.findings if finding.guideline == text]


def right_of(finding):
    """Return the right side as a number."""
    return sum(term.whole for term in finding.right)


@pytest.mark.parametrize("np", [2, 4])
@pytest.mark.parametrize("suite", ["imb", "osu"])
@pytest.mark.parametrize("guideline", _RULES, ids=str)
def test_a_guideline_is_violated_and_kept(guideline, suite, np):
    operation, *others = re.findall(r"\w+", guideline)
    rooted = ("Bcast", "Reduce", "Gather", "Scatter")
    # OMB's averages: the second operation starts after at most np times the average of the first.
    first = np if suite == "osu" and len(others) == 2 and others[0] in rooted else 1
    right = sum([1.0 * first, 2.0][: len(others)])

    def measured(factor):
        cases = [collective(suite, operation, np, flat(factor * right))]
        for level, other in zip((1.0, 2.0), others, strict=False):
            cases.append(collective(suite, other, np, flat(level)))
        return evaluate(session(*cases))

    (finding,) = of_kind(measured(3), guideline)
    assert finding.factor == pytest.approx(3)
    assert right_of(finding) == pytest.approx(right * (1 + finding.size / 1e6))
    assert (finding.suite, finding.keys["np"], finding.unit) == (suite, str(np), "us")
    assert len(finding.sizes) > 3
    for term, name in zip((finding.left, *finding.right), (operation, *others), strict=True):
        assert term.message_size * part(suite, name, np) == finding.size
        assert term.metric == f"time_{term.message_size}"
    assert not of_kind(measured(0.999), guideline)
    assert not of_kind(measured(FLOOR - 0.001), guideline)
    assert of_kind(measured(FLOOR + 0.001), guideline)


def test_the_nine_guidelines_of_the_paper_are_there():
    assert list(_RULES) == [
        "Allreduce <= Reduce + Bcast",
        "Allreduce <= Reduce_scatter + Allgather",
        "Allgather <= Gather + Bcast",
        "Allgather <= Alltoall",
        "Bcast <= Scatter + Allgather",
        "Reduce <= Allreduce",
        "Gather <= Allgather",
        "Scatter <= Bcast",
        "Reduce_scatter <= Reduce + Scatter",
    ]


@pytest.mark.parametrize("suite", ["imb", "osu"])
def test_a_sound_library_has_no_finding(suite):
    """Times of trees on 4 ranks, latency 1 us and 1 GB/s, with every size of every operation."""

    def rounds(count, moved):
        return lambda n: count + moved * n / 1000

    costs = {
        "Bcast": rounds(2, 1.5), "Reduce": rounds(2, 1.5), "Allreduce": rounds(2, 1.5),
        "Gather": rounds(2, 0.75), "Scatter": rounds(2, 0.75), "Allgather": rounds(2, 0.75),
        "Reduce_scatter": rounds(2, 0.75), "Alltoall": rounds(3, 0.75),
    }  # fmt: skip
    report = evaluate(session(*(collective(suite, name, 4, cost) for name, cost in costs.items())))
    assert report.findings == []
    assert report.compared > 100
    assert sum(report.skipped.values()) > 0


def test_sizes_without_a_counterpart_are_counted():
    bcast = case("imb.Bcast", dict.fromkeys(SIZES, 1.0), np=4)
    scatter = case("imb.Scatter", dict.fromkeys(SIZES, 9.0), np=4)
    report = evaluate(session(bcast, scatter))
    (finding,) = of_kind(report, "Scatter <= Bcast")
    # n is four times the message size of Scatter; Bcast ends at 4 KiB.
    assert finding.sizes == tuple(4 * size for size in SIZES[:-2])
    assert report.skipped["a sweep does not have the size"] == 2


def test_ranks_that_divide_nothing_are_not_compared():
    bcast = case("imb.Bcast", dict.fromkeys(SIZES, 1.0), np=6)
    scatter = case("imb.Scatter", dict.fromkeys(SIZES, 9.0), np=6)
    report = evaluate(session(bcast, scatter))
    assert of_kind(report, "Scatter <= Bcast") == []
    assert report.skipped["a sweep does not have the size"] == len(SIZES)
    # Where both sides count the part of a rank, nothing is divided.
    alltoall = case("imb.Alltoall", dict.fromkeys(SIZES, 1.0), np=6)
    allgather = case("imb.Allgather", dict.fromkeys(SIZES, 9.0), np=6)
    (finding,) = of_kind(evaluate(session(alltoall, allgather)), "Allgather <= Alltoall")
    assert finding.sizes == tuple(6 * size for size in SIZES)


def test_a_larger_message_that_is_faster_is_found_with_its_range():
    slow = {256, 512, 1024}
    times = {size: 50.0 if size in slow else 10.0 for size in SIZES}
    times[512] = 60.0
    report = evaluate(session(case("imb.Allreduce", times)))
    (finding,) = of_kind(report, "Allreduce: a message costs more than a larger one")
    assert finding.sizes == (256, 512, 1024)
    assert (finding.span, finding.size) == ("256 B to 1 KiB", 512)
    assert finding.factor == pytest.approx(6)
    # The nearest of several that are equally fast.
    assert (finding.right[0].message_size, finding.right[0].value) == (2048, 10.0)
    growing = {size: 1 + size / 100 for size in SIZES}
    assert evaluate(session(case("imb.Allreduce", growing))).findings == []


def test_a_message_that_costs_more_than_its_halves_is_found():
    times = {size: (1 + size / 1000) * (4 if size >= 1024 else 1) for size in SIZES}
    report = evaluate(session(case("imb.PingPong", times, stem="latency")))
    (finding,) = report.findings
    assert finding.guideline == "PingPong: 2n bytes cost more than two messages of n bytes"
    assert (finding.sizes, finding.right[0].metric) == ((1024,), "latency_512")
    assert finding.factor == pytest.approx(4 * 2.024 / (2 * 1.512))
    assert right_of(finding) == pytest.approx(2 * 1.512)
    doubling = {size: 0.01 * size for size in SIZES}
    assert evaluate(session(case("imb.PingPong", doubling, stem="latency"))).findings == []


def test_the_halves_of_a_rooted_operation_of_osu_begin_with_its_slowest_rank():
    times = {size: 1.0 if size < 1024 else 4.5 for size in SIZES}
    assert of_kind(
        evaluate(session(case("osu.alltoall", times, np=4))),
        "alltoall: 2n bytes cost more than two messages of n bytes",
    )
    assert not evaluate(session(case("osu.gather", times, np=4))).findings
    times = {size: 1.0 if size < 1024 else 9.0 for size in SIZES}
    (finding,) = evaluate(session(case("osu.gather", times, np=4))).findings
    assert (finding.right[0].times, right_of(finding)) == (5, 5.0)


def pair(left, right=1.0, sizes=SIZES, np=2):
    """Make Reduce and Allreduce, each of one level; `left` may be {size: value} that stands out."""
    values = left if isinstance(left, dict) else dict.fromkeys(sizes, left)
    sizes = [size for size in sizes if size >= 4]
    return (
        case("imb.Reduce", {size: values.get(size, right) for size in sizes}, np=np),
        case("imb.Allreduce", dict.fromkeys(sizes, right), np=np),
    )


def test_no_element_of_a_reduction_is_cut():
    """A float is the least that each of two ranks can get: 8 bytes of osu_reduce_scatter."""
    sizes = [2**n for n in range(2, 13)]
    report = evaluate(
        session(
            case("osu.reduce_scatter", dict.fromkeys(sizes, 9.0)),
            case("osu.reduce", dict.fromkeys(sizes, 1.0)),
            case("osu.scatter", dict.fromkeys(SIZES, 1.0)),
        )
    )
    (finding,) = of_kind(report, "Reduce_scatter <= Reduce + Scatter")
    assert finding.sizes == tuple(sizes[1:])
    assert report.skipped["the part of a rank, n/p, is no whole element"] == 1


def test_an_empty_message_is_not_compared():
    times = {0: 50.0, **dict.fromkeys(SIZES, 1.0)}
    report = evaluate(session(case("imb.PingPong", times, stem="latency")))
    assert report.findings == []
    assert report.compared == 2 * (len(SIZES) - 1)


def test_repetitions_that_differ_widen_the_tolerance():
    allreduce = case("imb.Allreduce", dict.fromkeys(SIZES[2:], 1.0))

    def repeated(*levels):
        cases = [
            case("imb.Reduce", dict.fromkeys(SIZES[2:], level), name=f" %repeat={number}")
            for number, level in enumerate(levels)
        ]
        return of_kind(evaluate(session(allreduce, *cases)), "Reduce <= Allreduce")

    # The median counts, and 1.4826 times the median deviation from it is the spread.
    (finding,) = repeated(1.99, 2.0, 2.01)
    assert finding.factor == pytest.approx(2)
    assert finding.tolerance == FLOOR
    (wider,) = repeated(1.8, 2.0, 2.2)
    assert wider.tolerance == pytest.approx(math.exp(3 * 1.4826 * math.log(1.1)), rel=0.01)
    assert repeated(1.0, 2.0, 4.0) == []


def test_adjacent_sizes_are_one_finding_and_others_another():
    values = {64: 3.0, 128: 4.0, 256: 3.0, 2048: 2.0, 4096: 2.0}
    sizes = [2**n for n in range(23)]
    report = evaluate(session(*pair(values, sizes=sizes)))
    first, second = of_kind(report, "Reduce <= Allreduce")
    assert (first.sizes, first.size, first.factor) == ((64, 128, 256), 128, pytest.approx(4))
    assert (second.sizes, second.factor) == ((2048, 4096), pytest.approx(2))
    assert first.id == (
        "local:default+wheels/imb.Reduce<=Allreduce/"
        "intranode=shared;nodes=1;np=2;placement=intra-node"
    )
    assert second.id == f"{first.id}#2"


def test_the_id_does_not_hang_on_sizes_or_values():
    (one,) = of_kind(evaluate(session(*pair({64: 3.0, 128: 4.0}))), "Reduce <= Allreduce")
    (other,) = of_kind(evaluate(session(*pair({512: 2.0, 1024: 2.0}))), "Reduce <= Allreduce")
    (four,) = of_kind(evaluate(session(*pair({512: 2.0, 1024: 2.0}, np=4))), "Reduce <= Allreduce")
    assert one.id == other.id != four.id


def test_a_single_size_must_exceed_more_than_two_adjacent_ones():
    factor = (FLOOR + FLOOR_SINGLE) / 2
    assert of_kind(evaluate(session(*pair({64: factor, 128: factor}))), "Reduce <= Allreduce")
    alone = evaluate(session(*pair({64: factor})))
    assert alone.findings == []
    assert alone.single == 2  # the size after it is faster, too
    (finding,) = of_kind(evaluate(session(*pair({64: FLOOR_SINGLE + 0.01}))), "Reduce <= Allreduce")
    assert (finding.sizes, finding.tolerance) == ((64,), FLOOR_SINGLE)


def test_a_single_size_must_stand_out_more_than_those_of_other_benchmarks():
    spikes = [
        case(f"imb.{name}", {size: 5.0 if size == at else 1.0 for size in SIZES})
        for name, at in (("Bcast", 16), ("Exchange", 512))
    ]
    reduce, allreduce = pair({64: 4.0})
    report = evaluate(session(reduce, allreduce, *spikes))
    assert of_kind(report, "Reduce <= Allreduce") == []
    assert report.single > 0
    # One other benchmark may have a fault of its own.
    assert of_kind(evaluate(session(reduce, allreduce, spikes[0])), "Reduce <= Allreduce")
    # And a range is judged by its own tolerance.
    ranged = pair({64: 4.0, 128: 4.0})
    assert of_kind(evaluate(session(*ranged, *spikes)), "Reduce <= Allreduce")


def test_rough_sweeps_widen_the_tolerance():
    def rough(amplitude):
        values = {size: 1.5 * (1 + amplitude) ** (i % 2) for i, size in enumerate(SIZES[2:])}
        return of_kind(evaluate(session(*pair(values))), "Reduce <= Allreduce")

    (smooth,) = rough(0.0)
    assert smooth.tolerance == FLOOR
    (wider,) = rough(0.1)
    # A zigzag of d has second differences of 2 d.
    spread = 1.4826 * 2 * math.log(1.1) / math.sqrt(6)
    assert wider.tolerance == pytest.approx(math.exp(3 * spread))
    assert rough(0.9) == []


def test_the_spread_of_a_sum_is_that_of_its_parts_by_their_share():
    zigzag = {size: 2.0 * 1.1 ** (i % 2) for i, size in enumerate(SIZES)}
    cases = (
        case("imb.Scatter", zigzag),
        case("imb.Allgather", dict.fromkeys(SIZES, 2.0)),
        case("imb.Bcast", dict.fromkeys(SIZES, 40.0)),
    )
    (finding,) = of_kind(evaluate(session(*cases)), "Bcast <= Scatter + Allgather")
    spread = 1.4826 * 2 * math.log(1.1) / math.sqrt(6)
    share = finding.right[0].value / right_of(finding)
    assert finding.tolerance == pytest.approx(max(FLOOR, math.exp(3 * spread * share)))


def test_too_few_sizes_to_tell_the_spread_must_exceed_more():
    factor = (FLOOR + FLOOR_SINGLE) / 2
    sizes = [64, 128, 256, 512]
    few = evaluate(session(*pair(dict.fromkeys(sizes, factor), sizes=sizes)))
    assert (few.findings, few.compared > 0) == ([], True)
    (found,) = of_kind(
        evaluate(session(*pair(dict.fromkeys(sizes, 1.7), sizes=sizes))), "Reduce <= Allreduce"
    )
    assert found.tolerance == FLOOR_SINGLE


def test_the_spread_between_sessions_counts_where_it_is_larger():
    now = session(*pair({256: 1.5, 512: 1.5}), uuid="now")
    assert of_kind(evaluate(now), "Reduce <= Allreduce")

    def before(level):
        values = dict.fromkeys(SIZES, level)
        return session(*pair(values), uuid=f"s{level}")

    apart = [before(level) for level in (1.0, 1.3, 0.75)]
    assert of_kind(evaluate(now, apart[:2]), "Reduce <= Allreduce"), "two tell no spread"
    assert of_kind(evaluate(now, apart), "Reduce <= Allreduce") == []
    close = [before(level) for level in (1.0, 1.01, 0.99)]
    assert of_kind(evaluate(now, close), "Reduce <= Allreduce")
    # Failed cases, other units and other ranks tell nothing.
    for changes in ({"result": "fail"}, {"unit": "s"}, {"np": 4}):
        other = [
            session(case("imb.Reduce", dict.fromkeys(SIZES, level), **changes))
            for level in (1.0, 1.3, 0.75)
        ]
        assert of_kind(evaluate(now, other), "Reduce <= Allreduce")


def test_a_finding_says_in_how_many_earlier_sessions_it_was():
    now = session(*pair({256: 3.0, 512: 3.0}))
    again = session(*pair({512: 2.0}), uuid="s0")
    calm = session(*pair({}), uuid="s2")
    other = session(*pair({256: 3.0, 512: 3.0}, np=4), uuid="s3")
    (finding,) = of_kind(evaluate(now, [again, calm, other]), "Reduce <= Allreduce")
    # The worst size, of two that are equally bad, is the first one.
    assert (finding.size, finding.seen, finding.sessions) == (256, 0, 2)
    assert str(finding).endswith("(3.00 x, tolerance 1.10), so in 0 of 2 earlier sessions")
    worse = session(*pair({256: 3.0, 512: 3.1}))
    (finding,) = of_kind(evaluate(worse, [again, calm, other]), "Reduce <= Allreduce")
    assert (finding.size, finding.seen, finding.sessions) == (512, 1, 2)


def test_a_single_size_that_many_earlier_sessions_know_nothing_of_is_noise():
    now = session(*pair({512: 3.0}))
    calm = [session(*pair({}), uuid=f"s{n}") for n in range(3)]
    assert of_kind(evaluate(now, calm[:2]), "Reduce <= Allreduce")
    report = evaluate(now, calm)
    assert report.findings == []
    assert report.single == 3
    again = [*calm, session(*pair({512: 2.5}), uuid="s4")]
    (finding,) = of_kind(evaluate(now, again), "Reduce <= Allreduce")
    assert (finding.seen, finding.sessions) == (1, 4)


def test_repetitions_in_a_session_count_as_their_median():
    values = {256: 3.0, 512: 3.0}
    reduce, allreduce = pair(values)
    calm = pair({})[0]

    def repeated(*cases):
        named = [each._replace(name=f"Reduce {number}") for number, each in enumerate(cases)]
        return of_kind(evaluate(session(*named, allreduce)), "Reduce <= Allreduce")

    assert repeated(reduce, calm, calm) == []
    (finding,) = repeated(reduce, reduce, calm)
    assert finding.left.value == 3.0


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"result": "fail", "metrics": []}, "imb.Allreduce failed"),
        ({"result": "fail"}, "imb.Allreduce failed"),
        ({"result": "fail_deps", "metrics": []}, "imb.Allreduce was not run"),
        ({"environment": "other"}, "imb.Allreduce was not measured"),
        ({"partition": "other"}, "imb.Allreduce was not measured"),
    ],
)
def test_a_side_that_is_missing_or_failed_is_not_compared(changes, reason):
    reduce, allreduce = pair(5.0)
    report = evaluate(session(reduce, allreduce._replace(**changes)))
    assert of_kind(report, "Reduce <= Allreduce") == []
    assert report.skipped[reason] == 2  # Allreduce <= Reduce + Bcast wants it, too
    assert not [finding for finding in report.findings if "message" not in finding.guideline]


def test_a_repetition_does_not_undo_a_failure():
    reduce, allreduce = pair(5.0)
    failed = allreduce._replace(result="fail", metrics=[])
    report = evaluate(session(reduce, failed, allreduce))
    assert of_kind(report, "Reduce <= Allreduce") == []
    assert report.skipped["imb.Allreduce failed"] == 2


@pytest.mark.parametrize("key", ["np", "nodes", "placement", "intranode"])
def test_other_ranks_or_places_are_not_compared(key):
    reduce, allreduce = pair(5.0)
    other = allreduce._replace(keys={**allreduce.keys, key: "3"})
    assert of_kind(evaluate(session(reduce, other)), "Reduce <= Allreduce") == []


def stored(path, *cases):
    """Return the runs of a session that ReFrame has stored: those cases, changed so."""
    made = [
        MadeCase(
            name=each.name,
            metrics={name: (value, unit) for name, unit, value in each.metrics},
            keys=each.keys,
            benchmark=each.benchmark,
            suite=each.suite,
            **changes,
        )
        for each, changes in cases
    ]
    Database(path).add(made)
    past = opened(path)
    (runs,) = reading.runs(past, past.entries, lambda *_: True)
    return runs


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, True])
def test_a_value_that_is_no_measurement_is_not_compared(value, tmp_path):
    reduce, allreduce = pair(5.0)
    metrics = [
        (name, unit, value if name == "time_256" else each)
        for name, unit, each in allreduce.metrics
    ]
    runs = stored(tmp_path / "db", (reduce, {}), (allreduce._replace(metrics=metrics), {}))
    report = evaluate(runs)
    first, second = of_kind(report, "Reduce <= Allreduce")
    assert first.sizes[-1] == 128
    assert second.sizes[0] == 512
    assert report.skipped["imb.Allreduce has a value that is no measurement"] >= 1


def test_only_the_first_run_of_a_case_counts_and_no_fixture(tmp_path):
    reduce, allreduce = pair(5.0)
    runs = stored(tmp_path / "db", (reduce, {}), (allreduce, {"fixture": True}))
    report = evaluate(runs)
    assert report.skipped["imb.Allreduce was not measured"] == 2
    slow, _ = pair(25.0)
    cases = (slow, {"run_index": 1}), (reduce, {}), (allreduce, {})
    (finding,) = of_kind(evaluate(stored(tmp_path / "more", *cases)), "Reduce <= Allreduce")
    assert finding.left.value == 5.0
    cases = (allreduce, {"run_index": 1}), (reduce, {}), (allreduce, {"result": "fail"})
    report = evaluate(stored(tmp_path / "failed", *cases))
    assert report.skipped["imb.Allreduce failed"] == 2


def test_different_units_are_not_compared():
    reduce, _ = pair(5.0)
    allreduce = case("imb.Allreduce", dict.fromkeys(SIZES[2:], 0.001), unit="ms")
    report = evaluate(session(reduce, allreduce))
    assert of_kind(report, "Reduce <= Allreduce") == []
    assert report.skipped["different units: ms, us"] == len(SIZES[2:])


def test_a_case_without_ranks_is_counted():
    report = evaluate(session(case("imb.Reduce", {64: 1.0, 128: 0.1}, keys={})))
    assert (report.findings, report.compared) == ([], 0)
    assert report.skipped == {"a case does not say on how many ranks it ran": 1}


def test_a_session_without_sweeps_has_nothing_to_say():
    hpcc = case("hpcc.all", {64: 9.0, 128: 1.0})
    barrier = case("imb.Barrier", {}, metrics=[("time", "us", 1.0)])
    bandwidth = case("imb.Uniband", {64: 9.0, 128: 1.0}, unit="MB/s", stem="bandwidth")
    for cases in ((), (hpcc,), (barrier,), (bandwidth,)):
        assert evaluate(session(*cases)) == guidelines.Report()


def test_a_finding_is_one_line_and_plain_data():
    levels = {"Allgather": 12.1, "Gather": 3.2, "Bcast": 4.1}
    cases = [collective("imb", name, 4, lambda n, v=v: v) for name, v in levels.items()]
    (finding,) = of_kind(evaluate(session(*cases)), "Allgather <= Gather + Bcast")
    assert str(finding) == (
        "Allgather costs more than Gather + Bcast: imb, 4 ranks, intra-node, local:default+wheels: "
        "4 B to 4 KiB, worst at 4 B: 12.1 us > 3.2 + 4.1 us (1.66 x, tolerance 1.10)"
    )
    data = asdict(finding)
    assert json.loads(json.dumps(data))["right"][1] == {
        "benchmark": "imb.Bcast",
        "metric": "time_4",
        "message_size": 4,
        "value": 4.1,
        "times": 1,
    }
    assert data["cases"] == ("imb.Allgather 4", "imb.Gather 4", "imb.Bcast 4")
    assert (data["session"], data["left"]["message_size"]) == ("s1", 1)


def test_a_line_says_on_how_many_nodes_and_which_way():
    keys = {
        "np": "4", "nodes": "2", "placement": "inter-node", "mapping": "block",
        "intranode": "loopback",
    }  # fmt: skip
    slow = case("osu.alltoall", {1: 9.0, 2: 9.0, 4: 1.0, 8: 1.0}, keys=keys)
    (finding,) = evaluate(session(slow)).findings
    assert str(finding) == (
        "alltoall: a message costs more than a larger one: osu, 4 ranks on 2 nodes, inter-node, "
        "block, loopback, local:default+wheels: 1 B to 2 B, worst at 1 B: 9 us > 1 us at 4 B "
        "(9.00 x, tolerance 1.50)"
    )


def test_lines_of_two_synchronizations_differ():
    falling = {1: 9.0, 2: 9.0, 4: 1.0, 8: 1.0}
    words = ("fence", "pscw")
    cases = [
        case("osu.put_latency", falling, stem="latency", name=f" {word}",
             keys={**KEYS, "synchronization": word, "window": "create"})
        for word in words
    ]  # fmt: skip
    lines = [str(finding) for finding in evaluate(session(*cases)).findings]
    assert len(lines) == 2
    for word in words:
        assert sum(f"synchronization {word}, window create, " in line for line in lines) == 1


def test_the_spread_of_a_smooth_curve_is_small_and_of_errors_their_own():
    smooth = {2**n: 1 + 2**n / 1e4 for n in range(20)}
    assert roughness(smooth) < 0.03
    zigzag = {size: 1.1 ** (i % 2) for i, size in enumerate(smooth)}
    assert roughness(zigzag) == pytest.approx(1.4826 * 2 * math.log(1.1) / math.sqrt(6))
    assert roughness({1: 1.0, 2: 1.0, 4: 1.0, 8: 1.0}) is None
    assert roughness({3: 1.0, 7: 1.0, 13: 2.0, 40: 1.0, 99: 1.0}) is None
    assert deviation([1.0, 2.0]) is None
    assert deviation([1.0, 1.1, 1.21]) == pytest.approx(1.4826 * math.log(1.1))
    assert jumps({1: 1.0, 2: 4.0, 4: 2.0, 8: 3.0}) == {2: pytest.approx(math.log(2))}


def test_benchmarks_with_keys_of_their_own_are_sweeps_of_their_own():
    keys = {"np": "2", "nodes": "1", "placement": "intra-node"}
    cases = [
        case("osu.multi_lat", {1: 1.0, 2: 1.0}, stem="latency", keys={**keys, "pairs": "1"}),
        case("osu.latency", {1: 1.0, 2: 1.0}, stem="latency", keys=keys),
    ]
    first, second = collect(session(*cases))[0]
    assert (first.suite, first.where, first.shared) == (second.suite, second.where, second.shared)
    assert first != second
    assert (first.own, second.own) == ((("pairs", "1"),), ())


RECORDED = "imb/IMB-MPI1_PingPong_Sendrecv_Allreduce.openmpi.txt"


def recorded_cases(text):
    for table in imb_output.parse(text).tables:
        stem = imb.BENCHMARKS[table.benchmark].columns[0]
        times = {row.size: row.values[stem.name] for row in table.rows}
        yield case(f"imb.{table.benchmark}", times, stem=stem.stem)


def test_a_recorded_output_shows_where_its_mpi_changes_protocol(recorded):
    """Open MPI inside a node: from 4 KiB on a message waits for its receiver."""
    report = evaluate(session(*recorded_cases(recorded(RECORDED))))
    found = {(finding.guideline, finding.sizes): finding for finding in report.findings}
    assert list(found) == [
        ("PingPong: 2n bytes cost more than two messages of n bytes", (4096,)),
        ("PingPong: 2n bytes cost more than two messages of n bytes", (524288,)),
        ("Sendrecv: 2n bytes cost more than two messages of n bytes", (4096,)),
        ("Sendrecv: 2n bytes cost more than two messages of n bytes", (1048576,)),
        ("Allreduce: a message costs more than a larger one", (8192,)),
        ("Allreduce: 2n bytes cost more than two messages of n bytes", (8192,)),
        ("Allreduce: 2n bytes cost more than two messages of n bytes", (131072,)),
    ]
    first = found["PingPong: 2n bytes cost more than two messages of n bytes", (4096,)]
    assert (first.left.value, right_of(first)) == (2.23, 0.48)
    once = found["Allreduce: a message costs more than a larger one", (8192,)]
    assert (once.left.value, right_of(once)) == (164.14, 5.64)
    # No other collective was recorded.
    assert report.skipped == {
        "imb.Reduce was not measured": 2,
        "imb.Reduce_scatter was not measured": 1,
    }


def test_a_recorded_output_of_osu_is_read_as_well(recorded):
    (table,) = osu.parse(recorded("osu/osu_alltoall_f_np4.openmpi.txt")).tables
    times = {row.size: row.values["latency"] for row in table.rows}
    report = evaluate(session(case("osu.alltoall", times, np=4)))
    assert report.compared == 2 * (len(times) - 1)


CONFIGURATION = """
    site_configuration = {{
        "systems": [{{
            "name": "made", "hostnames": [".*"],
            "partitions": [{{"name": "compute", "environs": [], "extras": {extras}}}],
        }}],
    }}
"""


@pytest.fixture
def made(site):
    """A site with a database of four nights; Reduce is slow in the last one."""
    site.var.mkdir()
    database = Database(site.database)
    keys = {"np": "2", "nodes": "1", "placement": "intra-node"}
    for level in (0.9, 0.9, 0.9, 3.0):
        values = {size: 1 + size / 1e6 for size in SIZES[2:]}
        database.add(
            [
                MadeCase(
                    name=f"ImbMpi1 %benchmark={name}",
                    metrics={f"time_{s}": (v * factor, "us") for s, v in values.items()},
                    keys=keys,
                    benchmark=f"imb.{name}",
                    suite="imb",
                )
                for name, factor in (("Reduce", level), ("Allreduce", 1.0))
            ]
        )
    site.add_system(CONFIGURATION.format(extras={}))
    return site


def test_the_command_shows_findings_and_fails_where_it_is_asked_to(made):
    result = made.acceptance("claims", "guidelines")
    assert (result.status, result.errors) == (0, "")
    assert result.output.splitlines()[2].startswith("Reduce costs more than Allreduce  imb ")
    assert "session  00000003-0000-4000-8000-000000000000\nfindings 1, of which 0 fail\n" in (
        result.output
    )
    data = made.acceptance("claims", "guidelines", "--format", "json").data
    (finding,) = data["findings"]
    assert (finding["guideline"], finding["left"]["benchmark"]) == (
        "Reduce costs more than Allreduce",
        "imb.Reduce",
    )
    assert finding["where"].startswith("made:compute+spack-")
    assert (data["failing"], data["earlier_sessions"]) == ([], 3)

    made.add_system(CONFIGURATION.format(extras={"guidelines": "fail"}))
    result = made.acceptance("claims", "guidelines", "--format", "json")
    assert result.status == 1
    assert result.data["failing"] == [finding["id"]]
    first = ("claims", "guidelines", "--session", "00000000-0000-4000-8000-000000000000")
    # Sessions that came later are not earlier ones.
    assert made.acceptance(*first, "--format", "json").data["earlier_sessions"] == 0
    first = made.acceptance(*first)
    assert first.status == 0
    assert "findings 0, of which 0 fail\ncompared " in first.output
    assert "skipped  1: imb.Bcast was not measured" in first.output


def test_the_command_refuses_in_one_line(made, tmp_path):
    made.add_system(CONFIGURATION.format(extras={"guidelines": "maybe"}))
    words = ("claims", "guidelines")
    results = [
        (
            made.acceptance("claims", "guidelines"),
            "made:compute: unknown guidelines: 'maybe'; known: show, fail",
        ),
        (made.acceptance(*words, "--session", "none"), "holds no session none"),
        (
            made.acceptance("claims", "guidelines", "--db", tmp_path / "no.db"),
            "no.db: no such file",
        ),
    ]
    (tmp_path / "bad.db").write_text("no database")
    results.append(
        (
            made.acceptance("claims", "guidelines", "--db", tmp_path / "bad.db"),
            "bad.db: cannot be read",
        )
    )
    for result, words in results:
        assert (result.status, result.output) == (2, "")
        assert result.errors.startswith("acceptance claims guidelines: ")
        assert words in result.errors
        assert result.errors.count("\n") == 1


def test_only_the_partition_that_asks_fails(tmp_path):
    stored(
        tmp_path / "db",
        *((each, {"system": "local", "partition": "default"}) for each in pair(5.0)),
    )
    past = opened(tmp_path / "db")
    measured = past.session()
    systems = ({"name": "local", "partitions": [{"name": "default"}]},)
    report, failing = guidelines.judge(past, measured, systems)
    assert (len(report.findings), failing) == (1, ())
    extras = {"extras": {"guidelines": "fail"}}
    for name, count in (("default", 1), ("other", 0)):
        systems = ({"name": "local", "partitions": [{"name": name, **extras}]},)
        _, failing = guidelines.judge(past, measured, systems)
        assert len(failing) == count


def test_sessions_are_judged_by_their_rows(made, monkeypatch):
    past = opened(made.database)
    session = past.session()
    monkeypatch.setattr("acceptance.ledger.ledger.decode", None)
    report, failing = guidelines.judge(past, session, ())
    (finding,) = report.findings
    assert (finding.seen, finding.sessions, failing) == (0, 3, ())
    assert [entry.number for entry in guidelines.earlier(past, session)] == [3, 2, 1]

"""What a sound MPI satisfies on any machine, on made sessions and on recorded outputs."""

import itertools
import json
import math
import re
from dataclasses import asdict
from random import Random

import pytest

from acceptance.ledger import reading
from acceptance.ledger.reading import Run
from acceptance.relations import guidelines
from acceptance.relations.guidelines import (
    _CHOSEN,
    _KNOBS,
    _RULES,
    Report,
    collect,
    knob,
)
from acceptance.relations.rounds import ALPHA, FLOOR, chance, probability, rounds_for
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
        software={"suite": "IMB 2021.11" if suite == "imb" else "OSU 7.4"},
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


def measured(*cases, rounds=20):
    """Judge a session that was measured again as often, with the same values."""
    return Report(session(*cases), [session(*cases, uuid=f"r{n}") for n in range(rounds)])


def of_kind(report, kind):
    """Return the findings of a guideline, by what names it in ids."""
    return [each for each in report.findings if f".{kind.replace(' ', '')}/" in each.id]


@pytest.mark.parametrize("np", [2, 4])
@pytest.mark.parametrize("suite", ["imb", "osu"])
@pytest.mark.parametrize("guideline", _RULES, ids=str)
def test_a_guideline_is_violated_and_kept(guideline, suite, np):
    operation, *others = re.findall(r"\w+", guideline)
    rooted = ("Bcast", "Reduce", "Gather", "Scatter")
    # OMB's averages: the second operation starts after at most np times the average of the first.
    first = np if suite == "osu" and len(others) == 2 and others[0] in rooted else 1
    right = sum([1.0 * first, 2.0][: len(others)])

    def judged(factor):
        cases = [collective(suite, operation, np, flat(factor * right))]
        for level, other in zip((1.0, 2.0), others, strict=False):
            cases.append(collective(suite, other, np, flat(level)))
        return measured(*cases)

    report = judged(3)
    (finding,) = of_kind(report, guideline)
    assert finding.factor == pytest.approx(3)
    assert (finding.suite, finding.keys["np"], finding.rounds) == (suite, str(np), 20)
    assert len(finding.sizes) > 3
    than = guideline.partition(" <= ")[2]
    than = f"{first} x {than}" if first > 1 else than
    assert finding.guideline == f"{operation} is slower than {than}"
    (suspicion,) = [each for each in report.suspicions if each.slug == guideline]
    for n, terms in suspicion.sizes.items():
        for (sweep, size, times), name in zip(terms, (operation, *others), strict=True):
            assert size * part(suite, name, np) == n
            assert sweep.benchmark.lower() == f"{suite}.{name}".lower()
            assert times == (first if name == others[0] else 1)
    assert not of_kind(judged(0.999), guideline)
    assert not of_kind(judged(FLOOR - 0.001), guideline)
    assert of_kind(judged(FLOOR + 0.001), guideline)


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
    report = measured(*(collective(suite, name, 4, cost) for name, cost in costs.items()))
    assert (report.findings, report.suspected) == ([], 0)
    assert report.compared > 100
    assert sum(report.skipped.values()) > 0


def test_sizes_without_a_counterpart_are_counted():
    bcast = case("imb.Bcast", dict.fromkeys(SIZES, 1.0), np=4)
    scatter = case("imb.Scatter", dict.fromkeys(SIZES, 9.0), np=4)
    report = measured(bcast, scatter)
    (finding,) = of_kind(report, "Scatter <= Bcast")
    # n is four times the message size of Scatter; Bcast ends at 4 KiB.
    assert [*finding.sizes] == [4 * size for size in SIZES[:-2]]
    assert report.skipped["a sweep does not have the size"] == 2


def test_ranks_that_divide_nothing_are_not_compared():
    bcast = case("imb.Bcast", dict.fromkeys(SIZES, 1.0), np=6)
    scatter = case("imb.Scatter", dict.fromkeys(SIZES, 9.0), np=6)
    report = measured(bcast, scatter)
    assert of_kind(report, "Scatter <= Bcast") == []
    assert report.skipped["a sweep does not have the size"] == len(SIZES)
    # Where both sides count the part of a rank, nothing is divided.
    alltoall = case("imb.Alltoall", dict.fromkeys(SIZES, 1.0), np=6)
    allgather = case("imb.Allgather", dict.fromkeys(SIZES, 9.0), np=6)
    (finding,) = of_kind(measured(alltoall, allgather), "Allgather <= Alltoall")
    assert [*finding.sizes] == [6 * size for size in SIZES]


def test_a_larger_message_that_is_faster_is_found_with_its_range():
    slow = {256, 512, 1024}
    times = {size: 50.0 if size in slow else 10.0 for size in SIZES}
    times[512] = 60.0
    report = measured(case("imb.Allreduce", times))
    (finding,) = of_kind(report, "Allreduce:monotony")
    assert finding.sizes == {256: 5.0, 512: 6.0, 1024: 5.0}
    assert (finding.span, finding.factor) == ("256 B to 1 KiB", 5.0)
    assert finding.guideline == "Allreduce is slower than a larger message"
    # The nearest of several that are equally fast.
    (suspicion,) = [each for each in report.suspicions if each.slug == "Allreduce:monotony"]
    assert {terms[1][1] for terms in suspicion.sizes.values()} == {2048}
    growing = {size: 1 + size / 100 for size in SIZES}
    assert measured(case("imb.Allreduce", growing)).suspected == 0


def test_a_message_that_costs_more_than_its_halves_is_found():
    times = {size: (1 + size / 1000) * (4 if size >= 1024 else 1) for size in SIZES}
    report = measured(case("imb.PingPong", times, stem="latency"))
    (finding,) = report.findings
    assert finding.guideline == "PingPong is slower than 2 of half the size"
    assert finding.sizes == {1024: pytest.approx(4 * 2.024 / (2 * 1.512))}
    doubling = {size: 0.01 * size for size in SIZES}
    assert measured(case("imb.PingPong", doubling, stem="latency")).findings == []


def test_the_halves_of_a_rooted_operation_of_osu_begin_with_its_slowest_rank():
    times = {size: 1.0 if size < 1024 else 4.5 for size in SIZES}
    assert of_kind(measured(case("osu.alltoall", times, np=4)), "alltoall:split")
    assert not measured(case("osu.gather", times, np=4)).findings
    times = {size: 1.0 if size < 1024 else 9.0 for size in SIZES}
    (finding,) = measured(case("osu.gather", times, np=4)).findings
    assert finding.guideline == "gather is slower than 5 of half the size"
    assert finding.factor == pytest.approx(9 / 5)


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
    report = measured(
        case("osu.reduce_scatter", dict.fromkeys(sizes, 9.0)),
        case("osu.reduce", dict.fromkeys(sizes, 1.0)),
        case("osu.scatter", dict.fromkeys(SIZES, 1.0)),
    )
    (finding,) = of_kind(report, "Reduce_scatter <= Reduce + Scatter")
    assert [*finding.sizes] == sizes[1:]
    assert report.skipped["the part of a rank, n/p, is no whole element"] == 1


def test_an_empty_message_is_not_compared():
    times = {0: 50.0, **dict.fromkeys(SIZES, 1.0)}
    report = measured(case("imb.PingPong", times, stem="latency"))
    assert (report.findings, report.suspected) == ([], 0)
    assert report.compared == 2 * (len(SIZES) - 1)


def rounds_with(*levels, **changes):
    """Return a round of each level of Reduce; Allreduce has 1."""
    return [
        session(*pair(level, **changes), uuid=f"r{number}") for number, level in enumerate(levels)
    ]


SLOW = session(*pair(2.0))


def test_what_one_session_shows_is_a_suspicion():
    report = Report(SLOW)
    assert (report.findings, report.suspected, report.undecided) == ([], 1, 1)
    assert report.cases == ["imb.Reduce 2", "imb.Allreduce 2"]
    assert report.counts == {
        "violated": 0, "compared": 51, "suspected": 1, "noise": 0, "undecided": 1,
    }  # fmt: skip


def test_rounds_decide_whether_it_is_violated_noise_or_not_known():
    # Of a single suspicion the first look is after seven rounds: 2^-6 <= ALPHA / 2, and SPARE.
    assert rounds_for(1) == 7
    for slow, quiet, said in (
        (6, 0, "undecided"), (7, 0, "violated"), (6, 1, "violated"), (5, 2, "undecided"),
        (0, 4, "undecided"), (0, 5, "noise"),
        (2, 3, "noise"), (3, 3, "noise"), (3, 2, "undecided"), (5, 5, "noise"),
    ):  # fmt: skip
        report = Report(SLOW, rounds_with(*[2.0] * slow, *[1.0] * quiet))
        expected = {"violated": 0, "noise": 0, "undecided": 0, said: 1}
        counts = report.counts
        assert {word: counts[word] for word in expected} == expected, (slow, quiet)
        assert bool(report.cases) == (said == "undecided")
        assert len(report.findings) == (said == "violated")


def test_what_an_earlier_session_suspected_is_decided_again():
    quiet, rounds = session(*pair(1.0), uuid="s2"), rounds_with(*[2.0] * 12)
    assert Report(quiet, rounds).suspected == 0
    report = Report(quiet, rounds, earlier=[SLOW, SLOW])
    assert (report.suspected, len(report.findings), report.findings[0].session) == (1, 1, "s2")
    chosen = Report(quiet, [SLOW] * 12, earlier=[SLOW])
    assert (chosen.findings, chosen.undecided) == ([], 1), "what suspected it decides nothing"
    undecided = Report(quiet, earlier=[SLOW])
    assert (undecided.undecided, undecided.cases) == (1, []), "this session does not ask for it"
    other = session(*(each._replace(software={"suite": "IMB 2018"}) for each in SLOW))
    assert Report(quiet, rounds, earlier=[other]).suspected == 0


def by_enumeration(ratios):
    """Return the chance of the signed ranks of ratios without ties, over all signs."""
    logs = [math.log(ratio / FLOOR) for ratio in ratios]
    ranks = [1 + sum(abs(other) < abs(log) for other in logs) for log in logs]
    seen = sum(rank for rank, log in zip(ranks, logs, strict=True) if log > 0)
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product((0, 1), repeat=len(ranks))
    ]
    return sum(total >= seen for total in sums) / len(sums)


def test_the_chance_is_that_of_signed_ranks_by_all_signs():
    random = Random(7)
    for count in (1, 2, 5, 9, 11):
        for middle in (0.8, FLOOR, 1.3):
            ratios = [middle * random.lognormvariate(0, 0.2) for _ in range(count)]
            assert chance(ratios) == pytest.approx(by_enumeration(ratios))
    # As in tables of its distribution: n = 10, W = 45, 44 and 27 or higher.
    for low, expected in (((0,), 1 / 1024), ((1,), 2 / 1024), ((10,), 43 / 1024)):
        ratios = [FLOOR * math.exp(-rank if rank in low else rank) for rank in range(1, 11)]
        assert chance(ratios) == expected
    assert chance([]) == 1
    # Equal ones share their rank, so that they are all or nothing; the floor itself is below.
    assert chance([2.0] * 5) == 1 / 32
    assert chance([FLOOR] * 5) == 1
    assert chance([2.0] * 4 + [FLOOR]) == 2 / 32


HISTORIES = 1000


def false_rate(suspected, rounds, ratio):
    """Return in what share of the made histories one suspicion is told, with looks in between."""
    random = Random(suspected)
    told = 0
    for _ in range(HISTORIES):
        told += probability([ratio(random) for _ in range(rounds)], suspected) <= ALPHA
    return told / HISTORIES


def spike(random):
    return math.exp(random.gauss(0, 0.05)) * (random.uniform(2, 9) if random.random() < 0.2 else 1)


def test_the_chance_of_a_false_finding_is_what_it_says_at_the_floor_however_often_one_looks():
    """Both sides have the same distribution, one is FLOOR times as large: normal, and spiked."""
    for made in (lambda random: random.lognormvariate(0, 0.3), spike):
        rate = false_rate(1, 18, lambda random, made=made: FLOOR * made(random) / made(random))
        assert rate <= ALPHA + 3 * math.sqrt(ALPHA / HISTORIES)
        assert rate >= ALPHA / 10, "the level is used"
        equal = false_rate(1, 18, lambda random, made=made: made(random) / made(random))
        assert equal <= rate


def test_later_looks_have_half_of_the_level_each():
    need = rounds_for(20)
    assert 2.0 ** -(need - 1) <= ALPHA / 40 < 2.0 ** -(need - 2)
    slow, quiet = [2.0] * need, [1.0] * need
    assert probability(slow[1:], 20) == 1, "not before the first look"
    first = probability(slow, 20)
    assert first == pytest.approx(40 * 2.0**-need)
    # What was told stays told, and what comes later has its own look.
    assert probability([*slow, *quiet], 20) == first
    later = [*quiet[:2], *slow, *slow[2:]]
    looks = [(11, 40), (13, 80), (16, 160), (20, 320)]
    assert looks[0][0] == need
    expected = [times * chance(later[:look]) for look, times in looks]
    assert probability(later, 20) == pytest.approx(min(expected))
    assert probability(later[:19], 20) == pytest.approx(min(1, *expected[:3]))
    assert [rounds_for(count) for count in (15, 70, 120)] == [11, 13, 14]


def spiked(number):
    """Return the factor by which a round is slower: every third one, and each differently."""
    return 1 + 7 * (number % 3 == 0)


def test_what_both_sides_suffer_alike_decides_nothing():
    def at(number, level):
        by = spiked(number)
        return session(*pair(level * by, by), uuid=f"r{number}")

    assert len(Report(SLOW, [at(number, 2.0) for number in range(9)]).findings) == 1
    quiet = Report(SLOW, [at(number, 1.05) for number in range(9)])
    assert (quiet.findings, quiet.noise) == ([], 1)


def test_a_range_is_judged_by_its_median_and_told_where_it_holds_by_itself():
    """Each round is disturbed at another size, and one size was slow in the first session alone."""
    sizes = (64, 128, 256, 512)
    rounds = [
        session(*pair({64: 1.0, 128: 2.0, 256: 2.0, 512: 3.0, sizes[1 + n % 3]: 1.0 + n % 2}))
        for n in range(12)
    ]
    report = Report(session(*pair(dict.fromkeys(sizes, 4.0))), rounds)
    (suspicion,) = [each for each in report.suspicions if each.slug == "Reduce <= Allreduce"]
    medians = [sorted(each.values()) for each in suspicion.rounds]
    assert any(each[1] == 1.0 for each in medians)
    held = Report(
        session(*pair(dict.fromkeys(sizes, 4.0))),
        [session(*pair({64: 1.0, 128: 2.0, 256: 2.0, 512: 3.0}))] * 12,
    )
    (finding,) = of_kind(held, "Reduce <= Allreduce")
    assert finding.sizes == {128: 2.0, 256: 2.0, 512: 3.0}


def test_what_was_not_measured_again_is_no_round():
    for changes in ({"result": "fail"}, {"unit": "s"}, {"software": {"suite": "IMB 2018"}}):
        other = [session(case("imb.Reduce", dict.fromkeys(SIZES, 2.0), **changes))] * 12
        report = Report(SLOW, other)
        assert (report.findings, report.undecided) == ([], 1)
    assert Report(SLOW, rounds_with(*[2.0] * 12, np=4)).undecided == 1
    # One side alone is none either, and each round counts for what it measured.
    alone = [session(pair(2.0)[0])] * 12
    assert Report(SLOW, alone).undecided == 1
    (finding,) = Report(SLOW, [*alone, *rounds_with(*[2.0] * 9)]).findings
    assert finding.rounds == 9


def test_a_round_of_another_unit_is_none():
    reduce, allreduce = pair(2.0)
    in_ms = [
        each._replace(metrics=[(name, "ms", value) for name, _, value in each.metrics])
        for each in (reduce, allreduce)
    ]
    assert Report(session(reduce, allreduce), [session(*in_ms)] * 12).undecided == 1


def test_more_suspicions_need_more_rounds():
    """What is told of one of many is as certain as of one alone."""
    names = ("Bcast", "Exchange", "Sendrecv", "Alltoall")
    spikes = [
        case(f"imb.{name}", {size: 9.0 if size in (4, 64, 1024) else 1.0 for size in SIZES})
        for name in names
    ]
    first = session(*pair(2.0), *spikes)
    quiet = [case(f"imb.{name}", dict.fromkeys(SIZES, 1.0)) for name in names]
    again = [session(*pair(2.0), *quiet)]
    report = Report(first, again * 5)
    assert report.suspected > 20
    assert (report.findings, report.undecided) == ([], 1)
    assert report.noise == report.suspected - 1
    report = Report(first, again * rounds_for(report.suspected))
    (finding,) = report.findings
    assert finding.p == pytest.approx(2 * report.suspected / 2**finding.rounds)
    assert finding.p <= ALPHA


def test_the_partner_of_a_size_stays_the_one_that_was_suspected():
    """The fastest of the larger ones in each round would be faster by chance."""
    times = dict.fromkeys(SIZES, 1.0) | {512: 3.0}
    first = session(case("imb.Bcast", times | {1024: 0.9}))
    rounds = [
        session(case("imb.Bcast", times | {512: 1.05, SIZES[-(1 + n % 2)]: 0.8})) for n in range(12)
    ]
    report = Report(first, rounds)
    suspicions = [each for each in report.suspicions if 512 in each.sizes]
    assert [each.slug for each in suspicions] == ["Bcast:monotony", "Bcast:split"]
    assert suspicions[0].sizes[512][1][1] == 1024
    assert report.findings == []


def test_ranges_of_one_guideline_are_one_finding():
    values = {64: 3.0, 128: 4.0, 256: 3.0, 1024: 2.0, 65536: 2.0}
    sizes = [2**n for n in range(23)]
    report = measured(*pair(values, sizes=sizes))
    (finding,) = of_kind(report, "Reduce <= Allreduce")
    assert finding.sizes == values
    assert finding.span == "64 B to 256 B, 1 KiB, 64 KiB"
    assert len([each for each in report.suspicions if each.slug == "Reduce <= Allreduce"]) == 3
    assert finding.id == (
        "local:default+wheels/imb.Reduce<=Allreduce/"
        "intranode=shared;nodes=1;np=2;placement=intra-node"
    )


def test_the_id_does_not_hang_on_sizes_or_values():
    (one,) = of_kind(measured(*pair({64: 3.0, 128: 4.0})), "Reduce <= Allreduce")
    (other,) = of_kind(measured(*pair({512: 2.0, 1024: 2.0})), "Reduce <= Allreduce")
    (four,) = of_kind(measured(*pair({512: 2.0, 1024: 2.0}, np=4)), "Reduce <= Allreduce")
    assert one.id == other.id != four.id


def test_repetitions_in_a_session_count_as_their_median():
    reduce, allreduce = pair({256: 3.0, 512: 3.0})
    calm = pair({})[0]

    def repeated(*cases):
        named = [each._replace(name=f"Reduce {number}") for number, each in enumerate(cases)]
        return of_kind(measured(*named, allreduce), "Reduce <= Allreduce")

    assert repeated(reduce, calm, calm) == []
    (finding,) = repeated(reduce, reduce, calm)
    assert finding.factor == 3.0


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
    report = measured(reduce, allreduce._replace(**changes))
    assert report.suspected == 0
    assert report.skipped[reason] == 2  # Allreduce <= Reduce + Bcast wants it, too


def test_a_repetition_does_not_undo_a_failure():
    reduce, allreduce = pair(5.0)
    failed = allreduce._replace(result="fail", metrics=[])
    report = measured(reduce, failed, allreduce)
    assert of_kind(report, "Reduce <= Allreduce") == []
    assert report.skipped["imb.Allreduce failed"] == 2


@pytest.mark.parametrize("key", ["np", "nodes", "placement", "intranode"])
def test_other_ranks_or_places_are_not_compared(key):
    reduce, allreduce = pair(5.0)
    other = allreduce._replace(keys={**allreduce.keys, key: "3"})
    assert measured(reduce, other).suspected == 0


def stored(path, *cases, sessions=1):
    """Return the runs of a session that ReFrame has stored: those cases, changed so.

    There are as many `sessions` of these cases.
    """
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
    database = Database(path)
    for _ in range(sessions):
        database.add(made)
    past = opened(path)
    runs, *_ = reading.runs(past, past.entries, lambda *_: True)
    return runs


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, True])
def test_a_value_that_is_no_measurement_is_not_compared(value, tmp_path):
    reduce, allreduce = pair(5.0)
    metrics = [
        (name, unit, value if name == "time_256" else each)
        for name, unit, each in allreduce.metrics
    ]
    runs = stored(tmp_path / "db", (reduce, {}), (allreduce._replace(metrics=metrics), {}))
    report = Report(runs)
    first, second = [each for each in report.suspicions if each.slug == "Reduce <= Allreduce"]
    assert [*first.sizes, *second.sizes] == [size for size in SIZES[2:] if size != 256]
    assert report.skipped["imb.Allreduce has a value that is no measurement"] >= 1


def test_only_the_first_run_of_a_case_counts_and_no_fixture(tmp_path):
    reduce, allreduce = pair(5.0)
    runs = stored(tmp_path / "db", (reduce, {}), (allreduce, {"fixture": True}))
    report = Report(runs)
    assert report.skipped["imb.Allreduce was not measured"] == 2
    slow, _ = pair(25.0)
    cases = (slow, {"run_index": 1}), (reduce, {}), (allreduce, {})
    (suspicion,) = Report(stored(tmp_path / "more", *cases)).suspicions
    assert {*suspicion.sweeps[0].times.values()} == {5.0}
    cases = (allreduce, {"run_index": 1}), (reduce, {}), (allreduce, {"result": "fail"})
    report = Report(stored(tmp_path / "failed", *cases))
    assert report.skipped["imb.Allreduce failed"] == 2


def test_different_units_are_not_compared():
    reduce, _ = pair(5.0)
    allreduce = case("imb.Allreduce", dict.fromkeys(SIZES[2:], 0.001), unit="ms")
    report = measured(reduce, allreduce)
    assert report.suspected == 0
    assert report.skipped["different units: ms, us"] == len(SIZES[2:])


def test_a_case_without_ranks_is_counted():
    report = measured(case("imb.Reduce", {64: 1.0, 128: 0.1}, keys={}))
    assert (report.findings, report.compared) == ([], 0)
    assert report.skipped == {"a case does not say on how many ranks it ran": 1}


def test_a_session_without_sweeps_has_nothing_to_say():
    hpcc = case("hpcc.all", {64: 9.0, 128: 1.0})
    barrier = case("imb.Barrier", {}, metrics=[("time", "us", 1.0)])
    bandwidth = case("imb.Uniband", {64: 9.0, 128: 1.0}, unit="MB/s", stem="bandwidth")
    for cases in ((), (hpcc,), (barrier,), (bandwidth,)):
        assert Report(session(*cases)) == Report()


def test_a_finding_is_one_line_and_plain_data():
    levels = {"Allgather": 12.1, "Gather": 3.2, "Bcast": 4.1}
    cases = [collective("imb", name, 4, lambda n, v=v: v) for name, v in levels.items()]
    (finding,) = of_kind(measured(*cases), "Allgather <= Gather + Bcast")
    assert str(finding) == (
        "Allgather of 4 B to 4 KiB is slower than Gather + Bcast, 1.7 times (1.7 at 4 B; "
        f"p {finding.p:.1g}, "
        "20 rounds): imb, 4 ranks, intra-node, local:default+wheels"
    )
    data = json.loads(json.dumps(asdict(finding)))
    assert data["sizes"] == {str(4 * size): pytest.approx(12.1 / 7.3) for size in SIZES[:-2]}
    assert data["cases"] == ["imb.Allgather 4", "imb.Gather 4", "imb.Bcast 4"]
    assert (data["session"], data["knob"], finding.remedy) == ("s1", "", "")


@pytest.mark.parametrize(
    ("mpi", "operation", "expected"),
    [
        ("intel-mpi", "Scatter", "I_MPI_ADJUST_SCATTER"),
        ("intel-mpi", "nbc.Iallreduce", "I_MPI_ADJUST_IALLREDUCE"),
        ("mpich", "Reduce_scatter", "MPIR_CVAR_REDUCE_SCATTER_INTRA_ALGORITHM"),
        ("openmpi", "allgather", "coll_tuned_allgather_algorithm"),
        ("openmpi", "nbc.Ibcast", "coll_libnbc_ibcast_algorithm"),
        ("openmpi", "PingPong", ""),
        ("intel-mpi", "rma.Unidir_put", ""),
        ("cray-mpt", "Scatter", ""),
        ("", "Scatter", ""),
    ],
)
def test_the_remedy_names_what_chooses_the_algorithm(mpi, operation, expected):
    assert knob(mpi, operation) == expected


def test_a_finding_says_what_chooses_the_algorithm_of_its_mpi():
    now, again = session(*pair(2.0)), rounds_with(*[2.0] * 9)
    (finding,) = Report(now, again, {"wheels": "intel-mpi", "other": "openmpi"}).findings
    assert finding.remedy == "choose another algorithm, I_MPI_ADJUST_REDUCE"
    assert str(finding).endswith(f"local:default+wheels: {finding.remedy}")
    assert {*_KNOBS} == {"intel-mpi", "mpich", "openmpi"}
    assert "reduce_scatter" in _CHOSEN


def test_a_line_says_on_how_many_nodes_and_which_way():
    keys = {
        "np": "4", "nodes": "2", "placement": "inter-node", "mapping": "block",
        "intranode": "loopback",
    }  # fmt: skip
    slow = case("osu.alltoall", {1: 9.0, 2: 9.0, 4: 1.0, 8: 1.0}, keys=keys)
    (finding,) = measured(slow).findings
    assert str(finding) == (
        "alltoall of 1 B to 2 B is slower than a larger message, 9.0 times (9.0 at 1 B; "
        f"p {finding.p:.1g}, "
        "20 rounds): osu, 4 ranks on 2 nodes, inter-node, block, loopback, local:default+wheels"
    )


def test_lines_of_two_synchronizations_differ():
    falling = {1: 9.0, 2: 9.0, 4: 1.0, 8: 1.0}
    words = ("fence", "pscw")
    cases = [
        case("osu.put_latency", falling, stem="latency", name=f" {word}",
             keys={**KEYS, "synchronization": word, "window": "create"})
        for word in words
    ]  # fmt: skip
    lines = [str(finding) for finding in measured(*cases).findings]
    assert len(lines) == 2
    for word in words:
        assert sum(f"synchronization {word}, window create, " in line for line in lines) == 1


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
    report = measured(*recorded_cases(recorded(RECORDED)))
    found = {finding.id.split("/")[1]: finding for finding in report.findings}
    assert {name: finding.span for name, finding in found.items()} == {
        "imb.PingPong:split": "4 KiB, 512 KiB to 1 MiB",
        "imb.Sendrecv:monotony": "1 B to 2 B, 8 B",
        "imb.Sendrecv:split": "4 KiB, 1 MiB",
        "imb.Allreduce:monotony": "4 B, 8 KiB",
        "imb.Allreduce:split": "8 KiB, 128 KiB",
    }
    first = found["imb.PingPong:split"]
    assert first.sizes[4096] == pytest.approx(2.23 / 0.48)
    assert found["imb.Allreduce:monotony"].sizes[8192] == pytest.approx(164.14 / 5.64)
    # No other collective was recorded.
    assert report.skipped == {
        "imb.Reduce was not measured": 2,
        "imb.Reduce_scatter was not measured": 1,
    }


def test_a_recorded_output_of_osu_is_read_as_well(recorded):
    (table,) = osu.parse(recorded("osu/osu_alltoall_f_np4.openmpi.txt")).tables
    times = {row.size: row.values["latency"] for row in table.rows}
    report = Report(session(case("osu.alltoall", times, np=4)))
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
    """A site with a database of twelve nights; Reduce is slow in all but the first one."""
    site.var.mkdir()
    database = Database(site.database)
    keys = {"np": "2", "nodes": "1", "placement": "intra-node"}
    for level in (0.9, *[3.0] * 11):
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
    assert result.output.splitlines()[2].startswith("Reduce is slower than Allreduce  imb ")
    assert (
        "session  0000000b-0000-4000-8000-000000000000\nfindings 1, of which 0 fail\n"
        "compared 1 violated in 51 comparisons; 0 of 1 suspicions were noise\n"
    ) in result.output
    data = made.acceptance("claims", "guidelines", "--format", "json").data
    (finding,) = data["findings"]
    assert (finding["guideline"], finding["rounds"]) == ("Reduce is slower than Allreduce", 11)
    assert [*finding["sizes"].values()] == pytest.approx([3.0] * len(SIZES[2:]))
    assert finding["where"].startswith("made:compute+spack-")
    assert (data["failing"], data["rounds"]) == ([], 11)

    made.add_system(CONFIGURATION.format(extras={"guidelines": "fail"}))
    result = made.acceptance("claims", "guidelines", "--format", "json")
    assert result.status == 1
    assert result.data["failing"] == [finding["id"]]
    first = ("claims", "guidelines", "--session", "00000000-0000-4000-8000-000000000000")
    # Sessions that came later are not earlier ones.
    assert made.acceptance(*first, "--format", "json").data["rounds"] == 0
    first = made.acceptance(*first)
    assert first.status == 0
    assert "findings 0, of which 0 fail\ncompared 0 violated in 51 comparisons\n" in first.output
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
        sessions=10,
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
    assert (finding.rounds, failing) == (11, ())
    assert [entry.number for entry in guidelines.rounds_of(past, session)] == [*range(1, 12)]


def test_rounds_are_the_sessions_that_measured_it_again_and_earlier_ones(site):
    """Those of later runs are none; without a name the last run is asked for, not its rounds."""
    site.var.mkdir()
    database = Database(site.database)
    uuid = "0000000{}-0000-4000-8000-000000000000"
    labels = ("", "", f"{uuid.format(1)}.again1", f"{uuid.format(1)}.again2", "")
    for label in (*labels, f"{uuid.format(4)}.again1"):
        database.add([MadeCase(metrics={"time_64": (1.0, "us")})], label=label)
    past = opened(site.database)
    asked = past.session(uuid.format(1))
    assert [entry.number for entry in guidelines.rounds_of(past, asked)] == [1, 3, 4]
    site.add_system(CONFIGURATION.format(extras={}))
    told = site.acceptance("claims", "guidelines", "--format", "json").data
    assert (told["session"], told["rounds"]) == (uuid.format(4), 5)


def test_repetitions_and_later_sessions_suspect_nothing_for_a_session(tmp_path):
    """Of sessions after each other the one shows a violation, or its repetition does."""
    database = Database(tmp_path / "db")
    uuid = "0000000{}-0000-4000-8000-000000000000"
    slow, even = 4.0, 1.0
    for value, label in (
        (slow, ""), (even, ""), (even, ""), (slow, f"{uuid.format(2)}.again1"), (even, ""),
        (even, ""), (slow, ""),
    ):  # fmt: skip
        database.add(
            [
                MadeCase(
                    name=f"Imb {name}", suite="imb", benchmark=f"imb.{name}",
                    keys=KEYS | {"np": "2"},
                    metrics={f"time_{size}": (level, "us") for size in (64, 128)},
                )
                for name, level in (("Reduce", value), ("Allreduce", 1.0))
            ],
            label=label,
        )  # fmt: skip
    past = opened(tmp_path / "db")
    assert [
        guidelines.report_of(past, past.session(uuid.format(number))).suspected
        for number in (0, 1, 2, 4, 5, 6)
    ] == [1, 1, 1, 1, 0, 1]


def test_other_steps_of_earlier_nights_take_no_place_of_a_round(tmp_path, monkeypatch):
    monkeypatch.setattr(guidelines, "EARLIER", 4)
    database = Database(tmp_path / "db")
    collectives = MadeCase(metrics={"time_64": (1.0, "us")}, benchmark="imb.Bcast", suite="imb")
    steps = {
        "links": MadeCase(name="LinkCheck", suite="fabric", benchmark="fabric.link"),
        "hpcc": MadeCase(name="Hpcc", suite="hpcc", benchmark="hpcc.all"),
        "osu": MadeCase(name="Osu", metrics={"latency_8": (1.0, "us")}),
        "imb": collectives,
    }
    for night in range(guidelines.EARLIER + 5):
        for step, case in steps.items():
            database.add([case], label=f"nightly-2026-11-{night + 1:02}T220000.{step}")
    past = opened(tmp_path / "db")
    rounds = guidelines.rounds_of(past, past.session())
    last = past.entries[-1].number
    assert [entry.number for entry in rounds] == [
        last - len(steps) * ago for ago in range(guidelines.EARLIER, 0, -1)
    ]


def test_what_the_last_rounds_do_not_show_any_more_is_over():
    for quiet, count in ((4, 1), (5, 0)):
        report = Report(SLOW, rounds_with(*[2.0] * 20, *[1.0] * quiet))
        assert (len(report.findings), report.noise) == (count, 1 - count)


def test_without_a_suspicion_no_round_is_read():
    rounds = iter(["unread"])
    assert Report(session(case("imb.Bcast", dict.fromkeys(SIZES, 1.0))), rounds).suspected == 0
    assert next(rounds) == "unread"

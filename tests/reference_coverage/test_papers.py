"""The papers' rows on the listings of their own systems: each judges only what was measured."""

import re
from collections import Counter, defaultdict

import pytest

from acceptance.core.paths import ROOT
from acceptance.core.words import split_metric
from acceptance.references import load
from acceptance.references.library import outside
from acceptance.references.records import with_derived
from tests.reference_coverage.claims import cover_claims
from tests.reference_coverage.listing import cases_of
from tests.reference_coverage.rows import cover_rows


@pytest.fixture(scope="module")
def library():
    return load(ROOT / "reference")


@pytest.fixture(scope="module")
def cases(library):
    return cases_of(library.papers)


@pytest.fixture(scope="module")
def covered_rows(library, cases):
    return cover_rows(library.values, library, cases)


@pytest.fixture(scope="module")
def covered_claims(library, cases):
    return cover_claims(library.claims, library, cases)


def of_result(row, case, name):
    """Tell whether nothing that a paper says of a number contradicts the keys of a result of it."""
    _, size = split_metric(name)
    keys = {**with_derived(case.keys), "environment": case.environment}
    keys |= {} if size is None else {"message_size": str(size)}
    if ("message_size" in row.parameters) != (size is not None):
        return False
    return all(keys.get(key, value) == value for key, value in row.parameters.items())


def fed_back(library, cases):
    """Yield each result that a paper has printed and that is judged: case, metric, row, verdict."""
    rows = {(str(row.path), row.line): row for row in library.values}
    of_place = defaultdict(list)
    for row in library.values:
        of_place[row.system, row.partition, row.benchmark, row.metric].append(row)
    for case in cases:
        for name, place in case.judged.items():
            judge = rows[place]
            thresholds = library.tolerances.thresholds(judge.source, judge.relation, judge.unit)
            stem, _ = split_metric(name)
            for row in of_place[case.system, case.partition, case.benchmark, stem]:
                if of_result(row, case, name):
                    yield case, name, row, outside(row.value, judge.value, *thresholds)


def test_a_papers_own_numbers_pass_wherever_they_are_judged(library, cases):
    results = list(fed_back(library, cases))
    failed = [
        f"{case.partition} {case.name}: {row.path.name}:{row.line} has {row.value:g} {row.unit}, "
        f"which {case.judged[name][0]}:{case.judged[name][1]} judges"
        for case, name, row, wrong in results
        if wrong
    ]
    assert not failed
    papers = Counter(row.origin for _, _, row, _ in results)
    assert set(papers) == set(library.papers)


def test_a_number_judges_one_way_of_running(covered_rows):
    """One where its paper says how many processes ran, else one for each number on full nodes."""
    for covered in covered_rows:
        ways = {}
        for each in covered.judged:
            keys = {key: value for key, value in each.case.keys.items() if key != "order"}
            ways.setdefault(keys["np"], set()).add(tuple(keys.items()))
        place = f"{covered.row.path.name}:{covered.row.line}"
        assert {*map(len, ways.values())} <= {1}, f"{place}: {ways}"
        assert len(ways) <= 1 or "per_node" in covered.row.parameters, f"{place}: {[*ways]}"


def test_what_is_expected_of_a_system_has_a_case_and_what_has_none_says_so(library, covered_claims):
    lines = [
        one.claim.line
        for one in covered_claims
        if (one.claim.expected and not one.modes)
        or ("no case" in one.claim.note) == bool(one.modes)
    ]
    assert not lines
    assert len(covered_claims) == len(library.claims)


def test_what_no_case_judges_is_listed_with_its_reason(covered_rows, covered_claims):
    text = (ROOT / "reference/README.md").read_text()
    section = text.partition("## What no case judges")[2].partition("\n## ")[0]
    _, rows, claims = section.split("|---|---|---|")
    for table, found in ((rows, covered_rows), (claims, covered_claims)):
        listed = sum(map(int, re.findall(r"^\| .+ \| (\d+) \| .+ \|$", table, re.MULTILINE)))
        assert listed == sum(each.why is not None for each in found)


def test_every_case_of_the_papers_could_be_cut(cases):
    assert {case.fault for case in cases} == {""}


def metrics_of(cases, **wanted):
    """Return the names of the metrics of the cases with these attributes and keys."""
    return [
        {*case.metrics}
        for case in cases
        if all(
            (getattr(case, name) if name in ("partition", "benchmark") else case.keys.get(name))
            == value
            for name, value in wanted.items()
        )
    ]


def test_smaller_runs_stand_on_all_nodes_and_on_as_few_as_hold_them(cases):
    of = {"partition": "ib-ddr", "benchmark": "npb.ft", "class": "C", "mapping": "block"}
    nodes = {case.keys["nodes"] for case in cases if (case.partition, case.benchmark) == (
        "ib-ddr", "npb.ft") and (case.keys["np"], case.keys["class"]) == ("32", "C")
        and case.keys["placement"] == "inter-node"}  # fmt: skip
    assert nodes == {"4", "16"}
    assert metrics_of(cases, **of, np="128", nodes="16", intranode="shared")
    # Full nodes take all of them: there is one way.
    names = [case.name for case in cases if case.partition == "ib-ddr" and "packed" in case.name]
    assert names
    assert not [name for name in names if "=128" in name or ".128" in name or "=8 " in name]


@pytest.mark.parametrize(("partition", "np"), [("altix-nl4", "512"), ("nec-sx8", "512")])
@pytest.mark.parametrize("name", ["Alltoall", "Allgather", "Reduce_scatter"])
def test_collectives_reach_1_mib_at_the_papers_largest_numbers(cases, partition, np, name):
    (metrics, *_) = metrics_of(
        cases, partition=partition, benchmark=f"imb.{name}", np=np, placement="inter-node"
    )
    assert "time_1048576" in metrics
    assert "time_2097152" not in metrics

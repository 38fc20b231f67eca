"""The papers' rows on the listings of their own systems: each judges only what was measured."""

from collections import Counter

import pytest

from acceptance.core.metrics import split
from acceptance.core.paths import ROOT, Workspace
from acceptance.coverage import cover_rows
from acceptance.references import load
from acceptance.references.misses import outside
from acceptance.references.records import with_derived
from acceptance.rfm import list_cases


@pytest.fixture(scope="module")
def library():
    return load(ROOT / "reference")


@pytest.fixture(scope="module")
def cases(library):
    return list_cases(Workspace.of(), library.papers)


def of_result(row, case, name):
    """Tell whether nothing that the paper says of a number contradicts the keys of a result."""
    stem, size = split(name)
    place = (case.system, case.partition, case.benchmark, stem)
    if (row.system, row.partition, row.benchmark, row.metric) != place:
        return False
    keys = {**with_derived(case.keys), "environment": case.environment}
    keys |= {} if size is None else {"message_size": str(size)}
    if ("message_size" in row.parameters) != (size is not None):
        return False
    return all(keys.get(key, value) == value for key, value in row.parameters.items())


def fed_back(library, cases):
    """Yield each result that a paper has printed and that is judged: case, metric, row, verdict."""
    rows = {(str(row.path), row.line): row for row in library.values}
    for case in cases:
        for name, place in case.judged.items():
            judge = rows[place]
            thresholds = library.tolerances.thresholds(judge.source, judge.relation, judge.unit)
            for row in library.values:
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


#: What follows from the number of processes and the machine.
FOLLOWING = ("nodes", "order")


def test_a_number_judges_one_way_of_running_unless_its_paper_leaves_the_processes_open(
    library, cases
):
    for covered in cover_rows(library.values, library, cases):
        free = (*FOLLOWING, *(["np"] if "np" not in covered.row.parameters else []))
        ways = {
            tuple(item for item in each.case.keys.items() if item[0] not in free)
            for each in covered.judged
        }
        assert len(ways) <= 1, f"{covered.row.path.name}:{covered.row.line}: {ways}"


def test_every_case_of_the_papers_could_be_cut(cases):
    assert {case.fault for case in cases} == {""}

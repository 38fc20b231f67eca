"""The project's own data in `reference/`: complete, and in agreement with itself."""

import csv
import re
import statistics

import pytest

from acceptance.core.paths import ROOT
from acceptance.references import PARAMETERS, RELATIONS, load, tables, write_parameters
from acceptance.references.records import CLAIM_COLUMNS, VALUE_COLUMNS, read_parameters
from acceptance.references.rows import SYSTEM_COLUMNS
from acceptance.suites import SUITES, check_of, has_check

REFERENCE = ROOT / "reference"


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


#: Files of values -> their rows, read without the project's reader.
PAPERS = {
    path.stem: rows_of(path)
    for path in sorted(REFERENCE.glob("*.csv"))
    if path.stem not in ("claims", "systems")
}
CLAIMS = rows_of(REFERENCE / "claims.csv")
SYSTEMS = rows_of(REFERENCE / "systems.csv")

#: Factor from `printed` to `value` -> how the note says so.
CONVERSIONS = {
    1000: r"GB/s x 1000\b|printed in (GB/s|TF/s|Tflop/s)|printed in B/F, converted to the unit of",
    1.048576: r"\bprinted x 1\.048576",
    1048.576: r"\bprinted x 1000 x 1\.048576",
}


@pytest.fixture(scope="module")
def published():
    return load(REFERENCE)


def test_no_row_is_lost(published):
    assert set(published.papers) == set(PAPERS)
    loaded = [tables.fields(row) for row in published.values]
    assert loaded == [row for rows in PAPERS.values() for row in rows]
    assert [*published.partitions.values()] == SYSTEMS
    columns = ("paper", "where", "benchmark", "metric", "relation", "unit", "printed", "note")
    assert [[getattr(claim, name) for name in columns] for claim in published.claims] == [
        [row[name] for name in columns] for row in CLAIMS
    ]


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_has_values_and_partitions(paper):
    assert PAPERS[paper]
    assert [row for row in SYSTEMS if row["system"] == paper]


def test_the_documentation_lists_columns_and_keys_in_their_order():
    text = (REFERENCE / "README.md").read_text()
    for columns in (VALUE_COLUMNS, CLAIM_COLUMNS, SYSTEM_COLUMNS):
        assert f"\n`{','.join(columns)}`\n" in text
    section = text.partition("### Parameters")[2].partition("###")[0]
    rows = re.findall(r"^\| (`.+?`) \|", section, re.MULTILINE)
    assert re.findall(r"`(\w+)`", " ".join(rows)) == list(PARAMETERS)


def test_every_claim_has_a_tolerance(published):
    for claim in published.claims:
        if claim.kind.tolerance:
            unit = claim.unit or ("x" if claim.left.over and claim.relation == "similar" else "%")
            assert published.tolerances.of_claim(claim.relation, unit) > 0


def test_each_kind_of_relation_has_one_meaning_in_the_documentation():
    text = (REFERENCE / "README.md").read_text()
    section = text.partition("### Kinds of relation")[2].partition("\n###")[0]
    table = re.findall(r"^\| `([^`]+)` \|.*\| (all|most|largest) \|$", section, re.MULTILINE)
    assert table == [(name, kind.of) for name, kind in RELATIONS.items()]


def test_a_value_of_a_paper_has_no_range():
    with pytest.raises(ValueError, match=r"'2\.\.8' is no value of 'np'"):
        read_parameters("np=2..8")


def test_what_no_check_measures_is_expected_of_no_system(published):
    expected = [claim for claim in published.claims if claim.expected]
    for claim in expected:
        assert "no case" not in claim.note, claim.line
        for benchmark, metric, _ in map(claim.stated, claim.sides):
            if metric and benchmark not in SUITES:
                assert check_of(benchmark, metric), claim.line
            else:
                assert has_check(benchmark) or benchmark in SUITES, claim.line
    assert len(expected) > len(published.claims) / 2


#: What a note says of a claim that no system must fulfil.
DOUBTS = re.compile(
    r"contradict|against Section|against expectation|says instead|our choice|entered for MSP"
    r"|inter-node taken|inter-node by the order|is not named|compared systems not said"
    r"|no case|reading of ours|mode not said"
)


def test_no_claim_is_expected_that_the_paper_contradicts_or_that_is_a_reading_of_ours(published):
    doubtful = [claim for claim in published.claims if DOUBTS.search(claim.note)]
    assert doubtful
    assert not [claim.line for claim in doubtful if claim.expected]
    plain = [claim for claim in published.claims if not claim.note]
    assert len(plain) == sum(not row["note"] for row in CLAIMS) > 0
    assert all(claim.expected for claim in plain)


def test_values_follow_from_what_is_printed_by_a_conversion_that_the_note_states(published):
    for row in published.values:
        printed = float(row.printed.replace(" x 10^", "e"))
        said = [factor for factor, words in CONVERSIONS.items() if re.search(words, row.note)]
        # 2e-7: kandadai2009 rounds what it converts to four digits after the point.
        assert row.value == pytest.approx(printed * (said or [1])[0], rel=2e-7), row.line
        assert len(said) <= 1, f"{row.path}:{row.line}"


def test_all_bandwidths_of_old_imb_and_no_others_are_converted_from_2_to_the_20(published):
    for row in published.values:
        # The paper's distances are those of its IMB.
        old = row.benchmark.startswith(("imb.", "patterns.distance")) and row.unit == "MB/s"
        assert old == ("1.048576" in row.note), f"{row.path}:{row.line}"


def test_npb_rates_and_times_are_of_the_same_work_unless_the_note_says_how_far_not(published):
    pairs = {}
    for row in published.values:
        if row.benchmark.startswith("npb."):
            problem = (row.benchmark, row.parameters["class"])
            case = (row.partition, row.parameters["np"])
            pairs.setdefault(problem, {}).setdefault(case, {})[row.metric] = row
    npb = [row for rows in PAPERS.values() for row in rows if row["benchmark"].startswith("npb.")]
    assert 2 * sum(map(len, pairs.values())) == len(npb) > 0
    deviating = []
    for problem, cases in pairs.items():
        work = {case: pair["time"].value * pair["mops_total"].value for case, pair in cases.items()}
        for case, pair in cases.items():
            off = 100 * (work[case] / statistics.median(work.values()) - 1)
            notes = pair["time"].note + pair["mops_total"].note
            if said := re.findall(r"time x Mops is ([+-][\d.]+) % off", notes):
                deviating.append(problem)
                assert {float(text) for text in said} == {round(off, 1)}, (problem, case)
            else:
                assert abs(off) < 1, (problem, case)
    assert sorted(deviating) == [("npb.bt", "D"), ("npb.mg", "C"), ("npb.mg", "D")]


def test_b_eff_per_process_is_the_total_over_the_processes(published):
    table = {
        row.key: row
        for row in published.values
        if (row.origin, row.where) == ("fatoohi2006", "Table 1")
    }
    compared = 0
    for row in table.values():
        if row.metric.endswith("_per_process"):
            metric = row.metric.removesuffix("_per_process")
            parameters = write_parameters(row.parameters)
            total = table[row.system, row.partition, row.benchmark, metric, parameters]
            assert abs(total.value / int(row.parameters["np"]) - row.value) <= 0.5, row.line
            compared += 1
    assert compared == sum(
        row["where"] == "Table 1" and row["metric"].endswith("_per_process")
        for row in PAPERS["fatoohi2006"]
    )

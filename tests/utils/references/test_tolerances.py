"""`references/tolerances.py`: what is refused, and which thresholds follow."""

import re

import pytest

from acceptance.references import ReferenceFault, Tolerances, failing, load
from tests.places import ROOT
from tests.utils.references.made import LATENCY, TOLERANCES, add, edit, refused


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (", reason: peaks repeat", "", "published, MB/s: Object missing required field `reason`"),
        ("reason: peaks repeat", "reason: ''", "published, MB/s: Expected `str` matching"),
        (
            "reason: peaks repeat",
            "reason: 5",
            "published, MB/s: Expected `str`, got `int` - at `$.reason`",
        ),
        ("worse: 0.2", "worse: 0.0", "published, us: Expected `float` > 0.0 - at `$.worse`"),
        ("worse: 0.2", "worse: 1.0", "published, us: Expected `float` < 1.0 - at `$.worse`"),
        ("worse: 0.2", "worse: -0.2", "published, us: Expected `float` > 0.0 - at `$.worse`"),
        ("worse: 0.2", "worse: .nan", "published, us: Expected `float` > 0.0 - at `$.worse`"),
        ("worse: 0.2", "worse: 20 %", "published, us: Expected `float`, got `str` - at `$.worse`"),
        ("worse: 0.2", "worse: null", "published, us: Expected `float`, got `null` - at `$.worse`"),
        ("better: 0.5", "better: 0.0", "baseline, MB/s: Expected `float` > 0.0 - at `$.better`"),
        ("better: 0.5", "better: -0.5", "baseline, MB/s: Expected `float` > 0.0 - at `$.better`"),
        (
            "worse: 0.2,",
            "worse: 0.2, limit: 1,",
            "published, us: Object contains unknown field `limit`",
        ),
        ("baseline:\n  us", "baseline:\n  ns", "baseline, ns: not one of us, "),
        ("baseline:\n  us", "baseline:\n  GHz", "baseline, GHz: of this unit no side is better"),
        ("baseline:\n", "limit: 0.1\nbaseline:\n", "limit: Expected `object`, got `float`"),
        (TOLERANCES, "", "Expected `object`, got `null`"),
        ("baseline:\n  us: {", "baseline:\n  us: {{", "cannot be read"),
        ("within: 3.0", "within: 3.0, worse: 0.1", "claims, =, %: Object contains unknown field"),
        ("within: 3.0", "within: 0.0", "claims, =, %: Expected `float` > 0.0 - at `$.within`"),
        ("within: 3.0", "within: 101.0", "claims, =, %: Expected `float` <= 100.0 - at `$.within`"),
        ("within: 3.0", "within: .nan", "claims, =, %: Expected `float` > 0.0 - at `$.within`"),
        ("within: 0.1", "within: 1.0", "claims, =, x: Expected `float` < 1.0 - at `$.within`"),
        (
            "within: 0.1",
            "within: a tenth",
            "claims, =, x: Expected `float`, got `str` - at `$.within`",
        ),
        (
            "within: 0.1, reason: two results",
            "within: 0.1",
            "=, x: Object missing required field `reason`",
        ),
        (
            "reason: curves on each other",
            "reason: ''",
            "claims, similar, %: Expected `str` matching",
        ),
        ("    x: {", "    us: {", "claims, =, us: not one of %, x, decade, difference"),
        ("  similar:\n", "  better:\n", "claims, better: not one of =, ~, bounds, "),
        (
            "  similar:\n",
            "  bounds: 1\n  similar:\n",
            "claims, bounds: Expected `object`, got `int`",
        ),
        ("better: 0.5", "better: .nan", "baseline, MB/s: Expected `float` > 0.0 - at `$.better`"),
        ("better: 0.5", "better: .inf", "baseline, MB/s: Expected `float` <= 1.79"),
    ],
)
def test_a_faulty_tolerance_is_refused_with_its_place(folder, old, new, words):
    path = folder / "tolerances.yaml"
    edit(path, old, new)
    with pytest.raises(ReferenceFault) as caught:
        load(folder)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)


def test_a_whole_number_may_bound_the_better_side(folder):
    edit(folder / "tolerances.yaml", "better: 0.5", "better: 1")
    assert load(folder).tolerances.thresholds("baseline", "=", "MB/s") == (-0.05, 1)


# Otherwise nothing of the right source would be judged any more.
def test_a_source_that_no_reference_has_is_refused(folder):
    edit(folder / "tolerances.yaml", "published:", "publshed:")
    with pytest.raises(ReferenceFault, match=r"tolerances\.yaml: publshed"):
        load(folder)


def test_missing_tolerances_are_refused(folder):
    (folder / "tolerances.yaml").unlink()
    with pytest.raises(ReferenceFault, match=r"tolerances\.yaml: cannot be read"):
        Tolerances.load(folder / "tolerances.yaml")


@pytest.mark.parametrize(
    ("source", "relation", "unit", "expected"),
    [
        ("published", "=", "us", (None, 0.2)),
        ("published", "~", "MB/s", (-0.2, None)),
        ("baseline", "=", "MB/s", (-0.05, 0.5)),
        # No time is less than zero: ReFrame requires a lower threshold of at least -1.
        ("baseline", "=", "us", (-1.0, 0.1)),
        # "over 900 MB/s" and "below 2 us" judge the worse side, "up to" and "at least" nothing.
        ("baseline", ">=", "MB/s", (-0.05, None)),
        ("baseline", "<=", "MB/s", None),
        ("baseline", "<=", "us", (None, 0.1)),
        ("baseline", ">=", "us", None),
        # Without direction, without tolerance of the unit, without tolerance of the source.
        ("published", "=", "GHz", None),
        ("published", "=", "s", None),
        ("limit", "=", "us", None),
    ],
)
def test_thresholds_follow_direction_and_relation(folder, source, relation, unit, expected):
    tolerances = Tolerances.load(folder / "tolerances.yaml")
    assert tolerances.thresholds(source, relation, unit) == expected


@pytest.mark.parametrize("unit", ['"1"', "1"])
def test_a_ratio_is_bounded_on_both_sides(folder, unit):
    """A communication balance that moves either way is not what it was."""
    entry = f"baseline:\n  {unit}: {{worse: 0.3, better: null, reason: both sides}}\n"
    edit(folder / "tolerances.yaml", "baseline:\n", entry)
    tolerances = load(folder).tolerances
    assert {
        relation: tolerances.thresholds("baseline", relation, "1")
        for relation in ("=", "~", ">=", "<=")
    } == {"=": (-0.3, 0.3), "~": (-0.3, 0.3), ">=": (-0.3, None), "<=": (None, 0.3)}


@pytest.mark.parametrize(
    ("relation", "unit", "within"), [("=", "%", 3.0), ("=", "x", 0.1), ("similar", "%", 10.0)]
)
def test_the_figure_of_a_claim_may_be_off_by_what_is_stated(folder, relation, unit, within):
    assert load(folder).tolerances.of_claim(relation, unit) == within


@pytest.mark.parametrize(("relation", "unit"), [("~", "%"), (">=", "x"), ("=", "us")])
def test_a_claim_without_tolerance_is_refused_when_it_is_asked_for(folder, relation, unit):
    with pytest.raises(ReferenceFault, match=r"claims: nothing for the relation .* of [%xd]"):
        load(folder).tolerances.of_claim(relation, unit)


def test_tolerances_without_claims_load(folder):
    path = folder / "tolerances.yaml"
    path.write_text(path.read_text().partition("claims:")[0])
    assert load(folder).tolerances.claims == {}


def test_the_documentation_says_what_fails():
    tolerances = load(ROOT / "reference").tolerances
    text = (ROOT / "reference/README.md").read_text()
    section = text.partition("## What fails, and how far from what")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\S+) \| (.+?) \| (.+?) \|$", section, re.MULTILINE)
    units = {unit for source, unit in tolerances.table if source != "limit"}
    assert {unit for unit, *_ in rows if unit != "unit"} == units
    for unit, published, baseline in rows[1:]:
        assert published == (failing(tolerances, "published", unit) or "-"), unit
        assert baseline == (failing(tolerances, "baseline", unit) or "-"), unit
    assert f"fails {failing(tolerances, 'limit', 'bandwidth_peak')}," in section


STRICT = "baseline:\n  us: {worse: 0.02, better: 0.5, reason: a quiet machine}\n"


def test_a_site_states_its_own_tolerances_with_their_origin(folder):
    own = folder / "sites/tolerances/mine.yaml"
    own.parent.mkdir()
    own.write_text(STRICT)
    library = load(folder)
    (row,) = library.baselines
    assert library.thresholds(row) == (-0.5, 0.02)
    assert library.tolerances.thresholds("baseline", "=", "us") == (-1.0, 0.1)
    assert library.tolerances_of("mine").origins == {("baseline", "us"): own}
    assert library.tolerances_of("mine").thresholds("baseline", "=", "MB/s") == (-0.05, 0.5)
    assert library.tolerances_of("koop") is library.tolerances


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("claims:\n  similar:\n    x: {within: 0.1, reason: none}\n", "of sources only"),
        ("baseline:\n  us: {worse: 2, better: null, reason: none}\n", "baseline, us"),
        ("baselin:\n  us: {worse: 0.2, better: null, reason: none}\n", "baselin: not one of"),
    ],
)
def test_tolerances_of_a_site_that_cannot_be_are_refused(folder, text, words):
    own = folder / "sites/tolerances/mine.yaml"
    own.parent.mkdir()
    own.write_text(text)
    refused(folder, "sites/tolerances/mine.yaml", 0, words)


def test_a_baseline_that_no_tolerance_could_judge_is_refused(folder):
    row = LATENCY.replace("koop", "mine").replace("latency,np=2;message_size=0", "time,np=4")
    add(folder, row.replace(",2.5,us,2.5", ",2.5,s,2.5"), name="sites/mine.csv")
    refused(folder, "sites/mine.csv", 3, "no tolerance of a baseline in s")


def test_a_number_that_is_only_about_so_may_be_missed_by_twice_as_much(folder):
    tolerances = load(folder).tolerances
    assert tolerances.thresholds("published", "~", "MB/s") == (-0.2, None)
    assert tolerances.thresholds("published", "=", "MB/s") == (-0.1, None)

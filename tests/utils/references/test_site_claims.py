"""Claims of sites in `sites/claims/`: what is refused, and apart from what they are."""

import pytest

from acceptance import references
from acceptance.references import ReferenceFault
from acceptance.references.records import VALUE_COLUMNS
from tests.utils.relations.made import copy_of_references, write

EMPTY = {"value": "", "unit": ""}
CURVE = {**EMPTY, "relation": "level", "left": "mine:new;np=2..8", "right": ""}


@pytest.fixture
def folder(tmp_path):
    return copy_of_references(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"paper": "yours"}, "the paper is 'yours' in the claims of 'mine'"),
        ({"left": "mine"}, "'mine' is not of the form system:partition"),
        ({"left": "mine:a b"}, "'mine:a b' is not of the form system:partition"),
        ({"left": "mine:", "right": "yours:"}, "neither side names a partition"),
        ({"left": "koop2008:qdr-pcie2", "right": "koop2008:ddr-pcie2"}, "neither side is of mine"),
        ({"value": "much"}, "the value 'much' is no number"),
        ({"right": ""}, "'>=' is said of two sides"),
        ({"relation": "level", **EMPTY}, "'level' is said of one side: left names a partition,"),
        ({**CURVE, "left": "mine:new;np=8"}, "one of its keys has a range, low..high or low.."),
        ({**CURVE, "left": "mine:new;np=2..8;pairs=1..4"}, "one of its keys has a range"),
        ({**CURVE, "left": "mine:;np=2..8"}, "left names a partition"),
        ({**CURVE, "left": "mine:new;np=2..8 / mine:old"}, "'level' is said of one side"),
        ({**CURVE, "value": "8"}, "'level' has neither value nor unit"),
        ({**CURVE, "relation": "peak", "value": "8", "unit": "us"}, "it has no unit"),
        ({**CURVE, "relation": "peak", "value": "16..8"}, "'16..8' is a range upside down"),
        ({**CURVE, "relation": "step", "value": "8"}, "'8' is no range low..high"),
        ({**CURVE, "left": "mine:new;np=2...8"}, "'2...8' is no value of 'np'"),
        ({**CURVE, "left": "mine:new;class=A..B"}, "'A..B' is no value of 'class'"),
        ({**EMPTY, "relation": "proportional"}, "neither side names one"),
        ({**EMPTY, "relation": "best", "unit": "%"}, "'best' has neither value nor unit"),
        ({"left": "mine:new / mine:new"}, "above and below the line is the same"),
        ({"left": "mine:new / mine"}, "'mine' is not of the form system:partition"),
        ({"relation": "up-to", "value": "0"}, "'up-to' nothing is no claim"),
        ({"unit": "decades"}, "unknown unit 'decades'"),
    ],
)
def test_a_faulty_claim_of_a_site_is_refused_with_file_and_line(folder, change, words):
    path = write(folder, {}, {**change, "note": "second"})
    with pytest.raises(ReferenceFault) as caught:
        references.load(folder)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert words in str(caught.value)


def test_claims_of_a_site_are_apart_from_its_baselines_and_from_the_papers(folder):
    write(folder, {}, {"left": "mine:new;np=16", "right": "mine:new;np=8", "expected": ""})
    (folder / "sites/mine.csv").write_text(",".join(VALUE_COLUMNS) + "\n")
    found = references.load(folder)
    own = [claim for claim in found.claims if claim.source == "site"]
    assert [(claim.paper, claim.expected, claim.line) for claim in own] == [
        ("mine", True, 2),
        ("mine", False, 3),
    ]
    assert {claim.paper for claim in found.claims if claim.source == "published"} == {*found.papers}
    # What a site compares is measured by the checks that go by what is stated.
    assert {"np": "16"} in list(found.stated("mine", "new", "imb.Alltoall"))


def test_a_range_is_no_value_that_a_check_is_asked_to_measure(folder):
    write(folder, {**CURVE, "parameters": "message_size=8"})
    stated = list(references.load(folder).stated("mine", "new", "imb.Alltoall"))
    assert stated == [{"message_size": "8"}]

"""What a verdict says of rows that judge nothing, and of links at which nobody looks."""

import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest

from acceptance.verdict import Verdict, coverage
from tests.places import ROOT
from tests.utils.site.test_unmet import HEADER, SITE
from tests.utils.verdict.test_rules import case

IN_VIEW = {"fabric": {"technology": "infiniband", "rate": "QDR", "view": "here"}}


@pytest.fixture
def evidence(tmp_path):
    """Return a measured case of a site, of whose two rows no case can meet the second one."""
    folder = shutil.copytree(ROOT / "reference", tmp_path / "reference")
    rows = [
        f"s,made,{row},1,n\n"
        for row in (
            "batch,imb.PingPong,latency,message_size=0,=,1,us",
            "gone,imb.PingPong,latency,message_size=0,=,1,us",
        )
    ]
    (folder / "sites").mkdir(exist_ok=True)
    (folder / "sites/made.csv").write_text(HEADER + "".join(rows))
    return SimpleNamespace(
        foreign=False, site=SITE, systems={"made"}, workspace=SimpleNamespace(reference=folder),
        cases=[replace(case(0), system="made", partition="batch")],
    )  # fmt: skip


def kinds(evidence, judge):
    verdict = Verdict()
    judge(verdict, evidence)
    return [(problem.kind, problem.text) for problem in (*verdict.problems, *verdict.findings)]


def test_a_row_that_no_case_meets_fails_a_run_of_its_site_alone(evidence):
    ((kind, text),) = kinds(evidence, coverage.judge_references)
    assert kind == "reference-unmet"
    assert "made.csv:3" in text
    evidence.foreign = True
    assert not kinds(evidence, coverage.judge_references)
    evidence.foreign, evidence.site = False, None
    assert not kinds(evidence, coverage.judge_references)


def test_links_of_what_was_measured_are_judged_or_it_is_told(evidence):
    assert [kind for kind, _ in kinds(evidence, coverage.note_links)] == ["links-not-judged"]
    # A partition of which nothing was measured is nobody's.
    evidence.cases = [replace(case(0), system="made", partition="other")]
    assert not kinds(evidence, coverage.note_links)
    evidence.cases = [replace(case(0), system="made", partition="batch")]
    batch, alone = SITE.systems[0]["partitions"]
    seen = dict(batch, extras={**batch["extras"], **IN_VIEW})
    evidence.site = replace(SITE, systems=({**SITE.systems[0], "partitions": [seen, alone]},))
    assert not kinds(evidence, coverage.note_links)
    # Whose links are judged, and whose fabric nobody sees.
    fabric = {"technology": "infiniband", "rate": "QDR"}
    judged = dict(batch, extras={**batch["extras"], "fabric": fabric})
    evidence.site = replace(SITE, systems=({**SITE.systems[0], "partitions": [judged, alone]},))
    assert [kind for kind, _ in kinds(evidence, coverage.note_links)] == ["fabric-not-looked"]
    # One that looks does so for all of the system.
    both = [judged, dict(alone, extras={**alone["extras"], **IN_VIEW})]
    evidence.site = replace(SITE, systems=({**SITE.systems[0], "partitions": both},))
    assert not kinds(evidence, coverage.note_links)

"""The first page of a cluster's nights: what is wrong, where, since when, and what to do."""

import time
from dataclasses import replace
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest

from acceptance.core.findings import Finding
from acceptance.machine import SlurmNode, without_case
from acceptance.report import addresses
from acceptance.report.pages.overview import Line, _standing
from acceptance.report.runs import Outcome
from acceptance.verdict import Nodes, PartitionNodes, Verdict, judge_cases, judge_nodes, stored
from tests import report_data, report_fabrics
from tests.browser import PHONE, axe, browser, open_page, overflow, page  # noqa: F401
from tests.made import FIRST, NIGHT, STEPS, Case, Database, one_night

NODES = tuple(f"node{number:04}" for number in range(1, 17))
DRAINED, FAULTY, NIGHTS = NODES[8], NODES[3], 3
#: A link at half of its rate, as the check of links stores it.
FAULT = Finding(
    "link-rate", f"{FAULTY} mlx5_0/1: 20 Gb/s, expected 40 Gb/s", True, (FAULTY,), "mlx5_0/1",
    found="20 Gb/s", expected="40 Gb/s",
)  # fmt: skip
#: A finding of more nodes than one can be blamed for, of which one is red by itself.
MANY = (FAULTY, *NODES[10:12])
#: One of the sixteen guidelines that the MPI violates.
GUIDELINE = "2n bytes cost more than two messages of n bytes"


def night(number):
    """Return the label of a night and its sessions, a list of cases by step."""
    last = number == NIGHTS - 1
    links = [
        Case(
            name=f"LinkCheck %$nid={node}", suite="fabric", benchmark="fabric.links", nodes=(node,),
            partition="compute", metrics={"links": (1.0, "1")},
            result="fail" if last and node == FAULTY else "pass",
            findings=(FAULT.as_data(),) if last and node == FAULTY else (),
        )
        for node in NODES if node != DRAINED
    ]  # fmt: skip
    steps = {name: [one_night(number, place)] for place, name in enumerate(STEPS)} | {
        "links": links
    }
    for place, cases in enumerate(steps.values()):
        cases[0].nodes = cases[0].nodes if cases is links else NODES[2 * place : 2 * place + 2]
    if last:
        # This was not there before, and did not pass.
        steps["osu"].append(one_night(number, 7, result="fail"))
        steps["osu"][-1].nodes = NODES[:2]
    start = FIRST + NIGHT * number
    return time.strftime("nightly-%Y-%m-%dT%H%M%S", time.localtime(start)), start, steps


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Three nights of six steps, of which the last one fails; a session by hand is between."""
    folder = tmp_path_factory.mktemp("overview")
    workspace = report_data.workspace(folder)
    database = Database(workspace.results)
    _, fabric = report_fabrics.spoilt()
    for number in range(NIGHTS):
        label, start, steps = night(number)
        for place, (name, cases) in enumerate(steps.items()):
            if name == "links" and number == 0:
                cases.append(report_fabrics.fabric_case(workspace, None, fabric, result="pass"))
            database.add(cases, start + 60 * place, label=f"{label}.{name}.3f2a9c")
    database.add([one_night(0, 30)], FIRST + NIGHT * (NIGHTS - 1) - 3600, command="reframe -n b30")
    made = report_data.source(folder, now=datetime.fromtimestamp(start + NIGHT / 2, timezone.utc))
    stored.keep(workspace, label, judged(made, label))
    return made


def judged(made, label):
    """Return the verdict on a night, with one node drained, and with alerts that are sent."""
    sessions = [each for each in made.ledger.sessions() if each.label.startswith(label)]
    verdict = Verdict(campaign=label, system="made", time="2026-01-03T22:00:00+00:00")
    for each in sessions:
        judge_cases(verdict, each)
    known = [
        SlurmNode(name, "drained", "bad DIMM", False)
        if name == DRAINED
        else SlurmNode(name, "idle", "", True)
        for name in NODES
    ]
    cases = [case for each in sessions for case in each.cases]
    judge_nodes(verdict, cases, Nodes(known={"made:compute": known}))
    for number in range(16):
        text = f"{GUIDELINE} [{number}]"
        verdict.add(Finding("guideline", text, what=GUIDELINE, place=(f"g{number}",)))
    verdict.add(Finding("mtu", "MTU 1500, expected 9000", True, MANY, place=("made:compute",)))
    verdict.guidelines = {"compared": 99, "violated": 16}
    remedy = "acceptance spack env npb"
    verdict.add(without_case("npb.py", "made", "nothing provides NPB", remedy))
    verdict.not_selected = {"site.py": "-n Osu"}
    stored.settle(verdict, made.workspace, made.now, send=True)
    return verdict


@pytest.fixture(scope="module")
def site(source, tmp_path_factory):
    return report_data.site(source, tmp_path_factory.mktemp("web") / "report")


@pytest.fixture
def first(site, page):  # noqa: F811
    return open_page(page, site)


def test_the_verdict_is_one_sentence_that_says_what_counts(first):
    assert first.locator(".said").inner_text() == "FAIL"
    assert first.locator(".sentence").inner_text() == (
        "Not to be signed: 1 critical, 2 major, 1 minor findings."
    )


def test_what_is_wrong_says_where_since_when_and_what_to_do_the_worst_first(first, source):
    (link, case, *_) = first.locator(".finding").all_inner_texts()
    assert "critical" in link
    assert "20 Gb/s, expected 40 Gb/s" in link
    assert f"{FAULTY}; since 2026-01-03; alert " in link
    assert "To do: " in link
    assert "major" in case
    address = first.locator(".finding a", has_text="its case").first.get_attribute("href")
    newest = next(each for each in source.sessions if ".links." in each.label)
    number = next(n for n, case in enumerate(newest.cases) if case.nodes == (FAULTY,))
    assert address == addresses.session(newest.uuid, number)


def test_a_drained_node_is_told_with_its_reason_once_and_spoils_nothing(first):
    (away,) = [text for text in first.locator(".finding").all_inner_texts() if DRAINED in text]
    assert "minor" in away
    assert "drained (bad DIMM)" in away
    assert first.content().count("bad DIMM") == 1
    assert "not measured" in first.locator(".machine li", has_text=DRAINED).last.inner_text()


def test_sixteen_guidelines_are_a_line_that_leads_to_all_of_them(first):
    (line,) = [text for text in first.locator(".finding").all_inner_texts() if "GUIDELINE" in text]
    assert "16 findings, all of them" in line
    assert "\n" not in line.strip()
    first.locator(".finding", has_text="GUIDELINE").get_by_role("link").click()
    assert first.locator("#guidelines + ul li").count() == 16


def test_each_node_is_a_square_by_its_leaf_with_its_worst_finding(first, source):
    assert first.locator(".nodes li").count() == len(NODES)
    titles = ["leaf01", "leaf02", "leaf03", "leaf04"]
    assert first.locator(".leaves p").all_inner_texts()[-4:] == titles
    faulty = first.locator(f".nodes [title^='{FAULTY}: ']")
    assert faulty.get_attribute("class") == "bad"
    faulty.click()
    assert first.locator(":target").inner_text().count(FAULTY)
    squares = {name: first.locator(f".nodes [title^='{name}: ']") for name in NODES}
    looks = {name: square.get_attribute("class") for name, square in squares.items()}
    assert looks[DRAINED] == "none"
    assert {name for name, look in looks.items() if look == "bad"} == {FAULTY, *NODES[:2]}


def test_no_node_is_green_that_only_a_finding_of_many_nodes_names(first):
    for name in NODES[10:12]:
        square = first.locator(f".nodes [title^='{name}: ']")
        assert square.get_attribute("title") == f"{name}: not judged, mtu of 3 nodes"
        assert square.get_attribute("class") == "open"
        square.click()
        assert "MTU" in first.locator(":target").inner_text()
    own = first.locator(f".nodes [title^='{FAULTY}: ']").get_attribute("title")
    assert own.endswith("red, link-rate")


def test_a_finding_of_many_nodes_makes_their_partition_red(source):
    place = next(each for each in source.places if each.name == "made:compute")
    run = replace(source.runs[2], verdict=Verdict(system="made"))
    run.verdict.nodes[place.name] = PartitionNodes(place.name, known=NODES, looked_at=NODES)
    states = {}
    for severity in ("info", "minor", "major"):
        line = Line(Finding("nodes-differ", "", nodes=MANY, severity=severity), "")
        standing = _standing(SimpleNamespace(runs=[run]), place, run.verdict, [[line]], {})
        looks = {node.name: node.outcome for nodes in standing.leaves.values() for node in nodes}
        states[severity] = standing.outcome, {looks[name] for name in MANY}
    assert states == {
        "info": (Outcome.NOT_JUDGED, {Outcome.GREEN}),
        "minor": (Outcome.NOT_JUDGED, {Outcome.NOT_JUDGED}),
        "major": (Outcome.RED, {Outcome.NOT_JUDGED}),
    }


def test_what_stands_for_a_square_is_text_too(first):
    told = [text.strip() for text in first.locator(".machine ul.plain li").all_inner_texts()]
    assert told[0].startswith("3 ")
    assert told[0].endswith(f"red {NODES[0]}, {NODES[1]}, {FAULTY}")
    assert told[1].endswith(f"not measured {DRAINED}")


def test_what_was_not_looked_at_has_its_reason_and_remedy(first):
    told = first.locator("#unseen + ul").inner_text()
    assert "npb.py: nothing provides NPB\nTo do: acceptance spack env npb" in told
    assert "site.py: not selected by -n Osu" in told


def test_a_night_is_compared_with_the_night_before_and_each_case_told_once(first, source):
    assert len(source.runs) == NIGHTS + 1
    changes = first.locator("#changes ~ h3").all_inner_texts()
    assert changes == ["2 red now, not before"]
    listed = first.locator("#changes ~ ul").first.inner_text()
    assert "LinkCheck" in listed
    assert "b7" in listed


def test_the_navigation_has_no_entry_without_content(first):
    entries = first.locator("nav li").all_inner_texts()
    assert entries == ["Overview", "Sessions", "History", "Curves", "Fabric", "Compare"]
    told = first.locator("main").inner_text()
    assert "would fill these pages, which say what does: All pairs of nodes, " in told


def test_a_night_counts_as_one_of_the_runs_with_pages(source):
    assert [len(run.sessions) for run in source.runs] == [6, 1, 6, 6]
    last = source.runs[0]
    assert last.verdict is not None
    assert [ran.case.name for ran in last.cases if ran.outcome is Outcome.RED] == [
        f"LinkCheck %$nid={FAULTY}", "OsuMpi %benchmark=b7 %np=2 %placement=inter-node",
    ]  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_and_fits_on_a_phone(site, page, scheme):  # noqa: F811
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme=scheme)
    open_page(page, site)
    assert axe(page) == []
    assert overflow(page) <= 0

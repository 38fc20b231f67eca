"""The worked example of `reference/README.md`: word for word, it makes a paper that judges."""

import re
import shutil

import pytest

from acceptance.cli import main as cli
from acceptance.core.paths import ROOT
from acceptance.references import load
from tests.utils.references import test_published as rules

README = (
    (ROOT / "reference/README.md").read_text(encoding="utf-8").partition("## Adding a paper")[2]
)
#: What to do, file, text.
BLOCKS = re.findall(
    r"^[^\n]*\b(Append to|Write) `(\S+)`[^\n]*\n\n```\w+\n(.*?)```$", README, re.M | re.S
)


@pytest.fixture
def folder(tmp_path):
    """A copy of `reference/` in which everything was done that the README says."""
    copy = shutil.copytree(ROOT / "reference", tmp_path / "reference")
    for verb, name, text in BLOCKS:
        path = copy / name
        assert path.exists() == (verb == "Append to"), name
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    return copy


def test_the_example_touches_what_the_readme_promises():
    assert [name for _, name, _ in BLOCKS] == [
        "papers.bib", "systems.csv", "example2011.csv", "claims.csv",
    ]  # fmt: skip


def test_the_new_paper_is_shown_as_the_readme_says(folder, monkeypatch, capsys):
    command, shown = re.search(
        r"`acceptance ([^`]+)` shows\n\n```text\n(.*?)```", README, re.S
    ).groups()
    monkeypatch.setenv("ACCEPTANCE_REFERENCE", str(folder))
    assert cli.main(command.split()) == 0
    assert capsys.readouterr().out == shown


def test_its_values_judge_results_and_its_claim_is_evaluated(folder):
    library = load(folder)
    assert library.papers.keys() - load(ROOT / "reference").papers.keys() == {"example2011"}
    measured = {"np": "2", "nodes": "2", "placement": "inter-node", "mapping": "block"}
    peak = library.look_up("example2011", "qdr", "osu.bw", "bandwidth_peak", measured, "MB/s")
    assert (peak.value, peak.citation) == (3230, "published example2011, Table 2")
    assert library.tolerances.thresholds(peak.source, peak.relation, peak.unit) == (-0.06, None)
    measured["message_size"] = "8"
    latency = library.look_up("example2011", "qdr", "osu.latency", "latency", measured, "us")
    assert latency.value == 1.52
    (claim,) = [claim for claim in library.claims if claim.paper == "example2011"]
    assert (claim.left.fullname, claim.right.fullname) == ("example2011:qdr", "example2011:ddr")
    assert (claim.relation, claim.value, claim.unit) == (">=", (70.0,), "%")


def test_it_follows_the_rules_of_all_data(folder):
    library = load(folder)
    rules.test_values_follow_from_what_is_printed_by_a_conversion_that_the_note_states(library)
    rules.test_all_bandwidths_of_old_imb_and_no_others_are_converted_from_2_to_the_20(library)
    rules.test_every_claim_has_a_tolerance(library)

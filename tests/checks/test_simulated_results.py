"""A simulated run after a measured one, through real ReFrame and SimGrid: which judges what."""

import shutil

import pytest
from prometheus_client.parser import text_string_to_metric_families

from acceptance.references import recordings
from acceptance.simulation import simgrid_version
from tests import stored as database
from tests.conftest import DATA, ROOT, Site
from tests.needs import requires

pytestmark = requires("smpirun")

MODEL = "simulated-koop2008"
PLACE = "qdr-pcie2,patterns.all-pairs,"
#: With what the project's recording was made, and something that nobody has.
RECORDED, OTHER = "SimGrid 3.32", "SimGrid 9.99"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A site that has measured, and then simulated.

    Of what is recorded in its references the latencies are from another simulator, and the mean of
    the bandwidths both ways is missing.
    """
    site = Site(tmp_path_factory.mktemp("simulated"))
    site.replay((DATA / "imb/IMB-MPI1_PingPong.impi.txt").read_text())
    measured = ("-c", "checks", "-r", "-n", "PingPong.*%placement=intra")
    assert site.reframe(*measured).status == 0
    site.measured = site.gate()[1]
    reference = shutil.copytree(ROOT / "reference", site.folder / "reference")
    site.environment["ACCEPTANCE_REFERENCE"] = str(reference)
    path = recordings.recording_of(reference, MODEL)
    lines = path.read_text().splitlines(keepends=True)
    assert sum(PLACE in line for line in lines) == 8
    path.write_text(
        "".join(
            line.replace(RECORDED, OTHER) if f"{PLACE}latency" in line else line
            for line in lines
            if f"{PLACE}bandwidth_both," not in line
        )
    )
    done = site.reframe(f"--system={MODEL}:qdr-pcie2", "-c", "checks", "-r", "-n", "AllPairs")
    assert done.status == 0, done.output
    site.simulated = site.gate()[1]
    return site


def test_the_simulator_is_in_the_provenance_and_in_the_verdict(site):
    case = database.session(site.database).cases[-1]
    assert case.provenance["simulated"] == f"SimGrid {simgrid_version()}"
    assert site.simulated["simulators"] == [f"SimGrid {simgrid_version()}"]
    assert (site.simulated["simulated"], site.measured["simulated"]) == (True, False)


@pytest.mark.skipif(f"SimGrid {simgrid_version()}" != RECORDED, reason=f"recorded with {RECORDED}")
def test_what_was_recorded_judges_exactly_and_the_rest_is_recorded_not_judged(site):
    case = database.session(site.database).cases[-1]
    by = {metric.name.rpartition("_")[0]: metric.judged_by for metric in case.metrics}
    judged = {name for name, citation in by.items() if citation.startswith("recorded ")}
    assert {"bandwidth", "bandwidth_node_min"} <= judged
    assert not judged & {"latency", "latency_node_max", "bandwidth_both"}
    assert site.simulated["recorded"] == len(case.metrics) - sum(site.simulated["judged"].values())


def test_another_simulator_judges_nothing_and_the_gate_says_why(site):
    (note,) = [note for note in site.simulated["notes"] if OTHER in note]
    assert note.startswith(f"1 case not judged as recorded: that was with {OTHER}, patterns ")


def test_no_simulation_takes_the_place_of_what_was_measured(site):
    result = site.acceptance("export", "prometheus")
    labels = {}
    for family in text_string_to_metric_families(result.output):
        for sample in family.samples:
            labels.setdefault(sample.name, []).append(sample.labels)
    values = labels["acceptance_metric_value"]
    assert {(each["system"], each.get("simulated")) for each in values} == {
        ("replay", None),
        (MODEL, "yes"),
    }
    told = {each["system"] for each in labels["acceptance_verdict_status"]}
    assert told == {"replay", MODEL}

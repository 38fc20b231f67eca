"""By what a model is judged: published peaks within its known error, else what was recorded."""

import shutil

import pytest

from acceptance import references
from acceptance.core.errors import Fault
from acceptance.references import ReferenceFault, judging, recordings
from acceptance.regressions import new_baseline
from tests import made
from tests.places import ROOT
from tests.stored import load as history_of

MODEL = "simulated-koop2008"
KEYS = {"np": "2", "nodes": "2", "placement": "inter-node", "buffers": "same"}
WITH = {"simulated": "SimGrid 3.32", "suite": "OSU 7.5", "hash": "abc"}
HEADER = "where,partition,benchmark,metric,parameters,unit,values\n"
LINE = '"SimGrid 3.32, OSU 7.5",qdr-pcie2,osu.bw,bandwidth,np=2;placement=inter-node,MB/s,{}\n'


@pytest.fixture
def folder(tmp_path):
    """A copy of the project's references with a recording of two sizes of one bandwidth."""
    copy = shutil.copytree(ROOT / "reference", tmp_path / "reference")
    path = recordings.recording_of(copy, MODEL)
    path.write_text(HEADER + LINE.format("8=7.25;4194304=2601.9"))
    return copy


def judged(folder, metric="bandwidth", size=None, partition="qdr-pcie2", provenance=WITH, **keys):
    library = references.load(folder)
    own = {"message_size": size} if size else {}
    place = MODEL, partition, "osu.bw"
    return judging(library, place, metric, {**KEYS, **own, **keys}, "MB/s", provenance)


def test_a_peak_is_judged_by_the_paper_within_the_known_error_of_the_model(folder):
    row, thresholds, _ = judged(folder, "bandwidth_peak")
    assert (row.value, row.citation) == (2575.0, "published koop2008, Section 5.1")
    assert thresholds == (-0.04, 0.04)


def test_without_a_stated_error_no_paper_judges_a_model(folder):
    (folder / f"simulated/{MODEL}.yaml").unlink()
    assert judged(folder, "bandwidth_peak")[0] is None


@pytest.mark.parametrize(
    ("size", "keys"),
    [("2048", {}), (None, {"nodes": "1", "placement": "intra-node"}), (None, {"np": "4"})],
)
def test_nothing_else_is_judged_by_a_paper(folder, size, keys):
    assert judged(folder, "bandwidth_peak" if keys else "bandwidth", size, **keys)[0] is None


def test_what_was_recorded_judges_exactly(folder):
    row, (lower, upper), _ = judged(folder, size="4194304")
    assert (row.value, row.citation) == (
        2601.9,
        "recorded simulated-koop2008, SimGrid 3.32, OSU 7.5",
    )
    assert references.outside(2601.9, 2601.9, lower, upper) == 0
    assert references.outside(2601.89999, 2601.9, lower, upper) == -1
    assert references.outside(2601.90001, 2601.9, lower, upper) == 1


@pytest.mark.parametrize("other", [{"simulated": "SimGrid 4.0"}, {"suite": "OSU 7.4"}])
def test_another_simulator_or_suite_is_not_judged_and_that_is_said(folder, other):
    found = judged(folder, size="8", provenance={**WITH, **other})
    assert found == (None, None, "SimGrid 3.32, OSU 7.5")
    assert not judged(folder, size="16")[2], "nothing was recorded of that"


def test_what_is_written_is_read_again(folder):
    rows = references.load(folder).recorded(MODEL)
    assert [(row.parameters["message_size"], row.value) for row in rows] == [
        ("8", 7.25),
        ("4194304", 2601.9),
    ]
    path = recordings.recording_of(folder, MODEL)
    assert recordings.as_text(rows) == path.read_text()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (LINE.format("8=7.25;8=7.26"), "for the same quantity"),
        (LINE.format("8"), "'8' is not of the form size=value"),
        (LINE.format("8=-1"), "can be no measurement"),
        (LINE.format("x=1"), "is no value of 'message_size'"),
        (LINE.format("8=1").replace("MB/s", "parsec"), "unknown unit"),
        (LINE.format(""), "values is ''; it has to be filled in"),
    ],
)
def test_a_recording_that_cannot_be_is_refused_with_its_line(folder, line, said):
    recordings.recording_of(folder, MODEL).write_text(HEADER + line)
    with pytest.raises(ReferenceFault, match=said) as fault:
        references.load(folder).recorded(MODEL)
    assert f"{MODEL}.csv:2" in str(fault.value)


@pytest.mark.parametrize(
    "name", [f"sites/{MODEL}.csv", f"sites/tolerances/{MODEL}.yaml", "simulated/koop2008.csv"]
)
def test_no_file_of_a_model_stands_among_those_of_real_systems(folder, name):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    with pytest.raises(ReferenceFault, match="simulated"):
        references.load(folder)


def test_a_claim_compares_no_model_with_a_machine(folder):
    claims = folder / "sites/claims"
    claims.mkdir(parents=True, exist_ok=True)
    header = (folder / "claims.csv").read_text().partition("\n")[0]
    row = "mine,here,osu.bw,bandwidth_peak,,mine:a,simulated-mine:a,>=,90,%,90,yes,"
    (claims / "mine.csv").write_text(f"{header}\n{row}\n")
    with pytest.raises(ReferenceFault, match="is not compared with what is measured"):
        references.load(folder)


def database(path, *values, **changes):
    """Make sessions in which one bandwidth of the model has these values."""
    found = made.Database(path)
    for value in values:
        case = made.Case(
            metrics={"bandwidth_8": (value, "MB/s"), "bandwidth_16": (14.5, "MB/s")},
            system=MODEL, partition="qdr-pcie2", environment="smpi",
            provenance={**WITH, **changes},
        )  # fmt: skip
        found.add([case])
    return history_of(path)


def test_a_baseline_of_a_model_is_recorded_exactly_and_apart(folder, tmp_path):
    library = references.load(folder)
    history = database(tmp_path / "results.db", 7.249999, 7.249999)
    proposal = new_baseline.propose(history, MODEL, history.sessions, library)
    new_baseline.write(proposal, library)
    assert proposal.path == folder / f"simulated/{MODEL}.csv"
    assert not (folder / f"sites/{MODEL}.csv").exists()
    rows = references.load(folder).recorded(MODEL)
    assert sorted(row.value for row in rows) == [7.249999, 7.25, 14.5, 2601.9]
    assert {row.where for row in rows} == {"SimGrid 3.32, OSU 7.5"}
    assert all(row.source == "recorded" for row in rows)


@pytest.mark.parametrize(
    ("values", "said"), [((7.25,), "fewer than 2 samples"), ((7.25, 7.26), "not deterministic")]
)
def test_what_does_not_repeat_is_not_recorded(folder, tmp_path, values, said):
    history = database(tmp_path / "results.db", *values)
    proposal = new_baseline.propose(history, MODEL, history.sessions, references.load(folder))
    (reason,) = [reason for reason in proposal.refused if said in reason]
    assert any(name.endswith("bandwidth_8") for name in proposal.refused[reason])


def test_no_session_of_the_model_is_a_baseline_of_the_real_system(folder, tmp_path):
    history = database(tmp_path / "results.db", 7.25, 7.25)
    with pytest.raises(Fault, match="hold no result of the system 'koop2008'"):
        new_baseline.propose(history, "koop2008", history.sessions, references.load(folder))


def test_nothing_is_recorded_of_what_ran_with_a_fault(site, tmp_path):
    path = tmp_path / "results.db"
    database(path, 7.25, 7.25, fault="port-sdr:n1")
    result = site.acceptance("baseline", "--db", path, "--system", MODEL, "--write")
    assert result.status == 2
    assert "ran with the fault port-sdr:n1" in result.errors

"""Two clones that measure on one machine at the same time: both notice, and keep no sample."""

import getpass
import subprocess

import pytest

from acceptance.core.paths import ROOT
from tests.campaigns import Held
from tests.conftest import DATA, Site

SELECT = ("-c", "checks/imb.py", "-r", "-n", "PingPong.*%placement=intra-node")


@pytest.fixture(scope="module")
def clones(tmp_path_factory):
    """Two sites: the first one's case was there before and after that of the second one."""
    machine = tmp_path_factory.mktemp("machine")
    sites = []
    for name in ("long", "short"):
        site = Site(tmp_path_factory.mktemp(name), {"ACCEPTANCE_MACHINE": str(machine)})
        program = site.replay((DATA / "imb/IMB-MPI1_PingPong.impi.txt").read_text())
        sites.append(site)
    program = sites[0].folder / "bin/IMB-MPI1"
    on, go = machine / "on", machine / "go"
    wait = f"touch {on}; until [ -e {go} ]; do sleep 0.1; done\n"
    program.write_text(program.read_text().replace("#!/bin/sh\n", f"#!/bin/sh\n{wait}"))
    first = subprocess.Popen(
        ["reframe", *SELECT],
        cwd=ROOT,
        env=sites[0].variables(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    Held.wait_for(on.exists)
    assert sites[1].reframe(*SELECT).status == 0
    go.touch()
    assert first.wait() == 0
    return sites


@pytest.mark.parametrize("number", [0, 1])
def test_each_run_tells_of_the_other_one_and_passes(clones, number):
    site = clones[number]
    status, verdict = site.gate()
    assert status == 0
    (note,) = (note for note in verdict["notes"] if "another run" in note and "1 of 1" in note)
    assert "no samples of their history" in note
    assert f"a run of {getpass.getuser()} (PID " in note or "a run with the PID " in note
    (left_out,) = (note for note in verdict["notes"] if note.startswith("history: "))
    assert "1 case measured while another run had jobs on the same machine" in left_out
    for command in (("history",), ("baseline", "--system", "replay")):
        assert left_out.removeprefix("history: ") in site.acceptance(*command).errors


def test_alone_again_it_is_a_sample_and_a_baseline_tells_what_was_left_out(clones):
    site = clones[1]
    assert site.reframe(*SELECT).status == 0
    assert not any("1 of 1 cases" in note for note in site.gate()[1]["notes"])
    (series,) = site.acceptance("history", "PingPong/latency_8", "--format", "json").data
    assert len(series["samples"]) == 1
    text = site.acceptance("history").output
    assert "1 case measured while another run had jobs on the same machine, and left out" in text


def test_a_machine_where_nothing_can_be_locked_is_told_once(site):
    site.replay((DATA / "imb/IMB-MPI1_PingPong.impi.txt").read_text())
    (site.folder / "acceptance-jobs").symlink_to(site.folder / "of-somebody-else")
    done = site.reframe(*SELECT)
    assert done.status == 0
    shown = done.output + done.errors
    assert shown.count(f"{site.folder}/acceptance-jobs: cannot be opened: Too many levels") == 1
    assert "at the same time is not noticed" in shown
    assert not (site.folder / "of-somebody-else").exists()

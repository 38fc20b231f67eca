"""PBS and Flux through real ReFrame, with made commands; and what is refused before it runs."""

from types import SimpleNamespace

import pytest

from tests import made_schedulers
from tests import stored as results
from tests.conftest import Site, recorded_text
from tests.recorded import REPLAYED
from tests.sysfs import Sysfs

NODES = {"node1": "", "node2": "", "node3": "bad cable"}
FABRIC = {"technology": "infiniband", "rate": "QDR", "lanes": 4, "pcie": "2.0", "pcie_lanes": 8}
#: The first rank prints what was recorded, and each says that it sent something.
PROGRAM = """\
#!/bin/sh
[ "$ACCEPTANCE_RANK" = 0 ] && {replayed} {folder}/output.txt
exit 0
"""


def configure(site, *parts):
    """Give a site a system with these partitions: name, scheduler, launcher, access."""
    keys = ("name", "scheduler", "launcher", "access")
    extras = {"nodes": 2, "cores": 1, "memory": 10**9, "mode": "smoke", "fabric": FABRIC}
    more = {"environs": ["recorded"], "max_jobs": 4, "extras": extras}
    partitions = [{**dict(zip(keys, part, strict=True)), **more} for part in parts]
    folder = site.folder / "bin"
    folder.mkdir(exist_ok=True)
    (site.folder / "output.txt").write_text(recorded_text("imb/IMB-MPI1_Barrier.impi.txt"))
    program = folder / "IMB-MPI1"
    program.write_text(PROGRAM.format(replayed=REPLAYED, folder=site.folder))
    program.chmod(0o755)
    site.add_system(f"""
        site_configuration = {{
            "systems": [{{
                "name": "made", "hostnames": [".*"], "prefix": {str(site.var)!r},
                "partitions": {partitions!r},
            }}],
            "environments": [{{
                "name": "recorded", "features": ["imb"], "target_systems": ["made"],
                "extras": {{"suites": {{"imb": "{folder}"}}, "mpi": "openmpi"}},
            }}],
        }}
    """)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Three nodes, one of which is away, with PBS Pro and Flux; benchmarks and links were run."""
    site = Site(tmp_path_factory.mktemp("schedulers"))
    pbs = "pbs", "pbspro", "mpirun", ["-q batch"]
    flux = "flux", "flux", "flux", ["--queue=batch"]
    packed = "packed", "pbspro", "mpirun", ["-l place=pack"]
    configure(site, pbs, flux, packed)
    site.environment |= made_schedulers.install(site.folder, NODES)
    for name in NODES:
        tree = Sysfs(site.folder / name, name)
        tree.adapter()
        tree.port()
    site.ran = site.reframe("-c", "checks/imb.py", "-r", "-n", "Barrier%np=2%placement=inter-node")
    site.placed = {case.partition: case for case in results.session(site.database).cases}
    site.gated = site.gate()
    configure(site, pbs, flux)
    site.links = site.reframe("-c", "checks/fabric.py", "-r", "-n", "LinkCheck", "--distribute=up")
    return site


def asked(site, begin):
    """Return the lines of all job scripts that begin so, and the options of `flux batch`."""
    scripts = (path.read_text() for path in sorted(site.folder.glob("*.script")))
    return [line for text in scripts for line in text.splitlines() if line.startswith(begin)]


def test_a_rank_stands_on_each_node_and_its_links_were_read(made):
    for name in ("pbs", "flux"):
        case = made.placed[name]
        assert (case.result, case.nodes) == ("pass", ("node1", "node2")), made.ran.output
        assert "placement" not in case.provenance, "not verified"
        kept = made.var.glob(f"output/*/made/{name}/recorded/*/links/*")
        assert {path.name for path in kept} == {
            f"node{number}.{when}" for number in (1, 2) for when in ("before", "after")
        }
    first = asked(made, "#PBS -l")[:3]
    assert first[1:] == ["#PBS -l select=2:ncpus=2:mpiprocs=1", "#PBS -l place=scatter:exclhost"]
    (line,) = asked(made, "flux run")
    assert line.startswith("flux run --ntasks=2 --nodes=2 --setopt=cpu-affinity=per-task")


def test_chunks_that_pbs_has_packed_onto_a_node_fail_the_case(made):
    assert made.ran.status == 1
    case = made.placed["packed"]
    assert "asked for 1 ranks on each of 2 nodes, had 2 on node1" in case.fail_reason
    assert "#PBS -l place=pack" in asked(made, "#PBS -l")
    assert made.gated[0] == 1


def test_each_node_that_is_up_has_a_link_check_of_its_own(made):
    assert made.links.status == 0, made.links.output
    cases = results.session(made.database).cases
    assert {(case.partition, case.nodes) for case in cases} == {
        (name, (node,)) for name in ("pbs", "flux") for node in ("node1", "node2")
    }
    assert all("rate_min" in {metric.name for metric in case.metrics} for case in cases)
    selects = [line for line in asked(made, "#PBS -l select=") if "host=" in line]
    assert sorted(selects) == [
        f"#PBS -l select=1:ncpus=2:mpiprocs=1:host=node{number}" for number in (1, 2)
    ]
    options = [path.read_text() for path in made.folder.glob("*.options")]
    assert all("--exclusive" in each and "--queue=batch" in each for each in options)
    assert sum("--requires=hosts:node2 " in each for each in options) == 1


def test_the_doctor_tells_what_schedulers_have(made, monkeypatch):
    monkeypatch.syspath_prepend(made.folder / "python")
    rows = made.acceptance("doctor", "--system", "made", "--format", "json").data
    found = {row["what"]: row["found"] for row in rows}
    assert found["scheduler pbspro of pbs"] == "2 of 3 nodes are up"
    assert found["scheduler flux of flux"] == "2 of 3 nodes are up"


def test_the_end_of_a_job_of_flux_is_told():
    from checks.reframe_schedulers import tell_end

    class Future:
        def __init__(self, status, kind=""):
            self.status, self.kind = status, kind

        def exception(self, timeout):
            return type("JobException", (Exception,), {"type": self.kind})() if self.kind else None

        def result(self, timeout):
            return self.status

    def job(*how, completed=True):
        made = SimpleNamespace(completed=completed, exitcode=None, state="COMPLETED")
        made._flux_future = Future(*how)
        return made

    jobs = job(3), job(0, "timeout"), job(0, "cancel"), job(0, completed=False)
    tell_end(lambda scheduler, *_: None)(None, *jobs, None)
    assert [getattr(each, "_exitcode", None) for each in jobs] == [3, None, None, None]
    assert [getattr(each, "_state", "") for each in jobs] == ["", "TIMEOUT", "", ""]


@pytest.fixture(scope="module")
def refused(tmp_path_factory):
    """A partition of LSF."""
    site = Site(tmp_path_factory.mktemp("refused"))
    configure(site, ("batch", "lsf", "mpirun", ["-q normal"]))
    return site


WORDS = "no ranks can be placed with lsf: ReFrame asks LSF for a number of nodes"


def test_no_case_runs_where_no_rank_can_be_placed(refused):
    done = refused.reframe("-c", "checks/fabric.py", "-r", "-n", "LinkCheck")
    assert done.status == 1
    cases = results.session(refused.database).cases
    assert cases
    for case in cases:
        assert case.result == "fail"
        assert f"made:batch: {WORDS}" in case.fail_reason
        assert (
            'write another "scheduler" into the partition: slurm, squeue, pbs' in case.fail_reason
        )
    assert refused.gate()[0] == 1


def test_neither_doctor_nor_night_go_on_where_no_rank_can_be_placed(refused):
    doctor = refused.acceptance("doctor", "--system", "made", "--format", "json")
    (row,) = [row for row in doctor.data if row["what"] == "extras of batch"]
    assert (doctor.status, row["state"]) == (1, "BROKEN")
    assert f"made:batch: {WORDS}" in row["found"]
    night = refused.acceptance("nightly", "--system", "made", "--no-alerts")
    assert night.status == 2
    assert WORDS in night.errors
    assert not [*refused.var.glob("campaigns/nightly-*")]

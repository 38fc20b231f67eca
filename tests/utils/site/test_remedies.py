"""Each remedy of `acceptance doctor`, followed to the letter: the next doctor does not say it."""

import ast
import importlib.metadata
import json
import os
import re
import shutil
import subprocess

import pytest

from acceptance.core.machine import Done
from acceptance.machine import Spack, externals, prepared
from acceptance.rfm import configuration
from acceptance.site import BROKEN, MISSING, doctor, examine
from acceptance.suites import SUITES
from tests import fake_spack
from tests.places import ROOT, workspace
from tests.utils.site.test_unmet import BANDWIDTH, HEADER

QDR = {"technology": "infiniband", "rate": "QDR", "lanes": 4}
#: What a human knows, and no program: what is to be filled in.
KNOWN = {"nodes": 1, "cores": 2, "memory": 2**30, "fabric": QDR, "mpi": "openmpi"}
OPEN_MPI = "mpirun (Open MPI) 4.1.6"
TITLES = {suite.title for suite in SUITES.values()}


class Made:
    """A site with one partition and one environment, and PATH of a folder without programs."""

    def __init__(self, folder):
        self.folder, self.path = folder, folder / "made.py"
        self.partition = {
            "name": "batch", "scheduler": "local", "launcher": "mpiexec", "environs": ["gnu"],
            "max_jobs": 1, "extras": {"nodes": 1, "cores": 2, "memory": 2**30, "fabric": QDR},
        }  # fmt: skip
        self.environments = [{"name": "gnu"}]
        self.workspace = workspace(folder / "var", root=folder)

    @property
    def gnu(self):
        return self.environments[0]

    def program(self, name, said=""):
        """Make a program that prints something; return its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\necho '{said}'\n")
        path.chmod(0o755)
        return path

    def doctor(self):
        """Return what -> row, of those that have a remedy."""
        system = {"name": "made", "hostnames": [".*"], "partitions": [self.partition]}
        written = {"systems": [system], "environments": self.environments}
        self.path.write_text(f"site_configuration = {written!r}\n")
        return self.examined(self.path, "made")

    def examined(self, path, system):
        configuration.forget()
        return {row.what: row for row in examine(self.workspace, [path], system) if row.remedy}

    def paste(self, row):
        """Put the lines of a row where it says; what is to be filled in is filled in."""
        known = {**KNOWN, "imb": str(self.folder / "imb")}

        def filled(match):
            return f'"{match[1]}": {known[match[1]]!r},'

        text = re.sub(r'# fill in: "(\w+)": \.\.\.,', filled, "\n".join(row.lines))
        if text.startswith("{"):
            (entry,) = ast.literal_eval(text)
            assert 'into "environments", and "wheels" into "environs"' in row.remedy
            self.environments.append(entry)
            self.partition["environs"].append(entry["name"])
            return
        entries = ast.literal_eval(f"{{{text}}}")
        kind, name = row.what.split()
        assert f'into the {kind} "{name}"' in row.remedy
        owner = self.partition if kind == "partition" else self.gnu
        if owner.get("extras"):
            assert "in place of these keys, and in its `extras` beside the others" in row.remedy
            entries["extras"] = {**owner["extras"], **entries.get("extras", {})}
        owner.update(entries)


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.setattr(Spack, "find", lambda workspace: None)
    (tmp_path / "bin").mkdir()
    for name in ("bash", "sh", "env", "cat", "gcc", "mv"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("ACCEPTANCE_VAR", str(tmp_path / "var"))
    return Made(tmp_path)


def test_the_lines_for_a_partition(made):
    made.partition = {key: made.partition[key] for key in ("name", "launcher", "environs")}
    made.partition["scheduler"] = "pbs"
    row = made.doctor()["partition batch"]
    assert row.found == "does not state max_jobs, nodes, cores, memory, fabric"
    made.paste(row)
    assert "partition batch" not in made.doctor()


def test_what_a_partition_states_already_stays(made):
    made.partition["extras"] = {"nodes": 1, "mode": "smoke", "site_contact": {"name": None}}
    made.paste(made.doctor()["partition batch"])
    assert made.partition["extras"]["site_contact"] == {"name": None}
    assert made.partition["extras"]["mode"] == "smoke"
    assert "partition batch" not in made.doctor()


@pytest.mark.parametrize(
    ("environment", "lacking"),
    [
        ({"features": ["imb"]}, "does not state the folder of Intel MPI Benchmarks, mpi"),
        ({"features": ["imb"], "extras": {"mpi": "mpich"}}, "does not state the folder of Intel"),
        ({"features": ["patterns"]}, "does not state mpi"),
    ],
)
def test_the_lines_for_an_environment(made, environment, lacking):
    made.program("imb/IMB-MPI1")
    made.gnu.update(environment)
    row = made.doctor()["environment gnu"]
    assert row.found.startswith(lacking)
    made.paste(row)
    after = made.doctor()
    assert "environment gnu" not in after
    assert "Intel MPI Benchmarks" not in after or "imb" not in made.gnu["features"]


def test_a_program_beside_the_mpi_is_offered_and_what_is_there_stays(made):
    """The environment has IMB in a folder; HPCC is beside the MPI that it puts on PATH."""
    made.program("imb/IMB-MPI1")
    made.program("mpi/mpirun", OPEN_MPI)
    made.program("mpi/hpcc")
    made.gnu.update(
        {
            "features": ["imb"],
            "extras": {"mpi": "openmpi", "suites": {"imb": f"{made.folder}/imb"}},
            "env_vars": [["PATH", f"{made.folder}/mpi:$PATH"]],
        }
    )
    row = made.doctor()["environment gnu"]
    assert row.found == "does not state HPC Challenge"
    made.paste(row)
    assert made.gnu["features"] == ["imb", "hpcc"]
    assert made.gnu["extras"]["suites"] == {
        "imb": f"{made.folder}/imb", "hpcc": f"{made.folder}/mpi",
    }  # fmt: skip
    assert not {"environment gnu", "HPC Challenge", "Intel MPI Benchmarks"} & {*made.doctor()}


def test_a_program_of_another_mpi_is_not_offered_to_the_wheels(made):
    """Debian's HPCC of Open MPI is on PATH; the wheels have Intel MPI."""
    made.program("bin/hpcc")
    made.program("wheels/bin/IMB-MPI1")
    made.program("wheels/bin/mpicc")
    made.program("wheels/bin/mpirun", "Intel(R) MPI Library for Linux* OS, Version 2021.17")
    made.environments = externals.wheels_environments(made.folder / "wheels")
    made.partition["environs"] = ["wheels"]
    assert prepared(made.gnu).mpi.name == "intel-mpi"
    rows = made.doctor()
    assert "environment wheels" not in rows, "it lacks nothing: our own program is compiled"
    remedy = rows["HPC Challenge"].remedy
    assert "the environment of the MPI that it was built with" in remedy
    feature, entry = re.search(
        r'write "(\w+)" into .* and (".+": ".+") into "suites"', remedy
    ).groups()
    made.environments.append(
        {
            "name": "debian", "features": [feature],
            "extras": {"mpi": "openmpi", "suites": ast.literal_eval(f"{{{entry}}}")},
        }
    )  # fmt: skip
    made.partition["environs"].append("debian")
    after = made.doctor()
    assert not {"HPC Challenge", "environment debian", "environment wheels"} & {*after}


def test_the_environment_of_the_wheels(made, monkeypatch):
    made.workspace = workspace(made.folder / "var", root=made.folder)
    for name in ("IMB-MPI1", "mpicc"):
        made.program(f"var/wheels/bin/{name}")
    rows = made.doctor()
    assert "Intel MPI Benchmarks" in rows
    made.paste(rows["environment wheels"])
    after = made.doctor()
    assert not {"environment wheels", "Intel MPI Benchmarks", "Communication patterns"} & {*after}


@pytest.mark.parametrize(
    ("broken", "followed"),
    [
        ({"modules": ["nowhere"]}, {"modules": []}),
        ({"extras": {"mpi": "openmpi", "suites": {"imb": "/nowhere"}}}, {}),
        ({"extras": {"mpi": "openmpi", "sources": {"imb": "/nowhere"}}}, {"extras": {}}),
    ],
)
def test_an_environment_that_promises_what_is_not_there(made, broken, followed):
    folder = str(made.program("imb/IMB-MPI1").parent)
    extras = {"mpi": "openmpi", "suites": {"imb": folder}}
    made.gnu.update({"features": ["imb"], "extras": extras, **broken})
    row = made.doctor()["Intel MPI Benchmarks"]
    assert row.state == BROKEN
    assert "correct the environment" in row.remedy
    made.gnu.update({**followed, "extras": extras})
    assert "Intel MPI Benchmarks" not in made.doctor()


def test_another_mpi_than_is_stated(made):
    made.program("mpi/mpirun", OPEN_MPI)
    made.program("mpi/IMB-MPI1")
    made.gnu.update(
        {
            "features": ["imb"], "extras": {"mpi": "intel-mpi"},
            "env_vars": [["PATH", f"{made.folder}/mpi:$PATH"]],
        }
    )  # fmt: skip
    assert "the MPI on its PATH is another" in made.doctor()["Intel MPI Benchmarks"].found
    made.gnu["extras"] = {"mpi": "openmpi"}
    assert "Intel MPI Benchmarks" not in made.doctor()


@pytest.mark.parametrize(
    ("where", "stated"),
    [
        ("gnu", {"extras": {"mpi": "openmpi"}}),
        ("partition", {"launcher": "srun"}),
        ("partition", {"extras": {"nodes": 1, "verify_placement": False}}),
    ],
)
def test_a_launcher_that_nobody_can_ask_to_place_ranks(made, where, stated):
    made.gnu["features"] = ["patterns"]
    row = made.doctor()["launcher of batch"]
    for word in ('"mpi"', "openmpi", "another launcher", '"verify_placement": False'):
        assert word in row.remedy
    getattr(made, where).update(stated)
    assert "launcher of batch" not in made.doctor()


@pytest.mark.parametrize(
    ("fabric", "what", "followed"),
    [
        ({"technology": "ethernet"}, 'write "rate"', {"technology": "ethernet", "rate": "25"}),
        ({"technology": "RoCE"}, "fix its facts", {"technology": "roce", "rate": "25"}),
    ],
)
def test_facts_of_a_fabric(made, fabric, what, followed):
    made.partition["extras"]["fabric"] = fabric
    assert what in made.doctor()["fabric of batch"].remedy
    made.partition["extras"]["fabric"] = followed
    assert "fabric of batch" not in made.doctor()


@pytest.mark.parametrize(
    ("where", "what"), [("partition", "extras of batch"), ("gnu", "extras of batch+gnu")]
)
def test_extras_that_nobody_reads(made, where, what):
    extras = getattr(made, where).setdefault("extras", {})
    extras["node"] = 2
    assert made.doctor()[what].remedy.startswith("fix it")
    del extras["node"]
    assert what not in made.doctor()


def test_all_nodes_of_a_scheduler_that_does_not_answer(made):
    made.partition |= {"scheduler": "slurm", "launcher": "srun"}
    made.partition["extras"]["nodes"] = "all"
    row = made.doctor()["nodes of batch"]
    assert row.state == MISSING
    assert 'write a number for "nodes"' in row.remedy
    made.partition["extras"]["nodes"] = 4
    assert "nodes of batch" not in made.doctor()


@pytest.mark.parametrize("scheduler", ["slurm", "squeue"])
def test_a_scheduler_whose_commands_are_not_here_or_do_not_answer(made, scheduler):
    """Commands of Slurm that answer as it does; the real ones are asked in tests/cluster."""
    what = f"scheduler {scheduler}"
    made.partition |= {"scheduler": scheduler, "launcher": "srun"}
    assert made.doctor()[what].remedy == "look on a login node of the cluster"
    sinfo = made.program("bin/sinfo")
    for name in ("sbatch", "squeue", "scontrol", "sacct"):
        made.program(f"bin/{name}")
    sinfo.write_text("#!/bin/sh\nexit 1\n")
    assert made.doctor()[what].remedy.startswith("start slurmctld")
    sinfo.write_text("#!/bin/sh\n")
    assert what not in made.doctor()
    made.program("bin/sacct").write_text("#!/bin/sh\nexit 1\n")
    rows = made.doctor()
    assert (what in rows) == (scheduler == "slurm")
    if what in rows:
        stated = re.search(r"'scheduler': '(\w+)'", rows[what].remedy)[1]
        made.partition["scheduler"] = stated
        assert not {what, "scheduler squeue"} & {*made.doctor()}


def test_what_is_to_be_installed(made, monkeypatch):
    (made.folder / "bin/gcc").unlink()
    rows = made.doctor()
    assert rows["C compiler"].remedy.startswith("Debian: gcc libc6-dev")
    assert rows["Spack"].remedy == "make spack, or set SPACK_ROOT"
    assert {*rows} >= TITLES
    made.program("bin/gcc")
    spack = Spack(*fake_spack.make(made.folder), made.workspace)
    monkeypatch.setattr(Spack, "find", lambda workspace: spack)
    made.gnu.update(
        {"features": ["spack", *SUITES], "extras": {"spack": {"mpi": "m"}, "mpi": "mpich"}}
    )
    assert not {"C compiler", "Spack", *TITLES} & {*made.doctor()}


def test_without_the_spack_that_is_to_build_a_suite(made, monkeypatch):
    made.gnu.update(
        {"features": ["spack", "osu"], "extras": {"spack": {"mpi": "m"}, "mpi": "mpich"}}
    )
    title = SUITES["osu"].title
    assert made.doctor()[title].remedy == "make spack, or set SPACK_ROOT"
    spack = Spack(*fake_spack.make(made.folder), made.workspace)
    monkeypatch.setattr(Spack, "find", lambda workspace: spack)
    assert title not in made.doctor()


def test_simgrid_for_a_simulated_system(made):
    def rows():
        return made.examined(ROOT / "config/settings.py", "simulated-koop2008")

    assert "libsimgrid-dev" in rows()["SimGrid"].remedy
    for name in ("smpirun", "smpicc"):
        made.program(f"bin/{name}")
    assert "SimGrid" not in rows()


def test_one_core(made):
    cores = os.sched_getaffinity(0)
    if len(cores) < 2:
        pytest.skip("this machine has one core for the tests: run them where there are two")
    os.sched_setaffinity(0, {min(cores)})
    try:
        assert made.doctor()["cores"].remedy.startswith("let processes use two")
    finally:
        os.sched_setaffinity(0, cores)
    assert "cores" not in made.doctor()


def test_a_reframe_that_is_not_supported(made, monkeypatch):
    real = importlib.metadata.version
    monkeypatch.setattr(
        importlib.metadata, "version", lambda name: "3.9" if name == "reframe-hpc" else real(name)
    )
    remedy = made.doctor()["ReFrame"].remedy
    oldest, first = re.fullmatch(r'pip install "reframe-hpc>=(.+),<(.+)"', remedy).groups()
    monkeypatch.undo()
    releases = (oldest, real("reframe-hpc"), first)
    numbers = [[int(part) for part in each.split(".")] for each in releases]
    assert numbers == sorted(numbers), "what is installed here is of these"
    assert "ReFrame" not in made.doctor()


def test_each_patch_that_does_not_fit_the_reframe_is_named_with_what_is_lost(made, monkeypatch):
    assert "patch" not in made.doctor()
    said = Done(json.dumps([["reframe.a:b", "gone: it waits"], ["reframe.c:d", ""]]))
    monkeypatch.setattr(doctor, "_tried", lambda: said)
    fits, lost = doctor._patches("4.12.0", "pip install")
    assert fits.found == "1 of 2 fit ReFrame 4.12.0"
    assert (lost.state, lost.found) == ("missing", "reframe.a:b: gone: it waits")
    monkeypatch.setattr(doctor, "_tried", lambda: Done(fault="python: no reframe"))
    (unknown,) = doctor._patches("4.12.0", "pip install")
    assert unknown.found == "cannot be tried with ReFrame 4.12.0: python: no reframe"


def test_rows_of_references_that_judge_nothing_or_cannot_be_read(made):
    folder = made.folder / "reference"
    shutil.copytree(ROOT / "reference", folder)
    made.workspace = workspace(made.folder / "var", root=made.folder, reference=folder)
    (folder / "sites").mkdir(exist_ok=True)
    path = folder / "sites/made.csv"
    row = f"s,made,{{}},{BANDWIDTH},np=2,=,{{}},MB/s,1,n\n"
    path.write_text(HEADER + row.format("batch", "no number"))
    assert made.doctor()["references"].remedy == "fix the line"
    path.write_text(HEADER + row.format("bach", 1))
    rows = made.doctor()
    assert "references" not in rows
    assert rows["reference"].remedy.startswith("correct it, or take it out")
    for followed in (row.format("batch", 1), ""):
        path.write_text(HEADER + followed)
        assert "reference" not in made.doctor()


def test_a_configuration_that_cannot_be_read(made):
    made.path.write_text("systems = [")
    rows = made.examined(made.path, "made")
    assert rows["configuration"].remedy == "fix the file, or source env.sh"
    assert "configuration" not in made.doctor()


def test_a_half_made_database(made):
    results = made.workspace.results
    results.parent.mkdir(parents=True, exist_ok=True)
    results.touch()
    remedy = made.doctor()["results"].remedy
    command, _, then = remedy.partition("; ")
    assert then == "the next run makes it anew"
    subprocess.run(command.split(), check=True)
    assert "results" not in made.doctor()


def test_a_place_that_cannot_be_written(made, monkeypatch):
    """Root may write everywhere, so that the system's answer to others is made."""
    access = os.access
    locked = made.folder / "locked"
    locked.mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: path != locked and access(path, mode))
    made.workspace = workspace(locked, root=made.folder)
    rows = made.doctor()
    assert rows["var"].remedy == f"{locked} is not writable; name another folder: ACCEPTANCE_VAR"
    assert rows["results"].remedy == f"{locked} is not writable; let ReFrame write there"
    made.workspace = workspace(made.folder / "elsewhere", root=made.folder)
    assert not {"var", "results", "log"} & {*made.doctor()}

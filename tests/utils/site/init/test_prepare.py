"""`acceptance init-site` on a Slurm that answers what was recorded, with made nodes."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from acceptance.cli import main as cli
from acceptance.core.errors import Fault
from acceptance.core.paths import ROOT, Workspace
from acceptance.fabric import Facts
from acceptance.machine import (
    Spack,
    compose_environment,
    externals,
)
from acceptance.site import init
from tests.places import workspace

RUFF = shutil.which("ruff", path=str(Path(sys.executable).parent))


def parts(system):
    return {part["name"]: part for part in system["partitions"]}


def test_a_cluster_of_two_kinds_of_nodes(slurm, made):
    system, _, text, said = made()
    found = parts(system)
    # The default partition first; cn002 is like cn001, as far as Slurm knows.
    assert list(found) == ["batch-ib", "batch-eth", "debug"]
    ib, eth = found["batch-ib"], found["batch-eth"]
    assert ib["access"] == ["--partition=batch", "--constraint=ib", "--exclusive"]
    assert eth["access"] == ["--partition=batch", "--constraint=eth", "--exclusive"]
    assert found["debug"]["access"] == ["--partition=debug", "--exclusive"]
    assert ib["extras"] == {
        "nodes": 2,
        "cores": 64,
        "memory": 256000 * 2**20,
        "fabric": {
            "technology": "infiniband", "rate": "HDR", "lanes": 4, "device": "mlx5_0/1",
            "pcie": "4.0", "pcie_lanes": 16,
        },
    }  # fmt: skip
    assert eth["extras"]["nodes"] == 1
    assert eth["extras"]["cores"] == 30
    assert eth["extras"]["fabric"] == {
        "technology": "ethernet", "rate": "25", "device": "eth2", "mtu": 9000, "pcie": "2.0",
        "pcie_lanes": 8,
    }  # fmt: skip
    assert ["FI_TCP_IFACE", "eth2"] in eth["env_vars"]
    assert ["UCX_NET_DEVICES", "mlx5_0:1"] in ib["env_vars"]
    assert ib["processor"] == {
        "num_cpus": 128, "num_cpus_per_core": 2, "num_cpus_per_socket": 64, "num_sockets": 2,
    }  # fmt: skip
    for part in found.values():
        Facts.read(part["extras"]["fabric"])
    assert slurm.asked() == ["batch cn001", "batch cn003", "debug cn001"]
    # Where it comes from, and what was not taken.
    assert "link.sh on cn001" in text
    assert "also up: eth0 (1000 Mb/s)" in text
    assert "Taken to be alike, as their processors are: cn002." in text
    assert "Left out: broken: none of its 1 nodes takes jobs (they are DOWN+NOT_RESPONDING)" in text
    assert "left out   old: it is not up" in said


@pytest.mark.parametrize("options", [(), ("--local",)])
def test_the_file_is_as_ruff_would_write_it(slurm, made, options):
    assert RUFF, "ruff comes with `make test`"
    slurm.edit("node", "NodeName=cn003", "NodeName=" + "n" * 60)
    made(*options)
    folder = slurm.folder.parent / "site"
    for command in (("check",), ("format", "--check")):
        done = subprocess.run(
            [RUFF, *command, "--config", ROOT / "pyproject.toml", folder],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout


def test_hosts_that_the_system_takes(slurm, made, monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "login-2.example.org")
    system, *_ = made()
    assert system["hostnames"] == [r"^login-\d+(\.|$)", r"^head(\.|$)", r"^cn\d+(\.|$)"]


@pytest.mark.parametrize(("accounts", "scheduler"), [(True, "slurm"), (False, "squeue")])
def test_the_scheduler_that_works(slurm, made, accounts, scheduler):
    if accounts:
        (slurm.folder / "accounts").touch()
    system, *_, text, _ = made()
    assert {part["scheduler"] for part in system["partitions"]} == {scheduler}
    assert ("slurm asks sacct, which says: accounting is disabled" in text) != accounts


def test_jobs_ask_for_memory_where_it_is_counted(slurm, made):
    slurm.edit("config", "= CR_CORE", "= CR_CORE_MEMORY")
    system, *_ = made("--partition", "debug")
    assert parts(system)["debug"]["access"][-1] == "--mem=0"


def test_jobs_have_the_account_of_the_user(slurm, made, monkeypatch):
    monkeypatch.setenv("SLURM_ACCOUNT", "physics")
    system, *_ = made("--partition", "debug")
    access = ["--partition=debug", "--account=physics", "--exclusive"]
    assert parts(system)["debug"]["access"] == access


def test_nodes_that_do_not_see_the_clone_are_a_problem(slurm, made, tmp_path, monkeypatch):
    monkeypatch.setattr(init, "_clone", lambda workspace: (tmp_path / "on a login node only",))
    _, _, text, said = made("--partition", "debug")
    assert "# fill in: Jobs run in there: a folder that all nodes see. The nodes" in text
    assert "PROBLEM    the nodes do not see this folder" in said


def test_nodes_are_no_more_than_asked_for_and_than_a_job_may_have(slurm, made):
    slurm.edit("partition", "MaxNodes=UNLIMITED RootOnly=NO Nodes=cn[001-005]",
               "MaxNodes=1 RootOnly=NO Nodes=cn[001-005]")  # fmt: skip
    system, _, text, _ = made()
    assert parts(system)["batch-ib"]["extras"]["nodes"] == 1
    assert "Of 2 that take jobs (cn001, cn002); a job may have 1." in text


def test_without_a_feature_that_tells_the_others_are_excluded(slurm, made):
    slurm.edit("node", "ib,hdr,rack1", "ib,rack1")
    slurm.edit("node", "ib,hdr,rack2", "ib,rack1")
    slurm.edit("node", "Features=eth", "Features=ib,rack1")
    system, *_ = made("--partition", "batch")
    assert [part["access"][1] for part in system["partitions"]] == [
        "--exclude=cn003",
        "--exclude=cn001,cn002",
    ]


def test_a_busy_cluster_gets_the_links_of_this_machine_and_says_so(slurm, made, monkeypatch):
    own = slurm.node("login")
    own.interface("eth7", speed=10000)
    monkeypatch.setenv("SYSFS", str(own.root))
    slurm.says("batch", "Unable to allocate resources: Requested nodes are busy")
    system, _, text, said = made("--partition", "batch")
    assert {part["extras"]["fabric"]["device"] for part in system["partitions"]} == {"eth7"}
    assert "where the command ran; no job looked" in " ".join(text.replace("#", "").split())
    assert "Requested nodes are busy" in said
    assert "as this machine has it" in said


def test_a_partition_gets_a_name_that_reframe_takes(slurm, made, site, tmp_path):
    legal = {"1day": "part-1day", "-x.y": "part--x-y", "_gpu": "_gpu"}
    before = "debug"
    for number, name in enumerate(legal):
        slurm.edit("partition", f"PartitionName={before}", f"PartitionName={name}")
        slurm.edit("node", f"Partitions=batch,{before}", f"Partitions=batch,{name}")
        system, *_ = made(f"--partition={name}", name=f"mine{number}")
        assert parts(system)[legal[name]]["access"][0] == f"--partition={name}"
        before = name
    # ReFrame validates all systems, whichever it takes.
    where = {"ACCEPTANCE_SYSTEMS": str(tmp_path / "site")}
    run = site.reframe("--system=mine2", "--show-config=systems/0/partitions/0/name", **where)
    assert (run.status, run.output.strip()) == (0, '"_gpu"'), run.errors


def test_a_hidden_partition_is_taken_when_it_is_named(slurm, made):
    slurm.edit("partition", "PartitionName=debug", "PartitionName=debug Hidden=YES")
    assert list(parts(made()[0])) == ["batch-ib", "batch-eth"]
    assert "left out   debug: it is hidden; --partition debug takes it" in made("--force")[3]
    assert list(parts(made("--force", "--partition", "debug")[0])) == ["debug"]


def test_memory_that_slurm_was_never_told_is_not_made_up(slurm, made):
    slurm.edit("node", "RealMemory=257000", "RealMemory=1")
    system, _, text, _ = made("--partition", "debug")
    assert parts(system)["debug"]["extras"]["memory"] == 0
    assert "fill in: bytes of a node; Slurm has no RealMemory of it." in text


def test_a_partition_that_takes_no_job_is_left_out(slurm, made):
    slurm.says("batch", "Unable to allocate resources: Invalid account or account/partition")
    system, _, _, said = made()
    assert list(parts(system)) == ["debug"]
    assert "left out   batch: Slurm takes no job for it: Unable to allocate" in said
    assert "to name an account: export SLURM_ACCOUNT=..." in said


def test_a_job_whose_output_is_cut_is_no_look(slurm, made):
    slurm.command("srun", '[ "$1" = --mpi=list ] || echo "== links"')
    _, _, text, _ = made("--partition", "debug")
    assert "the output is cut off" in " ".join(text.replace("#", "").split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("a/b",), "is no name of a system"),
        (("-x",), "is no name of a system"),
        (("2024",), "is no name of a system: a letter, then letters, digits, - and _"),
        (("koop2008",), "is a system of this name; choose another one"),
        (("mine", "--partition", "nope"), "no partition nope; it has: debug, batch"),
        (("mine", "--partition", "old"), "old: it is not up"),
        (("mine", "--partition", "broken"), "none of its 1 nodes takes jobs"),
        (("mine", "--local", "--partition", "batch"), "which is not asked here"),
    ],
)
def test_what_cannot_be_asked_for(slurm, fault, arguments, words):
    name, *rest = arguments
    assert words in fault(*rest, "--", name)


def test_what_is_to_be_filled_in_is_said_where_and_whole(slurm, made, tmp_path):
    slurm.edit("node", "RealMemory=257000", "RealMemory=1")
    *_, said = made("--partition", "debug")
    path = tmp_path / "site/config/systems/mine.py"
    lines = [line for line in said.splitlines() if line.startswith("fill in") and "mine.py" in line]
    (line,) = [line for line in lines if "bytes of a node" in line]
    assert line.endswith(": bytes of a node; Slurm has no RealMemory of it.")
    for each in lines:
        number, what = re.search(r"mine\.py:(\d+): (.+)", each).groups()
        text = path.read_text().splitlines()[int(number) - 1]
        assert what.startswith(text.strip().removeprefix("# fill in: ")), each
    packages = [line for line in said.splitlines() if "packages.yaml:" in line]
    assert packages[0].endswith("the target to build for, all: {require: [target=...]}")


def test_the_wheels_have_the_same_environment_on_each_system(slurm, made, tmp_path, monkeypatch):
    """On a fresh site all pairs and our own patterns have cases, as on `local`."""
    wheels = tmp_path / "root/var/wheels"
    for name in ("IMB-MPI1", "mpicc"):
        (wheels / "bin").mkdir(parents=True, exist_ok=True)
        (wheels / "bin" / name).touch(0o755)
    (expected,) = externals.wheels_environments(wheels)
    assert {"imb", "patterns"} <= {*expected["features"]}
    monkeypatch.setattr(Workspace, "wheels", wheels)
    local = runpy.run_path(str(ROOT / "config/systems/local.py"))["ENVIRONMENTS"][0]
    _, environments, _, _ = made("--partition", "debug")
    (own,) = [each for each in environments if each["name"] == "wheels"]
    assert local == expected
    assert own == {**expected, "env_vars": [*expected["env_vars"], ["SLURM_MPI_TYPE", "pmi2"]]}


def test_a_group_that_is_not_mine(slurm, fault, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    said = fault("mine", "--partition", "closed")
    assert "only the groups chemistry, physics may use it" in said


def test_a_named_partition_that_refuses_jobs_is_an_error(slurm, fault):
    slurm.says("debug", "Unable to allocate resources: User's group not permitted to use this")
    said = fault("mine", "--partition", "debug")
    assert "Slurm takes no job for debug: Unable to allocate resources: User's group" in said


def test_no_partition_at_all(slurm, fault):
    (slurm.folder / "partition.txt").write_text("")
    assert "Slurm shows no partition" in fault("mine")


def test_all_partitions_refuse(slurm, fault):
    for name in ("batch", "debug"):
        slurm.says(name, "Unable to allocate resources: Access/permission denied")
    said = fault("mine")
    assert "no partition can be used" in said
    assert "batch: Slurm takes no job for it: Unable to allocate resources: Access" in said


def test_slurm_that_does_not_answer(slurm, fault):
    (slurm.folder / "down").touch()
    said = fault("mine")
    assert "Slurm does not answer: sinfo: error: no controller; look on a login node" in said


def test_what_slurm_tells_cannot_be_read(slurm, fault):
    (slurm.folder / "node.txt").write_text("a new form\n")
    assert "not of a form that is known here: scontrol show node:1" in fault("mine")


def test_what_is_there_stays_unless_forced(slurm, made, tmp_path, capsys):
    *_, text, _ = made()
    path = tmp_path / "site/config/systems/mine.py"
    path.write_text("SYSTEM = 'mine'\n")
    assert cli.main(["init-site", "mine"]) == 2
    assert "is there; --force writes it anew" in capsys.readouterr().err
    assert path.read_text() == "SYSTEM = 'mine'\n"
    assert made("--force")[2] == text


def test_a_dry_run_writes_nothing(slurm, own_systems, tmp_path, capsys):
    assert cli.main(["init-site", "mine", "--dry-run"]) == 0
    assert "SYSTEM = {" in capsys.readouterr().out
    assert not own_systems.exists()
    assert not (tmp_path / "var/init-site").exists()


def test_a_folder_that_cannot_be_written(slurm, own_systems, capsys):
    own_systems.write_text("a file")
    assert cli.main(["init-site", "mine"]) == 2
    assert "ACCEPTANCE_SYSTEMS names another folder" in capsys.readouterr().err


def test_a_machine_without_slurm(made, tmp_path, monkeypatch):
    bare = tmp_path / "bare"
    bare.mkdir()
    for name in ("sh", "cat", "gcc", "make"):
        if path := shutil.which(name):
            (bare / name).symlink_to(path)
    monkeypatch.setenv("PATH", str(bare))
    system, _, _, said = made()
    (part,) = system["partitions"]
    assert (part["scheduler"], part["launcher"]) == ("local", "mpiexec")
    assert part["extras"]["nodes"] == 1
    assert "no Slurm   it has no sinfo, scontrol and sbatch" in said


def programs(folder, **said):
    """Make a folder of programs that print something."""
    folder.mkdir(parents=True)
    for name, text in {"mpicc": "", "mpirun": "", **said}.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\necho '{text}'\n")
        path.chmod(0o755)


def test_mpis_of_path_modules_and_packages(slurm, made, tmp_path, monkeypatch):
    """A module system that is Lmod's by its outputs: avail to standard error, load as exports."""
    programs(tmp_path / "mpich/bin", mpichversion="MPICH Version: 4.0.2")
    programs(tmp_path / "openmpi/bin", ompi_info="Open MPI v4.1.4")
    lmod = tmp_path / "lmod"
    listing = ROOT / "tests/data/modules/lmod.txt"
    lmod.write_text(f"""#!/bin/sh
case "$*" in
    "bash -t avail") cat {listing} >&2 ;;
    "bash load openmpi/"*) echo "PATH={tmp_path}/openmpi/bin:$PATH; export PATH;" ;;
    *) echo false; exit 1 ;;
esac
""")
    lmod.chmod(0o755)
    monkeypatch.setenv("LMOD_CMD", str(lmod))
    monkeypatch.setenv("PATH", f"{slurm.bin}:{tmp_path}/mpich/bin:/usr/bin:/bin")
    monkeypatch.setattr(Spack, "find", lambda workspace: Spack(tmp_path, None, workspace))
    system, environments, text, said = made("--partition", "debug")
    assert system["modules_system"] == "lmod"
    found = {one["name"]: one for one in environments if one["name"] != "wheels"}
    assert found["spack-openmpi"]["modules"] == ["openmpi/4.1.4"]
    assert found["spack-openmpi"]["env_vars"] == [["SLURM_MPI_TYPE", "pmix"]]
    assert found["spack-openmpi"]["extras"] == {"spack": {"mpi": "openmpi"}, "mpi": "openmpi"}
    assert found["spack-mpich"]["modules"] == []
    assert found["spack-mpich"]["env_vars"] == [["SLURM_MPI_TYPE", "pmi2"]]
    assert "mpi/mvapich2-x86_64: brings no MPI" in text
    assert "MPI        openmpi 4.1.4: module openmpi/4.1.4" in said
    path = tmp_path / "site/spack-envs/systems/mine/packages.yaml"
    packages = yaml.safe_load(path.read_text())["packages"]
    assert packages["mpi"] == {"buildable": False}
    assert packages["openmpi"]["externals"] == [
        {"spec": "openmpi@4.1.4", "prefix": f"{tmp_path}/openmpi", "modules": ["openmpi/4.1.4"]}
    ]
    assert packages["mpich"]["externals"] == [
        {"spec": "mpich@4.0.2", "prefix": f"{tmp_path}/mpich"}
    ]


def test_spack_composes_what_was_written(slurm, made, tmp_path, monkeypatch):
    programs(tmp_path / "mpich/bin", mpichversion="MPICH Version: 4.0.2")
    monkeypatch.setenv("PATH", f"{slurm.bin}:{tmp_path}/mpich/bin:/usr/bin:/bin")
    made("--partition", "debug")
    here = workspace(tmp_path / "var", systems=(ROOT, tmp_path / "site"))
    text = compose_environment("imb", "mine", "mpich", Spack(tmp_path, None, here))
    composed = yaml.safe_load(text)["spack"]
    assert composed["packages"]["mpich"]["externals"][0]["prefix"] == f"{tmp_path}/mpich"
    with pytest.raises(Fault, match="have no openmpi"):
        compose_environment("imb", "mine", "openmpi", Spack(tmp_path, None, here))


def test_nodes_of_equal_processors_and_other_links_are_two_kinds(slurm, made):
    lines = (slurm.folder / "node.txt").read_text().splitlines()
    (first,) = [line for line in lines if line.startswith("NodeName=cn001 ")]
    other = first.replace("cn001", "cn009").replace("ib,hdr,rack1", "old,rack1")
    (slurm.folder / "node.txt").write_text("\n".join([first, other]) + "\n")
    sysfs = slurm.node("cn009")
    sysfs.adapter()
    sysfs.port(rate="40 Gb/sec (4X QDR)")
    system, *_ = made("--partition", "debug")
    rates = {name: part["extras"]["fabric"]["rate"] for name, part in parts(system).items()}
    assert rates == {"debug-ib": "HDR", "debug-old": "QDR"}


def test_another_folder_has_systems_too(slurm, made, site, tmp_path):
    made("--partition", "debug")
    where = {"ACCEPTANCE_SYSTEMS": str(tmp_path / "site")}
    run = site.reframe("--system=mine", "--show-config=systems/0/name", **where)
    assert (run.status, run.output.strip()) == (0, '"mine"'), run.errors
    limits = site.acceptance("references", "limits", "mine:debug", **where)
    assert limits.status == 0, limits.errors
    assert "infiniband HDR 4x" in limits.output


def test_a_fabric_that_nobody_knows_is_said_to_be_unknown_and_its_nodes_can_be_looked_at(
    slurm, made, site, tmp_path
):
    shutil.rmtree(slurm.folder / "cn001")
    slurm.node("cn001")
    system, *_ = made("--partition", "debug")
    assert parts(system)["debug"]["extras"]["fabric"] == {}
    where = {"ACCEPTANCE_SYSTEMS": str(tmp_path / "site")}
    done = site.acceptance("references", "limits", "mine:debug", **where)
    assert (done.status, "mine:debug: no fabric is stated" in done.errors) == (2, True)
    run = site.reframe("--system=mine", "-c", "checks/fabric.py", "-lC", **where)
    assert (run.status, "LinkCheck" in run.output) == (0, True), run.output + run.errors


def test_a_system_like_one_of_a_paper_is_a_copy_with_a_name_of_its_own(site, tmp_path):
    where = {"ACCEPTANCE_SYSTEMS": str(tmp_path)}
    done = site.acceptance("init-site", "mine", "--like", "koop2008", **where)
    assert (done.status, done.output.count("like koop2008: edit it")) == (0, 2), done.errors
    path = tmp_path / "config/systems/mine.py"
    made, theirs = (
        runpy.run_path(str(file)) for file in (path, ROOT / "config/systems/koop2008.py")
    )
    own = {"name": "mine", "hostnames": [r"^mine\b"]}
    assert made["SYSTEM"] == {**theirs["SYSTEM"], **own}
    assert made["ENVIRONMENTS"] == theirs["ENVIRONMENTS"]
    assert str(ROOT) not in path.read_text()
    of_spack = "spack-envs/systems/{}/packages.yaml"
    assert (tmp_path / of_spack.format("mine")).read_text() == (
        ROOT / of_spack.format("koop2008")
    ).read_text()
    listed = site.reframe("--system", "mine", "-c", "checks/imb.py", "-lC", **where)
    assert "@mine:qdr-pcie2+spack-openmpi" in listed.output, listed.errors
    again = site.acceptance("init-site", "mine", "--like", "koop2008", **where)
    assert (again.status, "--force writes it anew" in again.errors) == (2, True)
    none = site.acceptance("init-site", "other", "--like", "nowhere", **where)
    assert (none.status, "there is no config/systems/nowhere.py" in none.errors) == (2, True)

"""`config/`: every system loads, says what the papers say, and gives cases in real ReFrame."""

import re
import runpy
import shutil
import socket
from collections import defaultdict

import pytest
import yaml

from acceptance.fabric import Facts
from acceptance.references import library
from acceptance.rfm import configuration as sites
from checks.reframe_slurm import Beginnings
from tests.places import REFERENCE, ROOT

SETTINGS = ROOT / "config/settings.py"
FILES = sorted((ROOT / "config/systems").glob("*.py"))
#: The test beds of papers.
PAPERS = [path.stem for path in FILES if (ROOT / f"reference/{path.stem}.csv").is_file()]
HOSTS = [
    "localhost",
    "node001",
    "login1.example.org",
    "nid00012",
    "old-koop2008",
    "koop20080",
]


def declared(name):
    """Return SYSTEM and ENVIRONMENTS of a file in config/systems."""
    names = runpy.run_path(str(ROOT / f"config/systems/{name}.py"))
    return names["SYSTEM"], names["ENVIRONMENTS"]


def printed():
    """Return what systems.csv says: (system, partition) -> {column: text}, of the papers."""
    return {
        (found["system"], found["partition"]): found
        for found in library.load(REFERENCE).partitions.values()
        if found["system"] in PAPERS
    }


def partitions():
    """Return the partitions of the test beds: (system, partition) -> ReFrame's dictionary."""
    return {
        (name, partition["name"]): partition
        for name in PAPERS
        for partition in declared(name)[0]["partitions"]
    }


@pytest.fixture(autouse=True)
def _own_log(tmp_path, monkeypatch):
    """Loading settings.py makes the folder of the log."""
    monkeypatch.setenv("ACCEPTANCE_VAR", str(tmp_path))


@pytest.fixture
def settings():
    """Load settings.py; return its names."""
    return runpy.run_path(str(SETTINGS))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_holds_the_system_of_its_name(path, settings):
    system, environments = settings["load"](path)
    # A name of Python has no hyphens.
    name = path.stem.replace("_", "-")
    assert system["name"] == name
    assembled = {**system, "partitions": [*map(settings["on_slurm"], system["partitions"])]}
    assert assembled in settings["site_configuration"]["systems"]
    assert all(environment["target_systems"] == [name] for environment in environments)


def test_no_job_of_slurm_waits_for_ever_or_runs_twice_unless_its_partition_says_so(settings):
    made = settings["on_slurm"]({"scheduler": "squeue", "access": ["--requeue"]})
    # Of two options that contradict each other Slurm takes the last one.
    assert made["access"] == ["--no-requeue", "--requeue"]
    assert "PartitionTimeLimit" in made["sched_options"]["slurm_job_cancel_reasons"]
    reasons = Beginnings(made["sched_options"]["slurm_job_cancel_reasons"])
    for reason in (
        "Nodes required for job are DOWN",
        "Nodes_required_for_job_are_DOWN",
        "Job's account not permitted to use this partition (a allows b not c)",
        "Job's_QOS_not_known",
        "ReqNodeNotAvail",
    ):
        assert reason in reasons
    # These end by themselves.
    for reason in ("Resources", "Priority", "None", "Licenses", "QOSMaxJobsPerUserLimit", "Prolog"):
        assert reason not in reasons
    mine = {"slurm_job_cancel_reasons": [], "use_nodes_option": True}
    assert (
        settings["on_slurm"]({"scheduler": "slurm", "sched_options": mine})["sched_options"] == mine
    )
    here = {"scheduler": "local", "name": "default"}
    assert settings["on_slurm"](here) == here


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_names_are_ones_that_reframe_can_select(path):
    system, environments = declared(path.stem)
    own = [partition["name"] for partition in system["partitions"]]
    for names in (own, [environment["name"] for environment in environments]):
        assert len(set(names)) == len(names)
        assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", name) for name in names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_partitions_and_environments_refer_to_each_other(path):
    system, environments = declared(path.stem)
    named = {name for partition in system["partitions"] for name in partition["environs"]}
    assert named - {"builtin"} == {environment["name"] for environment in environments}


def test_every_partition_of_the_papers_has_one_in_reframe_and_vice_versa():
    assert partitions().keys() == printed().keys()


@pytest.mark.parametrize("key", ["technology", "rate", "lanes", "pcie", "pcie_lanes"])
def test_fabric_facts_are_those_of_the_papers(key):
    said = {where: facts[key] for where, facts in printed().items() if facts[key]}
    assert said, "the column is not all empty"
    found = partitions()
    assert {where: str(found[where]["extras"]["fabric"].get(key)) for where in said} == said


def test_fabric_facts_have_the_types_that_the_design_gives_them():
    for where, partition in partitions().items():
        fabric = partition["extras"]["fabric"]
        assert fabric.keys() <= set(Facts.__struct_fields__), where
        for key, value in fabric.items():
            assert type(value) is (int if key.endswith("lanes") else str), (where, key)


def test_nodes_are_those_of_the_papers():
    found = partitions()
    for where, facts in printed().items():
        extras, processor = found[where]["extras"], found[where]["processor"]
        assert extras["nodes"] > 1, where
        assert extras["cores"] == processor["num_cpus"], where
        per_socket = processor["num_cpus_per_socket"]
        assert processor["num_sockets"] * per_socket == processor["num_cpus"], where
        if facts["cores_per_node"]:
            assert extras["cores"] == int(facts["cores_per_node"]), where
        if facts["sockets_per_node"]:
            assert processor["num_sockets"] == int(facts["sockets_per_node"]), where
        if facts["memory_gb_per_node"]:
            assert extras["memory"] == round(float(facts["memory_gb_per_node"]) * 1e9), where
        if facts["nodes"]:
            # A few of them serve and do not compute.
            assert int(facts["nodes"]) - 1 <= extras["nodes"] <= int(facts["nodes"]), where


@pytest.mark.parametrize("name", PAPERS)
def test_spack_knows_every_mpi_that_an_environment_asks_for(name):
    _, environments = declared(name)
    asked = {
        environment["extras"]["spack"]["mpi"]
        for environment in environments
        if "spack" in environment["features"]
    }
    text = (ROOT / f"spack-envs/systems/{name}/packages.yaml").read_text()
    packages = yaml.safe_load(text)["packages"]
    assert packages["mpi"] == {"buildable": False}
    given = {mpi for mpi in ("mvapich2", "mvapich", "openmpi", "mpich") if mpi in packages}
    assert asked == given
    assert all(packages[mpi]["externals"] for mpi in given)


@pytest.mark.parametrize("name", PAPERS)
def test_real_reframe_lists_cases_for_every_environment_with_the_suite(name, site):
    system, environments = declared(name)
    provide = {found["name"] for found in environments if "imb" in found["features"]}
    # -C: the cases; listing needs no scheduler, so that a login node without Slurm can do it.
    run = site.reframe("--system", name, "-c", "checks/imb.py", "-lC")
    assert run.status == 0, run.output + run.errors
    placements = defaultdict(set)
    for line in run.output.splitlines():
        if found := re.match(r"- ImbMpi1 .*%placement=(\S+) .*@(\S+)$", line):
            placements[found[2]].add(found[1])
    expected = {
        f"{name}:{partition['name']}+{environment}"
        for partition in system["partitions"]
        for environment in partition["environs"]
        if environment in provide
    }
    assert expected == placements.keys()
    assert {where.split("+")[0] for where in expected} == {
        f"{name}:{partition['name']}" for partition in system["partitions"]
    }
    for where, found in placements.items():
        assert {"inter-node", "intra-node"} <= found, where
    assert "error" not in run.errors.lower()


@pytest.mark.parametrize("host", HOSTS)
def test_a_bare_machine_gets_local(host, monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    assert sites.load([SETTINGS]).system()["name"] == "local"


@pytest.mark.parametrize("name", PAPERS)
def test_a_test_bed_takes_the_hosts_that_have_its_name(name, monkeypatch):
    for host in (name, f"{name}-login1", f"{name}.example.org"):
        monkeypatch.setattr(socket, "gethostname", lambda host=host: host)
        assert sites.load([SETTINGS]).system()["name"] == name


def test_real_reframe_takes_local_on_this_machine(site):
    run = site.reframe("--show-config=systems/0/name")
    assert (run.status, run.output.strip()) == (0, '"local"'), run.errors


@pytest.fixture
def broken(site):
    """Give the site a copy of the configuration, to which a system's file is added."""

    def add(text):
        folder = site.folder / "config"
        shutil.copytree(ROOT / "config", folder)
        path = folder / "systems/broken.py"
        path.write_text(text)
        site.environment["RFM_CONFIG_FILES"] = str(folder / "settings.py")
        return path

    return add


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ENVIRONMENTS = []\n", "defines no SYSTEM"),
        ("SYSTEM = {}\n", "defines no ENVIRONMENTS"),
        ("", "defines no SYSTEM and no ENVIRONMENTS"),
        ("SYSTEM = {}\nENVIRONMENTS = []\n", "SYSTEM needs a name, hostnames and partitions"),
        ("SYSTEM = 1 / 0\n", "ZeroDivisionError: "),
        ("SYSTEM = {\n", "SyntaxError: "),
        ("import a_module_that_is_not_there\n", "ModuleNotFoundError: "),
    ],
)
def test_a_file_that_is_no_system_is_named(text, words, settings, tmp_path):
    path = tmp_path / "broken.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=re.escape(f"{path}: {words}")):
        settings["load"](path)


@pytest.mark.parametrize(
    ("text", "words"),
    [("ENVIRONMENTS = []\n", "broken.py: defines no SYSTEM"), ("SYSTEM = 1 / 0\n", "broken.py")],
)
def test_reframe_and_the_doctor_name_it(text, words, site, broken):
    path = broken(text)
    run = site.reframe("-c", "checks/imb.py", "-l")
    assert run.status == 1
    assert words in run.output + run.errors
    assert str(path) in run.output + run.errors
    doctor = site.acceptance("doctor")
    assert doctor.status == 1
    assert words in " ".join(doctor.output.split())

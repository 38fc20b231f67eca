"""The templates of `config/templates.py`: their facts; copied, listed and simulated."""

import re
import runpy

import pytest
import yaml

from acceptance.core.extras import PartitionExtras
from acceptance.fabric import Facts, limit
from acceptance.simulation import simulated
from tests.places import ROOT

TEMPLATES = runpy.run_path(str(ROOT / "config/templates.py"))["TEMPLATES"]
PARTITIONS = [
    pytest.param(part, id=f"{name}:{part['name']}")
    for name, (system, _) in TEMPLATES.items()
    for part in system["partitions"]
]


def test_each_template_is_a_system():
    for name in TEMPLATES:
        assert (ROOT / f"config/systems/{name}.py").is_file()
        text = (ROOT / f"spack-envs/systems/{name}/packages.yaml").read_text()
        packages = yaml.safe_load(text)["packages"]
        assert packages["openmpi"]["externals"]
        assert packages["mpich"]["externals"]


@pytest.mark.parametrize("part", PARTITIONS)
def test_its_facts_can_be_and_set_a_limit_of_the_link(part):
    extras = PartitionExtras.read(part["extras"], part["name"])
    facts = Facts.read(part["extras"]["fabric"], part["name"])
    assert extras.cores == part["processor"]["num_cpus"]
    assert limit(facts).link is not None
    # Nothing was measured there.
    assert not [*(ROOT / "reference").glob(f"{part['name']}*.csv")]


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_simulated_one_has_its_fabric_and_no_gpus(name, monkeypatch):
    monkeypatch.setenv("ACCEPTANCE_SIMULATED_NODES", "4")
    system, _ = simulated(name)
    assert system["name"] == f"simulated-{name}"
    for part, made in zip(TEMPLATES[name][0]["partitions"], system["partitions"], strict=True):
        facts = Facts.read(made["extras"]["fabric"])
        assert (made["extras"]["nodes"], facts.gpus) == (4, 0)
        assert limit(facts) == limit(Facts.read(part["extras"]["fabric"]))


def test_a_site_copies_one_and_real_reframe_lists_its_cases(site):
    systems = site.folder / "own"
    site.environment["ACCEPTANCE_SYSTEMS"] = str(systems)
    done = site.acceptance("init-site", "mine", "--like", "slingshot")
    assert done.status == 0, done.output
    copied = runpy.run_path(str(systems / "config/systems/mine.py"))["SYSTEM"]
    assert copied["hostnames"] == [r"^mine\b"]
    assert copied["partitions"] == TEMPLATES["slingshot"][0]["partitions"]
    assert (systems / "spack-envs/systems/mine/packages.yaml").is_file()
    run = site.reframe("--system", "mine", "-c", "checks/osu.py", "-n", r"osu_bw\b|latency", "-lC")
    assert run.status == 0, run.output + run.errors
    places = {found[1] for found in re.finditer(r" @mine:(\w+)\+spack-openmpi", run.output)}
    assert places == {"cpu", "gpu"}

"""A simulated system has as many nodes as checks take of the real one."""

import pytest

from acceptance.core.extras import ExtrasFault
from acceptance.machine import partition_size, slurm
from acceptance.simulation import simulated
from acceptance.simulation.systems import AT_MOST

SYSTEM = """
SYSTEM = {{"name": "mine", "hostnames": ["mine"], "partitions": [{{
    "name": "batch", "scheduler": "{scheduler}", "launcher": "srun", "environs": ["gnu"],
    "access": ["--partition=batch"], "extras": {extras},
}}]}}
ENVIRONMENTS = [{{"name": "gnu"}}]
"""
NODE = (
    "NodeName={name} Arch=x86_64 CoresPerSocket=8 CPUEfctv=8 CPUTot=8 NodeAddr={name} "
    "RealMemory=1000 Sockets=1 State={state} ThreadsPerCore=1 Partitions=batch"
)
STATES = ["IDLE", "IDLE", "DOWN", "ALLOCATED", "IDLE", "IDLE", "IDLE"]


@pytest.fixture
def derive(tmp_path, monkeypatch):
    folder = tmp_path / "config/systems"
    folder.mkdir(parents=True)
    monkeypatch.setenv("ACCEPTANCE_SYSTEMS", str(tmp_path))
    monkeypatch.delenv(AT_MOST, raising=False)

    def extras_of_simulated(extras, scheduler="slurm"):
        (folder / "mine.py").write_text(SYSTEM.format(scheduler=scheduler, extras=extras))
        system, _ = simulated("mine")
        (part,) = system["partitions"]
        return part["extras"]

    partition_size._of_scheduler.cache_clear()
    yield extras_of_simulated
    partition_size._of_scheduler.cache_clear()


@pytest.fixture
def scontrol(monkeypatch):
    def show(what, *_):
        if what == "partition":
            return "PartitionName=batch Default=YES MaxNodes=UNLIMITED State=UP TotalNodes=7"
        nodes = (NODE.format(name=f"node{n}", state=state) for n, state in enumerate(STATES))
        return "\n".join(nodes)

    monkeypatch.setattr(slurm, "show", show)


@pytest.fixture
def no_slurm(monkeypatch):
    def show(*_):
        raise slurm.SchedulerFault("no controller")

    monkeypatch.setattr(slurm, "show", show)


def test_all_nodes_are_those_of_slurm_that_are_up(derive, scontrol):
    extras = derive({"nodes": "all"})
    assert (extras["nodes"], extras["cores"], extras["memory"]) == (6, 8, 1000 * 2**20)
    assert extras["simulated"] == {"of": "mine"}
    assert derive({"nodes": "all", "cores": 4})["cores"] == 4


def test_without_a_number_it_has_as_many_as_checks_take_of_slurm(derive, scontrol):
    assert derive({})["nodes"] == 4
    assert derive({"nodes": 3})["nodes"] == 3
    assert "nodes" not in derive({}, scheduler="local")


def test_where_slurm_cannot_be_asked_all_nodes_require_a_number(derive, no_slurm, monkeypatch):
    with pytest.raises(ExtrasFault, match=f"mine:batch: nodes is 'all'.*no controller.*{AT_MOST}"):
        derive({"nodes": "all"})
    assert derive({})["nodes"] == 4
    monkeypatch.setenv(AT_MOST, "16")
    assert derive({"nodes": "all"})["nodes"] == 16
    monkeypatch.setenv(AT_MOST, "all")
    with pytest.raises(ExtrasFault, match=f"{AT_MOST}=all: has to be a whole number from 1"):
        derive({"nodes": "all"})

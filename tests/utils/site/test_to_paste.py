"""`site/doctor.py`: lines for partitions and environments, with what Slurm and a path say."""

import ast

import pytest

from acceptance.machine import partition_size, slurm
from acceptance.rfm.configuration import Site
from acceptance.site.doctor import to_paste
from tests.places import workspace

NODE = (
    "NodeName={name} Arch=x86_64 CoresPerSocket=2 CPUEfctv=8 CPUTot=8 NodeAddr={name} "
    "RealMemory=1000 Sockets=2 State=IDLE ThreadsPerCore=2 Partitions=batch"
)


@pytest.fixture
def paste(tmp_path, monkeypatch):
    """Return what is to be pasted of a partition and an environment: what -> entries, or text."""

    def show(what, *_):
        if what == "partition":
            return "PartitionName=batch Default=YES State=UP MaxNodes=UNLIMITED"
        return "\n".join(NODE.format(name=f"node{number}") for number in (1, 2))

    monkeypatch.setattr(slurm, "show", show)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    partition_size._of_scheduler.cache_clear()

    def rows(partition, environment):
        partition = {"name": "batch", "environs": ["gnu"], **partition}
        system = {"name": "made", "hostnames": [".*"], "partitions": [partition]}
        site = Site((system,), ({"name": "gnu", **environment},))
        return {text.what: text for text in to_paste(workspace(tmp_path), site, system)}

    yield rows
    partition_size._of_scheduler.cache_clear()


def entries(text):
    return ast.literal_eval("{" + "\n".join(text.lines) + "}")


def test_slurm_tells_of_a_partition_what_needs_no_job(paste):
    text = paste({"scheduler": "squeue", "extras": {"nodes": 1}}, {})["partition batch"]
    assert entries(text) == {
        "max_jobs": 1,
        "processor": {
            "num_cpus": 8, "num_cpus_per_core": 2, "num_cpus_per_socket": 4, "num_sockets": 2,
        },
        "extras": {"cores": 4, "memory": 1000 * 2**20},
    }  # fmt: skip
    assert (
        "    # fill in: acceptance doctor --ask-nodes looks at a node with a short job"
        in text.lines
    )
    assert "in its `extras` beside the others" in text.remedy


def test_nothing_is_made_up_of_another_scheduler(paste):
    text = paste({"scheduler": "pbs"}, {})["partition batch"]
    assert entries(text) == {"max_jobs": 1, "extras": {}}
    assert [line.strip() for line in text.lines if '"cores"' in line] == [
        '# fill in: "cores": ...,'
    ]


def test_a_partition_that_states_all_has_no_lines(paste):
    fabric = {"technology": "ethernet"}
    extras = {"nodes": 1, "cores": 2, "memory": 1, "fabric": fabric}
    assert "partition batch" not in paste(
        {"scheduler": "local", "max_jobs": 1, "extras": extras}, {}
    )


def test_a_program_on_the_path_of_an_environment_is_offered(paste, tmp_path):
    for name in ("bin/hpcc", "other/IMB-MPI1"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch(0o755)
    environment = {"features": ["imb"], "env_vars": [["PATH", f"{tmp_path}/other:$PATH"]]}
    text = paste({"scheduler": "pbs"}, environment)["environment gnu"]
    assert entries(text) == {
        "features": ["imb", "hpcc"],
        "extras": {"suites": {"hpcc": f"{tmp_path}/bin"}},
    }
    assert "mpi" in text.found, "to be filled in"

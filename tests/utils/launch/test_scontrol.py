"""`launch/scontrol.py` on recorded outputs of a Slurm 22.05, and on ones made from them."""

import pytest

from acceptance.core.errors import ParseError
from acceptance.launch import scontrol


@pytest.fixture
def nodes(recorded):
    return lambda name: {
        one.name: one for one in scontrol.nodes(recorded(f"slurm/nodes-{name}.txt"))
    }


def test_nodes_of_a_real_cluster(nodes):
    found = nodes("22.05")
    assert list(found) == ["node1", "node2", "node3", "node4"]
    node = found["node3"]
    # One of its two cores is kept for Slurm.
    assert (node.sockets, node.cores_per_socket, node.threads, node.cores) == (1, 2, 1, 1)
    assert (node.memory, node.arch) == (512 * 2**20, "x86_64")
    assert (node.features, node.partitions) == ({"one"}, {"main"})
    assert node.states == {"IDLE"}
    assert node.usable
    assert node.idle


def test_nodes_of_several_kinds_and_states(nodes):
    found = nodes("mixed")
    assert [name for name, node in found.items() if node.usable] == ["cn001", "cn002", "cn003"]
    assert [name for name, node in found.items() if node.idle] == ["cn001", "cn003"]
    assert [node.cores for node in found.values()] == [64, 64, 30, 32, 32]
    assert found["cn001"].memory == 256000 * 2**20
    assert found["cn005"].states == {"DOWN", "NOT_RESPONDING"}


def test_what_people_write_into_a_comment_is_no_fact(nodes):
    assert nodes("mixed")["cn001"].states == {"IDLE"}


@pytest.mark.parametrize(
    ("text", "usable"),
    [
        ("MIXED", True),
        ("ALLOCATED", True),
        ("IDLE+CLOUD+POWERED_DOWN", True),
        ("IDLE+PLANNED", True),
        ("MIXED+DRAIN", False),
        ("IDLE*", False),
        ("IDLE+NOT_RESPONDING", False),
        ("IDLE+MAINT+RESERVED", False),
        ("DOWN", False),
        ("UNKNOWN", False),
        ("IDLE+REBOOT_REQUESTED", False),
    ],
)
def test_states(recorded, text, usable):
    line = recorded("slurm/nodes-22.05.txt").splitlines()[0]
    (node,) = scontrol.nodes(line.replace("State=IDLE", f"State={text}"))
    assert node.usable == usable


def test_partitions(recorded):
    (main,) = scontrol.partitions(recorded("slurm/partitions-22.05.txt"))
    assert (main.name, main.up, main.default, main.root_only) == ("main", True, True, False)
    assert (main.groups, main.most_nodes) == (frozenset(), None)
    found = {one.name: one for one in scontrol.partitions(recorded("slurm/partitions-mixed.txt"))}
    assert found["debug"].most_nodes == 2
    assert found["closed"].groups == {"physics", "chemistry"}
    assert not found["old"].up


def test_config(recorded):
    found = scontrol.config(recorded("slurm/config-22.05.txt"))
    assert found["ClusterName"] == "acceptance"
    assert found["SlurmctldHost[0]"].startswith("head(")
    assert found["AccountingStorageEnforce"] == ""
    assert found["SelectTypeParameters"] == "CR_CORE"
    assert found["AuthInfo"].startswith("socket=")


def test_mpi_plugins(recorded):
    now = scontrol.mpi_plugins(recorded("slurm/mpi-22.05.txt"))
    assert now == ["pmix", "cray_shasta", "pmi2", "pmix_v4"]
    before = "srun: MPI types are...\nsrun: none\nsrun: pmix_v3\nsrun: pmi2\nsrun: pmix\n"
    assert scontrol.mpi_plugins(before) == ["pmix_v3", "pmi2", "pmix"]
    assert scontrol.mpi_plugins("") == []


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda line: line.replace("NodeName=", "Name="), "does not begin with NodeName="),
        (lambda line: "slurm_load_node error: Zero Bytes", "does not begin with NodeName="),
        (lambda line: line.replace("Sockets=1", "Sockets=one"), "Sockets is 'one'"),
        (lambda line: line.replace(" State=IDLE", ""), "has no State"),
        (lambda line: line[:60], "has no"),
    ],
)
def test_what_is_no_record_of_a_node_is_an_error_with_its_line(recorded, spoil, words):
    lines = recorded("slurm/nodes-22.05.txt").splitlines()
    lines[1] = spoil(lines[1])
    with pytest.raises(ParseError, match="scontrol show node:2: ") as caught:
        scontrol.nodes("\n".join(lines))
    assert words in str(caught.value)


def test_no_node_is_no_error():
    assert scontrol.nodes("\n") == []

"""`core/extras.py`: what partitions and environments may state, and what is refused."""

import pytest

from acceptance.core.extras import ExtrasFault, PartitionExtras, node_count, read_environment
from acceptance.machine import MPIS
from acceptance.suites import SUITES

WHERE = "config/systems/made.py: made:batch"


def test_what_a_partition_states():
    stated = {
        "nodes": 4, "cores": 64, "memory": 2**38, "mode": "smoke", "peak": 3200.5, "cache": 2**25,
        "memory_bandwidth": 204800,
        "guidelines": "fail", "verify_placement": False, "fabric": {"technology": "ethernet"},
        "site_rack": {"row": 3},
    }  # fmt: skip
    assert PartitionExtras.read(stated) == PartitionExtras(
        4,
        64,
        2**38,
        204800,
        "smoke",
        3200.5,
        2**25,
        "fail",
        False,
        fabric={"technology": "ethernet"},
    )
    assert PartitionExtras.read({}) == PartitionExtras()


@pytest.mark.parametrize(
    ("extras", "said"),
    [
        ({"simulated": {"leaf": 4}}, "missing required field `of`"),
        ({"simulated": {"of": "x", "leaves": 4}}, "unknown field `leaves`"),
        ({"fabrics": {}}, "unknown key 'fabrics' in the extras of a partition; known: nodes, "),
        ({"node": 2}, "unknown key 'node' in the extras of a partition; known: nodes, cores, "),
        (
            {"guideline": "fail"},
            "verify_placement, packed, simulated, inferred, fabric, and whatever begins with site_",
        ),
        ({1: 2}, "unknown key 1 in the extras of a partition"),
        ({"nodes": 0}, "nodes is 0; it has to be a whole number from 1 on"),
        ({"nodes": True}, "nodes is True; it has to be a whole number from 1 on, or 'all'"),
        ({"nodes": "ALL"}, "nodes is 'ALL'; it has to be a whole number from 1 on, or 'all'"),
        ({"cores": "8"}, "cores is '8'; it has to be a whole number from 1 on"),
        ({"memory": 16e9}, "memory is 16000000000.0; it has to be a whole number from 0 on"),
        ({"memory_bandwidth": "204800"}, "memory_bandwidth is '204800'; it has to be a number"),
        ({"peak": 0}, "peak is 0; it has to be a number above 0"),
        ({"peak": float("nan")}, "peak is nan; it has to be a number above 0"),
        ({"mode": "night"}, "unknown mode: 'night'; known: smoke, nightly, acceptance"),
        ({"guidelines": "yes"}, "unknown guidelines: 'yes'; known: show, fail"),
        ({"verify_placement": "no"}, "verify_placement is 'no'; Expected `bool`, got `str`"),
        (["nodes"], "the extras of a partition: ['nodes'] is no dictionary"),
    ],
)
def test_what_nobody_reads_is_refused_with_its_place(extras, said):
    with pytest.raises(ExtrasFault) as fault:
        PartitionExtras.read(extras, WHERE)
    assert str(fault.value).startswith(f"{WHERE}: ")
    assert said in str(fault.value)


def test_a_number_of_nodes_that_every_check_refuses_is_none():
    assert [node_count({"nodes": nodes}) for nodes in (4, "4", True, 0)] == [4, None, None, None]
    assert (node_count({}), node_count({}, None)) == (1, None)
    # How many are all of them the scheduler knows.
    assert node_count({"nodes": "all"}) is None
    assert PartitionExtras.read({"nodes": "all"}).nodes == "all"


def environment(extras, features=("imb",)):
    read_environment(extras, features, SUITES, MPIS, f"{WHERE}+gnu")


def test_what_an_environment_states():
    environment({"mpi": "openmpi", "suites": {"imb": "/opt/imb"}, "versions": {"npb": "3.3.1"}})
    environment({"spack": {"mpi": "mvapich2"}, "mpi": "mvapich2", "site_owner": "physics"})
    environment({"suites": {"halo": "/opt/halo"}, "mpi": "other"}, ("halo",))


@pytest.mark.parametrize(
    ("extras", "said"),
    [
        ({"mpi": "open-mpi"}, "unknown mpi: 'open-mpi'; known: openmpi, mpich, "),
        ({"version": {}}, "unknown key 'version' in the extras of an environment; known: mpi, "),
        ({"versions": {"NPB": "3.3.1"}}, "unknown key 'NPB' in versions; known: cpmd, "),
        ({"versions": "3.3.1"}, "versions is '3.3.1'; Expected `object`, got `str`"),
        ({"versions": {"npb": 3.3}}, "versions is {'npb': 3.3}; Expected `str`, got `float`"),
        ({"suites": {"Imb": "/opt"}}, "unknown key 'Imb' in suites; known: cpmd, "),
        ({"suites": {"imb": ""}}, "suites is {'imb': ''}; Expected `str` of length >= 1"),
        ({"spack": {}}, 'spack is {}; it has to be {"mpi": a text}'),
        ({"spack": {"mpi": "m", "x": "y"}}, "spack is {'mpi': 'm', 'x': 'y'}; it has to be "),
    ],
)
def test_what_nobody_reads_of_an_environment_is_refused(extras, said):
    with pytest.raises(ExtrasFault) as fault:
        environment(extras)
    assert str(fault.value).startswith(f"{WHERE}+gnu: {said}")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["rat"], "inferred has 'rat', which is not stated"),
        ("rate", "inferred is 'rate'; Expected `array`, got `str`"),
        ([1], "inferred is [1]; Expected `str`, got `int`"),
    ],
)
def test_only_what_is_stated_can_be_inferred(names, words):
    extras = {"memory": 1, "fabric": {"technology": "infiniband", "rate": "QDR"}}
    read = PartitionExtras.read({**extras, "inferred": ["memory", "rate"]})
    assert read.inferred == ("memory", "rate")
    with pytest.raises(ExtrasFault) as caught:
        PartitionExtras.read({**extras, "inferred": names}, "here")
    assert str(caught.value).startswith("here: ")
    assert words in str(caught.value)

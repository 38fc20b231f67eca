"""`launch/slurm_nodes.py`: which of Slurm's nodes are those of a partition, and which are up."""

import pytest

from acceptance.launch import SlurmFault, partition_nodes, scontrol

LINE = (
    "NodeName={name} Arch=x86_64 CoresPerSocket=2 CPUEfctv=2 CPUTot=2 ActiveFeatures={features} "
    "NodeAddr={name} RealMemory=512 Sockets=1 State={state} ThreadsPerCore=1 "
    "Partitions={partitions} {more}"
)
PARTITION = "PartitionName={name} Default={default} State=UP MaxNodes=UNLIMITED"
NODES = {
    "node1": ("IDLE", "ten,ib", "main", ""),
    "node2": ("ALLOCATED", "ten", "main", ""),
    "node3": ("IDLE+DRAIN", "one,ib", "main,debug", "Reason=bad cable [root@2026-11-20T09:00:00]"),
    "node4": ("DOWN*", "one", "main", "Reason=Not responding [slurm@2026-11-20T09:00:00]"),
    "node10": ("IDLE+RESERVED", "ten", "main,debug", ""),
}


@pytest.fixture(autouse=True)
def slurm(monkeypatch):
    """Answer as scontrol does for the nodes above, and for a reservation of two of them."""

    def show(what, *words):
        if what == "hostnames":
            return "\n".join(words[0].replace("node[3,10]", "node3,node10").split(","))
        if what == "reservation":
            return f"ReservationName={words[0]} Nodes=node[3,10] NodeCnt=2 State=ACTIVE"
        if what == "partition":
            return "\n".join(
                PARTITION.format(name=name, default=default)
                for name, default in (("debug", "NO"), ("main", defaults["main"]))
            )
        return "\n".join(
            LINE.format(name=name, state=state, features=features, partitions=names, more=more)
            for name, (state, features, names, more) in NODES.items()
        )

    defaults = {"main": "YES"}
    monkeypatch.setattr(scontrol, "show", show)
    return defaults


def names(*access):
    return [node.name for node in partition_nodes(access)]


def test_states_are_those_of_sinfo_and_only_some_are_up():
    assert [(node.name, node.state, node.up) for node in partition_nodes(["-p", "main"])] == [
        ("node1", "idle", True),
        ("node2", "allocated", True),
        ("node3", "drained", False),
        ("node4", "down+not_responding", False),
        ("node10", "idle+reserved", False),
    ]
    assert partition_nodes(["-p", "main"])[2].reason == "bad cable [root@2026-11-20T09:00:00]"


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        ([], ["node1", "node2", "node3", "node4", "node10"]),
        (["--exclusive", "--no-requeue", "--partition=debug"], ["node3", "node10"]),
        (["-pdebug"], ["node3", "node10"]),
        (["--partition main --partition debug"], ["node3", "node10"]),
        (["--constraint=ten"], ["node1", "node2", "node10"]),
        (["-C", "ten&ib"], ["node1"]),
        (["-C 'one & ib | ten'"], ["node1", "node2", "node3", "node10"]),
        (["-C", "one&(ib|ten)"], ["node3"]),
        (["-C", "[one|ten]"], ["node1", "node2", "node3", "node4", "node10"]),
        (["-w", "node4,node1"], ["node1", "node4"]),
        (["-x", "node4,node1"], ["node2", "node3", "node10"]),
        (["--reservation=big"], ["node3", "node10"]),
    ],
)
def test_the_options_choose_the_nodes(access, expected):
    assert names(*access) == expected


def test_what_is_kept_for_a_reservation_is_up_for_its_jobs():
    assert [node.up for node in partition_nodes(["--reservation=big"])] == [False, True]


@pytest.mark.parametrize(
    ("access", "words"),
    [
        (["-p", "mian"], "no node for -p mian"),
        (["-C", "ten*2"], "--constraint=ten*2: not read here"),
        (["-C", "ten&"], "not read here"),
        (["-C", "(ten"], "not read here"),
        (["-C", "ten)"], "not read here"),
        (["-w", "node1,node5"], "--nodelist=node1,node5: Slurm has no node node5"),
        (["-x", "nodes.txt"], "Slurm has no node nodes.txt"),
        (["--partition"], "--partition has no value"),
    ],
)
def test_what_cannot_be_read_is_a_fault(access, words):
    with pytest.raises(SlurmFault) as caught:
        names(*access)
    assert words in str(caught.value)


def test_without_a_default_partition_one_has_to_be_named(slurm):
    slurm["main"] = "NO"
    with pytest.raises(SlurmFault, match="write --partition into the access options"):
        names("--exclusive")

"""Nodes and partitions as recorded outputs of Slurm say them, and pins of cases to nodes."""

import pytest

from acceptance.machine import PlacementFault, SchedulerFault, placement, slurm
from acceptance.machine.slurm import partition_nodes

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
def scontrol(monkeypatch):
    """Answer as scontrol does for the nodes above, and for a reservation of two of them."""

    def show(what, *words):
        if what == "reservation":
            flags = "MAINT,SPEC_NODES" if words[0] == "repair" else "SPEC_NODES"
            return f"ReservationName={words[0]} Nodes=node[3,10] NodeCnt=2 Flags={flags} Users=x"
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
    monkeypatch.setattr(slurm, "show", show)
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


def test_a_node_in_maintenance_is_up_for_a_reservation_with_that_flag_alone(monkeypatch):
    monkeypatch.setitem(NODES, "node10", ("IDLE+MAINTENANCE+RESERVED", "ten", "main", ""))
    chosen = {name: partition_nodes([f"--reservation={name}"]) for name in ("big", "repair")}
    up = {name: {node.name: node.up for node in nodes} for name, nodes in chosen.items()}
    assert up["big"] == {"node3": False, "node10": False}
    assert up["repair"] == {"node3": False, "node10": True}


def test_another_cluster_is_asked_by_its_name_and_of_several_none(monkeypatch, scontrol):
    asked, show = [], slurm.show
    monkeypatch.setattr(slurm, "show", lambda *words: asked.append(words) or show(*words))
    assert names("-M", "other", "--reservation=big") == ["node3", "node10"]
    assert {words[-1] for words in asked} == {"--clusters=other"}
    with pytest.raises(SchedulerFault, match="a job would run on any of them; name one"):
        names("--clusters=here,other")
    assert "name one" in slurm.ask("12", ["-M all"]).text


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
        (["-x", "node[a-c]"], "node[a-c]: 'a-c' is no range of numbers"),
        (["--partition"], "--partition has no value"),
        (["--comment=it's"], "--comment=it's: No closing quotation"),
        (["--partition="], "--partition has no value"),
    ],
)
def test_what_cannot_be_read_is_a_fault(access, words):
    with pytest.raises(SchedulerFault) as caught:
        names(*access)
    assert words in str(caught.value)


def test_without_a_default_partition_one_has_to_be_named(scontrol):
    scontrol["main"] = "NO"
    with pytest.raises(SchedulerFault, match="write --partition into the access options"):
        names("--exclusive")


@pytest.fixture
def said(monkeypatch):
    """Let scontrol say a text."""
    return lambda text: monkeypatch.setattr(slurm, "show", lambda *what: text)


@pytest.fixture
def nodes(said, recorded):
    def read(name):
        said(recorded(f"slurm/nodes-{name}.txt"))
        return {one.name: one for one in slurm.all_nodes()}

    return read


def test_nodes_of_a_real_cluster(nodes):
    found = nodes("22.05")
    assert list(found) == ["node1", "node2", "node3", "node4"]
    node = found["node3"]
    # One of its two cores is kept for Slurm.
    assert (node.sockets, node.cores_per_socket, node.threads, node.cores) == (1, 2, 1, 1)
    assert (node.memory, node.arch) == (512 * 2**20, "x86_64")
    assert (node.features, node.partitions) == ({"one"}, {"main"})
    assert node.states == {"IDLE"}
    assert node.up


def test_nodes_of_several_kinds_and_states(nodes):
    found = nodes("mixed")
    assert [name for name, node in found.items() if node.up] == ["cn001", "cn002", "cn003"]
    idle = [name for name, node in found.items() if node.up and "IDLE" in node.states]
    assert idle == ["cn001", "cn003"]
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
def test_states(said, recorded, text, usable):
    line = recorded("slurm/nodes-22.05.txt").splitlines()[0]
    said(line.replace("State=IDLE", f"State={text}"))
    (node,) = slurm.all_nodes()
    assert node.up == usable


def test_partitions(said, recorded):
    said(recorded("slurm/partitions-22.05.txt"))
    (main,) = slurm.all_partitions()
    assert (main.name, main.up, main.default, main.root_only) == ("main", True, True, False)
    assert (main.groups, main.most_nodes) == (frozenset(), None)
    said(recorded("slurm/partitions-mixed.txt"))
    found = {one.name: one for one in slurm.all_partitions()}
    assert found["debug"].most_nodes == 2
    assert found["closed"].groups == {"physics", "chemistry"}
    assert not found["old"].up


def test_config(recorded):
    found = slurm.config(recorded("slurm/config-22.05.txt"))
    assert found["ClusterName"] == "acceptance"
    assert found["SlurmctldHost[0]"].startswith("head(")
    assert found["AccountingStorageEnforce"] == ""
    assert found["SelectTypeParameters"] == "CR_CORE"
    assert found["AuthInfo"].startswith("socket=")


def test_mpi_plugins(recorded):
    now = slurm.mpi_plugins(recorded("slurm/mpi-22.05.txt"))
    assert now == ["pmix", "cray_shasta", "pmi2", "pmix_v4"]
    before = "srun: MPI types are...\nsrun: none\nsrun: pmix_v3\nsrun: pmi2\nsrun: pmix\n"
    assert slurm.mpi_plugins(before) == ["pmix_v3", "pmi2", "pmix"]
    assert slurm.mpi_plugins("") == []


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
def test_what_is_no_record_of_a_node_is_an_error_with_its_line(said, recorded, spoil, words):
    lines = recorded("slurm/nodes-22.05.txt").splitlines()
    lines[1] = spoil(lines[1])
    said("\n".join(lines))
    with pytest.raises(SchedulerFault, match="scontrol show node:2: ") as caught:
        slurm.all_nodes()
    assert words in str(caught.value)


def test_no_node_is_no_error(said):
    said("\n")
    assert slurm.all_nodes() == []


PARTITIONS = ("ten", "one")
BLOCK = ("node5", "node6", "node7", "node8")


@pytest.mark.parametrize(
    "found", [{}, {"ten": ("node1",)}, {"ten": ("node1", "node2"), "one": ("node3",)}]
)
def test_what_is_written_is_read(found):
    assert placement.read_pins(placement.write_pins(found), PARTITIONS) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("node1,node2", "is not of the form"),
        ("ten=", "is not of the form"),
        ("ten=node1,,node2", "is not of the form"),
        ("ten=node1,node1", "is not of the form"),
        ("tne=node1", "no partition tne; there are: ten, one"),
        ("ten=node1;ten=node2", "ten stands there twice"),
    ],
)
def test_what_cannot_be_meant_is_refused(text, words):
    with pytest.raises(PlacementFault) as caught:
        placement.read_pins(text, PARTITIONS)
    assert words in str(caught.value)


def test_a_case_has_its_own_neighbours_and_all_cases_together_have_all_nodes():
    for number in (1, 2, 4):
        cases = {f"case {name}": None for name in range(40)}
        for case in cases:
            cases[case] = tuple(placement.nodes_of_case(BLOCK, number, case))
            assert tuple(placement.nodes_of_case(BLOCK, number, case)) == cases[case]
        blocks = {BLOCK[first : first + number] for first in range(0, 4, number)}
        assert set(cases.values()) == blocks


def test_of_nodes_that_are_no_multiple_none_is_left_out():
    chosen = {tuple(placement.nodes_of_case(BLOCK, 3, f"case {name}")) for name in range(40)}
    assert chosen == {BLOCK[:3], BLOCK[1:]}


def test_too_few_nodes_are_refused():
    with pytest.raises(PlacementFault, match="takes 5 nodes, and is pinned to 4: node5"):
        placement.nodes_of_case(BLOCK, 5, "case")

"""PBS and Flux: their nodes as documented and recorded outputs say them, what a job asks for."""

import json

import pytest

from acceptance.core import machine
from acceptance.core.extras import ExtrasFault, PartitionExtras
from acceptance.core.machine import Done
from acceptance.machine import (
    Layout,
    SchedulerFault,
    access_of,
    names_of,
    nodes_of,
    partition_size,
    placement,
    schedulers,
    size_of,
    slurm,
    stated_of,
)
from acceptance.machine.schedulers import of_flux, of_pbs, refusal

#: As `pbsnodes -a` of OpenPBS prints it: big1 is two vnodes.
PBS = """\
node1
     Mom = node1
     state = free
     resources_available.host = node1
     resources_available.mem = 16306532kb
     resources_available.ncpus = 64
     resources_available.kind = fast,ib
     last_state_change_time = Thu Nov 26 09:00:00 2026

node2
     Mom = node2
     state = job-exclusive
     resources_available.host = node2
     resources_available.ncpus = 48

node3
     state = offline,job-busy
     resources_available.host = node3
     resources_available.ncpus = 64
     resources_available.kind = ib
     comment = bad cable = port 7

node4
     state = state-unknown,down
     resources_available.host = node4

big1[0]
     state = free
     queue = large
     resources_available.host = big1
     resources_available.ncpus = 32
     resources_available.mem = 1gb

big1[1]
     state = resv-exclusive
     queue = large
     resources_available.host = big1
     resources_available.ncpus = 32
     resources_available.mem = 1gb

"""
R = {
    "version": 1,
    "execution": {
        "R_lite": [
            {"rank": "0-2", "children": {"core": "0-7", "gpu": "0"}},
            {"rank": "3", "children": {"core": "0-3,8-9"}},
        ],
        "nodelist": ["fluke[08-10],big"],
        "properties": {"ib": "0-1,3", "amd": "3"},
    },
}
STATUS = """\
avail|online|fluke08|
draining|online|fluke09|bad cable
avail|offline|fluke10|
allocated|online|big|
"""


@pytest.fixture
def says(monkeypatch):
    """Let commands print texts: the first words of each -> its text; returns what was called."""
    texts, called = {}, []

    def run(command, timeout, **_):
        called.append(" ".join(command))
        for begin, text in texts.items():
            if called[-1].startswith(begin):
                return text if isinstance(text, Done) else Done(text, status=0)
        return Done(fault=f"{command[0]} cannot be run: No such file or directory")

    monkeypatch.setattr(machine, "run", run)
    partition_size._of_scheduler.cache_clear()
    yield texts, called
    partition_size._of_scheduler.cache_clear()


@pytest.fixture
def pbs(says):
    says[0]["pbsnodes -a"] = PBS


@pytest.fixture
def flux(says):
    texts, called = says
    texts |= {"flux resource R": json.dumps(R), "flux resource status": STATUS}
    return called


def test_lists_of_names():
    names = ["a1", "a2", "a3", "a07", "b", "c08x", "c09x", "c10x"]
    assert names_of("a[1-3,07],b,c[08-10]x") == names
    assert names_of("r[0-1]n[1-2]") == ["r0n1", "r0n2", "r1n1", "r1n2"]
    assert names_of("[0-2,8]") == ["0", "1", "2", "8"]
    assert names_of("") == []
    for wrong in ("x", "3-1", "1-9999999999", "-"):
        with pytest.raises(SchedulerFault, match=f"'{wrong}' is no range of numbers"):
            names_of(f"b,a[{wrong}]")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"a[{'9' * 5000}]", "is no range of numbers"),
        ("a[1-]", "is no range of numbers"),
        ("a[1,2", "a bracket is not closed"),
        ("a1]", "a bracket is not closed"),
        # A node list of some bytes that would take all memory.
        ("r[0-999999]n[0-999999]", "more than 1000000 nodes"),
        ("a[0-999999],b[0-999999]", "more than 1000000 nodes"),
    ],
)
def test_a_list_that_is_none_or_of_too_many_nodes_is_refused(text, why):
    with pytest.raises(SchedulerFault, match=why):
        names_of(text)


def test_a_long_list_is_read():
    assert len(names_of("n," * 50_000)) == 50_000
    assert names_of("[7]" * 2000) == ["7" * 2000]


def test_hosts_of_pbs_their_states_and_why_they_are_away(pbs):
    nodes = nodes_of("pbspro", [])
    assert [(node.name, node.up, node.cores) for node in nodes] == [
        ("node1", True, 64), ("node2", True, 48), ("node3", False, 64), ("node4", False, 0),
    ]  # fmt: skip
    assert nodes[0].memory == 16306532 * 1024
    assert nodes[2].text == "node3 is job-busy+offline (bad cable = port 7)"
    assert nodes[3].text == "node4 is down+state-unknown"
    # Of a host of two vnodes a chunk gets one; the host is away if one of them is.
    (big,) = nodes_of("pbs", ["-q large"])
    assert (big.name, big.up, big.cores, big.memory) == ("big1", False, 32, 2 * 2**30)


@pytest.mark.parametrize(
    ("access", "names"),
    [
        (["-q batch"], ["node1", "node2", "node3", "node4"]),
        (["kind=ib"], ["node1", "node3"]),
        (["kind=ib:ngpus=4", "mem=8gb"], ["node1", "node3"]),
        (["kind=fast", "#PBS -W umask=022", "-A project"], ["node1"]),
        (["--exclude=node[1-3]"], ["node4"]),
    ],
)
def test_the_options_choose_the_nodes_of_pbs(pbs, access, names):
    assert [node.name for node in nodes_of("pbs", access)] == names


@pytest.mark.parametrize(
    ("text", "access", "words"),
    [
        (PBS, ["kind=slow"], "pbs has no node for kind=slow"),
        (PBS, ["-q R1234"], "-q R1234: which nodes a reservation has is not read here"),
        (PBS, ["-q"], "-q: -q/--queue has no value"),
        (PBS, ["--exclude=node[a-c]"], "node[a-c]: 'a-c' is no range of numbers"),
        ("node1\n     ntype = PBS\n", [], "pbsnodes -a: 'node1': no node and its state"),
        ("no nodes\n", [], "no node and its state can be read"),
        (Done(fault="pbsnodes: Connection refused"), [], "pbsnodes -a: pbsnodes: Connection ref"),
    ],
)
def test_what_pbs_does_not_say_is_a_fault(says, text, access, words):
    says[0]["pbsnodes -a"] = text
    with pytest.raises(SchedulerFault) as caught:
        nodes_of("pbs", access)
    assert words in str(caught.value)


def test_nodes_as_pbsnodes_of_slurm_says_them(says, recorded):
    says[0]["pbsnodes -a"] = recorded("slurm/pbsnodes-22.05.txt")
    nodes = nodes_of("torque", ["ten"])
    assert [(node.text, node.up) for node in nodes] == [
        ("node1 is free", True), ("node2 is offline (bad cable)", False),
    ]  # fmt: skip
    assert [node.cores for node in nodes] == [2, 2]


def test_nodes_of_flux_their_cores_states_and_reasons(flux):
    nodes = nodes_of("flux", ["--queue=batch", "--bank=x"])
    assert [(node.text, node.up, node.cores) for node in nodes] == [
        ("big is allocated", True, 6), ("fluke08 is avail", True, 8),
        ("fluke09 is draining (bad cable)", False, 8), ("fluke10 is offline", False, 8),
    ]  # fmt: skip
    assert all(call.endswith("-q batch") for call in flux)
    assert len(flux) == 2


def test_properties_choose_the_nodes_of_flux_and_one_without_a_state_is_not_up(flux, says):
    one, other = nodes_of("flux", ["--requires=ib,^amd", "--requires", "ib"])
    assert (one.name, other.name) == ("fluke08", "fluke09")
    with pytest.raises(SchedulerFault, match=r"--requires=a\|b: not read here"):
        nodes_of("flux", ["--requires=a|b"])
    # In housekeeping a node may be drained, too.
    says[0]["flux resource status"] = f"drained|online|big|bad disk\n{STATUS}"
    assert "big is drained (bad disk)" in [node.text for node in nodes_of("flux", [])]
    says[0]["flux resource status"] = STATUS.replace("fluke08", "other")
    assert "fluke08 is unknown" in [node.text for node in nodes_of("flux", []) if not node.up]


@pytest.mark.parametrize("text", ["", "[]", '{"execution": {"nodelist": ["a[x]"], "R_lite": []}}'])
def test_another_form_of_flux_is_a_fault(says, text):
    says[0]["flux resource R"] = text
    with pytest.raises(SchedulerFault, match="flux resource R: not of a form that is known"):
        nodes_of("flux", [])


def test_no_job_takes_more_nodes_than_pbs_and_flux_have_up(pbs, flux):
    every = PartitionExtras.read({"nodes": "all", "cores": 4})
    size = size_of(every, "pbs", [])
    assert (size.nodes, size.cores, size.there) == (2, 4, 4)
    assert size.told.startswith("2 of 4 nodes are up; not: node3 is job-busy+offline (bad cable")
    size = size_of(PartitionExtras.read({}), "flux", [])
    assert (size.nodes, size.cores) == (2, 6)
    size = size_of(PartitionExtras.read({"nodes": 9}), "flux", [])
    assert "it states 9 nodes, and flux has 4" in size.told
    # What PBS calls a CPU may be a thread.
    assert "may be hardware threads" in size_of(PartitionExtras.read({}), "pbs", []).unknown
    processor = {"num_cpus": 16, "num_cpus_per_core": 2}
    assert size_of(PartitionExtras.read({}), "pbs", [], processor).cores == 8


ONE_EACH, UNEVEN = Layout(2, 1, "inter-node"), Layout(5, 2, "inter-node")
PLACE = "-l place=scatter:exclhost"


@pytest.mark.parametrize(
    ("layout", "nodes", "more", "select"),
    [
        (ONE_EACH, [], [], "2:ncpus=64:mpiprocs=1"),
        (ONE_EACH, ["b", "a"], [], "1:ncpus=64:mpiprocs=1:host=b+1:ncpus=64:mpiprocs=1:host=a"),
        (UNEVEN, [], ["mem=8gb"], "2:ncpus=64:mpiprocs=2:mem=8gb+1:ncpus=64:mpiprocs=1:mem=8gb"),
        (UNEVEN, ["a"], [],
         "1:ncpus=64:mpiprocs=2:host=a+1:ncpus=64:mpiprocs=2+1:ncpus=64:mpiprocs=1"),
        (Layout(2, 2, "inter-socket"), [], [], "1:ncpus=64:mpiprocs=2"),
    ],
)  # fmt: skip
def test_a_job_of_pbs_asks_for_whole_nodes_each_once(layout, nodes, more, select):
    assert of_pbs("pbspro", layout, 64, nodes, more) == [f"-l select={select}", PLACE]


def test_torque_has_a_form_of_its_own():
    alone = "-l naccesspolicy=singlejob"
    assert of_pbs("torque", UNEVEN, 64, []) == ["-l nodes=2:ppn=2+1:ppn=1", alone]
    named = of_pbs("torque", ONE_EACH, 64, ["b", "a"], ["ib"])
    assert named == ["-l nodes=b:ppn=1:ib+a:ppn=1:ib", alone]


def test_a_job_of_flux_asks_for_whole_nodes():
    whole = ["--nodes=2", "--nslots=2", "--exclusive"]
    assert of_flux(ONE_EACH, []) == whole
    assert of_flux(ONE_EACH, ["b", "a"]) == [*whole, "--requires=hosts:b,a"]


def test_flux_run_places_ranks():
    def options(*layout):
        asked, variables = placement.place(placement.family("flux", ""), Layout(*layout))
        assert variables == {}
        return {*asked} - {"--setopt=gpu-affinity=off", "--setopt=exit-on-error"}

    core = "--setopt=cpu-affinity=per-task"
    assert options(2, 1, "inter-node") == {"--nodes=2", core}
    assert options(4, 2, "inter-node", "cyclic") == {"--nodes=2", core, "--taskmap=cyclic"}
    assert options(2, 2, "intra-socket") == {"--nodes=1", core}
    # The two halves of the cores are those of the sockets.
    assert options(2, 2, "inter-socket") == {"--nodes=1", core, "--exclusive"}


@pytest.mark.parametrize(
    ("scheduler", "launcher", "verified", "words"),
    [
        ("lsf", "mpirun", True, "no ranks can be placed with lsf: ReFrame asks LSF for a number"),
        ("lsf", "mpirun", False, "no ranks can be placed with lsf"),
        ("sge", "mpirun", False, "ReFrame asks SGE for a slot"),
        ("oar", "mpirun", True, "ReFrame asks OAR for cores of some hosts"),
        ("ours", "mpirun", True, 'ours, which nothing here knows; write another "scheduler"'),
        ("ours", "mpirun", False, ""),
        ("flux", "mpirun", True, "by mpirun in a job of Flux"),
        ("squeue", "flux", True, "the launcher flux starts nothing in a job of squeue; write that"),
        *((name, "mpirun", True, "") for name in ("pbs", "pbspro", "torque", "slurm", "local")),
        ("flux", "flux", True, ""),
        ("ssh", "mpirun", True, ""),
    ],
)
def test_what_places_no_ranks_is_refused(scheduler, launcher, verified, words):
    told = refusal(scheduler, launcher, verified)
    assert words in told if words else told == ""
    extras = {"verify_placement": verified}
    if words:
        with pytest.raises(ExtrasFault, match=r"site.py: mine:batch.*no ranks|site.py.*launcher"):
            stated_of(extras, scheduler, "site.py: mine:batch", launcher=launcher)
    else:
        stated_of(extras, scheduler, "site.py: mine:batch", launcher=launcher)


def test_clusters_of_reframe_are_options_of_the_partition():
    part = {"access": ["-p", "main"], "sched_options": {"slurm_multi_cluster_mode": ["two"]}}
    assert access_of(part) == ["-p", "main", "--clusters=two"]
    assert access_of({}) == []
    assert schedulers.lists_nodes({"partitions": [{"scheduler": "flux"}, {"scheduler": "local"}]})


@pytest.mark.parametrize(
    ("why", "kind"),
    [("walltime 66 exceeded limit 60", "time-limit"), ("mem 9kb exceeded limit 8kb", "job-ended")],
)
def test_a_job_that_pbs_has_ended_is_told(why, kind):
    found = slurm.cut_short(f"some words\n=>> PBS: job killed: {why}\n")
    assert (found.kind, found.text) == (kind, f"PBS says: job killed: {why}")
    assert slurm.cut_short("PBS: job killed: by me") is None

"""The size of a partition's nodes: as Slurm, the configuration and made sysfs trees say it."""

import os

import pytest

from acceptance.core.extras import ExtrasFault, PartitionExtras
from acceptance.machine import Size, partition_size, size_of, slurm, stated_of
from acceptance.machine.partition_size import process_counts, usable_cores

NODE = (
    "NodeName={name} Arch=x86_64 CoresPerSocket=2 CPUEfctv={cpus} CPUTot=4 NodeAddr={name} "
    "RealMemory={memory} Sockets=2 State={state} ThreadsPerCore=1 Partitions=batch"
)
EVERY = PartitionExtras.read({"nodes": "all"})
NOTHING = PartitionExtras()
PROCESSOR = {"num_cpus": 16, "num_cpus_per_core": 2}


@pytest.fixture
def scontrol(monkeypatch):
    """Answer as scontrol does of six nodes, the last one smaller; return how often it is asked.

    Also returned are the largest job, and the states of nodes that are not idle.
    """
    asked, states = [], {}

    def show(what, *_):
        asked.append(what)
        if what == "partition":
            return f"PartitionName=batch Default=YES State=UP MaxNodes={most[0]}"
        nodes = [(4, 1000)] * 5 + [(2, 900)]
        return "\n".join(
            NODE.format(name=f"node{n}", cpus=c, memory=m, state=states.get(n, "IDLE"))
            for n, (c, m) in enumerate(nodes)
        )

    most = ["UNLIMITED"]
    partition_size._of_scheduler.cache_clear()
    monkeypatch.setattr(slurm, "show", show)
    yield asked, most, states
    partition_size._of_scheduler.cache_clear()


def test_slurm_is_asked_once_for_what_nobody_states(scontrol):
    asked, *_ = scontrol
    assert size_of(NOTHING, "squeue") == Size(4, 2, 900 * 2**20)
    assert size_of(PartitionExtras(cores=4), "squeue") == Size(4, 4, 900 * 2**20)
    assert asked.count("node") == 1


def test_no_job_is_larger_than_a_partition_of_slurm_allows(scontrol):
    scontrol[1][0] = "3"
    assert size_of(NOTHING, "slurm", ["--partition=batch"]).nodes == 3


def test_all_nodes_are_those_that_are_up_and_the_others_are_told(scontrol):
    memory = 900 * 2**20
    assert size_of(EVERY, "squeue") == Size(6, 2, memory, there=6)
    partition_size._of_scheduler.cache_clear()
    scontrol[2].update({5: "IDLE+DRAIN", 1: "ALLOCATED"})
    told = "5 of 6 nodes are up; not: node5 is drained"
    assert size_of(EVERY, "slurm", [], PROCESSOR) == Size(5, 8, 1000 * 2**20, there=6, told=told)
    # Of any other partition a job may come to stand on nodes that are down now.
    assert size_of(NOTHING, "slurm") == Size(4, 2, memory)


def test_no_job_takes_more_nodes_than_are_up_whatever_is_stated(scontrol):
    scontrol[2].update({5: "IDLE+DRAIN", 1: "DOWN", 2: "DOWN"})
    told = "3 of 6 nodes are up; not: node1 is down, node2 is down, node5 is drained"
    size = size_of(PartitionExtras(nodes=4), "squeue", [], PROCESSOR)
    assert (size.nodes, size.cores, size.there, size.told) == (3, 8, 4, told)
    assert size_of(NOTHING, "squeue").told == told
    size = size_of(PartitionExtras(nodes=3), "squeue", [], PROCESSOR)
    assert (size.nodes, size.there, size.told) == (3, 0, "")


def test_a_partition_that_states_more_nodes_than_slurm_has_says_so(scontrol):
    size = size_of(PartitionExtras(nodes=8), "slurm", [], PROCESSOR)
    assert (size.nodes, size.told) == (6, "it states 8 nodes, and Slurm has 6")


def test_all_nodes_are_no_more_than_a_job_may_have(scontrol):
    scontrol[1][0] = "3"
    size = size_of(EVERY, "slurm")
    assert (size.nodes, size.told) == (3, "a job may have 3 of 6 nodes (MaxNodes)")


def test_of_a_partition_without_a_node_that_is_up_nobody_knows_the_size(scontrol):
    scontrol[2].update(dict.fromkeys(range(6), "DOWN"))
    for stated in (EVERY, PartitionExtras(nodes=4)):
        size = size_of(stated, "slurm", [], PROCESSOR)
        assert size.unknown.startswith("none of its 6 nodes is up: node0 is down, ")
        assert size.told == size.unknown, "what is told at load, for who judges the run later"


def test_only_who_lists_nodes_can_be_asked_for_all():
    assert size_of(stated_of({"nodes": "all", "cores": 2}, "local"), "local").nodes == 1
    site = {"verify_placement": False}
    assert stated_of({"nodes": 4, **site}, "ours").nodes == 4
    with pytest.raises(ExtrasFault) as fault:
        stated_of({"nodes": "all", **site}, "ours", "made.py: made:batch")
    assert str(fault.value).startswith("made.py: made:batch: nodes is 'all', and nothing here can ")


@pytest.fixture
def silent(monkeypatch):
    """Let no controller answer."""

    def show(*_):
        raise slurm.SchedulerFault("no controller")

    monkeypatch.setattr(slurm, "show", show)
    partition_size._of_scheduler.cache_clear()
    yield
    partition_size._of_scheduler.cache_clear()


def test_of_a_slurm_that_does_not_answer_what_is_known_counts(silent):
    assert size_of(PartitionExtras(nodes=8), "slurm", [], PROCESSOR) == Size(8, 8)
    assert size_of(NOTHING, "slurm", [], PROCESSOR) == Size(1, 0, unknown="no controller")


def test_jobs_on_this_machine_take_the_cores_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(partition_size, "usable_cores", lambda: 4)
    monkeypatch.setattr(partition_size, "usable_memory", lambda: 2**30)
    assert size_of(NOTHING, "local") == Size(1, 4, 2**30)
    assert size_of(NOTHING, "local", [], PROCESSOR) == Size(1, 4, 2**30)
    assert size_of(PartitionExtras(cores=6, memory=5), "local") == Size(1, 6, 5)


def test_of_another_scheduler_the_processor_is_known_or_nothing():
    assert size_of(NOTHING, "ours", [], PROCESSOR) == Size(1, 8)
    assert "scheduler ours" in size_of(NOTHING, "ours").unknown


@pytest.fixture
def sysfs(tmp_path):
    """Write a tree from (package, core) of CPU 0, 1, ..., what of them shares a core, `cpu.max`."""

    def write(*cpus, quota=None, threads=()):
        alike = [",".join(str(n) for n, cpu in enumerate(cpus) if cpu == each) for each in cpus]
        for number, siblings in enumerate(threads or alike):
            topology = tmp_path / f"devices/system/cpu/cpu{number}/topology"
            topology.mkdir(parents=True)
            (topology / "thread_siblings_list").write_text(f"{siblings}\n")
        if quota is not None:
            (tmp_path / "fs/cgroup").mkdir(parents=True)
            (tmp_path / "fs/cgroup/cpu.max").write_text(quota)
        return tmp_path

    return write


def test_hardware_threads_of_one_core_count_once(sysfs):
    tree = sysfs((0, 0), (0, 1), (0, 0), (0, 1))
    assert usable_cores(tree, {0, 1, 2, 3}) == 2


def test_cores_of_two_dies_of_a_package_are_told_apart(sysfs):
    # Linux counts the cores of each die from 0, here on two dies of two cores with two threads.
    dies = [(0, 0), (0, 1), (0, 0), (0, 1)] * 2
    tree = sysfs(*dies, threads=["0,4", "1,5", "2,6", "3,7"] * 2)
    assert usable_cores(tree, set(range(8))) == 4
    assert usable_cores(tree, {0, 2, 4}) == 2


def test_cores_of_two_packages_are_told_apart(sysfs):
    tree = sysfs((0, 0), (0, 1), (1, 0), (1, 1))
    assert usable_cores(tree, {0, 1, 2, 3}) == 4


@pytest.mark.parametrize(("mask", "cores"), [({0}, 1), ({0, 1}, 1), ({0, 2}, 2), ({1, 2, 3}, 2)])
def test_only_cpus_of_the_mask_count(sysfs, mask, cores):
    assert usable_cores(sysfs((0, 0), (0, 0), (0, 1), (0, 1)), mask) == cores


FOUR = [(0, core) for core in range(4)]


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("200000 100000\n", 2),
        ("290000 100000\n", 2),
        ("50000 100000\n", 1),
        ("800000 100000\n", 4),
        ("max 100000\n", 4),
    ],
    ids=["two", "almost three", "half", "more than there are", "unlimited"],
)
def test_the_quota_of_the_control_group_bounds_the_cores(sysfs, quota, cores):
    assert usable_cores(sysfs(*FOUR, quota=quota), {0, 1, 2, 3}) == cores


@pytest.mark.parametrize("quota", ["", "200000\n", "many few\n"])
def test_a_quota_that_cannot_be_read_bounds_nothing(sysfs, quota):
    assert usable_cores(sysfs(*FOUR, quota=quota), {0, 1, 2, 3}) == 4


def test_cpus_without_topology_count_as_cores(tmp_path):
    assert usable_cores(tmp_path, {0, 3, 5}) == 3


def test_a_cpu_whose_files_cannot_be_read_counts_as_a_core(sysfs):
    tree = sysfs((0, 0), (0, 0), (0, 1))
    unreadable = tree / "devices/system/cpu/cpu2/topology/thread_siblings_list"
    unreadable.unlink()
    unreadable.mkdir()  # permissions do not stop root, a folder in place of a file does
    assert usable_cores(tree, {0, 1, 2}) == 2


def test_there_is_always_one_core(tmp_path):
    assert usable_cores(tmp_path, set()) == 1


def test_this_machine_has_no_more_cores_than_this_process_has_cpus():
    assert 1 <= usable_cores() <= len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("largest", "counts"),
    [
        (1, []),
        (2, [2]),
        (3, [2, 3]),
        (4, [2, 4]),
        (6, [2, 4, 6]),
        (8, [2, 4, 8]),
        (64, [2, 4, 8, 16, 32, 64]),
        (96, [2, 4, 8, 16, 32, 64, 96]),
    ],
)
def test_process_counts_double_up_to_the_largest(largest, counts):
    assert process_counts(largest) == counts

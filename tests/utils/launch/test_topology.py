"""`launch/topology.py` on made sysfs trees."""

import os

import pytest

from acceptance.launch.topology import process_counts, usable_cores


@pytest.fixture
def sysfs(tmp_path):
    """Write a tree from (package, core) of CPU 0, 1, ..., what of them shares a core, `cpu.max`."""

    def write(*cpus, quota=None, threads=()):
        for number, (package, core) in enumerate(cpus):
            topology = tmp_path / f"devices/system/cpu/cpu{number}/topology"
            topology.mkdir(parents=True)
            (topology / "physical_package_id").write_text(f"{package}\n")
            (topology / "core_id").write_text(f"{core}\n")
        for number, siblings in enumerate(threads):
            topology = tmp_path / f"devices/system/cpu/cpu{number}/topology"
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
    unreadable = tree / "devices/system/cpu/cpu2/topology/core_id"
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

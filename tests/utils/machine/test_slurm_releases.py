"""What each release of Slurm prints is read alike: from the recorded 22.05, with what it changed.

Sources: `src/api/node_info.c`, `src/api/partition_info.c` and `src/slurmd/slurmstepd/req.c` of each
release of Slurm; that which is installed is tried by tests/cluster.
"""

import re

import pytest

from acceptance.core.findings import Finding
from acceptance.machine import last_words, slurm

#: Release -> what it changed of the records of nodes and partitions: pattern -> what stands there
#: instead. `\Z` is the end of a record.
NODES = {
    "22.05": {},
    "23.02": {r"(LastBusyTime=\S+)": r"\1 ResumeAfterTime=None", r"\Z": " ReservationName=big"},
    "23.11": {r"\Z": " InstanceId=i-07 InstanceType=hpc7.large"},
    "24.05": {
        r"CapWatts=\S+ ": "",
        r" ExtSensors\w+=\S+": "",
        r"(State=)": r"RestrictedCoresPerGPU=2(gpu:a100:0-1) \1",
    },
    "24.11": {},
    "25.05": {
        r"\Z": " TLSCertTokenSet=Yes TLSCertLastRenewal=2026-11-21T16:07:16 Topology=tree:s1:leaf1"
    },
    "25.11": {r"\Z": " Parameters=state=tuned"},
    "26.05": {r"(ResumeAfterTime=\S+)": r"\1 SuspendTime=INFINITE"},
}
PARTITIONS = {
    "23.02": {
        r"(MaxCPUsPerNode=\S+)": r"\1 MaxCPUsPerSocket=UNLIMITED",
        r"\Z": " PowerDownOnIdle=NO",
    },
    "24.05": {r"(ExclusiveUser=\S+)": r"\1 ExclusiveTopo=NO"},
    "25.05": {r"(PreemptMode=\S+)": r"\1 Topology=tree"},
    "26.05": {r"ExclusiveUser=\S+ ExclusiveTopo=\S+": "Exclusive=NO"},
}  # fmt: skip
RELEASES = [*NODES]
each_release = pytest.mark.parametrize("release", RELEASES)
AT = "CANCELLED AT 2026-11-21T15:48:26"


def printed(text, changed, release):
    """Return recorded records as a later release prints them."""
    lines = text.replace("Version=22.05.8", f"Version={release}.3").splitlines()
    for step in RELEASES[: RELEASES.index(release) + 1]:
        for pattern, instead in changed.get(step, {}).items():
            changes = [re.subn(pattern, instead, line.rstrip()) for line in lines]
            assert all(count for _, count in changes), (step, pattern)
            lines = [line for line, _ in changes]
    return "\n".join(lines) + "\n"


@pytest.fixture
def says(monkeypatch):
    return lambda text: monkeypatch.setattr(slurm, "show", lambda *what: text)


@each_release
def test_nodes_are_read_alike_whatever_else_stands_there(release, says, recorded):
    text = recorded("slurm/nodes-22.05.txt")
    says(text)
    known = slurm.all_nodes()
    assert len(known) == 4
    says(printed(text, NODES, release))
    assert slurm.all_nodes() == known


@each_release
def test_partitions_are_read_alike_whatever_else_stands_there(release, says, recorded):
    text = recorded("slurm/partitions-22.05.txt")
    says(text)
    known = slurm.all_partitions()
    says(printed(text, PARTITIONS, release))
    assert slurm.all_partitions() == known
    assert [one.name for one in known] == ["main"]


def cancelled(release, what, *, by_task=False):
    """Return how slurmstepd says that a job or a step was cancelled, or failed for one task."""
    reason = ""
    if RELEASES.index(release) >= RELEASES.index("25.05"):
        reason = " DUE TO TASK FAILURE" if by_task else " DUE to SIGNAL Terminated"
    return f"slurmstepd: error: *** {what} ON node1 {AT}{reason} ***\n"


@each_release
def test_a_rank_that_crashed_has_the_last_word_not_the_end_of_its_step(release):
    crash = "srun: error: node2: task 1: Segmentation fault\n"
    errors = f"cannot open file\n{crash}{cancelled(release, 'STEP 3.0', by_task=True)}"
    assert slurm.cut_short(errors) is None
    assert last_words(errors) == f"cannot open file; {crash.strip()}"


@each_release
def test_a_job_that_somebody_cancelled_is_told(release):
    found = slurm.cut_short(cancelled(release, "STEP 7.0") + cancelled(release, "JOB 7"))
    assert found.kind == "job-ended"
    assert found.text.startswith("the job 7 on node1 was CANCELLED")


@each_release
def test_a_time_limit_is_told(release):
    errors = (
        cancelled(release, "STEP 7.0")
        + f"slurmstepd: error: *** JOB 7 ON n1 {AT} DUE TO TIME LIMIT ***"
    )
    assert slurm.cut_short(errors) == Finding(
        "time-limit",
        "the job 7 on n1 was CANCELLED DUE TO TIME LIMIT (a check's limit: -S time_limit=30m)",
    )


def test_a_node_without_a_slurmd_takes_no_job(says, recorded):
    """Such nodes are there from 25.05 on."""
    line = recorded("slurm/nodes-22.05.txt").splitlines()[0]
    says(line.replace("State=IDLE", "State=IDLE+EXTERNAL"))
    (node,) = slurm.all_nodes()
    assert not node.up

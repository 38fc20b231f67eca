"""Cases inside a node through real ReFrame, judged by what a made node does without MPI."""

import json
import os

import pytest

from acceptance.verdict.cases import of_case
from tests import stored as results
from tests.recorded import REPLAYED

PINGPONG = "imb/IMB-MPI1_PingPong.impi.txt"

#: Two ranks on a core each; the kernel's files are made, too.
MPIEXEC = """\
#!/bin/sh
while [ "$1" != sh ]; do
    shift
done
export PROC={folder}/proc SYSFS={folder}/sys
for rank in 1 0; do
    PMI_RANK=$rank MPI_LOCALRANKID=$rank STATUS={folder}/status.$rank "$@" || exit
done
"""
#: The first rank prints what was recorded; meanwhile ten seconds pass.
PROGRAM = """\
#!/bin/sh
[ "$PMI_RANK" = 0 ] || exit 0
{replayed} {folder}/output.txt
echo '110.00 1.0' > {folder}/proc/uptime
echo 'some avg10=0.00 avg60=0.00 avg300=0.00 total={waited}' > {folder}/proc/pressure/cpu
"""
COPIES = {"65536": [30000, 40000, 41000], "16777216": [2000, 2500, 3000]}
NODE = {
    "node": os.uname().nodename, "time": 1.0, "cores": 2, "alone": COPIES, "together": COPIES,
    "core": [0.2, 0.2, 0.2], "tcp": [5.0, 5.0, 6.0], "shm": [2**30, 2**30], "refused": "",
}  # fmt: skip


@pytest.fixture
def run(site, recorded):
    """Return what runs PingPong, small messages with a time (us): ReFrame, case and gate."""

    def run_once(
        time=None,
        *,
        largest=1024,
        waited=0,
        node=NODE,
        python="cat {folder}/node.json",
        ends="",
    ):
        folder = site.folder
        lines = recorded(PINGPONG).splitlines()
        for number, line in enumerate(lines):
            words = line.split()
            if time and len(words) == 4 and words[0].isdecimal() and int(words[0]) <= largest:
                rate = f"{int(words[0]) / time:12.2f}"
                lines[number] = f"{words[0]:>13} {words[1]:>12} {time:12.2f} {rate}"
        site.replay("\n".join(lines) + "\n")
        (folder / "node.json").write_text(json.dumps(node))
        for rank in (0, 1):
            (folder / f"status.{rank}").write_text(f"Cpus_allowed_list:\t{rank}\n")
        (folder / "proc/pressure").mkdir(parents=True)
        made = {
            "uptime": "100.00 1.0", "pressure/cpu": "some avg10=0.00 total=0",
            "stat": "cpu  1 2 3 4 5 6 7 0 0 0",
        }  # fmt: skip
        for name, text in made.items():
            (folder / "proc" / name).write_text(f"{text}\n")
        program = PROGRAM.replace("{waited}", str(waited)).replace("{replayed}", REPLAYED) + ends
        tools = {
            "mpiexec": MPIEXEC, "IMB-MPI1": program,
            "python3": f"#!/bin/sh\n{python}\n",
        }  # fmt: skip
        for name, text in tools.items():
            path = folder / "bin" / name
            path.write_text(text.replace("{folder}", str(folder)))
            path.chmod(0o755)
        config = folder / "site.py"
        config.write_text(
            config.read_text()
            .replace('"launcher": "local"', '"launcher": "mpiexec"')
            .replace('"verify_placement": False', '"verify_placement": True')
            .replace('"extras": {"suites"', f'"env_vars": [["PATH", "{folder}/bin:$PATH"]], '
                     '"extras": {"mpi": "mpich", "suites"')
        )  # fmt: skip
        done = site.reframe("-c", "checks/imb.py", "-r", "-n", "PingPong%np=2%placement=intra-node")
        (case,) = results.session(site.database).cases
        return done, case, site.gate()

    return run_once


def judged(case):
    return {metric.name for metric in case.metrics if metric.judged_by.startswith("machine itself")}


SMALL = {f"latency_{size}" for size in (0, *(2**n for n in range(11)))}
LARGE = {f"bandwidth_{2**n}" for n in range(16, 23)}


def test_a_healthy_mpi_is_judged_by_its_node(run):
    done, case, (status, verdict) = run()
    assert (done.status, status) == (0, 0), done.output
    assert judged(case) == SMALL | LARGE
    assert verdict["judged"] == {"machine itself": 19}
    assert verdict["recorded"] == 48 - 19
    assert "machine" not in case.provenance
    (one,) = (each for each in case.metrics if each.name == "latency_8")
    assert one.reference == 2.5
    assert f"half of one way over loopback TCP, 5 us, on {NODE['node']} at" in one.judged_by


def test_an_mpi_that_went_over_tcp_fails_and_the_cause_is_named(run):
    done, case, (status, verdict) = run(time=5.5)
    assert (done.status, status) == (1, 1)
    assert "12 times from 5.5 us on, where one way over loopback TCP takes 5 us" in case.fail_reason
    (problem,) = (each for each in verdict["problems"] if each["kind"] == "case-failed")
    assert "messages go through the network inside a node" in problem["text"]
    found = of_case(case)
    assert {each.kind for each in found} == {"below-machine", "slow-inside"}
    assert all("I_MPI_FABRICS" in each.rated.remedy for each in found)


def test_what_a_busy_machine_may_explain_is_recorded_and_said(run):
    done, case, (status, verdict) = run(time=5.5, waited=4_000_000)
    assert (done.status, status) == (0, 0), done.output
    assert judged(case) == LARGE
    told = case.provenance["machine"]
    assert told.startswith("not judged: 12 metrics in us, processes waited for a CPU 4 of 10 s")
    assert any("machine itself could not judge" in note for note in verdict["notes"])


def test_one_short_stop_fails_nothing_where_no_kernel_tells_of_it(run):
    done, case, (status, _) = run(time=5.5, largest=0)
    assert (done.status, status) == (0, 0), done.output
    assert judged(case) == (SMALL | LARGE) - {"latency_0"}
    told = "not judged: 1 metric in us, the only one of 12: one short stop of the node"
    assert case.provenance["machine"].startswith(told)


def test_a_small_shared_memory_and_a_refused_copy_are_named(run):
    node = {**NODE, "shm": [2**16, 2**16], "refused": "Operation not permitted"}
    _, case, _ = run(time=5.5, node=node)
    assert f"/dev/shm has 64 KiB free of 64 KiB on {NODE['node']}" in case.fail_reason
    assert "process_vm_readv: Operation not permitted" in case.fail_reason


def test_a_node_that_cannot_be_measured_fails_nothing_and_says_why(run):
    done, case, (status, verdict) = run(
        time=5.5, python="printf 'Traceback:\\n  main()\\nno such module\\n' >&2; exit 1"
    )
    assert (done.status, status) == (0, 0), done.output
    assert judged(case) == set()
    assert case.provenance["machine"] == "not judged: no such module"
    assert any("could not be measured without MPI" in note for note in verdict["notes"])


def test_another_node_than_that_of_the_ranks_judges_nothing(run):
    done, case, (status, _) = run(time=5.5, node={**NODE, "node": "front1"})
    assert (done.status, status) == (0, 0), done.output
    assert judged(case) == set()
    told = f"the job's script ran on front1, its ranks on {NODE['node']}"
    assert told in case.provenance["machine"]


def test_a_program_that_the_small_shared_memory_ended_is_told_with_it(run):
    _, case, (status, _) = run(time=5.5, node={**NODE, "shm": [2**16, 2**16]}, ends="exit 7")
    assert status == 1
    assert "exited with status 7" in case.fail_reason
    assert f"/dev/shm has 64 KiB free of 64 KiB on {NODE['node']}" in case.fail_reason

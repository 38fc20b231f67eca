"""Cases whose buffers are on GPUs, through real ReFrame.

No GPU was there: outputs are those of OMB 7.4, built with CUDA, and of IMB-MPI1-GPU 2021.11, over
libraries that stand in for its driver and give memory of the host, so that only the numbers are not
those of GPUs. What they say without CUDA or a driver is as it was.
"""

import re

import pytest

from tests.checks.test_osu import arguments, configure, replay
from tests.conftest import only_case, only_problem

FACTS = (
    '"cores": 2, "fabric": {"technology": "ethernet", "rate": "100", "gpus": 2, '
    '"gpu_kind": "cuda", "gpu_pcie": "4.0", "gpu_pcie_lanes": 16, "nvlink": 100}'
)
BANDWIDTH = """
# OSU MPI-CUDA Bandwidth Test v7.4
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
8                      63.16
16                     91.11
"""
PINGPONG = """\
#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part (GPU)
#----------------------------------------------------------------
# Date                  : Thu Nov 26 04:12:41 2026
# MPI Version           : 4.1

# Calling sequence was:

# IMB-MPI1-GPU PingPong -iter 5 -npmin 2 -msglog 0:3 -mem_alloc_type device

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0            5         0.82         0.00
            1            5         0.80         1.24
            2            5         1.33         1.51
            4            5        54.68         0.07
            8            5         0.78        10.29


# All processes entering MPI_Finalize

"""
#: OMB without CUDA.
USAGE = 'echo "Usage: osu_bw [options]"; echo "Invalid option [-d]" >&2; exit 1'
#: OMB with CUDA and without a GPU.
NO_DEVICE = (
    "echo \"[util/osu_util_mpi.c:3004] CUDA call 'cudaGetDeviceCount(&dev_count)' failed with 100: "
    'no CUDA-capable device is detected " >&2; exit 1'
)


@pytest.fixture
def gpus(site):
    """Make a site whose nodes have two GPUs, and whose osu_bw prints an output."""

    def make(output=BANDWIDTH, program="osu_bw", *replacements):
        script = replay(site, output, program)
        configure(site, ('"cores": 2', FACTS), *replacements)
        return script

    return make


def run(site, gpu="DD", benchmark="bw"):
    name = f"%benchmark={benchmark}%.*%placement=intra-node%.*%gpu={gpu}"
    options = ("-S", "sizes=8:16", "-S", "iterations=5", "--mode=acceptance")
    done = site.reframe("-c", "checks/osu.py", "-r", "-n", name, *options)
    return done, site.gate()


@pytest.mark.parametrize("gpu", ["DD", "HD", "DH", "HH"])
def test_the_buffers_of_a_pair_are_where_the_case_says(site, gpus, gpu):
    gpus()
    done, (status, _) = run(site, gpu)
    assert (done.status, status) == (0, 0), done.output
    case, values = only_case(site)
    assert values == {"bandwidth_8": (63.16, "MB/s"), "bandwidth_16": (91.11, "MB/s")}
    assert case.keys["gpu"] == f"cuda-{gpu}"
    assert case.provenance["gpus"] == "2 x cuda, PCIe 4.0 x16, NVLink 100 GB/s"
    places = f"{gpu[0]} {gpu[1]}"
    assert arguments(site) == [
        f"-m 8:16 -d cuda -c -i 10 -x 1 -u 0 {places}",
        f"-m 8:16 -d cuda -i 5 -x 1 {places}",
    ]


def test_all_buffers_of_a_collective_are_on_gpus(site, gpus):
    output = BANDWIDTH.replace("Bandwidth Test", "Broadcast Latency Test")
    gpus(output.replace("      Bandwidth (MB/s)", "       Avg Latency(us)"), "osu_bcast")
    done, (status, _) = run(site, benchmark="bcast")
    assert (done.status, status) == (0, 0), done.output
    assert arguments(site)[1] == "-m 8:16 -d cuda -i 5 -x 1"


def test_only_where_gpus_are_stated_there_are_such_cases(site, gpus):
    gpus()
    options = ("-c", "checks/osu.py", "-l", "--mode=acceptance")
    listed = site.reframe(*options).output
    cases = set(re.findall(r"benchmark=bw .*%gpu=(\S+)", listed))
    assert cases == {"DD", "HD", "DH", "HH"}
    nightly = site.reframe(*options[:-1]).output
    assert set(re.findall(r"%gpu=(\S+)", nightly)) == {"DD"}
    configure(site, ('"gpus": 2', '"gpus": 1'))
    fewer = site.reframe(*options).output
    assert set(re.findall(r"benchmark=bw .*%placement=(\S+) .*%gpu=DD", fewer)) == {"inter-node"}
    configure(site, (FACTS.replace('"gpus": 2', '"gpus": 1'), '"cores": 2'))
    none = site.reframe(*options).output
    assert "gpu=" not in none
    assert "%benchmark=bw" in none


def test_an_environment_that_is_not_for_gpus_has_no_such_case_and_that_is_said(site, gpus):
    gpus(BANDWIDTH, "osu_bw", ("['osu']", "['osu', 'no-gpu']"))
    listed = site.reframe("-c", "checks/osu.py", "-l").output
    assert "gpu=" not in listed
    told = (
        r"no case of osu.py uses its 2 x cuda, PCIe 4.0 x16, NVLink 100 GB/s: \S+ cannot \(no-gpu"
    )
    assert re.search(told, listed)
    configure(site, ("['osu', 'no-gpu']", "['osu']"), ('"gpus": 2', '"gpus": 1'))
    listed = site.reframe("-c", "checks/osu.py", "-l").output
    assert "uses its" not in listed


def test_an_environment_is_for_gpus_where_they_are(site, gpus):
    gpus()
    cpu = '{"name": "cpu", "scheduler": "local", "launcher": "local", "environs": ["recorded"], '
    cpu += '"extras": {"nodes": 2, "cores": 2, "verify_placement": False}}'
    configure(site, ('"partitions": [', f'"partitions": [{cpu}, '))
    without = '{"name": "recorded", "features": ["no-gpu"], "target_systems": ["replay:cpu"]}'
    configure(site, ('"environments": [', f'"environments": [{without}, '))
    listed = site.reframe("-c", "checks/osu.py", "-lC").output
    assert re.search(r"gpu=DD /\w+ @replay:default\+recorded", listed)
    assert "uses its" not in listed


def test_a_simulated_partition_has_no_case_of_gpus(site, gpus):
    gpus()
    simulated = ('"cores": 2', '"cores": 2, "simulated": {"of": "koop2008"}')
    configure(site, simulated, ('"name": "replay"', '"name": "simulated-replay"'))
    configure(site, ('["replay"]', '["simulated-replay"]'))
    listed = site.reframe("-c", "checks/osu.py", "-l").output
    assert "%benchmark=bw" in listed
    assert "gpu=" not in listed


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("OSU MPI Bandwidth Test", "not the title of buffers of cuda-DD"),
        ("OSU MPI-ROCM Bandwidth Test", "not the title of buffers of cuda-DD"),
    ],
)
def test_an_output_of_other_buffers_is_refused(site, gpus, title, said):
    gpus(BANDWIDTH.replace("OSU MPI-CUDA Bandwidth Test", title))
    _, (status, verdict) = run(site)
    assert status == 1
    assert said in only_problem(verdict)


@pytest.mark.parametrize(
    ("says", "why"),
    [
        (USAGE, "a node states 2 GPUs, the program has no CUDA: build it with that (packages.yaml"),
        (NO_DEVICE, "a node states 2 GPUs, the job cannot use them: see whether it gets any"),
        ("kill -SEGV $$", "a node states 2 GPUs, its MPI may take no messages from them: Open MPI"),
    ],
)
def test_what_cannot_use_gpus_fails_with_cause_and_remedy(site, gpus, says, why):
    gpus().write_text(f"#!/bin/sh\n{says}\n")
    _, (status, verdict) = run(site)
    assert status == 1
    problem = only_problem(verdict)
    assert why in problem
    assert 'or give the environment the feature "no-gpu"' in problem


def test_more_than_slot_or_nvlink_carry_is_no_result(site, gpus):
    gpus(BANDWIDTH.replace("   91.11", "99111.00"))
    assert run(site)[1][0] == 0, "NVLink carries 100000"
    _, (status, verdict) = run(site, "HD")
    assert status == 1
    assert (
        "bandwidth_16 is 99111 MB/s, 2 x cuda, PCIe 4.0 x16, NVLink 100 GB/s carries at most 30323"
        in only_problem(verdict)
    )


def run_imb(site, *options):
    options = ("-S", "msglog=0:3", "-S", "repetitions=5", *options)
    done = site.reframe("-c", "checks/imb.py", "-r", "-n", "%benchmark=gpu.PingPong", *options)
    return done, site.gate()


@pytest.fixture
def imb_gpus(site):
    """Make a site of nodes with two GPUs, whose IMB-MPI1-GPU prints an output."""

    def make(output, *replacements):
        script = site.replay(output, "IMB-MPI1-GPU")
        site.replay(output, "IMB-MPI1")
        configure(site, ('"cores": 2', FACTS), *replacements)
        return script

    return make


def test_imb_takes_all_buffers_from_gpus(site, imb_gpus):
    script = imb_gpus(PINGPONG)
    script.write_text(f'{script.read_text()}echo "$*" > {site.folder}/arguments.txt\n')
    done, (status, _) = run_imb(site)
    assert (done.status, status) == (0, 0), done.output
    case, values = only_case(site)
    assert (values["latency_0"], values["bandwidth_8"]) == ((0.82, "us"), (10.29, "MB/s"))
    assert (case.benchmark, case.keys["gpu"]) == ("imb.gpu.PingPong", "cuda-DD")
    assert arguments(site) == ["PingPong -iter 5 -npmin 2 -msglog 0:3 -mem_alloc_type device"]


def test_imb_without_a_gpu_is_no_result(site, imb_gpus):
    script = imb_gpus(PINGPONG.replace(" (GPU)", ""))
    _, (status, verdict) = run_imb(site)
    assert status == 1
    assert "the output is that of IMB-MPI1, not of IMB-MPI1-GPU" in only_problem(verdict)
    why = "Neither CUDA nor Level Zero is available!"
    script.write_text(f'#!/bin/sh\necho "{why} " >&2; exit 255\n')
    _, (status, verdict) = run_imb(site)
    assert status == 1
    assert "a node states 2 GPUs, the program finds no libcudart.so" in only_problem(verdict)


def test_imb_has_cases_of_gpus_with_cuda_alone(site, imb_gpus):
    imb_gpus(PINGPONG, ('"gpu_kind": "cuda"', '"gpu_kind": "rocm"'))
    options = ("-c", "checks/imb.py", "-l", "-S", "mode=acceptance")
    listed = site.reframe(*options).output
    assert "=gpu." not in listed
    assert "no case of imb.py uses its 2 x rocm, PCIe 4.0 x16, NVLink 100 GB/s: it" in listed
    configure(site, ('"gpu_kind": "rocm"', '"gpu_kind": "cuda"'))
    listed = site.reframe(*options).output
    assert "=gpu.Alltoall" in listed
    assert "uses its" not in listed
    configure(site, (FACTS, '"cores": 2'))
    assert "=gpu." not in site.reframe(*options).output

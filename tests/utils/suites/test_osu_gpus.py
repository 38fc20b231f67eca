"""`suites/osu.py` on outputs of programs whose buffers are on GPUs.

They are of OMB 7.4 built with CUDA or ROCm, over libraries that stand in for a driver: there was no
GPU, and the numbers are those of the host.
"""

import pytest

from acceptance.core.errors import ParseError
from acceptance.suites import osu

PUT = """\
# OSU MPI_Put-CUDA Bandwidth Test v7.4
# Window creation: MPI_Win_create
# Synchronization: MPI_Win_flush
# Datatype: MPI_CHAR.
# Rank 0 Memory on DEVICE (D) and Rank 1 Memory on HOST (H)
# Size      Bandwidth (MB/s)
8                       4.69
16                     10.33
"""
LATENCY = """
# OSU MPI-ROCM Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)  P50 Tail Lat(us)  P90 Tail Lat(us)  P99 Tail Lat(us)
8                       0.86              0.79              0.91              0.91
16                      0.85              0.83              0.85              0.85
"""
MBW_MR = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v7.4
# [ pairs: 1 ] [ window size: 64 ]
# Datatype: MPI_CHAR.
# Size                  MB/s        Messages/s
8                      52.84        6604610.84
16                     89.00        5562798.78
"""
IBCAST = """
# OSU MPI-CUDA Non-Blocking Broadcast Latency Test v7.4
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Datatype: MPI_CHAR.
# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
8                       5.39              2.97              2.29              0.00
16                      1.66              1.06              0.61              1.01
"""


@pytest.mark.parametrize(
    ("text", "program", "gpu"),
    [
        (PUT, "put_bw", "cuda-DH"),
        (LATENCY, "latency", "rocm-DD"),
        (IBCAST, "ibcast", "cuda-DD"),
        # These titles do not tell.
        (MBW_MR, "mbw_mr", "cuda-DD"),
        (MBW_MR, "mbw_mr", ""),
    ],
)
def test_outputs_of_gpus_are_read_as_others(text, program, gpu):
    output = osu.parse(text, "out", 2, program, gpu)
    table = output.only_table(program, 2)
    assert (output.version, [row.size for row in table.rows]) == ("7.4", [8, 16])


@pytest.mark.parametrize(
    ("text", "gpu", "said"),
    [
        (PUT, "cuda-DD", "out:5: put_bw: buffers of DH, not of cuda-DD"),
        (PUT, "rocm-DH", "out:1: not the title of buffers of rocm-DH"),
        (PUT, "", "out:1: not the title of buffers of the host"),
        (PUT.replace("-CUDA", ""), "", "out:5: put_bw: buffers of DH, not of the host"),
        (PUT.replace("-CUDA", ""), "cuda-DH", "out:1: not the title of buffers of cuda-DH"),
        (PUT.replace("-CUDA", "-OPENACC"), "cuda-DH", "out:1: the title of a program that is not"),
        (PUT.replace("HOST (H)", "HOST (D)"), "cuda-DH", "out:5: put_bw: unknown column"),
        (LATENCY, "", "out:2: not the title of buffers of the host"),
    ],
)
def test_what_does_not_agree_with_what_was_asked_is_refused(text, gpu, said):
    program = "latency" if text is LATENCY else "put_bw"
    with pytest.raises(ParseError) as error:
        osu.parse(text, "out", 2, program, gpu)
    assert said in str(error.value)


def test_programs_say_where_gpus_can_hold_their_buffers():
    pairs = ("DD", "HD", "DH", "HH")
    found = {name: row.gpu_buffers for name, row in osu.BENCHMARKS.items()}
    assert {found[name] for name in ("latency", "bw", "put_bw", "bw_persistent")} == {pairs}
    assert {found[name] for name in ("alltoall", "iallreduce", "bcast_persistent")} == {("DD",)}
    without = ("init", "hello", "barrier", "ibarrier", "latency_mt", "latency_mp", "bw_fan_in",
               "neighbor_allgather", "ineighbor_alltoall", "partitioned_latency")  # fmt: skip
    assert {found[name] for name in without} == {()}

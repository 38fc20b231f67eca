"""How long a case takes that never ran: by formula, from what it asks for, in s.

A message takes latency + size / bandwidth (R. W. Hockney, Parallel Computing 20, 1994, 389); an
operation of P processes takes ceil(log2 P) steps, or P - 1 of all to all, and moves what each one
receives (R. Thakur et al., Int. J. High Perform. Comput. Appl. 19, 2005, 49). How often a program
repeats follows from its sources: IMB's limit of 10 s a size is part of it (`imb.repeated`); OMB
7.4, c/util/osu_util.h. What nobody states was measured on two cores of this project's machine: most
cases took a third to three times as long, and their sum is what it is for.
"""

import math
from collections.abc import Iterable

from acceptance.suites import himeno, imb, npb, osu, patterns
from acceptance.suites.records import Benchmark

#: Latency (s) and bandwidth (bytes/s) of one process's messages.
Way = tuple[float, float]

#: From the launch of a job to its end, and more for each rank; through a scheduler that is asked.
START, OF_RANK, QUEUED = 0.6, 0.01, 5.0
#: Of our own programs, which are compiled.
COMPILE = 5.0
#: Latency and bandwidth inside a node, and what all of its processes have together; and between
#: nodes whose fabric nobody states: those of 10 Gb/s Ethernet.
INSIDE, NODE, OUTSIDE = (1e-6, 3e9), 12e9, (2e-5, 1e9)
#: By how much messages take longer than the limits of a fabric: koop2008's of 8 bytes, and 80 %.
OVER_LATENCY, OF_BANDWIDTH = 3.0, 0.8
#: Repetitions with warm-up of small messages, and beyond 8 KiB (osu_util.h).
_OSU = {"bandwidth": (110, 22), "message": (10_100, 1010), "collective": (1100, 110)}
_OSU_LARGE = 8192
#: A file is forced to the disk after each write.
_TO_DISK = 0.01
#: Flop/s of HPL, and bytes/s that all other tests of HPCC take of a process's matrix.
_HPL, _OTHER_TESTS = 5e9, 3e6
#: 10^6 operations a second of a process of NPB, those of most programs under "".
_NPB = {"is": 100.0, "ep": 60.0, "cg": 500.0, **dict.fromkeys(npb.TRAFFIC, 10.0), "": 2000.0}
#: Seconds of one process: kandadai2009's of 8 tasks (32 of si512-60), on processors of 2007; of the
#: codes of SPEC MPI2007 about the mean of 64.
_APPLICATIONS = {
    "namd.apoa1": 11_400.0, "cpmd.c120": 19_700.0, "cpmd.si512": 13_800.0,
    "cpmd.si512-60": 80_000.0, "specmpi": 39_000.0,
}  # fmt: skip
#: Patterns: methods and sizes of b_eff, its rings and random ones; loops beside the repeats; and
#: for how long a loop of a simulated rank is computed.
_BEFF, _RINGS, _RANDOM, _SIMULATED = 3 * 21, 6, 30, 0.02


def inside(processes: int) -> Way:
    """Return what a message between processes of one node takes."""
    latency, bandwidth = INSIDE
    return latency, min(bandwidth, NODE / processes)


def once(row: Benchmark, size: int | None, processes: int, way: Way) -> float:
    """Return how long one operation takes with messages of a size (bytes)."""
    (latency, bandwidth), size = way, size or 0
    if row.point_to_point:
        return latency + size / bandwidth
    to_all = "alltoall" in row.name.lower()
    steps = processes - 1 if to_all else math.ceil(math.log2(processes))
    return steps * latency + size * (processes - 1 if row.part else 2) / bandwidth


def of_imb(
    benchmark: str, processes: int, count: int, sizes: Iterable[int | None], way: Way
) -> float:
    """Return how long IMB repeats a benchmark: a first try, warm-up and what is measured."""
    row, total = imb.BENCHMARKS[benchmark], 0.0
    messages = osu.WINDOW if imb.RATE in row.columns and row.family != "p2p" else 1
    # The operation alone, the computation alone, and both, of which the last is twice as long.
    messages *= 4 if imb.OVERALL in row.columns else 1
    for size in sizes:
        one = messages * once(row, size, processes, way)
        for mode in row.modes or ("",):
            forced = _TO_DISK if row.family == "io" and mode == imb.SINGLE else 0.0
            measured = imb.repeated(benchmark, mode, size, count) * (one + forced)
            total += min(measured, 1.0) + 1.1 * min(measured, imb.SECONDS)
    return total


def of_osu(
    row: osu.OsuProgram, processes: int, count: int, sizes: Iterable[int | None], way: Way
) -> float:
    """Return how long a program of OMB repeats its messages; `count` of each, 0: as it does."""
    if not row.options:
        return 0.0
    is_bandwidth = osu.BANDWIDTH in row.columns
    kind = "bandwidth" if is_bandwidth else "message" if row.point_to_point else "collective"
    # There and back, or those of a window, or beside computation.
    messages = {"bandwidth": osu.WINDOW, "message": 2, "collective": 1}[kind]
    messages *= 3 if osu.OVERLAPPED[0] in row.columns else 1
    small, large = (1.1 * count, 1.1 * count) if count else _OSU[kind]
    return sum(
        (large if (size or 0) > _OSU_LARGE else small) * messages * once(row, size, processes, way)
        for size in sizes
    )


def of_hpcc(order: int, processes: int) -> float:
    """Return how long HPCC takes: HPL by its operations, all else by the matrix."""
    return (2 / 3 * order**3 / _HPL + 8 * order**2 / _OTHER_TESTS) / processes


def of_npb(name: str, problem_class: str, processes: int) -> float:
    """Return how long a benchmark of NPB takes by the operations of its class."""
    return npb.millions(name, problem_class) / (processes * _NPB.get(name, _NPB[""]))


def of_pattern(row: patterns.Pattern, processes: int, mode: str, *, simulated: bool) -> float:
    """Return how long a pattern takes: loops of so many ms (timer.c), of phases or rings."""
    is_beff, is_short = row.name == "b_eff", simulated or mode == "smoke"
    loops = (
        _BEFF * (_RINGS + (1 if is_short else _RANDOM))
        if is_beff
        else len(patterns.phases(row, processes)) * len(row.sizes or (None,))
    )
    if simulated:
        return loops * processes * _SIMULATED
    milliseconds = 5 if mode != "smoke" else 1 if is_beff else 2
    repeats = patterns.FEW_REPEATS if mode == "smoke" and is_beff else 3
    return loops * (repeats + 1) * milliseconds / 1000


def of_application(benchmark: str, processes: int) -> float:
    """Return how long an application takes: Himeno's chooses its time, others compute so much."""
    if benchmark == himeno.PROGRAM:
        return himeno.SECONDS
    suite = benchmark.partition(".")[0]
    return _APPLICATIONS.get(benchmark, _APPLICATIONS.get(suite, 0.0)) / processes

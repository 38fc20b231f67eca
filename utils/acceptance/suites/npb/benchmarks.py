"""NAS Parallel Benchmarks (NPB), MPI: legal runs, their sizes and memory, names of programs.

Sources: NPB 3.3.1 and 3.4.2, `sys/setparams.c`, the programs' own checks at run time, and the
declarations of their arrays; each rule names its file. Releases of the same 3.3 or 3.4 are taken
as equal. 3.3 is built for one class and one number of processes, 3.4 for one class.
"""

import math
import re
from collections.abc import Callable

from acceptance.suites.records import Benchmark, Column

NAMES = ("is", "ep", "cg", "mg", "ft", "bt", "sp", "lu")
CLASSES = "SWABCDE"
#: They need a square number of processes.
SQUARE = ("bt", "sp")

#: What each benchmark measures; the names are fields of `acceptance.suites.npb.output.Result`.
METRICS = (
    Column("seconds", "time", "s"),
    Column("mops_total", "mops_total", "Mop/s"),
    Column("mops_per_process", "mops_per_process", "Mop/s"),
)

#: What it measures where no computation takes time, see `operations`.
COMMUNICATION = Column("communication_time", "communication_time", "us")
#: Name -> benchmark.
BENCHMARKS = {name: Benchmark(name, (*METRICS, COMMUNICATION), sized=False) for name in NAMES}

#: Seconds that a run must take to say something. The time is printed with two decimals, so that a
#: shorter one is known to no better than 0.5 %, and runs of class S (0.00 s) mostly measure how
#: the processes start. Mop/s comes from the same time, of which more digits make nothing better.
TIMING_FLOOR = 1.0

#: Bytes of arrays of a process from which on a program of 3.3 does not link. They are static, and
#: the addresses of gcc's default code model on x86_64 reach 2 GiB ("relocation truncated to fit").
STATIC_LIMIT = 2**31

# Grid points in each direction. `setparams.c`, write_*_info.
_CUBES = {
    "mg": (32, 128, 256, 256, 512, 1024, 2048),
    "bt": (12, 24, 64, 102, 162, 408, 1020),
    "sp": (12, 36, 64, 102, 162, 408, 1020),
    "lu": (12, 33, 64, 102, 162, 408, 1020),
}
_FT_GRID = (
    (64, 64, 64),
    (128, 128, 32),
    (256, 256, 128),
    (512, 256, 256),
    (512, 512, 512),
    (2048, 1024, 1024),
    (4096, 2048, 2048),
)
_IS_KEYS = (2**16, 2**20, 2**23, 2**25, 2**27, 2**31, 2**35)  # IS/is.c
_EP_LOG_PAIRS = (24, 25, 28, 30, 32, 36, 40)
#: Rows of cg -> its nonzeros of a row.
NONZEROS = {1400: 7, 7000: 8, 14000: 11, 75000: 13, 150000: 15, 1500000: 21, 9000000: 26}
_ITERATIONS = {
    "is": (10,) * 7,
    "ep": (0,) * 7,
    "cg": (15, 15, 15, 75, 75, 100, 100),
    "mg": (4, 4, 4, 20, 20, 50, 50),
    "ft": (6, 6, 6, 20, 20, 25, 25),
    "bt": (60, 200, 200, 200, 200, 250, 250),
    "sp": (100, 400, 400, 400, 400, 500, 500),
    "lu": (50, 300, 250, 250, 250, 300, 300),
}

# What Fortran's default integer, in which both releases count elements, no longer holds.
_OVERFLOW = 2**31
_DOUBLE = 8
_COMPLEX = 16


def release(version: str) -> str:
    """Return "3.3" or "3.4" of a version like 3.4.2; ValueError for any other version."""
    found = re.match(r"3\.[34](?=\.|\Z)", version)
    if not found:
        raise ValueError(f"NPB {version!r} is not known; 3.3 and 3.4 are")
    return found[0]


def sizes(name: str, problem_class: str, version: str = "3.4") -> tuple[tuple[int, ...], int]:
    """Return what the final block prints as Size, and its Iterations.

    A size is three numbers of grid points, or one number: of keys (is), rows (cg) or random
    numbers (ep; it counts no iterations, 0). Raises ValueError for a class that there is not.
    """
    index = _index(name, problem_class)
    if (name, problem_class, release(version)) == ("is", "E", "3.3"):
        raise ValueError("is has no class E in NPB 3.3")
    return _size(name, index), _ITERATIONS[name][index]


def legal(name: str, problem_class: str, processes: int, version: str = "3.4") -> bool:
    """Tell whether a benchmark runs, with all its processes at work.

    With NPB_NPROCS_STRICT=0, 3.4 takes other numbers and leaves some processes idle: not legal
    here. Whether a program of 3.3 can be built is another question, see `is_linkable`. Raises
    ValueError for an unknown benchmark, class or version.
    """
    index = _index(name, problem_class)
    old = release(version) == "3.3"
    if processes < 1:
        return False
    if name == "ep":
        # EP/ep.f: each process needs one batch of 2^16 pairs; any number of processes will do.
        return processes <= 1 << (_EP_LOG_PAIRS[index] - 16)
    size = _size(name, index)
    if name in SQUARE:
        # setparams.c, and make_set.f: no cell has less than 3 points in a direction.
        root = math.isqrt(processes)
        return root * root == processes and size[0] // root >= 3
    if name == "lu" and not old:
        # get_active_nprocs.f90 (kind 2) and LU/proc_grid.f90, subdomain.f90.
        across, down = _grid(processes)
        return across <= 2 * down and size[0] // across >= 3
    if processes.bit_count() != 1:
        return False
    if name == "lu":
        return size[0] // _grid(processes)[0] >= 4  # LU/subdomain.f
    if name == "is":
        # IS/is.c: MIN_PROCS and MAX_PROCS.
        least = {"D": 4, "E": 64}.get(problem_class, 1)
        most = 128 if problem_class == "S" else 1024
        return least <= processes <= most and not (old and problem_class == "E")
    if name == "ft":
        # FT/ft.f: a grid nz x (processes / nz) of them beyond nz. `ntdivnp` must not overflow.
        return processes <= size[2] ** 2 and math.prod(size) // processes < _OVERFLOW
    if name == "mg":
        # MG/globals.h: maxprocs, and `nr` must not overflow. That each process has two points in
        # a direction is our own caution: nothing checks it.
        if processes > 2**17 or _mg_extents(size[0], processes)[2] < 4:
            return False
        return _mg_elements(size[0], processes) < _OVERFLOW
    return _cg_elements(size[0], processes) < _OVERFLOW  # CG/cg.f: nz


def memory(name: str, problem_class: str, processes: int = 1) -> int:
    """Return the bytes of the arrays of all processes together.

    Ghost cells and copies make it grow with their number. The programs' own arrays as 3.3
    declares them (3.4 allocates no more), to 5 %; the MPI library's buffers come on top.
    Raises ValueError for an unknown benchmark or class.
    """
    size = _size(name, _index(name, problem_class))
    return processes * _BYTES[name](size, processes)


def is_linkable(name: str, problem_class: str, processes: int, version: str = "3.4") -> bool:
    """Tell whether a program can be built: for 3.3, whether the arrays stay below STATIC_LIMIT."""
    if release(version) == "3.4":
        return True
    return memory(name, problem_class, processes) // processes < STATIC_LIMIT


def counts(name: str, largest: int) -> list[int]:
    """Return the numbers of processes to run with: 2, 4, 8, ... up to `largest`.

    bt and sp get 4, 16, 64, ... and the largest square, 1 if no larger one fits: a quarter of the
    points is enough to see the trend, and the last one fills the machine. Not all of them are
    legal in each class.
    """
    if name not in SQUARE:
        return [2**n for n in range(1, largest.bit_length())]
    if largest < 1:
        return []
    last = math.isqrt(largest)
    roots = {2**n for n in range(1, last.bit_length())} | {last}
    return [root * root for root in sorted(roots)]


def program(name: str, problem_class: str, processes: int, version: str = "3.4") -> str:
    """Return the file name of a program, as the suite's makefiles build it."""
    suffix = str(processes) if release(version) == "3.3" else "x"
    return f"{name}.{problem_class}.{suffix}"


def _index(name: str, problem_class: str) -> int:
    if name not in NAMES:
        raise ValueError(f"{name!r} is no benchmark of NPB: {' '.join(NAMES)}")
    if len(problem_class) != 1 or problem_class not in CLASSES:
        raise ValueError(f"{problem_class!r} is no class of NPB: {' '.join(CLASSES)}")
    return CLASSES.index(problem_class)


def _size(name: str, index: int) -> tuple[int, ...]:
    if name in _CUBES:
        return (_CUBES[name][index],) * 3
    if name == "ft":
        return _FT_GRID[index]
    if name == "ep":
        return (1 << (_EP_LOG_PAIRS[index] + 1),)
    return (_IS_KEYS[index] if name == "is" else tuple(NONZEROS)[index],)


def _grid(processes: int) -> tuple[int, int]:
    """Split processes into a product as near to a square as it gets, the larger factor first."""
    down = next(n for n in range(math.isqrt(processes), 0, -1) if processes % n == 0)
    return processes // down, down


def _ceil(points: int, parts: int) -> int:
    return -(-points // parts)


def _is_bytes(size: tuple[int, ...], processes: int) -> int:
    """IS/is.c: three arrays of SIZE_OF_BUFFERS integers."""
    halves = 3 if processes < 256 else 5 if processes < 512 else 8 if processes < 1024 else 13
    return 3 * 4 * (halves * (size[0] // processes) // 2)


def _ep_bytes(size: tuple[int, ...], processes: int) -> int:
    """EP/ep.f: x, q and qq, whatever the class and however many processes."""
    return _DOUBLE * (2 * 2**16 + 10 + 10_000)


def _ft_bytes(size: tuple[int, ...], processes: int) -> int:
    """FT/ft.f: u0, u1 and u2 complex, twiddle; the roots of unity."""
    return (3 * _COMPLEX + _DOUBLE) * (math.prod(size) // processes) + _COMPLEX * size[0]


def _cg_elements(rows: int, processes: int) -> int:
    """CG/cg.f: nz, the elements of the matrix that a process has room for."""
    nonzeros = NONZEROS[rows]
    return (
        rows * (nonzeros + 1) // processes * (nonzeros + 1)
        + nonzeros
        + rows * (nonzeros + 2 + processes // 256) // _grid(processes)[0]
    )


def _cg_bytes(size: tuple[int, ...], processes: int) -> int:
    """CG/cg.f: main_int_mem and main_flt_mem."""
    (rows,) = size
    vectors = 6 * (rows // _grid(processes)[1] + 2)
    matrix = _cg_elements(rows, processes)
    return 4 * (3 * matrix + 3 * rows + 2) + _DOUBLE * (2 * matrix + rows + 1 + vectors)


def _mg_extents(points: int, processes: int) -> tuple[int, int, int]:
    """MG/globals.h: points of a process in x, y and z, with ghost points."""
    lines, log = points.bit_length() - 1, processes.bit_length() - 1
    x, y, z = (2 + (1 << max(0, lines - (log + n) // 3)) for n in range(3))
    return x, y, z


def _mg_elements(points: int, processes: int) -> int:
    """MG/globals.h: 7 nr, where nr are the elements of u and of r, of all levels together."""
    local = _mg_extents(points, processes)
    edge, lines = local[0], points.bit_length() - 1
    levels = (edge - 2).bit_length() - 1
    return 8 * (math.prod(local) + edge * edge + 5 * edge + 14 * lines - 7 * levels)


def _mg_bytes(size: tuple[int, ...], processes: int) -> int:
    """MG/globals.h: u, r, v of the finest level, and the buffers."""
    local = _mg_extents(size[0], processes)
    both = 2 * (_mg_elements(size[0], processes) // 7)
    return _DOUBLE * (both + math.prod(local) + 8 * local[0] * local[0])


def _bt_bytes(size: tuple[int, ...], processes: int) -> int:
    """BT/header.h: fields of as many cells as a row has processes, and the buffers."""
    cells = math.isqrt(processes)
    edge = size[0] // cells + 1
    fields = 6 * (edge + 2) ** 3 + 5 * edge**3 + 5 * (edge + 4) ** 3 + 30 * (edge + 1) ** 3
    buffers = 2 * (60 * edge * edge * (cells - 1) + 1)
    return _DOUBLE * (cells * (fields + 5 * (edge + 1) ** 2) + buffers)


def _sp_bytes(size: tuple[int, ...], processes: int) -> int:
    """SP/header.h: as BT, with rows padded to an odd length."""
    cells = math.isqrt(processes)
    edge = size[0] // cells + 1
    odd = edge // 2 * 2 + 1
    fields = 5 * (odd + 4) ** 2 * (edge + 4) + 8 * (edge + 2) ** 3 + 25 * odd * odd * edge
    return _DOUBLE * (cells * fields + 2 * (120 * edge * edge * (cells - 1) + 1))


def _lu_bytes(size: tuple[int, ...], processes: int) -> int:
    """LU/applu.incl: u, rsd, frct, flux; a to d; the buffers."""
    across, down = _grid(processes)
    x, y, z = _ceil(size[0], across), _ceil(size[0], down), size[0]
    fields = 15 * (x + 4) * (y + 4) * z + 5 * (x + 2) * (y + 2) * z
    return _DOUBLE * (fields + 100 * x * y + 20 * y * z)


_BYTES: dict[str, Callable[[tuple[int, ...], int], int]] = {
    "is": _is_bytes,
    "ep": _ep_bytes,
    "cg": _cg_bytes,
    "mg": _mg_bytes,
    "ft": _ft_bytes,
    "bt": _bt_bytes,
    "sp": _sp_bytes,
    "lu": _lu_bytes,
}

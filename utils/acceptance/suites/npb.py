"""NAS Parallel Benchmarks (NPB) 3.3 and 3.4, MPI: legal runs, their sizes and memory, the output.

One run of a program prints a title, a body of its own, and a final block, the same for all::

     NAS Parallel Benchmarks 3.4 -- FT Benchmark
    ...
     FT Benchmark Completed.
     Class           =                        S
     Size            =             64x  64x  64
    ...
     Active processes=                        2
     Mop/s total     =                  4100.24
    ...
     Verification    =               SUCCESSFUL
    ...
     Internet: npb@nas.nasa.gov

Only this block is read: bodies say SUCCESSFUL too, even with the wrong number of processes. 3.3
has `Compiled procs` for `Active processes` and ends with a fax number; timers, if enabled, follow
the block. Times are in s, rates in 10^6 operations a second, both with two decimals.

DT sends data along one of three graphs, with a process for each node of it. Its block is called
after graph and class (`DT_BH.S Benchmark Completed`), has the nodes as Iterations and no processes
at work. It counts values, in 2^20 of them. Beyond class A it verifies nothing, and says SUCCESSFUL:
see `check_sum`.

Sources: NPB 3.3.1, 3.4.1 to 3.4.3, `sys/setparams.c`, the programs' own checks at run time, the
declarations of their arrays, the lines that set `mflops` or `Mops`, `common/print_results.f`,
`c_print_results.c`, and runs; each rule names its file. Releases of the same 3.3 or 3.4 are taken
as equal. 3.3 is built for one class and one number of processes, 3.4 for one class.
"""

import math
import re
from collections.abc import Callable
from typing import Any

from acceptance.core.errors import ParseError
from acceptance.suites.hpcc import grid
from acceptance.suites.output import SLACK, LineReader, Range
from acceptance.suites.records import Benchmark, Column, Suite

NAMES = ("is", "ep", "cg", "mg", "ft", "bt", "sp", "lu")
#: DT by its graph: from many sources to one sink (bh), from one to many (wh), a shuffle (sh).
TRAFFIC = ("dt-bh", "dt-wh", "dt-sh")
CLASSES = "SWABCDE"
#: They need a square number of processes.
SQUARE = ("bt", "sp")

#: What each benchmark measures; the names are fields of `Result`.
METRICS = (Column("seconds", "time", "s"), Column("mops_total", "mops_total", "Mop/s"))

#: What it measures where no computation takes time, see `Result.communication_time`.
COMMUNICATION = Column("communication_time", "communication_time", "us")
#: Name -> benchmark.
BENCHMARKS = {
    name: Benchmark(
        name, (*METRICS, COMMUNICATION), sized=False, since_mode="smoke",
        family="application" if name in ("bt", "sp", "lu") else "kernel",
    )
    for name in NAMES
} | {
    # Mostly its time is too short for the two decimals.
    name: Benchmark(name, METRICS[1:], sized=False, since_mode="acceptance", family="traffic")
    for name in TRAFFIC
}  # fmt: skip
#: The suite. Each number of processes and class may have a program of its own.
SUITE = Suite(
    "npb",
    "NAS Parallel Benchmarks",
    (),
    "",
    {f"npb.{name}": row for name, row in BENCHMARKS.items()},
    built_with=("mpi", "gfortran"),
)

#: Seconds that a run must take to say something. The time is printed with two decimals, so that a
#: shorter one is known to no better than 0.5 %, and runs of class S (0.00 s) mostly measure how
#: the processes start. Mop/s comes from the same time, of which more digits make nothing better.
TIMING_FLOOR = 1.0

#: Bytes of arrays of a process from which on a program of 3.3 does not link. They are static, and
#: the addresses of gcc's default code model on x86_64 reach 2 GiB ("relocation truncated to fit").
STATIC_LIMIT = 2**31

#: Rows of cg -> its nonzeros of a row.
NONZEROS = {1400: 7, 7000: 8, 14000: 11, 75000: 13, 150000: 15, 1500000: 21, 9000000: 26}


def _cubes(*edges: int) -> tuple[tuple[int, ...], ...]:
    return tuple((edge,) * 3 for edge in edges)


#: What each class computes on: grid points in each direction (`setparams.c`, write_*_info), keys
#: (IS/is.c), random numbers, rows.
_SIZES: dict[str, tuple[tuple[int, ...], ...]] = {
    "is": tuple((2**n,) for n in (16, 20, 23, 25, 27, 31, 35)),
    "ep": tuple((2**n,) for n in (25, 26, 29, 31, 33, 37, 41)),
    "cg": tuple((rows,) for rows in NONZEROS),
    "mg": _cubes(32, 128, 256, 256, 512, 1024, 2048),
    "ft": ((64, 64, 64), (128, 128, 32), (256, 256, 128), (512, 256, 256), (512, 512, 512),
           (2048, 1024, 1024), (4096, 2048, 2048)),
    "bt": _cubes(12, 24, 64, 102, 162, 408, 1020),
    "sp": _cubes(12, 36, 64, 102, 162, 408, 1020),
    "lu": _cubes(12, 33, 64, 102, 162, 408, 1020),
    # Classes C and D would print a rate that overflows a C int.
    **dict.fromkeys(TRAFFIC, ((6912,), (55296,), (442368,), (3538944,))),
}  # fmt: skip
_ITERATIONS = {
    "is": (10,) * 7,
    "ep": (0,) * 7,
    "cg": (15, 15, 15, 75, 75, 100, 100),
    "mg": (4, 4, 4, 20, 20, 50, 50),
    "ft": (6, 6, 6, 20, 20, 25, 25),
    "bt": (60, 200, 200, 200, 200, 250, 250),
    "sp": (100, 400, 400, 400, 400, 500, 500),
    "lu": (50, 300, 250, 250, 250, 300, 300),
    **dict.fromkeys(("dt-bh", "dt-wh"), (5, 11, 21, 43)),
    "dt-sh": (12, 32, 80, 192),
}

#: The fewest processes where it is not one: IS/is.c (MIN_PROCS), and where sizes would overflow
#: Fortran's default integer: MG/globals.h (nr), CG/cg.f (nz), FT/ft.f (ntdivnp).
_FEWEST = {
    ("is", "D"): 4, ("is", "E"): 64, ("cg", "E"): 4, ("mg", "D"): 8, ("mg", "E"): 64,
    ("ft", "D"): 2, ("ft", "E"): 16,
}  # fmt: skip

#: MiB that the arrays of classes A to E take: in one process, what they take more for each one of
#: the root of the processes, and for each process (ghost cells, buffers and copies). Made from the
#: declarations in IS/is.c, EP/ep.f, CG/cg.f, MG/globals.h, FT/ft.f, BT/header.h, SP/header.h and
#: LU/applu.incl of 3.3.1 (3.4 takes no more) for up to 1024 processes: to 10 %; to 31 % where bt,
#: sp and lu take less than 7 GiB. A process of DT (DT/dt.c) holds up to six arrays of its size.
_MEMORY = {
    "is": ((144, -8, 0.758), (576, -32, 3.03), (2304, -128, 12.1), (36860, -2050, 194),
           (589800, -33900, 3180)),
    "ep": ((1.076, 0, 1.076),) * 5,
    "cg": ((59.6, 4.14, 0.328), (427.4, 25.2, 1.77), (1103, 56.3, 3.56), (20400, 737, 36.7),
           (182500, 5260, 227)),
    "mg": ((435.8, 7.04, 0), (435.8, 7.04, 0), (3425, 27, 0), (27160, 106, 0), (216300, 420, 0)),
    "ft": ((448, 0, 0.004), (1792, 0, 0.008), (7168, 0, 0.008), (114700, 0, 0.031),
           (917500, 0, 0.063)),
    "bt": ((102.7, 8.27, 0.817), (399.3, 22.6, 1.11), (1559, 51.9, 2.12), (24260, 569, 0),
           (375100, 2980, 0)),
    "sp": ((83.27, 13.8, 0.483), (325.8, 22.9, 1.29), (1278, 44.4, 2.8), (19970, 634, 0),
           (309400, 3670, 0)),
    "lu": ((48.25, 5.38, 0.119), (182.8, 13.3, 0.409), (701.1, 41.5, 0.539), (10690, 239, 0.601),
           (164000, 1440, 0)),
    **dict.fromkeys(TRAFFIC, ((20.25, 0, 20.25), (162, 0, 162))),
}  # fmt: skip


def release(version: str) -> str:
    """Return "3.3" or "3.4" of a version like 3.4.2; ValueError for any other version."""
    found = re.match(r"3\.[34](?=\.|\Z)", version)
    if not found:
        raise ValueError(f"NPB {version!r} is not known; 3.3 and 3.4 are")
    return found[0]


def sizes(name: str, problem_class: str) -> tuple[tuple[int, ...], int]:
    """Return what the final block prints as Size, and its Iterations.

    A size is three numbers of grid points, or one number: of keys (is), rows (cg), values (dt) or
    random numbers (ep; it counts no iterations, 0). Raises ValueError for a class without it.
    """
    index = _index(name, problem_class)
    return _SIZES[name][index], _ITERATIONS[name][index]


def legal(name: str, problem_class: str, processes: int, version: str = "3.4") -> bool:
    """Tell whether a benchmark runs, with all its processes at work.

    With NPB_NPROCS_STRICT=0, 3.4 takes other numbers and leaves some processes idle: not legal
    here. Whether a program of 3.3 can be built is another question, see `is_linkable`. Raises
    ValueError for an unknown class or version.
    """
    old = release(version) == "3.3"
    if name in TRAFFIC and problem_class in tuple(CLASSES):
        # DT/dt.c: with more, some are idle; that of 3.3 exits with 1 when all went well.
        index = CLASSES.index(problem_class)
        return not old and processes in _ITERATIONS[name][index : index + 1]
    index = _index(name, problem_class)
    size = _SIZES[name][index]
    if processes < _FEWEST.get((name, problem_class), 1):
        return False
    if name == "ep":
        # EP/ep.f: each process needs one batch of 2^16 pairs; any number of processes will do.
        return processes <= size[0] >> 17
    if name in SQUARE:
        # setparams.c, and make_set.f: no cell has less than 3 points in a direction.
        root = math.isqrt(processes)
        return root * root == processes and size[0] // root >= 3
    if name == "lu" and not old:
        # get_active_nprocs.f90 (kind 2) and LU/proc_grid.f90, subdomain.f90.
        down, across = grid(processes)
        return across <= 2 * down and size[0] // across >= 3
    if processes.bit_count() != 1:
        return False
    if name == "lu":
        return size[0] // grid(processes)[1] >= 4  # LU/subdomain.f
    if name == "is":
        # IS/is.c: MAX_PROCS.
        most = 128 if problem_class == "S" else 1024
        return processes <= most and not (old and problem_class == "E")
    if name == "ft":
        # FT/ft.f: a grid nz x (processes / nz) of them beyond nz.
        return processes <= size[2] ** 2
    # MG/globals.h: maxprocs. That each process has two points in a direction is our own caution:
    # nothing checks it.
    return name == "cg" or processes <= min(2**17, (size[0] // 2) ** 3)


def memory(name: str, problem_class: str, processes: int = 1) -> float:
    """Return the bytes of the arrays of all processes together; of class S and W at most so many.

    The MPI library's buffers come on top. Raises ValueError for an unknown class.
    """
    index = max(_index(name, problem_class), CLASSES.index("A"))
    one, by_root, by_process = _MEMORY[name][index - CLASSES.index("A")]
    more = by_root * (math.sqrt(processes) - 1) + by_process * (processes - 1)
    return 2**20 * (one + max(more, 0))


def is_linkable(name: str, problem_class: str, processes: int, version: str = "3.4") -> bool:
    """Tell whether a program can be built: for 3.3, whether the arrays stay below STATIC_LIMIT."""
    if release(version) == "3.4":
        return True
    return memory(name, problem_class, processes) / processes < STATIC_LIMIT


def counts(name: str, largest: int) -> list[int]:
    """Return the numbers of processes to run with: 2, 4, 8, ... up to `largest`.

    bt and sp get 4, 16, 64, ... and the largest square, 1 if no larger one fits: a quarter of the
    points is enough to see the trend, and the last one fills the machine. dt gets the nodes of its
    graphs. Not all of them are legal in each class.
    """
    if name in TRAFFIC:
        return [nodes for nodes in _ITERATIONS[name] if nodes <= largest]
    if name not in SQUARE:
        return [2**n for n in range(1, largest.bit_length())]
    if largest < 1:
        return []
    last = math.isqrt(largest)
    roots = {2**n for n in range(1, last.bit_length())} | {last}
    return [root * root for root in sorted(roots)]


def program(name: str, problem_class: str, processes: int, version: str = "3.4") -> str:
    """Return the file name of a program, as the suite's makefiles build it; of dt in 3.4 alone."""
    if release(version) == "3.3":
        return f"{name}.{problem_class}.{processes}"
    return f"{name.partition('-')[0]}.{problem_class}.x"


def _index(name: str, problem_class: str) -> int:
    classes = CLASSES[: len(_SIZES[name])]
    if len(problem_class) != 1 or problem_class not in classes:
        raise ValueError(f"{problem_class!r} is no class of NPB's {name}: {' '.join(classes)}")
    return classes.index(problem_class)


# How many operations each program counts: the lines that set `mflops` or `Mops` in `cg.f`, `mg.f`,
# `ft.f`, `bt.f`, `sp.f`, `lu.f`, `ep.f`; in `is.c` and `dt.c` the call of `c_print_results`.

Size = tuple[int, ...]


def _cg(size: Size, iterations: int) -> float:
    nonzeros = NONZEROS[size[0]]
    elements = nonzeros * (nonzeros + 1.0)
    return 2.0 * iterations * size[0] * (3 + elements + 25 * (5 + elements) + 3)


def _ft(size: Size, iterations: int) -> float:
    points = float(math.prod(size))
    log = math.log(points)
    return points * (14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * iterations)


def _dt(size: Size, nodes: int) -> float:
    """Return those of dt: a tree has an arc less than nodes, a shuffle two for each but sources."""
    arcs = {12: 16, 32: 48, 80: 128, 192: 320}.get(nodes, nodes - 1)
    return 1e6 * size[0] * arcs / 2**20


def _polynomial(*coefficients: float) -> Callable[[Size, int], float]:
    """Return those of mg, bt, sp and lu: by the points, by the square and the mean of an edge."""
    cubic, square, linear, constant = coefficients

    def operations(size: Size, iterations: int) -> float:
        edge = sum(size) / 3
        return iterations * (cubic * math.prod(size) + square * edge**2 + linear * edge + constant)

    return operations


_OPERATIONS: dict[str, Callable[[Size, int], float]] = {
    "is": lambda size, iterations: float(size[0]) * iterations,
    "ep": lambda size, _: float(size[0]),
    "cg": _cg,
    "mg": _polynomial(58, 0, 0, 0),
    "ft": _ft,
    "bt": _polynomial(3478.8, -17655.7, 28023.7, 0),
    "sp": _polynomial(881.174, -4683.91, 11484.5, -19272.4),
    "lu": _polynomial(1984.77, -10923.3, 27770.9, -144010),
    **dict.fromkeys(TRAFFIC, _dt),
}


def millions(name: str, problem_class: str) -> float:
    """Return the operations of a benchmark and a class, in 10^6; ValueError for no class."""
    return 1e-6 * _OPERATIONS[name](*sizes(name, problem_class))


def contradiction(name: str, problem_class: str, seconds: float, mops: float) -> str:
    """Return what is wrong with a time beside a rate (Mop/s), "" if nothing is.

    A time is known to 0.005 s and no better, so the bounds of a short run are wide: 0.50 s leaves
    1 %, and below 0.005 s, which is printed as 0.00, there is a lowest rate only. The slack is that
    of 3.3, which computes cg and lu in single precision.
    """
    made = Range.rounded(seconds).under(millions(name, problem_class))
    if made.agrees(Range.rounded(mops), slack=SLACK):
        return ""
    return (
        f"{mops:.2f} Mop/s beside a time of {seconds:.2f} s, where the operations of "
        f"{name}.{problem_class} are between {made.low:.2f} and {made.high:.2f} Mop/s"
    )


#: Release -> the label of the processes at work, and how the last line of the block ends.
AT_WORK = {"3.3": "Compiled procs", "3.4": "Active processes"}
LAST = {"3.3": "Fax: 650-604-3957", "3.4": "npb@nas.nasa.gov"}
OPERATIONS = {"is": "keys ranked", "ep": "Random numbers generated"}  # others: floating point
OPERATIONS |= dict.fromkeys(TRAFFIC, "bytes transmitted")
#: The form of a value, what is wrong with another text, and how it is read.
_Form = tuple[str, str, Callable[[str], Any]]
# Fortran may drop a zero before the point.
_NUMBER = r"(0|[1-9]\d*)?\.\d\d"
_TIME: _Form = (_NUMBER, "{!r} is no finite number from zero on as NPB prints it", float)
_RATE: _Form = (
    rf"(?!0?\.00){_NUMBER}", "{!r} is no finite number above zero as NPB prints it", float
)  # fmt: skip
_COUNT: _Form = (r"[1-9]\d*", "{!r} is no integer above zero as NPB prints it", int)
_COUNT_OR_ZERO: _Form = (r"0|[1-9]\d*", "{!r} is no integer from zero on as NPB prints it", int)


def _points(text: str) -> Size:
    return tuple(map(int, text.split("x")))


def _fields(name: str, version: str, problem_class: str | None) -> dict[str, _Form]:
    """Return the labels of the block in their order, with the form of what stands behind each."""
    operation = OPERATIONS.get(name, "floating point")
    fields: dict[str, _Form] = {
        "Class": (f"[{CLASSES}]", "it is no class; U is a size that none has", str),
        "Size": (r"\d+( *x *\d+ *x *\d+)?", "it is no size", _points),
        "Iterations": _COUNT_OR_ZERO if name == "ep" else _COUNT,
        "Time in seconds": _TIME,
        "Total processes": _COUNT,
        AT_WORK[version]: _COUNT,
        "Mop/s total": _RATE,
        "Mop/s/process": _RATE,
        "Operation type": (operation, f"{name} counts {operation!r}", str),
        "Verification": ("SUCCESSFUL", "the results are wrong or not verified", str),
        "Version": (
            rf"{re.escape(version)}(\..*)?", f"version {{}} under a title of {version}", str
        ),
        "Compile date": (".*", "", str),
    }  # fmt: skip
    if problem_class:  # told by the block's first line, of dt
        fields["Class"] = problem_class, f"the block is that of class {problem_class}", str
        del fields[AT_WORK[version]]
    return fields


#: What follows the fields, in this order: a title, the options, where to send the results.
_REST = (
    re.compile(r"Compile options:\Z"),
    re.compile(
        r"(MPI(F77|FC|CC)|[FC]LINK(FLAGS)?|[FC]MPI_(LIB|INC)|[FC]FLAGS|RAND|MULTICPUS)(?=\s*=)"
    ),
    re.compile(
        r"Please send |NPB Development Team\Z|(Internet: )?npb@nas\.nasa\.gov\Z|If email is not "
        r"|MS T27A-1\Z|NASA Ames |Moffett Field|Fax: "
    ),
)
_TITLE = re.compile(r"NAS Parallel Benchmarks (?P<version>\S+) -- (?P<name>[A-Z]{2}) Benchmark\Z")
_COMPLETED = re.compile(
    r"((?P<name>[A-Z]{2})|(?P<graph>DT_[BWS]H)\.(?P<class>[A-Z])) Benchmark Completed\.?\Z"
)
_FIELD = re.compile(r"(?P<label>[A-Z][A-Za-z/ ]*?) *=(?: (?P<value>.*))?\Z")
# How the programs say why they stop. `Error is 0.8E-15` in the body of CG and MG is a result.
_REASON = re.compile(
    r"(\*{3} )?ERROR\b|Error ?:|Error encountered|Too many nodes|PROBLEM SIZE IS TOO|SUBDOMAIN SIZE"
    r"|Problem size too big|Space for matrix elements"
)


class Result(LineReader):
    """The final block of one run: label -> value, and label -> line; `block` is its first line.

    A size is as in `sizes`. Time and rates mean nothing for a run shorter than `TIMING_FLOOR`.
    """

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.release = ""
        self.block = 0
        self.fields: dict[str, _Form] = {}
        self.values: dict[str, Any] = {}
        self.numbers: dict[str, int] = {}
        #: How far the rest is read, of `_REST`, and what of it there was.
        self.stage = -1
        self.rest: set[str] = set()
        self.whole = False

    @property
    def seconds(self) -> float:
        """Return the time of the run."""
        return float(self.values["Time in seconds"])

    @property
    def mops_total(self) -> float:
        """Return the rate of all processes together, in 10^6 operations a second."""
        return float(self.values["Mop/s total"])

    @property
    def communication_time(self) -> float:
        """Return the time (us) where no computation takes any, as in a simulation.

        It is that in which the operations have this Mop/s. NPB prints the time with two decimals
        (s), which often are 0.00 then, and the rate with more digits.
        """
        return 1e6 * millions(self.benchmark, self.values["Class"]) / self.mops_total

    def read(self) -> None:
        """Read the whole text."""
        # Not splitlines(), which splits at more than newlines.
        *lines, rest = self.text.split("\n")
        for number, line in enumerate(lines, 1):
            self.stand(number, line)
            self._read_line(line.strip())
        if not self.block:
            self._stopped([*lines, rest])
        self.stand(len(lines) + 1, rest)
        if rest.strip():
            raise self.error("the output ends in the middle of a line")
        if self.block and not self.whole:
            self.number -= 1
            raise self.error("the final block is cut off here")
        self.stand()
        if not self.benchmark:
            raise self.error("this is no output of NPB: its title is missing")
        if not self.block:
            raise self.error("no final block: the program did not end")

    def _stopped(self, lines: list[str]) -> None:
        """Raise ParseError with the program's own words, up to five lines, if it has some."""
        for start, first in enumerate(lines):
            if _REASON.match(first.strip()):
                words: list[str] = []
                for line in lines[start : start + 5]:
                    # Each process may say the same.
                    if not line.strip() or line in words:
                        break
                    words.append(line)
                self.stand(start + 1, " ".join(" ".join(words).split()))
                raise self.error("the program stopped")

    def _read_line(self, line: str) -> None:
        if match := _TITLE.match(line):
            self._read_title(match["name"].lower(), match["version"])
        elif match := _COMPLETED.match(line):
            name = match["name"] or match["graph"].replace("_", "-")
            self._read_completed(name.lower(), match["class"])
        elif self.block and line and not self.whole:
            if len(self.values) < len(self.fields):
                self._read_field(line)
            else:
                self._read_rest(line)

    def _read_title(self, name: str, version: str) -> None:
        if self.benchmark:
            raise self.error("a second title: two runs in one output")
        if name not in {known.partition("-")[0] for known in BENCHMARKS}:
            raise self.error("the title of a benchmark that is not known")
        try:
            self.release = release(version)
        except ValueError as error:
            raise self.error(str(error)) from None
        self.benchmark = name

    def _read_completed(self, name: str, problem_class: str | None) -> None:
        if self.block:
            raise self.error("a second final block: two runs in one output")
        if name not in BENCHMARKS or name.partition("-")[0] != self.benchmark:
            raise self.error(f"the final block of {name} under {self.benchmark or 'no'} title")
        self.block, self.benchmark = self.number, name
        self.fields = _fields(name, self.release, problem_class)

    def _read_field(self, line: str) -> None:
        found, expected = _FIELD.match(line), [*self.fields][len(self.values)]
        label = found["label"] if found else ""
        if not found or label not in {*self.fields, *AT_WORK.values()}:
            raise self.error("an unknown line in the final block")
        if label != expected:
            raise self.error(f"{label!r} where the final block of {self.release} has {expected!r}")
        value = (found["value"] or "").strip()
        form, wrong, read = self.fields[label]
        if not re.fullmatch(form, value, re.ASCII):
            too_large = "the number is too large for its field" if "*" in value else ""
            raise self.error(too_large or (wrong.format(value) if value else "no value"))
        self.values[label], self.numbers[label] = read(value), self.number
        if label == "Mop/s/process":
            self._check_share(self.values[label])

    def _check_share(self, each: float) -> None:
        """Compare the rate of each process with that of all; both are rounded to two decimals."""
        share = Range.rounded(self.values["Mop/s total"]).times(1 / self.values["Total processes"])
        if not share.agrees(Range.rounded(each)):
            raise self.error("it is not Mop/s total over the processes")

    def _read_rest(self, line: str) -> None:
        """Read what stands behind the fields."""
        for stage, form in enumerate(_REST):
            if stage in (self.stage, self.stage + 1) and (found := form.match(line)):
                break
        else:
            raise self.error("an unknown line in the final block")
        if found[0] in self.rest:
            raise self.error(f"{found[0]} stands twice in the final block")
        self.rest.add(found[0])
        self.stage, self.whole = stage, line.endswith(LAST[self.release])


def parse(text: str, source: str = "stdout") -> Result:
    """Read the output of one run of an NPB program.

    Raises ParseError, with the line, for anything but one whole, consistent and verified result;
    with the program's own words if it says why it stopped.
    """
    result = Result(text, source)
    result.read()
    return result


def only_result(
    text: str, name: str, problem_class: str, processes: int, source: str = "stdout"
) -> Result:
    """Read the output of one benchmark, class and number of processes, all of them at work.

    Raises ParseError as `parse` does, and when another benchmark, class, size, or number of
    iterations or processes was run, or the program was built for another number; and when time
    and rate are not those of its operations.
    """
    result = parse(text, source)

    def fault(message: str, label: str) -> ParseError:
        result.benchmark = name
        result.stand(result.numbers.get(label, result.block))
        return result.error(message)

    if result.benchmark != name:
        raise fault(f"this is {result.benchmark} instead of {name}", "")
    size, iterations = sizes(name, problem_class)
    asked = {"Class": problem_class, "Size": size, "Iterations": iterations}
    asked |= dict.fromkeys(("Total processes", *AT_WORK.values()), processes)
    for label, wanted in asked.items():
        if result.values.get(label, wanted) != wanted:
            raise fault(f"{label} is {result.values[label]} instead of {wanted}", label)
    if message := contradiction(name, problem_class, result.seconds, result.mops_total):
        raise fault(message, "Mop/s total")
    return result


#: What DT's sums are in each of its classes: DT/dt.c (verify).
_SUMS = {
    "dt-bh": (30892725, 4102461, 17809491, 4317114),
    "dt-wh": (67349758, 204280762, 1289925229, 7877279917),
    "dt-sh": (58875767, 186944764, 610856482, 1836863082),
}


def check_sum(errors: str, name: str, problem_class: str, source: str = "stderr") -> None:
    """Compare the sum that DT prints on its standard error with the one that is right.

    The program does so up to class A. Raises ParseError for another sum, or none.
    """
    wanted = f"{_SUMS[name][_index(name, problem_class)]}.000000"
    graph = f"{name.upper().replace('-', '_')}.{problem_class}"
    found = re.findall(rf"{re.escape(graph)} L2 Norm = (\S+)", errors)
    if set(found) != {wanted}:
        told = "is not there"
        if found:
            told = f"is {', '.join(found)} instead of {wanted}"
            told += "; so it is, too, where GCC compiled dt.c without -fwrapv"
        raise ParseError(source, f"{graph}: the sum of what arrived {told}", benchmark=name)

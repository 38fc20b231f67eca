"""Himeno's benchmark (R. Himeno, RIKEN, 2001): Jacobi's iteration for Poisson's equation.

It is the version of Fortran 90 and MPI that asks for its grid and how to cut it, `himenoBMTxpr.f90`
of 3.0: no other one runs with any number of processes. After a rehearsal of three loops it runs for
a minute, and prints (`print *`; blanks and digits are the compiler's)::

     Sequential version array size
      mimax=         513  mjmax=         257  mkmax=         257
    ...
      I-decomp=            1  J-decomp=            1  K-decomp=            2

      Start rehearsal measurement process.
      Measure the performance in 3 times.
       MFLOPS:   2457.7008206298497        time(s):   1.3655536669999999        9.36996657E-04
     Now, start the actual measurement process.
    ...
      Loop executed for            8  times
      Gosa :   9.18002333E-04
      MFLOPS:   1946.3980753410924        time(s):   4.5980623189999994
      Score based on Pentium III 600MHz :   23.4958744

It exits with 0 when it refuses the input. Gosa is the sum of the squares of what a loop changes.
"""

import itertools
import re
from math import isclose, prod

from acceptance.suites.output import LineReader
from acceptance.suites.records import Benchmark, Column, Suite

PROGRAM, SOURCE = "himeno", "himenoBMTxpr.f90"
#: The variable that names the folder of the source.
VARIABLE = "HIMENO_SOURCE"
PERFORMANCE = Column("gflops", "performance", "Gflop/s")
BENCHMARK = Benchmark(PROGRAM, (PERFORMANCE,), sized=False, since_mode="smoke")
#: How the program calls a grid -> its points with the boundary; the source, grid_set.
GRIDS = {
    "XS": (65, 33, 33),
    "S": (129, 65, 65),
    "M": (257, 129, 129),
    "L": (513, 257, 257),
    "XL": (1025, 513, 513),
}
#: Seconds that it runs for, by its rehearsal (the source, ttarget).
SECONDS = 60.0
SUITE = Suite(
    PROGRAM,
    "Himeno's benchmark",
    (PROGRAM,),
    f"{VARIABLE}=<the folder of {SOURCE}>, an MPI with mpif90 and gfortran (Debian: openmpi-bin "
    "libopenmpi-dev gfortran)",
    {PROGRAM: BENCHMARK},
    compiler="mpif90",
    source=VARIABLE,
)

#: Operations of a point and a loop, and the MFLOPS of the machine that is the score's unit (the
#: source, flop and the last line).
_OPERATIONS, _UNIT = 34, 82.84
#: How far the sum of the rehearsal may lie from that of a first loop: the third one changes a tenth
#: less, and single precision loses some of a sum of 10^7 terms (from 0.93 to 1.08 on two ranks).
_ROUNDED = 0.5, 2.0


def points(grid: str) -> str:
    """Return a grid as `reference/` has it: 513x257x257; KeyError for one that there is not."""
    return "x".join(map(str, GRIDS[grid]))


def parts(grid: str, processes: int) -> tuple[int, int, int]:
    """Return into how many parts each direction is cut: those with the least to be exchanged.

    Of several it is the one with the most parts where memory is contiguous.
    """

    def exchanged(cut: tuple[int, int, int]) -> float:
        edges = [n / parts for n, parts in zip(GRIDS[grid], cut, strict=True)]
        faces = (prod(edges) / edge for edge, parts in zip(edges, cut, strict=True) if parts > 1)
        return sum(faces)

    divisors = [n for n in range(1, processes + 1) if processes % n == 0]
    cuts = [
        (i, j, processes // (i * j))
        for i, j in itertools.product(divisors, repeat=2)
        if processes % (i * j) == 0
    ]
    return min(cuts, key=lambda cut: (exchanged(cut), cut))


def answers(grid: str, processes: int) -> str:
    """Return what the program reads: the grid, and how it is cut."""
    return f"{grid}\n{' '.join(map(str, parts(grid, processes)))}\n"


#: What stands behind the questions: each with blanks as the compiler likes, `{}` is a number.
_TEXTS = (
    "Sequential version array size",
    "mimax= {} mjmax= {} mkmax= {}",
    "Parallel version array size",
    "mimax= {} mjmax= {} mkmax= {}",
    "imax= {} jmax= {} kmax= {}",
    "I-decomp= {} J-decomp= {} K-decomp= {}",
    "Start rehearsal measurement process. Measure the performance in 3 times.",
    "MFLOPS: {} time(s): {} {}",
    "Now, start the actual measurement process.",
    "The loop will be excuted in {} times. This will take about one minute. Wait for a while.",
    "Loop executed for {} times",
    "Gosa : {}",
    "MFLOPS: {} time(s): {}",
    "Score based on Pentium III 600MHz : {}",
)
_FORMS = [
    re.compile(r"\s*" + r"\s*".join(map(re.escape, text.split())).replace(r"\{\}", r"(\S+)"))
    for text in _TEXTS
]


class Output(LineReader):
    """An output of Himeno's benchmark, read from its first fact to its end."""

    suite = "Himeno's benchmark"
    decimal = re.compile(r"(\d+\.\d*|\.\d+)(E[+-]?\d+)?\Z", re.ASCII)

    def read(self, grid: str, processes: int) -> float:
        """Return the performance (Gflop/s) of a run of this grid with so many processes."""
        self.benchmark = PROGRAM
        position = self.text.find(_TEXTS[0])
        if position < 0:
            last = [line.strip() for line in self.text.splitlines() if line.strip()][-1]
            raise self.error(f"it did not begin; its last words: {last}")
        found: dict[str, list[str]] = {}
        for text, form in zip(_TEXTS, _FORMS, strict=True):
            match = form.match(self.text, position)
            if not match:
                self._stand_at(position)
                raise self.error(f"the output is cut or another: {text.format('N', 'N', 'N')!r}")
            found.setdefault(text, []).extend(match.groups())
            position = match.end()
        self.require_last_line()
        self._stand_at(position)
        if self.text[position:].strip():
            raise self.error("a line behind the last one")
        self.stand()
        self._check_asked(found, grid, processes)
        return self._check_numbers(found, grid)

    def _stand_at(self, position: int) -> None:
        rest = self.text[position:].lstrip()
        number = self.text.count("\n", 0, len(self.text) - len(rest)) + 1
        self.stand(number, rest.partition("\n")[0])

    def _check_asked(self, found: dict[str, list[str]], grid: str, processes: int) -> None:
        """Raise ParseError unless grid and parts are those that were asked for."""
        of_grid = tuple(map(self.integer, found[_TEXTS[1]][:3]))
        if of_grid != GRIDS[grid]:
            raise self.error(f"ran a grid of {of_grid} points instead of {GRIDS[grid]}")
        cut = tuple(map(self.integer, found[_TEXTS[5]]))
        if cut != parts(grid, processes):
            raise self.error(f"cut the grid into {cut} instead of {parts(grid, processes)}")

    def _check_numbers(self, found: dict[str, list[str]], grid: str) -> float:
        """Raise ParseError unless the figures agree with each other, and the residuals can be."""
        # Boundary, and a point that the program does not count, on either side.
        inner = prod(float(n - 3) for n in GRIDS[grid])
        *rehearsed, gosa = map(self.real, found[_TEXTS[7]])
        loops, rate, seconds = self.integer(found[_TEXTS[10]][0]), *map(
            self.real, found[_TEXTS[12]]
        )  # fmt: skip
        if loops != self.integer(found[_TEXTS[9]][0]):
            raise self.error(f"{loops} loops, where {found[_TEXTS[9]][0]} were announced")
        for count, mflops, time in ((3, *rehearsed), (loops, rate, seconds)):
            made = 1e-6 * inner * _OPERATIONS * count / time if time else 0.0
            if not isclose(mflops, made, rel_tol=1e-6):
                raise self.error(f"{mflops:.7g} MFLOPS, where {count} loops in {time:.7g} s are "
                                 f"{made:.7g}")  # fmt: skip
        score = self.real(found[_TEXTS[13]][0])
        if not isclose(score, rate / _UNIT, rel_tol=1e-6):
            raise self.error(f"a score of {score:.7g}, where {rate / _UNIT:.7g} follows")
        # At first each point changes by what two neighbours in k have more than it has.
        first = inner / (3 * (GRIDS[grid][2] - 2) ** 2) ** 2
        if not _ROUNDED[0] * first <= gosa <= _ROUNDED[1] * first:
            raise self.error(f"a residual of {gosa:.4g} after 3 loops, where it is {first:.4g}")
        if (last := self.real(found[_TEXTS[11]][0])) > 1.01 * gosa:
            raise self.error(f"the residual grew from {gosa:.4g} to {last:.4g}")
        return rate / 1000


def parse(text: str, grid: str, processes: int, source: str = "stdout") -> float:
    """Return the performance (Gflop/s) that an output tells of a grid and so many processes.

    Raises ParseError, with the line, for another grid or number, an output that is cut, figures
    that contradict each other, and residuals of another computation.
    """
    return Output(text, source).read(grid, processes)

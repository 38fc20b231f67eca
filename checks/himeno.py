"""Himeno's benchmark: built from its source, or found where the environment has it."""

import hashlib
import os
from pathlib import Path

import reframe as rfm

from acceptance.suites import himeno

from .applications import ApplicationCheck
from .build import BUILT, CompiledBuild
from .no_case import needs_build
from .partitions import mode_of
from .placed import counts

#: What the program reads.
ANSWERS = "himeno.in"


class HimenoBuild(CompiledBuild):
    """The program for an environment, from the folder that `HIMENO_SOURCE` names."""

    suite = "himeno"

    def sources(self):
        """Return that folder."""
        return Path(os.environ[himeno.VARIABLE]).absolute()

    def commands(self):
        """Return what compiles it; GNU's compiler refuses it as it is."""
        legacy = f"$({self.compiler} --version | grep -q '^GNU Fortran' && echo -std=legacy)"
        options = f"-O3 {legacy} {himeno.SOURCE} -o {BUILT}/{himeno.PROGRAM}"
        return f"mkdir -p {BUILT} && {self.compiler} {options}"

    def sources_told(self):
        """Return the checksum of the source."""
        return hashlib.sha256(Path(self.stagedir, himeno.SOURCE).read_bytes()).hexdigest()


@rfm.simple_test
class Himeno(ApplicationCheck):
    """A minute of it at one number of processes."""

    #: The grid: XS, S, M, L, XL. Empty: S in the mode smoke, else that of kandadai2009, L.
    grid = variable(str, value="", loggable=True)

    if needs_build("himeno"):
        build = fixture(HimenoBuild, scope="environment")

    np = parameter(counts("himeno"), loggable=True)

    descr = "Himeno's benchmark"
    suite = benchmark_name = "himeno"
    executable = himeno.PROGRAM
    executable_opts = ["<", ANSWERS]
    valid_prog_environs = ["+himeno"]
    tags = {"himeno", "mpi"}
    differs_by_mode = True

    def asked(self):
        """Return the grid in force; ValueError for one that there is not."""
        grid = self.grid or ("S" if mode_of(self.current_partition, self.mode) == "smoke" else "L")
        if grid not in himeno.GRIDS:
            raise ValueError(f"grid is {grid!r}; it must be one of {', '.join(himeno.GRIDS)}")
        return grid

    @run_before("run")
    def write_answers(self):
        """Ask for the grid, and how it is cut."""
        Path(self.stagedir, ANSWERS).write_text(himeno.answers(self.asked(), self.np))

    def measure(self):
        """Return metric -> (value, unit)."""
        grid = self.asked()
        gflops = himeno.parse(self.output(), grid, self.np, self.stdout.evaluate())
        self.provenance["suite"] = "Himeno's benchmark 3.0"
        self.provenance["parts"] = "x".join(map(str, himeno.parts(grid, self.np)))
        return {himeno.PERFORMANCE.stem: (gflops, himeno.PERFORMANCE.unit)}

    def parameters(self):
        """Return what a reference of this case must agree with."""
        return {**super().parameters(), "grid": himeno.points(self.asked())}

"""CPMD: a wavefunction, then molecular dynamics, from the installation of the environment."""

import reframe as rfm

from acceptance.suites import cpmd
from acceptance.suites.records import TIME

from .applications import ApplicationCheck
from .build import SuiteBuild
from .no_case import needs_build
from .placed import counts


class CpmdBuild(SuiteBuild):
    """CPMD for an environment; it is never built here."""

    suite = "cpmd"


@rfm.simple_test
class Cpmd(ApplicationCheck):
    """The times of both steps of an input at one number of processes."""

    if needs_build("cpmd"):
        build = fixture(CpmdBuild, scope="environment")

    benchmark = parameter(cpmd.INPUTS, loggable=True)
    np = parameter(counts(*cpmd.BENCHMARKS), loggable=True)

    descr = "CPMD"
    suite = "cpmd"
    executable = cpmd.PROGRAM
    valid_prog_environs = ["+cpmd"]
    tags = {"cpmd", "application", "mpi"}
    time_limit = "6h"

    def choose(self):
        """Name the benchmark, and its folder; pseudopotentials are there, too."""
        self.benchmark_name, self.folder = f"cpmd.{self.benchmark}", self.benchmark
        self.executable_opts = [cpmd.FILES[1], "."]

    @run_before("run")
    def go_on(self):
        """Go on from the wavefunction."""
        self.postrun_cmds.append(f"{self.launch_command()} {self.executable} {cpmd.FILES[2]} .")

    def expected(self):
        """Return metric -> unit."""
        return dict.fromkeys(cpmd.metrics(), TIME.unit)

    def measure(self):
        """Return metric -> (value, unit)."""
        output = cpmd.parse(self.output(), self.benchmark, self.np, self.stdout.evaluate())
        self.provenance["suite"] = f"CPMD {output.found[0].facts['version']}"
        times = cpmd.metrics(output.seconds)
        return {name: (seconds, TIME.unit) for name, seconds in times.items()}

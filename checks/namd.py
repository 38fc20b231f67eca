"""NAMD: apoa1, from the installation that the environment names."""

from pathlib import Path

import reframe as rfm

from acceptance.suites import namd
from acceptance.suites.records import TIME

from .applications import ApplicationCheck
from .build import SuiteBuild
from .no_case import needs_build
from .placed import counts

NAME = "namd.apoa1"


class NamdBuild(SuiteBuild):
    """NAMD for an environment; it is never built here."""

    suite = "namd"


@rfm.simple_test
class Namd(ApplicationCheck):
    """The time of 5,000 steps of apoa1 at one number of processes."""

    if needs_build("namd"):
        build = fixture(NamdBuild, scope="environment")

    np = parameter(counts(NAME), loggable=True)

    descr = "NAMD, apoa1"
    suite = "namd"
    benchmark_name = NAME
    folder = namd.INPUTS
    executable = namd.PROGRAM
    executable_opts = [namd.INPUT]
    valid_prog_environs = ["+namd"]
    tags = {"namd", "application", "mpi"}
    time_limit = "3h"

    @run_before("run")
    def ask_for_steps(self):
        """Ask for as many steps as papers have."""
        path = Path(self.stagedir, namd.INPUT)
        path.write_text(namd.configuration(path.read_text()))

    def measure(self):
        """Return metric -> (value, unit)."""
        output = namd.parse(self.output(), self.np, self.stdout.evaluate())
        self.provenance["suite"] = f"NAMD {output.version}"
        return {TIME.stem: (output.seconds, TIME.unit)}

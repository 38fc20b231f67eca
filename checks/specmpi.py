"""SPEC MPI2007: each code of the medium suite, from the installation that the environment names."""

import shlex
from pathlib import Path

import reframe as rfm
from reframe.core.backends import getlauncher

from acceptance.suites import specmpi
from acceptance.suites.records import TIME

from .applications import ApplicationCheck
from .build import SuiteBuild
from .no_case import needs_build
from .placed import counts

#: Made before the run: what is newer was written by it.
BEGUN = "begun"


class SpecmpiBuild(SuiteBuild):
    """The suite for an environment; `runspec` builds the codes itself."""

    suite = "specmpi"


@rfm.simple_test
class Specmpi(ApplicationCheck):
    """The time of a code at one number of processes.

    `runspec` starts the ranks, by the command that it is given as a macro; what they print it keeps
    for itself, so that nothing says where they stood.
    """

    #: The configuration, of the installation's `config/`.
    config = variable(str, value="acceptance", loggable=True)

    if needs_build("specmpi"):
        build = fixture(SpecmpiBuild, scope="environment")

    code = parameter(specmpi.CODES, loggable=True)
    np = parameter(counts(*specmpi.BENCHMARKS), loggable=True)

    descr = "SPEC MPI2007"
    suite = "specmpi"
    executable = specmpi.PROGRAM
    valid_prog_environs = ["+specmpi"]
    tags = {"specmpi", "application", "mpi"}
    time_limit = "6h"

    def choose(self):
        """Name the benchmark."""
        self.benchmark_name = f"specmpi.{self.code}"

    @run_before("run")
    def ask(self):
        """Have `runspec` start the ranks, and take the table that it writes."""
        folder, launch = self.installation().absolute(), self.launch_command()
        self.job.launcher = getlauncher("local")()
        self.verified = False
        macro = f"--define {specmpi.LAUNCH}={shlex.quote(launch)}"
        self.executable_opts = [macro, *specmpi.options(self.code, self.np, self.config)]
        where = shlex.quote(str(folder))
        self.prerun_cmds += [
            f"touch {BEGUN}",
            f'here=$PWD && cd {where} && . ./{specmpi.SETTINGS} && cd "$here"',
        ]
        self.postrun_cmds.append(
            f"find {where}/result -name '*.csv' -newer {BEGUN} -exec cp {{}} . ';'"
        )

    def measure(self):
        """Return metric -> (value, unit) from the table of this run."""
        names = sorted(path.name for path in Path(self.stagedir).glob("*.csv"))
        tables = {name: self.read_file(name) for name in names}
        name = specmpi.table_of(tables, self.code, self.np)
        seconds, version = specmpi.parse(tables[name], self.code, self.np, name)
        self.provenance["suite"] = f"SPEC MPI2007 {version}"
        self.keep_files = [*self.keep_files, name]
        return {TIME.stem: (seconds, TIME.unit)}

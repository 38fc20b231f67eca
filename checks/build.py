"""The fixture that builds a suite once for each environment."""

import re
from pathlib import Path

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError

from acceptance import simulation
from acceptance.core.findings import OTHER_SOFTWARE, Finding
from acceptance.core.paths import GET_SPACK, Workspace
from acceptance.core.text import read_bounded
from acceptance.machine import (
    BUILD,
    Spack,
    broken_promise,
    compiler_of,
    compiles,
    complaint,
    environment_for,
    find_program,
    keep_lock,
    may_build,
    program_of,
    read_lock,
    software_of,
    source_of,
    stated_version,
)
from acceptance.suites import SUITES, patterns

from .extras import environment_of, refuse_wrong

#: Ends a build that failed, so that what Spack said fits into one line.
FAILED = "this build of the suite failed"
#: Bytes that are read of the beginning, and of the end, of what a build printed.
READ = 8 * 2**20
#: Where configure failed, in the line before why.
_WHERE = re.compile(r"configure: error: in [`'].*':$")
#: Where the builds for SimGrid that failed in this session were to be -> the partition.
_FAILED = {}
#: The folder in the stage of what we compile ourselves, and what precedes the compiler's version.
BUILT, VERSION = "built", "version of the compiler:"


def first_error(output: str) -> str:
    """Return the first error of a compiler in what make printed, else its first line.

    One of configure, `configure: error: in FOLDER:`, goes on in the next line with the cause.
    """
    lines = [line.strip() for line in output.splitlines() if not line.startswith("make")]
    errors = (line for line in lines if " error: " in line and not _WHERE.search(line))
    return next(errors, "".join(lines[:1]))[:300]


class SuiteBuild(rfm.CompileOnlyRegressionTest):
    """A suite for one environment; consumers run the programs that `find` finds.

    An environment with the feature `spack` says in `extras["spack"]` which MPI it takes; the
    suite is installed from a staged copy of its Spack environment, and what was built is in
    `provenance`. Any other environment has the suite already: below the folder that it names, or
    on its PATH.
    """

    #: The suite, a key of `acceptance.suites.SUITES`.
    suite = variable(str, loggable=True)
    #: As that of the checks: how much they measure.
    mode = variable(str, value="", loggable=True)
    #: What was built: spec, hash, compiler, MPI, target, Spack, package repository.
    provenance = variable(typ.Dict[str, str], value={}, loggable=True)
    #: As those of the checks.
    findings = variable(typ.List[typ.Dict[str, str]], value=[], loggable=True)
    #: The source that it is built from for SimGrid; empty: it is not.
    built_from = ""
    #: More options for `spack install`, for a run by hand.
    install_options = variable(typ.List[str], value=[], loggable=True)

    descr = "build of a suite"
    build_system = "Spack"
    build_time_limit = "90m"

    @run_after("setup")
    def compose(self):
        """Stage the Spack environment of this suite, system and MPI."""
        refuse_wrong(self.current_partition, self.current_environ)
        self.descr = f"build of {SUITES[self.suite].title}"
        self.sourcesdir = None
        # On a machine that measures itself a build counts as a job, so that none runs beside a
        # measurement; a cluster's login node builds while its nodes measure.
        self.build_locally = not self.current_partition.scheduler.is_local
        environment = environment_of(self.current_environ, self.current_partition)
        if fault := broken_promise(environment, SUITES[self.suite]):
            self.findings = [Finding(OTHER_SOFTWARE, fault, fails=True).as_data()]
            raise SanityError(fault)
        self.built_from = source_of(environment, self.suite)
        if self.built_from:
            self.compose_simulated()
            return
        if "spack" not in self.current_environ.features:
            self.build_system = "CustomBuild"
            self.build_system.commands = ["true"]
            return
        found = Spack.find(Workspace.of())
        if found is None:
            raise SanityError(f"there is no Spack any more; get one with: {GET_SPACK}")
        self.identity = found.identity()
        self.source = environment_for(
            self.suite,
            self.current_system.name,
            self.current_environ.extras["spack"]["mpi"],
            found,
            stated_version(environment, self.suite),
            self.variants(),
            self.current_environ.extras.get("packages", {}),
        )
        if not may_build(self.suite, self.current_system.name):
            self.skip_if(
                not (self.source / "spack.lock").exists(),
                f"Spack has not built it as it is asked for; to build it: {BUILD}={self.suite}",
            )
        self.sourcesdir = str(self.source)
        self.build_system.environment = "."
        self.build_system.install_opts = [*self.install_options, f"|| echo {FAILED} >&2"]
        self.env_vars = {**found.environment(), "PATH": f"{found.root}/bin:$PATH"}
        self.keep_files = ["spack.yaml", "spack.lock"]

    def compose_simulated(self):
        """Build the suite for SimGrid from its source, once for all partitions."""
        var = Workspace.of().var
        wanted = self.to_build()
        self.folder = simulation.build_folder(self.suite, self.built_from, var, wanted)
        self.skip_failed()
        command = simulation.build_command(self.suite, self.built_from, self.folder, wanted)
        self.build_system = "CustomBuild"
        self.build_system.commands = [f"{command} || echo {FAILED} >&2"]

    def variants(self) -> str:
        """Return what is added to the spec of the suite."""
        return ""

    def to_build(self) -> list[str]:
        """Return the programs that are built for SimGrid; empty: all that the suite has."""
        return []

    def programs(self) -> list[tuple[str, ...]]:
        """Return the programs that checks will run; of several names one has to be there."""
        return [(program,) for program in SUITES[self.suite].programs]

    def find(self, *names: str) -> Path:
        """Return the first of these programs that is there; raises FileNotFoundError."""
        if "spack" in self.current_environ.features:
            return find_program(Path(self.stagedir) / ".spack-env/view", *names)
        if self.built_from:
            return find_program(self.folder, *names)
        environment = environment_of(self.current_environ, self.current_partition)
        return program_of(environment, self.suite, *names)

    @sanity_function
    def complete(self):
        """Compare what was built with what the checks will run."""
        self.take_built()
        for alternatives in self.programs():
            try:
                self.find(*alternatives)
            except FileNotFoundError as err:
                raise SanityError(
                    f"{SUITES[self.suite].title}: {err}, though the build succeeded"
                ) from None
        return True

    def take_built(self):
        """Tell what was built; a build that failed fails here."""
        if "spack" in self.current_environ.features:
            self.refuse_failed("Spack", complaint)
            self.take_lock()
        elif self.built_from:
            self.skip_failed()
            self.refuse_failed("smpicc", first_error)
            self.provenance = {"source": self.built_from}

    def refuse_failed(self, builder, complaint_of):
        """Fail where the build printed that it failed, with what its builder complains of."""
        output = self.text_of(self.build_stderr) + self.text_of(self.build_stdout)
        if FAILED in output:
            if self.built_from:
                _FAILED[self.folder] = self.current_partition.fullname
            raise SanityError(
                f"{builder} could not build {SUITES[self.suite].title} for "
                f"{self.current_environ.name}: {complaint_of(output.replace(FAILED, ''))} "
                f"(all of it: {self.stagedir}/{self.build_stderr.evaluate()})"
            )

    def skip_failed(self):
        """Skip what failed on another partition, which takes the same build: it is told there."""
        where = _FAILED.get(self.folder)
        self.skip_if(bool(where), f"its build is that of {where}, which failed")

    def take_lock(self):
        """Keep the lock of what was built for the next run."""
        lock = Path(self.stagedir, "spack.lock").read_text()
        self.provenance = read_lock(lock, self.identity)
        keep_lock(self.source, lock)

    def text_of(self, name):
        """Return the text of an output of the build, beginning and end of a long one."""
        return read_bounded(Path(self.stagedir, name.evaluate()), READ, READ)[0]


class CompiledBuild(SuiteBuild):
    """A suite whose sources the compiler of the environment's MPI compiles, in the stage.

    Where Spack builds it, or the environment names a folder that has it, nothing is compiled. A
    subclass defines

    - `sources()` -> Path, the folder of the sources;
    - `commands()` -> str, what `compiler` makes of them in the folder `BUILT`;
    - `sources_told()` -> str, what tells these sources from others, once they are staged.
    """

    @run_after("setup")
    def compile_ours(self):
        """Have the sources compiled in the stage, where no Spack does."""
        environment = environment_of(self.current_environ, self.current_partition)
        self.compiles = compiles(environment, SUITES[self.suite])
        self.compiler = compiler_of(environment, SUITES[self.suite])
        if self.compiles:
            self.sourcesdir = str(self.sources())
            self.build_system.commands = [
                f"{self.commands()} || echo {FAILED} >&2",
                f"echo {VERSION}; {self.compiler} --version || :",
            ]

    def find(self, *names):
        """Return the first of these programs that is there; raises FileNotFoundError."""
        if self.compiles:
            return find_program(Path(self.stagedir) / BUILT, *names)
        return super().find(*names)

    def take_built(self):
        """Tell what compiled which sources, with which MPI."""
        if not self.compiles:
            super().take_built()
            return
        self.refuse_failed(self.compiler, first_error)
        environment = environment_of(self.current_environ, self.current_partition)
        told = self.text_of(self.build_stdout).partition(f"\n{VERSION}\n")[2]
        self.provenance = {
            "sources": self.sources_told(),
            "compiler": told.strip().partition("\n")[0],
            **software_of(environment, self.suite, self.find(*SUITES[self.suite].programs)),
        }


class PatternsBuild(CompiledBuild):
    """Our own program for an environment, from `checks/src/patterns/`.

    Spack builds it where the environment has Spack's MPI; else the compiler of the environment's
    MPI does, unless the environment names a folder that has it.
    """

    suite = "patterns"

    def variants(self):
        """Build anew whenever the sources change."""
        return f"sources={patterns.checksum()}"

    def sources(self):
        """Return the folder of the sources."""
        return patterns.SOURCES

    def commands(self):
        """Return what compiles them."""
        return f"make MPICC={self.compiler} BUILD={BUILT}"

    def sources_told(self):
        """Return their checksum."""
        return patterns.checksum(Path(self.stagedir))


class ImbBuild(SuiteBuild):
    """IMB for an environment."""

    suite = "imb"

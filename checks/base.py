"""The base of all checks: it measures completely, judges by a stated reference, or fails."""

import functools
import sys
from functools import partial
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from msgspec.structs import replace
from reframe.core.exceptions import PerformanceError, SanityError

from acceptance import references
from acceptance.core import words
from acceptance.core.errors import QUOTED
from acceptance.core.findings import OTHER_SOFTWARE, Finding
from acceptance.core.paths import Workspace
from acceptance.core.text import clipped
from acceptance.core.words import is_measured
from acceptance.machine import (
    other_version,
    program_of,
    read_program,
    slurm,
    software_of,
    stated_version,
)
from acceptance.references import SOURCES
from acceptance.suites import duration

from . import progress, reframe_patches, shared_machine, simulated
from .extras import environment_of, refuse_wrong, simulator_of
from .no_case import tell
from .outputs import Outputs
from .partitions import access_of

reframe_patches.apply()

#: The least share of one thing in another that is a metric of its own (%).
LEAST_SHARE = 1.0


@functools.cache
def library() -> references.Library:
    """Load `reference/` once a session; a malformed file there fails every check with its line."""
    return references.load(Workspace.of().reference)


def stated(partition, benchmark: str) -> list[dict[str, str]]:
    """Return the parameters under which references name results of a partition."""
    system, _, name = partition.fullname.partition(":")
    try:
        return library().stated(system, name, benchmark)
    except references.ReferenceFault:
        # No case is dropped for it: each one fails with the line when it is judged.
        return []


class JudgedCheck(rfm.RunOnlyRegressionTest, Outputs, special=True):
    """A check whose every declared metric is measured and judged, or shown as not judged.

    A subclass sets `suite` in its body, `benchmark_name` and `columns` (of its table, that are
    metrics) after `init`, `executable` and what the run needs until the `setup` phase ends, and
    defines

    - `expected()` -> {metric: unit}, all metrics of this case and no other one;
    - `measure()` -> {metric: (value, unit)}, raising an exception that names file and line for
      an output that is not complete;
    - `parameters()` -> {key: value}, what a reference must agree with (`reference/README.md`).
    """

    #: The suite, as environments name it among their features.
    suite = variable(str, loggable=True)
    #: `<suite>.<program>`, the name of the benchmark in `reference/`.
    benchmark_name = variable(str, value="", loggable=True)
    #: Metric -> citation of the reference that judges it; a metric that is missing here was
    #: recorded, not judged.
    judged_by = variable(typ.Dict[str, str], value={}, loggable=True)
    #: What a reference must agree with: the keys of `reference/README.md` and their values.
    keys = variable(typ.Dict[str, str], value={}, loggable=True)
    #: All metrics that a complete run has, with their units.
    declared = variable(typ.Dict[str, str], value={}, loggable=True)
    #: What ran: versions of suite and MPI.
    provenance = variable(typ.Dict[str, str], value={}, loggable=True)

    #: What was seen that is not as it should be (`acceptance.core.findings`).
    findings = variable(typ.List[typ.Dict[str, str]], value=[], loggable=True)
    #: How much is measured: smoke, nightly or acceptance; empty: as the partition says in its
    #: extras (`mode`), else nightly.
    mode = variable(str, value="", loggable=True)

    sourcesdir = None
    time_limit = "10m"
    #: Whether what a case measures, beside whether it runs, depends on the mode.
    differs_by_mode = False
    #: A program that exits with a failure has said what it measured, and why it fails.
    says_all = False
    #: Its suite may be installed, or built, without this program: there is no case of it then.
    may_lack = False
    #: It may ask the scheduler which nodes there are; a listing, also one of another system, not.
    asks_scheduler = True

    def __init_subclass__(cls, **options):
        """Say which partitions this check file gives no case on."""
        super().__init_subclass__(**options)
        tell(Path(sys.modules[cls.__module__].__file__).stem)

    @run_after("setup")
    def refuse_extras(self):
        """Run nothing where partition or environment state what cannot be."""
        refuse_wrong(self.current_partition, self.current_environ)

    @run_before("run")
    def end_in_time(self):
        """Leave out what would begin after the time of the run is over."""
        self.skip_if(bool(reason := progress.too_late()), reason)

    @run_before("run")
    def find_executable(self):
        """Find the program that the job runs."""
        self.locate()

    def locate(self):
        """Take the program from where the environment, or the build for it, has the suite.

        A program with a path is of no suite, but of the check itself.
        """
        if "/" in self.executable:
            return
        build = getattr(self, "build", None)
        environment = environment_of(self.current_environ, self.current_partition)
        find = build.find if build else partial(program_of, environment, self.suite)
        try:
            program = find(*self.program_names())
        except FileNotFoundError as err:
            self.skip_if(self.may_lack, f"its suite {self.suite} has no such program")
            raise SanityError(
                f"{err}; the environment {self.current_environ.name} promises the suite "
                f"{self.suite} (look with: acceptance doctor)"
            ) from None
        self.executable = str(program)
        self.provenance = dict(build.provenance) if build else {}
        if not self.provenance:
            self.provenance = software_of(environment, self.suite, program)
        self.provenance |= simulator_of(self.current_partition)

    def program_file(self):
        """Return the file of the program, from inside its image if it has one; empty: unreadable.

        Raises SanityError.
        """
        environment = environment_of(self.current_environ, self.current_partition)
        try:
            return read_program(environment, self.suite, Path(self.executable))
        except FileNotFoundError as err:
            raise SanityError(str(err)) from None

    def contained(self, command):
        """Return a command as it runs inside the image of the case; unchanged where it has none."""
        if not self.container_platform.image:
            return command
        self.container_platform.command = command
        return self.container_platform.launch_command(self.stagedir)

    def program_names(self):
        """Return the names of the program; versions of a suite may name it differently."""
        return (self.executable,)

    @sanity_function
    def measured(self):
        """Read the output once; a metric that is missing or impossible fails the case."""
        self.keys = self.parameters()
        # A job that was cut short may have the exit status 0, and may have printed all.
        if ended := self.given_up() or slurm.cut_short(self.said(), self.job.state):
            raise SanityError("; ".join(self.fail([ended])))
        # None where the scheduler does not tell; an output that was cut tells then.
        if self.job.exitcode and not self.says_all:
            raise SanityError(f"exited with status {self.job.exitcode}: {self.last_words()}")
        try:
            self.errors()  # what is too long to be read says nothing of what is in it
            self.declared = self.expected()
            self.measurements = self.measure()
            told = {**self.provenance, **simulator_of(self.current_partition)}
            self.provenance = {key: clipped(text, QUOTED) for key, text in told.items()}
            self.refuse(self.of_another_version())
        except ValueError as err:  # a ParseError, mostly; ReFrame would show our code beside it
            raise SanityError("; ".join([str(err), *self.fate()])) from None
        missing = [name for name in self.declared if name not in self.measurements]
        surplus = [name for name in self.measurements if name not in self.declared]
        if not self.declared:
            raise SanityError(f"{self.benchmark_name}: declares no metric")
        if missing or surplus:
            raise SanityError(
                f"{self.benchmark_name}: metrics missing: {', '.join(missing) or 'none'}; "
                f"not asked for: {', '.join(surplus) or 'none'}"
            )
        for name, (value, unit) in self.measurements.items():
            declared, what = self.declared[name], f"{self.benchmark_name}: {name} is"
            if not is_measured(value):
                raise SanityError(f"{what} {value} {unit}")
            if unit != declared:
                raise SanityError(f"{what} in {unit}, declared in {declared}")
        return True

    def of_another_version(self):
        """Yield the finding that its output is of another version than its environment states."""
        environment = environment_of(self.current_environ, self.current_partition)
        told = self.provenance.get("suite", "").partition(" ")[2]
        if fault := other_version(environment, self.suite, told, self.stdout.evaluate()):
            yield Finding(OTHER_SOFTWARE, f"the environment {self.current_environ.name}: {fault}")

    def of_unknown_version(self):
        """Yield the finding that nothing told whether it is of the version that is stated."""
        environment = environment_of(self.current_environ, self.current_partition)
        stated = stated_version(environment, self.suite)
        if stated and not any(map(self.provenance.get, ("suite", "easybuild"))):
            yield Finding(
                "version-unknown",
                f"the environment {self.current_environ.name} states version {stated} of "
                f"{self.suite}, and {self.stdout.evaluate()} tells none",
            )

    def given_up(self):
        """Return that ReFrame cancelled the job while it waited for its nodes, None if not so."""
        waited = getattr(self.job, "is_cancelling", False) and self.max_pending_time
        if not waited or Path(self.stagedir, self.stdout.evaluate()).exists():
            return None
        text = f"its job waited for {self.max_pending_time:g} s and did not start"
        return Finding("not-started", text)

    def fate(self):
        """Ask Slurm about the job where ReFrame takes one that it does not see for completed."""
        if self.current_partition.scheduler.registered_name != "squeue":
            return []
        answer = slurm.ask(self.job.jobid, access_of(self.current_partition))
        self.fail([answer] if answer.kind else [])
        return [answer.text, f"its last words: {self.last_words()}"]

    @run_before("performance")
    def note_sharing(self):
        """Note which other runs had jobs on this machine: it is no sample of its history then.

        And what of that and of other things nobody can know with this ReFrame.
        """
        if not self.is_dry_run():
            unknown = (*self.of_unknown_version(), *reframe_patches.unknown())
            self.record([*shared_machine.sharing(self), *unknown])

    @run_before("performance")
    def judge(self):
        """Declare each metric to ReFrame, with the first reference that exists."""
        if self.is_dry_run():
            return
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), unit)
            for name, (value, unit) in self.measurements.items()
        }
        units = {name: unit for name, (_, unit) in self.measurements.items()}
        found = self.references_of(units)
        limits = {name: each[0] for name, each in found.items() if each}
        self.reference = {self.current_partition.fullname: limits} if limits else {}
        self.judged_by = {name: each[1] for name, each in found.items() if each}

    def check_performance(self):
        """Compare each metric with its reference; all that is wrong fails the case together."""
        troubles = [] if self.is_dry_run() else self.fail(self.troubles())
        try:
            super().check_performance()
        except PerformanceError as err:
            troubles += references.misses_text(self.perfvalues, self.judged_by) or [str(err)]
        if troubles:
            raise PerformanceError("; ".join([*troubles, *self.causes()]))

    def troubles(self):
        """Return observations: why the numbers are not what they say, whatever their references."""
        return []

    def record(self, observations):
        """Log what was seen, as data."""
        self.findings = [*self.findings, *(each.as_data() for each in observations)]

    def fail(self, observations):
        """Log what fails the case, as data; return its texts."""
        failing = [replace(each, fails=True) for each in observations]
        self.record(failing)
        return [each.text for each in failing]

    def refuse(self, contradictions):
        """Fail the case by the first of what says that its output is of another job."""
        if found := next(iter(contradictions), None):
            raise SanityError("; ".join(self.fail([found])))

    def causes(self):
        """Return what may explain a failure."""
        return []

    def references_of(self, units):
        """Return what `reference_of` does of each metric (name -> unit)."""
        return {name: self.reference_of(name, unit) for name, unit in units.items()}

    def reference_of(self, name, unit):
        """Return ReFrame's reference tuple of a metric and its citation; None if there is none."""
        row, thresholds = self.judged_by_row(name, unit)
        return ((row.value, *thresholds, unit), row.citation) if thresholds else None

    def judged_by_row(self, name, unit):
        """Return the row of `reference/` that judges a metric, and its thresholds; or None twice.

        Nothing judges where there is no row, or none that can (`Tolerances.thresholds`).
        """
        stem, own = words.read_metric(name)
        parameters = {**self.parameters(), "environment": self.current_environ.name, **own}
        place = self.current_system.name, self.current_partition.name, self.benchmark_name
        try:
            if words.is_simulated(place[0]):
                return simulated.judged_by_row(self, library(), place, stem, parameters, unit)
            row = library().look_up(*place, stem, parameters, unit, self.sources(name))
        except (references.ReferenceFault, ValueError) as err:
            raise SanityError(str(err)) from None
        return (row, within) if row and (within := library().thresholds(row)) else (None, None)

    def sources(self, name):
        """Return the sources of references that may judge a metric."""
        return SOURCES

    def settle(self):
        """Set what keys and metrics follow from, on a partition and without a job: for a listing.

        Raises ValueError where the partition does not state what that takes.
        """

    def seconds(self, part):
        """Return how long a case on a partition takes, by formula and before it ever ran."""
        is_local = part.scheduler.registered_name == "local"
        return duration.START + (0 if is_local else duration.QUEUED)

    def listed(self):
        """Return metric -> unit, as `expected()` will, before anything ran."""
        return self.expected()

    def named(self, rows):
        """Name the metrics of a table {message size: {column: value}}: metric -> (value, unit).

        The size is None in a table without sizes. A row that is None has only names; a bandwidth
        has its peak as well, where the sweep is the standard one: that of fewer sizes is another.
        """
        found = {}
        for column in self.columns:
            values = {
                size: row and row[column.name]
                for size, row in rows.items()
                if self.is_metric(column, size)
            }
            for size, value in values.items():
                name = column.stem if size is None else words.sized(column.stem, size)
                # No overlap at all, and less than that, are one to a history of ratios.
                is_share = column.unit == "%" and value is not None
                found[name] = (max(value, LEAST_SHARE) if is_share else value, column.unit)
            if column.stem == "bandwidth" and self.is_full_sweep():
                peak = None if None in values.values() else max(values.values())
                found["bandwidth_peak"] = (peak, column.unit)
        return found

    def is_full_sweep(self):
        """Tell whether the table has all message sizes that it has unless others are asked for."""
        return True

    def is_metric(self, column, size):
        """Tell whether a column of a row with this message size (bytes) is a metric."""
        return True


reframe_patches.drop_variables(JudgedCheck)

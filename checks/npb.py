"""NAS Parallel Benchmarks: nine programs, their classes, and the ways in which ranks can stand."""

import functools
import itertools
import sys
from collections.abc import Collection
from typing import NamedTuple

import reframe as rfm
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError

from acceptance.machine import pinned_version, stated_version
from acceptance.references import SOURCES
from acceptance.suites import duration, npb

from .base import stated
from .build import SuiteBuild
from .extras import environment_of, extras_of
from .no_case import needs_build
from .partitions import (
    PACKED,
    cores_of,
    differs,
    memory_of,
    mode_of,
    modes_of_run,
    nodes_for,
    nodes_of,
    packings,
    partitions,
    placements,
    standing,
)
from .placed import PlacedCheck, shown

SIMULATED_RANKS = 64  # at most, all of them on this machine

#: Mode -> classes; nightly the smaller one up to FEW processes, the other beyond.
CLASSES = {"smoke": ("S",), "nightly": ("B", "C"), "acceptance": ("C", "D")}
FEW = 16
TIME_LIMITS = {"smoke": "5m", "nightly": "30m", "acceptance": "3h"}


@functools.cache
def version_of(part) -> str:
    """Return the oldest version of NPB that environments of a partition have."""
    versions = {
        stated_version(environment_of(environ, part), "npb") or pinned_version("npb")
        for environ in part.environs
        if "npb" in environ.features
    }
    return min(versions, default="3.4")


@functools.cache
def published(part) -> set[tuple[str, str, int]]:
    """Return benchmark, class and processes of results that papers have of a partition."""
    return {
        (name, keys["class"], int(keys["np"]))
        for name in npb.BENCHMARKS
        for keys in stated(part, f"npb.{name}")
        if {"np", "class"} <= keys.keys()
    }


@functools.cache
def cases(part, mode: str, classes: str) -> set[tuple[str, str, int]]:
    """Return benchmark, class and processes of the runs of a partition in a mode.

    `classes` (`S,W`) overrides those of the mode; ValueError for a class that there is not. In the
    acceptance mode all numbers of processes are run, and what papers have; otherwise the largest
    one that a class allows, whether papers have it or not. A class of dt is a number of processes:
    the largest one is run. What is simulated is really computed, and always that of the smoke mode.
    """
    mode = "smoke" if extras_of(part).simulated else mode
    wanted = classes.split(",") if classes else CLASSES[mode]
    if unknown := [word for word in wanted if word not in tuple(npb.CLASSES)]:
        raise ValueError(f"classes has {', '.join(map(repr, unknown))}; it takes some of S,W,A,...")
    found = set()
    for name, row in npb.BENCHMARKS.items():
        if not row.is_in(mode):
            continue
        any_class = name in npb.TRAFFIC and not classes
        legal = [
            case for case in possible(part)
            if case[0] == name and (any_class or case[1] in wanted)
        ]  # fmt: skip
        if any_class:
            legal = legal[-1:]
        elif mode == "nightly" and not classes:
            legal = [case for case in legal if case[1] == wanted[case[2] > FEW]][-1:]
        elif mode != "acceptance":
            legal = list({case[1]: case for case in legal}.values())
        found |= {*legal}
    if mode == "acceptance":
        found |= published(part) & {*possible(part)}
    return found


@functools.cache
def possible(part) -> list[tuple[str, str, int]]:
    """Return every run that a partition has the cores and the memory for, by its processes."""
    least, largest, version = 1, cores_of(part) * nodes_of(part), version_of(part)
    if extras_of(part).simulated:  # a rank alone communicates with nobody, and takes no time
        least, largest = 2, min(largest, SIMULATED_RANKS)
    counted = {
        (name, problem_class, processes)
        for name in npb.BENCHMARKS
        for problem_class in npb.CLASSES
        for processes in npb.counts(name, largest)
    }
    return sorted(
        (
            case
            for case in counted | published(part)
            if least <= case[2] <= largest
            and npb.legal(*case, version)
            and npb.is_linkable(*case, version)
            and fits_memory(part, *case, most_nodes(part, case[2]))
        ),
        key=lambda case: (case[2], case),
    )


def most_nodes(part, processes: int) -> int:
    """Return the largest number of nodes that a run of so many processes is placed on."""
    return nodes_for(part, processes, processes) or -(-processes // cores_of(part))


def fits_memory(part, name: str, problem_class: str, processes: int, nodes: int) -> bool:
    """Tell whether a class fits into three quarters of the memory of the nodes that it takes.

    The rest is for the system and the MPI; a paper that ran it had room with less. Classes up to W
    fit anywhere, those up to C where a partition does not say its memory.
    """
    memory = memory_of(part)
    if problem_class in "SW" or not memory:
        return problem_class in "SWABC"
    share = 0.95 if (name, problem_class, processes) in published(part) else 0.75
    return npb.memory(name, problem_class, processes) <= share * memory * nodes


class Variant(NamedTuple):
    """What one case runs, a program as 3.3 names it (cg.C.128), and how its ranks stand.

    One parameter, since most of their product is no case; names read as with a parameter of each.
    """

    program: str
    placement: str
    mapping: str = "block"
    path: str = "shared"


def variants() -> list[Variant]:
    """Return the runs that a mode of this run has, and any partition cores, nodes and memory for.

    Where there is none the smallest one, which fits no partition: see `largest_job`.
    """
    places = [where for where in placements() if where in ("intra-node", "inter-node")]
    ways = [*itertools.product(places, ("block", "cyclic"), ("shared", "loopback"))]
    ways += [(where, "block", "shared") for where in packings()]
    placed = {
        (case, way)
        for part in partitions()
        for case, way in itertools.product(wanted(part), ways)
        if stands(part, case, *way)
    }
    found = [Variant(npb.program(*case, "3.3"), *way) for case, way in sorted(placed)]
    return found or [Variant("is.S.2", "intra-node")]


def wanted(part) -> Collection[tuple[str, str, int]]:
    """Return benchmark, class and processes of what a partition may run now.

    The command may name classes, and so may a mode of a site's own (`--mode`): then it is all.
    """
    if any("classes" in word or word.startswith("--mode") for word in sys.argv[1:]):
        return possible(part)
    return {*itertools.chain.from_iterable(cases(part, mode, "") for mode in modes_of_run())}


def stands(part, case: tuple[str, str, int], placement: str, mapping: str, path: str) -> bool:
    """Tell whether a partition has the cores, nodes and memory for a run that stands so."""
    np = case[2]
    nodes = standing(part, np, placement, np, spills=mapping == "block")
    return nodes > 0 and differs(np, nodes, mapping, path) and fits_memory(part, *case, nodes)


class NpbBuild(SuiteBuild):
    """NPB for an environment: the programs that its partition will run, and no other."""

    suite = "npb"
    #: As that of `Npb`: set it without the name of the class, `-S classes=W`.
    classes = variable(str, value="", loggable=True)

    def cases(self):
        """Return what will be run."""
        part = self.current_partition
        return cases(part, mode_of(part, self.mode), self.classes)

    def variants(self):
        """Restrict names, classes and numbers of processes; the default builds hundreds."""
        names, classes, counts = (sorted(set(column)) for column in zip(*self.cases(), strict=True))
        names = sorted({name.partition("-")[0] for name in names})
        return (
            f"names={','.join(names)} classes={','.join(classes)} "
            f"nprocs={','.join(map(str, counts))}"
        )

    def to_build(self):
        """Return the programs that checks will run, as 3.3 names them."""
        return [npb.program(*case, "3.3") for case in sorted(self.cases())]

    def programs(self):
        """Return the programs that checks will run, as 3.3 and as 3.4 name them."""
        return sorted(program_names(*case) for case in self.cases())


def program_names(name: str, problem_class: str, processes: int) -> tuple[str, ...]:
    """Return the names that a program has in 3.3, which runs no dt, and in 3.4."""
    versions = ("3.4",) if name in npb.TRAFFIC else ("3.3", "3.4")
    return tuple(npb.program(name, problem_class, processes, version) for version in versions)


@rfm.simple_test
class Npb(PlacedCheck):
    """One benchmark of NPB: a class, a number of processes, and how these stand."""

    #: Classes to run, `S,W`, instead of those of the mode. Set it for the build as well: `-S
    #: classes=W`.
    classes = variable(str, value="", loggable=True)
    #: Lay out cyclically and use the loopback in the smoke and nightly modes, too.
    all_ways = variable(typ.Bool, value=False, loggable=True)

    if needs_build("npb"):
        build = fixture(NpbBuild, scope="environment")

    #: All of `Variant`; from `choose` on its program alone: benchmark, class, number of processes.
    program = parameter(variants(), fmt=shown, loggable=True)
    placement = variable(str, loggable=True)
    mapping = variable(str, loggable=True)
    path = variable(str, loggable=True)

    np = variable(int, loggable=True)
    benchmark = variable(str, loggable=True)
    problem_class = variable(str, loggable=True)

    descr = "NAS Parallel Benchmarks"
    suite = "npb"
    #: The one of `program_names()` that is there takes its place.
    executable = "npb"
    valid_prog_environs = ["+npb"]
    tags = {"npb", "mpi"}
    #: None: by the mode.
    time_limit = None

    def choose(self):
        """Take the variant apart, and name the benchmark."""
        for name, value in self.program._asdict().items():
            setattr(self, name, value)
        self.benchmark, self.problem_class, np = self.program.split(".")
        self.np = int(np)
        self.benchmark_name = f"npb.{self.benchmark}"
        if self.benchmark in npb.TRAFFIC:
            self.executable_opts = [self.benchmark.partition("-")[2].upper()]

    def spills(self):
        """Run 121 processes on nodes of 8 cores."""
        return True

    def takes(self, part):
        """Take what the mode runs."""
        mode = mode_of(part, self.mode)
        usual = self.mapping == "block" and self.path == "shared"
        if not usual and (self.placement == PACKED or (mode != "acceptance" and not self.all_ways)):
            return False
        case = self.benchmark, self.problem_class, self.np
        # The processes of a case may stand on fewer nodes than they could.
        return case in cases(part, mode, self.classes) and fits_memory(
            part, *case, self.nodes(part)
        )

    @run_after("setup")
    def agree(self):
        """Make sure that what is run is among what was built."""
        build, part = getattr(self, "build", None), self.current_partition
        chosen = [(mode_of(part, one.mode), one.classes) for one in (self, build) if one]
        if len(set(chosen)) > 1:
            raise SanityError(
                f"{self.benchmark_name}: its build is of another mode or of other classes; choose "
                "for both, without the name of the check: -S classes=W, -S mode=nightly"
            )

    @run_before("run")
    def limit_time(self):
        """Give the larger classes more time, and those that were chosen by hand the most."""
        if self.time_limit is None:
            mode = "acceptance" if self.classes else mode_of(self.current_partition, self.mode)
            self.time_limit = TIME_LIMITS[mode]

    def seconds(self, part):
        """Return how long a case on a partition takes."""
        computes = duration.of_npb(self.benchmark, self.problem_class, self.np)
        return super().seconds(part) + computes

    def settle(self):
        """Take the run for one that is long enough."""
        super().settle()
        self.too_short = False

    def program_names(self):
        """Return the names that the program has in 3.3 and in 3.4."""
        return program_names(self.benchmark, self.problem_class, self.np)

    def expected(self):
        """Return metric -> unit."""
        return {column.stem: column.unit for column in self.columns}

    @property
    def columns(self):
        """Return what is measured of the final block."""
        if self.simulated:
            return [npb.COMMUNICATION]
        # The time is printed with two decimals: of class S it is often 0.00.
        small = self.problem_class == "S"
        return [
            column
            for column in npb.METRICS
            if column in self.row.columns and (not small or column.stem != "time")
        ]

    def measure(self):
        """Return metric -> (value, unit) from the final block of the output."""
        result = npb.only_result(
            self.output(), self.benchmark, self.problem_class, self.np, self.stdout.evaluate()
        )
        if self.benchmark in npb.TRAFFIC:
            errors, where = self.errors(), self.stderr.evaluate()
            npb.check_sum(errors, self.benchmark, self.problem_class, where)
        self.provenance["suite"] = f"NPB {result.values['Version']}"
        self.too_short = result.seconds < npb.TIMING_FLOOR and not self.simulated
        if self.too_short:
            self.provenance["timing"] = (
                f"{result.seconds} s: shorter than {npb.TIMING_FLOOR:g} s, not judged"
            )
        return {column.stem: (getattr(result, column.name), column.unit) for column in self.columns}

    def sources(self, name):
        """Judge nothing by a run that is too short to be timed.

        And nothing by a paper when ranks stood cyclically or used the loopback. What papers say of
        that are claims.
        """
        if self.too_short:
            return ()
        if self.ways() == ("block", "shared"):
            return SOURCES
        return tuple(source for source in SOURCES if source != "published")

    def parameters(self):
        """Return what a reference of this case must agree with."""
        return {**super().parameters(), "class": self.problem_class}

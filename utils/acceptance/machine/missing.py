"""Why a check file gives no case on a partition, and what of a suite is not there, in one place.

Sources of suites that are built for SimGrid are those that somebody names, or that Spack has kept.
Environments are dictionaries as ReFrame's configuration has them: `name`, `features`, `extras`,
`modules`, `env_vars`; with what `acceptance.machine.prepared` takes of system and partition.
"""

import contextlib
import functools
import os
import re
import shutil
import tarfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from acceptance.core.findings import Finding
from acceptance.core.groups import grouped
from acceptance.core.paths import CONFIGURED, GET_SIMGRID, Workspace
from acceptance.core.text import natural
from acceptance.machine import externals, placement
from acceptance.machine.images import Image
from acceptance.machine.mpis import Prepared, loads_modules, prepared
from acceptance.machine.partition_size import Size
from acceptance.machine.placement import PlacementFault
from acceptance.machine.spack import Spack
from acceptance.suites import Suite, suite_of


def find_program(folder: Path, *names: str) -> Path:
    """Return the executable of the first of these names, in a folder or anywhere below it.

    Suites sort their programs into folders that change with their versions (OSU), so only the name
    counts; several names are those of different versions (NPB). Raises FileNotFoundError when
    there is none, or none that can be executed.
    """
    for name in names:
        direct = folder / name
        candidates = [direct] if direct.is_file() else sorted(folder.rglob(name))
        for path in candidates:
            if path.is_file() and os.access(path, os.X_OK):
                return path
    raise FileNotFoundError(f"{folder / ' or '.join(names)}: missing or not executable")


#: Suite -> the variable that names its source, and how its archive's one folder begins.
_SOURCES = {
    "osu": ("OSU_SOURCE", "osu-micro-benchmarks-"),
    "imb": ("IMB_SOURCE", "mpi-benchmarks-"),
    "npb": ("NPB_SOURCE", "NPB3."),
}
#: Where Spack keeps archives, below its source cache and in a mirror, by their checksums.
_KEPT = "_source-cache/archive/*/*"


def find_sources(workspace: Workspace) -> dict[str, str]:
    """Return suite -> its source, a folder or an archive, of those that are here.

    What a variable names goes before what Spack has kept, and is taken unseen: the build tells.
    """
    kept = _kept(workspace)
    found = {
        suite: os.environ.get(variable) or kept.get(suite)
        for suite, (variable, _) in _SOURCES.items()
    }
    return {suite: os.path.abspath(source) for suite, source in found.items() if source}


@functools.cache
def _kept(workspace: Workspace) -> dict[str, str]:
    """Return suite -> its newest archive, by the numbers in the name of its folder."""
    mirror = os.environ.get("SPACK_MIRROR", "")
    folders = [Path(mirror).expanduser()] if mirror and "://" not in mirror else []
    paths = (
        path for folder in (*folders, workspace.spack / "sources") for path in folder.glob(_KEPT)
    )
    firsts = ((next(_members(path), "").split("/")[0], path) for path in paths)
    return {
        suite: str(path)
        for first, path in sorted(firsts, key=lambda each: (natural(each[0]), each[1]))
        for suite, (_, begin) in _SOURCES.items()
        if first.startswith(begin)
    }


def _members(source: str | Path) -> Iterator[str]:
    """Yield the names in an archive, or a folder; none of what this program cannot read."""
    with contextlib.suppress(OSError, EOFError, tarfile.TarError):
        if os.path.isdir(source):
            yield from (f"./{name}" for name in os.listdir(source))
            return
        with tarfile.open(source) as archive:
            for member in archive:
                yield member.name


@functools.cache
def release_of_npb(source: str) -> str:
    """Return the release of NPB, 3.4 or 3.3, that a source has: a folder, or an archive.

    Each has a folder for MPI that is named by the release; empty where neither is there.
    """
    has = {name.split("/")[1] for name in _members(source) if "/" in name}
    return next((release for release in ("3.4", "3.3") if f"NPB{release}-MPI" in has), "")


def source_of(environment: Mapping[str, Any], suite: str) -> str:
    """Return the source from which a suite is built for an environment; empty: it is not."""
    return _stated(environment, "sources", suite)


def _stated(environment: Mapping[str, Any], what: str, suite: str) -> str:
    """Return what `extras` state of a suite; empty where they say nothing readable."""
    stated = environment.get("extras", {}).get(what)
    return str(stated.get(suite, "")) if isinstance(stated, Mapping) else ""


Environment = Mapping[str, Any]
_SIZE = (
    'write "nodes" and "cores" into the `extras` of the partition; acceptance doctor has the lines'
)
#: What to do where no node of a partition is up.
RESUME = (
    "see why the scheduler gives them no jobs (Slurm: sinfo -R; PBS: pbsnodes; Flux: flux resource "
    "status), and resume them"
)


def without_case(
    file: str, place: str, reason: str, remedy: str = "", *, promised: bool = False
) -> Finding:
    """Return the finding that a check file has no case in a place: a partition, or a whole system.

    It fails where one was `promised`: an environment has its suite, and somebody should do
    something.
    """
    what = f"{file} on {place}" if ":" in place else file
    return Finding(
        "not-provided", reason, promised, what=what, expected="a measurement",
        place=(place, file), source="gate", remedy=remedy,
    )  # fmt: skip


def no_cases_line(found: Iterable[Finding]) -> str:
    """Say in a line which check files give no case where; the doctor has the reasons."""
    checks = grouped((each.place for each in found), lambda place: place[0])
    places = grouped(checks, lambda name: ", ".join(sorted({file for _, file in checks[name]})))
    parts = "; of ".join(f"{names} on {', '.join(where)}" for names, where in places.items())
    return f"no case of {parts}; acceptance doctor says why"


def is_of_suite(check: str) -> bool:
    """Tell whether a check file (its stem) takes the programs, or results, of a suite."""
    return suite_of(check) is not None


#: Check files (their stems) that give no case on a simulated partition.
_NOT_SIMULATED = {
    "hpcc": "SimGrid does not get past its RandomAccess",
    "netperf": "SimGrid has no sockets of TCP and UDP",
}
#: MPI -> what compiles for it, if it is not what a suite names.
_COMPILERS = {"simgrid": "smpicc"}


def no_case(
    check: str,
    partition: str,
    size: Size,
    environments: Collection[Environment],
    verified: bool,
    simulated: bool = False,
) -> Finding | None:
    """Say why a check file gives no case on a partition; None where nothing keeps it from that.

    `verified`: ranks can tell there where they stand (`verify_placement`). `simulated`: SimGrid
    runs its jobs.
    """
    why = _why_not(check, size, environments, verified, simulated)
    reason, remedy, promised = next(why, ("", "", False))
    if not reason:
        return None
    return without_case(f"{check}.py", partition, reason, remedy, promised=promised)


def _why_not(
    check: str, size: Size, environments: Collection[Environment], verified: bool, simulated: bool
) -> Iterator[tuple[str, str, bool]]:
    """Yield reasons, remedies, and whether a case is promised."""
    if simulated and not any(mpi_of(each) == "simgrid" for each in environments):
        yield f"it is simulated, and there is no SimGrid here ({GET_SIMGRID})", "", False
    if simulated and check in _NOT_SIMULATED:
        yield _NOT_SIMULATED[check], "", False
    if not environments:
        yield "it has no environment", 'name one in its "environs"', True
    suite = suite_of(check)
    if suite is None:
        return
    having = [each for each in environments if suite.key in each.get("features", ())]
    if not having:
        yield *(not_simulated(suite) if simulated else not_provided(suite)), False
    if size.unknown and size.there:
        yield size.unknown, RESUME, True
    if size.unknown:
        yield f"nobody knows how many nodes and cores it has: {size.unknown}", _SIZE, True
    if size.processes < 2:
        yield "a message requires two processes, and it has one core", "", True
    names = ", ".join(each["name"] for each in having)
    if check in suite.derived and size.cores < 2:
        what = "what is inside a node with what is between nodes, of one core each"
        yield f"it compares {what}", "", False
    alone = all("no-loopback" in each.get("features", ()) for each in having)
    if check in suite.derived and size.nodes == 1 and alone:
        needs = "an MPI that takes the network's loopback"
        yield f"on a single node it requires {needs}, and {names} cannot (no-loopback)", "", False
    least = min(row.least_nodes for row in suite.checks[check].values())
    if size.nodes < least:
        what = "pairs of nodes" if least == 2 else f"{least} nodes or more, some beside the others"
        yield (
            f"it measures {what}, and it has {'one' if size.nodes == 1 else size.nodes}",
            "",
            False,
        )
    if check in suite.further and not verified:
        nobody = f"of {names} nobody tells (verify_placement)"
        yield f"it must know where ranks stood, and {nobody}", "", False


def not_simulated(suite: Suite) -> tuple[str, str]:
    """Return why a suite does not run on simulated systems, and what to do if anything helps."""
    if suite.key in _NOT_SIMULATED:
        return _NOT_SIMULATED[suite.key], ""
    if suite.key not in _SOURCES and (suite.source or not suite.compiler):
        return f"{suite.title} is not built for SimGrid", ""
    how = GET_SIMGRID
    if suite.key in _SOURCES:
        how = (
            f"set {_SOURCES[suite.key][0]} to the folder, or archive, of its source; or "
            "SPACK_MIRROR to a mirror of Spack that has it"
        )
    return f"the source of {suite.title} is not here, from which it is built for SimGrid", how


def not_provided(suite: Suite) -> tuple[str, str]:
    """Return what there is of a suite that no environment provides, and what to do."""
    paths = (shutil.which(program) for program in suite.programs)
    if not (program := next(filter(None, paths), None)):
        needs = "it requires an installation" if suite.inputs else "get it with"
        return f"nothing provides {suite.title} here", f"{needs}: {left_to_do(suite)}"
    with_mpi = "the environment of the MPI that it was built with"
    whose = with_mpi if suite.of_mpi else "an environment"
    return (
        f"{program} is there, but no environment here names it",
        f'write "{suite.key}" into the `features` of {whose}, and "{suite.key}": '
        f'"{Path(program).parent}" into "suites" of its `extras` ({CONFIGURED})',
    )


def left_to_do(suite: Suite) -> str:
    """Return how an environment gets a suite on this machine, without what is here already."""
    return suite.how_to_get(already_there())


def already_there() -> list[str]:
    """Return what this machine has of what builds suites, as `Suite.how_to_get` takes it."""
    found = {
        "mpi": externals.mpi_names(),
        "gfortran": shutil.which("gfortran"),
        "blas": externals.has_openblas(),
        "spack": Spack.find(Workspace.of()),
    }
    return [name for name, what in found.items() if what]


def builds(environment: Environment) -> bool:
    """Tell whether Spack builds the suites of an environment."""
    return "spack" in environment.get("features", ())


def mpi_of(environment: Environment) -> str:
    """Return the MPI that an environment states; empty where it states none."""
    return str(environment.get("extras", {}).get("mpi", ""))


def compiler_of(environment: Environment, suite: Suite) -> str:
    """Return what compiles the sources of a suite for the MPI of an environment; empty: nothing."""
    return suite.compiler and _COMPILERS.get(mpi_of(environment), suite.compiler)


def compiles(environment: Environment, suite: Suite) -> bool:
    """Tell whether a suite of our own is compiled with the MPI of an environment that names it."""
    named = suite.key in environment.get("features", ())
    return bool(named and suite.compiler) and not (
        builds(environment) or folder_of(environment, suite.key)
    )


def folder_of(environment: Environment, suite: str) -> str:
    """Return where an environment says that a suite is; empty where it says nothing readable."""
    return _stated(environment, "suites", suite)


def program_of(environment: Environment, suite: str, *names: str) -> Path:
    """Return the first of these programs where an environment has a suite (its key).

    That is below the folder that it states, else on the PATH that its modules and variables make;
    of either inside its image, if it has one. Raises FileNotFoundError.
    """
    folder = folder_of(environment, suite)
    if image := image_of(environment, suite):
        return image.find(folder, *names)
    if folder:
        return find_program(Path(folder), *names)
    if program := prepared(environment).program(*names):
        return program
    raise FileNotFoundError(
        f"no {' or '.join(names)} is on the PATH that its `modules` and `env_vars` make"
    )


def image_named(environment: Environment, suite: str) -> str:
    """Return the image that an environment names for a suite; empty where it names none."""
    return _stated(environment, "images", suite)


def image_of(environment: Environment, suite: str) -> Image | None:
    """Return the image in which an environment has a suite; None: in none.

    Raises ImageFault, a FileNotFoundError, where nobody can run it.
    """
    if not (name := image_named(environment, suite)):
        return None
    platform = str(environment.get("container", {}).get("type", ""))
    return Image.of(name, platform, _ready(environment, suite).variables)


def _ready(environment: Environment, suite: str) -> Prepared:
    """Return what a job that runs a suite has: of one in an image also what runs that."""
    after = [environment.get("container", {})] if image_named(environment, suite) else []
    return prepared({**environment, "after": after})


def read_program(environment: Environment, suite: str, program: Path) -> bytes:
    """Return the file of a program, as text inside an image; empty where it cannot be read.

    Raises ImageFault.
    """
    if image := image_of(environment, suite):
        return image.read(program)
    return program.read_bytes() if os.access(program, os.R_OK) else b""


def stated_version(environment: Environment, suite: str) -> str:
    """Return the version of a suite that an environment states; empty: none."""
    return _stated(environment, "versions", suite)


def other_version(environment: Environment, suite: str, told: str, place: object = "") -> str:
    """Say that a suite tells another version than an environment states; empty: no other one.

    Of two versions the numbers count that both have: a program of 3.4.1 tells 3.4, IMB 2019.6 tells
    2019 Update 6.
    """
    stated = stated_version(environment, suite)
    numbers = (re.findall(r"\d+", version) for version in (stated, told))
    if all(left == right for left, right in zip(*numbers, strict=False)):
        return ""
    return (
        f'it states "versions": {{"{suite}": "{stated}"}}, and {place or suite} is of {told}: '
        "name that version, or another module, folder or image"
    )


def _version(environment: Environment, suite: Suite, program: Path) -> str:
    """Return the version that a program tells without being run, or EasyBuild's; empty: nobody."""
    told = suite.version and suite.version_in(read_program(environment, suite.key, program))
    return told or prepared(environment).easybuild(program)[0]


def software_of(environment: Environment, suite: str, program: Path) -> dict[str, str]:
    """Return what is known of a program before it runs: its place, its modules, the MPI on PATH.

    Of an image its checksum, of EasyBuild's software who built it. Nothing of an environment whose
    PATH nobody looks at: it states the folder, and no modules or image.
    """
    image = image_of(environment, suite)
    if folder_of(environment, suite) and not (loads_modules(environment) or image):
        return {}
    ready, stated = _ready(environment, suite), mpi_of(environment)
    if stated == "simgrid":
        return {"program": str(program)}  # no launcher on PATH is its MPI
    unknown = f"{stated}, as stated: no launcher on PATH tells" if stated else ""
    version, builder = ("", "") if image else ready.easybuild(program)
    found = {
        "modules": " ".join(ready.modules),
        "program": f"{program} in {image.path}" if image else str(program),
        "mpi": f"{ready.mpi.name}@{ready.mpi.version}" if ready.mpi else unknown,
        "easybuild": f"{version} by {builder}" if builder else "",
        **(image.told() if image else {}),
    }
    return {key: text for key, text in found.items() if text}


def _other_mpi(environment: Environment) -> str:
    """Say that the MPI on the PATH of an environment is not the one that it states.

    Where no launcher of an MPI starts the ranks, one that was on PATH before says nothing.
    """
    stated, mpi = mpi_of(environment), prepared(environment).mpi
    if stated not in externals.NAMES or not mpi or mpi.name == stated:
        return ""
    launchers = (layer.get("launcher", "") for layer in environment.get("before", ()))
    before = os.environ.get("PATH", "").split(":")
    if str(mpi.launcher.parent) in before and not any(name.startswith("mpi") for name in launchers):
        return ""
    return f'it states "mpi": "{stated}", and the MPI on its PATH is another, {mpi}'


def _from_elsewhere(environment: Environment, suite: Suite, program: Path) -> str:
    """Say that a program is on PATH, and none of the modules that are loaded brings it."""
    is_named = image_named(environment, suite.key) or folder_of(environment, suite.key)
    if is_named or not loads_modules(environment) or prepared(environment).brings(program):
        return ""
    return (
        f"{program} was on PATH before, and none of its modules brings it: name the module of "
        f'{suite.title}; or, if it is meant, "suites": {{"{suite.key}": "{program.parent}"}}'
    )


def _refused_image(environment: Environment, suite: Suite) -> str:
    """Say why a suite cannot be run in an image at all, or not in this one; empty: it can."""
    if not (name := image_named(environment, suite.key)):
        return ""
    if builds(environment):
        return f"Spack builds it (the feature spack), and it has the image {name}: state one"
    if suite.inputs or suite.source or not suite.of_mpi:
        return f"{suite.title} is not run in an image: leave {name} out, and name its folder"
    if suite.compiler and not folder_of(environment, suite.key):
        return (
            f"nothing is compiled in the image {name}: name the folder inside that has "
            f'{suite.programs[0]}: "suites": {{"{suite.key}": "<folder>"}}'
        )
    try:
        image = image_of(environment, suite.key)
        if image and not suite.programs:
            image.find(folder_of(environment, suite.key))
    except FileNotFoundError as err:
        return str(err)
    return ""


def broken_promise(environment: Environment, suite: Suite, *, every: bool = False) -> str:
    """Say why a suite cannot be run, though an environment names it in its features; else empty.

    `every` is as in `provision`.
    """
    _, fault = provision(environment, suite, every=every)
    names = f"the environment {environment['name']} names {suite.key} in its `features`"
    return fault and f"{names}, but {fault}"


def provision(environment: Environment, suite: Suite, *, every: bool = False) -> tuple[str, str]:
    """Return what provides a suite to an environment that names it, and why it cannot be run.

    The first counts where the second is empty. One program is enough, unless `every` one is to be
    there. It cannot be run where its modules do not load, where nothing of the suite is there, or
    on PATH by no module, and where its version or its MPI is another than is stated. What Spack
    builds is there when it is needed.
    """
    folder, source = folder_of(environment, suite.key), source_of(environment, suite.key)
    ours, by_spack = compiles(environment, suite), builds(environment)
    image = image_named(environment, suite.key)
    looked_at = loads_modules(environment) or bool(image) or not (by_spack or folder)
    if looked_at and (fault := _ready(environment, suite.key).fault):
        return "", fault
    if fault := _refused_image(environment, suite):
        return "", fault
    if by_spack:
        return "built by Spack when it is needed", ""
    if source:
        fault = "" if os.path.exists(source) else f"there is no source {source}"
        return f"built from {source} when it is needed", fault
    programs, faults = [], []
    for name in (compiler_of(environment, suite),) if ours else suite.programs:
        try:
            programs.append(program_of(environment, suite.key, name))
        except FileNotFoundError as err:
            faults.append(str(err))
        if programs and not every:
            break
    lacking = faults[0] if faults and (every or not programs) else ""
    if not (folder or ours or programs):
        example = f'"suites": {{"{suite.key}": "<folder>"}}'
        fault = f"not in its `extras` where {suite.title} is: {example}"
        return "", "; ".join(filter(None, (fault, lacking)))
    if lacking:
        return "", lacking
    if looked_at and programs and (other := _other_mpi(environment)):
        return "", other
    version = ""
    if programs and not ours:
        version = _version(environment, suite, programs[0])
        fault = _from_elsewhere(environment, suite, programs[0])
        if fault := fault or other_version(environment, suite.key, version, programs[0]):
            return "", fault
    if ours and suite.source and not os.path.isdir(os.environ.get(suite.source, "")):
        return "", f"{suite.source} is not the folder of its source"
    beside = (Path(folder, name) for name in suite.inputs)
    if without := next((path for path in beside if not path.exists()), None):
        return "", f"{suite.title} is there, but not {without}, which it requires"
    if ours:
        return f"compiled by {programs[0]} when it is needed", ""
    if not (programs or image or os.path.isdir(folder)):
        return "", f"there is no folder {folder}"
    place = programs[0] if programs else Path(folder)
    software = software_of(environment, suite.key, place)
    keys = ("image", "container", "modules", "easybuild", "mpi")
    told = [software[key] for key in keys if key in software]
    if version or _stated(environment, "versions", suite.key):
        told.append(f"version {version or 'not told before it runs'}")
    return ", ".join([software.get("program", str(place)), *told]), ""


def launch_fault(environment: Environment, launcher: str, verified: bool) -> str:
    """Say why nobody can ask a launcher of ReFrame to place the ranks of an environment's MPI.

    Empty where it can be asked, and where nobody verifies where ranks stand.
    """
    extras = environment.get("extras", {})
    try:
        placement.family(launcher, mpi_of(environment))
    except PlacementFault as err:
        lacks = "" if "mpi" in extras else ' states no "mpi" in its `extras`'
        return f"the environment {environment['name']}{lacks}: {err}" if verified else ""
    return ""

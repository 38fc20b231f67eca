"""Why a check file gives no case on a partition, and what of a suite is not there, in one place.

Environments are dictionaries as ReFrame's configuration has them: `name`, `features`, `extras`.
"""

import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acceptance.launch import PlacementFault, Size, placement
from acceptance.software.programs import find_program
from acceptance.suites import Suite, suite_of

Environment = Mapping[str, Any]
_SIZE = (
    'write "nodes" and "cores" into the `extras` of the partition; acceptance doctor has the lines'
)


@dataclass(frozen=True)
class NoCase:
    """A check file (its stem) without a case on a partition: why, and what to do if it shall.

    `promised`: an environment has its suite, so that somebody should do something.
    """

    check: str
    partition: str
    reason: str
    remedy: str = ""
    promised: bool = False

    def __str__(self) -> str:
        """Say it in a line."""
        todo = f" ({self.remedy})" if self.promised and self.remedy else ""
        return f"{self.check}.py: no case on {self.partition}: {self.reason}{todo}"


def no_case(
    check: str, partition: str, size: Size, environments: Collection[Environment], verified: bool
) -> NoCase | None:
    """Say why a check file gives no case on a partition; None where nothing keeps it from that.

    `verified`: ranks can tell there where they stand (`verify_placement`).
    """
    if not environments:
        return NoCase(check, partition, "it has no environment", 'name one in its "environs"', True)
    suite = suite_of(check)
    if suite is None:
        return None
    having = [each for each in environments if suite.key in each.get("features", ())]
    if not having:
        return NoCase(check, partition, *not_provided(suite))
    names = ", ".join(each["name"] for each in having)
    reason, remedy, promised = _of_size(size), "", True
    if size.unknown:
        remedy = _SIZE
    elif not reason:
        reason, promised = _of_kind(check, suite, size, having, verified, names), False
    return NoCase(check, partition, reason, remedy, promised) if reason else None


def _of_size(size: Size) -> str:
    if size.unknown:
        return f"nobody knows how many nodes and cores it has: {size.unknown}"
    return "a message requires two processes, and it has one core" if size.processes < 2 else ""


def _of_kind(
    check: str,
    suite: Suite,
    size: Size,
    having: Collection[Environment],
    verified: bool,
    names: str,
) -> str:
    alone = all("no-loopback" in each.get("features", ()) for each in having)
    if check in suite.derived and size.cores < 2:
        return "it compares what is inside a node with what is between nodes, of one core each"
    if check in suite.derived and size.nodes == 1 and alone:
        reason = "on a single node it requires an MPI that takes the network's loopback, and "
        return f"{reason}{names} cannot (no-loopback)"
    if check in suite.further and not verified:
        return f"it must know where ranks stood, and of {names} nobody tells (verify_placement)"
    return ""


def not_provided(suite: Suite) -> tuple[str, str]:
    """Say that nothing provides a suite, and in a sentence of its own how that changes."""
    found, remedy = missing(suite)
    return (found, remedy) if installed(suite) else (f"{found} here", f"get it with: {remedy}")


def missing(suite: Suite) -> tuple[str, str]:
    """Return what there is of a suite that no environment provides, and what to do."""
    program = installed(suite)
    if program is None:
        return f"nothing provides {suite.title}", suite.how_to_get
    return (
        f"{program} is there, but no environment here names it",
        f'write into the environment of the MPI that it was built with, "{suite.key}" into '
        f'`features` and "suites": {{"{suite.key}": "{program.parent}"}} into `extras` '
        "(config/systems/)",
    )


def installed(suite: Suite) -> Path | None:
    """Return a program of a suite that is on PATH; None where there is none."""
    paths = (shutil.which(program) for program in suite.programs)
    return next((Path(path) for path in paths if path), None)


def builds(environment: Environment) -> bool:
    """Tell whether Spack builds the suites of an environment."""
    return "spack" in environment.get("features", ())


def folder_of(environment: Environment, suite: str) -> str:
    """Return where an environment says that a suite is; empty where it says nothing readable."""
    folders = environment.get("extras", {}).get("suites")
    return str(folders.get(suite, "")) if isinstance(folders, Mapping) else ""


def broken_promise(environment: Environment, suite: Suite) -> str:
    """Say why nothing of a suite is there, though an environment names it in its features.

    Empty where a program of it is, and where Spack builds it.
    """
    if builds(environment):
        return ""
    says = f"the environment {environment['name']} names {suite.key} in its `features`"
    folder = folder_of(environment, suite.key)
    if not folder:
        return (
            f'{says}, but not in its `extras` where {suite.title} is: "suites": '
            f'{{"{suite.key}": "<folder>"}}'
        )
    faults = []
    for program in suite.programs:
        try:
            find_program(Path(folder), program)
        except FileNotFoundError as err:
            faults.append(err)
        else:
            return ""
    if faults:
        return f"{says}, but {faults[0]}"
    return "" if os.path.isdir(folder) else f"{says}, but there is no folder {folder}"


def launch_fault(environment: Environment, launcher: str, verified: bool) -> str:
    """Say why nobody can ask a launcher of ReFrame to place the ranks of an environment's MPI.

    Empty where it can be asked, and where nobody verifies where ranks stand.
    """
    extras = environment.get("extras", {})
    try:
        placement.family(launcher, str(extras.get("mpi", "")))
    except PlacementFault as err:
        lacks = "" if "mpi" in extras else ' states no "mpi" in its `extras`'
        return f"the environment {environment['name']}{lacks}: {err}" if verified else ""
    return ""

"""The cases of a system as the checks would run them: keys, metrics, and the rows that judge them.

`checks/listing.py` tells them, a process for each system. Neither the system's scheduler nor its
programs need to be there.
"""

import os
import sys
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec

from acceptance.core import process
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.rfm.check_files import check_files
from acceptance.rfm.environment import reframe_environment

#: Seconds that the listing of one system may take.
TIMEOUT = 600.0


class ListingFault(Fault):
    """A system whose cases cannot be listed, and why."""


class ListedCase(msgspec.Struct, frozen=True):
    """A case: a check on a partition and an environment, in the modes that run it alike.

    `keys` are those that a reference must agree with, `metrics` have their units. `judged`: metric
    -> file and line of the row of `reference/` that judges it. `fault` says why the case could not
    even be cut, such as for an amount of memory that is not stated; it then has no metrics.
    """

    name: str
    system: str
    partition: str
    environment: str
    benchmark: str
    modes: tuple[str, ...]
    keys: dict[str, str] = {}
    metrics: dict[str, str] = {}
    judged: dict[str, tuple[str, int]] = {}
    fault: str = ""


def list_cases(workspace: Workspace, systems: Collection[str]) -> list[ListedCase]:
    """Return the cases of systems, those of all modes, as the checks of this clone make them.

    Raises ListingFault for a system that the configuration does not have, and for a check file that
    cannot be loaded.
    """
    checks = [path.stem for path in check_files([workspace.checks], recursive=False)]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        listed = pool.map(partial(_list, workspace, checks), sorted(systems))
        return [case for cases in listed for case in cases]


def _list(workspace: Workspace, checks: Sequence[str], system: str) -> list[ListedCase]:
    done = process.run(
        [sys.executable, "-m", "acceptance.checks.listing", system, *checks],
        TIMEOUT,
        env=reframe_environment(workspace),
        folder=workspace.start,
    )
    if done.fault:
        raise ListingFault(f"the cases cannot be listed: {done.fault}", where=system)
    return msgspec.json.decode(done.out, type=list[ListedCase])

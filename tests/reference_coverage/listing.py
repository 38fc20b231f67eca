"""The cases of a system as the checks would run them: keys, metrics, and the rows that judge them.

`in_reframe.py` tells them, a process for each system. Neither the system's scheduler nor its
programs need to be there.
"""

import os
import sys
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

import msgspec

from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.paths import ROOT, Workspace
from acceptance.rfm import check_files, reframe_environment
from acceptance.suites import suite_of

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


def list_cases(
    workspace: Workspace, systems: Collection[str], benchmark: str | None = None
) -> list[ListedCase]:
    """Return the cases of systems, those of all modes, as the checks of this clone make them.

    With a `benchmark`, or a suite, only those of the check files that run it.

    Raises ListingFault for a system that the configuration does not have, and for a check file that
    cannot be loaded.
    """
    files = check_files([workspace.checks], recursive=False)
    checks = [path.stem for path in files if benchmark is None or _runs(path.stem, benchmark)]

    def cases_of_one(system: str) -> list[ListedCase]:
        command = [sys.executable, "-m", "tests.reference_coverage.in_reframe", system, *checks]
        done = machine.run(command, TIMEOUT, env=reframe_environment(workspace), folder=ROOT)
        if done.fault:
            raise ListingFault(f"the cases cannot be listed: {done.fault}", where=system)
        return msgspec.json.decode(done.out, type=list[ListedCase])

    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return [case for cases in pool.map(cases_of_one, sorted(systems)) for case in cases]


def _runs(check: str, benchmark: str) -> bool:
    suite = suite_of(check)
    return suite is not None and benchmark in (suite.key, *suite.checks[check])


#: The cases of each system that this process has listed: that costs some ten seconds.
_LISTED: dict[str, list[ListedCase]] = {}


def cases_of(systems: Collection[str]) -> list[ListedCase]:
    """Return the cases of systems as `list_cases` makes them, each system listed once."""
    if missing := {*systems} - _LISTED.keys():
        for case in list_cases(Workspace.of(), missing):
            _LISTED.setdefault(case.system, []).append(case)
    return [case for system in sorted(systems) for case in _LISTED[system]]

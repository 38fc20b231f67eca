"""Says at load which check files give no case on which partition, and which suites are not there.

The words are those of the verdict and of `acceptance doctor` (`acceptance.software.no_case`).
"""

import functools

from reframe.core.logging import getlogger

from acceptance import software
from acceptance.suites import SUITES, suite_of

from .extras import environment_of, extras_of
from .partitions import partitions, size_of


def lines_on(check: str) -> list[str]:
    """Return what is to be said of a check file (its stem) before it runs, a line each."""
    lines = []
    for part in partitions():
        environments, stated = environments_of(part), extras_of(part)
        found = software.no_case(
            check, part.fullname, size_of(part), environments, stated.verify_placement,
            stated.simulated is not None,
        )  # fmt: skip
        if told := size_of(part).told:
            lines.append(f"{part.fullname}: {told}")
        if found:
            lines.append(str(found))
        elif suite := suite_of(check):
            having = (each for each in environments if suite.key in each["features"])
            launcher, verified = part.launcher_type.registered_name, stated.verify_placement
            faults = (
                software.broken_promise(each, suite)
                or software.launch_fault(each, launcher, verified)
                for each in having
            )
            lines += [f"{part.fullname}: {fault}: its cases fail" for fault in faults if fault]
    return lines


def environments_of(part) -> list[dict]:
    """Return the environments of a partition as the configuration has them."""
    return [environment_of(each, part) for each in part.environs]


def tell(check: str) -> None:
    """Warn of these."""
    for line in lines_on(check):
        _warn(line)


@functools.cache
def _warn(line: str) -> None:
    """Warn once: several check files take a suite, and have several classes."""
    getlogger().warning(line)


def needs_build(suite: str) -> bool:
    """Tell whether a suite is built on this system, or promised by an environment without it.

    Where it is only promised the build fails, once for all cases.
    """
    return any(
        software.builds(each)
        or software.compiles(each, SUITES[suite])
        or software.source_of(each, suite)
        or (suite in each["features"] and software.broken_promise(each, SUITES[suite]))
        for part in partitions()
        for each in environments_of(part)
    )

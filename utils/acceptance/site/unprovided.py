"""Suites that no environment of a system provides: what is here of them, and what to do."""

import shutil
from pathlib import Path
from typing import Any

from acceptance.rfm.configuration import Site
from acceptance.suites import Suite, suite_of


def not_provided(suite: Suite) -> tuple[str, str]:
    """Say that nothing provides a suite, and in a sentence of its own how that changes."""
    found, remedy = missing(suite)
    return (found, remedy) if installed(suite) else (f"{found} here", f"get it with: {remedy}")


def why_no_case(check: str, site: Site, system: dict[str, Any]) -> tuple[str, str]:
    """Say why a check file (its stem) gives no case on a system, and what to do if it shall.

    Both are empty where nothing tells, the second also where nothing is to be done.
    """
    suite = suite_of(check)
    if suite is None:
        return "", ""
    providers = site.providers(suite.key, system)
    if not providers:
        return not_provided(suite)
    names = ", ".join(provider.environment for provider in providers)
    if check in suite.derived and all(provider.alone for provider in providers):
        reason = "on a single node it requires an MPI that takes the network's loopback, and "
        return f"{reason}{names} cannot (no-loopback)", ""
    if check in suite.further and all(provider.unverified for provider in providers):
        reason = f"it must know where ranks stood, and of {names} nobody tells (verify_placement)"
        return reason, ""
    return "", ""


def missing(suite: Suite) -> tuple[str, str]:
    """Return what there is of a suite that no environment provides, and what to do."""
    program = installed(suite)
    if program is None:
        return f"nothing provides {suite.title}", suite.how_to_get
    return (
        f"{program} is there, but no environment of this system names it",
        f'write into the environment of the MPI that it was built with, "{suite.key}" into '
        f'`features` and "suites": {{"{suite.key}": "{program.parent}"}} into `extras` '
        "(config/systems/)",
    )


def installed(suite: Suite) -> Path | None:
    """Return a program of a suite that is on PATH; None where there is none."""
    paths = (shutil.which(program) for program in suite.programs)
    return next((Path(path) for path in paths if path), None)

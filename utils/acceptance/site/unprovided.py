"""Suites that no environment of a system provides: what is here of them, and what to do."""

import shutil
from pathlib import Path

from acceptance.suites import Suite


def not_provided(suite: Suite) -> str:
    """Say in one sentence that nothing provides a suite, and how that changes."""
    found, remedy = missing(suite)
    return f"{found}; {remedy}" if installed(suite) else f"{found} here; get it with: {remedy}"


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

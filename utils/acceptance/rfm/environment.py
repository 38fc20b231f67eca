"""The environment that this program starts ReFrame in; it need not be that of `env.sh`.

And what ReFrame would run in it: the cases that `reframe -lC` lists (4.10, `frontend/cli.py`).
"""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.paths import INSTALLED, Workspace

#: Jobs of the link check that a partition has at once. It loads nothing, so that they may.
LINK_JOBS = 64

#: Variables that name files of a configuration; the other two beside the first.
FILES, MORE_FILES = "RFM_CONFIG_FILES", ("RFM_CONFIG_PATH", "RFM_CONFIG_FILE")


def reframe_environment(workspace: Workspace, *, many_jobs: bool = False) -> dict[str, str]:
    """Return the environment of ReFrame.

    With `many_jobs` each partition may have `LINK_JOBS` jobs at once.
    """
    files = os.pathsep.join(map(str, workspace.config_files))
    default = "" if INSTALLED else str(workspace.root / "config/settings.py")
    read = files or os.environ.get(FILES) or default
    environment = {
        **clean_environment(),
        **({FILES: read} if read else {}),
        # ReFrame may start in another folder than this command was called in.
        "ACCEPTANCE_VAR": str(workspace.var.absolute()),
        "ACCEPTANCE_REFERENCE": str(workspace.reference.absolute()),
        **({"ACCEPTANCE_SYSTEMS": str(systems[-1])} if (systems := workspace.systems[1:]) else {}),
        "ACCEPTANCE_SPACK": str(workspace.spack),
        **({"ACCEPTANCE_MAX_JOBS": str(LINK_JOBS)} if many_jobs else {}),
    }
    if files:  # they are all that there are
        for name in MORE_FILES:
            environment.pop(name, None)
    return environment


def clean_environment() -> dict[str, str]:
    """Return an environment for ReFrame: it finds our programs, and no secret."""
    programs = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", os.defpath)
    return {
        **machine.without_secrets(os.environ),
        "PATH": path if programs in path.split(":") else f"{programs}:{path}",
    }


def reframe_program() -> str:
    """Return the ReFrame that is started: that beside this Python, else that on PATH."""
    beside = Path(sys.executable).parent / "reframe"
    found = str(beside) if beside.is_file() else shutil.which("reframe")
    if found is None:
        raise Fault(f"there is no reframe, neither beside {sys.executable} nor on PATH")
    return found


#: Seconds in which ReFrame loads the checks of a large system.
_TIMEOUT = 600.0
#: A case, or below it (^) one that it waits for: a fixture has its names in its class, in quotes.
_CASE = re.compile(
    r"(?:- |\s+\^)(?P<name>.+?)(?P<fixture>(?: '\w+)+)? /[0-9a-f]+ @(?P<where>\S+:\S+\+\S+)\Z"
)
_COUNT = re.compile(r"Concretized \d+ test case\(s\)\Z")
#: Set to any text: our checks add a line for each case, how long it takes by formula.
ASK_TIMES = "ACCEPTANCE_TIMES"
_TAKES = re.compile(r"takes (?P<seconds>\S+) s: (?P<name>.+) @(?P<where>\S+)\Z")
_ERROR = re.compile(r"(?:ERROR|reframe: error): (?P<text>.*)")


@dataclass(frozen=True)
class SelectedCase:
    """A case that would run; `where` is `system:partition+environment`.

    `seconds` is how long it takes by formula, 0 where nothing tells.
    """

    name: str
    where: str
    fixture: bool
    seconds: float = 0.0


def select(
    arguments: Sequence[str], workspace: Workspace
) -> tuple[list[SelectedCase], tuple[str, ...]]:
    """Return what `reframe` would run with these arguments, `-r` among them, each case once.

    Also returns its warnings about files and checks. Raises Fault, with what it says, where it
    would not begin to run.
    """
    words = [word for word in arguments if word not in ("-r", "--run")]
    done = machine.run(
        [reframe_program(), *words, "--nocolor", "-lC"],
        _TIMEOUT,
        env=reframe_environment(workspace) | {ASK_TIMES: "yes"},
        folder=workspace.start,
    )
    text = f"{done.out}\n{done.err}"
    lines = [line.rstrip() for line in text.splitlines()]
    if done.fault or not any(map(_COUNT.match, lines)):
        said = next(filter(None, map(_ERROR.match, lines)), None)
        raise Fault(f"reframe: {said['text'] if said else done.fault or 'lists nothing'}")
    told = filter(None, map(_TAKES.match, lines))
    times = {(m["name"], m["where"]): float(m["seconds"]) for m in told}
    cases = (
        SelectedCase(*(key := (m["name"], m["where"])), bool(m["fixture"]), times.get(key, 0.0))
        for m in filter(None, map(_CASE.match, lines))
    )
    warnings = (line.removeprefix("WARNING: ") for line in lines if line.startswith("WARNING: "))
    return [*dict.fromkeys(cases)], tuple(dict.fromkeys(warnings))

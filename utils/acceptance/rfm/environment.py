"""The environment that this program starts ReFrame in; it need not be that of `env.sh`."""

import os
import shutil
import sys
from pathlib import Path

from acceptance.core.errors import Fault
from acceptance.core.paths import ALERT_TARGETS, INSTALLED, Workspace

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
        "ACCEPTANCE_VAR": str(workspace.var),
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
        # The URLs of targets are secret; jobs inherit what ReFrame has.
        **{name: value for name, value in os.environ.items() if name != ALERT_TARGETS},
        "PATH": path if programs in path.split(":") else f"{programs}:{path}",
    }


def reframe_program() -> str:
    """Return the ReFrame that is started: that beside this Python, else that on PATH."""
    beside = Path(sys.executable).parent / "reframe"
    found = str(beside) if beside.is_file() else shutil.which("reframe")
    if found is None:
        raise Fault(f"there is no reframe, neither beside {sys.executable} nor on PATH")
    return found

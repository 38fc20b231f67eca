"""The environment that this program starts ReFrame in; it need not be that of `env.sh`."""

import os
import sys
from pathlib import Path

from acceptance.core.paths import ALERT_TARGETS, Workspace

#: Jobs of the link check that a partition has at once. It loads nothing, so that they may.
LINK_JOBS = 64


def reframe_environment(workspace: Workspace, *, many_jobs: bool = False) -> dict[str, str]:
    """Return the environment of ReFrame.

    With `many_jobs` each partition may have `LINK_JOBS` jobs at once.
    """
    programs = str(Path(sys.executable).parent)
    path = os.environ.get("PATH", os.defpath)
    return {
        # The URLs of targets are secret; jobs inherit what ReFrame has.
        **{name: value for name, value in os.environ.items() if name != ALERT_TARGETS},
        "RFM_CONFIG_FILES": os.environ.get("RFM_CONFIG_FILES")
        or str(workspace.root / "config/settings.py"),
        "ACCEPTANCE_VAR": str(workspace.var),
        **({"ACCEPTANCE_MAX_JOBS": str(LINK_JOBS)} if many_jobs else {}),
        "PATH": path if programs in path.split(":") else f"{programs}:{path}",
    }

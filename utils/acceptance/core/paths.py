"""Where the clone keeps its things."""

import os
from pathlib import Path

#: The root of the clone.
ROOT = Path(__file__).resolve().parents[3]

#: Published values, baselines, tolerances; `ACCEPTANCE_REFERENCE` names another folder.
REFERENCE = Path(os.environ.get("ACCEPTANCE_REFERENCE") or ROOT / "reference")

#: What runs leave behind; `ACCEPTANCE_VAR` names another folder.
VAR = Path(os.environ.get("ACCEPTANCE_VAR") or ROOT / "var")

#: Folders with `config/systems` and `spack-envs/systems`; `ACCEPTANCE_SYSTEMS` names one more, for
#: a site that keeps its own apart from the clone.
SYSTEMS = [
    ROOT,
    *(Path(name).absolute() for name in [os.environ.get("ACCEPTANCE_SYSTEMS")] if name),
]

#: ReFrame's results database.
RESULTS_DB = VAR / "results.db"

#: ReFrame's log files, one a day.
LOGS = VAR / "log"

#: The prefix that holds the suites which come as Python wheels.
WHEELS = ROOT / "var" / "wheels"

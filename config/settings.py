"""ReFrame's configuration, assembled from the systems in `config/systems/`.

Each file there defines `SYSTEM`, a dictionary as ReFrame documents it, and `ENVIRONMENTS`, a list
of them. A site adds a file; nothing here changes. Systems may also be in another folder, as
`$ACCEPTANCE_SYSTEMS/config/systems/`.
"""

import functools
import os
import re
import runpy
import shlex
import sys
from pathlib import Path

from acceptance import simulation
from acceptance.core.paths import Workspace
from acceptance.machine import SLURM
from acceptance.rfm import configuration, half_made, marks, recording

WORKSPACE = Workspace.of()
RUN = recording.begin(WORKSPACE, sys.argv[1:], functools.partial(print, file=sys.stderr))
if marks.started_in():
    # Each run keeps its raw outputs in folders of its own, two of one second, too. No key of the
    # configuration does it; ReFrame reads this variable after its configuration.
    _FORMAT = os.environ.get("RFM_TIMESTAMP_DIRS") or "%Y-%m-%dT%H%M%S"
    os.environ["RFM_TIMESTAMP_DIRS"] = f"{_FORMAT}-{RUN or os.getpid()}"
# Who only reads this file need not load ReFrame.
if "reframe.core.backends" in sys.modules:
    runpy.run_path(str(Path(__file__).with_name("launchers.py")))
CHECKS = str(WORKSPACE.root / "checks")
FOLDERS = [
    Path(__file__).resolve().parent,
    *(root / "config" for root in WORKSPACE.systems if root != WORKSPACE.root),
]
FILES = [path for folder in FOLDERS for path in sorted((folder / "systems").glob("*.py"))]


#: Why Slurm (squeue(1); its source for the sentences) lets a job wait until somebody fixes a node,
#: a partition or a limit, by the first words (`checks/reframe_patches.py`): ReFrame would wait as
#: long.
BLOCKED = [
    "ReqNodeNotAvail",
    "Nodes required for job are DOWN",
    *("PartitionDown", "PartitionInactive", "PartitionNodeLimit", "PartitionTimeLimit"),
    *("JobHeldAdmin", "JobHeldUser", "JobHoldMaxRequeue"),
    "launch failed requeued held",
    *("BadConstraints", "InvalidAccount", "InvalidQOS", "AccountNotAllowed", "QOSNotAllowed"),
    *("Job's account not", "Job's QOS not"),
    *(
        f"{whose}Max{what}PerJobLimit"
        for whose in ("Assoc", "QOS")
        for what in ("Cpu", "Node", "WallDuration")
    ),
    "ReservationDeleted",
]


#: With a mode ReFrame 4.10 adds the default of `-p`, all environments, to those that are asked for;
#: this takes the place of the default, and no environment has such a name.
ONLY_ASKED = ["-p (?!)"] if any(re.match("-p|--prgenv", word) for word in sys.argv) else []


def load(path: Path) -> tuple[dict, list[dict]]:
    """Run a system's file; its environments are bound to that system."""
    names = configuration.names_of(path)
    system = names["SYSTEM"]
    return system, bound(system, names["ENVIRONMENTS"])


def bound(system: dict, environments: list[dict]) -> list[dict]:
    """Return environments of one system alone."""
    return [{"target_systems": [system["name"]], **environment} for environment in environments]


def side_by_side(system: dict, most: str) -> dict:
    """Let a scheduler have so many jobs of each partition at once; this machine has one."""
    if not most:
        return system
    partitions = [
        part if part["scheduler"] == "local" else {**part, "max_jobs": int(most)}
        for part in system["partitions"]
    ]
    return {**system, "partitions": partitions}


def on_slurm(part: dict) -> dict:
    """Let no job of Slurm wait for ever, nor run again on other nodes when one of its own fails.

    What the partition says itself goes before that.
    """
    if part["scheduler"] not in SLURM:
        return part
    return {
        **part,
        "access": ["--no-requeue", *part.get("access", [])],
        "sched_options": {"slurm_job_cancel_reasons": BLOCKED, **part.get("sched_options", {})},
    }


def catches_all(system: dict) -> bool:
    """Tell whether a system takes any host; ReFrame takes the first one that matches."""
    return ".*" in system["hostnames"]


# Nothing is set aside by who only reads this file. With checks of ours a patch does it, too
# (`checks/reframe_patches.py`), where a site has a configuration of its own.
if "reframe.frontend.cli" in sys.modules and (_TOLD := half_made.set_aside(WORKSPACE.results)):
    print(_TOLD, file=sys.stderr)

LOADED = sorted(map(load, FILES), key=lambda loaded: catches_all(loaded[0]))
# A system of a site is simulated by its own file alone (`make drills`).
_OF = os.environ.get(simulation.systems.DERIVED)
if _OF and not any(system["name"] == f"simulated-{_OF}" for system, _ in LOADED):
    _SYSTEM, _ENVIRONMENTS = simulation.simulated(_OF)
    LOADED.insert(0, (_SYSTEM, bound(_SYSTEM, _ENVIRONMENTS)))

_CASE = (
    "%(check_job_completion_time)s|%(version)s|%(check_unique_name)s|%(check_display_name)s|"
    "%(check_system)s|%(check_partition)s|%(check_environ)s|%(check_jobid)s|"
    "%(check_job_nodelist)s|%(check_result)s|%(check_fail_reason)s|%(check_provenance)s|"
    "%(check_judged_by)s|%(check_keys)s"
)
# Each metric names itself: cases with different metrics share a file. ReFrame takes the last
# character as the separator of metrics.
_METRIC = (
    "%(check_perf_var)s|%(check_perf_value)s|%(check_perf_unit)s|%(check_perf_ref)s|"
    "%(check_perf_lower_thres)s|%(check_perf_upper_thres)s|%(check_perf_result)s|"
)

site_configuration = {
    # The link check loads nothing: campaigns look at many nodes at once.
    "systems": [
        side_by_side(
            {**system, "partitions": [*map(on_slurm, system["partitions"])]},
            os.environ.get("ACCEPTANCE_MAX_JOBS", ""),
        )
        for system, _ in LOADED
    ],
    "environments": [environment for _, environments in LOADED for environment in environments],
    "general": [
        {
            "report_file": f"{WORKSPACE.var}/reports/{{sessionid}}.json",
            "topology_prefix": f"{WORKSPACE.var}/topology",
            # The metrics go to the log; `reframe -v` shows them, too.
            "perf_info_level": "verbose",
            "colorize": sys.stdout.isatty() and not os.environ.get("NO_COLOR"),
        }
    ],
    # How much is measured; `reframe --mode=acceptance`. In maintenance only links and pairs of
    # nodes are looked at, by every check of that tag; the command line may name other files.
    "modes": [
        *(
            {"name": mode, "options": [f"-S mode={mode}", *ONLY_ASKED]}
            for mode in ("smoke", "nightly", "acceptance")
        ),
        {"name": "maintenance", "options": [f"-c {shlex.quote(CHECKS)}", "-t ^maintenance$"]},
    ],
    "storage": [{**recording.storage(WORKSPACE), "sqlite_conn_timeout": 20}],
    "logging": [
        {
            "level": "debug",
            "handlers": [
                {"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"},
                recording.log(WORKSPACE),
            ],
            "handlers_perflog": [
                {
                    "type": "filelog",
                    "basedir": f"{WORKSPACE.var}/perflogs",
                    "prefix": "%(check_system)s/%(check_partition)s",
                    "level": "info",
                    "append": True,
                    "format": _CASE + "|%(check_perfvalues)s",
                    "format_perfvars": _METRIC,
                    "datefmt": "%FT%T%:z",
                }
            ],
        }
    ],
}

"""Measuring again in the same night what looks worse than it was.

A series whose newest sample arouses a suspicion (`constants.SUSPICIOUS`) is measured again with
the command that measured it, narrowed down to its case. The repetitions are sessions like all
others, and samples like all others: none is preferred, and none left out.
"""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from acceptance.core.paths import Workspace
from acceptance.ledger import repeated
from acceptance.regressions.history import Series
from acceptance.rfm import LoggedRun, ReframeProcess, reframe_environment, reframe_program, run_log

#: Seconds before the newest session in which the other ones of the same night end.
NIGHT = 12 * 3600.0

#: Options that a repetition has of its own, with a value.
_OWN = ("-n", "--name", "--session-extras", "--timestamp")


@dataclass(frozen=True)
class Repetition:
    """How often to measure again, and where the output goes, ReFrame's included.

    ReFrame inherits `inherited_fds`, the descriptor of a lock for instance.
    """

    times: int
    output: TextIO
    inherited_fds: Sequence[int] = ()


def suspects(series: Iterable[Series], newest: float) -> dict[str, list[str]]:
    """Return the cases of the night that ended at `newest` (s since the epoch).

    As UUID of their session -> their names, given the series that are suspected.
    """
    by_session: dict[str, list[str]] = {}
    for suspected in series:
        session = suspected.samples[-1].session
        names = by_session.setdefault(session.uuid, [])
        name = suspected.case.key.check
        if newest - session.end <= NIGHT and name not in names:
            names.append(name)
    return {uuid: names for uuid, names in by_session.items() if names}


def repetitions(logs: Path, session: str) -> list[LoggedRun]:
    """Return the runs that measured again what a session had measured, the first first."""
    later = itertools.takewhile(lambda run: run.stored != session, run_log.runs(logs))
    return [run for run in later if repeated(run.label) == session][::-1]


def command(arguments: Sequence[str], names: Iterable[str], label: str) -> list[str]:
    """Return ReFrame's options for these cases of a run only, under another label.

    `arguments` are those of the log, the program first. ReFrame matches names without spaces.
    """
    kept: list[str] = []
    skip = False
    for word in arguments[1:]:
        if skip:
            skip = False
        elif word in _OWN:
            skip = True
        elif not word.startswith(tuple(f"{name}=" for name in _OWN if name.startswith("--"))):
            kept.append(word)
    patterns = [f"^{re.escape(name.replace(' ', ''))}$" for name in names]
    narrowed = [word for pattern in patterns for word in ("-n", pattern)]
    # Its outputs have a folder of their own, and take nobody's place.
    return [*kept, *narrowed, "--session-extras", f"run={label}", f"--timestamp={label}"]


def repeat(
    workspace: Workspace, suspected: dict[str, list[str]], label: str, how: Repetition
) -> list[str]:
    """Run the suspected cases of each session again; return what could not be.

    Raises Interrupted when this process is told to stop.
    """
    child = ReframeProcess(how.inherited_fds)
    runs = {run.stored: run for run in run_log.runs(workspace.logs) if run.stored in suspected}
    again = [(uuid, turn) for uuid in suspected if uuid in runs for turn in range(how.times)]
    with child.heeding():
        for number, (uuid, turn) in enumerate(again, 1):
            run, names = runs[uuid], suspected[uuid]
            told = f"acceptance: again ({turn + 1} of {how.times}): {', '.join(names)}\n"
            how.output.write(told)
            how.output.flush()
            child.check()
            child.run(
                [reframe_program(), *command(run.arguments, names, f"{label}.again{number}")],
                cwd=run.fields.get("working directory", "").strip("'") or workspace.start,
                env=reframe_environment(workspace),
                output=how.output,
            )
            child.check()
    return [
        f"not measured again, since the log has no command of session {uuid}: {', '.join(names)}"
        for uuid, names in suspected.items()
        if uuid not in runs
    ]

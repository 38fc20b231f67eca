"""Measuring again in the same night what looks worse than it was.

A series whose newest sample arouses a suspicion (`changepoint.SUSPICIOUS`) is measured again with
the command that measured it, narrowed down to its case. The repetitions are sessions like all
others, and samples like all others: none is preferred, and none left out.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acceptance.core.paths import Workspace
from acceptance.regressions.history.series import Series
from acceptance.rfm import run_log
from acceptance.rfm.environment import environment
from acceptance.rfm.process import ReframeProcess

#: Seconds before the newest session in which the other ones of the same night end.
NIGHT = 12 * 3600.0

#: Options that a repetition has of its own, with a value.
_OWN = ("-n", "--name", "--session-extras", "--timestamp")


@dataclass
class Repeated:
    """What was measured again: the cases, the labels of the runs, and what went wrong."""

    cases: tuple[str, ...] = ()
    runs: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def suspects(series: Iterable[Series], newest: float) -> dict[str, list[str]]:
    """Return the cases of the night that ended at `newest` (s since the epoch).

    As UUID of their session -> their names, given the series that are suspected.
    """
    found: dict[str, list[str]] = {}
    for one in series:
        session = one.samples[-1].session
        names = found.setdefault(session.uuid, [])
        if newest - session.end <= NIGHT and one.case.key.check not in names:
            names.append(one.case.key.check)
    return {uuid: names for uuid, names in found.items() if names}


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
    wanted = [f"^{re.escape(name.replace(' ', ''))}$" for name in names]
    narrowed = [word for name in wanted for word in ("-n", name)]
    # Its outputs have a folder of their own, and take nobody's place.
    return [*kept, *narrowed, "--session-extras", f"run={label}", f"--timestamp={label}"]


def repeat(
    workspace: Workspace,
    suspected: dict[str, list[str]],
    times: int,
    label: str,
    hold: Sequence[int] = (),
) -> Repeated:
    """Run the cases of each session again, so many times; ReFrame's output goes to stderr.

    ReFrame holds the descriptors `hold`. Raises Interrupted when this process is told to stop.
    """
    child = ReframeProcess(hold)
    with child.heeding():
        return _repeat(child, workspace, suspected, times, label)


def _repeat(
    child: ReframeProcess,
    workspace: Workspace,
    suspected: dict[str, list[str]],
    times: int,
    label: str,
) -> Repeated:
    done = Repeated(cases=tuple(name for names in suspected.values() for name in names))
    runs = {run.stored: run for run in run_log.runs(workspace.logs) if run.stored in suspected}
    for uuid, names in suspected.items():
        if uuid not in runs:
            done.notes.append(
                f"not measured again, since the log has no command of session {uuid}: "
                f"{', '.join(names)}"
            )
            continue
        for number in range(times):
            own = f"{label}.again{len(done.runs) + 1}"
            words = command(runs[uuid].arguments, names, own)
            print(
                f"acceptance: again ({number + 1} of {times}): {', '.join(names)}", file=sys.stderr
            )
            where = runs[uuid].fields.get("working directory", "").strip("'") or workspace.root
            child.check()
            child.run(
                [str(Path(sys.executable).parent / "reframe"), *words],
                cwd=where,
                env=environment(workspace),
                output=sys.stderr,
            )
            child.check()
            done.runs.append(own)
    return done

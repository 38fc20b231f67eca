"""Running the steps of a campaign that are left, each as one ReFrame.

How far it has come, and about how long the rest takes, is told by the last one of its kind.
"""

import hashlib
import os
import re
from collections.abc import Sequence
from datetime import datetime
from typing import IO

from acceptance import ledger
from acceptance.campaigns import state as campaign
from acceptance.campaigns.state import (
    DONE,
    INTERRUPTED,
    NOT_PROVIDED,
    RUNNING,
    Attempt,
    State,
    Step,
    now,
    stamp,
)
from acceptance.campaigns.steps import LINKS
from acceptance.core.paths import Workspace
from acceptance.core.text import plural, time_text
from acceptance.ledger import Case, ResultsFault
from acceptance.rfm import (
    ReframeProcess,
    end_left_by,
    reframe_environment,
    reframe_program,
    run_log,
)

#: Characters of one pattern of names; Linux takes arguments of up to 128 KiB.
_LONGEST = 60_000


class Runner:
    """Runs the steps of a campaign that are left; `lock` is the descriptor of the lock.

    What is said, and what ReFrame prints, goes to the log and to the terminal, if there is one.
    """

    def __init__(
        self, state: State, lock: int, workspace: Workspace, terminal: IO[bytes] | None
    ) -> None:
        self.state, self.workspace = state, workspace
        self.child = ReframeProcess(inherited_fds=[lock])
        self.terminal = terminal

    def run(self) -> None:
        """Run what is left, and store each change; raises Interrupted."""
        with self.child.heeding():
            self._end_given_up()
            for step in self.state.steps:
                if step.state in (RUNNING, INTERRUPTED):
                    self._look_back(step)
                if step.state in (DONE, NOT_PROVIDED):
                    continue
                self.child.check()
                self._attempt(step)
            self.child.check()

    def say(self, text: str, shown: str = "") -> None:
        """Write a line to the log and to the terminal; `shown`: as a terminal shows it."""
        self._show(f"{shown or text}\n".encode())
        with self.state.log.open("a", encoding="utf-8") as log:
            log.write(f"{text}\n")

    def _show(self, data: bytes) -> None:
        if self.terminal is None:
            return
        try:
            self.terminal.write(data)
            self.terminal.flush()
        except OSError:  # nobody reads any more: the log has it all
            self.terminal = None

    def _end_given_up(self) -> None:
        """End what campaigns have left that nobody went on with: it would disturb this one."""
        for state, step in campaign.given_up(besides=self.state):
            self._end_left(step.attempts[-1].run)
            step.state = INTERRUPTED
            state.save()

    def _end_left(self, run: str) -> None:
        for line in end_left_by(run):
            self.state.notes.append(line)
            self.say(f"=== {line}")

    def _look_back(self, step: Step) -> None:
        """See how far a step came that the campaign did not see the end of."""
        last = step.attempts[-1]
        self._end_left(last.run)
        run = run_log.newest(self.workspace.logs, last.run)
        last.session = (run and run.stored) or ""
        step.state = DONE if run is not None and run.ended else INTERRUPTED
        self.state.save()

    def _attempt(self, step: Step) -> None:
        """Run ReFrame for a step once."""
        label = f"{self.state.id}.{step.name}.{_clone(self.workspace)}"
        if step.attempts:
            label += f".{len(step.attempts) + 1}"
        try:
            done = concluded(step, self.workspace)
        except ResultsFault as err:
            self.say(f"=== {err}; {step.name} is run as a whole")
            done = []
        # What is left of this run is found again by its folder.
        own = ("--session-extras", f"run={label}", f"--timestamp={label}")
        command = [reframe_program(), *step.arguments, *exclusions(done), *own]
        attempt = Attempt(label, stamp(now()))
        step.attempts.append(attempt)
        step.state = RUNNING
        self.state.save()
        again = f", without {len(done)} tests that were over" if done else ""
        self.say(f"=== {attempt.started} {self.state.id}: {step.name}{again}")
        self.say(f"=== {told(self.state, step)}")
        attempt.status = self._reframe(
            command, reframe_environment(self.workspace, many_jobs=step.name == LINKS)
        )
        attempt.ended = stamp(now())
        run = run_log.newest(self.workspace.logs, label)
        attempt.session = (run and run.stored) or ""
        attempt.empty = bool(done) and run is not None and run.ran == (0, 0)
        ended = run is not None and run.ended
        if not ended:  # it crashed, or was killed
            self._end_left(label)
        step.state = INTERRUPTED if self.child.stopped and not ended else DONE
        self.state.save()
        self.child.check()

    def _reframe(self, command: Sequence[str], variables: dict[str, str]) -> int:
        """Run a command with its output in the log, which is shown as it grows."""
        with self.state.log.open("ab") as log, self.state.log.open("rb") as reader:
            reader.seek(0, os.SEEK_END)
            return self.child.run(
                command,
                cwd=self.workspace.start,
                env=variables,
                output=log,
                meanwhile=lambda: self._show(reader.read()),
            )


def _clone(workspace: Workspace) -> str:
    """Tell runs of this clone from those of another whose campaign began in the same second.

    What is left of a run is found again by its name, wherever a login node has mounted the folder.
    """
    return hashlib.sha256(str(workspace.var).encode()).hexdigest()[:6]


def over(case: Case) -> bool:
    """Tell whether a case of a run that was stopped had come to its end, good or bad."""
    return case.result in ("pass", "fail")


def concluded(step: Step, workspace: Workspace) -> list[str]:
    """Return the tests of a step of which nothing is left to do, by their display names.

    A test that was run on several partitions or environments is one of them when all were over.
    The link check on each node is repeated as a whole: ReFrame chooses before it distributes.
    """
    if not step.kept or step.name == LINKS or "--exec-policy=serial" in step.arguments:
        return []
    cases: dict[str, dict[str, bool]] = {}
    for attempt in step.kept:
        for case in ledger.of(workspace).session(attempt.session).cases:
            if not case.fixture:
                of = cases.setdefault(case.name, {})
                of[case.where] = of.get(case.where, False) or over(case)
    return [name for name, of in cases.items() if all(of.values()) and "@" not in name]


def exclusions(names: Sequence[str]) -> list[str]:
    """Return the options of ReFrame that leave out tests; it compares names without blanks."""
    patterns: list[str] = []
    for name in names:
        pattern = f"^{re.escape(name.replace(' ', ''))}$"
        if patterns and len(patterns[-1]) + len(pattern) < _LONGEST:
            patterns[-1] += f"|{pattern}"
        else:
            patterns.append(pattern)
    return [word for pattern in patterns for word in ("-x", pattern)]


def told(state: State, step: Step) -> str:
    """Return the line of a step that begins: which of how many, elapsed, and what is left."""
    steps = [one for one in state.steps if one.state != NOT_PROVIDED]
    number = 1 + next(place for place, one in enumerate(steps) if one is step)
    elapsed = _seconds(state.started, now().isoformat())
    left = [one for one in steps if one.state != DONE]
    known = _durations(state, {one.name for one in left})
    words = [
        f"step {number} of {len(steps)}",
        f"{time_text(elapsed)} since the beginning",
        _rest(known, left),
    ]
    if step.name in known:
        words.append(f"this step took {time_text(known[step.name])} then")
    return "; ".join(words)


def _rest(known: dict[str, float], left: list[Step]) -> str:
    if not known:
        return f"rest unknown: none of {plural(len(left), 'step')} came to an end here before"
    unknown = [one.name for one in left if one.name not in known]
    without = f" without {', '.join(unknown)}, which never came to an end here" if unknown else ""
    return f"about {time_text(sum(known.values()))} left, by the last time{without}"


def _durations(state: State, names: set[str]) -> dict[str, float]:
    """Return how long each step took in the newest campaign of this kind that ended it, in s.

    A step that selected other cases says nothing of this one.
    """
    wanted = {step.name: _selection(state, step) for step in state.steps if step.name in names}
    found: dict[str, float] = {}
    earlier = campaign.readable(state.campaigns, f"{state.kind}-*")
    for other in sorted(earlier, key=lambda other: other.started):
        for step in other.steps if other.id != state.id else ():
            times = [(one.started, one.ended) for one in step.attempts if one.ended]
            if step.state == DONE and wanted.get(step.name) == _selection(other, step):
                found[step.name] = sum(_seconds(*one) for one in times)
    return found


def _selection(state: State, step: Step) -> tuple[object, ...]:
    """Return what chose the cases of a step; whose turn it is among the nodes does not."""
    words = [word for word in step.arguments if not word.startswith("pinned=")]
    return state.asked.get("system"), state.limited, words


def _seconds(started: str, ended: str) -> float:
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds()

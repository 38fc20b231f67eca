"""What is measured again before a verdict: in rounds, until all is decided or the rounds are over.

Each judge names the cases that are neither passed nor failed with certainty yet, anew before each
round. A round runs the command that measured them once more, narrowed down to them: all cases of
one command together, so that those which are compared are measured next to each other, round after
round. What a round measured is judged before the next one.

The repetitions are sessions like all others, and samples like all others: none is preferred, and
none left out.
"""

import itertools
import math
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from msgspec import structs

from acceptance import ledger
from acceptance.core.text import plural, shortened
from acceptance.ledger import repeated
from acceptance.regressions.history import Series
from acceptance.rfm import (
    LoggedRun,
    ReframeProcess,
    reframe_environment,
    reframe_program,
    run_log,
)
from acceptance.verdict.evidence import Evidence, find_run
from acceptance.verdict.model import COUNTED, Verdict
from acceptance.verdict.session import judge_run

#: Seconds before the newest session in which the other ones of the same night end.
NIGHT = 12 * 3600.0

#: Options that a repetition has of its own, with a value.
_OWN = ("-n", "--name", "--session-extras", "--timestamp")
_OWN_LONG = tuple(f"{name}=" for name in _OWN[1:])
#: What lets ReFrame say only in its log what it does.
_QUIET = "--quiet"

#: UUID of a session -> the names of cases of it.
Cases = dict[str, list[str]]
#: A judge that says which cases are undecided.
Undecided = Callable[[Evidence], Cases]


@dataclass(frozen=True)
class Repetition:
    """In how many rounds at most to measure again, and where it is told.

    ReFrame inherits `inherited_fds`, the descriptor of a lock for instance. No round begins when
    the run that is judged began so many `minutes` ago.
    """

    rounds: int
    output: TextIO
    inherited_fds: Sequence[int] = ()
    minutes: float = math.inf


def suspects(series: Iterable[Series], newest: float) -> Cases:
    """Return the cases of the night that ended at `newest` (s since the epoch).

    The `series` are those that are suspected.
    """
    by_session: Cases = {}
    for suspected in series:
        session = suspected.samples[-1].session
        names = by_session.setdefault(session.uuid, [])
        name = suspected.case.key.check
        if newest - session.end <= NIGHT and name not in names:
            names.append(name)
    return {uuid: names for uuid, names in by_session.items() if names}


def measure_again(
    verdict: Verdict, evidence: Evidence, judges: Sequence[Undecided], how: Repetition | None
) -> None:
    """Judge what was measured again, and measure again what any judge calls undecided, in rounds.

    `how` None: only what was measured before is judged. Raises ResultsFault where nobody can say
    what is undecided, Interrupted when this process is told to stop.
    """
    done = _judge_repetitions(verdict, evidence, 0)
    if how and how.rounds:
        child = ReframeProcess(how.inherited_fds)
        with child.heeding():
            rounds, late = 0, ""
            while (cases := _undecided(evidence, judges)) and rounds < how.rounds:
                if _is_late(evidence, how):
                    late = f", when the {how.minutes:g} minutes of the run were over"
                    break
                rounds += 1
                how.output.write(f"acceptance: again, round {rounds} of {how.rounds} at most\n")
                verdict.notes += _run(evidence, cases, done, how, child)
                before, done = done, _judge_repetitions(verdict, evidence, done)
                if done == before:
                    late = ", the last of which left no line in the log of ReFrame"
                    break
        if cases:
            names = shortened([*dict.fromkeys(itertools.chain(*cases.values()))])
            after = f"after {plural(rounds, 'round')}{late}"
            verdict.notes.append(f"cannot tell at this cost, {after}: {names}")
    if done:
        names = ", ".join(sorted({case.name for each in evidence.again for case in each.cases}))
        verdict.notes.append(f"measured again, {plural(done, 'time')} in all: {names}")


def _is_late(evidence: Evidence, how: Repetition) -> bool:
    begin = min((session.start for session in evidence.sessions), default=math.inf)
    return time.time() - begin > 60 * how.minutes


def _undecided(evidence: Evidence, judges: Sequence[Undecided]) -> Cases:
    """Return what any of the judges calls undecided."""
    united: dict[str, dict[str, None]] = {}
    for judge in judges:
        for uuid, names in judge(evidence).items():
            united.setdefault(uuid, {}).update(dict.fromkeys(names))
    return {uuid: [*names] for uuid, names in united.items() if names}


def _judge_repetitions(verdict: Verdict, evidence: Evidence, first: int) -> int:
    """Judge the runs that measured again, but for the `first` ones; return how many there are."""
    workspace = evidence.workspace
    runs = repetitions(workspace.logs, evidence.last)
    for run in runs[first:]:
        again = Verdict()
        evidence.again += judge_run(again, workspace, *find_run(workspace, run.label).runs)
        add(verdict, again)
    if runs[first:]:
        evidence.past = ledger.of(workspace, evidence.past.results)
    return len(runs)


def add(verdict: Verdict, again: Verdict) -> None:
    """Add the verdict on a repetition to that on its run, in which no case is counted twice.

    What failed once has failed.
    """
    passed = {case.place for case in verdict.cases if case.passed}
    before, now = (
        {case.place for case in each.cases if case.result not in COUNTED}
        for each in (verdict, again)
    )
    moved = len((passed & now) - before)
    verdict.passed, verdict.failed = verdict.passed - moved, verdict.failed + moved
    verdict.cases += again.cases
    for problem in again.problems:
        # No other step measures what a repetition did not select.
        place = () if problem.kind == "no-cases" else problem.place
        text = f"when measured again: {problem.text}"
        verdict.add(structs.replace(problem, text=text, place=place))


def repetitions(logs: Path, session: str) -> list[LoggedRun]:
    """Return the runs that measured again what a session had measured, the first first."""
    later = itertools.takewhile(lambda run: run.stored != session, run_log.runs(logs))
    return [run for run in later if repeated(run.label) == session][::-1]


def _run(
    evidence: Evidence,
    cases: Cases,
    done: int,
    how: Repetition,
    child: ReframeProcess,
) -> list[str]:
    """Run the cases of each session once more, those of one command together.

    `done` repetitions there are already. Returns what could not be run.
    """
    workspace = evidence.workspace
    runs = {run.stored: run for run in run_log.runs(workspace.logs) if run.stored in cases}
    # A session that measured again has the command of the one before it.
    together: dict[tuple[str, ...], list[str]] = {}
    for uuid, run in runs.items():
        where = run.fields.get("working directory", "").strip("'") or str(workspace.start)
        together.setdefault((where, *command(run.arguments)), []).extend(cases[uuid])
    for number, ((where, *words), names) in enumerate(together.items(), done + 1):
        names = [*dict.fromkeys(names)]
        count = plural(len(names), "case")
        how.output.write(f"acceptance: again, {count}: {shortened(names, 2)}\n")
        how.output.flush()
        child.check()
        child.run(
            [reframe_program(), *words, *own_options(names, f"{evidence.last}.again{number}")],
            cwd=where,
            env=reframe_environment(workspace),
            output=how.output,
        )
        child.check()
    return [
        f"not measured again, since the log has no command of session {uuid}: {', '.join(names)}"
        for uuid, names in cases.items()
        if uuid not in runs
    ]


def command(arguments: Sequence[str]) -> list[str]:
    """Return ReFrame's options of a run without those that a repetition has of its own.

    `arguments` are those of the log, the program first.
    """
    kept: list[str] = []
    skip = False
    for word in arguments[1:]:
        if skip:
            skip = False
        elif word in _OWN:
            skip = True
        elif word != _QUIET and not word.startswith((*_OWN_LONG, "-n")):
            kept.append(word)
    return kept


def own_options(names: Iterable[str], label: str) -> list[str]:
    """Return ReFrame's options for these cases only, under another label."""
    # Its outputs have a folder of their own, and take nobody's place. ReFrame's log has the rest.
    label_of_run = ("--session-extras", f"run={label}", f"--timestamp={label}")
    return [*narrowed(names), *label_of_run, _QUIET]


def narrowed(names: Iterable[str]) -> list[str]:
    """Return ReFrame's options that select these cases; it matches names without spaces."""
    patterns = [f"^{re.escape(name.replace(' ', ''))}$" for name in names]
    return [word for pattern in patterns for word in ("-n", pattern)]

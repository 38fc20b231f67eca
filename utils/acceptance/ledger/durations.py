"""How long cases took when they last ran, and how far a run has come by that."""

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from acceptance.core.text import time_text
from acceptance.ledger import results_db
from acceptance.ledger.ledger import Ledger
from acceptance.ledger.records import StoredCase, as_text, decode

#: A case: its name, its `system:partition+environment`, and the mode of its run.
CaseInMode: TypeAlias = tuple[str, str, str]

#: Sessions that a run looks at before it begins, and s that it has for them: nobody waits for it.
NEWEST, PATIENCE = 50, 1.0
#: Cases that run now, of which the names are shown.
_SHOWN = 2


def durations(ledger: Ledger, wanted: Collection[CaseInMode]) -> dict[CaseInMode, float]:
    """Return what each case added to the session that ran it last, in s; what never ran is missing.

    A session's time is shared among its cases by the times of their builds and jobs: they may have
    run side by side. A build (fixture) has no mode. Raises ResultsFault.
    """
    return _newest((text for _, text in ledger.contents(reversed(ledger.entries), [])), wanted)


def recent(
    results: Path, wanted: Collection[CaseInMode], patience: float = PATIENCE
) -> dict[CaseInMode, float]:
    """Return the same out of the newest sessions, looked at for so many s; raises ResultsFault."""
    newest = results_db.sessions(results)[: -NEWEST - 1 : -1]
    blobs = (blob.decode(errors="replace") for _, blob in results_db.contents(results, newest))
    return _newest(blobs, wanted, patience)


def _newest(
    texts: Iterable[str], wanted: Collection[CaseInMode], patience: float = math.inf
) -> dict[CaseInMode, float]:
    """Return what each case added to the first session (JSON) that has it, within so many s."""
    end = time.monotonic() + patience
    found: dict[CaseInMode, float] = {}
    for text in texts:
        found = _shares(text, wanted) | found
        if len(found) == len({*wanted}) or time.monotonic() > end:
            break
    return found


def _shares(blob: str, wanted: Collection[CaseInMode]) -> dict[CaseInMode, float]:
    """Return what each of the wanted cases added to a session, in s."""
    try:
        info, stored = decode(blob)
        times = {_key(case): _time(case) for case in stored}
    except ValueError:  # malformed: reported where results are judged
        return {}
    total = sum(times.values())
    elapsed = info.end - info.start
    if elapsed <= 0:
        return {}
    return {key: elapsed * times[key] / total for key in times.keys() & {*wanted} if times[key]}


def _key(case: StoredCase) -> CaseInMode:
    where = f"{case.system}:{case.partition}+{case.environ}"
    return case.display_name or case.name, where, "" if case.fixture else as_text(case.mode)


def _time(case: StoredCase) -> float:
    return (case.time_compile or 0.0) + (case.time_run or 0.0)


@dataclass(frozen=True)
class RunProgress:
    """The cases of a run, and how long those took that ran before (s).

    `guessed` is how long others take by formula; 0, or nothing: nobody knows.
    """

    cases: Sequence[CaseInMode]
    known: Mapping[CaseInMode, float]
    guessed: Mapping[CaseInMode, float] = field(default_factory=dict)

    def line(
        self, done: Collection[CaseInMode], running: Mapping[CaseInMode, float], elapsed: float
    ) -> str:
        """Return the line of now; `running` has s since each began, `elapsed` is s of the run."""
        parts = [
            f"{len(done)} of {len(self.cases)} done in {time_text(elapsed)}",
            self.rest(done, running),
        ]
        if running:
            shown = [f"{name} @{where}" for name, where, _ in list(running)[:_SHOWN]]
            more = f" and {len(running) - _SHOWN} more" if len(running) > _SHOWN else ""
            longest = time_text(max(running.values()))
            parts.append(f"now {', '.join(shown)}{more}, for {longest}")
        return "; ".join(parts)

    def rest(self, done: Collection[CaseInMode], running: Mapping[CaseInMode, float]) -> str:
        """Say about how long the rest takes, by how long each case took when it last ran."""
        left = [case for case in self.cases if case not in done]
        times = {**self.guessed, **self.known}
        unknown = [case for case in left if not times.get(case)]
        if not left:
            return "nothing left"
        if len(unknown) == len(left):
            return f"rest unknown: none of the {len(left)} left ran here of late"
        rest = {case: max(times.get(case, 0.0) - running.get(case, 0.0), 0.0) for case in left}
        guessed = [rest[case] for case in left if case not in self.known and case not in unknown]
        late = "did not run here of late"
        told = [f" without {len(unknown)} that {late}"] if unknown else []
        of_it = f", {time_text(sum(guessed))} of it by formula: {len(guessed)} {late}"
        told += [of_it] if guessed else []
        return f"about {time_text(sum(rest.values()))} left{''.join(told)}"

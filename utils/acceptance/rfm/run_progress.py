"""How far a run has come: cases done, elapsed, about how long the rest takes, and what runs now."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from acceptance.core.text import time_text
from acceptance.rfm.durations import CaseInMode

#: Cases that run now, of which the names are shown.
_SHOWN = 2


@dataclass(frozen=True)
class RunProgress:
    """The cases of a run, and how long those took that ran before (s).

    `guessed` is how long others may take; 0, or nothing: nobody knows.
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
        seconds = sum(max(times.get(case, 0.0) - running.get(case, 0.0), 0.0) for case in left)
        guessed = sum(case not in self.known for case in left) - len(unknown)
        told = [f" without {len(unknown)} that did not run here of late"] if unknown else []
        told += [f", {guessed} that did not run here of late guessed"] if guessed else []
        return f"about {time_text(seconds)} left{''.join(told)}"

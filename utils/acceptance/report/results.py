"""Sweeps over message sizes as sessions have them: the newest of each, and those before it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median

from acceptance.core.words import is_measured, read_metric
from acceptance.ledger import Metric, Session
from acceptance.report.rendering import time_text
from acceptance.report.runs import Ran, Run
from acceptance.report.source import Place, Source


def count_of(keys: Mapping[str, str], key: str, default: int = 0) -> int:
    """Return a key of a result that is a number; the default where it is none."""
    text = keys.get(key, "")
    return int(text) if text.isdecimal() and text.isascii() else default


@dataclass(frozen=True)
class Sweep:
    """One metric of a benchmark over message sizes, under the same keys and environment.

    `values` are those of the newest session that has them, by message size (bytes; None: a metric
    without sizes); `past` are those of earlier sessions, by when each began (s since the epoch) and
    its id, the newest first.
    """

    place: Place
    environment: str
    benchmark: str
    stem: str
    unit: str
    keys: Mapping[str, str]
    by: Ran
    values: dict[int | None, Metric] = field(default_factory=dict)
    past: dict[tuple[float, str], dict[int | None, float]] = field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        """Tell whether it was simulated."""
        return bool(self.by.case.simulated)

    @property
    def sizes(self) -> list[int]:
        """Return the message sizes that have a result."""
        return sorted(size for size in self.values if size is not None)

    def note(self, size: int | None) -> str:
        """Say of a number when it was measured, in which session, and by what it was judged."""
        metric, session = self.values[size], self.by.session
        judged = "recorded, not judged"
        if metric.judged_by:
            verdict = "passed" if metric.passed else "failed"
            judged = f"{verdict}, judged by {metric.judged_by}"
        return f"{time_text(session.start)}, session {session.uuid[:8]}; {judged}"

    def link(self, source: Source) -> str:
        """Return the address of its case; empty where its session has no page."""
        return source.address(self.by.session.uuid, self.by.number)

    def earlier(self, size: int | None) -> tuple[float, float, float] | None:
        """Return the smallest, middle and largest value of earlier sessions; None: fewer than 2."""
        values = [values[size] for values in self.past.values() if size in values]
        return (min(values), median(values), max(values)) if len(values) > 1 else None


@dataclass
class Results:
    """What the sessions of a report have of one partition."""

    place: Place
    sweeps: dict[tuple[object, ...], Sweep] = field(default_factory=dict)
    #: The cases that failed, and have not passed since.
    failures: list[Ran] = field(default_factory=list)
    newest: Session | None = None
    _ended: set[tuple[str, str]] = field(default_factory=set)

    def add(self, by: Ran) -> None:
        """Take a case; those of newer sessions come first."""
        case = by.case
        self.newest = self.newest or by.session
        if not case.passed and by.key not in self._ended:
            self.failures.append(by)
        self._ended.add(by.key)
        for metric in case.metrics if case.passed else ():
            if is_measured(metric.value):
                self._take(by, metric)

    def _take(self, by: Ran, metric: Metric) -> None:
        case = by.case
        stem, own = read_metric(metric.name)
        size = int(own.pop("message_size")) if "message_size" in own else None
        keys = {**case.keys, **own}
        key = case.environment, case.benchmark, stem, metric.unit, frozenset(keys.items())
        sweep = self.sweeps.get(key)
        if sweep is None:
            sweep = self.sweeps[key] = Sweep(self.place, *key[:4], keys, by)
        if by.session.uuid != sweep.by.session.uuid:
            session = by.session.start, by.session.uuid
            sweep.past.setdefault(session, {}).setdefault(size, metric.value)
        elif by.number == sweep.by.number:
            sweep.values.setdefault(size, metric)


# Several pages ask for it.
@lru_cache(maxsize=1)
def results(source: Source) -> list[Results]:
    """Return what the sessions of a report have of each partition, by their names.

    Of several runs of a case in a session the last one counts. Builds and other fixtures, and plain
    checks, are left out.
    """
    made = {place.name: Results(place) for place in source.measured}
    for session in source.sessions:
        for ran in Run((session,)).cases:
            case, name = ran.case, f"{ran.case.system}:{ran.case.partition}"
            if not case.fixture and not case.plain and name in made:
                made[name].add(ran)
    return [made[name] for name in sorted(made)]

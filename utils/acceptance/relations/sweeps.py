"""Times over message sizes out of stored sessions, and how far a single one of them may be off.

A sweep is one benchmark at one number of ranks, in one place, of one session.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import NamedTuple

from acceptance.core.robust import MAD_TO_STD
from acceptance.core.words import is_measured, split_metric
from acceptance.ledger import Case, Session
from acceptance.suites import SUITES

#: Stems of the metrics that are times of an operation.
TIMES = ("latency", "time")
#: Keys that say what a single benchmark did, not where and on how many ranks.
OWN_KEYS = ("pairs", "buffers")
#: Sizes without which the roughness of a sweep is unknown: three second differences.
LEAST_SIZES = 5
#: Values without which the spread of a size is unknown.
LEAST_VALUES = 3


class Group(NamedTuple):
    """What cases share whose times may be compared: suite, place, ranks."""

    suite: str
    where: str
    keys: tuple[tuple[str, str], ...]


class _SweepKey(NamedTuple):
    """What names a sweep in every session; `own` are its keys that others in its group lack."""

    group: Group
    benchmark: str
    stem: str
    own: tuple[tuple[str, str], ...] = ()

    @property
    def keys(self) -> dict[str, str]:
        """Return all keys of its cases."""
        return {**dict(self.group.keys), **dict(self.own)}


@dataclass
class Sweep:
    """The times of one benchmark: message size (bytes) -> value in `units` of that size.

    Where a session has a case several times it is the median that counts. `unusable` are the sizes
    whose value is no measurement; `past` are the values of earlier sessions, in any unit that these
    had.
    """

    key: _SweepKey
    name: str
    version: str
    units: dict[int, str] = field(default_factory=dict)
    values: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    unusable: set[int] = field(default_factory=set)
    past: Mapping[tuple[int, str], Sequence[float]] = field(default_factory=dict)

    @cached_property
    def times(self) -> dict[int, float]:
        """Message size (bytes) -> time, of all sizes that can be used, in their order."""
        return {
            size: median(values)
            for size, values in sorted(self.values.items())
            if size not in self.unusable
        }

    @cached_property
    def _roughness(self) -> float | None:
        return roughness(self.times)

    @cached_property
    def _jumps(self) -> dict[int, float]:
        return jumps(self.times)

    def spread(self, size: int) -> float | None:
        """Return the relative standard deviation of one value; None where nothing tells it.

        The largest of: the roughness of the sweep, the spread between earlier sessions, and that
        between repetitions in this one.
        """
        found = [
            self._roughness,
            deviation(self.values[size]),
            deviation(self.past.get((size, self.units[size]), ())),
        ]
        return max((value for value in found if value is not None), default=None)

    def largest_jump(self, besides: int | None = None) -> float:
        """Return ln of the largest factor by which one value stands above its two neighbours."""
        return max((jump for size, jump in self._jumps.items() if size != besides), default=0.0)


@dataclass
class Collected:
    """The sweeps of a session, and what of it became none: group -> benchmark -> why not."""

    sweeps: dict[_SweepKey, Sweep] = field(default_factory=dict)
    attempted: dict[tuple[str, str], dict[str, str]] = field(
        default_factory=lambda: defaultdict(dict)
    )

    def groups(self) -> list[Group]:
        """Return the groups in the order of the session."""
        return list(dict.fromkeys(key.group for key in self.sweeps))

    def of(self, group: Group) -> list[Sweep]:
        """Return the sweeps of a group."""
        return [sweep for key, sweep in self.sweeps.items() if key.group == group]

    def why_not(self, group: Group, benchmark: str) -> str:
        """Say why a benchmark has no sweep in a group."""
        missing = f"{benchmark} was not measured"
        return self.attempted[group.suite, group.where].get(benchmark, missing)


def collect(session: Session, earlier: Iterable[Session] = ()) -> Collected:
    """Read the sweeps of a session, with the values that earlier ones had in the same place.

    Only first runs that passed count: a repetition of a failed case does not undo the failure.
    """
    found = Collected()
    for case in _cases(session):
        if case.passed and case.run_index == 0:
            for key, size, value, unit in _points(case):
                sweep = found.sweeps.setdefault(
                    key, Sweep(key, case.name, case.provenance.get("suite", ""))
                )
                sweep.values[size].append(value)
                # A value of another unit or none spoils its size, not the sweep.
                if not is_measured(value) or sweep.units.setdefault(size, unit) != unit:
                    sweep.unusable.add(size)
                    sweep.units[size] = unit
        elif not case.passed:
            verb = "failed" if case.result == "fail" else "was not run"
            found.attempted[case.suite, case.where][case.benchmark] = f"{case.benchmark} {verb}"
    past = _past(earlier, set(found.sweeps))
    for key, sweep in found.sweeps.items():
        sweep.past = past.get(key, {})
    return found


def _cases(session: Session) -> list[Case]:
    sweeping = {suite.key for suite in SUITES.values() if suite.sweeps}
    return [case for case in session.cases if not case.fixture and case.suite in sweeping]


def _points(case: Case) -> Iterable[tuple[_SweepKey, int, float, str]]:
    own = tuple((key, case.keys[key]) for key in OWN_KEYS if key in case.keys)
    keys = tuple(sorted(item for item in case.keys.items() if item[0] not in OWN_KEYS))
    group = Group(case.suite, case.where, keys)
    for metric in case.metrics:
        stem, size = split_metric(metric.name)
        # The first row of a table, that of no data, also pays for what comes up only once.
        if stem in TIMES and size:
            yield _SweepKey(group, case.benchmark, stem, own), size, metric.value, metric.unit


def _past(
    earlier: Iterable[Session], wanted: set[_SweepKey]
) -> dict[_SweepKey, dict[tuple[int, str], list[float]]]:
    """Return sweep -> (size, unit) -> values, one of each session."""
    found: dict[_SweepKey, dict[tuple[int, str], list[float]]] = {}
    for session in earlier:
        values: dict[tuple[_SweepKey, int, str], list[float]] = defaultdict(list)
        for case in _cases(session):
            if case.passed and case.run_index == 0:
                for key, size, value, unit in _points(case):
                    if key in wanted and is_measured(value):
                        values[key, size, unit].append(value)
        for (key, size, unit), several in values.items():
            found.setdefault(key, {}).setdefault((size, unit), []).append(median(several))
    return found


def roughness(times: Mapping[int, float]) -> float | None:
    """Return the relative standard deviation of a single time, from the sweep itself.

    A smooth curve of ln t over log2 of the size has small second differences; those of independent
    errors of standard deviation s have the standard deviation s * sqrt(6). It is taken from the
    median of their absolute values, so that a few sizes at which the algorithm changes do not
    count. None below three of them.
    """
    found = [
        math.log(times[size // 2] * times[2 * size] / times[size] ** 2)
        for size in times
        if size % 2 == 0 and size // 2 in times and 2 * size in times
    ]
    if len(found) < LEAST_SIZES - 2:
        return None
    return MAD_TO_STD * median(map(abs, found)) / math.sqrt(6)


def jumps(times: Mapping[int, float]) -> dict[int, float]:
    """Return size -> ln of the factor by which its time is above both of its neighbours' times.

    Only sizes that stand above the larger one of them; a curve that grows has none.
    """
    found = {}
    for size in times:
        if size % 2 or size // 2 not in times or 2 * size not in times:
            continue
        near = max(times[size // 2], times[2 * size])
        if times[size] > near:
            found[size] = math.log(times[size] / near)
    return found


def deviation(values: Sequence[float]) -> float | None:
    """Return the relative standard deviation of values, from the median absolute deviation.

    None below three of them.
    """
    if len(values) < LEAST_VALUES:
        return None
    logs = [math.log(value) for value in values]
    middle = median(logs)
    return MAD_TO_STD * median(abs(value - middle) for value in logs)

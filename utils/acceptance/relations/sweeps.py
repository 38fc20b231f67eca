"""Times over message sizes out of stored sessions, and how far a single one of them may be off.

A sweep is one benchmark at one number of ranks, in one place, of one session.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import NamedTuple

from acceptance.core.robust import MAD_TO_STD
from acceptance.core.words import split_metric
from acceptance.ledger.reading import Run
from acceptance.suites import SUITES

#: Stems of the metrics that are times of an operation.
TIMES = ("latency", "time")
#: Keys that say what a single benchmark did, not where and on how many ranks.
OWN_KEYS = ("pairs", "buffers")
#: Sizes without which the roughness of a sweep is unknown: three second differences.
LEAST_SIZES = 5
#: Values without which the spread of a size is unknown.
LEAST_VALUES = 3


class SweepKey(NamedTuple):
    """What names a sweep in every session: `shared` are the keys that say on which ranks it ran.

    Times may be compared of those that differ in no more than benchmark, stem, and keys of their
    `own`.
    """

    suite: str
    where: str
    shared: tuple[tuple[str, str], ...]
    benchmark: str
    stem: str
    own: tuple[tuple[str, str], ...] = ()

    @property
    def keys(self) -> dict[str, str]:
        """Return all keys of its cases."""
        return dict(self.shared + self.own)


@dataclass
class Sweep:
    """The times of one benchmark: message size (bytes) -> values of that size, with their units.

    A value is None where nothing can have measured it. `earlier` are the same sweep in sessions
    before.
    """

    key: SweepKey
    name: str
    version: str
    points: dict[int, list[tuple[float | None, str]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    earlier: list["Sweep"] = field(default_factory=list)

    @cached_property
    def times(self) -> dict[int, float]:
        """Message size (bytes) -> time, of all sizes that can be used, in their order.

        Where a session has a case several times it is the median that counts. A value of another
        unit, or none, spoils its size, not the sweep.
        """
        return {
            size: median(values)
            for size, points in sorted(self.points.items())
            if len(values := self._values(size, points[0][1])) == len(points)
        }

    def _values(self, size: int, unit: str) -> list[float]:
        """Return what was measured of a size in a unit."""
        points = self.points.get(size, ())
        return [value for value, own in points if value is not None and own == unit]

    def unit(self, size: int) -> str:
        """Return the unit of a size."""
        return self.points[size][0][1]

    @cached_property
    def spreads(self) -> dict[int, float | None]:
        """Message size (bytes) -> relative standard deviation of one value; None: nothing tells it.

        The largest of: the roughness of the sweep, the spread between earlier sessions, and that
        between repetitions in this one.
        """
        rough, found = roughness(self.times), {}
        for size in self.times:
            unit = self.unit(size)
            before = [median(own) for sweep in self.earlier if (own := sweep._values(size, unit))]
            known = (rough, deviation(self._values(size, unit)), deviation(before))
            found[size] = max((each for each in known if each is not None), default=None)
        return found


def is_swept(suite: str) -> bool:
    """Tell whether the benchmarks of a suite go over message sizes."""
    return suite in SUITES and SUITES[suite].sweeps


def collect(
    runs: Iterable[Run],
) -> tuple[dict[SweepKey, Sweep], dict[tuple[str, str], dict[str, str]]]:
    """Return the sweeps of a session; and (suite, place) -> benchmark -> why it has none there.

    Only first runs that passed count: a repetition of a failed case does not undo the failure.
    """
    sweeps: dict[SweepKey, Sweep] = {}
    missing: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    known: set[tuple[str, str]] = set()
    for run in runs:
        case = run.where, run.name
        if not run.passed:
            verb = "failed" if run.result == "fail" else "was not run"
            missing[run.suite, run.where][run.benchmark] = f"{run.benchmark} {verb}"
        elif case not in known and is_swept(run.suite):
            own = tuple((key, run.keys[key]) for key in OWN_KEYS if key in run.keys)
            keys = tuple(sorted(item for item in run.keys.items() if item[0] not in OWN_KEYS))
            for metric, unit, value in run.metrics:
                stem, size = split_metric(metric)
                # The first row of a table, that of no data, also pays for what comes up only once.
                if stem in TIMES and size:
                    key = SweepKey(run.suite, run.where, keys, run.benchmark, stem, own)
                    sweep = sweeps.setdefault(key, Sweep(key, run.name, run.version))
                    sweep.points[size].append((value, unit))
        known.add(case)
    return sweeps, missing


def roughness(times: Mapping[int, float]) -> float | None:
    """Return the relative standard deviation of a single time, from the sweep itself.

    A smooth curve of ln t over log2 of the size has small second differences; those of independent
    errors of standard deviation s have the standard deviation s * sqrt(6). It is taken from the
    median of their absolute values, so that a few sizes at which the algorithm changes do not
    count. None below three of them.
    """
    found = [math.log(below * above / time**2) for _, below, time, above in _between(times)]
    if len(found) < LEAST_SIZES - 2:
        return None
    return MAD_TO_STD * median(map(abs, found)) / math.sqrt(6)


def jumps(times: Mapping[int, float]) -> dict[int, float]:
    """Return size -> ln of the factor by which its time is above both of its neighbours' times.

    Only sizes that stand above the larger one of them; a curve that grows has none.
    """
    return {
        size: math.log(time / max(below, above))
        for size, below, time, above in _between(times)
        if time > max(below, above)
    }


def _between(times: Mapping[int, float]) -> Iterator[tuple[int, float, float, float]]:
    """Yield each size that has the half and the double of it beside it, and their three times."""
    for size, time in times.items():
        if size % 2 == 0 and size // 2 in times and 2 * size in times:
            yield size, times[size // 2], time, times[2 * size]


def deviation(values: Sequence[float]) -> float | None:
    """Return the relative standard deviation of values, from the median absolute deviation.

    None below three of them.
    """
    if len(values) < LEAST_VALUES:
        return None
    logs = [math.log(value) for value in values]
    middle = median(logs)
    return MAD_TO_STD * median(abs(value - middle) for value in logs)

"""How many false alarms a site's own nights have, beside how many were promised (A/A).

Of nights without a change every alarm is false. So the healthy nights of a metric, those since its
last change of level and not slow as a whole, are shuffled: their weeks change places, whole, that
what a night has of the night before stays; on which day they begin is random, too. Nothing that
lasted lasts in another order, and the judges begin anew:

- detection, at the threshold of `SERIES` metrics, which may have one false alarm a year together;
  that of a larger site is higher by what it has more of them (`regressions/families.py`);
- a comparison of the one half of the weeks with the other, which may say a false word, of any
  metric, with a chance of `CHANCE` (`comparison.py`).

A run is a shuffle of one metric, or one comparison. What share of runs has a false alarm lies with
95 % below the bound of Clopper and Pearson (Biometrika 26, 1934, 404-413), which is 3 / n for none
in n runs. It is above what was promised where this is below the other bound with 99.9 %: a question
that is asked each night must not be answered wrongly on each twentieth one. Given the nights, runs
are independent, and each may have a chance of its own: their number scatters no more than a
binomial one (Hoeffding, Ann. Math. Stat. 27, 1956, 713-721). Of noise that these nights did not
have nothing is known.

That costs more than the rest of a verdict, and a night more changes little. So where detection
keeps what it knows, rates are counted once in `FEWEST` days, as long as they are of the same
metrics: `var/detection/measured.rates`.
"""

import contextlib
import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from acceptance.core import state_files
from acceptance.core.findings import Finding
from acceptance.core.state_files import StoredFault
from acceptance.core.text import plural
from acceptance.core.words import is_simulated
from acceptance.detection import changepoint
from acceptance.detection.constants import DEFAULT_THRESHOLD, SERIES, SMALLEST, SMALLEST_SEEN
from acceptance.detection.state import State
from acceptance.regressions import Judgement
from acceptance.regressions.history import Series, night
from acceptance.relations import noise
from acceptance.relations.comparison import CHANCE, holm

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

#: Nights of a metric that tell. [chosen] four weeks have 24 orders.
FEWEST, WEEK, YEAR = 28, 7, 365
#: Metrics whose nights are shuffled, and nights of all their shuffles. [chosen]; [derived] without
#: a false alarm 3 times as many as one is promised in are just enough.
SHUFFLED, NIGHTS = 100, 109_500
#: Metrics of a comparison, and comparisons. [chosen]; [derived] as before: ln 0.05 / ln 0.95.
COMPARED, COMPARISONS = 25, 59
#: Rates that a process keeps. [chosen] two of each of several systems.
KEPT = 16
#: How unsure the bounds are: that at most so many are seen, and that more than promised are.
UNSURE, BROKEN = 0.05, 0.001


class Rate(Struct, frozen=True):
    """What share of `runs` may have a false alarm (`promised`), and how many had one (`false`).

    A run is of so many `nights` (the mean), of so many `metrics`, of which `worst` had most. A
    share of 1 is `scale` in the `unit` that is said. Without a run `nights` are too few.
    """

    what: str
    unit: str
    promised: float
    scale: float
    false: int
    runs: int
    nights: float
    metrics: int
    worst: Series | None = None

    @property
    def seen(self) -> float:
        """Return the share of runs that had a false alarm."""
        return self.false / self.runs

    @property
    def most(self) -> float:
        """Return the share that have one, at most."""
        return at_most(self.false, self.runs, UNSURE)

    @property
    def broken(self) -> bool:
        """Tell whether more have one than is promised."""
        if not self.runs:
            return False
        return 1 - at_most(self.runs - self.false, self.runs, BROKEN) > self.promised

    def share(self, share: float) -> str:
        """Return a share in the unit that is said: two digits, or a whole number."""
        number = share * self.scale
        return f"{number:.2g}" if number < 10 else f"{number:.0f}"

    @property
    def text(self) -> str:
        """Say what is promised and what was seen."""
        nights = f"{plural(round(self.nights), 'night')} without a change"
        if not self.runs:
            return f"{self.what}: cannot tell yet: {nights} of a metric, of {FEWEST} that it takes"
        promised, seen, most = map(self.share, (self.promised, self.seen, self.most))
        return (
            f"{self.what}: promised at most {promised} {self.unit}, seen {seen} (at most {most} at "
            f"95 %): {self.false} in {self.runs} shuffles of {nights}, of "
            f"{plural(self.metrics, 'metric')}"
        )


def at_most(count: int, runs: int, unsure: float) -> float:
    """Return the largest share of which `count` or fewer `runs` still have a chance of `unsure`."""
    if count >= runs:
        return 1.0
    of = np.arange(count + 1)
    logs = np.array([-math.lgamma(k + 1) - math.lgamma(runs - k + 1) for k in of.tolist()])
    logs += math.lgamma(runs + 1)
    low, high = 0.0, 1.0
    for _ in range(50):
        share = (low + high) / 2
        chance = np.exp(logs + of * math.log(share) + (runs - of) * math.log1p(-share)).sum()
        low, high = (share, high) if chance > unsure else (low, share)
    return high


#: A metric, the numbers of its healthy nights, and the logarithms of its samples on them; and these
#: without the metric. A rate, and the number of the metric with most.
_Healthy = tuple[Series, Ints, Floats]
_Nights = Sequence[tuple[Ints, Floats]]
_Worst = tuple[Rate, int | None]
#: What was counted of samples: their SHA-256 -> the rate.
_COUNTED: dict[bytes, _Worst] = {}
#: What is kept of a rate.
_PLAIN = tuple(name for name in Rate.__struct_fields__ if name != "worst")


def of_judgement(judgement: Judgement) -> list[Rate]:
    """Return the rates of alarms and of comparisons; none where nothing was measured."""
    progress = judgement.progress
    if progress is None or _is_simulated(judgement):
        return []
    most, metrics = 0, []
    for one in progress.all:
        changes, slot = progress.found[progress.slots[id(one)]], progress.slots[id(one)]
        nights = int(progress.series["count"][slot]) - (changes[-1].start if changes else 0)
        most = max(most, nights)
        if one.direction is not None and nights >= FEWEST:
            metrics.append(one)
    healthy = _healthy(judgement, _some(metrics, SHUFFLED))
    if not healthy:
        return [Rate("false alarms", "", 0.0, 0.0, 0, 0, min(most, FEWEST - 1), 0)]
    rates = _lasting(judgement.kept, healthy)
    return [rate if at is None else replace(rate, worst=healthy[at][0]) for rate, at in rates]


def _lasting(kept: Path | None, healthy: Sequence[_Healthy]) -> list[_Worst]:
    """Return the rates that were counted in these weeks, of these metrics, or count them.

    `kept` is the file of detection, beside which they stand.
    """
    place = kept and kept.with_name(f"{kept.name}.rates")
    when = max(int(own[-1]) for _, own, _ in healthy) // FEWEST
    names = hashlib.sha256("\n".join(one.name for one, *_ in healthy).encode()).hexdigest()
    of = [when, names, NIGHTS, COMPARISONS]
    known: dict[str, Any] = {}
    # What cannot be read, or is another release's, is counted anew.
    with contextlib.suppress(StoredFault, ValueError, TypeError, KeyError):
        known = (place and state_files.read(place, dict[str, Any])) or {}
        if known.get("of") == of:
            return [(Rate(**rate), at) for rate, at in known["rates"]]
    some = _some(range(len(healthy)), COMPARED)
    rate, at = _counted(_words, [healthy[number] for number in some])
    rates = [_counted(_alarms, healthy), (rate, at if at is None else some[at])]
    if place:
        plain = [({name: getattr(rate, name) for name in _PLAIN}, at) for rate, at in rates]
        with contextlib.suppress(StoredFault):
            state_files.write(place, {"of": of, "rates": plain})
    return rates


def _counted(count: Callable[[_Nights], _Worst], healthy: Sequence[_Healthy]) -> _Worst:
    """Return what a shuffle counts; of the same samples again, as each round asks, as it was."""
    nights = [(own, logs) for _, own, logs in healthy]
    of_same = hashlib.sha256(count.__name__.encode())
    for each in itertools.chain.from_iterable(nights):
        of_same.update(len(each).to_bytes(8, "big") + each.tobytes())
    if (known := _COUNTED.get(of_same.digest())) is None:
        while len(_COUNTED) >= KEPT:
            del _COUNTED[next(iter(_COUNTED))]
        known = _COUNTED[of_same.digest()] = count(nights)
    return known


def _is_simulated(judgement: Judgement) -> bool:
    """Tell whether it is of simulated series; none is of both."""
    series = judgement.progress.all if judgement.progress is not None else ()
    return any(is_simulated(one.case.key.system) for one in series)


Of = TypeVar("Of")


def _some(every: Sequence[Of], most: int) -> list[Of]:
    """Return at most so many of them, evenly spread."""
    count = min(most, len(every))
    return [every[number * len(every) // count] for number in range(count)]


def _healthy(judgement: Judgement, metrics: Sequence[Series]) -> list[_Healthy]:
    """Return the metrics that have enough healthy nights; up is worse."""
    progress = judgement.progress
    assert progress is not None
    date = {one.number: night(one.start) for one in progress.history.sessions}
    slow = {(one.partition, night(one.session.start)) for one in judgement.slow}
    moved: Counter[int] = Counter()
    for shared in progress.kept.shared:
        for slot, its in zip(shared.members, shared.change.moved, strict=True):
            moved[slot] = max(moved[slot], shared.change.start * its)
    found = []
    recent = progress.recent(metrics)
    for one in metrics:
        slot, (sessions, logs) = progress.slots[id(one)], recent[id(one)]
        changes, count = progress.found[slot], int(progress.series["count"][slot])
        since = max(0, len(logs) - count + (changes[-1].start if changes else 0))
        nights = np.array([date[number] for number in sessions.tolist()], np.intp)
        kept = sessions >= moved[slot]
        kept[:since] = False
        kept &= [(one.partition, each) not in slow for each in nights.tolist()]
        if len(np.unique(nights[kept])) >= FEWEST:
            found.append((one, nights[kept], logs[kept] * (-1 if one.direction == "higher" else 1)))
    return found


def _order(nights: Ints, chance: np.random.Generator) -> Floats:
    """Return the places from 0 to 1 that the weeks of some nights take in another order."""
    weeks, which = np.unique((nights + chance.integers(WEEK)) // WEEK, return_inverse=True)
    return np.asarray(chance.permutation(len(weeks))[which] / len(weeks))


def _alarms(healthy: _Nights) -> _Worst:
    """Count the shuffles of a metric in which detection finds a change for the worse."""
    chance, nights = np.random.default_rng(0), sum(len(own) for own, _ in healthy)
    each = math.ceil(NIGHTS / nights)
    runs = [one for one in healthy for _ in range(each)]
    lengths = np.array([len(logs) for _, logs in runs])
    values = np.zeros((lengths.max(), len(runs)))
    for column, (own, logs) in enumerate(runs):
        values[: len(logs), column] = logs[np.argsort(_order(own, chance), kind="stable")]
    state = State.empty(len(runs))
    limits = np.broadcast_to(DEFAULT_THRESHOLD, values.shape)
    changepoint.go_on(state, values, lengths, limits, SMALLEST_SEEN)
    false = Counter(
        column // each
        for column, changes in enumerate(state.found)
        if any(one.worse and one.after - one.before >= math.log1p(SMALLEST) for one in changes)
    )
    mean = nights / len(healthy)
    rate = Rate(
        "false alarms", f"a year of {SERIES} metrics", mean / math.exp(DEFAULT_THRESHOLD),
        SERIES * YEAR / mean, false.total(), len(runs), mean, len(healthy),
    )  # fmt: skip
    return rate, next((number for number, _ in false.most_common(1)), None)


def _words(healthy: _Nights) -> _Worst:
    """Count the comparisons of the one half of the weeks with the other that say a false word."""
    chance = np.random.default_rng(0)
    nights = np.unique(np.concatenate([own for own, _ in healthy]))
    told: Counter[int] = Counter()
    false = 0
    for _ in range(COMPARISONS):
        first = nights[_order(nights, chance) < 0.5]
        seen = [_compared(logs, np.isin(own, first)) for own, logs in healthy]
        level = holm([probability for probability, _ in seen])
        those = [
            number
            for number, (probability, size) in enumerate(seen)
            if probability <= level and abs(size) >= math.log1p(SMALLEST)
        ]
        told.update(those)
        false += bool(those)
    mean = sum(len(own) for own, _ in healthy) / len(healthy)
    rate = Rate(
        "false words", "% of comparisons", CHANCE, 100, false, COMPARISONS, mean, len(healthy)
    )
    return rate, next((number for number, _ in told.most_common(1)), None)


def _compared(logs: Floats, first: NDArray[np.bool_]) -> tuple[float, float]:
    """Return how probable the difference of two sides is by chance, and how large it is."""
    sides = np.flatnonzero(first), np.flatnonzero(~first)
    known = noise.learn(np.exp(logs), [side.tolist() for side in sides], ())
    if known is None or not min(map(len, sides)):
        return 1.0, 0.0
    a, b = (float(np.median(logs[side])) for side in sides)
    t, (_, dof, _) = noise.difference(b - a, (len(sides[0]), len(sides[1])), (known, known))
    by_ranks = noise.ranked(logs[sides[0]], logs[sides[1]], known.correlation)
    return max(noise.two_sided(t, dof), by_ranks), b - a


def sentences(judgement: Judgement) -> list[str]:
    """Say how many false alarms there are, beside how many are promised."""
    if _is_simulated(judgement):
        return ["false alarms: not counted of simulated systems, which repeat to the last digit"]
    return [one.text for one in of_judgement(judgement)]


def findings(judgement: Judgement) -> Iterator[Finding]:
    """Yield that there are more false alarms than promised."""
    for one in of_judgement(judgement):
        if one.broken and one.worst is not None:
            key = one.worst.case.key
            yield Finding(
                "false-alarms", f"{one.text}; most of {one.worst.name}", what=one.what,
                found=one.text.partition("seen ")[2], where=key.where, place=(one.what,),
                expected=f"at most {one.share(one.promised)} {one.unit}", source="history",
            )  # fmt: skip

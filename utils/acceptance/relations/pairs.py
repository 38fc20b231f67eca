"""Results that can be compared with each other: what fits the sides of a claim, and which pairs.

What the runs of the ledger have is gathered as series of results, by place and benchmark.
The figure of two results, and whether it is as claimed, is decided here, too: values go in, figures
come out. The rules are documented in `reference/README.md`, "How a claim is evaluated"; units and
relations in "A claim".
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

from acceptance import suites
from acceptance.core.groups import Item, Key, grouped
from acceptance.core.words import UNITS, Direction, read_metric
from acceptance.ledger.reading import Run
from acceptance.references import RELATIONS, SIZES, Claim, Side, agrees, with_derived

#: They follow from the number of processes and the machine: two machines seldom agree in them, and
#: a claim that requires them states them.
FOLLOWING = ("nodes", "order")


def best(
    items: Iterable[Item], key: Callable[[Item], Key], rank: Callable[[Item], Any]
) -> dict[Key, Item]:
    """Return of what has a key in common the one of the highest rank; of equals the first one."""
    return {what: max(group, key=rank) for what, group in grouped(items, key).items()}


class Result(NamedTuple):
    """One value of a series, its session and when that was (s since the epoch)."""

    series: "Series"
    time: float
    session: str
    value: float


@dataclass(eq=False)
class Series:
    """What was measured of one metric under the same keys; the newest result is the first one.

    `partition` is `system:partition`, `metric` has the message size, too. `impossible` counts the
    values that nothing can have measured. `parts` are, of a quotient, the two results above and
    below the line.
    """

    partition: str
    environment: str
    benchmark: str
    stem: str
    keys: dict[str, str]
    unit: str
    metric: str
    results: list[Result] = field(default_factory=list)
    impossible: int = 0
    parts: tuple[Result, ...] = ()

    def add(self, time: float, session: str, value: float) -> Result:
        """Add a result."""
        result = Result(self, time, session, value)
        self.results.append(result)
        return result

    @cached_property
    def stated(self) -> dict[str, str]:
        """Return what a claim may state of it: its keys, what follows from them, environment."""
        return {**with_derived(self.keys), "environment": self.environment}

    @property
    def kind(self) -> tuple[str, str, str, str]:
        """Return what a curve has in common."""
        return self.partition, self.benchmark, self.stem, self.unit

    @cached_property
    def point(self) -> tuple[object, ...]:
        """Return what was measured here, with whatever environment."""
        return *self.kind, self.without(FOLLOWING)

    def without(self, free: Collection[str]) -> frozenset[tuple[str, str]]:
        """Return all keys but some."""
        return frozenset(item for item in self.keys.items() if item[0] not in free)


@dataclass
class Results:
    """The series of a benchmark in a partition, or of what fits a side of a claim.

    `failed` has of each case that failed when that was, and its keys; `impossible` counts the
    values of a side that nothing can have measured.
    """

    series: list[Series] = field(default_factory=list)
    failed: list[tuple[float, dict[str, str]]] = field(default_factory=list)
    impossible: int = 0

    @property
    def sessions(self) -> int:
        """Count the sessions that have a value."""
        return len({result.session for series in self.series for result in series.results})

    @property
    def lack(self) -> str:
        """Return why a side has no value; empty where there is one."""
        if self.series:
            return ""
        if self.impossible:
            return "zero"
        return "only failed cases" if self.failed else "no result"


#: System, partition and benchmark -> what was measured.
Places = dict[tuple[str, str, str], Results]


def is_of(benchmark: str, name: str) -> bool:
    """Tell whether a benchmark has this name, or is one of the suite of this name.

    Of IMB that is IMB-MPI1, which papers mean; `imb.nbc` is another component.
    """
    return benchmark == name or (name != "" and benchmark.rpartition(".")[0] == name)


def asked_by(claims: Iterable[Claim]) -> Callable[[str, str, str, str], bool]:
    """Return what tells by system, partition, suite and benchmark whether claims ask for a case."""
    names = {
        (side.system, side.partition, claim.stated(side)[0])
        for claim in claims
        for side in claim.sides
    }

    @cache
    def asks(system: str, partition: str, _: str, benchmark: str) -> bool:
        places = (system, partition), (system, "")
        return any((of, where) in places and is_of(benchmark, name) for of, where, name in names)

    return asks


def gather(sessions: Iterable[Iterable[Run]]) -> Places:
    """Return what the runs of sessions have, by place and benchmark; each is looked at once.

    Of results of one time those of the session that is told first are newer.
    """
    places: Places = {}
    known: dict[object, Series] = {}
    for runs in sessions:
        # Of several runs in a session the last one counts.
        for run in reversed([*runs]):
            place = run.system, run.partition, run.benchmark
            results = places.setdefault(place, Results())
            if not run.passed:
                results.failed.append((run.time, {**run.keys, "environment": run.environment}))
                continue
            for metric, unit, value in run.metrics:
                stem, own = read_metric(metric)
                keys = {**run.keys, **own}
                what = place, run.environment, stem, unit, frozenset(keys.items())
                if what not in known:
                    known[what] = Series(
                        f"{run.system}:{run.partition}", run.environment, run.benchmark,
                        stem, keys, unit, metric,
                    )  # fmt: skip
                    results.series.append(known[what])
                if value is None:
                    known[what].impossible += 1
                else:
                    known[what].add(run.time, run.session, value)
    for series in known.values():
        series.results.sort(key=lambda result: -result.time)
    return places


#: Relations that a figure fulfils only by more than nothing.
STRICT = ("better", "best", "slightly-better", "differs", "peak", "step")

#: Rounding of floating point, as a fraction: 100 * (1.2 - 1) is a little less than 20.
_ROUNDING = 1e-9


class Incomparable(ValueError):
    """Nothing can be compared, or no figure be made: why, in two or three words and in full."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason, self.detail = reason, detail
        super().__init__(detail)


def better(series: Series) -> Direction | Literal["nearer to 1"] | None:
    """Return which of two such results is the better one; None where neither direction is.

    Plain numbers have no direction of their own: a communication balance ratio is best at 1, and
    HPCC's tests per flop of HPL are the better the more there is. A quotient, `x`, says how many
    times as good one result is as another.
    """
    if series.unit == "1":
        return suites.find(series.benchmark).better
    return "higher" if series.unit == "x" else UNITS.get(series.unit)


def direction(series: Series) -> Direction:
    """Return the better direction; raises Incomparable where neither is."""
    way = better(series)
    if way is None or way == "nearer to 1":
        detail = f"no result in {series.unit!r} is better than another"
        raise Incomparable("no direction", detail)
    return way


def gain(series: Series, left: float, right: float) -> float:
    """Return by how many per cent of right left is better; negative: worse."""
    return 100 * (left - right if direction(series) == "higher" else right - left) / right


def times_as_good(series: Series, left: float, right: float = 1.0) -> float:
    """Return how many times as good left is as right, both above zero."""
    return left / right if direction(series) == "higher" else right / left


#: What a pair of results gives, and its unit: that of the claim, `%`, `x`, ... or of the results.
Figure = tuple[float, str]


def figure(claim: Claim, series: Series, left: float, right: float) -> Figure:
    """Compute what a claim compares, of two values above zero such as those of a series.

    An ordering is given as the gain in per cent, or as how much nearer to 1 the left one is;
    `slightly-better` and `much-better` as how many per cent the performance of left lies above that
    of right, a time being the reciprocal of a performance; `similar` and `differs` as how many per
    cent the larger value is above the smaller one, of two quotients as their quotient. Raises
    Incomparable when the claim needs a direction or a unit that these results do not have.
    """
    relation, unit, measured = claim.relation, claim.unit, series.unit
    if relation in ("similar", "differs"):
        apart = max(left, right) / min(left, right)
        return (apart, "x") if measured == "x" else (100 * (apart - 1), "%")
    if unit == "x":
        return (left / right, "x")
    if unit == "decade":
        return (math.log10(left / right), "decade")
    if relation in ("slightly-better", "much-better"):
        return (100 * (times_as_good(series, left, right) - 1), "%")
    if relation in ("better", "best") or unit == "%":
        if better(series) == "nearer to 1" and not unit:
            return (abs(right - 1) - abs(left - 1), "1")
        return (gain(series, left, right), "%")
    if unit != measured:
        raise Incomparable("different units", f"the claim is in {unit}, the results in {measured}")
    return (left - right, unit)


def margin(relation: str, figure: Figure, value: tuple[float, ...], within: float) -> float:
    """Return by how much a figure is as claimed, in the unit of the figure; negative: it is not.

    `within` is the leeway of a claimed value: percentage points, but of a gain at most half of it,
    else a fraction of the value.
    """
    ours, unit = figure
    if relation in ("better", "best"):
        return ours
    if relation == "slightly-better":
        return min(ours, within - ours)
    if relation == "much-better":
        return ours - within
    if relation in ("similar", "differs"):
        most = 1 + within if unit == "x" else within
        return most - ours if relation == "similar" else ours - most
    percent = unit == "%"
    leeways = [min(within, abs(end) / 2) if percent else within * abs(end) for end in value]
    low, high = value[0] - leeways[0], value[-1] + leeways[-1]
    if relation == ">=":
        return ours - low
    if relation == "<=":
        return high - ours
    if relation == "up-to":
        half = (value[0] + (unit == "x")) / 2
        return min(ours - half, high - ours) if value[0] > 0 else min(half - ours, ours - low)
    return min(ours - low, high - ours)


def holds(relation: str, by: float, ours: float) -> bool:
    """Tell whether a figure with this margin is as claimed."""
    rounding = _ROUNDING * max(1.0, abs(ours))
    return by > rounding if relation in STRICT else by >= -rounding


def deciding(relation: str, value: tuple[float, ...], judged: Sequence[tuple[float, float]]) -> int:
    """Return which of several (margin, figure) decides.

    A bound, and what is best, are said of all: the worst one decides. "Up to" is said of the
    largest. The other kinds are said of what is usual: they hold when more than half are as
    claimed, which is so exactly when the one in the middle (of an even number the worse one) is.
    """
    numbers = range(len(judged))
    if RELATIONS[relation].of == "largest":
        return max(numbers, key=lambda number: judged[number][1] * math.copysign(1, value[0]))
    ordered = sorted(numbers, key=lambda number: judged[number][0])
    return ordered[0 if RELATIONS[relation].of == "all" else (len(ordered) - 1) // 2]


#: They are the same in both results, or in neither. Other keys agree where both results have them:
#: messages inside a node have no path where each node has one process.
SAME_KEYS = ("np", "message_size", "pattern", "gpu", "synchronization", "window", "share")


#: The two results that a claim compares: left and right.
Pair = tuple[Result, Result]


def older(pair: Pair) -> float:
    """Return the time of the older result, in s since the epoch."""
    return min(result.time for result in pair)


def newer(pair: Pair) -> float:
    """Return the time of the newer result, in s since the epoch."""
    return max(result.time for result in pair)


def both(pair: Pair, name: str) -> tuple[Any, Any]:
    """Return what the series of the two results are by this name."""
    left, right = (getattr(result.series, name) for result in pair)
    return left, right


def differing(pair: Pair, varied: Collection[str]) -> list[str]:
    """Return the keys of `FOLLOWING` that differ though the sides, but for `varied`, agree."""
    free = {*varied, "nodes"} if "np" in varied else varied
    left, right = (result.series.keys for result in pair)
    return [key for key in FOLLOWING if key not in free and left.get(key) != right.get(key)]


def side_results(claim: Claim, side: Side, other: Side | None, places: Places) -> Results:
    """Return what fits a side of a claim; of a quotient, what stands above the line.

    A side without a partition takes every one of its system but that of the other side.
    """
    fitting = Results()
    name, metric, stated = claim.stated(side)
    word = stated.pop("sizes", None)
    low, high = SIZES[word or "all"]
    not_of = None if side.partition or other is None else (other.system, other.partition)
    for (system, partition, benchmark), results in places.items():
        tails = () if metric else {each.stem for each in suites.find(benchmark).percentiles}
        elsewhere = (system, side.partition or partition) != (side.system, partition)
        if elsewhere or (system, partition) == not_of or not is_of(benchmark, name):
            continue
        # A case that failed early does not know all of its keys.
        fitting.failed += [
            (time, keys)
            for time, keys in results.failed
            if all(agrees(value, keys.get(key, value)) for key, value in stated.items())
        ]
        for series in results.series:
            size = series.keys.get("message_size")
            if (
                metric in ("", series.stem)
                and series.stem not in tails
                and all(agrees(text, series.stated.get(key)) for key, text in stated.items())
                and (word is None if size is None else low <= int(size) <= high)
            ):
                fitting.impossible += series.impossible
                fitting.series += [series] if series.results else []
    return fitting


def _bucket(series: Series, varied: Collection[str]) -> tuple[str | None, ...]:
    """Return what two results must have in common, whether they have it or not."""
    return (
        None if "benchmark" in varied else series.benchmark,
        None if "metric" in varied else series.stem,
        *(None if key in varied else series.keys.get(key) for key in SAME_KEYS),
    )


def matching(
    left: Iterable[Series], right: Iterable[Series], varied: Collection[str]
) -> Iterator[tuple[Series, Series]]:
    """Yield the series that differ in nothing but `varied`, the keys of single sides."""
    buckets = grouped(right, lambda series: _bucket(series, varied))
    free = {*varied, *FOLLOWING}
    for series in left:
        for other in buckets.get(_bucket(series, varied), ()):
            common = (series.keys.keys() & other.keys.keys()) - free
            if all(series.keys[key] == other.keys[key] for key in common):
                yield series, other


def newest_pair(left: Series, right: Series, window: float) -> Pair | None:
    """Return the newest two results that are at most `window` seconds apart."""
    first = second = 0
    while first < len(left.results) and second < len(right.results):
        pair = left.results[first], right.results[second]
        if newer(pair) - older(pair) <= window:
            return pair
        if pair[0].time > pair[1].time:
            first += 1
        else:
            second += 1
    return None


def choose(pairs: Sequence[Pair], window: float, varied: Collection[str]) -> list[Pair]:
    """Return one pair for each thing that is compared, of those of the last `window` seconds.

    Those of two partitions are all of the same two environments: of one environment where there is
    such a pair, else of those that were measured last. Of several problem sizes of HPCC the largest
    counts, then the same number of nodes, then what is newer.
    """
    last = max(map(newer, pairs))
    recent = [pair for pair in pairs if older(pair) >= last - window]
    chosen: list[Pair] = []
    for of_partitions in grouped(recent, lambda pair: both(pair, "partition")).values():
        groups = grouped(of_partitions, lambda pair: both(pair, "environment"))
        environments = max(
            sorted(groups),
            key=lambda two: (two[0] == two[1], max(map(older, groups[two])), len(groups[two])),
        )
        chosen += groups[environments]
    points = best(chosen, lambda pair: both(pair, "point"), lambda pair: _rank(pair, varied))
    return list(points.values())


def quotient(pair: Pair) -> Series:
    """Return how many times as good left is as right, as a result in the unit `x`.

    Raises Incomparable for two units, and where neither direction is the better one.
    """
    left, right = pair
    units = both(pair, "unit")
    if units[0] != units[1]:
        raise Incomparable("different units", f"{units[0]!r} over {units[1]!r}")
    over = times_as_good(left.series, left.value, right.value)
    partition = " / ".join(both(pair, "partition"))
    environment = " / ".join(dict.fromkeys(both(pair, "environment")))
    place = {"partition": partition, "environment": environment}
    return in_x(pair, over, older(pair), **place, parts=pair).series


def in_x(pair: Pair, times: float, time: float, **changes: Any) -> Result:
    """Return how many times as good left is as right, with the keys of both."""
    left, right = (result.series for result in pair)
    keys = {**right.keys, **left.keys}
    series: Series = replace(left, keys=keys, unit="x", results=[], **changes)
    return series.add(time, pair[0].session, times)


def _rank(pair: Pair, varied: Collection[str]) -> tuple[float, ...]:
    keys = [result.series.keys for result in pair]
    orders = (each.get("order", "") for each in keys)
    order = min(int(text) if text.isdecimal() else 0 for text in orders)
    nodes = -sum(int(each.get("nodes", "0")) for each in keys)
    return order, "nodes" not in differing(pair, varied), nodes, older(pair), newer(pair)

"""Results that can be held against each other: what fits the sides of a claim, and which pairs.

The rules are documented in `reference/README.md`, "How a claim is evaluated".
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from acceptance.claims.figures import SIZES
from acceptance.core.metrics import sized, split
from acceptance.core.units import is_measured
from acceptance.references import Claim, Side
from acceptance.rfm.database import Case, Session

#: They follow from the number of processes and the machine: two machines seldom agree in them, and
#: a claim that wants them states them.
FOLLOWING = ("nodes", "order")
#: They are the same in both results, or in neither. Other keys agree where both results have them:
#: messages inside a node have no path where each node has one process.
STRICT = ("np", "message_size")


@dataclass(frozen=True)
class Value:
    """A metric of a passing case: what was measured, where and when (s since the epoch)."""

    partition: str
    environment: str
    benchmark: str
    stem: str
    keys: Mapping[str, str]
    value: float
    unit: str
    session: str
    time: float

    @property
    def metric(self) -> str:
        """Return the name of the metric, with its message size."""
        size = self.keys.get("message_size")
        return self.stem if size is None else sized(self.stem, int(size))

    @property
    def order(self) -> int:
        """Return the order of HPCC's matrix; 0 where there is none."""
        order = self.keys.get("order", "")
        return int(order) if order.isdecimal() else 0


@dataclass(frozen=True)
class Pair:
    """The two results that a claim compares."""

    left: Value
    right: Value

    @property
    def older(self) -> float:
        """Return the time of the older result, in s since the epoch."""
        return min(self.left.time, self.right.time)

    @property
    def newer(self) -> float:
        """Return the time of the newer result, in s since the epoch."""
        return max(self.left.time, self.right.time)

    @property
    def point(self) -> tuple[object, ...]:
        """Return what is compared here, whenever it was measured."""
        return tuple(
            (
                value.partition,
                value.benchmark,
                value.stem,
                value.unit,
                frozenset(item for item in value.keys.items() if item[0] not in FOLLOWING),
            )
            for value in (self.left, self.right)
        )

    def differing(self, own: Collection[str]) -> list[str]:
        """Return the keys of `FOLLOWING` that differ though the sides, but for `own`, agree."""
        free = {*own, "nodes"} if "np" in own else own
        return [
            key
            for key in FOLLOWING
            if key not in free and self.left.keys.get(key) != self.right.keys.get(key)
        ]


@dataclass
class Series:
    """What was measured of one metric under the same keys; the newest result is the first one."""

    partition: str
    environment: str
    benchmark: str
    stem: str
    keys: dict[str, str]
    unit: str
    #: Time (s since the epoch), session, value.
    results: list[tuple[float, str, float]] = field(default_factory=list)
    #: How many values were none that can be measured: zero, negative, not finite.
    impossible: int = 0

    def at(self, number: int) -> Value:
        """Return one of the results."""
        time, session, value = self.results[number]
        names = ("partition", "environment", "benchmark", "stem", "keys", "unit")
        own = {name: getattr(self, name) for name in names}
        return Value(**own, value=value, session=session, time=time)


_Key = tuple[str, str, str, str, frozenset[tuple[str, str]]]


@dataclass
class Place:
    """All that claims may ask of a partition: what passed, and which cases failed (time, ...)."""

    series: dict[_Key, Series] = field(default_factory=dict)
    failed: list[tuple[float, str, dict[str, str]]] = field(default_factory=list)

    def add(self, session: Session, case: Case) -> None:
        """Take the metrics of a case; of one that failed only that it did."""
        if not case.passed:
            keys = {**case.keys, "environment": case.environment}
            self.failed.append((session.end, case.benchmark, keys))
            return
        for metric in case.metrics:
            stem, size = split(metric.name)
            keys = {**case.keys, **({} if size is None else {"message_size": str(size)})}
            key = case.environment, case.benchmark, stem, metric.unit, frozenset(keys.items())
            if key not in self.series:
                self.series[key] = Series(f"{case.system}:{case.partition}", *key[:3], keys, key[3])
            if is_measured(metric.value):
                self.series[key].results.append((session.end, session.uuid, metric.value))
            else:
                self.series[key].impossible += 1


Places = dict[tuple[str, str], Place]


def is_of(benchmark: str, wanted: str) -> bool:
    """Tell whether a benchmark is the wanted one, or one of the wanted suite."""
    return benchmark == wanted or benchmark.startswith(f"{wanted}.")


def gather(claims: Iterable[Claim], sessions: Iterable[Session]) -> Places:
    """Return what the sessions have of the sides of claims, by system and partition.

    Each session is looked at once, and nothing else of it is kept.
    """
    wanted: dict[tuple[str, str], set[str]] = {}
    for claim in claims:
        for side in (claim.left, claim.right):
            benchmark = side.keys.get("benchmark", claim.benchmark)
            wanted.setdefault((side.system, side.partition), set()).add(benchmark)
    places: Places = {}
    for session in sessions:
        # Of several runs in a session the last one counts.
        for case in reversed(session.cases):
            place, anywhere = (case.system, case.partition), (case.system, "")
            names = wanted.get(place, set()) | wanted.get(anywhere, set())
            if not case.fixture and any(is_of(case.benchmark, name) for name in names):
                places.setdefault(place, Place()).add(session, case)
    for found in places.values():
        for series in found.series.values():
            series.results.sort(key=lambda result: -result[0])
    return places


@dataclass
class Found:
    """What fits a side of a claim: series, and the times of cases that failed."""

    series: list[Series] = field(default_factory=list)
    failed: list[float] = field(default_factory=list)

    @property
    def measured(self) -> list[Series]:
        """Return the series that have a value."""
        return [series for series in self.series if series.results]

    @property
    def impossible(self) -> int:
        """Count the values that none can have measured."""
        return sum(series.impossible for series in self.series)

    @property
    def sessions(self) -> int:
        """Count the sessions that have a value."""
        return len({session for series in self.series for _, session, _ in series.results})


def fitting(claim: Claim, side: Side, other: Side, places: Places) -> Found:
    """Return what fits a side of a claim.

    A side without a partition takes every one of its system but that of the other side.
    """
    found = Found()
    stated = {**claim.parameters, **side.keys}
    benchmark = stated.pop("benchmark", claim.benchmark)
    metric = stated.pop("metric", claim.metric)
    word = stated.pop("sizes", None)
    low, high = SIZES[word or "all"]
    for (system, partition), place in places.items():
        if system != side.system or (side.partition or partition) != partition:
            continue
        if not side.partition and (system, partition) == (other.system, other.partition):
            continue
        for time, name, keys in place.failed:
            # A case that failed early does not know all of its keys.
            if is_of(name, benchmark) and all(
                keys.get(key, value) == value for key, value in stated.items()
            ):
                found.failed.append(time)
        for series in place.series.values():
            size = series.keys.get("message_size")
            keys = {**series.keys, "environment": series.environment}
            if (
                is_of(series.benchmark, benchmark)
                and metric in ("", series.stem)
                and all(keys.get(key) == value for key, value in stated.items())
                and (word is None if size is None else low <= int(size) <= high)
            ):
                found.series.append(series)
    return found


def _bucket(series: Series, own: Collection[str]) -> tuple[str | None, ...]:
    """Return what two results must have in common, whether they have it or not."""
    return (
        None if "benchmark" in own else series.benchmark,
        None if "metric" in own else series.stem,
        *(None if key in own else series.keys.get(key) for key in STRICT),
    )


def agreeing(
    left: Iterable[Series], right: Iterable[Series], own: Collection[str]
) -> Iterator[tuple[Series, Series]]:
    """Yield the series that differ in nothing but `own`, the keys that a side overrides."""
    buckets: dict[tuple[str | None, ...], list[Series]] = {}
    for series in right:
        buckets.setdefault(_bucket(series, own), []).append(series)
    free = {*own, *FOLLOWING}
    for series in left:
        for other in buckets.get(_bucket(series, own), ()):
            common = (series.keys.keys() & other.keys.keys()) - free
            if all(series.keys[key] == other.keys[key] for key in common):
                yield series, other


def newest(left: Series, right: Series, window: float) -> Pair | None:
    """Return the newest two results that are at most `window` seconds apart."""
    first = second = 0
    while first < len(left.results) and second < len(right.results):
        apart = left.results[first][0] - right.results[second][0]
        if abs(apart) <= window:
            return Pair(left.at(first), right.at(second))
        if apart > 0:
            first += 1
        else:
            second += 1
    return None


def chosen(pairs: Sequence[Pair], window: float, own: Collection[str]) -> list[Pair]:
    """Return one pair for each thing that is compared, of those of the last `window` seconds.

    Those of two partitions are all of the same two environments: of one environment where there is
    such a pair, else of those that were measured last. Of several problem sizes of HPCC the largest
    counts, then the same number of nodes, then what is newer.
    """
    last = max(pair.newer for pair in pairs)
    environments: dict[tuple[str, str], dict[tuple[str, str], list[Pair]]] = {}
    for pair in pairs:
        if pair.older >= last - window:
            partitions = pair.left.partition, pair.right.partition
            both = pair.left.environment, pair.right.environment
            environments.setdefault(partitions, {}).setdefault(both, []).append(pair)
    found: dict[object, Pair] = {}
    for groups in environments.values():
        best = max(
            sorted(groups),
            key=lambda both: (
                both[0] == both[1],
                max(pair.older for pair in groups[both]),
                len(groups[both]),
            ),
        )
        for pair in groups[best]:
            if pair.point not in found or _rank(pair, own) > _rank(found[pair.point], own):
                found[pair.point] = pair
    return list(found.values())


def _rank(pair: Pair, own: Collection[str]) -> tuple[float, ...]:
    order = min(pair.left.order, pair.right.order)
    return order, "nodes" not in pair.differing(own), pair.older, pair.newer

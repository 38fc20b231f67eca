"""Results that can be compared with each other: what fits the sides of a claim, and which pairs.

The rules are documented in `reference/README.md`, "How a claim is evaluated".
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from acceptance.claims.figures import Incomparable, better, times_as_good
from acceptance.claims.results import FOLLOWING, Measurements, Places, Value, is_of
from acceptance.references import SIZES, Claim, Side, agrees

#: They are the same in both results, or in neither. Other keys agree where both results have them:
#: messages inside a node have no path where each node has one process.
STRICT = ("np", "message_size", "pattern")


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
        return self.left.point, self.right.point

    def differing(self, varied: Collection[str]) -> list[str]:
        """Return the keys of `FOLLOWING` that differ though the sides, but for `varied`, agree."""
        free = {*varied, "nodes"} if "np" in varied else varied
        return [
            key
            for key in FOLLOWING
            if key not in free and self.left.keys.get(key) != self.right.keys.get(key)
        ]


@dataclass
class SideResults:
    """What fits a side of a claim: series, and the times of cases that failed."""

    series: list[Measurements] = field(default_factory=list)
    failed: list[float] = field(default_factory=list)

    @property
    def measured(self) -> list[Measurements]:
        """Return the series that have a value."""
        return [series for series in self.series if series.results]

    @property
    def impossible(self) -> int:
        """Count the values that none can have measured."""
        return sum(len(series.impossible) for series in self.series)

    @property
    def sessions(self) -> int:
        """Count the sessions that have a value."""
        return len({session for series in self.series for _, session, _ in series.results})


def side_results(claim: Claim, side: Side, other: Side | None, places: Places) -> SideResults:
    """Return what fits a side of a claim; of a quotient, what stands above the line.

    A side without a partition takes every one of its system but that of the other side.
    """
    results = SideResults()
    benchmark, metric, stated = claim.stated(side)
    word = stated.pop("sizes", None)
    low, high = SIZES[word or "all"]
    for (system, partition), place in places.items():
        if system != side.system or (side.partition or partition) != partition:
            continue
        if not side.partition and other and (system, partition) == (other.system, other.partition):
            continue
        for time, name, keys in place.failed:
            # A case that failed early does not know all of its keys.
            if is_of(name, benchmark) and all(
                agrees(value, keys.get(key, value)) for key, value in stated.items()
            ):
                results.failed.append(time)
        groups = (group for name, group in place.of_benchmark.items() if is_of(name, benchmark))
        for series in (series for group in groups for series in group):
            if metric not in ("", series.stem):
                continue
            size = series.keys.get("message_size")
            if all(agrees(value, series.stated.get(key)) for key, value in stated.items()) and (
                word is None if size is None else low <= int(size) <= high
            ):
                results.series.append(series)
    return results


def _bucket(series: Measurements, varied: Collection[str]) -> tuple[str | None, ...]:
    """Return what two results must have in common, whether they have it or not."""
    return (
        None if "benchmark" in varied else series.benchmark,
        None if "metric" in varied else series.stem,
        *(None if key in varied else series.keys.get(key) for key in STRICT),
    )


def matching(
    left: Iterable[Measurements], right: Iterable[Measurements], varied: Collection[str]
) -> Iterator[tuple[Measurements, Measurements]]:
    """Yield the series that differ in nothing but `varied`, the keys of single sides."""
    buckets: dict[tuple[str | None, ...], list[Measurements]] = {}
    for series in right:
        buckets.setdefault(_bucket(series, varied), []).append(series)
    free = {*varied, *FOLLOWING}
    for series in left:
        for other in buckets.get(_bucket(series, varied), ()):
            common = (series.keys.keys() & other.keys.keys()) - free
            if all(series.keys[key] == other.keys[key] for key in common):
                yield series, other


def newest_pair(left: Measurements, right: Measurements, window: float) -> Pair | None:
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


def choose(pairs: Sequence[Pair], window: float, varied: Collection[str]) -> list[Pair]:
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
    chosen: dict[object, Pair] = {}
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
            other = chosen.get(pair.point)
            if other is None or _rank(pair, varied) > _rank(other, varied):
                chosen[pair.point] = pair
    return list(chosen.values())


def quotient(pair: Pair) -> Measurements:
    """Return how many times as good left is as right, as a result in the unit `x`.

    Raises Incomparable for two units, and where neither direction is the better one.
    """
    left, right = pair.left, pair.right
    if left.unit != right.unit:
        raise Incomparable("different units", f"{left.unit!r} over {right.unit!r}")
    way = better(left.benchmark, left.unit)
    factor = times_as_good(left.value, right.value, left.unit, way)
    both = {left.environment: None, right.environment: None}
    return Measurements(
        f"{left.partition} / {right.partition}",
        " / ".join(both),
        left.benchmark,
        left.stem,
        {**right.keys, **left.keys},
        "x",
        left.metric,
        [(pair.older, left.session, factor)],
        parts=(left, right),
    )


def _rank(pair: Pair, varied: Collection[str]) -> tuple[float, ...]:
    order = min(pair.left.order, pair.right.order)
    nodes = -sum(int(value.keys.get("nodes", "0")) for value in (pair.left, pair.right))
    return order, "nodes" not in pair.differing(varied), nodes, pair.older, pair.newer

"""What sessions have of the sides of claims, by partition and metric."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields

from acceptance.core.metrics import sized, split
from acceptance.core.units import is_measured
from acceptance.references import Claim
from acceptance.rfm import Case, Session


@dataclass(frozen=True)
class _Measured:
    """What was measured, where, and with which keys."""

    partition: str
    environment: str
    benchmark: str
    stem: str
    keys: Mapping[str, str]
    unit: str
    #: Of a quotient: the two results above and below the line.
    parts: "tuple[Value, ...]" = field(default=(), kw_only=True)


@dataclass(frozen=True)
class Value(_Measured):
    """A metric of a passing case: one value, its session and when that was (s since the epoch)."""

    value: float
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
class Measurements(_Measured):
    """What was measured of one metric under the same keys; the newest result is the first one."""

    #: Time (s since the epoch), session, value.
    results: list[tuple[float, str, float]] = field(default_factory=list)
    #: Values that nothing can have measured: zero, negative, not finite.
    impossible: list[float] = field(default_factory=list)

    def at(self, number: int) -> Value:
        """Return one of the results."""
        time, session, value = self.results[number]
        shared = {field.name: getattr(self, field.name) for field in fields(_Measured)}
        return Value(**shared, value=value, session=session, time=time)


_Key = tuple[str, str, str, str, frozenset[tuple[str, str]]]


@dataclass
class PartitionResults:
    """All that claims may ask of a partition: what passed, and which cases failed (time, ...).

    `of_benchmark` has the same series by their benchmark.
    """

    series: dict[_Key, Measurements] = field(default_factory=dict)
    of_benchmark: dict[str, list[Measurements]] = field(default_factory=dict)
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
                place = f"{case.system}:{case.partition}"
                series = self.series[key] = Measurements(place, *key[:3], keys, metric.unit)
                self.of_benchmark.setdefault(case.benchmark, []).append(series)
            if is_measured(metric.value):
                self.series[key].results.append((session.end, session.uuid, metric.value))
            else:
                self.series[key].impossible.append(metric.value)


Places = dict[tuple[str, str], PartitionResults]


def is_of(benchmark: str, name: str) -> bool:
    """Tell whether a benchmark has this name, or is one of the suite of this name."""
    return benchmark == name or benchmark.startswith(f"{name}.")


def gather(claims: Iterable[Claim], sessions: Iterable[Session]) -> Places:
    """Return what the sessions have of the sides of claims, by system and partition.

    Each session is looked at once, and nothing else of it is kept.
    """
    names: dict[tuple[str, str], set[str]] = {}
    for claim in claims:
        for side in claim.sides:
            names.setdefault((side.system, side.partition), set()).add(claim.stated(side)[0])
    places: Places = {}
    for session in sessions:
        # Of several runs in a session the last one counts.
        for case in reversed(session.cases):
            place, anywhere = (case.system, case.partition), (case.system, "")
            asked = names.get(place, set()) | names.get(anywhere, set())
            if not case.fixture and any(is_of(case.benchmark, name) for name in asked):
                places.setdefault(place, PartitionResults()).add(session, case)
    for place_results in places.values():
        for series in place_results.series.values():
            series.results.sort(key=lambda result: -result[0])
    return places

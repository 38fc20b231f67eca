"""How far a result may lie from its reference: `reference/tolerances.yaml`."""

from dataclasses import dataclass, field
from pathlib import Path

import yaml

from acceptance.core.errors import Fault
from acceptance.core.units import UNITS, direction, is_measured

#: What a reference can come from, in the order in which it judges.
SOURCES = ("baseline", "published", "limit")
#: Metrics of which a fraction of the limit says something; the other sources go by the unit.
LIMITED = ("bandwidth_peak",)

#: Relation of a claim -> the entry below `claims` that says how far its figure may be off.
CLAIMED = {"=": "=", "~": "~", ">=": "bounds", "<=": "bounds", "in": "bounds", "similar": "similar"}
#: What a claim compares: percentage points of a relative gain, fractions of a quotient and of a
#: plain difference.
COMPARED = ("%", "x", "difference")


class ToleranceFault(Fault):
    """A tolerances file that cannot be used."""


@dataclass(frozen=True)
class Tolerance:
    """Fractions of the reference that a result may be worse or better; None: without bound.

    Of a unit without direction `worse` is meant for both sides.
    """

    worse: float
    better: float | None
    reason: str


@dataclass(frozen=True)
class Tolerances:
    """Tolerances by source of the reference and unit of the metric; of a limit, by the metric.

    Those of claims by relation and what is compared, as in `CLAIMED` and `COMPARED`.
    """

    table: dict[tuple[str, str], Tolerance]
    claims: dict[tuple[str, str], float] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> "Tolerances":
        """Read the file.

        Raises ToleranceFault when it cannot be read, names an unknown unit, lacks a reason, or
        has a fraction outside 0 < worse < 1.
        """
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as err:
            raise ToleranceFault(f"{path}: cannot be read: {err}") from None
        table: dict[tuple[str, str], Tolerance] = {}
        if not isinstance(data, dict):
            raise ToleranceFault(f"{path}: holds no table of sources")
        claims = cls._claims(path, data.pop("claims", {}))
        for source, units in data.items():
            if source not in SOURCES:
                raise ToleranceFault(f"{path}: {source}: not one of {', '.join(SOURCES)}, claims")
            if not isinstance(units, dict):
                raise ToleranceFault(f"{path}: {source}: holds no table of units")
            for unit, entry in units.items():
                table[str(source), str(unit)] = cls._entry(f"{path}: {source}, {unit}", unit, entry)
        return cls(table, claims)

    @staticmethod
    def _claims(path: Path, data: object) -> dict[tuple[str, str], float]:
        found: dict[tuple[str, str], float] = {}
        if not isinstance(data, dict) or not all(
            isinstance(units, dict) for units in data.values()
        ):
            raise ToleranceFault(f"{path}: claims: holds no table of relations")
        for relation, units in data.items():
            if relation not in CLAIMED.values():
                known = ", ".join(dict.fromkeys(CLAIMED.values()))
                raise ToleranceFault(f"{path}: claims, {relation}: not one of {known}")
            for unit, entry in units.items():
                where = f"{path}: claims, {relation}, {unit}"
                if unit not in COMPARED:
                    raise ToleranceFault(f"{where}: not one of {', '.join(COMPARED)}")
                if not isinstance(entry, dict) or set(entry) != {"within", "reason"}:
                    raise ToleranceFault(f"{where}: wants exactly within and reason")
                within, reason = entry["within"], entry["reason"]
                if not is_measured(within) or within >= (100 if unit == "%" else 1):
                    what = "percentage points" if unit == "%" else "a fraction below 1"
                    raise ToleranceFault(f"{where}: within is {within!r}, not {what}")
                if not isinstance(reason, str) or not reason.strip():
                    raise ToleranceFault(f"{where}: gives no reason")
                found[relation, unit] = float(within)
        return found

    def of_claim(self, relation: str, unit: str) -> float:
        """Return how far the figure of a claim may be off: points of `%`, else a fraction.

        `unit` is that of the claim's figure. Raises ToleranceFault when none is stated.
        """
        compared = unit if unit in COMPARED else "difference"
        try:
            return self.claims[CLAIMED[relation], compared]
        except KeyError:
            raise ToleranceFault(
                f"tolerances.yaml: claims: nothing for the relation {relation!r} of {compared}"
            ) from None

    @staticmethod
    def _entry(where: str, unit: object, entry: object) -> Tolerance:
        if where.split(": ")[1].startswith("limit,"):
            if unit not in LIMITED:
                raise ToleranceFault(f"{where}: not one of {', '.join(LIMITED)}")
        elif str(unit) not in UNITS:
            raise ToleranceFault(f"{where}: not a unit of metrics")
        if not isinstance(entry, dict) or set(entry) != {"worse", "better", "reason"}:
            raise ToleranceFault(f"{where}: wants exactly worse, better and reason")
        worse, better, reason = entry["worse"], entry["better"], entry["reason"]
        if not isinstance(worse, float) or not 0 < worse < 1:
            raise ToleranceFault(f"{where}: worse is {worse!r}, not a fraction between 0 and 1")
        if better is not None and not is_measured(better):
            raise ToleranceFault(f"{where}: better is {better!r}, neither null nor above 0")
        if better is not None and UNITS.get(str(unit), "lower") is None:
            raise ToleranceFault(f"{where}: of this unit no side is better: write better: null")
        if not isinstance(reason, str) or not reason.strip():
            raise ToleranceFault(f"{where}: gives no reason")
        return Tolerance(worse, better, reason)

    def thresholds(
        self, source: str, relation: str, unit: str, metric: str = ""
    ) -> tuple[float | None, float | None] | None:
        """Return ReFrame's thresholds (lower <= 0, upper >= 0) as fractions of the reference.

        A bound (`>=`, `<=`) judges from its own side only. None means that such a reference
        cannot judge: no tolerance is stated for its unit, or the bound points to the better side
        ("up to 900 MB/s" says nothing about 850). Of a unit without direction, such as that of a
        communication balance ratio, neither side is the better one: both are bounded by `worse`.
        """
        way = direction(unit)
        tolerance = self.table.get((source, metric if source == "limit" else unit))
        if tolerance is None:
            return None
        if way is None:
            return (
                None if relation == "<=" else -tolerance.worse,
                None if relation == ">=" else tolerance.worse,
            )
        if relation in (">=", "<="):
            if (relation == ">=") != (way == "higher"):
                return None
            return (-tolerance.worse, None) if way == "higher" else (None, tolerance.worse)
        if way == "higher":
            return -tolerance.worse, tolerance.better
        # ReFrame wants a lower threshold of at least -1: no time is less than zero.
        better = None if tolerance.better is None else -min(tolerance.better, 1.0)
        return better, tolerance.worse

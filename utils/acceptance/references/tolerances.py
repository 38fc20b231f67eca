"""How far a result may lie from its reference: `reference/tolerances.yaml`."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import msgspec
import yaml
from msgspec import Meta, Struct

from acceptance.core.records import NO_YAML
from acceptance.core.words import UNITS, direction
from acceptance.references.records import RELATIONS, ReferenceFault
from acceptance.references.rows import text_of

#: What a reference can come from, in the order in which it judges.
SOURCES = ("baseline", "published", "limit", "machine")
#: What a simulated system gave before, which judges it exactly: it is deterministic.
RECORDED = "recorded"
#: The rounding of a number that is written and read again, as a fraction.
_ROUNDING = 1e-9
#: Metrics of which a fraction of the limit says something; the other sources go by the unit.
LIMITED = ("bandwidth_peak",)

#: What claims may be off by: an entry below `claims` for these kinds of relation.
CLAIMED = tuple(dict.fromkeys(kind.tolerance for kind in RELATIONS.values() if kind.tolerance))
#: What a claim compares: percentage points of a relative gain, fractions of a quotient, of its
#: decimal logarithm and of a plain difference.
COMPARED = ("%", "x", "decade", "difference")

#: By how much more a number may be missed that a paper prints as "about": a digit or two of it.
ABOUT = 2.0

_Reason = Annotated[str, Meta(pattern=r"\S")]
_Bounded = TypeVar("_Bounded")


class Tolerance(Struct, frozen=True, forbid_unknown_fields=True):
    """Fractions of the reference that a result may be worse or better; None: without bound.

    Of a unit without direction `worse` is meant for both sides.
    """

    worse: Annotated[float, Meta(gt=0, lt=1)]
    better: Annotated[float, Meta(gt=0, le=sys.float_info.max)] | None
    reason: _Reason


class _Within(Struct, Generic[_Bounded], frozen=True, forbid_unknown_fields=True):
    within: _Bounded
    reason: _Reason


_Points = _Within[Annotated[float, Meta(gt=0, le=100)]]
_Fraction = _Within[Annotated[float, Meta(gt=0, lt=1)]]

#: What the file may state, by the keys that lead to it.
_STATED: dict[str, Any] = {
    **dict.fromkeys(SOURCES, dict.fromkeys(UNITS, Tolerance)),
    "limit": dict.fromkeys(LIMITED, Tolerance),
    "claims": {key: {**dict.fromkeys(COMPARED, _Fraction), "%": _Points} for key in CLAIMED},
}


@dataclass(frozen=True)
class Tolerances:
    """Tolerances by source of the reference and unit of the metric; of a limit, by the metric.

    Those of claims by what is in `CLAIMED` and `COMPARED`.
    """

    table: dict[tuple[str, str], Tolerance]
    claims: dict[tuple[str, str], float] = field(default_factory=dict)
    #: Those that a site states instead -> its file.
    origins: dict[tuple[str, str], Path] = field(default_factory=dict)

    def overridden(self, path: Path) -> "Tolerances":
        """Return these with those of a site's file in their place, source by source, unit by unit.

        Raises ReferenceFault as `load`, and for what is no source: claims have one file.
        """
        site = Tolerances.load(path)
        if site.claims:
            raise ReferenceFault("a site states tolerances of sources only", where=str(path))
        return replace(
            self,
            table={**self.table, **site.table},
            origins={**self.origins, **dict.fromkeys(site.table, path)},
        )

    @classmethod
    def load(cls, path: Path) -> "Tolerances":
        """Read the file.

        Raises ReferenceFault when it cannot be read, names an unknown source, unit or relation,
        lacks a reason, or has a fraction outside 0 < worse < 1.
        """
        text = text_of(path)
        try:
            data = yaml.safe_load(text)
        except NO_YAML as err:
            raise ReferenceFault(f"cannot be read: {err}", where=str(path)) from None
        try:
            stated = dict(_read(data, _STATED))
            for (source, unit, *_), entry in stated.items():
                if getattr(entry, "better", None) and UNITS.get(unit, "lower") is None:
                    what = "of this unit no side is better: write better: null"
                    raise ValueError(f"{source}, {unit}: {what}")
        except ValueError as err:
            raise ReferenceFault(str(err), where=str(path)) from None
        claims = {keys[1:]: entry.within for keys, entry in stated.items() if len(keys) > 2}
        return cls({keys: entry for keys, entry in stated.items() if len(keys) == 2}, claims)

    def of_claim(self, relation: str, unit: str) -> float:
        """Return how far the figure of a claim may be off: points of `%`, else a fraction.

        `unit` is that of the claim's figure. Raises ReferenceFault when none is stated.
        """
        compared = unit if unit in COMPARED else "difference"
        try:
            return self.claims[RELATIONS[relation].tolerance, compared]
        except KeyError:
            raise ReferenceFault(
                f"claims: nothing for the relation {relation!r} of {compared}",
                where="tolerances.yaml",
            ) from None

    def thresholds(
        self, source: str, relation: str, unit: str, metric: str = ""
    ) -> tuple[float | None, float | None] | None:
        """Return ReFrame's thresholds (lower <= 0, upper >= 0) as fractions of the reference.

        A bound (`>=`, `<=`) judges from its own side only. None means that such a reference
        cannot judge: no tolerance is stated for its unit, or the bound points to the better side
        ("up to 900 MB/s" says nothing about 850). Of a unit without direction, such as that of a
        communication balance ratio, neither side is the better one: both are bounded by `worse`.
        Of `~`, a number that is only about so, it is `ABOUT` times as much. What was `RECORDED` is
        the same again.
        """
        if source == RECORDED:
            return -_ROUNDING, _ROUNDING
        tolerance = self.table.get((source, metric if source == "limit" else unit))
        way = direction(unit)
        if tolerance is None or (relation, way) in ((">=", "lower"), ("<=", "higher")):
            return None
        worse, better = tolerance.worse, tolerance.better
        if (source, relation) == ("published", "~"):
            worse = min(ABOUT * worse, 0.99)
        if relation in (">=", "<="):
            return (-worse, None) if relation == ">=" else (None, worse)
        if way == "lower":
            # ReFrame requires a lower threshold of at least -1: no time is less than zero.
            return None if better is None else -min(better, 1.0), worse
        return -worse, better if way == "higher" else worse


def failing(tolerances: Tolerances, source: str, unit: str) -> str:
    """Say how far from a reference (`=`) a result fails: `6 % below`; empty where nothing judges.

    Of a limit `unit` is the name of the metric.
    """
    limit = source == "limit"
    found = tolerances.thresholds(source, "=", "MB/s" if limit else unit, unit if limit else "")
    lower, upper = found or (None, None)
    texts = (
        f"{100 * -lower:.3g} % below" if lower else "",
        f"{100 * upper:.3g} % above" if upper else "",
    )
    return ", ".join(filter(None, texts))


def _read(data: object, stated: Any, *keys: str) -> Iterator[tuple[Any, Any]]:
    """Yield the entries below `keys`, each with all keys that lead to it, as `stated` has them.

    Raises ValueError, which begins with the keys.
    """
    nested = isinstance(stated, dict)
    try:
        read = msgspec.convert(data, dict[str | int, Any] if nested else stated)
    except msgspec.ValidationError as err:
        raise ValueError(f"{', '.join(keys)}: {err}" if keys else str(err)) from None
    if not nested:
        yield keys, read
        return
    for key, entry in read.items():
        own = (*keys, str(key))
        if own[-1] not in stated:
            raise ValueError(f"{', '.join(own)}: not one of {', '.join(stated)}")
        yield from _read(entry, stated[own[-1]], *own)

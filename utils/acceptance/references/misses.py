"""Values that lie outside what their references allow, and how far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acceptance.core.text import plural

#: Misses of one case that are written out, the worst first.
_SHOWN = 3


def outside(value: float, reference: float | None, lower: float | None, upper: float | None) -> int:
    """Return -1 for a value below its range, 1 above it, 0 within, or without a reference.

    Thresholds are fractions of the reference, or absolute where it is 0.
    """
    if reference is None:
        return 0
    scale = abs(reference) or 1.0
    if lower is not None and value < reference + lower * scale:
        return -1
    if upper is not None and value > reference + upper * scale:
        return 1
    return 0


@dataclass(frozen=True)
class Miss:
    """A metric that is not as its reference allows.

    `lower` and `upper` are ReFrame's thresholds, `judged_by` is the citation of the reference.
    """

    name: str
    value: float
    unit: str
    reference: float
    lower: float | None
    upper: float | None
    judged_by: str

    @property
    def off(self) -> float:
        """Return how far the value is off, as a fraction of the reference."""
        return (self.value - self.reference) / (abs(self.reference) or 1.0)

    def __str__(self) -> str:
        """Say how far the value is off, from which reference, and how far it may be."""
        below = self.off < 0
        side, allowed = ("below", self.lower) if below else ("above", self.upper)
        most = f"at most {_per_cent(allowed)} {side}" if allowed else f"nothing {side} it"
        return (
            f"{self.name}: {_number(self.value)} {self.unit} is {_per_cent(self.off)} {side} "
            f"{_number(self.reference)} {self.unit} "
            f"({self.judged_by or 'a reference of the check'}; {most})"
        )


def misses_text(perfvalues: Mapping[str, Sequence[Any]], judged_by: Mapping[str, str]) -> list[str]:
    """Return a line for each of the worst misses of a case, and one for the rest.

    `perfvalues` is ReFrame's: `system:partition:metric` -> value, reference, lower, upper, unit,
    result. `judged_by` is metric -> citation of its reference.
    """
    misses = []
    for key, (value, reference, lower, upper, unit, result) in perfvalues.items():
        if result == "fail":
            name = key.split(":", 2)[-1]
            citation = judged_by.get(name, "")
            misses.append(Miss(name, value, unit, reference, lower, upper, citation))
    worst = sorted(misses, key=lambda miss: -abs(miss.off))
    lines = [str(miss) for miss in worst[:_SHOWN]]
    if len(worst) > _SHOWN:
        rest = plural(len(worst) - _SHOWN, "more metric")
        lines.append(f"and {rest}, each nearer to its reference")
    return lines


def _per_cent(fraction: float) -> str:
    return f"{100 * abs(fraction):.3g} %"


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"

"""By what the results of a simulated system are judged: published peaks, else what was recorded."""

from collections.abc import Mapping
from dataclasses import dataclass

from acceptance.core.simulated import SIMULATED, model_of
from acceptance.references import RECORDED, Library, Reference
from acceptance.simulation.validity import judged_as_published

#: What of a provenance must be as it was when a result was recorded.
_IDENTITY = (SIMULATED, "suite")


@dataclass(frozen=True)
class Judging:
    """The row that judges a result of a model, and its thresholds; None: none does.

    `otherwise` says with what a row was recorded that would judge it if that had been the same.
    """

    row: Reference | None = None
    thresholds: tuple[float | None, float | None] | None = None
    otherwise: str = ""


def recorded_with(provenance: Mapping[str, str]) -> str:
    """Return what a result hangs on, as a recording states it: `SimGrid 3.32, OSU 7.5`."""
    return ", ".join(provenance[key] for key in _IDENTITY if provenance.get(key))


def judging(
    library: Library,
    place: tuple[str, str, str],
    metric: str,
    parameters: Mapping[str, str],
    unit: str,
    provenance: Mapping[str, str],
) -> Judging:
    """Return what judges a result of a system, partition and benchmark.

    A published value of the real system does where `judged_as_published`, and where it is stated by
    how much the model is known to be off; else what was recorded with the same simulator and suite,
    exactly. Raises LookupError and ValueError as `Library.look_up`.
    """
    system, partition, benchmark = place
    known_errors = library.tolerances_of(system)
    if ("published", unit) in known_errors.origins and judged_as_published(
        benchmark, metric, parameters
    ):
        of_real = model_of(system), partition, benchmark, metric, parameters, unit
        row = library.look_up(*of_real, ("published",))
        within = row and known_errors.thresholds("published", row.relation, unit)
        if row and within:
            return Judging(row, within)
    row = library.look_up(*place, metric, parameters, unit, (RECORDED,))
    if row is None:
        return Judging()
    if row.where != recorded_with(provenance):
        return Judging(otherwise=row.where)
    return Judging(row, library.thresholds(row))

"""What a simulated system gave, as the row that judges it from then on, exactly.

A simulation is deterministic: two samples with the same simulator and suite that differ are no
recording, and neither is a single one, which cannot show that.
"""

from collections.abc import Collection, Iterable
from pathlib import Path

from acceptance.core.errors import Fault
from acceptance.core.metrics import read
from acceptance.detection.constants import RECORDING_FEWEST
from acceptance.references import PARAMETERS, RECORDED, Library, Reference
from acceptance.regressions.drift import parameters_of
from acceptance.regressions.history.series import PastSession, Series
from acceptance.rfm import database
from acceptance.simulation import recorded_with


def refuse_faults(path: Path, sessions: Iterable[PastSession]) -> None:
    """Raise Fault for a session of a database that ran with a fault injected."""
    for session in sessions:
        if session.perflog:
            continue
        for case in database.session(path, session.uuid).cases:
            if fault := case.provenance.get("fault"):
                raise Fault(
                    f"session {session.uuid} ran with the fault {fault}: name others with --from"
                )


def row_of(series: Series, numbers: Collection[int], path: Path) -> Reference | str:
    """Return the row of what a series was in these sessions, or why there is none."""
    chosen = [
        (sample, value)
        for sample, value in zip(series.samples, series.values, strict=True)
        if sample.session.number in numbers
    ]
    software = chosen[-1][0].software
    values = [value for sample, value in chosen if sample.software == software]
    if len(values) < RECORDING_FEWEST:
        return f"fewer than {RECORDING_FEWEST} samples, so that nothing shows that it repeats"
    if len(set(values)) > 1:
        return f"not deterministic: {min(values):.6g} and {max(values):.6g} {series.unit}"
    parameters = parameters_of(series)
    return Reference(
        source=RECORDED,
        origin=series.case.key.system,
        where=recorded_with(dict(software)),
        system=series.case.key.system,
        partition=series.case.key.partition,
        benchmark=series.case.subject,
        metric=read(series.metric)[0],
        parameters={key: parameters[key] for key in PARAMETERS if key in parameters},
        relation="=",
        value=values[0],
        unit=series.unit,
        printed=f"{values[0]!r}",
        note=f"{len(values)} samples",
        path=path,
        line=0,
    )


def recorded_of(series: Series, library: Library) -> Reference | None:
    """Return what was recorded of a series; None where nothing was, or with another unit."""
    key = series.case.key
    place = key.system, key.partition, series.case.subject, read(series.metric)[0]
    try:
        return library.look_up(*place, parameters_of(series), series.unit, (RECORDED,))
    except (LookupError, ValueError):
        return None

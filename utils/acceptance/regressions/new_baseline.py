"""A site's baseline from its own history: `reference/sites/<system>.csv`.

What judges every coming night must be steady itself: too few samples, samples that differ by as
much as the baseline tolerates, and samples with a change among them are refused, with the reason.

What a simulated system gave is the row that judges it from then on, exactly. A simulation is
deterministic: two samples with the same simulator and suite that differ are no recording, and
neither is a single one, which cannot show that.
"""

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import numpy as np

from acceptance import references
from acceptance.core.errors import Fault
from acceptance.core.paths import INSTALLED, ROOT
from acceptance.core.robust import middle_and_spread
from acceptance.core.words import UNITS, is_simulated, read_metric
from acceptance.detection.common_mode import Floats
from acceptance.detection.constants import (
    BASELINE_DIGITS,
    BASELINE_FEWEST,
    BASELINE_NIGHTS,
    BASELINE_SPREADS,
    BASELINE_STRAYS,
    RECORDING_FEWEST,
)
from acceptance.ledger import Ledger
from acceptance.references import (
    PARAMETERS,
    RECORDED,
    Library,
    Reference,
    recorded_with,
    recordings,
    tables,
    write_parameters,
)
from acceptance.regressions.changes import baseline_of, parameters_of
from acceptance.regressions.history import (
    History,
    PastSession,
    Sample,
    Series,
    day,
    part,
    software_text,
)
from acceptance.regressions.progress import Progress, update


def refuse_faults(ledger: Ledger, sessions: Iterable[PastSession]) -> None:
    """Raise Fault for a session that ran with a fault injected."""
    for session in sessions:
        for case in ledger.session(session.uuid).cases:
            if fault := case.provenance.get("fault"):
                raise Fault(
                    f"session {session.uuid} ran with the fault {fault}: name others with --from"
                )


@dataclass(frozen=True)
class _ChangedRow:
    """A row of the new baseline beside the one that it replaces (None: it is new)."""

    new: Reference
    old: Reference | None

    @property
    def change(self) -> float | None:
        """Return by which fraction the value changes; None where there was none."""
        return None if self.old is None else self.new.value / self.old.value - 1


@dataclass
class Proposal:
    """A new baseline: its rows, what stays, and what was refused, as reason -> metrics.

    `notes` are those of the history: what was left out of it, too.
    """

    system: str
    path: Path
    changes: list[_ChangedRow] = field(default_factory=list)
    kept: list[Reference] = field(default_factory=list)
    refused: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[Reference]:
        """Return all rows of the new file, in a stable order."""
        rows = [*(change.new for change in self.changes), *self.kept]
        return sorted(rows, key=lambda row: (row.partition, row.benchmark, *_order(row)))


def _order(row: Reference) -> tuple[str, str, int]:
    others = {key: value for key, value in row.parameters.items() if key != "message_size"}
    size = row.parameters.get("message_size", "-1")
    return row.metric, write_parameters(others), int(size)


def select(
    history: History, uuids: Sequence[str] = (), nights: int = BASELINE_NIGHTS
) -> list[PastSession]:
    """Return the sessions of these UUIDs (or beginnings of them), else those of the last nights.

    The id of a campaign stands for all of its sessions. Raises Fault for a UUID that no
    session has, or that several have.
    """
    if not uuids:
        days: list[str] = []
        chosen: list[PastSession] = []
        for session in reversed(history.sessions):
            if day(session.start) not in days:
                days.append(day(session.start))
            if len(days) > nights:
                break
            chosen.append(session)
        return chosen[::-1]
    found = []
    for uuid in uuids:
        fitting = [session for session in history.sessions if session.uuid.startswith(uuid)]
        steps = [session for session in history.sessions if session.run == uuid]
        if len(fitting) != 1 and not steps:
            many = "several sessions begin" if fitting else "no session begins"
            raise Fault(f"{many} with {uuid!r}")
        found += fitting or steps
    return found


def propose(
    history: History, system: str, sessions: Iterable[PastSession], library: Library
) -> Proposal:
    """Make a baseline for a system of what its cases measured in these sessions.

    Rows of the present baseline stay where nothing was measured. Raises Fault where the
    sessions have no sample of the system.
    """
    simulated = is_simulated(system)
    path = (
        recordings.recording_of(library.folder, system)
        if simulated
        else library.folder / "sites" / f"{system}.csv"
    )
    proposal = Proposal(system, path, notes=[*history.notes])
    numbers = {session.number for session in sessions}
    series = [
        one
        for one in history.series
        if one.case.key.system == system
        and any(sample.session.number in numbers for sample in one.samples)
    ]
    if not series:
        why = f"; {history.left_out}" if history.left_out else ""
        raise Fault(f"these sessions hold no result of the system {system!r}{why}")
    keys = [_key(one) for one in series]
    counts = Counter(keys)
    progress = update(part(history, simulated=simulated), None, proposal.notes)
    for one, key in zip(series, keys, strict=True):
        row: Reference | str = _unfit(one)
        if not row and counts[key] > 1:
            row = "another series has the same parameters, too"
        stated = baseline_of(one, library)
        if not row and stated and stated.within:
            row = f"{stated.path}:{stated.line} states it"
        if not row:
            row = _row(proposal, one, numbers, progress, library)
        if isinstance(row, Reference):
            old = baseline_of(one, library, RECORDED if simulated else "baseline")
            same = old is not None and old.key == row.key
            proposal.changes.append(_ChangedRow(row, old if same else None))
        else:
            proposal.refused.setdefault(row, []).append(one.name)
    replaced = {change.new.key for change in proposal.changes}
    known = library.recorded(system) if simulated else library.baselines
    proposal.kept = [
        row
        for row in known
        if row.system == system
        and not row.within
        and (row.key not in replaced or row.relation != "=")
    ]
    return proposal


def _key(series: Series) -> tuple[str, ...]:
    parameters = sorted(f"{key}={value}" for key, value in parameters_of(series).items())
    return (
        series.case.key.partition,
        series.case.subject,
        read_metric(series.metric)[0],
        *parameters,
    )


def _unfit(series: Series) -> str:
    """Say why a series cannot have a baseline at all; empty when it can."""
    if series.unit not in UNITS:
        return f"{series.unit or 'no unit'}: not a unit that a reference can have"
    unknown = [
        f"{key}={value}"
        for key, value in parameters_of(series).items()
        if key not in PARAMETERS or not PARAMETERS[key].match(value)
    ]
    if unknown:
        return f"parameters that no reference can have: {', '.join(unknown)}"
    return ""


def _row(
    proposal: Proposal, series: Series, numbers: set[int], progress: Progress, library: Library
) -> Reference | str:
    """Return the row of what a series was in these sessions, or why there is none."""
    key, unit = series.case.key, series.unit
    measured = [
        (sample, value)
        for sample, value in zip(series.samples, series.values, strict=True)
        if sample.session.number in numbers
    ]
    samples, values = [sample for sample, _ in measured], [value for _, value in measured]
    software = samples[-1].software
    spread: float | None = None
    if is_simulated(key.system):
        values = [value for sample, value in measured if sample.software == software]
        if len(values) < RECORDING_FEWEST:
            return f"fewer than {RECORDING_FEWEST} samples, so that nothing shows that it repeats"
        if len(set(values)) > 1:
            return f"not deterministic: {min(values):.6g} and {max(values):.6g} {unit}"
        source, where, printed = RECORDED, recorded_with(dict(software)), f"{values[0]!r}"
        note = f"{len(values)} samples"
    else:
        starts = {series.samples[one.start].session.number for one in progress.changes(series)}
        reason = _unsteady(samples, np.array(values), starts, series, library)
        if reason:
            return reason
        value, error = map(float, middle_and_spread(np.array(values)))
        spread = float(f"{error / value:.2g}")
        printed = f"{Decimal(f'{value:.{BASELINE_DIGITS}g}'):f}"
        days = dict.fromkeys(day(sample.session.start) for sample in (samples[0], samples[-1]))
        source, where = "baseline", f"sessions of {' to '.join(days)}"
        words = (f"spread {100 * error / value:.2g} %", f"{len(samples)} samples")
        note = ", ".join(filter(None, (*words, software_text(software))))
    parameters = parameters_of(series)
    return Reference(
        source=source,
        origin=key.system,
        where=where,
        system=key.system,
        partition=key.partition,
        benchmark=series.case.subject,
        metric=read_metric(series.metric)[0],
        parameters={key: parameters[key] for key in PARAMETERS if key in parameters},
        relation="=",
        value=float(printed),
        unit=unit,
        printed=printed,
        note=note,
        path=proposal.path,
        line=0,
        spread=spread,
    )


def _unsteady(
    samples: Sequence[Sample], values: Floats, starts: set[int], series: Series, library: Library
) -> str:
    """Say why samples are no baseline; empty when they are. Changes begin in sessions `starts`."""
    unit = series.unit
    if len(samples) < BASELINE_FEWEST:
        return f"fewer than {BASELINE_FEWEST} samples"
    inside = [sample for sample in samples[1:] if sample.session.number in starts]
    if inside:
        return f"changed on {day(inside[-1].session.start)}: take sessions from one side of that"
    value, spread = map(float, middle_and_spread(values))
    tolerance = library.tolerances_of(series.case.key.system).table.get(("baseline", unit))
    if tolerance is None:
        return f"tolerances.yaml has no tolerance of a baseline in {unit}"
    what = f"the {100 * tolerance.worse:g} % that a baseline in {unit} tolerates"
    if BASELINE_SPREADS * (spread / value) > tolerance.worse:
        return f"unstable: {BASELINE_SPREADS:g} spreads are more than {what}"
    strays = int((np.abs(values / value - 1) > tolerance.worse).sum())
    if strays > max(1, BASELINE_STRAYS * len(values)):
        return (
            f"unstable: {strays} of {len(values)} samples are further from their median than {what}"
        )
    return ""


def write(proposal: Proposal, library: Library) -> None:
    """Write the file at once, after it was read back beside the other references.

    Raises Fault when it cannot be written or would not be read.
    """
    if INSTALLED and proposal.path.is_relative_to(ROOT):
        raise Fault(
            f"nothing is written into an installed copy; copy {library.folder} to a folder of your "
            "own, and name that in ACCEPTANCE_REFERENCE"
        )
    simulated = is_simulated(proposal.system)
    text = (recordings.as_text if simulated else tables.as_csv)(proposal.rows)
    try:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "reference")
            shutil.copytree(library.folder, copy)
            place = copy / proposal.path.relative_to(library.folder)
            place.parent.mkdir(exist_ok=True)
            place.write_text(text, encoding="utf-8")
            references.load(copy).recorded(proposal.system)
        proposal.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = proposal.path.with_name(f".{proposal.path.name}.{os.getpid()}")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(proposal.path)
    except (OSError, references.ReferenceFault) as err:
        raise Fault(f"{proposal.path} was not written: {err}") from None

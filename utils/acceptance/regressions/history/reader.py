"""The past of every metric: what a ledger holds, as series of samples.

A sample is what a passing case measured; what failed, and what passed only when it was repeated, is
none. Anything that plain ReFrame writes will do.
"""

import json

from acceptance.core.text import plural
from acceptance.detection.constants import CLOCK_SLACK
from acceptance.ledger import (
    REPEATED,
    SHARED_MACHINE,
    UNFIT,
    Ledger,
    ResultsFault,
    reading,
    runs_of,
)
from acceptance.regressions.history.series import (
    CaseHistory,
    CaseKey,
    History,
    PastSession,
    Series,
    Source,
    day,
)


def load(ledger: Ledger, system: str | None = None, until: str | None = None) -> History:
    """Return all series of a ledger.

    With `system` only its series, with `until` (UUID) nothing that was stored after that session.
    Values are read when they are asked for. Raises ResultsFault when the ledger cannot be read or
    has no such session. A session that was stored out of order is told in the notes, one that
    cannot be read in `faults`.
    """
    end = reading.ALL
    if until is not None:
        if until not in ledger.ids():
            raise ResultsFault(f"{ledger.results}: holds no session {until}")
        end = ledger.numbers[until] + 1
    faults = [fault for fault in ledger.faults if ledger.numbers[fault.uuid] < end]
    history = History(notes=[*ledger.notes], faults=faults)
    _add_sessions(history, ledger, end)
    source = history.source = Source(ledger, history.sessions, end)
    repeated, left_out = _add_unfit(history, source, system)
    _add_series(history, source, system)
    history.notes += [
        f"session {uuid} repeats {count} cases of sessions before it; left out"
        for uuid, count in repeated.items()
    ]
    if left_out:
        history.left_out = (
            f"{plural(len(left_out), 'case')} measured while another run had jobs "
            "on the same machine, and left out; the last session that has some is "
            f"{left_out[-1].uuid} of {day(left_out[-1].start)}"
        )
        history.notes.append(history.left_out)
    source.read_few()
    return history


def _add_sessions(history: History, ledger: Ledger, end: int) -> None:
    """Add the sessions of the ledger."""
    latest, runs = 0.0, runs_of(ledger.entries)
    for entry in ledger.entries:
        if entry.number >= end:
            break
        if entry.end < latest - CLOCK_SLACK:
            history.notes.append(
                f"session {entry.uuid} ended {(latest - entry.end) / 3600:.1f} hours before one "
                "that was stored before it: a clock went backwards; the order of storing counts"
            )
            latest = entry.end  # a single session of the future is reported once
        latest = max(latest, entry.end)
        history.sessions.append(
            PastSession(
                number=len(history.sessions),
                uuid=entry.uuid,
                start=entry.start,
                end=entry.end,
                command=entry.command,
                aborted=entry.aborted,
                place=entry.number,
                mark=entry.sum,
                run=runs[entry.uuid],
            )
        )


def _add_unfit(
    history: History, source: Source, system: str | None
) -> tuple[dict[str, int], list[PastSession]]:
    """Add to sessions which partitions had cases, and which of these are no samples.

    Return how many cases of each session are repetitions, and the session of each case that was
    measured while another run used the machine.
    """
    for number, name, partition, most in reading.partitions(source.ledger, source.end, system):
        source.sessions[number].partitions.add((name, partition))
        if most is not None:
            source.sessions[number].most[name, partition] = most
    found = reading.without_sample(source.ledger, source.end, system)
    for place in (*found[UNFIT], *found[SHARED_MACHINE]):
        source.sessions[place.session].unfit.add((place.where, place.name))
    repeated: dict[str, int] = {}
    for place in found[REPEATED]:
        uuid = source.sessions[place.session].uuid
        repeated[uuid] = repeated.get(uuid, 0) + 1
    return repeated, [source.sessions[place.session] for place in found[SHARED_MACHINE]]


def _add_series(history: History, source: Source, system: str | None) -> None:
    by_id: dict[int, CaseHistory] = {}
    keys: dict[str, tuple[tuple[str, str], ...]] = {}
    for row in reading.cases(source.ledger, source.end, system):
        if row.keys not in keys:
            keys[row.keys] = tuple((name, value) for name, value in json.loads(row.keys))
        key = CaseKey(row.system, row.partition, row.environment, row.name, keys[row.keys])
        case = CaseHistory(key, row.suite, row.benchmark, row.plain, id=row.id)
        by_id[row.id] = case
        history.cases.append(case)
    for number, each in enumerate(reading.series(source.ledger, source.end)):
        if each.case in by_id:
            case = by_id[each.case]
            last = None if each.last is None else source.sessions[each.last]
            case.series.append(
                Series(
                    case, each.metric, each.unit or "", each.direction, each.unit,
                    impossible=each.impossible, last=last, number=number, id=each.id,
                    source=source, stored=each.samples,
                )
            )  # fmt: skip
    source.serve(history.cases)

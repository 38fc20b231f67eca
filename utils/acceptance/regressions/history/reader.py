"""The past of every metric: what a ledger holds, as series of samples.

A sample is what a passing case measured; what failed, and what passed only when it was repeated, is
none. Anything that plain ReFrame writes will do.
"""

import json
from collections import Counter
from functools import cache

from acceptance.core.text import plural
from acceptance.detection.constants import CLOCK_SLACK
from acceptance.ledger import (
    REPEATED,
    SHARED_MACHINE,
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
    _add_unfit(history, source, system)
    _add_series(history, source, system)
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
                number=entry.number,
                uuid=entry.uuid,
                start=entry.start,
                end=entry.end,
                command=entry.command,
                aborted=entry.aborted,
                mark=entry.sum,
                run=runs[entry.uuid],
            )
        )


def _add_unfit(history: History, source: Source, system: str | None) -> None:
    """Add to sessions which partitions had cases, and which of these are no samples."""
    for number, name, partition, most in reading.partitions(source.ledger, source.end, system):
        source.sessions[number].partitions.add((name, partition))
        if most is not None:
            source.sessions[number].most[name, partition] = most
    repeated: Counter[str] = Counter()
    left_out: list[PastSession] = []
    for kind, number, name, where, check in reading.without_sample(source.ledger, source.end):
        if system not in (None, name):
            continue
        session = source.sessions[number]
        if kind == REPEATED:
            repeated[session.uuid] += 1
        else:
            session.unfit.add((where, check))
        if kind == SHARED_MACHINE:
            left_out.append(session)
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


def _add_series(history: History, source: Source, system: str | None) -> None:
    by_id: dict[int, CaseHistory] = {}
    for case_id, *name, keys, suite, benchmark, plain in reading.cases(
        source.ledger, source.end, system
    ):
        key = CaseKey._make((*name, _pairs(keys)))
        by_id[case_id] = CaseHistory(key, suite, benchmark, plain, id=case_id)
    history.cases += by_id.values()
    for number, row in enumerate(reading.series(source.ledger, source.end)):
        series_id, case_id, metric, unit, direction, stored, impossible, last = row
        if case_id in by_id:
            case = by_id[case_id]
            case.series.append(
                Series(
                    case, metric, unit, direction,
                    impossible=impossible, last=source.sessions.get(last), number=number,
                    id=series_id, source=source, stored=stored,
                )
            )  # fmt: skip
    source.serve(history.cases)


@cache
def _pairs(keys: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in json.loads(keys))

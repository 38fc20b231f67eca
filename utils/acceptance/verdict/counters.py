"""Counters of errors that stand above zero: since when, and how they go on, tell earlier sessions.

They fail nothing: what a link loses during the cases of a run fails these.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from acceptance.core.findings import Finding
from acceptance.fabric.link_check import STANDING
from acceptance.ledger import Case, Ledger, Session
from acceptance.verdict.evidence import Evidence
from acceptance.verdict.model import Verdict

#: System and partition of a counter, its node, device and name.
_Key = tuple[str, str, str, str, str]
_DAY = 86400.0
#: Earlier readings that are looked at for when a counter last grew.
_READINGS = 200
#: The class of the link check, as ReFrame names its cases.
LINK_CHECK = "LinkCheck"


def note_counters(verdict: Verdict, evidence: Evidence) -> None:
    """Add the counters of errors that stand above zero."""
    past = evidence.past
    found = [each for session in evidence.sessions for each in standing_counters(past, session)]
    verdict.findings += found
    verdict.notes += [f"links: {counter.text}" for counter in found]


def standing_counters(past: Ledger, session: Session) -> list[Finding]:
    """Return the counters that stand in a session, compared with earlier ones.

    Their texts are `node1 mlx5_0/1: link_downed stands at 7 (+3 in 2.0 days)`.

    Raises ResultsFault when that cannot be read.
    """
    current = {key: value for case in session.cases for key, value in _standing(case)}
    if not current:
        return []
    last: dict[_Key, tuple[int, float]] = {}
    since: dict[_Key, float] = {}
    unsettled = set(current)
    earlier = past.sessions_of_check(LINK_CHECK, session.start)
    for number, reading in enumerate(earlier):
        if number == _READINGS or not unsettled:
            break
        values = {key: value for case in reading.cases for key, value in _standing(case)}
        looked_at = {place for case in reading.cases for place in _looked_at(case)}
        for key in [key for key in unsettled if key[:3] in looked_at]:
            value = values.get(key, 0)
            last.setdefault(key, (value, reading.end))
            if value == current[key]:
                since[key] = reading.end
            else:
                unsettled.remove(key)
    found = []
    for key, value in current.items():
        _, _, *place = key
        change = "first reading"
        if key in last:
            before, time = last[key]
            change = _change(value, before, (session.end - time) / _DAY, since.get(key, 0.0))
        node, device, counter = place
        found.append(Finding(
            STANDING, f"{node} {device}: {counter} stands at {value} ({change})", nodes=(node,),
            device=device, what=counter, found=f"{value} ({change})", expected="0",
            place=(*place,), source="link check",
        ))  # fmt: skip
    return found


def _change(value: int, before: int, days: float, since: float) -> str:
    """Say what became of a counter in the days since its last reading.

    `since` is the time of the earliest reading that had the same value (s since the epoch).
    """
    ago = f"{days:.1f} days"
    if value < before:
        return f"counter was reset: {before} before, in {ago}"
    if value > before:
        return f"+{value - before} in {ago}"
    return f"no more since {datetime.fromtimestamp(since).astimezone():%Y-%m-%d}"


def _standing(case: Case) -> Iterator[tuple[_Key, int]]:
    for seen in case.findings:
        if seen.kind == STANDING:
            place = case.system, case.partition, seen.node, seen.device, seen.what
            yield place, int(seen.found)


def _looked_at(case: Case) -> Iterable[tuple[str, str, str]]:
    """Return the nodes whose counters a case has read; older releases read none."""
    names = filter(None, case.provenance.get("counters", "").split(","))
    return [(case.system, case.partition, node) for node in names]

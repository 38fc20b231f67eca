"""The newest case of a check on each partition, wherever it is stored."""

from collections.abc import Iterator
from typing import NamedTuple

from acceptance.report.source import Source
from acceptance.rfm import Case, Session, database


class Newest(NamedTuple):
    """A case, the session it is of, and its number in there."""

    session: Session
    number: int
    case: Case


def newest(source: Source, check: str, benchmark: str) -> dict[tuple[str, str], Newest]:
    """Return the newest case of a benchmark by system and partition.

    `check` is the class of its check: only sessions with such a case are read. A fixture, or a case
    that was repeated, counts as its last execution. Raises ResultsFault.
    """
    found: dict[tuple[str, str], Newest] = {}
    wanted = {(place.system, place.partition) for place in source.measured}
    for each in _sessions(source, check):
        for number, case in enumerate(each.cases):
            place = case.system, case.partition
            if case.benchmark != benchmark or case.fixture:
                continue
            known = found.get(place)
            if known is None or (known.session is each and case.run_index >= known.case.run_index):
                found[place] = Newest(each, number, case)
        if wanted <= found.keys():
            break
    system = source.selection.system
    return {place: it for place, it in found.items() if system in (None, place[0])}


def _sessions(source: Source, check: str) -> Iterator[Session]:
    """Yield the sessions that have a page, then others with cases of a check, the newest first."""
    yield from source.sessions
    if not source.selection.sessions and source.selection.since is None:
        shown = {each.uuid for each in source.sessions}
        for each in database.sessions_of_check(source.database, check, float("inf")):
            if each.uuid not in shown:
                yield each

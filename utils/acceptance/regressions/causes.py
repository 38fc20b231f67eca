"""Why what became worse did: the curves of a case before an incident beside those since.

A case between two processes has a time for each of many sizes in each session: half of a ping-pong,
or the inverse of a bandwidth or message rate. Each session is a curve of LogGP.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence

from acceptance.core.pairs import Curve
from acceptance.core.words import split_metric
from acceptance.detection import causes
from acceptance.detection.causes import Cause
from acceptance.detection.constants import CAUSE_BEFORE, LINES_FEWEST
from acceptance.regressions.changes import Change
from acceptance.regressions.history import PastSession, Series
from acceptance.suites import find

#: Unit -> the us of a message of so many bytes that has this value, and whether it is one of many.
_TIMES: dict[str, tuple[Callable[[float, int], float], bool]] = {
    "us": (lambda value, size: value, False),
    "MB/s": (lambda value, size: size / value, True),
    "1/s": (lambda value, size: 1e6 / value, True),
}

#: A case, a stem and its unit.
_Family = tuple[int, str, str]


def cause_of(
    worst: Change, changes: Sequence[Change], judged: Sequence[Series], anchor: PastSession
) -> Cause | None:
    """Return why the series of an incident are worse, by `judged` ones beside the worst of them.

    Of the curves that moved, those of a ping-pong count before others, as they know L + 2o, then
    that of the worst series. None: nothing that moved is of a curve. What is known of the fabric
    is not asked: a history may be of another one.
    """
    families: dict[_Family, dict[int, Series]] = defaultdict(dict)
    for one in judged:
        stem, size = split_metric(one.metric)
        if size and one.unit in _TIMES and find(one.case.benchmark).point_to_point:
            families[id(one.case), stem, one.unit][size] = one
    moved = {id(change.series) for change in changes}
    of_pairs = [
        members
        for members in families.values()
        if len(members) >= LINES_FEWEST and any(id(one) in moved for one in members.values())
    ]
    if worst.before is None or not of_pairs:
        return None

    def order(members: dict[int, Series]) -> tuple[bool, bool]:
        series = [*members.values()]
        return _TIMES[series[0].unit][1], worst.series not in series

    before, since = _curves(min(of_pairs, key=order), anchor)
    return causes.judge(before, since, than="the nights before")


def _curves(members: dict[int, Series], anchor: PastSession) -> tuple[list[Curve], list[Curve]]:
    """Return the curves of the last sessions before an incident, and of those since."""
    times: dict[int, dict[int, float]] = defaultdict(dict)
    for size, one in members.items():
        time_of, _ = _TIMES[one.unit]
        for sample, value in zip(one.samples, one.values, strict=True):
            times[sample.session.number][size] = time_of(value, size)
    unit = next(iter(members.values())).unit
    sizes = tuple(sorted(members))
    whole = {
        number: Curve(sizes, tuple(of[size] for size in sizes), per_message=_TIMES[unit][1])
        for number, of in sorted(times.items())
        if len(of) == len(sizes)
    }
    before = [curve for number, curve in whole.items() if number < anchor.number]
    since = [curve for number, curve in whole.items() if number >= anchor.number]
    return before[-CAUSE_BEFORE:], since[-CAUSE_BEFORE:]

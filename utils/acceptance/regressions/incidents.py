"""One incident for what moved on the same partition, on the same night, for one reason.

Changes of the past are grouped in the order in which they were decided. A change joins an
incident whose anchor, the session with which it began, is no more than a night away, or than both
beginnings can be off; a drift joins one that was still going on. So the anchor never changes,
whatever joins later, and the incident's identity is that of its anchor.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from acceptance.alerts import Alert
from acceptance.detection.constants import INCIDENT_BACK, INCIDENT_NEAR, NIGHT_CASES, NIGHT_SHARE
from acceptance.regressions.causes import common
from acceptance.regressions.changes import Change, OpenIncident, SlowNight
from acceptance.regressions.companions import RecentOf, companions
from acceptance.regressions.history.nights import Nights, Partition
from acceptance.regressions.history.series import PastSession, Series


@dataclass(eq=False)
class _Incident:
    partition: Partition
    family: str
    anchor: PastSession
    night: int
    within: int
    changes: list[Change] = field(default_factory=list)
    slow: list[SlowNight] = field(default_factory=list)

    @property
    def id(self) -> str:
        text = f"{':'.join(self.partition)} {self.family} {self.anchor.uuid}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def group(
    changes: Iterable[Change],
    slow: Iterable[SlowNight],
    judged: Sequence[Series],
    nights: Nights,
    recent: RecentOf,
) -> tuple[OpenIncident, ...]:
    """Return every incident that is not over, with its alert, the largest first.

    `slow` are the nights on which a partition as a whole was slow, `judged` all series that were
    judged: they tell what sets an incident apart from the rest, by their `recent` samples.
    """
    incidents: list[_Incident] = []
    events: list[Change | SlowNight] = [*changes, *slow]
    for event in sorted(events, key=_order):
        _join(event, incidents, nights)
    taken = {id(one.series) for one in events if isinstance(one, Change) and one.over is None}
    still: list[OpenIncident] = []
    for incident in incidents:
        free = [one for one in judged if _partition(one) == incident.partition]
        found = _open(incident, free, taken, nights, recent)
        still += [found] if found is not None else []
    return tuple(sorted(still, key=lambda one: (-len(one.alert.metrics), one.alert.id)))


def _order(event: Change | SlowNight) -> tuple[int, int, str]:
    if isinstance(event, SlowNight):
        return event.session.number, event.session.number, ""
    return event.decided.number, event.session.number, event.series.name


def _family(event: Change | SlowNight) -> str:
    return "regression" if isinstance(event, SlowNight) else event.kind


def _join(event: Change | SlowNight, incidents: list[_Incident], nights: Nights) -> None:
    night = nights.of(event.partition, event.session)
    family = _family(event)
    within = 0 if isinstance(event, SlowNight) else event.within
    for incident in incidents:
        if (incident.partition, incident.family) == (event.partition, family) and _belongs(
            event, night, max(INCIDENT_NEAR, within, incident.within), incident
        ):
            break
    else:
        incident = _Incident(event.partition, family, event.session, night, within)
        incidents.append(incident)
    if isinstance(event, SlowNight):
        incident.slow.append(event)
    else:
        incident.changes.append(event)


def _belongs(event: Change | SlowNight, night: int, near: int, incident: _Incident) -> bool:
    if abs(incident.night - night) <= near:
        return True
    if isinstance(event, SlowNight):
        return any(one.night == night - 1 for one in incident.slow)
    # One thing can let many metrics drift, and each crosses its limit on a night of its own.
    return event.kind == "drift" and any(
        one.over is None or one.over.number > event.decided.number for one in incident.changes
    )


def _partition(series: Series) -> Partition:
    return series.case.key.system, series.case.key.partition


def _open(
    incident: _Incident,
    here: Sequence[Series],
    taken: set[int],
    nights: Nights,
    recent: RecentOf,
) -> OpenIncident | None:
    """Return an incident with its alert; None if it is over.

    `here` are the judged series of its partition.
    `taken` are those that have open changes, of this incident or of another one.
    """
    still = [one for one in incident.changes if one.over is None]
    newest = nights.last(incident.partition)
    slow = [one for night in incident.slow if night.night == newest for one in night.changes]
    if incident.family == "regression" and still:
        # Of those with evidence of their own it was decided whether they still belong to it.
        decided = taken | {id(one.series) for one in incident.changes}
        free = [one for one in here if id(one) not in decided]
        still += companions(free, incident.anchor, recent)
    wide = incident.family == "regression" and _is_wide(still, here) and not _of_one_node(still)
    if wide and not slow and _recovered(still, recent):
        still = []
    # What has evidence of its own tells more than one night does.
    known = {id(one.series) for one in still}
    members = _one_each(still + [one for one in slow if id(one.series) not in known])
    if not members:
        return None
    worst = max(members, key=lambda one: (_weight(one), one.series.name))
    key, series = worst.series.case.key, worst.series
    cause = common(members, here)
    if wide or slow:
        share = f"{len(members)} of {max(len(here), len(members))} metrics of the partition"
        cause = f"{share} moved: the machine, not the metrics" + (f"; {cause}" if cause else "")
    relative = None
    if worst.before is not None and worst.after is not None:
        relative = worst.after / worst.before - 1
    since = incident.anchor.start if worst.kind == "machine" else worst.time
    alert = Alert(
        id=incident.id,
        kind="machine" if wide or slow else incident.family,
        system=key.system,
        partition=key.partition,
        environ=key.environment,
        check=key.check,
        metric=series.metric,
        unit=series.unit,
        direction=series.direction,
        before=worst.before,
        after=worst.after,
        change=relative,
        since=datetime.fromtimestamp(since).astimezone().isoformat(timespec="seconds"),
        confidence=worst.confidence,
        cause=cause,
        metrics=tuple(sorted({one.series.name for one in members} - {series.name})),
    )
    return OpenIncident(alert, tuple(members))


def _one_each(changes: Iterable[Change]) -> list[Change]:
    """Return one change of each series, the largest."""
    best: dict[int, Change] = {}
    for one in changes:
        if id(one.series) not in best or _weight(one) > _weight(best[id(one.series)]):
            best[id(one.series)] = one
    return list(best.values())


def _is_wide(changes: Sequence[Change], here: Sequence[Series]) -> bool:
    """Tell whether most of a partition became worse."""
    cases = len({id(one.series.case) for one in changes})
    return cases >= NIGHT_CASES and len({id(one.series) for one in changes}) > NIGHT_SHARE * len(
        here
    )


def _of_one_node(changes: Sequence[Change]) -> bool:
    """Tell whether it is one node of which most became worse: what others show says nothing."""
    nodes = Counter(one.node for one in changes if one.node)
    return any(2 * count > len(changes) for count in nodes.values())


def _weight(change: Change) -> float:
    if change.before is None or change.after is None:
        return 0.0
    return abs(math.log(change.after / change.before)) * change.confidence


def _recovered(changes: Sequence[Change], recent: RecentOf) -> bool:
    """Tell whether the newest samples are back, taken together.

    Of one metric a sample says little, and its own evidence takes nights; of a whole machine the
    median of all says it at once.
    """
    newest = recent({id(one.series): one.series for one in changes}.values())
    places = sorted(
        math.log(newest[id(one.series)].values[-1] / one.before) / math.log(one.after / one.before)
        for one in changes
        if one.before and one.after and one.before != one.after
    )
    return bool(places) and places[len(places) // 2] < 1 - INCIDENT_BACK

"""One incident for what moved on the same partition, on the same night, for one reason.

Changes of the past are grouped in the order in which they were decided. A change joins an
incident whose anchor, the session with which it began, is no more than a night away, or than both
beginnings can be off; a drift joins one that was still going on. So the anchor never changes,
whatever joins later, and the incident's identity is that of its anchor.

A finding says what the series of an incident have in common and others on the partition have not,
and what became worse with them without enough evidence to be an incident by itself. A site watches
thousands of series on every night, and so each needs much evidence. Of the series of one partition,
at the one time when something did happen there, less tells that they moved, too.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from acceptance.core.findings import Finding
from acceptance.core.kinds import HISTORY
from acceptance.core.robust import middle_and_spread
from acceptance.core.words import Direction, split_metric
from acceptance.detection.constants import (
    CAUSE_BEFORE,
    CAUSE_SHARE,
    CAUSES_NAMED,
    COMPANION_AFTER,
    COMPANION_APART,
    COMPANION_BEFORE,
    COMPANION_FEWEST,
    INCIDENT_BACK,
    INCIDENT_NEAR,
    MEDIAN_ERROR,
    NIGHT_CASES,
    NIGHT_LEAST,
    NIGHT_SHARE,
    NIGHT_STEADIEST,
    NODES_NAMED,
)
from acceptance.regressions.causes import cause_of
from acceptance.regressions.changes import Change, OpenIncident, SlowNight
from acceptance.regressions.history import Nights, PastSession, Sample, Series
from acceptance.regressions.progress import Recent

#: Attributes of a series that can explain, and how they are called; the likeliest first.
ATTRIBUTES = {
    "environment": "environment",
    "mpi": "MPI",
    "placement": "placement",
    "mapping": "mapping",
    "intranode": "path inside a node:",
    "suite": "suite",
    "benchmark": "benchmark",
    "nodes": "number of nodes:",
    "np": "number of processes:",
    "metric": "metric",
}


def common(affected: Sequence[Change], judged: Iterable[Series]) -> str:
    """Return what the affected series share: software, nodes, links, attributes, message sizes.

    `judged` are all series of the partition that were judged; those that were not affected tell
    what sets the affected ones apart.
    """
    ours = {id(change.series) for change in affected}
    others = [one for one in judged if id(one) not in ours]
    found = [
        _texts(affected),
        _software(affected),
        _nodes(affected, others),
        *_attributes([change.series for change in affected], others),
        _sizes([change.series for change in affected], others),
        _links(affected),
    ]
    return "; ".join(filter(None, found))


def _texts(affected: Sequence[Change]) -> str:
    texts = Counter(change.text for change in affected if change.text)
    return texts.most_common(1)[0][0] if texts else ""


def _split(change: Change) -> tuple[list[Sample], list[Sample]]:
    """Return the samples before the change, and those since."""
    samples, at = change.series.samples, change.series.index_of(change.session.number)
    return samples[max(at - CAUSE_BEFORE, 0) : at], samples[at:]


def _software(affected: Sequence[Change]) -> str:
    changes: Counter[str] = Counter()
    known = same = 0
    for change in affected:
        before, after = _split(change)
        # The first sample after a change is an estimate: it may be one too early or too late.
        near = [sample.software for sample in before[-2:] + after[:2]]
        if not before or not after or not all(near):
            continue
        known += 1
        changed = [_change(dict(old), dict(new)) for old, new in pairwise(near) if old != new]
        if changed:
            changes[changed[0]] += 1
        else:
            same += 1
    if not known:
        return ""
    if changes and changes.total() >= CAUSE_SHARE * known:
        return f"the software changed with it: {changes.most_common(1)[0][0]}"
    return "with the same software as before" if same == known else ""


def _change(old: dict[str, str], new: dict[str, str]) -> str:
    """Say what differs; the hash only where nothing else does, for it differs with anything."""
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    names = [name for name in names if name != "hash"] or names
    return ", ".join(
        f"{name} {old.get(name, 'none')[:40]} -> {new.get(name, 'none')[:40]}" for name in names
    )


def _nodes(affected: Sequence[Change], others: Iterable[Series]) -> str:
    """Name the nodes that all affected samples had and no other one; else those that are new."""
    split_samples = [_split(change) for change in affected]
    # The first sample after a change is an estimate: what follows it is surer.
    since = [
        set(sample.nodes)
        for _, after in split_samples
        for sample in (after[2:] if len(after) >= 4 else after)
        if sample.nodes
    ]
    if not since:
        return ""
    shared = set.intersection(*since)
    first = min((change.session for change in affected), key=lambda session: session.number)
    unaffected = {
        node
        for one in others
        for sample in one.samples[one.index_of(first.number) :]
        for node in sample.nodes
    }
    before = {node for samples, _ in split_samples for sample in samples for node in sample.nodes}
    culprits = shared - unaffected
    if culprits and unaffected:
        return f"all ran on {_names(culprits)}, and nothing else did"
    new = shared - before
    if new and before:
        return f"all ran on {_names(new)} since then, and not before"
    return ""


def _names(nodes: Iterable[str]) -> str:
    names = sorted(nodes)
    more = f" and {len(names) - NODES_NAMED} more" if len(names) > NODES_NAMED else ""
    return ", ".join(names[:NODES_NAMED]) + more


def attributes(series: Series) -> dict[str, str]:
    """Return what may set a series apart from others: attribute -> value."""
    keys = dict(series.case.key.keys)
    software = dict(series.samples[-1].software) if series.samples else {}
    found = {
        "environment": series.case.key.environment,
        "mpi": software.get("mpi", ""),
        "suite": series.case.suite,
        "benchmark": series.case.benchmark or series.case.key.check.split(" ")[0],
        "metric": split_metric(series.metric)[0],
        **{name: keys.get(name, "") for name in ("placement", "mapping", "intranode")},
        **{name: keys.get(name, "") for name in ("nodes", "np")},
    }
    return {name: found[name] for name in ATTRIBUTES}


def _attributes(ours: Sequence[Series], others: Sequence[Series]) -> list[str]:
    """Say which attributes all of ours have, and not all of the others."""
    if len(ours) < 2:
        return []
    mine, rest = [attributes(one) for one in ours], [attributes(one) for one in others]
    found: list[tuple[int, str]] = []
    for name, title in ATTRIBUTES.items():
        values = {one[name] for one in mine}
        if len(values) != 1 or "" in values:
            continue
        value = values.pop()
        too = sum(one[name] == value for one in rest)
        if too < len(rest):
            only = "only " if not too else ""
            found.append((too, f"{only}{title} {value}"))
    # What fewer of the others share tells more; the sort keeps the likeliest of equals first.
    return [text for _, text in sorted(found, key=lambda one: one[0])[:CAUSES_NAMED]]


def _sizes(ours: Sequence[Series], others: Sequence[Series]) -> str:
    """Say whether it is the large messages, or the small ones, that moved."""
    sizes = [split_metric(one.metric)[1] for one in ours]
    mine = [size for size in sizes if size is not None]
    metrics = {(one.case.benchmark, split_metric(one.metric)[0]) for one in ours}
    rest = [
        size
        for one in others
        if (one.case.benchmark, split_metric(one.metric)[0]) in metrics
        and (size := split_metric(one.metric)[1]) is not None
    ]
    if len(mine) < max(2, len(sizes)) or not rest:
        return ""
    if max(rest) < min(mine):
        return f"messages of {min(mine)} bytes and more"
    if min(rest) > max(mine):
        return f"messages of up to {max(mine)} bytes"
    return ""


def _links(affected: Sequence[Change]) -> str:
    """Tell what the links of the nodes showed since, and did not show before."""
    found: Counter[str] = Counter()
    for change in affected:
        before, after = _split(change)
        known = {text for sample in before for text in sample.findings}
        found.update({text for sample in after for text in sample.findings} - known)
    if not found:
        return ""
    texts = [text for text, _ in found.most_common(NODES_NAMED)]
    return f"links: {', '.join(texts)}"


#: Gives the newest samples of series, by their identity.
RecentOf = Callable[[Iterable[Series]], dict[int, Recent]]


def _companions(
    series: Sequence[Series], anchor: PastSession, recent: RecentOf
) -> Iterator[Change]:
    """Yield the series whose last samples are worse than those before a session were."""
    newest = recent(series)
    for one in series:
        found = _companion(one, anchor, newest[id(one)])
        if found is not None:
            yield found


def _companion(series: Series, anchor: PastSession, recent: Recent) -> Change | None:
    numbers, logs = recent
    at = int(np.searchsorted(numbers, anchor.number))
    if at < COMPANION_FEWEST or at == len(numbers):
        return None
    values = logs[max(at - COMPANION_BEFORE, 0) :]
    split = at - max(at - COMPANION_BEFORE, 0)
    # The newest ones tell whether it goes on.
    before, after = values[:split], values[split:][-COMPANION_AFTER:]
    middle, spread = map(float, middle_and_spread(before))
    spread, level = max(spread, NIGHT_STEADIEST), float(np.median(after))
    worse = level - middle if series.direction == "lower" else middle - level
    error = MEDIAN_ERROR * spread * math.sqrt(1 / len(before) + 1 / len(after))
    if worse < NIGHT_LEAST or worse < COMPANION_APART * error:
        return None
    samples, at = series.samples, series.index_of(anchor.number)
    return Change(
        series,
        "regression",
        samples[at].session,
        samples[-1].session,
        samples[at].time,
        before=math.exp(middle),
        after=math.exp(level),
        confidence=round(min(1 - math.erfc(worse / error / math.sqrt(2)), 0.9999), 4),
    )


#: What belongs to one incident, in the order in which it was decided: the first is its anchor.
_Events = list[Change | SlowNight]


def _changes(incident: _Events) -> list[Change]:
    return [one for one in incident if isinstance(one, Change)]


def group(
    changes: Iterable[Change],
    slow: Iterable[SlowNight],
    judged: Sequence[Series],
    nights: Nights,
    recent: RecentOf,
) -> tuple[OpenIncident, ...]:
    """Return every incident that is not over, with its finding, the largest first.

    `slow` are the nights on which a partition as a whole was slow, `judged` all series that were
    judged: they tell what sets an incident apart from the rest, by their `recent` samples.
    """
    incidents: list[_Events] = []
    events: _Events = [*changes, *slow]
    for event in sorted(events, key=_order):
        _join(event, incidents, nights)
    taken = {id(one.series) for one in _changes(events) if one.over is None}
    still: list[OpenIncident] = []
    for incident in incidents:
        free = [one for one in judged if one.partition == incident[0].partition]
        found = _open(incident, free, taken, nights, recent)
        still += [found] if found is not None else []
    return tuple(sorted(still, key=lambda one: (-len(one.changes), one.id)))


def _order(event: Change | SlowNight) -> tuple[int, int, str]:
    if isinstance(event, SlowNight):
        return event.session.number, event.session.number, ""
    return event.decided.number, event.session.number, event.series.name


def _join(event: Change | SlowNight, incidents: list[_Events], nights: Nights) -> None:
    for incident in incidents:
        anchor = incident[0]
        same = (anchor.partition, anchor.kind) == (event.partition, event.kind)
        if same and _belongs(event, incident, nights):
            incident.append(event)
            return
    incidents.append([event])


def _belongs(event: Change | SlowNight, incident: _Events, nights: Nights) -> bool:
    anchor = incident[0]
    begun, night = (nights.of(one.partition, one.session) for one in (anchor, event))
    if abs(begun - night) <= max(INCIDENT_NEAR, event.within, anchor.within):
        return True
    if isinstance(event, SlowNight):
        return any(isinstance(one, SlowNight) and one.night == night - 1 for one in incident)
    # One thing can let many metrics drift, and each crosses its limit on a night of its own.
    return event.kind == "drift" and any(
        one.over is None or one.over.number > event.decided.number for one in _changes(incident)
    )


def _open(
    incident: _Events,
    here: Sequence[Series],
    taken: set[int],
    nights: Nights,
    recent: RecentOf,
) -> OpenIncident | None:
    """Return an incident with its finding; None if it is over.

    `here` are the judged series of its partition.
    `taken` are those that have open changes, of this incident or of another one.
    """
    kind, anchor, changes = incident[0].kind, incident[0].session, _changes(incident)
    partition = incident[0].partition
    still = [one for one in changes if one.over is None]
    newest = nights.last(partition)
    slow = [one for night in incident if isinstance(night, SlowNight) and night.night == newest
            for one in night.changes]  # fmt: skip
    if kind == "regression" and still:
        # Of those with evidence of their own it was decided whether they still belong to it.
        decided = taken | {id(one.series) for one in changes}
        free = [one for one in here if id(one) not in decided]
        still += _companions(free, anchor, recent)
    wide = kind == "regression" and _is_wide(still, here) and not _of_one_node(still)
    if wide and not slow and _recovered(still, recent):
        still = []
    # What has evidence of its own tells more than one night does.
    known = {id(one.series) for one in still}
    members = _one_each(still + [one for one in slow if id(one.series) not in known])
    if not members:
        return None
    worst = max(members, key=lambda one: (_weight(one), one.series.name))
    cause = common(members, here)
    if wide or slow:
        share = f"{len(members)} of {max(len(here), len(members))} metrics of the partition"
        cause = f"{share} moved: the machine, not the metrics" + (f"; {cause}" if cause else "")
    why = cause_of(worst, members, here, anchor)
    if why is not None:
        cause = f"{cause}; {why.text}" if cause else why.text
    since = anchor.start if worst.kind == "machine" else worst.time
    told = "machine" if wide or slow else kind
    finding = _finding(told, worst, since, len(members) - 1, cause)
    text = f"{':'.join(partition)} {kind} {anchor.uuid}"
    name = hashlib.sha256(text.encode()).hexdigest()[:12]
    finding = replace(finding, place=(*partition, name))
    return OpenIncident(name, finding, cause, worst, tuple(members))


def _finding(kind: str, worst: Change, since: float, others: int, cause: str) -> Finding:
    """Return what is found: the series that shows it best, its levels, and what moved with it."""
    key, series = worst.series.case.key, worst.series
    begin = datetime.fromtimestamp(since).astimezone().isoformat(timespec="seconds")
    expected, levels, extent = "", "", ""
    found = HISTORY[kind][0]
    if worst.before is not None and worst.after is not None:
        expected, after = (f"{x:.4g} {series.unit}".rstrip() for x in (worst.before, worst.after))
        levels = f"{worst.before:.4g} -> {after}"
        extent = _extent(worst.after / worst.before - 1, series.direction)
        found = f"{after}, {extent}"
    if kind == "vanished":
        found = said = "no longer measured"
    elif kind == "unit":
        found = f"its unit changed, now {series.unit or 'none'}"
        said = f"{found},"
    else:
        drifts = "drifting" if kind == "drift" else ""
        said = ", ".join(filter(None, (levels, drifts, extent))) or found
    plural = "" if others == 1 else "s"
    beside = [f"with {others} related metric{plural}"] * bool(others) + [cause] * bool(cause)
    return Finding(
        kind,
        f"{said} since {begin[:10]}" + (f" ({'; '.join(beside)})" if beside else ""),
        fails=True,
        device=key.check,
        what=series.metric,
        found=found,
        expected=expected,
        source="history",
        where=key.where,
        since=begin,
    )


def _extent(change: float, direction: Direction | None) -> str:
    """Say how much changed: `34 % worse`."""
    per_cent = f"{abs(change) * 100:.3g} %"
    if direction is None:
        return f"{per_cent} {'more' if change > 0 else 'less'}"
    return f"{per_cent} {'worse' if (change > 0) == (direction == 'lower') else 'better'}"


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
        (newest[id(one.series)][1][-1] - math.log(one.before)) / math.log(one.after / one.before)
        for one in changes
        if one.before and one.after and one.before != one.after
    )
    return bool(places) and places[len(places) // 2] < 1 - INCIDENT_BACK

"""What changed in a series, by itself and with its families, and on one night of a partition.

Changes of level for the worse have spells, in which they are in force; samples of different sets of
nodes are made comparable before. Of a change of a series and one of its family that are the same
event, the one stays that was decided first.

Besides changes of level these are drifts, away from the site's baseline however slowly, and metrics
that are no longer measured, or in another unit, though the same was selected.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, groupby
from operator import itemgetter
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from acceptance.core.findings import Finding
from acceptance.core.groups import grouped
from acceptance.core.robust import middle_and_spread
from acceptance.core.text import plural
from acceptance.core.words import read_metric
from acceptance.detection.common_mode import Floats, outstanding
from acceptance.detection.constants import (
    DRIFT_BACK,
    DRIFT_SAMPLES,
    DRIFT_SHARE,
    DRIFT_SPREADS,
    FAMILY_NEAR,
    NIGHT_WINDOW,
    NIGHT_WINDOW_FEWEST,
    READ_BLOCK,
    READ_BLOCKS,
    VANISHED_BEFORE,
    VANISHED_FORGOTTEN,
)
from acceptance.detection.node_sets import comparable
from acceptance.detection.state import LevelChange, spells, undone_by, within
from acceptance.ledger import Ints, Samples, node_of_case
from acceptance.references import Library, Reference
from acceptance.regressions.history import CaseHistory, History, Nights, PastSession, Series
from acceptance.regressions.progress import Progress, is_old
from acceptance.regressions.records import Shared
from acceptance.suites import SUITES


@dataclass(frozen=True, eq=False)
class Change:
    """A change of one series for the worse; kinds are those of `core.kinds.HISTORY`.

    `session` is the first one after the change and `time` (s since the epoch) that of its sample;
    `decided` is the session whose sample was the evidence. It is `over` with a session, or still
    open (None). `before` and `after` are in the series' unit, None where there are no numbers.
    `within` is how many nights the beginning may be off. With a `node` it is a change of what was
    measured on this node.
    """

    series: Series
    kind: str
    session: PastSession
    decided: PastSession
    time: float
    before: float | None
    after: float | None
    confidence: float
    over: PastSession | None = None
    text: str = ""
    within: int = 0
    node: str = ""

    @property
    def partition(self) -> tuple[str, str]:
        """Return system and partition."""
        return self.series.partition


@dataclass(frozen=True, eq=False)
class SlowNight:
    """A night on which nearly everything on a partition was worse, and what of it was.

    `night` counts the partition's nights, `session` is the first one of that night.
    """

    partition: tuple[str, str]
    night: int
    session: PastSession
    changes: tuple[Change, ...]
    kind: ClassVar = "regression"
    within: ClassVar = 0


@dataclass(frozen=True, eq=False)
class OpenIncident:
    """An incident that is not over: what is found, and the change of each series that shows it.

    `id` is stable as long as it lasts, `cause` is what the series have in common; `worst` shows it
    best.
    """

    id: str
    finding: Finding
    cause: str
    worst: Change
    changes: tuple[Change, ...]


def parameters_of(series: Series) -> dict[str, str]:
    """Return what a reference of a series must agree with: keys of `reference/README.md`."""
    environment = {"environment": series.case.key.environment}
    return {**dict(series.case.key.keys), **environment, **read_metric(series.metric)[1]}


def baseline_of(series: Series, library: Library, source: str = "baseline") -> Reference | None:
    """Return the site's baseline of a series, or what was recorded; None where none fits."""
    key = series.case.key
    try:
        return library.look_up(
            key.system,
            key.partition,
            series.case.subject,
            read_metric(series.metric)[0],
            parameters_of(series),
            series.unit,
            (source,),
        )
    except ValueError:  # ambiguous, or of another unit: the checks fail with it
        return None


def unmet(history: History, library: Library) -> list[Reference]:
    """Return the baselines of a site's own checks that no case has ever met.

    What suites measure is known without a result (`acceptance.site.unmet_rows`).
    """
    met = {
        (case.key.system, case.key.partition, case.subject, read_metric(series.metric)[0])
        for case in history.cases
        for series in case.series
    }
    return [
        row
        for row in library.baselines
        if row.benchmark.partition(".")[0] not in SUITES
        and (row.system, row.partition, row.benchmark, row.metric) not in met
    ]


def drifted(
    series: Iterable[Series], library: Library, progress: Progress
) -> dict[int, list[Change]]:
    """Return, by its identity, when the median of a series' last samples was worse than baseline.

    Worse by more than `DRIFT_SPREADS` spreads, and by more than `DRIFT_SHARE` of the baseline's
    tolerance. The spread of one sample serves where the baseline does not say its own.
    """
    bounds = [(one, *bound) for one in series if (bound := _bound(one, library, progress))]
    sessions = {session.number: session for session in progress.history.sessions}
    drifts: dict[int, list[Change]] = {}
    # No more samples are read at once than those that are held of a history.
    read = accumulate(one.count for one, *_ in bounds)
    portion_of = [end // (READ_BLOCK * READ_BLOCKS) for end in read]
    for _, group in groupby(zip(portion_of, bounds, strict=True), itemgetter(0)):
        some = [bound for _, bound in group]
        samples = progress.history.samples([one for one, *_ in some])
        medians = np.median(sliding_window_view(samples.value, DRIFT_SAMPLES), axis=-1)
        for one, baseline, limit in some:
            first, last = np.searchsorted(samples.series, (one.number, one.number + 1)).tolist()
            own = medians[first : last - DRIFT_SAMPLES + 1]
            worse = own / baseline.value - 1
            for start, end in _drifts(-worse if one.direction == "higher" else worse, limit):
                session = sessions[int(samples.session[first + start])]
                change = Change(
                    one,
                    "drift",
                    session,
                    session,
                    float(samples.time[first + start]),
                    before=baseline.value,
                    after=float(own[-1 if end is None else end - DRIFT_SAMPLES]),
                    # The median of five is more than five of its own spreads off, where one
                    # sample's is three.
                    confidence=0.9999,
                    over=None if end is None else sessions[int(samples.session[first + end])],
                    text=f"against the baseline, {baseline.where}",
                )
                drifts.setdefault(id(one), []).append(change)
    return drifts


def _bound(series: Series, library: Library, progress: Progress) -> tuple[Reference, float] | None:
    """Return the baseline of a series, and how much worse (relative) its medians may be."""
    found = baseline_of(series, library)
    if found is None or series.count < DRIFT_SAMPLES:
        return None
    tolerance = library.tolerances_of(series.case.key.system).table.get(("baseline", series.unit))
    if tolerance is None:
        return None
    spread = found.spread
    if spread is None:
        spread = float(progress.series["spread"][progress.slots[id(series)]])
    return found, max(DRIFT_SPREADS * spread, DRIFT_SHARE * tolerance.worse)


def _drifts(worse: Floats, limit: float) -> Iterator[tuple[int, int | None]]:
    """Yield from which sample to which one medians were worse than the limit."""
    if not (worse > limit).any():
        return
    start: int | None = None
    for at, off in enumerate(worse.tolist(), DRIFT_SAMPLES - 1):
        if start is None and off > limit:
            start = at
        elif start is not None and off < DRIFT_BACK * limit:
            yield start, at
            start = None
    if start is not None:
        yield start, None


def vanished(history: History, progress: Progress, now: float) -> Iterator[Change]:
    """Yield every series that the last sessions with the same command measured and these did not.

    Same command: apart from labels and folders (`PastSession.selection`). A case that failed, was
    skipped or repeated has not vanished, nor has anything in a session that was aborted, nor the
    link check of a node that was down, nor a case of more nodes than any of the session took, which
    were not up: whoever knows the nodes reports it. Nor has one that took all nodes of which some
    were away, when these are back and the same is measured on more. What nobody runs any more `now`
    (s since the epoch) has not vanished either.
    """
    whole = (one for one in history.sessions if not one.aborted and one.partitions)
    for sessions in grouped(whole, lambda one: one.selection).values():
        if len(sessions) <= VANISHED_BEFORE:
            continue
        recent = sessions[-VANISHED_BEFORE - VANISHED_FORGOTTEN :]
        usual = (recent[-1].end - recent[0].end) / (len(recent) - 1)
        if not is_old(usual, recent[-1].end, now):
            yield from _missing(history, recent, progress)


def _missing(history: History, sessions: list[PastSession], progress: Progress) -> Iterator[Change]:
    first, last = sessions[0].number, sessions[-1].number
    missing = {
        id(series): series
        for case in history.cases
        for series in case.series
        if first <= progress.last(series) < last
    }
    recent = progress.recent(missing.values())
    alike = grouped(history.cases, _whatever_nodes)
    for case in history.cases:
        if node_of_case(case.key.check):
            continue
        name = (case.key.where, case.key.check)
        place, nodes = case.key[:2], _nodes_of(case)
        larger = [other for other in alike[_whatever_nodes(case)] if _nodes_of(other) > nodes]
        for series in case.series:
            if id(series) not in missing:
                continue
            measured = {each for each in recent[id(series)][0].tolist() if each >= first}
            goes_on = [progress.last(each) for other in larger for each in other.series]
            of_all = max(goes_on, default=-1) > max(measured) and all(
                session.most.get(place, nodes) == nodes
                for session in sessions
                if session.number in measured
            )
            fit = [
                session
                for session in sessions
                if name not in session.unfit
                and (most := session.most.get(place, nodes)) >= nodes
                and not (of_all and most > nodes)
            ]
            without = 0
            while without < len(fit) and fit[-1 - without].number not in measured:
                without += 1
            before = fit[: len(fit) - without][-VANISHED_BEFORE:]
            if 0 < without <= VANISHED_FORGOTTEN and len(before) == VANISHED_BEFORE:
                # A sample of another selection's session says that it is there.
                since = fit[-without]
                if all(one.number in measured for one in before) and (max(measured) < since.number):
                    yield _change(series, since, progress)


def _nodes_of(case: CaseHistory) -> int:
    return int(dict(case.key.keys).get("nodes", 0))


def _whatever_nodes(case: CaseHistory) -> tuple[object, ...]:
    """Return what a case has in common with those that measure the same on other nodes."""
    keys = tuple(pair for pair in case.key.keys if pair[0] not in ("np", "nodes"))
    return case.key.where, case.subject, keys


def _change(series: Series, since: PastSession, progress: Progress) -> Change:
    kind, subject, text = "vanished", series, ""
    if series.last is not None and series.last.number >= since.number:
        text = "it is 0, below, or no number now"
    for other in series.case.series:
        if (
            other.metric == series.metric
            and other is not series
            and progress.last(other) >= since.number
        ):
            kind, subject, text = "unit", other, f"was in {series.unit or 'no unit'}"
    return Change(subject, kind, since, since, since.start, None, None, confidence=1.0, text=text)


def slow_nights(
    series: Sequence[Series], nights: Nights, progress: Progress
) -> Iterator[SlowNight]:
    """Find the nights on which a whole partition was slow, and what was slow in them."""
    for partition, members in grouped(series, lambda one: one.partition).items():
        if partition not in progress.kept.nights:
            continue
        for night, sure in outstanding(progress.kept.nights[partition].levels).items():
            session = nights.first(partition, night)
            # Of the past nothing but the night counts: it may be where an incident began.
            newest = night == nights.last(partition)
            moved = _moved(members, session, sure, progress) if newest else ()
            yield SlowNight(partition, night, session, tuple(moved))


def _moved(
    series: Sequence[Series], session: PastSession, confidence: float, progress: Progress
) -> Iterator[Change]:
    """Yield what was worse in the sessions of the newest night, which `session` began."""
    recent = progress.recent(series)
    for one in series:
        numbers, logs = recent[id(one)]
        values = logs[-NIGHT_WINDOW - 1 :]
        if numbers[-1] < session.number or len(values) <= NIGHT_WINDOW_FEWEST:
            continue
        usual, spread = middle_and_spread(values[:-1])
        off = usual - values[-1] if one.direction == "higher" else values[-1] - usual
        if off > spread:
            yield Change(
                one,
                "machine",
                session,
                session,
                float(progress.series["last"][progress.slots[id(one)]]),
                before=float(np.exp(usual)),
                after=float(np.exp(values[-1])),
                confidence=round(confidence, 4),
            )


def on_same_nodes(samples: Samples) -> Floats:
    """Return what the values of whole series would be on the same nodes."""
    logs, begin = np.log(samples.value), np.diff(samples.series, prepend=-1) != 0
    lengths = np.diff(np.flatnonzero(begin), append=len(logs))
    column = np.cumsum(begin) - 1
    row = np.arange(len(logs)) - np.flatnonzero(begin)[column]
    shape = (int(lengths.max(initial=0)), len(lengths))
    packed, sets = np.zeros(shape), np.zeros(shape, np.uint32)
    packed[row, column], sets[row, column] = logs, samples.nodes
    same = comparable(packed, sets, lengths)[row, column]
    return np.asarray(np.where(same == logs, samples.value, np.exp(same)), np.float64)


#: A change of a series, and what it shares with its family; None for one of its own. That of a
#: node's family counts the samples of the series that were measured on the node.
Told = tuple[LevelChange, Shared | None]


#: Returns which samples of a series were measured on a node, all of them for none.
OnNode = Callable[[str], NDArray[np.intp]]


def more_runs(waiting: Mapping[int, int]) -> str:
    """Say how many more runs are needed, of the numbers of them."""
    first, last = min(waiting), max(waiting)
    when = f"{first}" if first == last else f"{first} to {last}"
    return f"{when} more {'run' if last == 1 else 'runs'}"


def together(progress: Progress, judged: Iterable[Series]) -> str:
    """Say how many families are judged after the newest session, and what of the rest.

    Of series that are `judged` some are in no family, since too few began together: they are judged
    by themselves only. Empty where there are no series.
    """
    missing = Counter(each for block in progress.kept.families for each in block.missing)
    ready = missing.pop(0, 0)
    members = {slot for block in progress.kept.families for slot in block.members.ravel().tolist()}
    alone = sum(progress.slots[id(one)] not in members for one in judged)
    if not (ready or missing or alone):
        return ""
    said = [f"{ready} families of metrics judged together"]
    if missing:
        said.append(f"{missing.total()} not yet: they can be after {more_runs(missing)}")
    if alone:
        said.append(f"{plural(alone, 'metric')} in none: too few began together")
    return "; ".join(said)


def shared(progress: Progress) -> dict[int, list[Shared]]:
    """Return the changes for the worse that series share with others, by their identity."""
    found: dict[int, list[Shared]] = defaultdict(list)
    for one in progress.kept.shared:
        if one.change.worse:
            for slot, moved in zip(one.members, one.change.moved, strict=True):
                if moved and slot in progress.by_slot:
                    found[id(progress.by_slot[slot])].append(one)
    return found


def joined(
    series: Series,
    sessions: NDArray[np.int32],
    progress: Progress,
    others: Sequence[Shared],
    on_node: OnNode,
) -> list[Told]:
    """Return the changes of a series, its own and those that it shares, as they were decided.

    `sessions` are the numbers of those of its samples.
    """
    found: list[tuple[int, int, Told]] = [
        (change.detected, change.start, (change, None)) for change in progress.changes(series)
    ]
    for one in others:
        own = on_node(_node(one))
        for change in _level(series, sessions[own], progress, one):
            found.append((int(own[change.detected]), int(own[change.start]), (change, one)))
    # The family that moved as a whole tells more; that of an environment more than those of nodes.
    found.sort(key=lambda each: (each[0], -_share(each[2][1]), bool(_node(each[2][1])), each[1]))
    kept: list[tuple[int, int, Told]] = []
    for each in found:
        if not any(_same(earlier, each) for earlier in kept):
            kept.append(each)
    return [told for *_, told in kept]


def _same(earlier: tuple[int, int, Told], later: tuple[int, int, Told]) -> bool:
    """Tell whether a change that was decided later is one that was decided already."""
    detected, start, (first, family) = earlier
    _, begins, (second, other) = later
    if not (family or other) or not (first.worse and second.worse):
        return False
    return start - FAMILY_NEAR <= begins <= max(detected, start + FAMILY_NEAR)


def _node(shared: Shared | None) -> str:
    """Return the name of the node whose family shares a change; empty where it is no node's."""
    return shared.node[2] if shared and shared.node else ""


def _share(shared: Shared | None) -> float:
    """Return the share of a family that moved, more than all for a change of a series' own."""
    return sum(shared.change.moved) / len(shared.change.moved) if shared else 2.0


def _level(
    series: Series, sessions: NDArray[np.int32], progress: Progress, one: Shared
) -> Iterator[LevelChange]:
    """Yield what a change that a series shares is for it, if it has samples before it."""
    change, member = one.change, one.members.index(progress.slots[id(series)])
    detected = int(np.searchsorted(sessions, change.detected, side="right")) - 1
    start = min(int(np.searchsorted(sessions, change.start)), detected)
    if start > 0:
        bad = -1 if series.direction == "higher" else 1
        before, after = (math.exp(bad * each[member]) for each in (change.before, change.after))
        spread = change.spread[member]
        yield LevelChange(start, detected, before, after, change.score, True, spread)


def _text(one: Shared, progress: Progress) -> str:
    """Say how many members of a family moved, and by how much, and what they have in common."""
    known = [progress.by_slot[slot] for slot in one.members if slot in progress.by_slot]
    key, case = known[0].case.key, known[0].case
    what = f"metrics of {key.environment}"
    if one.node is not None:
        what = f"metrics on {' and '.join(_nodes(one, progress))}"
    elif len({each.case.key.environment for each in known}) > 1:
        what = f"metrics of {key.system}:{key.partition}"
    elif len({id(each.case) for each in known}) == len({each.direction for each in known}) == 1:
        what = f"sizes of {case.benchmark or key.check.split(' ')[0]}"
    return _size(one, known, what) + (" with other software" if one.change.renewed else "")


def _nodes(one: Shared, progress: Progress) -> list[str]:
    """Return the nodes of which the same series moved at the same time."""
    when = one.change.start, one.change.detected
    return [
        each.node[2]
        for each in progress.kept.shared
        if each.node
        and each.members == one.members
        and (each.change.start, each.change.detected) == when
    ]


def _size(one: Shared, known: Sequence[Series], what: str) -> str:
    moved = np.array(one.change.moved)
    off = float(np.median((np.array(one.change.after) - np.array(one.change.before))[moved]))
    if len({each.direction for each in known}) > 1:
        return (
            f"{moved.sum()} of {len(moved)} {what} became worse together by "
            f"{100 * math.expm1(off):.1f} %"
        )
    size = math.expm1(-off if known[0].direction == "higher" else off)
    return f"{moved.sum()} of {len(moved)} {what} moved together by {100 * size:+.1f} %"


def followed(
    series: Sequence[Series],
    progress: Progress,
    others: Mapping[int, Sequence[Shared]],
    library: Library | None = None,
) -> dict[int, list[Change]]:
    """Return the changes for the worse of series, by their identity, in order of their decisions.

    Each is there once for each of its spells. One that a baseline of the `library` accepts is over.
    `others` are those that they share with their families. All samples of these series are read.
    """
    found: dict[int, list[Change]] = {id(one): [] for one in series}
    if not series:
        return found
    samples = progress.history.samples(series)
    values = on_same_nodes(samples)
    for one in series:
        own = slice(*np.searchsorted(samples.series, (one.number, one.number + 1)).tolist())
        on_node = partial(_on_node, samples, own)
        every = joined(one, samples.session[own], progress, others.get(id(one), ()), on_node)
        for number, told in enumerate(every):
            if told[0].worse:
                # What is told of a node counts what was measured on it.
                on = on_node(node := _node(told[1]))
                later = [each for each, family in every[number + 1 :] if _node(family) == node]
                measured = values[own][on], samples.session[own][on], samples.time[own][on]
                found[id(one)] += _changes(one, told, later, measured, progress, library)
    return found


def _changes(
    one: Series,
    told: Told,
    later: Sequence[LevelChange],
    measured: tuple[Floats, Ints, Floats],
    progress: Progress,
    library: Library | None,
) -> Iterator[Change]:
    """Yield a change once for each of its spells, and with which session they were over.

    Samples are counted as the change counts them: all of the series, or those on its node. Of these
    `measured` has values, sessions and times.
    """
    (change, family), (values, numbers, times) = told, measured
    sessions = [progress.history.sessions[progress.places[each]] for each in numbers.tolist()]
    undone = undone_by(change, later)
    accepted = undone is None and _accepted(one, change, library)
    evidence = confidence(change.score, progress.watched(sessions[change.detected]))
    last = None if undone is None else undone.detected
    for start, decided, end in spells(values, change, change.spread, last):
        over = sessions[end] if end is not None else None
        yield Change(
            one,
            "regression",
            sessions[start],
            sessions[decided],
            float(times[start]),
            before=float(change.before),
            after=float(change.after),
            confidence=evidence,
            over=sessions[-1] if accepted and over is None else over,
            text=_text(family, progress) if family else "",
            within=within(change, change.spread),
            node=_node(family),
        )


def _accepted(series: Series, change: LevelChange, library: Library | None) -> bool:
    """Tell whether the site's baseline is the level after the change: a new one was recorded."""
    found = baseline_of(series, library) if library is not None else None
    if found is None:
        return False
    middle = math.sqrt(change.before * change.after)
    return found.value > middle if change.after > change.before else found.value < middle


def confidence(score: float, count: int) -> float:
    """Return 1 less the false alarms a night that so much evidence gives among so many series."""
    return round(min(max(1 - count * math.exp(-score), 0.0), 0.9999), 4)


def _on_node(samples: Samples, own: slice, node: str) -> NDArray[np.intp]:
    """Return which of a series' samples were measured on a node; all of them for none."""
    sets = samples.nodes[own]
    if not node:
        return np.arange(len(sets))
    return np.flatnonzero([node in samples.named[each] for each in sets.tolist()])

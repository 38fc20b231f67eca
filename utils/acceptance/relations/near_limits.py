"""Cases near the limits of their references: judged by all of their runs, not by each.

ReFrame judges a run by itself. A case whose level lies near its limit then passes or fails by
chance. Here all of its runs are judged together, with the noise that each metric showed
(`detection/sequential.py`): it fails where a metric is worse than its limit with certainty, passes
where each is inside with certainty, and else it cannot be told yet.

Only what falls short of a limit is noise. A case that failed for anything else, that lacks a value,
or that was better than its reference allows, stays failed. So does one that ReFrame itself repeated
because it failed (`--max-retries`).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from acceptance.core.words import better, is_measured
from acceptance.detection.constants import ERROR, LOOKS
from acceptance.detection.sequential import decide
from acceptance.ledger import Case, Metric, Session
from acceptance.references import outside
from acceptance.regressions.history import Series
from acceptance.regressions.judge import Judgement
from acceptance.relations import noise
from acceptance.relations.comparison import percent

#: What passed further inside its limit than this (ratio) is in no question, whatever its noise; and
#: the same where nobody knows its noise yet.
WIDEST, USUAL = 1.5, 1.1
#: Nor is what passed by so many of the spreads that the detection of changes knows: then its past
#: need not be read, and in a good night that is so of nearly all.
FAR = 8.0
#: What all runs of a case tell.
FAILS, PASSES, CANNOT_TELL = 1, -1, 0
#: Metric and unit -> how far each run lies beyond its limit (logarithm).
_Beyond = dict[tuple[str, str], list[float]]
#: The judgement of a history, and the series of each case by metric and unit.
_Past = tuple[Judgement, dict[object, dict[tuple[str, str], Series]]]


@dataclass(frozen=True)
class Near:
    """What all runs of a case tell: `word` is `FAILS`, `PASSES` or `CANNOT_TELL`.

    `case` is the first of its `runs`, of the `session` (UUID). `first`: it failed before it was
    measured again.
    """

    case: Case
    session: str
    runs: int
    first: bool
    word: int
    text: str

    @property
    def open(self) -> bool:
        """Tell whether more runs can tell more."""
        return self.word == CANNOT_TELL and self.runs < LOOKS


def judge(
    sessions: Sequence[Session], again: Sequence[Session], history: Callable[[], Judgement]
) -> Iterator[Near]:
    """Yield the cases of some sessions that are in question, and what all of their runs tell.

    `again` are the sessions that measured cases again. `history` is asked for the past of metrics.
    """
    runs: dict[tuple[str, str], list[tuple[str, Case]]] = {}
    for number, session in enumerate((*sessions, *again)):
        for case in session.cases:
            key = case.where, case.name
            judged = case.result in ("pass", "fail") and not (case.fixture or case.simulated)
            if judged and (number < len(sessions) or key in runs):
                runs.setdefault(key, []).append((session.uuid, case))
    own = {session.uuid for session in sessions}

    @cache
    def past() -> _Past:
        judgement = history()
        series: dict[object, dict[tuple[str, str], Series]] = {}
        for one in judgement.progress.all if judgement.progress else ():
            key = one.case.key.where, one.case.key.check, one.case.key.keys
            series.setdefault(key, {})[one.metric, one.unit] = one
        return judgement, series

    for those in runs.values():
        cases = [case for _, case in those]
        told = _told(cases, past, own | {uuid for uuid, _ in those})
        # What always passed, and passes, was measured again for something else.
        failed = any(not case.passed for case in cases)
        if told and (told[0] == CANNOT_TELL or (len(cases) > 1 and (failed or told[0] == FAILS))):
            first = any(not case.passed for uuid, case in those if uuid in own)
            yield Near(cases[0], those[0][0], len(cases), first, *told)


def _limit(metric: Metric) -> tuple[float, int]:
    """Return what a metric must not be worse than, and the sign of worse; 0, 0 without such."""
    way, (low, high) = better(metric.unit, metric.lower, metric.upper), metric.bounds
    bound, sign = (low, -1) if way == "higher" else (high, 1)
    return (0.0, 0) if way is None or bound is None else (max(bound, 0.0), sign)


def _beyond(cases: Sequence[Case]) -> _Beyond | None:
    """Return how far the runs lie beyond their limits; None: noise is not why one failed."""
    found: _Beyond = {}
    for case in cases:
        worse, measured = False, {each.name: is_measured(each.value) for each in case.metrics}
        for metric in case.metrics:
            limit, sign = _limit(metric)
            missed = outside(metric.value, metric.reference, metric.lower, metric.upper)
            if missed and missed != sign:
                return None
            if limit and measured[metric.name]:
                distance = sign * math.log(metric.value / limit)
                found.setdefault((metric.name, metric.unit), []).append(distance)
                worse = worse or bool(missed)
        whole = all(measured.values()) and measured.keys() >= case.declared.keys()
        of_limits = case.passed or (case.fail_phase == "performance" and worse and whole)
        if case.run_index or not of_limits or any(each.fails for each in case.findings):
            return None
    return found


def _told(
    cases: Sequence[Case], past: Callable[[], _Past], sessions: set[str]
) -> tuple[int, str] | None:
    """Return what the runs of a case tell, and the metric that tells it; None: it is far inside."""
    found: list[tuple[int, float, float, tuple[str, str]]] = []
    for metric, distances in (_beyond(cases) or {}).items():
        if max(distances) < -math.log(WIDEST):
            continue
        judgement, series = past()
        key = cases[0].where, cases[0].name, tuple(sorted(cases[0].keys.items()))
        one, progress = series.get(key, {}).get(metric), judgement.progress
        if one and progress and max(distances) < -FAR * progress.spread(one):
            continue
        known = _noise(one, judgement, sessions)
        if known is None and max(distances) < -math.log(USUAL):
            continue
        told = decide(
            np.array(distances)[:, None],
            None if known is None else _of_one(known, _named(cases, metric)),
        )
        word, mean, spread = (float(each[0]) for each in told)
        found.append((int(word), mean, spread, metric))
    if not found:
        return None
    words = {word for word, *_ in found}
    word = next(each for each in (FAILS, CANNOT_TELL, PASSES) if each in words)
    _, mean, spread, metric = max(each for each in found if each[0] == word)
    return word, _text(cases, metric, word, mean, spread)


def _named(cases: Sequence[Case], named: tuple[str, str]) -> Metric:
    """Return a metric of the first run that has a limit of it: a busy machine gives none."""
    every = (metric for case in cases for metric in case.metrics if _limit(metric)[0])
    return next(each for each in every if (each.name, each.unit) == named)


def _of_one(known: noise.Noise, metric: Metric) -> NDArray[np.float64]:
    """Return what noise tells `decide` of one run (4, 1), larger where it is worse."""
    _, sign = _limit(metric)
    return np.array([known.spread, known.dof, known.correlation, sign * known.lean])[:, None]


def _noise(series: Series | None, judgement: Judgement, sessions: set[str]) -> noise.Noise | None:
    """Return the noise of a series, of which the samples of these sessions are one level."""
    if series is None or judgement.progress is None or not series.samples:
        return None
    own = [n for n, sample in enumerate(series.samples) if sample.session.uuid in sessions]
    starts = [change.start for change in judgement.progress.changes(series)]
    return noise.learn(np.asarray(series.values), [own or [series.count - 1]], starts)


def _text(
    cases: Sequence[Case], named: tuple[str, str], word: int, mean: float, spread: float
) -> str:
    """Say what the runs of a case tell, by one of its metrics and in numbers."""
    metric = _named(cases, named)
    limit, sign = _limit(metric)
    share = f"{percent(abs(math.expm1(sign * mean)))} {'beyond' if mean > 0 else 'inside'}"
    text = f"{metric.name} is {share} its limit of {limit:.4g} {metric.unit} ({metric.judged_by})"
    if len(cases) > 1:
        failed = sum(not case.passed for case in cases)
        text = f"failed in {failed} of {len(cases)} runs; typically {text}"
    if word == CANNOT_TELL:
        return f"{text}, and a run scatters by {percent(spread)}: cannot tell at this cost"
    return f"{text}: {'worse' if word == FAILS else 'passes'}, at error {ERROR:.0%}"

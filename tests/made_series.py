"""Histories of series of every kind of noise, to which all happens that happens to series."""

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np

from acceptance.alerts import Alert, acknowledgements
from acceptance.ledger import Samples
from acceptance.regressions import records
from acceptance.regressions.history import (
    CaseHistory,
    CaseKey,
    History,
    PastSession,
    Sample,
    Series,
    code_of,
    code_of_nodes,
)
from acceptance.regressions.judge import judge
from tests.bench.detection import FAMILIES, series
from tests.made import FIRST, NIGHT

METRICS, KINDS = 5, 3


@dataclass
class Session:
    """A session in the making: what each case measured, metric after metric, NaN for nothing."""

    uuid: str
    start: float
    nodes: int
    software: str
    values: np.ndarray
    mark: str = ""


class MadeSource:
    """Gives the samples that series hold themselves, as that of a ledger does."""

    def samples(self, series, first=None, last=None):
        rows = []
        for one in sorted(series, key=lambda one: one.number):
            end = None if last is None else one.index_of(last + 1)
            some = slice(one.index_of(first or 0), end)
            samples = zip(one.samples[some], one.values[some], strict=True)
            rows += [(one.number, sample, value) for sample, value in samples]
        return Samples(
            np.array([number for number, _, _ in rows], np.int32),
            np.array([value for _, _, value in rows], np.float64),
            np.array([each.session.number for _, each, _ in rows], np.int32),
            np.array([each.time for _, each, _ in rows], np.float64),
            np.array([code_of_nodes(each.nodes) for _, each, _ in rows], np.uint32),
            np.array([code_of(each.software) for _, each, _ in rows], np.uint32),
            {code_of_nodes(each.nodes): each.nodes for _, each, _ in rows},
        )


@dataclass
class Made:
    """A site: `count` series, `METRICS` a case, which take what happens night by night."""

    count: int
    seed: int
    nights: int
    sessions: list[Session] = field(default_factory=list)
    history: History = field(default_factory=History)

    def __post_init__(self):
        self.chance = random.Random(self.seed)
        rng = np.random.default_rng(self.seed)
        each = -(-self.count // len(FAMILIES))
        noise = np.hstack([series(name, self.nights, each, self.seed)[0] for name in FAMILIES])
        self.noise = rng.permuted(noise, axis=1)[:, : self.count] * 100
        for column in range(self.count):
            for _ in range(rng.integers(0, 4)):
                first = rng.integers(4, self.nights)
                last = first + rng.choice([2, 5, 20, self.nights])
                self.noise[first:last, column] *= rng.choice([0.5, 0.9, 0.95, 1.05, 1.1, 2.0])
            # What begins late, vanishes for some time, and returns.
            if column % 7 == 3:
                self.noise[: self.nights // 4, column] = np.nan
            if column % 5 == 2:
                gone = rng.integers(10, self.nights)
                self.noise[gone : gone + rng.choice([1, 3, 9, 40]), column] = np.nan
        slow = rng.choice(self.nights, 3, replace=False)
        self.noise[slow] *= 1.2
        self.forget()

    def forget(self):
        """Make the history anew, of the sessions that there are."""
        self.history = History(source=MadeSource())
        for number in range(-(-self.count // METRICS)):
            keys = (("np", str(number)),)
            where = CaseKey("made", f"part{number % 2}", "gnu", f"Osu %n={number}", keys)
            self.history.cases.append(CaseHistory(where, "osu", "osu.bw", id=number + 1))
        for session in self.sessions:
            self._add(session)

    def night(self, number):
        """Store the sessions of a night; of some a second one, of some one of days before."""
        for again in range(self.chance.choice([1, 1, 1, 2])):
            late = 4 * NIGHT if self.chance.random() < 0.04 else 0
            values = self.noise[number] * (1 + 0.001 * again)
            if again:
                values = np.where(np.arange(self.count) % 3 == 0, values, np.nan)
            uuid = f"{len(self.sessions):04d}-{self.chance.randrange(1 << 40):010x}"
            start = FIRST + NIGHT * number + 7200 * again - late
            software = f"7.{number // 40}"
            one = Session(uuid, start, number % KINDS, software, values)
            self.sessions.append(one)
            self._add(one)

    def _add(self, session):
        history = self.history
        past = PastSession(
            len(history.sessions), session.uuid, session.start, session.start + 3600,
            "reframe -c checks -r", {("made", "part0"), ("made", "part1")},
            mark=session.mark or session.uuid,
        )  # fmt: skip
        history.sessions.append(past)
        for number, case in enumerate(history.cases):
            nodes = f"n{session.nodes}" if number % 2 else "n0"
            # One job measures all metrics of a case.
            end = past.start + 10 + number
            sample = Sample(past, end, (("spec", session.software),), (nodes, "n9"), ())
            first = number * METRICS
            effect = 1 + 0.03 * session.nodes * (number % 2)
            for metric, value in enumerate(session.values[first : first + METRICS]):
                if np.isfinite(value):
                    self._series(case, first + metric).append(sample, value * effect)

    def _series(self, case, number):
        for one in case.series:
            if one.number == number:
                return _Adding(one)
        way = "lower" if number % 2 else "higher"
        case.series.append(
            Series(case, f"latency_{number}", "us", way, number=number, id=number + 1)
        )
        case.series.sort(key=lambda each: each.number)
        return self._series(case, number)


@dataclass
class _Adding:
    series: Series

    def append(self, sample, value):
        self.series.samples.append(sample)
        self.series.values.append(value)


def healthy(values):
    """Return the history of a site of one session a night, to which nothing happens.

    `values` are (nights, series).
    """
    made = Made(values.shape[1], 1, max(len(values), 20))
    made.sessions = [
        Session(f"{night:04d}", FIRST + NIGHT * night, 0, "7.0", 100 * each)
        for night, each in enumerate(values)
    ]
    made.forget()
    return made.history


def known(progress):
    """Return all that is known, by series, whatever their order is."""
    order = np.argsort(progress.series["name"])
    blocks = [progress.kept.block(at) for at in range(0, len(progress.series), records.BLOCK)]
    nights = {
        name: (
            one.table.tobytes(),
            one.night,
            sorted(zip(one.cases, map(bytes, one.off), strict=True)),
        )
        for name, one in progress.kept.nights.items()
    }
    names = progress.series["name"].tolist()
    families = sorted(
        ([names[slot] for slot in members], node or (), state.tobytes())
        for number, block in enumerate(progress.kept.families)
        for members, node, state in zip(
            block.members, block.nodes, progress.kept.states(number), strict=True
        )
    )
    return {
        "seen": progress.kept.seen,
        "counts": progress.kept.counts,
        "series": progress.series[order].tobytes(),
        "records": np.concatenate(blocks)[order].tobytes() if blocks else b"",
        "found": [progress.found[slot] for slot in order],
        "nights": nights,
        "families": families,
        "shared": sorted(
            ([names[slot] for slot in one.members], one.node or (), repr(one.change))
            for one in progress.kept.shared
        ),
    }


def said(judgement):
    """Return all that a judgement says."""
    return (
        [(each.id, each.finding, each.cause) for each in judgement.incidents],
        [
            (one.series.name, one.kind, one.session.number, one.decided.number, one.time,
             one.before, one.after, one.confidence, one.over and one.over.number, one.within,
             one.text)
            for incident in judgement.incidents
            for one in incident.changes
        ],
        judgement.judged, judgement.waiting, judgement.stale,
        [one.name for one in judgement.suspected],
    )  # fmt: skip


@dataclass
class Acknowledging:
    """Somebody who acknowledges some of the alerts that are open, by id or by pattern."""

    folder: Path
    chance: random.Random
    opened: dict = field(default_factory=dict)
    covered: int = 0

    def take(self, history, *judgements):
        """Look at the same night, judged in several ways: it must be the same that is silenced."""
        latest = max(session.end for session in history.sessions)
        now = datetime.fromtimestamp(latest, timezone.utc)
        acks = acknowledgements.load(self.folder)
        silenced = []
        for judgement in judgements:
            found = [
                (alert, acknowledgements.find(acks, alert, now))
                for alert in self._alerts(judgement, now)
            ]
            silenced.append([(alert.id, ack) for alert, ack in found if ack])
        assert all(each == silenced[0] for each in silenced)
        self.covered += len(silenced[0])
        alerts = self._alerts(judgements[0], now)
        for alert in alerts:
            if self.chance.random() < 0.3:
                # A pattern silences for 14 days at most, an id for longer.
                what, days = self.chance.choice(
                    [(alert.id, 40), (f"* {alert.finding.subject}", 14)]
                )
                until = (now + timedelta(days)).date().isoformat()
                acknowledgements.add(what, "known", until, alerts, now, self.folder)

    def _alerts(self, judgement, now):
        return [
            Alert(each.id, each.finding, opened=self.opened.setdefault(each.id, now))
            for each in judgement.incidents
        ]


def compare(history, kept, acknowledging=None):
    """Judge a history from what is kept, and from the beginning.

    Return how many changes and alerts both found, and the notes on what was kept. Raises
    AssertionError where a bit differs, or what somebody `acknowledging` alerts has silenced.
    """
    on, anew = judge(history, None, kept), judge(history)
    assert known(on.progress) == known(anew.progress)
    assert said(on) == said(anew)
    if acknowledging is not None:
        acknowledging.take(history, on, anew)
    notes = [note for note in on.notes if note not in anew.notes]
    assert [note for note in on.notes if note not in notes] == anew.notes
    return sum(map(len, anew.progress.found)), len(anew.incidents), notes

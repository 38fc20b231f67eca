"""The first page: what is green, red, not judged and not measured, and what to look at."""

import importlib.metadata
import platform
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from acceptance.alerts import Ack, Entry
from acceptance.alerts.alert import AWAY
from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.report import addresses
from acceptance.report.plot_model import Page
from acceptance.report.runs import Outcome, Ran, Run, Told, counts, runs, since, software, told
from acceptance.report.source import Place, Source
from acceptance.verdict import Verdict

#: Cases of a change that are listed; the sessions have all of them.
SHOWN = 10
#: Kind of a finding that says why nobody looked -> at what.
_NOT_LOOKED_AT = {
    "links-not-judged": "links of its nodes",
    "fabric-not-looked": "switches and cables",
}
#: The suite of the checks of links and fabrics.
_FABRIC = "fabric"


@dataclass(frozen=True)
class _Standing:
    """What the newest run says of a partition; `run` is None where no session has a case of it."""

    place: Place
    run: Run | None = None
    told: Told = field(default_factory=lambda: told(None))
    cases: tuple[Ran, ...] = ()
    absent: tuple[str, ...] = ()
    alerts: int = 0

    @property
    def counts(self) -> dict[Outcome, int]:
        """Count its cases by what became of them."""
        return counts(self.cases)

    @property
    def outcome(self) -> Outcome:
        """Return the word for the partition: green only if nothing is red, and some is judged."""
        counted = self.counts
        if counted[Outcome.RED] or self.alerts:
            return Outcome.RED
        if counted[Outcome.GREEN]:
            return Outcome.GREEN
        return Outcome.NOT_JUDGED if counted[Outcome.NOT_JUDGED] else Outcome.NOT_MEASURED

    @property
    def judged(self) -> int:
        """Count the metrics that were judged."""
        metrics = (metric for ran in self.cases for metric in ran.case.metrics)
        return sum(metric.reference is not None for metric in metrics)

    @property
    def recorded(self) -> int:
        """Count the metrics that were recorded, and not judged."""
        return sum(len(ran.case.metrics) for ran in self.cases) - self.judged


def pages(source: Source) -> list[Page]:
    """Return the overview; it is made last, and tells what other pages could not read."""
    listed: list[Run] = []
    try:
        listed = runs(source)
        standings = [_standing(source, place, listed) for place in _places(source, measured=True)]
    except Fault as err:
        source.note(err)
        standings = []
    newest = listed[0] if listed else None
    verdict = _counting(source, newest)
    of_verdict = [each for each in listed if each.verdict is verdict] if verdict else []
    simulated = bool(newest) and all(place.simulated for place in source.measured)
    context = {
        "newest": newest,
        "about": of_verdict[0].sessions if of_verdict else (),
        "source": source,
        "verdict": verdict,
        "told": told(verdict),
        "standings": standings,
        "others": [place.name for place in _places(source, measured=False)],
        "changes": _changes(listed),
        "before": _before(listed),
        "alerts": _alerts(source),
        "new_alerts": _new_alerts(source, _before(listed)),
        "links": [_links(each) for each in standings if each.run],
        "versions": _versions(source, newest),
        "shown": SHOWN,
    }
    named = addresses.INDEX, "Overview", "overview.html.j2", "Overview"
    return [Page(*named, context, simulated=simulated)]


def _counting(source: Source, newest: Run | None) -> Verdict | None:
    """Return the verdict that counts: what whoever asks is told, unless others are selected."""
    current, chosen = source.current, source.selection
    if current is not None and not chosen.sessions and chosen.system in (None, current.system):
        return current
    return newest.verdict if newest else None


def _places(source: Source, *, measured: bool) -> list[Place]:
    """Return the partitions of the systems that were measured, or those of all others."""
    systems = {place.system for place in source.measured}
    return [place for place in source.places if (place.system in systems) is measured]


def _standing(source: Source, place: Place, listed: list[Run]) -> _Standing:
    key = place.system, place.partition
    run = next((each for each in listed if key in each.places), None)
    alerts = sum(
        ack is None
        and (entry.alert.system, entry.alert.partition) == key
        and entry.alert.kind != AWAY
        for entry, ack in _alerts(source)
    )
    if run is None:
        return _Standing(place, alerts=alerts)
    absent = _absent(run.verdict, place.name) if run.verdict else ()
    return _Standing(place, run, told(run.verdict), tuple(run.of(*key)), tuple(absent), alerts)


def _absent(verdict: Verdict, place: str) -> Iterable[str]:
    """Return the check files that gave no case there."""
    here = (each.check for each in verdict.unprovided if each.partition in ("", place))
    return dict.fromkeys((*here, *verdict.not_selected))


def _before(listed: list[Run]) -> Run | None:
    """Return the run before the newest one that measured some of the same partitions."""
    same = (each for each in listed[1:] if each.places & listed[0].places)
    return next(same, None) if listed else None


def _changes(listed: list[Run]) -> dict[str, list[Any]]:
    """Return what changed since the run before, by a word for it: cases, and software."""
    before = _before(listed)
    if before is None:
        return {}
    changed: dict[str, list[Any]] = {
        word: cases for word, cases in since(before, listed[0]).items() if cases
    }
    old, new = (
        software(ran.case for ran in each.cases if ran.outcome is not Outcome.NOT_MEASURED)
        for each in (before, listed[0])
    )
    texts = [
        f"{suite}: {word} {text}"
        for suite in sorted(old.keys() & new.keys())
        for word, found in (("new", new[suite] - old[suite]), ("gone", old[suite] - new[suite]))
        for text in sorted(found)
    ]
    return {**changed, "software": texts} if texts else changed


def _alerts(source: Source) -> list[tuple[Entry, Ack | None]]:
    """Return the open alerts of the selected system, those that nobody acknowledged first."""
    system = source.selection.system
    entries = source.alerts.entries if source.alerts else ()
    own = [each for each in entries if system in (None, each[0].alert.system)]
    return sorted(own, key=lambda each: (each[1] is not None, each[0].opened))


def _new_alerts(source: Source, before: Run | None) -> list[str]:
    """Return the ids of alerts that were opened after the run before the newest one."""
    if before is None:
        return []
    opened = ((entry.alert.id, entry.opened) for entry, _ in _alerts(source))
    return [id for id, when in opened if when.timestamp() > before.end]


def _links(standing: _Standing) -> dict[str, Any]:
    """Return what was found of the links of a partition, or why nobody can say anything."""
    assert standing.run is not None
    verdict, name = standing.run.verdict, standing.place.name
    looked = [ran for ran in standing.cases if ran.case.suite == _FABRIC]
    found = [(seen, ran) for ran in looked for seen in ran.case.findings]
    reasons = [
        f"{what}: {each.found}"
        for each in (verdict.findings if verdict else ())
        if each.place == (name,) and (what := _NOT_LOOKED_AT.get(each.kind))
    ]
    measured = any(ran.outcome is not Outcome.NOT_MEASURED for ran in looked)
    return {"standing": standing, "found": found, "looked": measured, "reasons": reasons}


def _versions(source: Source, newest: Run | None) -> list[tuple[str, list[str]]]:
    commit = machine.commit(source.workspace.root)
    rows = [
        ("acceptance", [f"{machine.version()}{f', commit {commit}' if commit else ''}"]),
        ("ReFrame", [importlib.metadata.version("reframe-hpc")]),
        ("Python", [platform.python_version()]),
        ("plotly", [importlib.metadata.version("plotly")]),
    ]
    built = software(ran.case for ran in newest.cases) if newest else {}
    return rows + [(suite, sorted(texts)) for suite, texts in sorted(built.items())]

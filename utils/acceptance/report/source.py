"""What the pages are made of: each thing is read once, when it is first asked for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from acceptance import ledger, references
from acceptance.alerts import Notification, notify
from acceptance.campaigns import protocol
from acceptance.core.errors import Fault
from acceptance.core.groups import grouped
from acceptance.core.paths import Workspace
from acceptance.core.words import is_simulated
from acceptance.fabric import FabricFault, Facts, facts_of, limit
from acceptance.ledger import Ledger, Session
from acceptance.references import Library
from acceptance.regressions import Judgement, history, judge
from acceptance.regressions.history import History
from acceptance.report import addresses
from acceptance.report.runs import Ran, Run
from acceptance.verdict import ACCEPT, Verdict, stored

Read = TypeVar("Read")
#: Runs whose sessions have a page each, where nobody says since when: a week of nights.
SHOWN = 7


@dataclass(frozen=True)
class Place:
    """A partition: its facts (None: it states none), or the fault that they have."""

    system: str
    partition: str
    extras: Mapping[str, Any] = field(default_factory=dict)
    facts: Facts | None = None
    fault: str = ""

    @property
    def name(self) -> str:
        """Return ReFrame's name, `system:partition`."""
        return f"{self.system}:{self.partition}"

    @property
    def simulated(self) -> bool:
        """Tell whether its system is simulated."""
        return is_simulated(self.system)

    @property
    def speed(self) -> tuple[float, str]:
        """Rank it: slower fabrics come first, as papers have them, those without facts last."""
        bound = limit(self.facts).bandwidth if self.facts else None
        return bound or float("inf"), self.partition


@dataclass(eq=False)
class Source:
    """A workspace, its results database and what is selected of it, read for the report.

    It is about a `system`, sessions that ended `since` (s since the epoch), or those that are
    `chosen`; None, empty: all of them. Of the histories it selects the system only. `systems` are
    those of the configuration, `now` is the time of the report, `current` the verdict that whoever
    asks is told (None: nobody gave one), `written` a protocol that stands elsewhere than those of
    other acceptances. `faults` collects what could not be read: the overview tells all of it.
    Nothing here raises but for a database that cannot be read (ResultsFault).
    """

    workspace: Workspace
    database: Path
    now: datetime
    system: str | None = None
    since: float | None = None
    chosen: Sequence[str] = ()
    systems: Sequence[Mapping[str, Any]] = ()
    current: Verdict | None = None
    written: Path | None = None
    faults: list[str] = field(default_factory=list)
    #: Pairs of sides that have a page of their own (`relations.sides`).
    comparisons: Sequence[tuple[str, str]] = ()

    def note(self, fault: object) -> None:
        """Add what could not be read to what the overview tells, once."""
        if str(fault) not in self.faults:
            self.faults.append(str(fault))

    def read(self, reader: Callable[..., Read], *of: Any) -> Read | None:
        """Return what a reader gives of something; None, and a note, where it cannot be read."""
        try:
            return reader(*of)
        except Fault as err:
            self.note(err)
            return None

    @property
    def is_own(self) -> bool:
        """Tell whether the database is that of the configuration in force."""
        return self.workspace.keeps(self.database)

    @property
    def ledger(self) -> Ledger:
        """Return all that was measured."""
        return ledger.of(self.workspace, self.database)

    @cached_property
    def sessions(self) -> tuple[Session, ...]:
        """Return the sessions that have a page, that which ended last first."""
        return tuple(self._selected())

    def _selected(self) -> Iterator[Session]:
        shown = set[str]()
        most = SHOWN if self.since is None and not self.chosen else None
        faults = [*self.ledger.faults]
        for each in self.ledger.sessions(faults, set(self.chosen) or None):
            run = self._run_of[each.uuid]
            older = self.since is not None and each.end < self.since
            if older or (len(shown) == most and run not in shown):
                break
            if self.system in (None, *(case.system for case in each.cases)):
                shown.add(run)
                yield each
        for fault in faults:
            self.note(fault)

    @cached_property
    def _run_of(self) -> dict[str, str]:
        """Return the run of each session that nobody has forgotten."""
        return ledger.runs_of(self.ledger.entries)

    @cached_property
    def left_out(self) -> int:
        """Count the sessions that are stored and have no page."""
        return max(len(self._run_of) - len(self.sessions), 0)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """Return the runs whose sessions have a page, that which ended last first."""
        sessions = grouped(self.sessions, lambda each: self._run_of[each.uuid])
        return tuple(
            Run(tuple(listed), self._verdict(key, *(each.uuid for each in listed)))
            for key, listed in sessions.items()
        )

    def _verdict(self, *keys: str) -> Verdict | None:
        """Return the verdict on a run, by any of its names; what is told now goes first."""
        current = self.current
        if current is not None and {current.campaign, *current.session.split()} & {*keys}:
            return current
        return next((self.verdicts[key] for key in keys if key in self.verdicts), None)

    def address(self, uuid: str, case: int | None = None) -> str:
        """Return the address of a session, or of a case of it; empty where it has no page."""
        has_page = any(each.uuid == uuid for each in self.sessions)
        return addresses.session(uuid, case) if has_page else ""

    @cached_property
    def history(self) -> History:
        """Return all series of the database, simulated ones too (`regressions.history.part`)."""
        loaded = history.load(self.ledger, self.system)
        for fault in loaded.faults:
            self.note(fault)
        return loaded

    @cached_property
    def judgements(self) -> tuple[Judgement, ...]:
        """Return what became worse of all that was measured, and of all that was simulated."""
        # Of one system alone nothing is kept: what is known from night to night is of all.
        kept = None if self.system else self.workspace.detection_of(self.database)
        folder = self.workspace.reference
        return tuple(
            judge.part_with_references(self.history, folder, kept, simulated=simulated)
            for simulated in (False, True)
        )

    @cached_property
    def library(self) -> Library | None:
        """Return all references; None where they cannot be read."""
        return self.read(references.load, self.workspace.reference)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Return the partitions of the configuration and of the sessions, by their names."""
        found = [
            self._place(system["name"], partition)
            for system in self.systems
            for partition in system["partitions"]
        ]
        found += [Place(case.system, case.partition) for each in self.sessions
                  for case in each.cases]  # fmt: skip
        known = {place.name: place for place in reversed(found)}
        own = (place for _, place in sorted(known.items()))
        return tuple(place for place in own if self.system in (None, place.system))

    def _place(self, system: str, partition: Mapping[str, Any]) -> Place:
        name, extras = partition["name"], partition.get("extras", {})
        try:
            facts = facts_of(extras, self.workspace.place_of(system, name))
        except FabricFault as err:
            self.note(err)
            return Place(system, name, extras, fault=str(err))
        return Place(system, name, extras, facts)

    @cached_property
    def measured(self) -> tuple[Place, ...]:
        """Return the partitions that the sessions with a page have cases of."""
        named = {(case.system, case.partition) for each in self.sessions for case in each.cases}
        return tuple(place for place in self.places if (place.system, place.partition) in named)

    def newest(self, check: str, benchmark: str) -> dict[tuple[str, str], Ran]:
        """Return the newest case of a benchmark by system and partition.

        Sessions that have a page are read, then, if nobody has chosen some, others with a case of a
        check, which is named by its class. Raises ResultsFault.
        """
        whole = not self.chosen and self.since is None
        others = self.ledger.sessions_of_check(check, float("inf")) if whole else ()
        found: dict[tuple[str, str], Ran] = {}
        wanted = {(place.system, place.partition) for place in self.measured}
        for each in chain(self.sessions, others):
            found = {
                (ran.case.system, ran.case.partition): ran
                for ran in Run((each,)).cases
                if ran.case.benchmark == benchmark and not ran.case.fixture
            } | found
            if wanted <= found.keys():
                break
        return {place: it for place, it in found.items() if self.system in (None, place[0])}

    @cached_property
    def verdicts(self) -> dict[str, Verdict]:
        """Return stored verdicts by session or campaign; what is acknowledged since counts."""
        found: dict[str, Verdict] = {}
        for path in sorted(self.workspace.verdicts.glob("*.json")):
            if given := self.read(stored.read, self.workspace, path.stem):
                stored.reconsider(given, self.workspace, self.now)
                found[path.stem] = given
        return found

    @cached_property
    def protocols(self) -> Sequence[tuple[Path, Mapping[str, Any], Sequence[str]]]:
        """Return the protocols of acceptances, the newest first; of another database none.

        Each is its file, what stands in it, and what does not agree in that.
        """
        folder, written = self.workspace.campaigns, self.written
        paths = sorted(folder.glob(f"{ACCEPT}-*/protocol.json"), reverse=True)
        paths = [*paths, *([written] if written and written not in paths else [])]
        read = [(path, self.read(protocol.verify, path)) for path in paths if self.is_own]
        return [(path, *found) for path, found in read if found]

    @cached_property
    def alerts(self) -> Notification | None:
        """Return open alerts with their acknowledgements; None where they cannot be read.

        Of somebody else's database nobody knows any: None, too.
        """
        return self.read(notify.listing, self.now, self.workspace.alerts) if self.is_own else None

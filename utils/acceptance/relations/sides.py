"""The samples that a side of a comparison stands for, out of a history.

What a side of a comparison may be called, as text: read here, looked up in `sides`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from acceptance.core.errors import Fault
from acceptance.core.text import plural, shortened, there_are
from acceptance.ledger import campaign_of
from acceptance.regressions.history import History, PastSession, Sample, Series, day, night
from acceptance.relations.results import grouped

#: Each form with what it stands for; `acceptance compare --help` shows them.
FORMS = (
    ("last, last-2", "the newest run, the second before it; a campaign is one run"),
    ("night, night-1", "all runs of the newest night (noon to noon), of the one before it"),
    ("3f2a9c01", "a session, or a run, by its id or how it begins (acceptance sessions)"),
    ("2026-10-01", "the sessions that began on a day"),
    ("2026-10-01..2026-11-01", "those of a window of days; either end may be left out"),
    ("SYSTEM", "its last nights, as many as --nights says; also SYSTEM:PARTITION"),
    (
        "+ENVIRONMENT",
        "an environment, so an MPI; also SYSTEM:PARTITION+ENVIRONMENT; * and ? fit",
    ),
    ("PLACE@TIME", "a place of the last two forms at a time of the first five: local@night"),
    (",NAME=VERSION", "after any of these: measured with this software: local,openmpi=5.0.6"),
    (",NAME!=VERSION", "the same, measured without it"),
)

_LAST = re.compile(r"(last|night)(?:-(\d{1,6}))?\Z")
_DAY = r"\d{4}-\d\d-\d\d"
_WINDOW = re.compile(rf"({_DAY})?\.\.({_DAY})?\Z")
#: The beginning of the id of a session, or of a campaign.
_ID = re.compile(r"([0-9a-fA-F][0-9a-fA-F-]{3,}|(nightly|accept)-\d[\dT.-]*)\Z")
_PLACE = re.compile(
    r"(?P<system>[\w*?.-]+)?(?::(?P<partition>[\w*?.-]+))?(?:\+(?P<environment>[\w*?.-]+))?\Z"
)
_SOFTWARE = re.compile(r"(?P<name>[\w.+-]+)(?P<without>!?)=(?P<version>\S+)\Z")

Kind = Literal["last", "night", "id", "window"]


class SideFault(Fault):
    """A side that is not clear, or that nothing fits: what there is, and what to write."""


class Time(NamedTuple):
    """A time: the `back`-th `last` run or `night`, the beginning of an id, or whole days."""

    kind: Kind
    back: int = 0
    id: str = ""
    first: date | None = None
    last: date | None = None


class Place(NamedTuple):
    """Patterns of names; None where any will do."""

    system: str | None = None
    partition: str | None = None
    environment: str | None = None


class Software(NamedTuple):
    """What was measured with, or without: a component and its version, which is a pattern."""

    name: str
    version: str
    without: bool = False


@dataclass(frozen=True)
class Asked:
    """A side as it was asked for; `bare` is a word that may be a place, a time, or neither."""

    text: str
    place: Place
    time: Time | None = None
    software: tuple[Software, ...] = ()
    bare: str = ""


def read(text: str) -> Asked:
    """Read a side; raises SideFault where it is none of the forms."""
    first, *rest = text.split(",")
    software = tuple(read_software(word) for word in rest)
    place, at, word = first.partition("@")
    time = _read_time(word if at else place)
    if at and time is None:
        raise SideFault(f"{text}: {word or 'nothing'} after @ is no time; {_times()}")
    if not first and not software:
        raise SideFault(f"a side is empty; {_forms()}")
    if not at and time is not None and time.kind != "id":
        return Asked(text, Place(), time, software, place)
    return Asked(text, _place(text, place), time if at else None, software, "" if at else place)


def _read_time(text: str) -> Time | None:
    """Read a time; None where it is none. Raises SideFault for a day that there is not."""
    if found := _LAST.match(text):
        kind: Kind = "last" if found[1] == "last" else "night"
        return Time(kind, back=int(found[2] or 0))
    if re.fullmatch(_DAY, text):
        return Time("window", first=_day(text), last=_day(text))
    if (found := _WINDOW.match(text)) and text != "..":
        first, last = (_day(word) if word else None for word in found.groups())
        if first and last and first > last:
            raise SideFault(f"{text}: ends before it begins; write the earlier day first")
        return Time("window", first=first, last=last)
    return Time("id", id=text.lower()) if _ID.match(text) else None


def read_software(text: str) -> Software:
    """Read `NAME=VERSION` or `NAME!=VERSION`; raises SideFault."""
    found = _SOFTWARE.match(text)
    if found is None:
        raise SideFault(f"{text or 'nothing'} is no software; write NAME=VERSION, as openmpi=5.0.6")
    return Software(found["name"], found["version"], bool(found["without"]))


def _place(text: str, place: str) -> Place:
    found = _PLACE.match(place)
    if found is None:
        raise SideFault(f"{text}: {place!r} is no place, no time and no session; {_forms()}")
    return Place(*found.groups())


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise SideFault(f"{text}: there is no such day; write it like 2026-11-22") from None


def _forms() -> str:
    return f"write one of: {', '.join(form for form, _ in FORMS)}"


def _times() -> str:
    return f"write one of: {', '.join(form for form, _ in FORMS[:5])}"


#: Names that a fault lists at most.
_LISTED = 8


@dataclass(eq=False)
class Side:
    """A side: its place, and the numbers of its sessions; `text` is how it was asked for."""

    text: str
    place: Place
    sessions: dict[int, PastSession]
    software: tuple[Software, ...] = ()
    described: str = ""

    def fits(self, series: Series) -> bool:
        """Tell whether a series is of this place."""
        return _fits(self.place, *series.case.key[:3])

    def samples(self, series: Series) -> Iterator[int]:
        """Yield the numbers of the samples of a series that belong to this side."""
        for number, sample in enumerate(series.samples):
            if sample.session.number in self.sessions and _built_with(self.software, sample):
                yield number


def find(asked: Asked, history: History, nights: int, system: str | None = None) -> Side:
    """Return what a side stands for; without a time the last `nights` nights of its place.

    `system` is what a side without a system is of. Raises SideFault where nothing, or more than one
    thing fits.
    """
    place, time = _settled(asked, history)
    if place.system is None and system is not None:
        place = place._replace(system=system)
    known = [session for session in history.sessions if _was_at(place, session)]
    places = _places(history)
    if not known or not any(_fits(place, *names) for names in places):
        there = shortened(sorted(f"{names[0]}:{names[1]}+{names[2]}" for names in places), _LISTED)
        left_out = f"; {history.left_out}" if history.left_out else ""
        raise SideFault(
            f"{asked.text}: nothing was measured there; there is: {there or 'nothing'}{left_out}"
        )
    if time is None and asked.software:
        chosen, words = known, "all sessions"
    elif time is None:
        chosen = _of_nights(known, nights)
        words = f"the last {plural(len({night(one.start) for one in chosen}), 'night')}"
    else:
        chosen, words = _at(asked, time, known, place)
    side = Side(asked.text, place, {one.number: one for one in chosen}, asked.software)
    if asked.software:
        chosen = _with_software(side, history)
        side.sessions = {one.number: one for one in chosen}
    built = [
        f"{'without' if one.without else 'with'} {one.name} {one.version}" for one in asked.software
    ]
    words = ", ".join(filter(None, (_place_text(place), words, *built)))
    side.described = ": ".join(filter(None, (words, _sessions_text(chosen))))
    return side


def _settled(asked: Asked, history: History) -> tuple[Place, Time | None]:
    """Return place and time; of a word without @ tell which of these it is."""
    word = asked.bare
    systems = sorted({case.key.system for case in history.cases})
    if not word:
        return asked.place, asked.time
    is_place = word in systems
    time = asked.time or _read_time(word)
    is_time = time is not None and (
        time.kind != "id" or bool(_beginning(history.sessions, time.id))
    )
    if is_place and is_time:
        raise SideFault(
            f"{asked.text}: is a system, and a session, too; write {word}:* for the system, "
            f"@{word} for the session"
        )
    if is_time:
        return Place(), time
    patterned = any(sign in word for sign in ":+*?")
    if not is_place and not patterned:
        ids = [one.uuid[:8] for one in history.sessions[-_LISTED:]]
        raise SideFault(
            f"{asked.text}: is no system and no session; the newest sessions: {', '.join(ids)} "
            f"(acceptance sessions lists all); of systems {there_are(word, systems)}"
        )
    return asked.place, asked.time


def _at(
    asked: Asked, time: Time, known: list[PastSession], place: Place
) -> tuple[list[PastSession], str]:
    """Return the sessions of a time, and the time in words."""
    if time.kind == "id":
        found = _beginning(known, time.id)
        if len(found) != 1:
            which = f"begins {len(found)} ids: " if found else "begins no id; the newest: "
            ids = found or [one.uuid for one in known]
            raise SideFault(
                f"{asked.text}: {time.id} {which}{shortened(reversed([*ids]), _LISTED)}"
            )
        return next(iter(found.values())), ""
    if time.kind == "window":
        chosen = [one for one in known if _within(time, one.start)]
        ends = " to ".join(
            "" if end is None else end.isoformat() for end in (time.first, time.last)
        )
        ends = ends if time.first != time.last else f"{time.first}"
        if not chosen:
            raise SideFault(
                f"{asked.text}: no session began then; the oldest is of {day(known[0].start)}, the "
                f"newest of {day(known[-1].start)}"
            )
        return chosen, ends
    if place.system is None:
        of_newest = set(known[-1].systems)
        known = [one for one in known if of_newest & set(one.systems)]
    runs, nights = _runs(known), _nights(known)
    groups = runs if time.kind == "last" else nights
    if time.back >= len(groups):
        raise SideFault(
            f"{asked.text}: goes back too far; of {', '.join(known[-1].systems)} there is: "
            f"{plural(len(nights), 'night')} (noon to noon), {plural(len(runs), 'run')} (`last`)"
        )
    chosen = groups[-1 - time.back]
    back = f"-{time.back}" if time.back else ""
    run = campaign_of(chosen[-1].run) if time.kind == "last" else ""
    return chosen, f"{time.kind}{back}{f' ({run})' if run else ''}"


def _within(time: Time, start: float) -> bool:
    began: date = datetime.fromtimestamp(start).astimezone().date()
    return (time.first or began) <= began <= (time.last or began)


def _nights(sessions: Iterable[PastSession]) -> list[list[PastSession]]:
    """Return sessions by their nights, the newest night last."""
    found = grouped(sessions, lambda session: night(session.start))
    return [found[number] for number in sorted(found)]


def _runs(sessions: Iterable[PastSession]) -> list[list[PastSession]]:
    """Return sessions by their runs, that which stored a session last at the end."""
    found: dict[str, list[PastSession]] = {}
    for session in sessions:
        run = session.run or session.uuid
        found[run] = [*found.pop(run, []), session]
    return [*found.values()]


def _of_nights(sessions: list[PastSession], count: int) -> list[PastSession]:
    return [session for group in _nights(sessions)[-count:] for session in group]


def _beginning(sessions: Iterable[PastSession], begin: str) -> dict[str, list[PastSession]]:
    """Return the sessions, or the campaigns with theirs, whose ids begin so."""
    found: dict[str, list[PastSession]] = {}
    for session in sessions:
        for id in (session.uuid, campaign_of(session.run)):
            if id.lower().startswith(begin):
                found.setdefault(id, []).append(session)
    return found


def _was_at(place: Place, session: PastSession) -> bool:
    return any(_fits(place, *names) for names in session.partitions)


def _fits(place: Place, *names: str) -> bool:
    """Tell whether system, partition and environment, as many as there are, fit a place."""
    pairs = zip(names, place, strict=False)
    return all(fnmatchcase(name, pattern or "*") for name, pattern in pairs)


def _places(history: History) -> set[tuple[str, ...]]:
    return {case.key[:3] for case in history.cases}


def _place_text(place: Place) -> str:
    text = place.system or ""
    text += f":{place.partition}" if place.partition else ""
    return text + (f"+{place.environment}" if place.environment else "")


def _sessions_text(sessions: list[PastSession]) -> str:
    newest = sessions[-1]
    when = datetime.fromtimestamp(newest.start).strftime("%Y-%m-%d %H:%M")
    if len(sessions) == 1:
        return f"session {newest.uuid} of {when}"
    first = day(sessions[0].start)
    return f"{len(sessions)} sessions, {first} to {day(newest.start)}, the last {newest.uuid}"


def _built_with(wanted: tuple[Software, ...], sample: Sample) -> bool:
    return all(_has(one, sample.software) != one.without for one in wanted)


def _has(wanted: Software, built: Iterable[tuple[str, str]]) -> bool:
    """Tell whether a component was built: by its key (`mpi`), or as `name@version`."""
    for key, text in built:
        if key == wanted.name and fnmatchcase(text, wanted.version):
            return True
        for word in text.split():
            name, at, version = word.partition("@")
            if at and name == wanted.name and fnmatchcase(version, wanted.version):
                return True
    return False


def _with_software(side: Side, history: History) -> list[PastSession]:
    """Return the sessions that have samples of a side with its software.

    Raises SideFault where there are none, with what there is.
    """
    there: set[str] = set()
    having: set[int] = set()
    for series in filter(side.fits, history.series):
        having |= {series.samples[number].session.number for number in side.samples(series)}
        for software in {sample.software for sample in series.samples}:
            there |= {f"{key}={text}" for key, text in software if key != "hash"}
    if not having:
        raise SideFault(
            f"{side.text}: nothing was measured so; there is: "
            f"{shortened(sorted(there), _LISTED) or 'no software that is known'}"
        )
    return [session for number, session in side.sessions.items() if number in having]

"""What a side of a comparison may be called, and the samples of a history that it stands for."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any, NamedTuple

from acceptance.core.errors import Fault
from acceptance.core.groups import grouped
from acceptance.core.text import plural, shortened, there_are
from acceptance.core.words import is_simulated
from acceptance.ledger import campaign_of
from acceptance.regressions.history import (
    History,
    PastSession,
    Sample,
    Series,
    day,
    night,
    software_text,
)

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

_DAY = r"\d{4}-\d\d-\d\d"
#: The last form is the beginning of the id of a session, or of a campaign.
_TIME = re.compile(
    r"(?P<group>last|night)(-(?P<back>\d{1,6}))?"
    rf"|(?!\.\.\Z)(?P<first>{_DAY})?\.\.(?P<last>{_DAY})?|(?P<day>{_DAY})"
    r"|(?P<id>[0-9a-fA-F][0-9a-fA-F-]{3,}|(nightly|accept)-\d[\dT.-]*)"
)
_PLACE = re.compile(r"([\w*?.-]+)?(?::([\w*?.-]+))?(?:\+([\w*?.-]+))?")
_SOFTWARE = re.compile(r"([\w.+-]+)(!?)=(\S+)")


class SideFault(Fault):
    """A side that is not clear, or that nothing fits: what there is, and what to write."""


#: Patterns of system, partition and environment; None where any will do.
Place = tuple[str | Any, ...]
#: A component, `!` where it was measured without that, and its version, which is a pattern.
Software = tuple[str | Any, ...]


class Asked(NamedTuple):
    """A side as it was asked for; `bare` is a word that may be a place, a time, or neither.

    `time` is as `_TIME` has it: the `back`-th of a `group`, the beginning of an `id`, or days.
    """

    text: str
    place: Place
    time: re.Match[str] | None
    software: tuple[Software, ...]
    bare: str


def read(text: str) -> Asked:
    """Read a side; raises SideFault where it is none of the forms."""
    first, *rest = text.split(",")
    software = tuple(_read_software(word) for word in rest)
    word, at, when = first.partition("@")
    time = _read_time(when if at else word)
    if at and time is None:
        raise SideFault(f"{text}: {when or 'nothing'} after @ is no time; {_forms(5)}")
    if not first and not software:
        raise SideFault(f"a side is empty; {_forms()}")
    place = _PLACE.fullmatch(word)
    if place is None:
        raise SideFault(f"{text}: {word!r} is no place, no time and no session; {_forms()}")
    return Asked(text, place.groups(), time, software, "" if at else word)


def _read_time(text: str) -> re.Match[str] | None:
    """Read a time; None where it is none. Raises SideFault for a day that there is not."""
    time = _TIME.fullmatch(text)
    try:
        first, last = _days(time) if time else (date.min, date.max)
    except ValueError:
        raise SideFault(f"{text}: there is no such day; write it like 2026-11-22") from None
    if first > last:
        raise SideFault(f"{text}: ends before it begins; write the earlier day first")
    return time


def _days(time: re.Match[str]) -> tuple[date, date]:
    """Return the first and the last day of a time; raises ValueError."""
    first, last = (
        date.fromisoformat(time[end] or time["day"] or str(limit))
        for end, limit in (("first", date.min), ("last", date.max))
    )
    return first, last


def _read_software(text: str) -> Software:
    found = _SOFTWARE.fullmatch(text)
    if found is None:
        raise SideFault(f"{text or 'nothing'} is no software; write NAME=VERSION, as openmpi=5.0.6")
    return found.groups()


def _forms(count: int | None = None) -> str:
    return f"write one of: {', '.join(form for form, _ in FORMS[:count])}"


#: Names that a fault lists at most.
_LISTED = 8


#: A series with the numbers of those of its samples that are of a side.
Part = tuple[Series, list[int]]


@dataclass(frozen=True)
class Side:
    """What a side was: how it was asked for, in words, its sessions (UUID), what simulated it."""

    text: str
    described: str
    sessions: tuple[str, ...]
    systems: tuple[str, ...]
    simulated: bool
    software: tuple[str, ...]


def samples_of(parts: Iterable[Part]) -> list[Sample]:
    """Return the samples that are of a side."""
    return [series.samples[number] for series, numbers in parts for number in numbers]


def find(
    asked: Asked, history: History, nights: int, system: str | None = None
) -> tuple[Side, list[Part]]:
    """Return what a side stands for; without a time the last `nights` nights of its place.

    `system` is what a side without a system is of. Raises SideFault where nothing, or more than one
    thing fits.
    """
    place, time = _settled(asked, history)
    place = (place[0] or system, *place[1:])
    known = [
        session
        for session in history.sessions
        if any(_fits(place, *names) for names in session.partitions)
    ]
    places = {case.key[:3] for case in history.cases}
    if not known or not any(_fits(place, *names) for names in places):
        there = shortened(sorted(f"{names[0]}:{names[1]}+{names[2]}" for names in places), _LISTED)
        left_out = f"; {history.left_out}" if history.left_out else ""
        raise SideFault(
            f"{asked.text}: nothing was measured there; there is: {there or 'nothing'}{left_out}"
        )
    if time is not None:
        chosen, when = _at(asked, time, known, place)
    elif asked.software:
        chosen, when = known, "all sessions"
    else:
        last = _nights(known)[-nights:]
        chosen, when = [*chain(*last)], f"the last {plural(len(last), 'night')}"
    fitting = [series for series in history.series if _fits(place, *series.case.key[:3])]
    parts = [*_parts(fitting, chosen, asked.software)]
    if asked.software:
        having = {sample.session.number for sample in samples_of(parts)}
        chosen = [session for session in chosen if session.number in having]
        if not chosen:
            built = {sample.software for series in fitting for sample in series.samples}
            words = {f"{key}={text}" for items in built for key, text in items if key != "hash"}
            raise SideFault(
                f"{asked.text}: nothing was measured so; there is: "
                f"{shortened(sorted(words), _LISTED) or 'no software that is known'}"
            )
    signs = zip(("", ":", "+"), place, strict=True)
    where = "".join(f"{sign}{name}" for sign, name in signs if name)
    return _side(asked, [*filter(None, (where, when))], chosen, parts), parts


def _parts(
    fitting: Iterable[Series], sessions: Iterable[PastSession], software: tuple[Software, ...]
) -> Iterable[Part]:
    """Yield what series have of sessions, and of software."""
    of_side = {session.number for session in sessions}
    for series in fitting:
        numbers = [
            number
            for number, sample in enumerate(series.samples)
            if sample.session.number in of_side and all(_has(sample, *one) for one in software)
        ]
        if numbers:
            yield series, numbers


def _has(sample: Sample, name: str, without: str, version: str) -> bool:
    """Tell whether a component was built, by its key (`mpi`), or as `name@version`; or was not."""
    built = any(
        (name == key and fnmatchcase(text, version))
        or (name == own and at and fnmatchcase(of_own, version))
        for key, text in sample.software
        for own, at, of_own in (word.partition("@") for word in text.split())
    )
    return built != bool(without)


def _side(
    asked: Asked, words: list[str], sessions: Sequence[PastSession], parts: Sequence[Part]
) -> Side:
    """Describe a side: `words` are its place and its time."""
    systems = sorted({series.case.key.system for series, _ in parts})
    built = {software_text(sample.software) for sample in samples_of(parts)}
    newest = sessions[-1]
    which = f"session {newest.uuid} of {datetime.fromtimestamp(newest.start):%Y-%m-%d %H:%M}"
    if len(sessions) > 1:
        days = f"{day(sessions[0].start)} to {day(newest.start)}"
        which = f"{len(sessions)} sessions, {days}, the last {newest.uuid}"
    words += [
        f"{'without' if without else 'with'} {name} {version}"
        for name, without, version in asked.software
    ]
    return Side(
        asked.text, ": ".join(filter(None, (", ".join(words), which))),
        tuple(session.uuid for session in sessions), tuple(systems),
        any(map(is_simulated, systems)), tuple(sorted(built - {""})),
    )  # fmt: skip


def _settled(asked: Asked, history: History) -> tuple[Place, re.Match[str] | None]:
    """Return place and time; of a word without @ tell which of these it is."""
    word, time = asked.bare, asked.time
    if not word:
        return asked.place, time
    systems = sorted({case.key.system for case in history.cases})
    is_time = time and (not time["id"] or bool(_beginning(history.sessions, time["id"])))
    if is_time and word in systems:
        raise SideFault(
            f"{asked.text}: is a system, and a session, too; write {word}:* for the system, "
            f"@{word} for the session"
        )
    if is_time:
        return (None, None, None), time
    if word not in systems and not any(sign in word for sign in ":+*?"):
        ids = [one.uuid[:8] for one in history.sessions[-_LISTED:]]
        raise SideFault(
            f"{asked.text}: is no system and no session; the newest sessions: {', '.join(ids)} "
            f"(acceptance sessions lists all); of systems {there_are(word, systems)}"
        )
    return asked.place, None


def _at(
    asked: Asked, time: re.Match[str], known: list[PastSession], place: Place
) -> tuple[list[PastSession], str]:
    """Return the sessions of a time, and the time in words."""
    if time["id"]:
        found = _beginning(known, time["id"])
        if len(found) != 1:
            which = f"begins {len(found)} ids: " if found else "begins no id; the newest: "
            ids = found or [one.uuid for one in known]
            raise SideFault(
                f"{asked.text}: {time['id'].lower()} {which}{shortened(reversed([*ids]), _LISTED)}"
            )
        return next(iter(found.values())), ""
    if not time["group"]:
        first, last = _days(time)
        chosen = [one for one in known if first <= datetime.fromtimestamp(one.start).date() <= last]
        if not chosen:
            raise SideFault(
                f"{asked.text}: no session began then; the oldest is of {day(known[0].start)}, the "
                f"newest of {day(known[-1].start)}"
            )
        return chosen, time[0]
    if place[0] is None:
        of_newest = set(known[-1].systems)
        known = [one for one in known if of_newest & set(one.systems)]
    runs, nights = _runs(known), _nights(known)
    groups, back = runs if time["group"] == "last" else nights, int(time["back"] or 0)
    if back >= len(groups):
        raise SideFault(
            f"{asked.text}: goes back too far; of {', '.join(known[-1].systems)} there is: "
            f"{plural(len(nights), 'night')} (noon to noon), {plural(len(runs), 'run')} (`last`)"
        )
    chosen = groups[-1 - back]
    run = campaign_of(chosen[-1].run) if time["group"] == "last" else ""
    return chosen, f"{time[0]} ({run})" if run else time[0]


def _nights(sessions: Iterable[PastSession]) -> list[list[PastSession]]:
    """Return sessions by their nights, the newest night last."""
    found = grouped(sessions, lambda session: night(session.start))
    return [found[number] for number in sorted(found)]


def _runs(sessions: Iterable[PastSession]) -> list[list[PastSession]]:
    """Return sessions by their runs, that which stored a session last at the end."""
    found = grouped(sessions, lambda session: session.run or session.uuid)
    return sorted(found.values(), key=lambda run: run[-1].number)


def _beginning(sessions: Iterable[PastSession], begin: str) -> dict[str, list[PastSession]]:
    """Return the sessions, or the campaigns with theirs, whose ids begin so."""
    found: dict[str, list[PastSession]] = {}
    for session in sessions:
        for id in (session.uuid, campaign_of(session.run)):
            if id.lower().startswith(begin.lower()):
                found.setdefault(id, []).append(session)
    return found


def _fits(place: Place, *names: str) -> bool:
    """Tell whether system, partition and environment, as many as there are, fit a place."""
    pairs = zip(names, place, strict=False)
    return all(fnmatchcase(name, pattern or "*") for name, pattern in pairs)

"""What a side of a comparison may be called, as text: read here, looked up in `sides`."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal, NamedTuple

from acceptance.core.errors import Fault

#: Each form with what it stands for; `acceptance compare --help` shows them.
FORMS = (
    ("last, last-2", "the newest session, the second before it (of the same systems)"),
    ("night, night-1", "all sessions of the newest night, of the night before it"),
    ("3f2a9c01", "a session, by its id or how it begins (acceptance sessions)"),
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
_ID = re.compile(r"[0-9a-fA-F][0-9a-fA-F-]{3,}\Z")
_PLACE = re.compile(
    r"(?P<system>[\w*?.-]+)?(?::(?P<partition>[\w*?.-]+))?(?:\+(?P<environment>[\w*?.-]+))?\Z"
)
_SOFTWARE = re.compile(r"(?P<name>[\w.+-]+)(?P<without>!?)=(?P<version>\S+)\Z")

Kind = Literal["last", "night", "id", "window"]


class SideFault(Fault):
    """A side that is not clear, or that nothing fits: what there is, and what to write."""


class Time(NamedTuple):
    """A time: the `back`-th `last` session or `night`, the beginning of an id, or whole days."""

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


ANYWHERE = Place()


class Software(NamedTuple):
    """What was measured with, or without: a component and its version, which is a pattern."""

    name: str
    version: str
    without: bool = False


@dataclass(frozen=True)
class Asked:
    """A side as it was asked for; `bare` is a word that may be a place, a time, or neither."""

    text: str
    place: Place = ANYWHERE
    time: Time | None = None
    software: tuple[Software, ...] = ()
    bare: str = ""


def read(text: str) -> Asked:
    """Read a side; raises SideFault where it is none of the forms."""
    first, *rest = text.split(",")
    software = tuple(read_software(word) for word in rest)
    place, at, time = first.partition("@")
    if at:
        known = read_time(time)
        if known is None:
            raise SideFault(f"{text}: {time or 'nothing'} after @ is no time; {_times()}")
        return Asked(text, _place(text, place), known, software)
    if _LAST.match(place) or _WINDOW.match(place) or re.fullmatch(_DAY, place):
        return Asked(text, ANYWHERE, read_time(place), software, place)
    if not place and not software:
        raise SideFault(f"a side is empty; {_forms()}")
    return Asked(text, _place(text, place), None, software, place)


def read_time(text: str) -> Time | None:
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

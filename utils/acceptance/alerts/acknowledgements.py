"""Acknowledgements: alerts that somebody has seen, with a reason and an end date.

An acknowledged alert is listed, not sent, up to and including its end date; if it is still open
then, it is sent again. One that names an alert by its id holds for the incident which was open when
it was given, one that is a pattern for every alert that it matches. Stored in
`var/alerts/acks.json`.
"""

import fnmatch
import getpass
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from pathlib import Path

from acceptance.alerts.alert import Alert
from acceptance.core import state_files
from acceptance.core.errors import Fault
from acceptance.core.text import plural

#: The longest time for which an alert can be acknowledged, and for which all of them can.
LONGEST, LONGEST_OF_ALL = timedelta(days=366), timedelta(days=14)
#: Checks and metrics that there are none of, in the forms of those that there are.
_NOBODYS = ("¶", "¶ %¶=¶ ¶_¶")
#: Letters and digits that nearly every name has one or two of.
_FEW = 2

#: Seconds to wait for another process that changes the acknowledgements.
PATIENCE = 10.0


class AckFault(Fault):
    """An acknowledgement that cannot be: why, and what would be possible."""


@dataclass(frozen=True)
class Ack:
    """Who has acknowledged what, why, and until when; `when` is an ISO 8601 time, `until` a date.

    `what` is the id of an alert, or a pattern (`fnmatch`) of `system:partition+environ check
    metric`. Raises ValueError for a malformed date or time.
    """

    what: str
    reason: str
    until: str
    who: str
    when: str

    def __post_init__(self) -> None:
        """Refuse what is no acknowledgement."""
        if not all(isinstance(value, str) for value in asdict(self).values()):
            raise ValueError("every field of an acknowledgement is a text")
        date.fromisoformat(self.until)
        if datetime.fromisoformat(self.when).tzinfo is None:
            raise ValueError(f"{self.when!r} has no time zone")

    def holds(self, now: datetime) -> bool:
        """Tell whether the end date, which belongs to it, has not passed."""
        return now.astimezone().date() <= self.end

    @property
    def end(self) -> date:
        """Return the last day; older releases took a pattern of all for a year, which ends here."""
        until, given = date.fromisoformat(self.until), datetime.fromisoformat(self.when)
        most = (given.astimezone() + LONGEST_OF_ALL).date()
        return min(until, most) if is_of_all(self.what) else until

    def covers(self, alert: Alert, opened: datetime | None = None) -> bool:
        """Tell whether this is of that alert, which was first seen at `opened` (default: before).

        `[` stands for itself: names of checks have it more often than patterns need it.
        """
        if self.what == alert.id:
            return opened is None or opened <= datetime.fromisoformat(self.when)
        return self.fits(alert.name)

    def fits(self, name: str) -> bool:
        """Tell whether it is a pattern that a name `system:partition+environ check metric` fits."""
        return fnmatch.fnmatchcase(name, self.what.replace("[", "[[]"))

    @property
    def text(self) -> str:
        """Say until when, by whom and why."""
        return f"acknowledged until {self.end} by {self.who}: {self.reason}"


def load(folder: Path) -> list[Ack]:
    """Read all acknowledgements, those that have ended too.

    Raises AckFault when they cannot be read.
    """
    path = folder / "acks.json"
    try:
        return [Ack(**one) for one in state_files.read(path) or []]
    except (ValueError, TypeError) as err:
        raise AckFault(
            f"{path}: malformed: {err}; correct it, or remove it and acknowledge again"
        ) from None
    except state_files.StoredFault as err:
        raise AckFault(str(err)) from None


def find(
    acks: Sequence[Ack], alert: Alert, now: datetime, opened: datetime | None = None
) -> Ack | None:
    """Return the acknowledgement of an alert that holds longest, or None."""
    holding = [ack for ack in acks if ack.holds(now) and ack.covers(alert, opened)]
    return max(holding, key=lambda ack: ack.end, default=None)


def is_pattern(what: str) -> bool:
    """Tell a pattern from an id: it has a wildcard, or blanks as the names of alerts have."""
    return any(sign in what for sign in "*? ")


def is_of_all(what: str, open_alerts: Sequence[Alert] = ()) -> bool:
    """Tell whether a pattern matches whatever is wrong at some place: `*`, `local:*`, `*a*`.

    So does one that matches all of several open alerts which have neither check nor metric in
    common: nobody knows what else it will match.
    """
    if not is_pattern(what):
        return False
    pattern, place = what.replace("[", "[[]"), what.split(" ")[0]
    places = {":+", *(alert.where for alert in open_alerts)}
    if ":" in place:  # then it names a system itself
        places.add(place.replace("*", "").replace("?", "x"))
    names = (f"{place} {subject}" for place in places for subject in _NOBODYS)
    if any(fnmatch.fnmatchcase(name, pattern) for name in names):
        return True
    if sum(sign.isalnum() for sign in what) <= _FEW:
        return True
    checks, metrics = ({getattr(alert, of) for alert in open_alerts} for of in ("check", "metric"))
    matched = [fnmatch.fnmatchcase(alert.name, pattern) for alert in open_alerts]
    return all(matched) and min(len(checks), len(metrics)) > 1


def add(
    what: str,
    reason: str,
    until: str,
    alerts: Sequence[Alert],
    now: datetime,
    folder: Path,
    *,
    meant: bool = False,
) -> tuple[Ack, list[Alert]]:
    """Acknowledge one of the open `alerts` by its id, or all that match a pattern, also later ones.

    One of the same alert or pattern is replaced. Returns it with the open alerts that it is of.
    Raises AckFault for an unknown id, an empty reason, a date that is none, past or too far, or a
    pattern that matches all where that is not `meant`.
    """
    what, reason = what.strip(), " ".join(reason.split())
    if not reason:
        raise AckFault("say why: --reason TEXT")
    if not what:
        raise AckFault("say what: the id of an alert, or a pattern")
    of_all = is_of_all(what, alerts)
    end = _end(until, now).isoformat()
    ack = Ack(what, reason, end, _user(), now.astimezone().isoformat(timespec="microseconds"))
    covered = [alert for alert in alerts if ack.covers(alert)]
    if of_all and not meant:
        there = "".join(f"\n  {alert.id}  {alert.line}" for alert in covered)
        raise AckFault(
            f"{what!r} silences whatever goes wrong: name checks or metrics, or say --all (for "
            f"{LONGEST_OF_ALL.days} days at most); now it would silence {len(covered)} of "
            f"{plural(len(alerts), 'open alert')}{there and ':'}{there}"
        )
    if of_all:
        _end(until, now, LONGEST_OF_ALL)
    if not covered and not is_pattern(what):
        there = "\n".join(f"  {alert.id}  {alert.line}" for alert in alerts)
        raise AckFault(
            f"no open alert has the id {what!r}; "
            + (f"open are:\n{there}" if there else "none is open")
            + "\n`acceptance gate --send` takes note of what it finds, then it has an id here"
        )
    with _changing(folder):
        others = [one for one in load(folder) if one.what != what]
        _write([*others, ack], folder)
    return ack, covered


def _end(until: str, now: datetime, longest: timedelta = LONGEST) -> date:
    today = now.astimezone().date()
    try:
        end = date.fromisoformat(until)
    except ValueError:
        raise AckFault(f"{until!r} is no date; write it like {today + timedelta(14)}") from None
    if end <= today:
        raise AckFault(f"{until} is not in the future; today is {today}")
    if end > today + longest:
        far = "a year" if longest == LONGEST else f"{longest.days} days"
        raise AckFault(f"{until} is more than {far} away; the latest is {today + longest}")
    return end


def remove(what: str, folder: Path) -> Ack:
    """Take an acknowledgement back, by its id or pattern.

    Raises AckFault when there is none.
    """
    with _changing(folder):
        acks = load(folder)
        found = [ack for ack in acks if ack.what == what]
        if not found:
            there = ", ".join(repr(ack.what) for ack in acks)
            raise AckFault(f"nothing is acknowledged as {what!r}; there are: {there or 'none'}")
        _write([ack for ack in acks if ack.what != what], folder)
    return found[0]


@contextmanager
def _changing(folder: Path) -> Iterator[None]:
    try:
        with state_files.locked(folder / "acks.lock", PATIENCE):
            yield
    except state_files.StoredFault as err:
        raise AckFault(str(err)) from None


def _write(acks: Sequence[Ack], folder: Path) -> None:
    state_files.write(folder / "acks.json", [asdict(ack) for ack in acks])


def _user() -> str:
    try:
        return os.environ.get("USER") or getpass.getuser()
    except (KeyError, OSError):  # a container without an entry for this user
        return f"user {os.getuid()}"

"""Alerts: findings that somebody is told of, with their state; and who has acknowledged them.

What is wrong for one reason is one alert, however many metrics or cases show it. An acknowledged
alert is listed, not sent, up to and including its end date; if it is still open then, it is sent
again. An acknowledgement that names an alert by its id holds for the incident which was open when
it was given, one that is a pattern for every alert that it matches. One that says that failures
are expected is of cases. Stored in `var/alerts/acks.json`.
"""

import fnmatch
import getpass
import os
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from acceptance.core import state_files
from acceptance.core.errors import Fault
from acceptance.core.findings import Finding
from acceptance.core.kinds import HISTORY, OF_CABLES, OF_LINKS
from acceptance.core.text import one_line

#: The longest time for which an alert can be acknowledged, and for which a pattern can: nobody
#: knows what else it will match.
LONGEST, LONGEST_OF_PATTERN = timedelta(days=366), timedelta(days=14)

#: Seconds to wait for another process that changes the acknowledgements.
PATIENCE = 10.0
_ACKS = "acks.json"

#: Kinds of what a case fails for that is told of the node where it was seen.
AT_A_NODE = {"no-bytes", *OF_LINKS, *OF_CABLES}
#: The kind of what stands for very many alerts, and of a node that Slurm gives no jobs, of which
#: no verdict is red.
MANY, AWAY = "many", "node-absent"
#: Category of an alert -> what one and several of it are called.
_CALLED = HISTORY | {
    "node": ("faulty node", "faulty nodes"),
    "away": ("node not up", "nodes not up"),
    "many": ("group of failures", "groups of failures"),
    "unmeasured": ("missing measurement", "missing measurements"),
    "failure": ("failure", "failures"),
}

#: A time with its zone, as it is stored.
Time = Annotated[datetime, Meta(tz=True)]


class Ack(Struct, frozen=True, forbid_unknown_fields=True):
    """Who has acknowledged what and when, why, and until which day, which belongs to it.

    `what` is the id of an alert, or a pattern (`fnmatch`) of `system:partition+environ check
    metric`. Where a failure is `expected` it is one of cases, `NAME @system:partition+environ`, and
    of what they fail for by themselves: not of links, nodes and the fabric.
    """

    what: str
    reason: str
    until: date
    who: str
    when: Time
    expected: bool = False

    def holds(self, now: datetime) -> bool:
        """Tell whether the end date has not passed."""
        return now.astimezone().date() <= self.until

    def covers(self, alert: "Alert") -> bool:
        """Tell whether this is of that alert: by its id if it was open already, or its name.

        `[` stands for itself: names of checks have it more often than patterns need it.
        """
        if self.expected:
            own = alert.category == "failure" and bool(alert.cases)
            return own and all(map(self.fits, alert.cases))
        if self.what == alert.id:
            return alert.opened is None or alert.opened <= self.when
        return self.fits(alert.name)

    def fits(self, name: str) -> bool:
        """Tell whether it is a pattern that a name fits, as `what` says of which form."""
        return fnmatch.fnmatchcase(name, self.what.replace("[", "[[]"))

    def is_of(self, system: str) -> bool:
        """Tell whether a pattern of cases may be of a system."""
        stated = self.what.rpartition("@")[2].partition(":")[0]
        return fnmatch.fnmatchcase(system, stated)

    @property
    def text(self) -> str:
        """Say until when, by whom and why."""
        how = "expected to fail" if self.expected else "acknowledged"
        return f"{how} until {self.until} by {self.who}: {self.reason}"


class Alert(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A finding that somebody is told of, and what became of it.

    `id` is stable as long as it lasts. It ends when its `cases` have passed on the nodes of the
    finding, or where it has neither when a run of the same `sort` (nightly, accept; empty: by hand)
    is without it; where nodes are slow, when they are `compared` again in each of these quantities,
    `fabric` where it is of that. `parts` are the ids of the alerts that it stands for.

    State: when it was `seen` first (`opened`) and last, when each target was `told` of it, who has
    `acknowledged` it, and who did (`lapsed`) until every target was told that it is still open. One
    that has `ended` is kept until every target was told so, too.
    """

    id: Annotated[str, Meta(min_length=1)]
    finding: Finding
    cases: tuple[str, ...] = ()
    compared: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    sort: str = ""
    opened: Time | None = None
    seen: Time | None = None
    told: dict[str, Time] = {}
    acknowledged: Ack | None = None
    lapsed: Ack | None = None
    ended: Time | None = None

    @property
    def name(self) -> str:
        """Return `system:partition+environ check metric`, which patterns are compared with."""
        return f"{self.finding.where} {self.finding.subject}"

    @property
    def category(self) -> str:
        """Return what its kind is among alerts: that is a part of its id."""
        kind = self.finding.kind
        if kind in HISTORY:
            return kind
        if kind in AT_A_NODE:
            return "node"
        if kind in (AWAY, MANY):
            return "away" if kind == AWAY else "many"
        return "unmeasured" if self.finding.row.unmeasured else "failure"

    @property
    def called(self) -> tuple[str, str]:
        """Return what one and several of its category are called."""
        return _CALLED[self.category]

    @property
    def line(self) -> str:
        """Return it as one sentence for people."""
        since = "" if self.finding.of_history else f" since {self.finding.since[:10]}"
        return one_line(f"{self.name}: {self.finding.text}{since}")

    @property
    def known(self) -> str:
        """Say who has acknowledged it, until when and why; and what it is."""
        by = f"{self.acknowledged.text}: " if self.acknowledged else ""
        return f"{by}{self.line} [{self.id}]"


def load(folder: Path) -> list[Ack]:
    """Read all acknowledgements, those that have ended too.

    Raises Fault when they are malformed, StoredFault when they cannot be read.
    """
    path = folder / _ACKS
    try:
        return state_files.read(path, list[Ack]) or []
    except ValueError as err:
        raise Fault(
            f"{path}: malformed: {err}; correct it, or remove it and acknowledge again"
        ) from None


def find(acks: Sequence[Ack], alert: Alert, now: datetime) -> Ack | None:
    """Return the acknowledgement of an alert that holds longest, or None."""
    holding = [ack for ack in acks if ack.holds(now) and ack.covers(alert)]
    return max(holding, key=lambda ack: ack.until, default=None)


def is_pattern(what: str) -> bool:
    """Tell a pattern from an id: it has a wildcard, or blanks as the names of alerts have."""
    return any(sign in what for sign in "*? ")


def add(
    what: str,
    reason: str,
    until: str,
    alerts: Sequence[Alert],
    now: datetime,
    folder: Path,
    *,
    expected: bool = False,
) -> tuple[Ack, list[Alert]]:
    """Acknowledge one of the open `alerts` by its id, or all that match a pattern, also later ones.

    Of cases whose failure is `expected` it is a pattern. One of the same alert or pattern is
    replaced. Returns it with the open alerts that it is of.
    Raises Fault for an unknown id, an empty reason, and a date that is none, past or too far.
    """
    what, reason = what.strip(), " ".join(reason.split())
    if not reason:
        raise Fault("say why: --reason TEXT")
    if not what:
        raise Fault("say what: the id of an alert, or a pattern")
    name, at, _ = what.partition(" @")
    if expected and not (at and name.strip("*? ")):
        raise Fault(
            f"{what!r} names no case: write NAME @system:partition+environ as verdicts do; * "
            "stands for any part of it, but no pattern may excuse whatever fails"
        )
    ack = Ack(what, reason, _end(what, until, now, expected), _user(), now, expected)
    covered = [alert for alert in alerts if ack.covers(alert)]
    if not covered and not is_pattern(what):
        there = "\n".join(f"  {alert.id}  {alert.line}" for alert in alerts)
        raise Fault(
            f"no open alert has the id {what!r}; "
            + (f"open are:\n{there}" if there else "none is open")
            + "\n`acceptance gate --send` takes note of what it finds, then it has an id here"
        )
    with state_files.locked(folder / "acks.lock", PATIENCE):
        state_files.write(folder / _ACKS, [*(one for one in load(folder) if one.what != what), ack])
    return ack, covered


def _end(what: str, until: str, now: datetime, expected: bool) -> date:
    today = now.astimezone().date()
    pattern = is_pattern(what) and not expected
    latest = today + (LONGEST_OF_PATTERN if pattern else LONGEST)
    try:
        end = date.fromisoformat(until)
    except ValueError:
        raise Fault(f"{until!r} is no date; write it like {today + timedelta(14)}") from None
    if end <= today:
        raise Fault(f"{until} is not in the future; today is {today}")
    if end > latest:
        far = f"{LONGEST_OF_PATTERN.days} days, the longest for a pattern," if pattern else "a year"
        raise Fault(f"{until} is more than {far} away; the latest is {latest}")
    return end


def remove(what: str, folder: Path) -> Ack:
    """Take an acknowledgement back, by its id or pattern.

    Raises Fault when there is none.
    """
    with state_files.locked(folder / "acks.lock", PATIENCE):
        acks = load(folder)
        found = [ack for ack in acks if ack.what == what]
        if not found:
            there = ", ".join(repr(ack.what) for ack in acks)
            raise Fault(f"nothing is acknowledged as {what!r}; there are: {there or 'none'}")
        state_files.write(folder / _ACKS, [ack for ack in acks if ack.what != what])
    return found[0]


def _user() -> str:
    try:
        return one_line(os.environ.get("USER") or getpass.getuser())
    except (KeyError, OSError):  # a container without an entry for this user
        return f"user {os.getuid()}"

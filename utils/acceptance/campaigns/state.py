"""Campaigns: runs of ReFrame one after the other, which go on where a kill has stopped them.

Everything is in `var/campaigns/`: `lock`, held by the one campaign that runs and by its ReFrame,
and of each campaign `<id>/state.json` and `<id>/log.txt`. A step whose ReFrame came to its end is
not repeated. Of one that was stopped, what has passed or failed by then stays, as far as ReFrame
could store it (it can unless it was killed with SIGKILL, or the machine went down); the rest runs.
"""

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from acceptance.core import machine, state_files
from acceptance.core.errors import Fault
from acceptance.core.records import from_json
from acceptance.machine import SlurmNode

#: States of a step.
PENDING, RUNNING, INTERRUPTED, DONE, NOT_PROVIDED = (
    "pending",
    "running",
    "interrupted",
    "done",
    "not provided",
)

#: Hours after which an unfinished night is no longer gone on with.
SAME_NIGHT = 20.0


class CampaignFault(Fault):
    """A campaign that cannot run, or be read: why, and what to do."""


class Attempt(Struct, forbid_unknown_fields=True):
    """One run of ReFrame: its label, its exit status (negative: a signal) and its session.

    It is `empty` when all tests were over before, so that ReFrame had nothing to select.
    """

    run: str
    started: str
    ended: str = ""
    status: int | None = None
    session: str = ""
    empty: bool = False


class Step(Struct, forbid_unknown_fields=True):
    """A step, one run of ReFrame, and what became of it.

    `arguments` are those after `reframe`, without a label. `reason` says why nothing is run:
    nothing provides the suite; it is empty where something does. `remedy` is what to do if it shall
    be run. `pinned` are the nodes that it runs on, as `launch` writes pins; empty for any.
    """

    name: str
    files: tuple[str, ...]
    arguments: tuple[str, ...]
    state: str = PENDING
    reason: str = ""
    attempts: list[Attempt] = field(default_factory=list)
    remedy: str = ""
    pinned: str = ""

    @property
    def last(self) -> Attempt | None:
        """Return the attempt that came to its end, and had something to run."""
        ended = self.attempts[-1] if self.state == DONE and self.attempts else None
        return None if ended is None or ended.empty else ended

    @property
    def kept(self) -> list[Attempt]:
        """Return the attempts that were stopped and whose session nevertheless counts."""
        return [run for run in self.attempts if run.session and run is not self.last]


class State(Struct, forbid_unknown_fields=True):
    """A campaign; `asked` are the arguments that a campaign must share to be gone on with.

    `campaigns` is the folder of all of them, and no part of what is stored. `people` are operator,
    vendor and customer, as they were last named. `nodes` are those of each partition (by its
    name) whose scheduler can be asked, as it had them when the campaign began.
    """

    id: str
    kind: str
    asked: dict[str, Any]
    started: str
    steps: list[Step]
    ended: str = ""
    status: int | None = None
    summary: str = ""
    notes: list[str] = field(default_factory=list)
    people: dict[str, str] = field(default_factory=dict)
    nodes: dict[str, list[SlurmNode]] = field(default_factory=dict)
    campaigns: Path = Path()

    @property
    def limited(self) -> dict[str, list[str]]:
        """Return the nodes of each partition that the operator limited it to; empty for all."""
        limited: dict[str, list[str]] = self.asked.get("nodes", {})
        return limited

    @property
    def last_change(self) -> datetime:
        """Return when it ended, or when the last thing began or ended that is known of it."""
        runs = [run for step in self.steps for run in step.attempts]
        times = [self.started, self.ended]
        times += [time for run in runs for time in (run.started, run.ended)]
        return max(datetime.fromisoformat(time) for time in times if time)

    @property
    def folder(self) -> Path:
        """Return where its files are."""
        return self.campaigns / self.id

    @property
    def log(self) -> Path:
        """Return the file that all output is appended to."""
        return self.folder / "log.txt"

    def save(self) -> None:
        """Write the state; raises StoredFault."""
        stored = {name: getattr(self, name) for name in self.__struct_fields__[:-1]}
        state_files.write(self.folder / "state.json", stored)


def load(path: Path) -> State:
    """Read a `state.json`; raises CampaignFault, with the file."""
    try:
        state: State | None = state_files.read(path, State)
        if state is None:
            raise ValueError("there is no such file")
        if state.last_change.tzinfo is None:
            raise ValueError(f"{state.started!r} has no time zone")
        state.campaigns = path.parents[1]
        return state
    except (state_files.StoredFault, ValueError, TypeError) as err:
        raise CampaignFault(
            f"{path}: no state of a campaign: {err}; restore it, or take it away and use --new"
        ) from None


def unfinished(
    campaigns: Path,
    kind: str,
    asked: Mapping[str, Any],
    now: datetime,
    hours: float | None = None,
) -> State | None:
    """Return the newest campaign of a kind that was asked for the same, if it has not ended.

    An older one that has not ended was given up when the newest one began. `hours` is how old it
    may be. A state that cannot be read is none.
    """
    found = [state for state in readable(campaigns, f"{kind}-*") if state.asked == dict(asked)]
    # Of two that began in one second the second one has a number.
    newest = max(found, key=lambda state: (state.started, len(state.id), state.id), default=None)
    if newest is None or newest.ended:
        return None
    age = now - datetime.fromisoformat(newest.started)
    return newest if hours is None or age <= timedelta(hours=hours) else None


def given_up(besides: State) -> Iterator[tuple[State, Step]]:
    """Yield the steps of other campaigns whose ReFrame no campaign has seen the end of.

    For whoever holds the lock: nobody waits for them any more, but their jobs may still be there.
    """
    for state in readable(besides.campaigns):
        if not state.ended and state.id != besides.id:
            yield from ((state, step) for step in state.steps if step.state == RUNNING)


def readable(campaigns: Path, pattern: str = "*") -> Iterator[State]:
    """Yield the campaigns whose state can be read, those that began last first."""
    for path in sorted(campaigns.glob(f"{pattern}/state.json"), reverse=True):
        with contextlib.suppress(CampaignFault):
            yield load(path)


def begin(
    campaigns: Path,
    kind: str,
    asked: Mapping[str, Any],
    steps: Sequence[Step],
    now: datetime,
    nodes: Mapping[str, list[SlurmNode]] | None = None,
    notes: Sequence[str] = (),
) -> State:
    """Return a new campaign, which is not stored yet; `nodes` are those of its partitions."""
    name = base = f"{kind}-{now.astimezone().strftime('%Y-%m-%dT%H%M%S')}"
    number = 1
    while (campaigns / name).exists():
        number += 1
        name = f"{base}.{number}"
    state = State(name, kind, dict(asked), stamp(now), [*steps], notes=[*notes])
    state.nodes, state.campaigns = dict(nodes or {}), campaigns
    return state


def now() -> datetime:
    """Return the time, with a time zone."""
    return datetime.now(timezone.utc)


def stamp(when: datetime) -> str:
    """Write a time to the second, ISO 8601."""
    return when.isoformat(timespec="seconds")


#: Bytes of what stands in a lock.
_LONGEST = 4096


class Busy(CampaignFault):
    """Another campaign runs."""


class _Holder(Struct, frozen=True):
    pid: int
    host: str
    since: str
    what: str
    campaign: str = ""
    began: str = ""

    @property
    def is_here(self) -> bool:
        """Tell whether it runs on this host, and that is known for sure."""
        here = self.host == socket.gethostname()
        return here and bool(self.began) and machine.ticks(self.pid) == self.began

    @property
    def is_gone(self) -> bool:
        """Tell whether it was killed: that is seen on its own host only."""
        ticks = machine.ticks(self.pid)
        return self.host == socket.gethostname() and (not ticks or ticks != (self.began or ticks))

    @property
    def text(self) -> str:
        """Say who holds the lock, and what to do."""
        who = f"{self.what} runs since {self.since} (PID {self.pid})"
        if self.host != socket.gethostname():
            # Several login nodes may share a folder; their processes cannot be seen from here.
            return f"{who} on {self.host}; wait for it, or end it there: kill {self.pid}"
        if self.is_gone:
            return f"{who} was killed, and its ReFrame is still ending; try again in a minute"
        return f"{who}; wait for it, or end it: kill {self.pid}"


@contextlib.contextmanager
def locked(campaigns: Path, what: str) -> Iterator[int]:
    """Hold the lock of all campaigns; gives the file's descriptor, for ReFrame to hold it, too.

    Raises Busy, in one line, when another campaign or its ReFrame holds it, also where it was
    granted to both.
    """
    path = campaigns / "lock"
    try:
        campaigns.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as err:
        raise CampaignFault(f"{path}: cannot be written: {err.strerror or err}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            told = f"{path} is held by another process; try again later"
            with contextlib.suppress(ValueError):
                told = _decoded(os.pread(descriptor, _LONGEST, 0)).text
            raise Busy(told) from None
        except OSError as err:
            raise CampaignFault(
                f"{path}: cannot be locked: {err.strerror or err}; mount it with locks "
                "(Lustre: -o flock), or let ACCEPTANCE_VAR name a folder that has them"
            ) from None
        with contextlib.suppress(OSError, ValueError):
            before = _decoded(os.pread(descriptor, _LONGEST, 0))
            if before.is_here and before.pid != os.getpid():
                why = "its lock was granted all the same: locks do not work there"
                raise Busy(f"{before.text}; {why}: {path}")
        began = machine.ticks(os.getpid())
        holder = _Holder(os.getpid(), socket.gethostname(), stamp(now()), what, began=began)
        # Who holds it is for people; a full disk is reported where something has to be kept.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, msgspec.json.encode(holder), 0)
        yield descriptor
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def name_holder(lock: int, state: State) -> None:
    """Note in the lock which campaign its holder runs."""
    with contextlib.suppress(OSError, ValueError):
        holder = _decoded(os.pread(lock, _LONGEST, 0))
        os.pwrite(lock, msgspec.json.encode(replace(holder, campaign=state.id)), 0)


def holder(state: State) -> str:
    """Say who runs a campaign; empty where nobody does."""
    try:
        known = _decoded((state.campaigns / "lock").read_bytes())
    except (OSError, ValueError):
        return ""
    return known.text if known.campaign == state.id and not known.is_gone else ""


def _decoded(data: bytes) -> _Holder:
    found: _Holder = from_json(data, _Holder)
    return found

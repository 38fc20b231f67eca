"""The lock of all campaigns: one runs at a time, and who that is can be asked."""

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from acceptance.campaigns.state import CampaignFault, State, now, stamp

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

    @property
    def is_here(self) -> bool:
        return self.host == socket.gethostname()

    @property
    def is_gone(self) -> bool:
        return not Path(f"/proc/{self.pid}").exists()


@contextlib.contextmanager
def locked(campaigns: Path, what: str) -> Iterator[int]:
    """Hold the lock of all campaigns; gives the file's descriptor, for ReFrame to hold it, too.

    Raises Busy, in one line, when another campaign or its ReFrame holds it.
    """
    path = campaigns / "lock"
    try:
        campaigns.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as err:
        raise CampaignFault(f"{path}: cannot be written: {err.strerror or err}") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(_told(path, os.pread(descriptor, _LONGEST, 0))) from None
        except OSError as err:
            raise CampaignFault(
                f"{path}: cannot be locked: {err.strerror or err}; mount it with locks "
                "(Lustre: -o flock), or let ACCEPTANCE_VAR name a folder that has them"
            ) from None
        holder = _Holder(os.getpid(), socket.gethostname(), stamp(now()), what)
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
        holder = msgspec.json.decode(os.pread(lock, _LONGEST, 0), type=_Holder)
        os.pwrite(lock, msgspec.json.encode(replace(holder, campaign=state.id)), 0)


def holder(state: State) -> str:
    """Say who runs a campaign; empty where nobody does."""
    path = state.campaigns / "lock"
    try:
        data = path.read_bytes()
        known = msgspec.json.decode(data, type=_Holder)
    except (OSError, ValueError):
        return ""
    runs = known.campaign == state.id and not (known.is_here and known.is_gone)
    return _told(path, data) if runs else ""


def _told(path: Path, data: bytes) -> str:
    """Say who holds the lock, by what stands in it, and what to do."""
    try:
        holder = msgspec.json.decode(data, type=_Holder)
    except ValueError:
        return f"{path} is held by another process; try again later"
    who = f"{holder.what} runs since {holder.since} (PID {holder.pid})"
    if not holder.is_here:
        # Several login nodes may share a folder; their processes cannot be seen from here.
        return f"{who} on {holder.host}; wait for it, or end it there: kill {holder.pid}"
    if holder.is_gone:
        return f"{who} was killed, and its ReFrame is still ending; try again in a minute"
    return f"{who}; wait for it, or end it: kill {holder.pid}"

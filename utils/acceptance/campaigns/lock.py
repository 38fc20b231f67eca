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
    def is_gone(self) -> bool:
        """Tell whether it was killed: that is seen on its own host only."""
        return self.host == socket.gethostname() and not Path(f"/proc/{self.pid}").exists()

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
            told = f"{path} is held by another process; try again later"
            with contextlib.suppress(ValueError):
                told = _decoded(os.pread(descriptor, _LONGEST, 0)).text
            raise Busy(told) from None
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
    return msgspec.json.decode(data, type=_Holder)

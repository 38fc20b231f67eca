"""The lock of all campaigns: one runs at a time, and who that is can be asked."""

import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from acceptance.campaigns.state import CampaignFault, State, now, stamp


class Busy(CampaignFault):
    """Another campaign runs."""


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
            holder_text = os.pread(descriptor, 4096, 0).decode(errors="replace")
            raise Busy(_holder(path, holder_text)) from None
        except OSError as err:
            raise CampaignFault(
                f"{path}: cannot be locked: {err.strerror or err}; mount it with locks "
                "(Lustre: -o flock), or let ACCEPTANCE_VAR name a folder that has them"
            ) from None
        holder = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": stamp(now()),
            "what": what,
        }
        # Who holds it is for people; a full disk is reported where something has to be kept.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(holder).encode(), 0)
        yield descriptor
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def name_holder(lock: int, state: State) -> None:
    """Note in the lock which campaign its holder runs."""
    with contextlib.suppress(OSError, ValueError):
        holder = json.loads(os.pread(lock, 4096, 0))
        text = json.dumps({**holder, "campaign": state.id}).encode()
        os.pwrite(lock, text, 0)


def holder(state: State) -> str:
    """Say who runs a campaign; empty where nobody does."""
    path = state.campaigns / "lock"
    try:
        text = path.read_text(encoding="utf-8")
        known = json.loads(text)
        alive = known["host"] != socket.gethostname() or Path(f"/proc/{known['pid']}").exists()
        return _holder(path, text) if known.get("campaign") == state.id and alive else ""
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""


def _holder(path: Path, text: str) -> str:
    try:
        holder = json.loads(text)
        who = f"{holder['what']} runs since {holder['since']} (PID {holder['pid']})"
        host = holder["host"]
        gone = not Path(f"/proc/{holder['pid']}").exists()
    except (ValueError, KeyError, TypeError):
        return f"{path} is held by another process; try again later"
    if host != socket.gethostname():
        # Several login nodes may share a folder; their processes cannot be seen from here.
        return f"{who} on {host}; wait for it, or end it there: kill {holder['pid']}"
    if gone:
        return f"{who} was killed, and its ReFrame is still ending; try again in a minute"
    return f"{who}; wait for it, or end it: kill {holder['pid']}"

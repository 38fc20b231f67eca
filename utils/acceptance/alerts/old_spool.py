"""Undelivered messages in files of their own, `spool/*.json`, as release 0.1 kept them: read once.

A message whose serial is beyond that of the state was never committed: it is made again.
"""

from collections.abc import Iterator
from pathlib import Path

from acceptance.alerts.messages import Message
from acceptance.core import state_files


def messages(
    folder: Path, serial: int | None, notes: list[str], *, aside: bool
) -> Iterator[Message]:
    """Yield the messages up to a serial (None: all), the oldest first.

    A file that holds none is put `aside` and noted. Raises StoredFault.
    """
    for path in sorted((folder / "spool").glob("*.json")):
        try:
            data = state_files.read(path)
            number, message = int(data.pop("serial")), Message(**data)
        except (ValueError, TypeError, KeyError, AttributeError):
            kept = f"; kept as {state_files.put_aside(path).name}, not sent" if aside else ""
            notes.append(f"{path}: malformed, no message{kept}")
            continue
        if serial is None or number <= serial:
            yield message


def clear(folder: Path) -> None:
    """Remove the files, once the state has their messages. Raises StoredFault."""
    for path in (folder / "spool").glob("*.json"):
        try:
            path.unlink()
        except OSError as err:
            raise state_files.StoredFault(f"{path}: cannot be removed: {err.strerror}") from None

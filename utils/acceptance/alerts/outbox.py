"""Messages that wait for a target: a file for each message and target, removed once delivered.

Every message is spooled before it is sent, so that a kill loses none. A kill between the delivery
and the removal of the file has the message sent twice: delivery is at least once.
"""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from acceptance.core import state_files

_NAME = re.compile(r"\d{8}-[\w.+-]+\.json")


@dataclass(frozen=True)
class Message:
    """A message for one target; `created` is an ISO 8601 time.

    Messages of one run have one `serial`, which grows; `attempts` have failed, the last one
    because of `why`. Raises ValueError for what is no message.
    """

    serial: int
    target: str
    created: str
    subject: str
    body: str
    attempts: int = 0
    why: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no message."""
        for value in (self.target, self.subject, self.body, self.why):
            if not isinstance(value, str):
                raise ValueError(f"{value!r} is no text")
        if not isinstance(self.serial, int) or not isinstance(self.attempts, int):
            raise ValueError("serial and attempts are integers")
        if datetime.fromisoformat(self.created).tzinfo is None:
            raise ValueError(f"{self.created!r} has no time zone")

    def age(self, now: datetime) -> str:
        """Say how old it is."""
        hours = (now - datetime.fromisoformat(self.created)).total_seconds() / 3600
        return f"{hours:.0f} h" if hours < 48 else f"{hours / 24:.0f} days"


class Spool:
    """The folder of undelivered messages; whoever changes it holds the lock of the alerts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, message: Message) -> Path:
        return self.folder / f"{message.serial:08d}-{message.target}.json"

    def messages(self) -> tuple[list[Message], list[Path]]:
        """Return all messages, oldest first, and the paths of what is none.

        Raises StoredFault for a file that cannot be read.
        """
        found: list[Message] = []
        malformed: list[Path] = []
        if not self.folder.is_dir():
            return found, malformed
        for path in sorted(self.folder.glob("*.json")):
            try:
                message = Message(**state_files.read(path))
                if not _NAME.fullmatch(path.name) or self._path(message) != path:
                    raise ValueError("its name is not that of its content")
                found.append(message)
            except (ValueError, TypeError):
                malformed.append(path)
        return found, malformed

    def put(self, messages: Iterable[Message]) -> None:
        """Store messages, in place of those of the same serial and target. Raises StoredFault."""
        for message in messages:
            state_files.write(self._path(message), asdict(message))

    def failed(self, message: Message, why: str) -> None:
        """Store that another attempt has failed. Raises StoredFault."""
        self.put([replace(message, attempts=message.attempts + 1, why=why)])

    def remove(self, message: Message) -> None:
        """Forget a message: it was delivered, or nobody wants it. Raises StoredFault."""
        path = self._path(message)
        try:
            path.unlink(missing_ok=True)
            path.with_name(path.name + ".part").unlink(missing_ok=True)
        except OSError as err:
            raise state_files.StoredFault(
                f"{path}: cannot be removed: {err.strerror or err}"
            ) from None

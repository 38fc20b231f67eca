"""A session as it is stored: where it stands, what it holds, and what can be wrong with it."""

from pathlib import Path
from typing import NamedTuple

from acceptance.core.errors import Fault


class ResultsFault(Fault):
    """A results database that cannot be read: which, why, and what to do."""


class SessionFault(ResultsFault):
    """A session that cannot be read, or is not what was stored, in a database that can.

    `reason` says what is wrong without the name of the session.
    """

    def __init__(self, database: Path, uuid: str, reason: str) -> None:
        self.uuid, self.reason = uuid, reason
        remedy = f"--forget {uuid[:8]} leaves it out, --trust {uuid[:8]} takes it"
        super().__init__(f"{database}: session {uuid} {reason}; acceptance sessions {remedy}")


class Row(NamedTuple):
    """Where a session stands, and what its row says: times in s since the epoch.

    `number` is that of its row in the database, now or when it was archived; `file` the file of
    the archive that holds it, None where the database does.
    """

    uuid: str
    start: float
    end: float
    number: int
    file: Path | None = None


class StoredSession(NamedTuple):
    """A session as it stands there: times in s since the epoch; its sum, its JSON.

    `kept` is the sum that it was archived with; empty in the database.
    """

    uuid: str
    start: float
    end: float
    sum: str
    blob: bytes
    kept: str = ""

    def text(self, database: Path) -> str:
        """Return its JSON; raises SessionFault where that is no text."""
        try:
            return self.blob.decode()
        except UnicodeDecodeError as err:
            raise SessionFault(database, self.uuid, f"is malformed: {err!r}") from None

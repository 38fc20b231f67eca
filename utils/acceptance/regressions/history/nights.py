"""Nights: which sessions of a partition belong together."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from acceptance.regressions.history.series import PastSession

Partition = tuple[str, str]


class Nights:
    """The nights on which each partition was measured, numbered from 0 in the order of storing.

    A night is from noon to noon, local time, by the start of the session. Partitions are
    `(system, partition)`.
    """

    def __init__(self, sessions: Iterable[PastSession]) -> None:
        self._numbers: dict[Partition, dict[int, int]] = {}
        dates: dict[tuple[Partition, int], int] = {}
        self._first: dict[Partition, list[PastSession]] = {}
        for session in sessions:
            date = night(session.start)
            for partition in session.partitions:
                first = self._first.setdefault(partition, [])
                if (partition, date) not in dates:
                    dates[partition, date] = len(first)
                    first.append(session)
                self._numbers.setdefault(partition, {})[session.number] = dates[partition, date]

    def of(self, partition: Partition, session: PastSession) -> int:
        """Return the number of a session's night."""
        return self._numbers[partition][session.number]

    def by_session(self, partition: Partition) -> dict[int, int]:
        """Return number of session -> number of its night."""
        return self._numbers[partition]

    def first(self, partition: Partition, number: int) -> PastSession:
        """Return the first session of a night."""
        return self._first[partition][number]

    def last(self, partition: Partition) -> int:
        """Return the number of the newest night of a partition."""
        return len(self._first[partition]) - 1


def night(time: float) -> int:
    """Return the number of the day on which a night began; `time` is in s since the epoch."""
    return (datetime.fromtimestamp(time).astimezone() - timedelta(hours=12)).toordinal()

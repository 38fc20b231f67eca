"""What changed in one series, and on one night of a partition, and the alerts of these."""

from dataclasses import dataclass

from acceptance.alerts import Alert
from acceptance.regressions.history.series import PastSession, Series


@dataclass(frozen=True, eq=False)
class Change:
    """A change of one series for the worse; kinds as in `alerts/alert.py`.

    `session` is the first one after the change and `time` (s since the epoch) that of its sample;
    `decided` is the session whose sample was the evidence. It is `over` with a session, or still
    open (None). `before` and `after` are in the series' unit, None where there are no numbers.
    `within` is how many nights the beginning may be off. With a `node` it is a change of what was
    measured on this node.
    """

    series: Series
    kind: str
    session: PastSession
    decided: PastSession
    time: float
    before: float | None
    after: float | None
    confidence: float
    over: PastSession | None = None
    text: str = ""
    within: int = 0
    node: str = ""

    @property
    def partition(self) -> tuple[str, str]:
        """Return system and partition."""
        return self.series.case.key.system, self.series.case.key.partition


@dataclass(frozen=True, eq=False)
class SlowNight:
    """A night on which nearly everything on a partition was worse, and what of it was.

    `night` counts the partition's nights, `session` is the first one of that night.
    """

    partition: tuple[str, str]
    night: int
    session: PastSession
    changes: tuple[Change, ...]


@dataclass(frozen=True, eq=False)
class OpenIncident:
    """An incident that is not over: its alert, and the change of each series that belongs to it."""

    alert: Alert
    changes: tuple[Change, ...]

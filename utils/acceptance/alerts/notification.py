"""What became of the alerts of one run: what is new, what ended, who took it, who did not."""

from dataclasses import asdict, dataclass, field
from typing import Any

from acceptance.alerts.acknowledgements import Ack
from acceptance.alerts.alert import Alert


@dataclass(frozen=True)
class Failure:
    """A target that did not take a message: why, how many wait for it, how old the oldest is."""

    target: str
    why: str
    waiting: int
    age: str

    def __str__(self) -> str:
        """Say it in one line."""
        kept = "1 message is" if self.waiting == 1 else f"{self.waiting} messages are"
        return (
            f"target {self.target}: {self.why}; {kept} kept (the oldest for {self.age}) and "
            "sent next time"
        )


@dataclass
class Notification:
    """What became of the alerts of one run.

    `new` were seen for the first time, `lapsed` are no longer acknowledged and sent again,
    `standing` were sent before, `acknowledged` are only listed, `ended` are there no more.
    `delivered` counts the messages that each target took, older ones included.
    """

    new: list[Alert] = field(default_factory=list)
    lapsed: list[Alert] = field(default_factory=list)
    standing: list[Alert] = field(default_factory=list)
    acknowledged: list[tuple[Alert, Ack]] = field(default_factory=list)
    ended: list[Alert] = field(default_factory=list)
    delivered: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def open(self) -> list[Alert]:
        """Return the alerts that are open and not acknowledged."""
        return [*self.new, *self.lapsed, *self.standing]

    def lines(self) -> list[str]:
        """Return it for a terminal, a line each."""
        groups = {
            "new": self.new,
            "no longer acknowledged": self.lapsed,
            "still open": self.standing,
            "ended": self.ended,
        }
        said = [
            f"{word}: {alert.line} [{alert.id}]"
            for word, alerts in groups.items()
            for alert in alerts
        ]
        said += [f"{ack.text}: {alert.line} [{alert.id}]" for alert, ack in self.acknowledged]
        said += [f"sent to {name}: {number}" for name, number in self.delivered.items()]
        return [*said, *map(str, self.failures), *self.notes]

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        data: dict[str, Any] = {
            name: [alert.as_data() for alert in getattr(self, name)]
            for name in ("new", "lapsed", "standing", "ended")
        }
        data["acknowledged"] = [
            {**alert.as_data(), "acknowledgement": asdict(ack)} for alert, ack in self.acknowledged
        ]
        data["delivered"] = dict(self.delivered)
        data["failures"] = [asdict(failure) for failure in self.failures]
        return {**data, "notes": list(self.notes)}

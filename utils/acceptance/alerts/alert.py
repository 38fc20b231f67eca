"""Alerts: what is wrong for one reason is one alert, however many metrics or cases show it."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from acceptance.core.words import Direction, is_simulated

#: Kind of an incident of the history -> what one and several of them are called.
HISTORY = {
    "regression": ("regression", "regressions"),
    "drift": ("drift", "drifts"),
    "vanished": ("vanished metric", "vanished metrics"),
    "unit": ("changed unit", "changed units"),
    "machine": ("change of the machine", "changes of the machine"),
}
#: The same for what is wrong in a run by itself: links of a node, cases, the run as a whole, and
#: many of these at once; and for a node that Slurm gives no jobs, of which no verdict is red.
NODE, FAILURE, UNMEASURED, MANY, AWAY = "node", "failure", "unmeasured", "many", "away"
KINDS = HISTORY | {
    NODE: ("faulty node", "faulty nodes"),
    FAILURE: ("failure", "failures"),
    UNMEASURED: ("missing measurement", "missing measurements"),
    MANY: ("group of failures", "groups of failures"),
    AWAY: ("node not up", "nodes not up"),
}

#: A time with its zone, as it is stored.
Time = Annotated[datetime, Meta(tz=True)]


class Alert(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that is wrong; of the history the metric that shows it best, and all with it.

    `id` is stable as long as the incident lasts. `before` and `after` are levels in `unit`,
    `change` is after / before - 1; they are None where there is no such number (kinds vanished and
    unit). `direction` is the better one, None where the unit has none. `since` is the time of the
    first sample after the change (ISO 8601), `confidence` lies in 0..1, `cause` is what the metrics
    have in common, and `metrics` are those that moved too, without `metric` itself.

    What is wrong in a run by itself has no metric but a `text`; `check` is a node, a benchmark or
    the kind of a problem. It ends when its `cases` have passed on its `nodes`, or where it has
    neither when a run of the same `sort` (nightly, accept; empty: by hand) is without it; where
    nodes are slow, when they are `compared` again in each of these quantities, `fabric` where it is
    of that. `parts` are the ids of the alerts that it stands for.

    Raises ValueError for an unknown kind.
    """

    id: Annotated[str, Meta(min_length=1)]
    kind: str
    system: str
    partition: str
    environ: str
    check: str
    since: str
    metric: str = ""
    unit: str = ""
    direction: Direction | None = None
    before: float | None = None
    after: float | None = None
    change: float | None = None
    confidence: float = 1.0
    cause: str = ""
    metrics: tuple[str, ...] = ()
    text: str = ""
    nodes: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    sort: str = ""
    compared: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is no alert."""
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind of alert {self.kind!r}; known: {', '.join(KINDS)}")

    @property
    def where(self) -> str:
        """Return `system:partition+environ`, as ReFrame writes it, as far as it is known."""
        partition = f":{self.partition}" if self.partition else ""
        return f"{self.system}{partition}" + (f"+{self.environ}" if self.environ else "")

    @property
    def name(self) -> str:
        """Return `system:partition+environ check metric`, which patterns are compared with."""
        return f"{self.where} {self.subject}"

    @property
    def subject(self) -> str:
        """Return what is wrong there: check and metric, or what takes their place."""
        return f"{self.check} {self.metric}".strip()

    @property
    def simulated(self) -> bool:
        """Tell whether it is of a simulated system."""
        return is_simulated(self.system)

    @property
    def of_history(self) -> bool:
        """Tell whether the history shows it, not a run by itself."""
        return self.kind in HISTORY

    @property
    def extent(self) -> str:
        """Say how much changed: `34 % worse`; empty where there is no number."""
        if self.change is None:
            return ""
        per_cent = f"{abs(self.change) * 100:.3g} %"
        if self.direction is None:
            return f"{per_cent} {'more' if self.change > 0 else 'less'}"
        worse = (self.change > 0) == (self.direction == "lower")
        return f"{per_cent} {'worse' if worse else 'better'}"

    @property
    def line(self) -> str:
        """Return the incident as one sentence for people."""
        what = self._what()
        beside = []
        if self.metrics:
            plural = "" if len(self.metrics) == 1 else "s"
            beside.append(f"with {len(self.metrics)} related metric{plural}")
        if self.cause:
            beside.append(self.cause)
        return f"{self.name}: {what}" + (f" ({'; '.join(beside)})" if beside else "")

    def _what(self) -> str:
        since = f"since {self.since[:10]}"
        if not self.of_history:
            return f"{self.text} {since}"
        if self.kind == "vanished":
            return f"no longer measured {since}"
        if self.kind == "unit":
            return f"its unit changed, now {self.unit or 'none'}, {since}"
        levels = ""
        if self.before is not None and self.after is not None:
            levels = f"{self.before:.4g} -> {self.after:.4g} {self.unit}".rstrip()
        drifts = "drifting" if self.kind == "drift" else ""
        words = ", ".join(filter(None, (levels, drifts, self.extent))) or KINDS[self.kind][0]
        return f"{words} {since}"

    def __str__(self) -> str:
        """Return the sentence for people."""
        return self.line


class Entry(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An alert: when it was seen first and last, and when each target was told of it.

    `acknowledged` says who has acknowledged it; `lapsed` who did, until every target was told that
    it is still open. One that has `ended` is kept until every target was told so, too.
    """

    alert: Alert
    opened: Time
    seen: Time
    told: dict[str, Time] = {}
    acknowledged: str = ""
    lapsed: str = ""
    ended: Time | None = None

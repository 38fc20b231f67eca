"""Two alerts, and the short way to send them."""

from datetime import datetime, timedelta, timezone

from msgspec.structs import replace

from acceptance.alerts import notify, targets
from acceptance.alerts.alert import Alert

NOW = datetime(2026, 11, 21, 6, 0, tzinfo=timezone.utc)
DAY = timedelta(days=1)

ALERT = Alert(
    id="3fa2c1",
    kind="regression",
    system="local",
    partition="default",
    environ="wheels",
    check="ImbMpi1 PingPong",
    metric="latency_8",
    unit="us",
    direction="lower",
    before=1.21,
    after=1.62,
    change=1.62 / 1.21 - 1,
    since="2026-11-18T02:11:09+00:00",
    confidence=0.998,
    cause="all of node17",
    metrics=tuple(f"latency_{2**power}" for power in range(4, 18)),
)
OTHER = replace(
    ALERT, id="77b0", metric="bandwidth_peak", unit="MB/s", direction="higher",
    before=2575.0, after=1900.0, change=1900 / 2575 - 1, cause="", metrics=(),
)  # fmt: skip


def named(*urls):
    """Return targets of these URLs and no others."""
    return targets.load({"ACCEPTANCE_ALERTS": " ".join(urls), "XDG_CONFIG_HOME": "/nonexistent"})


def update(folder, found, *urls, now=NOW, **more):
    """Take note of the alerts found, and send to these URLs."""
    return notify.update(found, now, folder, to=named(*urls), **more)

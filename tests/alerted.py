"""Two alerts, and the short way to send them."""

from datetime import datetime, timedelta, timezone

from msgspec.structs import replace

from acceptance.alerts import Alert, notify, targets
from acceptance.core.findings import Finding

NOW = datetime(2026, 11, 21, 6, 0, tzinfo=timezone.utc)
DAY = timedelta(days=1)

FINDING = Finding(
    "regression",
    "1.21 -> 1.62 us, 33.9 % worse since 2026-11-18 (with 14 related metrics; all of node17)",
    fails=True,
    device="ImbMpi1 PingPong",
    what="latency_8",
    found="1.62 us, 33.9 % worse",
    expected="1.21 us",
    source="history",
    where="local:default+wheels",
    since="2026-11-18T02:11:09+00:00",
)
ALERT = Alert("3fa2c1", FINDING)
OTHER = Alert("77b0", replace(
    FINDING, text="2575 -> 1900 MB/s, 26.2 % worse since 2026-11-18", what="bandwidth_peak",
    found="1900 MB/s, 26.2 % worse", expected="2575 MB/s",
))  # fmt: skip


def of(alert, name=None, **changes):
    """Return an alert, with another id, and its finding changed."""
    return replace(alert, id=name or alert.id, finding=replace(alert.finding, **changes))


def ids(alerts):
    """Return the ids of alerts, whatever their state."""
    return [alert.id for alert in alerts]


def named(*urls):
    """Return targets of these URLs and no others."""
    return targets.load({"ACCEPTANCE_ALERTS": " ".join(urls), "XDG_CONFIG_HOME": "/nonexistent"})


def update(folder, found, *urls, now=NOW, **more):
    """Take note of the alerts found, and send to these URLs."""
    return notify.update(found, now, folder, to=named(*urls), **more)

"""A verdict for OpenTelemetry: metrics and findings, sent by OTLP over HTTP.

Where they go, with which headers, certificates, timeout and compression, and what the resource is
called, say the variables of OpenTelemetry (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_SERVICE_NAME`, ...;
https://opentelemetry.io/docs/specs/otel/protocol/exporter/). What Prometheus has of a verdict are
gauges here, with the same names and labels; each finding is a log record, and so is the verdict.

The packages of OpenTelemetry are the extra `otel` of this project: nothing else needs them.
"""

import logging
import os
import re
import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from acceptance.alerts import notify
from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.kinds import CRITICAL, INFO, MAJOR, MINOR
from acceptance.core.paths import INSTALLED
from acceptance.core.text import bare_url, printable
from acceptance.verdict.model import Status, Verdict
from acceptance.verdict.outputs import FAMILIES, Judged, labels_of, samples

#: The name of what sends, unless `OTEL_SERVICE_NAME` gives another one.
_NAME = "interconnect-acceptance"
#: Severity of a finding -> number and text of OpenTelemetry's data model of logs: those of ERROR2,
#: ERROR, WARN and INFO.
_SEVERITIES = {
    CRITICAL: (18, "ERROR2"),
    MAJOR: (17, "ERROR"),
    MINOR: (13, "WARN"),
    INFO: (9, "INFO"),
}
#: The same of a verdict.
_STATUSES = {
    Status.PASSED: _SEVERITIES[INFO],
    Status.FAILED: _SEVERITIES[MAJOR],
    Status.CANNOT_JUDGE: _SEVERITIES[MINOR],
}


#: What each log record has of the verdict.
_OF_BOTH = ("system", "campaign", "session", "host")
#: What a log record has of a finding beside its nodes.
_OF_FINDING = (
    *("id", "kind", "severity", "where", "what", "found", "expected", "remedy", "source"),
)
#: What of a line of the exporter is no secret.
_WHY = re.compile(r"\[Errno -?\d+\] [A-Za-z ]+|code: [1-5]\d\d\b")
#: Values, and log records, of one request.
_BATCH = 5000


def send(judged: Judged, kept: notify.Notification) -> tuple[int, int]:
    """Send verdicts with what they measured and found; return how many values and log records.

    Raises Fault where OpenTelemetry is not installed, and where nobody took what was sent.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    except ImportError as err:
        how = "'interconnect-acceptance[otel]'" if INSTALLED else "-r requirements-otel.lock"
        raise Fault(f"OpenTelemetry is not installed ({err}): pip install {how}") from None
    named = os.environ.get("OTEL_SERVICE_NAME", "")
    named_too = f"{SERVICE_NAME}=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    own = {SERVICE_VERSION: machine.version()}
    own |= {} if named or named_too else {SERVICE_NAME: _NAME}
    resource, scope = Resource.create(own), InstrumentationScope(_NAME, machine.version())
    values = [
        (family, labels_of(family, labels), value)
        for family, labels, value in samples(judged, kept)
    ]
    when = _nanoseconds(judged[0][0])
    metrics = _metrics(values, resource, scope, when)
    logs = [log for verdict, _ in judged for log in _logs(verdict, resource, scope)]
    exporter = OTLPMetricExporter(max_export_batch_size=_BATCH)
    _send(exporter, [metrics] if values else [], "metrics")
    batches = [logs[first : first + _BATCH] for first in range(0, len(logs), _BATCH)]
    _send(OTLPLogExporter(), batches, "findings")
    return len(values), len(logs)


class _Why(logging.Handler):
    """Keeps what a server answered with, or the error: the rest of a line may hold a token."""

    why = ""

    def emit(self, record: logging.LogRecord) -> None:
        if found := _WHY.search(record.getMessage()):
            self.why = f" ({found[0]})"


def _send(exporter: Any, batches: Sequence[Any], what: str) -> None:
    """Send batches with an exporter; raises Fault where one was not taken."""
    log, logger = _Why(), logging.getLogger("opentelemetry")
    logger.handlers, logger.propagate = [log], False
    try:
        for batch in batches:
            if exporter.export(batch).name != "SUCCESS":
                where = bare_url(getattr(exporter, "_endpoint", ""))
                raise Fault(
                    f"{where or 'the endpoint'}: did not take the {what}{log.why}; "
                    "OTEL_EXPORTER_OTLP_ENDPOINT says where to"
                )
    finally:
        exporter.shutdown()


def _nanoseconds(verdict: Verdict) -> int:
    """Return when a verdict was given (ns since the epoch), or now."""
    given = datetime.fromisoformat(verdict.given).timestamp() if verdict.given else time.time()
    return int(given * 1e9)


def _metrics(
    values: Sequence[tuple[str, dict[str, str], float]], resource: Any, scope: Any, when: int
) -> Any:
    """Return gauges, one for each family and unit."""
    from opentelemetry.sdk.metrics import export as data

    groups: dict[tuple[str, str], list[Any]] = {}
    for family, labels, value in values:
        point = data.NumberDataPoint(labels, when, when, float(value))
        groups.setdefault((family, labels.get("unit", "")), []).append(point)
    metrics = [
        data.Metric(family, FAMILIES[family][1], unit, data.Gauge(points))
        for (family, unit), points in groups.items()
    ]
    of_scope = data.ScopeMetrics(scope, metrics, "")
    return data.MetricsData([data.ResourceMetrics(resource, [of_scope], "")])


def _plain(value: Any) -> Any:
    """Return text without codes, and without what UTF-8 cannot hold; anything else as it is."""
    if isinstance(value, list):
        return [*map(_plain, value)]
    return printable(value) if isinstance(value, str) else value


def _logs(verdict: Verdict, resource: Any, scope: Any) -> Iterator[Any]:
    """Yield log records: what a verdict says, and each of its findings, the worst first."""
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.sdk._logs import ReadableLogRecord

    about = {name: getattr(verdict, name) for name in (*_OF_BOTH, "simulated")}
    counted = {name: getattr(verdict, name) for name in ("passed", "failed", "skipped", "not_run")}
    counted |= {"judged": sum(verdict.judged.values()), "recorded": verdict.recorded}
    counted |= {"verdict": verdict.status.word, "problems": len(verdict.problems)}
    text = f"verdict: {verdict.status.word}; {verdict.cases_text}"
    told = [("acceptance.verdict", text, _STATUSES[verdict.status], counted)]
    for each in verdict.everything:
        words = {name: getattr(each, name) for name in _OF_FINDING}
        words |= {"nodes": [*each.nodes], "fails": each.fails}
        told.append(("acceptance.finding", each.text, _SEVERITIES[each.severity], words))
    when = _nanoseconds(verdict)
    for event, body, (number, word), more in told:
        stated = {key: value for key, value in (about | more).items() if value not in ("", [])}
        attributes = {key: _plain(value) for key, value in stated.items()}
        record = LogRecord(
            timestamp=when, severity_text=word, severity_number=SeverityNumber(number),
            body=_plain(body), attributes=attributes, event_name=event,
        )  # fmt: skip
        yield ReadableLogRecord(record, resource, scope)

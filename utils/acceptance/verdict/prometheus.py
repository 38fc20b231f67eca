"""Results for monitoring: a text file for Prometheus, as node_exporter's textfile collector reads.

Values are exported as they were measured, with their `unit` as a label, not converted to base
units: a number in a dashboard is then the number of the report and of the alert. Times of sessions
are in s. Source of the format: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeAlias

from acceptance.alerts import notify
from acceptance.core import words
from acceptance.core.kinds import OF_FABRICS
from acceptance.core.text import printable
from acceptance.core.words import SIMULATED, is_simulated
from acceptance.ledger import Case, Ledger, Metric, Session
from acceptance.verdict.model import Verdict

#: Labels of everything that is of one metric; `message_size` (bytes) is empty where there is none.
LABELS = ("system", "partition", "environ", "check", "metric", "message_size", "unit")

_OF_VERDICT = ("system", "campaign")

#: Family -> its labels and what it means; all are gauges.
FAMILIES: dict[str, tuple[tuple[str, ...], str]] = {
    "acceptance_metric_value": (LABELS, "Result of what ended last, in the unit of its label."),
    "acceptance_metric_reference": (LABELS, "What the result is judged by, where it is judged."),
    "acceptance_metric_lower_limit": (LABELS, "The smallest result that passes, where there is."),
    "acceptance_metric_upper_limit": (LABELS, "The largest result that passes, where there is."),
    "acceptance_case_passed": (LABELS[:4], "1 if the case passed in the last session, 0 if not."),
    "acceptance_cases": (("system", "result"), "Cases of the last session by their result."),
    "acceptance_link_findings": (
        LABELS[:2],
        "Different findings on the links of the nodes during the last session.",
    ),
    "acceptance_fabric_finding": (
        (*LABELS[:2], "kind", "place"),
        "1 for each fault of the whole fabric in the last session: what it is, and which link.",
    ),
    "acceptance_verdict_status": (
        _OF_VERDICT,
        "Verdict on what ended last, and on the last night (campaign nightly; accept; empty: a run "
        "by hand): 0 pass, 1 failure, 2 cannot judge.",
    ),
    "acceptance_verdict_timestamp_seconds": (
        _OF_VERDICT,
        "When that ended; of a campaign that has not ended, when it last did something.",
    ),
    "acceptance_session_end_timestamp_seconds": (("system",), "When the last session ended."),
    "acceptance_session_duration_seconds": (("system",), "How long the last session took."),
    "acceptance_alerts": (("system", "state"), "Open alerts, by whether they are acknowledged."),
    "acceptance_alert_targets_failing": ((), "Targets that did not take their last message."),
}

#: Verdicts with the sessions that they are on: that on what ended last, then others.
Judged: TypeAlias = Sequence[tuple[Verdict, Sequence[Session]]]
_Samples: TypeAlias = Iterator[tuple[str, tuple[str, ...], float]]


def samples(judged: Judged, kept: notify.Notification) -> _Samples:
    """Yield family, values of its labels, and value; all values are finite.

    Of what several verdicts tell of one system the first one counts. Of a metric that was measured
    repeatedly the last value counts. Values of a case that failed for another reason than its
    performance are left out: they are not what they say.
    """
    every: set[str] = set()
    last: dict[tuple[str, tuple[str, ...]], float] = {}
    for verdict, sessions in reversed(judged):
        last |= {(family, labels): value for family, labels, value in _of_sessions(sessions)}
        systems = {case.system for session in sessions for case in session.cases}
        every |= systems
        ended = _ended(verdict, sessions)
        for system in sorted(systems) or [verdict.system]:
            of_verdict = system, verdict.sort
            last["acceptance_verdict_status", of_verdict] = verdict.status
            if ended is not None:
                last["acceptance_verdict_timestamp_seconds", of_verdict] = ended
    states = Counter((each.finding.system, each.acknowledged is not None) for each in kept.alerts)
    for system in sorted(every | {system for system, _ in states}):
        last["acceptance_alerts", (system, "open")] = states[system, False]
        last["acceptance_alerts", (system, "acknowledged")] = states[system, True]
    last["acceptance_alert_targets_failing", ()] = len(kept.failures)
    for (family, labels), value in last.items():
        if isinstance(value, int | float) and abs(value) <= sys.float_info.max:
            yield family, labels, value


def _ended(verdict: Verdict, sessions: Sequence[Session]) -> float | None:
    """Return when that ended which a verdict is on (s since the epoch), if it is known.

    A run by hand is judged whenever somebody asks: its last session says when it ended.
    """
    if not verdict.campaign and sessions:
        return max(session.end for session in sessions)
    return datetime.fromisoformat(verdict.given).timestamp() if verdict.given else None


def _of_sessions(sessions: Sequence[Session]) -> _Samples:
    """Yield what the sessions of one verdict measured: of a case that several have, the last."""
    latest: dict[tuple[str, str, int], Case] = {}
    for session in sorted(sessions, key=lambda session: session.end):
        for case in session.cases:
            if not case.fixture:
                latest[case.name, case.where, case.run_index] = case
    cases = sorted(latest.values(), key=lambda case: case.run_index)
    for system in sorted({case.system for session in sessions for case in session.cases}):
        end = max(session.end for session in sessions)
        yield "acceptance_session_end_timestamp_seconds", (system,), end
        elapsed = sum(session.elapsed for session in sessions)
        yield "acceptance_session_duration_seconds", (system,), elapsed
        first = [case for case in cases if case.system == system and case.run_index == 0]
        results_of = Counter(case.result for case in first)
        for result in sorted({"pass", "fail", "skip", *results_of}):
            yield "acceptance_cases", (system, result), results_of[result]
    findings: dict[tuple[str, str], set[str]] = {}
    for case in cases:
        findings.setdefault((case.system, case.partition), set()).update(
            finding.text
            for finding in case.findings
            if not finding.fails and finding.kind not in OF_FABRICS
        )
        for finding in case.findings:
            if finding.fails and finding.kind in OF_FABRICS:
                place = (case.system, case.partition, finding.kind, finding.device)
                yield "acceptance_fabric_finding", place, 1.0
        labels = (case.system, case.partition, case.environment, case.name)
        if case.result != "skip":
            yield "acceptance_case_passed", labels, float(case.passed)
        if case.passed or case.fail_phase == "performance":
            yield from _of_case(case, labels)
    for where, found in findings.items():
        yield "acceptance_link_findings", where, len(found)


def _of_case(case: Case, labels: tuple[str, ...]) -> _Samples:
    for metric in case.metrics:
        stem, size = words.split_metric(metric.name)
        of_metric = (*labels, stem, "" if size is None else str(size), metric.unit)
        for what, value in _numbers(metric):
            yield f"acceptance_metric_{what}", of_metric, value


def _numbers(metric: Metric) -> Iterator[tuple[str, float]]:
    yield "value", metric.value
    reference = metric.reference
    if reference is None:
        return
    yield "reference", reference
    for what, threshold in (("lower_limit", metric.lower), ("upper_limit", metric.upper)):
        if threshold is not None:  # a fraction of the reference; absolute where that is 0
            yield what, reference * (1 + threshold) if reference else threshold


def _labels(names: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    """Return the labels of a sample; of a simulated system one more says so.

    To Prometheus a label that is missing is the same as an empty one: `{simulated=""}` selects what
    was measured.
    """
    labels = {name: printable(text) for name, text in zip(names, values, strict=True)}
    return labels | ({SIMULATED: "yes"} if is_simulated(labels.get("system", "")) else {})


def prometheus(judged: Judged, kept: notify.Notification, output: Path | None = None) -> str:
    """Return the text, or write it to `output`, whole or not at all, and return an empty text.

    The textfile collector reads only names that end in `.prom`. Raises OSError.
    """
    from prometheus_client import generate_latest, write_to_textfile
    from prometheus_client.core import GaugeMetricFamily

    families = {name: GaugeMetricFamily(name, text) for name, (_, text) in FAMILIES.items()}
    for name, values, value in samples(judged, kept):
        families[name].add_sample(name, _labels(FAMILIES[name][0], values), value)
    found = [family for family in families.values() if family.samples]
    collected: Any = SimpleNamespace(collect=lambda: found)  # all that it asks of a registry
    if output is None:
        return generate_latest(collected).decode()
    write_to_textfile(str(output), collected)
    return ""


def sessions_of(verdict: Verdict, past: Ledger) -> list[Session]:
    """Return the sessions that a verdict is on; of one on none the session that was stored last.

    Raises ResultsFault when they cannot be read.
    """
    uuids = verdict.session.split()
    return [past.session(uuid) for uuid in uuids] or [past.session()]

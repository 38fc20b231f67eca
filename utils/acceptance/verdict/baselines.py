"""Checks of plain ReFrame pass with whatever they measured: baselines of their site judge them."""

from collections.abc import Sequence
from typing import Any

from acceptance import references
from acceptance.core.words import is_measured, split_metric
from acceptance.ledger import Case, Metric
from acceptance.references import Library, Reference, ReferenceFault
from acceptance.verdict.case_findings import text_of
from acceptance.verdict.evidence import Evidence
from acceptance.verdict.model import Verdict


def compare_with_baselines(verdict: Verdict, evidence: Evidence) -> None:
    """Judge what plain checks measured by the baselines of their site.

    The benchmark of such a row is the name of the case.
    """
    plain = [case for case in evidence.cases if case.plain and case.passed and not case.fixture]
    if not plain:
        return
    try:
        library = references.load(evidence.workspace.reference)
    except ReferenceFault as err:
        verdict.fail("references", str(err))
        return
    for case in plain:
        _judge(verdict, case, library)


def _judge(verdict: Verdict, case: Case, library: Library) -> None:
    place = text_of(case)
    perfvalues: dict[str, Sequence[Any]] = {}
    citations: dict[str, str] = {}
    for metric in case.metrics:
        if not is_measured(metric.value):
            continue  # a problem already
        try:
            row = _row(case, metric, library)
        except ValueError as err:
            verdict.fail("references", f"{place}: {metric.name}: {err}", place, metric.name)
            continue
        thresholds = row and library.thresholds(row)
        if not row or not thresholds:
            continue
        if metric.reference is None:  # it was counted as one that nothing judges
            verdict.recorded -= 1
            source = row.citation.split(",")[0]
            verdict.judged[source] = verdict.judged.get(source, 0) + 1
        off = references.outside(metric.value, row.value, *thresholds)
        values = (metric.value, row.value, *thresholds, metric.unit, "fail" if off else "pass")
        perfvalues[f"{case.system}:{case.partition}:{metric.name}"] = values
        citations[metric.name] = row.citation
    if misses := references.misses_text(perfvalues, citations):
        verdict.fail("off-baseline", f"{place}: {'; '.join(misses)}", place)


def _row(case: Case, metric: Metric, library: Library) -> Reference | None:
    """Return the baseline of a metric; raises ValueError as `Library.look_up`."""
    stem, size = split_metric(metric.name)
    parameters = {"environment": case.environment}
    if size is not None:
        parameters["message_size"] = str(size)
    place = case.system, case.partition, case.subject
    return library.look_up(*place, stem, parameters, metric.unit, ("baseline",))

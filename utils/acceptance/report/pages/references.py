"""The rows of `reference/` that judged what is shown, with paper and table.

Which row judged a number is told by what was stored with the number.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from acceptance.core import words
from acceptance.ledger import Case, Metric
from acceptance.references import Reference, write_parameters
from acceptance.relations import grouped
from acceptance.report import addresses
from acceptance.report.plot_model import Page
from acceptance.report.source import Source

#: Rows of references by what a metric that they judged has of them.
_Rows = Mapping[tuple[str, str, str], list[Reference]]


# The pages of sessions ask for it, too.
@lru_cache(maxsize=1)
def cited(source: Source) -> dict[int, Reference]:
    """Return the row that judged a metric, by the metric's `id`, of all sessions with a page.

    A metric without one was judged by another thing, by a row that is there no more, or not at all.
    """
    rows = grouped(_library(source), lambda row: (row.citation, row.benchmark, row.metric))
    found = ((metric, _row_of(rows, case, metric)) for case, metric in _judged(source))
    return {id(metric): row for metric, row in found if row is not None}


def _library(source: Source) -> Iterator[Reference]:
    """Yield the rows of the library, and what was recorded of systems that are simulated."""
    if source.library is None:
        return
    yield from source.library.values
    yield from source.library.baselines
    for system in dict.fromkeys(place.system for place in source.measured if place.simulated):
        yield from source.read(source.library.recorded, system) or ()


def _judged(source: Source) -> Iterator[tuple[Case, Metric]]:
    for session in source.sessions:
        for case in session.cases:
            for metric in case.metrics:
                if metric.reference is not None:
                    yield case, metric


def _row_of(rows: _Rows, case: Case, metric: Metric) -> Reference | None:
    stem, parameters = words.read_metric(metric.name)
    fits = [
        row
        for name in dict.fromkeys((stem, metric.name))
        for row in rows.get((metric.judged_by, case.subject, name), ())
        if row.system == case.system and row.value == metric.reference
    ]
    exact = [row for row in fits if row.fits({**case.keys, **parameters})]
    return next(iter(exact or fits), None)


def pages(source: Source) -> list[Page]:
    """Return the page of all references that judged a number of a session with a page."""
    found = cited(source)
    judged = grouped(found.values(), lambda row: (str(row.path), row.line))
    counted = [(rows[0], len(rows)) for _, rows in sorted(judged.items())]
    groups = grouped(counted, lambda entry: (entry[0].source, entry[0].origin))
    others = Counter(
        metric.judged_by or "a reference of the check"
        for _, metric in _judged(source)
        if id(metric) not in found
    )
    context: dict[str, Any] = {
        "groups": dict(sorted(groups.items())),
        "papers": source.library.papers if source.library else {},
        "parameters_text": write_parameters,
        "others": sorted(others.items()),
        "readable": source.library is not None,
        "folder": source.workspace.reference,
    }
    named = addresses.REFERENCES, "References", "references.html.j2", "References"
    return [Page(*named, context, empty=not (groups or others))]

"""The rows of `reference/` that judged what is shown, with paper and table.

Which row judged a number is told by what was stored with the number.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from acceptance.core import words
from acceptance.ledger import Case, Metric
from acceptance.references import Library, Reference, ReferenceFault, write_parameters
from acceptance.report import addresses
from acceptance.report.plot_model import Page
from acceptance.report.source import Source


@dataclass
class Citations:
    """Rows of references by their citations; `used` are those that judged something shown.

    Each of `used` has the number of metrics that it judged.
    """

    rows: dict[tuple[str, ...], list[Reference]] = field(default_factory=dict)
    used: dict[tuple[str, int], tuple[Reference, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, source: Source) -> "Citations":
        """Return the rows of the library, and what was recorded of systems that are simulated."""
        made = cls()
        if source.library is None:
            return made
        made._add((*source.library.values, *source.library.baselines))
        for place in source.measured:
            if place.simulated:
                made._add(_recorded(source, source.library, place.system))
        return made

    def _add(self, rows: Iterable[Reference]) -> None:
        for row in rows:
            self.rows.setdefault((row.citation, row.benchmark, row.metric), []).append(row)

    def find(self, case: Case, metric: Metric) -> Reference | None:
        """Return the row that judged a metric; None: another thing did, or it is there no more."""
        if metric.reference is None:
            return None
        stem, parameters = words.read_metric(metric.name)
        fits = [
            row
            for name in dict.fromkeys((stem, metric.name))
            for row in self.rows.get((metric.judged_by, case.subject, name), ())
            if row.system == case.system and row.value == metric.reference
        ]
        exact = [row for row in fits if row.fits({**case.keys, **parameters})]
        found = next(iter(exact or fits), None)
        if found is not None:
            key = str(found.path), found.line
            self.used[key] = found, self.used.get(key, (found, 0))[1] + 1
        return found


def _recorded(source: Source, library: Library, system: str) -> tuple[Reference, ...]:
    try:
        return library.recorded(system)
    except ReferenceFault as err:
        source.note(err)
        return ()


def pages(source: Source) -> list[Page]:
    """Return the page of all references that judged a number of a session with a page."""
    citations = Citations.of(source)
    others: dict[str, int] = {}
    for session in source.sessions:
        for case in session.cases:
            for metric in case.metrics:
                if metric.reference is not None and citations.find(case, metric) is None:
                    by = metric.judged_by or "a reference of the check"
                    others[by] = others.get(by, 0) + 1
    groups: dict[tuple[str, str], list[tuple[Reference, int]]] = {}
    for entry in citations.used.values():
        groups.setdefault((entry[0].source, entry[0].origin), []).append(entry)
    context: dict[str, Any] = {
        "groups": {
            kind: sorted(rows, key=lambda entry: entry[0].line)
            for kind, rows in sorted(groups.items())
        },
        "papers": source.library.papers if source.library else {},
        "parameters_text": write_parameters,
        "others": sorted(others.items()),
        "readable": source.library is not None,
        "folder": source.workspace.reference,
    }
    return [Page(addresses.REFERENCES, "References", "references.html.j2", "References", context)]

"""The rows of `reference/` that judged what is shown, with paper and table."""

from dataclasses import dataclass
from typing import Any

from acceptance.references import Reference, write_parameters
from acceptance.report import addresses
from acceptance.report.citations import Citations
from acceptance.report.plot_model import Page
from acceptance.report.source import Source


@dataclass(frozen=True)
class Row:
    """A row that judged something, and how many metrics."""

    reference: Reference
    count: int

    @property
    def anchor(self) -> str:
        """Return its place on the page."""
        address = addresses.reference(self.reference.path.name, self.reference.line)
        return address.partition("#")[2]

    @property
    def parameters(self) -> str:
        """Return what it is said of."""
        return write_parameters(self.reference.parameters)


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
    groups: dict[tuple[str, str], list[Row]] = {}
    for row, count in citations.used.values():
        groups.setdefault((row.source, row.origin), []).append(Row(row, count))
    papers = source.library.papers if source.library else {}
    context: dict[str, Any] = {
        "groups": [
            {
                "source": kind,
                "origin": origin,
                "title": papers.get(origin, "").replace("{", "").replace("}", ""),
                "rows": sorted(rows, key=lambda row: row.reference.line),
                "file": str(rows[0].reference.path),
            }
            for (kind, origin), rows in sorted(groups.items())
        ],
        "others": sorted(others.items()),
        "readable": source.library is not None,
        "folder": source.workspace.reference,
    }
    return [Page(addresses.REFERENCES, "References", "references.html.j2", "References", context)]

"""Which row of `reference/` judged a number, by what was stored with the number."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from acceptance.core import words
from acceptance.references import Library, Reference, ReferenceFault
from acceptance.report.source import Source
from acceptance.rfm import Case, Metric


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
            self.rows.setdefault(_key(row.citation, row.benchmark, row.metric), []).append(row)

    def find(self, case: Case, metric: Metric) -> Reference | None:
        """Return the row that judged a metric; None: another thing did, or it is there no more."""
        if metric.reference is None:
            return None
        stem, parameters = words.read_metric(metric.name)
        fits = [
            row
            for name in dict.fromkeys((stem, metric.name))
            for row in self.rows.get(_key(metric.judged_by, case.subject, name), ())
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


def _key(citation: str, benchmark: str, metric: str) -> tuple[str, ...]:
    return citation, benchmark, metric

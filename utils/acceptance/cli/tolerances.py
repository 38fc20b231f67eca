"""`acceptance references --tolerances`: what fails, by the source of its reference and its unit."""

import argparse

from acceptance.cli.output import emit
from acceptance.core.text import table
from acceptance.references import SOURCES, Library, Tolerances, failing

_HEADER = ("system", "source", "of", "fails", "origin")


def show(options: argparse.Namespace, library: Library) -> None:
    """Print the tolerances of all systems, and below them what sites state instead."""
    rows = _rows("any", library.tolerances, library)
    for system, tolerances in library.of_sites.items():
        rows += [
            row for row in _rows(system, tolerances, library) if row["origin"] != _origin(library)
        ]
    emit(
        options.format,
        lambda: rows,
        lambda: table(_HEADER, [[row[name] for name in _HEADER] for row in rows]),
    )


def _origin(library: Library) -> str:
    return str(library.folder / "tolerances.yaml")


def _rows(system: str, tolerances: Tolerances, library: Library) -> list[dict[str, str]]:
    return [
        {
            "system": system,
            "source": source,
            "of": unit,
            "fails": failing(tolerances, source, unit) or "nothing",
            "origin": str(tolerances.origins.get((source, unit), _origin(library))),
            "reason": " ".join(tolerance.reason.split()),
        }
        for (source, unit), tolerance in sorted(
            tolerances.table.items(), key=lambda item: SOURCES.index(item[0][0])
        )
    ]

"""Published values, baselines, tolerances and claims: read, validated as a whole, looked up."""

from acceptance.references import tables
from acceptance.references.library import Ambiguous, Library, load
from acceptance.references.misses import misses_text, outside
from acceptance.references.records import (
    PARAMETERS,
    Claim,
    Partition,
    Reference,
    ReferenceFault,
    Side,
    source_of,
    write_parameters,
)
from acceptance.references.tolerances import SOURCES, Tolerances

__all__ = [
    "PARAMETERS",
    "SOURCES",
    "Ambiguous",
    "Claim",
    "Library",
    "Partition",
    "Reference",
    "ReferenceFault",
    "Side",
    "Tolerances",
    "load",
    "misses_text",
    "outside",
    "source_of",
    "tables",
    "write_parameters",
]

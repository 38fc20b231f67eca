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
    with_derived,
    write_parameters,
)
from acceptance.references.relations import RANGED, RELATIONS, agrees, bounds
from acceptance.references.tolerances import SOURCES, Tolerances, failing

__all__ = [
    "PARAMETERS",
    "RANGED",
    "RELATIONS",
    "SOURCES",
    "Ambiguous",
    "Claim",
    "Library",
    "Partition",
    "Reference",
    "ReferenceFault",
    "Side",
    "Tolerances",
    "agrees",
    "bounds",
    "failing",
    "load",
    "misses_text",
    "outside",
    "source_of",
    "tables",
    "with_derived",
    "write_parameters",
]

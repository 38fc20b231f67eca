"""Published values, baselines, tolerances and claims: read, validated as a whole, looked up."""

from acceptance.references import recordings, tables
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
from acceptance.references.relations import (
    RANGED,
    RELATIONS,
    SIZES,
    agrees,
    bounds,
    stated_sizes,
)
from acceptance.references.tolerances import RECORDED, SOURCES, Tolerances, failing

__all__ = [
    "PARAMETERS",
    "RANGED",
    "RECORDED",
    "RELATIONS",
    "SIZES",
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
    "recordings",
    "source_of",
    "stated_sizes",
    "tables",
    "with_derived",
    "write_parameters",
]

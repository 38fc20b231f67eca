"""Published values, baselines, tolerances and claims: read, validated as a whole, looked up."""

from acceptance.references import recordings, tables
from acceptance.references.library import Library, load, misses_text, outside
from acceptance.references.recordings import recorded_with
from acceptance.references.records import (
    PARAMETERS,
    RELATIONS,
    SIZES,
    Claim,
    Reference,
    ReferenceFault,
    Side,
    agrees,
    bounds,
    source_of,
    with_derived,
    write_parameters,
)
from acceptance.references.simulated import beyond, is_input, judged_as_published, judging
from acceptance.references.tolerances import RECORDED, SOURCES, Tolerances, failing

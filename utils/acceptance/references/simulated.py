"""What the model of a simulated system can say, and what not, by the kind of a metric.

SimGrid's SMPI is a fluid model of latencies and bandwidths: it has no limit of the message rate, no
memory, nothing inside of a node, and no time of computation; several pairs share a link without any
loss. What follows from that is the simulator's, and tells nothing of the system that is modelled.

Its results are judged by published peaks, else by what was recorded.
"""

from collections.abc import Mapping
from typing import Literal

from acceptance import suites
from acceptance.core.words import model_of
from acceptance.references.library import Library
from acceptance.references.recordings import recorded_with
from acceptance.references.records import SIZES, Reference, stated_sizes
from acceptance.references.tolerances import RECORDED

#: What only computation decides, beside the suites of which some part is communication.
_COMPUTING = ("npb", "himeno", "namd", "cpmd", "specmpi", "hpcc")
_MEMORY = ("STREAM", "RandomAccess")


#: What the model lacks, in two or three words.
Beyond = Literal[
    "message rate",
    "several pairs at once",
    "inside a node",
    "collective operation",
    "computation",
    "memory",
    "processor",
]


def beyond(benchmark: str, metric: str, keys: Mapping[str, str]) -> Beyond | None:
    """Return what the model lacks to say anything of such results; None if it lacks nothing.

    `metric` is a stem, empty for all of them; `benchmark` may be a suite. Keys are those of
    `reference/README.md`; those that are missing may have any value.
    """
    if any(word in metric for word in _MEMORY):
        return "memory"
    if benchmark.partition(".")[0] in _COMPUTING:
        return "several pairs at once" if "Ring" in metric else "computation"
    # A communication balance is the ratio of what is inside a node to what is between two.
    inside = keys.get("placement", "").startswith("intra") or "socket" in keys.get("placement", "")
    if inside or keys.get("nodes") == "1" or "intranode" in keys or benchmark.startswith("cbr."):
        return "inside a node"
    record = suites.find(benchmark)
    if not suites.has_check(benchmark) and benchmark not in suites.SUITES:
        return None  # no such program is run at all
    if not record.point_to_point:
        return "collective operation"
    if record.processes != "two" and keys.get("np") != "2" and keys.get("pairs") != "1":
        return "several pairs at once"
    small = metric in ("", "bandwidth") and stated_sizes(keys)[0] < SIZES["large"][0]
    return "message rate" if metric == "message_rate" or small else None


def is_input(metric: str, keys: Mapping[str, str]) -> bool:
    """Tell whether such a result follows from an input of the model: latencies do, of small sizes.

    They were taken from what the papers print, so that they say nothing beside them.
    """
    return metric == "latency" and stated_sizes(keys)[1] <= SIZES["small"][1]


def judged_as_published(benchmark: str, metric: str, keys: Mapping[str, str]) -> bool:
    """Tell whether a published value of the real system judges such a result of its model.

    Only peak bandwidths do, of one pair between two nodes.
    """
    return metric == "bandwidth_peak" and beyond(benchmark, metric, keys) is None


def judging(
    library: Library,
    place: tuple[str, str, str],
    metric: str,
    parameters: Mapping[str, str],
    unit: str,
    provenance: Mapping[str, str],
) -> tuple[Reference | None, tuple[float | None, float | None] | None, str]:
    """Return the row that judges a result of a system, partition and benchmark, and its thresholds.

    Both are None where none does; the third is with what a row was recorded that would judge it if
    that had been the same.

    A published value of the real system does where `judged_as_published`, and where it is stated by
    how much the model is known to be off; else what was recorded with the same simulator and suite,
    exactly. Raises ValueError as `Library.look_up`.
    """
    system, partition, benchmark = place
    known_errors = library.tolerances_of(system)
    if ("published", unit) in known_errors.origins and judged_as_published(
        benchmark, metric, parameters
    ):
        of_real = model_of(system), partition, benchmark, metric, parameters, unit
        row = library.look_up(*of_real, ("published",))
        within = row and known_errors.thresholds("published", row.relation, unit)
        if row and within:
            return row, within, ""
    row = library.look_up(*place, metric, parameters, unit, (RECORDED,))
    if row is None:
        return None, None, ""
    if row.where != recorded_with(provenance):
        return None, None, row.where
    return row, library.thresholds(row), ""

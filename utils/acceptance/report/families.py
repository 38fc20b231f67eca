"""Which results are drawn over each other: those of one quantity, whatever suite measured it."""

from dataclasses import dataclass

from acceptance import suites
from acceptance.report.results import Sweep

#: Sections of a page of curves, in their order.
PAIR, SEVERAL, COLLECTIVE, OTHER = (
    "Between two processes",
    "Several pairs",
    "Collective operations",
    "Patterns and others",
)
SECTIONS = (PAIR, SEVERAL, COLLECTIVE, OTHER)
#: Stems -> what the axis is called.
QUANTITIES = {
    "latency": "Latency",
    "time": "Time",
    "bandwidth": "Bandwidth",
    "message_rate": "Message rate",
    "ratio": "Ratio",
}


@dataclass(frozen=True, order=True)
class Family:
    """A plot: its section, its rank in there, its id, its title, and what its axis shows."""

    section: str
    rank: int
    id: str
    title: str
    quantity: str


def family_of(sweep: Sweep) -> Family | None:
    """Return the family of a sweep; None: it is not drawn over message sizes.

    Such are ratios, which have a page, and the one size of what no paper draws over sizes.
    """
    if not sweep.sizes or sweep.benchmark.startswith("cbr."):
        return None
    family = of_benchmark(sweep.benchmark, sweep.stem)
    return None if family.section == OTHER and len(sweep.sizes) == 1 else family


def of_benchmark(name: str, stem: str) -> Family:
    """Return the family of a metric of a benchmark; the peak of a bandwidth is of that.

    What nothing is known of has a plot of its own.
    """
    row, stem = suites.find(name), stem.removesuffix("_peak")
    short = name.rpartition(".")[2]
    quantity = QUANTITIES.get(stem, stem)
    known = bool(row.columns) and not name.startswith("patterns.")
    if not known:
        word = quantity.replace("_", " ")
        return Family(OTHER, 0, f"{name}-{stem}", f"{name}: {word.lower()}", word.capitalize())
    if not row.point_to_point:
        title = row.operation or short.capitalize()
        return Family(COLLECTIVE, 0, f"collective-{title}".lower(), title, quantity)
    if stem == "message_rate":
        return Family(SEVERAL, 2, "message-rate", "Message rate", quantity)
    if stem == "latency":
        if row.processes == "two":
            return Family(PAIR, 0, "latency", "Latency", quantity)
        return Family(SEVERAL, 0, "latency-pairs", "Latency of several pairs", quantity)
    if stem == "time":
        return Family(PAIR, 3, "neighbours", "Exchange with neighbours: time", quantity)
    if row.pair_sum:
        both = ", both ways" if row.link_factor == 2 else ""
        word = f"bandwidth-pairs{'-both' * bool(both)}"
        return Family(SEVERAL, 1, word, f"Bandwidth of several pairs{both}", quantity)
    if row.link_factor == 2:
        return Family(PAIR, 2, "bandwidth-both", "Bandwidth, both ways", quantity)
    return Family(PAIR, 1, "bandwidth", "Bandwidth", quantity)

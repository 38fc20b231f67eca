"""Latency, bandwidth and their ratios over message size, log-log, as the papers draw them.

A page for each partition, with a plot for each family of benchmarks, placements and environments
over each other; and one for each system of several partitions, these over each other: SDR, DDR, QDR
as in Figures 2 and 3 of koop2008.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from acceptance import suites
from acceptance.core.groups import grouped
from acceptance.core.text import bytes_text, plural
from acceptance.core.words import model_of
from acceptance.fabric import Facts, latency_floor, limit, plausibility
from acceptance.ledger import Case
from acceptance.references import Library
from acceptance.report import addresses
from acceptance.report.plot_model import (
    Axis,
    Form,
    Mark,
    Plot,
    Sample,
    Trace,
    number_text,
    time_text,
)
from acceptance.report.results import Drawn, Kind, Results, Sweep, count_of
from acceptance.report.source import Place, Source

#: Sections of a page of curves, in their order.
SECTIONS = PAIR, SEVERAL, COLLECTIVE, BALANCE, OTHER = (
    "Between two processes",
    "Several pairs",
    "Collective operations",
    "Communication balance",
    "Patterns and others",
)
#: Percentiles that are drawn beside the mean: the slow tail of times, and of bandwidths.
TAILS = ("_p99", "_p10")
_PERCENTILE = re.compile(r"_p\d+\Z")
#: Ratios of the communication balance, in the order of the paper (Subramoni, Koop and Panda 2009,
#: slides "CBR") -> what they compare. A ratio of 1 is balanced.
RATIOS = {
    "cbr.latency": "Latency inside a node over that between nodes",
    "cbr.bw": "Bandwidth inside a node over that between nodes",
    "cbr.bibw": "Bandwidth both ways inside a node over that between nodes",
    "cbr.mbw": "Bandwidth of several pairs inside a node over that between nodes",
}


@dataclass(frozen=True)
class Family:
    """A plot: its section, its rank in there, its id, its title, and what its axis shows."""

    section: str
    rank: int
    id: str
    title: str
    quantity: str


def family_of(sweep: Sweep) -> Family | None:
    """Return the family of a sweep; None: it is not drawn over message sizes.

    Such is the one size of what no paper draws over sizes, and a percentile of no slow tail.
    """
    percentile = _PERCENTILE.search(sweep.stem)
    if not sweep.sizes or (percentile and percentile[0] not in TAILS):
        return None
    family = of_benchmark(sweep.benchmark, sweep.stem)
    return None if family.section == OTHER and len(sweep.sizes) == 1 else family


def of_benchmark(name: str, stem: str) -> Family:
    """Return the family of a metric of a benchmark; peak and slow tail are of that of its mean.

    What nothing is known of has a plot of its own. No two families share an id, whatever is
    measured: their files are called so.
    """
    row, stem = suites.find(name), _PERCENTILE.sub("", stem.removesuffix("_peak"))
    quantity = stem.replace("_", " ").capitalize()
    if name in RATIOS:
        return Family(BALANCE, [*RATIOS].index(name), name, RATIOS[name], quantity)
    both = row.link_factor == 2
    word, ways = "-both" * both, ", both ways" * both
    several = row.processes != "two"
    operation = row.operation or name.rpartition(".")[2].capitalize()
    known = {
        "latency": (SEVERAL, 0, "latency-pairs", "Latency of several pairs")
        if several
        else (PAIR, 0, "latency", "Latency"),
        "bandwidth": (SEVERAL, 1, f"bandwidth-pairs{word}", f"Bandwidth of several pairs{ways}")
        if row.pair_sum
        else (PAIR, 1 + both, f"bandwidth{word}", f"Bandwidth{ways}"),
        "message_rate": (SEVERAL, 2, "message-rate", "Message rate"),
        "time": (PAIR, 3, "neighbours", "Exchange with neighbours: time"),
    }
    if not row.point_to_point:
        known = {"time": (COLLECTIVE, 0, f"collective-{operation}".lower(), operation)}
    if row.columns and not name.startswith("patterns.") and stem in known:
        return Family(*known[stem], quantity)
    return Family(OTHER, 0, f"{name}-{stem}", f"{name}: {quantity.lower()}", quantity)


#: Up to so many curves of results in a plot their bands are shown from the beginning.
BANDS = 3
#: Keys of results, and values of them, that stand in a name in words of their own; others as
#: `key value`.
_WORDS = {"np": "{} processes", "nodes": "{} nodes", "pairs": "{} pairs", "placement": "{}",
          "mapping": "{}", "buffers": "{} buffers", "intranode": "through {}"}  # fmt: skip
_OWN = {("np", "1"): "1 process", ("nodes", "1"): "1 node", ("pairs", "1"): "1 pair",
        ("intranode", "shared"): "through memory",
        ("intranode", "loopback"): "through the adapter"}  # fmt: skip
#: What stands in a name as it is, and what does in each name.
_PLAIN = ("partition", "benchmark", "stem", "placement", "environment")
_ALWAYS = ("benchmark", "placement", "environment")
_BETWEEN_NODES = "inter-node"
#: How the limit of a latency is called, and what it is (`fabric.limits.latency_floor`).
_TIME = "least time"
_LEAST = (
    "A least time is that of the message's bits on the slowest stage, link or slot, of light along "
    "the stated cables, and of two adapters."
)


def words(key: str, value: str) -> str:
    """Write a key of a result as people do: `2 nodes`, `distance 4`."""
    return _OWN.get((key, value)) or _WORDS.get(key, key + " {}").format(value)


def aspects(sweep: Sweep) -> dict[str, str]:
    """Return what can tell a curve from others: `partition`, `benchmark`, `environment`, keys."""
    return {
        "partition": sweep.place.partition,
        "benchmark": sweep.benchmark,
        "stem": sweep.stem.replace("_", " "),
        **sweep.keys,
        "environment": sweep.environment,
    }


def labels(sweeps: Sequence[Sweep]) -> list[str]:
    """Return a name for each curve of a plot: what tells it from the others, and where it stood.

    The number of nodes is left out where nothing hangs on it.
    """
    told = [aspects(sweep) for sweep in sweeps]
    short = names([{name: one[name] for name in one if name != "nodes"} for one in told])
    return short if len({*short}) == len(short) else names(told)


def names(told: Sequence[Mapping[str, str]], always: Sequence[str] = _ALWAYS) -> list[str]:
    """Return a name for each of several things: what tells it from others, and some `always`."""
    keys = {name: None for one in told for name in one}
    shared = {name for name in keys if len({one.get(name) for one in told}) == 1}
    return [
        ", ".join(
            value if name in _PLAIN else words(name, value)
            for name, value in ((name, one[name]) for name in keys if name in one)
            if name not in shared or name in always
        )
        for one in told
    ]


def shared_text(sweeps: Sequence[Sweep]) -> str:
    """Say what all curves of a plot have in common, apart from what each name says."""
    told = [aspects(sweep) for sweep in sweeps]
    return ", ".join(
        words(name, value)
        for name, value in told[0].items()
        if name not in _PLAIN and all(one.get(name) == value for one in told)
    )


def in_order(sweeps: Sequence[Sweep]) -> list[Sweep]:
    """Return the curves of a plot in the order of its legend.

    Slower fabrics come first, as papers have them, and paths between nodes: that is what the
    library is for.
    """

    def rank(entry: tuple[str, Sweep]) -> tuple[object, ...]:
        name, sweep = entry
        inside = sweep.keys.get("placement") != _BETWEEN_NODES
        return sweep.place.speed, inside, count_of(sweep.keys, "np"), name

    return [sweep for _, sweep in sorted(zip(labels(sweeps), sweeps, strict=True), key=rank)]


def of_results(source: Source, sweeps: Sequence[Sweep], *, several: bool) -> Iterator[Trace]:
    """Yield the results of a plot, each with the earlier ones and with its baseline.

    Each number is with its session and what judged it.

    Of `several` partitions the results alone, in the colour of the partition.
    """
    for sweep, name in zip(sweeps, labels(sweeps), strict=True):
        link = sweep.link(source)
        samples = [
            Sample(float(size), sweep.values[size].value, sweep.note(size), link)
            for size in sweep.sizes
        ]
        group = sweep.place.partition if several else name
        yield Trace(name, samples, simulated=sweep.simulated, group=group)
        if not several:
            yield from band(sweep, name, shown=len(sweeps) <= BANDS)
            yield from baseline(source.library, sweep, name)


def band(sweep: Sweep, name: str, *, shown: bool) -> Iterator[Trace]:
    """Yield the band of earlier sessions, from the smallest to the largest value of each size.

    None where no size has two of them.
    """
    first, last = (time_text(of(sweep.past, default=(0.0, ""))[0]) for of in (min, max))
    count = plural(len(sweep.past), "earlier session")
    note = f"smallest, middle and largest of {count}, {first} to {last}"
    samples = [
        Sample(float(size), middle, note, low=low, high=high)
        for size in sweep.sizes
        for low, middle, high in filter(None, [sweep.earlier(size)])
    ]
    if samples:
        yield Trace(f"{name}: {count}", samples, "earlier sessions", "band",
                    simulated=sweep.simulated, group=name, shown=shown)  # fmt: skip


def baseline(library: Library | None, sweep: Sweep, name: str) -> Iterator[Trace]:
    """Yield the baseline of the site for a sweep, each number with the session that it is of."""
    own = sweep.place.system, sweep.place.partition, sweep.benchmark, sweep.stem, sweep.unit
    keys = {**sweep.keys, "environment": sweep.environment}
    rows = [row for row in (library.baselines if library else ())
            if (row.system, row.partition, row.benchmark, row.metric, row.unit) == own]  # fmt: skip
    samples = [
        Sample(float(size), fitting[-1].value, fitting[-1].citation)
        for size in sweep.sizes
        if (fitting := [row for row in rows if row.fits({**keys, "message_size": str(size)})])
    ]
    if samples:
        yield Trace(f"{name}: baseline", samples, "baseline", group=name)


def published(
    library: Library | None, of_places: Iterable[Place], family: Family, unit: str,
    span: tuple[float, float],
) -> Iterator[Trace]:  # fmt: skip
    """Yield what papers print of these partitions; a peak without a size is a line over `span`.

    A simulated system has the papers of the real one. Bounds and coarser repetitions are left out.
    """
    places = {(model_of(place.system), place.partition) for place in of_places}
    found: dict[tuple[str, str, Form], dict[float | str, Sample]] = {}
    for row in library.values if library else ():
        size = row.parameters.get("message_size")
        of = (row.system, row.partition) in places and row.unit == unit and row.relation == "="
        if not of or of_benchmark(row.benchmark, row.metric).id != family.id:
            continue
        told = [words(key, value) for key, value in row.parameters.items() if key in _WORDS]
        name = f"{row.system} {row.partition}: {', '.join((row.benchmark, *told))}"
        form: Form = "points"
        if size is not None:
            samples = [Sample(float(size), row.value, row.citation)]
        elif row.metric.endswith("_peak"):
            note = f"{row.citation}: the largest over all sizes"
            samples = [Sample(at, row.value, note) for at in span]
            name, form = f"{name}, peak", "line"
        else:
            continue
        found.setdefault((name, row.partition, form), {}).update((one.x, one) for one in samples)
    for (name, partition, form), by_size in found.items():
        listed = sorted(by_size.values(), key=lambda one: float(one.x))
        yield Trace(name, listed, "published", form, group=partition)


def limits(sweeps: Sequence[Sweep], *, grouped: bool = False) -> tuple[list[Trace], str]:
    """Return the limits that facts of the fabric set to these curves, and what is said of them.

    It is the share of a link's bandwidth that `fabric.plausibility` gives the benchmark, and
    the floor of a latency (`fabric.limits`), by which results are judged, too. `grouped`: in the
    colour of the partition.
    """
    traces: dict[str, Trace] = {}
    said: dict[str, None] = {}
    for sweep in sweeps:
        place = sweep.place
        name = f"{place.partition}: "
        if sweep.keys.get("placement") != _BETWEEN_NODES:
            name, why = "", "inside a node the fabric sets none"
        elif place.facts is None:
            why = f"no physical limit is known: {place.fault or plausibility.not_compared(None)}"
        elif found := _limit(sweep, place.facts, place.partition if grouped else ""):
            traces.setdefault(found.name, found)
            name, why = f"{found.name}: ", found.samples[0].note
        else:
            why = plausibility.not_compared(place.facts) or "no limit is known of this quantity"
        said[name + why] = None
    text = "Physical limit: " + "; ".join(said) + "." if said else ""
    least = any(_TIME in one for one in said)
    return [*traces.values()], f"{text} {_LEAST}" if least else text


def _limit(sweep: Sweep, facts: Facts, group: str) -> Trace | None:
    """Return the limit of a sweep, its formula in each sample; None where there is none."""
    row, bound = suites.find(sweep.benchmark), limit(facts).least
    sizes = [size for size in sweep.sizes if size]
    name, unit = f"limit of {sweep.place.partition}", plausibility.UNITS.get(sweep.unit)
    if not sizes:
        return None
    if sweep.stem in plausibility.METRICS and unit:
        nodes, np = (count_of(sweep.keys, key, 2) for key in ("nodes", "np"))
        mapping = sweep.keys.get("mapping", "block")
        share = plausibility.factor(row, nodes, mapping, np // 2)
        if share is None or bound is None:
            return None
        values = [share * bound.value / unit] * len(sizes)
        times = "" if share == 1 else f"{share:g} x "
        formula = f"{times}{bound.formula} = {values[0]:,.1f} {sweep.unit}, {facts.text}"
        name += f", {share:g} x" if times else ""
    elif sweep.stem == "latency" and row.one_message and latency_floor(facts):
        values = [latency_floor(facts, size) for size in sizes]
        formula = f"{values[0]:.4g} us for {sizes[0]:g} B, {facts.text}"
        name += f", {_TIME}"
    else:
        return None
    samples = [Sample(float(x), y, formula) for x, y in zip(sizes, values, strict=True)]
    return Trace(name, samples, "physical limit", group=group)


#: More curves of results than this in one plot are told apart by nobody: it becomes several.
MOST = 8
#: By what a plot of too many curves is split, the first that helps.
SPLIT = ("np", "benchmark", "placement", "environment")
#: Units that no name of a plot needs to say.
UNITS = {"Latency": "us", "Time": "us", "Bandwidth": "MB/s", "Ratio": "1"}
#: What is said of ratios, and of the line at 1.
BALANCED = "1: as good inside as between"
BALANCES = (
    "A latency ratio below 1 and a bandwidth ratio above 1 mean that the path inside the node is "
    "the better one."
)


def _draw(source: Source, found: Sequence[Results]) -> Drawn:
    several = len(found) > 1
    every = [sweep for each in found for sweep in each.sweeps.values()]
    plots = []
    for family, listed in families(every):
        between = [sweep for sweep in listed if sweep.keys.get("placement") == "inter-node"]
        for suffix, part in _split((several and between) or listed):
            if not several or len({sweep.place.partition for sweep in part}) > 1:
                plots.append((family, _plot(source, family, part, suffix, several=several)))
    text = _of_partitions(found, plots) if several else _of_partition(found[0], plots)
    return text, [
        (name, [plot for family, plot in plots if family.section == name]) for name in SECTIONS
    ]


def _shows(case: Case) -> bool:
    return case.benchmark in RATIOS or (
        case.suite in suites.SUITES and case.suite not in ("npb", "hpcc")
    )


pages = Kind("curves", "Curves", "Curves of {}", _draw, _shows).pages


def _of_partition(found: Results, plots: Sequence[object]) -> str:
    when = f" The newest session is of {time_text(found.newest.start)}." if found.newest else ""
    text = f"{plural(len(plots), 'plot')} of what the sessions of this report have.{when}"
    sweeps = found.sweeps.values()
    if single := sum(len(each.sizes) == 1 and not family_of(each) for each in sweeps):
        text += (
            f" {plural(single, 'metric')} of one message size stand in the history and on the "
            "pages of sessions."
        )
    return text if plots else ""


def _of_partitions(found: Sequence[Results], plots: Sequence[object]) -> str:
    if not plots:
        return "No two partitions of this system have results of the same family."
    names = ", ".join(each.place.partition for each in found)
    return (
        f"The partitions {names} over each other; of each the newest results between nodes, or, "
        "where there are none, all of them."
    )


def families(sweeps: Iterable[Sweep]) -> list[tuple[Family, list[Sweep]]]:
    """Return sweeps that are drawn over each other, in the order of a page; units do not mix."""
    drawn = ((family, sweep) for sweep in sweeps if (family := family_of(sweep)))
    found = grouped(drawn, lambda entry: (entry[0], entry[1].unit))
    order = sorted(
        found, key=lambda of: (SECTIONS.index(of[0].section), of[0].rank, of[0].title, of[1])
    )
    return [(of[0], [sweep for _, sweep in found[of]]) for of in order]


def _split(sweeps: list[Sweep], by: Sequence[str] = SPLIT) -> Iterator[tuple[str, list[Sweep]]]:
    """Yield groups of at most `MOST` curves, as far as the keys tell them apart."""
    if len(sweeps) <= MOST or not by:
        yield "", sweeps
        return
    groups = grouped(sweeps, lambda sweep: aspects(sweep).get(by[0], ""))
    for value, group in sorted(groups.items(), key=lambda item: (len(item[0]), item[0])):
        for suffix, part in _split(group, by[1:]):
            own = (f"{value} processes" if by[0] == "np" else value) if len(groups) > 1 else ""
            yield ", ".join(filter(None, (own, suffix))), part


def _plot(
    source: Source, family: Family, sweeps: Sequence[Sweep], suffix: str, *, several: bool
) -> Plot:
    """Return the plot of some curves, with what papers print and the limits of their fabrics."""
    sweeps, unit = in_order(sweeps), sweeps[0].unit
    traces = [*of_results(source, sweeps, several=several)]
    sizes = [size for sweep in sweeps for size in sweep.sizes if size] or [1]
    span = float(min(sizes)), float(max(sizes))
    places = {sweep.place.name: sweep.place for sweep in sweeps}.values()
    printed = list(published(source.library, places, family, unit, span))
    ratio, baselines = family.section == BALANCE, [t for t in traces if t.origin == "baseline"]
    bounds, of_limits = ([], BALANCES) if ratio else limits(sweeps, grouped=several)
    said = [
        f"All of them: {common}." if (common := shared_text(sweeps)) else "",
        "" if printed else "No paper prints a number of these that could be drawn.",
        "" if baselines else "There is no baseline (acceptance baseline makes one).",
        of_limits,
    ]
    usual = UNITS.get(family.quantity) == unit
    ident = "-".join(filter(None, (family.id, suffix, "" if usual else unit)))
    return Plot(
        addresses.legal(ident),
        family.title + (f": {suffix}" if suffix else ""),
        _summary(sweeps),
        Axis("Message size", "B", "log"),
        Axis(family.quantity, "" if unit == "1" else unit, "log"),
        (*traces, *printed, *bounds),
        (Mark("one", BALANCED, y=1.0),) if ratio else (),
        caption=" ".join(filter(None, said)),
    )


def _summary(sweeps: Sequence[Sweep]) -> str:
    """Say what can be seen: the least and the largest number, and where they are."""
    points = [(metric.value, size, at) for at, sweep in enumerate(sweeps)
              for size, metric in sweep.values.items() if size is not None]  # fmt: skip

    def said(point: tuple[float, int, int]) -> str:
        value, size, sweep = point[0], point[1], sweeps[point[2]]
        unit = "" if sweep.unit == "1" else f" {sweep.unit}"
        where = f"{sweep.benchmark} {sweep.keys.get('placement', '')} with {sweep.environment}"
        return f"{number_text(value)}{unit} at {bytes_text(size)} ({where})"

    return (
        f"{plural(len(sweeps), 'curve')} of {plural(len(points), 'number')}, from "
        f"{said(min(points))} to {said(max(points))}."
    )

"""Traces of curves: results, earlier sessions, baselines, papers, and the limit of the fabric.

Which results are drawn over each other: those of one quantity, whatever suite measured it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from acceptance import suites
from acceptance.core.text import plural
from acceptance.core.words import model_of
from acceptance.fabric import Facts, bandwidth_shares, latency_floor, limit, plausibility
from acceptance.references import Library, Reference
from acceptance.report.plot_model import Form, Origin, Trace
from acceptance.report.rendering import time_text
from acceptance.report.results import Sweep, count_of
from acceptance.report.source import Place, Source

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


#: Up to so many curves of results in a plot their bands are shown from the beginning.
BANDS = 3
#: Keys of results that stand in a name in words of their own; others as `key value`.
_WORDS = {"np": "{} processes", "nodes": "{} nodes", "pairs": "{} pairs", "placement": "{}",
          "mapping": "{}", "buffers": "{} buffers", "intranode": "through {}"}  # fmt: skip
#: What stands in a name as it is, and what does in each name.
_PLAIN = ("partition", "benchmark", "stem", "placement", "environment")
_ALWAYS = ("benchmark", "placement", "environment")
_ONE = {"nodes": "1 node", "pairs": "1 pair", "np": "1 process"}
_PATHS = {"shared": "through memory", "loopback": "through the adapter"}
_BETWEEN_NODES = "inter-node"
#: How the limit of a latency is called, and what it is (`fabric.limits.latency_floor`).
_TIME = "least time"
_LEAST = (
    "A least time is that of the message's bits on the slowest stage, link or slot, of light along "
    "the stated cables, and of two adapters."
)


def words(key: str, value: str) -> str:
    """Write a key of a result as people do: `2 nodes`, `distance 4`."""
    if key == "intranode" and value in _PATHS:
        return _PATHS[value]
    if value == "1" and key in _ONE:
        return _ONE[key]
    return _WORDS.get(key, key + " {}").format(value)


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
    short = _names([{name: one[name] for name in one if name != "nodes"} for one in told])
    return short if len({*short}) == len(short) else _names(told)


def _names(told: Sequence[Mapping[str, str]]) -> list[str]:
    names = {name: None for one in told for name in one}
    shared = {name for name in names if len({one.get(name) for one in told}) == 1}
    return [
        ", ".join(
            value if name in _PLAIN else words(name, value)
            for name, value in ((name, one[name]) for name in names if name in one)
            if name not in shared or name in _ALWAYS
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


def measured(source: Source, sweep: Sweep, name: str, group: str) -> Trace:
    """Return the newest results of a sweep; each number with its session and what judged it."""
    sizes = sweep.sizes
    link = sweep.link(source)
    return Trace(
        name,
        tuple(map(float, sizes)),
        tuple(sweep.values[size].value for size in sizes),
        links=(link,) * len(sizes) if link else (),
        notes=tuple(sweep.note(size) for size in sizes),
        simulated=bool(sweep.by.case.simulated),
        group=group,
    )


def band(sweep: Sweep, name: str, group: str, *, shown: bool) -> Trace | None:
    """Return the band of earlier sessions, from the smallest to the largest value of each size.

    None where no size has two of them.
    """
    known = {size: found for size in sweep.sizes if (found := sweep.earlier(size))}
    if not known:
        return None
    low, middle, high = zip(*known.values(), strict=True)
    first, last = (time_text(when) for when in (min(sweep.times), max(sweep.times)))
    count = plural(len(sweep.past), "earlier session")
    note = f"smallest, middle and largest of {count}, {first} to {last}"
    return Trace(
        f"{name}: {count}",
        tuple(map(float, known)),
        middle,
        Origin.PAST,
        Form.BAND,
        low=low,
        high=high,
        notes=(note,) * len(known),
        simulated=bool(sweep.by.case.simulated),
        group=group,
        shown=shown,
    )


def baseline(library: Library | None, sweep: Sweep, name: str, group: str) -> Trace | None:
    """Return the baseline of the site for a sweep, each number with the session that it is of."""
    rows = {}
    for row in library.baselines if library else ():
        if (row.system, row.partition, row.benchmark, row.metric, row.unit) == (
            sweep.place.system, sweep.place.partition, sweep.benchmark, sweep.stem, sweep.unit
        ):  # fmt: skip
            for size in sweep.sizes:
                keys = {**sweep.keys, "environment": sweep.environment, "message_size": str(size)}
                if row.fits(keys):
                    rows[size] = row
    if not rows:
        return None
    return Trace(
        f"{name}: baseline",
        tuple(map(float, sorted(rows))),
        tuple(rows[size].value for size in sorted(rows)),
        Origin.BASELINE,
        notes=tuple(rows[size].citation for size in sorted(rows)),
        group=group,
    )


def published(
    library: Library | None, places: Iterable[Place], family: Family, unit: str,
    span: tuple[float, float],
) -> Iterator[Trace]:  # fmt: skip
    """Yield what papers print of these partitions; a peak without a size is a line over `span`.

    A simulated system has the papers of the real one. Bounds and coarser repetitions are left out.
    """
    names = {(model_of(place.system), place.partition) for place in places}
    groups: dict[tuple[str, ...], dict[float | None, Reference]] = {}
    for row in library.values if library else ():
        if (row.system, row.partition) not in names or row.unit != unit or row.relation != "=":
            continue
        if of_benchmark(row.benchmark, row.metric).id != family.id:
            continue
        keys = dict(row.parameters)
        size = keys.pop("message_size", None)
        if size is None and not row.metric.endswith("_peak"):
            continue
        told = (words(key, value) for key, value in keys.items() if key in _WORDS)
        what = (row.system, row.partition, row.benchmark, *told)
        place = float(size) if size is not None else None
        groups.setdefault((*what, row.metric), {})[place] = row
    for (system, partition, benchmark, *keyed, _), rows in groups.items():
        name = f"{system} {partition}: {', '.join((benchmark, *keyed))}"
        if None in rows:
            yield _peak_line(rows[None], f"{name}, peak", span)
        elif rows:
            points = sorted(rows.items(), key=lambda item: item[0] or 0)
            yield Trace(
                name,
                tuple(size or 0.0 for size, _ in points),
                tuple(row.value for _, row in points),
                Origin.PUBLISHED,
                Form.POINTS,
                notes=tuple(row.citation for _, row in points),
                group=partition,
            )


def _peak_line(row: Reference, name: str, span: tuple[float, float]) -> Trace:
    notes = (f"{row.citation}: the largest over all sizes",) * 2
    return Trace(name, span, (row.value,) * 2, Origin.PUBLISHED, notes=notes, group=row.partition)


@dataclass(frozen=True)
class Limits:
    """The physical limits of a plot, and what its caption says of them."""

    traces: tuple[Trace, ...]
    text: str


def limits(sweeps: Sequence[Sweep], *, grouped: bool = False) -> Limits:
    """Return the limits that facts of the fabric set to these curves, each with its formula.

    It is the share of a link's bandwidth that `fabric.bandwidth_shares` gives the benchmark, and
    the floor of a latency (`fabric.limits`), by which results are judged, too. `grouped`: in the
    colour of the partition.
    """
    traces: dict[str, Trace] = {}
    said: dict[str, None] = {}
    for sweep in sweeps:
        facts, place = sweep.place.facts, sweep.place
        if sweep.keys.get("placement") != _BETWEEN_NODES:
            said["inside a node the fabric sets none"] = None
            continue
        if facts is None:
            why = place.fault or plausibility.not_compared(None)
            said[f"{place.partition}: no physical limit is known: {why}"] = None
            continue
        found = _limit(sweep, facts, place.partition if grouped else "")
        if found is None:
            why = plausibility.not_compared(facts) or "no limit is known of this quantity"
            said[f"{place.partition}: {why}"] = None
            continue
        trace, formula = found
        traces.setdefault(trace.name, trace)
        said[f"{trace.name}: {formula}"] = None
    return Limits(tuple(traces.values()), _sentence(said))


def _sentence(said: Mapping[str, None]) -> str:
    text = "Physical limit: " + "; ".join(said) + "." if said else ""
    return f"{text} {_LEAST}" if any(_TIME in one for one in said) else text


def _limit(sweep: Sweep, facts: Facts, group: str) -> tuple[Trace, str] | None:
    row, bound = suites.find(sweep.benchmark), limit(facts)
    sizes = tuple(float(size) for size in sweep.sizes if size)
    whose = f"limit of {sweep.place.partition}"
    if sweep.stem in bandwidth_shares.METRICS and sweep.unit in bandwidth_shares.UNITS:
        nodes, np = (count_of(sweep.keys, key, 2) for key in ("nodes", "np"))
        mapping = sweep.keys.get("mapping", "block")
        share = bandwidth_shares.factor(row, nodes, mapping, np // 2)
        if share is None or bound.bandwidth is None:
            return None
        value = share * bound.bandwidth / bandwidth_shares.UNITS[sweep.unit]
        times = "" if share == 1 else f"{share:g} x "
        formula = f"{times}{bound.formula} = {value:,.1f} {sweep.unit}, {facts.text}"
        name = f"{whose}, {share:g} x" if share != 1 else whose
        return _line(name, sizes, (value,) * len(sizes), formula, group), formula
    if sweep.stem == "latency" and row.one_message and latency_floor(facts):
        floor = tuple(latency_floor(facts, int(size)) for size in sizes)
        formula = f"{floor[0]:.4g} us for {sizes[0]:g} B, {facts.text}"
        return _line(f"{whose}, {_TIME}", sizes, floor, formula, group), formula
    return None


def _line(name: str, x: tuple[float, ...], y: tuple[float, ...], formula: str, group: str) -> Trace:
    return Trace(name, x, y, Origin.LIMIT, notes=(formula,) * len(x), group=group)

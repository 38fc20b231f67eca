"""Whether results can be true: limits of wire and GPU, the bytes that crossed, a node's memory.

How fast can processes of one node exchange messages that do not fit into its caches? A message is
read from the buffer of one process and written to that of another; more copies, and reading what
will be written, only add to it. The arrays of STREAM move through it likewise. Benchmarks use the
same buffers in each repetition, so that caches of C bytes save at most C of the W bytes of all
buffers a time, whatever they keep: W - C go through the memory. Sizes of which nothing is left are
not compared.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec.structs import replace

from acceptance.core.errors import read_whole
from acceptance.core.extras import PartitionExtras
from acceptance.core.findings import Finding
from acceptance.core.words import RATES, read_metric, split_metric
from acceptance.fabric.counters import GROWN, bytes_moved, error_growth
from acceptance.fabric.facts import Facts
from acceptance.fabric.limits import SLACK, Bound, exceeds, gpu_limit, latency_floor, limit
from acceptance.fabric.link_check import deviations, serving
from acceptance.fabric.link_report import parse
from acceptance.fabric.node import NodeLinks
from acceptance.fabric.rates import HDR100_LANES
from acceptance.machine import Layout
from acceptance.suites import Benchmark
from acceptance.suites.hpcc import KERNELS

#: The metrics that are bandwidths, and what their units are in MB/s.
METRICS = ("bandwidth", "bandwidth_peak", "throughput")
UNITS = {"MB/s": 1.0, "GB/s": 1000.0, "Mbit/s": 1 / 8}


def factor(
    benchmark: Benchmark, nodes: int = 2, mapping: str = "block", pairs: int | None = None
) -> float | None:
    """Return how many one-way bandwidths of a node's link a benchmark's bandwidth may reach.

    None: not comparable. Of sums over pairs, more nodes have more links, and processes that are
    laid cyclically over the nodes send in both directions. The average time of p pairs (None: not
    known) that get the link one after the other is (p + 1) / 2p of the longest one, so that a sum
    by it may be 2p / (p + 1) of what the link carries.
    """
    single = benchmark.link_factor
    if single is None or not benchmark.pair_sum:
        return single
    links = (nodes + 1) // 2 if single == 1 and mapping == "block" else nodes
    if benchmark.pair_sum == "longest":
        return links
    return links * (2 * pairs / (pairs + 1) if pairs else 2)


#: Growth of these counters is no matter of rates: the link failed while it was measured.
FATAL = ("link_downed", "link_error_recovery", "carrier_changes")
#: Bytes that a node says of its links at most.
LONGEST = 2**20


def _bounds(facts: Facts, buffers: str, nodes: int) -> list[tuple[Bound, str]]:
    """Return what bounds a message, and whose bound it is: of the fabric, and of a GPU."""
    found = [(limit(facts).least if nodes > 1 else None, facts.text)]
    found.append((gpu_limit(facts, buffers, inside=nodes == 1)[0], facts.gpu_text))
    return [(bound, of) for bound, of in found if bound]


def limit_of(
    benchmark: Benchmark, metric: str, unit: str, facts: Facts, buffers: str = "", nodes: int = 2
) -> tuple[float, str] | None:
    """Return the limit that judges a metric between nodes, in its unit, and its formula.

    Inside of a node it judges what goes from GPU to GPU (`limits.gpu_limit` says what `buffers`
    are): MPIs copy what is of the host in too many ways. None where a fraction of the limit says
    nothing about the metric, or facts set none.
    """
    bounds = _bounds(facts, buffers, nodes) if nodes > 1 or buffers == "DD" else []
    if not benchmark.one_way or metric != "bandwidth_peak" or not bounds:
        return None
    bound, of = min(bounds, key=lambda each: each[0].value)
    return round(bound.value / UNITS[unit], 1), f"limit of {of}, {bound.formula}"


def not_compared(facts: Facts | None, buffers: str = "", nodes: int = 2) -> str:
    """Return which results `implausible` cannot judge, and why; empty: it can."""
    if facts is None:
        return "not compared: the partition states no fabric"
    of_gpu = gpu_limit(facts, buffers, inside=nodes == 1)[1]
    said = [f"bandwidths not compared with those of a GPU: {of_gpu}"] if of_gpu else []
    if nodes > 1:
        bound = limit(facts)
        if bound.least is None:
            said.append(f"bandwidths not compared: {bound.note}")
        if not latency_floor(facts):
            said.append(f"latencies not compared: no least time of {facts.technology} is known")
    return "; ".join(said)


def implausible(
    benchmark: Benchmark,
    measurements: Mapping[str, tuple[float, str]],
    facts: Facts,
    layout: Layout,
    buffers: str = "",
) -> list[str]:
    """Return what cannot be true, a line a quantity with its worst metric.

    Between nodes, and of `buffers` of which one is of a GPU (`limits.gpu_limit`) inside of a node.
    """
    bounds, over, under = _bounds(facts, buffers, layout.nodes), [], []
    for name, (value, unit) in measurements.items():
        for bound, of in bounds:
            on_wire = of == facts.text
            links = (_links if on_wire else _gpus)(benchmark, name, layout)
            most = (links or 0) * bound.value / UNITS.get(unit, 1)
            if links and unit in UNITS and exceeds(value, most):
                ways = "" if links == 1 else f"{links:g} x "
                told = f"{of} carries at most {most:.5g} ({ways}{bound.formula}): not measured "
                told += "over this fabric" if on_wire else "between buffers of GPUs as stated"
                over.append((value / most, f"{name} is {value:g} {unit}", told))
        size = _size(benchmark, name, layout)
        if size and unit == "us" and layout.nodes > 1:
            floor = latency_floor(facts, size)
            if value < floor / (1 + SLACK):
                told = f"over {facts.text} no message of its size takes less than {floor:.4g}"
                told += ": not measured over this fabric"
                under.append((floor / value, f"{name} is {value:g} us", told))
    lines = []
    for found in filter(None, (over, under)):
        _, worst, told = max(found)
        more = f" ({len(found)} metrics)" if len(found) > 1 else ""
        lines.append(f"implausible: {worst}{more}, {told}")
    return lines


def _of_pairs(name: str, prefix: str, layout: Layout) -> bool:
    """Tell whether a metric is of pairs in a benchmark of all, each of them between nodes.

    Ranks stand in blocks: at a `distance` of so many as a node has, they are on two nodes.
    """
    distance = int(read_metric(name)[1].get("distance", 1))
    return bool(prefix) and name.startswith(prefix) and distance >= layout.per_node


def _links(benchmark: Benchmark, name: str, layout: Layout) -> float | None:
    """Return how many links a metric may add up to; None: it is no bandwidth between nodes."""
    if _of_pairs(name, benchmark.pair_bandwidth, layout):
        return 1
    if read_metric(name)[0] not in METRICS:
        return None
    return factor(benchmark, layout.nodes, layout.mapping, layout.processes // 2)


def _gpus(benchmark: Benchmark, name: str, layout: Layout) -> int | None:
    """Return how many ways through a GPU a metric may add up to: each pair has its own GPUs.

    Of more than two processes one may have two neighbours, and to each another way (NVLink).
    """
    if benchmark.link_factor is None or read_metric(name)[0] not in METRICS:
        return None
    ways = layout.processes // 2 if benchmark.pair_sum else min(layout.processes, 3) - 1
    return benchmark.link_factor * ways


def _size(benchmark: Benchmark, name: str, layout: Layout) -> int | None:
    """Return the bytes of the message that a metric timed; None: it is no time of one message."""
    stem, size = split_metric(name)
    if _of_pairs(name, benchmark.pair_latency, layout):
        return benchmark.pair_size or size
    return size if stem == "latency" and benchmark.one_message else None


def slower_link(
    benchmark: Benchmark,
    measurements: Mapping[str, tuple[float, str]],
    facts: Facts,
    within: float,
) -> str:
    """Say which slower rate of a fabric's technology a peak that is too low would be right for.

    A peak is right for a link when it lies at most the fraction `within` below its limit. Empty
    where the peak is right for the link as stated, or for no slower one.
    """
    if not benchmark.one_way or "bandwidth_peak" not in measurements:
        return ""
    peak, unit = measurements["bandwidth_peak"]
    stated = limit(facts).bandwidth
    value = peak * UNITS[unit]
    if stated is None or facts.rate is None or value >= (1 - within) * stated:
        return ""
    known = RATES.get(facts.technology, ())
    slower = known[: known.index(facts.rate)] if facts.rate in known else []
    for rate in reversed(slower):
        lanes = HDR100_LANES if rate == "HDR100" else facts.lanes
        other = replace(facts, rate=rate, lanes=lanes)
        most = limit(other).bandwidth
        if most and (1 - within) * most <= value and not exceeds(value, most):
            return (
                f"a link that runs at less than {facts.text}: bandwidth_peak is right for "
                f"{other.text} ({most / UNITS[unit]:.5g} {unit} at most)"
            )
    return ""


def readings_of(folder: Path, node: str) -> tuple[NodeLinks, NodeLinks] | None:
    """Return what `machine/rank.sh` left of a node's links, before and after; None: not both.

    Raises ParseError for a reading that is cut.
    """
    paths = [folder / f"{node}.{when}" for when in ("before", "after")]
    if not all(path.is_file() for path in paths):
        return None
    before, after = (parse(read_whole(path, LONGEST), path.name) for path in paths)
    return before, after


def evidence(
    folder: Path, nodes: Iterable[str], facts: Facts | None, min_bytes: int
) -> tuple[list[Finding], list[Finding], str]:
    """Read what `machine/rank.sh` left in a folder, NODE.before and NODE.after of each node.

    `min_bytes` must have moved over the fabric of each node, 0 for no matter. Returned are what
    fails the run, of the kinds link-failed (it went down, or is stated and vanished) and no-bytes;
    what may explain a failure; and how many bytes went over the fabric, or why that is not known
    (empty: nobody asks). Raises ParseError for a reading that is cut.
    """
    faults: list[Finding] = []
    explaining: list[Finding] = []
    moved: list[int] = []
    unknown: list[str] = []
    if facts is None or not facts.shown:
        return faults, explaining, ""
    for name in sorted(set(nodes)):
        if (readings := readings_of(folder, name)) is None:
            unknown.append(f"{name} reported nothing of its links")
            continue
        before, after = readings
        growth, links = error_growth(before, after), serving(before, facts)
        explaining += [*deviations(before, facts), *growth]
        # The fabric is not to blame for what another network of the node does.
        for change in growth:
            fell = change.what in FATAL and change.expected == GROWN
            gone = change.kind == "link-missing" and not change.what and facts.states_links
            if change.device in links and (fell or gone):
                text = f"the link failed while it was measured: {change.text}"
                faults.append(replace(change, kind="link-failed", text=text))
        try:
            moved.append(bytes_moved(before, after, facts, min_bytes))
        except ValueError as err:
            unknown.append(str(err))
        else:
            if moved[-1] < min_bytes:
                over = facts.device or f"the {facts.technology}"
                text = (
                    f"only {moved[-1]} bytes went over {over} of {name}, the benchmark sends "
                    f"{min_bytes} at least: not measured over this fabric"
                )
                faults.append(Finding("no-bytes", text, nodes=(name,)))
    if unknown:
        return faults, explaining, f"not known: {'; '.join(unknown)}"
    told = f"{min(moved)} or more over the fabric of each node" if moved else ""
    return faults, explaining, told


#: All caches of a node in those of the last level: private ones may hold twice as much again (64
#: cores with 1 MiB each beside 32 MiB on Graviton 2 and 3), few hold more than the same again.
CACHES = 3


def memory_limit(
    benchmark: Benchmark, size: int, stated: PartitionExtras, layout: Layout
) -> float | None:
    """Return the most MB/s that a benchmark may report; None where caches may hold it all.

    Of a pair the buffers are those of what it sends and receives: two of one message, four of two
    ways; what is said of each pair (`pair_bandwidth`) is one way. Of two ways a benchmark may send
    twice from one buffer and receive twice in one (IMB's Exchange), so that memory moves no more
    bytes than it reports.
    """
    ways = benchmark.link_factor or 1
    pairs = layout.processes // 2 if benchmark.pair_sum else 1
    buffers, caches = 2 * ways * size * pairs, CACHES * stated.cache
    if buffers <= caches:
        return None
    # By the average of the pairs' times it may be more (`factor`).
    share = 2 * pairs / (pairs + 1) if benchmark.pair_sum == "average" else 1
    return share * ways / 2 * stated.memory_bandwidth * buffers / (buffers - caches)


def implausible_inside(
    benchmark: Benchmark,
    measurements: Mapping[str, tuple[float, str]],
    stated: PartitionExtras,
    layout: Layout,
) -> tuple[list[str], str]:
    """Return what inside a node cannot be true, and what was compared; empty: it has no bandwidth.

    A line with the worst metric, or none.
    """
    sizes = {
        name: size
        for name, (_, unit) in measurements.items()
        if (size := split_metric(name)[1]) and read_metric(name)[0] in METRICS and unit in UNITS
    }
    if not (benchmark.link_factor or benchmark.pair_bandwidth) or not sizes:
        return [], ""
    if absent := [name for name in ("memory_bandwidth", "cache") if not getattr(stated, name)]:
        return [], f"not compared: the partition states no {' and no '.join(absent)}"
    over, compared = {}, []
    for name, size in sizes.items():
        bound = memory_limit(benchmark, size, stated, layout)
        if bound is not None:
            compared.append(size)
            value, unit = measurements[name]
            if exceeds(value, most := bound / UNITS[unit]):
                over[name] = (value / most, value, most, unit)
    if not compared:
        return [], "not compared: the messages fit into the caches"
    told = f"compared from {min(compared)} bytes on, smaller messages fit into the caches"
    if not over:
        return [], told
    name, (_, value, most, unit) = max(over.items(), key=lambda item: item[1])
    return [
        f"implausible: {name} is {value:g} {unit}, memory of {stated.memory_bandwidth:g} MB/s and "
        f"caches of {stated.cache} bytes let processes of a node exchange at most {most:.5g}: "
        "these bytes were not moved"
    ], told


#: How many arrays of doubles each kernel of STREAM reads and writes.
_ARRAYS = dict(zip(KERNELS, (2, 2, 3, 3), strict=True))


def implausible_stream(
    measurements: Mapping[str, tuple[float, str]],
    vector: int,
    stated: PartitionExtras,
    layout: Layout,
) -> tuple[list[str], str]:
    """Return what of STREAM no memory can do, and why nothing was compared; empty: it was.

    A result is that of one process in GB/s, `vector` the length of one of its arrays. Those of a
    node run at the same time (EP), or one runs alone (Single). Results in the cache have other
    names. A line with the worst metric, or none.
    """
    names = [name for name in measurements if name.partition("-STREAM-")[2] in _ARRAYS]
    if not names:
        return [], "not compared: the arrays of STREAM fit into the caches"
    if absent := [name for name in ("memory_bandwidth", "cache") if not getattr(stated, name)]:
        return [], f"not compared: the partition states no {' and no '.join(absent)}"
    over = {}
    for name in names:
        (value, unit), (kind, _, kernel) = measurements[name], name.partition("-STREAM-")
        processes = layout.per_node if kind == "EP" else 1
        moved, caches = 8 * vector * _ARRAYS[kernel] * processes, CACHES * stated.cache
        most = stated.memory_bandwidth / UNITS[unit] / processes
        if moved > caches and exceeds(value, most := most * moved / (moved - caches)):
            over[name] = value / most, value, most, unit, processes
    if not over:
        return [], ""
    name, (_, value, most, unit, processes) = max(over.items(), key=lambda item: item[1])
    return [
        f"implausible: {name} is {value:g} {unit}, memory of {stated.memory_bandwidth:g} MB/s and "
        f"caches of {stated.cache} bytes give a process at most {most:.5g} of {processes} at once: "
        "these bytes were not moved"
    ], ""

"""Rows and claims of a site that no case of its configuration can meet: they judge nothing.

What is compared is what the configuration states and the suites are known to measure. Benchmarks
of a site's own checks are not known here, and are taken as they are.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from acceptance.core.findings import Finding
from acceptance.machine import configured_size
from acceptance.references import Claim, Library, Reference
from acceptance.rfm import SiteFault, configuration
from acceptance.suites import SUITES, find, has_check


def unmet_rows(
    library: Library, site: configuration.Site, systems: Collection[str]
) -> Iterator[Finding]:
    """Yield the rows of a site, of these systems and unknown ones, and claims that judge nothing.

    Claims are those of these systems: of unknown ones whoever evaluates claims tells. Those of one
    file are one finding where the reason is the same. Rows of papers are not looked at: they are of
    many machines, and most of them of none here.
    """
    known = {system["name"] for system in site.systems}
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in library.baselines:
        concerned = row.system in systems or row.system not in known
        if concerned and (reason := next(_of_row(row, library, site), "")):
            found[str(row.path), reason].append(row.line)
    for claim in library.claims:
        concerned = any(side.system in systems for side in claim.sides)
        if claim.source == "site" and concerned and (reason := next(_of_claim(claim, site), "")):
            found[str(claim.path), reason].append(claim.line)
    for (path, reason), (line, *others) in found.items():
        more = f", and {len(others)} more lines" if others else ""
        text = f"{path}:{line}{more}: judges nothing: {reason}"
        yield Finding("reference-unmet", text, fails=True, place=(path, reason), source="gate")


def _of_row(row: Reference, library: Library, site: configuration.Site) -> Iterator[str]:
    place = row.system, row.partition, row.benchmark, row.metric
    yield from _reasons(site, *place, row.parameters)
    column = "bandwidth" if row.metric == "bandwidth_peak" else row.metric
    units = {each.unit for each in find(row.benchmark).columns if each.stem == column}
    if units and row.unit not in units:
        known = ", ".join(sorted(units))
        yield f"{row.metric} of {row.benchmark} is in {known}, not in {row.unit}"
    if library.thresholds(row) is None:
        yield f"tolerances.yaml has nothing for {row.relation} {row.unit} of a {row.source}"


def _of_claim(claim: Claim, site: configuration.Site) -> Iterator[str]:
    for side in claim.sides:
        benchmark, metric, keys = claim.stated(side)
        if side.partition:
            place = side.system, side.partition, benchmark, metric
            yield from _reasons(site, *place, keys, sizes=False)


def _reasons(
    site: configuration.Site,
    system: str,
    partition: str,
    benchmark: str,
    metric: str,
    keys: Mapping[str, str],
    *,
    sizes: bool = True,
) -> Iterator[str]:
    """Yield why no case is of this system, partition, benchmark, metric and keys."""
    try:
        known = site.system(system)
    except SiteFault:
        yield f"no system {system!r} is configured"
        return
    parts = {part["name"]: part for part in known["partitions"]}
    if partition not in parts:
        yield f"{system} has no partition {partition!r}; known: {', '.join(parts)}"
        return
    yield from _of_benchmark(benchmark, metric)
    part, place = parts[partition], f"{system}:{partition}"
    names = [each["name"] for each in site.environments_of(part, known)]
    if "environment" in keys and keys["environment"] not in names:
        environment = keys["environment"]
        yield f"{place} has no environment {environment!r}; known: {', '.join(names)}"
    yield from _of_place(part, place, benchmark, keys)
    if sizes and has_check(benchmark):
        yield from _of_size(benchmark, metric, keys)


def _of_benchmark(benchmark: str, metric: str) -> Iterator[str]:
    suite = SUITES.get(benchmark.partition(".")[0])
    known = [name for rows in suite.checks.values() for name in rows] if suite else []
    if suite and benchmark not in known:
        yield f"no check runs {benchmark}; known: {', '.join(known)}"
    stems = find(benchmark).stems
    if metric and has_check(benchmark) and metric not in stems:
        yield f"{benchmark} has no metric {metric!r}; known: {', '.join(stems)}"


def _of_place(
    part: dict[str, Any], name: str, benchmark: str, keys: Mapping[str, str]
) -> Iterator[str]:
    size, processor = configured_size(part), part.get("processor", {})
    if size is None or size.unknown:  # told by itself
        return
    # Of `all` nodes those that are not up will be.
    size = replace(size, nodes=size.there or size.nodes)
    processes, nodes = (int(keys.get(key, 0)) for key in ("np", "nodes"))
    if size.cores and processes > size.processes:
        yield f"np={processes} is more than the {size.nodes} x {size.cores} cores of {name}"
    if nodes > size.nodes:
        yield f"nodes={nodes} is more than the {size.nodes} of {name}"
    row = find(benchmark)
    if processes and row.processes != "any" and not row.runs_with(processes):
        yield f"{benchmark} does not run with np={processes}"
    placement = keys.get("placement", "")
    if placement == "inter-node" and size.nodes == 1:
        yield f"placement={placement}, but {name} has one node"
    if placement in ("intra-socket", "inter-socket") and processor.get("num_sockets", 2) < 2:
        yield f"placement={placement}, but a node of {name} has one socket"


def _of_size(benchmark: str, metric: str, keys: Mapping[str, str]) -> Iterator[str]:
    row = find(benchmark)
    # Of pairs each quantity is one of a single size, which its name has.
    each_size = any(
        column.stem == metric and (row.sized or (row.sizes and column.unit != "1"))
        for column in row.columns
    )
    size = keys.get("message_size")
    if each_size and size is None:
        yield f"{metric} of {benchmark} is one for each message size, and it has no message_size"
    if not each_size and size is not None:
        yield f"{metric} of {benchmark} has no message_size"
    measured = row.sizes
    if measured and each_size and size is not None and int(size) not in measured:
        yield f"message_size={size} is none of {', '.join(map(str, measured))}"
    if not measured and size is not None and int(size).bit_count() > 1:
        yield f"message_size={size} is no power of two"

"""What a case has found: what failed it, the metrics that missed their references, its links.

It follows from the case alone, so that whoever has a protocol can draw it again.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from acceptance.core import words
from acceptance.core.findings import RECORDED_OTHERWISE, SHARED, Finding
from acceptance.core.groups import grouped
from acceptance.core.kinds import OF_CABLES, OF_FABRICS, OF_LINKS, OF_PAIRS, TABLE
from acceptance.core.text import plural
from acceptance.core.words import better
from acceptance.fabric.link_check import STANDING
from acceptance.ledger import Case, Metric
from acceptance.references import outside, source_of, write_parameters

#: ReFrame's result of a case that waited for another one which failed.
LEFT_OUT = "fail_deps"
#: Kinds that a case stores and of which the verdict knows more.
_OF_VERDICT = ("", STANDING, SHARED, RECORDED_OTHERWISE)


def of_case(case: Case) -> tuple[Finding, ...]:
    """Return what a case has found: nothing when it passed and its links were as they should be.

    A deviation that a case saw beside its own benchmark is a finding of its link, not of the case.
    """
    found = [
        _placed(case, each)
        for each in case.findings
        if each.kind not in _OF_VERDICT and not (case.all_pairs and each.kind in OF_PAIRS)
    ]
    if case.passed:
        return tuple(found)
    source, reason = text_of(case), " ".join(case.fail_reason.split())
    if case.result == LEFT_OUT:
        # One finding for all that waited for the same thing, on every run the same.
        place, what = (case.where, case.suite), f"{case.suite} @{case.where}"
        found.append(
            Finding("left-out", "not run, since what it needs failed", place=place, what=what)
        )
    elif case.result != "fail":
        found.append(_failed(case, "not-measured", case.result, "a measurement"))
    elif case.fixture:
        found.append(Finding(
            "build-failed", reason, fails=True, what=f"build {source}", expected="a build",
            place=(case.where, case.name), source=source,
        ))  # fmt: skip
    else:
        found += _of_metrics(case, source)
        if case.given_up and not any(each.fails and each.kind for each in case.findings):
            found.append(_failed(case, case.given_up, reason))
        if not found and not is_of_culprits(case):
            found.append(_failed(case, "case-failed", reason))
    return tuple(found)


def text_of(case: Case) -> str:
    """Return `NAME @system:partition+environment`, which findings of a case are about."""
    return f"{case.name} @{case.where}"


def is_of_culprits(case: Case) -> bool:
    """Tell whether all that failed a case is told as findings of nodes."""
    failing = {each.kind for each in case.findings if each.fails}
    return bool(case.all_pairs and failing) and failing <= {*OF_PAIRS}


def _failed(
    case: Case, kind: str, text: str, expected: str = "a run that ends well", fails: bool = True
) -> Finding:
    source, place = text_of(case), _place(case)
    return Finding(
        kind, text, fails, case.nodes, what=source, expected=expected, place=place, source=source
    )


def _place(case: Case) -> tuple[str, ...]:
    """Return what names a case in an id, on every run the same."""
    keys = {key: value for key, value in case.keys.items() if key not in ("nodes", "order")}
    if not case.benchmark or not keys:
        return case.where, case.name
    return case.where, case.benchmark, write_parameters(keys)


def _placed(case: Case, seen: Finding) -> Finding:
    """Return what a case has seen with what names it, and what to do about its device."""
    if seen.kind in OF_FABRICS or seen.kind in OF_CABLES:
        return replace(seen, place=(seen.device, seen.what), source=text_of(case))
    if seen.kind not in OF_LINKS:
        kind = seen.kind if seen.kind in TABLE else "case-failed"
        found = _failed(case, kind, seen.text, fails=seen.fails)
        return replace(found, nodes=seen.nodes or case.nodes)
    counter = "" if seen.what in ("PCIe", "MTU") else seen.what
    path = seen.found.split()[0] if seen.kind == "link-unreadable" else ""
    return replace(
        seen,
        place=(seen.node, seen.device, counter, path),
        remedy=seen.row.remedy.replace("DEVICE", seen.device.split("/")[0] or "DEVICE"),
        source=text_of(case),
    )


def misses(metric: Metric) -> bool:
    """Tell whether a value lies outside what its reference allows, as ReFrame reckons it."""
    return outside(metric.value, metric.reference, metric.lower, metric.upper) != 0


def _of_metrics(case: Case, source: str) -> Iterator[Finding]:
    """Yield a finding for each quantity that missed its reference, with the worst of its sizes."""
    groups = grouped(
        filter(misses, case.metrics),
        lambda metric: (words.split_metric(metric.name)[0], _kind(metric)),
    )
    for (stem, kind), missed in groups.items():
        worst = max(missed, key=lambda metric: abs(metric.value / (metric.reference or 1) - 1))
        more = f", and at {plural(len(missed) - 1, 'more size')}" if len(missed) > 1 else ""
        yield Finding(
            kind, f"{worst.name} {worst.value:g} {worst.unit}{more}", fails=True, nodes=case.nodes,
            what=f"{stem} of {source}", expected=expected_text(worst),
            place=(*_place(case), stem), source=worst.judged_by,
        )  # fmt: skip


def _kind(metric: Metric) -> str:
    way = better(metric.unit, metric.lower, metric.upper)
    side = outside(metric.value, metric.reference, metric.lower, metric.upper)
    if way is not None and (side > 0) == (way == "higher"):
        return "above-reference"
    kind = f"below-{source_of(metric.judged_by)}"
    return kind if kind in TABLE else "below-reference"


def expected_text(metric: Metric) -> str:
    """Write the range that a metric must lie in: `>= 2500 MB/s (published ..., Table 5)`."""
    reference = metric.reference or 0.0
    scale = abs(reference) or 1.0
    bounds = [
        f"{sign} {reference + threshold * scale:g}"
        for sign, threshold in ((">=", metric.lower), ("<=", metric.upper))
        if threshold is not None
    ]
    judged_by = f" ({metric.judged_by})" if metric.judged_by else ""
    return f"{' and '.join(bounds)} {metric.unit}{judged_by}"

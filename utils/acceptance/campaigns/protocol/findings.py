"""Findings: of cases, of the links that they saw, of nodes, and of a verdict.

Each has an id that is the same whenever the same thing is wrong in the same place: its kind in
capitals, and after it node and device, or partition, benchmark and metric.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from zlib import crc32

from msgspec import Struct
from msgspec.structs import replace

from acceptance.alerts import HISTORY
from acceptance.core import kinds, words
from acceptance.core.findings import RECORDED_OTHERWISE, SHARED, Observation
from acceptance.core.kinds import MAJOR, MINOR, OF_LINKS, SEVERITIES, TABLE
from acceptance.core.words import better
from acceptance.fabric.link_check import STANDING
from acceptance.fabric.view.kinds import kind_of
from acceptance.ledger import Case, Metric
from acceptance.nodes import FAILING, PairFinding
from acceptance.nodes.culprits.model import CABLE
from acceptance.references import outside, source_of, write_parameters
from acceptance.verdict import LEFT_OUT, PartitionNodes, Verdict, of_culprits

#: Kinds of problems that cases, nodes, alerts or guidelines tell more exactly.
TOLD = {"protocol", "case-failed", "left-out", "guideline", "not-benchmarked",
        "nodes-left-out", *HISTORY, *FAILING}  # fmt: skip
#: What ReFrame says of a job that it gave up -> kind; the first that fits.
OF_REASONS = (
    (re.compile(r"it was blocked due to reason: "), "job-blocked"),
    (re.compile(r"job timed out|exceeded timeout|JobTimeout", re.I), "time-limit"),
)


class ProtocolFinding(Struct, frozen=True):
    """One thing that is wrong. `nodes` are those concerned, none where no node is to blame.

    `source` names what it was concluded from: a case and its place, a problem of the gate.
    """

    id: str
    severity: str
    nodes: tuple[str, ...]
    what: str
    found: str
    expected: str
    remedy: str
    source: str

    @property
    def code(self) -> str:
        """Return its kind in capitals, the first part of the id."""
        return self.id.partition(":")[0]


def of_case(case: Case) -> list[ProtocolFinding]:
    """Return what a case has found: nothing when it passed and its links were as they should be.

    A deviation that a case saw beside its own benchmark is a finding of its link, not of the case.
    """
    source = f"{case.name} @{case.where}"
    found = [
        _of_observation(case, each, source)
        for each in case.findings
        # The verdict knows more of these.
        if each.kind not in ("", STANDING, SHARED, RECORDED_OTHERWISE)
        and not (case.all_pairs and each.kind in FAILING)
    ]
    if case.passed:
        return found
    reason = " ".join(case.fail_reason.split())
    if case.result == LEFT_OUT:
        # One finding for all that waited for the same thing, on every run the same.
        place, what = (case.where, case.suite), f"{case.suite} @{case.where}"
        waited = "not run, since what it needs failed"
        found.append(make("left-out", place, what, found=waited))
    elif case.result != "fail":
        found.append(_failed(case, source, "not-measured", case.result, "a measurement"))
    elif case.fixture:
        place = (case.where, case.name)
        found.append(make("build-failed", place, f"build {source}", found=reason,
                          expected="a build", source=source))  # fmt: skip
    else:
        found += _of_metrics(case, source)
        given_up = [kind for pattern, kind in OF_REASONS if pattern.search(reason)][:1]
        if not any(each.fails and each.kind for each in case.findings):
            found += [_failed(case, source, kind) for kind in given_up]
        if not found and not of_culprits(case):
            found.append(_failed(case, source))
    return found


def place_of(case: Case) -> tuple[str, ...]:
    """Return what names a case in an id, on every run the same."""
    keys = {key: value for key, value in case.keys.items() if key not in ("nodes", "order")}
    if not case.benchmark or not keys:
        return case.where, case.name
    return case.where, case.benchmark, write_parameters(keys)


def _failed(
    case: Case,
    source: str,
    kind: str = "case-failed",
    text: str = "",
    expected: str = "a run that ends well",
) -> ProtocolFinding:
    return make(
        kind, place_of(case), source, found=text or " ".join(case.fail_reason.split()),
        expected=expected, nodes=case.nodes, source=source,
    )  # fmt: skip


def _of_observation(case: Case, seen: Observation, source: str) -> ProtocolFinding:
    """Return the finding of a link's deviation, or of what else failed a case."""
    if kind_of(seen):
        place, nodes = (seen.device, seen.what), seen.node.split(",")
        return make(seen.kind, place, " ".join(filter(None, place)), found=seen.found,
                    expected=seen.expected, nodes=filter(None, nodes), source=source)  # fmt: skip
    if seen.kind == "link-failed":
        at = (seen.node, seen.device, seen.what)
        return make(seen.kind, at, source, found=seen.text, expected="a link that stays up",
                    nodes=(seen.node,), source=source)  # fmt: skip
    if seen.kind in OF_LINKS:
        return of_deviation(seen, source)
    return _failed(case, source, seen.kind if seen.kind in TABLE else "case-failed", seen.text)


def misses(metric: Metric) -> bool:
    """Tell whether a value lies outside what its reference allows, as ReFrame reckons it."""
    return outside(metric.value, metric.reference, metric.lower, metric.upper) != 0


def _of_metrics(case: Case, source: str) -> Iterator[ProtocolFinding]:
    """Yield a finding for each quantity that missed its reference, with the worst of its sizes."""
    groups: dict[tuple[str, str], list[Metric]] = {}
    for metric in case.metrics:
        if misses(metric):
            key = words.split_metric(metric.name)[0], _kind(metric)
            groups.setdefault(key, []).append(metric)
    for (stem, kind), missed in groups.items():
        worst = max(missed, key=lambda metric: abs(metric.value / (metric.reference or 1) - 1))
        more = f", and at {len(missed) - 1} more sizes" if len(missed) > 1 else ""
        found = f"{worst.name} {worst.value:g} {worst.unit}{more}"
        yield make(kind, (*place_of(case), stem), f"{stem} of {source}", found=found,
                   expected=expected_text(worst), nodes=case.nodes,
                   source=worst.judged_by)  # fmt: skip


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


def of_verdict(verdict: Verdict) -> Iterator[ProtocolFinding]:
    """Yield the findings of a verdict beside its cases: problems, suites, history, guidelines."""
    for problem in verdict.problems:
        if problem.kind == "node-absent":
            node = problem.about[-1]
            yield make(problem.kind, problem.about, node, found=problem.message, expected="up",
                       nodes=[node], source="Slurm")  # fmt: skip
        elif problem.kind not in TOLD:
            yield make(
                problem.kind, problem.about, problem.kind, found=problem.message, source="gate"
            )
    for missing in verdict.unprovided:
        place = (missing.partition or verdict.system, missing.check)
        yield make("not-provided", place, missing.name, found=missing.reason,
                   expected="a measurement", source="gate", remedy=missing.remedy)  # fmt: skip
    for partition, reason in verdict.links_not_judged.items():
        yield make("links-not-judged", (partition,), f"links of {partition}", found=reason,
                   expected="a stated rate", source="gate")  # fmt: skip
    for partition, reason in verdict.fabric_not_viewed.items():
        yield make("fabric-not-looked", (partition,), f"fabric of {partition}", found=reason,
                   expected="all switches and cables looked at", source="gate",
                   severity=MINOR)  # fmt: skip
    for counter in verdict.counters:
        at = (counter["node"], counter["device"], counter["counter"])
        yield make("link-counters", at, " ".join(at), found=counter["text"], expected="0",
                   nodes=[counter["node"]], source="link check")  # fmt: skip
    for alert in verdict.alerts:
        where = (alert.system, alert.partition, alert.id)
        text = f"{alert.check} {alert.metric}: {alert.before} -> {alert.after}"
        found = " ".join((text, alert.unit, alert.cause)).strip()
        what = f"{alert.kind} since {alert.since}"
        yield make(alert.kind, where, what, found=found, source="history")
    for violated in verdict.guidelines.get("findings", ()):
        severity = MAJOR if violated["fails"] else ""
        yield make("guideline", (violated["id"],), violated["guideline"], found=violated["text"],
                   severity=severity, source="guidelines")  # fmt: skip


#: Characters of names of nodes in an id.
_LONGEST = 60


def of_nodes(partitions: Iterable[PartitionNodes]) -> Iterator[ProtocolFinding]:
    """Yield the findings of nodes: slow ones, and those that nobody benchmarked."""
    for each in partitions:
        place, what = (each.place,), f"nodes of {each.place}"
        yield from map(_of_pairs, each.findings)
        if each.limited:
            yield make("limited", place, what, found=each.limited_text)
        if missing := each.missing:
            yield make(
                "not-benchmarked", place, what, found=f"{each.coverage_text}; {missing}",
                expected="every node", source=each.origin,
            )  # fmt: skip
        if each.not_paired:
            yield make(
                "pairs-not-measured", place, what, found=each.not_paired,
                expected="each node compared with the others",
            )  # fmt: skip


def _of_pairs(finding: PairFinding) -> ProtocolFinding:
    """Return the finding of a culprit; its id names it and the quantity, no number."""
    culprit = finding.culprit
    names = [_shortened(",".join(each)) for each in (culprit.nodes, culprit.others)]
    return make(
        finding.kind, (finding.place, *names, finding.environment, culprit.quantity),
        finding.reason, found=culprit.text, expected=finding.expected, severity=finding.severity,
        # Of a cable these are the ports at its ends.
        nodes=() if finding.kind == CABLE else finding.nodes,
        source=f"all pairs of nodes, {finding.place}+{finding.environment}",
    )  # fmt: skip


def _shortened(names: str) -> str:
    """Return names as they are, or of many the first one and what tells them from others."""
    if len(names) <= _LONGEST:
        return names
    return f"{names.partition(',')[0]}+{names.count(',')}-{crc32(names.encode()):08x}"


def make(
    kind: str,
    place: Sequence[str],
    what: str,
    *,
    found: str = "",
    expected: str = "",
    nodes: Iterable[str] = (),
    source: str = "",
    severity: str = "",
    remedy: str = "",
) -> ProtocolFinding:
    """Return a finding of a kind; `place` is the stable rest of its id."""
    row = kinds.of(kind)
    key = ":".join((kind.upper(), *(part.replace(" ", "") for part in place if part)))
    return ProtocolFinding(
        key, severity or row.severity, tuple(dict.fromkeys(nodes)), what, found, expected,
        remedy or row.remedy, source,
    )  # fmt: skip


def of_deviation(deviation: Observation, source: str = "") -> ProtocolFinding:
    """Return what a deviation of a link is as a finding."""
    counter = "" if deviation.what in ("PCIe", "MTU") else deviation.what
    path = deviation.found.split()[0] if deviation.kind == "link-unreadable" else ""
    remedy = kinds.of(deviation.kind).remedy.replace(
        "DEVICE", deviation.device.split("/")[0] or "DEVICE"
    )
    what = " ".join(filter(None, (deviation.node, deviation.device, deviation.what)))
    return make(
        deviation.kind, (deviation.node, deviation.device, counter, path), what,
        found=deviation.found, expected=deviation.expected, nodes=(deviation.node,), source=source,
        remedy=remedy,
    )  # fmt: skip


def merged(findings: Iterable[ProtocolFinding]) -> list[ProtocolFinding]:
    """Return one finding for each id, that of the first with the nodes of all; the worst first."""
    by_id: dict[str, ProtocolFinding] = {}
    for finding in findings:
        known = by_id.get(finding.id, finding)
        nodes = tuple(dict.fromkeys((*known.nodes, *finding.nodes)))
        by_id[finding.id] = replace(known, nodes=nodes)
    return sorted(
        by_id.values(), key=lambda finding: (SEVERITIES.index(finding.severity), finding.id)
    )

"""What follows from a protocol of an acceptance, by the rest of it alone.

The findings and the outcome are functions of what was measured, so that whoever has a protocol can
draw them again (`differences`). Its checksum is the SHA-256 of the
canonical JSON of all but itself: sorted keys, no blanks, UTF-8.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from acceptance.core.findings import Finding, merged
from acceptance.core.kinds import CRITICAL, INFO, MAJOR, MINOR
from acceptance.core.text import plural
from acceptance.core.words import SIMULATED, is_simulated
from acceptance.ledger import Case, Metric
from acceptance.relations import claims
from acceptance.verdict import (
    LINK_SUITE,
    Nodes,
    Verdict,
    judge_nodes,
    misses,
    result_of,
)

FORMAT = "interconnect acceptance protocol"
VERSION = 3
ACCEPTED, RESERVED, REJECTED = "accepted", "accepted with reservations", "rejected"
UNDECIDED = "not decided"
#: The outcome of what was simulated, whatever its results are: that of the model is `of_model`.
NO_ACCEPTANCE = "no acceptance: simulated"
#: What a protocol has of each finding.
_PRINTED = ("id", "severity", "nodes", "what", "found", "expected", "remedy", "source")
#: What names a claim in an id, beside its place.
_CLAIMED = ("left", "right", "relation")


def plain(data: Any) -> Any:
    """Return data as JSON gives it back, with anything else than plain data as text."""
    return json.loads(json.dumps(msgspec.to_builtins(data, enc_hook=str), allow_nan=False))


def checksum(data: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a protocol without its checksum."""
    text = json.dumps(
        {key: value for key, value in data.items() if key != "sha256"},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )
    return hashlib.sha256(text.encode()).hexdigest()


def metric_verdict(metric: Metric) -> str:
    """Return pass, fail, or recorded, by value and reference alone."""
    if metric.reference is None:
        return "recorded"
    return "fail" if misses(metric) else "pass"


def conclusions(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return counts, findings and outcome of a protocol, from the rest of it alone."""
    cases = [case_of(measured) for measured in data["measured"]]
    # What misses its reference was judged, too.
    metrics = [metric for case in cases for metric in case.metrics]
    judged = sum(metric.reference is not None for metric in metrics)
    counts = {
        "cases": sum(not case.fixture for case in cases),
        "passed": sum(case.passed for case in cases if not case.fixture),
        "judged": judged,
        "recorded": len(metrics) - judged,
    }
    stored = data["verdict"]
    verdict = msgspec.convert({key: stored[key] for key in stored if key != "verdict"}, Verdict)
    verdict.cases = [*map(result_of, cases)]
    if "nodes" in data["asked"]:
        judge_nodes(verdict, cases, msgspec.convert(data["asked"]["nodes"], Nodes))
    found = [*verdict.everything, *_of_claims(data), *_of_recorded(cases, judged)]
    if extra := data["asked"]["reframe"]:
        options = " ".join(extra)
        found.append(
            Finding("restricted", options, what="options of ReFrame", place=(data["system"],))
        )
    findings = merged(found)
    decided = outcome(findings, stored["verdict"])
    simulators = simulated_by(data, cases)
    return {
        "counts": counts,
        "node_results": verdict.nodes,
        "findings": [{name: getattr(each, name) for name in _PRINTED} for each in findings],
        "outcome": NO_ACCEPTANCE if simulators else decided,
        **({SIMULATED: simulators, "of_model": decided} if simulators else {}),
    }


def simulated_by(data: Mapping[str, Any], cases: Sequence[Case]) -> list[str]:
    """Return what simulated any of it, by each witness; empty where machines were measured."""
    found = {case.provenance[SIMULATED] for case in cases if SIMULATED in case.provenance}
    stated = any(part.get("extras", {}).get(SIMULATED) for part in data["asked"]["partitions"])
    named = any(is_simulated(system) for system in (data["system"], *(c.system for c in cases)))
    if not found and (stated or named):
        found = {SIMULATED}
    return sorted(found)


def case_of(data: Mapping[str, Any]) -> Case:
    """Return a case of a protocol; raises ValueError for what is none."""
    return msgspec.convert(data, Case)


def _of_claims(data: Mapping[str, Any]) -> Iterator[Finding]:
    for claim in data["claims"]:
        if "claimed" not in claim:
            yield Finding("claims", claim["reason"], place=(data["system"],))
        elif claim["expected"] and claim["state"] != claims.HOLDS:
            claimed = claim["claimed"]
            value = "..".join(map(str, claimed["value"]))
            stated = " ".join(filter(None, (claimed["relation"], value, claimed["unit"])))
            ours, failed = claim["ours"] or {}, claim["state"] == claims.FAILS
            measured = f"{ours.get('value', '?')} {ours.get('unit', '')}".strip()
            yield Finding(
                "claim" if failed else "claim-open",
                measured if failed else f"{claim['state']}: {claim['detail']}",
                what=" against ".join(filter(None, (claimed["left"], claimed["right"]))),
                expected=stated, source=f"{claim['paper']}, {claim['where']}",
                place=(claim["paper"], claim["where"], *(claimed[key] for key in _CLAIMED)),
            )  # fmt: skip


def _of_recorded(cases: Sequence[Case], judged: int) -> Iterator[Finding]:
    """Yield for each suite of a partition what no reference could judge."""
    counts = Counter[tuple[str, str]]()
    for case in cases:
        if case.suite != LINK_SUITE:
            recorded = sum(metric.reference is None for metric in case.metrics)
            counts[f"{case.system}:{case.partition}", case.suite] += recorded
    for (partition, suite), count in counts.items():
        if count:
            found = f"{plural(count, 'metric')} recorded, not judged"
            severity = INFO if judged else MINOR
            yield Finding(
                "recorded", found, what=f"{suite} on {partition}", expected="a reference",
                severity=severity, place=(partition, suite),
            )  # fmt: skip


def outcome(findings: Sequence[Finding], verdict: str) -> str:
    """Return what a system is by its findings; what could not be judged is not decided."""
    severities = {finding.severity for finding in findings}
    if verdict == "cannot-judge":
        return UNDECIDED
    if severities & {CRITICAL, MAJOR} or verdict != "pass":
        return REJECTED
    return RESERVED if MINOR in severities else ACCEPTED


def differences(data: Mapping[str, Any]) -> list[str]:
    """Return where a protocol is not what follows from itself; empty where all agrees.

    Raises ValueError for what is no protocol of this version.
    """
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        raise ValueError(f"no {FORMAT} of version {VERSION}")
    try:
        return list(_differences(data))
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise ValueError(f"a malformed protocol: {err!r}") from None


def _differences(data: Mapping[str, Any]) -> Iterator[str]:
    if data["sha256"] != (content := checksum(data)):
        yield f"checksum: {data['sha256']} is written, its content has {content}"
    for case in map(case_of, data["measured"]):
        for metric in filter(misses, case.metrics if case.passed else ()):
            yield f"{case.name} @{case.where}: passed, with {metric.name} outside its reference"
    again = plain(conclusions(data))
    for name in ("counts", "outcome", SIMULATED, "of_model"):
        written, follows = (each.get(name, "nothing") for each in (data, again))
        if written != follows:
            yield f"{name}: {written} is written, {follows} follows from the results"
    if data["node_results"] != again["node_results"]:
        yield "nodes: something else is written than follows from the results"
    verdict = data["verdict"]
    if verdict["verdict"] == "pass" and verdict["problems"]:
        yield f"verdict: pass is written, with {len(verdict['problems'])} problems"
    yield from _different_findings(data["findings"], again["findings"])


def _different_findings(
    written: Sequence[Mapping[str, Any]], computed: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    of_written, follows = (
        {finding["id"]: finding for finding in findings} for findings in (written, computed)
    )
    if len(of_written) != len(written):
        yield f"findings: of {len(written)} only {len(of_written)} have an id of their own"
    for key in {**of_written, **follows}:
        if key not in of_written:
            yield f"finding {key} follows from the results, and is missing"
        elif key not in follows:
            yield f"finding {key} does not follow from the results"
        elif of_written[key] != follows[key]:
            yield f"finding {key} says something else than follows from the results"

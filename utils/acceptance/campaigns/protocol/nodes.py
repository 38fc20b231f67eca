"""What a protocol says of nodes: findings, and a table of each node's values."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias
from zlib import crc32

import msgspec

from acceptance.campaigns.protocol.codes import OF_NODES, OF_PAIRS
from acceptance.campaigns.protocol.remedies import ProtocolFinding, make
from acceptance.nodes import PairFinding, finding_of, number_text, quantity_text
from acceptance.nodes.culprits.model import CABLE
from acceptance.references import ReferenceFault
from acceptance.rfm import Case, Session
from acceptance.verdict import (
    Nodes,
    Verdict,
    coverage_text,
    judge_nodes,
    limited_text,
    not_benchmarked,
    not_compared,
)

#: Characters of names of nodes in an id.
_LONGEST = 60

#: Title, header and rows.
Table: TypeAlias = tuple[str, list[str], list[list[str]]]


def nodes_of(data: Mapping[str, Any], cases: Sequence[Case]) -> dict[str, Any]:
    """Return `Verdict.nodes` of a protocol, drawn from what was asked and measured.

    `cases` are those of `measured`. Protocols without `asked.nodes` have none.
    """
    if "nodes" not in data["asked"]:
        return {}
    by_session: dict[str, list[Case]] = {}
    for measured, case in zip(data["measured"], cases, strict=True):
        by_session.setdefault(measured["session"], []).append(case)
    sessions = [
        Session(uuid, 0.0, 0.0, "", "", "", 0, tuple(of)) for uuid, of in by_session.items()
    ]

    def tolerance(where: str, unit: str) -> float:
        try:
            return float(data["asked"]["tolerances"]["nodes"][where][unit]["worse"])
        except (KeyError, TypeError):
            raise ReferenceFault(f"nodes, {where}, {unit}: no tolerance") from None

    verdict = Verdict()
    judge_nodes(verdict, sessions, msgspec.convert(data["asked"]["nodes"], Nodes), tolerance)
    return verdict.nodes


def of_nodes(entries: Mapping[str, Mapping[str, Any]]) -> Iterator[ProtocolFinding]:
    """Yield the findings of `Verdict.nodes`: slow ones, and those that nobody benchmarked."""
    for place, entry in entries.items():
        for finding in map(finding_of, entry["findings"]):
            if isinstance(finding, PairFinding):
                yield _of_pairs(finding)
                continue
            yield make(
                OF_NODES[finding.kind],
                (*finding.about, finding.environment, finding.where, str(finding.size)),
                finding.reason,
                found=f"{finding.quantity}: {finding.numbers}",
                expected=finding.expected,
                nodes=finding.nodes,
                source=f"comparison of nodes, {finding.place}+{finding.environment}",
                severity=finding.severity,
            )
        if limited := limited_text(entry):
            yield make("LIMITED", (place,), f"nodes of {place}", found=limited)
        if missing := not_benchmarked(entry):
            yield make(
                "NOT-BENCHMARKED", (place,), f"nodes of {place}",
                found=f"{coverage_text(entry)}; {missing}", expected="every node",
                source=entry["origin"],
            )  # fmt: skip
        if reason := entry.get("not_paired"):
            yield make(
                "PAIRS-NOT-MEASURED", (place,), f"pairs of nodes of {place}",
                found=reason, expected="a value of each pair of nodes",
            )  # fmt: skip
        if reason := not_compared(entry):
            yield make(
                "NOT-COMPARED", (place,), f"nodes of {place}",
                found=reason, expected="each node compared with the others",
            )  # fmt: skip


def _of_pairs(finding: PairFinding) -> ProtocolFinding:
    """Return the finding of a culprit; its id names it and the quantity, no number."""
    culprit = finding.culprit
    names = [",".join(each) for each in (culprit.nodes, culprit.others)]
    return make(
        OF_PAIRS[finding.kind],
        (
            finding.place,
            *map(_shortened, names),
            finding.environment,
            finding.kind,
            culprit.quantity,
        ),
        finding.reason,
        found=culprit.text,
        expected=finding.expected,
        # Of a cable these are the ports at its ends.
        nodes=() if finding.kind == CABLE else finding.nodes,
        source=f"all pairs of nodes, {finding.place}+{finding.environment}",
        severity=finding.severity,
    )


def _shortened(names: str) -> str:
    """Return names as they are, or of many the first one and what tells them from others."""
    if len(names) <= _LONGEST:
        return names
    return f"{names.partition(',')[0]}+{names.count(',')}-{crc32(names.encode()):08x}"


def tables(entries: Mapping[str, Mapping[str, Any]]) -> Iterator[Table]:
    """Yield title, header and rows of a table for each partition whose pairs were measured."""
    for place, entry in entries.items():
        if not (compared := entry["compared"]):
            continue
        header = ["node", *(f"{_quantity(each)}, {each['unit']}" for each in compared)]
        names = sorted({name for each in compared for name in each["nodes"]})
        rows = [[name, *(_cell(each, name) for each in compared)] for name in names]
        yield place, header, [["median", *map(_median, compared)], *rows]


def _quantity(compared: Mapping[str, Any]) -> str:
    quantity = quantity_text(compared["where"], compared["size"], compared["unit"])
    return f"{quantity}, {compared['environment']}"


def _median(compared: Mapping[str, Any]) -> str:
    if compared["median"] is None:
        return f"not compared: {compared['reason']}"
    first = f"{number_text(compared['median'])}, tolerance {compared['tolerance']:.0%}"
    again = compared["again_median"]
    return f"{first}; again, of the good ones, {number_text(again)}" if again else first


def _cell(compared: Mapping[str, Any], node: str) -> str:
    """Write a node's value, and what it had the second time, each beside its own median."""
    value, again = compared["nodes"].get(node), compared["again"].get(node)
    if value is None:
        return "not measured"
    first = f"{number_text(value)}{_apart(value, compared['median'])}"
    second = again and f"{number_text(again)}{_apart(again, compared['again_median'])}"
    return f"{first}; again {second}" if second else first


def _apart(value: float, median: float | None) -> str:
    return "" if median is None else f" ({value / median - 1:+.0%})"

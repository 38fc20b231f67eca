"""A protocol as Markdown, for people to read and to sign; a function of its data alone."""

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import yaml

from acceptance.core.text import code, markdown_table, number_text, printable, shortened
from acceptance.core.text import markdown as marked
from acceptance.core.words import NO_EVIDENCE, SIMULATED, model_of
from acceptance.ledger import Case
from acceptance.verdict import (
    Chance,
    chance_table,
    expected_text,
    metric_verdict,
    node_lines,
    written_nodes,
)

#: Names of nodes that a cell shows.
SHOWN = 8
_SIGNATURE = "______________________________"


def markdown(data: Mapping[str, Any]) -> str:
    """Return the whole protocol as Markdown; raises KeyError and TypeError for what is none.

    Each section gives its headings, paragraphs and tables, which blank lines separate.
    """
    made = (_head, _findings, _nodes, _seen, _asked, _versions, _claims, _signatures, _measured)
    parts = [part for section in made for part in section(data)]
    return printable("\n\n".join(parts) + "\n")


def _head(data: Mapping[str, Any]) -> Iterator[str]:
    counts = data["counts"]
    if simulators := data.get(SIMULATED):
        model = model_of(data["system"])
        yield f"# SIMULATED: no acceptance of {marked(model)}, nor of any machine"
        told = f"{data['system']} is {NO_EVIDENCE.format(model)} ({', '.join(simulators)})."
        yield f"**{marked(told)}** Of the model it would be: {marked(data['of_model'])}."
    else:
        yield f"# Acceptance of {marked(data['system'])}"
        yield f"**{marked(data['outcome'].capitalize())}**"
    yield markdown_table(
        ("", ""),
        (
            ("campaign", data["campaign"]),
            ("from, to", f"{data['started']}, {data['ended']}"),
            ("operator", data["operator"]),
            ("vendor", data["vendor"]),
            ("customer", data["customer"]),
            ("cases", f"{counts['passed']} of {counts['cases']} passed"),
            ("metrics", f"{counts['judged']} judged, {counts['recorded']} recorded, not judged"),
            *(("nodes", line) for line in node_lines(written_nodes(data))),
            ("SHA-256", code(data["sha256"])),
        ),
    )
    yield (
        "The checksum is that of the protocol's JSON. `acceptance accept verify protocol.json` "
        "computes it again, and draws every conclusion again from the values and references in it."
    )


def _findings(data: Mapping[str, Any]) -> Iterator[str]:
    yield "## Findings"
    if not data["findings"]:
        yield "None."
        return
    header = ("severity", "id", "nodes", "what", "found", "expected", "remedy")
    told = ({**each, "id": code(each["id"]), "nodes": shortened(each["nodes"], SHOWN)}
            for each in data["findings"])  # fmt: skip
    yield markdown_table(header, ([each[name] for name in header] for each in told))


def _nodes(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield each fabric that was looked at as a whole, with its checksum, and what nodes had."""
    seen = [
        (f"{case['system']}:{case['partition']}", told["fabric"], code(told["fabric_sha256"]))
        for case in data["measured"]
        if "fabric_sha256" in (told := case["provenance"])
    ]
    if seen:
        yield "## Fabric"
        yield markdown_table(("looked at by", "fabric", "SHA-256 of its devices and links"), seen)
    yield "## Nodes"
    partitions = written_nodes(data)
    if not any(each.all_pairs for each in partitions):
        yield "No nodes were compared with each other."
        return
    yield (
        "Each value is what a node's pairs with good ones have, or what it has inside, with its "
        "distance from the median of the good nodes."
    )
    for each in partitions:
        for measured in (measured for measured in each.all_pairs if measured.values):
            yield f"### Nodes of {marked(f'{each.place}+{measured.environment}')}"
            header = ["node", *(f"{of.quantity}, {of.unit}" for of in measured.values)]
            medians = ["median", *(number_text(of.median) for of in measured.values)]
            yield markdown_table(
                header, [medians, *([name, *cells] for name, cells in measured.rows)]
            )


def _seen(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the chance that what is slow was accepted, by the spread that was measured."""
    yield "## What this acceptance could have seen"
    if not data["could_have_seen"]:
        yield "No nodes were compared with each other: only references and limits judge them."
        return
    yield (
        "The chance that the comparison of nodes accepts a cluster in which so many nodes or "
        "cables lose this fraction of their rates, by the spread that was measured."
    )
    for each in data["could_have_seen"]:
        yield f"### {marked(each['place'])}"
        yield f"One slow node: {marked(each['could'])}."
        if chances := msgspec.convert(each["chances"], list[Chance]):
            yield markdown_table(*chance_table(chances))
            yield f"A good cluster is accepted by its nodes with {each['accepted_good']:.1%}."
        if each["cables"]:
            yield f"Of cables between switches no chance is known: {marked(each['cables'])}."


def _asked(data: Mapping[str, Any]) -> Iterator[str]:
    asked = data["asked"]
    yield "## What was asked"
    rows = [
        (
            *(step["name"], ": ".join(filter(None, (step["state"], step["reason"])))),
            code(" ".join(("reframe", *step["arguments"]))),
            ", ".join(run["session"] for run in step["attempts"] if run["session"]),
        )
        for step in asked["steps"]
    ]
    yield markdown_table(("step", "state", "command", "sessions"), rows)
    for partition in asked["partitions"]:
        extras = {"fabric": "not stated", **partition.get("extras", {})}
        yield f"### Partition {marked(partition['name'])}"
        yield _block({**partition, "extras": extras})
    yield "### Tolerances"
    yield _block(asked["tolerances"])
    for name in ("references", "checks"):
        yield f"### Checksums of {name}"
        yield markdown_table(("file", "SHA-256"), ((k, code(v)) for k, v in asked[name].items()))


def _block(data: object) -> str:
    """Write plain data as they are, in YAML."""
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=96)
    return textwrap.indent(text.rstrip("\n"), "    ")


def _versions(data: Mapping[str, Any]) -> Iterator[str]:
    yield "## Versions"
    yield _block(data["versions"])


def _claims(data: Mapping[str, Any]) -> Iterator[str]:
    yield "## Claims and guidelines"
    counts = Counter(data["verdict"]["guidelines"])
    told = f"{counts['violated']} violated, {counts['undecided']} undecided"
    yield f"{counts['compared']} comparisons by the guidelines of MPI, {told}."
    claims = [claim for claim in data["claims"] if "claimed" in claim]
    if not claims:
        yield "No stated relation could be compared with these results."
        return
    rows = [
        (
            f"{claim['paper']}, {claim['where']}",
            *(claim["claimed"]["left"], claim["claimed"]["right"]),
            f"{claim['claimed']['relation']} {claim['claimed']['printed']}",
            f"{claim['ours']['value']:.4g} {claim['ours']['unit']}" if claim["ours"] else "",
            claim["state"],
        )
        for claim in claims
    ]
    yield markdown_table(("claim", "left", "right", "stated", "measured", "state"), rows)


def _signatures(data: Mapping[str, Any]) -> Iterator[str]:
    yield "## Signatures"
    if data.get(SIMULATED):
        yield "None: this was simulated. There is no machine that could be accepted, or rejected."
        return
    outcome = marked(data["outcome"])
    yield f"We have checked this protocol and its checksum, and agree that it is: {outcome}"
    for who in ("vendor", "customer"):
        name = marked(data[who]) or _SIGNATURE
        yield f"For the {who}, {name}: {_SIGNATURE} Date: ____________"


def _measured(data: Mapping[str, Any]) -> Iterator[str]:
    yield "## What was measured"
    for measured in data["measured"]:
        case = msgspec.convert(measured, Case)
        yield f"### {marked(f'{case.name} @{case.where}')}"
        nodes = shortened(case.nodes, SHOWN) or "no node"
        yield marked(f"{case.result}, session {measured['session']}, on {nodes}")
        if case.fail_reason:
            yield f"Reason: {marked(case.fail_reason)}"
        rows = [
            (
                *(metric.name, f"{metric.value:.6g}", metric.unit),
                metric_verdict(metric),
                "" if metric.reference is None else expected_text(metric),
            )
            for metric in case.metrics
        ]
        if rows:
            yield markdown_table(("metric", "value", "unit", "verdict", "must be"), rows)

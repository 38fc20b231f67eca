"""The protocol of an acceptance as a page to print and sign, made of its stored data alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acceptance.core.kinds import INFO, SEVERITIES
from acceptance.core.words import NO_EVIDENCE, SIMULATED, is_simulated, model_of
from acceptance.report import addresses
from acceptance.report.plot_model import Page
from acceptance.report.source import Protocol, Source
from acceptance.verdict import node_lines, written_nodes


def pages(source: Source) -> list[Page]:
    """Return a page for each acceptance, the newest first, or one that says that there is none."""
    system = source.selection.system
    made = []
    for each in source.protocols:
        try:
            if system in (None, each.data["system"]):
                made.append(_page(each))
        except (KeyError, TypeError, ValueError, AttributeError) as err:
            source.note(f"{each.path}: is no protocol that this release knows: {err!r}")
    if made:
        return made
    path = addresses.protocol("none")
    return [Page(path, "Protocols", "no_protocol.html.j2", "Protocols", {"system": system})]


def _page(protocol: Protocol) -> Page:
    data = protocol.data
    simulated = bool(data.get(SIMULATED)) or is_simulated(data["system"])
    bad = bool(protocol.differences)
    context = {
        "data": data,
        "protocol": protocol,
        "simulated": simulated,
        "no_evidence": NO_EVIDENCE.format(model_of(data["system"])),
        # What does not agree with itself is no protocol of anything: nobody is to sign it.
        "agrees": not bad,
        "look": "bad" if bad else "open" if simulated else look(data),
        "findings": sorted(data["findings"], key=lambda each: _rank(each["severity"])),
        "info": INFO,
        "nodes": node_lines(written_nodes(data)),
        "claims": [claim for claim in data["claims"] if "claimed" in claim],
        "words": words,
    }
    title = f"Acceptance of {data['system']}"
    if simulated:
        title = f"No acceptance: {data['system']} is simulated"
    file = addresses.of_protocol(data["campaign"])
    return Page(
        addresses.protocol(data["campaign"]),
        title,
        "protocol.html.j2",
        "Protocols",
        {**context, "json": file},
        files={file: Path(protocol.path).read_text(encoding="utf-8")},
        simulated=simulated,
    )


def _rank(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else 0


def look(data: Mapping[str, Any]) -> str:
    """Return the style of an outcome: what has a finding that rejects is red, none is green."""
    severities = {each["severity"] for each in data["findings"]} - {INFO}
    if severities & {*SEVERITIES[:2]}:
        return "bad"
    return "open" if severities or not data["counts"]["judged"] else "good"


def words(value: object) -> str:
    """Write plain data in a line, tables in it too."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {words(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(words, value))
    return "none" if value is None else str(value)

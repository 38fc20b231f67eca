"""The protocol of an acceptance as a page to print and sign, made of its stored data alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from acceptance.campaigns import ACCEPTED, REJECTED
from acceptance.core.words import NO_EVIDENCE, SIMULATED, is_simulated, model_of
from acceptance.ledger import Case
from acceptance.report import addresses
from acceptance.report.plot_model import Page
from acceptance.report.source import Source
from acceptance.verdict import (
    Chance,
    chance_table,
    metric_verdict,
    misses,
    node_lines,
    written_nodes,
)

#: Outcome -> its style, where it is not open.
LOOKS = {ACCEPTED: "good", REJECTED: "bad"}


def pages(source: Source) -> list[Page]:
    """Return a page for each acceptance, the newest first, or one that says that there is none."""
    made = []
    for path, data, differences in source.protocols:
        try:
            if source.system in (None, data["system"]):
                made.append(_page(path, data, differences))
        except (KeyError, TypeError, ValueError, AttributeError) as err:
            source.note(f"{path}: is no protocol that this release knows: {err!r}")
    if made:
        return made
    named = addresses.page("protocol", "none"), "Protocols", "no_protocol.html.j2", "Protocols"
    return [Page(*named, {"system": source.system}, empty=True)]


def _page(path: Path, data: Mapping[str, Any], differences: Sequence[str]) -> Page:
    simulated = bool(data.get(SIMULATED)) or is_simulated(data["system"])
    # What does not agree with itself is no protocol of anything: nobody is to sign it.
    look = "bad" if differences else "open" if simulated else LOOKS.get(data["outcome"])
    context = {
        "data": data,
        "measured": [
            (case, Counter(map(metric_verdict, case.metrics)))
            for case in msgspec.convert(data["measured"], list[Case])
        ],
        "misses": misses,
        "differences": differences,
        "path": path,
        "simulated": simulated,
        "no_evidence": NO_EVIDENCE.format(model_of(data["system"])),
        "look": look or "open",
        "nodes": node_lines(written_nodes(data)),
        "claims": [claim for claim in data["claims"] if "claimed" in claim],
        "seen": [
            (each, *chance_table(msgspec.convert(each["chances"], list[Chance])))
            for each in data["could_have_seen"]
        ],
        "words": words,
    }
    is_none = f"No acceptance: {data['system']} is simulated"
    return Page(
        addresses.page("protocol", data["campaign"]),
        is_none if simulated else f"Acceptance of {data['system']}",
        "protocol.html.j2",
        "Protocols",
        context,
        files={addresses.of_protocol(data["campaign"]): path.read_text(encoding="utf-8")},
        simulated=simulated,
    )


def words(value: object) -> str:
    """Write plain data in a line, tables in it too."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {words(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple):
        return " ".join(map(words, value))
    return "none" if value is None else str(value)

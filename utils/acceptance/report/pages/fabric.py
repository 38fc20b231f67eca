"""The fabric of a partition: what deviates, as a table first, and all of it as a tree."""

from collections import Counter
from typing import Any

from acceptance.core.text import plural
from acceptance.fabric import topology as fabrics
from acceptance.fabric import view
from acceptance.fabric.summary import structure, switch_count
from acceptance.report import addresses
from acceptance.report.fabric_drawing import Row, Tree, key_of, levels, marked, rows_of
from acceptance.report.fabric_reading import Reading, readings
from acceptance.report.plot_model import Page
from acceptance.report.source import Source

#: What is said of a fabric without deviations that nobody has accepted.
NOT_ACCEPTED = (
    "Nothing deviates from the facts and the medians of its kind. No fabric was accepted yet, so "
    "that a lost cable cannot be told from a free port."
)


def pages(source: Source) -> list[Page]:
    """Return a page for each partition that was measured."""
    read, made = readings(source), []
    for place in source.measured:
        own = read.get((place.system, place.partition))
        # One partition looks for all that share its fabric.
        others = (name for name, one in read.items() if one.name == place.system == name[0])
        path = addresses.of_partition("fabric", place.system, place.partition)
        context: dict[str, Any] = _read(own, path) if own else {"facts": place.facts}
        context |= {"read": own, "other": next(others, None)}
        made.append(Page(
            path, f"Fabric of {place.name}", "fabric.html.j2", "Fabric", context,
            context.get("plots", ()), simulated=place.simulated, empty=own is None,
        ))  # fmt: skip
    return made


def _read(read: Reading, path: str) -> dict[str, Any]:
    """Return what deviates in a fabric, and as far as it is kept all that there is."""
    rows, now = rows_of(read.by.case.findings, read.since), read.topology
    failing = [row for row in rows if row.seen.fails]
    context = {
        "failing": failing,
        "notes": [row for row in rows if not row.seen.fails],
        "summary": summary(read, failing),
        "drawn": None,
    }
    if now is None:
        return context
    drawn = marked(now, read.accepted.fabric.topology if read.accepted else None, rows)
    tree = Tree(drawn, path).plot(summary(read, failing), simulated=bool(read.by.case.simulated))
    return context | {
        "drawn": drawn,
        "plots": (tree,),
        "key_of": key_of,
        "level_name": fabrics.level_name,
        "switches": [guid for _, guids in levels(drawn.topology) for guid in guids],
        "structure": [*view.structure_text(now), *structure(now).notes(now)],
    }


def summary(read: Reading, failing: list[Row]) -> str:
    """Say in a sentence or two what there is and what deviates."""
    words = []
    if read.topology is not None:
        nodes = len(read.topology.hosts) or len(read.topology.devices) - len(read.topology.switches)
        levels = switch_count(read.topology)
        switches = [
            f"{count} {'switches of ' if word == 'no level' else ''}{_many(word, count)}"
            for word, count in reversed(levels.items())
        ]
        words.append(f"{', '.join(switches)}, {plural(nodes, 'node')}, "
                     f"{plural(len(read.topology.links), 'link')}.")  # fmt: skip
    if not read.looked:
        return " ".join([*words, "The newest look at this fabric failed: see the table."])
    if failing:
        counts = Counter(row.trouble.word if row.trouble else "of another kind" for row in failing)
        parts = ", ".join(f"{count} {what}" for what, count in counts.items())
        words.append(f"{plural(len(failing), 'deviation')}: {parts}.")
    elif read.accepted is None:
        words.append(NOT_ACCEPTED)
    else:
        words.append("Nothing deviates.")
    return " ".join(words)


def _many(word: str, count: int) -> str:
    if word == "leaf":
        return word if count == 1 else "leaves"
    return word if word.startswith(("level", "no ")) or count == 1 else f"{word}s"

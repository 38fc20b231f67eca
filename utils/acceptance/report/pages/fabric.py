"""The fabric of a partition: what deviates, as a table first, and all of it as a tree."""

from typing import Any

from acceptance.core.text import natural, plural
from acceptance.fabric import topology as fabrics
from acceptance.fabric import view
from acceptance.fabric.topology import Topology
from acceptance.report import addresses
from acceptance.report.fabric_drawing import Marked, Row, Tree, Trouble, key_of, marked, rows_of
from acceptance.report.fabric_reading import Reading, readings
from acceptance.report.plot_model import Page
from acceptance.report.source import Place, Source

#: What is said where nobody looked, and what to do.
NEVER = (
    "Nobody has looked at the whole fabric of this partition. With InfiniBand, state `view` in its "
    "facts (config/fabric.md); then `reframe -c checks/fabric.py -r` reads it, and every night "
    "does. `acceptance fabric` shows it from this machine at once."
)
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
        context = _with(place, own, path) if own else _without(place, next(others, None))
        title, empty = f"Fabric of {place.name}", own is None
        made.append(Page(path, title, "fabric.html.j2", "Fabric", context, context["plots"],
                         simulated=place.simulated, empty=empty))  # fmt: skip
    return made


def _without(place: Place, other: tuple[str, str] | None) -> dict[str, Any]:
    return {
        "place": place,
        "read": None,
        "plots": (),
        "never": NEVER,
        "facts": place.facts is not None,
        "other": ":".join(other) if other else "",
        "link": addresses.of_partition("fabric", *other) if other else "",
    }


def _with(place: Place, read: Reading, path: str) -> dict[str, Any]:
    case = read.by.case
    rows = rows_of(case.findings, read.since)
    failing = [row for row in rows if row.seen.fails]
    context: dict[str, Any] = {
        "place": place,
        "read": read,
        "uuid": read.by.session.uuid,
        "session": addresses.session(read.by.session.uuid, read.by.number),
        "told": case.provenance.get("fabric", ""),
        "failing": failing,
        "notes": [row for row in rows if not row.seen.fails],
        "accepted": read.accepted.text_of_history if read.accepted else "",
        "summary": summary(read, failing),
        "drawn": None,
        "plots": (),
        "simulated": case.simulated,
    }
    if read.topology is None:
        return context
    before = read.accepted.topology if read.accepted else None
    drawn = marked(read.topology, before, rows)
    tree = Tree(drawn, path).plot(context["summary"], simulated=bool(case.simulated))
    return context | _drawn(drawn, read.topology) | {"plots": (tree,)}


def summary(read: Reading, failing: list[Row]) -> str:
    """Say in a sentence or two what there is and what deviates."""
    words = []
    if read.topology is not None:
        nodes = len(read.topology.hosts) or len(read.topology.devices) - len(read.topology.switches)
        levels = fabrics.switch_count(read.topology)
        switches = [
            f"{count} {'switches of ' if word == 'no level' else ''}{_many(word, count)}"
            for word, count in reversed(levels.items())
        ]
        words.append(f"{', '.join(switches)}, {plural(nodes, 'node')}, "
                     f"{plural(len(read.topology.links), 'link')}.")  # fmt: skip
    if not read.looked:
        return " ".join([*words, "The newest look at this fabric failed: see the table."])
    counts = {each: sum(row.trouble is each for row in failing) for each in Trouble}
    parts = [f"{count} {each.counted}" for each, count in counts.items() if count]
    if rest := len(failing) - sum(counts.values()):
        parts.append(f"{rest} of another kind")
    if parts:
        words.append(f"{plural(len(failing), 'deviation')}: {', '.join(parts)}.")
    elif read.accepted is None:
        words.append(NOT_ACCEPTED)
    else:
        words.append("Nothing deviates.")
    return " ".join(words)


def _many(word: str, count: int) -> str:
    if word == "leaf":
        return word if count == 1 else "leaves"
    return word if word.startswith(("level", "no ")) or count == 1 else f"{word}s"


def _drawn(drawn: Marked, now: Topology) -> dict[str, Any]:
    """Return what is drawn, its switches, and what the fabric of `now` can carry."""
    topology, built = drawn.topology, fabrics.structure(now)
    return {
        "drawn": drawn,
        "key_of": key_of,
        "level_name": fabrics.level_name,
        "switches": sorted(
            topology.switches,
            key=lambda guid: (topology.level(guid) or 99, natural(topology.device_name(guid))),
        ),
        "structure": [*view.structure_text(now), *built.notes(now)],
    }

"""`acceptance fabric`: the whole InfiniBand fabric, its switches and cables, and what deviates."""

import argparse
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from acceptance.cli.shared import (
    FORMS,
    SYSTEM,
    Columns,
    Commands,
    add_command,
    add_verbs,
    emit,
    option,
)
from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.text import one_line, plural, printable, there_are, wrapped
from acceptance.core.words import Status, is_simulated
from acceptance.fabric import (
    facts_of,
    link_check,
    link_report,
    not_judged,
    seen,
    summary,
    topology,
)
from acceptance.fabric.outputs import Reading
from acceptance.fabric.seen import Seen
from acceptance.rfm import configuration

#: Columns of the labels, and deviations that the page shows.
_LABELS, _SHOWN = 12, 15
#: Seconds that a node's links may take: `lldpctl` alone may have ten.
_OF_NODE = 30.0


def add(commands: Commands) -> None:
    """Add the subcommand."""
    forms = (*FORMS, "dot")
    command = add_command(commands, "fabric", run, forms=forms, failed="something deviates")
    option(command, *SYSTEM)
    meaning = "the fabric of this partition, where several state who looks at theirs"
    option(command, "--partition NAME", meaning)
    meaning = "show a reading that is stored, as a run keeps it in its output folder"
    option(command, "--from FOLDER", meaning, dest="source")
    meaning = (
        "check the links of this node alone, and say it in one line, as Slurm's HealthCheckProgram "
        "needs it (config/fabric.md): 1 if one is not as the partition states, 2 if that cannot be "
        "told; quickest with --system"
    )
    option(command, "--node", meaning)
    accept = add_command(add_verbs(command), "accept", _accept)
    option(accept, *SYSTEM)
    option(accept, "--reason TEXT", "why it is accepted; it is kept", required=True)


def run(options: argparse.Namespace) -> int:
    """Show the whole InfiniBand fabric, and what deviates in it.

    It is read from the adapters of this machine that the facts name, with the programs of
    infiniband-diags. Whoever may open /dev/infiniband/umad* can look.
    """
    workspace = options.workspace
    if options.node:
        return _node(options)
    system = configuration.load(options.config_files).system(options.system)
    name, adapters, hosts = seen.fabric_of(system, workspace.place_of, options.partition)
    if options.source is not None:
        found = seen.judge_readings(seen.read_stored(options.source), name, hosts, workspace)
    elif is_simulated(system["name"]):
        raise Fault(
            f"{system['name']} is simulated: no adapter of this machine sees it; show what a run "
            "has kept in its output folder: --from FOLDER"
        )
    else:
        with tempfile.TemporaryDirectory(prefix="acceptance-fabric-") as folder:
            readings = seen.read_live(Path(folder), adapters)
            found = seen.judge_readings(readings, name, hosts, workspace)
    if options.format == "dot":
        marked = frozenset(each.device for each in found.failing)
        print(summary.dot(_topology(found), marked))
    else:
        emit(options, found.deviations, _DEVIATIONS, _lines(found), _data(found), page=True)
    if found.topology is None or found.unread:
        return Status.CANNOT_JUDGE
    return Status.FAILED if found.failing else Status.PASSED


def _node(options: argparse.Namespace) -> int:
    """Compare the links of this node with what its partition states of them."""
    if options.source is not None or options.format != "text":
        raise Fault("--node prints one line, of what this node is now: no --from, no --format")
    workspace = options.workspace
    system = configuration.system_alone(options.system, workspace)
    if is_simulated(system["name"]):
        raise Fault(f"{system['name']} is simulated: no adapter of this node is its own")
    extras, place = _partition(system, options.partition)
    facts = facts_of(extras, workspace.place_of(system["name"], place))
    done = machine.run(["sh", str(link_report.SCRIPT)], _OF_NODE)
    if done.fault:
        raise Fault(done.fault)
    node = link_report.parse(done.out, link_report.SCRIPT.name)
    found = link_check.deviations(node, facts)
    unread = [each.text for each in found if each.kind == link_check.UNREADABLE]
    if failing := [each.text for each in found if each.kind != link_check.UNREADABLE]:
        status, told = Status.FAILED, [*failing, *unread]
    elif unread or (why := not_judged(extras)):
        status, told = Status.CANNOT_JUDGE, unread or [f"{node.name}: not judged: {place}: {why}"]
    else:
        links = link_check.serving(node, facts)
        shown = ", ".join(f"{name} {link.rate_text}" for name, link in links.items())
        status, told = Status.PASSED, [f"{node.name}: as {place} states: {shown}"]
        told += [each.text for each in link_check.uncounted(node, facts)]
    print(one_line("; ".join(told)))
    return status


def _partition(system: Mapping[str, Any], asked: str | None) -> tuple[Mapping[str, Any], str]:
    """Return the extras of the partition that a node is judged by, and its name.

    Without one that is `asked` for all partitions have to state the same fabric. Raises Fault.
    """
    extras = {part["name"]: part.get("extras", {}) for part in system["partitions"]}
    if asked is not None and asked not in extras:
        raise Fault(f"{system['name']} has no partition {asked!r}; {there_are(asked, extras)}")
    first, *others = [asked] if asked is not None else extras
    if any(extras[name].get("fabric") != extras[first].get("fabric") for name in others):
        raise Fault(
            f"cannot tell which partition of {system['name']} this node is of, and they state "
            f"different fabrics: --partition NAME; there are {', '.join(extras)}"
        )
    return extras[first], f"{system['name']}:{first}"


def _topology(found: Seen) -> topology.Topology:
    """Return what was seen; raises Fault where nobody looked."""
    if found.topology is None:
        raise Fault(f"the fabric was not looked at: {'; '.join(found.unread)}")
    return found.topology


_DEVIATIONS: Columns = {
    name: name for name in ("kind", "node", "device", "what", "found", "expected", "fails", "text")
}


def _lines(found: Seen) -> Iterator[str]:
    """Yield a page for people, however large the fabric is."""
    fabrics = topology.parts(_topology(found))
    for reading in found.readings:
        yield from _line("read", _source(reading))
    for fabric in fabrics:
        if len(fabrics) > 1:
            yield f"\nthe fabric of {summary.named(fabric)}"
        for label, text in summary.lines(fabric):
            yield from _line(label, text)
    yield ""
    yield from _line("accepted", found.accepted or "never: acceptance fabric accept --reason TEXT")
    failing = found.failing
    yield from _line("deviates", plural(len(failing), "finding") if failing else "nothing")
    noted = [each for each in found.deviations if not each.fails]
    for label, deviations in (("", failing), ("note", noted)):
        for each in deviations[:_SHOWN]:
            yield from _line(label, each.text)
        if (more := len(deviations) - _SHOWN) > 0:
            yield from _line(label, f"{more} more: --format csv shows all")
    for fault in found.unread:
        yield from _line("not read", fault)


def _source(reading: Reading) -> str:
    asked = reading.asked.replace("-C ", "").replace(" -P ", "/") or "the first adapter"
    when = datetime.fromtimestamp(reading.end or reading.begin or 0, timezone.utc)
    version = reading.version.replace("ibnetdiscover BUILD VERSION:", "infiniband-diags")
    return f"{when:%Y-%m-%d %H:%M UTC} from {asked}, {version or 'no program'}"


def _line(label: str, text: str) -> list[str]:
    return wrapped(label, printable(text, keep=""), _LABELS)


def _data(found: Seen) -> dict[str, Any]:
    told = ("folder", "asked", "begin", "end", "version", "faults")
    whole = found.topology
    return {
        "readings": [
            {
                **{name: getattr(each, name) for name in told},
                "looked": each.topology is not None,
                "counters": each.counters and {str(end): it for end, it in each.counters.items()},
            }
            for each in found.readings
        ],
        "fabrics": [*map(summary.as_data, topology.parts(whole))] if whole else [],
        "joined": found.unfit,
        "accepted": found.accepted,
        "deviations": found.deviations,
    }


def _accept(options: argparse.Namespace) -> int:
    """Accept the fabric as the last run has seen it: later ones are compared with it."""
    system = configuration.load(options.config_files).system(options.system)
    for line in seen.accept(system, options.workspace, options.reason):
        change = line.startswith("  ")
        print("\n".join(wrapped("", printable(line, keep=""), 2)) if change else line)
    return Status.PASSED

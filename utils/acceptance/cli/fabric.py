"""`acceptance fabric`: the whole InfiniBand fabric, its switches and cables, and what deviates."""

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from acceptance.cli import fabric_accept, fabric_site
from acceptance.cli.arguments import Commands, add_command, add_format, add_system
from acceptance.cli.output import emit
from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.findings import Observation
from acceptance.core.text import plural, printable, wrapped
from acceptance.core.words import is_simulated
from acceptance.fabric import topology, view
from acceptance.fabric.topology import Joined, Reading, summary
from acceptance.rfm import configuration
from acceptance.verdict import Status

#: Columns of the labels, deviations that the page shows, and seconds that a reading may take.
_LABELS, _SHOWN, _LIMIT = 12, 15, 600
#: Faults that leave a reading as good as it is.
_HARMLESS = ("names",)


@dataclass(frozen=True)
class Seen:
    """What was read, all adapters together; `joined` is None where the fabric was not looked at.

    `deviations` are those of `view.judge`, `accepted` says what they were compared with.
    """

    readings: Sequence[Reading]
    joined: Joined | None
    deviations: Sequence[Observation] = ()
    accepted: str = ""

    @property
    def unread(self) -> list[str]:
        """Return the faults because of which something was not looked at."""
        return [str(fault) for each in self.readings for fault in each.faults
                if fault.kind not in _HARMLESS]  # fmt: skip

    @property
    def failing(self) -> list[Observation]:
        """Return what deviates."""
        return [each for each in self.deviations if each.fails]

    @property
    def status(self) -> Status:
        """Return what the command ends with."""
        if self.joined is None or self.unread:
            return Status.CANNOT_JUDGE
        return Status.FAILED if self.failing else Status.PASSED


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "fabric",
        "the whole InfiniBand fabric: nodes, switches, links, what deviates",
        "Read the whole InfiniBand fabric from an adapter of this machine, with the programs of "
        "infiniband-diags, and show it. Whoever may open /dev/infiniband/umad* can look.",
        failed="something deviates",
    )
    add_system(command)
    command.add_argument(
        "--partition",
        metavar="NAME",
        help="the fabric of this partition, where several state who looks at theirs",
    )
    command.add_argument(
        "--adapter",
        action="append",
        metavar="NAME[/PORT]",
        help="look from this adapter; again for one more. Default: the `device` of the facts",
    )
    command.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FOLDER",
        help="show a reading that is stored, as a run keeps it in its output folder",
    )
    add_format(command, "text", "json", "dot")
    fabric_accept.add(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the fabric; the status is 1 where something deviates."""
    system = configuration.load(options.config_files).system(options.system)
    if options.action:
        return fabric_accept.run(options, system)
    site = fabric_site.of(system, options.workspace.place_of, options.partition)
    if options.source is not None:
        seen = _seen(_stored(options.source), options, site)
    elif is_simulated(system["name"]):
        raise Fault(
            f"{system['name']} is simulated: no adapter of this machine sees it; show what a run "
            "has kept in its output folder: --from FOLDER"
        )
    else:
        with tempfile.TemporaryDirectory(prefix="acceptance-fabric-") as folder:
            readings = _live(Path(folder), options.adapter or site.adapters)
            seen = _seen(readings, options, site)
    if options.format == "dot":
        marked = frozenset(each.device for each in seen.failing)
        print(summary.dot(_topology(seen), marked))
    else:
        emit(options.format, lambda: _data(seen), lambda: _text(seen))
    return seen.status


def _live(folder: Path, adapters: Sequence[str]) -> list[Reading]:
    """Read from each adapter; raises Fault where the script itself does not run."""
    readings = []
    for number, adapter in enumerate(adapters, 1):
        device, _, port = adapter.partition("/")
        words = [*(["-C", device] if device else []), *(["-P", port] if port else [])]
        into = folder / str(number)
        done = machine.run(["sh", str(topology.SCRIPT), str(into), *words], _LIMIT)
        if done.fault and not into.is_dir():
            raise Fault(done.fault)
        readings.append(topology.read(into))
    return readings


def _stored(folder: Path) -> list[Reading]:
    """Read a stored reading, or all in a folder: one for each adapter."""
    below = sorted(path.parent for path in folder.glob("*/begin")) if folder.is_dir() else []
    return [topology.read(path) for path in below or [folder]]


def _seen(
    readings: Sequence[Reading], options: argparse.Namespace, site: fabric_site.FabricSite
) -> Seen:
    found = [each.topology for each in readings if each.topology is not None]
    if not found:
        return Seen(readings, None)
    joined = site.join(topology.union(found), view.errors.known_nodes(options.workspace.var))
    accepted = view.accepted.read(view.accepted.path_of(options.workspace.reference, site.name))
    state, _ = view.errors.state_paths(options.workspace.var, site.name)
    uncounted = all(each.counters is None for each in readings)
    deviations, _ = view.judge(
        joined.topology,
        None if uncounted else {end: it for each in readings for end, it in each.errors.items()},
        hosts=site.hosts,
        accepted=accepted,
        before=view.errors.read_state(state),
        now=max((each.end or 0 for each in readings), default=0) or time.time(),
        away=site.away,
    )
    return Seen(readings, joined, deviations, accepted.text_of_history if accepted else "")


def _topology(seen: Seen) -> topology.Topology:
    """Return what was seen; raises Fault where nobody looked."""
    if seen.joined is None:
        raise Fault(f"the fabric was not looked at: {'; '.join(seen.unread)}")
    return seen.joined.topology


def _text(seen: Seen) -> str:
    """Return a page for people, however large the fabric is."""
    fabrics = topology.parts(_topology(seen))
    lines = [line for reading in seen.readings for line in _line("read", _source(reading))]
    for fabric in fabrics:
        if len(fabrics) > 1:
            lines += ["", f"the fabric of {summary.named(fabric)}"]
        for label, text in summary.lines(fabric):
            lines += _line(label, text)
    lines.append("")
    lines += _line("accepted", seen.accepted or "never: acceptance fabric accept --reason TEXT")
    lines += _line("deviates", plural(len(seen.failing), "finding") if seen.failing else "nothing")
    lines += _shown("", seen.failing)
    lines += _shown("note", [each for each in seen.deviations if not each.fails])
    for fault in seen.unread:
        lines += _line("not read", fault)
    return "\n".join(lines)


def _source(reading: Reading) -> str:
    asked = reading.asked.replace("-C ", "").replace(" -P ", "/") or "the first adapter"
    when = datetime.fromtimestamp(reading.end or reading.begin or 0, timezone.utc)
    version = reading.version.replace("ibnetdiscover BUILD VERSION:", "infiniband-diags")
    return f"{when:%Y-%m-%d %H:%M UTC} from {asked}, {version or 'no program'}"


def _shown(label: str, seen: Sequence[Observation]) -> list[str]:
    lines = [line for each in seen[:_SHOWN] for line in _line(label, each.text)]
    rest = len(seen) - _SHOWN
    return [*lines, *(_line(label, f"{rest} more: --format json shows all") if rest > 0 else [])]


def _line(label: str, text: str) -> list[str]:
    return wrapped(label, printable(text, keep=""), _LABELS)


def _data(seen: Seen) -> dict[str, Any]:
    return {
        "readings": [
            {
                "folder": str(each.folder),
                "asked": each.asked,
                "begin": each.begin,
                "end": each.end,
                "version": each.version,
                "looked": each.topology is not None,
                "faults": [asdict(fault) for fault in each.faults],
                "counters": {
                    f"{end.guid}[{end.port}]": dict(values) for end, values in each.errors.items()
                },
            }
            for each in seen.readings
        ],
        "fabrics": [summary.as_data(each) for each in topology.parts(seen.joined.topology)]
        if seen.joined
        else [],
        "joined": seen.joined.notes if seen.joined else [],
        "accepted": seen.accepted,
        "deviations": [asdict(each) for each in seen.deviations],
    }

"""What is kept of a fabric between two readings, in `var/fabric/`: counters, and since when.

`<name>.json`: time of the last reading (s since the epoch), counters above 0 by `GUID[port]`, and
of each deviation since when it has been seen (ISO 8601). `<name>.fabric`: the lines of the fabric
as it was read last, which `acceptance fabric accept` takes over. `nodes/<node>.json`: the GUIDs of
a node's adapters, as the link check found them.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from msgspec import Struct

from acceptance.core import state_files
from acceptance.core.errors import Fault
from acceptance.fabric.node import Adapter, NodeLinks, Port
from acceptance.fabric.topology import End
from acceptance.fabric.view.errors import COUNTERS, Counters

_FOLDER, _NODES = "fabric", "nodes"
#: Seconds to wait for another process that reads the same fabric.
_PATIENCE = 60.0
_END = re.compile(r"(0x[0-9a-f]+)\[(\d+)\]")


@dataclass
class State:
    """The last reading: `time` is 0, and `counters` None, where there was none."""

    time: float = 0.0
    counters: Counters | None = None
    since: dict[str, str] = field(default_factory=dict)

    def hours(self, now: float) -> float:
        """Return how long ago the last reading was; a clock that was set back counts as nothing."""
        return max(0.0, now - self.time) / 3600


def paths(var: Path, name: str) -> tuple[Path, Path]:
    """Return the files of a fabric: its state, and its lines."""
    folder = var / _FOLDER
    return folder / f"{name}.json", folder / f"{name}.fabric"


@contextmanager
def locked(var: Path, name: str) -> Iterator[None]:
    """Let no other process read the same fabric meanwhile; raises StoredFault."""
    with state_files.locked(var / _FOLDER / f"{name}.lock", _PATIENCE):
        yield


class _Stored(Struct, forbid_unknown_fields=True):
    time: float
    since: dict[str, str]
    counters: dict[str, dict[str, int]] | None


def read(path: Path) -> State:
    """Return what is kept; raises Fault for a file that is no such state."""
    try:
        kept: _Stored | None = state_files.read(path, _Stored)
        if kept is None:
            return State()
        named = None if kept.counters is None else kept.counters.items()
        counters = None if named is None else {_end(name): values for name, values in named}
        return State(kept.time, counters, kept.since)
    except ValueError as err:
        remedy = "take it away: the next reading is a first one then"
        raise Fault(f"no state of a fabric ({err}); {remedy}", where=str(path)) from None


def _end(name: str) -> End:
    if not (match := _END.fullmatch(name)):
        raise ValueError(f"{name!r} is no end of a link")
    return End(match[1], int(match[2]))


def write(path: Path, state: State) -> None:
    """Keep a state, of its counters those that are judged; raises StoredFault."""
    counters = (
        None
        if state.counters is None
        else {
            f"{end.guid}[{end.port}]": kept
            for end, values in sorted(state.counters.items())
            if (kept := {name: values[name] for name in COUNTERS if values.get(name)})
        }
    )
    state_files.write(path, _Stored(state.time, state.since, counters))


def write_lines(path: Path, text: str) -> None:
    """Keep the lines of a fabric as it was read; raises StoredFault."""
    state_files.write_text(path, text)


def read_lines(path: Path) -> str:
    """Return the lines of a fabric as it was read last, empty where it never was; raises Fault."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as err:
        raise Fault(f"cannot be read: {err}", where=str(path)) from None


def stamp(time: float) -> str:
    """Return s since the epoch as ISO 8601."""
    return datetime.fromtimestamp(time, timezone.utc).isoformat(timespec="seconds")


def remember_node(var: Path, node: NodeLinks) -> None:
    """Keep the GUIDs of a node's InfiniBand adapters, which join it with the fabric.

    Raises StoredFault.
    """
    infiniband = {port.device for port in node.ports.values() if port.infiniband}
    guids = {name: guid for name in sorted(infiniband) if (guid := node.adapters[name].guid)}
    path = var / _FOLDER / _NODES / f"{node.name}.json"
    with suppress(ValueError):
        if not guids or state_files.read(path) == guids:
            return
    state_files.write(path, guids)


def known_nodes(var: Path) -> list[NodeLinks]:
    """Return the nodes whose GUIDs are kept, with nothing but these; raises Fault."""
    nodes = []
    for path in sorted((var / _FOLDER / _NODES).glob("*.json")):
        try:
            guids = state_files.read(path, dict[str, str])
        except ValueError as err:
            raise Fault(f"no GUIDs of a node ({err}); take it away", where=str(path)) from None
        adapters = {name: Adapter(name, guid=guid) for name, guid in guids.items()}
        ports = {name: Port(name, 1) for name in guids}
        nodes.append(NodeLinks(path.stem, adapters=adapters, ports=ports))
    return nodes

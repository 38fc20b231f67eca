"""What is held of each series, and its file: arrays of numpy in a zip file, and a head in JSON."""

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from acceptance.detection import families, state
from acceptance.detection.constants import BLOCK, TIMES_HELD
from acceptance.detection.families import FamilyChange
from acceptance.detection.node_sets import HELD_OF_SETS
from acceptance.detection.state import HELD, Detected

Records = NDArray[np.void]
Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Partition = tuple[str, str]
#: A node: its system, its partition and its name.
Node = tuple[str, str, str]


#: Of a series: its state, and of the newest samples, the last one at the end: the numbers of their
#: sessions; values (logarithms) and sets of nodes as measured.
RECORD = np.dtype(
    [
        ("state", state.RECORD),
        ("sessions", "i4", HELD),
        ("raw", "f4", HELD_OF_SETS),
        ("sets", "u4", HELD_OF_SETS),
    ]
)

#: What of a series everybody asks for, and is in memory for all of them. `name` is its id in
#: the ledger, `way` 1 where higher is better, -1 where lower is, 0 where nobody says;
#: `software` stands for that of the newest sample.
SERIES = np.dtype(
    [
        ("name", "i8"),
        ("way", "i1"),
        ("count", "i8"),
        ("begun", "f8"),
        ("last", "f8"),
        ("times", "f8", TIMES_HELD),
        ("session", "i4"),
        ("software", "u4"),
        ("suspicion", "f8"),
        ("spread", "f8"),
    ]
)


class Off(NamedTuple):
    """How far some samples lie off: of which series (slot) and session."""

    slot: Ints
    session: Ints
    spreads: Floats
    relative: Floats

    @classmethod
    def of(cls, parts: Sequence["Off"]) -> "Off":
        """Return several of them as one."""
        return cls(
            np.concatenate([part.slot for part in parts] or [np.empty(0, np.intp)]),
            np.concatenate([part.session for part in parts] or [np.empty(0, np.intp)]),
            np.concatenate([part.spreads for part in parts] or [np.empty(0)]),
            np.concatenate([part.relative for part in parts] or [np.empty(0)]),
        )

    def part(self, those: Ints) -> "Off":
        """Return some of them."""
        own = self.spreads[those], self.relative[those]
        return Off(self.slot[those], self.session[those], *own)


class DamagedError(Exception):
    """A file that is not what was written."""


@dataclass
class NightLevels:
    """The nights of a partition: the levels of those that are over, and the samples of the last."""

    table: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 3)))
    night: int = -1
    cases: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    off: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 2)))


@dataclass
class FamilyBlock:
    """Families of as many members: their slots (families, members), and where their states are.

    `nodes` are those whose families they are, None for families of others. `number` is that of
    the states in the file, None where none are kept yet. `missing` are the runs that each lacks
    until it can be judged.
    """

    members: Ints
    nodes: list[Node | None]
    number: int | None = None
    missing: list[int] = field(default_factory=list)


class Shared(NamedTuple):
    """A change that members of a family share: their slots, and what it is, by sessions.

    `node` is the one whose family it is, if it is a node's: only what ran on it counts.
    """

    members: tuple[int, ...]
    change: FamilyChange
    node: Node | None = None


@dataclass
class Kept:
    """All that is kept: of the sessions seen, of each series, of families, of partitions' nights.

    `counts` are the numbers of series that were watched as of each session. The records of the
    series and the states of the families are in `file` alone.
    """

    seen: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    series: Records = field(default_factory=lambda: np.empty(0, SERIES))
    found: list[list[Detected]] = field(default_factory=list)
    nights: dict[Partition, NightLevels] = field(default_factory=dict)
    families: list[FamilyBlock] = field(default_factory=list)
    shared: list[Shared] = field(default_factory=list)
    file: ZipFile = field(default_factory=lambda: ZipFile(io.BytesIO(), "w"))

    def block(self, begin: int) -> Records:
        """Return the records of the series `begin` to `begin` + `BLOCK`, as far as there are."""
        return self._array(f"records{begin}")

    def add(self, begin: int, records: Records) -> None:
        """Write the records of the series from `begin` on."""
        self._write(f"records{begin}", records)

    def states(self, block: FamilyBlock) -> Records:
        """Return the states of the families of a block."""
        return self._array(f"states{block.number}")

    def add_states(self, members: Ints, nodes: list[Node | None], states: Records) -> None:
        """Write the states of a block of families."""
        number = len(self.families)
        self.families.append(FamilyBlock(members, nodes, number, families.missing(states)))
        self._write(f"states{number}", states)

    def _write(self, name: str, array: NDArray[Any]) -> None:
        with self.file.open(name, "w", force_zip64=True) as entry:
            np.lib.format.write_array(entry, array, allow_pickle=False)

    def _array(self, name: str) -> NDArray[Any]:
        """Return an array of the file; raises DamagedError."""
        try:
            # All of it is read, and its CRC compared, before anything is made of it.
            data = io.BytesIO(self.file.read(name))
            return np.asarray(np.lib.format.read_array(data, allow_pickle=False))
        except Exception as err:  # of a damaged entry zipfile raises whatever its bytes ask for
            raise DamagedError(f"it is not what was written: {err}") from None

    def finish(self, version: str) -> None:
        """Write all the rest, and the end of the file."""
        found = [(slot, *one) for slot, each in enumerate(self.found) for one in each]
        arrays: dict[str, NDArray[Any]] = {
            "series": self.series,
            "found": np.array(found, state.FOUND),
            "counts": np.array(self.counts, np.int64),
        }
        for number, (_, levels) in enumerate(self.nights.items()):
            for name in ("table", "cases", "off"):
                arrays[f"{name}{number}"] = getattr(levels, name)
        for name, array in arrays.items():
            self._write(name, array)
        head = {
            "version": version,
            "seen": self.seen,
            "nights": [[*partition, levels.night] for partition, levels in self.nights.items()],
            "families": [
                (one.members.tolist(), one.nodes, one.number, one.missing) for one in self.families
            ],
            "shared": [(one.members, astuple(one.change), one.node) for one in self.shared],
        }
        self.file.writestr("head", json.dumps(head))
        written = self.file.fp
        assert written is not None
        self.file.close()
        self.file = ZipFile(written)

    @classmethod
    def read(cls, path: Path, version: str) -> "Kept | None":
        """Read what `finish` wrote; None for another version. Raises DamagedError, OSError."""
        opened = path.open("rb")
        try:
            kept = cls(file=ZipFile(opened))
            head = json.loads(kept.file.read("head"))
            if head["version"] != version:
                return None
            kept._take(head)
        except Exception as err:
            raise DamagedError(f"it cannot be read: {err!r}") from None
        return kept

    def _take(self, head: dict[str, Any]) -> None:
        self.seen, self.counts = head["seen"], self._array("counts").tolist()
        self.series = self._array("series")
        self.found = state.State.of(self.series, self._array("found")).found
        self.families = [
            FamilyBlock(np.array(members, np.intp), [*map(_plain, nodes)], *rest)
            for members, nodes, *rest in head["families"]
        ]
        self.shared = [
            Shared(tuple(members), FamilyChange(*map(_plain, change)), _plain(node))
            for members, change, node in head["shared"]
        ]
        for number, (system, partition, night) in enumerate(head["nights"]):
            table, cases, off = (
                self._array(f"{name}{number}") for name in ("table", "cases", "off")
            )
            self.nights[system, partition] = NightLevels(table, night, cases, off)

    def blocks(self) -> Iterator[tuple[int, Records]]:
        """Yield all records, block after block, and where each block begins."""
        for begin in range(0, len(self.series), BLOCK):
            yield begin, self.block(begin)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value

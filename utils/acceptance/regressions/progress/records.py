"""What is held of each series, and its file: records of one size, then all the rest."""

import io
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any, BinaryIO, NamedTuple

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

#: What of a series everybody asks for, and is in memory for all of them. `name` is a hash of what
#: it is a series of, `way` 1 where higher is better, -1 where lower is, 0 where nobody says;
#: `software` stands for that of the newest sample.
SERIES = np.dtype(
    [
        ("name", "u8"),
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

#: At the end: how many bytes the rest has, and its CRC, 8 hexadecimal digits each.
_END = "%08x%08x"


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
    cases: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    off: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 2)))


@dataclass
class FamilyBlock:
    """Families of as many members: their slots (families, members), and where their states are.

    `nodes` are those whose families they are, None for families of others. In the file the states
    begin at `begin`; `size` is 0 where none are kept yet. `missing` are the runs that each lacks
    until it can be judged.
    """

    members: Ints
    nodes: list[Node | None]
    begin: int = 0
    size: int = 0
    sum: int = 0
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
    series are in `file`, `sums` are the checksums of its blocks.
    """

    seen: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    series: Records = field(default_factory=lambda: np.empty(0, SERIES))
    found: list[list[Detected]] = field(default_factory=list)
    nights: dict[Partition, NightLevels] = field(default_factory=dict)
    families: list[FamilyBlock] = field(default_factory=list)
    shared: list[Shared] = field(default_factory=list)
    file: BinaryIO = field(default_factory=io.BytesIO)
    sums: list[int] = field(default_factory=list)

    def block(self, begin: int) -> Records:
        """Return the records of the series `begin` to `begin` + `BLOCK`, as far as there are."""
        count = min(BLOCK, len(self.series) - begin)
        self.file.seek(begin * RECORD.itemsize)
        data = self.file.read(count * RECORD.itemsize)
        if zlib.crc32(data) != self.sums[begin // BLOCK]:
            raise DamagedError("it is not what was written")
        return np.frombuffer(bytearray(data), RECORD)

    def add(self, records: Records) -> None:
        """Write the next block of records."""
        data = records.tobytes()
        self.file.write(data)
        self.sums.append(zlib.crc32(data))

    def states(self, block: FamilyBlock) -> Records:
        """Return the states of the families of a block."""
        self.file.seek(block.begin)
        data = self.file.read(block.size)
        if zlib.crc32(data) != block.sum:
            raise DamagedError("it is not what was written")
        return np.frombuffer(bytearray(data), families.record(block.members.shape[1]))

    def add_states(self, members: Ints, nodes: list[Node | None], states: Records) -> None:
        """Write the states of a block of families behind the records of all series."""
        data = states.tobytes()
        where = self.file.tell(), len(data), zlib.crc32(data), families.missing(states)
        self.families.append(FamilyBlock(members, nodes, *where))
        self.file.write(data)

    def finish(self, version: str) -> None:
        """Write all but the records and states behind them."""
        found = [(slot, *one) for slot, each in enumerate(self.found) for one in each]
        arrays: dict[str, Any] = {
            "series": self.series,
            "found": np.array(found, state.FOUND),
            "counts": np.array(self.counts, np.int64),
            "sums": np.array(self.sums, np.uint32),
        }
        for number, (_, levels) in enumerate(self.nights.items()):
            for name in ("table", "cases", "off"):
                arrays[f"{name}{number}"] = getattr(levels, name)
        head = {
            "version": version,
            "seen": self.seen,
            "nights": [[*partition, levels.night] for partition, levels in self.nights.items()],
            "families": [
                (one.members.tolist(), one.nodes, one.begin, one.size, one.sum, one.missing)
                for one in self.families
            ],
            "shared": [(one.members, astuple(one.change), one.node) for one in self.shared],
        }
        arrays["head"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
        tail = io.BytesIO()
        np.savez(tail, **arrays)
        data = tail.getvalue()
        self.file.write(data)
        self.file.write((_END % (len(data), zlib.crc32(data))).encode())
        self.file.flush()

    @classmethod
    def read(cls, file: BinaryIO, version: str) -> "Kept | None":
        """Read what `finish` wrote; None for another version. Raises DamagedError."""
        try:
            size = file.seek(-len(_END % (0, 0)), io.SEEK_END)
            end = file.read()
            file.seek(size - int(end[:8], 16))
            data = file.read(int(end[:8], 16))
            if zlib.crc32(data) != int(end[8:], 16):
                raise DamagedError("it is not what was written")
        except (OSError, ValueError) as err:
            raise DamagedError(f"it cannot be read: {err}") from None
        try:
            return cls._of(data, file, version)
        except (KeyError, TypeError, ValueError, IndexError) as err:
            raise DamagedError(f"it has another form: {err!r}") from None

    @classmethod
    def _of(cls, data: bytes, file: BinaryIO, version: str) -> "Kept | None":
        with np.load(io.BytesIO(data)) as arrays:
            head = json.loads(arrays["head"].tobytes())
            if head["version"] != version:
                return None
            kept = cls(seen=head["seen"], counts=arrays["counts"].tolist(), file=file)
            kept.series, kept.sums = arrays["series"], arrays["sums"].tolist()
            kept.found = state.State.of(kept.series, arrays["found"]).found
            kept.families = [
                FamilyBlock(np.array(members, np.intp), [*map(_plain, nodes)], *where)
                for members, nodes, *where in head["families"]
            ]
            kept.shared = [
                Shared(tuple(members), FamilyChange(*map(_plain, change)), _plain(node))
                for members, change, node in head["shared"]
            ]
            for number, (system, partition, night) in enumerate(head["nights"]):
                parts = (arrays[f"{name}{number}"] for name in ("table", "cases", "off"))
                table, cases, off = parts
                kept.nights[system, partition] = NightLevels(table, night, cases, off)
        return kept

    def blocks(self) -> Iterator[tuple[int, Records]]:
        """Yield all records, block after block, and where each block begins."""
        for begin in range(0, len(self.series), BLOCK):
            yield begin, self.block(begin)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value

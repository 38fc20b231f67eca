"""What is held of each series, and its file: arrays of numpy in a zip file, and a head."""

import io
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple
from zipfile import ZipFile

import msgspec
import numpy as np
from msgspec import Struct, msgpack
from numpy.typing import NDArray

from acceptance.core.state_files import StoredFault
from acceptance.detection import common_mode, families, state
from acceptance.detection.constants import BLOCK, TIMES_HELD
from acceptance.detection.families import FamilyChange
from acceptance.detection.node_sets import HELD_OF_SETS
from acceptance.detection.state import HELD, LevelChange

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


class New(NamedTuple):
    """New samples, those of a series (`slot`) together, in the order of their sessions.

    `sets` stand for the nodes they were measured on; `renewed` tells which have other software than
    the one before, `limit` is the threshold of each, `counted` says which tell how slow a night
    was. Of each is found what it counts as on the same nodes (`worse`: a logarithm, up is worse),
    and of those that are counted how far they lie `off`: by how many spreads, and by how much.
    """

    slot: Ints
    session: Ints
    time: Floats
    value: Floats
    sets: NDArray[np.uint32]
    renewed: NDArray[np.bool_]
    limit: Floats
    counted: NDArray[np.bool_]
    worse: Floats
    off: Floats


@dataclass
class NightLevels:
    """The nights of a partition: the levels of those that are over, and the samples of the last."""

    table: Floats = field(default_factory=lambda: np.empty((0, 3)))
    night: int = -1
    cases: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    off: Floats = field(default_factory=lambda: np.empty((0, 2)))

    def later(
        self, night: NDArray[np.int64], cases: NDArray[np.int64], off: Floats
    ) -> "NightLevels":
        """Close the nights that are over; what is stored of one of them later comes too late."""
        night = np.concatenate([np.full(len(self.cases), self.night, np.int64), night])
        cases, off = np.concatenate([self.cases, cases]), np.vstack([self.off, off])
        late = night < np.maximum.accumulate(night)
        night, cases, off = night[~late], cases[~late], off[~late]
        last = night == night[-1]
        over = common_mode.levels(night[~last], cases[~last], off[~last])
        return NightLevels(np.vstack([self.table, over]), int(night[-1]), cases[last], off[last])

    @property
    def levels(self) -> Floats:
        """Return the levels of all nights, the last one included."""
        night = np.full(len(self.cases), self.night, np.int64)
        return np.vstack([self.table, common_mode.levels(night, self.cases, self.off)])


@dataclass
class FamilyBlock:
    """Families of as many members: their slots (families, members).

    `nodes` are those whose families they are, None for families of others. `missing` are the runs
    that each lacks until it can be judged.
    """

    members: Ints
    nodes: list[Node | None]
    missing: list[int] = field(default_factory=list)


class Shared(NamedTuple):
    """A change that members of a family share: their slots, and what it is, by sessions.

    `node` is the one whose family it is, if it is a node's: only what ran on it counts.
    """

    members: tuple[int, ...]
    change: FamilyChange
    node: Node | None = None


class _Unseen(ZipFile):
    """A zip file that nobody sees: it is forgotten in silence, though its end finds no room.

    Nor does it matter that Python, when it ends, has closed the file below it before.
    """

    def __del__(self) -> None:
        with suppress(OSError, ValueError):
            self.close()


class Kept(Struct, dict=True):
    """All that is kept: of the sessions seen, of each series, of families, of partitions' nights.

    `counts` are the numbers of series that were watched as of each session. The records of the
    series and the states of the families are in `file` alone, a zip file of arrays.
    """

    seen: list[str] = []
    counts: list[int] = []
    series: Records = msgspec.field(default_factory=lambda: np.empty(0, SERIES))
    found: list[list[LevelChange]] = []
    nights: dict[Partition, NightLevels] = {}
    families: list[FamilyBlock] = []
    shared: list[Shared] = []

    def __post_init__(self) -> None:
        """Write arrays into a file that nobody sees, until another one takes its place.

        Raises StoredFault, as all that writes into it.
        """
        try:
            self.file: ZipFile = _Unseen(tempfile.TemporaryFile(), "w")  # noqa: SIM115
        except OSError as err:
            raise _no_room(err) from None

    def block(self, begin: int) -> Records:
        """Return the records of the series `begin` to `begin` + `BLOCK`, as far as there are."""
        return self._array(f"records{begin}")

    def add(self, begin: int, records: Records) -> None:
        """Write the records of the series from `begin` on."""
        self._write(f"records{begin}", records)

    def states(self, number: int) -> Records:
        """Return the states of the families of a block, by the number of that."""
        return self._array(f"states{number}")

    def add_states(self, members: Ints, nodes: list[Node | None], states: Records) -> None:
        """Write the states of a block of families."""
        self._write(f"states{len(self.families)}", states)
        self.families.append(FamilyBlock(members, nodes, families.missing(states)))

    def _write(self, name: str, array: NDArray[Any]) -> None:
        try:
            with self.file.open(name, "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
        except OSError as err:
            raise _no_room(err) from None

    def _array(self, name: str) -> NDArray[Any]:
        return _as_array(NDArray[Any], self.file.read(name))

    def write(self, target: IO[bytes], version: str) -> None:
        """Write all of it; what it was until then in the file goes on in memory."""
        self.file.writestr("head", msgpack.encode(self, enc_hook=_as_bytes))
        self.file.comment = version.encode()
        written = self.file.fp
        assert written is not None
        self.file.close()
        self.file = ZipFile(written)
        written.seek(0)
        shutil.copyfileobj(written, target)

    @classmethod
    def read(cls, path: Path, version: str) -> "Kept":
        """Read what `write` wrote; raises StoredFault, or OSError, of what other code wrote too."""
        opened = path.open("rb")
        try:
            file = ZipFile(opened)
            if file.comment == version.encode():
                damaged = file.testzip()  # all of it is compared with its CRC at once
                kept = msgpack.decode(file.read("head"), type=cls, dec_hook=_as_array)
                blocks = [f"records{begin}" for begin in range(0, len(kept.series), BLOCK)]
                states = [f"states{number}" for number in range(len(kept.families))]
                for name in blocks + states:
                    file.getinfo(name)
        except Exception as err:  # of a damaged entry zipfile raises whatever its bytes ask for
            raise StoredFault(f"cannot be used: it is not what was written: {err!r}") from None
        if file.comment != version.encode():
            raise StoredFault("the code or the constants of detection changed")
        if damaged:
            raise StoredFault(f"cannot be used: {damaged} is not what was written")
        kept.file = file
        return kept


def _no_room(err: OSError) -> StoredFault:
    """Return what to do where temporary files cannot be written."""
    try:
        place = tempfile.gettempdir()
    except OSError:  # no folder takes any; it says which were tried
        place = "TMPDIR"
    return StoredFault(
        f"{place}: temporary files cannot be written: {err.strerror or err}; make room there, or "
        "let TMPDIR name another folder"
    )


def _as_bytes(array: NDArray[Any]) -> bytes:
    data = io.BytesIO()
    np.lib.format.write_array(data, array, allow_pickle=False)
    return data.getvalue()


def _as_array(_: Any, data: bytes) -> NDArray[Any]:
    return np.asarray(np.lib.format.read_array(io.BytesIO(data), allow_pickle=False))

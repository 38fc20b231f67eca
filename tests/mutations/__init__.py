"""Random faults in recorded outputs, and what reading them as the checks do makes of each.

One mutation at a time is applied to a recorded output. What is read then is compared with the
values of the whole output: refused by the parser, the same values, another value, or a traceback
(any exception but the parser's own). `python -m tests.mutations --help` prints tables of it.
"""

import random
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from acceptance.core.errors import ParseError
from tests.mutations.kinds import KINDS
from tests.mutations.readers import SUITES, Reader, Values
from tests.places import ROOT
from tests.recorded import runs

REFUSED, SAME, OTHER, TRACEBACK = OUTCOMES = "refused", "same", "other", "traceback"


@dataclass(frozen=True)
class Trial:
    """A mutation of a recorded output and its outcome.

    `note` has the words of a refusal or exception, `values` old and new of each other value.
    """

    kind: str
    path: Path
    whole: str = field(repr=False)
    text: str = field(repr=False)
    outcome: str
    note: str = ""
    values: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def changed(self) -> list[tuple[int, str, str]]:
        """Return number, old and new text of the lines that differ, of texts of as many lines."""
        pairs = zip(self.whole.split("\n"), self.text.split("\n"), strict=False)
        return [(n, old, new) for n, (old, new) in enumerate(pairs, 1) if old != new]


@dataclass
class Record:
    """A recorded output, how it is read, and its values.

    The path of one of several outputs in a file ends in its name.
    """

    path: Path
    text: str = field(repr=False)
    read: Reader
    values: Values = field(init=False)

    def __post_init__(self):
        self.values = self.read(self.text)


def files(suite: str, folders: Sequence[Path] = ()) -> list[Path]:
    """Return the recorded outputs of a suite."""
    return sorted(
        path for folder in folders or [ROOT / "tests/data" / suite] for path in folder.iterdir()
    )


def records(suite: str, folders: Sequence[Path] = ()) -> list[Record]:
    """Return the recorded outputs of a suite that are read without a fault."""
    return read_all(suite, folders)[0]


def read_all(suite: str, folders: Sequence[Path] = ()) -> tuple[list[Record], list[str]]:
    """Return the recorded outputs of a suite that are read, and the names of those refused."""
    found, refused = [], []
    for path in files(suite, folders):
        whole = path.read_bytes().decode("latin-1")
        for name, text in runs(suite, whole):
            asked = (name,) if suite == "osu" else ()
            try:
                found.append(Record(path / name, text, SUITES[suite](text, *asked)))
            except ParseError:
                refused.append(f"{path.name}/{name}".rstrip("/"))
    return found, refused


def trials(suite: str, count: int, seed: int, folders: Sequence[Path] = ()) -> Iterator[Trial]:
    """Yield so many trials, as many of each kind; the same ones for the same seed."""
    rng = random.Random(f"{suite} {seed}")
    recorded = records(suite, folders)
    for number in range(count):
        kind = [*KINDS][number % len(KINDS)]
        while True:
            record = rng.choice(recorded)
            text = KINDS[kind](rng, record.text)
            if text is not None and text != record.text:
                break
        yield Trial(kind, record.path, record.text, text, *outcome(record, text))


def outcome(record: Record, text: str) -> tuple[str, str, dict[str, tuple[float, float]]]:
    """Read a mutated output as checks read the files of a run; return what a `Trial` has of it."""
    decoded = text.encode("latin-1").decode(errors="replace")
    try:
        values = record.read(decoded.replace("\r\n", "\n").replace("\r", "\n"))
    except ParseError as err:
        return REFUSED, str(err), {}
    except Exception:
        return TRACEBACK, traceback.format_exc(limit=-1), {}
    if missing := record.values.keys() ^ values.keys():
        return REFUSED, f"metrics missing or not asked for: {', '.join(sorted(missing))}", {}
    pairs = {name: (value, values[name][0]) for name, (value, _) in record.values.items()}
    other = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    return (OTHER if other else SAME), ", ".join(other), other

"""The past of every metric: what a ledger holds, as series of samples.

A sample is what a passing case measured; what failed, and what passed only when it was repeated, is
none. Anything that plain ReFrame writes will do. Values stand in arrays, and what the metrics of a
case share stands in one `Sample`: a site has thousands of metrics a night.

Values and samples are taken from the ledger when somebody asks for them. Those of cases that stand
side by side are read at once; of several such blocks the one that was asked for longest ago is
given up. What was simulated and what was measured stay apart: neither tells anything of the other.
"""

import json
import re
import shlex
import zlib
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from acceptance.core.text import plural
from acceptance.core.words import SIMULATED, Direction, is_simulated
from acceptance.detection.constants import CLOCK_SLACK, READ_BLOCK, READ_BLOCKS
from acceptance.ledger import (
    REPEATED,
    SHARED_MACHINE,
    Ledger,
    ResultsFault,
    Samples,
    SessionFault,
    reading,
    runs_of,
)

Software = tuple[tuple[str, str], ...]


class CaseKey(NamedTuple):
    """What was run: `check` is ReFrame's display name with its parameters, `keys` the sorted ones.

    Two problem sizes of one check differ in their keys (`reference/README.md`).
    """

    system: str
    partition: str
    environment: str
    check: str
    keys: tuple[tuple[str, str], ...] = ()

    @property
    def where(self) -> str:
        """Return `system:partition+environment`, as ReFrame writes it."""
        return f"{self.system}:{self.partition}+{self.environment}"


@dataclass(eq=False)
class PastSession:
    """One run of ReFrame: times in s since the epoch, `number` as in the ledger.

    `unfit` are the cases (where, name) that failed, were skipped or were repeated, `partitions` the
    (system, partition) that had cases, `most` the largest number of nodes that any passed case of
    one took. `mark` stands for what was stored of it: as long as the marks of the sessions up to
    one are the same, their samples are. All sessions of a night or an acceptance have the same
    `run`.
    """

    number: int
    uuid: str
    start: float
    end: float
    command: str
    partitions: set[tuple[str, str]] = field(default_factory=set)
    most: dict[tuple[str, str], int] = field(default_factory=dict)
    aborted: bool = False
    unfit: set[tuple[str, str]] = field(default_factory=set)
    mark: str = ""
    run: str = ""

    @property
    def systems(self) -> list[str]:
        """Return the systems that had cases."""
        return sorted({system for system, _ in self.partitions})

    @property
    def selection(self) -> tuple[str, ...]:
        """Return what the command selected, the same for every night of a nightly run."""
        return (*self.systems, *selection(self.command))


@dataclass(eq=False, slots=True)
class Sample:
    """One passing execution of a case; `time` is when its job was over, in s since the epoch."""

    session: PastSession
    time: float
    software: Software
    nodes: tuple[str, ...]
    findings: tuple[str, ...]


@dataclass(eq=False)
class CaseHistory:
    """A case and its series, one for each metric and unit.

    It is `plain` where its check is plain ReFrame, and none of this library.
    """

    key: CaseKey
    suite: str = ""
    benchmark: str = ""
    plain: bool = False
    series: list["Series"] = field(default_factory=list)
    id: int = 0

    @property
    def subject(self) -> str:
        """Return what references call it: its benchmark; of a plain check the name of the case."""
        return self.key.check if self.plain else self.benchmark


@dataclass(eq=False)
class Series:
    """One metric of a case in one unit: `values[i]` was measured by `samples[i]`.

    `impossible` counts values that are no measurement: none, zero, negative, not finite. `last` is
    the session in which the last of these stood. `number` names the series in its history,
    `id` in the ledger.
    """

    case: CaseHistory
    metric: str
    unit: str
    direction: Direction | None
    values: "array[float]" = field(default_factory=lambda: array("d"))
    samples: list[Sample] = field(default_factory=list)
    impossible: int = 0
    last: PastSession | None = None
    number: int = -1
    id: int = 0
    #: Where `values` and `samples` are, as long as nobody has asked for them, and how many.
    source: "Source | None" = None
    stored: int = 0

    def __post_init__(self) -> None:
        """Let values and samples be read from the source, if there is one, when they are asked."""
        if self.source is not None:
            del self.values, self.samples

    def __getattr__(self, name: str) -> Any:
        """Read values and samples."""
        if name in ("values", "samples") and self.source is not None:
            self.source.load(self)
            return self.__dict__[name]
        raise AttributeError(name)

    @property
    def count(self) -> int:
        """Return the number of samples, without reading them."""
        return len(self.values) if self.source is None else self.stored

    @property
    def partition(self) -> "Partition":
        """Return system and partition."""
        return self.case.key.system, self.case.key.partition

    @property
    def name(self) -> str:
        """Return `system:partition+environment check metric`."""
        return f"{self.case.key.where} {self.case.key.check} {self.metric}"

    def index_of(self, number: int) -> int:
        """Return the index of the first sample of the session of this number, or of a later one."""
        return bisect_left(self.samples, number, key=lambda sample: sample.session.number)


@dataclass
class History:
    """All series, and all sessions in the order in which they were stored; what was odd, as notes.

    The last session is the newest one. `faults` are the sessions that could not be read, or are not
    what was stored: they are not among these.
    `left_out` says what passed and is no sample, `source` has what is in the ledger.
    """

    cases: list[CaseHistory] = field(default_factory=list)
    sessions: list[PastSession] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    faults: list[SessionFault] = field(default_factory=list)
    left_out: str = ""
    source: "Source | None" = None

    @property
    def systems(self) -> tuple[str, ...]:
        """Return the systems of the sessions."""
        return tuple(sorted({name for session in self.sessions for name in session.systems}))

    @property
    def series(self) -> list[Series]:
        """Return every series that has a sample."""
        return [one for case in self.cases for one in case.series if one.count]

    def samples(
        self, series: Sequence[Series], first: int | None = None, last: int | None = None
    ) -> Samples:
        """Return all samples of some series; with `first` and `last` those of these sessions."""
        assert self.source
        return self.source.samples(series, first, last)


def software_text(software: Software) -> str:
    """Name what was built in a few words; the hash short, as Spack does."""
    built = dict(software)
    names = ("spec", "suite", "mpi", "compiler", "modules", SIMULATED)
    words = [built.get(name, "") for name in names]
    if "spec" in built:
        words[1] = ""
    if "hash" in built:
        words.append("hash " + " ".join(name[:7] for name in built["hash"].split()))
    return " ".join(filter(None, words))


def day(time: float) -> str:
    """Return the local date of a time (s since the epoch)."""
    return datetime.fromtimestamp(time).astimezone().strftime("%Y-%m-%d")


#: The option that sets a variable, and a value of it that pins a run to nodes (`checks/pinned.py`).
_SETTING = ("-S", "--setvar")
_PINNED = re.compile(r"(?:\w+\.)?pinned=")

#: Options of ReFrame that label a run or choose folders.
_LABELS = ("--session-extras", "--output", "--stage", "--prefix", "--report-file", "-o", "-s")


@cache
def selection(command: str) -> tuple[str, ...]:
    """Return the words of a ReFrame command that say what is run.

    That is, no program, label or folder, nor the nodes that its jobs are pinned to.
    """
    try:
        words = shlex.split(command)[1:]
    except ValueError:
        words = command.split()[1:]
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        name, _, value = word.partition("=")
        if word in _LABELS:
            next(rest, "")
        elif word in _SETTING:
            value = next(rest, "")
            found += [] if _PINNED.match(value) else [word, value]
        elif not (
            name in _LABELS
            or (name in _SETTING and _PINNED.match(value))
            or re.match(r"-v+\Z", word)
        ):
            found.append(word)
    return tuple(found)


Partition = tuple[str, str]


class Nights:
    """The nights on which each partition was measured, numbered from 0 in the order of storing.

    A night is from noon to noon, local time, by the start of the session. Partitions are
    `(system, partition)`.
    """

    def __init__(self, sessions: Iterable[PastSession]) -> None:
        self._numbers: dict[Partition, dict[int, int]] = {}
        dates: dict[tuple[Partition, int], int] = {}
        self._first: dict[Partition, list[PastSession]] = {}
        for session in sessions:
            date = night(session.start)
            for partition in session.partitions:
                first = self._first.setdefault(partition, [])
                if (partition, date) not in dates:
                    dates[partition, date] = len(first)
                    first.append(session)
                self._numbers.setdefault(partition, {})[session.number] = dates[partition, date]

    def of(self, partition: Partition, session: PastSession) -> int:
        """Return the number of a session's night; where it did not measure there, of the last one.

        So it is of what a session lacks, such as a partition that has another name now.
        """
        numbers = self._numbers[partition]
        before = (number for number in numbers if number <= session.number)
        return numbers[session.number if session.number in numbers else max(before)]

    def by_session(self, partition: Partition) -> dict[int, int]:
        """Return number of session -> number of its night."""
        return self._numbers[partition]

    def first(self, partition: Partition, number: int) -> PastSession:
        """Return the first session of a night."""
        return self._first[partition][number]

    def last(self, partition: Partition) -> int:
        """Return the number of the newest night of a partition."""
        return len(self._first[partition]) - 1


def night(time: float) -> int:
    """Return the number of the day on which a night began; `time` is in s since the epoch."""
    return (datetime.fromtimestamp(time).astimezone() - timedelta(hours=12)).toordinal()


@cache
def code_of_nodes(nodes: tuple[str, ...]) -> int:
    """Return what stands for a set of nodes in every history."""
    return zlib.crc32(" ".join(sorted(set(nodes))).encode())


@cache
def code_of(software: Software) -> int:
    """Return what stands for software in every history, 0 where none is known."""
    return zlib.crc32(repr(sorted(software)).encode()) if software else 0


class Source:
    """The ledger behind a history, as of some session."""

    def __init__(self, ledger: Ledger, sessions: Iterable[PastSession], end: int) -> None:
        """Serve sessions whose number in the ledger is below `end`."""
        self.ledger, self.end = ledger, end
        self.sessions = {session.number: session for session in sessions}
        self.blocks: dict[int, list[CaseHistory]] = {}
        self.block_of: dict[int, int] = {}
        self.loaded: list[int] = []
        self.texts: dict[str, tuple[str, ...]] = {}
        self.software: dict[str, Software] = {}

    def serve(self, cases: list[CaseHistory]) -> None:
        """Serve the series of cases, so many of them at once as `READ_BLOCK` samples are."""
        counts = [sum(series.stored for series in case.series) for case in cases]
        for case, end in zip(cases, accumulate(counts), strict=True):
            number = self.block_of[id(case)] = end // READ_BLOCK
            self.blocks.setdefault(number, []).append(case)

    def load(self, series: Series) -> None:
        """Give the series, and those of its block, their values and samples."""
        number = self.block_of.get(id(series.case))
        if number is None:
            series.values, series.samples = array("d"), []
            return
        while len(self.loaded) >= READ_BLOCKS:
            for one in (one for case in self.blocks[self.loaded.pop(0)] for one in case.series):
                one.__dict__.pop("values", None)
                one.__dict__.pop("samples", None)
        self.loaded.append(number)
        self._load(self.blocks[number])

    def samples(
        self, series: Sequence[Series], first: int | None = None, last: int | None = None
    ) -> Samples:
        """Return samples of some series as columns; with `first` and `last` of those sessions."""
        asked = sorted((one.id, one.number) for one in series)
        ids, numbers = np.array(asked, np.int64).reshape(-1, 2).T
        if first is None:
            found = reading.samples(self.ledger, 0, self.end, ids)
        else:
            found = reading.samples(self.ledger, first, self.end if last is None else last + 1)
        at = np.searchsorted(ids, found.series)
        known = np.isin(found.series, ids)
        number = np.full(len(at), -1, np.int32)
        number[known] = numbers[at[known]]
        order = np.argsort(number, kind="stable")
        order = order[np.searchsorted(number[order], 0) :]
        sets = {text: tuple(json.loads(text)) for text in {*found.nodes.tolist()}}
        built = {text: tuple(json.loads(text).items()) for text in {*found.software.tolist()}}
        nodes = np.array([code_of_nodes(sets[text]) for text in found.nodes.tolist()], np.uint32)
        software = np.array([code_of(built[text]) for text in found.software.tolist()], np.uint32)
        run = np.searchsorted(found.run_id, found.run)[order]
        return Samples(
            number[order], found.value[order], found.session[run], found.time[run], nodes[run],
            software[run], {code_of_nodes(each): each for each in sets.values()},
        )  # fmt: skip

    def _load(self, cases: list[CaseHistory]) -> None:
        every = [series for case in cases for series in case.series]
        ids = np.array([series.id for series in every], np.int64)
        read = reading.samples(self.ledger, 0, self.end, ids)
        ran = (read.session, read.time, read.software, read.nodes, read.findings)
        runs = map(self._sample, *(column.tolist() for column in ran))
        samples = dict(zip(read.run_id.tolist(), runs, strict=True))
        order = np.argsort(read.series, kind="stable")
        found, run, value = read.series[order], read.run[order], read.value[order]
        before: tuple[bytes, list[Sample]] = (b"", [])
        begins, ends = (np.searchsorted(found, ids, side) for side in ("left", "right"))
        for series, begin, end in zip(every, begins.tolist(), ends.tolist(), strict=True):
            own = run[begin:end]
            # The metrics of a case were measured by the same runs, most of them.
            if own.tobytes() != before[0]:
                before = own.tobytes(), [samples[place] for place in own.tolist()]
            series.values, series.samples = array("d", value[begin:end].tobytes()), before[1]

    def _sample(
        self, session: int, time: float, software: str, nodes: str, findings: str
    ) -> Sample:
        if software not in self.software:
            self.software[software] = tuple(json.loads(software).items())
        for text in (nodes, findings):
            if text not in self.texts:
                self.texts[text] = tuple(json.loads(text))
        return Sample(
            self.sessions[session], time, self.software[software], self.texts[nodes],
            self.texts[findings],
        )  # fmt: skip


def part(history: History, *, simulated: bool) -> History:
    """Return the part of a history that is of simulated systems, or of those that were measured.

    Each is judged by itself: not even the number of series of the other one counts.
    """
    cases = [case for case in history.cases if is_simulated(case.key.system) == simulated]
    sessions = [
        session
        for session in history.sessions
        if simulated in {is_simulated(name) for name in session.systems or ("",)}
    ]
    return replace(history, cases=cases, sessions=sessions)


def load(ledger: Ledger, system: str | None = None, until: str | None = None) -> History:
    """Return all series of a ledger.

    With `system` only its series, with `until` (UUID) nothing that was stored after that session.
    Values are read when they are asked for. Raises ResultsFault when the ledger cannot be read or
    has no such session. A session that was stored out of order is told in the notes, one that
    cannot be read in `faults`.
    """
    end = reading.ALL
    if until is not None:
        if until not in ledger.ids():
            raise ResultsFault(f"{ledger.results}: holds no session {until}")
        end = ledger.numbers[until] + 1
    faults = [fault for fault in ledger.faults if ledger.numbers[fault.uuid] < end]
    history = History(notes=[*ledger.notes], faults=faults)
    _add_sessions(history, ledger, end)
    source = history.source = Source(ledger, history.sessions, end)
    _add_unfit(history, source, system)
    _add_series(history, source, system)
    return history


def _add_sessions(history: History, ledger: Ledger, end: int) -> None:
    """Add the sessions of the ledger."""
    latest, runs = 0.0, runs_of(ledger.entries)
    for entry in ledger.entries:
        if entry.number >= end:
            break
        if entry.end < latest - CLOCK_SLACK:
            history.notes.append(
                f"session {entry.uuid} ended {(latest - entry.end) / 3600:.1f} hours before one "
                "that was stored before it: a clock went backwards; the order of storing counts"
            )
            latest = entry.end  # a single session of the future is reported once
        latest = max(latest, entry.end)
        history.sessions.append(
            PastSession(
                number=entry.number,
                uuid=entry.uuid,
                start=entry.start,
                end=entry.end,
                command=entry.command,
                aborted=entry.aborted,
                mark=entry.sum,
                run=runs[entry.uuid],
            )
        )


def _add_unfit(history: History, source: Source, system: str | None) -> None:
    """Add to sessions which partitions had cases, and which of these are no samples."""
    for number, name, partition, most in reading.partitions(source.ledger, source.end, system):
        source.sessions[number].partitions.add((name, partition))
        if most is not None:
            source.sessions[number].most[name, partition] = most
    repeated: Counter[str] = Counter()
    left_out: list[PastSession] = []
    for kind, number, name, where, check in reading.without_sample(source.ledger, source.end):
        if system not in (None, name):
            continue
        session = source.sessions[number]
        if kind == REPEATED:
            repeated[session.uuid] += 1
        else:
            session.unfit.add((where, check))
        if kind == SHARED_MACHINE:
            left_out.append(session)
    history.notes += [
        f"session {uuid} repeats {count} cases of sessions before it; left out"
        for uuid, count in repeated.items()
    ]
    if left_out:
        history.left_out = (
            f"{plural(len(left_out), 'case')} measured while another run had jobs "
            "on the same machine, and left out; the last session that has some is "
            f"{left_out[-1].uuid} of {day(left_out[-1].start)}"
        )
        history.notes.append(history.left_out)


def _add_series(history: History, source: Source, system: str | None) -> None:
    by_id: dict[int, CaseHistory] = {}
    for case_id, *name, keys, suite, benchmark, plain in reading.cases(
        source.ledger, source.end, system
    ):
        key = CaseKey._make((*name, _pairs(keys)))
        by_id[case_id] = CaseHistory(key, suite, benchmark, plain, id=case_id)
    history.cases += by_id.values()
    for number, row in enumerate(reading.series(source.ledger, source.end)):
        series_id, case_id, metric, unit, direction, stored, impossible, last = row
        if case_id in by_id:
            case = by_id[case_id]
            case.series.append(
                Series(
                    case, metric, unit, direction,
                    impossible=impossible, last=source.sessions.get(last), number=number,
                    id=series_id, source=source, stored=stored,
                )
            )  # fmt: skip
    source.serve(history.cases)


@cache
def _pairs(keys: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in json.loads(keys))

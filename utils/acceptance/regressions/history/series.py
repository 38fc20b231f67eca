"""Series of samples: what each metric of each case was in every session.

Values stand in arrays, and what the metrics of a case share stands in one `Sample`: a site has
thousands of metrics a night.
"""

import re
import shlex
import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from acceptance.core.units import Direction, better
from acceptance.rfm import SessionFault
from acceptance.rfm.session_schema import PerfValue, metric_name

#: JSON holds integers that no float can.
_LARGEST = sys.float_info.max

#: The option that sets a variable, and a value of it that pins a run to nodes (`checks/pinned.py`).
_SETTING = ("-S", "--setvar")
_PINNED = re.compile(r"(?:\w+\.)?pinned=")

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


class SeriesKey(NamedTuple):
    """What a series is a series of."""

    system: str
    partition: str
    environment: str
    check: str
    parameters: tuple[tuple[str, str], ...]
    metric: str


@dataclass(eq=False)
class PastSession:
    """One run of ReFrame: times in s since the epoch, `number` in the order of storing.

    `unfit` are the cases (where, name) that failed, were skipped or were repeated, `partitions` the
    (system, partition) that had cases.
    """

    number: int
    uuid: str
    start: float
    end: float
    command: str
    partitions: set[tuple[str, str]] = field(default_factory=set)
    aborted: bool = False
    perflog: bool = False
    unfit: set[tuple[str, str]] = field(default_factory=set)

    @property
    def selection(self) -> tuple[str, ...]:
        """Return what the command selected, the same for every night of a nightly run."""
        systems = sorted({system for system, _ in self.partitions})
        return (*systems, *selection(self.command))


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
    """A case and its series, one for each metric and unit; `newest` has that of the last sample.

    It is `plain` where its check is plain ReFrame, and none of this library.
    """

    key: CaseKey
    suite: str = ""
    benchmark: str = ""
    plain: bool = False
    series: list["Series"] = field(default_factory=list)
    newest: dict[str, "Series"] = field(default_factory=dict)
    times: set[float] = field(default_factory=set)

    @property
    def subject(self) -> str:
        """Return what references call it: its benchmark; of a plain check the name of the case."""
        return self.key.check if self.plain else self.benchmark


@dataclass(eq=False)
class Series:
    """One metric of a case in one unit: `values[i]` was measured by `samples[i]`.

    `impossible` counts values that are no measurement: none, zero, negative, not finite. `last` is
    the session in which the last of these stood.
    """

    case: CaseHistory
    metric: str
    unit: str
    direction: Direction | None
    stored_unit: str | None = ""
    values: "array[float]" = field(default_factory=lambda: array("d"))
    samples: list[Sample] = field(default_factory=list)
    impossible: int = 0
    last: PastSession | None = None
    #: What the values would be on the same nodes; None where they are what was measured.
    on_same_nodes: "array[float] | None" = None

    @property
    def compared(self) -> "array[float]":
        """Return the values that are compared with each other: as if on the same nodes."""
        return self.values if self.on_same_nodes is None else self.on_same_nodes

    @property
    def key(self) -> SeriesKey:
        """Return what this is a series of."""
        return SeriesKey(*self.case.key, self.metric)

    @property
    def name(self) -> str:
        """Return `system:partition+environment check metric`."""
        return f"{self.case.key.where} {self.case.key.check} {self.metric}"

    def index(self, session: PastSession) -> int:
        """Return the number of the first sample of a session or of a later one."""
        return bisect_left(self.samples, session.number, key=lambda sample: sample.session.number)

    @property
    def times(self) -> list[float]:
        """Return the time of each sample, s since the epoch."""
        return [sample.time for sample in self.samples]

    @property
    def sessions(self) -> list[str]:
        """Return the UUID of the session of each sample."""
        return [sample.session.uuid for sample in self.samples]

    @property
    def software(self) -> list[Software]:
        """Return what was built, of each sample; empty where nothing tells."""
        return [sample.software for sample in self.samples]

    @property
    def nodes(self) -> list[tuple[str, ...]]:
        """Return the nodes of each sample."""
        return [sample.nodes for sample in self.samples]


@dataclass
class History:
    """All series, and all sessions in the order in which they were stored; what was odd, as notes.

    The last session is the newest one. `faults` are the sessions that could not be read, or are not
    what was stored: they are not among these, and their values are those of the perflogs.
    `left_out` says what passed and is no sample.
    """

    cases: list[CaseHistory] = field(default_factory=list)
    sessions: list[PastSession] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    faults: list[SessionFault] = field(default_factory=list)
    left_out: str = ""

    @property
    def series(self) -> list[Series]:
        """Return every series that has a sample."""
        return [one for case in self.cases for one in case.series if one.values]


#: Options of ReFrame that label a run or choose folders.
_LABELS = ("--session-extras", "--output", "--stage", "--prefix", "--report-file", "-o", "-s")


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


def add(case: CaseHistory, sample: Sample, perfvalues: Iterable[tuple[str, PerfValue]]) -> None:
    """Add what a case measured, by `system:partition:metric`."""
    newest = case.newest
    for key, data in perfvalues:
        value = data.value
        series = newest.get(key)
        if series is None or series.stored_unit != data.unit:
            series = _series(case, key, data)
        # `type`, not isinstance: a bool is no measurement.
        if (type(value) is float or type(value) is int) and 0 < value <= _LARGEST:
            series.values.append(value)
            series.samples.append(sample)
        elif value is not None:  # None: a case that failed before its metrics were read
            series.impossible += 1
            series.last = sample.session
        if series.direction is None:
            series.direction = better(series.unit, data.lower, data.upper)


def _series(case: CaseHistory, key: str, data: PerfValue) -> Series:
    """Return the series of a metric in a unit that is not that of its last sample."""
    metric, unit = metric_name(key), data.unit
    for series in case.series:
        if (series.metric, series.stored_unit) == (metric, unit):
            break
    else:
        series = Series(case, metric, unit or "", better(unit or "", data.lower, data.upper), unit)
        case.series.append(series)
    case.newest[key] = series
    return series


def software_text(software: Software) -> str:
    """Name what was built in a few words; the hash short, as Spack does."""
    built = dict(software)
    words = [built.get(name, "") for name in ("spec", "suite", "mpi", "compiler", "modules")]
    if "spec" in built:
        words[1] = ""
    if "hash" in built:
        words.append("hash " + " ".join(name[:7] for name in built["hash"].split()))
    return " ".join(filter(None, words))


def day(time: float) -> str:
    """Return the local date of a time (s since the epoch)."""
    return datetime.fromtimestamp(time).astimezone().strftime("%Y-%m-%d")

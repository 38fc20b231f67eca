"""Series of samples: what each metric of each case was in every session.

Values stand in arrays, and what the metrics of a case share stands in one `Sample`: a site has
thousands of metrics a night.
"""

from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from acceptance.core.simulated import SIMULATED
from acceptance.core.units import Direction
from acceptance.regressions.history.selection import selection
from acceptance.rfm import SessionFault

if TYPE_CHECKING:
    from acceptance.regressions.history.lazy import Source

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
    (system, partition) that had cases, `most` the largest number of nodes that any passed case of
    one took. `mark` stands for what was taken of it: as long as the marks
    of the sessions up to one are the same, their samples are.
    """

    number: int
    uuid: str
    start: float
    end: float
    command: str
    partitions: set[tuple[str, str]] = field(default_factory=set)
    most: dict[tuple[str, str], int] = field(default_factory=dict)
    aborted: bool = False
    perflog: bool = False
    unfit: set[tuple[str, str]] = field(default_factory=set)
    mark: str = ""

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
    number: int = -1

    @property
    def subject(self) -> str:
        """Return what references call it: its benchmark; of a plain check the name of the case."""
        return self.key.check if self.plain else self.benchmark


@dataclass(eq=False)
class Series:
    """One metric of a case in one unit: `values[i]` was measured by `samples[i]`.

    `impossible` counts values that are no measurement: none, zero, negative, not finite. `last` is
    the session in which the last of these stood. `number` names the series in its history.
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
    number: int = -1
    #: Where `values` and `samples` are, as long as nobody has asked for them, and how many.
    source: "Source | None" = None
    stored: int = 0
    #: What only perflogs have of it.
    logged: list[tuple[Sample, float]] = field(default_factory=list)

    @classmethod
    def stored_in(
        cls,
        source: "Source",
        case: CaseHistory,
        metric: str,
        unit: str | None,
        direction: Direction | None,
        count: int = 0,
        impossible: int = 0,
        last: PastSession | None = None,
        number: int = -1,
    ) -> "Series":
        """Make a series whose values and samples are read when they are asked for."""
        series = cls(case, metric, unit or "", direction, unit, number=number)
        series.impossible, series.last = impossible, last
        series.source, series.stored = source, count
        del series.values, series.samples
        return series

    def set(self, values: "array[float]", samples: list[Sample]) -> None:
        """Take what is stored; with what only perflogs have, in the order of the sessions."""
        if self.logged:
            pairs = [*zip(samples, values, strict=True), *self.logged]
            pairs.sort(key=lambda pair: pair[0].session.number)
            samples, values = [each for each, _ in pairs], array("d", (one for _, one in pairs))
        self.values, self.samples = values, samples

    def __getattr__(self, name: str) -> Any:
        """Read values and samples."""
        if name in ("values", "samples") and self.source is not None:
            self.source.load(self)
            return self.__dict__[name]
        raise AttributeError(name)

    @property
    def count(self) -> int:
        """Return the number of samples, without reading them."""
        return len(self.values) if self.source is None else self.stored + len(self.logged)

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
        return self.index_of(session.number)

    def index_of(self, number: int) -> int:
        """Return the number of the first sample of the session of this number, or of a later."""
        return bisect_left(self.samples, number, key=lambda sample: sample.session.number)

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
    `left_out` says what passed and is no sample, `source` has what is in the store.
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

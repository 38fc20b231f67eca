"""What a results database of ReFrame holds: sessions, their cases, and the metrics of these."""

from dataclasses import dataclass

from acceptance.core.observations import Observation
from acceptance.core.pairs import PairResult


@dataclass(frozen=True)
class Metric:
    """A measured metric; `reference` is None when it was recorded, not judged."""

    name: str
    value: float
    unit: str
    reference: float | None
    lower: float | None
    upper: float | None
    judged_by: str
    passed: bool


@dataclass(frozen=True)
class Case:
    """One execution of a check on a partition and an environment.

    `benchmark` and `keys` say what the metrics are, in the words of `reference/README.md`; `pairs`
    are the single results of which they are aggregates, where there are such. `seconds` is how long
    it took, waiting included; None where that was not stored.
    """

    name: str
    system: str
    partition: str
    environment: str
    filename: str
    suite: str
    run_index: int
    result: str
    fail_phase: str
    fail_reason: str
    nodes: tuple[str, ...]
    fixture: bool
    benchmark: str
    keys: dict[str, str]
    declared: dict[str, str]
    provenance: dict[str, str]
    findings: tuple[Observation, ...]
    metrics: tuple[Metric, ...]
    pairs: tuple[PairResult, ...] = ()
    seconds: float | None = None

    @property
    def plain(self) -> bool:
        """Tell whether its check is plain ReFrame, and none of this library."""
        return not self.suite and not self.benchmark

    @property
    def subject(self) -> str:
        """Return what references call it: its benchmark; of a plain check the name of the case."""
        return self.name if self.plain else self.benchmark

    @property
    def passed(self) -> bool:
        """Tell whether the case passed; nothing else counts as success."""
        return self.result == "pass"

    @property
    def where(self) -> str:
        """Return `system:partition+environment`, as ReFrame writes it."""
        return f"{self.system}:{self.partition}+{self.environment}"


@dataclass(frozen=True)
class Session:
    """One run of ReFrame; times in seconds since the epoch, `elapsed` in s.

    `label` is what `--session-extras run=LABEL` gave it, `aborted` a number of cases.
    """

    uuid: str
    start: float
    end: float
    host: str
    command: str
    label: str
    aborted: int
    cases: tuple[Case, ...]

    @property
    def elapsed(self) -> float:
        """Return the session's duration in s."""
        return self.end - self.start

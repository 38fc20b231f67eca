"""What a results database of ReFrame holds: sessions, their cases, and the metrics of these."""

from dataclasses import dataclass, field
from typing import Any

from acceptance.core.findings import Observation
from acceptance.core.pairs import PairResult
from acceptance.core.words import SIMULATED, is_simulated


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
    are the single results of which they are aggregates, where there are such, and `all_pairs` what
    became of a matrix of them (`nodes.AllPairs`). `seconds` is how long it took, waiting included;
    None where that was not stored. `folder` is where its files were left, `output` the name of
    what its job printed in there; both are empty where that was not stored.
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
    all_pairs: dict[str, Any] = field(default_factory=dict)
    folder: str = ""
    output: str = ""

    @property
    def plain(self) -> bool:
        """Tell whether its check is plain ReFrame, and none of this library."""
        return not self.suite and not self.benchmark

    @property
    def simulated(self) -> str:
        """Return what simulated it (`SimGrid 3.32`), empty where it was measured."""
        known = self.provenance.get(SIMULATED, "")
        return known or (SIMULATED if is_simulated(self.system) else "")

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

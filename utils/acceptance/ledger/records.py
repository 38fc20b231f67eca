"""What a session holds: its cases, and the metrics of these."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from acceptance.core.errors import MESSAGE
from acceptance.core.findings import Finding, observations
from acceptance.core.text import clipped
from acceptance.core.words import SIMULATED, is_simulated
from acceptance.ledger.session_schema import (
    PerfValue,
    SessionInfo,
    StoredCase,
    as_seconds,
    as_table,
    as_text,
    as_words,
    metric_name,
)

#: What ReFrame says of a job, or of another program, that it has waited for too long.
_TIMED_OUT = re.compile(r"job timed out|exceeded timeout|JobTimeout", re.IGNORECASE)


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

    `benchmark` and `keys` say what the metrics are, in the words of `reference/README.md`;
    `all_pairs` is what became of a matrix of nodes (`nodes.AllPairs`). `seconds` is how long it
    took, waiting included; None where that was not stored. `folder` is where its files were left,
    `output` the name of what its job printed in there; both are empty where that was not stored.
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
    findings: tuple[Finding, ...]
    metrics: tuple[Metric, ...]
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
    def given_up(self) -> str:
        """Return the kind of what ReFrame gave up its job for, which only its words say."""
        if "it was blocked due to reason: " in self.fail_reason:
            return "job-blocked"
        return "time-limit" * bool(_TIMED_OUT.search(self.fail_reason))

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


def session_of(uuid: str, info: SessionInfo, cases: Iterable[StoredCase]) -> Session:
    """Return a session by what is stored of it; raises what a malformed one makes Python raise."""
    return Session(
        uuid=uuid,
        start=info.time_start_unix,
        end=info.time_end_unix,
        host=info.hostname,
        command=info.cmdline,
        label=info.run,
        aborted=info.num_aborted or 0,
        cases=tuple(map(_case, cases)),
    )


def _case(stored: StoredCase) -> Case:
    judged_by = as_table(stored.judged_by)
    return Case(
        name=stored.display_name or stored.name,
        system=stored.system,
        partition=stored.partition,
        environment=stored.environ,
        filename=stored.filename,
        suite=as_text(stored.suite),
        run_index=stored.run_index,
        result=stored.result or "",
        fail_phase=stored.fail_phase or "",
        fail_reason=clipped(stored.fail_reason or "", MESSAGE),
        nodes=as_words(stored.job_nodelist),
        fixture=bool(stored.fixture),
        benchmark=as_text(stored.benchmark_name),
        keys=as_table(stored.keys),
        declared=as_table(stored.declared),
        provenance=as_table(stored.provenance),
        findings=observations(stored.findings),
        metrics=tuple(
            _metric(metric_name(key), value, judged_by)
            for key, value in (stored.perfvalues or {}).items()
            if value.value is not None
        ),
        seconds=as_seconds(stored.time_total),
        all_pairs=stored.all_pairs if isinstance(stored.all_pairs, dict) else {},
        folder=as_text(stored.outputdir if stored.result == "pass" else stored.stagedir),
        output=as_text(stored.job_stdout),
    )


def _metric(name: str, stored: PerfValue, judged_by: dict[str, str]) -> Metric:
    judged = stored.lower is not None or stored.upper is not None
    return Metric(
        name=name,
        value=stored.value,
        unit=stored.unit or "",
        reference=stored.reference if judged else None,
        lower=stored.lower,
        upper=stored.upper,
        judged_by=judged_by.get(name, "a reference of the check" if judged else ""),
        passed=stored.result == "pass",
    )

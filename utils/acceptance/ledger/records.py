"""What a session holds: its cases, and the metrics of these; the one decoder of a session's JSON.

It is as ReFrame 4.10 stores it (`frontend/reporting`). A session of a large site is megabytes of
JSON. Decoded as a whole its objects do not stay in the processor's caches, which takes three times
as long as one case after the other.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from acceptance.core.errors import MESSAGE
from acceptance.core.findings import Finding, observations
from acceptance.core.text import clipped
from acceptance.core.words import SIMULATED, is_simulated


class PerfValue(msgspec.Struct, array_like=True, gc=False):
    """A metric; `value` is None in a case that failed before its metrics were read."""

    value: Any
    reference: Any
    lower: float | None
    upper: float | None
    unit: str | None
    result: str | None = "pass"


class StoredCase(msgspec.Struct):
    """A case of a session. Any program may have stored it: what is of no use has any type."""

    name: str
    system: str
    partition: str
    environ: str
    result: str | None
    display_name: str | None = None
    filename: str = ""
    run_index: int = 0
    fail_phase: str | None = None
    fail_reason: str | None = None
    job_completion_time_unix: float | None = None
    job_nodelist: Any = None
    time_total: Any = None
    fixture: Any = None
    suite: Any = None
    benchmark_name: Any = None
    keys: Any = None
    declared: Any = None
    judged_by: Any = None
    provenance: Any = None
    modules: Any = None
    findings: Any = None
    mode: Any = None
    #: Seconds that its build and its job took.
    time_compile: float | None = None
    time_run: float | None = None
    all_pairs: Any = None
    loaded: Any = None
    rails: Any = None
    #: Where its files are: of a case that failed in the second one.
    outputdir: Any = None
    stagedir: Any = None
    job_stdout: Any = None
    #: By "system:partition:metric".
    perfvalues: dict[str, PerfValue] | None = None

    @property
    def plain(self) -> bool:
        """Tell whether its check is plain ReFrame, and none of this library."""
        return not as_text(self.suite) and not as_text(self.benchmark_name)


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

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Return between which numbers it has to lie; None: any in that direction.

        As of ReFrame a threshold is a fraction of the reference's size, absolute where that is 0.
        """
        if self.reference is None:
            return None, None
        scale = abs(self.reference) or 1.0
        low, high = (
            None if threshold is None else self.reference + threshold * scale
            for threshold in (self.lower, self.upper)
        )
        return low, high


@dataclass(frozen=True)
class Case:
    """One execution of a check on a partition and an environment.

    `benchmark` and `keys` say what the metrics are, in the words of `reference/README.md`;
    `all_pairs` is what became of a matrix of nodes (`nodes.AllPairs`), `loaded` that of a
    measurement under load (`nodes.UnderLoad`), `rails` what each rail of a node carried, in bytes.
    `seconds` is how long it took, waiting included; None where that was not stored. `folder` is
    where its files were left, `output` the name of what its job printed in there; both are empty
    where that was not stored.
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
    loaded: dict[str, Any] = field(default_factory=dict)
    rails: dict[str, dict[str, int]] = field(default_factory=dict)
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


class Session(
    msgspec.Struct,
    rename={
        "start": "time_start_unix",
        "end": "time_end_unix",
        "host": "hostname",
        "command": "cmdline",
        "label": "run",
        "aborted": "num_aborted",
        "cases": "",
    },
):
    """One run of ReFrame; times in seconds since the epoch, `elapsed` in s.

    `label` is what `--session-extras run=LABEL` gave it, `aborted` a number of cases.
    """

    uuid: str
    start: float
    end: float
    host: str = ""
    command: str = ""
    label: str = ""
    aborted: int | None = None
    cases: tuple[Case, ...] = ()

    @property
    def elapsed(self) -> float:
        """Return the session's duration in s."""
        return self.end - self.start


def session_of(uuid: str, told: Session, cases: Iterable[StoredCase]) -> Session:
    """Return a session with its cases; raises what a malformed one makes Python raise."""
    found = tuple(map(_case, cases))
    return replace(told, uuid=uuid, aborted=told.aborted or 0, cases=found)


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
        loaded=stored.loaded if isinstance(stored.loaded, dict) else {},
        rails=stored.rails if isinstance(stored.rails, dict) else {},
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


class _Run(msgspec.Struct):
    testcases: list[msgspec.Raw]


class _Session(msgspec.Struct):
    session_info: Session
    runs: list[_Run]


_SESSION = msgspec.json.Decoder(_Session)
_CASE = msgspec.json.Decoder(StoredCase)
_DEEP = "it is nested too deeply"


def decode(blob: str) -> tuple[Session, Iterator[StoredCase]]:
    """Return a session without its cases, and these, those of its first run first.

    Raises ValueError for what is no JSON, msgspec.DecodeError (a ValueError, too) for what is no
    session; the iterator does for what is no case.
    """
    try:
        session = _SESSION.decode(blob)
    except RecursionError:
        raise ValueError(_DEEP) from None
    except msgspec.DecodeError as err:
        # Python writes NaN and infinities, which are no JSON.
        try:
            return _decode_loosely(json.loads(blob))
        except (KeyError, TypeError, RecursionError):
            raise err from None
    return session.session_info, _cases(session)


def _cases(session: _Session) -> Iterator[StoredCase]:
    try:
        for run in session.runs:
            for case in run.testcases:
                yield _CASE.decode(case)
    except RecursionError:
        raise ValueError(_DEEP) from None


def _decode_loosely(data: Any) -> tuple[Session, Iterator[StoredCase]]:
    info = msgspec.convert(data["session_info"], Session)
    cases = [case for run in data["runs"] for case in run["testcases"]]
    return info, (msgspec.convert(case, StoredCase) for case in cases)


def metric_name(key: str) -> str:
    """Return the metric of `system:partition:metric`; it may have a colon in its name."""
    return key.split(":", 2)[-1]


def node_of_case(name: str) -> str:
    """Return the node of a case that `reframe --distribute` made, by its name; empty for others."""
    node = re.search(r"%\.nid=(\S+)", name)
    return node[1] if node else ""


def as_table(value: object) -> dict[str, str]:
    """Return a loggable dictionary; ReFrame stores '<undefined>' for one that was never set."""
    return value if isinstance(value, dict) else {}


def as_words(value: object) -> tuple[str, ...]:
    """Return a loggable list as texts."""
    return tuple(map(str, value)) if isinstance(value, list) else ()


def as_seconds(value: object) -> float | None:
    """Return a duration (s); None where there is none."""
    if not isinstance(value, int | float) or not 0 <= value < math.inf:
        return None
    return float(value)


def as_text(value: object) -> str:
    """Return a loggable text."""
    return value if isinstance(value, str) and value != "<undefined>" else ""

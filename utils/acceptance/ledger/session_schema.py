"""Sessions as ReFrame 4.10 stores them (`frontend/reporting`): the one decoder of their JSON.

A session of a large site is megabytes of JSON. Decoded as a whole its objects do not stay in the
processor's caches, which takes three times as long as one case after the other.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import msgspec


class SessionInfo(msgspec.Struct):
    """What a session says of itself; times in seconds since the epoch."""

    uuid: str
    time_start_unix: float
    time_end_unix: float
    hostname: str = ""
    cmdline: str = ""
    num_aborted: int | None = None
    #: The label of the run: `--session-extras run=LABEL`.
    run: str = ""


class PerfValue(msgspec.Struct, array_like=True):
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


class _Run(msgspec.Struct):
    testcases: list[msgspec.Raw]


class _Session(msgspec.Struct):
    session_info: SessionInfo
    runs: list[_Run]


_SESSION = msgspec.json.Decoder(_Session)
_CASE = msgspec.json.Decoder(StoredCase)


def decode(blob: str) -> tuple[SessionInfo, Iterator[StoredCase]]:
    """Return a session's own data and its cases, those of its first run first.

    Raises ValueError for what is no JSON, msgspec.ValidationError (a ValueError, too) for what is
    no session; the iterator does for what is no case.
    """
    try:
        session = _SESSION.decode(blob)
    except msgspec.DecodeError:
        # Python writes NaN and infinities, which are no JSON.
        return _decode_loosely(json.loads(blob))
    return session.session_info, (
        _CASE.decode(case) for run in session.runs for case in run.testcases
    )


def _decode_loosely(data: Any) -> tuple[SessionInfo, Iterator[StoredCase]]:
    info = msgspec.convert(data["session_info"], SessionInfo)
    return info, (
        msgspec.convert(case, StoredCase) for run in data["runs"] for case in run["testcases"]
    )


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

"""Sessions as ReFrame 4.10 stores them, decoded as far as the history needs them, case by case.

A session of a large site is megabytes of JSON. Decoded as a whole its objects do not stay in the
processor's caches, which takes three times as long as one case after the other.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec


class SessionInfo(msgspec.Struct):
    """What a session says of itself; times in seconds since the epoch."""

    uuid: str
    time_start_unix: float
    time_end_unix: float
    cmdline: str = ""
    num_aborted: int | None = None


class StoredCase(msgspec.Struct):
    """A case of a session. Any program may have stored it: what is of no use has any type."""

    name: str
    system: str
    partition: str
    environ: str
    result: str | None
    display_name: str | None = None
    job_completion_time_unix: float | None = None
    job_nodelist: Any = None
    fixture: Any = None
    suite: Any = None
    benchmark_name: Any = None
    keys: Any = None
    provenance: Any = None
    modules: Any = None
    findings: Any = None
    #: "system:partition:metric" -> [value, reference, lower, upper threshold, unit, result].
    perfvalues: dict[str, list[Any]] | None = None


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

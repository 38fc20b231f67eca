"""How long cases took when they last ran."""

from collections.abc import Collection
from pathlib import Path
from typing import TypeAlias

from acceptance.rfm import database
from acceptance.rfm.session_schema import StoredCase, as_text, decode

#: A case: its name, its `system:partition+environment`, and the mode of its run.
CaseInMode: TypeAlias = tuple[str, str, str]


def durations(results: Path, wanted: Collection[CaseInMode]) -> dict[CaseInMode, float]:
    """Return what each case added to the session that ran it last, in s; what never ran is missing.

    A session's time is shared among its cases by the times of their builds and jobs: they may have
    run side by side. A build (fixture) has no mode. Raises ResultsFault.
    """
    found: dict[CaseInMode, float] = {}
    for _, blob in database.blobs(results):
        try:
            info, stored = decode(blob)
            times = {_key(case): _time(case) for case in stored}
        except ValueError:  # malformed: reported where results are judged
            continue
        total = sum(times.values())
        elapsed = info.time_end_unix - info.time_start_unix
        for key in times.keys() & wanted:
            if times[key] and elapsed > 0:
                found[key] = elapsed * times[key] / total
    return found


def _key(case: StoredCase) -> CaseInMode:
    where = f"{case.system}:{case.partition}+{case.environ}"
    return case.display_name or case.name, where, "" if case.fixture else as_text(case.mode)


def _time(case: StoredCase) -> float:
    return (case.time_compile or 0.0) + (case.time_run or 0.0)

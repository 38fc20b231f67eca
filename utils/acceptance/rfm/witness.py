"""Perflogs as the second witness of a session: what it holds, and what was logged as it ran."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from acceptance.core.text import plural
from acceptance.rfm import perflogs
from acceptance.rfm.perflogs import PerflogLine
from acceptance.rfm.session_schema import PerfValue, StoredCase, decode, metric_name
from acceptance.rfm.stored import StoredSession

#: Seconds by which the time of a line, which has no fractions, may differ from that of its case.
_APART = 1
#: Differences that a message shows.
_SHOWN = 3


@dataclass(frozen=True)
class Difference:
    """What is not the same in both: of which case or metric, and the two values."""

    what: str
    database: str
    perflog: str

    def __str__(self) -> str:
        """Say it with both values."""
        return f"{self.what}: {self.database} in the database, {self.perflog} in the perflog"


@dataclass
class Testimony:
    """What perflogs say of a session: cases that they have of it, and what differs.

    `unread` says why the session could not be compared.
    """

    cases: int = 0
    differences: tuple[Difference, ...] = ()
    unread: str = ""

    @property
    def text(self) -> str:
        """Say it in a sentence."""
        if self.differences:
            more = len(self.differences) - _SHOWN
            shown = "; ".join(map(str, self.differences[:_SHOWN]))
            return shown + (f"; and {more} more" if more > 0 else "")
        if not self.cases:
            return "no perflog has its cases"
        has = f"the perflogs have {plural(self.cases, 'case')} of it"
        return has if self.unread else f"{has}, with the same values"


class Witness:
    """The perflogs of a folder in the time of some sessions."""

    def __init__(self, folder: Path | None, sessions: Iterable[tuple[object, object]]) -> None:
        """Read what was logged between the first start and the last end (s since the epoch).

        Without a folder there are no perflogs.
        """
        times = [time for period in sessions for time in period if isinstance(time, int | float)]
        self.lines: list[PerflogLine] = []
        if times and folder is not None:
            period = (min(times) - _APART, max(times) + _APART)
            self.lines = perflogs.read(folder, period).rows
        self.by_case: dict[tuple[str, str], list[PerflogLine]] = {}
        for line in self.lines:
            self.by_case.setdefault((line.where, line.check), []).append(line)

    def testify(self, stored: StoredSession) -> Testimony:
        """Compare a session with the lines of its time."""
        try:
            info, found = decode(stored.blob.decode())
            cases = [case for case in found if case.job_completion_time_unix is not None]
        except (ValueError, KeyError, TypeError, AttributeError) as err:
            times = (stored.start, stored.end)
            if not all(isinstance(time, int | float) for time in times):
                return Testimony(unread=repr(err))
            lines = [line for line in self.lines if times[0] - 1 <= line.time <= times[1] + 1]
            return Testimony(len(lines), unread=repr(err))
        differences: list[Difference] = []
        if info.uuid != stored.uuid:
            differences.append(Difference("the UUID of its row", stored.uuid, info.uuid))
        count = 0
        named = {key for case in cases for key in _keys(case)}
        for case in cases:
            lines = [line for key in _keys(case) for line in _near(self.by_case.get(key, ()), case)]
            if lines:
                count += 1
                closest = min([[*_compare(case, line)] for line in lines], key=len)
                differences += closest
            elif case.perfvalues and case.result == "pass":
                others = _near(self.lines, case)
                others = [line for line in others if (line.where, line.check) not in named]
                if others:
                    where, name = max(_keys(case), key=lambda key: len(key[1]))
                    other = f"{others[0].where} {others[0].check}"
                    differences.append(Difference("a case", f"{where} {name}", other))
        return Testimony(count, tuple(differences))


def _keys(case: StoredCase) -> list[tuple[str, str]]:
    """Return where a case ran, with each name that perflogs may have of it."""
    where = f"{case.system}:{case.partition}+{case.environ}"
    return [(where, name) for name in perflogs.names_of(case.display_name or case.name)]


def _near(lines: Iterable[PerflogLine], case: StoredCase) -> list[PerflogLine]:
    """Return the lines of the second in which a case was over."""
    time = case.job_completion_time_unix
    return [line for line in lines if time is not None and abs(line.time - int(time)) <= _APART]


def _compare(case: StoredCase, line: PerflogLine) -> list[Difference]:
    """Return what differs between a case and its line."""
    return [*_differences(case, line)]


def _differences(case: StoredCase, line: PerflogLine) -> Iterator[Difference]:
    logged = {fields["var"]: fields for fields in line.metrics}
    stored = {metric_name(key): value for key, value in (case.perfvalues or {}).items()}
    if not logged or not stored:
        return  # a perflog need not have all metrics; a case that failed has none
    place = f"{line.where} {line.check}"
    for name, value in stored.items():
        if name not in logged:
            if lost := [other for other in logged if other not in stored]:
                yield Difference(f"{place}: a metric", name, lost[0])
            continue
        fields = logged[name]
        if not _is_same(value, fields["value"]):
            unit = fields["unit"]
            yield Difference(
                f"{place} {name}", f"{value.value} {value.unit}", f"{fields['value']} {unit}"
            )
        elif fields["unit"] not in (value.unit or "", *(() if value.unit else ("None", "null"))):
            yield Difference(f"the unit of {place} {name}", str(value.unit), fields["unit"])


def _is_same(value: PerfValue, text: str) -> bool:
    """Tell whether a value is what was logged, as far as its digits were."""
    if not isinstance(value.value, int | float) or isinstance(value.value, bool):
        return True  # none was measured
    try:
        logged = Decimal(text)
    except InvalidOperation:
        return True  # no number: another program's form of perflog
    if not (logged.is_finite() and math.isfinite(value.value)):
        return str(logged).lower() == str(Decimal(value.value)).lower()
    exponent = logged.as_tuple().exponent
    assert isinstance(exponent, int)
    return abs(Decimal(value.value) - logged) <= Decimal(1).scaleb(exponent) * Decimal("0.5001")

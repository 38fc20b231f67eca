"""ReFrame's perflogs: a line a case, written as each case ends, so also by runs that were killed.

The form is that of `config/settings.py`, or ReFrame's default: a header, fields separated by `|`,
and of each metric the fields `<metric>_value`, `<metric>_unit`, `<metric>_lower_thres` and
`<metric>_upper_thres`. ReFrame compares the header only when it opens a file, so that a session
writes cases of other metrics under it, too; they can be read where each metric has a first field
`<metric>_var`, its name. A file whose header changed goes on under another name, `<check>.log.h0`.
"""

import itertools
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

from acceptance.rfm.session_schema import PerfValue

#: Without these columns a line does not say what it is about.
NEEDED = ("job_completion_time", "system", "partition", "environ", "result")
#: The columns that may hold the name of the case, the best one first. The database has the first;
#: the second lacks what ReFrame adds to it, ` %.repeat_id=1` say (`_IMPLICIT`).
NAMES = ("display_name", "name")
_IMPLICIT = re.compile(r" %\.\S*")

#: Malformed lines that are reported one by one.
_REPORTED = 5


@dataclass(frozen=True)
class PerflogLine:
    """A line: `time` is when the job was over (s since the epoch), to the second.

    `keys` is None where the perflog does not log them.
    """

    time: float
    system: str
    partition: str
    environment: str
    check: str
    result: str
    nodes: tuple[str, ...]
    provenance: dict[str, str]
    keys: tuple[tuple[str, str], ...] | None
    metrics: list[dict[str, str]]

    @property
    def where(self) -> str:
        """Return `system:partition+environment`, as ReFrame writes it."""
        return f"{self.system}:{self.partition}+{self.environment}"

    def values(self) -> Iterator[tuple[str, PerfValue]]:
        """Yield what the metrics were, by `system:partition:metric`."""
        for fields in self.metrics:
            lower, upper = (_number(fields.get(name)) for name in ("lower_thres", "upper_thres"))
            name = f"{self.system}:{self.partition}:{fields['var']}"
            yield name, PerfValue(_number(fields["value"]), None, lower, upper, fields["unit"])


@dataclass
class Perflogs:
    """The lines of a folder of perflogs, and what was wrong with the others."""

    rows: list[PerflogLine] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def names_of(display_name: str) -> set[str]:
    """Return what perflogs may call a case."""
    return {display_name, plain_name(display_name)}


def plain_name(display_name: str) -> str:
    """Return the name of a case without what ReFrame adds to it."""
    return _IMPLICIT.sub("", display_name)


#: From when to when (s since the epoch).
Period: TypeAlias = tuple[float, float]
_ALWAYS: Period = (-math.inf, math.inf)


def read(folder: Path, period: Period = _ALWAYS) -> Perflogs:
    """Read every perflog below a folder, of a period; a folder that does not exist has none.

    A line or a file that cannot be read is reported as a fault, with its line.
    """
    found = Perflogs()
    for path in files(folder):
        _read(path, found, period)
    return found


def files(folder: Path) -> list[Path]:
    """Return every perflog below a folder."""
    return [
        path
        for path in sorted(folder.glob("**/*.log*"))
        if not path.name.startswith(".") and path.is_file()
    ]


def _read(path: Path, found: Perflogs, period: Period) -> None:
    part = read_on(path, Part(), period)
    found.rows += [row for _, row in part.rows]
    found.faults += fault_texts(path, part.faults)


@dataclass
class Part:
    """What stands in a perflog from some line on.

    `lines` and `size` (bytes) count what is complete up to its end: whoever reads on begins there.
    Rows and faults have the numbers of their lines.
    """

    header: str = ""
    lines: int = 0
    size: int = 0
    rows: list[tuple[int, PerflogLine]] = field(default_factory=list)
    faults: list[tuple[int, str]] = field(default_factory=list)


def read_on(path: Path, before: Part, period: Period = _ALWAYS) -> Part:
    """Read a perflog from the end of a part on; all of it where it begins otherwise now."""
    part = Part()
    try:
        with path.open("rb") as file:
            part.header = "".join(file.readline().decode(errors="replace").splitlines()[:1])
            if before.lines and before.header == part.header:
                part.lines, part.size = before.lines, before.size
            file.seek(part.size)
            content = file.read()
    except OSError as err:
        part.faults.append((0, f"cannot be read: {err}"))
        return part
    complete = content.rfind(b"\n") + 1
    lines = content[:complete].decode(errors="replace").splitlines()
    cut = content[complete:].decode(errors="replace").splitlines()
    first = part.lines + 1
    part.lines, part.size = part.lines + len(lines), part.size + complete
    header = part.header.split("|")
    if not part.header:
        return part
    missing = [name for name in NEEDED if name not in header]
    name = next((name for name in NAMES if name in header), None)
    if missing or name is None:
        lacks = ", ".join(missing) or "the name of the case"
        part.faults.append((1, f"the header lacks {lacks}; this perflog is left out"))
        return part
    form = _Form(header, name)
    for number, line in enumerate((*lines, *cut), first):
        try:
            fields = line.split("|")
            if number > 1 and form.is_of(fields, period):
                part.rows.append((number, form.row(fields)))
        except ValueError as err:
            part.faults.append((number, str(err)))
    return part


def fault_texts(path: Path, faults: list[tuple[int, str]]) -> list[str]:
    """Return what is wrong with a perflog, the first ones of its lines one by one."""
    texts = [f"{path}:{number}: {what}" if number else f"{path}: {what}" for number, what in faults]
    more = len(texts) - _REPORTED
    return texts[:_REPORTED] + ([f"{path}: {more} more malformed lines"] if more > 0 else [])


class _Form:
    """What the header says: columns of the case, before and after the same fields of each metric.

    ReFrame's default has the metrics in the middle, `%(check_#ALL)s`.
    """

    def __init__(self, header: list[str], name: str) -> None:
        self.name = name
        values = [number for number, column in enumerate(header) if column.endswith("_value")]
        # Where no case had metrics when the file was begun, their column has no name.
        unnamed = header.index("") if "" in header else len(header)
        self.first = values[0] if values else unnamed
        stem = header[values[0]].removesuffix("_value") + "_" if values else ""
        while self.first and values and header[self.first - 1].startswith(stem):
            self.first -= 1
        of_metric = itertools.takewhile(
            lambda column: column.startswith(stem), header[self.first :]
        )
        self.kinds = [column.removeprefix(stem) for column in of_metric] if values else []
        if len(values) > 1:
            self.kinds = self.kinds[: values[1] - values[0]]
        after = self.first + (len(self.kinds) * len(values) or 1)
        self.rest = len(header[after:])
        self.place = {column: number for number, column in enumerate(header[: self.first])}
        self.place |= {column: number - self.rest for number, column in enumerate(header[after:])}
        self.stems = [header[number].removesuffix("_value") for number in values]

    def is_of(self, fields: list[str], period: Period) -> bool:
        """Tell whether a line is of a period; one that does not say its time is, too."""
        if period is _ALWAYS:
            return True
        try:
            time = datetime.fromisoformat(fields[self.place["job_completion_time"]]).timestamp()
        except (ValueError, IndexError):
            return True
        return period[0] <= time <= period[1]

    def row(self, fields: list[str]) -> PerflogLine:
        """Read a line; ValueError says what is wrong with it."""

        def field(column: str) -> str:
            return fields[self.place[column]] if column in self.place else ""

        measured = fields[self.first : len(fields) - self.rest]
        if measured == [""]:  # a case without metrics
            measured = []
        width = len(self.kinds) or len(fields) + 1
        if len(fields) < self.first + self.rest or len(measured) % width:
            raise ValueError(
                f"{len(fields)} fields are none of {self.first + self.rest} and "
                f"{len(self.kinds)} a metric"
            )
        groups = [measured[at : at + width] for at in range(0, len(measured), width)]
        metrics = [dict(zip(self.kinds, group, strict=True)) for group in groups]
        if metrics and "var" not in self.kinds:
            if len(metrics) != len(self.stems):
                raise ValueError(f"{len(metrics)} metrics where the header has {len(self.stems)}")
            declared = _table(field("declared"))
            if declared and declared.keys() != {*self.stems}:
                raise ValueError(f"{', '.join([*declared][:3])}, ... are not the header's metrics")
            metrics = [
                {**metric, "var": stem} for metric, stem in zip(metrics, self.stems, strict=True)
            ]
        if any(not {"value", "unit"} <= set(metric) for metric in metrics):
            raise ValueError("a metric without value or unit")
        keys = _table(field("keys")) if "keys" in self.place else None
        nodes = field("job_nodelist").split(",")
        return PerflogLine(
            time=_time(field("job_completion_time")),
            system=field("system"),
            partition=field("partition"),
            environment=field("environ"),
            check=field(self.name),
            result=field("result"),
            nodes=tuple(node for node in nodes if node not in ("", "null", "None")),
            provenance=_table(field("provenance")),
            keys=None if keys is None else tuple(sorted(keys.items())),
            metrics=metrics,
        )


def _time(text: str) -> float:
    """Read a time, to the second: by it a case is found in the database."""
    time = datetime.fromisoformat(text).timestamp()
    if len(text) < len("2026-11-22T00:00:00"):
        raise ValueError(f"the time {text!r} does not say the second")
    return time


def _table(text: str) -> dict[str, str]:
    if not text.startswith("{"):
        return {}
    data = json.loads(text)
    return {str(key): str(value) for key, value in data.items()}


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None

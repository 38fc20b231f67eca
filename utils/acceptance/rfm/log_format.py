"""The form of a line of ReFrame's log, from the format string of its configuration.

Format strings are those of Python's `logging` with `%`, times those of `strftime`, to which ReFrame
adds `%:z` (4.10, `core/logging.py`). A line has to say its level and its message: warnings and
errors are taken by their level. It has to say date and time, too: which of a campaign and a run by
hand ended last is decided by them. Without the process, runs that wrote at once are one.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from acceptance.core.errors import Fault

#: What a line cannot do without: field of the format -> group of the expression.
NEEDED = {"asctime": "time", "levelname": "level", "message": "text"}
_GROUPS = {**NEEDED, "process": "pid"}
_LEVELS = "critical|error|warning|info|verbose|debug2|debug|undefined"
#: A field of a format string with its flags, or a percent sign.
_FIELD = re.compile(r"%\((?P<name>[^)]*)\)(?P<flags>[-#0 +]*[\d.]*)[a-zA-Z]|%%")
#: What the message of ReFrame begins with that begins a run.
_BEGINNING = r"\[ReFrame Setup\]"
#: Directives of `strftime` that stand for several, or that `strptime` writes otherwise.
_LONG = {"%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%R": "%H:%M", "%D": "%m/%d/%y", "%:z": "%z"}
_DIGITS = {"Y": "4", "m": "2", "d": "2", "H": "2", "I": "2", "M": "2", "S": "2", "y": "2", "j": "3"}
_DIRECTIVES = {
    **{letter: rf"\d{{{count}}}" for letter, count in _DIGITS.items()},
    "f": r"\d{1,6}",
    "z": r"(?:[+-]\d\d:?\d\d)?",
    "Z": r"\w*",
    **dict.fromkeys("aAbBp", r"[^\W\d_]+\.?"),
    "%": "%",
}
_ISO = r"\d{4}-\d\d-\d\dT[^|\s]{,40}?"


class LogFormatFault(Fault):
    """A format whose lines cannot be read, and what it lacks."""


@dataclass(frozen=True)
class LineForm:
    """The expression of a line with the groups `time`, `pid`, `level` and `text`.

    `start` is that of the first line of a run; `datefmt` is for `strptime`, empty for ISO 8601.
    """

    line: re.Pattern[str]
    start: re.Pattern[str]
    datefmt: str
    has_process: bool

    def match(self, line: str) -> re.Match[str] | None:
        """Match a line; before the first one of a run may stand what a full disk has cut off."""
        found, at = None, self.start.search(line) if "[ReFrame Setup]" in line else None
        while at:
            found, at = at, self.start.search(line, at.start() + 1)
        return self.line.match(line, found.start() if found else 0)

    def time(self, text: str) -> str:
        """Return a time in the form of ISO 8601; empty where it is none."""
        if not self.datefmt:
            return text
        try:
            return datetime.strptime(text, self.datefmt).isoformat()
        except ValueError:
            return ""


@lru_cache
def line_form(text: str, datefmt: str = "") -> LineForm:
    """Return the form of lines of a format; raises LogFormatFault where they cannot be read."""
    names = [match["name"] for match in _FIELD.finditer(text)]
    if lacking := [f"%({name})s" for name in NEEDED if name not in names]:
        raise LogFormatFault(f"its format lacks {', '.join(lacking)}")
    for composite, parts in _LONG.items():
        datefmt = datefmt.replace(composite, parts)
    line = _expression(text, _times(datefmt))
    beginning = line.replace("(?P<text>.*)", _BEGINNING).replace(f"(?P<level>{_LEVELS})", "info")
    return LineForm(re.compile(line), re.compile(beginning), datefmt, "process" in names)


def _expression(text: str, times: str) -> str:
    """Return the expression of a line; a field that is not asked for, or is again, is anything."""
    kinds = {"time": times, "level": _LEVELS, "text": ".*", "pid": r"\d+"}
    parts, end, seen = [], 0, set()
    for match in _FIELD.finditer(text):
        parts.append(re.escape(text[end : match.start()]))
        end = match.end()
        group = _GROUPS.get(match["name"] or "", "")
        if match["name"] is None:
            parts.append("%")
        elif not group or group in seen:
            parts.append(".*?")
        else:
            padding = " *" if match["flags"] else ""
            parts.append(f"{padding}(?P<{group}>{kinds[group]}){padding}")
            seen.add(group)
    rest = text[end:].rstrip()
    return "".join([*parts, re.escape(rest), r"\s*\Z" if rest else ""])


def _times(datefmt: str) -> str:
    """Return the expression of times; they have to say the day, too."""
    if not datefmt:
        return _ISO
    letters = re.findall(r"%(.)", datefmt)
    if unknown := [f"%{letter}" for letter in letters if letter not in _DIRECTIVES]:
        raise LogFormatFault(f"its datefmt has {', '.join(unknown)}, which cannot be read back")
    day = {"j"} <= {*letters} or ("d" in letters and {*letters} & {*"mbB"})
    if not (day and {*letters} & {*"yY"} and {*letters} & {*"HI"} and "M" in letters):
        raise LogFormatFault("its datefmt does not say year, day, hour and minute")
    return re.sub(
        r"%(.)|([^%]+)",
        lambda part: _DIRECTIVES[part[1]] if part[1] else re.escape(part[2]),
        datefmt,
    )

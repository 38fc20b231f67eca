"""What a command of ReFrame selects, whatever else it says."""

import re
import shlex
from functools import cache

#: The option that sets a variable, and a value of it that pins a run to nodes (`checks/pinned.py`).
_SETTING = ("-S", "--setvar")
_PINNED = re.compile(r"(?:\w+\.)?pinned=")

#: Options of ReFrame that label a run or choose folders.
_LABELS = ("--session-extras", "--output", "--stage", "--prefix", "--report-file", "-o", "-s")


@cache
def selection(command: str) -> tuple[str, ...]:
    """Return the words of a ReFrame command that say what is run.

    That is, no program, label or folder, nor the nodes that its jobs are pinned to.
    """
    try:
        words = shlex.split(command)[1:]
    except ValueError:
        words = command.split()[1:]
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        name, _, value = word.partition("=")
        if word in _LABELS:
            next(rest, "")
        elif word in _SETTING:
            value = next(rest, "")
            found += [] if _PINNED.match(value) else [word, value]
        elif not (
            name in _LABELS
            or (name in _SETTING and _PINNED.match(value))
            or re.match(r"-v+\Z", word)
        ):
            found.append(word)
    return tuple(found)

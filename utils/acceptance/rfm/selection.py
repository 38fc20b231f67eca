"""What ReFrame would run: the cases that `reframe -lC` lists (4.10, `frontend/cli.py`)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.rfm.environment import reframe_environment, reframe_program

#: Seconds in which ReFrame loads the checks of a large system.
_TIMEOUT = 600.0
#: A case, or below it (^) one that it waits for: a fixture has its names in its class, in quotes.
_CASE = re.compile(
    r"(?:- |\s+\^)(?P<name>.+?)(?P<fixture>(?: '\w+)+)? /[0-9a-f]+ @(?P<where>\S+:\S+\+\S+)\Z"
)
_COUNT = re.compile(r"Concretized \d+ test case\(s\)\Z")
_ERROR = re.compile(r"(?:ERROR|reframe: error): (?P<text>.*)")


class SelectionFault(Fault):
    """A command that ReFrame refuses, by what it says."""


@dataclass(frozen=True)
class SelectedCase:
    """A case that would run; `where` is `system:partition+environment`."""

    name: str
    where: str
    fixture: bool


@dataclass(frozen=True)
class Selection:
    """All cases of a command, each once, and ReFrame's warnings about files and checks."""

    cases: tuple[SelectedCase, ...]
    warnings: tuple[str, ...]


def select(arguments: Sequence[str], workspace: Workspace) -> Selection:
    """Return what `reframe` would run with these arguments, `-r` among them.

    Raises SelectionFault where it would not begin to.
    """
    words = [word for word in arguments if word not in ("-r", "--run")]
    done = machine.run(
        [reframe_program(), *words, "--nocolor", "-lC"],
        _TIMEOUT,
        env=reframe_environment(workspace),
        folder=workspace.start,
    )
    text = f"{done.out}\n{done.err}"
    lines = [line.rstrip() for line in text.splitlines()]
    if done.fault or not any(map(_COUNT.match, lines)):
        said = next(filter(None, map(_ERROR.match, lines)), None)
        raise SelectionFault(f"reframe: {said['text'] if said else done.fault or 'lists nothing'}")
    found = (_CASE.match(line) for line in lines)
    cases = (SelectedCase(m["name"], m["where"], bool(m["fixture"])) for m in found if m)
    warnings = (line.removeprefix("WARNING: ") for line in lines if line.startswith("WARNING: "))
    return Selection(tuple(dict.fromkeys(cases)), tuple(dict.fromkeys(warnings)))

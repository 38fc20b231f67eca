"""The configuration in force: which files ReFrame reads, and whether their runs are recorded.

Only ReFrame knows what its files, variables and defaults come to: it is asked, in a process of its
own, once a command. What is known without: the clone's own configuration, with files after it that
say nothing of storage or logging.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from acceptance.core import machine
from acceptance.core.paths import FRAGMENT, INSTALLED, ROOT, Workspace
from acceptance.rfm import configuration, recording
from acceptance.rfm.environment import FILES, MORE_FILES, clean_environment, reframe_program

#: The clone's configuration, and that which prints what is in force.
_OWN, _PROBE = ROOT / "config/settings.py", ROOT / "config/in_force.py"
#: What is in force where no file is named: to an installed copy what ReFrame has of its own.
_DEFAULT = [] if INSTALLED else [_OWN]
_FRAME = re.compile(r'File "(.+)", line (\d+)')
_MARK = "acceptance: in force: "
#: Seconds in which ReFrame reads its configuration.
_TIMEOUT = 120.0
#: Variables that say where results go, whatever the files say.
_PLACES = ("RFM_ENABLE_RESULTS_STORAGE", "RFM_SQLITE_DB_FILE")
#: Sections of a configuration that say where things are.
_SECTIONS = {"storage", "logging"}
#: Levels whose lines lack what a verdict requires, which is `info`.
_TOO_HIGH = ("warning", "error", "critical")


def workspace(named: Sequence[str] = (), *, places: bool = True) -> Workspace:
    """Return the workspace of the configuration in force.

    `named` are configuration files given to the command, as `reframe -C` takes them. Without
    `places` the command looks at nothing that ReFrame keeps. Raises SiteFault where ReFrame
    refuses the files.
    """
    configuration.forget()
    clone = Workspace.of()
    files = _files(named)
    touched = any(map(os.environ.get, (*_PLACES, *MORE_FILES)))
    if not places or (not touched and _is_clones(files)):
        return replace(clone, config_files=tuple(files))
    answer = _ask(named)
    named_files = (Path(name).absolute() for name in answer["files"])
    read = tuple(path for path in named_files if path.resolve() != _PROBE)
    configuration.remember(read, answer["configuration"], answer["system"])
    found = replace(clone, config_files=read)
    fault, remedy = unrecorded(answer, found)
    return replace(found, unrecorded=fault, remedy=remedy)


def _files(named: Sequence[str]) -> list[Path]:
    """Return the files that are named, else the clone's own configuration, if there is a clone."""
    names: list[str] = []
    for name in named or os.environ.get(FILES, "").split(":"):
        # As in ReFrame: a colon at the beginning drops what was named before.
        names = [*([] if name[:1] in ("", ":") else names), *filter(None, [name.removeprefix(":")])]
    return [Path(name).absolute() for name in names] or _DEFAULT


def _is_clones(files: Sequence[Path]) -> bool:
    """Tell whether these keep everything where the clone's own configuration does."""
    if not files or files[0].resolve() != _OWN:
        return False
    if not files[1:]:
        return True
    try:
        configuration.load(files)  # in their order: what one imports may set a variable
        return not any(_SECTIONS & {*configuration.said_by(path)} for path in files[1:])
    except configuration.SiteFault:  # ReFrame says what is wrong with it
        return False


def _ask(named: Sequence[str]) -> dict[str, Any]:
    """Return what ReFrame makes of the configuration; SiteFault where it refuses it."""
    environment = {**clean_environment(), "RFM_COLORIZE": "0"}
    variables = filter(None, map(os.environ.get, (FILES, *MORE_FILES)))
    files = ", ".join(named or variables)
    if named:
        words = [word for name in (*named, str(_PROBE)) for word in ("-C", name)]
    else:
        words = []
        default = "" if any(map(os.environ.get, MORE_FILES)) else "".join(map(str, _DEFAULT))
        before = os.environ.get(FILES) or default
        environment[FILES] = f"{before}:{_PROBE}" if before else str(_PROBE)
    command = [reframe_program(), *words, "--show-config=storage/0/enable"]
    done = machine.run(command, _TIMEOUT, env=environment)
    _, marked, data = done.out.rpartition(_MARK)
    if marked:
        return dict(json.loads(data.splitlines()[0]))
    why = _said("\n".join((done.out, done.err)), _files(named)) or done.fault
    raise configuration.SiteFault(
        f"reframe: {why}; until it takes {files}, there are no results to find"
    )


def _said(text: str, files: Sequence[Path]) -> str:
    """Return why ReFrame refuses files, in its own words: an error, or the end of a traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if errors := [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]:
        return " ".join(errors)
    frames = [frame for frame in map(_FRAME.match, lines) if frame and Path(frame[1]) in files]
    place = f"{frames[-1][1]}:{frames[-1][2]}: " if frames else ""
    return f"{place}{lines[-1]}" if lines else ""


def unrecorded(answer: Mapping[str, Any], workspace: Workspace) -> tuple[str, str]:
    """Say why runs of the workspace's files are not found in its `var`, and the remedy; or nothing.

    `answer` is what ReFrame makes of these files.
    """
    storage, log = recording.storage(workspace), recording.log(workspace)
    is_stored = all(answer["storage"][name] == value for name, value in storage.items())
    is_logged = any(log.items() <= handler.items() for handler in answer["log"])
    remedies = []
    if not is_stored and (variables := [name for name in _PLACES if os.environ.get(name)]):
        remedies.append(f"unset {', '.join(variables)}")
    if answer["level"] in _TOO_HIGH:
        remedies.append(f"let the level of its `logging` be info instead of {answer['level']}")
    if not is_logged or not (is_stored or remedies):
        remedies.append(f"name our fragment as the last file: -C {FRAGMENT}")
    if not remedies:
        return "", ""
    files = ", ".join(map(str, workspace.config_files)) or "ReFrame's own configuration"
    return f"{files}: keeps no log and results in {workspace.var}", "; ".join(remedies)

"""The configuration in force: which files ReFrame reads, and where it keeps what it writes.

Only ReFrame knows what its files, variables and defaults come to: it is asked, in a process of its
own, once a command. What is known without: the clone's own configuration, with files after it that
say nothing of storage or logging.
"""

import json
import os
import re
import runpy
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from glob import escape
from pathlib import Path
from typing import Any

from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.paths import (
    INSTALLED,
    LOG_FORMAT,
    ROOT,
    LogFiles,
    Storage,
    Workspace,
    site_var,
)
from acceptance.rfm import configuration
from acceptance.rfm.environment import clean_environment, reframe_program
from acceptance.rfm.log_format import LogFormatFault, line_form

#: The clone's configuration, and that which prints what is in force.
_OWN, _PROBE = ROOT / "config/settings.py", ROOT / "config/in_force.py"
#: What is in force where no file is named: to an installed copy what ReFrame has of its own.
_DEFAULT = [] if INSTALLED else [_OWN]
_FRAME = re.compile(r'File "(.+)", line (\d+)')
_MARK = "acceptance: in force: "
#: Seconds in which ReFrame reads its configuration.
_TIMEOUT = 120.0
#: Variables that say where results go, whatever the files say.
_PLACES = ("RFM_ENABLE_RESULTS_STORAGE", "RFM_SQLITE_DB_FILE", "RFM_PERFLOG_DIR")
#: Variables that name files of a configuration; the other two beside the first.
_FILES = "RFM_CONFIG_FILES"
_MORE = ("RFM_CONFIG_PATH", "RFM_CONFIG_FILE")
#: Sections of a configuration that say where things are.
_SECTIONS = {"storage", "logging"}
_ADD = "add to site_configuration"
#: Levels whose lines lack what a verdict requires, which is `info`.
_TOO_HIGH = ("warning", "error", "critical")


class InForceFault(Fault):
    """A configuration that ReFrame refuses: what it says, and what we make of it."""


def workspace(
    named: Sequence[str] = (), *, places: bool = True, env: Mapping[str, str] = os.environ
) -> Workspace:
    """Return the workspace of the configuration in force.

    `named` are configuration files given to the command, as `reframe -C` takes them. Without
    `places` the command looks at nothing that ReFrame keeps. Raises InForceFault where ReFrame
    refuses the files.
    """
    configuration.forget()
    clone = Workspace.of(env)
    files = _files(named, env)
    touched = any(env.get(name) for name in (*_PLACES, *_MORE))
    if not places or (not touched and _is_clones(files)):
        return replace(clone, config_files=tuple(files))
    answer = _ask(named, env)
    named_files = (Path(name).absolute() for name in answer["files"])
    read = tuple(path for path in named_files if path.resolve() != _PROBE)
    configuration.remember(read, answer["configuration"], answer["system"])
    found = storage_of(answer, read)
    if not any(path.resolve() == _OWN for path in read):
        clone = replace(clone, var=site_var(found.database, env))
    return replace(clone, config_files=read, storage=found)


def _files(named: Sequence[str], env: Mapping[str, str]) -> list[Path]:
    """Return the files that are named, else the clone's own configuration, if there is a clone."""
    names: list[str] = []
    for name in named or env.get(_FILES, "").split(":"):
        # As in ReFrame: a colon at the beginning drops what was named before.
        names = [*([] if name[:1] in ("", ":") else names), *filter(None, [name.removeprefix(":")])]
    return [Path(name).absolute() for name in names] or _DEFAULT


def _is_clones(files: Sequence[Path]) -> bool:
    """Tell whether these keep everything where the clone's own configuration does."""
    if not files or files[0].resolve() != _OWN:
        return False
    for path in files[1:]:
        try:
            said = runpy.run_path(str(path))["site_configuration"]
        except Exception:  # a program: anything may be wrong with it, and ReFrame says what
            return False
        if _SECTIONS & {*said}:
            return False
    return True


def _ask(named: Sequence[str], env: Mapping[str, str]) -> dict[str, Any]:
    """Return what ReFrame makes of the configuration; InForceFault where it refuses it."""
    environment = {**clean_environment(env), "RFM_COLORIZE": "0"}
    files = ", ".join(named) or ", ".join(env.get(name, "") for name in (_FILES, *_MORE)).strip(
        ", "
    )
    if named:
        words = [word for name in (*named, str(_PROBE)) for word in ("-C", name)]
    else:
        words = []
        default = "" if any(env.get(name) for name in _MORE) else "".join(map(str, _DEFAULT))
        before = env.get(_FILES) or default
        environment[_FILES] = f"{before}:{_PROBE}" if before else str(_PROBE)
    command = [reframe_program(), *words, "--show-config=storage/0/enable"]
    done = machine.run(command, _TIMEOUT, env=environment)
    _, marked, data = done.out.rpartition(_MARK)
    if marked:
        return dict(json.loads(data.splitlines()[0]))
    why = _said("\n".join((done.out, done.err)), _files(named, env)) or done.fault
    raise InForceFault(f"reframe: {why}; until it takes {files}, there are no results to find")


def _said(text: str, files: Sequence[Path]) -> str:
    """Return why ReFrame refuses files, in its own words: an error, or the end of a traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if errors := [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]:
        return " ".join(errors)
    frames = [frame for frame in map(_FRAME.match, lines) if frame and Path(frame[1]) in files]
    place = f"{frames[-1][1]}:{frames[-1][2]}: " if frames else ""
    return f"{place}{lines[-1]}" if lines else ""


def storage_of(answer: Mapping[str, Any], files: Sequence[Path]) -> Storage:
    """Return the places of a configuration, and what is wrong with them."""
    database = Path(answer["database"]).absolute()
    place = str(files[-1]) if files else "ReFrame's own configuration"
    perflogs = [each for each in answer["perflog"] if each["type"] == "filelog"]
    prefix = Path(os.path.expandvars(answer["prefix"])).absolute()
    fault, remedy = _off(answer, place, database)
    return Storage(
        system=answer["system"],
        database=database,
        logs=_log(answer, place, database.parent),
        perflogs=(prefix / perflogs[0]["basedir"]).resolve() if perflogs else None,
        prefix=prefix,
        fault=fault,
        remedy=remedy,
    )


def _off(answer: Mapping[str, Any], place: str, database: Path) -> tuple[str, str]:
    """Say why no results can be read, and the setting; empty where they can."""
    if answer["backend"] != "sqlite":
        fault = f"{place}: results are stored by {answer['backend']}, this program reads sqlite"
    elif answer["enable"]:
        return "", ""
    elif os.environ.get("RFM_ENABLE_RESULTS_STORAGE"):
        return f"{place}: RFM_ENABLE_RESULTS_STORAGE switches the results storage off", "unset it"
    else:
        fault = f"{place}: results storage is off"
    line = {"enable": True, "backend": "sqlite", "sqlite_db_file": str(database)}
    return fault, f"{_ADD}: 'storage': [{line}],"


def _log(answer: Mapping[str, Any], place: str, folder: Path) -> LogFiles:
    """Return the log that can be read best; with its fault where there is none."""
    handlers = [handler for handler in answer["log"] if handler["type"] == "file"]
    found = [_log_of(handler, answer["level"], place) for handler in handlers]
    found.append(LogFiles(folder, fault=f"{place}: ReFrame writes no log to a file"))
    # `min` takes the first of equals: a log that is there goes before one that is not.
    best = min(found, key=lambda log: (bool(log.fault), bool(log.note)))
    beside = any(handler["name"] for handler in handlers)
    handler = {
        "type": "file",
        "name": str(folder / ("acceptance.log" if beside else "reframe.log")),
        "level": "info",
        "append": True,
        "format": LOG_FORMAT,
    }
    line = (
        f"{_ADD}, `handlers` of `logging`: {handler},"
        if beside
        else (f"{_ADD}: 'logging': [{{'handlers': [{handler}]}}],")
    )
    return replace(best, remedy=line if best.fault or best.note else "")


def _log_of(handler: Mapping[str, Any], level: str, place: str) -> LogFiles:
    if not handler["name"]:
        folder = Path(tempfile.gettempdir())
        fault = f"{place}: the log has no name, so that each run has one of its own in {folder}"
        return LogFiles(folder, "rfm-*.log", fault=fault)
    path = Path(handler["name"]).absolute()
    stamp = "_*" if handler["timestamp"] else ""
    form, datefmt = handler["format"], handler["datefmt"]
    log = LogFiles(path.parent, f"{escape(path.stem)}{stamp}{escape(path.suffix)}", form, datefmt)
    if wrong := next((name for name in (level, handler["level"]) if name in _TOO_HIGH), ""):
        return replace(log, fault=f"{place}: {path}: level {wrong!r} leaves out what was selected")
    try:
        has_process = line_form(form, datefmt).has_process
    except LogFormatFault as err:
        return replace(log, fault=f"{place}: {path}: {err}")
    notes = [
        (
            not has_process,
            "no %(process)d in its format: runs at the same time are taken for one",
        ),
        (not handler["append"], "without append each ReFrame empties it, also one that lists"),
    ]
    note = "; ".join(text for applies, text in notes if applies)
    return replace(log, note=note, overwritten=not handler["append"])

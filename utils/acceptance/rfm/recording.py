"""What a run leaves in `var/` for whoever judges it: its mark, ReFrame's log, and its results.

`config/settings.py` has this of its own, `config/fragment.py` adds it to the configuration of a
site.
"""

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from acceptance.core import state_files
from acceptance.core.paths import Workspace
from acceptance.core.state_files import StoredFault
from acceptance.rfm import marks, run_log


def begin(workspace: Workspace, arguments: Sequence[str], say: Callable[[str], None]) -> int:
    """Leave the mark of the run that this process is, and make the folder of its log.

    `arguments` are those of ReFrame. Return the number of the run; 0 where this is none. To be
    called before anything can go wrong, so that no older run is taken for this one: without a mark
    it does not start, nor without a log, by which it is judged. It will `say` one line of a log
    that takes no more lines later on.
    """
    number, needs = 0, "mark"
    try:
        if marks.started_in():
            number = marks.begin(workspace.var, arguments)
        needs = "log"
        if number:
            _try_log(workspace.logs)
    except StoredFault as err:
        raise SystemExit(f"{err}; a run needs that for its {needs}, and does not start") from None
    # ReFrame makes the folders of its results, but not that of its log.
    workspace.logs.mkdir(parents=True, exist_ok=True)
    if number:
        report = told_once(logging.Handler.handleError, say)
        logging.Handler.handleError = report  # type: ignore[method-assign]
    return number


#: The logs that lack lines, and why, as they were told.
_told = set[tuple[str, str]]()


def told_once(report: Callable[..., None], say: Callable[[str], None]) -> Callable[..., None]:
    """Return what tells that a log cannot be written; of other faults it gives a `report`."""

    def handle_error(handler: logging.Handler, record: logging.LogRecord) -> None:
        fault = sys.exc_info()[1]
        if isinstance(fault, OSError):
            tell_broken_log(handler, fault, say)
        else:
            report(handler, record)

    return handle_error


def tell_broken_log(handler: logging.Handler, fault: OSError, say: Callable[[str], None]) -> None:
    """Say that a log lacks lines, once for each reason."""
    place, why = getattr(handler, "baseFilename", "standard output"), fault.strerror or str(fault)
    if (place, why) not in _told:
        _told.add((place, why))
        with contextlib.suppress(OSError):
            say(
                f"{place}: cannot be written: {why}; lines of this run are missing there: make "
                "room, or make it writable, and measure again"
            )


#: Bytes that a log needs, at least, before a run begins: some lines.
_LINES = 4096


def _try_log(logs: Path) -> None:
    """Raise StoredFault where a log cannot be written: ReFrame would show a traceback a line."""
    trial = logs / f"trial-{os.getpid()}"
    state_files.write_text(trial, " " * _LINES)
    trial.unlink()


def storage(workspace: Workspace) -> dict[str, Any]:
    """Return the entry of ReFrame's section `storage`."""
    return {"enable": True, "backend": "sqlite", "sqlite_db_file": str(workspace.results)}


def log(workspace: Workspace) -> dict[str, Any]:
    """Return the handler of ReFrame's log: one file a day, from which a gate reads what ran."""
    return {
        "type": "file",
        "name": f"{workspace.logs}/reframe.log",
        "timestamp": "%Y-%m-%d",
        "level": "verbose",
        "append": True,
        "format": run_log.FORMAT,
    }


def add_handler(handler: dict[str, Any]) -> None:
    """Add a handler to those of the configuration files that ReFrame has read before this one.

    To be called while ReFrame (4.8 to 4.10, `core/config.py`) reads a file: of a list of handlers
    in that file it would take no other one any more.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        loaded = getattr(frame.f_locals.get("self"), "_site_config", None) or {}
        frame = frame.f_back
        for section in loaded.get("logging", ()):
            handlers = section.setdefault("handlers", [])
            if handler not in handlers:  # sections may share a list
                handlers.append(handler)

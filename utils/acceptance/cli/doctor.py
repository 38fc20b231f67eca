"""`acceptance doctor`: what this machine can run, and what is missing."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from acceptance import ledger
from acceptance.cli.shared import FORMS, SYSTEM, Commands, add_command, emit, option
from acceptance.core.paths import FRAGMENT, Workspace
from acceptance.core.text import plural, wrapped
from acceptance.ledger import ResultsFault
from acceptance.site import BROKEN, Examined, examine, row
from acceptance.verdict import Status

#: What `--where` tells the path of.
PLACES: dict[str, Callable[[Workspace], Path]] = {
    "checks": lambda workspace: workspace.checks,
    "reference": lambda workspace: workspace.reference,
    "settings": lambda workspace: workspace.root / "config/settings.py",
    "fragment": lambda _: FRAGMENT,
}


def add(commands: Commands) -> None:
    """Add the subcommand."""
    failed = "something that the configuration promises is broken"
    command = add_command(commands, "doctor", run, forms=FORMS, failed=failed)
    option(command, *SYSTEM)
    option(
        command,
        "--ask-nodes",
        "let a short job look at the links of a node of each partition that states none",
    )
    option(
        command,
        "--where PLACE",
        "print only a path: of the checks, for reframe -c; of the references; of the project's own "
        "configuration; of what a configuration of yours takes as its last file",
        choices=PLACES,
        metavar=None,
    )


def run(options: argparse.Namespace) -> int:
    """Show what this machine can run, and what is missing.

    Of everything that is missing it says how to get it.
    """
    if options.where:
        print(PLACES[options.where](options.workspace))
        return Status.PASSED
    examined = examine(
        options.workspace,
        options.config_files,
        options.system,
        sessions=_sessions(options.workspace),
        refused=options.refused,
        ask_nodes=options.ask_nodes,
    )
    columns = {"what": "what", "state": "state", "found": "found", "what to do": "remedy"}
    emit(options, examined, columns, _lines(examined), page=True)
    broken = any(item.state == BROKEN for item in examined)
    return Status.FAILED if broken else Status.PASSED


def _sessions(workspace: Workspace) -> Iterator[Examined]:
    """Tell which sessions are gone, or cannot be read."""
    try:
        past = ledger.of(workspace)
    except ResultsFault as err:
        if workspace.results.exists():
            yield row("sessions", "", err, "restore the database from a backup")
        return
    restore, forget = "restore the folder from a backup", "acceptance sessions --forget"
    if past.gone:
        fault = f"{past.folder}: lacks {plural(len(past.gone), 'session')}"
        remedy = f"{restore}; or miss them no more: {forget} {ledger.GONE}"
        yield row("sessions", "", fault, remedy)
    held = past.holds(past.every)
    if lost := [entry.uuid for entry in past.every if entry.uuid not in held]:
        fault = f"{past.folder}: has {plural(len(lost), 'session')} not whole, as {lost[0]}"
        yield row("sessions", "", fault, restore)
    for each in past.faults:
        remedy = f"acceptance gate tells what is left; {forget} {each.uuid}"
        yield row("sessions", "", each, remedy)
    if not (past.gone or past.faults or lost):
        yield row("sessions", f"{len(past.entries)} in the ledger {past.folder}")


def _lines(examined: Sequence[Examined]) -> Iterator[str]:
    """Yield a line for each thing, and below it what to do; nothing of that is cut."""
    names = max(len(item.what) for item in examined) + 2
    for item in examined:
        label = f"{item.what:{names}}{item.state:9}"
        yield from wrapped(label, item.found, len(label))
        if item.remedy:
            todo = "paste" if item.lines else "what to do:"
            yield from wrapped("", f"{todo} {item.remedy}", len(label))
        yield from item.lines

"""`acceptance doctor`: what this machine can run, and what is missing."""

import argparse
from collections.abc import Sequence

from acceptance.cli.arguments import Commands, add_command, add_format, add_system
from acceptance.cli.output import emit
from acceptance.core.text import wrapped
from acceptance.site import BROKEN, Examined, examine
from acceptance.verdict import Status


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "doctor",
        "what this machine can run, what is missing",
        "Look at what the checks need here, and say of everything that is missing how to get it.",
        failed="something that the configuration promises is broken",
    )
    add_system(command)
    command.add_argument(
        "--ask-nodes",
        action="store_true",
        help="let a short job look at the links of a node of each partition that states none",
    )
    add_format(command, "text", "json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what was examined; the exit status is 1 when something is broken."""
    examined = examine(
        options.workspace,
        options.config_files,
        options.system,
        refused=options.refused,
        ask_nodes=options.ask_nodes,
    )
    emit(options.format, lambda: [vars(item) for item in examined], lambda: _text(examined))
    broken = any(item.state == BROKEN for item in examined)
    return Status.FAILED if broken else Status.PASSED


def _text(examined: Sequence[Examined]) -> str:
    """Return a line for each thing, and below it what to do; nothing of that is cut."""
    lines = []
    names = max(len(item.what) for item in examined) + 2
    for item in examined:
        label = f"{item.what:{names}}{item.state:9}"
        lines += wrapped(label, item.found, len(label))
        if item.remedy:
            todo = "paste" if item.lines else "what to do:"
            lines += wrapped("", f"{todo} {item.remedy}", len(label))
        lines += item.lines
    return "\n".join(lines)

"""`acceptance doctor`: what this machine can run, and what is missing."""

import argparse

from acceptance.cli.arguments import Commands, add_format, add_system
from acceptance.cli.output import emit
from acceptance.core.table import table
from acceptance.site import doctor
from acceptance.verdict import Status


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = commands.add_parser("doctor", help="what this machine can run, what is missing")
    add_system(command)
    add_format(command, "text", "json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what was examined; the exit status is 1 when something is broken."""
    examined = doctor.examine(options.workspace, options.config_files, options.system)
    emit(
        options.format,
        lambda: [vars(item) for item in examined],
        lambda: table(
            ("what", "state", "found", "what to do"),
            [(item.what, item.state, item.found, item.remedy) for item in examined],
        ),
    )
    broken = any(item.state == doctor.BROKEN for item in examined)
    return Status.FAILED if broken else Status.PASSED

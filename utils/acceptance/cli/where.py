"""`acceptance where`: the folder of the checks, for ReFrame's option `-c`."""

import argparse

from acceptance.cli.arguments import Commands, add_command, add_format
from acceptance.cli.output import emit
from acceptance.core.paths import Workspace
from acceptance.verdict import Status


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "where",
        "print the folder of the checks, for reframe -c",
        'Print the folder of the checks: reframe -C site.py -c "$(acceptance where)" -l. With '
        "--format json also where results, log and all else is that is read and written.",
    )
    add_format(command, "text", "json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print it."""
    workspace: Workspace = options.workspace
    places = {
        "checks": workspace.checks,
        "reference": workspace.reference,
        "settings": workspace.root / "config/settings.py",
    }
    texts = {name: str(path) for name, path in places.items()}
    emit(options.format, lambda: texts, lambda: texts["checks"])
    return Status.PASSED

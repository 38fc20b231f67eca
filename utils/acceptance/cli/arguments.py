"""Arguments that several subcommands have, and types of their values."""

import argparse
from pathlib import Path
from typing import TypeAlias

#: What the subcommands are added to.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def positive(text: str) -> int:
    """Read a whole number above 0, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def add_format(command: argparse.ArgumentParser, *forms: str) -> None:
    """Add `--format`; the first of the forms is the default."""
    command.add_argument("--format", choices=forms, default=forms[0])


def add_database(command: argparse.ArgumentParser, meaning: str = "") -> None:
    """Add `--db`, the results database that is read in place of the clone's own."""
    command.add_argument("--db", type=Path, help=meaning or "another results database of ReFrame")


def add_system(command: argparse.ArgumentParser) -> None:
    """Add `--system`, a system of the configuration."""
    command.add_argument("--system", help="another system than that of this host")


def add_confirm(command: argparse.ArgumentParser) -> None:
    """Add `--confirm`."""
    command.add_argument(
        "--confirm",
        type=positive,
        default=0,
        metavar="N",
        help="before the verdict measure again, N times, what looks worse than it was",
    )

"""What subcommands share in what they print, and exit statuses beside those of a verdict."""

import argparse
import json
import sys
from collections.abc import Callable

#: Exit statuses beside those of `verdict.Status`: another campaign runs; 128 + the number of the
#: signal that stopped the command. What cannot be judged has the status of wrong arguments, 2.
BUSY, SIGNALLED = 3, 128


def emit(form: str, data: Callable[[], object], text: Callable[[], str]) -> None:
    """Print plain data as JSON where `form` is `json`, else text for people."""
    print(json.dumps(data(), indent=2) if form == "json" else text())


def warn(options: argparse.Namespace, message: object) -> None:
    """Show a line on the standard error, with the name of the subcommand."""
    print(f"acceptance {options.command}: {message}", file=sys.stderr)

"""The command `acceptance`."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from acceptance.cli import (
    ack,
    alerts,
    baseline,
    campaigns,
    claims,
    doctor,
    export,
    gate,
    guidelines,
    history,
    hpcc_balance,
    init_site,
    limits,
    protocol,
    references,
    spack,
)
from acceptance.cli.output import SIGNALLED, warn
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.rfm import Interrupted
from acceptance.verdict import Status

#: Each has the functions `add(commands)` and `run(options) -> status`; in the order of the help.
SUBCOMMANDS = (
    gate,
    doctor,
    init_site,
    references,
    limits,
    claims,
    guidelines,
    history,
    baseline,
    hpcc_balance,
    spack,
    alerts,
    ack,
    export,
    campaigns,
    protocol,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; the exit status is that of the process."""
    for stream in (sys.stdout, sys.stderr):  # a terminal need not know all letters of a name
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    options.workspace = Workspace.of()
    options.config_files = _config_files(options.workspace)
    status: int = Status.FAILED
    try:
        status = int(options.run(options))
        print(end="", flush=True)  # what is left must not fail after this
    except Fault as err:
        warn(options, err)
        return Status.CANNOT_JUDGE
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        warn(options, "interrupted")
        return SIGNALLED + signal.SIGINT
    except Interrupted as err:
        warn(options, err)
        return SIGNALLED + err.signal
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="acceptance", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for module in SUBCOMMANDS:
        module.add(commands)
    return parser


def _config_files(workspace: Workspace) -> list[Path]:
    """Return ReFrame's configuration files, those of `RFM_CONFIG_FILES` or the project's own."""
    named = os.environ.get("RFM_CONFIG_FILES", "")
    paths = [Path(name) for name in named.split(":") if name]
    return paths or [workspace.root / "config/settings.py"]

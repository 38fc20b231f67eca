"""`acceptance report`: a static site for people."""

import argparse
import sys
import traceback
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from acceptance.campaigns import conclusion
from acceptance.cli.shared import DATABASE, Commands, add_command, near, option, warn
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.core.text import one_line, plural
from acceptance.ledger import ResultsFault
from acceptance.relations import sides
from acceptance.report import Source, write
from acceptance.rfm import configuration
from acceptance.verdict import Status

#: Its folder in `var/`.
FOLDER = "report"


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(commands, "report", run)
    again = {"action": "append", "default": []}
    option(command, "-o --output FOLDER", "default: report/ in var/")
    meaning = "a page for this session only (its UUID, or the beginning), again for others"
    option(command, "--session ID", meaning, **again)
    option(command, "--since DATE", "a page for each session that ended since")
    option(command, "--system SYSTEM", "only this system")
    option(
        command,
        "--compare A",
        "a page that compares these too, again for others; acceptance compare --help has the forms",
        nargs=2,
        metavar=("A", "B"),
        **again,
    )
    option(command, *DATABASE)


def run(options: argparse.Namespace) -> int:
    """Write a static site of all results for a browser.

    Open its index.html from disk, or serve the folder with any web server. A report that stood
    there is replaced; a folder of anything else is refused.
    """
    workspace: Workspace = options.workspace
    source = _source(workspace, options.config_files, options.db)
    since = options.since and datetime.combine(options.since, datetime.min.time()).timestamp()
    past = source.ledger
    named = tuple(past.full_id(name) for name in options.session)
    source.system, source.since, source.chosen = options.system, since, named
    # A side that is none of the forms is a mistake of the command's.
    source.comparisons = tuple((sides.read(a).text, sides.read(b).text) for a, b in options.compare)
    if options.system and not any(place.system == options.system for place in source.measured):
        raise ResultsFault(
            f"{source.database}: no session has a case of a system {options.system!r}"
        )
    index, pages, size = write(source, options.output or workspace.var / FOLDER)
    for fault in source.faults:
        warn(options, fault)
    left = f", {plural(source.left_out, 'session')} without a page" if source.left_out else ""
    told = f"{plural(pages, 'page')}, {size / 1e6:.1f} MB{left}"
    print(f"report: {near(index)} ({told})")
    return Status.PASSED


def _source(
    workspace: Workspace, config_files: Sequence[Path], database: Path | None = None
) -> Source:
    """Return what the report is made of, with what `acceptance gate` tells."""
    now = datetime.now(timezone.utc)
    source = Source(workspace, database or workspace.results, now)
    if site := source.read(configuration.load, config_files):
        source.systems = site.systems
    if source.is_own:
        source.current = conclusion.current(workspace, None, config_files, now)
    return source


def after(workspace: Workspace, config_files: Sequence[Path], written: Path | None = None) -> str:
    """Write the report beside a verdict, and return the line that names it, or says why not.

    Whatever it is that hinders it, no verdict is to depend on it.
    `written` is a protocol that does not stand in the folder of its campaign.
    """
    try:
        source = _source(workspace, config_files)
        source.written = written
        return f"report: {near(write(source, workspace.var / FOLDER)[0])}"
    except KeyboardInterrupt:
        return "report: not made: interrupted; acceptance report makes it"
    except Fault as err:
        return f"report: not made: {one_line(str(err))}"
    except Exception as err:  # a defect, which whoever looks for it calls the command to see
        place = traceback.extract_tb(sys.exc_info()[2])[-1]
        what = one_line(f"{type(err).__name__}: {err}")
        return (
            f"report: not made: {what} ({Path(place.filename).name}:{place.lineno}); "
            "acceptance report shows all"
        )

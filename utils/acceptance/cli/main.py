"""The command `acceptance`."""

import argparse
import contextlib
import errno
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any, TextIO, cast

from acceptance.cli.shared import (
    CONFIG_FILE,
    SIGNALLED,
    Commands,
    Parser,
    Shown,
    add_config_file,
    warn,
)
from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.core.text import there_are
from acceptance.core.words import Status
from acceptance.rfm import Interrupted, SiteFault, in_force

#: Modules of a task here, in the order of the help. Each has the functions `add(commands)` and
#: `run(options) -> status`. Of a command only its own module is loaded.
TASKS = {
    "measure": ("campaigns", "fabric"),
    "judge": ("gate", "alerts", "claims", "history"),
    "compare": ("compare", "bisect", "references", "sessions", "report", "export"),
    "set up": ("doctor", "init_site", "spack"),
}
#: Commands whose module has another name.
_MODULES = {
    **dict.fromkeys(("nightly", "accept"), "campaigns"),
    "baseline": "history",
    "init-site": "init_site",
}

#: Those that look at nothing which ReFrame keeps: a configuration that it refuses is no matter.
WITHOUT_PLACES = ("init-site", "spack")

#: What the disk, and no command, is to blame for -> what to do.
_NO_ROOM = {
    errno.ENOSPC: "make room there, then give the same command again",
    errno.EDQUOT: "make room in your quota, then give the same command again",
    errno.EFBIG: "raise the limit of a file (ulimit -f), then give the same command again",
    errno.EROFS: "make it writable, then give the same command again",
    errno.EIO: "look at the disk, or at the server of the file system (dmesg)",
}

#: The variable by which a shell asks for completions (argcomplete).
COMPLETING = "_ARGCOMPLETE"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; the exit status is that of the process."""
    machine.keep_others_out()
    for stream in (sys.stdout, sys.stderr):  # a terminal need not know all letters of a name
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    stdout, stderr = (cast("TextIO", Shown(stream)) for stream in (sys.stdout, sys.stderr))
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        return _main([*sys.argv[1:]] if arguments is None else [*arguments])


def _main(arguments: list[str]) -> int:
    options = parse(arguments)
    status: int = Status.FAILED
    try:
        _settle(options)
        status = int(options.run(options))
        print(end="", flush=True)  # what is left must not fail after this
    except Fault as err:
        warn(options, err)
        return Status.CANNOT_JUDGE
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        _print_no_more()
    except OSError as err:
        if err.errno not in _NO_ROOM:
            raise
        place = err.filename or "what it writes, or prints"
        warn(options, f"{place}: {err.strerror}; {_NO_ROOM[err.errno]}")
        try:
            sys.stdout.flush()
        except OSError:
            _print_no_more()
        return Status.CANNOT_JUDGE
    except KeyboardInterrupt:
        warn(options, "interrupted")
        return SIGNALLED + signal.SIGINT
    except Interrupted as err:
        warn(options, err)
        return SIGNALLED + err.signal
    return status


def _print_no_more() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _settle(options: argparse.Namespace) -> None:
    """Add the workspace of the configuration in force; the doctor goes on where it is refused."""
    named = [*options.config_before, *options.config_file]
    options.refused = ""
    try:
        unasked = getattr(options, "where", None) or getattr(options, "node", False)
        places = options.command not in WITHOUT_PLACES and not unasked
        options.workspace = in_force.workspace(named, places=places)
    except SiteFault as err:
        if options.command != "doctor":
            raise
        options.refused = str(err)
        options.workspace = in_force.workspace(named, places=False)
    options.config_files = list(options.workspace.config_files)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read a command line; ends here with 2 where it is none.

    What follows `--` of a campaign is of ReFrame, and not for argparse to read.
    """
    given = [*arguments]
    before = zip(given, ["", *given], strict=False)
    asked = next((w for w, b in before if w[:1] != "-" and b not in CONFIG_FILE), None)
    parser, commands = _parser(asked)
    for word in given:
        if word.encode(errors="replace").decode() != word:  # no JSON could keep it
            parser.error(f"{word!r}: these bytes are no text (UTF-8)")
    if asked is not None and asked not in commands.choices:
        parser.error(f"there is no command {asked!r}; {there_are(asked, commands.choices)}")
    of_reframe = _MODULES.get(asked or "", asked) in ("campaigns", "bisect") and "--" in given
    end = given.index("--") if of_reframe else len(given)
    options = parser.parse_args(given[:end])
    verb = getattr(options, "verb", None)
    # The parser of a verb sets what it was not given, too, whatever stood before the verb.
    if verb and given[given.index(verb) - 1] != options.command:
        parser.error(f"{options.command} {verb}: its options stand behind {verb!r}")
    if given[end:]:
        options.reframe += given[end + 1 :]
    return options


def _parser(asked: str | None = None) -> tuple[argparse.ArgumentParser, Commands]:
    """Return the parser of one command, else of all of them, and what these were added to."""
    parser = argparse.ArgumentParser(
        prog="acceptance",
        usage="%(prog)s [-h] [--version] [-C FILE] COMMAND ...",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="acceptance COMMAND --help explains a command",
    )
    parser.add_argument("--version", action=_Version, help="show version and commit, and end")
    add_config_file(parser, "config_before")
    commands = parser.add_subparsers(
        required=True,
        metavar="COMMAND",
        dest="command",
        parser_class=Parser,
        prog="acceptance",
        help=argparse.SUPPRESS,  # the description lists them
    )
    module = _MODULES.get(asked or "", asked)
    if COMPLETING not in os.environ and any(module in modules for modules in TASKS.values()):
        import_module(f"acceptance.cli.{module}").add(commands)
        return parser, commands
    parser.description = (
        "Acceptance and regression tests of cluster interconnects.\n\n"
        + "\n\n".join(_task(commands, task) for task in TASKS)
    )
    if COMPLETING in os.environ:
        import argcomplete

        argcomplete.autocomplete(parser)
    return parser, commands


def _task(commands: Commands, task: str) -> str:
    """Add the subcommands of a task, and return a line for each."""
    first = len(commands._choices_actions)
    for module in TASKS[task]:
        import_module(f"acceptance.cli.{module}").add(commands)
    added = commands._choices_actions[first:]
    return "\n".join([f"{task}:", *(f"  {each.dest:12}{each.help}" for each in added)])


class _Version(argparse.Action):
    """Show the version and the commit, which is asked for only then."""

    def __init__(self, option_strings: Sequence[str], dest: str, **others: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **others)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        commit = machine.commit(Workspace.of().root)
        print(f"acceptance {machine.version()} ({f'commit {commit}' if commit else 'no clone'})")
        parser.exit()

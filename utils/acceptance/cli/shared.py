"""What subcommands share: arguments, the past that they read, what they print, exit statuses."""

import argparse
import inspect
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import msgspec

from acceptance.core.paths import named
from acceptance.core.text import csv_text, printable, table
from acceptance.core.words import Status

# Results are for those commands alone that read them (below): others need not load what does.
if TYPE_CHECKING:
    from acceptance.regressions import Judgement
    from acceptance.regressions.history import History

#: What the subcommands are added to.
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"

#: The option that names a configuration file of ReFrame, wherever it stands.
CONFIG_FILE = ("-C", "--config-file")

_EMPTY = "its value is empty"


class Parser(argparse.ArgumentParser):
    """A parser that refuses empty values: an unset variable of a script asks for nothing else."""

    def __init__(self, *positional: Any, **named: Any) -> None:
        super().__init__(*positional, **named)
        # Arguments without a type of their own, and paths, of which an empty one is the folder `.`.
        self.register("type", None, _stated)
        self.register("type", Path, lambda text: Path(_stated(text)))


def _stated(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError(_EMPTY)
    return text


def day_of(text: str) -> date:
    """Read a day as `YYYY-MM-DD`."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date; write it like 2026-11-22") from None


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    more: str = "",
    *,
    summary: str = "",
    forms: Sequence[str] = (),
    failed: str = "",
    others: str = "",
) -> argparse.ArgumentParser:
    """Add a subcommand, whose help is the text of the function that does it, and `more`.

    The list of all commands has its first sentence, or another `summary` in place of the text.
    `forms` are those of `--format`, the default first. `failed` says what the status 1 means here;
    empty: it judges nothing, and has none. `others` are statuses that only some subcommands have.
    """
    statuses = ("0 pass" if failed else "0 done", failed and f"1 fail: {failed}")
    closing = ("2 wrong arguments, or it cannot judge", others)
    epilog = f"exit status: {'; '.join(filter(None, (*statuses, *closing)))}"
    summary, _, rest = (summary or inspect.getdoc(run) or "").partition("\n")
    description = " ".join((summary, *rest.split(), more)).strip()
    command = commands.add_parser(name, help=summary, description=description, epilog=epilog)
    command.set_defaults(run=run)
    add_config_file(command, "config_file")
    if forms:
        command.add_argument("--format", choices=forms, default=forms[0])
    return command


def option(command: argparse._ActionsContainer, words: str, help: str = "", **more: Any) -> None:
    """Add an option or an argument as the help shows it: `--all`, `-o --output FILE`, `ID`.

    The word without a dash stands for a value, of the type that `TYPES` has for it. `more` is for
    argparse.
    """
    *flags, last = words.split()
    if last.startswith("-"):
        command.add_argument(*flags, last, action="store_true", help=help, **more)
        return
    more = {"type": TYPES.get(last), "metavar": last, **more}
    if not flags:
        flags = [more.pop("dest", last)]
    command.add_argument(*flags, help=help, **more)


def add_verbs(command: argparse.ArgumentParser, *, required: bool = False) -> Commands:
    """Give a command second words, as `alerts ack`; what one of them takes stands behind it."""
    verbs = command.add_subparsers(
        title="second words", dest="verb", parser_class=Parser, required=required
    )
    verbs.type = str  # what follows the word is for its own parser to refuse
    return verbs


def add_config_file(parser: argparse.ArgumentParser, name: str) -> None:
    """Add `-C`, which ReFrame's configuration is named by as on its own command line."""
    meaning = "the configuration of ReFrame, as reframe -C; default: RFM_CONFIG_FILES"
    words = " ".join((*CONFIG_FILE, "FILE"))
    option(parser, words, meaning, dest=name, type=None, action="append", default=[])


def positive(text: str) -> int:
    """Read a whole number above 0, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def rounds(text: str) -> int:
    """Read how often to measure again, which may be never."""
    return 0 if text == "0" else positive(text)


def fraction(text: str) -> float:
    """Read a fraction between 0 and 1, for argparse: `5%` or `0.05`."""
    number, percent, rest = text.partition("%")
    try:
        value = float(number) / (100 if percent else 1)
    except ValueError:
        value = 0.0
    if rest or not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no fraction like 5% or 0.05")
    return value


def names(text: str) -> str:
    """Read a list with commas, of which no member is empty: `$FIRST,$SECOND` of unset variables."""
    if not all(name.strip() for name in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r} has an empty name" if text.strip() else _EMPTY)
    return text


#: The type of a value, by the word that stands for it.
TYPES: dict[str, Callable[[str], object]] = {
    "DATE": day_of,
    "N": positive,
    **dict.fromkeys(("LOSS", "CHANCE"), fraction),
    "LIST": names,
    **dict.fromkeys(("FILE", "FILE.json", "FOLDER", "PATH"), Path),
}

#: What a subcommand prints that lists something; the first one is the default.
FORMS = ("text", "csv", "json")
#: Options of several subcommands.
DATABASE = ("--db FILE", "another results database of ReFrame")
SYSTEM = ("--system SYSTEM", "another system than that of this host")
AGAIN = ("--again N", "before the verdict measure again what is undecided, in N rounds at most")


def add_sources(command: argparse.ArgumentParser) -> None:
    """Add which results are read: of a system, of another database."""
    option(command, "--system SYSTEM", "only this system")
    option(command, *DATABASE)


def read(options: argparse.Namespace, *, whole: bool = False) -> "History":
    """Read the project's own database, or another one.

    Of `--system` only its results, unless the `whole` is wanted. Raises ResultsFault when it cannot
    be read, and when it has nothing of `--system`.
    """
    from acceptance import ledger
    from acceptance.ledger import ResultsFault
    from acceptance.regressions.history import load

    db = options.db or options.workspace.results
    past = ledger.of(options.workspace, options.db)
    history = load(past, None if whole else options.system)
    for fault in history.faults:
        warn(options, fault)
    systems = (series.case.key.system for series in history.series)
    if options.system and options.system not in systems:
        why = f"; {history.left_out}" if history.left_out else ""
        raise ResultsFault(f"{db}: no result of a system {options.system!r}{why}")
    return history


def judgements(options: argparse.Namespace, history: "History") -> "Callable[[bool], Judgement]":
    """Return what judges a history as the gate does: its simulated part, or what was measured."""
    from acceptance.regressions import judge

    workspace = options.workspace
    kept = workspace.detection_of(options.db or workspace.results)

    @cache
    def judged(simulated: bool) -> "Judgement":
        return judge.part_with_references(history, workspace.reference, kept, simulated=simulated)

    return judged


#: Exit statuses beside those of `Status`: another campaign runs; 128 + the number of the
#: signal that stopped the command. What cannot be judged has the status of wrong arguments, 2.
BUSY, SIGNALLED = 3, 128
#: Bold green, red and yellow (ECMA-48, SGR).
_COLOURS = {Status.PASSED: "1;32", Status.FAILED: "1;31", Status.CANNOT_JUDGE: "1;33"}
_COLOURED = re.compile(rf"(\x1b\[(?:0|{'|'.join(_COLOURS.values())})m)")


class Shown:
    """A stream on which nothing is left that a terminal obeys, but for our own colours."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write text with what names, reasons and outputs have of codes spelt out."""
        parts = _COLOURED.split(text) if self.stream.isatty() else [text]
        # Each second part is a code of `painter`.
        shown = (part if number % 2 else printable(part) for number, part in enumerate(parts))
        self.stream.write("".join(shown))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """Return what else the stream can do."""
        return getattr(self.stream, name)


#: Columns of a table: the name of a field for each heading, or what makes a cell of a record.
Columns = Mapping[str, str | Callable[[Any], object]]


def emit(
    options: argparse.Namespace,
    records: Sequence[object],
    columns: Columns,
    lines: Iterable[str] = (),
    data: object = None,
    above: Iterable[str] = (),
    page: bool = False,
) -> None:
    """Print records as `--format` says: a table between lines, CSV of its columns, or JSON.

    Records are Structs, dataclasses or mappings. JSON has all of their fields, or `data`, where
    that is more than a list of records. Of a `page` people see the lines alone. Commands in what
    they see name the configuration that this one was told.
    """
    if options.format == "json":
        # A path is its text, and a number that there is not is null.
        text = msgspec.json.encode(records if data is None else data, enc_hook=str)
        print(json.dumps(msgspec.json.decode(text), indent=2))
        return
    rows = [[_value(record, column) for column in columns.values()] for record in records]
    if options.format == "csv":
        print(csv_text([[*columns], *rows]), end="")
        return
    cells = [["-" if value in (None, "") else value for value in row] for row in rows]
    shown = [table([*columns], cells, width=columns_of_terminal())] if rows and not page else []
    print(named("\n".join([*above, *shown, *lines]), options.workspace.named_by))


def columns_of_terminal() -> int:
    """Return how wide a table may be: as COLUMNS says, or the terminal; of a file any width."""
    return shutil.get_terminal_size((sys.maxsize, 24)).columns


def _value(record: object, column: str | Callable[[Any], object]) -> object:
    if callable(column):
        return column(record)
    value = record[column] if isinstance(record, Mapping) else getattr(record, column)
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def near(path: Path) -> str:
    """Return a path as seen from here, where it is below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def painter() -> Callable[[Status, str], str]:
    """Return what colours the word of a status where the standard output is a terminal.

    Not where NO_COLOR is set to anything (https://no-color.org), nor on a terminal that is `dumb`.
    """
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not sys.stdout.isatty():
        return lambda _, word: word
    return lambda status, word: f"\x1b[{_COLOURS[status]}m{word}\x1b[0m"


def warn(options: argparse.Namespace, message: object) -> None:
    """Show a line on the standard error, with the words of the subcommand."""
    text = named(str(message), options.workspace.named_by) if "workspace" in options else message
    print(f"acceptance {words(options)}: {text}", file=sys.stderr)


def words(options: argparse.Namespace) -> str:
    """Return the words of the subcommand: `gate`, `alerts ack`."""
    return " ".join(filter(None, (options.command, getattr(options, "verb", None))))

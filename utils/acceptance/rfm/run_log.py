"""ReFrame's own log: what a run selected and ran, which its results database does not hold.

A run without cases stores no session, so only the log distinguishes it from a run that never was.
A line is `time|process|level|message`, one file a day (`rfm/recording.py`); the messages are those
of ReFrame 4.10 (`frontend/cli.py`, `frontend/loader.py`, `frontend/executors`).
"""

import ast
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from acceptance.core.errors import Fault
from acceptance.rfm.marks import label_of, runs_checks

#: The format of a line, and its expression; times are those of ISO 8601.
FORMAT = "%(asctime)s|%(process)d|%(levelname)s|%(message)s"
LINE = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT[^|\s]{,40}?)\|(?P<pid>\d+)\|"
    r"(?P<level>critical|error|warning|info|verbose|debug2|debug|undefined)\|(?P<text>.*)"
)
#: Where the first line of a run may begin.
_FIRST = re.compile(r"(?=\d{4}-\d\d-\d\dT[^|\s]{,40}?\|\d+\|info\|\[ReFrame Setup\])")
_COLOUR = re.compile(r"\x1b\[\d*m")
_FIELD = re.compile(r"  (?P<name>[a-z ]+): +(?P<value>.*)")
_RAN = re.compile(r"Ran (?P<done>\d+)/(?P<selected>\d+) test case.* (?P<skipped>\d+) skipped")
_SKIP = re.compile(r"\[ +SKIP \] \( *\d+/\d+\) (?P<case>.*)")
_ENDED = re.compile(r"\[ +[A-Z]+ \] \( *\d+/\d+\) (?P<name>.+) /[0-9a-f]+ (?P<where>@\S+)")
_STORED = re.compile(r"Current session stored with UUID: (?P<uuid>\S+)")
#: ReFrame's first release of 4.8, and older ones, do not tell whether storage is on.
_DATABASE = re.compile(r"(\[(?P<state>on|off)\] )?'(?P<path>.*)'")

#: Options that narrow the selection down, so that a check file without a case is no surprise; a
#: mode of `config/settings.py` does so, too.
_NARROW = re.compile(
    r"(?<!\S)(?:(?:-[nxtTEpm] ?"
    r"|--(?:name|exclude|tag|exclude-tag|filter-expr|prgenv|maintainer)[ =])(?:'[^']*'|\S)+"
    r"|--(?:cpu-only|gpu-only|failed|restore-session)(?!-)\S*|--mode[ =]maintenance)"
)

#: How warnings begin which mean that something was not run, measured or stored.
_LOST = (
    "skipping test",
    (_UNREAD := "skipping evaluation"),
    "could not resolve dependency",
    "check path",
    "failed to store",
    "could not load",
)
#: How our checks begin a line that says what they leave out, by the mode, for programs that are not
#: installed, or for the memory: no warning, and yet in each verdict.
LEFT_OUT = "left out: "
#: How that of a case begins of which the perflog has no line, with the reason after the case.
_NOT_LOGGED = "could not log performance data for "


@dataclass
class LoggedRun:
    """One `reframe -r`; `time` is that of its first line (local time).

    `ran` is how many cases ran, of how many that were selected and not skipped; it and `stored`,
    the UUID of the session, are None when the run never came to them. `skipped` has a line a case,
    with the reason that the results database does not keep. `unread` has the cases of which some
    performance variable could not be evaluated, `NAME @WHERE`: the database does not know of it.
    """

    time: str
    process: int
    fields: dict[str, str] = field(default_factory=dict)
    ran: tuple[int, int] | None = None
    stored: str | None = None
    skipped: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    #: Whether all performance variables of the case that ends next were evaluated.
    reads_on: bool = True

    @property
    def arguments(self) -> list[str]:
        """Return the words of the command."""
        text = self.fields.get("command", "")
        with suppress(ValueError, SyntaxError):  # the log holds the repr of the command
            text = str(ast.literal_eval(text))
        try:
            return shlex.split(text)
        except ValueError:
            return text.split()

    @property
    def is_run(self) -> bool:
        """Tell whether the command was to run checks, not to list or describe them."""
        words = self.arguments[1:]
        # The line with the command may be cut off.
        return runs_checks(words) if words else self.ran is not None

    @property
    def ended(self) -> bool:
        """Tell whether ReFrame ended by itself, whatever came of its cases, and stored them."""
        stored = self.stored is not None or self.ran == (0, 0)
        return stored and not any("run session stopped" in line for line in self.errors)

    @property
    def losses(self) -> list[str]:
        """Return the warnings which mean that something was not run, measured or stored."""
        return [message for message in self.warnings if message.startswith(_LOST)]

    @property
    def remarks(self) -> list[str]:
        """Return what was left out, and the other warnings."""
        others = [text for text in self.warnings if not text.startswith((*_LOST, _NOT_LOGGED))]
        return [*self.left_out, *others]

    @property
    def not_logged(self) -> list[str]:
        """Return why perflogs could not be written, once a case."""
        texts = (text for text in self.warnings if text.startswith(_NOT_LOGGED))
        return [text.removeprefix(_NOT_LOGGED).partition(": ")[2] or text for text in texts]

    @property
    def filters(self) -> list[str]:
        """Return the options of the command that narrow the selection down, with their values."""
        return _NARROW.findall(shlex.join(self.arguments[1:]))

    @property
    def label(self) -> str:
        """Return the label of the run, `--session-extras run=LABEL`; empty where it has none."""
        return label_of(self.arguments)

    @property
    def check_files(self) -> list[Path]:
        """Return the files with tests where ReFrame searched for checks."""
        text = self.fields.get("check search path", "")
        paths = text.removeprefix("(R) ").strip("'\"").split(":")
        return check_files(map(Path, filter(None, paths)), recursive=text.startswith("(R)"))

    @property
    def system(self) -> str:
        """Return the name of the system that ReFrame selected."""
        return self.fields.get("selected system", "").strip("'\"")

    @property
    def host(self) -> str:
        """Return the host that ReFrame ran on."""
        return self.fields.get("launched by", "").strip("'\"").rpartition("@")[2]

    @property
    def folder(self) -> Path:
        """Return the folder that ReFrame was started in."""
        return Path(self.fields.get("working directory", "").strip("'"))

    @property
    def config_files(self) -> list[Path]:
        """Return the configuration files that were read, without ReFrame's own."""
        names = re.findall(r"'([^']*)'", self.fields.get("settings files", ""))
        return [self.folder / name for name in names if name != "<builtin>"]

    @property
    def database(self) -> Path | None:
        """Return the results database, or None where storage was off."""
        found = _DATABASE.match(self.fields.get("results database", ""))
        if not found or found["state"] == "off":
            return None
        return self.folder / found["path"]


def runs(logs: Path) -> Iterator[LoggedRun]:
    """Yield the runs in the log of a folder, the newest first.

    Listings and other invocations that run nothing are left out. A folder without files has none.
    Raises Fault where a file cannot be read.
    """
    # The newest file is the first one: their names have the date.
    for path in sorted(logs.glob("reframe*.log"), reverse=True):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError as err:
            raise Fault(f"{path}: cannot be read: {err.strerror or err}") from None
        yield from (run for run in reversed(_invocations(text)) if run.is_run)


def newest(logs: Path, label: str) -> LoggedRun | None:
    """Return the run of a label that began last; None where there is none."""
    return next((run for run in runs(logs) if run.label == label), None)


def _invocations(text: str) -> list[LoggedRun]:
    found: list[LoggedRun] = []
    current: dict[int, LoggedRun] = {}
    for line in _COLOUR.sub("", text).splitlines():
        # Before the first line of a run may stand what a full disk has cut off.
        begins = _FIRST.finditer(line) if "[ReFrame Setup]" in line else ()
        matched = LINE.match(line, max((found.start() for found in begins), default=0))
        if not matched:
            # A message of several lines: only those of warnings and errors are of interest.
            continue
        time, process, message = matched["time"], int(matched["pid"]), matched["text"]
        if message.startswith("[ReFrame Setup]"):
            current[process] = LoggedRun(time, process)
            found.append(current[process])
        if process in current:
            _take(current[process], matched["level"], message)
    return found


def _take(run: LoggedRun, level: str, message: str) -> None:
    if level == "warning":
        run.warnings.append(message.removeprefix("WARNING: ").strip())
        run.reads_on = run.reads_on and not run.warnings[-1].startswith(_UNREAD)
    elif level in ("error", "critical"):
        run.errors.append(message.removeprefix("ERROR: ").strip())
    elif message.startswith(LEFT_OUT):
        run.left_out.append(message.removeprefix(LEFT_OUT))
    elif found := _RAN.search(message):
        run.ran = int(found["done"]), int(found["selected"]) - int(found["skipped"])
    elif found := _SKIP.match(message):
        run.skipped.append(found["case"])
    elif not run.reads_on and (found := _ENDED.match(message)):
        run.unread.add(f"{found['name']} {found['where']}")
        run.reads_on = True
    elif found := _STORED.match(message):
        run.stored = found["uuid"]
    elif run.ran is None and (found := _FIELD.match(message)):
        run.fields.setdefault(found["name"], found["value"].strip())


def check_files(search_path: Iterable[Path], *, recursive: bool) -> list[Path]:
    """Return the Python files of a search path that define a test (`@simple_test`).

    A file that is no valid Python counts as one: ReFrame will say what is wrong with it.
    """
    found: list[Path] = []
    for path in search_path:
        if path.is_dir():
            found += sorted(path.glob("**/*.py" if recursive else "*.py"))
        elif path.is_file():
            found.append(path)
    return [path for path in found if _defines_test(path)]


def _defines_test(path: Path) -> bool:
    try:
        return _has_test(path.read_text(encoding="utf-8"))
    except ValueError:
        return True


@lru_cache
def _has_test(text: str) -> bool:
    """Tell it of the text of a file, once: a command asks for each session, and more than once."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return True
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    decorators = (each for node in classes for each in node.decorator_list)
    return any("simple_test" in ast.unparse(each) for each in decorators)

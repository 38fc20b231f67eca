"""Where alerts go: URLs of apprise, from the environment and from a file outside of the clone.

A URL holds passwords and tokens. It is never printed, stored or put into an exception: a target is
spoken of by its name, which is the one given to it, or its schema and a digest (`mailto-3fa2`).
Form of the file: a line a target, `URL` or `name = URL`; a line that starts with `#` is a comment.
URLs: https://appriseit.com/services/
"""

import hashlib
import logging
import os
import re
import shlex
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from acceptance.core.paths import ALERT_TARGETS, ROOT, Workspace

#: Names the file of targets; `ALERT_TARGETS` has URLs separated by white space.
FILE_VARIABLE = "ACCEPTANCE_ALERTS_FILE"

#: Seconds that a target may take to accept a message. apprise's own limits (4 s to connect, 4 s
#: between two bytes; `cto` and `rto` of a URL) hold for each step of it, not for the whole.
DEADLINE = 30.0

_LINE = re.compile(
    r"(?:(?P<name>\w[\w.-]{0,39})\s*=\s*)?(?P<url>(?P<schema>[A-Za-z][A-Za-z0-9+]*)://\S.*)"
)


@dataclass(frozen=True)
class Target:
    """A target by its name; the URL is secret and in no text of the object."""

    name: str
    url: str = field(repr=False)


@dataclass(frozen=True)
class Targets:
    """All targets, and what is wrong with what was to name them."""

    targets: tuple[Target, ...]
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the targets."""
        return tuple(target.name for target in self.targets)


def default_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the file that is read when none is named."""
    home = environment.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "acceptance" / "alerts"


def load(environment: Mapping[str, str] | None = None) -> Targets:
    """Read the targets that environment variables and the file name.

    What is malformed is left out and noted: a mistake in one target must not silence the others.
    """
    environment = os.environ if environment is None else environment
    notes: list[str] = []
    entries = [
        (f"{ALERT_TARGETS}, word {number}", word)
        for number, word in enumerate(environment.get(ALERT_TARGETS, "").split(), 1)
    ]
    named = environment.get(FILE_VARIABLE)
    path = Path(named) if named else default_file(environment)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as err:
        if named or not isinstance(err, FileNotFoundError):
            why = err.strerror if isinstance(err, OSError) else "it is not UTF-8"
            notes.append(f"{path}: no targets of alerts can be read: {why}")
    else:
        notes += _exposed(path, Workspace.of(environment))
        entries += [
            (f"{path}:{number}", line.strip())
            for number, line in enumerate(lines, 1)
            if line.strip() and not line.lstrip().startswith("#")
        ]
    targets = tuple(_read(entries, notes))
    return Targets(targets, tuple(notes))


def _exposed(path: Path, workspace: Workspace) -> Iterator[str]:
    if path.stat().st_mode & 0o077:
        how = f"chmod 600 {shlex.quote(str(path))}"
        yield f"{path}: others may read the secrets in it; close it with: {how}"
    inside = path.resolve()
    if inside.is_relative_to(ROOT) and not inside.is_relative_to(workspace.var.resolve()):
        yield f"{path}: lies in the clone, where it may get committed; move it elsewhere"


def _read(entries: list[tuple[str, str]], notes: list[str]) -> Iterator[Target]:
    urls: set[str] = set()
    names: set[str] = set()
    for where, text in entries:
        found = _LINE.fullmatch(text)
        if found is None:
            notes.append(f"{where}: not of the form schema://... or name = schema://...; left out")
            continue
        url, schema = found["url"], found["schema"].lower()
        if url in urls:
            continue
        urls.add(url)
        digest = hashlib.sha256(url.encode()).hexdigest()
        name = found["name"] or f"{schema}-{digest[:4]}"
        if name in names:
            other = f"{schema}-{digest[:8]}"
            notes.append(f"{where}: another target is called {name}; this one is called {other}")
            name = other
        names.add(name)
        yield Target(name, url)


def send(target: Target, subject: str, body: str, deadline: float = DEADLINE) -> str | None:
    """Send a message to a target within `deadline` s; return why it failed, or None.

    A target that accepts a message after the deadline has it, though this tells of a failure.
    """
    outcome: list[str | None] = []
    thread = threading.Thread(
        target=lambda: outcome.append(_outcome(target, subject, body)), daemon=True
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they may name the host
        thread.start()
        thread.join(deadline)
    return outcome[0] if outcome else f"took longer than {deadline:.0f} s"


class _Status(logging.Handler):
    """Keeps the status that a server answered with: the rest of a line may hold the URL."""

    status = ""

    def emit(self, record: logging.LogRecord) -> None:
        if found := re.search(r"error=([1-5]\d\d)\b", record.getMessage()):
            self.status = found[1]


def _outcome(target: Target, subject: str, body: str) -> str | None:
    log, logger = _Status(), logging.getLogger("apprise")
    logger.handlers, logger.propagate = [log], False
    try:
        import apprise

        service = apprise.Apprise.instantiate(target.url, suppress_exceptions=True)
        if service is None:
            return "apprise does not understand its URL"
        if "overflow=" not in target.url:  # what a service does not take in one piece: in several
            service.overflow_mode = apprise.OverflowMode.SPLIT
        sender = apprise.Apprise()
        sender.add(service)
        done = sender.notify(
            title=subject,
            body=body,
            notify_type=apprise.NotifyType.WARNING,
            body_format=apprise.NotifyFormat.TEXT,
        )
    except Exception as err:  # a plugin's own; its text may hold the URL
        return f"apprise failed with {type(err).__name__}"
    if done:
        return None
    answered = f"answered {log.status}" if log.status else "did not take it"
    return f"{answered}; `apprise -vv -b test` with its URL says more"

"""Where ReFrame keeps what it writes, by the configuration that is in force."""

from dataclasses import dataclass
from pathlib import Path

from acceptance.core.errors import Fault

#: The format of a line of the log in `config/settings.py`, and in what others are asked to paste.
LOG_FORMAT = "%(asctime)s|%(process)d|%(levelname)s|%(message)s"


@dataclass(frozen=True)
class LogFiles:
    """ReFrame's log: its files, and the form of their lines.

    `pattern` finds the files in the folder. `format` is that of ReFrame's configuration, `datefmt`
    that of its times (empty: ISO 8601). `fault` says why there is nothing to read; `note` what a
    reader of this log cannot know. `remedy` is a line of the configuration without that.
    `overwritten`: the next ReFrame empties the file.
    """

    folder: Path
    pattern: str = "reframe*.log"
    format: str = LOG_FORMAT
    datefmt: str = ""
    fault: str = ""
    note: str = ""
    remedy: str = ""
    overwritten: bool = False

    def files(self) -> list[Path]:
        """Return the files, the newest first; Fault where there is nothing to read.

        Names of ours have a date that sorts; of others only the last line says how new they are.
        """
        if self.fault:
            raise Fault(f"{self.fault}; {self.remedy}")
        files = self.folder.glob(self.pattern)
        if self._is_ours:
            return sorted(files, reverse=True)
        return sorted(files, key=lambda path: path.stat().st_mtime, reverse=True)

    @property
    def _is_ours(self) -> bool:
        return self.pattern == type(self).pattern

    def __str__(self) -> str:
        """Return the place for a message."""
        return str(self.folder if self._is_ours else self.folder / self.pattern)


@dataclass(frozen=True)
class Storage:
    """What a configuration says of database, log, perflogs and prefix.

    `fault` says why nothing can be read from the database, and `remedy` the setting. `perflogs` is
    None where none are written to files.
    """

    system: str
    database: Path
    logs: LogFiles
    perflogs: Path | None
    prefix: Path
    fault: str = ""
    remedy: str = ""

"""Where the clone, or an installed copy of it, and ReFrame keep their things."""

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
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


#: What an installed copy has of what stands beside `utils/` in the clone (pyproject.toml).
_TREE = Path(__file__).resolve().parents[1] / "_tree"
#: Whether this is an installed copy, into which nothing is written.
INSTALLED = _TREE.is_dir()
#: The root of the clone, or what an installed copy has of it.
ROOT = _TREE if INSTALLED else Path(__file__).resolve().parents[3]
#: What `var/` is by default; to an installed copy it is beside ReFrame's own default database.
_VAR = os.path.expanduser("~/.reframe/reports/acceptance") if INSTALLED else ROOT / "var"
#: The configuration of the clone.
_SETTINGS = "config/settings.py"
#: How a person gets Spack, and where environments are described: make is for the clone.
GET_SPACK = "acceptance spack get" if INSTALLED else "make spack"
#: How a person gets SimGrid, which simulated systems run on.
GET_SIMGRID = "Debian: libsimgrid-dev; or spack install simgrid, and its bin/ on PATH"
CONFIGURED = "ReFrame's configuration" if INSTALLED else "config/systems/"
#: The variable with the URLs that alerts are sent to. They are secret: no program inherits it.
ALERT_TARGETS = "ACCEPTANCE_ALERTS"


def site_var(database: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """Return what `var/` is to a site's own configuration: beside its results database.

    `ACCEPTANCE_VAR` names another folder. That of the clone, which env.sh sets, is none: it holds
    what the clone's own configuration measured.
    """
    chosen = environment.get("ACCEPTANCE_VAR")
    if chosen and Path(chosen).resolve() != ROOT / "var":
        return Path(chosen)
    return database.absolute().parent / "acceptance"


@dataclass(frozen=True)
class Workspace:
    """The folders of one clone; made once by the command and by `config/settings.py`, handed down.

    `var` is what runs leave behind, `reference` has published values, baselines and tolerances,
    `systems` are folders with `config/systems` and `spack-envs/systems`: the clone's own first.
    """

    root: Path
    var: Path
    reference: Path
    systems: tuple[Path, ...]
    #: ReFrame's configuration files; none: those of `RFM_CONFIG_FILES`, or the clone's own.
    config_files: tuple[Path, ...] = ()
    #: What they say of places, where they are not the clone's own.
    storage: Storage | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str] | None = None) -> "Workspace":
        """Return the workspace of an environment, by default this process's own.

        `ACCEPTANCE_VAR` and `ACCEPTANCE_REFERENCE` name other folders than `var/` and `reference/`,
        `ACCEPTANCE_SYSTEMS` one more folder of systems.
        """
        env = os.environ if environment is None else environment
        more = env.get("ACCEPTANCE_SYSTEMS")
        return cls(
            root=ROOT,
            var=Path(env.get("ACCEPTANCE_VAR") or _VAR),
            reference=Path(env.get("ACCEPTANCE_REFERENCE") or ROOT / "reference"),
            systems=(ROOT, *([Path(more).absolute()] if more else [])),
        )

    def place_of(self, system: str, partition: str) -> str:
        """Name a partition for a message, after the file that states its system if there is one."""
        fullname = f"{system}:{partition}"
        files = [folder / "config/systems" / f"{system}.py" for folder in self.systems]
        return next((f"{path}: {fullname}" for path in files if path.is_file()), fullname)

    @property
    def is_of_site(self) -> bool:
        """Tell whether a site's own configuration is in force, without that of the clone."""
        own = self.root / _SETTINGS
        return self.storage is not None and own not in map(Path.resolve, self.config_files)

    @property
    def named_by(self) -> str:
        """Return what a command needs after its name to know this configuration: ` -C FILE`.

        It is empty for that of the clone, which is known without.
        """
        if [path.resolve() for path in self.config_files] in ([], [self.root / _SETTINGS]):
            return ""
        return "".join(f" -C {shlex.quote(str(path))}" for path in self.config_files)

    @property
    def start(self) -> Path:
        """Return the folder that ReFrame is started in.

        That where the command was called, but for a clone with its own configuration: the names in
        a site's are relative to it, and nothing is written into an installed copy.
        """
        return self.root if self.storage is None and not INSTALLED else Path.cwd()

    @property
    def checks(self) -> Path:
        """Return the folder of the checks, for ReFrame's option `-c`."""
        return self.root / "checks"

    @property
    def results(self) -> Path:
        """Return ReFrame's results database; raises Fault where it keeps none that can be read."""
        if self.storage is None:
            return self.var / "results.db"
        if self.storage.fault:
            raise Fault(f"{self.storage.fault}; {self.storage.remedy}")
        return self.storage.database

    def keeps(self, database: Path) -> bool:
        """Tell whether a database is that of the configuration in force."""
        own = self.var / "results.db" if self.storage is None else self.storage.database
        return database.resolve() == own.resolve()

    def detection_of(self, database: Path) -> Path | None:
        """Return the folder of what detection goes on from; None for somebody else's database."""
        return self.var / "store/detection" if self.keeps(database) else None

    def store_of(self, database: Path) -> Path | None:
        """Return the file that keeps the samples of a database; None of one of somebody else."""
        return self.var / "store/samples.duckdb" if self.keeps(database) else None

    @property
    def logs(self) -> LogFiles:
        """Return ReFrame's log; whoever opens it is told where there is none."""
        if self.storage is None:
            return LogFiles(self.var / "log")
        kept, logs = self.storage, self.storage.logs
        if not (kept.fault and logs.fault):
            return logs
        # Whoever is told of one is to have both lines.
        fault, remedy = f"{kept.fault}; {logs.fault}", f"{kept.remedy} {logs.remedy}"
        return replace(logs, fault=fault, remedy=remedy)

    def require_records(self, *, of_many: bool = False) -> None:
        """Raise Fault unless what a run measures, or `of_many`, can be found afterwards."""
        _ = self.logs.files(), self.results
        if of_many and self.logs.overwritten:
            raise Fault(f"{self.logs}: {self.logs.note}; {self.logs.remedy}")

    @property
    def perflogs(self) -> Path | None:
        """Return the folder of ReFrame's perflogs; None where it writes none to files."""
        return self.var / "perflogs" if self.storage is None else self.storage.perflogs

    @property
    def witnesses(self) -> Path | None:
        """Return the folder of perflogs that are there only where a database was, too.

        Those of a site's own configuration may be from before its results were stored.
        """
        return None if self.is_of_site else self.perflogs

    @property
    def verdicts(self) -> Path:
        """Return the folder of stored verdicts, one a run."""
        return self.var / "verdicts"

    @property
    def alerts(self) -> Path:
        """Return the folder of the state of alerts."""
        return self.var / "alerts"

    @property
    def campaigns(self) -> Path:
        """Return the folder of nights and acceptances."""
        return self.var / "campaigns"

    @property
    def spack(self) -> Path:
        """Return the folder of what Spack installs, and of the clone that `make spack` makes.

        It is the same whatever ReFrame's configuration is.
        """
        return (self.var if self.storage is None else Workspace.of().var) / "spack"

    @property
    def wheels(self) -> Path:
        """Return the prefix that holds the suites which come as Python wheels."""
        return self.var / "wheels" if INSTALLED else self.root / "var/wheels"

"""Where the clone, or an installed copy of it, and ReFrame keep their things."""

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from acceptance.core.errors import Fault

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
#: What a site adds to its own configuration, so that its runs are found.
FRAGMENT = ROOT / "config/fragment.py"
#: How a person gets Spack, and where environments are described: make is for the clone.
GET_SPACK = "acceptance spack get" if INSTALLED else "make spack"
#: How a person gets SimGrid, which simulated systems run on.
GET_SIMGRID = "Debian: libsimgrid-dev; or spack install simgrid, and its bin/ on PATH"
CONFIGURED = "ReFrame's configuration" if INSTALLED else "config/systems/"
#: The variable with the URLs that alerts are sent to.
ALERT_TARGETS = "ACCEPTANCE_ALERTS"
#: What is secret, and for this process alone: no program, and so no job, inherits it.
SECRETS = (
    ALERT_TARGETS,
    *(f"OTEL_EXPORTER_OTLP{each}_HEADERS" for each in ("", "_METRICS", "_LOGS")),
)
#: The commands (`cli/`), as sentences have them.
COMMANDS = (
    *("nightly", "accept", "fabric", "gate", "alerts", "claims", "history", "baseline", "compare"),
    *("bisect", "references", "sessions", "report", "export", "doctor", "init-site", "spack"),
)
_IN_SENTENCE = re.compile(rf"\bacceptance (?=(?:{'|'.join(COMMANDS)})\b)")


def named(text: str, named_by: str) -> str:
    """Return a text whose commands name their configuration, as `Workspace.named_by` does.

    Those that do so already stay as they are.
    """
    return _IN_SENTENCE.sub(lambda found: f"acceptance{named_by} ", text)


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
    #: Why what their runs leave is not found afterwards, and what to do.
    unrecorded: str = ""
    remedy: str = ""
    #: Where Spack keeps its things, if that is not in `var`.
    built: Path | None = None

    @classmethod
    def of(cls, environment: Mapping[str, str] | None = None) -> "Workspace":
        """Return the workspace of an environment, by default this process's own.

        `ACCEPTANCE_VAR` and `ACCEPTANCE_REFERENCE` name other folders than `var/` and `reference/`,
        `ACCEPTANCE_SPACK` another one than `var/spack`, `ACCEPTANCE_SYSTEMS` one more folder of
        systems.
        """
        env = os.environ if environment is None else environment
        more, built = env.get("ACCEPTANCE_SYSTEMS"), env.get("ACCEPTANCE_SPACK")
        return cls(
            root=ROOT,
            var=Path(env.get("ACCEPTANCE_VAR") or _VAR),
            reference=Path(env.get("ACCEPTANCE_REFERENCE") or ROOT / "reference"),
            systems=(ROOT, *([Path(more).absolute()] if more else [])),
            built=Path(built).absolute() if built else None,
        )

    def place_of(self, system: str, partition: str) -> str:
        """Name a partition for a message, after the file that states its system if there is one."""
        fullname = f"{system}:{partition}"
        files = [folder / "config/systems" / f"{system}.py" for folder in self.systems]
        return next((f"{path}: {fullname}" for path in files if path.is_file()), fullname)

    @property
    def is_of_site(self) -> bool:
        """Tell whether a site's own configuration is in force, without that of the clone."""
        files = [path.resolve() for path in self.config_files]
        return bool(files) and self.root / _SETTINGS not in files

    @property
    def named_by(self) -> str:
        """Return what `acceptance` needs before a command to know this configuration: ` -C FILE`.

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
        return Path.cwd() if self.is_of_site or INSTALLED else self.root

    @property
    def checks(self) -> Path:
        """Return the folder of the checks, for ReFrame's option `-c`."""
        return self.root / "checks"

    @property
    def results(self) -> Path:
        """Return ReFrame's results database; raises Fault where runs do not store theirs there."""
        self.require_records()
        return self.var / "results.db"

    def keeps(self, database: Path) -> bool:
        """Tell whether a database is that of this workspace."""
        return database.resolve() == (self.var / "results.db").resolve()

    def detection_of(self, database: Path) -> Path | None:
        """Return the folder of what detection goes on from; None for somebody else's database."""
        return self.var / "detection" if self.keeps(database) else None

    def ledger_of(self, database: Path) -> Path | None:
        """Return the folder of the ledger of a database.

        That of somebody else's, `FILE.ledger`, somebody has to make: with `sessions --forget`.
        """
        if self.keeps(database):
            return self.var / "ledger"
        beside = database.with_name(f"{database.name}.ledger")
        return beside if beside.is_dir() else None

    @property
    def logs(self) -> Path:
        """Return the folder of ReFrame's log; raises Fault where runs do not write theirs there."""
        self.require_records()
        return self.var / "log"

    def require_records(self) -> None:
        """Raise Fault unless what a run leaves can be found afterwards."""
        if self.unrecorded:
            raise Fault(f"{self.unrecorded}, so that no run is found; {self.remedy}")

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
        """Return the folder of what Spack installs, and of the clone that `make spack` makes."""
        return self.built or self.var / "spack"

    @property
    def wheels(self) -> Path:
        """Return the prefix that holds the suites which come as Python wheels."""
        return self.var / "wheels" if INSTALLED else self.root / "var/wheels"

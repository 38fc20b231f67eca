"""ReFrame on a simulated system: healthy first, then with one fault after the other.

Nothing of it mixes with the history of anything else: each fault has a folder of its own, with a
copy of what the healthy nights left, and references of its own, made of these nights.
"""

import os
import runpy
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from acceptance import ledger, references
from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.core.words import is_simulated, model_of
from acceptance.fabric import stored
from acceptance.ledger import Session
from acceptance.regressions import new_baseline
from acceptance.regressions.history import reader
from acceptance.rfm import ReframeProcess, reframe_environment, reframe_program
from acceptance.simulation import DEFECTS, Injected, simulated
from acceptance.simulation.defects import VARIABLE
from acceptance.simulation.systems import BUILT, DERIVED
from acceptance.suites.patterns import SOURCES
from acceptance.verdict import Status, Verdict, conclude, find_run
from tests.drills.outcome import Outcome, outcomes

#: The check files that touch each fault, of few seconds: links, and all pairs of nodes.
SELECTED = ("fabric.py", "all_pairs.py")
#: Healthy nights from which their history can judge.
HISTORY = 7
#: Nights of a fault at most until the history has to have told it.
MOST = 6
#: Seconds that the build may take; what a healthy run leaves for the next one to compare with.
_PATIENCE = 300.0
_KEPT = ("results.db", "ledger", "fabric")


@dataclass(frozen=True)
class Selection:
    """What runs: a system, perhaps one partition of it, check files, and how many healthy nights.

    Without check files all of them run. With `HISTORY` nights or more the history judges instead of
    what was recorded: a case that fails is no sample of it.
    """

    system: str
    checks: tuple[str, ...] = SELECTED
    nights: int = 2

    @property
    def by_history(self) -> bool:
        """Tell whether the history is to judge."""
        return self.nights >= HISTORY

    @property
    def name(self) -> str:
        """Return the name of the system without that of a partition."""
        return self.system.partition(":")[0]


@dataclass
class Report:
    """What came of it: the healthy verdict, the outcomes, and the seconds of each run."""

    selection: Selection
    healthy: Verdict
    outcomes: list[Outcome]
    seconds: dict[str, float]

    @property
    def status(self) -> Status:
        """Return whether each fault was seen that had to be, and the healthy system is silent.

        Nobody can judge that where a fault was not run, or none was injected anywhere.
        """
        if self.healthy.status == Status.CANNOT_JUDGE or self.not_run:
            return Status.CANNOT_JUDGE
        failed = self.healthy.status or any(each.missed for each in self.outcomes)
        return Status.FAILED if failed else Status.PASSED

    @property
    def not_run(self) -> list[str]:
        """Return what was asked for and not looked at: a fault and where, and why."""
        texts = [f"{e.fault} on {e.partition}: {e.not_run}" for e in self.outcomes if e.not_run]
        if not any(each.applied for each in self.outcomes):
            texts.append("no fault was injected anywhere: the checks were not tried")
        return texts


class Drills:
    """Runs the healthy system and its faults in a folder; `say` takes lines of progress."""

    def __init__(self, folder: Path, selection: Selection, say: Callable[[str], None]) -> None:
        self.folder, self.selection, self.say = folder, selection, say
        self.child = ReframeProcess()
        self.seconds: dict[str, float] = {}
        self.built = ""
        self.reference = folder / "reference"

    def run(self, faults: Sequence[Injected]) -> Report:
        """Run all; raises Fault where nothing can be compared, and Interrupted."""
        _require(self.selection.name)
        shutil.copytree(Workspace.of().reference, self.reference)
        self.built = self._build()
        if self.selection.by_history:
            place = references.recordings.recording_of(self.reference, self.selection.name)
            place.unlink(missing_ok=True)
        with self.child.heeding():
            for night in range(self.selection.nights):
                self._reframe("healthy", f"healthy night {night + 1}")
            self._accept()
            if not self.selection.by_history:
                self._record()
            # Once more, now that there is something to compare with.
            healthy, verdict = self._reframe("healthy", "healthy, judged")
            found: list[Outcome] = []
            for injected in faults:
                found += self._nights(injected, healthy)
        return Report(self.selection, verdict, found, self.seconds)

    def _nights(self, injected: Injected, healthy: Session) -> list[Outcome]:
        """Run a fault: a night, or where the history judges as many as it takes to be seen."""
        found: list[Outcome] = []
        for night in range(1, (MOST if self.selection.by_history else 1) + 1):
            session, given = self._reframe(str(injected), injected.fault.text, injected)
            last = outcomes(injected, healthy.cases, session.cases, given)
            found = [replace(each, nights=night) for each in last]
            if all(each.seen or not each.applied for each in found):
                break
        return found

    def _workspace(self, name: str) -> Workspace:
        own = Workspace.of()
        return replace(
            own,
            var=self.folder / name.replace(":", "-"),
            reference=self.reference,
            config_files=(own.root / "config/settings.py",),
        )

    def _reframe(
        self, name: str, text: str, injected: Injected | None = None
    ) -> tuple[Session, Verdict]:
        """Run ReFrame in a folder of its own; return what it stored, and the verdict on that."""
        self.say(f"{name}: {text}")
        workspace = self._workspace(name)
        if injected and not workspace.var.exists():
            workspace.var.mkdir()
            for kept in (self._workspace("healthy").var / each for each in _KEPT):
                if kept.is_dir():
                    shutil.copytree(kept, workspace.var / kept.name)
                elif kept.exists():
                    shutil.copy(kept, workspace.var)
        workspace.var.mkdir(exist_ok=True)
        environment = {
            **reframe_environment(workspace),
            "ACCEPTANCE_REFERENCE": str(workspace.reference),
            VARIABLE: str(injected or ""),
            DERIVED: model_of(self.selection.name),
            BUILT: self.built,
        }
        os.environ[DERIVED] = environment[DERIVED]  # for what the verdict reads of the system
        label = f"{name}-{len(self.seconds)}"
        command = [
            reframe_program(), "--system", self.selection.system, "-r", "--mode=nightly",
            *(f"-c{workspace.checks / name}" for name in self.selection.checks or ("",)),
            "--session-extras", f"run={label}",
        ]  # fmt: skip
        began, log = time.monotonic(), workspace.var / "reframe.out"
        with log.open("ab") as output:
            self.child.run(command, cwd=workspace.root, env=environment, output=output)
        self.child.check()
        self.seconds[f"{name}, {text}"] = time.monotonic() - began
        verdict = conclude(
            workspace, find_run(workspace, label), config_files=workspace.config_files
        )
        if not verdict.session:
            problems = "; ".join(each.text for each in verdict.problems)
            raise Fault(f"{name}: nothing was stored: {problems}; see {log}")
        return ledger.of(workspace).session(verdict.session), verdict

    def _build(self) -> str:
        """Build our own program once for all runs; return its folder, empty where that fails."""
        folder = self.folder / "patterns"
        command = ["make", "-C", str(SOURCES), "MPICC=smpicc", f"BUILD={folder}"]
        return "" if machine.run(command, timeout=_PATIENCE).fault else str(folder)

    def _accept(self) -> None:
        """Accept the cables of the healthy system, where it shows any: others are a fault."""
        healthy = self._workspace("healthy").var
        for path in sorted((healthy / "fabric").glob("*.json")):
            place = stored.path_of(self.reference, path.stem)
            place.unlink(missing_ok=True)
            now = datetime.now(timezone.utc).isoformat(timespec="seconds")
            fabric = stored.read_state(path).fabric
            stored.take_over(place, stored.AcceptedFabric, fabric, now, "the healthy system")

    def _record(self) -> None:
        """Record what the healthy nights gave; that judges the next ones, exactly."""
        history = reader.load(ledger.of(self._workspace("healthy")))
        library = references.load(self.reference)
        nights = new_baseline.select(history)
        new_baseline.write(
            new_baseline.propose(history, self.selection.name, nights, library), library
        )


def _require(system: str) -> None:
    """Raise the Fault of a simulated system that nothing can make: of its size, or its name."""
    folders = [root / "config/systems" for root in Workspace.of().systems]
    described = any((folder / f"{model_of(system)}.py").is_file() for folder in folders)
    others = (path for folder in folders for path in sorted(folder.glob("*.py")))
    said = (runpy.run_path(str(path)).get("SYSTEM", {}) for path in others)
    if described or not any(each.get("name") == system for each in said):
        simulated(model_of(system))


def simulated_system(system: str) -> str:
    """Return the name of the simulated system of a real one, or of a simulated one its own."""
    return system if is_simulated(system) else f"simulated-{system}"


def chosen(names: Sequence[str]) -> list[Injected]:
    """Return the faults of these names, all without any; raises Fault."""
    return [Injected.of(name) for name in names or DEFECTS]

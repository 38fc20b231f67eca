"""A clone's worth of results in which a command meets a fault, and what is there afterwards."""

import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import time
import traceback
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from acceptance import ledger
from acceptance.core.errors import Fault
from tests.campaigns import CASES, NAMES, Held
from tests.cluster.keeper import descendants
from tests.conftest import Site
from tests.places import ROOT
from tests.processes import alive

RUN, NIGHT, ACCEPT, DATABASE = "make run", "nightly", "accept", "results.db"
#: One case of ReFrame on a cluster, by hand.
SLURM = "imb on Slurm"
LINKS = "LinkCheck"
#: Seconds after which a command hangs, and in which what it left behind may end.
LONGEST, REST = 420.0, 150.0
#: Where the commands that `make run` calls begin in its recipe, once all is set up.
_RECIPE = ". ./env.sh && "
TRACEBACK = "Traceback (most recent call last)"


@dataclass
class Ran:
    """Commands that met a fault: exit status of each, None where it was killed, and their words.

    `moment` says when that was. `red`: what was measured is no measurement, whatever is stored.
    """

    statuses: list
    output: str = ""
    moment: str = ""
    red: bool = False


@dataclass
class Seen:
    """What a folder of results holds: session -> label and cases; and who began a run there."""

    sessions: dict = field(default_factory=dict)
    begun: set = field(default_factory=set)

    def whole(self):
        """Return the labels of runs of which all cases were measured, and stored as passed."""
        passed = {}
        for label, cases in self.sessions.values():
            run = ledger.campaign_of(label) or label
            passed.setdefault(run, set()).update(
                name
                for name, result, values in cases
                if result == "pass" and (values or name == LINKS)
            )
        return {run for run, names in passed.items() if run and names >= _cases_of(run)}


def _cases_of(run):
    """Return the cases that a run measures, by its label; a campaign looks at the links, too."""
    if run.startswith(SLURM):
        return {"Barrier"}
    return {*NAMES, LINKS} if ledger.campaign_of(run) else {*NAMES}


class Place:
    """A site with one stored run, and commands that measure two recorded benchmarks in it."""

    def __init__(self, folder):
        folder.mkdir(parents=True)
        self.site = Site(folder)
        self.held = Held(self.site)
        self._settle()
        self.stop_reports()

    @classmethod
    def after(cls, other, folder):
        """Return a place that has all that another one has by now."""
        folder.mkdir(parents=True)
        place = object.__new__(cls)
        place.site = Site(folder)
        place.held = Held.after(other.held, place.site)
        (folder / "said").unlink(missing_ok=True)
        place._settle()
        return place

    def _settle(self):
        #: Environment variables of each command from now on; whether a night tells of alerts.
        self.variables, self.alerts = {}, False
        #: Runs the command where it is another one; and what is to end with the place.
        self.run_here, self.closing = None, ExitStack()
        self.folder, self.var = self.site.folder, self.site.var

    def stop_reports(self, stopped=True):
        """Let something stand where the report belongs, so that none is made: that takes long."""
        mine = self.var / "report/mine.txt"
        mine.parent.mkdir(parents=True, exist_ok=True)
        mine.write_text("mine") if stopped else mine.unlink(missing_ok=True)

    def command(self, kind, *options):
        """Return the words of a command, with options of ReFrame."""
        if kind == RUN:
            return ["bash", "-c", _recipe(shlex.join([*CASES, *options]))]
        alerts = ["--no-alerts"] if kind == NIGHT and not self.alerts else []
        return ["acceptance", kind, *alerts, "--", *CASES, *options]

    def start(self, kind, *options):
        """Start a command in a session of its own; what it says is in the file `said`."""
        # As env.sh does: what is killed in its first moments has left a file.
        path = f"{ROOT / 'utils/bin'}:{ROOT / '.venv/bin'}:{os.environ['PATH']}"
        with (self.folder / "said").open("ab") as said:
            return subprocess.Popen(
                self.command(kind, *options),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=self.site.variables(PATH=path, **self.variables),
            )

    def run(self, kind, *options, started=False):
        """Run a command; return its exit status and what it said; None where it hangs.

        Unless it must be `started`, it is called here, and its ReFrame forked: that is faster.
        """
        (self.folder / "said").unlink(missing_ok=True)
        if started or self.variables:
            process = self.start(kind, *options)
            return self.end_of(process), self.said
        try:
            return self._call(kind, *options)
        except Exception:
            return 1, traceback.format_exc()

    def _call(self, kind, *options):
        if self.run_here:
            return self.run_here()
        if kind != RUN:
            done = self.site.acceptance(*self.command(kind, *options)[1:])
            return done.status, done.output + done.errors
        label = f"{time.time():.6f}"
        own = ("-c", "checks/imb.py", "-r", "--session-extras", f"run={label}")
        reframe = self.site.reframe(*own, *CASES, *options)
        gate = self.site.acceptance("gate", "--run", label)
        said = reframe.output + reframe.errors + gate.output + gate.errors
        return gate.status or reframe.status, said

    def end_of(self, process):
        """Return the exit status of a command; None, and it is killed, where it hangs."""
        try:
            return process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            kill_all(process.pid)
            process.wait()
            with (self.folder / "said").open("a") as said:
                said.write(f"\nhangs: it did not end within {LONGEST:.0f} s\n")
            return None

    @property
    def said(self):
        path = self.folder / "said"
        return path.read_text(errors="replace") if path.exists() else ""

    def gate(self):
        """Return exit status and data of the gate, and what it said where it has none."""
        words = ("gate", "--format", "json")
        try:
            if self.variables:
                done = self.site.run("acceptance", *words, **self.variables)
            else:
                done = self.site.acceptance(*words)
        except Exception:
            return 1, {}, traceback.format_exc()
        with suppress(ValueError):
            return done.status, json.loads(done.output), done.errors
        return done.status, {}, done.output + done.errors

    def look(self):
        """Read the database itself, and the marks, without anything of ours."""
        seen = Seen()
        with suppress(sqlite3.Error), closing(_opened(self.site.database)) as opened:
            for uuid, blob in opened.execute("SELECT uuid, json_blob FROM sessions"):
                info, cases = _decoded(blob)
                seen.sessions[uuid] = info.get("run", ""), cases
        for path in (self.var / "runs").glob("*"):
            if path.suffix in (".json", ".started"):
                seen.begun.add(path.name)
        return seen

    def lost(self, *seen):
        """Return which of the sessions that were ever seen the ledger cannot read, or changed."""
        known = {uuid: found for one in seen for uuid, found in one.sessions.items()}
        past = ledger.of_file(self.site.database, self.var / "ledger")
        gone = []
        for uuid, (_, cases) in known.items():
            try:
                session = past.session(uuid)
            except Fault as err:
                gone.append(f"{uuid[:8]}: {err}")
                continue
            kept = [
                (_short(case.name), case.result, {m.name: m.value for m in case.metrics})
                for case in session.cases
            ]
            for name, result, values in cases:
                if (name, result, values or {}) not in kept:
                    gone.append(f"{uuid[:8]}: {name} differs")
        claimed = re.findall(r"Current session stored with UUID: (\S+)", _logs(self.var))
        gone += [f"{uuid[:8]}: said to be stored" for uuid in claimed if uuid not in known]
        return gone

    def left_behind(self):
        """Return the processes that work in the stage folder of this place still."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (entry / "cwd").readlink().is_relative_to(self.var):
                    found.append(int(entry.name))
        return found

    def rest(self, pids):
        """Wait until these processes have ended; return those that have not."""
        end = time.monotonic() + REST
        while (left := alive(pids)) and time.monotonic() < end:
            time.sleep(0.1)
        return left


def kill_all(pid):
    """Kill a process and all that it started, as when the power fails: none can act any more."""
    known = set()
    while more := ({pid} | descendants(pid)) - known:
        for each in more:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGSTOP)
        known |= more
    for each in known:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    return known


@cache
def _recipe(options):
    """Return what `make run` calls, once all is set up: as its recipe has it."""
    words = ["make", "-n", "run", "ROUNDS=0", f"ARGS={options}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.partition(_RECIPE)[2]


def _opened(path):
    # A copy: to read a database with a journal is to change it.
    copy = path.parent.parent / "looked-at.db"
    for ending in ("", "-journal", "-wal"):
        beside = Path(f"{path.resolve()}{ending}")
        if beside.exists():
            shutil.copyfile(beside, f"{copy}{ending}")
        else:
            Path(f"{copy}{ending}").unlink(missing_ok=True)
    return sqlite3.connect(copy)


def _decoded(blob):
    """Return the head of a session, and of each case name, result and values (None without)."""
    session = json.loads(blob)
    cases = []
    for case in (case for run in session["runs"] for case in run["testcases"]):
        values = case.get("perfvalues")
        found = values and {
            key.split(":", 2)[2]: value for key, (value, *_) in values.items() if value is not None
        }
        cases.append((_short(case["display_name"] or case["name"]), case["result"], found))
    return session["session_info"], cases


def _short(name):
    """Return the benchmark of a case, else its check."""
    found = re.search(r"%benchmark=(\S+)", name)
    return found[1] if found else name.split()[0]


def _logs(var):
    paths = sorted((var / "log").glob("reframe*.log"))
    return "".join(path.read_text(errors="replace") for path in paths)

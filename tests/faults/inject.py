"""Faults, each around a command: a context that gives how the command ended; at its end, the fault
is over.

Mounts belong to the mount namespace that `python -m tests.faults` makes for itself.
"""

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from datetime import datetime
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo

from tests import needs
from tests.campaigns import PROGRAM
from tests.cluster.keeper import descendants
from tests.faults.place import DATABASE, RUN, Ran, kill_all
from tests.recorded import REPLAYED

ROOT_WANTED = "wants root"
#: Whom a kill takes: all that runs, as a power failure or a node that reboots; what bash or the
#: campaign has started last; the command itself, of which a ReFrame may be left.
ALL, YOUNGEST, COMMAND = "all of it", "ReFrame or a command", "the command alone"


def without_root():
    """Return why nothing can be mounted here; None if it can."""
    if os.geteuid():
        return ROOT_WANTED
    return needs.why_not("unshare", "mount")


@contextlib.contextmanager
def killed(place, kind, part, seconds, whom, seed):
    """Kill a command in a part (0 to 1) of the time that it takes; SIGKILL."""
    chance = random.Random(seed)
    moment = seconds * (part + chance.uniform(-0.02, 0.02))
    place.stop_reports(stopped=kind != RUN)
    begun = time.monotonic()
    process = place.start(kind)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(max(moment, 0.02))
    running = _running(process.pid)
    after = f"after {time.monotonic() - begun:.1f} s"
    if process.poll() is not None:
        yield Ran([process.returncode], place.said, f"{after}, when it was over")
        return
    what = next((running[pid] for pid in sorted(running, reverse=True) if running[pid]), "start")
    left = {process.pid, *running}
    if whom == ALL or not running:
        left |= kill_all(process.pid)
    else:
        victim = process.pid
        if whom == YOUNGEST:
            ours = [pid for pid in sorted(running) if running[pid]]
            victim = ours[-1] if ours else process.pid
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
    status = place.end_of(process)
    place.rest(left)
    cases = place.said.count("[       OK ]")
    over = f", {cases} cases over" if cases else ""
    yield Ran([status], place.said, f"{after} ({what}{over}): {whom}")


def _running(pid):
    """Return what a process has started: number -> a command of ours, or nothing."""
    found = {}
    for child in descendants(pid):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
            names = [Path(word).name for word in words[:3]]
            ours = next((name for name in names if name in ("reframe", "acceptance")), "")
            verb = words[names.index(ours) + 1] if ours == "acceptance" else ""
            found[child] = f"{ours} {verb}".strip()
    return found


@contextlib.contextmanager
def full(place, kind, below, left=0, red=False):
    """Let a folder of `var/`, or all of it, be a disk with so many bytes left; `tmp`: TMPDIR."""
    folder = place.var / below if below else place.var
    place.stop_reports(stopped=below != "report")
    place.alerts = below == "alerts"
    database = below == DATABASE
    if database:  # its journal is beside it
        folder = place.folder / "full"
        folder.mkdir()
    with _tmpfs(folder):
        if database:
            shutil.move(place.site.database, folder / DATABASE)
            place.site.database.symlink_to(folder / DATABASE)
        filler = folder / ".filler"
        _fill(filler, left)
        if below == "tmp":
            place.variables["TMPDIR"] = str(folder)
        with _program(place, "echo nothing") if red else contextlib.nullcontext():
            status, said = place.run(kind, started=below == "report")
        yield Ran([status], said, f"{_bytes(left)} left", red)
        filler.unlink()
    place.variables.clear()
    if database:
        place.site.database.unlink()
        shutil.move(folder / DATABASE, place.site.database)


def _bytes(number):
    return f"{number >> 10} KiB" if number else "nothing"


def _fill(path, left):
    with path.open("wb", buffering=0) as file:
        for block in (1 << 16, 1 << 12):
            with contextlib.suppress(OSError):
                while file.write(bytes(block)) == block:
                    pass
        file.truncate(max(0, os.fstat(file.fileno()).st_size - left))


@contextlib.contextmanager
def _tmpfs(folder):
    """Put a small file system with the same files in the place of a folder; keep what is in it."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as aside:
        shutil.copytree(folder, aside, symlinks=True, dirs_exist_ok=True)
        files = (path for path in Path(aside).rglob("*") if path.is_file())
        size = sum(path.stat().st_size + (1 << 12) for path in files) + (8 << 20)
        _mount("-t", "tmpfs", "-o", f"size={size}", "none", folder)
        try:
            shutil.copytree(aside, folder, symlinks=True, dirs_exist_ok=True)
            yield
            shutil.rmtree(aside)
            shutil.copytree(folder, aside, symlinks=True)
        finally:
            _run("umount", "--lazy", folder)
        shutil.rmtree(folder)
        shutil.copytree(aside, folder, symlinks=True)


@contextlib.contextmanager
def quota(place, kind, size):
    """Let no file grow beyond a size: of a quota, or of `ulimit -f`."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        status, said = place.run(kind, started=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    yield Ran([status], said, f"files of {_bytes(size)} at most")


@contextlib.contextmanager
def read_only(place, kind, below=""):
    """Let `var/`, or a folder in it, be mounted read-only."""
    folder = place.var / below
    folder.mkdir(parents=True, exist_ok=True)
    _mount("--bind", folder, folder)
    try:
        _mount("-o", "remount,bind,ro", folder)
        status, said = place.run(kind)
        yield Ran([status], said)
    finally:
        _run("umount", "--lazy", folder)


def _mount(*words):
    _run("mount", *words)


def _run(*words):
    subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True)


@contextlib.contextmanager
def together(place, kinds, locks=""):
    """Start commands at once."""
    if locks:
        place.variables |= _loaded(FAULTS_LOCKS=locks)
    (place.folder / "said").unlink(missing_ok=True)
    processes = [place.start(kind) for kind in kinds]
    statuses = [place.end_of(process) for process in processes]
    yield Ran(statuses, place.said)
    place.variables.clear()


@contextlib.contextmanager
def without_locks(place, kind, locks):
    """Run a command where locks are refused, or granted to everybody."""
    place.variables |= _loaded(FAULTS_LOCKS=locks)
    status, said = place.run(kind)
    yield Ran([status], said)
    place.variables.clear()


@contextlib.contextmanager
def clock(place, kind, before=0, then=None, zone="UTC", at=None, broken=True):
    """Run a command while the clock is `before` s off, and `then` from its first case on.

    `at` is a local time of the zone from which the clock goes on instead. Where the program is
    broken its run must not be green for one that the clock takes for newer.
    """
    if at:
        stated = datetime.fromisoformat(at).replace(tzinfo=ZoneInfo(zone))
        before += int(stated.timestamp() - time.time())
    file = place.folder / "clock"
    file.write_text(str(before))
    place.variables |= {**_loaded(FAULTS_CLOCK=str(file)), "TZ": zone}
    with contextlib.ExitStack() as stack:
        if broken:
            stack.enter_context(_program(place, "echo nothing"))
        elif then is not None:
            new = f"{PROGRAM}echo {before + then} > {file}\n"
            stack.enter_context(_program(place, _filled(place, new)))
        status, said = place.run(kind)
        yield Ran([status], said, red=broken)
    place.variables.clear()


def _filled(place, text):
    return text.format(folder=place.folder, replayed=REPLAYED)


@contextlib.contextmanager
def _program(place, text):
    """Put another program in the place of the benchmark, for a while."""
    path = place.folder / "bin/IMB-MPI1"
    usual = path.read_text()
    path.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
    try:
        yield
    finally:
        path.write_text(usual)


@contextlib.contextmanager
def program(place, kind, more, red=True, limit=""):
    """Run a command whose benchmark does something more after its table."""
    with _program(place, _filled(place, PROGRAM + more + "\n")):
        status, said = place.run(kind, *(["-S", f"time_limit={limit}"] if limit else []))
        yield Ran([status], said, red=red)
    for pid in place.left_behind():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _loaded(**variables):
    return {"LD_PRELOAD": str(_shim()), **variables}


@cache
def _shim():
    path = Path(tempfile.mkdtemp(prefix="faults-")) / "shim.so"
    source = Path(__file__).with_name("shim.c")
    _run("gcc", "-shared", "-fPIC", "-O1", "-o", path, source)
    return path

"""Starts processes, and ends them all, with whatever they started, when its standard input ends.

    python keeper.py

Each line of its standard input is `{"argv": [...], "log": "path", "environment": {...}}`; it
answers with the number of the process, in a line. Processes that lose their parent become
children of this one (prctl(2), PR_SET_CHILD_SUBREAPER), so that none gets away, whether or not
there are namespaces, and however the tests end.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def parents():
    """Return the parent of each process."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # The name of a process may hold blanks and parentheses.
            state, parent = (entry / "stat").read_text().rpartition(")")[2].split()[:2]
            if state not in "ZX":
                found[int(entry.name)] = int(parent)
    return found


def descendants(process):
    """Return the processes that descend from one, without it."""
    of = parents()
    found = {process}
    while more := {child for child, parent in of.items() if parent in found} - found:
        found |= more
    return found - {process}


def start(order):
    """Start a process with its output in a file; return its number."""
    with open(order["log"], "ab") as log:
        return subprocess.Popen(
            order["argv"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **order.get("environment", {})},
        )


def reap():
    """Take the status of what ended, so that nobody waits for a process that is none any more."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            time.sleep(0.05)


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    started = []
    threading.Thread(target=reap, daemon=True).start()
    for line in sys.stdin:
        try:
            started.append(start(json.loads(line)))
            print(started[-1].pid, flush=True)
        except OSError as err:
            print(err, flush=True)
    while left := descendants(os.getpid()):
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)


if __name__ == "__main__":
    main()

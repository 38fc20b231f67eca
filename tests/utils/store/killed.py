"""Bring a store up to date, killed at each of its writes in turn: `... killed DATABASE STORE`.

Each attempt is a process of its own that is forked before DuckDB has threads. Prints how many
writes there were; ends with 1 where the history was another one after a kill.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

from acceptance.regressions.history import load
from acceptance.store import schema, update
from tests.made_history import as_data


class Killed:
    """A connection of which a statement that writes is the last one of the process."""

    def __init__(self, real, left):
        self.real, self.left = real, left

    def __getattr__(self, name):
        return getattr(self.real, name)

    def execute(self, query, *more):
        if not query.startswith("SELECT"):
            self.left[0] -= 1
            if self.left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.real.execute(query, *more)


def forked(function):
    """Return the status of a process that calls a function."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            status = int(not function())
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(database, store):
    update.BATCH = 1
    connect, writes = schema.connect, 0

    def killed():
        left = [writes]
        schema.connect = lambda *a, **k: Killed(connect(*a, **k), left)
        return load(database, store=store).sessions

    def same():
        by_store, without = load(database, store=store), load(database)
        return by_store.notes == [] and as_data(by_store) == as_data(without)

    while True:
        shutil.rmtree(store.parent, ignore_errors=True)
        status = forked(killed)
        if forked(same):
            print(f"another history after a kill at write {writes}")
            return 1
        if status != -signal.SIGKILL:
            print(writes)
            return status
        writes += 1


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))

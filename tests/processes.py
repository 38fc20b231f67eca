"""Whether processes that tests started have ended, and waiting for something to become true."""

import contextlib
import time
from pathlib import Path

from tests.places import PATIENCE


def alive(processes):
    """Return which processes have not ended; that nobody waited for them is no matter."""
    found = []
    for process in processes:
        with contextlib.suppress(OSError):
            if "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text():
                found.append(process)
    return found


def wait_until(true):
    """Wait until something is true, and return whether it is."""
    end = time.monotonic() + PATIENCE
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return true()

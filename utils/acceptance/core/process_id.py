"""Which process that is: numbers of processes come again, also after the machine was started."""

import os
import socket
from contextlib import suppress
from pathlib import Path


def boot() -> str:
    """Return which start of which machine this is, and in which namespace processes count."""
    with suppress(OSError):
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot_id} {os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()


def ticks(process: int) -> str:
    """Return when a process began, in ticks since the start of the machine; empty where it ended.

    Source: proc_pid_stat(5), field 22, and the state in field 3.
    """
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]

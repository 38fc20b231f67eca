"""What a process may use of this machine, cores and memory, and how many processes jobs have."""

import os
import re
from pathlib import Path

#: Prints what the caches of a node are.
CACHE_SCRIPT = Path(__file__).with_name("cache.sh")


def usable_cores(sysfs: Path = Path("/sys"), cpus: set[int] | None = None) -> int:
    """Count the physical cores that this process may compute on; at least 1.

    Hardware threads of one core count once. Bounded by the affinity mask (`cpus`, by default this
    process's own) and by the CPU quota of the control group, rounded down, so that a container
    limited to 2 CPUs on a 64-core host gives 2. Source: Linux, `topology/thread_siblings_list` (a
    `core_id` may come again on each die of a package) and cgroup v2's `cpu.max`.
    """
    mask = os.sched_getaffinity(0) if cpus is None else cpus
    cores = {_core(sysfs / f"devices/system/cpu/cpu{cpu}/topology") or str(cpu) for cpu in mask}
    return max(1, min(len(cores), _quota(sysfs) or len(cores)))


def usable_memory(root: Path = Path("/")) -> int:
    """Return the bytes of memory that jobs on this machine may take; 0 if unknown.

    The machine's, or the limit of the control group where that is less. Source: Linux,
    `/proc/meminfo` (MemTotal in KiB) and cgroup v2's `memory.max`.
    """
    try:
        lines = (root / "proc/meminfo").read_text().splitlines()
        total = next(int(line.split()[1]) for line in lines if line.startswith("MemTotal:")) * 1024
    except (OSError, ValueError, IndexError, StopIteration):
        return 0
    try:
        limit = (root / "sys/fs/cgroup/memory.max").read_text().strip()
        return min(total, int(limit))
    except (OSError, ValueError):
        return total


_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def last_level_cache(text: str, source: str = "cache.out") -> int:
    """Return the bytes of all last-level caches of a node, from what `launch/cache.sh` said.

    Source of the form: Linux, `cache/index*/{level,size,shared_cpu_list}`. Raises ValueError, with
    the line, when the text is cut or garbled, and when the node reports no cache.
    """
    lines = text.splitlines()
    if not lines or lines[-1] != "end":
        raise ValueError(f"{source}: what the node says of its caches is cut")
    caches: dict[tuple[int, str], int] = {}
    for number, line in enumerate(lines[:-1], 1):
        match = re.match(r"cache (\d+) (\d+)([KMG]) (\S+)\Z", line)
        if not match:
            raise ValueError(f"{source}:{number}: {line!r} describes no cache")
        level, size, unit, cpus = match.groups()
        caches[int(level), cpus] = int(size) * _UNITS[unit]
    if not caches:
        raise ValueError(
            f"{source}: the node reports no caches, so that STREAM cannot be told from a test of "
            'them; write "cache", the bytes of a node\'s last level, into the extras of '
            "its partition"
        )
    last = max(level for level, _ in caches)
    return sum(size for (level, _), size in caches.items() if level == last)


def process_counts(largest: int) -> list[int]:
    """Return 2, 4, 8, ... up to and including the largest count itself."""
    counts = [2**n for n in range(1, largest.bit_length()) if 2**n <= largest]
    return [*counts, largest] if largest > 2 and largest not in counts else counts


def _core(topology: Path) -> str:
    """Return what all hardware threads of a core share, and no other core; empty if unknown."""
    for files in (("thread_siblings_list",), ("physical_package_id", "core_id")):
        try:
            return ":".join((topology / file).read_text().strip() for file in files)
        except OSError:
            continue
    return ""


def _quota(sysfs: Path) -> int | None:
    try:
        quota, period = (sysfs / "fs/cgroup/cpu.max").read_text().split()
        return None if quota == "max" else max(1, int(quota) // int(period))
    except (OSError, ValueError):
        return None

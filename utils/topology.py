"""How many cores of this machine a process may use, and how many processes jobs have."""

import os
from pathlib import Path


def usable_cores(sysfs: Path = Path("/sys"), cpus: set[int] | None = None) -> int:
    """Count the physical cores that this process may compute on; at least 1.

    Hardware threads of one core count once. Bounded by the affinity mask (`cpus`, by default this
    process's own) and by the CPU quota of the control group, rounded down, so that a container
    limited to 2 CPUs on a 64-core host gives 2. Source: Linux, `topology/core_id`,
    `physical_package_id` and cgroup v2's `cpu.max`.
    """
    mask = os.sched_getaffinity(0) if cpus is None else cpus
    cores = set()
    for cpu in mask:
        topology = sysfs / f"devices/system/cpu/cpu{cpu}/topology"
        try:
            cores.add(
                (
                    (topology / "physical_package_id").read_text().strip(),
                    (topology / "core_id").read_text().strip(),
                )
            )
        except OSError:
            cores.add(("", str(cpu)))
    return max(1, min(len(cores), _quota(sysfs) or len(cores)))


def process_counts(largest: int) -> list[int]:
    """Return 2, 4, 8, ... up to and including the largest count itself."""
    counts = [2**n for n in range(1, largest.bit_length()) if 2**n <= largest]
    return [*counts, largest] if largest > 2 and largest not in counts else counts


def _quota(sysfs: Path) -> int | None:
    try:
        quota, period = (sysfs / "fs/cgroup/cpu.max").read_text().split()
        return None if quota == "max" else max(1, int(quota) // int(period))
    except (OSError, ValueError):
        return None

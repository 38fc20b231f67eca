"""What a simulated case finds in its folder: the platform, and the host of each rank."""

from dataclasses import dataclass
from pathlib import Path

from acceptance.fabric import Facts
from acceptance.launch import Layout
from acceptance.launch.placement import HOST_FILE, PLATFORM_FILE
from acceptance.simulation.platform import Platform


@dataclass(frozen=True)
class SimulatedRun:
    """What one case runs on: the stated facts, the platform, and the host of each rank."""

    facts: Facts
    platform: Platform
    ranks: tuple[str, ...]

    @classmethod
    def of(cls, facts: Facts, platform: Platform, layout: Layout) -> "SimulatedRun":
        """Put the ranks of a layout on the hosts of a platform."""
        nodes = layout.nodes
        numbers = (
            rank % nodes if layout.mapping == "cyclic" else rank // layout.per_node
            for rank in range(layout.processes)
        )
        return cls(facts, platform, tuple(platform.hosts[number] for number in numbers))


def write(folder: Path, run: SimulatedRun) -> None:
    """Write the files that `smpirun` reads; all platforms are written here, and nowhere else."""
    with (folder / PLATFORM_FILE).open("w") as file:
        file.writelines(f"{line}\n" for line in run.platform.lines({*run.ranks}))
    (folder / HOST_FILE).write_text("".join(f"{host}\n" for host in run.ranks))

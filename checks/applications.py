"""The base of applications: programs that compute, at one number of processes on full nodes."""

import shutil
from pathlib import Path

from reframe.core.exceptions import SanityError

from acceptance.machine import folder_of
from acceptance.suites import duration

from .extras import environment_of
from .partitions import cores_of, nodes_of, placements
from .placed import PlacedCheck, published_counts


class ApplicationCheck(PlacedCheck):
    """A program on as few nodes as have the cores: papers print none, and filled theirs.

    A subclass has the parameter `np`, and `folder` if the installation has inputs.
    """

    placement = parameter(
        [where for where in placements() if where in ("intra-node", "inter-node")], loggable=True
    )

    #: The folder of its inputs, below the one that the environment names; empty: it has none.
    folder = ""

    def nodes(self, part):
        """Count the nodes of a partition that have the cores; 0 if it has fewer."""
        nodes = -(-self.np // cores_of(part)) if cores_of(part) else 0
        is_placed = (nodes > 1) == (self.placement == "inter-node")
        return nodes if is_placed and nodes <= nodes_of(part) else 0

    def takes(self, part):
        """Take all cores, and the numbers that papers have: on a few cores they take hours."""
        everything = cores_of(part) * nodes_of(part)
        return self.np == everything or self.np in published_counts(part, self.benchmark_name)

    def seconds(self, part):
        """Return how long a case on a partition takes."""
        return super().seconds(part) + duration.of_application(self.benchmark_name, self.np)

    def expected(self):
        """Return metric -> unit."""
        return {column.stem: column.unit for column in self.row.columns}

    def installation(self):
        """Return the folder that the environment names."""
        return Path(
            folder_of(environment_of(self.current_environ, self.current_partition), self.suite)
        )

    @run_before("run")
    def stage_inputs(self):
        """Copy the inputs into the folder of the job, where the program writes, too."""
        if self.folder:
            inputs = self.installation() / self.folder
            if not inputs.is_dir():
                raise SanityError(f"{self.benchmark_name} needs: its inputs, in {inputs}")
            shutil.copytree(inputs, self.stagedir, dirs_exist_ok=True)

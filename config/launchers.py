"""Launchers that ReFrame does not have; `settings.py` runs this file."""

import contextlib

from reframe.core.backends import register_launcher
from reframe.core.exceptions import ConfigError
from reframe.core.launchers import JobLauncher

from acceptance.simulation import launch_command


class SmpirunLauncher(JobLauncher):
    """SimGrid's `smpirun`: all ranks in one process on this machine, in simulated time.

    A check adds the files of the platform and of the ranks' hosts to its options. What runs so is
    told in `config/simulated.md`.
    """

    def command(self, job):
        """Return the command without these files."""
        return launch_command(job.num_tasks)


class FluxLauncher(JobLauncher):
    """`flux run`, in an instance of Flux that has the nodes of the job.

    A check adds how the ranks stand on them.
    """

    def command(self, job):
        """Return the command for all ranks."""
        return ["flux", "run", f"--ntasks={job.num_tasks}"]


# The configuration may be loaded for a second time.
for name, launcher in (("smpirun", SmpirunLauncher), ("flux", FluxLauncher)):
    with contextlib.suppress(ConfigError):
        register_launcher(name)(launcher)

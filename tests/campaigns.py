"""Campaigns of real ReFrame with IMB's recorded outputs, held where a test wants."""

import fcntl
import json
import signal
import subprocess
from pathlib import Path

from acceptance.rfm.process import GRACE
from tests.conftest import DATA
from tests.places import PATIENCE
from tests.processes import wait_until
from tests.recorded import REPLAYED

#: Two cases, of one step.
CASES = ("-n", "(Barrier|Allreduce)%np=2%placement=intra-node")
NAMES = ("Barrier", "Allreduce")

#: Notes that it ran; if `hold` exists then, it holds from the second run on until `go` does.
PROGRAM = """\
#!/bin/sh
for name in Barrier Allreduce; do
    case " $* " in *" $name "*) benchmark=$name;; esac
done
echo "$benchmark" >> {folder}/ran
if [ -e {folder}/hold ] && [ "$(wc -l < {folder}/ran)" -gt 1 ]; then
    while [ ! -e {folder}/go ]; do sleep 0.05; done
fi
{replayed} {folder}/"$benchmark".txt
"""


class Held:
    """The campaigns of a `tests.conftest.Site`."""

    def __init__(self, site):
        self.site, self.folder = site, site.folder
        program = site.replay("")
        # One node, which the link check can reach.
        system = self.folder / "site.py"
        system.write_text(system.read_text().replace('"nodes": 2', '"nodes": 1'))
        program.write_text(PROGRAM.format(folder=self.folder, replayed=REPLAYED))
        for name in NAMES:
            text = (DATA / f"imb/IMB-MPI1_{name}.impi.txt").read_text()
            (self.folder / f"{name}.txt").write_text(text)

    @classmethod
    def after(cls, other, site):
        """Return the campaigns of a site that takes over what another one has by now."""
        held = object.__new__(cls)
        held.site, held.folder = site, site.folder
        site.take_over(other.site)
        return held

    @property
    def ran(self):
        """Return the benchmarks in the order in which they ran."""
        path = self.folder / "ran"
        return path.read_text().split() if path.exists() else []

    def start(self, *arguments, before=()):
        """Start a campaign beside the test; wait until its second case runs.

        `before` are words before the command.
        """
        (self.folder / "hold").touch()
        with (self.folder / "out").open("ab") as out:
            process = subprocess.Popen(
                [*before, "acceptance", *arguments, "--", *CASES],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self.site.variables(),
            )
        before = len(self.ran)
        self.wait_for(lambda: len(self.ran) >= before + 2 or process.poll() is not None)
        assert process.poll() is None, (self.folder / "out").read_text()
        # The first case must have been judged, not only run.
        self.wait_for(lambda: "OK" in self.imb_log() or "FAIL" in self.imb_log())
        return process

    def imb_log(self):
        """Return what the log says since the step imb began."""
        return self.log.read_text().rpartition(": imb")[2]

    def run(self, *arguments, go=True):
        """Run a campaign to its end; what holds may go on, or not."""
        (self.folder / "hold").unlink(missing_ok=True)
        if go:
            (self.folder / "go").touch()
        return self.site.acceptance(*arguments, "--", *CASES)

    @property
    def states(self):
        """Return the states of all campaigns, the oldest first."""
        paths = (self.site.var / "campaigns").glob("*/state.json")
        return [json.loads(path.read_text()) for path in sorted(paths)]

    @property
    def log(self):
        return Path(self.site.var, "campaigns", self.states[-1]["id"], "log.txt")

    def step(self, name):
        (found,) = [step for step in self.states[-1]["steps"] if step["name"] == name]
        return found

    def reframe_of(self, process):
        """Return the number of the ReFrame of a campaign."""
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        (number,) = map(int, children)
        return number

    def kill(self, process, how=signal.SIGKILL):
        process.send_signal(how)
        return process.wait(timeout=GRACE + PATIENCE)

    def wait_for_lock(self):
        """Wait until no campaign, and no ReFrame of one, holds the lock."""
        with (self.site.var / "campaigns/lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)

    @staticmethod
    def wait_for(true):
        assert wait_until(true)

"""Cases inside a node are judged by what the node did without MPI, where nothing else judges them.

It is measured in the job itself, before the ranks start, by `acceptance/machine/without_mpi.sh`:
so on the very node, with the CPUs and the limits that the job has. The first job of a run there
does, others with the same CPUs take what it left, ten minutes long; where the ranks then say that
they stood on another node, it judges nothing. No fixture does: it would run once a partition, on
one of its nodes, and every case of a listing would have to have it.

The first rank says before and after the program for how long something waited for a CPU
(`waited.sh`): a result that is worse for no other reason is recorded, not judged.
"""

import shlex
import sys
from pathlib import Path

import reframe as rfm
import reframe.core.runtime as runtime

from acceptance import references
from acceptance.core import words
from acceptance.core.errors import QUOTED
from acceptance.core.findings import UNJUDGED, Finding
from acceptance.core.text import clipped, plural
from acceptance.fabric import inside
from acceptance.machine import WITHOUT_MPI

#: In the folder of a job: what its node did without MPI, and why it did not.
MEASURED, REFUSED = "without_mpi.json", "without_mpi.err"
#: The folder, below that of the run, for what the first rank of each node says.
LINKS = "links"


class Inside(rfm.RegressionTestPlugin):
    """A check whose cases on one node are judged by that node, too.

    The check has a `row`, a `layout` and `tolerances()`, and `verified` ranks say where they stand.
    """

    #: What the node did without MPI; None: it is not known. And the values that are worse.
    unaided, missing = None, {}
    #: Message size in bytes (None: the table has none) -> how often it was sent, at least.
    repeated = {}
    #: Of how many loops of repetitions a result is the best.
    loops = 1

    def is_inside(self):
        """Tell whether the node judges: of messages through its memory, from rank to rank."""
        through_memory = self.ways()[1] == "shared" and not self.gpu_buffers
        return self.layout.nodes == 1 and through_memory and not self.simulated

    @run_before("run")
    def measure_node(self):
        """Have the job measure its node."""
        if not (self.verified and self.is_inside() and inside.has_formula(self.row)):
            return
        kept = Path(runtime.runtime().stage_prefix, "without_mpi")
        words = ["sh", str(WITHOUT_MPI), str(kept), sys.executable]
        self.prerun_cmds = [
            f"{shlex.join(words)} > {MEASURED} 2> {REFUSED} || :",
            *self.prerun_cmds,
        ]
        self.keep_files = [*self.keep_files, MEASURED]

    def read_node(self):
        """Read what the job's node did without MPI; tell whether it is known."""
        if not Path(self.stagedir, MEASURED).exists():
            return False
        what, nodes = "the node could not be measured without MPI", self.nodes_seen()
        try:
            found = inside.read(self.read_file(MEASURED))
        except ValueError:
            # Of a traceback the last line says it.
            said = self.read_file(REFUSED).strip().rpartition("\n")[-1] or "nothing was printed"
            self.not_judged(what, said)
            return False
        if nodes and found.node not in nodes:
            where = ", ".join(sorted(nodes))
            self.not_judged(what, f"the job's script ran on {found.node}, its ranks on {where}")
            return False
        self.unaided = found
        return True

    def references_inside(self, units):
        """Return reference and citation of metrics (name -> unit), as far as the node judges them.

        What is worse than its reference, and may be so since something waited for a CPU, it does
        not.
        """
        if not self.read_node():
            return {}
        found = {}
        for name, unit in units.items():
            known = inside.reference(self.row, name, unit, self.unaided, self.layout)
            within = self.tolerances().thresholds("machine", "=", unit)
            if known and within and "machine" in self.sources(name) and self.is_often(name, unit):
                found[name] = (known[0], *within, unit), known[1]
        self.missing = {}
        for unit in ("us", "MB/s"):
            judged = {name: known for name, (known, _) in found.items() if known[-1] == unit}
            values = {name: self.measurements[name][0] for name in judged}
            missed = {n: v for n, v in values.items() if references.outside(v, *judged[n][:3])}
            if why := self.excuse({name: judged[name] for name in missed}, len(judged)):
                why = f"{plural(len(missed), 'metric')} in {unit}, {why}"
                self.not_judged("the machine was too busy", why)
                found = {name: each for name, each in found.items() if name not in missed}
            else:
                self.missing |= missed
        return found

    def is_often(self, name, unit):
        """Tell whether a message was sent often enough: the first ones are slow."""
        return self.repeated.get(words.split_metric(name)[1], 0) >= inside.OFTEN[unit]

    def excuse(self, missed, judged):
        """Say why metrics may miss their references, of so many judged ones; empty: they do."""
        if not missed:
            return ""
        if len(missed) * self.loops == 1 < judged:
            return f"the only one of {judged}: one short stop of the node, told or not, explains it"
        over = 0.0
        for name, (value, lower, upper, unit) in missed.items():
            bound = value * (1 + (lower if upper is None else upper))
            repeated = self.repeated[words.split_metric(name)[1]]
            over += inside.beyond(name, self.measurements[name][0], unit, bound, repeated)
        # The best of several loops counts as so many: each of them was as slow.
        whole = unit == "us" and len(missed) == judged and judged * self.loops >= inside.FEW
        return inside.excuse(over, *self.waited(), whole=whole)

    def waited(self):
        """Return what the first rank said before and after the program, empty where it did not."""
        folder = Path(self.stagedir, LINKS)
        found = (next(iter(folder.glob(f"*.{when}")), None) for when in ("before", "after"))
        return [path.read_text() if path else "" for path in found]

    def not_judged(self, what, why):
        """Tell why the node judges nothing, or not all."""
        self.record([Finding(UNJUDGED, f"not judged: {what}: {why}", what=what)])
        told = self.provenance.get("machine", "not judged")
        self.provenance["machine"] = clipped(f"{told}: {why}", QUOTED)

    def said_of_node(self):
        """Return what the node says of why a program may have failed on it."""
        return inside.reasons({}, self.unaided) if self.read_node() else []

    def slow_inside(self):
        """Return findings: what the node says of why MPI does less than the node itself."""
        if not self.missing:
            return []
        return [Finding("slow-inside", text) for text in inside.reasons(self.missing, self.unaided)]

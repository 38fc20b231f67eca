"""What the library costs on a cluster: its cases against bare ReFrame's, through a real Slurm.

    python -m tests.bench.cluster [--cases 200] [--pairs 3]

Both run the same program, which prints at once what was recorded, on the same nodes through the
same `srun`; what is left is the harness. Prints ratios, and asserts nothing, since the machines
are shared. Needs what `tests/cluster/` needs, and takes accounting where it is installed: ReFrame's
scheduler `squeue` waits two seconds a job, under which any cost would hide.
"""

import argparse
import contextlib
import resource
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from acceptance.core.text import table
from tests import needs, netns
from tests.bench.harness import spread
from tests.cluster import slurm
from tests.cluster.sites import ClusterSite
from tests.conftest import DATA, Site

NAMES = ("head", "node1", "node2")
RECORDED = DATA / "imb/IMB-MPI1_Barrier.impi.txt"

BARE = """
    import reframe as rfm
    import reframe.utility.sanity as sn

    @rfm.simple_test
    class Bare(rfm.RunOnlyRegressionTest):
        number = parameter(range({cases}))
        valid_systems = ["*"]
        valid_prog_environs = ["+imb"]
        sourcesdir = None
        num_tasks = 2
        num_tasks_per_node = 1
        executable = "{program}"
        executable_opts = ["Barrier", "-npmin 2", "-iter 1000"]

        @sanity_function
        def sane(self):
            return sn.assert_found("MPI_Finalize", self.stdout)

        @performance_function("us")
        def time(self):
            return sn.extractsingle(r"^ +1000 +\\S+ +(\\S+)", self.stdout, 1, float)
"""


def clocked(run, cases):
    """Return the wall and processor seconds of ReFrame and its children; exits when it fails."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = run()
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.status or f"Ran {cases}/{cases} " not in done.output:
        sys.exit(done.output + done.errors)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(measured, cases, pairs, scheduler):
    """Return a row of the table for wall and for processor time."""
    environment = measured.recorded(Barrier=RECORDED.read_text())
    measured.go()
    # As many jobs as it likes wait in the queue; the nodes take one at a time.
    partition = measured.partition("ten", environment, scheduler=scheduler, max_jobs=8)
    measured.configure(environment, partition)
    bare = measured.site.folder / "bare.py"
    program = measured.site.folder / "program/IMB-MPI1"
    bare.write_text(textwrap.dedent(BARE.format(cases=cases, program=program)))
    select = "Barrier%np=2%placement=inter-node"
    runs = {
        "ours": lambda: measured.imb(select, f"--repeat={cases}"),
        "bare": lambda: measured.site.reframe("-c", bare, "-r"),
    }
    found = {name: [] for name in runs}
    for _ in range(pairs):
        for name, run in runs.items():
            found[name].append(clocked(run, cases))
    rows = []
    for what, index in (("wall", 0), ("processor time", 1)):
        ratios = [
            ours[index] / plain[index]
            for ours, plain in zip(found["ours"], found["bare"], strict=True)
        ]
        each = {name: sum(times[index] for times in found[name]) / pairs / cases for name in runs}
        name = (
            f"{what} a case of ours / of bare ReFrame ({each['ours']:.3f} s / {each['bare']:.3f} s)"
        )
        rows.append([name, *spread(ratios), "<= 1.1"])
    return rows


def why_not():
    """Return why this machine cannot run the bench; empty if it can."""
    return needs.why_not(*needs.SLURM) or netns.why_not() or ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=3)
    asked = parser.parse_args()
    if reason := why_not():
        sys.exit(f"cluster: {reason}")
    accounting = needs.why_not(*needs.ACCOUNTING) is None
    scheduler = "slurm" if accounting else "squeue"
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        nodes = stack.enter_context(netns.Nodes(folder, NAMES))
        features = dict.fromkeys(NAMES[1:], "ten")
        cluster = stack.enter_context(
            slurm.Cluster(Path(folder), nodes, features=features, accounting=accounting)
        )
        site = Site(Path(folder) / "site")
        site.folder.mkdir()
        rows = measure(ClusterSite(site, cluster), asked.cases, asked.pairs, scheduler)
    print(f"{asked.cases} cases, scheduler {scheduler}")
    print(table(("ratio", "median", "spread", "pairs", "goal"), rows))


if __name__ == "__main__":
    main()

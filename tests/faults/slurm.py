"""Faults of a cluster with a real Slurm, on nodes in namespaces."""

import contextlib
import threading
import time

from tests import needs, netns
from tests.cluster import slurm
from tests.cluster.sites import ClusterSite
from tests.conftest import recorded_text
from tests.faults.place import SLURM, Ran

_NODES = ("node1", "node2")
_ONE = "Barrier%np=2%placement=inter-node"


def why_not():
    """Return why there can be no cluster here; None if there can."""
    return netns.why_not() or needs.why_not(*needs.SLURM)


@contextlib.contextmanager
def away(place, kind, node="", controller=False):
    """Let a node lose the folder that all nodes share, or Slurm its controller, in a job.

    The cluster goes on until the place is done with.
    """
    measured = _cluster(place)
    cluster = measured.cluster
    place.run_here = lambda: _imb(measured)
    done = []
    thread = threading.Thread(target=lambda: done.append(place.run_here()))
    if node:
        cluster.nodes.run(node, "mount", "-t", "tmpfs", "none", place.folder)
        measured.go()
        thread.start()
        thread.join()
        cluster.nodes.run(node, "umount", "--lazy", place.folder)
    if controller:
        thread.start()
        cluster.wait_for(lambda: measured.started() or done, "the job")
        cluster.stop_controller()
        thread.join()
        cluster.start_controller()
        measured.go()
        cluster.wait_for(lambda: not cluster.jobs(), "the end of the job")
    ((status, said),) = done
    yield Ran([status], said, "while a job ran" if controller else f"on {node}")


def _cluster(place):
    folder = place.folder.with_name(f"{place.folder.name}-slurm")
    folder.mkdir()
    nodes = place.closing.enter_context(netns.Nodes(folder, ("head", *_NODES)))
    features = dict.fromkeys(_NODES, "ten")
    cluster = place.closing.enter_context(
        slurm.Cluster(folder, nodes, features=features, timeout=2)
    )
    measured = ClusterSite(place.site, cluster)
    environment = measured.recorded(Barrier=recorded_text("imb/IMB-MPI1_Barrier.impi.txt"))
    part = measured.partition("ten", environment, scheduler="squeue")
    measured.configure(environment, part)
    return measured


def _imb(measured):
    done = measured.imb(_ONE, "--session-extras", f"run={SLURM} {time.time():.3f}")
    return done.status, done.output + done.errors

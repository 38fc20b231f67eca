"""The clusters that all tests here share, and sites that measure them."""

import contextlib

import pytest

from tests import needs, netns
from tests.cluster import slurm
from tests.cluster.sites import ClusterSite

HEAD = "head"
#: Node -> its feature in slurm.conf, after the rate (Gb/s) of its message network.
FEATURES = {"node1": "ten", "node2": "ten", "node3": "one", "node4": "one"}
TEN, ONE = ("node1", "node2"), ("node3", "node4")


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """Four nodes in namespaces with a Slurm: two on a network of 10 Gb/s, two on one of 1 Gb/s."""
    needs.skip_for(needs.why_not(*needs.SLURM) or netns.why_not() or needs.why_not_cores(2))
    folder = tmp_path_factory.mktemp("cluster")
    with (
        netns.Nodes(folder, (HEAD, *FEATURES)) as nodes,
        nodes.shaped("10gbit", burst="128kb", nodes=TEN),
        nodes.shaped("1gbit", burst="64kb", nodes=ONE),
        nodes.trained(1000, *ONE),
        slurm.Cluster(folder, nodes, features=FEATURES) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="session")
def one_host(tmp_path_factory):
    """Two nodes that are no more than names on this machine; clients of it give up soon."""
    needs.skip_without(*needs.SLURM)
    folder = tmp_path_factory.mktemp("onehost")
    with slurm.Cluster(folder, features=dict.fromkeys(TEN, "ten"), timeout=2) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def anywhere(request):
    """The cluster in namespaces, or else the one on this host."""
    return request.getfixturevalue("one_host" if netns.why_not() else "cluster")


@pytest.fixture(scope="session")
def accounted(tmp_path_factory):
    """Two nodes and accounting; in namespaces, or else on this host."""
    needs.skip_without(*needs.SLURM, *needs.ACCOUNTING)
    folder = tmp_path_factory.mktemp("accounted")
    with contextlib.ExitStack() as stack:
        nodes = None
        if not netns.why_not():
            nodes = stack.enter_context(netns.Nodes(folder, (HEAD, *TEN)))
        yield stack.enter_context(
            slurm.Cluster(folder, nodes, features=dict.fromkeys(TEN, "ten"), accounting=True)
        )


@pytest.fixture
def at(site):
    """Make a site whose system is a cluster, with a configuration of koop2008's shape."""
    return lambda cluster: ClusterSite(site, cluster)


@pytest.fixture
def measured(site, cluster):
    """A site whose system is the cluster in namespaces."""
    return ClusterSite(site, cluster)

"""OSU's benchmarks, as Spack builds them, across the nodes of a cluster."""

import pytest

from acceptance.machine.placement import read_ranks
from tests import stored as results
from tests.builds import SHA_OF_OSU, archive, by_hand, needs_mirror, needs_spack, trees
from tests.needs import requires

pytestmark = [
    needs_spack,
    needs_mirror,
    pytest.mark.skipif(archive(SHA_OF_OSU) is None, reason="the source mirror has no OSU 7.4"),
    requires("mpirun.openmpi", "mpicc.openmpi"),
]


def test_osu_runs_across_the_nodes(measured, built):
    built_here = built.reframe(
        "-c", "checks/osu.py", "-r", "-p", "spack-openmpi", "-n", "benchmark=barrier%np=2",
        *by_hand(SHA_OF_OSU, "OsuBuild"),
    )  # fmt: skip
    assert built_here.status == 0, built_here.output
    hash_of = results.session(built.database).cases[0].provenance["hash"]
    (folder,) = [path for path in trees(built) if path.name.endswith(hash_of)]
    environment = measured.environment("openmpi", osu=folder)
    measured.configure(environment, measured.partition("ten", environment))
    done = measured.site.reframe(
        "-c", "checks/osu.py", "-r",
        "-n", "OsuBenchmark.*benchmark=(latency|bw|allreduce)%np=2%placement=inter-node.*same",
        "-S", "OsuBenchmark.sizes=1:4096", "-S", "OsuBenchmark.iterations=20",
        "-S", "time_limit=1m",
    )  # fmt: skip
    status, verdict = measured.site.gate()
    assert (done.status, status) == (0, 0), done.output
    assert (verdict["selected"], verdict["passed"]) == (3, 3)
    for case in results.session(measured.site.database).cases:
        assert case.provenance["suite"] == "OSU 7.4"
        assert case.nodes == ("node1", "node2")
        # What ran twice, first to verify its data, was launched in the same way.
        assert int(case.provenance["bytes"].split()[0]) > 4096
    for path in (measured.site.var / "output").rglob("rfm_job.err"):
        assert [rank.node for rank in read_ranks(path.read_text())] == ["node1", "node2"]

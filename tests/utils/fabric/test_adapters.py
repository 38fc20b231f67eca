"""`fabric/adapters.py`: which adapter a rank took, by what UCX says here and by made logs."""

import os
import subprocess

import pytest

from acceptance.core.paths import ROOT
from acceptance.fabric import Facts, adapters
from acceptance.fabric.adapters import of_ucx
from acceptance.fabric.plausibility import LONGEST
from acceptance.fabric.rails import Rails
from tests.needs import requires
from tests.places import PATIENCE
from tests.sysfs import Sysfs

RANK = ROOT / "utils/acceptance/machine/rank.sh"
FACTS = Facts.read({"technology": "infiniband", "rate": "HDR", "lanes": 4, "device": "mlx5_0/1"})
START = "[1795706259.015979] [node1:23787:0]     ucp_worker.c:1763 UCX  INFO  "
#: Without MPI_Finalize, in which MPICH 4.0 over UCX now and then hangs (its pull request 6596):
#: mpirun may end the slower one of the two.
PING = """
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int rank, byte = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) MPI_Send(&byte, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else MPI_Recv(&byte, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    fflush(0);
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0);
}
"""


@requires("mpirun.mpich", "mpicc.mpich", "gcc")
def test_ranks_of_a_real_mpi_say_over_which_interface_they_send(tmp_path):
    (tmp_path / "ping.c").write_text(PING)
    # As IMB-IO, it runs in another folder than the job.
    (tmp_path / "other").mkdir()
    subprocess.run(["mpicc.mpich", "ping.c", "-o", "ping"], cwd=tmp_path, check=True)
    told = {
        "ACCEPTANCE_UCX": "1",
        "ACCEPTANCE_LINKS": "links",
        "ACCEPTANCE_LINK_SCRIPT": os.devnull,
    }
    # As between nodes: no shared memory, and one interface.
    told |= {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "lo"}
    done = subprocess.run(
        ["mpirun.mpich", "-n", "2", "sh", RANK, "env", "-C", "other", "../ping"], cwd=tmp_path,
        env={**os.environ, **told}, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert "UCX" not in done.stdout, done.stderr
    ways = adapters.read(tmp_path / "links", {0: "node1", 1: "node2"}, [])
    assert ways == dict.fromkeys((0, 1), (("lo",), "UCX"))
    assert adapters.text_of(ways) == "lo: ranks 0, 1 (UCX)"


def test_a_long_log_is_read_from_its_start(tmp_path):
    line = f"{START}ep_cfg[1]: tag(tcp/eth1)\n"
    (tmp_path / "0.ucx").write_text(line + "-" * LONGEST)
    assert adapters.read(tmp_path, {0: "node1"}, [])[0][0] == ("eth1",)


@pytest.mark.parametrize(
    "own", [{"UCX_LOG_LEVEL": "warn"}, {"UCX_LOG_FILE": "mine"}], ids=lambda own: next(iter(own))
)
def test_a_site_s_own_log_of_ucx_stays(tmp_path, own):
    told = {"ACCEPTANCE_UCX": "1", "ACCEPTANCE_LINKS": "links", "PMI_RANK": "1"}
    told |= {"MPI_LOCALRANKID": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("UCX")}
    done = subprocess.run(
        ["sh", RANK, "env"], cwd=tmp_path, env=kept | told | own, capture_output=True, text=True
    )
    said = dict(line.split("=", 1) for line in done.stdout.splitlines() if line[:3] == "UCX")
    assert said == own, done.stderr


@pytest.mark.parametrize(
    ("said", "devices"),
    [
        ("ep_cfg[1]: tag(rc_mlx5/mlx5_0:1 rc_mlx5/mlx5_1:1);", ("mlx5_0/1", "mlx5_1/1")),
        ("  0x252d990 inter-node cfg#2 tag(rc_mlx5/mlx5_2:1 cuda_copy/cuda)", ("mlx5_2/1",)),
        ("  ucp_context_0 intra-node cfg#4 tag(sysv/memory cma/memory rc_mlx5/mlx5_3:1)", ()),
        # Of itself and of other processes of the node.
        ("ep_cfg[0]: tag(self/memory0 tcp/eth1) rma(self/memory0)", ()),
        ("ep_cfg[2]: tag(sysv/memory cma/memory tcp/ib1)", ()),
        ("ep_cfg[3]: tag(tcp/ib1) am(tcp/ib0)", ("ib0", "ib1")),
        ("Version 1.13.1 (loaded from /lib/libucp.so.0)", ()),
    ],
)
def test_only_ways_to_other_nodes_count(said, devices):
    assert of_ucx(f"{START}{said}\n") == devices


def rails(node, **moved):
    return Rails(node, {name.replace("__", "/"): count for name, count in moved.items()})


@pytest.mark.parametrize(
    ("ranks", "moved", "told"),
    [
        # One rank a node, or one rail that carried all: the counters tell it.
        (1, {"mlx5_0__1": 10**6, "mlx5_1__1": 10**6}, "mlx5_0/1, mlx5_1/1: rank 0 (counters)"),
        (2, {"mlx5_0__1": 0, "mlx5_1__1": 10**6}, "mlx5_1/1: ranks 0, 1 (counters)"),
        (
            2,
            {"mlx5_0__1": 10**6, "mlx5_1__1": 10**6},
            "not known: ranks 0, 1 (UCX did not say, and 2 ranks of a node share 2 adapters)",
        ),
        (1, {}, "not known: rank 0 (UCX did not say, and no counters tell)"),
    ],
)
def test_without_a_word_of_ucx_counters_tell_it_or_nobody_does(tmp_path, ranks, moved, told):
    of_ranks = dict.fromkeys(range(ranks), "node1")
    ways = adapters.read(tmp_path, of_ranks, [rails("node1", **moved)])
    assert adapters.text_of(ways) == told
    assert [*adapters.judge(tmp_path, of_ranks, ways, FACTS)] == []


def test_a_rank_that_took_another_adapter_than_the_facts_name_fails(tmp_path):
    tree = Sysfs(tmp_path / "made", "node1")
    for number in range(2):
        tree.adapter(f"mlx5_{number}", f"0000:0{number}:00.0")
        tree.port(1, f"mlx5_{number}")
    for when in ("before", "after"):
        (tmp_path / f"node1.{when}").write_text(tree.text())
    for rank in range(2):
        way = f"{START}ep_cfg[1]: tag(rc_mlx5/mlx5_{rank}:1)\n"
        (tmp_path / f"{rank}.ucx").write_text(way)
    ranks = {0: "node1", 1: "node1"}
    ways = adapters.read(tmp_path, ranks, [])
    [found] = adapters.judge(tmp_path, ranks, ways, FACTS)
    assert (found.kind, found.node, found.fails) == ("adapter-other", "node1", True)
    assert found.text == (
        "node1 mlx5_1/1: rank 1 sends to other nodes over it, as UCX says, expected mlx5_0/1"
    )
    both = Facts.read({"technology": "infiniband", "device": "mlx5_0/1,mlx5_1/1"})
    assert [*adapters.judge(tmp_path, ranks, ways, both)] == []
    # Of facts that name none all are meant.
    none = Facts.read({"technology": "infiniband"})
    assert [*adapters.judge(tmp_path, ranks, ways, none)] == []

"""Placement: each cell of the table, held against real launchers, and proof from inside a job."""

import os
import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from acceptance.machine.placement import (
    MAPPINGS,
    PLACEMENTS,
    Layout,
    PlacementFault,
    exported,
    family,
    gpus,
    misplaced,
    no_gpus,
    path,
    pinned,
    place,
    read_ranks,
)
from tests.conftest import needs_wheels
from tests.needs import requires, requires_cores, skip_for, skip_without, why_no_mpi
from tests.places import PATIENCE, ROOT, WHEELS

RANK = ROOT / "utils/acceptance/machine/rank.sh"
LINKS = {
    "ACCEPTANCE_LINKS": "links",
    "ACCEPTANCE_LINK_SCRIPT": str(ROOT / "utils/acceptance/fabric/link.sh"),
}
LAUNCHERS = ("srun", "openmpi", "hydra", "intel-mpi")
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
#: A node of two sockets with four cores each, for launchers that use hwloc.
TWO_SOCKETS = {"HWLOC_SYNTHETIC": "pack:2 core:4 pu:1", "HWLOC_THISSYSTEM": "0"}

INTRA = Layout(4, 4, "intra-node")
SOCKET = Layout(4, 4, "intra-socket")
SOCKETS = Layout(6, 6, "inter-socket")
NODES = Layout(8, 4, "inter-node")
CYCLIC = Layout(8, 4, "inter-node", "cyclic")

needs_openmpi = requires("mpirun.openmpi", "mpicc.openmpi")
needs_mpich = requires("mpirun.mpich", "mpicc.mpich")
needs_two_cores = requires_cores(2)


@pytest.mark.parametrize(
    ("launcher", "layout", "options"),
    [
        ("srun", INTRA, "--distribution=block:block --cpu-bind=cores"),
        ("srun", SOCKET, "--distribution=block:block --cpu-bind=cores"),
        ("srun", SOCKETS, "--distribution=block:block --cpu-bind=cores"),
        ("srun", NODES, "--distribution=block:block --cpu-bind=cores"),
        ("srun", CYCLIC, "--distribution=cyclic:block --cpu-bind=cores"),
        ("openmpi", INTRA, "--map-by core --bind-to core"),
        ("openmpi", SOCKET, "--map-by core --bind-to core"),
        ("openmpi", SOCKETS, "--map-by ppr:3:socket --rank-by slot --bind-to core"),
        ("openmpi", NODES, "--map-by ppr:4:node --rank-by slot --bind-to core"),
        ("openmpi", CYCLIC, "--map-by ppr:4:node --rank-by node --bind-to core"),
        ("hydra", INTRA, "-bind-to core -map-by core"),
        ("hydra", SOCKET, "-bind-to core -map-by core"),
        ("hydra", SOCKETS, "-bind-to core -map-by socket"),
        ("hydra", NODES, "-bind-to core -map-by core -ppn 4"),
        ("hydra", CYCLIC, "-bind-to core -map-by core -ppn 1"),
        ("intel-mpi", INTRA, ""),
        ("intel-mpi", SOCKET, ""),
        ("intel-mpi", SOCKETS, ""),
        ("intel-mpi", NODES, "-ppn 4"),
        ("intel-mpi", CYCLIC, "-ppn 1"),
    ],
)
def test_each_cell_of_the_table(launcher, layout, options):
    assert " ".join(place(launcher, layout)[0]) == options


def test_what_is_told_by_other_means_than_options():
    assert [layout.per_socket for layout in (INTRA, SOCKET, SOCKETS, NODES)] == [
        None, None, 3, None,
    ]  # fmt: skip
    orders = [place("intel-mpi", layout)[1]["I_MPI_PIN_ORDER"] for layout in (SOCKET, SOCKETS)]
    assert orders == ["compact", "spread"]
    told = place("intel-mpi", NODES)[1]
    assert told["I_MPI_JOB_RESPECT_PROCESS_PLACEMENT"] == "0"
    assert "I_MPI_JOB_RESPECT_PROCESS_PLACEMENT" not in place("intel-mpi", INTRA)[1]


def test_the_table_has_no_empty_cell():
    for launcher in LAUNCHERS:
        for placement in PLACEMENTS:
            for mapping in MAPPINGS:
                nodes = 2 if placement == "inter-node" else 1
                assert place(launcher, Layout(2, 2 // nodes, placement, mapping))


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (Layout(4, 4, "inter-node"), "inter-node on 1 nodes"),
        (Layout(4, 2, "intra-socket"), "intra-socket on 2 nodes"),
        (Layout(5, 2, "inter-node", "cyclic"), "cannot be spread evenly"),
        (Layout(3, 3, "inter-socket"), "cannot be halved"),
        (Layout(2, 2, "next-door"), "unknown placement"),
        (Layout(2, 1, "inter-node", "random"), "unknown placement"),
    ],
)
def test_what_makes_no_sense_is_refused(layout, words):
    for launcher in LAUNCHERS:
        with pytest.raises(PlacementFault, match=words):
            place(launcher, layout)


def test_hydra_is_not_asked_for_what_it_cannot_do():
    with pytest.raises(PlacementFault, match="partners never share a socket"):
        place("hydra", Layout(4, 4, "inter-socket"))


def test_the_row_of_a_launcher():
    assert family("srun", "whatever") == "srun"
    assert family("mpirun", "openmpi") == "openmpi"
    assert family("mpiexec", "mpich") == family("mpiexec", "mvapich2") == "hydra"
    assert family("mpirun", "intel-mpi") == "intel-mpi"
    with pytest.raises(PlacementFault, match=r"options are known for mpirun .* 'foo-mpi'"):
        family("mpirun", "foo-mpi")
    with pytest.raises(PlacementFault, match="known for local"):
        family("local", "openmpi")


def test_an_mpi_is_kept_from_binding_ranks_anew():
    assert pinned("mvapich2") == {"MV2_ENABLE_AFFINITY": "0"}
    assert all(pinned(mpi) == {} for mpi in ("openmpi", "mpich", "intel-mpi", "sgi-mpt"))


def test_open_mpi_is_told_to_take_variables_along():
    assert exported("openmpi", ("-a",), {"OMPI_MCA_pml": "ob1", "UCX_TLS": "tcp"}) == [
        "-a", "-x", "UCX_TLS",
    ]  # fmt: skip
    assert exported("hydra", ("-a",), {"UCX_TLS": "tcp"}) == ["-a"]


def test_the_way_inside_a_node():
    mpis = ("openmpi", "mpich", "mvapich2", "intel-mpi")
    assert all(path(mpi, "shared") == {} for mpi in mpis)
    assert path("openmpi", "loopback") == {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"}
    assert path("openmpi", "loopback", "infiniband")["UCX_TLS"] == "ib,self"
    assert path("mpich", "loopback", "roce") == path("mpich", "loopback", "infiniband")
    assert path("mpich", "loopback")["MPIR_CVAR_NOLOCAL"] == "1"
    assert path("mvapich2", "loopback", "infiniband") == {"MV2_USE_SHARED_MEM": "0"}
    assert path("intel-mpi", "loopback") == {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp"}
    assert path("intel-mpi", "loopback", "infiniband") == {"I_MPI_FABRICS": "ofi"}
    with pytest.raises(PlacementFault, match="'foo'"):
        path("foo", "loopback")


def stood(*places):
    """Write the lines that ranks on these (node, CPU, socket) print."""
    return "\n".join(
        f"placement rank={rank} node={node} cpus={cpu} sockets={socket} cores={socket}:{cpu}"
        for rank, (node, cpu, socket) in enumerate(places)
    )


BLOCK = [("a", 0, 0), ("a", 1, 0), ("b", 0, 0), ("b", 1, 0)]
DEALT = [("a", 0, 0), ("b", 0, 0), ("a", 1, 0), ("b", 1, 0)]
ONE = [("a", 0, 0), ("a", 1, 0), ("a", 2, 0), ("a", 3, 0)]
HALVES = [("a", 0, 0), ("a", 1, 0), ("a", 4, 1), ("a", 5, 1)]
TURNS = [("a", 0, 0), ("a", 4, 1), ("a", 1, 0), ("a", 5, 1)]


@pytest.mark.parametrize(
    ("places", "layout", "words"),
    [
        (BLOCK, Layout(4, 2, "inter-node"), None),
        (DEALT, Layout(4, 2, "inter-node", "cyclic"), None),
        (ONE, Layout(4, 4, "intra-node"), None),
        (HALVES, Layout(4, 4, "intra-node"), None),
        (ONE, Layout(4, 4, "intra-socket"), None),
        (HALVES, Layout(4, 4, "inter-socket"), None),
        (DEALT, Layout(4, 2, "inter-node"), "mapping block puts rank 1 on a, it stood on b"),
        (BLOCK, Layout(4, 2, "inter-node", "cyclic"), "cyclic puts rank 1 on b, it stood on a"),
        (ONE, Layout(4, 2, "inter-node"), "2 ranks on each of 2 nodes, had 4 on a"),
        (BLOCK, Layout(4, 4, "intra-node"), "4 ranks on each of 1 nodes, had 2 on a, 2 on b"),
        (HALVES, Layout(4, 4, "intra-socket"), "ranks 0 and 2 stood on different sockets"),
        (ONE, Layout(4, 4, "inter-socket"), "ranks 0 and 2 stood on one socket"),
        (TURNS, Layout(4, 4, "inter-socket"), "ranks 0 and 2 stood on one socket"),
        ([*HALVES[:3], ("a", 3, 0)], Layout(4, 4, "inter-socket"), "1 and 3 stood on one socket"),
        (ONE[:3], Layout(4, 4, "intra-node"), r"3 ranks reported .* \(0, 1, 2\), not 4"),
        ([], Layout(4, 4, "intra-node"), r"0 ranks reported .* \(none\), not 4"),
        ([*ONE[:3], ("a", 0, 0)], Layout(4, 4, "intra-node"), "ranks 0 and 3 shared the core 0:0"),
        (BLOCK[:3], Layout(3, 2, "inter-node"), None),
        ([BLOCK[0], *BLOCK[2:]], Layout(3, 2, "inter-node"), None),
        (DEALT[:3], Layout(3, 2, "inter-node"), "block puts rank 1 on a, it stood on b"),
        ([*ONE[:3], *BLOCK[2:]], Layout(5, 2, "inter-node"), "had 3 on a, 2 on b"),
        ([*BLOCK[:3], ("c", 0, 0)], Layout(4, 2, "inter-node"), "had 2 on a, 1 on b, 1 on c"),
    ],
)
def test_ranks_are_held_against_what_was_asked(places, layout, words):
    found = misplaced(read_ranks(stood(*places)), layout)
    if words is None:
        assert found == []
    else:
        assert len(found) == 1
        assert re.search(words, found[0])


def test_a_rank_that_may_wander_is_bound_to_no_socket():
    text = "placement rank=0 node=a cpus=0-7 sockets=0,1 cores=0:0,1:0\n" + stood(ONE[0]).replace(
        "rank=0", "rank=1"
    )
    (found,) = misplaced(read_ranks(text), Layout(2, 2, "intra-socket"))
    assert found == "rank 0 on a is bound to no one socket: CPUs 0-7"
    assert misplaced(read_ranks(text), Layout(2, 2, "intra-node")) == []


def test_a_rank_that_told_twice_is_noticed():
    (found,) = misplaced(read_ranks(stood(*ONE) + "\n" + stood(*ONE)), Layout(4, 4, "intra-node"))
    assert found.startswith("8 ranks reported where they stood (0, 0, 1, 1")


@pytest.mark.parametrize(
    "line",
    [
        "placement rank= node=a cpus=0 sockets=0 cores=0:0",
        "placement rank=0 node=a cpus=0 sock",
        "placement rank=0 node=a cpus=0 sockets=0 cores=0:0placement",
    ],
)
def test_a_line_that_is_cut_is_refused_with_its_number(line):
    with pytest.raises(ValueError, match=r"job\.err:2: no rank's place"):
        read_ranks("a warning of the MPI\n" + line, "job.err")


def launch(command, program, environment=None):
    done = subprocess.run(
        [*command, *program],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **AS_ROOT, **(environment or {})},
    )
    assert done.returncode == 0, done.stderr
    return done


def own(name):
    """Return the launcher of an MPI that is here."""
    return shutil.which(f"mpirun.{name}") or f"mpirun.{name}"


@needs_two_cores
@pytest.mark.parametrize("mpi", ["openmpi", "mpich", "intel-mpi"])
def test_real_ranks_stand_where_they_were_put(mpi):
    skip_for(why_no_mpi(mpi))
    environment = {}
    if mpi == "intel-mpi":
        launcher = str(WHEELS / "bin/mpiexec")
        environment = {"I_MPI_ROOT": str(WHEELS), "LD_LIBRARY_PATH": str(WHEELS / "lib")}
    else:
        launcher = own(mpi)
    for placement in ("intra-node", "intra-socket"):
        layout = Layout(2, 2, placement)
        asked, variables = place(family("mpiexec", mpi), layout)
        done = launch(
            [launcher, "-n", "2", *asked],
            ["sh", str(RANK), "sh", "-c", "echo ran"],
            {**environment, **variables},
        )
        assert done.stdout.split() == ["ran", "ran"]
        assert misplaced(read_ranks(done.stderr), layout) == []
    # The same two ranks are not where another placement would have them.
    assert misplaced(read_ranks(done.stderr), Layout(2, 2, "inter-socket"))
    assert misplaced(read_ranks(done.stderr), Layout(2, 1, "inter-node"))


@needs_openmpi
@pytest.mark.parametrize(
    ("layout", "cores"),
    [
        (INTRA, [0, 1, 2, 3]),
        (SOCKET, [0, 1, 2, 3]),
        (Layout(4, 4, "inter-socket"), [0, 1, 4, 5]),
        (SOCKETS, [0, 1, 2, 4, 5, 6]),
    ],
)
def test_open_mpi_maps_a_node_of_two_sockets_like_this(layout, cores):
    done = subprocess.run(
        [own("openmpi"), "-n", str(layout.processes), "--host", "localhost:8", "--do-not-launch",
         "--display-map", *place("openmpi", layout)[0], "true"],
        capture_output=True, text=True, timeout=PATIENCE,
        env={**os.environ, **AS_ROOT, **TWO_SOCKETS},
    )  # fmt: skip
    assert [int(n) for n in re.findall(r"Bound: socket \d\[core (\d)", done.stdout)] == cores


@needs_mpich
@pytest.mark.parametrize(
    ("layout", "cores"),
    [(SOCKET, [0, 1, 2, 3]), (Layout(2, 2, "inter-socket"), [0, 4]), (SOCKETS, [0, 4, 1, 5, 2, 6])],
)
def test_hydra_maps_a_node_of_two_sockets_like_this(layout, cores):
    done = launch(
        [own("mpich"), "-n", str(layout.processes), *place("hydra", layout)[0]],
        ["true"],
        {**TWO_SOCKETS, "HYDRA_TOPO_DEBUG": "1"},
    )
    masks = dict(re.findall(r"process (\d) binding: ([01]+)", done.stdout + done.stderr))
    assert [masks[str(rank)].index("1") for rank in range(layout.processes)] == cores


def test_the_status_of_the_program_is_that_of_the_rank():
    for links in ({}, LINKS):
        done = subprocess.run(
            ["sh", str(RANK), "sh", "-c", "exit 3"],
            capture_output=True, text=True, env={**os.environ, **links, "SYSFS": "/nowhere"},
            cwd=os.environ.get("TMPDIR", "/tmp"),
        )  # fmt: skip
        assert done.returncode == 3


def say_of(folder, cpus, allowed, shell=("sh",), **environment):
    """Return what rank.sh says on a node of CPUs (socket, core, siblings), some of them allowed."""
    for cpu, (socket, core, siblings) in enumerate(cpus):
        topology = folder / f"sys/devices/system/cpu/cpu{cpu}/topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text(f"{socket}\n")
        (topology / "core_id").write_text(f"{core}\n")
        if siblings:
            (topology / "thread_siblings_list").write_text(f"{siblings}\n")
    status = folder / "status"
    status.write_text(
        f"Name:\tsh\nCpus_allowed:\tff\nCpus_allowed_list:\t{allowed}\nMems_allowed:\t1\n"
    )
    done = subprocess.run(
        [*shell, str(RANK), "true"],
        capture_output=True, text=True,
        env={"PATH": os.environ["PATH"], "PMI_RANK": "5", "SYSFS": str(folder / "sys"),
             "STATUS": str(status), **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (rank,) = read_ranks(done.stderr)
    assert (rank.rank, rank.cpus) == (5, allowed)
    return rank


def test_sockets_and_cores_come_from_the_topology_of_the_node(tmp_path):
    cpus = [(0, 0, ""), (0, 1, ""), (1, 0, ""), (1, 1, ""), (0, 0, "")]
    rank = say_of(tmp_path, cpus, "0,2-4")
    assert rank.sockets == {"0", "1"}
    assert rank.cores == {"0:0", "1:0", "1:1"}


@pytest.mark.parametrize("locale", ["C", "tr_TR.UTF-8", "none"])
@pytest.mark.parametrize(
    "shell", [["sh"], ["dash"], ["bash", "--posix"], ["busybox", "ash"]], ids=" ".join
)
def test_a_core_is_what_its_threads_share_in_every_shell(tmp_path, shell, locale):
    skip_without(shell[0])
    # Two dies, each of which has a core 0 and a core 1; the threads of a core lie apart.
    dies = [(0, 0, "0,4"), (0, 1, "1,5"), (0, 0, "2,6"), (0, 1, "3,7")] * 2
    where = {"LC_ALL": locale, "IFS": "0", "CDPATH": "/"}
    rank = say_of(tmp_path / "apart", dies, "0,2,4-6", shell, **where)
    assert rank.cores == {"0:0", "0:2", "0:1"}
    # ... or side by side.
    pairs = [(0, 0, "0-1"), (0, 0, "0-1"), (1, 0, "2-3"), (1, 0, "2-3")]
    rank = say_of(tmp_path / "pairs", pairs, "1-3", shell, **where)
    assert (rank.sockets, rank.cores) == ({"0", "1"}, {"0:0", "1:2"})


def test_a_machine_that_does_not_tell_its_sockets_has_cores(tmp_path):
    rank = say_of(tmp_path, [(-1, -1, "")] * 2, "0-1")
    assert (rank.sockets, rank.cores) == ({"?"}, {"?:0", "?:1"})
    found = misplaced([replace(rank, rank=0)], Layout(1, 1, "intra-socket"))
    assert found == [f"rank 0 on {rank.node} is bound to no one socket: CPUs 0-1"]


def test_ranks_on_dies_of_a_socket_share_no_core_and_threads_do(tmp_path):
    dies = [(0, 0, "0,2"), (0, 0, "1,3")] * 2
    zero, one, two = (say_of(tmp_path / str(cpu), dies, str(cpu)) for cpu in (0, 1, 2))
    layout = Layout(2, 2, "intra-socket")
    assert misplaced([replace(zero, rank=0), replace(one, rank=1)], layout) == []
    (found,) = misplaced([replace(zero, rank=0), replace(two, rank=1)], layout)
    assert found.startswith("ranks 0 and 1 shared the core 0:0 of ")


def test_a_node_without_the_program_hostname_has_a_name(tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("uname", "true"):
        (tools / name).symlink_to(shutil.which(name))
    done = subprocess.run(
        [shutil.which("sh"), str(RANK), "true"],
        capture_output=True, text=True, env={"PATH": str(tools), "PMI_RANK": "0"},
    )  # fmt: skip
    (rank,) = read_ranks(done.stderr)
    assert rank.node == os.uname().nodename


@pytest.mark.parametrize(
    ("local", "said"),
    [
        ({"OMPI_COMM_WORLD_LOCAL_RANK": "0", "SLURM_LOCALID": "1"}, True),
        ({"OMPI_COMM_WORLD_LOCAL_RANK": "1", "SLURM_LOCALID": "0"}, False),
        ({"MPI_LOCALRANKID": "1"}, False),
        ({"MV2_COMM_WORLD_LOCAL_RANK": "1"}, False),
        ({"SLURM_LOCALID": "1"}, False),
        ({}, True),
    ],
)
def test_the_first_rank_of_a_node_tells_of_its_links(tmp_path, local, said):
    (tmp_path / "sys/class/net").mkdir(parents=True)
    done = subprocess.run(
        ["sh", str(RANK), "sh", "-c", "ls links 2>/dev/null || :"],
        capture_output=True, text=True, cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "SYSFS": str(tmp_path / "sys"), "PMI_RANK": "3",
             **LINKS, **local},
    )  # fmt: skip
    node = os.uname().nodename
    # While the program runs there is one reading, after it there are two.
    assert done.stdout.split() == [f"{node}.before"] * said
    found = sorted(path.name for path in tmp_path.glob("links/*"))
    assert found == [f"{node}.after", f"{node}.before"] * said


@needs_wheels
def test_links_are_read_before_and_after_by_one_rank_of_a_node(tmp_path):
    done = subprocess.run(
        [str(WHEELS / "bin/mpiexec"), "-n", "2", "sh", str(RANK), "true"],
        capture_output=True, text=True, timeout=PATIENCE, cwd=tmp_path,
        env={**os.environ, **LINKS, "I_MPI_ROOT": str(WHEELS),
             "LD_LIBRARY_PATH": str(WHEELS / "lib")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    node = read_ranks(done.stderr)[0].node
    assert sorted(path.name for path in (tmp_path / "links").iterdir()) == [
        f"{node}.after", f"{node}.before",
    ]  # fmt: skip
    assert (tmp_path / "links" / f"{node}.before").read_text().splitlines()[-1].split()[1] == "end"


@pytest.mark.parametrize(
    ("mpi", "kind", "variables"),
    [
        ("mvapich2", "cuda", {"MV2_USE_CUDA": "1"}),
        ("mvapich2", "rocm", {"MV2_USE_ROCM": "1"}),
        ("intel-mpi", "cuda", {"I_MPI_OFFLOAD": "1"}),
        ("openmpi", "cuda", {}),
    ],
)
def test_an_mpi_is_told_of_gpus_where_it_has_to_be(mpi, kind, variables):
    assert gpus(mpi, kind) == variables


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("Invalid option [-d]", "the program has no ROCM: build it with that (packages.yaml of "
         "the site: require: +rocm)"),
        ("ROCm Support Not Enabled\nPlease recompile", "the program has no ROCM: "),
        ("Benchmark Does Not Support Accelerator Transfers [-d rocm]", "the program has no ROCM: "),
        ("Neither CUDA nor Level Zero is available! ", "the program finds no libcudart.so: "),
        ("[f.c:3] ROCM call 'hipSetDevice(0)' failed with 100", "the job cannot use them: "),
        ("ERROR: 0x64 returned from cuda_proxy.cudaMalloc(&buf, size)", "the job cannot use them"),
        ("", "its MPI may take no messages from them: Open MPI says so in "
         "mpi_built_with_rocm_support"),
    ],
)  # fmt: skip
def test_why_a_program_used_no_gpus(said, why):
    assert no_gpus(said, "rocm").startswith(why)


@pytest.mark.parametrize(
    ("rank", "visible", "gpus"),
    [("0", "", "0,1,2,3"), ("1", "", "1,2,3,0"), ("3", "", "3,0,1,2"), ("1", "5,7", "7,5"),
     ("1", "4", "4")],
)  # fmt: skip
def test_each_rank_of_a_node_has_another_gpu_first(rank, visible, gpus):
    done = subprocess.run(
        ["sh", str(RANK), "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"],
        capture_output=True, text=True, check=True,
        env={"PATH": os.environ["PATH"], "PMI_RANK": "9", "MPI_LOCALRANKID": rank,
             "ACCEPTANCE_GPUS": "4", "CUDA_VISIBLE_DEVICES": visible},
    )  # fmt: skip
    assert done.stdout == f"{gpus}\n"

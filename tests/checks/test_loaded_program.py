"""`patterns loaded` of `checks/src/patterns`: real runs, and what load does where it is known.

Bandwidths suffer in a simulation, where links are shared and do not queue; latencies between
namespaces, whose uplink has a queue.
"""

import subprocess
from dataclasses import replace

import pytest

from acceptance.fabric import Facts
from acceptance.machine import Layout
from acceptance.nodes import under_load
from acceptance.simulation import Platform, SimulatedRun, Tree, write
from acceptance.suites.loaded import LOADS, Measured
from tests import netns, patterns_program
from tests.needs import requires, skip_for
from tests.patterns_program import MPIS, build, environment, run
from tests.places import PATIENCE

SHORT = ("--cycles", "1", "--time", "1", "--bytes", "4k", "--load-bytes", "4k")
NODES = 16
#: What an MPI leaves allocated is not ours.
NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}


@pytest.fixture(scope="module")
def program():
    return build("openmpi", "SANITIZE=1")


@pytest.mark.parametrize("name", MPIS)
def test_two_of_four_nodes_measure_beside_the_others_with_each_mpi(program, name):
    made = program if name == "openmpi" else build(name)
    done = run(name, made, 4, "loaded", *SHORT, **NO_LEAKS)
    assert done.returncode == 0, done.stderr
    measured = Measured(done.stdout, ranks=4)
    first, second = measured.victims
    assert (first // 2, second // 2) == (0, 1)
    assert len(measured.windows) == len(measured.loads)
    assert all(times.counts.sum() for times in measured.histograms.values())
    assert all(measured.load_rate(load) > 0 for load in measured.loads[2:])
    assert under_load(measured).metrics


def test_of_five_nodes_one_is_idle_in_each_half_and_no_memory_is_misused(program):
    """By this seed it is the first victim."""
    options = (*SHORT[:-2], "--load-bytes", "100k", "--seed", "6")
    done = run("openmpi", program, 5, "loaded", *options, **NO_LEAKS)
    assert (done.returncode, done.stderr) == (0, "")
    measured = Measured(done.stdout, ranks=5)
    assert len(measured.victims) + len(measured.aggressors) == 5
    assert len(measured.victims) == 3
    assert measured.victims[0] in (measured.rings[0][0], measured.rings[0][-1])
    assert sum(value is None for value in measured.windows[0].latency_us) == 2


def test_ranks_of_a_node_are_on_one_side(program):
    done = run("openmpi", program, 8, "loaded", "--ranks", "2", *SHORT, **NO_LEAKS)
    assert done.returncode == 0, done.stderr
    measured = Measured(done.stdout, ranks=8)
    assert len(measured.nodes) == 4
    assert sorted(measured.rings[0]) == [2 * v + k for v in measured.victims for k in (0, 1)]


def test_a_load_that_ends_before_the_victims_is_told(program):
    done = run(
        "openmpi", program, 4, "loaded", *SHORT, "--time", "20", "--limit", "0.001", **NO_LEAKS
    )
    assert done.returncode == 0, done.stderr
    assert '"cut":1' in done.stdout
    with pytest.raises(ValueError, match=r"the load ended after .*a longer --limit"):
        Measured(done.stdout)


def test_wrong_data_are_named(program):
    for victim in (0, 1):  # one of both
        done = run(
            "openmpi",
            program,
            4,
            "loaded",
            *SHORT,
            PATTERNS_TEST_CORRUPT=f"{victim}:5:1",
            **NO_LEAKS,
        )
        if done.returncode:
            break
    assert f"message of 8 bytes from rank {victim} in phase" in done.stderr
    assert "is wrong from byte 5 on" in done.stderr
    assert '"end"' not in done.stdout


@pytest.mark.parametrize(
    ("ranks", "options", "fault"),
    [
        (3, (), "loaded requires at least 4 ranks, there is 3"),
        (4, ("--ranks", "2"), "--ranks 2: 4 ranks are not those of four nodes or more"),
        (4, ("--share", "1"), "--share '1': requires a number from 0.1 to 0.9"),
    ],
)
def test_what_cannot_be_divided_is_refused(program, ranks, options, fault):
    done = run("openmpi", program, ranks, "loaded", *options, **NO_LEAKS)
    assert done.returncode != 0
    assert fault in done.stderr


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Return what load does on two fat trees of two nodes a leaf, by the uplinks of a leaf.

    One victim and one aggressor stand on each leaf; its uplink carries so many times what the cable
    of a node does: 2 is full bisection, 1 a half of that.
    """
    folder, facts = tmp_path_factory.mktemp("smpi"), Facts("infiniband", rate="QDR", lanes=4)
    command = ["make", "-C", patterns_program.SOURCES, "MPICC=smpicc", f"BUILD={folder}"]
    subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
    found = {}
    for uplinks in (1, 2):
        platform = Platform.of(facts, NODES, tree=Tree(2, 1))
        links = (
            replace(link, bandwidth=uplinks * link.bandwidth) if "-up" in link.name else link
            for link in platform.links
        )
        platform = replace(platform, links=(*links,))
        write(folder, SimulatedRun.of(facts, platform, Layout(NODES, 1, "inter-node")))
        launch = ["smpirun", "-platform", "platform.xml", "-hostfile", "ranks.hosts", "-np", NODES]
        options = ["--cfg=smpi/test:1e-7", folder / "patterns", "loaded", "--cycles", 4]
        done = subprocess.run(
            [*map(str, (*launch, *options, "--time", 0.3))],
            cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found[uplinks] = Measured(done.stdout, ranks=NODES)
    return found


@requires("smpirun")
def test_bandwidths_suffer_on_half_the_uplinks_as_by_formula_and_not_on_all(simulated):
    """With f flows of aggressors on an uplink that it fills a victim's has 1/(1 + f) of it.

    An all-to-all of N has N - 1 at once. Of an incast and a get all go over the uplink of the first
    aggressor: the former has as many as are received at once, 32, the latter 8 of each. Loads pause
    between steps, so that it is a little less.
    """
    full, half = simulated[2], simulated[1]
    for each in under_load(full).effects:
        if each.quantity == "exchange" and each.statistic == "mean":
            assert each.factor == pytest.approx(1.0, abs=0.005)
    aggressors = len(half.aggressors)
    found = under_load(half)
    # The victim of the leaf that the first aggressor is on; an all-to-all is on all uplinks.
    worst = {load: max(found.nodes, key=lambda row: row.of(load, "exchange")) for load in LOADS}
    for load, flows in {
        "alltoall": aggressors - 1,
        "incast": 32,
        "get": 8 * (aggressors - 1),
    }.items():
        factor = worst[load].of(load, "exchange")
        assert 0.7 * (1 + flows) < factor <= 1 + flows, load
    (alltoall,) = (e for e in found.effects if e.load == "alltoall"
                   and (e.quantity, e.statistic) == ("exchange", "mean"))  # fmt: skip
    assert 0.8 * aggressors < alltoall.low <= alltoall.high <= aggressors
    assert worst["incast"].name == worst["get"].name
    named = {each.nodes for each in found.suffering if each.quantity == "exchange"}
    assert named == {(worst["incast"].name,)}
    # A fluid model: what is small waits for nobody.
    assert all(e.factor < 1.3 for e in found.effects if e.quantity == "latency" and e.factor)


@requires("smpirun")
def test_no_load_is_none_in_a_simulation(simulated):
    for measured in simulated.values():
        for each in under_load(measured).effects:
            if each.load == "nothing" and each.factor:
                assert each.factor == pytest.approx(1.0, abs=0.005)


def test_latencies_suffer_behind_an_uplink_with_a_queue(program, tmp_path):
    """Two nodes at each of two switches, joined by 100 Mb/s with a queue of 50 ms.

    What a busy machine makes of no load is far less than what such a queue does.
    """
    skip_for(netns.why_not())
    names = tuple(f"node{number}" for number in range(1, 5))
    # Open MPI 4.1 has one way to read memory of others over TCP.
    options = ("loaded", "--cycles", "1", "--time", "30", "--bytes", "4k", "--load-bytes", "128k")
    with (
        netns.Pair(tmp_path, names) as nodes,
        nodes.behind_uplink("node3", "node4", rate="100mbit", queue="50ms"),
    ):
        done = subprocess.run(
            [MPIS["openmpi"].launcher, "-x", "ASAN_OPTIONS", "-n", "4", program, *options],
            env={**environment("openmpi"), **nodes.variables("openmpi"),
                 "OMPI_MCA_osc": "pt2pt", **NO_LEAKS},
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    measured = Measured(done.stdout, ranks=4)
    assert measured.nodes == names
    assert sorted(node // 2 for node in measured.victims) == [0, 1]
    factors = {
        each.load: each.factor
        for each in under_load(measured).effects
        if (each.quantity, each.statistic) == ("latency", "mean")
    }
    assert max(factors[load] for load in LOADS) > 2 * factors["nothing"], factors

"""All pairs with the routes of a simulated fabric around them: the cable is named."""

import os
import re
from types import SimpleNamespace

import numpy as np
import pytest

from acceptance.core import state_files
from acceptance.fabric import Facts, stored
from checks import whole_fabric
from checks.fabric_routes import AFTER, BEFORE, ROUNDS, FabricRoutes
from tests import ibsim, made_matrices, needs, netns
from tests import stored as results
from tests.needs import skip_for
from tests.routed import Routed

NAMES = ("node0001", "node0002", "node0003", "node0004")
FACTS = {"technology": "infiniband", "rate": "HDR", "lanes": 4, "view": "here"}
#: The first rank leaves the file, and says what it was asked for.
PROGRAM = """\
#!/bin/sh
[ "$OMPI_COMM_WORLD_RANK" != 0 ] || {{ cp {folder}/made.txt all-pairs.txt; echo "$@"; }}
"""


@pytest.fixture(scope="module")
def four_nodes(tmp_path_factory):
    skip_for(netns.why_no_open_mpi())
    with netns.Pair(tmp_path_factory.mktemp("routes"), NAMES) as pair:
        yield pair


def made(routed, matrix):
    """Return what the program writes for a matrix of all pairs."""
    count = len(matrix.nodes)
    records = []
    for shift in range(1, count):
        values = [matrix.values["bandwidth"][i, (i + shift) % count] for i in range(count)]
        values = [round(float(value), 1) for value in values]
        records.append({"type": "round", "number": shift, "latency_us": [3.0] * count,
                        "bandwidth_MBps": values, "both_MBps": values})  # fmt: skip
    return made_matrices.written(matrix.nodes, records, count - 1)


def programs(fabric, folder):
    """Write the programs of infiniband-diags anew: each looks at the simulated fabric."""
    folder.mkdir()
    socket = fabric.environment["IBSIM_SOCKNAME"]
    known = (
        "ibnetdiscover",
        "iblinkinfo",
        "ibqueryerrors",
        "dump_fts",
        "dump_lfts.sh",
        "dump_lfts",
    )
    for name in (name for name in known if needs.find(name)):
        real = needs.find(name)
        (folder / name).write_text(
            f'#!/bin/sh\nLD_PRELOAD={ibsim.PRELOADED} IBSIM_SOCKNAME={socket} exec {real} "$@"\n'
        )
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def tree():
    return ibsim.fat_tree(4, 2, 4)


@pytest.fixture(scope="module")
def fabric(tree):
    with ibsim.Fabric(tree.net) as fabric:
        yield fabric


@pytest.fixture
def measure(site, four_nodes, fabric, tmp_path, monkeypatch):
    """Return what runs the check on four nodes of a fabric, with a slow cable or none."""

    def measure(*options, slow=0.4):
        folder = programs(fabric, tmp_path / "bin")
        path = f"{folder}:{site.variables()['PATH']}"
        monkeypatch.setitem(site.environment, "PATH", path)
        routed = Routed.of(fabric, tmp_path / "reading")
        # From leaf to spine; so few nodes have the same routes from there to the other leaf.
        first, second = (int(step) // 2 for step in routed.routes.steps[0, 2, 1:3])
        measure.cables = [
            routed.topology.link_text(routed.routes.links[each]) for each in (first, second)
        ]
        slow = {int(routed.routes.steps[0, 2, 1]): slow}
        matrix = routed.matrix(slow, noise=0.01)
        (tmp_path / "made.txt").write_text(made(routed, matrix))
        (tmp_path / "patterns").write_text(PROGRAM.format(folder=tmp_path))
        (tmp_path / "patterns").chmod(0o755)
        environment = four_nodes.environment("openmpi")
        environment["features"].append("patterns")
        environment["extras"]["suites"] = {"patterns": str(tmp_path)}
        four_nodes.join(site, environment, fabric=FACTS)
        run = site.reframe("-c", "checks/all_pairs.py", "-r", *options)
        _, verdict = site.gate()
        assert verdict["selected"] == 1, run.output
        (case,) = results.session(site.database).cases
        return case, verdict

    return measure


def test_the_cable_behind_slow_pairs_is_named_everywhere(measure, site):
    case, verdict = measure("--mode=acceptance")
    assert case.result == "fail"
    cable, other = measure.cables
    if f"{cable}: the" not in case.fail_reason:
        cable, other = other, cable
    assert f"{cable}: the bandwidth is 0." in case.fail_reason
    assert f"as likely: {other}" in case.fail_reason
    assert "trained at 4x HDR" in case.fail_reason
    kinds = [problem["kind"] for problem in verdict["problems"]]
    assert "cable-slow" in kinds
    assert verdict["problems"][kinds.index("cable-slow")]["place"] == [
        "pair:default", *cable.split(" - "), "openmpi", "bandwidth",
    ]  # fmt: skip
    assert case.all_pairs["uncrossed"] == []
    assert case.all_pairs["unrouted"] == ""
    kept = sorted(path.parent.name for path in site.var.rglob("ibnetdiscover.out"))
    assert kept.count("routes-before") == kept.count("routes-after") == 2  # stage and output
    text = re.sub(r"\s+", " ", site.acceptance("gate").output)
    assert f"over all {case.all_pairs['links']} cables of their routes" in text


def test_pairs_that_cross_every_cable_are_chosen_by_the_names_of_nodes(
    fabric, tmp_path, monkeypatch
):
    """Where the nodes are known before the job runs, as those of Slurm are."""
    monkeypatch.setattr(whole_fabric, "var_folder", lambda: tmp_path)
    monkeypatch.setenv("PATH", f"{programs(fabric, tmp_path / 'bin')}:{os.environ['PATH']}")
    routes = FabricRoutes.__new__(FabricRoutes)
    routes.case = SimpleNamespace(
        np=4, current_partition=None, simulated=None, pinned_nodes=lambda _: NAMES
    )
    routes.facts, routes.why = Facts.read(FACTS), ""
    routes.folder = tmp_path
    routes.read_before()
    assert routes.choose()
    rounds = (tmp_path / ROUNDS).read_text().split("\n\n")
    pairs = [tuple(line.split()) for members in rounds for line in members.splitlines()]
    assert {name for pair in pairs for name in pair} == {*NAMES}
    ways = routes.ways(NAMES)
    assert (routes.why, ways.unlooked) == ("", "")
    place = {name: number for number, name in enumerate(NAMES)}
    measured = np.zeros((4, 4), dtype=bool)
    for one, other in pairs:
        measured[place[one], place[other]] = True
    assert ways.uncrossed(measured) == ()
    # How far nodes are from each other is known from the fabric as it was read last.
    state = stored.State(0.0, None, fabric=stored.Kept.of(ways.topology))
    state_files.write(stored.state_path(tmp_path, "made"), state)
    assert whole_fabric.hops_of(NAMES[:2]) == "2"
    assert whole_fabric.hops_of(NAMES[1:3]) == "4"
    assert whole_fabric.hops_of(NAMES) == "2..4"
    assert whole_fabric.hops_of(("stranger", *NAMES)) == ""
    # A stranger among the nodes, and nothing is chosen.
    routes.case.pinned_nodes = lambda _: ("stranger", *NAMES[1:])
    assert not routes.choose()


def test_routes_that_change_meanwhile_name_no_cable(fabric, tmp_path, monkeypatch):
    monkeypatch.setattr(whole_fabric, "var_folder", lambda: tmp_path)
    monkeypatch.setenv("PATH", f"{programs(fabric, tmp_path / 'bin')}:{os.environ['PATH']}")
    routes = FabricRoutes.__new__(FabricRoutes)
    routes.case = SimpleNamespace(np=4, current_partition=None, simulated=None)
    routes.facts, routes.why, routes.folder = Facts.read(FACTS), "", tmp_path
    routes.look(BEFORE)
    table = tmp_path / BEFORE / "dump_lfts.out"
    parts = table.read_text().split("Unicast")
    away = [re.sub(r"(?m)^(0x\w+) 00[3-6] :", r"\1 004 :", part) for part in parts]
    table.write_text("Unicast".join(away))
    assert routes.ways(NAMES) is None
    assert routes.why == "the routes changed while it measured"
    (tmp_path / AFTER / "dump_lfts.status").write_text("late\n")
    monkeypatch.setattr(routes, "look", lambda folder: None)
    routes.why = ""
    assert routes.ways(NAMES) is None
    assert "dump_lfts: it did not end in time" in routes.why

"""`acceptance fabric` on simulated fabrics, live and from stored readings."""

import re
import shutil

import pytest

from acceptance.fabric import outputs
from tests.ibsim import Fabric, fat_tree
from tests.needs import requires

HEALTHY = """\
nodes       16 nodes with 16 adapters
switches    6: 4 leaf, 2 spine
links       24: host-leaf 16 (16 4xHDR), leaf-spine 8 (8 4xHDR); switch ports without: 12 Polling
carries     oversubscription 2:1, bisection 800 Gb/s, all pairs at most 12,500 MB/s a host, alltoall
            at most 15,625 MB/s a host

accepted    never: acceptance fabric accept --reason TEXT
deviates    nothing
note        cables: nothing accepted yet: a lost cable cannot be told from a free port
note        counters: the first reading: how fast errors rise is judged from the next one on
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Return what stores readings of a tree."""

    def store(tree, manager=True, **views):
        folder = tmp_path_factory.mktemp("readings")
        with Fabric(tree.net, manager=manager) as fabric:
            for name, at in (views or {"1": ""}).items():
                if views:
                    fabric.manage(at)
                done = fabric.run("sh", outputs.SCRIPT, folder / name, SIM_HOST=at)
                assert not done.stderr
        return folder

    return store


@pytest.fixture(scope="module")
def large(stored):
    """1,024 nodes with three faults: a host's link, an uplink, and an uplink that is gone."""
    tree = fat_tree(1024, 32, 16)
    tree.train(("node0012", 1), "2xHDR")
    tree.train(("leaf02", 40), "1xHDR")
    tree.unplug(("leaf07", 48))
    return stored(tree)


def test_a_healthy_fabric_live(site):
    with Fabric(fat_tree().net) as fabric:
        # As on a machine on which nothing but the adapter is special.
        environment = {key: fabric.environment[key] for key in ("IBSIM_SOCKNAME", "LD_PRELOAD")}
        result = site.acceptance("fabric", **environment)
    assert (result.status, result.errors) == (0, "")
    assert result.output.partition("\n")[2] == HEALTHY


def test_a_large_fabric_is_a_page(site, large):
    result = site.acceptance("fabric", "--from", large)
    assert (result.status, result.errors) == (1, "")
    assert len(result.output.splitlines()) < 24
    assert "switches    48: 32 leaf, 16 spine" in result.output
    assert "host-leaf 1024 (1023 4xHDR, 1 2xHDR), leaf-spine 511 (510 4xHDR, 1 1xHDR)" in (
        " ".join(result.output.split())
    )
    assert "leaf07: 15 uplinks, expected 16, as most leaves of its kind have" in result.output
    for line in (
        "node0012[1] - leaf01[12]: width 2x, expected 4x",
        "leaf02[40] - spine08[2]: width 1x, expected 4x",
    ):
        assert line in result.output


def test_as_data_and_as_a_graph(site, large):
    data = site.acceptance("fabric", "--from", large, "--format", "json").data
    (fabric,) = data["fabrics"]
    assert (len(fabric["devices"]), len(fabric["links"])) == (1072, 1535)
    assert [each["device"] for each in data["deviations"] if each["fails"]][:2] == [
        "node0012[1] - leaf01[12]",
        "leaf02[40] - spine08[2]",
    ]
    graph = site.acceptance("fabric", "--from", large, "--format", "dot").output
    assert graph.startswith("graph fabric {\n")
    red = [line for line in graph.splitlines() if 'color="red"' in line]
    assert [re.findall('label="(.*?)"', line)[0] for line in red] == ["2xHDR", "1xHDR"]
    assert graph.count(" -- ") == 511 + 1


def test_each_rail_is_a_fabric_of_its_own(site, stored):
    tree, other = fat_tree(8, 2, 2), fat_tree(4, 2, 1)
    for device, guid in other.guids.items():
        tree.add(f"{device}b", guid + 0x1000000, other.ports[device], f"{other.names[device]}b")
    for (one, port), ((far, at), trained) in other.cables.items():
        tree.plug((f"{one}b", port), (f"{far}b", at), trained)
    folder = stored(tree, manager=False, a="node0001 mlx5_0", b="node0001 mlx5_0b")
    result = site.acceptance("fabric", "--from", folder)
    assert (result.status, result.errors) == (0, "")
    assert result.output.count("read  ") == 2
    first, second = result.output.split("the fabric of ")[1:]
    assert first.startswith("leaf01, leaf02, ... (2 more)")
    assert "bisection 400 Gb/s" in first
    assert second.startswith("leaf01b, leaf02b, ... (1 more)")
    assert "bisection 200 Gb/s" in second


def test_a_cable_that_was_moved_between_two_readings_is_told_in_a_line(site, stored, tmp_path):
    tree = fat_tree(4, 2, 1)
    shutil.copytree(stored(tree) / "1", tmp_path / "both/1")
    tree.unplug(("node0001", 1))
    tree.plug(("node0001", 1), ("leaf02", 4), "4xHDR")
    shutil.copytree(stored(tree) / "1", tmp_path / "both/2")
    result = site.acceptance("fabric", "--from", tmp_path / "both")
    assert (result.status, result.output) == (2, "")
    assert "contradict each other: " in result.errors
    assert result.errors.endswith("[1] has two links; read it again\n")


def test_a_partition_is_named_where_several_have_a_fabric(site, stored):
    partition = """{{"name": "{}", "scheduler": "local", "launcher": "local",
        "environs": ["none"], "extras": {{"fabric": {{"technology": "infiniband", "rate": "{}",
        "device": "{}", "view": "here"}}}}}}"""
    parts = ", ".join(
        partition.format(*one) for one in (("a", "HDR", ""), ("b", "EDR", "mlx5_0/1"))
    )
    site.add_system(f"""site_configuration = {{
        "systems": [{{"name": "two", "hostnames": ["none"], "partitions": [{parts}]}}],
        "environments": [{{"name": "none", "target_systems": ["two"]}}]}}""")
    result = site.acceptance("fabric", "--system", "two")
    assert result.status == 2
    assert "two has several fabrics: name one with --partition: a, b" in result.errors
    result = site.acceptance("fabric", "--system", "two", "--partition", "c")
    assert "two has no partition 'c' that states InfiniBand" in result.errors
    folder = stored(fat_tree(4, 2, 1))
    (folder / "1/asked").write_text("-C mlx5_0 -P 1\n")
    result = site.acceptance("fabric", "--system", "two", "--partition", "b", "--from", folder)
    assert result.status == 1
    assert "from mlx5_0/1, infiniband-diags 44.0" in result.output
    assert "node0001[1] - leaf01[1]: speed HDR, expected EDR" in result.output


def test_counters_that_were_not_read_are_none_as_data(site, stored):
    folder = stored(fat_tree(4, 2, 1))
    ask = "fabric", "--from", folder, "--format", "json"
    assert site.acceptance(*ask).data["readings"][0]["counters"] == {}
    (folder / "1/ibqueryerrors.status").unlink()
    done = site.acceptance(*ask)
    assert (done.status, done.data["readings"][0]["counters"]) == (2, None)


@requires("ibnetdiscover")
def test_nobody_may_look(site):
    result = site.acceptance("fabric")
    assert (result.status, result.output) == (2, "")
    assert result.errors.startswith(
        "acceptance fabric: the fabric was not looked at: ibnetdiscover: the adapter cannot be "
    )


def test_a_folder_that_is_no_reading(site, tmp_path):
    result = site.acceptance("fabric", "--from", tmp_path / "none")
    assert (result.status, "no such folder" in result.errors) == (2, True)
    result = site.acceptance("fabric", "--from", tmp_path)
    assert (result.status, "has no reading of a fabric" in result.errors) == (2, True)


def test_where_nothing_was_read_both_kinds_of_fabric_are_told_what_reads_them(site):
    done = site.acceptance("fabric", "accept", "--reason", "as it is")
    assert done.status == 2
    for what in ("states `view` (InfiniBand)", "lldpd runs on its nodes (Ethernet"):
        assert what in done.errors

"""`make drills`: a site's own system, simulated, with faults that its checks must see."""

import json
import sys

import pytest

from tests.needs import requires

SYSTEM = """
SYSTEM = {
    "name": "mycluster", "hostnames": ["mycluster"], "partitions": [{
        "name": "batch", "scheduler": "slurm", "launcher": "srun", "environs": ["gnu"],
        "processor": {"num_cpus": 4, "num_cpus_per_core": 1, "num_cpus_per_socket": 4,
                      "num_sockets": 1},
        "extras": {"nodes": "all", "cores": 4, "fabric": {
            "technology": "infiniband", "rate": "QDR", "lanes": 4, "pcie": "2.0",
            "pcie_lanes": 8}},
    }],
}
ENVIRONMENTS = [{"name": "gnu"}]
"""


def drills(site, *words, **environment):
    return site.run(sys.executable, "-m", "tests.drills", *words, **environment)


@pytest.fixture
def mine(site):
    folder = site.folder / "systems/config/systems"
    folder.mkdir(parents=True)
    (folder / "mycluster.py").write_text(SYSTEM)
    site.environment["ACCEPTANCE_SYSTEMS"] = str(site.folder / "systems")
    site.environment["ACCEPTANCE_SIMULATED_NODES"] = "2"
    return site


@requires("smpirun")
def test_a_site_hears_which_faults_its_checks_see(mine):
    kept = mine.folder / "kept"
    done = drills(
        mine,
        *("--system", "mycluster", "--format", "json", "--keep", kept),
        *("--fault", "port-sdr", "--fault", "latency-10", "--fault", "uplink-half"),
    )
    assert done.status == 0, done.errors
    data = json.loads(done.output)
    assert (data["healthy"]["verdict"], data["healthy"]["problems"]) == ("pass", [])
    assert sum(data["healthy"]["judged"].values()) > 5
    port, latency, uplink = data["outcomes"]
    assert port["partition"] == "simulated-mycluster:batch"
    assert {*port["by"]} >= {"link check", "recorded"}
    assert (port["cause"], round(port["loss"], 2), len(port["plain"]) > 3) == ("right", 0.75, True)
    assert [each["places"] for each in port["named"]] == [["n1"]]
    assert ([*latency["by"]], latency["cause"], latency["plain"]) == (["recorded"], "right", [])
    assert 0.05 < latency["loss"] < 0.1
    assert (uplink["why_not"], uplink["missed"]) == ("it has no uplinks", False)
    assert (data["not_run"], uplink["applied"]) == ([], False)
    # Nothing of it is among what was measured.
    assert not mine.database.exists()
    assert {path.name for path in kept.iterdir()} >= {"healthy", "port-sdr-n1", "latency-10"}


@requires("smpirun")
def test_what_cannot_be_is_one_line(site):
    done = drills(site, "--fault", "port-sdd")
    assert done.status == 2
    assert "unknown fault 'port-sdd'; known: port-sdr, " in done.errors
    done = drills(site, "--system", "nowhere")
    assert (done.status, len(done.errors.splitlines())) == (2, 1), done.errors
    assert "there is no nowhere.py in " in done.errors
    done = drills(site, PATH=str(site.folder))
    assert done.status == 2
    assert "there is no SimGrid here (Debian: libsimgrid-dev" in done.errors


@requires("smpirun")
def test_a_fault_at_a_place_that_is_not_there_was_not_run(mine):
    done = drills(mine, "--system", "mycluster", "--fault", "port-sdr:n9")
    assert done.status == 2, done.output
    lines = " ".join(done.output.split())
    assert "NOT RUN port-sdr:n9 on simulated-mycluster:batch: no case ran with it" in lines
    assert "there is no node 'n9'" in lines


@requires("smpirun")
def test_all_nodes_of_a_cluster_that_is_not_here_require_a_number(mine):
    del mine.environment["ACCEPTANCE_SIMULATED_NODES"]
    done = drills(mine, "--system", "mycluster", "--fault", "port-sdr")
    assert (done.status, len(done.errors.splitlines())) == (2, 1), done.errors
    assert "nodes is 'all', and its scheduler cannot be asked how many these are" in done.errors
    assert "set ACCEPTANCE_SIMULATED_NODES" in done.errors


@requires("smpirun")
def test_exchanged_cables_are_named_with_both_ports(site):
    site.environment["ACCEPTANCE_FATTREE"] = "4,2,2"
    kept = site.folder / "kept"
    done = drills(
        site,
        *("--system", "simulated-fattree", "--format", "json", "--keep", kept),
        *("--fault", "nodes-swapped"),
    )
    assert done.status == 0, done.output
    (found,) = json.loads(done.output)["outcomes"]
    assert ([*found["by"]], found["cause"]) == (["whole fabric"], "right")
    (named,) = found["named"]
    assert (named["kind"], named["places"]) == ("fabric-swapped", ["n1", "n3"])
    assert named["text"].startswith(
        "n1[1] - leaf0[2] and n3[1] - leaf1[2]: n1[1] - leaf1[2] and n3[1] - leaf0[2], "
    )
    # What was read is a simulated system's, and says so; nodes of its names are nobody else's.
    stored = kept / "healthy"
    assert [path.stem for path in (stored / "fabric").glob("*.json")] == ["simulated-fattree"]
    assert not (stored / "fabric/nodes").exists()
    assert (kept / "reference/simulated/simulated-fattree.fabric").exists()
    (reading,) = {path.parent for path in (stored / "output").glob("*1/**/view/1/begin")}
    assert (reading / "versions").read_text().startswith("simulated: ")
    shown = site.acceptance("fabric", "--system", "simulated-fattree")
    assert (shown.status, "is simulated: no adapter of this machine" in shown.errors) == (2, True)
    shown = site.acceptance("fabric", "--system", "simulated-fattree", "--from", reading.parent)
    assert "simulated: by no infiniband-diags" in shown.output
    assert "switches    4: 2 leaf, 2 spine" in shown.output

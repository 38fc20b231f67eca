"""The guide of config/site.md for a new site, followed word for word on the cluster."""

import ast
import re
import runpy

import pytest

from acceptance.core.paths import ROOT
from tests import stored as results
from tests.conftest import needs_wheels
from tests.places import WHEELS

TITLE = "## A new site in ten minutes"
#: What makes the clone, in which the tests already stand.
MADE = ("git clone", "cd ", "make setup", ". ./env.sh")


def commands():
    """Return the commands of the guide, without their comments."""
    text = (ROOT / "config/site.md").read_text()
    assert TITLE in text, "config/site.md has no such section"
    section = text.split(TITLE, 1)[1].split("\n## ", 1)[0]
    lines = re.findall(r"^ {4}(\S.*)$", section, re.MULTILINE)
    return [line.partition("  #")[0].strip() for line in lines]


@pytest.fixture
def new_site(measured):
    """A site whose systems lie in a folder of its own, laid out as the clone."""
    root = measured.site.folder / "clone"
    measured.site.environment["ACCEPTANCE_SYSTEMS"] = str(root)
    # Without the user's Spack, if there is one: the guide does not need any.
    measured.site.environment["HOME"] = str(measured.site.folder)
    return measured.site, root


@needs_wheels
def test_from_clone_to_first_verdict(new_site):
    site, root = new_site
    followed = []
    for command in commands():
        if command.startswith(MADE):
            continue
        # The files lie in the folder of the test; and nobody waits for a thousand repetitions.
        here = re.sub(r"(?<= )(config|spack-envs)/", rf"{root}/\1/", command)
        if command.startswith("reframe"):
            here += " -S ImbMpi1.repetitions=5"
        done = site.run("sh", "-c", here)
        assert done.status == 0, f"{command}\n{done.output}{done.errors}"
        followed.append(command.split()[0])
    assert followed == ["acceptance", "grep", "acceptance", "reframe", "acceptance"]
    assert "VERDICT: pass" in done.output
    cases = list(results.session(site.database).cases)
    assert {(case.benchmark, case.partition, case.result) for case in cases} == {
        (benchmark, partition, "pass")
        for benchmark in ("fabric.link", "imb.PingPong")
        for partition in ("main-ten", "main-one")
    }
    # Each kind of node was measured on its own, over the network for messages.
    assert {case.nodes for case in cases} == {("node1", "node2"), ("node3", "node4")}


def test_what_was_found_is_what_the_cluster_has(new_site, measured):
    site, root = new_site
    done = site.acceptance("init-site", "found")
    assert done.status == 0, done.errors
    names = runpy.run_path(str(root / "config/systems/found.py"))
    found = {part["name"]: part for part in names["SYSTEM"]["partitions"]}
    assert found.keys() == {"main-ten", "main-one"}
    for name, part in found.items():
        assert part["access"] == ["--partition=main", f"--constraint={name[5:]}", "--exclusive"]
        assert part["scheduler"] == "squeue"
        extras = part["extras"]
        assert (extras["nodes"], extras["cores"], extras["memory"]) == (2, 1, 512 * 2**20)
        # Said by an interface that is no hardware: a question to a human, no fact.
        assert extras["fabric"] == {"technology": "ethernet", "device": "fast0", "mtu": 1500}
    text = (root / "config/systems/found.py").read_text()
    assert 'fill in: rate: "10" if it is true' in text
    assert 'fill in: rate: "1" if it is true' in text
    assert r"^node\d+(\.|$)" in names["SYSTEM"]["hostnames"]


def test_nodes_that_take_no_job_are_no_part_of_it(new_site, measured):
    site, _ = new_site
    try:
        for node in ("node3", "node4"):
            measured.cluster.drain(node)
        done = site.acceptance("init-site", "drained", "--dry-run")
    finally:
        for node in ("node3", "node4"):
            measured.cluster.resume(node)
    assert done.status == 0, done.errors
    assert "Of 2 that take jobs (node1, node2)." in done.output
    assert "node3" not in done.output


def test_a_partition_that_is_down_is_left_out_and_none_is_an_error(new_site, measured):
    site, _ = new_site
    try:
        measured.cluster.run("scontrol", "update", "PartitionName=main", "State=DOWN")
        done = site.acceptance("init-site", "down")
    finally:
        measured.cluster.run("scontrol", "update", "PartitionName=main", "State=UP")
    assert done.status == 2
    assert "no partition can be used: main: it is not up" in done.errors


OWN = """
site_configuration = {{
    "systems": [{{
        "name": "own", "hostnames": [".*"], "prefix": {prefix!r}, "partitions": [{{
            "name": "ten", "scheduler": "squeue", "launcher": "srun", "environs": ["wheels"],
            "access": ["--partition=main", "--constraint=ten"],
        }}],
    }}],
    "environments": [{{
        "name": "wheels", "features": ["imb"], "extras": {{"suites": {{"imb": {wheels!r}}}}},
    }}],
    "storage": [{{"enable": True, "sqlite_db_file": {prefix!r} + "/results.db"}}],
}}
"""


@needs_wheels
def test_a_site_that_states_nothing_runs_what_slurm_knows(measured):
    site, path = measured.site, measured.site.folder / "own.py"
    path.write_text(OWN.format(prefix=str(site.folder), wheels=f"{WHEELS}/bin"))
    listed = site.reframe("-C", path, "-c", "checks/imb.py", "-n", "PingPong", "-l")
    assert "ImbMpi1 %benchmark=PingPong %np=2 %placement=inter-node" in listed.output
    assert "no case of" not in listed.output + listed.errors
    told = site.acceptance("doctor", "-C", path, "--ask-nodes", "--format", "json").data
    (lines,) = [row["lines"] for row in told if row["what"] == "partition ten"]
    entries = ast.literal_eval("{" + "\n".join(lines) + "}")
    assert entries["extras"]["nodes"] == 2
    assert entries["processor"]["num_sockets"] >= 1
    assert entries["extras"]["fabric"]["technology"] == "ethernet"

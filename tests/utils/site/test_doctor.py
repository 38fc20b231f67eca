"""`site/doctor.py` and `machine/missing.py` on made systems."""

import sys
from functools import partial

import pytest

from acceptance.core.paths import Workspace
from acceptance.machine import Spack, externals, spack_suites
from acceptance.machine.missing import already_there, not_provided
from acceptance.rfm import configuration
from acceptance.site import BROKEN, MISSING, OK, doctor, examine
from acceptance.suites import SUITES
from tests import fake_spack
from tests.places import HERE, ROOT, workspace
from tests.sysfs import Sysfs

SYSTEM = """
SYSTEM = {{
    "name": "made",
    "hostnames": [".*"],
    "partitions": [{{"name": "fast", "environs": [], "extras": {{"fabric": {fabric}}}}}],
}}
site_configuration = {{"systems": [SYSTEM], "environments": []}}
"""
QDR = {"technology": "infiniband", "rate": "QDR", "lanes": 4, "pcie": "2.0", "pcie_lanes": 8}

#: The titles of the suites that Spack builds.
BUILT = {SUITES[name].title for name in spack_suites(HERE)}


@pytest.fixture
def row(tmp_path, monkeypatch):
    """Write a system's file, and return what the doctor says of its fabric."""
    monkeypatch.setenv("ACCEPTANCE_SYSTEMS", str(tmp_path))

    def fabric_row(fabric):
        path = tmp_path / "config/systems/made.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SYSTEM.format(fabric=fabric))
        rows = [
            row for row in examine(Workspace.of(), [path], "made") if row.what == "fabric of fast"
        ]
        return (path, *rows)

    return fabric_row


def test_the_facts_of_a_partition_have_a_row(row):
    _, found = row(QDR)
    assert (found.state, found.found) == ("ok", "infiniband QDR 4x, PCIe 2.0 x8")
    configuration.forget()
    assert len(row(None)) == 1, "the path alone"


@pytest.mark.parametrize("technology", ["infiniband", "ethernet", "roce"])
def test_a_fabric_without_a_rate_is_said(row, technology):
    _, found = row({"technology": technology})
    assert (found.state, found.found) == ("missing", f"{technology}, no rate is stated")
    assert "rate" in found.remedy


def test_a_technology_that_has_no_rates_misses_none(row):
    _, found = row({"technology": "numalink"})
    assert (found.state, found.found) == ("ok", "numalink")


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({**QDR, "Rate": "QDR"}, "unknown key 'Rate' in a fabric; known: technology, rate, "),
        ({**QDR, "technology": "RoCE"}, "unknown technology: 'RoCE'; known: infiniband, "),
        ({**QDR, "rate": "qdr"}, "unknown rate of infiniband: 'qdr'; known: SDR, "),
        ({**QDR, "pcie": "2"}, "unknown pcie: '2'; known: 1.0, "),
    ],
)
def test_facts_that_nobody_knows_are_broken_with_file_and_partition(row, facts, said):
    path, found = row(facts)
    assert found.state == BROKEN
    assert found.found.startswith(f"{path}: made:fast: {said}")


@pytest.fixture
def devices(tmp_path, monkeypatch):
    """Return what the doctor says of a made node with two GPUs and three interfaces, by facts."""
    node = Sysfs(tmp_path / "node")
    for address in ("0000:17:00.0", "0000:65:00.0"):
        node.gpu(address, width=16, most="16.0 GT/s PCIe", wide=16)
    for number, speed in enumerate((1000, 10000, 10000)):
        node.interface(f"eth{number}", f"0000:0{number}:00.0", speed=speed)
    monkeypatch.setenv("SYSFS", str(node.root))
    path = tmp_path / "made.py"

    def rows(what, scheduler="local", **facts):
        text = SYSTEM.format(fabric={"technology": "ethernet", "rate": "10", **facts})
        path.write_text(text.replace('"fast",', f'"fast", "scheduler": "{scheduler}",'))
        configuration.forget()
        rows = examine(workspace(tmp_path), [path], "made")
        return [(row.state, row.found, row.remedy) for row in rows if row.what == what]

    return rows


@pytest.fixture
def gpus(devices):
    """Return what the doctor says of the GPUs of that node."""
    return partial(devices, "GPUs of fast")


def test_stated_gpus_are_compared_with_those_of_the_node(gpus):
    stated = {"gpus": 2, "gpu_kind": "cuda", "gpu_pcie": "4.0", "gpu_pcie_lanes": 16}
    assert gpus(**stated) == [(OK, "2 x cuda, PCIe 4.0 x16", "")]
    [(state, found, remedy)] = gpus(**{**stated, "gpus": 4})
    assert (state, found.partition(" ")[2]) == (BROKEN, "GPUs: 2 of cuda, expected 4")
    assert "nvidia-smi" in remedy
    [(state, found, _)] = gpus(**{**stated, "gpu_pcie": "5.0"})
    assert state == BROKEN
    assert "GPU 0000:17:00.0 PCIe: 16 GT/s (4.0) at most, expected 32 GT/s (5.0); " in found
    [(state, found, _)] = gpus("slurm", **stated)
    assert state == OK
    assert found.startswith("2 x cuda, PCIe 4.0 x16; not compared: acceptance doctor --ask-nodes")


def test_gpus_that_nobody_states_are_told_with_what_to_write(gpus):
    [(state, found, remedy)] = gpus()
    assert (state, found) == (
        MISSING, "2 seen, none stated: no case measures from their buffers"
    )  # fmt: skip
    assert remedy == (
        'to measure from GPUs, too: "gpus": 2, "gpu_kind": "cuda", "gpu_pcie": "4.0", '
        '"gpu_pcie_lanes": 16'
    )


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"device": "eth1,eth2"}, [(OK, "2 a node")]),
        ({"device": "eth1"}, [(MISSING, "eth1, eth2 run at the same rate; not stated: eth2")]),
        ({}, [(MISSING, "eth1, eth2 run at the same rate; not stated: eth2")]),
        # Another network, which may well be the fabric.
        ({"device": "eth0", "rate": "1"}, []),
    ],
)
def test_links_that_run_like_the_stated_one_are_told(devices, facts, told):
    found = devices("rails of fast", **facts)
    assert [(state, text) for state, text, _ in found] == told
    for state, _, remedy in found:
        assert ('"device": "eth1,eth2"' in remedy) is (state == MISSING)


@pytest.mark.parametrize(
    ("facts", "seen"),
    [
        ({"device": "eth1,eth7"}, "2 a node are stated, seen: eth1"),
        ({"device": "eth7,eth8"}, "2 a node are stated, seen: none"),
        ({"ports": 4}, "4 a node are stated, seen: eth0, eth1, eth2"),
    ],
)
def test_a_node_with_fewer_rails_than_are_stated_is_told(devices, facts, seen):
    [(state, found, _)] = devices("rails of fast", **facts)
    assert (state, found) == (BROKEN, seen)


def test_rails_of_a_node_that_was_not_looked_at_are_not_compared(devices):
    [(state, found, _)] = devices("rails of fast", "slurm", device="eth1,eth2")
    assert state == OK
    assert found.startswith("2 a node; not compared: acceptance doctor --ask-nodes")


@pytest.fixture
def suites(tmp_path, monkeypatch):
    """Examine a cluster whose suites Spack builds; return the rows of its suites."""
    monkeypatch.setenv("ACCEPTANCE_VAR", str(tmp_path))

    def rows(spack):
        monkeypatch.setattr(Spack, "find", lambda workspace: spack)
        examined = examine(workspace(tmp_path), [ROOT / "config/settings.py"], "koop2008")
        return [row for row in examined if row.what in BUILT]

    return rows


def test_without_a_spack_what_it_builds_is_missing(suites):
    rows = suites(None)
    assert {row.what for row in rows} == BUILT
    assert {row.state for row in rows} == {MISSING}
    assert all("no Spack to build it" in row.found for row in rows)
    assert {row.remedy for row in rows} == {"make spack, or set SPACK_ROOT"}


def test_with_a_spack_it_is_built_when_it_is_needed(suites, tmp_path):
    rows = suites(Spack(*fake_spack.make(tmp_path), workspace(tmp_path)))
    assert {row.state for row in rows} == {OK}
    assert all("built by Spack when it is needed" in row.found for row in rows)


@pytest.fixture
def bare(tmp_path):
    """Examine a system without environments; return the row of a suite."""
    path = tmp_path / "made.py"
    path.write_text(SYSTEM.format(fabric={}))

    def row_of(suite):
        rows = examine(workspace(tmp_path), [path], "made")
        return next(row for row in rows if row.what == SUITES[suite].title)

    return row_of


def test_a_suite_that_is_nowhere_is_to_be_got(bare, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    here = []
    monkeypatch.setattr(sys.modules[already_there.__module__], "already_there", lambda: here)
    row = bare("hpcc")
    assert (row.state, row.found) == (MISSING, "nothing provides HPC Challenge here")
    assert row.remedy == (
        "get it with: Debian: hpcc openmpi-bin; or an MPI and a BLAS (Debian: openmpi-bin "
        "libopenmpi-dev libopenblas-dev), then make spack, then make run ACCEPTANCE_BUILD=hpcc; or "
        "name the folder of hpcc in the `extras` of an environment in config/systems/"
    )
    assert not_provided(SUITES["hpcc"]) == (row.found, row.remedy)
    here += ["spack", "mpi"]
    assert "or a BLAS (Debian: libopenblas-dev), then make run ACC" in bare("hpcc").remedy
    assert bare("npb").remedy.startswith(
        "get it with: gfortran (Debian: gfortran), then make run ACC"
    )
    here += ["gfortran"]
    assert bare("npb").remedy.startswith(
        "get it with: make run ACCEPTANCE_BUILD=npb; or name the folder"
    )
    here.remove("spack")
    assert bare("osu").remedy.startswith(
        "get it with: make spack, then make run ACCEPTANCE_BUILD=osu; or"
    )


def test_what_is_already_there_is_what_builds_suites_would_find(monkeypatch, tmp_path):
    nothing = {"mpi_names": [], "has_openblas": False}
    for name, found in nothing.items():
        monkeypatch.setattr(externals, name, lambda found=found: found)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SPACK_ROOT", raising=False)
    monkeypatch.setenv("ACCEPTANCE_VAR", str(tmp_path))
    assert already_there() == []
    monkeypatch.setenv("SPACK_ROOT", str(fake_spack.make(tmp_path)[0]))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gfortran").touch(0o755)
    monkeypatch.setattr(externals, "mpi_names", lambda: ["openmpi"])
    assert already_there() == ["mpi", "gfortran", "spack"]


def test_a_suite_that_is_installed_is_not_to_be_installed(bare, monkeypatch, tmp_path):
    program = tmp_path / "bin/hpcc"
    program.parent.mkdir()
    program.touch(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    row = bare("hpcc")
    assert (row.state, row.found) == (
        MISSING, f"{program} is there, but no environment here names it",
    )  # fmt: skip
    assert f'"hpcc": "{program.parent}" into "suites" of its `extras`' in row.remedy
    assert "Debian" not in row.remedy
    assert not_provided(SUITES["hpcc"]) == (row.found, row.remedy)


@pytest.mark.parametrize(
    ("partition", "environment", "what", "said"),
    [
        ('{"node": 2}', "{}", "extras of fast", "made:fast: unknown key 'node'"),
        ("{}", '{"mpi": "open-mpi"}', "extras of fast+gnu", "made:fast+gnu: unknown mpi"),
        ("{}", '{"suites": ["imb"]}', "extras of fast+gnu", "made:fast+gnu: suites is ['imb']"),
    ],
)
def test_extras_that_nobody_reads_are_broken(
    tmp_path, monkeypatch, partition, environment, what, said
):
    monkeypatch.setenv("ACCEPTANCE_SYSTEMS", str(tmp_path))
    path = tmp_path / "config/systems/made.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        'SYSTEM = {"name": "made", "hostnames": [".*"], "partitions": [{"name": "fast", '
        f'"environs": ["gnu"], "extras": {partition}}}]}}\n'
        f'ENVIRONMENTS = [{{"name": "gnu", "features": ["imb"], "extras": {environment}}}]\n'
        'site_configuration = {"systems": [SYSTEM], "environments": ENVIRONMENTS}\n'
    )
    broken = [row for row in examine(Workspace.of(), [path], "made") if row.state == BROKEN]
    assert [row.what for row in broken if row.what.startswith("extras")] == [what]
    found = {row.what: row.found for row in broken}
    assert found[what].startswith(f"{path}: {said}")


@pytest.mark.parametrize(
    ("extras", "states", "words"),
    [
        ({"cores": 8, "peak": 128.0}, [OK, OK], "peak 128 is stated, as published"),
        ({"cores": 8, "peak": 16.0}, [OK, OK], "peak 16 is stated, as published"),
        ({"cores": 16, "peak": 99.0}, [BROKEN, BROKEN], "cores 16 is stated, 8 is published"),
        ({}, [], ""),
    ],
)
def test_cores_and_peak_are_compared_with_published_facts(extras, states, words):
    """Table 1 of saini2006 has 8 CPUs a node of the SX-8, and the peak of one, 16 Gflop/s."""
    system = {"name": "saini2006", "partitions": [{"name": "nec-sx8", "extras": extras}]}
    found = [*doctor.hardware(system, Workspace.of())]
    assert [row.state for row in found] == states
    assert words in " ".join(row.found for row in found)

"""`acceptance fabric --node`: the links of this node in one line, as a health check needs it."""

import re
import sys

import pytest

from tests.conftest import BIN, Site
from tests.places import ROOT
from tests.sysfs import Sysfs

SYSTEM = """
SYSTEM = {{
    "name": {name!r}, "hostnames": ["none"],
    "partitions": [
        {{"name": part, "scheduler": "squeue", "environs": [], "extras": extras}}
        for part, extras in {parts!r}.items()
    ],
}}
ENVIRONMENTS = []
"""
QDR = {"fabric": {"technology": "infiniband", "rate": "QDR", "pcie": "2.0", "pcie_lanes": 8}}
SDR = {"fabric": {"technology": "infiniband", "rate": "SDR"}}


class Node:
    """A node with a made sysfs, of a site that describes systems in a folder of its own."""

    def __init__(self, folder):
        self.folder, self.tree = folder, Sysfs(folder)
        self.site = Site(folder)
        self.tree.adapter()
        hostname, drain = folder / "bin/hostname", folder / "bin/scontrol"
        hostname.parent.mkdir()
        hostname.write_text("#!/bin/sh\necho node17\n")
        drain.write_text(f"#!/bin/sh\necho drained >> {folder}/drained\n")
        for program in (hostname, drain):
            program.chmod(0o755)
        path = f"{folder}/bin:{self.site.variables()['PATH']}"
        self.site.environment |= {
            "SYSFS": str(self.tree.root), "ACCEPTANCE_SYSTEMS": str(folder), "PATH": path,
        }  # fmt: skip

    def states(self, name="made", **parts):
        path = self.folder / f"config/systems/{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SYSTEM.format(name=name, parts=parts))

    def check(self, *options, system="made"):
        """Return status and the one line; nobody was drained."""
        done = self.site.acceptance("fabric", "--node", "--system", system, *options)
        assert not (self.folder / "drained").exists()
        (line,) = (done.output + done.errors).splitlines()
        assert bool(done.errors) <= (done.status == 2)
        return done.status, line


@pytest.fixture
def node(tmp_path):
    return Node(tmp_path)


def test_links_that_are_as_stated_are_said(node):
    node.tree.port()
    node.states(qdr=QDR)
    told = "node17: as made:qdr states: mlx5_0/1 40 Gb/sec (4X QDR)"
    assert node.check() == (0, told)


def test_a_link_of_which_nobody_counts_errors_is_told(node):
    node.tree.port()
    node.tree.uncounted()
    node.states(qdr=QDR)
    status, line = node.check()
    assert (status, line.count("whether it has errors cannot be told")) == (0, 1)


def test_a_slow_link_and_a_slow_slot_fail_in_one_line(node):
    node.tree.port(rate="10 Gb/sec (4X SDR)")
    node.states(qdr={"fabric": {**QDR["fabric"], "pcie_lanes": 16}})
    assert node.check() == (1, (
        "node17 mlx5_0/1: 10 Gb/sec (4X SDR), expected 40 Gb/sec (4X QDR); "
        "node17 mlx5_0 PCIe: 5 GT/s x8 (2.0), expected 5 GT/s x16 (2.0)"
    ))  # fmt: skip


def test_what_could_not_be_read_is_not_green(node):
    node.tree.port()
    node.states(qdr=QDR)
    node.tree.spoil("class/infiniband/mlx5_0/ports/1/rate")
    status, line = node.check()
    assert status == 2
    assert "class/infiniband/mlx5_0/ports/1/rate cannot be read" in line


def test_a_fault_beside_what_could_not_be_read_fails(node):
    node.tree.port()
    node.tree.port(2, rate="10 Gb/sec (4X SDR)")
    node.tree.spoil("class/infiniband/mlx5_0/ports/1/rate")
    node.states(qdr=QDR)
    status, line = node.check()
    assert status == 1
    assert line.index("mlx5_0/2: 10 Gb/sec") < line.index("rate cannot be read")


@pytest.mark.parametrize(
    ("extras", "why"),
    [
        ({}, "it states no fabric"),
        ({"fabric": {"technology": "infiniband"}}, "infiniband, no rate is stated"),
        ({"fabric": {"technology": "infiniband", "rate": "fast"}}, "unknown rate of infiniband"),
    ],
)
def test_what_states_nothing_judges_nothing(node, extras, why):
    node.tree.port()
    node.states(qdr=extras)
    status, line = node.check()
    assert status == 2
    assert why in line


def test_of_several_partitions_one_is_named_unless_all_state_the_same(node):
    node.tree.port()
    node.states(qdr=QDR, sdr=SDR)
    status, line = node.check()
    assert (status, "cannot tell which partition of made" in line) == (2, True)
    assert node.check("--partition", "qdr")[0] == 0
    assert node.check("--partition", "sdr")[0] == 1
    status, line = node.check("--partition", "qrd")
    assert (status, "did you mean qdr" in line) == (2, True)
    node.states(qdr=QDR, other=QDR)
    assert node.check()[0] == 0


def test_a_system_that_is_not_there_or_simulated_or_broken_is_told(node):
    node.states("simulated-made", qdr=QDR)
    for system, why in (("nowhere", "no system 'nowhere'"), ("simulated-made", "is simulated")):
        status, line = node.check(system=system)
        assert (status, why in line) == (2, True), line
    (node.folder / "config/systems/broken.py").write_text("1 / 0\n")
    # All files are read where no file has the name.
    status, line = node.check(system="broken")
    assert (status, "broken.py: ZeroDivisionError" in line) == (2, True)


def test_without_a_name_it_is_the_system_of_this_host(node):
    node.tree.port()
    node.site.add_system(f"""
        site_configuration = {{
            "systems": [{{
                "name": "own", "hostnames": [".*"],
                "partitions": [{{"name": "qdr", "environs": [], "extras": {QDR!r}}}],
            }}],
            "environments": [],
        }}
    """)
    for words in ((), ("--system", "own")):
        done = node.site.acceptance("fabric", "--node", *words)
        assert (done.status, done.errors) == (0, "")
        assert done.output.startswith("node17: as own:qdr states: ")


def test_what_it_prints_has_no_other_form(node):
    node.states(qdr=QDR)
    for words in (("--from", "x"), ("--format", "json")):
        status, line = node.check(*words)
        assert (status, "--node prints one line" in line) == (2, True)


def test_a_process_of_its_own_loads_little_and_starts_no_reframe(node):
    """What it loads is most of the time that it takes."""
    node.tree.port()
    node.states(qdr=QDR)
    script = (
        "import sys; from acceptance.cli.main import main; "
        "status = main(['fabric', '--node', '--system', 'made']); "
        "print(*sorted({name.partition('.')[0] for name in sys.modules})); "
        "print(*sorted(name for name in sys.modules if name.startswith('acceptance.')))"
    )
    done = node.site.run(sys.executable, "-c", script, PYTHONPATH=str(ROOT / "utils"))
    assert done.status == 0, done.errors
    told, outside, ours = done.output.splitlines()
    assert told.startswith("node17: as made:qdr states: ")
    assert not {*outside.split()} & {"numpy", "duckdb", "reframe", "networkx", "plotly", "apprise"}
    rooms = {name.split(".")[1] for name in ours.split()}
    assert not rooms & {"verdict", "ledger", "regressions", "report", "campaigns", "simulation"}


@pytest.mark.parametrize(
    ("rate", "drained", "logged"),
    [("100 Gb/sec (4X EDR)", "", ""), ("25 Gb/sec (4X SDR)", "drain", ""), ("", "", "not checked")],
)
def test_the_script_of_the_page_drains_what_fails_and_logs_what_nobody_saw(
    node, rate, drained, logged
):
    text = (ROOT / "config/fabric.md").read_text()
    script = re.search(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]
    program = re.search(r"\(((/[\w.-]+)+/acceptance) ", script)[1]
    path = node.folder / "links.sh"
    path.write_text(script.replace(program, str(BIN / "acceptance")))
    for name in ("scontrol", "logger"):
        (node.folder / f"bin/{name}").write_text(f'#!/bin/sh\necho "$@" > {node.folder}/{name}\n')
        (node.folder / f"bin/{name}").chmod(0o755)
    node.tree.port(rate=rate or "100 Gb/sec (4X EDR)")
    if not rate:
        node.tree.spoil("class/infiniband/mlx5_0/ports/1/rate")
    node.states("mycluster", compute={"fabric": {"technology": "infiniband", "rate": "EDR"}})
    done = node.site.run("sh", path, PYTHONPATH=str(ROOT / "utils"))
    assert (done.status, done.output, done.errors) == (0, "", "")
    for name, begin in (("scontrol", drained), ("logger", logged)):
        said = node.folder / name
        assert said.exists() == bool(begin)
        assert begin in (said.read_text() if begin else "")
    if drained:
        assert "reason=links: node17 mlx5_0/1: 25 Gb/sec" in (node.folder / "scontrol").read_text()

"""The worked examples of checks/ and utils/, executed word for word in a copy of the clone."""

import csv
import json
import re
import shutil
import subprocess

import pytest

from acceptance.core.paths import ROOT
from tests import stored as results
from tests.checks.test_fabric import Fabric
from tests.conftest import BIN, Site, needs_wheels

README = (ROOT / "checks/README.md").read_text()
_BLOCK = re.compile(
    r"`(?P<path>[\w./-]+\.\w+)`, "
    r"(?:new|(?P<side>above|below) the line that begins `(?P<anchor>[^`\n]+)`)"
    r"[:.](?:(?!```).)*```\w+\n(?P<text>.*?)```",
    re.DOTALL,
)


def section(title, readme=README):
    """Return the text of a section of a README."""
    return readme.split(f"\n## {title}\n")[1].split("\n## ")[0]


def apply(text, clone):
    """Write the files, and insert the lines, that a section shows."""
    paths = []
    for match in _BLOCK.finditer(text):
        path = clone / match["path"]
        if match["anchor"]:
            lines = path.read_text().splitlines(keepends=True)
            (number,) = [
                n for n, line in enumerate(lines, 1) if line.strip().startswith(match["anchor"])
            ]
            lines.insert(number - (match["side"] == "above"), match["text"])
            path.write_text("".join(lines))
        else:
            assert not path.exists()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(match["text"])
        paths.append(match["path"])
    return paths


@pytest.fixture
def clone(tmp_path):
    """A copy of all that git tracks and ReFrame reads."""
    folder = tmp_path / "clone"
    tracked = ("checks", "config", "reference", "spack-envs", "utils", "pyproject.toml")
    listed = subprocess.run(
        ["git", "ls-files", "-z", *tracked], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    return folder


def run(site, clone, *command, status=0):
    """Run a command in a clone, with the systems of a site."""
    variables = site.variables(PYTHONPATH=str(clone / "utils"))
    variables["RFM_CONFIG_FILES"] = variables["RFM_CONFIG_FILES"].replace(str(ROOT), str(clone))
    done = subprocess.run(
        command, cwd=clone, env=variables, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def test_a_benchmark_of_a_known_suite_is_one_row(site, clone, recorded):
    text = section("Adding a benchmark of a known suite")
    assert apply(text, clone) == ["utils/acceptance/suites/osu.py"]
    output = recorded("osu/osu_put_bw.openmpi.txt")
    title = "OSU MPI_Get Bi-directional Bandwidth Test"
    output = output.replace("OSU MPI_Put Bandwidth Test", title)
    assert title in output
    site.replay(output, "osu_get_bibw", "osu")
    name = "%benchmark=get_bibw%.*%placement=intra-node"
    run(site, clone, "reframe", "-c", "checks/osu.py", "-r", "-n", name)
    (case,) = results.session(site.database).cases
    assert case.benchmark == "osu.get_bibw"
    values = {metric.name: metric.value for metric in case.metrics}
    assert values["bandwidth_4194304"] > 0
    assert len(values) == 23 + 1


def test_a_suite_is_three_new_files(site, clone):
    text = section("Adding a suite")
    assert "line that begins" not in text
    assert apply(text, clone) == [
        "utils/acceptance/suites/halo.py",
        "checks/halo.py",
        "spack-envs/suites/halo.yaml",
    ]
    output = re.search(r"```text\n(.*?)```", text, re.DOTALL)[1]
    site.replay(output, "halo", "halo")
    run(site, clone, "reframe", "-c", "checks/halo.py", "-r", "-n", "%np=2%placement=intra-node")
    (case,) = results.session(site.database).cases
    assert (case.suite, case.benchmark) == ("halo", "halo.exchange")
    values = {metric.name: (metric.value, metric.unit) for metric in case.metrics}
    assert values == {"time_8": (1.73, "us"), "time_1024": (2.05, "us")}
    script = "from acceptance.machine import spack_features; print(*spack_features())"
    assert "halo" in run(site, clone, "python", "-c", script).split()
    script = (
        "from acceptance.suites import SUITES, check_of; "
        "print(check_of('halo.exchange', 'time'), SUITES['halo'].title)"
    )
    assert run(site, clone, "python", "-c", script) == "checks/halo.py exchange of halos\n"


def test_new_files_of_the_example_pass_the_linter(clone):
    paths = apply(section("Adding a suite"), clone)
    python = [path for path in paths if path.endswith(".py")]
    done = subprocess.run(
        [BIN / "ruff", "check", "--no-cache", *python], cwd=clone, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_a_rule_is_a_function_an_entry_and_a_row(site, clone):
    text = section("Adding a rule to the verdict", (ROOT / "utils/README.md").read_text())
    paths = apply(text, clone)
    assert {*paths} == {
        "utils/acceptance/verdict/rules.py", "utils/acceptance/core/kinds.py"
    }  # fmt: skip
    done = subprocess.run(
        [BIN / "ruff", "check", "--no-cache", *paths], cwd=clone, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    fabric = Fabric(site).healthy()
    fabric.nodes["node1"].adapter("mlx5_1", address="0000:04:00.0")
    for node, device, version in (
        ("node1", "mlx5_0", "20.31.1014"), ("node1", "mlx5_1", "20.31.1014"),
        ("node2", "mlx5_0", "20.28.4512"),
    ):  # fmt: skip
        path = fabric.nodes[node].root / "class/infiniband" / device / "fw_ver"
        path.write_text(f"{version}\n")
    fabric.start()
    run(site, clone, "reframe", "-c", "checks/fabric.py", "-r")
    said = run(site, clone, "acceptance", "gate", status=1)
    (line,) = (line for line in text.splitlines() if line.startswith("PROBLEM"))
    assert line in said
    listed = json.loads(run(site, clone, "acceptance", "gate", "--format", "json", status=1))
    (problem,) = listed["problems"]
    assert (problem["kind"], problem["nodes"]) == ("firmware-differs", ["node2"])
    junit = run(site, clone, "acceptance", "gate", "--format", "junit", status=1)
    assert 'type="firmware-differs"' in junit.partition("no node is worse than the others")[2]


OWN = section("A check of your own, outside of the clone")
#: Stands for the program of the page, where times have to be the same in each run.
HALO = """
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    if (*getenv("PMI_RANK") == '0')
        printf("8 bytes: 1.73 us\\n1024 bytes: 2.05 us\\n");
    return 0;
}
"""
STREAM = "#!/bin/sh\necho Copy: {} MB/s\n"


class Elsewhere:
    """A site whose checks are in a folder outside of the clone, run from yet another one."""

    def __init__(self, site, folder):
        self.site, self.folder = site, folder
        files = ("exchange.py", "src/exchange.c", "copy.py")
        assert apply(OWN, folder) == [f"site-checks/{name}" for name in files]
        self.reference = folder / "reference"
        shutil.copytree(ROOT / "reference", self.reference)
        site.environment["ACCEPTANCE_REFERENCE"] = str(self.reference)
        self.copies_at(8000)

    def write(self, name, text):
        path = self.folder / "site-checks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def copies_at(self, bandwidth):
        self.write("src/stream", STREAM.format(bandwidth))

    def run(self, *options):
        checks = self.folder / "site-checks"
        words = ["reframe", "-c", str(checks), "-r", "-p", "wheels", *options]
        return subprocess.run(
            words, cwd="/", env=self.site.variables(), capture_output=True, text=True, timeout=300
        )

    def judged(self):
        status, verdict = self.site.gate()
        return status, verdict["judged"], [problem["kind"] for problem in verdict["problems"]]


@pytest.fixture(scope="module")
def with_baseline(tmp_path_factory):
    """Five runs of both checks, and the baseline that was made of them."""
    folder = tmp_path_factory.mktemp("elsewhere")
    there = Elsewhere(Site(folder), folder)
    there.write("src/exchange.c", HALO)
    for bandwidth in (8000, 8010, 7990, 8005, 7995):
        there.copies_at(bandwidth)
        done = there.run()
        assert done.returncode == 0, done.stdout + done.stderr
    assert there.judged() == (0, {}, [])
    written = there.site.acceptance("baseline", "--write")
    assert written.status == 0, written.errors
    return there


@needs_wheels
def test_checks_outside_of_the_clone_have_history_and_baseline(with_baseline):
    with (with_baseline.reference / "sites/local.csv").open() as file:
        rows = {(row["benchmark"], row["metric"]): row for row in csv.DictReader(file)}
    assert rows.keys() == {("site.exchange", "time"), ("Copy", "bandwidth")}
    assert rows["Copy", "bandwidth"]["value"] == "8000"
    assert rows["Copy", "bandwidth"]["parameters"] == "environment=wheels"
    (series,) = with_baseline.site.acceptance("history", "Copy", "--format", "json").data
    assert (series["metric"], len(series["samples"])) == ("bandwidth", 5)


@needs_wheels
def test_the_baseline_judges_checks_outside_of_the_clone(with_baseline):
    assert with_baseline.run().returncode == 0
    assert with_baseline.judged() == (0, {"baseline local": 3}, [])
    doctor = with_baseline.site.acceptance("doctor", "--format", "json").data
    assert not [row for row in doctor if "sites/local.csv" in row["found"]]

    with_baseline.copies_at(4000)
    done = with_baseline.run()
    assert done.returncode == 0, "plain ReFrame passes with whatever was measured"
    status, verdict = with_baseline.site.gate()
    (problem,) = verdict["problems"]
    assert (status, problem["kind"]) == (1, "off-baseline")
    assert problem["text"].startswith(
        "Copy @local:default+wheels: bandwidth: 4000 MB/s is 50 % below 8000 MB/s (baseline local, "
    )
    with_baseline.copies_at(8000)

    with_baseline.write("src/exchange.c", HALO.replace("1.73", "2.73"))
    assert with_baseline.run().returncode == 1
    status, verdict = with_baseline.site.gate()
    assert (status, [problem["kind"] for problem in verdict["problems"]]) == (1, ["case-failed"])
    assert "time_8: 2.73 us is" in verdict["problems"][0]["text"]
    told = [(each["finding"]["device"], each["finding"]["kind"]) for each in verdict["alerts"]]
    assert told == [("site.exchange", "case-failed")]
    listed = with_baseline.site.acceptance("export", "punchlist").output
    assert "BELOW-BASELINE:local:default+wheels:site.exchange:" in listed
    with_baseline.write("src/exchange.c", HALO)


@needs_wheels
def test_a_baseline_that_no_check_outside_of_the_clone_meets_is_a_problem(with_baseline):
    assert with_baseline.run().returncode == 0
    path = with_baseline.reference / "sites/local.csv"
    good = path.read_text()
    path.write_text(good.replace(",Copy,", ",Copyy,"))
    _, judged, problems = with_baseline.judged()
    assert (judged, problems) == ({"baseline local": 2}, ["reference-unmet"])
    path.write_text(good.replace(",Copy,bandwidth,", ",Copy,bandwith,"))
    _, verdict = with_baseline.site.gate()
    (problem,) = verdict["problems"]
    assert (
        "judges nothing: no bandwith of Copy was ever measured on local:default"
        in (problem["text"])
    )
    path.write_text(good)
    assert with_baseline.judged() == (0, {"baseline local": 3}, [])


@needs_wheels
def test_a_check_outside_of_the_clone_whose_output_lacks_a_metric_fails(with_baseline):
    with_baseline.write("src/exchange.c", HALO.replace("1024 bytes", "1024 byte"))
    assert with_baseline.run("-n", "Exchange").returncode == 1
    _, verdict = with_baseline.site.gate()
    assert "metrics missing: time_1024" in verdict["problems"][0]["text"]
    with_baseline.write("src/exchange.c", HALO)


@needs_wheels
def test_the_program_of_the_page_is_placed_measured_and_shown(tmp_path):
    """What the page has, word for word: a program in C, which MPI's compiler makes in the job."""
    there = Elsewhere(Site(tmp_path), tmp_path)
    done = there.run("-n", "Exchange")
    assert done.returncode == 0, done.stdout + done.stderr
    (case,) = results.session(there.site.database).cases
    assert (case.benchmark, case.keys["placement"], case.keys["np"]) == (
        "site.exchange", "intra-node", "2",
    )  # fmt: skip
    assert "placement" not in case.provenance, "it says where nothing verified it"
    values = {metric.name: metric.value for metric in case.metrics}
    assert values.keys() == {"time_8", "time_1024"}
    assert all(value > 0 for value in values.values())
    status, verdict = there.site.gate()
    assert (status, verdict["passed"], verdict["recorded"]) == (0, 1, 2)
    series = there.site.acceptance("history", "Exchange", "--format", "json").data
    assert {each["metric"] for each in series} == values.keys()
    assert there.site.acceptance("report").status == 0
    pages = [page.read_text() for page in (there.site.var / "report").rglob("*.html")]
    assert any("site.exchange" in text and "Exchange" in text for text in pages)


def test_the_own_check_has_15_lines():
    text = re.search(r"`site-checks/exchange.py`.*?```python\n(.*?)```", OWN, re.DOTALL)[1]
    lines = [line for line in text.partition("@rfm.simple_test\n")[2].splitlines() if line.strip()]
    assert 10 < len(lines) <= 15

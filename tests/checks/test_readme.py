"""The worked examples of `checks/README.md`, executed word for word in a copy of the clone."""

import re
import shutil
import subprocess

import pytest

from acceptance.core.paths import ROOT
from acceptance.rfm import database as results
from tests.conftest import BIN

README = (ROOT / "checks/README.md").read_text()
_BLOCK = re.compile(
    r"`(?P<path>[\w./-]+\.\w+)`, "
    r"(?:new|(?P<side>above|below) the line that begins `(?P<anchor>[^`\n]+)`)"
    r"[:.](?:(?!```).)*```\w+\n(?P<text>.*?)```",
    re.DOTALL,
)


def section(title):
    """Return the text of a section of the README."""
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


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
            path.parent.mkdir(exist_ok=True)
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


def run(site, clone, *command):
    """Run a command in a clone, with the systems of a site."""
    variables = site.variables(PYTHONPATH=str(clone / "utils"))
    variables["RFM_CONFIG_FILES"] = variables["RFM_CONFIG_FILES"].replace(str(ROOT), str(clone))
    done = subprocess.run(
        command, cwd=clone, env=variables, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_benchmark_of_a_known_suite_is_one_row(site, clone, recorded):
    text = section("Adding a benchmark of a known suite")
    assert apply(text, clone) == ["utils/acceptance/suites/osu/benchmarks.py"]
    output = recorded("osu/osu_put_bw.openmpi.txt")
    title = "OSU MPI_Put Bi-directional Bandwidth Test"
    output = output.replace("OSU MPI_Put Bandwidth Test", title)
    assert title in output
    site.replay(output, "osu_put_bibw", "osu")
    name = "%benchmark=put_bibw%.*%placement=intra-node"
    run(site, clone, "reframe", "-c", "checks/osu.py", "-r", "-n", name)
    (case,) = results.session(site.database).cases
    assert case.benchmark == "osu.put_bibw"
    values = {metric.name: metric.value for metric in case.metrics}
    assert values["bandwidth_4194304"] > 0
    assert len(values) == 23 + 1


def test_a_suite_is_a_folder_a_row_a_check_and_a_file_for_spack(site, clone):
    text = section("Adding a suite")
    assert apply(text, clone) == [
        "utils/acceptance/suites/halo/__init__.py",
        "utils/acceptance/suites/halo/benchmarks.py",
        "utils/acceptance/suites/halo/output.py",
        "utils/acceptance/suites/registry.py",
        "utils/acceptance/suites/registry.py",
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
    script = "from acceptance.software import spack_features; print(*spack_features())"
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

"""What the project runs with: `make matrix` tries each Python, ReFrame and set of dependencies.

A row is an environment that uv makes in var/matrix, with the versions that the row asks for, in
which the same tests run (`TESTS`); or what can be said without one: the wheels of another
processor, the recorded forms of Slurm's releases. Told are the versions that were installed and how
the tests ended, or why a row could not be tried here.

`make matrix ARGS="lowest python-3.12"` runs these rows alone, `ARGS=--list` lists all. How each row
ended stays in var/matrix/ROW.json, with the commit, and is kept for tests/README.md. The exit
status is 1 if a row failed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

from acceptance.core import machine
from acceptance.core.text import plural, shortened, table
from tests import needs, tested
from tests.places import HERE, ROOT

FOLDER = HERE.root / "var/matrix"
BIN = Path(sys.executable).parent
#: The tests of a row of Python, half a minute of a processor: what leans on each dependency, and
#: ReFrame with recorded outputs.
TESTS = """
    tests/utils/core tests/utils/fabric/test_facts.py tests/utils/fabric/test_structure.py
    tests/utils/detection/test_causes.py tests/utils/ledger/test_files.py
    tests/utils/ledger/test_reading.py tests/utils/report/test_plot_model.py
    tests/utils/alerts/test_notify.py::test_what_is_no_alert_is_refused
    tests/utils/alerts/test_notify.py::test_a_malformed_state_is_kept_aside_and_alerts_are_sent
    tests/utils/verdict/test_prometheus.py tests/utils/references/test_tables.py
    tests/utils/suites/test_imb.py tests/config/test_requirements.py tests/checks/test_outputs.py
""".split()
#: Seconds that the tests of a row, or uv, may take.
PATIENCE = 1500
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
#: Where each minor release of Python is looked for, below PATH's programs.
PYENV = Path("~/.pyenv/versions").expanduser()
#: What tells most of how an environment differs from others.
TOLD = ("reframe-hpc", "numpy", "duckdb", "plotly", "networkx", "msgspec")
#: Packages that some releases of ReFrame want in a version of their own.
FREE = ("reframe-hpc", "lxml", "jsonschema", "polars")
LOCKS = ("requirements", "requirements-test", "requirements-otel", "requirements-bench")
FORMS = "tests/utils/machine/test_slurm_releases.py"
LIVE = ("tests/cluster/test_slurm.py", "-k", "namespace or loopback")


class Untried(Exception):
    """Why a row cannot be tried on this machine."""


@dataclass(frozen=True)
class Outcome:
    """How a row ended: the versions that it had, its tests by how they ended, and what to know."""

    versions: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    text: str = ""

    @property
    def figure(self) -> str:
        """Return the row in a line."""
        counts = [f"{number} {word}" for word, number in self.counts.items() if number]
        return "; ".join(filter(None, [self.versions, ", ".join(counts), self.text]))

    @property
    def counts(self) -> dict[str, int]:
        return {"passed": self.passed, "failed": self.failed, "skipped": self.skipped}


def run(*command: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program in the clone; what it prints and its errors are together."""
    mine = ("RFM_", "ACCEPT", "MAKE", "PYTHON", "VIRTUAL_ENV")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(mine)}
    try:
        return subprocess.run(
            [str(word) for word in command],
            cwd=ROOT, env={**kept, **variables}, stdin=subprocess.DEVNULL, timeout=PATIENCE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, f"no end within {PATIENCE} s")


def uv(*words: object) -> str:
    """Run uv; raises Untried with the line that says why it failed, without any address."""
    done = run(BIN / "uv", *words, UV_PYTHON_INSTALL_DIR=str(FOLDER / "pythons"))
    if done.returncode:
        lines = [re.sub(r"^\W+", "", line) for line in done.stdout.splitlines() if line.strip()]
        said = [line for line in lines if not line.startswith(("warning", "hint"))] or [""]
        raise Untried(re.sub(r"\S+://\S+", "the index", " ".join(said[:3])))
    return done.stdout


def interpreter(release: str) -> Path:
    """Return a Python of a minor release; raises Untried where neither we nor uv find one."""
    folders = [*os.environ["PATH"].split(":"), *sorted(map(str, PYENV.glob(f"{release}.*/bin")))]
    for folder in folders:
        path = Path(folder, f"python{release}")
        if path.exists() and run(path, "-c", "import venv").returncode == 0:
            return path
    try:
        uv("python", "install", "-q", "--no-bin", release)
        return Path(uv("python", "find", "--managed-python", release).strip())
    except Untried:
        raise Untried(f"not here: no python{release}, and uv can get none") from None


def pins(lock: str, free: tuple[str, ...] = FREE) -> str:
    """Return the pins of a lock file without their hashes and without the packages named."""
    text = re.sub(r"\\\n\s+--hash=\S+|\\$", "", (ROOT / lock).read_text(), flags=re.M)
    return "\n".join(line for line in text.splitlines() if line.split("==")[0] not in free)


@dataclass(frozen=True)
class Environment:
    """A row with a Python of its own: what is installed in it, and the tests in that.

    `resolution`: locked as the lock file has it, the lowest versions that pyproject.toml allows, or
    the newest ones. `reframe` is a requirement of ReFrame's version.
    """

    python: str
    resolution: str = "locked"
    reframe: str = ""

    def __call__(self, name: str) -> Outcome:
        """Make the environment and run the tests in it."""
        folder = self.make(FOLDER / name)
        return tests(folder / "bin/python", name, versions(folder), *TESTS)

    def make(self, folder: Path) -> Path:
        """Make the environment; raises Untried where something of it cannot be had."""
        found = interpreter(self.python)
        shutil.rmtree(folder, ignore_errors=True)
        uv("venv", "-q", "--python", found, folder)
        constraints = folder / "constraints.txt"
        wanted = ("-r", "pyproject.toml", "--extra", "test", "--extra", "otel")
        if self.resolution == "locked":
            constraints.write_text(pins("requirements-test.lock", FREE if self.reframe else ()))
        elif self.resolution == "lowest":
            asked = ("--python-version", self.python, "--extra", "otel", "pyproject.toml")
            uv("pip", "compile", "-q", "--resolution", "lowest-direct", "-o", constraints, *asked)
        else:
            constraints.write_text("")
        into = ("pip", "install", "-q", "--python", folder / "bin/python")
        release = [f"reframe-hpc{self.reframe}"] if self.reframe else []
        uv(*into, "-c", constraints, *wanted, *release)
        uv(*into, "--no-deps", "-e", ROOT)
        return folder


def versions(folder: Path) -> str:
    """Return the versions of what tells most, as an environment has them."""
    return run(folder / "bin/python", "-c", TELL, *TOLD).stdout.strip()


#: A program for another Python, which prints its version and that of the packages named.
TELL = """
import importlib.metadata, platform, sys
packages = [f"{name} {importlib.metadata.version(name)}" for name in sys.argv[1:]]
print(", ".join([f"Python {platform.python_version()}", *packages]))
"""


def tests(python: Path | str, name: str, told: str, *words: str) -> Outcome:
    """Run tests, and return how they ended."""
    xml = FOLDER / f"{name}.xml"
    xml.unlink(missing_ok=True)
    options = ("-q", "-n", "0", "-p", "no:cacheprovider", f"--junitxml={xml}")
    done = run(python, "-m", "pytest", *options, *words, PYTHONPATH="utils:.")
    if done.returncode not in (0, 1) or not xml.exists():  # it ran no test, or not to the end
        return Outcome(told, failed=1, text=" ".join(done.stdout.splitlines()[-1:]))
    cases = list(ElementTree.parse(xml).iter("testcase"))
    bad = [one for one in cases if one.find("failure") is not None or one.find("error") is not None]
    skipped = [one for one in cases if one.find("skipped") is not None]
    names = shortened([f"{one.get('classname')}::{one.get('name')}" for one in bad])
    return Outcome(told, len(cases) - len(bad) - len(skipped), len(bad), len(skipped), names)


def forms(name: str) -> Outcome:
    """Read what each release of Slurm prints, as recorded."""
    return tests(sys.executable, name, "Slurm 22.05 to 26.05, recorded forms", FORMS)


def live(name: str) -> Outcome:
    """Start the Slurm that is installed, and run jobs in it."""
    if why := needs.why_not(*needs.SLURM):
        raise Untried(why)
    told = run(needs.find("slurmd"), "-V").stdout.strip()
    return tests(sys.executable, name, f"{told}, running", *LIVE)


def wheels(name: str) -> Outcome:
    """Resolve the lock files for a processor and each Python, with wheels alone."""
    processor = name.partition("-")[2]
    folder, missing, counts = FOLDER / name, [], []
    asked = (
        "pip",
        "install",
        "--dry-run",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--target",
        folder,
    )
    for release in PYTHONS:
        platform = ("--python-version", release, "--python-platform", f"{processor}-manylinux_2_28")
        for lock in LOCKS:
            done = run(BIN / "uv", *asked, *platform, "-r", f"{lock}.lock")
            if done.returncode:
                lacks = re.findall(r"Because (\S+) has no", done.stdout)
                missing.append(f"Python {release}, {lock}.lock: no wheel of {', '.join(lacks)}")
            counts += map(int, re.findall(r"Would install (\d+) package", done.stdout))
    told = f"{processor}, glibc 2.28, Python {PYTHONS[0]} to {PYTHONS[-1]}, {len(LOCKS)} lock files"
    most = f"at most {plural(max(counts, default=0), 'wheel')} of one"
    return Outcome(told, len(counts), len(missing), 0, "; ".join([*missing, most]))


def without_intel(name: str) -> Outcome:
    """Call `make run` of this commit where `uname` says aarch64, with few rounds."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    program, clone = folder / "bin/uname", folder / "clone"
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *m*) echo aarch64 ;; *) {shutil.which("uname")} "$@" ;; esac\n'
    )
    program.chmod(0o755)
    run("git", "clone", "-q", "--shared", ROOT, clone)
    (clone / ".venv").symlink_to(BIN.parent)
    path = f"{folder}/bin:{os.environ['PATH']}".replace(f"{ROOT}/utils/bin:", "")
    variables = {"PATH": path, "PYTHONPATH": f"{clone}/utils", "ACCEPTANCE_MACHINE": str(folder)}
    done = run("make", "-C", clone, "-o", ".venv/.installed", "run", "ROUNDS=0", **variables)
    (folder / "out.txt").write_text(done.stdout)
    lacks = [words for words in WITHOUT_INTEL if not re.search(words, done.stdout, re.M)]
    ran = re.findall(r"^\[ +(?:OK|FAIL) \] \( *\d+/\d+\) (\w+)", done.stdout, re.M)
    others = [name for name in ran if name.startswith("Imb")]
    told = (
        f"`make run`, uname says aarch64: {plural(len(ran), 'case')}, exit status {done.returncode}"
    )
    text = "; ".join([*(f"not said: {words}" for words in lacks), *others])
    return Outcome(told, len(WITHOUT_INTEL) - len(lacks), len(lacks) + len(others), 0, text)


#: What it says then.
WITHOUT_INTEL = (
    r"the Intel MPI Benchmarks come as wheels for x86_64 only",
    r"^no case of .*\bimb\.py\b.* acceptance doctor says why",
    r"^VERDICT: ",
)


def installed(name: str) -> Outcome:
    """Install the wheel into an empty environment, with what it asks for, and call it."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    build = run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder / "dist")
    if build.returncode:
        raise Untried(f"the wheel cannot be built: {build.stdout.splitlines()[-1]}")
    (wheel,) = (folder / "dist").glob("*.whl")
    uv("venv", "-q", "--python", sys.executable, folder / "venv")
    uv("pip", "install", "-q", "--python", folder / "venv/bin/python", wheel)
    command, reframe = folder / "venv/bin/acceptance", folder / "venv/bin/reframe"
    home = {"HOME": str(folder), "ACCEPTANCE_MACHINE": str(folder)}
    places = [
        run(command, "doctor", "--where", what, **home).stdout.strip()
        for what in ("settings", "checks")
    ]
    said = {
        "--version": (run(command, "--version", **home), r"\(commit \w{40}"),
        "doctor": (run(command, "doctor", **home), r"^ReFrame +ok +4"),
        "reframe -l": (
            run(reframe, "-C", places[0], "-c", places[1], "-l", **home),
            r"Found \d+ check",
        ),
    }
    bad = [what for what, (done, words) in said.items() if not re.search(words, done.stdout, re.M)]
    return Outcome(versions(folder / "venv"), len(said) - len(bad), len(bad), 0, ", ".join(bad))


Row = Callable[[str], Outcome]
ROWS: dict[str, Row] = {
    **{f"python-{release}": Environment(release) for release in PYTHONS},
    "lowest": Environment("3.10", "lowest"),
    "newest": Environment("3.13", "newest"),
    "reframe-4.8.0": Environment("3.11", reframe="==4.8.0"),
    "reframe-4.8": Environment("3.11", reframe="==4.8.*"),
    "reframe-4.9": Environment("3.11", reframe="==4.9.*"),
    "slurm-forms": forms,
    "slurm-live": live,
    "wheels-x86_64": wheels,
    "wheels-aarch64": wheels,
    "without-intel": without_intel,
    "installed": installed,
}


def outcome(name: str) -> Outcome:
    """Run a row, and keep how it ended; one that cannot be tried has no test."""
    try:
        found = ROWS[name](name)
    except Untried as err:
        found = Outcome("", text=f"{err}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    data = {"commit": machine.commit(ROOT), **asdict(found)}
    (FOLDER / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return found


def figure(name: str) -> str:
    """Return how a row ended when it last ran, in a line, with the commit if it was another one."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        return "not run"
    data = json.loads(path.read_text(encoding="utf-8"))
    commit = data.pop("commit")
    at = "" if commit == machine.commit(ROOT) else f"; at {commit}"
    return Outcome(**data).figure + at


def main(words: list[str]) -> int:
    """Run rows, print how they ended, and keep that; return the exit status."""
    parser = argparse.ArgumentParser("make matrix", description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="only these")
    parser.add_argument("--list", action="store_true", help="list the rows, and run none")
    options = parser.parse_args(words)
    if unknown := sorted({*options.rows} - {*ROWS}):
        parser.error(f"no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    if options.list:
        print("\n".join(ROWS))
        return 0
    ended = {}
    for name in options.rows or ROWS:
        ended[name] = outcome(name)
        print(f"{name}: {ended[name].figure}", file=sys.stderr, flush=True)
    rows = [
        (name, *each.counts.values(), "; ".join(filter(None, [each.versions, each.text])))
        for name, each in ended.items()
    ]
    print(table(("row", "passed", "failed", "skipped", "with, or why not"), rows))
    tested.record("matrix", "make matrix", {name: figure(name) for name in ROWS})
    return int(any(each.failed for each in ended.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

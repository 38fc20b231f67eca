"""A wheel of this project, and environments that a site would install it into."""

import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from acceptance.core import machine
from tests.conftest import BIN, Result
from tests.matrix import pins
from tests.places import HERE, ROOT, WHEELS

LOCK = (ROOT / "requirements.lock").read_text()
PINNED = re.search(r"^reframe-hpc==(\S+)", LOCK, re.M)[1]
OLDEST = f"{machine.supported_reframe()[0]}.0"
#: More of ReFrame, releases and source trees of what is to be one:
#: `make test TESTS=tests/reframe_versions REFRAME="4.9.3 /path/to/reframe"`.
MORE = os.environ.get("REFRAME", "").split()
#: The next release, as long as no index has it: a source tree, if one is named.
NEXT = next((name for name in MORE if "/" in name), None)
#: One environment a release of ReFrame and a lock file; they last, for all but our wheel does.
KEPT = HERE.root / "var/reframe"


def requirement(version):
    """Return what installs a release, or a source tree: that without what it can do without."""
    is_tree = "/" in version
    return f"reframe-hpc[no-analytics] @ file://{version}" if is_tree else f"reframe-hpc=={version}"


@dataclass
class Environment:
    """A site's environment, with a ReFrame and an installed copy; and a folder of its own."""

    venv: Path
    folder: Path
    variables: dict = field(default_factory=dict)

    @property
    def packages(self):
        (found,) = self.venv.glob("lib/python*/site-packages")
        return found

    @property
    def tree(self):
        return self.packages / "acceptance/_tree"

    def shell(self, line):
        """Run a line of a shell as a user of the site does, in the site's folder."""
        done = subprocess.run(
            ["bash", "-c", line],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            env={
                **{k: v for k, v in os.environ.items() if not k.startswith(("RFM_", "ACCEPT"))},
                "PATH": f"{self.venv}/bin:" + os.environ["PATH"].replace(f"{BIN}:", ""),
                "HOME": str(self.folder),
                "ACCEPTANCE_MACHINE": str(self.folder),
                "RFM_COLORIZE": "0",
                # uv compiles nothing: what is started again and again keeps what it compiled.
                "PYTHONDONTWRITEBYTECODE": "",
                "RFM_CONFIG_FILES": f"site.py:{self.tree}/config/fragment.py",
                **self.variables,
            },
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def contents(self):
        """Return what is in the installed copy, but for what Python itself keeps there."""
        return {
            path: (path.stat().st_mtime_ns, path.stat().st_size)
            for path in self.packages.glob("acceptance/**/*")
            if path.is_file() and "__pycache__" not in path.parts
        }


def uv(*words):
    return subprocess.run([BIN / "uv", *words], capture_output=True, text=True)


def make(folder, version):
    """Make the environment of a release; skip where no package can be had at all.

    That of the lock file is one that there is: whoever cannot have it has no network.
    """
    assert not uv("venv", "-q", "--python", sys.executable, folder).returncode
    constraints = folder / "constraints.txt"
    constraints.write_text(pins("requirements.lock"))
    options = ("pip", "install", "-q", "--python", folder / "bin/python")
    wanted = ("-c", constraints, "-r", ROOT / "pyproject.toml", requirement(version))
    done = uv(*options, *wanted)
    if done.returncode:
        known = (*options, "--dry-run", "--no-deps", "--reinstall", "--refresh")
        if uv(*known, f"reframe-hpc=={PINNED}").returncode:
            pytest.skip(f"no package index can be reached: {done.stderr.strip().splitlines()[-1]}")
    assert not done.returncode, done.stderr


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel of this clone, as a site carries it to a machine without the clone."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "-w", folder, ROOT], check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def environment(wheel):
    """Return what gives the environment of a release of ReFrame."""
    made = {}
    with contextlib.ExitStack() as stack:

        def of(version):
            if version not in made:
                made[version] = stack.enter_context(kept(version, wheel))
            return made[version]

        yield of


@contextlib.contextmanager
def kept(version, wheel):
    """Give an environment with this wheel, to one session of tests at a time."""
    key = re.sub(r"[^\w.]+", "-", version).strip("-")
    key += f"-{hashlib.sha256(LOCK.encode()).hexdigest()[:8]}-py{sys.version_info[1]}"
    venv = KEPT / key
    KEPT.mkdir(parents=True, exist_ok=True)
    with open(KEPT / f"{key}.lock", "w") as lock, tempfile.TemporaryDirectory() as site:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (venv / "made").exists():
            shutil.rmtree(venv, ignore_errors=True)
            make(venv, version)
            (venv / "made").touch()
        options = ("-q", "--no-deps", "--reinstall", "--python", venv / "bin/python")
        tree = [requirement(version)] * ("/" in version)  # it may have changed
        done = uv("pip", "install", *options, wheel, *tree)
        assert not done.returncode, done.stderr
        Path(site, "site.py").write_text(SITE.format(wheels=WHEELS))
        yield Environment(venv, Path(site))


#: As a site would write it: its own places, one partition, and MPI and IMB from plain paths.
SITE = """
site_configuration = {{
    "systems": [{{
        "name": "mine", "hostnames": [".*"],
        "partitions": [{{
            "name": "all", "scheduler": "local", "launcher": "mpiexec", "max_jobs": 1,
            "environs": ["intel"], "extras": {{"nodes": 1, "cores": 2}},
        }}],
    }}],
    "environments": [{{
        "name": "intel", "features": ["imb", "mpi"], "target_systems": ["mine"],
        "extras": {{"suites": {{"imb": "{wheels}/bin"}}, "mpi": "intel-mpi"}},
        "env_vars": [
            ["PATH", "{wheels}/bin:$PATH"],
            ["LD_LIBRARY_PATH", "{wheels}/lib:$LD_LIBRARY_PATH"],
            ["I_MPI_ROOT", "{wheels}"],
        ],
    }}],
    "logging": [{{
        "handlers": [
            {{"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}},
            {{
                "type": "file", "name": "reframe.log", "level": "debug2", "append": True,
                "format": "[%(asctime)s] %(levelname)s: %(message)s",
            }},
        ],
    }}],
}}
"""

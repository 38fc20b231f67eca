"""What all tests share: recorded outputs, and a site of its own for each run of ReFrame."""

import compileall
import contextlib
import gc
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pytest
from xdist.scheduler import LoadScopeScheduling

from acceptance.cli.main import main
from acceptance.core import machine, state_files
from acceptance.machine import Spack, externals
from acceptance.rfm import process
from tests import needs, netns, started
from tests import stored as results
from tests.places import ROOT, workspace
from tests.recorded import REPLAYED

DATA = ROOT / "tests/data"
BIN = Path(sys.executable).parent
SETTINGS = str(ROOT / "config/settings.py")
#: Sources for Spack.
MIRROR = Path(os.environ.get("SPACK_MIRROR", "~/spack-mirror")).expanduser()

#: Seconds that a program may take.
TIMEOUT = 540

# GNU readline, which a debugger loads, leaves them where no terminal is: nothing is cut to them.
for _name in ("COLUMNS", "LINES"):
    os.environ.pop(_name, None)
# Programs that are started where a signal is ignored ignore it, too: behind nohup, or with &. Where
# it is handled they do not.
for _number in (signal.SIGHUP, signal.SIGINT):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)


@dataclass
class Result:
    """What a command printed and how it ended."""

    status: int
    output: str
    errors: str

    @property
    def data(self):
        return json.loads(self.output)


@dataclass
class Site:
    """A clone's worth of results in a folder of the test, and the commands of a user in it."""

    folder: Path
    environment: dict = field(default_factory=dict)

    @property
    def var(self):
        return self.folder / "var"

    @property
    def database(self):
        return self.var / "results.db"

    def variables(self, **environment):
        """Return the environment of a user in this clone, who has not sourced env.sh."""
        path = [e for e in os.environ["PATH"].split(":") if e != str(ROOT / "utils/bin")]
        return {
            **{k: v for k, v in os.environ.items() if not k.startswith(("RFM_", "ACCEPT", "MAKE"))},
            "PATH": ":".join([str(BIN), *path]),
            "RFM_CONFIG_FILES": SETTINGS,
            "RFM_COLORIZE": "0",
            "ACCEPTANCE_VAR": str(self.var),
            "ACCEPTANCE_MACHINE": str(self.folder),
            **self.environment,
            **environment,
        }

    def run(self, *command, **environment):
        """Start a program as a user in this clone does, and wait for its end."""
        done = subprocess.run(
            [str(word) for word in command],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            env=self.variables(**environment),
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def reframe(self, *arguments, **environment):
        """Run ReFrame; where nobody chose a Python, from a process that has loaded it.

        On a system of its own it finds nothing that is installed on this machine.
        """
        variables, words = self.variables(**environment), [str(word) for word in arguments]
        usual = shutil.which("reframe", path=variables["PATH"]) == str(started.REFRAME)
        if not usual or self._chooses_python(environment):
            return self.run("reframe", *arguments, **environment)
        return Result(*started.reframe(words, variables, ROOT, TIMEOUT))

    def _chooses_python(self, environment):
        return any(name.startswith("PYTHON") for name in (*self.environment, *environment))

    def acceptance(self, *arguments, **environment):
        """Call the command in this process: what it shows and returns is as if it were started.

        The ReFrame that it starts comes from where `reframe` has it. Where a process is the point
        (signals, encodings, its end) it is started with `run`.
        """
        with contextlib.ExitStack() as stack:
            output, errors = (
                stack.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8")) for _ in "12"
            )
            stdin = stack.enter_context(open(os.devnull))
            stack.callback(os.chdir, os.getcwd())
            os.chdir(ROOT)
            if not self._chooses_python(environment):
                for module in (machine, process):
                    stack.enter_context(mock.patch.object(module, "subprocess", started.Programs()))
            with (
                mock.patch.dict(os.environ, self.variables(**environment), clear=True),
                mock.patch.multiple(sys, stdin=stdin, stdout=output, stderr=errors),
            ):
                _called[:] = [str(word) for word in arguments]
                stack.callback(_called.clear)
                try:
                    status = main([*_called])
                except SystemExit as end:
                    status = end.code
            for stream in (output, errors):
                stream.seek(0)
            return Result(status, output.read(), errors.read())

    def spack(self, *arguments):
        """Run Spack as checks of this site do."""
        found = Spack.find(workspace(self.var))
        return self.run(found.program, *arguments, **found.environment())

    def gate(self, *arguments):
        """Return exit status and data of `acceptance gate`."""
        result = self.acceptance("gate", "--format", "json", *arguments)
        return result.status, json.loads(result.output)

    def add_system(self, text):
        """Put a system's configuration before those of the project."""
        path = self.folder / "site.py"
        path.write_text(textwrap.dedent(text))
        self.environment["RFM_CONFIG_FILES"] = f"{ROOT / 'config/settings.py'}:{path}"

    def take_over(self, other):
        """Take what another site has by now, as if all of it had been done here."""
        shutil.copytree(other.folder, self.folder, dirs_exist_ok=True)
        old, new = str(other.folder), str(self.folder)
        with_paths = ("site.py", "bin/*", "var/log/*.log")
        for path in (path for pattern in with_paths for path in self.folder.glob(pattern)):
            path.write_text(path.read_text().replace(old, new))
        self.environment |= {key: text.replace(old, new) for key, text in other.environment.items()}

    def replay(self, output, program="IMB-MPI1", suite="imb", now=True):
        """Make a system `replay` of two cores, whose programs print a recorded output.

        `now`: as of a program that runs now, and with the arguments that it gets.
        """
        folder = self.folder / "bin"
        folder.mkdir(exist_ok=True)
        (self.folder / "output.txt").write_text(output)
        script = folder / program
        script.write_text(f"#!/bin/sh\n{REPLAYED if now else 'cat'} {self.folder}/output.txt\n")
        script.chmod(0o755)
        self.add_system(f"""
            site_configuration = {{
                "systems": [{{
                    "name": "replay", "hostnames": [".*"], "prefix": {str(self.var)!r},
                    "partitions": [{{
                        "name": "default", "scheduler": "local", "launcher": "local",
                        "environs": ["recorded"], "max_jobs": 1,
                        "extras": {{"nodes": 2, "cores": 2, "verify_placement": False}},
                    }}],
                }}],
                "environments": [{{
                    "name": "recorded", "features": [{suite!r}], "target_systems": ["replay"],
                    "extras": {{"suites": {{{suite!r}: {str(folder)!r}}}}},
                }}],
            }}
        """)
        return script

    def launch_replay(self):
        """Give the replay a launcher that is told where ranks go as Open MPI's is, and runs one.

        What it is told is in `launched.txt`, a line each time.
        """
        path = self.folder / "site.py"
        text = path.read_text()
        for old, new in (
            ('"launcher": "local"', '"launcher": "mpirun"'),
            ('"extras": {"suites"', '"extras": {"mpi": "openmpi", "suites"'),
        ):
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)
        launcher = self.folder / "bin/mpirun"
        launcher.write_text(
            f'#!/bin/sh\necho "$@" >> {self.folder}/launched.txt\n'
            'until [ -f "$1" ]; do shift; done\nexec "$@"\n'
        )
        launcher.chmod(0o755)
        self.environment["PATH"] = f"{launcher.parent}:{BIN}:{os.environ['PATH']}"


def only_problem(verdict):
    """Return the message of a verdict on the one case that failed, measured or not."""
    kinds = [problem["kind"] for problem in verdict["problems"]]
    assert kinds in (["case-failed"], ["case-failed", "nothing-measured"])
    return verdict["problems"][0]["text"]


def only_case(site):
    """Return the one case of the newest session, and its metrics: name -> (value, unit)."""
    (case,) = results.session(site.database).cases
    return case, {metric.name: (metric.value, metric.unit) for metric in case.metrics}


#: Start of a path -> the group whose tests one worker runs: they share what is costly to make,
#: such as builds of Spack and listings of systems. Any other file is a group of its own. The
#: longest come first.
GROUPS = {
    "tests/checks/test_build.py": "spack",
    "tests/checks/test_every_program.py": "spack",
    "tests/cluster/test_osu.py": "spack",
    "tests/cluster/": "cluster",
    "tests/cluster/test_signed.py": "",
    # At the very beginning it would wait for the recipes that the first group reads.
    "tests/checks/test_build_hpcc_and_npb.py": "",
    "tests/cluster/test_faults.py": "",
    "tests/reference_coverage/": "listings",
    "tests/checks/test_patterns.py": "",
    "tests/checks/test_all_pairs_program.py": "",
    "tests/checks/test_patterns_program.py": "",
    "tests/utils/campaigns/test_runner.py": "",
    "tests/reframe_versions/": "versions",
    "tests/checks/test_simgrid.py": "",
    "tests/utils/campaigns/test_conclusion.py": "",
    "tests/utils/ledger/test_ledger.py": "",
    "tests/drills/": "",
    "tests/checks/test_npb.py": "",
    "tests/checks/test_two_nodes.py": "",
    "tests/utils/verdict/test_session.py": "",
    "tests/checks/": "",
}


def pytest_addoption(parser):
    parser.addoption(
        "--list-same",
        metavar="FILE",
        help="write the tests that run the same whatever is installed: each one passed, and "
        "neither it nor its fixtures started a program or looked for one",
    )
    parser.addoption(
        "--every-mpi", action="store_true",
        help="build OSU and IMB for each MPI that is here, and run all their programs",
    )  # fmt: skip
    parser.addoption("--without-same", metavar="FILE", help="leave out the tests that FILE lists")


def pytest_configure(config):
    """Compile our modules once: where Python keeps no bytecode, each start of a program would."""
    if not hasattr(config, "workerinput"):
        for folder in ("utils", "checks", "config"):
            compileall.compile_dir(ROOT / folder, quiet=1)
        if path := config.getoption("list_same"):
            config.pluginmanager.register(_Same(config.rootpath / path))
    sys.addaudithook(_note_start)
    shutil.which = _noted_which


#: Whether the test that runs has started a program, or looked for one; the fixtures that did.
_looked, _looking = [False], set()
#: The words of the command that is called in this process.
_called = []
_which = shutil.which


#: Systems of papers, of which nothing is here; and what lists the cases of one.
_PAPERS = {path.stem for path in (ROOT / "config/systems").glob("*[0-9].py")}
_LISTING = "tests.reference_coverage.in_reframe"
#: What reads damaged texts, whatever is installed.
_FUZZING = "tests.fuzz.child"
#: What a bare machine has, too, and starts no other program; ReFrame is told apart when it starts.
_EVERYWHERE = ("git", "gcc", "cc", "reframe", "sleep")
#: What is looked for wherever a system of the project is not the one that is used: what those
#: systems have, and what would build a suite that nothing provides.
_ELSEWHERE = ("hpcc", "smpirun", "smpicc", "gfortran")


def _note_start(event, arguments):
    if event == "subprocess.Popen":
        command = [os.fsdecode(word) for word in arguments[1]]
        environment = os.environ if arguments[3] is None else arguments[3]
        name = next(Path(word).name for word in command if word != "nohup")
        if name in ("acceptance", "reframe", *_ELSEWHERE):
            _looked[0] |= not _has_own_system(environment, command)
        elif name not in _EVERYWHERE:
            ours = {_LISTING, _FUZZING, started.__file__} & {*command}
            _looked[0] |= not ours and not any(word.startswith(started.ALONE) for word in command)
    elif event in ("os.posix_spawn", "os.fork", "os.exec"):
        _looked[0] = True


def _has_own_system(environment, command=()):
    """Tell whether ReFrame takes a system of the test's own, of which no program is here.

    So it is where it only lists the cases of a paper's system.
    """
    words = [part for word in command for part in word.split("=", 1)]
    options = {*itertools.pairwise(words)}
    if {"-l", "-lC"} & {*words} and {("--system", paper) for paper in _PAPERS} & options:
        return True
    files = [file for option, file in options if option == "-C"]
    return SETTINGS not in (files or [environment.get("RFM_CONFIG_FILES", SETTINGS)])


def _noted_which(name, *arguments, **others):
    found = _which(name, *arguments, **others)
    missing = found is None and name not in needs.PACKAGES  # then no package brings it
    of_other_system = name in _ELSEWHERE and _has_own_system(os.environ, _called)
    _looked[0] |= not (missing or of_other_system or name in _EVERYWHERE)
    return found


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef):
    before, _looked[0] = _looked[0], False
    try:
        return (yield)
    finally:
        if _looked[0]:
            _looking.add(fixturedef)
        _looked[0] |= before


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    fixtures = (each for some in item._fixtureinfo.name2fixturedefs.values() for each in some)
    if _looked[0] or not _looking.isdisjoint(fixtures):
        report.user_properties.append(("looked", call.when))
        _looked[0] = False
    return report


class _Same:
    """What a test session finds out of its tests, over all workers."""

    def __init__(self, path):
        self.path, self.tests, self.others = path, set(), set()

    def pytest_runtest_logreport(self, report):
        self.tests.add(report.nodeid)
        if not report.passed or report.user_properties:
            self.others.add(report.nodeid)

    def pytest_sessionfinish(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(sorted(self.tests - self.others)))


def rank(path):
    """Return the place of a file in `GROUPS`; its longest start there counts."""
    starts = [start for start in GROUPS if path.startswith(start)]
    return [*GROUPS].index(max(starts, key=len)) if starts else len(GROUPS)


def pytest_collection_modifyitems(config, items):
    if path := config.getoption("without_same"):
        same = set(json.loads((config.rootpath / path).read_text()))
        left_out = [item for item in items if item.nodeid in same]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item.nodeid not in same]
    items.sort(key=lambda item: rank(item.nodeid))


def pytest_collection_finish():
    """Collect garbage seldom, and not among thousands of tests: it was a half of some of them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_xdist_make_scheduler(config, log):
    """Share the groups out; of `--dist loadgroup` pytest 9.2 hides the groups from xdist 3.8."""

    class ByGroup(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            path = nodeid.partition("::")[0]
            return [*GROUPS.values(), ""][rank(path)] or path

    return ByGroup(config, log)


def recorded_text(name):
    """Return a recorded output by its path below tests/data."""
    return (DATA / name).read_text()


@pytest.fixture
def site(tmp_path):
    """A site with the project's configuration and results of its own."""
    return Site(tmp_path)


@pytest.fixture
def part(tmp_path_factory):
    """Return a site and how its run ended, of one for many: `part(together, key)`.

    See `tests.together.Together`.
    """
    return lambda together, key: together.part(key, lambda: tmp_path_factory.mktemp("together"))


@pytest.fixture(scope="session")
def two_nodes(tmp_path_factory):
    """Two nodes in namespaces, joined by networks: a `tests.netns.Pair`."""
    needs.skip_for(netns.why_not())
    with netns.Pair(tmp_path_factory.mktemp("nodes")) as pair:
        yield pair


#: What the compiler and the MPIs of a system depend on, and other MPIs: nothing that tests build
#: takes them. Where Spack need not consider them, it chooses in 2 s what takes it 14 s otherwise.
NOT_BUILT = """
    binutils cmake cuda findutils flex gawk gnuplot guile hip hsa-rocr-dev hwloc icedtea imagemagick
    libfabric llvm-amdgpu llvm-openmp mvapich mvapich-plus mvapich2 nccl ninja nmad numactl nvhpc
    nvptx-tools oneapi-level-zero opa-psm2 openjdk openpbs openssh papi perl pmix prrte python rccl
    rdma-core slurm sqlite tcl texinfo torque ucc ucx valgrind xpmem yaksa zip zstd
""".split()


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A site whose installed trees are shared by all tests: what one built, others reuse.

    Spack's own modules and the recipes, some thousands, are compiled once, and the index of the
    recipes, half a minute, is made once: for all workers. What is built runs also over TCP.
    """
    folder, common = tmp_path_factory.mktemp("spack"), tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        common = common.parent
    kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(common / "bytecode")}
    tcp = {"OMPI_MCA_btl_tcp_if_exclude": f"127.0.0.1/8,{netns.ADDRESSES}"}
    asked = {"SPACK_MIRROR": str(MIRROR), "ACCEPTANCE_BUILD": "hpcc,imb,npb,osu,patterns"}
    site = Site(folder, {**asked, **kept, **tcp})
    home, index = site.var / "spack", common / "spack-index"
    choice = home / "config"
    choice.mkdir(parents=True)
    packages = {name: {"buildable": False} for name in NOT_BUILT}
    (choice / "packages.yaml").write_text(json.dumps({"packages": packages}))
    (choice / "concretizer.yaml").write_text('{"concretizer": {"static_analysis": true}}')
    with state_files.locked(index.with_suffix(".lock"), TIMEOUT):
        if not index.is_dir():
            _make_index(site)
            shutil.copytree(home / "misc", index)
    shutil.copytree(index, home / "misc", dirs_exist_ok=True)
    return site


def _make_index(site):
    """Have Spack read all recipes, by choosing what is built of a suite."""
    environment = site.folder / "indexed"
    environment.mkdir()
    text = site.acceptance("spack", "env", "imb", externals.mpi_names()[0]).output
    (environment / "spack.yaml").write_text(text)
    done = site.spack("-e", environment, "concretize")
    assert done.status == 0, done.errors


@pytest.fixture
def recorded():
    """Read a recorded output by its path below tests/data."""
    return recorded_text


needs_wheels = needs.requires_wheels()

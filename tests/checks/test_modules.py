"""Suites and MPIs from the modules of a site, with the real Lmod and Environment Modules."""

import os
import re

import pytest

from acceptance.machine import broken_promise, externals, prepared
from acceptance.suites import SUITES
from tests import module_systems
from tests import stored as database
from tests.checks.test_own_configuration import OwnSite
from tests.conftest import BIN, needs_wheels
from tests.needs import requires
from tests.places import WHEELS

pytestmark = [
    needs_wheels,
    requires("mpirun.mpich", "mpicc.mpich"),
]
SAID = {
    "lmod": "Lmod has detected the following error: The following module(s) are unknown: "
    '"absent/3"',
    "envmod": "ERROR: Unable to locate a modulefile for 'absent/3'",
}
#: Environment -> its modules.
MODULES = {
    "good": ["impi/2021", "imb"],
    "unloadable": ["impi/2021", "absent/3", "imb"],
    "without": ["impi/2021"],
    "other": ["mpich/4.0", "imb"],
    "built": ["impi/2021", "IMB/2021.11"],
    "older": ["impi/2021", "IMB/2021.11"],
    "wrapped": ["impi/2021", "imb-wrapped"],
}
#: Environment -> the version of IMB that it states.
VERSIONS = {"built": "2021", "older": "2021.7", "wrapped": "2019.6"}
#: Those of which something is wrong.
WRONG = ("unloadable", "without", "other")


class SiteOfModules(OwnSite):
    """A site with modules for the MPI of the wheels, for Debian's MPICH and for IMB."""

    def write_modules(self):
        """Write a module for each, a prefix of its own below `opt` as sites have it."""
        opt = self.folder / "opt"
        (opt / "imb").mkdir(parents=True)
        (opt / "imb/IMB-MPI1").symlink_to(WHEELS / "bin/IMB-MPI1")
        (opt / "impi").mkdir()
        for path in (WHEELS / "bin").iterdir():
            if not path.name.startswith("IMB"):
                (opt / "impi" / path.name).symlink_to(path)
        mpich = externals.prefix_of("mpich", opt / "prefixes")
        wheels = f"prepend-path LD_LIBRARY_PATH {WHEELS}/lib\nsetenv I_MPI_ROOT {WHEELS}\n"
        self.module("impi/2021", f"prepend-path PATH {opt}/impi\n{wheels}")
        self.module("mpich/4.0", f"conflict impi\nprepend-path PATH {mpich}/bin\n")
        self.module("imb/2021.7", f"prepend-path PATH {opt}/imb\n")
        # As EasyBuild writes it.
        self.module("IMB/2021.11", (
            f"set root {opt}/imb\nconflict IMB\nprepend-path\tPATH\t\t$root\n"
            'setenv\tEBROOTIMB\t\t"$root"\nsetenv\tEBVERSIONIMB\t\t"2021.11"\n\n'
            "# Built with EasyBuild version 5.4.1\n"
        ))  # fmt: skip
        # A program whose file tells no version.
        (opt / "wrapped").mkdir()
        (opt / "wrapped/IMB-MPI1").write_text(f'#!/bin/sh\nexec {opt}/imb/IMB-MPI1 "$@"\n')
        (opt / "wrapped/IMB-MPI1").chmod(0o755)
        self.module("imb-wrapped/1", f"prepend-path PATH {opt}/wrapped\n")

    def module(self, name, text):
        path = self.folder / "modulefiles" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#%Module\n{text}")

    def use(self, kind, *names):
        """Write the configuration with some of the environments."""
        environments = [
            {
                "name": name, "features": ["imb"], "modules": MODULES[name],
                "extras": {
                    "mpi": "intel-mpi",
                    **({"versions": {"imb": VERSIONS[name]}} if name in VERSIONS else {}),
                },
            }
            for name in names
        ]  # fmt: skip
        self.configure({"extras": {"nodes": 1, "cores": 2, "memory": 2**30}}, environments)
        text = self.file.read_text()
        assert text.count("'hostnames'") == 1
        self.file.write_text(
            text.replace("'hostnames'", f"'modules_system': {kind!r}, 'hostnames'")
        )


@pytest.fixture(scope="module", params=["lmod", "envmod"])
def modular(request, tmp_path_factory):
    """The site, in a shell with this module system."""
    site = SiteOfModules(tmp_path_factory.mktemp(request.param))
    site.write_modules()
    shell = module_systems.variables(
        request.param, site.folder / "bin", site.folder / "modulefiles"
    )
    if isinstance(shell, str):
        pytest.skip(shell)
    site.environment |= {**shell, "PATH": f"{site.folder}/bin:{BIN}:{os.environ['PATH']}"}
    site.kind = request.param
    return site


def test_a_suite_of_modules_runs_and_its_provenance_has_them(modular):
    modular.use(modular.kind, "good")
    options = ("-n", "PingPong", "-S", "ImbMpi1.msglog=0:4")
    done = modular.reframe("-c", "checks/imb.py", "-r", *options)
    status, verdict = modular.gate()
    assert (done.status, status) == (0, 0), (verdict, done.output, done.errors)
    assert verdict["passed"] == 1
    (case,) = database.session(modular.database).cases
    program = modular.folder / "opt/imb/IMB-MPI1"
    assert case.provenance["program"] == str(program)
    assert case.provenance["modules"] == "impi/2021 imb/2021.7"
    assert re.fullmatch(r"intel-mpi@20\d\d\.\S+", case.provenance["mpi"])
    assert case.provenance["suite"].startswith("IMB 2021.")
    doctor = modular.acceptance("doctor", "--format", "json").data
    (imb,) = [row for row in doctor if row["what"] == "Intel MPI Benchmarks"]
    assert imb["state"] == "ok"
    assert f"{program}, impi/2021 imb/2021.7, {case.provenance['mpi']}" in imb["found"]


def test_what_is_wrong_with_modules_is_said_before_anything_runs(modular):
    modular.use(modular.kind, *WRONG)
    done = modular.acceptance("doctor", "--format", "json")
    assert done.status == 1
    found = {
        row["found"].split()[0]: row["found"]
        for row in done.data
        if (row["what"], row["state"]) == ("Intel MPI Benchmarks", "BROKEN")
    }
    assert set(found) == {"unloadable", "without", "other"}
    loading = found["unloadable"].partition(", but its module absent/3 does not load: ")[2]
    assert loading.startswith(SAID[modular.kind]), found["unloadable"]
    assert "no IMB-MPI1 is on the PATH that its `modules` and `env_vars` make" in found["without"]
    mpich = r'it states "mpi": "intel-mpi", .* another, \S+/mpirun: mpich \d'
    assert re.search(mpich, found["other"]), found["other"]


def test_a_listing_has_the_same_lines_and_a_run_fails_with_them(modular):
    if modular.kind == "envmod":
        pytest.skip("the lines are those of Lmod")
    modular.use("lmod", "built", "wrapped", *WRONG)
    options = ("-n", "PingPong", "-S", "ImbMpi1.msglog=0:1", "-S", "ImbMpi1.repetitions=5")
    done = modular.reframe("-c", "checks/imb.py", "-r", *options)
    status, verdict = modular.gate()
    assert (done.status, status) == (1, 1)
    assert verdict["passed"] == 3, "with both builds"
    failed = [each for each in verdict["problems"] if each["kind"] == "case-failed"]
    assert sorted(each["place"][0].rpartition("+")[2] for each in failed) == [
        "other", "unloadable", "without", "wrapped",
    ]  # fmt: skip
    for each in failed:
        assert each["text"].count("\n") == 0
    cases = {each.environment: each for each in database.session(modular.database).cases}
    assert cases["built"].passed
    assert cases["built"].provenance["easybuild"] == "2021.11 by EasyBuild 5.4.1"
    (told,) = [each for each in cases["wrapped"].findings if each.fails]
    assert told.kind == "other-software"
    assert 'states "versions": {"imb": "2019.6"}, and rfm_job.out is of 2021.11' in told.text
    lines = [line for line in (done.output + done.errors).splitlines() if "its cases fail" in line]
    assert len(lines) == 3


def test_versions_count_before_a_run_where_something_tells_them(modular):
    modular.use(modular.kind, *VERSIONS)
    found = {
        row["found"].split()[0]: (row["state"], row["found"])
        for row in modular.acceptance("doctor", "--format", "json").data
        if row["what"] == "Intel MPI Benchmarks"
    }
    assert {name: state for name, (state, _) in found.items()} == {
        "built": "ok", "older": "BROKEN", "wrapped": "ok",
    }  # fmt: skip
    built, older, wrapped = (found[name][1] for name in VERSIONS)
    assert "2021.11 by EasyBuild 5.4.1, intel-mpi@20" in built
    assert built.endswith(", version 2021.11")
    assert '{"imb": "2021.7"}, and ' in older
    assert "opt/imb/IMB-MPI1 is of 2021.11: name that version, or another module" in older
    assert wrapped.endswith(", version not told before it runs")


def test_a_program_that_no_module_brings_is_refused(modular):
    modular.use(modular.kind, "without")
    opt = modular.folder / "opt"
    path = f"{opt}/imb:{modular.environment['PATH']}"
    (imb,) = [
        row
        for row in modular.acceptance("doctor", "--format", "json", PATH=path).data
        if row["what"] == "Intel MPI Benchmarks"
    ]
    assert imb["state"] == "BROKEN"
    assert (
        f"{opt}/imb/IMB-MPI1 was on PATH before, and none of its modules brings it" in imb["found"]
    )
    assert f'"suites": {{"imb": "{opt}/imb"}}' in imb["found"]


def test_modules_that_reframe_would_not_load_are_said(modular):
    if modular.kind == "envmod":
        pytest.skip("nothing of it is asked")
    modular.use("nomod", "good")
    (imb,) = [
        row["found"]
        for row in modular.acceptance("doctor", "--format", "json").data
        if row["what"] == "Intel MPI Benchmarks"
    ]
    assert "its modules (impi/2021, imb) cannot be loaded: the system states no `modules_sys" in imb
    assert 'Lmod is here, write "modules_system": "lmod" into it' in imb


def test_modules_are_loaded_as_in_a_job(modular, monkeypatch):
    for name, value in modular.environment.items():
        monkeypatch.setenv(name, value)
    loaded = prepared({"modules": ["impi/2021"], "modules_system": modular.kind})
    assert loaded.modules == ("impi/2021",)
    for name, value in loaded.variables.items():
        monkeypatch.setenv(name, value)
    variables = [["PATH", '"/with space:$PATH"']]
    environment = {"modules": ["mpich/4.0"], "env_vars": variables, "modules_system": modular.kind}
    ready = prepared(environment)
    assert (ready.modules, ready.fault) == (("mpich/4.0",), ""), "without what it conflicts with"
    assert ready.variables["PATH"].startswith(f"/with space:{modular.folder}/opt/prefixes/mpich")
    assert ready.mpi.name == "mpich"
    assert "its `env_vars`: " in prepared({"env_vars": [["PATH", '"']]}).fault


def test_what_reframe_loads_with_spack_is_not_looked_at(tmp_path):
    (tmp_path / "IMB-MPI1").touch(0o755)
    environment = {"name": "gnu", "modules": ["imb@2021"], "modules_system": "spack"}
    stated = {"extras": {"suites": {"imb": str(tmp_path)}}}
    assert not broken_promise({**environment, **stated}, SUITES["imb"])
    assert "nothing here looks at what" in broken_promise(environment, SUITES["imb"])

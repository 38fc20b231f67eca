"""Suites in images of containers, which ReFrame has Apptainer run: here a made one."""

import ast
import hashlib
import os
import re

import pytest

from acceptance.machine import broken_promise, provision
from acceptance.suites import SUITES
from tests import made_apptainer, module_systems
from tests import stored as database
from tests.checks.test_own_configuration import OwnSite
from tests.conftest import BIN, needs_wheels
from tests.needs import requires
from tests.places import ROOT, WHEELS

LMOD = "/usr/share/lmod/lmod/libexec/lmod"
pytestmark = [needs_wheels, requires("unshare", "mount", "taskset", LMOD)]
#: Environment -> what its extras have in place of those of the guide.
EXTRAS = {
    "contained": {},
    "on-path": {"suites": {}, "versions": {}},
    "crowded": {"images": {"imb": "{}/crowded.sif"}},
    "absent": {"images": {"imb": "{}/none.sif"}},
    "empty": {"images": {"imb": "{}/empty.sif"}, "suites": {"imb": "/mnt"}},
    "broken": {"images": {"imb": "{}/broken.sif"}},
    "folder": {"images": {"imb": "{}"}},
    "address": {"images": {"imb": "docker://registry/imb:latest"}},
    "older": {"versions": {"imb": "2019.6"}},
}
RUNNING = ("contained", "on-path", "crowded")
#: Few repetitions: two ranks on one core take turns.
OPTIONS = ("-n", "PingPong", "-S", "ImbMpi1.msglog=0:1", "-S", "ImbMpi1.repetitions=1")


class SiteOfImages(OwnSite):
    """A site with a suite in images; the MPI and Apptainer are modules, as in the guide."""

    def documented(self):
        """Return what the guide adds to a partition, and its environment, with paths of here."""
        text = (ROOT / "config/site.md").read_text()
        text = text.partition("## Suites in images of containers\n")[2]
        text = text.partition("\nReFrame then")[0].replace("/opt/images", str(self.folder))
        partition, environment = text.replace("/opt/imb/bin", "/mnt/bin").strip().split("\n\n")
        return ast.literal_eval(f"{{{partition}\n}}"), *ast.literal_eval(f"[{environment}]")

    def use(self, *names):
        """Write the configuration with some of the environments."""
        partition, environment = self.documented()
        environments = [
            {**environment, "name": name, "extras": {**environment["extras"], **EXTRAS[name]}}
            for name in names
        ]
        extras = {"nodes": 1, "cores": 2, "memory": 2**30}
        self.configure({**partition, "extras": extras}, environments)
        text = self.file.read_text().replace("'{}", f"'{self.folder}")
        self.file.write_text(text.replace("'hostnames'", "'modules_system': 'lmod', 'hostnames'"))

    def write_modules(self):
        """Write the modules that the guide names."""
        modules = self.folder / "modulefiles"
        (modules / "impi").mkdir(parents=True)
        (modules / "impi/2021").write_text(
            f"#%Module\nprepend-path PATH {self.folder}/mpi\nsetenv I_MPI_ROOT {WHEELS}\n"
            f"prepend-path LD_LIBRARY_PATH {WHEELS}/lib\n"
        )
        (modules / "apptainer").write_text(f"#%Module\nprepend-path PATH {self.folder}/bin\n")
        return module_systems.variables("lmod", self.folder / "lmod", modules)

    def rows(self):
        """Return what the doctor says of IMB: environment -> state and what it found."""
        rows = self.acceptance("doctor", "--format", "json").data
        return {
            row["found"].split()[0]: (row["state"], row["found"])
            for row in rows
            if row["what"] == "Intel MPI Benchmarks"
        }


@pytest.fixture(scope="module")
def contained(tmp_path_factory):
    """The site; its images have the programs of the wheels at /mnt, and one is without."""
    if os.geteuid() != 0:
        pytest.skip("root alone may mount; as root this runs")
    site = SiteOfImages(tmp_path_factory.mktemp("images"))
    made_apptainer.install(site.folder / "bin")
    (site.folder / "mpi").mkdir()
    for path in (WHEELS / "bin").iterdir():
        if not path.name.startswith("IMB"):
            (site.folder / "mpi" / path.name).symlink_to(path)
    inside = ("LD_LIBRARY_PATH=/mnt/lib", "I_MPI_ROOT=/mnt", "PATH=/mnt/bin:/usr/bin:/bin")
    made_apptainer.image(site.folder / "imb.sif", WHEELS.resolve(), *inside)
    made_apptainer.image(site.folder / "crowded.sif", WHEELS.resolve(), *inside, "cpus 0")
    made_apptainer.image(site.folder / "empty.sif", site.folder / "mpi")
    (site.folder / "broken.sif").write_text("no image\n")
    site.environment |= {**site.write_modules(), "PATH": f"{BIN}:{os.environ['PATH']}"}
    return site


@pytest.fixture(scope="module")
def ran(contained):
    """What a run with three environments stored: environment -> case."""
    contained.use(*RUNNING)
    done = contained.reframe("-c", "checks/imb.py", "-r", *OPTIONS)
    found = {case.environment: case for case in database.session(contained.database).cases}
    assert {*found} == {*RUNNING}, done.output + done.errors
    return found


def test_a_suite_in_an_image_runs_where_it_should_and_its_provenance_has_the_image(contained, ran):
    digest = hashlib.sha256((contained.folder / "imb.sif").read_bytes()).hexdigest()
    for name in ("contained", "on-path"):
        told = ran[name].provenance
        assert ran[name].passed, ran[name].fail_reason
        assert told["program"] == f"/mnt/bin/IMB-MPI1 in {contained.folder}/imb.sif"
        assert told["image"] == f"imb.sif sha256:{digest}"
        assert told["container"] == made_apptainer.VERSION
        assert told["modules"] == "impi/2021 apptainer"
        assert told["suite"].startswith("IMB 2021.")
        assert "placement" not in told, "it was verified"
    contained.use("contained", "on-path")
    for state, found in contained.rows().values():
        assert state == "ok"
        assert f"imb.sif sha256:{digest}, {made_apptainer.VERSION}, impi/2021 apptainer" in found
        assert ", version 2021." in found


def test_ranks_that_stand_elsewhere_inside_an_image_are_told(ran):
    failing = [each.kind for each in ran["crowded"].findings if each.fails]
    assert "misplaced" in failing, ran["crowded"].fail_reason


def test_what_is_wrong_with_images_is_said_before_anything_runs(contained):
    wrong = {*EXTRAS} - {*RUNNING}
    contained.use(*wrong)
    rows = contained.rows()
    assert {name: state for name, (state, _) in rows.items()} == dict.fromkeys(wrong, "BROKEN")
    folder = contained.folder
    for name, text in {
        "absent": f"there is no image {folder}/none.sif that can be read",
        "empty": f"IMB-MPI1 is not in the image {folder}/empty.sif, below /mnt",
        "broken": f"does not run /bin/sh of {folder}/broken.sif: FATAL: image format not recog",
        "folder": f"{folder} is no file, and may be another image tomorrow: make one of it",
        "address": "(apptainer build FILE.sif docker://registry/imb:latest), and name that",
        "older": '"versions": {"imb": "2019.6"}, and /mnt/bin/IMB-MPI1 is of 2021.',
    }.items():
        assert text in re.sub(r" +", " ", rows[name][1]), rows[name][1]
    done = contained.reframe("-c", "checks/imb.py", "-r", *OPTIONS)
    status, verdict = contained.gate()
    assert (done.status, status, verdict["passed"]) == (1, 1, 0)
    found = {
        case["where"].rpartition("+")[2]: each["kind"]
        for case in verdict["cases"]
        for each in case["findings"]
        if each["fails"]
    }
    assert found == dict.fromkeys(wrong, "other-software")


@pytest.fixture
def environment(contained):
    """An environment with images, as a dictionary, without modules."""
    suites = ("npb", "patterns", "himeno", "netperf", "imb")
    variables = {"PATH": f"{contained.folder}/bin:{contained.folder}/mpi:$PATH"}
    return {
        "name": "gnu", "features": suites, "env_vars": {**variables, "I_MPI_ROOT": str(WHEELS)},
        "extras": {
            "mpi": "intel-mpi", "images": dict.fromkeys(suites, f"{contained.folder}/imb.sif"),
            "suites": {"npb": "/mnt/bin", "imb": "/mnt/bin"},
        },
        "container": {"type": "Apptainer"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("platform", "text"),
    [
        ({}, 'what runs it is not stated: write "container_platforms": [{"type": "Apptainer"}]'),
        ({"type": "Docker"}, "what runs it is Docker: write"),
        ({"type": "Singularity"}, "no singularity, which runs "),
    ],
)
def test_what_does_not_run_images_is_said(environment, platform, text):
    assert text in broken_promise({**environment, "container": platform}, SUITES["imb"])


def test_what_is_not_run_in_images_is_refused(environment):
    for suite, text in {
        "himeno": "Himeno's benchmark is not run in an image",
        "netperf": "Netperf is not run in an image",
        "patterns": 'name the folder inside that has patterns: "suites": {"patterns": "<folder>"}',
    }.items():
        assert text in broken_promise(environment, SUITES[suite])
    by_spack = {**environment, "features": ["spack", "imb"]}
    assert "Spack builds it (the feature spack), and it has the image" in broken_promise(
        by_spack, SUITES["imb"]
    )


def test_the_folder_of_npb_inside_has_programs(environment):
    told, fault = provision(environment, SUITES["npb"])
    assert not fault
    assert told.startswith("/mnt/bin in ")
    extras = {**environment["extras"], "suites": {"npb": "/mnt/none"}}
    fault = broken_promise({**environment, "extras": extras}, SUITES["npb"])
    assert fault.endswith("imb.sif, below /mnt/none")
    assert "a program is not in the image" in fault
    extras = {**environment["extras"], "suites": {}}
    fault = broken_promise({**environment, "extras": extras}, SUITES["npb"])
    assert 'where NAS Parallel Benchmarks is: "suites": {"npb": "<folder>"}' in fault


def test_nothing_but_what_is_bound_is_seen_inside(contained):
    program = contained.folder / "bin/apptainer"
    words = ("exec", "--pwd", "/", str(contained.folder / "imb.sif"), "/bin/ls", str(ROOT))
    assert contained.run(program, *words).output == ""
    refused = contained.run(program, "exec", "--no-such", *words[1:])
    assert (refused.status, "unknown flag" in refused.errors) == (255, True)

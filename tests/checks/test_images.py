"""Suites in images of containers, which ReFrame has Apptainer run: here a made one."""

import ast
import hashlib
import os
import re

import pytest

from tests import made_apptainer, module_systems
from tests import stored as database
from tests.checks.test_own_configuration import OwnSite
from tests.conftest import BIN, needs_wheels
from tests.needs import requires
from tests.places import ROOT, WHEELS

pytestmark = [needs_wheels, requires("unshare", "mount", "taskset")]
#: Environment -> what its extras say beside the MPI.
EXTRAS = {
    "good": {"images": {"imb": "{}/imb.sif"}, "suites": {"imb": "/mnt/bin"}},
    "on-path": {"images": {"imb": "{}/imb.sif"}},
    "absent": {"images": {"imb": "{}/none.sif"}},
    "empty": {"images": {"imb": "{}/empty.sif"}, "suites": {"imb": "/mnt"}},
    "broken": {"images": {"imb": "{}/broken.sif"}, "suites": {"imb": "/mnt"}},
    "folder": {"images": {"imb": "{}"}, "suites": {"imb": "/mnt"}},
    "address": {"images": {"imb": "docker://registry/imb:latest"}},
    "older": {
        "images": {"imb": "{}/imb.sif"}, "suites": {"imb": "/mnt/bin"},
        "versions": {"imb": "2019.6"},
    },
    "crowded": {"images": {"imb": "{}/crowded.sif"}, "suites": {"imb": "/mnt/bin"}},
}  # fmt: skip
EXTRAS_OF_PARTITION = {"nodes": 1, "cores": 2, "memory": 2**30}
ONE = ("-c", "checks/imb.py", "-n", "PingPong", "-S", "ImbMpi1.msglog=0:4", "-r")


class SiteOfImages(OwnSite):
    """A site whose suites are in images, and whose MPI is that of the wheels."""

    def use(self, *names, platform="Apptainer"):
        """Write the configuration with some of the environments."""
        environments = [
            {
                "name": name, "features": ["imb"],
                "extras": {
                    "mpi": "intel-mpi",
                    **{
                        key: {"imb": stated["imb"].format(self.folder)}
                        for key, stated in EXTRAS[name].items()
                    },
                },
                "env_vars": [
                    ["PATH", f"{self.folder}/mpi:$PATH"],
                    ["LD_LIBRARY_PATH", f"{WHEELS}/lib"],
                    ["I_MPI_ROOT", str(WHEELS)],
                ],
            }
            for name in names
        ]  # fmt: skip
        runs = [{"type": platform, "env_vars": [["PATH", f"{self.folder}/bin:$PATH"]]}]
        partition = {"container_platforms": runs if platform else []}
        self.configure({**partition, "extras": EXTRAS_OF_PARTITION}, environments)

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
    site.environment["PATH"] = f"{BIN}:{os.environ['PATH']}"
    return site


def test_a_suite_in_an_image_runs_where_it_should_and_its_provenance_has_the_image(contained):
    contained.use("on-path")
    done = contained.reframe(*ONE)
    status, verdict = contained.gate()
    assert (done.status, status) == (0, 0), (verdict, done.output, done.errors)
    assert verdict["passed"] == 1
    digest = hashlib.sha256((contained.folder / "imb.sif").read_bytes()).hexdigest()
    for case in database.session(contained.database).cases:
        assert case.provenance["program"] == f"/mnt/bin/IMB-MPI1 in {contained.folder}/imb.sif"
        assert case.provenance["image"] == f"imb.sif sha256:{digest}"
        assert case.provenance["container"] == made_apptainer.VERSION
        assert case.provenance["suite"].startswith("IMB 2021.")
        assert "placement" not in case.provenance, "it was verified"
    for state, found in contained.rows().values():
        assert state == "ok"
        assert f"imb.sif sha256:{digest}, {made_apptainer.VERSION}, intel-mpi@20" in found
        assert ", version 2021." in found


def documented(site):
    """Return what the guide adds to a partition, and its environment, with the paths of a site."""
    text = (ROOT / "config/site.md").read_text()
    text = text.partition("## Suites in images of containers\n")[2].partition("\nReFrame then")[0]
    text = text.replace("/opt/images", str(site.folder)).replace("/opt/imb/bin", "/mnt/bin")
    partition, environment = text.strip().split("\n\n")
    return ast.literal_eval(f"{{{partition}\n}}"), *ast.literal_eval(f"[{environment}]")


def test_the_guide_has_apptainer_and_the_mpi_from_modules(contained):
    modules = contained.folder / "modulefiles"
    shell = module_systems.variables("lmod", contained.folder / "lmod", modules)
    if isinstance(shell, str):
        pytest.skip(shell)
    (modules / "impi").mkdir(parents=True)
    mpi = f"prepend-path PATH {contained.folder}/mpi\nprepend-path LD_LIBRARY_PATH {WHEELS}/lib\n"
    (modules / "impi/2021").write_text(f"#%Module\n{mpi}setenv I_MPI_ROOT {WHEELS}\n")
    (modules / "apptainer").write_text(f"#%Module\nprepend-path PATH {contained.folder}/bin\n")
    partition, environment = documented(contained)
    contained.configure({**partition, "extras": EXTRAS_OF_PARTITION}, [environment])
    text = contained.file.read_text()
    contained.file.write_text(text.replace("'hostnames'", "'modules_system': 'lmod', 'hostnames'"))
    done = contained.reframe(*ONE, **shell)
    assert done.status == 0, done.output + done.errors
    (case,) = database.session(contained.database).cases
    assert case.provenance["program"] == f"/mnt/bin/IMB-MPI1 in {contained.folder}/imb.sif"
    assert case.provenance["modules"] == "impi/2021 apptainer"


def test_what_is_wrong_with_images_is_said_before_anything_runs(contained):
    wrong = ("absent", "empty", "broken", "folder", "address", "older")
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
    done = contained.reframe(*ONE)
    status, verdict = contained.gate()
    assert (done.status, status, verdict["passed"]) == (1, 1, 0)
    found = {
        case["where"].rpartition("+")[2]: (each["kind"], each["remedy"])
        for case in verdict["cases"]
        for each in case["findings"]
        if each["fails"]
    }
    assert {*found} == {*wrong}
    assert {kind for kind, _ in found.values()} == {"other-software"}


@pytest.mark.parametrize(
    ("platform", "text"),
    [
        ("", 'what runs it is not stated: write "container_platforms": [{"type": "Apptainer"}]'),
        ("Docker", "what runs it is Docker: write"),
        ("Singularity", "no singularity, which runs "),
    ],
)  # fmt: skip
def test_what_does_not_run_images_is_said(contained, platform, text):
    contained.use("good", platform=platform)
    state, found = contained.rows()["good"]
    assert state == "BROKEN"
    assert text in found


def test_ranks_that_stand_elsewhere_inside_an_image_are_told(contained):
    contained.use("crowded")
    contained.reframe(*ONE, "-S", "ImbMpi1.msglog=0:1", "-S", "ImbMpi1.repetitions=1")
    status, verdict = contained.gate()
    assert status == 1
    (case,) = database.session(contained.database).cases
    assert "misplaced" in [each.kind for each in case.findings if each.fails], verdict["problems"]


def test_nothing_but_what_is_bound_is_seen_inside(contained):
    program = contained.folder / "bin/apptainer"
    words = ("exec", str(contained.folder / "imb.sif"), "/bin/ls", str(ROOT))
    assert contained.run(program, *words).output == ""
    refused = contained.run(program, "exec", "--no-such", *words[1:])
    assert (refused.status, "unknown flag" in refused.errors) == (255, True)

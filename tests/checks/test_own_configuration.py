"""The first minutes of a site with its own configuration, and with its own checks beside ours."""

import ast
import json
import re
import sqlite3

import pytest

from acceptance.machine import usable_cores
from tests.conftest import Site, needs_wheels
from tests.needs import skip_without

pytestmark = needs_wheels

#: A check of the site that knows nothing of this project; its value is in a file beside it.
COPY = """
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class Copy(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["gnu"]
    executable = "cat"
    executable_opts = [{value!r}]

    @sanity_function
    def copied(self):
        return sn.assert_found("copy", self.stdout)

    @performance_function("GB/s")
    def copy(self):
        return sn.extractsingle(r"copy (\\S+)", self.stdout, 1, float)
"""


class OwnSite(Site):
    """A site whose only configuration is a file of its own."""

    @property
    def file(self):
        return self.folder / "site.py"

    def configure(self, partition=None, environments=()):
        """Write the file: a partition and its environments beside those entries, and places."""
        environments = environments or [{"name": "gnu"}]
        system = {
            "name": "mysite",
            "hostnames": [".*"],
            "prefix": str(self.folder / "prefix"),
            "partitions": [
                {
                    "name": "login", "scheduler": "local", "launcher": "mpirun",
                    "environs": [each["name"] for each in environments], **(partition or {}),
                }
            ],
        }  # fmt: skip
        configuration = {"systems": [system], "environments": environments}
        self.file.write_text(f"site_configuration = {configuration!r}\n")
        fragment = self.acceptance("doctor", "--where", "fragment").output.strip()
        self.environment["RFM_CONFIG_FILES"] = f"{self.file}:{fragment}"

    def copies(self, value):
        (self.folder / "value.txt").write_text(f"copy {value}\n")


def pasted(rows, what):
    """Return the entries that the doctor's lines make, as a site pastes them."""
    (row,) = [row for row in rows if row["what"] == what and row["lines"]]
    text = "\n".join(row["lines"])
    return ast.literal_eval(text if text.startswith("{") else f"{{{text}}}")


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """The site before anything was pasted, its check, and one that cannot be imported."""
    site = OwnSite(tmp_path_factory.mktemp("own"))
    site.configure()
    folder = site.folder / "site_checks"
    folder.mkdir()
    (folder / "copy.py").write_text(COPY.format(value=str(site.folder / "value.txt")))
    (folder / "half.py").write_text("import nowhere\n" + COPY.format(value=""))
    return site


@pytest.fixture(scope="module")
def complete(ours):
    """The site with the lines that its doctor had, and the answer of the doctor before."""
    before = ours.acceptance("doctor", "--format", "json").data
    entries = pasted(before, "partition login")
    environments = [{"name": "gnu"}, pasted(before, "environment wheels")[0]]
    if any(row["what"] == "environment gnu" for row in before):
        environments[0] |= pasted(before, "environment gnu")
    ours.configure(entries, environments)
    return ours, before


@pytest.fixture(scope="module")
def first(complete):
    """The first run, of a benchmark of ours and of all checks of the site, and its verdict."""
    skip_without("mpirun.openmpi")  # as the `mpirun` of the partition
    site, _ = complete
    site.copies(8.0)
    checks = site.acceptance("doctor", "--where", "checks").output.strip()
    done = site.reframe(
        *("-c", f"{checks}/imb.py", "-c", site.folder / "site_checks"),
        *("-r", "-n", "PingPong|Copy", "-S", "ImbMpi1.msglog=0:4"),
    )
    status, verdict = site.gate()
    return done, status, verdict


def test_the_doctor_has_all_lines_that_are_missing(complete):
    site, before = complete
    states = {row["what"]: row["found"] for row in before if row["lines"]}
    assert states["partition login"] == "does not state max_jobs, nodes, cores, memory, fabric"
    partition = pasted(before, "partition login")["extras"]
    assert partition["nodes"] == 1
    assert partition["cores"] == usable_cores()
    after = site.acceptance("doctor", "--format", "json")
    assert after.status == 0, after.output
    lacking = [row["found"] for row in after.data if row["lines"]]
    assert set(lacking) <= {"does not state fabric"}, "which only a machine with links has"
    (imb,) = [row for row in after.data if row["what"] == "Intel MPI Benchmarks"]
    assert (imb["state"], "wheels on mysite:login" in imb["found"]) == ("ok", True)


def test_our_benchmark_and_the_check_of_the_site_are_in_one_run(first):
    done, _, verdict = first
    assert "undefined" not in done.output
    assert {case["name"].split()[0] for case in verdict["cases"]} == {"ImbMpi1", "Copy"}
    assert verdict["passed"] == 2
    assert {"imb.py", "copy.py"} <= {*verdict["check_files"]}


def test_a_check_of_the_site_that_cannot_be_imported_is_told(first):
    _, status, verdict = first
    assert status == 1
    (lost,) = [problem["text"] for problem in verdict["problems"] if problem["kind"] == "lost"]
    assert re.search("half.py.*nowhere", lost)


@pytest.fixture(scope="module")
def fortnight(complete, first):
    """Two weeks of such runs before the first one, in the form in which ReFrame stored it."""
    site, _ = complete
    connection = sqlite3.connect(site.database)
    ((uuid, start, end, blob),) = connection.execute(
        "SELECT uuid, session_start_unix, session_end_unix, json_blob FROM sessions"
    )
    connection.execute("UPDATE sessions SET rowid = 100")  # the others were stored before
    for night in range(14, 0, -1):
        other = f"{night:08x}-0000-4000-8000-000000000000"
        report, shift = json.loads(blob.replace(uuid, other)), 86400.0 * night
        for case in (case for run in report["runs"] for case in run["testcases"]):
            case["job_completion_time_unix"] -= shift
            for values in case["perfvalues"].values():
                values[0] *= 1 + 0.002 * ((7 * night) % 5 - 2)
        for name in ("time_start_unix", "time_end_unix"):
            report["session_info"][name] -= shift
        row = 100 - night, other, start - shift, end - shift, json.dumps(report)
        connection.execute(
            "INSERT INTO sessions(rowid, uuid, session_start_unix, session_end_unix, json_blob) "
            "VALUES(?, ?, ?, ?, ?)",
            row,
        )
    connection.commit()
    return site


def test_baseline_proposes_the_check_of_the_site(fortnight):
    proposed = fortnight.acceptance("baseline", "--nights", "14", "--format", "json")
    rows = [change["new"]["benchmark"] for change in proposed.data["changes"]]
    assert "Copy" in rows, proposed.output


def test_what_became_worse_in_a_check_of_the_site_is_an_alert(fortnight):
    fortnight.copies(4.0)
    checks = fortnight.acceptance("doctor", "--where", "checks").output.strip()
    for _ in "12":
        done = fortnight.reframe(
            *("-c", f"{checks}/fabric.py"),
            *("-c", fortnight.folder / "site_checks/copy.py", "-r"),
        )
        assert done.status == 0, "ReFrame is green"
    status, verdict = fortnight.gate()
    (alert,) = verdict["alerts"]
    found = alert["finding"]
    assert (status, found["device"], found["what"]) == (1, "Copy", "copy")
    past = fortnight.acceptance("history", "Copy/copy").output
    assert "GB/s" in past

"""A site's own configuration: what its runs left is found where it says, and nothing else is."""

import shutil

import pytest

from tests.conftest import DATA, Site
from tests.places import ROOT

SYSTEM = """
site_configuration = {
    "systems": [{
        "name": "mine", "hostnames": [".*"], "prefix": "FOLDER/scratch",
        "partitions": [{
            "name": "compute", "scheduler": "local", "launcher": "local", "environs": ["gnu"],
            "extras": {"nodes": 1, "cores": 2, "verify_placement": False},
        }],
    }],
    "environments": [{
        "name": "gnu", "features": ["imb"], "extras": {"suites": {"imb": "FOLDER/bin"}},
    }],
    MORE
}
"""
STORAGE = '"storage": [{"enable": True, "sqlite_db_file": "FOLDER/kept/results.db"}],'
#: The format is ReFrame's default, with the process.
LOG = """
    "logging": [{"handlers": [{
        "type": "file", "name": "FOLDER/kept/site.log", "level": "debug", "append": True,
        "format": "[%(asctime)s] %(process)d %(levelname)s: %(check_info)s: %(message)s",
    }]}],
"""
CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class Own(rfm.RunOnlyRegressionTest):
    valid_systems = valid_prog_environs = ["*"]
    executable, executable_opts = "echo", ["12.5"]
    sanity_patterns = sn.assert_true(True)

    @performance_function("MB/s")
    def bandwidth(self):
        return sn.extractsingle(r"(.+)", self.stdout, 1, float)
"""
CASE = ("-n", "PingPong%np=2%placement=intra-node")


class Own(Site):
    """A site with its own configuration, which every command is told of by `-C`."""

    def write(self, name, *more, text=SYSTEM):
        path = self.folder / name
        text = text.replace("MORE", "".join(more)).replace("FOLDER", str(self.folder))
        path.write_text(text)
        return path

    def variables(self, **environment):
        # As in a shell where env.sh was sourced: that is of the clone's configuration.
        return {**super().variables(**environment), "ACCEPTANCE_VAR": str(ROOT / "var")}

    def line(self, *arguments, **environment):
        """Return exit status and the one line of a command that cannot judge."""
        done = self.acceptance(*arguments, **environment)
        (line,) = done.errors.strip().splitlines()
        return done.status, line


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A site after a night: a link check and a case of IMB, which plays a recorded output."""
    site = Own(tmp_path_factory.mktemp("own"))
    (site.folder / "bin").mkdir()
    (site.folder / "kept").mkdir()
    shutil.copy(DATA / "imb/IMB-MPI1_PingPong.impi.txt", site.folder / "output.txt")
    program = site.folder / "bin/IMB-MPI1"
    program.write_text(f"#!/bin/sh\ncat {site.folder}/output.txt\n")
    program.chmod(0o755)
    path = site.write("site.py", STORAGE, LOG)
    site.night = site.acceptance("nightly", "-C", path, "--no-alerts", "--", *CASE)
    return site


def test_a_night_has_its_verdict_and_all_that_it_left_is_the_sites(own):
    assert "=== " in own.night.output, own.night.errors
    path = own.folder / "site.py"
    done = own.acceptance("-C", path, "gate", "--format", "json")
    assert done.data["campaign"].startswith("nightly-")
    assert (done.status, done.data["ran"], done.data["system"]) == (own.night.status, 2, "mine")
    assert {entry.name for entry in (own.folder / "kept").iterdir()} >= {
        "results.db",
        "site.log",
        "acceptance",
    }
    rows = own.acceptance("doctor", "-C", path, "--format", "json").data
    found = {row["what"]: (row["state"], row["found"]) for row in rows}
    assert found["results"] == ("ok", f"{own.folder}/kept/results.db")
    assert found["log"] == ("ok", f"{own.folder}/kept/site.log")
    assert found["prefix"] == ("ok", f"{own.folder}/scratch")
    assert found["perflogs"] == ("ok", f"{own.folder}/scratch/perflogs")
    assert found["var"] == ("ok", f"{own.folder}/kept/acceptance")


@pytest.mark.parametrize("command", ["history", "sessions"])
def test_every_command_reads_the_same_results(own, command):
    # Two files, as by the variable; the second one says where results are.
    first = own.write("first.py")
    second = own.write("second.py", STORAGE, LOG, text="site_configuration = {MORE}")
    words = ["-C", first, "-C", second]
    named = own.acceptance(command, *words, "--format", "json")
    assert named.status == 0, named.errors
    assert "perflog" not in named.errors
    assert "PingPong" in named.output or "mine" in named.output
    variable = own.acceptance(command, "--format", "json", RFM_CONFIG_FILES=f"{first}:{second}")
    assert variable.data == named.data


def test_a_run_by_hand_is_judged_never_one_of_the_clone(own):
    path = own.folder / "site.py"
    done = own.reframe("-C", path, "-c", ROOT / "checks", "-r", "-n", "none^")
    assert "Ran 0/0" in done.output
    judged = own.acceptance("gate", "-C", path, "--format", "json")
    assert judged.status == 1
    assert judged.data["problems"][0]["kind"] == "no-cases"
    # The site's own checks leave no mark of their run.
    check = own.folder / "check.py"
    check.write_text(CHECK)
    assert "Ran 1/1" in own.reframe("-C", path, "-c", check, "-r").output
    judged = own.acceptance("gate", "-C", path, "--format", "json")
    assert (judged.status, judged.data["check_files"]) == (0, ["check.py"])
    other = own.folder / "other.db"
    status, line = own.line("history", "-C", path, RFM_SQLITE_DB_FILE=str(other))
    assert status == 2
    assert line.startswith(f"acceptance history: {other}: ")


@pytest.mark.parametrize(
    ("more", "command", "said"),
    [
        ((LOG,), "gate", "results storage is off; add to site_configuration: 'storage': [{"),
        ((LOG,), "nightly", "results storage is off; add to site_configuration: 'storage': [{"),
        ((STORAGE,), "gate", "the log has no name, so that each run has one of its own in "),
        ((STORAGE, LOG.replace("True", "False")), "accept", "without append each ReFrame empties"),
    ],
)
def test_what_is_not_kept_is_said_with_the_line_to_paste(own, more, command, said):
    path = own.write("lacking.py", *more)
    status, line = own.line(command, "-C", path)
    assert status == 2
    assert said in line
    assert "; add to site_configuration" in line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("site_configuration = {'systems': [", "bad.py:1: SyntaxError: '[' was never closed"),
        ("site_configuration = {}\n1 / 0", "bad.py:2: ZeroDivisionError: division by zero"),
        ("systems = []", "bad.py' is not a valid Python configuration file"),
        ("site_configuration = {'systems': 1}", "TypeError: 'int' object is not iterable"),
    ],
)
def test_what_reframe_refuses_is_said_in_its_words_first(own, text, said):
    path = own.write("bad.py", text=text)
    first = own.folder / "site.py"
    status, line = own.line("gate", "-C", first, "-C", path)
    assert status == 2
    assert line.startswith("acceptance gate: reframe: ")
    assert said in line
    assert line.endswith(
        f"until it takes {own.folder}/site.py, {path}, there are no results to find"
    )


def test_a_host_that_no_system_matches_is_told_what_reframe_takes(own):
    path = own.write("nobody.py", STORAGE, LOG, text=SYSTEM.replace('".*"', '"^nobody$"'))
    status, line = own.line("nightly", "-C", path)
    assert status == 2
    assert "no system matches the host" in line
    assert line.endswith(
        "ReFrame takes its own, generic; there are mine: add this host to the `hostnames` of one"
    )
    assert own.line("gate", "-C", path, RFM_SYSTEM="else")[1].startswith(
        "acceptance gate: reframe: failed to load configuration: could not find"
    )


def test_a_configuration_behind_two_dashes_is_refused(own):
    status, line = own.line("nightly", "--", "-C", "site.py")
    assert (status, line) == (
        2,
        "acceptance nightly: -C belongs before --: acceptance nightly -C FILE",
    )

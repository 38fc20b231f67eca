"""A site's own configuration: what its runs left is found where it says, and nothing else is."""

import re
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from acceptance.alerts.notify import body
from acceptance.cli.main import _parser
from acceptance.core.paths import COMMANDS, FRAGMENT, Workspace, named
from acceptance.fabric.kinds import observation
from acceptance.verdict import CaseResult, Verdict, stored
from tests.conftest import DATA, Site
from tests.places import ROOT
from tests.recorded import REPLAYED

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
#: The format is ReFrame's default.
LOG = """
    "logging": [{"handlers": [{
        "type": "file", "name": "FOLDER/kept/site.log", "level": "debug", "append": True,
        "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s",
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
    program.write_text(f"#!/bin/sh\n{REPLAYED} {site.folder}/output.txt\n")
    program.chmod(0o755)
    site.named = ["-C", site.write("site.py", STORAGE, LOG), "-C", FRAGMENT]
    site.night = site.acceptance("nightly", *site.named, "--no-alerts", "--", *CASE)
    return site


def test_a_night_has_its_verdict_and_all_that_it_left_is_the_sites(own):
    assert "=== " in own.night.output, own.night.errors
    done = own.acceptance(*own.named, "gate", "--format", "json")
    assert done.data["campaign"].startswith("nightly-")
    assert (done.status, done.data["ran"], done.data["system"]) == (own.night.status, 2, "mine")
    assert {entry.name for entry in own.var.iterdir()} >= {"results.db", "log", "campaigns"}
    assert (own.folder / "kept/site.log").read_text().count("[ReFrame Setup]") >= 2
    rows = own.acceptance("doctor", *own.named, "--format", "json").data
    found = {row["what"]: (row["state"], row["found"]) for row in rows}
    assert found["results"] == ("ok", str(own.database))
    assert found["log"] == ("ok", f"{own.var}/log")
    assert found["var"] == ("ok", str(own.var))


def test_a_command_that_is_told_to_be_called_names_the_configuration(own):
    told = own.acceptance("sessions", *own.named).output.splitlines()[-1]
    files = " ".join(map(str, own.named))
    assert told.startswith(f"the sessions of a run: acceptance {files} sessions --run nightly-")
    wrong = own.acceptance("compare", *own.named, "here", "there").errors
    assert f"(acceptance {files} sessions lists all)" in wrong


@pytest.mark.parametrize("command", ["history", "sessions"])
def test_every_command_reads_the_same_results(own, command):
    named = own.acceptance(command, *own.named, "--format", "json")
    assert named.status == 0, named.errors
    assert "PingPong" in named.output or "mine" in named.output
    files = ":".join(map(str, own.named[1::2]))
    variable = own.acceptance(command, "--format", "json", RFM_CONFIG_FILES=files)
    assert variable.data == named.data


def test_a_run_by_hand_is_judged_also_of_the_sites_own_checks(own):
    done = own.reframe(*own.named, "-c", ROOT / "checks", "-r", "-n", "none^")
    assert "Ran 0/0" in done.output
    judged = own.acceptance("gate", *own.named, "--format", "json")
    assert judged.status == 1
    assert judged.data["problems"][0]["kind"] == "no-cases"
    check = own.folder / "check.py"
    check.write_text(CHECK)
    assert "Ran 1/1" in own.reframe(*own.named, "-c", check, "-r").output
    judged = own.acceptance("gate", *own.named, "--format", "json")
    assert (judged.status, judged.data["check_files"]) == (0, ["check.py"])


def test_a_run_of_our_checks_without_the_fragment_is_never_an_older_one(own):
    before = own.acceptance("gate", *own.named, "--format", "json")
    assert before.status < 2
    own.reframe("-C", own.folder / "site.py", "-c", ROOT / "checks/imb.py", "-r", "-n", "none^")
    judged = own.acceptance("gate", *own.named, "--format", "json")
    (problem,) = judged.data["problems"]
    assert (judged.status, problem["kind"]) == (2, "last-run")
    assert "has no line of run " in problem["text"]
    assert f"was started without {FRAGMENT}" in problem["text"]


NOW = datetime(2026, 11, 25, tzinfo=timezone.utc)
#: A command of ours that does not say which configuration it is to take.
NAMELESS = re.compile(rf"\bacceptance (?:{'|'.join(COMMANDS)})\b")


@pytest.mark.parametrize("found_by", ["problem", "fabric"])
def test_all_that_an_alert_advises_names_the_configuration(tmp_path, found_by):
    workspace = Workspace(ROOT, tmp_path, tmp_path, (), (Path("my site.py"), FRAGMENT))
    given, how = Verdict(system="mine"), "; acceptance fabric accept --reason TEXT takes it over"
    if found_by == "problem":
        given.fail("references", f"nothing fits{how}")
    else:
        seen = observation("fabric-new", "switch1", f"a new switch{how}")
        case = CaseResult("mine:a+b", "FabricView", "fail", "fabric", findings=(seen,))
        given.cases.append(case)
        given.fail("case-failed", f"{case.place}: fail{how}", case.place)
    given.notes.append("no case of imb.py; acceptance doctor says why")
    stored.settle(given, workspace, NOW)
    (alert,), (problem,) = given.alerts, given.problems
    sent = body([alert], NOW, workspace.named_by)
    for text, command in (
        (alert.finding.text, "fabric accept --reason TEXT"),
        (problem.text, "fabric accept --reason TEXT"),
        (given.notes[0], "doctor says why"),
        (sent, "fabric accept --reason TEXT"),
        (sent, "gate"),
        (sent, f"alerts ack {alert.id} --reason TEXT --until YYYY-MM-DD"),
    ):
        assert f"acceptance -C 'my site.py' -C {FRAGMENT} {command}" in text
        assert not NAMELESS.search(text)


def test_who_acknowledges_what_is_not_open_is_told_the_command_of_this_site(own):
    until = f"{datetime.now() + timedelta(days=7):%Y-%m-%d}"
    done = own.acceptance(
        "alerts", "ack", *own.named, "0123", "--reason", "it is known", "--until", until
    )
    assert done.status == 2
    assert f"`acceptance -C {own.named[1]} -C {FRAGMENT} gate --send` takes note" in done.errors


def test_the_commands_of_sentences_are_those_that_there_are():
    assert sorted(COMMANDS) == sorted(_parser()[1].choices)
    assert named("acceptance gates an acceptance of nodes", " -C x") == (
        "acceptance gates an acceptance of nodes"
    )


@pytest.mark.parametrize("command", ["gate", "nightly", "accept", "history", "doctor"])
def test_a_configuration_without_the_fragment_is_told_how_to_add_it(own, command):
    path = own.write("lacking.py", STORAGE, LOG)
    fault = f"{path}: keeps no log and results in {own.var}"
    remedy = f"name our fragment as the last file: -C {FRAGMENT}"
    if command == "doctor":
        rows = own.acceptance("doctor", "-C", path, "--format", "json")
        (row,) = [row for row in rows.data if row["what"] == "runs"]
        assert (rows.status, row["state"]) == (1, "BROKEN")
        assert (row["found"], row["remedy"]) == (fault, remedy)
        shown = own.acceptance("doctor", "--where", "fragment", "-C", path)
        assert (shown.status, shown.output) == (0, f"{FRAGMENT}\n")
        return
    status, line = own.line(command, "-C", path)
    assert status == 2
    assert line == f"acceptance {command}: {fault}, so that no run is found; {remedy}"
    # Nor is a file after it forgotten, or a variable.
    status, line = own.line(command, "-C", FRAGMENT, "-C", path)
    assert (status, remedy in line) == (2, True)
    other = str(own.folder / "other.db")
    status, line = own.line(command, *own.named, RFM_SQLITE_DB_FILE=other)
    assert (status, "so that no run is found; unset RFM_SQLITE_DB_FILE" in line) == (2, True)


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
    path = own.write("nobody.py", LOG, text=SYSTEM.replace('".*"', '"^nobody$"'))
    status, line = own.line("nightly", "-C", path, "-C", FRAGMENT)
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
        "acceptance nightly: -C belongs before --: acceptance nightly -C ... -- ...",
    )

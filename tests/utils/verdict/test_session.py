"""The ten ways in which a plain ReFrame run is green with nothing measured; none is left."""

import re
import sqlite3
import textwrap
import xml.etree.ElementTree as xml
from datetime import datetime

import pytest

from acceptance.core.paths import ROOT
from acceptance.ledger import Metric
from acceptance.machine import RESUME
from acceptance.rfm import check_files as checkfiles
from acceptance.verdict import judge_cases
from acceptance.verdict.model import Status, Verdict
from tests import made
from tests.conftest import DATA, Site
from tests.utils.verdict.test_nodes import case, session

PINGPONG = "imb/IMB-MPI1_PingPong.impi.txt"
SELECT = ("-n", "PingPong.*%placement=intra-node")


@pytest.fixture
def replay(site, recorded):
    site.replay(recorded(PINGPONG))
    return site


@pytest.fixture(scope="module")
def run_before(tmp_path_factory):
    """A site with one good run, labelled 7; `measured` is a copy of it."""
    site = Site(tmp_path_factory.mktemp("measured"))
    site.replay((DATA / PINGPONG).read_text())
    done = site.reframe("-c", "checks", "-r", *SELECT, "--session-extras", "run=7")
    assert done.status == 0, done.output
    return site


@pytest.fixture
def measured(site, run_before):
    site.take_over(run_before)
    return site


def kinds(verdict):
    return [problem["kind"] for problem in verdict["problems"]]


def message(verdict, kind):
    return next(p["text"] for p in verdict["problems"] if p["kind"] == kind)


def of_kind(verdict, kind):
    return [each for each in verdict["findings"] if each["kind"] == kind]


def write_checks(site, **files):
    site.replay("")
    folder = site.folder / "checks"
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(text))
    return folder


PLAIN = """
    import reframe as rfm
    import reframe.utility.sanity as sn

    @rfm.simple_test
    class {name}(rfm.RunOnlyRegressionTest):
        valid_systems = ["*"]
        valid_prog_environs = ["*"]
        executable = "echo"
        executable_opts = ["5.0"]

        @sanity_function
        def sane(self):
            return True
        {body}
"""


def plain(name, body=""):
    return PLAIN.format(name=name, body=body)


MEASURES = """
        @performance_function("us")
        def latency(self):
            return 5.0
"""


def test_a_run_that_measured_is_green(measured):
    status, verdict = measured.gate()
    assert (status, verdict["verdict"], verdict["problems"]) == (0, "pass", [])
    assert (verdict["selected"], verdict["ran"], verdict["passed"]) == (1, 1, 1)
    (suite,) = verdict["suites"]
    assert suite == {
        "suite": "imb",
        "environments": ["replay:default+recorded"],
        "versions": ["IMB 2021.11"],
        "cases": 1,
    }


def test_row_1_an_extractor_that_finds_nothing(site):
    body = """
        @performance_function("us")
        def latency(self):
            raise ValueError("nothing found")
    """
    folder = write_checks(site, lost=plain("Lost", body))
    assert site.reframe("-c", folder, "-r").status == 0, "plain ReFrame is green"
    status, verdict = site.gate()
    assert status == 1
    assert kinds(verdict) == ["lost", "no-metrics", "nothing-measured"]


def test_row_1_an_extractor_that_finds_nothing_beside_one_that_does(site):
    body = (
        MEASURES
        + """
        @performance_function("MB/s")
        def bandwidth(self):
            raise ValueError("nothing found")
    """
    )
    folder = write_checks(site, half=plain("Half", body))
    assert site.reframe("-c", folder, "-r").status == 0, "plain ReFrame is green"
    status, verdict = site.gate()
    assert status == 1
    assert kinds(verdict) == ["lost"]
    assert "performance variable 'bandwidth'" in message(verdict, "lost")


def test_checks_of_a_site_that_promise_no_metric_are_asked_for_none(site):
    folder = write_checks(site, mounts=plain("Mounts"), modules=plain("Modules"))
    site.reframe("-c", folder, "-r")
    status, verdict = site.gate()
    assert (status, verdict["problems"]) == (0, [])
    (note,) = [note for note in verdict["notes"] if "promise" in note]
    assert re.match(
        r"2 cases passed that promise no metric: (Mounts, Modules|Modules, Mounts)", note
    )
    assert site.gate("--session", verdict["session"][:8])[0] == 0


def test_a_check_that_promises_a_metric_is_asked_for_it_beside_one_that_does_not(site):
    lost = """
        @performance_function("us")
        def latency(self):
            raise ValueError("nothing found")
    """
    folder = write_checks(site, mounts=plain("Mounts"), lost=plain("Lost", lost))
    site.reframe("-c", folder, "-r")
    status, verdict = site.gate()
    assert status == 1
    assert kinds(verdict) == ["lost", "no-metrics", "nothing-measured"]
    assert message(verdict, "no-metrics").startswith("Lost @")


def test_row_2_a_metric_without_reference_is_counted_as_recorded(measured):
    _, verdict = measured.gate()
    assert (verdict["judged"], verdict["recorded"]) == ({}, 48)
    text = measured.acceptance("gate").output
    assert "0 judged, 48 recorded, not judged" in text
    without = re.findall(r"\w+\.py", text.partition("\nnot run ")[2].partition("\ncases ")[0])
    assert {"npb.py", "namd.py", "himeno.py"} < {*without}
    assert text.rstrip().splitlines()[-1] == (
        "VERDICT: pass; no reference exists that could judge what was measured; "
        f"{len(without)} check files not run"
    )


def test_a_metric_that_missed_its_reference_is_counted_as_judged():
    limit = "limit of infiniband QDR 4x, 0.65 of it"
    missed = Metric("bandwidth_peak", 1.0, "MB/s", 10.0, -0.1, None, limit, False)
    given = Verdict()
    judge_cases(given, session(case(["node1"], result="fail", metrics=(missed,)), case(["node1"])))
    assert (given.judged, given.recorded) == ({"limit of infiniband QDR 4x": 1}, 1)


def test_row_3_a_malformed_reference_file_drops_no_case(replay, tmp_path):
    (tmp_path / "empty").mkdir()
    replay.environment["ACCEPTANCE_REFERENCE"] = str(tmp_path / "empty")
    assert replay.reframe("-c", "checks", "-r", *SELECT).status == 1
    status, verdict = replay.gate()
    assert status == 1
    assert "tolerances.yaml: cannot be read" in message(verdict, "case-failed")


def test_row_4_a_name_that_matches_nothing(replay):
    assert replay.reframe("-c", "checks", "-r", "-n", "PingPang").status == 0, "plain is green"
    status, verdict = replay.gate()
    assert status == 1
    assert "no case at all; -n PingPang may match nothing" in message(verdict, "no-cases")


def test_where_no_node_was_up_the_names_that_were_asked_for_are_not_to_blame(replay):
    replay.reframe("-c", "checks/imb.py", "-c", "checks/fabric.py", "-r", "-n", "PingPang")
    log = next((replay.var / "log").glob("*.log"))
    head, line, tail = log.read_text().partition("|info|[==========] Running 0 check(s)")
    begin = head.rpartition("\n")[2]
    away = "replay:default: none of its 2 nodes is up: node1 is down (no power)"
    log.write_text(f"{head}|warning|WARNING: {away}\n{begin}{line}{tail}")
    status, verdict = replay.gate()
    assert (status, kinds(verdict)) == (1, ["no-cases"])
    assert message(verdict, "no-cases") == f"ReFrame selected no case at all; {away}"
    assert all(program in RESUME for program in ("sinfo", "pbsnodes", "flux"))
    (unprovided,) = of_kind(verdict, "not-provided")
    assert (unprovided["what"], unprovided["place"]) == ("imb.py", ["replay", "imb.py"])
    assert (unprovided["text"], unprovided["remedy"]) == (away, RESUME)
    # The links can be looked at on nodes that are not up, too.
    assert verdict["not_selected"] == {"fabric.py": "-n PingPang"}


def test_row_4_a_path_that_does_not_exist(replay):
    assert replay.reframe("-c", "cheks", "-r").status == 0, "plain ReFrame is green"
    status, verdict = replay.gate()
    assert status == 1
    assert kinds(verdict) == ["lost", "no-cases"]
    assert "cheks' does not exist" in message(verdict, "lost")


def test_row_6_a_retry_turns_no_failure_green(site):
    body = """
        @run_before("sanity")
        def fail_once(self):
            import os
            marker = os.path.join(self.prefix, "failed")
            if not os.path.exists(marker):
                open(marker, "w").close()
                raise ValueError("the first attempt")
    """
    folder = write_checks(site, flaky=plain("Flaky", body + MEASURES))
    assert site.reframe("-c", folder, "-r", "--max-retries", "1").status == 0, "plain is green"
    status, verdict = site.gate()
    assert status == 1
    assert kinds(verdict) == ["case-failed"]
    assert "a repetition turns no failure green" in message(verdict, "case-failed")


def test_row_8_cases_that_were_never_run(measured):
    """A session that aborts says `PASSED Ran 0/1`, as it does when `sacct` is missing."""
    log = next((measured.var / "log").glob("*.log"))
    log.write_text(log.read_text().replace("Ran 1/1 test", "Ran 1/4 test"))
    status, verdict = measured.gate()
    assert status == 1
    assert message(verdict, "fewer-cases") == "only 1 of 4 selected cases were run"


def test_row_10_a_check_file_that_cannot_be_imported(site):
    bad = plain("Bad").replace("import reframe as rfm", "import reframe as rfm, nowhere")
    folder = write_checks(site, good=plain("Good", MEASURES), bad=bad)
    assert site.reframe("-c", folder, "-r").status == 0, "plain ReFrame is green"
    status, verdict = site.gate()
    assert status == 1
    assert kinds(verdict) == ["lost", "check-without-case"]
    assert "bad.py" in message(verdict, "lost")
    assert "bad.py: gave no case" in message(verdict, "check-without-case")


def test_a_check_file_that_gives_no_case(site):
    folder = write_checks(
        site,
        good=plain("Good", MEASURES),
        none=plain("None_", MEASURES).replace('["*"]', '["+gpu"]', 1),
    )
    site.reframe("-c", folder, "-r")
    status, verdict = site.gate()
    assert status == 1
    assert "none.py: gave no case" in message(verdict, "check-without-case")


def test_a_check_file_that_a_filter_left_out_is_no_failure(site):
    folder = write_checks(site, good=plain("Good", MEASURES), other=plain("Other", MEASURES))
    site.reframe("-c", folder, "-r", "-n", "Good")
    status, verdict = site.gate()
    assert status == 0
    assert verdict["not_selected"] == {"other.py": "-n Good"}


def test_a_suite_that_nothing_provides_is_named_with_the_way_to_get_it(replay):
    # Beside ours a check of the site's own, which is plain ReFrame.
    own = write_checks(replay, own=plain("Own", MEASURES))
    config = replay.folder / "site.py"
    text = config.read_text().replace("\"features\": ['imb']", '"features": []')
    config.write_text(text.replace('"nodes": 2', '"nodes": 1'))
    done = replay.reframe("-c", "checks", "-c", own, "-r")
    assert done.status == 0, done.output
    assert "Own" in done.output
    status, verdict = replay.gate()
    assert status == 1
    # The link check needs no suite, and neither is a measurement of any.
    assert kinds(verdict) == ["no-suite"]
    assert {entry["what"] for entry in of_kind(verdict, "not-provided")} >= {"imb.py"}
    text = replay.acceptance("gate").output
    assert "nothing provides Intel MPI Benchmarks here" in text
    assert re.search(r"to do +imb\.py.*: get it with: make setup", text)


def test_an_environment_that_provides_a_suite_and_no_case_is_a_failure(replay):
    config = replay.folder / "site.py"
    config.write_text(
        config.read_text().replace('"cores": 2', '"cores": 1').replace('"nodes": 2', '"nodes": 1')
    )
    replay.reframe("-c", "checks/imb.py", "-r")
    status, verdict = replay.gate()
    assert status == 1
    assert "no-cases" in kinds(verdict)


def test_a_metric_that_was_declared_and_not_measured(site):
    body = """
        declared = variable(dict, value={"latency": "us", "bandwidth": "MB/s"}, loggable=True)
    """
    folder = write_checks(site, half=plain("Half", body + MEASURES))
    site.reframe("-c", folder, "-r")
    status, verdict = site.gate()
    assert status == 1
    assert "passed without bandwidth" in message(verdict, "missing-metrics")


def test_values_that_cannot_be_measured(site):
    values = {"Zero": "0.0", "Less": "-1.0", "Nan": "float('nan')", "Infinite": "float('inf')"}
    checks = {name: plain(name, MEASURES.replace("5.0", value)) for name, value in values.items()}
    site.reframe("-c", write_checks(site, **checks), "-r")
    status, verdict = site.gate()
    assert status == 1
    # ReFrame itself takes zero and negative numbers, and those that are infinite.
    refused = {
        problem["place"][0].split()[0]
        for problem in verdict["problems"]
        if problem["kind"] in ("impossible-value", "case-failed")
    }
    assert refused == set(values)
    assert verdict["recorded"] == verdict["judged"].get("", 0) == 0


def test_skipped_cases_are_shown_and_measure_nothing(site):
    body = """
        @run_before("run")
        def leave(self):
            self.skip("the switch is being repaired")
    """
    folder = write_checks(site, skips=plain("Skips", body + MEASURES))
    assert site.reframe("-c", folder, "-r").status == 0, "plain ReFrame is green"
    status, verdict = site.gate()
    assert status == 1
    assert verdict["skipped"] == 1
    assert "the switch is being repaired" in verdict["notes"][0]
    assert kinds(verdict) == ["nothing-measured"]
    suite = xml.fromstring(site.acceptance("gate", "--format", "junit").output)
    skipped = suite.find("testcase[@name='Skips']/skipped")
    assert skipped.get("message") == "skipped: the switch is being repaired"


def test_cases_that_are_skipped_for_one_reason_are_one_note(site):
    body = """
        number = parameter([1, 2, 3])

        @run_before("run")
        def leave(self):
            self.skip("no such program" if self.number > 1 else "repaired")
    """
    folder = write_checks(site, skips=plain("Skips", body + MEASURES))
    assert site.reframe("-c", folder, "-r").status == 0
    _, verdict = site.gate()
    assert verdict["skipped"] == 3
    notes = sorted(note.partition(" [")[2] for note in verdict["notes"] if "skipped: " in note)
    assert notes == ["no such program], and 1 more for the same reason", "repaired]"]


def test_a_run_without_storage_cannot_be_green(site):
    folder = write_checks(site, good=plain("Good", MEASURES))
    site.reframe("-c", folder, "-r", RFM_ENABLE_RESULTS_STORAGE="0")
    status, verdict = site.gate()
    assert status == 1
    assert "not-stored" in kinds(verdict)
    assert verdict["host"]


def test_of_a_run_that_was_not_stored_nobody_says_that_it_was_not_selected(site):
    folder = write_checks(site, good=plain("Good", MEASURES))
    site.reframe("-c", folder, "-r", "-n", "Good", RFM_ENABLE_RESULTS_STORAGE="0")
    assert site.gate()[1]["not_selected"] == {}


def test_a_run_that_was_killed_is_no_earlier_one(measured):
    log = next((measured.var / "log").glob("*.log"))
    text = log.read_text()
    log.write_text(text + text[: text.index("[----------] all spawned")])
    status, verdict = measured.gate()
    assert status == 1
    assert kinds(verdict) == ["interrupted"]


def test_a_label_that_no_run_has_is_no_earlier_run(measured):
    assert measured.gate("--run", "7")[0] == 0
    status, verdict = measured.gate("--run", "8")
    assert status == 1
    assert "labelled run=8" in message(verdict, "no-run")


def test_a_listing_is_no_run(measured):
    measured.reframe("-c", "checks", "-l")
    status, verdict = measured.gate()
    assert status == 0
    assert " -r " in verdict["command"]


def test_nothing_ever_ran(site):
    status, verdict = site.gate()
    assert status == 1
    assert kinds(verdict) == ["no-run"]


def test_another_database_is_judged_by_its_last_session(measured, tmp_path):
    copy = tmp_path / "copy.db"
    copy.write_bytes(measured.database.read_bytes())
    status, verdict = measured.gate("--db", copy)
    assert (status, verdict["passed"]) == (0, 1)


def test_another_database_is_judged_by_the_session_that_was_stored_last(site, tmp_path):
    database = made.Database(tmp_path / "other.db")
    for night in range(3):  # one with a clock that was years ahead
        start = made.FIRST + made.NIGHT * (night if night != 1 else 4000)
        last = database.add([made.one_night(night, 0)], start=start)
    status, verdict = site.gate("--db", tmp_path / "other.db")
    assert (status, verdict["session"]) == (0, last)
    started = datetime.fromtimestamp(made.FIRST + 2 * made.NIGHT)
    assert verdict["time"] == started.isoformat(timespec="seconds")
    assert f"run         {verdict['time']}, 3600 s" in site.acceptance(
        "gate", "--db", tmp_path / "other.db"
    ).output  # fmt: skip


EXPECTED = """
        reference = {"*": {"latency": rfm.core.builtins.xfail("a bug", (1, -0.1, 0.1, "us"))}}
"""


def test_a_failure_that_its_check_expects_is_told_and_fails_nothing(site):
    expected = plain("Known", EXPECTED + MEASURES).replace(
        "import reframe as rfm", "import reframe as rfm\n    import reframe.core.builtins"
    )
    folder = write_checks(site, good=plain("Good", MEASURES), known=expected)
    done = site.reframe("-c", folder, "-r")
    assert "1 expected failure(s)" in done.output
    status, verdict = site.gate()
    assert (status, verdict["problems"]) == (0, [])
    assert (verdict["ran"], verdict["passed"], verdict["expected_failures"]) == (2, 1, 1)
    assert verdict["notes"] == [
        ("failed, as its check expects, without an end (xfail): Known @replay:default+recorded")
    ]
    assert "1 passed, 0 failed, 1 failed as expected, 0 skipped" in site.acceptance("gate").output
    (folder / "good.py").unlink()
    site.reframe("-c", folder, "-r")
    status, verdict = site.gate()
    assert (status, kinds(verdict)) == (1, ["nothing-measured"])


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda path: path.unlink(), "no such file"),
        (lambda path: path.unlink() or path.mkdir(), "no file; a results database"),
        (lambda path: path.write_bytes(b""), "half made"),
        (lambda path: path.write_text("no database"), "file is not a database"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "cannot be read"),
    ],
)
def test_a_database_that_cannot_be_read_cannot_be_judged(measured, damage, words):
    damage(measured.database)
    status, verdict = measured.gate()
    assert (status, verdict["verdict"]) == (Status.CANNOT_JUDGE, "cannot-judge")
    assert words in message(verdict, "unreadable-database")


def test_a_database_of_another_schema_cannot_be_judged(measured):
    with sqlite3.connect(measured.database) as connection:
        connection.execute("UPDATE metadata SET schema_version = '9.9'")
    status, verdict = measured.gate()
    assert status == Status.CANNOT_JUDGE
    assert "9.9" in message(verdict, "unreadable-database")


def test_check_files_are_found_by_their_tests():
    found = checkfiles([ROOT / "checks"], recursive=False)
    assert ROOT / "checks/imb.py" in found
    assert ROOT / "checks/base.py" not in found

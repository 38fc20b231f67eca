"""What ReFrame shows of each case: a line, with its time and a figure; the log has all metrics."""

import re
from types import SimpleNamespace

import pytest

from acceptance.rfm import run_log
from acceptance.suites import SUITES
from checks import progress
from checks.progress import main_figure
from tests.conftest import DATA
from tests.terminal import on_terminal

CASE = ("-c", "checks", "-r", "-n", "PingPong%np=2%placement=intra-node")
ENDED = re.compile(
    r"\[       OK \] \(1/1\) ImbMpi1 %benchmark=PingPong %np=2 %placement=intra-node /\w+ "
    r"@replay:default\+recorded\n==> \d+\.\d s, bandwidth_peak [\d.]+ MB/s$",
    re.MULTILINE,
)


def test_a_case_that_ends_is_reframes_line_and_one_of_ours_and_its_metrics_are_in_the_log(site):
    site.replay((DATA / "imb/IMB-MPI1_PingPong.impi.txt").read_text())
    done = site.reframe(*CASE)
    assert ENDED.search(done.output), done.output
    assert "latency_8" not in done.output
    log = "".join(path.read_text() for path in (site.var / "log").iterdir())
    assert re.search(r"\|verbose\|P: latency_8: [\d.]+ us", log)
    run = next(run_log.runs(site.var / "log"))
    assert (run.ran, run.errors) == ((1, 1), [])
    # That nothing provides the other suites is one line, and no warning.
    assert run.warnings == []
    programs, mode = run.left_out
    assert mode == SUITES["imb"].taken_in("nightly", "imb")
    assert programs.startswith("imb.py with recorded: no IMB-NBC, IMB-RMA: ")
    (line,) = re.findall(r"^no case of (.*)$", done.output, re.MULTILINE)
    assert re.match(r"[a-z_., ]+ on replay:default; acceptance doctor says why$", line)
    assert "osu.py" in line
    assert "imb.py" not in line
    assert run.stored


def test_a_run_whose_time_is_over_begins_no_case_and_says_so(site):
    site.replay((DATA / "imb/IMB-MPI1_PingPong.impi.txt").read_text())
    done = site.reframe(*CASE, ACCEPTANCE_MINUTES="0")
    why = "the 0 minutes of this run are over; give it more with ACCEPTANCE_MINUTES"
    assert f"[{why}]" in done.output
    status, verdict = site.gate()
    assert status == 1
    assert (verdict["skipped"], verdict["ran"]) == (1, 0)
    assert any(why in note for note in verdict["notes"])
    assert site.reframe(*CASE, ACCEPTANCE_MINUTES="60").status == 0


@pytest.mark.parametrize("minutes", ["soon", "nan"])
def test_minutes_that_are_no_number_fail_each_case_with_what_they_must_be(site, minutes):
    site.replay((DATA / "imb/IMB-MPI1_PingPong.impi.txt").read_text())
    done = site.reframe(*CASE, ACCEPTANCE_MINUTES=minutes)
    assert f"ACCEPTANCE_MINUTES is {minutes!r}; it must be a number of minutes" in done.output
    assert done.status == 1


def test_verbose_shows_the_metrics(site):
    site.replay((DATA / "imb/IMB-MPI1_PingPong.impi.txt").read_text())
    assert "\nP: latency_8: " in site.reframe("-v", *CASE).output


@pytest.mark.parametrize(
    ("values", "figure"),
    [
        ({}, ""),
        ({"time": "pass", "energy": "pass"}, "time 1.25 us"),
        ({"latency_8": "pass", "bandwidth_peak": "pass"}, "bandwidth_peak 1.25 us"),
        ({"bandwidth_peak": "pass", "latency_8": "fail"}, "latency_8 1.25 us"),
        (
            {"latency_8": "pass", "bandwidth_peak.distance.1": "pass"},
            "bandwidth_peak.distance.1 1.25 us",
        ),
        ({"of:two": "pass"}, "of:two 1.25 us"),
    ],
)
def test_the_figure_is_what_failed_or_a_peak_or_the_first(values, figure):
    perfvalues = {
        f"s:p:{name}": (1.25, 0, None, None, "us", result) for name, result in values.items()
    }
    assert main_figure(perfvalues) == figure


@pytest.mark.parametrize(
    ("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)]
)
def test_reframe_colours_what_a_terminal_shows(site, variables, coloured):
    words = ["reframe", "--show-config=general/0/colorize"]
    environment = site.variables(**variables)
    del environment["RFM_COLORIZE"]
    assert on_terminal(words, environment) == (0, "true\n" if coloured else "false\n")


def test_reframe_colours_nothing_that_no_terminal_shows(site):
    words = ("env", "-u", "RFM_COLORIZE", "reframe", "--show-config=general/0/colorize")
    assert site.run(*words).output.strip() == "false"


def test_a_run_tells_how_far_it_is_and_when_it_will_be_over(site):
    site.replay((DATA / "imb/IMB-MPI1_PingPong.impi.txt").read_text())
    two = ("-c", "checks", "-r", "-n", "ImbMpi1.*(PingPong|PingPing)%np=2%placement=intra-node")
    first, second = (site.reframe(*two, PYTHONHASHSEED="1").output for _ in range(2))
    begin = re.search(r"^\[-{10}\] (\d) cases and builds; (.*)$", first, re.MULTILINE)
    assert begin, first
    time = r"\d+ s"
    told = rf"about ({time}) left, \1 of it by formula: {begin[1]} did not run here of late"
    assert re.fullmatch(told, begin[2])
    again = re.search(r"^\[-{10}\] \d cases and builds; about \d+ s left", second, re.MULTILINE)
    assert again, second
    run = next(run_log.runs(site.var / "log"))
    assert run.ran == (int(begin[1]), int(begin[1]))
    assert run.stored


def test_a_listing_tells_times_to_whoever_asks_for_them(site):
    site.replay((DATA / "imb/IMB-MPI1_PingPong.impi.txt").read_text())
    (site.folder / "own.py").write_text(OWN)
    listed = ("-c", "checks", "-c", site.folder / "own.py", "-lC", "-S", "mode=smoke")
    assert not re.search("^takes ", site.reframe(*listed).output, re.MULTILINE)
    output = site.reframe(*listed, ACCEPTANCE_TIMES="yes").output
    cases = re.findall(r"^(?:- | +\^)(.+?)(?: \'\w+)* /\w+ @(\S+)$", output, re.MULTILINE)
    told = re.findall(r"^takes (\S+) s: (.+) @(\S+)$", output, re.MULTILINE)
    assert {(name, where) for _, name, where in told} == {*cases}
    unknown = {name for seconds, name, _ in told if not float(seconds)}
    assert unknown == {"Own"}, "of a site's own nobody knows"
    assert len({*cases}) > 5


OWN = """\
import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class Own(rfm.RunOnlyRegressionTest):
    valid_systems, valid_prog_environs, executable = ["*"], ["*"], "true"
    seconds = 3

    @sanity_function
    def ends(self):
        return sn.assert_true(1)
"""


class Task:
    """A task of ReFrame."""

    def __init__(self, state):
        self.state, self._timestamps = state, {}


def test_a_line_comes_when_a_case_has_ended_or_none_has_for_long(monkeypatch):
    clock, lines = [100.0], []
    tasks = {name: Task("startup") for name in "ab"}
    monkeypatch.setattr(progress, "_key", lambda case: (case, "s:p+e", ""))
    monkeypatch.setattr(progress, "_known", lambda keys: {("b", "s:p+e", ""): 30.0})
    monkeypatch.setattr(progress, "_guess", lambda case: 0.0)
    monkeypatch.setattr(progress, "_builds", list)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(progress, "getlogger", lambda: SimpleNamespace(info=lines.append))
    told = progress.Told([*"ab"], tasks)
    assert lines == ["[----------] 2 cases and builds; about 30 s left without 1 that did not run "
                     "here of late"]  # fmt: skip
    for seconds, name, state, count in (
        (5, "a", "running", 1), (15, "a", "running", 1), (20, "a", "completed", 2),
        (25, "b", "fail", 2), (31, "b", "running", 2), (85, "b", "running", 3),
    ):  # fmt: skip
        clock[0] = 100.0 + seconds
        tasks[name].state = state
        told.look()
        assert len(lines) == count, seconds
    assert lines[1] == "[----------] 1 of 2 done in 20 s; about 30 s left"
    assert lines[2].endswith("; now b @s:p+e, for 1 s")
    assert not any("\r" in line or "\x1b" in line for line in lines)


def test_a_count_has_no_unit_in_the_figure():
    assert main_figure({"s:p:nodes": (16, 0, None, None, "1", "pass")}) == "nodes 16"


@pytest.mark.parametrize("value", [None, "fast"])
def test_what_is_no_number_is_no_figure(value):
    values = {"s:p:rate": (value, 0, None, None, "MB/s", None)}
    assert main_figure(values) == ""
    assert main_figure({**values, "s:p:time": (2.5, 0, None, None, "s", "pass")}) == "time 2.5 s"

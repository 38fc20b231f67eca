"""What ReFrame shows of each case: a line, with its time and a figure; the log has all metrics."""

import re

import pytest

from acceptance.core.storage import LogFiles
from acceptance.rfm import run_log
from checks.reframe_patches import main_figure
from tests.conftest import DATA
from tests.terminal import on_terminal

CASE = ("-c", "checks", "-r", "-n", "PingPong%np=2%placement=intra-node")
ENDED = re.compile(
    r"\[       OK \] \(1/1\) ImbMpi1 %benchmark=PingPong %np=2 %placement=intra-node /\w+ "
    r"@replay:default\+recorded: \d+\.\d s, bandwidth_peak [\d.]+ MB/s$",
    re.MULTILINE,
)


def test_a_case_that_ends_is_one_line_and_its_metrics_are_in_the_log(site):
    site.replay((DATA / "imb/IMB-MPI1_PingPong.impi.txt").read_text())
    done = site.reframe(*CASE)
    assert ENDED.search(done.output), done.output
    assert "latency_8" not in done.output
    log = "".join(path.read_text() for path in (site.var / "log").iterdir())
    assert re.search(r"\|verbose\|P: latency_8: [\d.]+ us", log)
    run = run_log.last_ended(LogFiles(site.var / "log"))
    assert (run.ran, run.errors) == ((1, 1), [])
    assert all(" no case on replay:default: " in line for line in run.warnings)
    assert run.stored


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

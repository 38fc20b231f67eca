"""Outputs without bounds: what is read, shown and stored of them, and of other cases."""

import errno
import os
from logging import StreamHandler
from unittest.mock import Mock

import pytest
from reframe.core.exceptions import LoggingError
from reframe.core.logging import MultiFileHandler

from acceptance.core.errors import MESSAGE, QUOTED, ParseError
from acceptance.rfm import recording, run_log
from checks.outputs import bound_message, bound_tail
from checks.reframe_patches import let_stops_through, tell_last_lines, tell_lost_line
from tests import stored as results
from tests.conftest import DATA, Site
from tests.recorded import REPLAYED

#: A line of 8 MB on the standard error, which ends with what a terminal obeys; a table after which
#: 17 MB follow; and the line by which a run begins in ReFrame's log.
PROGRAM = """#!/bin/sh
case "$*" in
*Barrier*) {replayed} {folder}/output.txt;;
*Allreduce*)
    echo "2026-11-22T10:00:00|1|info|[ReFrame Setup]"
    head -c 8000000 /dev/zero | tr '\\0' x >&2
    printf '\\033[2J\\342\\200\\256' >&2
    exit 1;;
*PingPong*) cat {folder}/pingpong.txt; head -c 17000000 /dev/zero;;
esac
"""


@pytest.fixture(scope="module")
def flooded(tmp_path_factory):
    """A site where two of three cases print without bounds, and how its run ended."""
    site = Site(tmp_path_factory.mktemp("flooded"))
    script = site.replay((DATA / "imb/IMB-MPI1_Barrier.impi.txt").read_text())
    pingpong = (DATA / "imb/IMB-MPI1_PingPong.impi.txt").read_text()
    (site.folder / "pingpong.txt").write_text(pingpong)
    script.write_text(PROGRAM.format(folder=site.folder, replayed=REPLAYED))
    names = "(Barrier|Allreduce|PingPong)%np=2%placement=intra-node"
    return site, site.reframe("-c", "checks", "-r", "-n", names)


def test_a_flood_fails_its_case_and_loses_no_other_one(flooded):
    site, done = flooded
    assert done.status == 1
    cases = {
        case.name.split("=")[1].split()[0]: case for case in results.session(site.database).cases
    }
    assert cases["Barrier"].passed
    assert "exited with status 1: xxx" in cases["Allreduce"].fail_reason
    cut = "rfm_job.out: cut at 16448 KiB of 17002289 B"
    assert cut in cases["PingPong"].fail_reason
    status, verdict = site.gate()
    assert status == 1
    assert verdict["passed"] == 1
    assert any(cut in problem["text"] for problem in verdict["problems"])


def test_what_is_shown_and_stored_of_a_flood_is_bounded(flooded):
    site, done = flooded
    kept = [
        path for name in ("log", "perflogs", "reports") for path in (site.var / name).rglob("*")
    ]
    sizes = {path.name: path.stat().st_size for path in [*kept, site.database] if path.is_file()}
    assert len(sizes) > 3
    assert max(sizes.values()) < 200_000, sizes
    assert len(done.output) < 20_000
    assert "(cut: of 8000007 B these are in the last 65536)" in done.output


def test_what_a_program_prints_is_neither_obeyed_nor_taken_for_a_line_of_the_log(flooded):
    site, done = flooded
    assert "\x1b" not in done.output
    (log,) = (site.var / "log").iterdir()
    text = log.read_text()
    assert "\x1b" not in text
    assert "  2026-11-22T10:00:00|1|info|[ReFrame Setup]" in text
    assert len(list(run_log.runs(site.var / "log"))) == 1


def test_a_message_is_shown_to_a_bound():
    text = bound_message(str)
    assert text("a\x1b[2Jb\n") == "a\\x1b[2Jb\n"
    assert len(text("x" * 10**6)) < MESSAGE + 100
    assert "cut at 32000 of 1000000 characters" in text("x" * 10**6)


def test_what_a_parser_quotes_is_bounded():
    long = "x" * 10**6
    said = str(ParseError("out", f"{long!r} is no number", benchmark="latency", line=long))
    assert said.startswith("out: latency: 'xxx")
    assert len(said) < 6 * QUOTED


#: A line of ReFrame's log, as the clone's configuration writes it.
LOGGED = "2026-11-24T18:00:00+00:00|7|info|[  PASSED  ] Ran 5/5 test case(s) from 5 check(s)"


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("", []),
        ("a\nb\nc\n", ["b\n", "c\n"]),
        ("a\rb\x07\n", ["a\n", "b\\x07\n"]),
        (f"a|b|info|c\n{LOGGED}\n", ["a|b|info|c\n", f"  {LOGGED}\n"]),
    ],
)
def test_the_last_lines_of_an_output(tmp_path, content, shown):
    path = tmp_path / "out"
    path.write_text(content)
    assert bound_tail(None)(path, 2) == shown


def test_the_last_lines_of_a_long_output(tmp_path):
    path = tmp_path / "out"
    path.write_text("x" * 10**6 + "\nlast\n")
    note, long, last = bound_tail(None)(path, 5)
    assert "1000006 B" in note
    assert len(long) < QUOTED + 100
    assert last == "last\n"


def test_perflogs_that_cannot_be_written_stop_no_run_and_fail_the_gate(site):
    site.replay((DATA / "imb/IMB-MPI1_Barrier.impi.txt").read_text())
    taken = site.var / "perflogs/replay/default/ImbMpi1.log"
    taken.mkdir(parents=True)
    done = site.reframe("-c", "checks", "-r", "-n", "Barrier%np=2%placement=intra-node")
    assert done.status == 0
    assert "could not log performance data for ImbMpi1 %benchmark=Barrier" in done.output
    status, verdict = site.gate()
    assert (status, verdict["passed"]) == (1, 1)
    (problem,) = verdict["problems"]
    assert problem["kind"] == "perflogs"
    said = f"the perflogs lack 1 case ({taken}: Is a directory): make room there, or make it"
    assert problem["text"].startswith(said)
    assert str(site.database) in problem["text"]


def test_a_full_disk_below_a_perflog_is_told_in_the_log_and_below_another_log_once(capsys):
    reported = []
    handle_error = let_stops_through(lambda *given: reported.append(given))

    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def write(handler, record, fault=full):
        try:
            raise fault
        except type(fault):
            handle_error(handler, record)

    perflog = MultiFileHandler("unused")
    perflog.baseFilename = "case.log"
    with pytest.raises(LoggingError, match=r"^case\.log: No space left on device$"):
        tell_lost_line(write)(perflog, None)
    other = StreamHandler()
    recording._told.clear()
    for _ in range(2):
        write(other, "record")
    # At the end what it still has cannot be written, either.
    close = Mock(side_effect=full)
    tell_last_lines(close)(other)
    close.assert_called_once_with(other)
    tell_last_lines(close)(perflog)
    told = capsys.readouterr().err
    for place in ("standard output", "case.log"):
        assert told.count(f"{place}: cannot be written: No space left") == 1
    assert reported == []
    write(other, "record", ValueError("no number"))
    assert reported == [(other, "record")]

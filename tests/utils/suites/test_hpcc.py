"""`suites/hpcc_output.py` on recorded outputs of HPCC, whole and mutilated."""

import re
from datetime import datetime, timedelta, timezone

import pytest

from acceptance.core.errors import ParseError
from acceptance.suites import hpcc_output as hpcc

SAMPLE = "hpccoutf.openmpi.txt"
SMALL = "hpccoutf_n500.openmpi.txt"
SIX = "hpccoutf_np6.openmpi.txt"
ALONE = "hpccoutf_np1.openmpi.txt"
LOST = "hpccoutf_np5_lost_updates.openmpi.txt"
#: Without hpccinf.txt, and with a grid of 4 x 4 for 2 processes.
NO_INPUT = "hpccoutf_no_input.openmpi.txt"
GRID = "hpccoutf_grid_too_large.openmpi.txt"

#: File -> order, grid and number of processes that it was to have; the block is 80 everywhere.
WHOLE = {
    SAMPLE: (1000, (1, 2), 2),
    SMALL: (500, (1, 2), 2),
    SIX: (1024, (2, 3), 6),
    ALONE: (250, (1, 1), 1),
    LOST: (32, (1, 5), 5),
    NO_INPUT: (500, (1, 2), 2),
    GRID: (500, (4, 4), 2),
}
CORRECT = (SAMPLE, SMALL, SIX)
#: What the summary has not, in the order of its sections -> its lines in the sample.
SLOWEST = {
    "StarRandomAccess_min": "Minimum GUP/s 1.085088",
    "StarRandomAccess_LCG_min": "Minimum GUP/s 1.318688",
    "StarFFT_min": "Minimum Gflop/s 10.277315",
    "StarDGEMM_min": "Minimum Gflop/s 12.496570",
}


@pytest.fixture
def read(recorded):
    return lambda name: recorded(f"hpcc/{name}")


def wanted(name, **changes):
    order, grid, processes = WHOLE[name]
    return {"order": order, "block": 80, "grid": grid, "processes": processes, **changes}


def residuals(output, test="HPL"):
    """Return the lines with the residuals of HPL or PTRANS."""
    begin = {"HPL": "||Ax-b||_oo/", "PTRANS": ("WALL ", "CPU ")}[test]
    return [line for _, line in output.sections[test] if line.startswith(begin)]


def judge(text, **run):
    """Parse and, if the run is given, check."""
    output = hpcc.parse(text, "out")
    if run:
        output.check(**run)


def fault_of(text, **run):
    """Return the one-line error of `judge`."""
    with pytest.raises(ParseError) as caught:
        judge(text, **run)
    assert "\n" not in str(caught.value)
    return caught.value


def refused(text, test, line, words, **run):
    """Parse or check what must be refused; `line` is the line to blame, 0 if there is none."""
    fault = fault_of(text, **run)
    number = text.splitlines().index(line) + 1 if line else 0
    assert (fault.source, fault.benchmark, fault.number) == ("out", test, number)
    assert words in str(fault)
    assert str(fault).startswith(f"out:{number}: " if number else "out: ")
    if line:
        assert str(fault).endswith(repr(line.strip()))


def set_key(text, key, value):
    """Return the text with another value in the summary, and the changed line."""
    changed, times = re.subn(rf"^{key}=.*$", f"{key}={value}", text, flags=re.MULTILINE)
    assert times == 1
    return changed, f"{key}={value}"


def in_section(text, name, old, new):
    """Return the text with the first `old` of a section replaced."""
    before, begin, rest = text.partition(f"Begin of {name} section.\n")
    inside, end, after = rest.partition(f"End of {name} section.\n")
    assert old in inside
    return before + begin + inside.replace(old, new, 1) + end + after


def test_each_recorded_output_is_listed():
    from tests.conftest import DATA

    assert {path.name for path in (DATA / "hpcc").iterdir()} == set(WHOLE)


@pytest.mark.parametrize("name", WHOLE)
def test_a_recorded_output_is_read_completely(read, name):
    text = read(name)
    output = hpcc.parse(text)
    assert output.version == "1.5.0"
    assert set(output.sections) == {*hpcc.TESTS, "Summary"}
    assert len(residuals(output)) == 1
    assert len(residuals(output, "PTRANS")) == 10
    lines = text.splitlines()
    printed = [line.partition("=") for line in lines if re.match(r"\w+=", line)]
    assert [*(key for key, _, _ in printed), *SLOWEST] == list(output.summary)
    for key, _, value in printed:
        found = output.summary[key]
        assert value == found if isinstance(found, str) else float(value) == found
        number, line = output.printed[key]
        assert lines[number - 1] == line == f"{key}={value}"


@pytest.mark.parametrize("name", WHOLE)
def test_sections_hold_their_lines(read, name):
    lines = read(name).splitlines()
    for test, section in hpcc.parse(read(name)).sections.items():
        begin, end = (lines.index(f"{edge} of {test} section.") for edge in ("Begin", "End"))
        if test != "Summary":
            assert [number for number, _ in section] == list(range(begin + 2, end + 1))
            assert [line for _, line in section] == lines[begin + 1 : end]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("VersionRelease", "f"),
        ("HPL_ctop", "1"),
        ("HPL_N", 1000),
        ("HPL_Tflops", 0.0179497),
        ("HPL_eps", 1.11022e-16),
        ("HPL_sMACH_RMAX", 3.402823e38),
        ("HPL_dMACH_EMIN", -1021.0),
        ("MPIFFT_time6", 4e-8),
        ("MPIRandomAccess_Errors", 0),
        ("MemVal", -1),
    ],
)
def test_values_have_the_type_that_hpcc_prints(read, key, value):
    found = hpcc.parse(read(SAMPLE)).summary[key]
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize("name", CORRECT)
def test_a_correct_run_passes(read, name):
    hpcc.parse(read(name)).check(**wanted(name))


@pytest.mark.parametrize("name", [NO_INPUT, GRID])
def test_a_run_of_the_defaults_is_refused(read, name):
    assert "Success=1\n" in read(name)
    words = "HPL_N is not 500; HPCC takes defaults for an hpccinf.txt that it cannot use"
    refused(read(name), "Summary", "HPL_N=3520", words, **wanted(name))


def test_a_run_without_communication_is_refused(read):
    line = "MinPingPongLatency_usec=-1"
    refused(read(ALONE), "LatencyBandwidth", line, "no result", **wanted(ALONE))


def test_a_run_that_lost_updates_is_refused(read):
    line = "Found 11 errors in 512 locations (failed)."
    refused(read(LOST), "MPIRandomAccess", line, "HPCC found an error", **wanted(LOST))


@pytest.mark.parametrize(
    ("changes", "line", "words"),
    [
        ({"order": 1001}, "HPL_N=1000", "HPL_N is not 1001"),
        ({"block": 128}, "HPL_NB=80", "HPL_NB is not 128"),
        ({"grid": (2, 1)}, "HPL_nprow=1", "HPL_nprow is not 2"),
        ({"grid": (1, 1)}, "HPL_npcol=2", "HPL_npcol is not 1"),
        ({"processes": 4}, "CommWorldProcs=2", "CommWorldProcs is not 4"),
    ],
)
def test_another_run_is_refused(read, changes, line, words):
    refused(read(SAMPLE), "Summary", line, words, **wanted(SAMPLE, **changes))


# --- what is no whole output


@pytest.mark.parametrize("text", ["hpcc: command not found\n", "HPL_N=1000\n", "#" * 72 + "\n"])
def test_another_output_is_refused(text):
    refused(text, "", 0, "this is no output of HPCC, or not its beginning")


def test_an_output_without_its_beginning_is_refused(read):
    text = "".join(read(SAMPLE).splitlines(keepends=True)[2:])
    refused(text, "", 0, "this is no output of HPCC")


@pytest.mark.parametrize("name", WHOLE)
def test_two_runs_in_one_output_are_refused(read, name):
    fault = fault_of(read(name) + read(SAMPLE))
    assert "the output of a second run; HPCC appends to its file" in str(fault)
    assert fault.number == len(read(name).splitlines()) + 2


def test_a_second_run_inside_the_first_is_refused(read):
    text = read(SAMPLE)
    head, middle, tail = text.partition("Begin of PTRANS section.\n")
    assert "a second run" in str(fault_of(head + middle + text + tail))


@pytest.mark.parametrize("name", [SAMPLE, ALONE])
def test_every_cut_at_a_line_is_refused(read, name):
    lines = read(name).splitlines(keepends=True)
    for count in range(len(lines)):
        with pytest.raises(ParseError):
            hpcc.parse("".join(lines[:count]))


def test_every_cut_in_a_line_is_refused(read):
    text = read(SAMPLE)
    # The summary and what follows it byte by byte, the rest in steps.
    places = {*range(0, len(text), 97), *range(text.index("Begin of Summary"), len(text))}
    for place in places:
        with pytest.raises(ParseError):
            hpcc.parse(text[:place])


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("HPL_N=10", "the output ends in the middle of a line"),
        ("HPL_N=1000\n", "the output does not end as HPCC does"),
        ("End of Summary section.\n", "the output does not end as HPCC does"),
        ("End of HPC Challenge tests.\n", "the output does not end as HPCC does"),
        ("End of HPL section.\n", "the output does not end as HPCC does"),
    ],
)
def test_a_cut_is_named(read, end, words):
    text = read(SAMPLE)
    cut = text[: text.index(end) + len(end)]
    fault = fault_of(cut)
    assert words in str(fault)
    assert fault.number == len(cut.splitlines())


def test_text_after_the_end_is_refused(read):
    assert "does not end as HPCC does" in str(fault_of(read(SAMPLE) + "mpirun: all done\n"))
    assert "does not end as HPCC does" in str(fault_of(read(SAMPLE) + "#" * 72 + "\n"))


@pytest.mark.parametrize("test", [*hpcc.TESTS, "Summary"])
def test_a_missing_section_is_refused(read, test):
    text = re.sub(rf"Begin of {test} section(.|\n)*End of {test} section\.\n", "", read(SAMPLE))
    refused(text, test, 0, "the section is missing")


@pytest.mark.parametrize("test", [*hpcc.TESTS, "Summary"])
@pytest.mark.parametrize("edge", ["Begin", "End"])
def test_a_section_without_an_edge_is_refused(read, test, edge):
    words = "ends and did not begin" if edge == "Begin" else "the section has no end"
    if (edge, test) == ("End", "Summary"):
        words = "this is no key=value"
    assert words in str(fault_of(read(SAMPLE).replace(f"{edge} of {test} section.\n", "")))


def test_a_section_that_stands_twice_is_refused(read):
    text = read(SAMPLE)
    begin, end = text.index("Begin of PTRANS"), text.index("Begin of StarDGEMM")
    fault = fault_of(text[:end] + text[begin:end] + text[end:])
    assert "the section PTRANS stands twice" in str(fault)


# --- the summary


@pytest.mark.parametrize("key", ["HPL_N", "HPL_Tflops", "Success", "LANG"])
def test_a_key_that_stands_twice_is_refused(read, key):
    text = read(SAMPLE)
    (line,) = re.findall(rf"^{key}=.*$", text, flags=re.MULTILINE)
    again, _ = set_key(text, key, f"7\n{line}")
    refused(again, "Summary", line, f"{key} stands twice")


@pytest.mark.parametrize("key", ["HPL_Tflops", "HPL_N", "MPIFFT_time3", "PTRANS_residual"])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("-inf", "-inf is no finite number"),
        ("", "'' is no number"),
        ("1.2 GB/s", "'1.2 GB/s' is no number"),
        ("007.50", "'007.50' is no number as HPCC prints it"),
        ("1e6", "'1e6' is no number as HPCC prints it"),
        ("1.2345678", "'1.2345678' is no number as HPCC prints it"),
    ],
)
def test_a_value_that_is_no_number_is_refused(read, key, value, words):
    text, line = set_key(read(SAMPLE), key, value)
    refused(text, "Summary", line, words)


@pytest.mark.parametrize(
    ("printed", "value"),
    [("1.2e-05", 1.2e-5), ("1e+06", 1e6), ("0", 0), ("3", 3), ("-1", -1)],
)
def test_numbers_as_c_prints_them_are_read(read, printed, value):
    text, _ = set_key(read(SAMPLE), "MPIFFT_time3", printed)
    assert hpcc.parse(text).summary["MPIFFT_time3"] == value


@pytest.mark.parametrize("key", SLOWEST)
def test_the_slowest_process_is_read_from_its_section(read, key):
    output = hpcc.parse(read(SAMPLE))
    number, line = output.printed[key]
    assert line == SLOWEST[key] == read(SAMPLE).splitlines()[number - 1]
    assert output.summary[key] == float(line.split()[-1])


@pytest.mark.parametrize(
    "value",
    [
        "nan",
        "-1.085088",
        "+1.085088",
        "1.08509",
        "1.0850880",
        "01.085088",
        "1e-06",
        "inf",
        "****",
        "",
    ],
)
@pytest.mark.parametrize("key", SLOWEST)
def test_a_slowest_process_that_is_no_number_is_refused(read, key, value):
    test, line = key.removesuffix("_min"), SLOWEST[key]
    bad = f"{line.rpartition(' ')[0]} {value}"
    refused(in_section(read(SAMPLE), test, line, bad), test, bad, "this is not one slowest process")


@pytest.mark.parametrize("key", SLOWEST)
def test_a_slowest_process_that_is_not_there_or_twice_is_refused(read, key):
    test, line = key.removesuffix("_min"), SLOWEST[key]
    words = "this is not one slowest process"
    refused(in_section(read(SAMPLE), test, f"{line}\n", ""), test, 0, words)
    fault = fault_of(in_section(read(SAMPLE), test, line, f"{line}\n{line}"))
    assert (fault.benchmark, fault.line) == (test, line)


@pytest.mark.parametrize("key", SLOWEST)
def test_a_slowest_process_without_a_result_or_above_the_average_is_refused(read, key):
    test, line = key.removesuffix("_min"), SLOWEST[key]
    for value, words in (("0.000000", "no result"), ("99.000000", "above the average, Star")):
        bad = f"{line.rpartition(' ')[0]} {value}"
        text = in_section(read(SAMPLE), test, line, bad)
        refused(text, test, bad, words, **wanted(SAMPLE))


@pytest.mark.parametrize("line", ["", "HPL_N", "HPL N=3", "WARNING: no memory"])
def test_a_line_that_is_no_value_is_refused(read, line):
    text = read(SAMPLE).replace("HPL_NB=80\n", f"{line}\nHPL_NB=80\n")
    fault = fault_of(text)
    assert "this is no key=value" in str(fault)
    assert fault.benchmark == "Summary"


RESULTS = [(test, key) for test, keys in hpcc.TESTS.items() for key in keys if key not in SLOWEST]


@pytest.mark.parametrize(("test", "key"), RESULTS)
def test_a_missing_result_is_refused_by_test_and_key(read, test, key):
    text = re.sub(rf"^{key}=.*\n", "", read(SAMPLE), flags=re.MULTILINE)
    refused(text, test, 0, f"{test}: {key} is missing in the summary", **wanted(SAMPLE))


@pytest.mark.parametrize(("test", "key"), RESULTS)
@pytest.mark.parametrize("value", ["-1", "0", "-0.5", "-1e-09"])
def test_a_test_that_did_not_run_is_refused_by_test_and_key(read, test, key, value):
    text, line = set_key(read(SAMPLE), key, value)
    refused(text, test, line, f"{test}: no result", **wanted(SAMPLE))


@pytest.mark.parametrize(
    ("key", "test"),
    [
        ("CommWorldProcs", "Summary"),
        ("HPL_N", "Summary"),
        ("HPL_nprow", "Summary"),
        ("Success", "Summary"),
        ("MPIFFT_N", "MPIFFT"),
        ("MPIFFT_maxErr", "MPIFFT"),
        ("MPIRandomAccess_ErrorsFraction", "MPIRandomAccess"),
    ],
)
def test_a_missing_verdict_is_refused(read, key, test):
    text = re.sub(rf"^{key}=.*\n", "", read(SAMPLE), flags=re.MULTILINE)
    refused(text, test, 0, f"{key} is missing", **wanted(SAMPLE))


# --- wrong results


@pytest.mark.parametrize("value", ["0", "-1", "2", "0.5"])
def test_the_verdict_of_hpcc_counts(read, value):
    text, line = set_key(read(SAMPLE), "Success", value)
    refused(text, "Summary", line, "a test failed", **wanted(SAMPLE))


@pytest.mark.parametrize(
    "residual",
    [
        "       0.0039687 ...... FAILED",
        "             nan ...... FAILED",
        "             nan ...... PASSED",
        "            -nan ...... PASSED",
        "             inf ...... PASSED",
        "      16.1000000 ...... PASSED",
        "      -0.0039687 ...... PASSED",
        "       0.0039687 ...... BYPASS",
        "       0.0039687",
        "",
    ],
)
def test_a_residual_of_hpl_must_pass(read, residual):
    text = in_section(read(SAMPLE), "HPL", "       0.0039687 ...... PASSED", residual)
    (line,) = [line for line in text.splitlines() if line.startswith("||Ax-b||_oo/(eps*")]
    refused(text, "HPL", line, "the residual did not pass", **wanted(SAMPLE))


def test_a_second_residual_of_hpl_must_pass(read):
    text = read(SAMPLE)
    (line,) = residuals(hpcc.parse(text))
    failed = line.replace("PASSED", "FAILED")
    text = text.replace(f"{line}\n", f"{line}\n{failed}\n")
    refused(text, "HPL", failed, "the residual did not pass", **wanted(SAMPLE))


@pytest.mark.parametrize("test", ["HPL", "PTRANS"])
def test_there_must_be_a_residual(read, test):
    text = read(SAMPLE)
    for line in residuals(hpcc.parse(text), test):
        text = text.replace(f"{line}\n", "")
    refused(text, test, 0, "no residual", **wanted(SAMPLE))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("PASSED    5.115  0.00", "FAILED    5.115  0.00"),
        ("PASSED    5.115  0.00", "BYPASS    5.115  0.00"),
        ("PASSED    5.115  0.00", "PASSED    5.115  nan"),
        ("PASSED    5.115  0.00", "PASSED    5.115 16.01"),
        ("PASSED    5.115  0.00", "PASSED"),
        ("PASSED    9.050  0.00", "FAILED    9.050  0.00"),
    ],
)
def test_residuals_of_ptrans_must_pass(read, old, new):
    text = in_section(read(SAMPLE), "PTRANS", old, new)
    (line,) = set(text.splitlines()) - set(read(SAMPLE).splitlines())
    refused(text, "PTRANS", line, "the residual did not pass", **wanted(SAMPLE))


@pytest.mark.parametrize(
    ("test", "old", "new"),
    [
        ("HPL", "0 tests completed and failed", "1 tests completed and failed"),
        ("HPL", "0 tests skipped", "1 tests skipped"),
        ("PTRANS", "0 tests completed and failed", "5 tests completed and failed"),
        ("PTRANS", "0 tests skipped", "10 tests skipped"),
    ],
)
def test_no_test_may_be_skipped(read, test, old, new):
    text = in_section(read(SAMPLE), test, old, new)
    (line,) = set(text.splitlines()) - set(read(SAMPLE).splitlines())
    refused(text, test, line, "not all of it was done", **wanted(SAMPLE))


@pytest.mark.parametrize("test", ["HPL", "PTRANS"])
def test_counts_of_tests_must_be_there(read, test):
    text = in_section(read(SAMPLE), test, "0 tests skipped", "no tests skipped")
    refused(text, test, 0, "1 counts of failures instead of 2", **wanted(SAMPLE))


LOCAL = [test for test in hpcc.TESTS if test.startswith(("Star", "Single"))]


@pytest.mark.parametrize("test", LOCAL)
@pytest.mark.parametrize("count", ["1", "128", "-1"])
def test_no_process_may_fail(read, test, count):
    line = f"Node(s) with error {count}"
    text = in_section(read(SAMPLE), test, "Node(s) with error 0", line)
    refused(text, test, line, "not all of it was done", **wanted(SAMPLE))


@pytest.mark.parametrize("test", LOCAL)
def test_the_number_of_failed_processes_must_be_there(read, test):
    text = in_section(read(SAMPLE), test, "Node(s) with error 0\n", "")
    refused(text, test, 0, "0 counts of failures instead of 1", **wanted(SAMPLE))


@pytest.mark.parametrize("test", ["MPIRandomAccess", "MPIRandomAccess_LCG"])
def test_wrong_words_are_bounded(read, test):
    for value in ("0", "1e-05", "0.01"):
        text, _ = set_key(read(SAMPLE), f"{test}_ErrorsFraction", value)
        hpcc.parse(text).check(**wanted(SAMPLE))
    for value in ("0.0100001", "1", "-1"):
        text, line = set_key(read(SAMPLE), f"{test}_ErrorsFraction", value)
        refused(text, test, line, "not within 0 and 0.01", **wanted(SAMPLE))


def test_the_error_of_the_fft_is_bounded(read):
    # 16 x 2^-53 x ln 65536 = 1.97e-14.
    for value in ("0", "1.24754e-15", "1.96e-14"):
        section = f"max(|x-x0|): {float(value):.3e}"
        text, _ = set_key(read(SAMPLE), "MPIFFT_maxErr", value)
        text = in_section(text, "MPIFFT", "max(|x-x0|): 1.248e-15", section)
        hpcc.parse(text).check(**wanted(SAMPLE))
    for value in ("1.98e-14", "1", "9.0072e+15", "-1"):
        text, line = set_key(read(SAMPLE), "MPIFFT_maxErr", value)
        refused(text, "MPIFFT", line, "not within 0 and 1.97e-14", **wanted(SAMPLE))


@pytest.mark.parametrize("value", ["-1", "0", "1"])
def test_an_fft_of_no_points_is_refused(read, value):
    text, _ = set_key(read(SAMPLE), "MPIFFT_N", value)
    assert fault_of(text, **wanted(SAMPLE)).benchmark == "MPIFFT"


@pytest.mark.parametrize(
    ("test", "line"),
    [
        (
            "LatencyBandwidth",
            "[0]: ERROR: expected 14 and 15 as first and last byte, but got 0 and 0 instead",
        ),
        (
            "LatencyBandwidth",
            "[0]: ERROR: from right: expected 1 and 2 as first and last byte, but got 0 instead",
        ),
        ("HPL", "HPL ERROR from process # 0, on line 321 of function HPL_pdtest:"),
        ("HPL", "HPL WARNING from process # 0, on line 321 of function HPL_pdtest:"),
        ("PTRANS", "ILLEGAL GRID: nprow*npcol-nprocs = 14. Too many processes requested."),
        ("PTRANS", "Bad MEMORY parameters: going on to next test case."),
        ("PTRANS", "Failed to allocate 1000000 doubles"),
        ("StarRandomAccess", "Found 9999 errors in 262144 locations (failed)."),
        ("StarSTREAM", "Failed Validation on array a[], AvgRelAbsErr > epsilon (1.000000e-13)"),
    ],
)
def test_what_hpcc_complains_of_is_refused(read, test, line):
    """All of it with Success=1, which is what HPCC prints when data arrived wrong."""
    text = read(SAMPLE).replace(f"End of {test} section.\n", f"{line}\nEnd of {test} section.\n")
    refused(text, test, line, "HPCC found an error", **wanted(SAMPLE))


def test_an_output_that_does_not_tell_when_it_ended_is_refused(read):
    text = re.sub(r"Current time \(\d+\) is", "Current time is", read(SAMPLE))
    with pytest.raises(ParseError, match="does not end as HPCC does"):
        hpcc.parse(text)


def test_each_time_is_that_of_the_job(read):
    text = read(SAMPLE)
    seconds = [int(each) for each in re.findall(r"Current time \((\d+)\)", text)]
    assert len(seconds) == 18
    begin, end = (datetime.fromtimestamp(each, timezone.utc) for each in (seconds[0], seconds[-1]))
    output, minutes = hpcc.parse(text), timedelta(minutes=5)
    # In whatever zone.
    east = timezone(timedelta(hours=9))
    for job in ((begin, end), (begin.astimezone(east), end), (begin + minutes, end - minutes)):
        assert [*output.of_another_job(job)] == []
    later = begin + minutes + timedelta(seconds=1), end + minutes
    told = [*output.of_another_job(later)]
    assert len(told) == seconds.count(seconds[0]), "it went on for another second"
    assert told[0].text.startswith(f"hpccoutf.txt:9: time: {begin:%F %T} instead of ")
    assert len([*output.of_another_job((begin - timedelta(1), end - timedelta(1)))]) == 18

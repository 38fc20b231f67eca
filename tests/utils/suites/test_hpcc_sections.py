"""`suites/hpcc_output.py`: what an output says twice, and says differently."""

import re

import pytest

from acceptance.suites import hpcc_output as hpcc
from tests.utils.suites.test_hpcc import (
    ALONE,
    CORRECT,
    GRID,
    NO_INPUT,
    SAMPLE,
    SIX,
    SLOWEST,
    fault_of,
    in_section,
    read,
    set_key,
    wanted,
)

__all__ = ["read"]
RESULTS = [(test, key) for test, keys in hpcc.TESTS.items() for key in keys if key not in SLOWEST]


def contradicted(text, tests=hpcc.TESTS):
    """Return the keys that sections contradict, in their order."""
    output = hpcc.parse(text)
    return [key for test in tests for key, _ in output.contradictions(test)]


def value(text, key):
    return re.search(rf"^{key}=(.*)$", text, re.MULTILINE)[1]


@pytest.mark.parametrize("name", [*CORRECT, NO_INPUT, GRID])
def test_no_recorded_output_contradicts_itself(read, name):
    assert contradicted(read(name)) == []


def test_a_process_alone_measures_no_latency_and_contradicts_itself_nowhere_else(read):
    tests = [test for test in hpcc.TESTS if test != "LatencyBandwidth"]
    assert contradicted(read(ALONE), tests) == []


@pytest.mark.parametrize("name", [SAMPLE, SIX])
@pytest.mark.parametrize("factor", [10, 0.1, 1.02])
def test_each_result_that_differs_from_its_section_is_refused(read, name, factor):
    text = read(name)
    for test, key in RESULTS:
        changed, line = set_key(text, key, f"{float(value(text, key)) * factor:g}")
        fault = fault_of(changed, **wanted(name))
        assert (fault.benchmark, fault.line) == (test, line)
        assert "the section states something else: " in fault.message


@pytest.mark.parametrize(
    ("name", "key", "value_"),
    [(SIX, "StarRandomAccess_GUPs", "0.313035"), (SAMPLE, "SingleFFT_Gflops", "10.7145")],
)
def test_the_last_digit_counts_where_both_print_it(read, name, key, value_):
    text, line = set_key(read(name), key, value_)
    assert fault_of(text, **wanted(name)).line == line


def test_a_section_that_differs_is_told_with_its_line(read):
    text = in_section(read(SAMPLE), "StarDGEMM", "Average Gflop/s 30", "Average Gflop/s 40")
    fault = fault_of(text, **wanted(SAMPLE))
    assert (fault.benchmark, fault.line) == ("StarDGEMM", "StarDGEMM_Gflops=30.7955")
    assert "'Average Gflop/s 40.795516'" in fault.message


@pytest.mark.parametrize(
    ("test", "lines", "key"),
    [
        ("SingleFFT", "Single FFT Gflop/s 10.714405\n", "SingleFFT_Gflops"),
        ("MPIRandomAccess", "Real time used = 0.055786 seconds\n", "MPIRandomAccess_time"),
        ("LatencyBandwidth", "Ring:\n", None),
        ("LatencyBandwidth", "Detailed benchmark results:\n", None),
    ],
)
def test_a_result_must_stand_in_its_section(read, test, lines, key):
    text = in_section(read(SAMPLE), test, lines, "")
    assert contradicted(text) == ([key] if key else [])


@pytest.mark.parametrize(
    ("test", "edits", "words"),
    [
        (
            "HPL",
            [("HPL_Tflops=0.0179497", "HPL_Tflops=0.179497"), ("1.795e+01", "1.795e+02")],
            "HPL_time=0.0372245 makes it 0.01794",
        ),
        (
            "MPIRandomAccess",
            [("_GUPs=0.0375927", "_GUPs=0.375927"), ("0.037592718 B", "0.375927180 B")],
            "MPIRandomAccess_time=0.0557861 makes it 0.03759",
        ),
        (
            "PTRANS",
            [("PTRANS_GBs=5.11517", "PTRANS_GBs=51.1517"), ("    5.115", "   51.152")],
            "PTRANS_time=0.000222321 makes it 8.99",
        ),
        (
            "MPIFFT",
            [("MPIFFT_Gflops=8.51256", "MPIFFT_Gflops=0.851256"), ("    8.513", "    0.851")],
            "the section states something else: 'Computing:     0.001'",
        ),
        (
            "LatencyBandwidth",
            [
                ("AvgPingPongBandwidth_GBytes=12.1945", "AvgPingPongBandwidth_GBytes=121.945"),
                ("12194.460 /  13123.187", "121944.60 /  13123.187"),
            ],
            "the section",
        ),
        (
            "LatencyBandwidth",
            [
                ("AvgPingPongBandwidth_GBytes=12.1945", "AvgPingPongBandwidth_GBytes=15.1945"),
                ("12194.460 /  13123.187", "15194.460 /  13123.187"),
            ],
            "not between MinPingPongBandwidth_GBytes=11.2657 and MaxPingPongBandwidth_GBytes=13.12",
        ),
    ],
)
def test_results_that_work_and_time_contradict_are_refused(read, test, edits, words):
    """The summary and the section agree; what they are made of does not."""
    text = read(SAMPLE)
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    fault = fault_of(text, **wanted(SAMPLE))
    assert fault.benchmark == test
    assert words in fault.message


def test_the_library_of_fft_that_later_versions_state_is_a_text(read):
    text = read(SAMPLE).replace("End of Summary", "FFT_API=FFTE(built-in)\nEnd of Summary")
    assert hpcc.parse(text).summary["FFT_API"] == "FFTE(built-in)"

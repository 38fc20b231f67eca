"""`references/misses.py`: how a failure names its reference and how far it is off."""

import pytest

from acceptance.references import misses_text

BASELINE = "baseline made, sessions of 2026-11-20"


def perfvalues(*values):
    return {f"made:batch:m{number}": value for number, value in enumerate(values)}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            [1006.3, 1227, -0.05, 0.1, "MB/s", "fail"],
            f"1006 MB/s is 18 % below 1227 MB/s ({BASELINE}; at most 5 % below)",
        ),
        (
            [1.5, 1.2, -0.5, 0.1, "us", "fail"],
            f"1.5 us is 25 % above 1.2 us ({BASELINE}; at most 10 % above)",
        ),
        (
            [98765.4, 123450, -0.15, None, "MB/s", "fail"],
            f"98765 MB/s is 20 % below 123450 MB/s ({BASELINE}; at most 15 % below)",
        ),
        (
            [99, 100, 0, None, "MB/s", "fail"],
            f"99 MB/s is 1 % below 100 MB/s ({BASELINE}; nothing below it)",
        ),
    ],
)
def test_a_failure_names_its_reference(value, said):
    assert misses_text(perfvalues(value), {"m0": BASELINE}) == [f"m0: {said}"]


def test_what_passed_is_no_miss():
    passed = [1200, 1227, -0.05, 0.1, "MB/s", "pass"]
    assert misses_text(perfvalues(passed, [5, 0, None, None, "us", "pass"]), {}) == []


def test_the_worst_are_said_and_the_rest_counted():
    values = [[100 - n, 100, -0.01, None, "MB/s", "fail"] for n in range(5, 10)]
    lines = misses_text(perfvalues(*values), {})
    assert [line.split()[4] for line in lines[:3]] == ["9", "8", "7"]
    assert lines[3:] == ["and 2 more metrics, each nearer to its reference"]
    assert "(a reference of the check; at most 1 % below)" in lines[0]

"""`suites/npb.py`: time and rate of a run beside the operations of its class."""

import re

import pytest

from acceptance.core.errors import ParseError
from acceptance.suites import npb
from tests.conftest import DATA

#: Mop/s in total -> of each of the two processes.
EACH = {"1815.86": "907.93"}
#: Benchmark and class -> seconds and Mop/s of runs that were long enough to tell the formula;
#: NPB 3.4.1 by gfortran 12, on 1 or 2 processes.
MEASURED = {
    ("is", "A"): (0.44, 190.77),
    ("ep", "W"): (0.24, 285.15),
    ("cg", "A"): (0.43, 3459.01),
    ("mg", "A"): (0.48, 8182.57),
    ("ft", "A"): (2.82, 2534.69),
    ("bt", "W"): (1.45, 5310.42),
    ("sp", "W"): (3.50, 4044.69),
    ("lu", "W"): (7.36, 2452.45),
    # On 43 and 192 processes of two cores.
    ("dt-bh", "B"): (5.95, 23.82),
    ("dt-sh", "B"): (72.50, 14.90),
}


@pytest.mark.parametrize("path", sorted((DATA / "npb").iterdir()), ids=lambda path: path.name)
def test_no_recorded_output_contradicts_itself(path):
    """The verified and the others, and those of other numbers of processes."""
    text = path.read_text()
    found = re.search(
        r"(\w\w|DT_\wH)(?:\.\w)? Benchmark Completed.*?Class += +([SWAB]).*?seconds = +(\S+)"
        r".*?/s total += +(\S+)",
        text,
        re.DOTALL,
    )
    if not found:
        pytest.skip("it has no final block of a class")
    name, problem_class, seconds, mops = found.groups()
    figures = name.lower().replace("_", "-"), problem_class, float(seconds), float(mops)
    assert npb.contradiction(*figures) == ""


@pytest.mark.parametrize(("case", "figures"), MEASURED.items(), ids=lambda case: str(case))
def test_the_formulas_are_those_of_the_programs(case, figures):
    seconds, mops = figures
    assert npb.contradiction(*case, seconds, mops) == ""
    assert npb.contradiction(*case, seconds, mops / 1.05)
    assert npb.contradiction(*case, seconds, mops * 1.05)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("9.75", "0.75"),
        ("9.75", "9.57"),
        ("9.75", "97.50"),
        ("9.75", ".75"),
        ("1851.86", "1815.86"),
    ],
)
def test_a_time_or_a_rate_that_does_not_make_the_operations_is_refused(old, new):
    text = (DATA / "npb/3.4_lu.W.2.openmpi.txt").read_text()
    assert npb.only_result(text, "lu", "W", 2).seconds == 9.75
    text = text.replace(f" {old}\n", f" {new}\n").replace(
        " 925.93\n", f" {EACH.get(new, '925.93')}\n"
    )
    with pytest.raises(ParseError) as caught:
        npb.only_result(text, "lu", "W", 2, "out")
    assert caught.value.number == text[: text.index("Mop/s total")].count("\n") + 1


def test_a_time_below_its_rounding_bounds_the_rate_from_below_only():
    least = npb.millions("cg", "S") / 0.005
    assert npb.contradiction("cg", "S", 0.0, 1e12) == ""
    assert npb.contradiction("cg", "S", 0.0, 1.001 * least) == ""
    assert npb.contradiction("cg", "S", 0.0, 0.999 * least)


def test_communication_takes_as_long_as_the_operations_would_at_that_rate():
    text = (DATA / "npb/3.4_lu.W.2.openmpi.txt").read_text()
    result = npb.only_result(text, "lu", "W", 2)
    assert result.seconds == 9.75
    # 1851.86 Mop/s say more of the time than its two decimals.
    assert result.communication_time == pytest.approx(9.75e6, rel=1e-3)
    assert result.communication_time != 9.75e6

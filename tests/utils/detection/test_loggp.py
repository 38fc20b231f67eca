"""`detection/loggp.py`: the parameters of made curves, and what no curve tells."""

import numpy as np
import pytest

from acceptance.detection import loggp

SIZES = tuple(8 << k for k in range(18))


def times_of(*lines, noise=0.0, seed=1):
    """Return times of sizes: `lines` of (first size, intercept, slope), in order."""
    found = []
    for size in SIZES:
        _, start, slope = [line for line in lines if line[0] <= size][-1]
        found.append(start + slope * size)
    return np.array(found) * np.exp(noise * np.random.default_rng(seed).standard_normal(len(SIZES)))


def test_a_curve_of_one_line_has_its_parameters_and_no_switch():
    fit = loggp.fit(SIZES, times_of((0, 1.5, 4e-5)))
    assert fit.latency.value == pytest.approx(1.5, rel=1e-6)
    assert fit.gap.value == pytest.approx(4e-5, rel=1e-6)
    assert fit.switches == ()


def test_where_the_protocol_switches_another_line_begins():
    fit = loggp.fit(SIZES, times_of((0, 1.5, 2e-4), (8192, 4.0, 8e-5), (262144, 9, 4e-5)))
    assert fit.switches == (8192, 262144)
    assert fit.latency.value == pytest.approx(1.5, rel=1e-3)
    assert fit.gap.value == pytest.approx(4e-5, rel=1e-3)


def test_with_noise_the_intervals_have_the_parameters_and_one_stray_time_is_no_switch():
    inside = np.zeros(2)
    for seed in range(20):
        times = times_of((0, 1.5, 4e-5), noise=0.02, seed=seed)
        times[9] *= 1.8
        fit = loggp.fit(SIZES, times)
        assert len(fit.lines) == 1
        for at, (found, true) in enumerate(((fit.latency, 1.5), (fit.gap, 4e-5))):
            low, high = found.interval
            inside[at] += low <= true <= high
    # Of 20 intervals of 95 % one may miss, and seldom three.
    assert (inside >= 17).all()


@pytest.mark.parametrize(
    ("sizes", "times", "fault"),
    [
        (SIZES[:5], [1.0] * 5, "5 sizes and 5 times: 6 are required"),
        (SIZES, [1.0] * 5, "18 sizes and 5 times"),
        (SIZES, [1.0] * 17 + [0.0], "times above 0, and sizes in their order"),
        (SIZES[::-1], [1.0] * 18, "times above 0, and sizes in their order"),
    ],
)
def test_what_is_no_curve_is_refused(sizes, times, fault):
    with pytest.raises(ValueError, match=fault):
        loggp.fit(sizes, times)


def test_neither_parameter_is_below_zero_and_two_sizes_are_a_line():
    falling = loggp.line((8, 16, 32), (3.0, 2.0, 1.0))
    assert (falling.slope.value, falling.start.value > 0) == (0.0, True)
    steep = loggp.line((100, 200, 400), (1.0, 3.0, 7.0))
    assert (steep.start.value, steep.slope.value > 0) == (0.0, True)
    assert loggp.line((8, 16), (1.0, 1.0)).start.value == pytest.approx(1.0)

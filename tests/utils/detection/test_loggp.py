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
    times = times_of((0, 1.5, 4e-5))
    found = loggp.lines(SIZES, times)
    assert (found.start[0], found.slope[0]) == pytest.approx((1.5, 4e-5), rel=1e-6)
    assert loggp.switches(SIZES, times) == ()


def test_where_the_protocol_switches_another_line_begins():
    times = times_of((0, 1.5, 2e-4), (8192, 4.0, 8e-5), (262144, 9, 4e-5))
    assert loggp.switches(SIZES, times) == (8192, 262144)
    first, last = (loggp.lines(SIZES[part], times[part]) for part in (slice(10), slice(15, None)))
    assert first.start[0] == pytest.approx(1.5, rel=1e-3)
    assert last.slope[0] == pytest.approx(4e-5, rel=1e-3)


def test_with_noise_the_intervals_have_the_parameters_and_one_stray_time_is_no_switch():
    times = np.array([times_of((0, 1.5, 4e-5), noise=0.02, seed=seed) for seed in range(20)])
    times[:, 9] *= 1.8
    assert all(loggp.switches(SIZES, each) == () for each in times)
    found = loggp.lines(SIZES, times)
    starts = np.abs(found.start - 1.5) < 1.96 * found.start_error
    slopes = np.abs(found.slope - 4e-5) < 1.96 * found.slope_error
    # Of 20 intervals of 95 % one may miss, and seldom three.
    assert min(starts.sum(), slopes.sum()) >= 17


def test_what_is_within_the_noise_that_other_curves_show_is_no_switch():
    # Seeds whose residuals look as if several lines were there.
    noisy = [times_of((0, 1.5, 4e-5), noise=0.02, seed=seed) for seed in (29, 75, 92, 110)]
    assert all(loggp.switches(SIZES, each) for each in noisy)
    assert not any(loggp.switches(SIZES, each, 0.02) for each in noisy)
    switched = times_of((0, 1.5, 2e-4), (8192, 4.0, 8e-5), noise=0.02)
    assert loggp.switches(SIZES, switched, 0.02) == (8192,)


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
        loggp.switches(sizes, times)


def test_neither_parameter_is_below_zero_and_two_sizes_are_a_line():
    falling = loggp.lines((8, 16, 32), (3.0, 2.0, 1.0))
    assert (falling.slope[0], falling.start[0] > 0) == (0.0, True)
    steep = loggp.lines((100, 200, 400), (1.0, 3.0, 7.0))
    assert (steep.start[0], steep.slope[0] > 0) == (0.0, True)
    assert loggp.lines((8, 16), (1.0, 1.0)).start[0] == pytest.approx(1.0)


def test_the_errors_are_those_of_least_squares_where_a_row_scatters_more_than_is_known():
    sizes, off = np.arange(1, 5), 13 * np.array([1, -1, -1, 1])
    found = loggp.lines(sizes, 1000 + 30 * sizes + off, noise=0.01)
    variance = (off**2).sum() / (4 - 2)
    around = ((sizes - 2.5) ** 2).sum()
    assert found.slope_error[0] == pytest.approx(np.sqrt(variance / around), rel=0.1)
    assert found.start_error[0] == pytest.approx(np.sqrt(variance * (1 / 4 + 2.5**2 / around)), 0.1)

"""`detection/sequential.py`: bounds, and words told at the errors that are asked for."""

from statistics import NormalDist

import numpy as np
import pytest

from acceptance.detection.constants import BOUND_ROUGH, ERROR, LOOKS, SMALLEST, ZONE
from acceptance.detection.sequential import _as_gaussian, bound, crossing, decide
from acceptance.relations import noise
from acceptance.relations.noise import quantile, two_sided

#: What the past of a metric tells of one run: 2 %, of 60 samples, not correlated.
KNOWN = np.array([[0.02], [59.0], [0.0], [0.0]])


def told(*beyond, past=KNOWN, **options):
    word, level, spread = decide(np.array(beyond)[:, None], past, **options)
    return int(word[0]), float(level[0]), float(spread[0])


def test_the_bound_of_one_look_is_a_quantile_of_the_normal_distribution():
    for error in (0.05, 0.01, 0.001):
        assert bound(error, 1) == pytest.approx(NormalDist().inv_cdf(1 - error), abs=1e-4)


@pytest.mark.parametrize(
    ("both_sides", "looks", "printed"),
    [(0.05, 2, 2.178), (0.05, 5, 2.413), (0.05, 10, 2.555), (0.01, 5, 2.986), (0.01, 10, 3.117),
     (0.1, 10, 2.270)],
)  # fmt: skip
def test_bounds_are_those_of_published_tables(both_sides, looks, printed):
    # Pocock's constants, as Jennison and Turnbull print them (Table 2.1): of either side half.
    assert bound(both_sides / 2, looks) == pytest.approx(printed, abs=2e-3)


def test_the_chance_to_cross_is_that_of_random_walks():
    rng = np.random.default_rng(1)
    sums = rng.standard_normal((100_000, 6)).cumsum(axis=1) / np.sqrt(np.arange(1, 7))
    for limit in (1.5, 2.5):
        seen = (sums > limit).any(axis=1).mean()
        assert crossing(limit, 6) == pytest.approx(seen, abs=5 * np.sqrt(seen / 100_000))


@pytest.mark.parametrize("dof", [1, 2, 3, 5, 10, 40])
def test_a_students_t_is_told_as_what_is_as_improbable_of_a_gaussian(dof):
    for z in (2.0, 2.9, 3.5):
        probability = 2 * NormalDist().cdf(-z)
        t = quantile(probability, dof)
        assert two_sided(t, dof) == pytest.approx(probability, rel=1e-3)
        ours = float(_as_gaussian(np.array([-t]), np.array([float(dof)]))[0])
        # Of few degrees of freedom it is told as less than it is.
        assert -z - 0.03 <= ours <= -z * (0.88 if dof < 5 else 0.98)


def test_one_run_passes_by_far_and_one_slow_run_however_slow_fails_nothing():
    assert told(-0.2)[0] == -1
    assert told(-0.03)[0] == 0
    assert told(3.0)[0] == 0
    assert told(3.0, *[-0.04] * 6)[0] == -1
    assert told(0.2, 0.21)[0] == 1
    assert bound(ERROR) > BOUND_ROUGH


def test_level_and_spread_are_told():
    word, level, spread = told(0.06, 0.07, 0.08)
    assert (word, level) == (1, pytest.approx(0.07))
    assert spread == pytest.approx(0.02, rel=0.05)


def test_without_a_past_the_runs_themselves_tell():
    steady = [0.051, 0.049, 0.05, 0.052, 0.048, 0.05]
    assert told(*steady[:2], past=None)[0] == 0
    assert told(*steady, past=None)[0] == 1
    assert told(*(-each for each in steady), past=None)[0] == -1
    wide = [0.05, -0.3, 0.4, 0.2, -0.15, 0.1]
    assert told(*wide, past=None)[0] == 0
    # One run that was slow does not hide what all others tell.
    assert told(0.5, *(-each for each in steady), past=None)[0] == -1


def test_more_runs_than_looks_tell_no_more():
    near = [0.001] * LOOKS
    assert told(*near)[0] == 0
    assert told(*near, *[5.0] * 50)[0] == 0


def test_a_limit_has_a_width():
    runs = [ZONE / 4] * LOOKS
    steady = np.array([[0.0025], [59.0], [0.0], [0.0]])
    # Both words hold: the level is beyond the near edge, and inside the far one.
    assert told(*runs, past=steady)[0] == 1
    assert told(*(-each for each in runs), past=steady)[0] == -1
    assert told(*runs, past=steady, zone=0.5 * SMALLEST)[0] in (0, 1)


def realised(level, phi=0.0, *, past=True, count=4000, seed=3):
    """Return how often cases of this level (in edges of the limit) fail, pass, and after what."""
    rng = np.random.default_rng(seed)
    scatter = rng.standard_normal((LOOKS, count))
    for run in range(1, LOOKS):
        scatter[run] = phi * scatter[run - 1] + np.sqrt(1 - phi**2) * scatter[run]
    spread = 0.02 * np.sqrt(rng.chisquare(40, count) / 40)
    of_one = spread, np.full(count, 40.0), np.full(count, phi), np.zeros(count)
    known = np.array(of_one) if past else None
    words, runs = np.zeros(count, int), np.full(count, LOOKS)
    for look in range(1, LOOKS + 1):
        now, _, _ = decide(level * ZONE / 2 + 0.02 * scatter[:look], known)
        runs[(words == 0) & (now != 0)] = look
        words = np.where(words == 0, now, words)
    return (words == 1).mean(), (words == -1).mean(), runs.mean()


@pytest.mark.parametrize("past", [True, False])
@pytest.mark.parametrize("phi", [0.0, 0.4])
def test_errors_are_at_most_those_that_are_asked_for(phi, past):
    # Five standard deviations of a share of 4,000 beside it; unknown correlation is guessed.
    most = ERROR * (2.5 if phi and not past else 1) + 5 * np.sqrt(ERROR / 4000)
    fails, _, _ = realised(-1, phi, past=past)
    _, passes, _ = realised(1, phi, past=past)
    assert fails <= most
    assert passes <= most


def test_noise_that_is_longer_on_one_side_fails_no_more_often_than_asked_for():
    rng = np.random.default_rng(5)
    logs = 0.02 * (rng.lognormal(0, 1, (LOOKS + 60, 2000)) - 1)
    values = np.exp(logs[LOOKS:])
    learnt = [noise.learn(past, [{len(past) - 1}], ()) for past in values.T]
    leans = np.array([each.lean for each in learnt])
    assert (leans > 0).mean() > 0.95
    for taken_off, most in ((leans, ERROR), (0 * leans, 1.0)):
        known = np.array([[each.spread, each.dof, each.correlation] for each in learnt]).T
        known = np.vstack([known, taken_off])
        failed = np.zeros(2000, bool)
        for look in range(1, LOOKS + 1):
            failed |= decide(logs[:look] - ZONE / 2, known)[0] == 1
        share = failed.mean()
        assert share <= most + 3 * np.sqrt(ERROR / 2000)
    assert share > ERROR


def test_what_is_far_from_its_limit_is_decided_by_few_runs():
    fails, passes, runs = realised(8)
    assert (fails, passes) == (pytest.approx(1, abs=0.01), 0)
    assert runs < LOOKS / 2
    fails, passes, runs = realised(0)
    assert fails + passes < 0.2
    assert runs > LOOKS / 2

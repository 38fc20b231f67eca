"""False alarms and nights to detect of families of series that move together.

Run by `make bench`; asserts nothing. A family are ten series with noise of 2 %, a part of which
(`correlation` of its variance) all of them share. All noise is of the kinds of `detection.py`.
`python -m tests.bench.families SEED [FAMILIES [CORRELATION]]` takes other seeds and numbers.
"""

import math
import sys
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from acceptance.core.text import table
from acceptance.detection import constants, families
from tests.bench.detection import AFTER, FAMILIES, NIGHTS, shown

Floats = NDArray[np.float64]
MEMBERS, SHIFT, DEVIATION = 10, 0.05, 0.02
CORRELATIONS = (0.0, 0.5, 0.9)


def made(noise: str, correlation: float, nights: int, count: int, seed: int) -> Floats:
    """Return families without a change: logarithms, (nights, count, MEMBERS)."""
    rng = np.random.default_rng([seed, round(100 * correlation), *noise.encode()])
    common = FAMILIES[noise](rng, (nights, count))[:, :, None]
    own = FAMILIES[noise](rng, (nights, count * MEMBERS)).reshape(nights, count, MEMBERS)
    off = math.sqrt(correlation) * common + math.sqrt(1 - correlation) * own
    return np.log(np.maximum(1 + DEVIATION * off, 0.05))


#: Half of the grid on which densities are computed, in standard deviations, and its step.
WIDE, STEP = 40.0, 0.02
GRID = np.arange(-WIDE, WIDE + STEP / 2, STEP)


def density(noise: str) -> Floats:
    """Return the density of a kind of noise of `detection.py` on the grid."""

    def normal(at: Floats) -> Floats:
        return np.exp(-0.5 * at**2) / math.sqrt(2 * math.pi)

    if noise.startswith("log-normal"):
        width = float(noise.split()[1])
        scale = math.sqrt((math.exp(width**2) - 1) * math.exp(width**2))
        value = np.maximum(GRID * scale + math.exp(width**2 / 2), 1e-300)
        return scale * normal(np.log(value) / width) / value / width * (value > 1e-300)
    if noise.startswith("bimodal"):
        share = int(noise.split(":")[1]) / 100
        scale = math.sqrt(1 + 25 * share * (1 - share))
        fast, slow = (normal(GRID * scale + 5 * share - off) for off in (0, 5))
        return scale * ((1 - share) * fast + share * slow)
    if "outliers" in noise:
        slow = 1.0 if "slow" in noise else 0.5
        far = (np.abs(GRID) >= 5) & (np.abs(GRID) <= 20)
        return 0.98 * normal(GRID) + 0.02 * far * np.where(GRID > 0, slow, 1 - slow) / 15
    if noise.startswith("Student"):
        return 2 / math.pi / (1 + GRID**2) ** 2
    return normal(GRID)


def own_bound(noise: str, correlation: float) -> float:
    """Return Lorden's bound for the noise of the pool as it is: the mean of its members.

    That is the logarithm of the run length over the information of a night (Kullback and Leibler).
    Of an AR(1) process a night has (1 - phi) / (1 + phi) of it (Lai, IEEE Trans. Inf. Theory 44(7),
    1998): after the first night only a part of the shift is not that of the night before.
    """

    def scaled(shape: Floats, by: float) -> Floats:
        part = np.interp(GRID / by, GRID, shape, left=0, right=0)
        return np.asarray(part / part.sum(), np.float64)

    def added(one: Floats, other: Floats) -> Floats:
        size = 2 * len(GRID)
        both = np.fft.irfft(np.fft.rfft(one, size) * np.fft.rfft(other, size), size)
        return np.maximum(both[len(GRID) // 2 :][: len(GRID)], 0)

    shape = density(noise)
    one = scaled(shape, math.sqrt(1 - correlation) / MEMBERS)
    two = added(one, one)
    eight = added(added(two, two), added(two, two))
    pool = added(eight, two)
    if correlation:
        pool = added(pool, scaled(shape, math.sqrt(correlation)))
    step = round(SHIFT / DEVIATION / STEP)
    after, before = pool[:-step], np.maximum(pool[step:], 1e-15)
    there = after > 1e-11
    information = float((after[there] * np.log(after[there] / before[there])).sum())
    if noise.startswith("AR"):
        phi = float(noise.split()[1])
        information *= (1 - phi) / (1 + phi)
    return float(constants.DEFAULT_THRESHOLD) / information


def bound(correlation: float) -> float:
    """Return Lorden's bound: nights at least, at one false alarm in 100 years of Gaussian noise."""
    variance = DEVIATION**2 * (correlation + (1 - correlation) / MEMBERS)
    return float(constants.DEFAULT_THRESHOLD / (SHIFT**2 / (2 * variance)))


def alarms(values: Floats) -> list[list[families.FamilyChange]]:
    state = families.empty(values.shape[1], values.shape[2])
    return families.advance(state, values, range(len(values)), constants.DEFAULT_THRESHOLD)


def false_alarms(noise: str, correlation: float, count: int, seed: int = 21) -> tuple[int, float]:
    """Return the false alarms and the family-years in which they were."""
    found = alarms(made(noise, correlation, 2 * NIGHTS, count, seed))
    wrong = sum(change.worse for changes in found for change in changes)
    return wrong, count * (2 - constants.FAMILY_FEWEST / NIGHTS)


def delays(
    noise: str, correlation: float, count: int, moving: int = MEMBERS, seed: int = 22
) -> tuple[Floats, float, float]:
    """Return nights to detect, which share of members is named rightly, and the median error."""
    values = made(noise, correlation, 300 + AFTER, count, seed)
    at = np.random.default_rng(seed + 1).integers(60, 301, count)
    shift = np.where(np.arange(len(values))[:, None] >= at, math.log1p(SHIFT), 0.0)
    values[:, :, :moving] += shift[:, :, None]
    values[np.arange(len(values))[:, None] >= at + AFTER] = np.nan
    nights, named, sizes = np.full(count, np.inf), [], []
    for family, changes in enumerate(alarms(values)):
        for change in changes:
            if change.detected >= at[family] and change.worse:
                nights[family] = change.detected - at[family] + 1
                truth = np.arange(MEMBERS) < moving
                named.append((np.array(change.moved) == truth).mean())
                off = (np.array(change.after) - np.array(change.before))[np.array(change.moved)]
                sizes.append(abs(np.median(off) - math.log1p(SHIFT)))
                break
    return nights, float(np.mean(named or [np.nan])), float(np.median(sizes or [np.nan]))


def by_noise(
    count: int, quiet: int, seed: int = 21, correlations: Sequence[float] = CORRELATIONS
) -> Iterator[list[object]]:
    for correlation in correlations:
        for noise in FAMILIES:
            nights, named, error = delays(noise, correlation, count, seed=seed + 1)
            wrong, years = false_alarms(noise, correlation, quiet, seed)
            mean = float(np.minimum(nights, AFTER).mean())
            gaussian, own = bound(correlation), own_bound(noise, correlation)
            met = "yes" if mean <= gaussian + 1 else "of its noise" if mean <= own + 1 else "no"
            yield [
                f"{correlation:g}", noise, f"{gaussian:.1f}", f"{own:.1f}",
                shown(nights), f"{mean:.2f}", met, f"{named:.2f}",
                f"{error:.1%}", f"{100 * wrong / years:.2f}", f"{years:.0f}",
            ]  # fmt: skip


def halves(count: int) -> Iterator[list[object]]:
    """Only the first half of the members moves: nights, and which share is named rightly."""
    for correlation in CORRELATIONS:
        nights, named, _ = delays("Gaussian", correlation, count, MEMBERS // 2)
        yield [f"{correlation:g}", shown(nights), f"{named:.2f}"]


def why_not() -> str:
    """Return why this machine cannot run the bench: it always can."""
    return ""


def main() -> None:
    given = [float(each) for each in sys.argv[1:] if __name__ == "__main__"]
    seed, count = (int(each) for each in (*given, *(21, 60)[len(given) :])[:2])
    print(
        "Ten series that move together by 5 % in noise of 2 %, in night 60 to 300; wanted: nights"
    )
    print("of Lorden's bound and one more, at most one false alarm in 100 years of a family.")
    print(
        "The bound of Gaussian noise, and of the pool's noise as it is: where its tail is heavy or"
    )
    print("nights are correlated, a night says less, and nobody could be as fast as in a Gaussian.")
    header = [
        "correlation", "noise", "bound", "own bound", "median / 90 %", "mean", "bound + 1 met",
        "named rightly", "error of the size", "false alarms in 100 years", "family-years",
    ]  # fmt: skip
    print(table(header, by_noise(count, count, seed, given[2:3] or CORRELATIONS)))
    print("\nOnly five of the ten move, Gaussian noise")
    print(table(["correlation", "median / 90 %", "named rightly"], halves(count)))


if __name__ == "__main__":
    main()

"""False alarms and nights to detect of `detection/changepoint.py`, beside what else is in use.

Run by `make bench`; asserts nothing. `python -m tests.bench.detection --calibrate` measures how
the evidence of a change and the average run length between false alarms belong together.

All detectors see the same series. Values are those of a latency (higher is worse), level 1, with
noise of a given standard deviation. An alarm is a change for the worse; one that lasts is counted
once. A shift found on its very first night took 1 night.
"""

import importlib.util
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from acceptance.core.text import table
from acceptance.detection import changepoint, common_mode, constants
from tests.scanned import comparable, scan

Floats = NDArray[np.float64]
NIGHTS = 365
#: Apache Otava needs a numpy of its own (0.8.0: 2.2), so it may be absent.
OTAVA = importlib.util.find_spec("otava") is not None
#: Nights after the shift in which it may be found.
AFTER = 60


def gaussian(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.standard_normal(shape)


def lognormal(rng: np.random.Generator, shape: tuple[int, int], width: float = 0.5) -> Floats:
    """Slow outliers of all sizes: skewness 1.8 for a width of 0.5, 6.2 for 1."""
    noise = rng.lognormal(0, width, shape)
    variance = (np.exp(width**2) - 1) * np.exp(width**2)
    return (noise - np.exp(width**2 / 2)) / np.sqrt(variance)


def lognormal_wide(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return lognormal(rng, shape, 1.0)


def bimodal(rng: np.random.Generator, shape: tuple[int, int], share: float = 0.2) -> Floats:
    """Two states, 5 standard deviations of each of them apart; `share` of the nights the worse."""
    noise = rng.standard_normal(shape) + 5 * ((rng.random(shape) < share) - share)
    return noise / np.sqrt(1 + 25 * share * (1 - share))


def bimodal_even(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return bimodal(rng, shape, 0.5)


def bimodal_rare(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return bimodal(rng, shape, 0.05)


def autoregressive(rng: np.random.Generator, shape: tuple[int, int], phi: float = 0.5) -> Floats:
    noise = rng.standard_normal(shape)
    for night in range(1, shape[0]):
        noise[night] = phi * noise[night - 1] + np.sqrt(1 - phi**2) * noise[night]
    return noise


def autoregressive_weak(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return autoregressive(rng, shape, 0.3)


def outliers(rng: np.random.Generator, shape: tuple[int, int], slow: float = 0.5) -> Floats:
    """Gaussian, and 2 % of the nights 5 to 20 standard deviations off; of them `slow` worse."""
    sizes = rng.uniform(5, 20, shape) * np.where(rng.random(shape) < slow, 1, -1)
    return np.where(rng.random(shape) < 0.02, sizes, rng.standard_normal(shape))


def outliers_slow(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return outliers(rng, shape, 1.0)


def student(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.standard_t(3, shape) / np.sqrt(3)


FAMILIES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "Gaussian": gaussian,
    "log-normal 0.5": lognormal,
    "log-normal 1": lognormal_wide,
    "bimodal 50:50": bimodal_even,
    "bimodal 80:20": bimodal,
    "bimodal 95:5": bimodal_rare,
    "AR(1) 0.3": autoregressive_weak,
    "AR(1) 0.5": autoregressive,
    "2 % outliers": outliers,
    "2 % slow outliers": outliers_slow,
    "Student t, 3": student,
}


def series(
    family: str, nights: int, count: int, seed: int, deviation: float = 0.02
) -> tuple[Floats, np.random.Generator]:
    """Return `count` series without a change, (nights, count), and the generator."""
    rng = np.random.default_rng([seed, *family.encode()])
    return np.maximum(1 + deviation * FAMILIES[family](rng, (nights, count)), 0.05), rng


def shifted(
    family: str, first: int, last: int, count: int, seed: int, size: float, deviation: float
) -> tuple[Floats, NDArray[np.intp]]:
    """Return series with a shift for the worse in a night of `first` to `last`, and the nights."""
    values, rng = series(family, last + AFTER, count, seed, deviation)
    at = rng.integers(first, last + 1, count)
    values = values * np.where(np.arange(len(values))[:, None] >= at, 1 + size, 1.0)
    # What lies after the nights in which it may be found would only cost time.
    values[np.arange(len(values))[:, None] >= at + AFTER] = np.nan
    return values, at


def nights_of(flagged: NDArray[np.bool_]) -> list[list[int]]:
    """Return the nights in which a flag of each series is up that was not the night before."""
    raised = flagged.copy()
    raised[1:] &= ~flagged[:-1]
    return [list(map(int, np.flatnonzero(column))) for column in raised.T]


def ours(values: Floats, threshold: float = constants.DEFAULT_THRESHOLD) -> list[list[int]]:
    scans, _ = scan(values, np.zeros(values.shape[1], np.bool_), threshold)
    return [[change.detected for change in scan.changes if change.worse] for scan in scans]


def fixed(values: Floats) -> list[list[int]]:
    """A baseline recorded once, the median of the first 30 nights, and 10 % above it."""
    flagged = values > 1.1 * np.median(values[:30], axis=0)
    flagged[:30] = False
    return nights_of(flagged)


def compared(values: Floats) -> list[list[int]]:
    """What `--performance-compare=now-30d:now/median:...` shows of a night, and 5 % as the limit.

    ReFrame prints the difference in percent, it judges nothing; this is its formula
    (100 * (value - median) / median), with the median of the 30 nights before.
    """
    windows = np.lib.stride_tricks.sliding_window_view(values, 30, axis=0)[:-1]
    flagged = np.zeros(values.shape, np.bool_)
    with np.errstate(invalid="ignore"):
        flagged[30:] = values[30:] > 1.05 * np.median(windows, axis=-1)
    return nights_of(flagged)


def otava(values: Floats) -> list[list[int]]:
    """Apache Otava's analysis with its defaults, run again each night from the tenth on.

    A change point for the worse counts once: one within 5 nights of one seen before is the same.
    """
    from otava.analysis import compute_change_points

    alarms = []
    for column in values.T:
        column = column[np.isfinite(column)]
        nights: list[int] = []
        seen: list[int] = []
        for night in range(9, len(column)):
            points, _ = compute_change_points(list(column[: night + 1]))
            for point in points:
                if all(abs(point.index - other) > 5 for other in seen):
                    seen.append(point.index)
                    if point.stats.mean_2 > point.stats.mean_1:
                        nights.append(night)
        alarms.append(nights)
    return alarms


#: Nights that are taken for the level and the noise before the best test decides.
LEARNT = 40


def cusum(values: Floats, shift: float) -> Floats:
    """Return a CUSUM that knows in which noise (Gaussian), and by how many deviations, a shift is.

    Level and deviation are those of all nights before, as a site has them (a self-starting CUSUM:
    Hawkins, 1987). With them known, no test finds this shift in fewer nights on average at as many
    false alarms (Moustakides, 1986).
    """
    logs, number = np.log(values), np.arange(1, len(values) + 1)[:, None]
    mean = np.cumsum(logs, axis=0) / number
    square = np.cumsum(logs**2, axis=0) / number
    deviation = np.sqrt((square - mean**2) * number / (number - 1 + (number == 1)))
    sums = np.zeros(values.shape)
    for night in range(LEARNT, len(values)):
        noise = deviation[night - 1] * np.sqrt(1 + 1 / night)
        scores = (logs[night] - mean[night - 1]) / noise
        sums[night] = np.maximum(0, sums[night - 1] + scores - shift / 2)
    return sums


def informed(values: Floats, size: float, deviation: float, count: int = 20_000) -> list[list[int]]:
    """Return when that CUSUM alarms, at one false alarm in 100 years of a series."""
    shift = np.log1p(size) / deviation
    healthy, _ = series("Gaussian", NIGHTS, count, 16, deviation)
    highest = cusum(healthy, shift).max(axis=0)
    threshold = np.quantile(highest, 1 - 0.01 * (NIGHTS - LEARNT) / NIGHTS)
    with np.errstate(invalid="ignore"):
        return nights_of(cusum(values, shift) > threshold)


def rate(alarms: list[list[int]], nights: int) -> float:
    """Return alarms in a year of nightly samples of a series."""
    return sum(map(len, alarms)) / len(alarms) / nights * NIGHTS


def delays(alarms: list[list[int]], at: NDArray[np.intp]) -> Floats:
    """Return nights from each shift to the alarm, 1 for its very first; infinite for none."""
    return np.array(
        [
            min((night - shift + 1 for night in nights if night >= shift), default=np.inf)
            for nights, shift in zip(alarms, at, strict=True)
        ]
    )


def shown(found: Floats) -> str:
    """Return the median and the 90th percentile of delays as text."""
    numbers = (np.quantile(found, share, method="higher") for share in (0.5, 0.9))
    return " / ".join(f"{number:.0f}" if np.isfinite(number) else f">{AFTER}" for number in numbers)


def false_alarms(count: int) -> Iterator[list[object]]:
    for number, family in enumerate(FAMILIES):
        values, _ = series(family, NIGHTS, count, 1)
        short, _ = series(family, 80, 30, 2)
        yield [
            family,
            f"{rate(ours(values), NIGHTS):.4f}",
            f"{rate(fixed(values), NIGHTS - 30):.2f}",
            f"{rate(compared(values), NIGHTS - 30):.2f}",
            f"{rate(otava(short), 71):.2f}" if OTAVA and number in (0, 1, 4, 7, 8) else "",
        ]


#: Size of a shift and standard deviation of the noise, and within how many nights it is wanted.
SHIFTS = ((0.05, 0.02, "4 / 6"), (0.03, 0.01, "3 / 5"))


def to_detect(count: int) -> Iterator[list[object]]:
    """Delays in Gaussian noise, by the night of the shift; more series for the goals."""
    for size, deviation, goal in SHIFTS:
        for first, last in ((60, 300), (60, 90), (150, 150), (60, 60), (30, 30), (15, 15)):
            many = count if first == last else 4 * count
            values, at = shifted("Gaussian", first, last, many, 3, size, deviation)
            found = delays(ours(values), at)
            few, few_at = values[:, :20], at[:20]
            yield [
                f"{size:.0%} in {deviation:.0%}",
                f"{first}" if first == last else f"{first} to {last}",
                goal if last == 300 else "",
                shown(found),
                f"{(found <= int(goal[0])).mean():.2f}, {(found <= int(goal[-1])).mean():.2f}",
                shown(delays(informed(values, size, deviation), at)) if first >= 60 else "",
                shown(delays(fixed(values), at)) if first >= 30 else "",
                shown(delays(compared(values), at)) if first >= 30 else "",
                shown(delays(otava(few), few_at)) if OTAVA and first == last == 60 else "",
            ]


def by_family(count: int) -> Iterator[list[object]]:
    for family in FAMILIES:
        row: list[object] = [family]
        for size, deviation, _ in SHIFTS:
            values, at = shifted(family, 60, 300, count, 4, size, deviation)
            row += [shown(delays(detect(values), at)) for detect in (ours, compared)]
        yield row


def trade_off(count: int) -> Iterator[list[object]]:
    """Rates and delays by the threshold."""
    for years in (3, 10, 30, 100, 300, 1000):
        threshold = np.log(NIGHTS * years)
        rates = [
            rate(ours(series(family, NIGHTS, count, 5)[0], threshold), NIGHTS)
            for family in ("Gaussian", "AR(1) 0.5", "bimodal 95:5")
        ]
        row: list[object] = [f"1 in {years}", f"{threshold:.1f}", *(f"{one:.4f}" for one in rates)]
        for size, deviation, _ in SHIFTS:
            for first, last in ((60, 300), (60, 60)):
                values, at = shifted("Gaussian", first, last, count, 6, size, deviation)
                row.append(shown(delays(ours(values, threshold), at)))
        yield row


def confirmed(count: int, shared: float, size: float, deviation: float) -> tuple[str, float]:
    """Return delays where each suspicious night is measured twice more, and the repeats a night.

    The shift is in night 100. `shared` is the part of the variance that is the night's, not the
    run's. Without a shift (size 0) only the repeats count.
    """
    rng = np.random.default_rng(7)
    history = [list(column) for column in 1 + deviation * gaussian(rng, (99, count)).T]
    found, asked, nights = np.full(count, np.inf), 0, 0
    for night in range(1, 13):
        common = np.sqrt(shared) * rng.standard_normal(count)
        waiting = np.flatnonzero(np.isinf(found))
        repeats = 1
        while waiting.size:
            for one in waiting:
                own = np.sqrt(1 - shared) * rng.standard_normal(repeats)
                history[one] += list((1 + size) * (1 + deviation * (common[one] + own)))
            longest = max(len(history[one]) for one in waiting)
            samples = np.full((longest, len(waiting)), np.nan)
            for column, one in enumerate(waiting):
                samples[: len(history[one]), column] = history[one]
            scans, _ = scan(samples, np.zeros(len(waiting), np.bool_))
            suspects = []
            for one, shown in zip(waiting, scans, strict=True):
                if any(change.worse and change.detected >= 99 for change in shown.changes):
                    found[one] = night
                elif scan.suspicion > constants.SUSPICIOUS:
                    suspects.append(one)
            if repeats > 1:
                break
            asked, nights = asked + len(suspects), nights + len(waiting)
            waiting, repeats = np.array(suspects, np.intp), 2
    return shown(found), asked / nights


def repeated(count: int) -> Iterator[list[object]]:
    for size, deviation, goal in SHIFTS:
        values, at = shifted("Gaussian", 99, 99, count, 8, size, deviation)
        yield [
            f"{size:.0%} in {deviation:.0%}",
            goal,
            shown(delays(ours(values), at)),
            confirmed(count, 0.0, size, deviation)[0],
            confirmed(count, 0.5, size, deviation)[0],
        ]


def drifts(count: int) -> Iterator[list[object]]:
    for slope in (0.0005, 0.001, 0.002):
        for deviation in (0.01, 0.02):
            values, _ = series("Gaussian", 300, count, 9, deviation)
            values *= 1 + slope * np.clip(np.arange(300) - 99, 0, 60)[:, None]
            found = delays(ours(values), np.full(count, 100))
            yield [
                f"{slope:.2%} x 60",
                f"{deviation:.0%}",
                shown(found),
                f"{np.mean(found <= 60):.2f}",
                shown(delays(fixed(values), np.full(count, 100))),
                shown(delays(compared(values), np.full(count, 100))),
            ]


def gross(count: int) -> Iterator[list[object]]:
    """Nights to see large changes of series of a few nights, all changes for the worse."""
    for size in (0.1, 0.25, 1.0):
        for deviation in (0.01, 0.02):
            row: list[object] = [f"{size:.0%}", f"{deviation:.0%}"]
            for night in (5, 8, 12, 16, 20, 30):
                values, at = shifted("Gaussian", night, night, count, 12, size, deviation)
                row.append(shown(delays(ours(values), at)))
            yield row


def machines(years: int) -> Iterator[list[object]]:
    """Nights that stand out in a year of a partition of 8 cases with noise in common.

    The noise of each case is 1 %. Then the share of nights, the 101st, that are found when all is
    10 % or 20 % slower.
    """
    for family, noise in FAMILIES.items():
        row: list[object] = [family]
        for common in (0.01, 0.03):
            rng = np.random.default_rng([13, *family.encode()])
            found = [slow(common * noise(rng, (2 * NIGHTS, 1)), rng) for _ in range(years // 2)]
            first = sum(night < NIGHTS for nights in found for night in nights) / len(found)
            later = sum(map(len, found)) / len(found) - first
            row.append(f"{first:.2f}, {later:.2f}")
            for size in (0.1, 0.2):
                step = np.where(np.arange(101)[:, None] == 100, size, 0.0)
                seen = [100 in slow(common * noise(rng, (101, 1)), rng, step) for _ in range(40)]
                row.append(f"{np.mean(seen):.2f}")
        yield row


def slow(common: Floats, rng: np.random.Generator, size: Floats | float = 0.0) -> list[int]:
    """Return the nights that stand out; `common` and `size` are (nights, 1)."""
    own = 0.01 * rng.standard_normal((len(common), 8))
    samples = np.maximum((1 + own + common) * (1 + size), 0.05)
    before = np.zeros((constants.NIGHT_WINDOW, samples.shape[1]))
    off = common_mode.deviations(np.log(samples), before, np.zeros(samples.shape[1], np.intp))
    nights, cases = (part.ravel() for part in np.indices(samples.shape))
    levels = common_mode.levels(nights, cases, np.column_stack([part.ravel() for part in off]))
    return [*common_mode.outstanding(levels)]


#: Sets of nodes that take turns, and the standard deviation of what they differ by.
KINDS, DIFFERENCE = (2, 4, 10, 50), 0.03


def in_turn(
    kinds: int, nights: int, count: int, seed: int, deviation: float, difference: float = DIFFERENCE
) -> tuple[Floats, NDArray[np.intp]]:
    """Return series on nodes that take turns, (nights, count), and the set of each night."""
    rng = np.random.default_rng([seed, kinds])
    sets = np.arange(nights) % kinds
    effects = np.exp(difference * rng.standard_normal((kinds, count)))
    return (1 + deviation * rng.standard_normal((nights, count))) * effects[sets], sets


def alike(values: Floats, sets: NDArray[np.intp]) -> Floats:
    """Return series as they are judged: as if all nights were on the same nodes."""
    return np.exp(comparable(np.log(values), sets))


def rotating(count: int) -> Iterator[list[object]]:
    """False alarms on rotating nodes as measured and made comparable; then delays of shifts."""
    for deviation in (0.01, 0.02):
        for kinds in KINDS:
            values, sets = in_turn(kinds, NIGHTS, count, 14, deviation)
            row: list[object] = [f"{kinds}", f"{deviation:.0%}"]
            row += [f"{rate(ours(each), NIGHTS):.4f}" for each in (values, alike(values, sets))]
            for size in (0.05, 0.1):
                shift = np.where(np.arange(240)[:, None] >= 180, 1 + size, 1.0)
                values, sets = in_turn(kinds, 240, count // 4, 15, deviation)
                without, _ = in_turn(kinds, 240, count // 4, 15, deviation, 0.0)
                each = (values * shift, alike(values * shift, sets), without * shift)
                row += [shown(delays(ours(one), np.full(count // 4, 180))) for one in each]
            yield row


def costs() -> Iterator[list[object]]:
    for count in (1_000, 4_000):
        values, _ = series("Gaussian", NIGHTS, count, 10)
        start = time.process_time()
        ours(values)
        seconds = time.process_time() - start
        tracemalloc.start()
        ours(values)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        yield [f"{count} x {NIGHTS}", f"{seconds:.2f}", f"{peak:.0f}"]


def calibrate(count: int = 3_000) -> None:
    """Print how often evidence of each strength comes about, and the line that holds for all.

    The line is `SCORE_OFFSET` and `SCORE_SLOPE` of `detection/constants.py`: with `SCORE_SLOPE` 1
    the offset is the largest that keeps the measured average run lengths above the requested ones
    for every family.
    """
    strengths = (6.0, 7.0, 8.0, 9.0, 9.2)
    rows = []
    with mock.patch.multiple(changepoint, SCORE_OFFSET=0.0, SCORE_SLOPE=1.0):
        for family in FAMILIES:
            values, _ = series(family, NIGHTS, count, 11)
            lengths = []
            for threshold in strengths:
                alarms = sum(map(len, ours(values, threshold)))
                lengths.append(np.log(NIGHTS * count / alarms) if alarms else np.inf)
            rows.append(
                [family, *(f"{one - by:.2f}" for one, by in zip(lengths, strengths, strict=True))]
            )
    print("ln(samples between false alarms) - evidence: what SCORE_OFFSET may be at most")
    print(table(["noise", *(f"evidence {one:g}" for one in strengths)], rows))


def why_not() -> str:
    """Return why this machine cannot run the bench: it always can."""
    return ""


def in_part() -> str:
    """Return what the bench lacks here; empty for nothing."""
    return "" if OTAVA else "no apache-otava, so its columns stay empty: pip install it, 0.8.0"


def main() -> None:
    print("False alarms in a year of a series, noise 2 %; wanted: 0.01 at most")
    header = ["noise", "changepoint", "fixed 10 %", "ReFrame, 30 d, 5 %", "otava (30 x 80 nights)"]
    print(table(header, false_alarms(2_000)))
    print("\nNights to detect a shift in Gaussian noise, median / 90 %")
    header = ["shift in noise", "night of it", "goal", "changepoint",
              "share in 4 and 6 or 3 and 5",
              "best test", "fixed 10 %", "ReFrame, 30 d, 5 %", "otava (20)"]  # fmt: skip
    print(table(header, to_detect(1_000)))
    print("\nThe same in other noise, shift in night 60 to 300: 5 % in 2 %, then 3 % in 1 %")
    header = ["noise", "changepoint", "ReFrame", "changepoint", "ReFrame"]
    print(table(header, by_family(250)))
    print("\nThreshold, false alarms in a year and nights to detect (60 to 300; 60)")
    header = ["years", "score", "Gaussian", "AR(1) 0.5", "bimodal 95:5",
              "5 % in 2 %", "at 60", "3 % in 1 %", "at 60"]  # fmt: skip
    print(table(header, trade_off(500)))
    print("\nA suspicious night measured twice more, shift in night 100")
    header = ["shift in noise", "goal", "once", "3 independent", "half the variance the night's"]
    print(table(header, repeated(300)))
    print(f"nights without a change that are repeated: {confirmed(200, 0.0, 0.0, 0.02)[1]:.3f}")
    print("\nSlow drift from night 100 on, nights to the alarm")
    header = ["drift", "noise", "changepoint", "within 60", "fixed 10 %", "ReFrame, 30 d, 5 %"]
    print(table(header, drifts(200)))
    print("\nLarge changes of young series, by the nights before them: median / 90 %")
    print(table(["change", "noise", *map(str, (5, 8, 12, 16, 20, 30))], gross(200)))
    print("\nMachine-wide nights: false ones in the first and in the second year of a partition")
    header = ["common noise", "of 1 %", "finds 10 %", "20 %", "of 3 %", "finds 10 %", "20 %"]
    print(table(header, machines(20)))
    print("\nNodes in turn that differ by 3 %: false alarms in a year of a series, and nights to")
    print("detect a shift of all in night 180; as measured, made comparable, and of nodes alike")
    header = ["sets", "noise", "measured", "comparable", "5 %", "comparable", "alike",
              "10 %", "comparable", "alike"]  # fmt: skip
    print(table(header, rotating(1_000)))
    print("\nCosts of detection: CPU seconds, MB at most")
    print(table(["series x nights", "s", "MB"], costs()))


if __name__ == "__main__":
    calibrate() if "--calibrate" in sys.argv[1:] else main()

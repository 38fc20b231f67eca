"""Errors asked for and realised of `detection/sequential.py`, and the runs that it saves.

Run by `make bench`; asserts nothing. Cases are made whose level lies near their limit, in noise of
2 % of the families of `tests/bench/detection.py`. The level is the median of the noise, of that
with two states of 50:50 its mean. Each case has 60 runs in its past, which teach its noise, or
none. It is measured until it is decided, ten times at most. A fixed count of runs is decided once,
after all of them, at the same errors.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from acceptance.core.text import table
from acceptance.detection.constants import AGAIN_FEWEST, ERROR, LOOKS, SUSPICIOUS, ZONE
from acceptance.detection.sequential import bound, crossing, decide
from acceptance.relations import noise
from tests.bench.detection import FAMILIES, series
from tests.scanned import scan

Floats = NDArray[np.float64]
Words = NDArray[np.intp]
PAST, MOST, DEVIATION = 60, 30, 0.02
#: Levels beyond the limit: both edges of what counts as the limit, and half way.
EDGES = (-ZONE / 2, 0.0, ZONE / 2)
#: Levels at which runs are counted, in standard deviations of the noise.
DISTANCES = (1.0, 2.0, 4.0)


@cache
def cases(family: str, count: int, seed: int = 31) -> tuple[Floats, Floats]:
    """Return runs (n, count) of level 0 (logarithms), and what the past of each tells of noise."""
    values, _ = series(family, PAST + MOST, count, seed, DEVIATION)
    logs = np.log(values)
    logs -= logs.mean() if family == "bimodal 50:50" else np.median(logs)
    learnt = [noise.learn(np.exp(past), [{PAST - 1}], ()) for past in logs[:PAST].T]
    known = [(one.spread, one.dof, one.correlation, one.lean) for one in learnt if one is not None]
    return logs[PAST:], np.array(known).T


def decided(runs: Floats, past: Floats | None) -> tuple[Words, Words]:
    """Return what becomes of each case, and after how many runs."""
    words, counts = np.zeros(runs.shape[1], np.intp), np.full(runs.shape[1], LOOKS)
    for look in range(1, LOOKS + 1):
        now, _, _ = decide(runs[:look], past)
        new = (words == 0) & (now != 0)
        words[new], counts[new] = now[new], look
    return words, counts


def at_once(runs: Floats, past: Floats | None, word: int, power: float) -> str:
    """Return the fixed count of runs that is decided by this word as often, at the same errors."""
    for count in range(1, MOST + 1):
        # That error of all looks whose bound is the bound of a single look.
        error = crossing(bound(ERROR, 1), count)
        now, _, _ = decide(runs[:count], past, alpha=error, beta=error, looks=count)
        if (now == word).mean() >= power:
            return str(count)
    return f"> {MOST}"


def errors(count: int) -> Iterator[list[object]]:
    for family in FAMILIES:
        runs, past = cases(family, count)
        for name, known in (("60 runs", past), ("none", None)):
            row: list[object] = [family, name]
            for level in EDGES:
                words, _ = decided(runs + level, known)
                row += [f"{100 * (words == word).mean():.2f}" for word in (1, -1)]
            yield row


def saved(count: int) -> Iterator[list[object]]:
    for family in FAMILIES:
        runs, past = cases(family, count)
        for name, known in (("60 runs", past), ("none", None)):
            row: list[object] = [family, name]
            for distance in DISTANCES:
                level = runs + distance * DEVIATION
                words, counts = decided(level, known)
                power = float((words == 1).mean())
                fixed = at_once(level, known, 1, power)
                row.append(f"{100 * power:.0f} %: {counts.mean():.1f}, {fixed}")
            yield row


def history(count: int) -> Iterator[list[object]]:
    """Nights whose newest sample is suspicious: repeated a fixed number of times, or until decided.

    The history decides by itself (`detection/changepoint.py`): by a change, or as nothing is
    suspicious any more.
    """
    for size in (0.0, 0.05, 0.1):
        for most, fixed in ((2, True), (6, True), (6, False), (9, False)):
            found, asked, left = _night(count, size, most, fixed)
            way = f"{most} times" if fixed else f"at most {most} times"
            yield [
                f"{size:.0%}",
                way,
                f"{100 * found:.2f} %",
                f"{asked:.2f}",
                f"{100 * left:.1f} %",
            ]


def _night(count: int, size: float, most: int, fixed: bool) -> tuple[float, float, float]:
    """Return the share of series with a change tonight, repetitions a suspect, what is open."""
    values, rng = series("Gaussian", 101, count, 32)
    values[100] *= 1 + size
    found, repeats, suspects, left, changed = 0, 0, 0, 0, False
    suspected = _suspicious(values)
    for one in np.flatnonzero(suspected):
        row, suspects, open_ = values[:, [one]], suspects + 1, True
        for turn in range(most):
            new = (1 + size) * (1 + DEVIATION * rng.standard_normal((1, 1)))
            row, repeats = np.concatenate([row, new]), repeats + 1
            if turn == most - 1 or (not fixed and turn + 1 >= AGAIN_FEWEST):
                (shown,), _ = scan(row, np.zeros(1, np.bool_))
                changed = any(change.worse and change.detected >= 100 for change in shown.changes)
                open_ = not changed and shown.suspicion > SUSPICIOUS
                if changed or not open_:
                    break
        found, left = found + changed, left + open_
    return found / count, repeats / max(suspects, 1), left / max(suspects, 1)


def _suspicious(values: Floats) -> NDArray[np.bool_]:
    scans, _ = scan(values, np.zeros(values.shape[1], np.bool_))
    return np.array([each.suspicion > SUSPICIOUS for each in scans])


def why_not() -> str:
    """Return why this bench cannot run here: it always can."""
    return ""


def main(count: int = 10_000) -> None:
    edges = [f"{what} {level:+.1%}" for level in EDGES for what in ("fails at", "passes at")]
    print(f"\nErrors in %, of {count} cases; asked for {ERROR:.0%}: fails at the near edge, "
          f"passes at the far edge; bound {bound(ERROR):.3f}, {LOOKS} looks")  # fmt: skip
    print(table(["noise", "past", *edges], [*errors(count)]))
    far = [f"{distance:g} spreads beyond" for distance in DISTANCES]
    print("\nDecided as worse: share, mean runs until decided, fixed count that decides as often")
    print(table(["noise", "past", *far], [*saved(count)]))
    print("\nHistory of 100 nights, Gaussian, 2 %: the first night of a change")
    heads = ["change", "repeated", "found that night", "repetitions a suspect", "left undecided"]
    print(table(heads, [*history(count // 20)]))


if __name__ == "__main__":
    main()

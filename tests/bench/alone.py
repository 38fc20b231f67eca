"""False alarms and nights to detect of series that are alone on their partitions, as `gate` judges.

Run by `make bench`; asserts nothing. Each history is a results database of `PARTITIONS` partitions
with one series each, Gaussian noise, 100 nights. Shifts are in night 60 to 90, so that most is
decided when little is known of the noise yet.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from acceptance.core.text import table
from acceptance.detection.state import LevelChange
from acceptance.regressions.judge import judge
from tests.bench.detection import SHIFTS, Floats, delays, rate, shown
from tests.made import FIRST, NIGHT, Case, Database
from tests.stored import load

PARTITIONS, ALL_NIGHTS, EARLIEST, LATEST = 120, 100, 60, 90


def changes(values: Floats, *, apart: bool = False) -> list[list[LevelChange]]:
    """Store and judge latencies (nights, partitions); return what was found of each partition.

    All are measured by one session a night, or each `apart` by one of its own.
    """
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder, "results.db"))
        database.connection.execute("PRAGMA synchronous = OFF")
        for night, row in enumerate(values.tolist()):
            cases = [
                Case("Own", {"latency": (value, "us")}, partition=f"p{number:03d}")
                for number, value in enumerate(row)
            ]
            for number, some in enumerate([[case] for case in cases] if apart else [cases]):
                database.add(some, start=FIRST + NIGHT * night + 10 * number)
        history = load(database.path)
        progress = judge(history).progress
        assert progress is not None
        found = {one.case.key.partition: progress.changes(one) for one in history.series}
    return [list(found[partition]) for partition in sorted(found)]


def alarms(values: Floats) -> list[list[int]]:
    """Return the nights in which a partition became worse, of each."""
    return [[one.detected for one in some if one.worse] for some in changes(values)]


def healthy(deviation: float, seed: int) -> Floats:
    """Return a history without a change."""
    noise = np.random.default_rng([seed, round(1000 * deviation)])
    return 1 + deviation * noise.standard_normal((ALL_NIGHTS, PARTITIONS))


def shifted(size: float, deviation: float, seed: int) -> tuple[Floats, NDArray[np.intp]]:
    """Return a history of which each partition becomes slower in a night, and these nights."""
    at = np.random.default_rng(seed).integers(EARLIEST, LATEST + 1, PARTITIONS)
    later = np.arange(ALL_NIGHTS)[:, None] >= at
    return healthy(deviation, seed) * np.where(later, 1 + size, 1.0), at


def rows(histories: int, quiet: int) -> Iterator[list[object]]:
    for size, deviation, goal in SHIFTS:
        made = [shifted(size, deviation, seed) for seed in range(histories)]
        found = np.concatenate([delays(alarms(values), at) for values, at in made])
        wrong = [each for seed in range(quiet) for each in alarms(healthy(deviation, 100 + seed))]
        median, most = map(int, goal.split("/"))
        yield [
            f"{size:.0%} in {deviation:.0%}", goal, shown(found),
            f"{(found <= median).mean():.2f}, {(found <= most).mean():.2f}",
            f"{np.isinf(found).mean():.3f}", f"{rate(wrong, ALL_NIGHTS):.4f}",
        ]  # fmt: skip


def why_not() -> str:
    """Return why this machine cannot run the bench: it always can."""
    return ""


def main() -> None:
    print(f"{PARTITIONS} partitions with one series each, shift in night {EARLIEST} to {LATEST} of")
    print(f"{ALL_NIGHTS}: nights to detect, and false alarms in a year of a series; wanted: 0.01")
    header = ["shift in noise", "goal", "median / 90 %", "share in both", "not found",
              "false alarms"]  # fmt: skip
    print(table(header, rows(20, 20)))


if __name__ == "__main__":
    main()

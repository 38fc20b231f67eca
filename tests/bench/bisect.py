"""Sets of changes that `detection/delta.py` asks for against log2 n, and errors of whole searches.

Run by `make bench`; asserts nothing. The first table has oracles that are never wrong: 1,000 made
cases of each count and kind, one in ten sets of which does not build in the last kind. The second
has runs with noise of 2 %, whose ends lie 15 % apart, a fifth as many: what was asked, and how
often it was wrong.
"""

import argparse
import math
import random
import statistics
import sys
from collections import Counter

from acceptance.core.text import table
from acceptance.detection.delta import BAD, CANNOT_TELL, GOOD, Found, following, most
from tests.made_bisect import bisection, side

COUNTS = (2, 4, 8, 16, 32, 64)
KINDS = ("single", "two together", "two apart", "single, skips")


def why_not():
    return ""


def causes_of(kind, pick, count):
    """Return the causes of a made case: sets of changes, each of which brings the loss."""
    one, two = pick.sample(range(count), 2)
    if kind == "two together":
        return [frozenset({one, two})]
    return [frozenset({one}), frozenset({two})] if kind == "two apart" else [frozenset({one})]


def searched(kind, count, seed):
    """Return how many sets were asked for, and whether just the causes were found."""
    pick = random.Random(f"{kind} {count} {seed}")
    causes, silent, told = causes_of(kind, pick, count), {}, {}
    while not isinstance(asked := following(count, told), Found):
        skips = kind.endswith("skips") and len(asked) < count
        if skips and silent.setdefault(asked, pick.random() < 0.1):
            told[asked] = CANNOT_TELL
        else:
            told[asked] = BAD if any(cause <= asked for cause in causes) else GOOD
    found = [frozenset().union(*units) for units in asked.causes]
    return len(told), {*found} == {*causes}


def rows(cases):
    for count in COUNTS:
        for kind in KINDS:
            asked, right = zip(*(searched(kind, count, seed) for seed in range(cases)), strict=True)
            yield (
                count, f"{math.log2(count):.0f}", kind, f"{statistics.mean(asked):.1f}", max(asked),
                most(count), f"{sum(right)} of {cases}",
            )  # fmt: skip


def noisy(cases, kind, count=16, by=1.15, spread=0.02):
    """Return what became of searches in noise, and the mean of their runs and sets."""
    became, runs, sets = Counter(), [], []
    for seed in range(cases):
        pick = random.Random(f"{kind} {seed}")
        causes = [] if kind == "no loss" else causes_of(kind, pick, count)
        names = {f"variable V{number}" for cause in causes for number in cause}

        def level(variables, causes=causes):
            lost = any(all(variables[f"V{each}"] == "2" for each in cause) for cause in causes)
            return 1000 * (by if lost else 1)

        ends = (
            side(name, [[f"V{number}", value] for number in range(count)])
            for name, value in (("fast", "1"), ("slow", "2"))
        )
        result = bisection(*ends, level, spread=spread, seed=seed)[0].run()
        found = {name for cause in result.causes for unit in cause for name in unit}
        wrong = found != names and (result.word != "cannot tell" or bool(found - names))
        became["wrong" if wrong else "not told" if result.word == "cannot tell" else "right"] += 1
        runs.append(2 * result.runs + sum(one.runs for one in result.evaluations))
        sets.append(len(result.evaluations))
    words = [became[word] for word in ("right", "not told", "wrong")]
    return kind, *words, f"{statistics.mean(sets):.1f}", f"{statistics.mean(runs):.1f}"


def main():
    parser = argparse.ArgumentParser("tests.bench.bisect", description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=1000, help="of each row (1000)")
    cases = parser.parse_args().cases
    head = ("changes", "log2", "cause", "sets", "most", "told as most", "just the cause")
    print(table(head, rows(cases), width=100), flush=True)
    head = ("16 changes, 15 %, noise 2 %", "right", "not told", "wrong", "sets", "runs")
    kinds = ("no loss", *KINDS[:3])
    print(f"\n{table(head, [noisy(cases // 5, kind) for kind in kinds], width=100)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

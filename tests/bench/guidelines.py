"""False findings of guidelines, and what is found: one suspicion in rounds, as `gate --again` has.

Run by `make bench`; asserts nothing. Each case is a suspicion, one of `SUSPECTED` of its session,
with two made times a round. It is measured again until it is noise, or has its first look.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random

from acceptance.core.text import table
from acceptance.relations import guidelines
from acceptance.relations.guidelines import ALPHA, FEW, FLOOR, probability, rounds_for

SUSPECTED, CASES = 15, 10_000
#: What is the longer side over the other one.
RATIOS = (1.0, FLOOR, 1.2, 1.5, 2.0)

#: Two times of a round, of a true time of 1 each.
Family = Callable[[Random], tuple[float, float]]


def _spiked(random: Random, share: float) -> float:
    """Return a time that now and then is 2 to 9 times as long."""
    time = random.lognormvariate(0, 0.05)
    return time * random.uniform(2, 9) if random.random() < share else time


def _loaded(random: Random) -> tuple[float, float]:
    both = random.lognormvariate(0, 0.7)
    return both * random.lognormvariate(0, 0.1), both * random.lognormvariate(0, 0.1)


FAMILIES: dict[str, Family] = {
    "5 %": lambda random: (random.lognormvariate(0, 0.05), random.lognormvariate(0, 0.05)),
    "20 %": lambda random: (random.lognormvariate(0, 0.2), random.lognormvariate(0, 0.2)),
    "10 %, and 70 % of both alike": _loaded,
    "5 %, a fifth of each 2 to 9 x": lambda random: (_spiked(random, 0.2), _spiked(random, 0.2)),
    "left 30 %, right 3 %": lambda random: (
        random.lognormvariate(0, 0.3), random.lognormvariate(0, 0.03),
    ),
    "5 %, a fifth of left 2 to 9 x": lambda random: (_spiked(random, 0.2), _spiked(random, 0)),
}  # fmt: skip


def outcome(family: Family, ratio: float, random: Random) -> tuple[str, int]:
    """Return what becomes of a suspicion, and after how many rounds."""
    most = rounds_for(SUSPECTED)
    ratios: list[float] = []
    while len(ratios) < most:
        left, right = family(random)
        ratios.append(ratio * left / right)
        if len(ratios) >= FEW and 2 * sum(each > FLOOR for each in ratios) <= len(ratios):
            return "noise", len(ratios)
    return "told" if probability(ratios, SUSPECTED) <= ALPHA else "undecided", most


def rows(cases: int) -> Iterator[list[object]]:
    for name, family in FAMILIES.items():
        for ratio in RATIOS:
            random = Random(f"{name} {ratio}")
            made = [outcome(family, ratio, random) for _ in range(cases)]
            counts = Counter(word for word, _ in made)
            shares = [f"{counts[word] / cases:.4f}" for word in ("told", "undecided", "noise")]
            yield [name, ratio, *shares, f"{sum(rounds for _, rounds in made) / cases:.1f}"]


def why_not() -> str:
    """Return why this machine cannot run the bench: it always can."""
    return ""


def main() -> None:
    level = ALPHA / 2 / SUSPECTED
    print(f"{CASES} suspicions each, of {SUSPECTED} in a session: {rounds_for(SUSPECTED)} rounds,")
    print(f"at the floor of {guidelines.FLOOR} at most {level:.4f} told; a fixed count is "
          f"{math.ceil(math.log2(1 / level))} rounds that all agree")  # fmt: skip
    header = ["noise of a side", "left / right", "told", "undecided", "noise", "rounds"]
    print(table(header, rows(CASES)))


if __name__ == "__main__":
    main()

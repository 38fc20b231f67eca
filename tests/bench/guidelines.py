"""False findings of guidelines, and what is found: one suspicion in rounds, as `gate --again` has.

Run by `make bench`; asserts nothing. Each case is a suspicion, one of `SUSPECTED` of its session,
with two made times a round. It is measured again until it is noise, or has its first look.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from random import Random

from acceptance.core.text import table
from acceptance.ledger.reading import Run
from acceptance.relations.guidelines import AGAIN, EARLIER, Report
from acceptance.relations.rounds import ALPHA, FEW, FLOOR, probability, rounds_for

SUSPECTED, CASES, SITES = 15, 10_000, 20
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


#: Runs one after the other of one site, rounds of each, guidelines of it, spread of a value.
RUNS, ROUNDS, PAIRS, SPREAD = 10, 13, 20, 0.1


def measured(true: list[float], which: Iterable[int], uuid: str, random: Random) -> list[Run]:
    """Make a session that measured these of the guidelines, `true` of how many times."""
    cases = []
    for number in which:
        for name, level in (("Reduce", true[number]), ("Allreduce", 1.0)):
            values = {
                2**n: level * random.lognormvariate(0, SPREAD)
                * (random.uniform(2, 9) if random.random() < 0.02 else 1) * (1 + 2**n / 1e4)
                for n in range(6, 14)
            }  # fmt: skip
            cases.append(
                Run(uuid, 0.0, "made", "one", f"e{number}", f"{name} {number}", {"np": "2"}, "imb",
                    f"imb.{name}", "pass", {}, [(f"time_{n}", "us", t) for n, t in values.items()])
            )  # fmt: skip
    return cases


def runs_told(seed: int) -> dict[str, list[set[str]]]:
    """Return what each of several runs tells, by so much of the earlier ones."""
    random = Random(f"runs {seed}")
    true = [1.0] * (PAIRS // 2) + [math.exp(random.uniform(0, 1)) for _ in range(PAIRS // 2)]
    ways = ("alone", "with earlier rounds", "and suspicions")
    told: dict[str, list[set[str]]] = {name: [] for name in ways}
    past: list[list[Run]] = []
    firsts: list[list[Run]] = []
    for number in range(RUNS):
        first = measured(true, range(PAIRS), f"{number}", random)
        report = Report(first, past[-EARLIER:], earlier=firsts[-AGAIN:])
        which = sorted({int(name.split()[1]) for name in report.cases})
        own = [
            measured(true, which, f"{number}.{n}", random) for n in range(ROUNDS if which else 0)
        ]
        rounds = [*past[-EARLIER:], *own]
        reports = (Report(first, own), Report(first, rounds),
                   Report(first, rounds, earlier=firsts[-AGAIN:]))  # fmt: skip
        for name, each in zip(ways, reports, strict=True):
            told[name].append({finding.id for finding in each.findings})
        past += [first, *own]
        firsts.append(first)
    return told


def sets(seeds: int) -> Iterator[list[object]]:
    made = [runs_told(seed) for seed in range(seeds)]
    for name in made[0]:
        for what, first in (("all", 0), ("from the third on", 2)):
            each = [told[name][first:] for told in made]
            union = sum(len(set.union(*runs)) for runs in each)
            always = sum(len(set.intersection(*runs)) for runs in each)
            like = sum(set.union(*runs) == set.intersection(*runs) for runs in each)
            changes = sum(len(a ^ b) for runs in each for a, b in itertools.pairwise(runs))
            yield [name, what, f"{union / seeds:.1f}", f"{always / seeds:.1f}",
                   f"{changes / seeds / (RUNS - first - 1):.2f}", f"{like} of {seeds}"]  # fmt: skip


def why_not() -> str:
    """Return why this machine cannot run the bench: it always can."""
    return ""


def main() -> None:
    level = ALPHA / 2 / SUSPECTED
    print(f"{CASES} suspicions each, of {SUSPECTED} in a session: {rounds_for(SUSPECTED)} rounds,")
    print(f"at the floor of {FLOOR} at most {level:.4f} told; a fixed count is "
          f"{math.ceil(math.log2(1 / level))} rounds that all agree")  # fmt: skip
    header = ["noise of a side", "left / right", "told", "undecided", "noise", "rounds"]
    print(table(header, rows(CASES)))

    print(f"\n{RUNS} runs of a site one after the other, {PAIRS} guidelines, half of them violated")
    print(f"up to e times, {SPREAD:.0%} a value; mean of {SITES} sites:")
    header = ["decided by", "runs", "told in any", "in each", "changes a run", "the same in each"]
    print(table(header, sets(SITES)))


if __name__ == "__main__":
    main()

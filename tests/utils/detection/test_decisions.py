"""No number of the method moves unnoticed: what it decides on series that are made is kept here.

Which number is better, no test can tell: who alters the method runs `make bench`, and keeps with
`python -m tests.utils.detection.test_decisions` what is decided now.
"""

import json

import numpy as np
import pytest

from acceptance.detection.families import advance, empty
from tests.bench import families
from tests.bench.detection import FAMILIES
from tests.places import ROOT
from tests.scanned import comparable, scan

NIGHTS = 130
#: Changes of series: from which night to which, and factor.
CHANGES = [
    *((), ((14, 130, 2.0),), ((12, 15, 3.0),), ((9, 12, 2.0), (14, 130, 2.0))),
    *(((90, 130, 1.1),), ((60, 64, 0.8),), ((30, 130, 1.5), (70, 130, 1 / 1.5))),
    ((80, 85, 1.2), (100, 130, 0.9)),
]
KEPT = ROOT / "tests/data/decisions.json"
KINDS = ("Gaussian", "log-normal 1", "bimodal 80:20", "AR(1) 0.5", "2 % slow outliers")


def of_series(kind):
    """Return how many changes there are, and sums of their nights, scores, levels and spreads."""
    noise = FAMILIES[kind](np.random.default_rng([1, *kind.encode()]), (NIGHTS, len(CHANGES)))
    values = 100 * (1 + 0.02 * noise)
    for series, changes in enumerate(CHANGES):
        for first, last, factor in changes:
            values[first:last, series] *= factor
    found = scan(values, np.arange(len(CHANGES)) % 2 == 1)[0]
    changes = [change for each in found for change in each.changes]
    return (
        *(len(changes), sum(c.start for c in changes), sum(c.detected for c in changes)),
        *(sum(c.worse for c in changes), sum(c.score for c in changes)),
        sum(each.suspicion for each in found),
        *(sum(c.before + c.after for c in changes), sum(c.spread for c in changes)),
        *(np.nansum([each.level for each in found]), np.nansum([each.spread for each in found])),
    )


def of_families(kind):
    """Return the same of families of ten, of which some members moved."""
    values = families.made(kind, 0.5 * (kind in KINDS[1:3]), NIGHTS, 6, 1)
    for family, (first, moved, size) in enumerate([(60, 10, 0.04), (80, 5, 0.1), (100, 8, -0.1)]):
        values[first:, family, :moved] += size
    values[70:90, 3] += 0.2
    values[::9, 4, :4] = np.nan
    found = advance(empty(6, 10), values, range(NIGHTS), 8.0)
    changes = [change for each in found for change in each]
    return (
        *(len(changes), sum(c.start for c in changes), sum(c.detected for c in changes)),
        *(sum(c.worse for c in changes), sum(c.score for c in changes)),
        sum(map(sum, (c.moved for c in changes))),
        *(sum(sum(of) for c in changes for of in (c.before, c.after)),),
        sum(sum(c.spread) for c in changes),
    )


def of_sets():
    """Return sums of what is left of samples of eight sets of nodes, by the night modulo 3."""
    rng = np.random.default_rng(4)
    sets = rng.integers(8, size=NIGHTS)
    effects = 0.03 * rng.standard_normal((8, 5))
    left = comparable(effects[sets] + 0.01 * rng.standard_normal((NIGHTS, 5)), sets)
    return tuple(np.abs(left[turn::3]).sum() for turn in range(3))


def decided():
    """Return what is decided -> its numbers, to seven digits."""
    found = {f"series, {kind}": of_series(kind) for kind in KINDS}
    found |= {f"families, {kind}": of_families(kind) for kind in KINDS}
    found["sets of nodes"] = of_sets()
    return {name: [float(f"{number:.7g}") for number in of] for name, of in found.items()}


def test_what_is_decided_is_what_was_decided():
    kept = json.loads(KEPT.read_text())
    now = decided()
    assert now.keys() == kept.keys()
    for name, numbers in now.items():
        assert numbers == pytest.approx(kept[name], rel=1e-5), name


if __name__ == "__main__":
    KEPT.write_text(json.dumps(decided(), indent=1) + "\n")

"""A few pairs of hosts that together cross every link, in rounds in which no two share one.

All N (N - 1) pairs take hours on a large fabric; to see each link only O(N) of them are needed:
each direction of each link on the routes of `CROSSINGS` pairs, chosen so that these have no other
link in common where that can be, since else nobody could tell which of the two is slow.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acceptance.fabric.topology.routes import NONE, Routes

#: How many pairs cross each direction of a link.
CROSSINGS = 2
#: How many pairs on a link are looked at before one is taken.
_TRIED = 48


@dataclass(frozen=True)
class Crossings:
    """Rounds of pairs (numbers of `Routes.hosts`: from, to), and what they do not cross.

    `uncrossed` are the directions that fewer pairs cross than were wanted: no route between these
    hosts takes them, or too few do.
    """

    rounds: tuple[tuple[tuple[int, int], ...], ...]
    uncrossed: tuple[int, ...]


def choose(
    routes: Routes, hosts: Sequence[int], crossings: int = CROSSINGS, seed: int = 0
) -> Crossings:
    """Choose pairs of these hosts; the same for the same routes, hosts and seed."""
    random = np.random.default_rng(seed)
    first, second = (each.ravel() for each in np.meshgrid(hosts, hosts, indexing="ij"))
    apart = first != second
    first, second = first[apart], second[apart]
    steps = routes.steps[first, second]
    total = 2 * len(routes.links)
    pair, column = np.nonzero(steps != NONE)
    direction = steps[pair, column]
    order = np.argsort(direction, kind="stable")
    pair, number = pair[order], np.bincount(direction, minlength=total)
    begin = np.concatenate(([0], np.cumsum(number)))
    crossed = np.zeros(total, dtype=np.int32)
    chosen: list[int] = []
    on: dict[int, list[int]] = {}
    # What few routes take comes first: what many take is then crossed on the way.
    for link in sorted(np.nonzero(number)[0].tolist(), key=lambda each: (number[each], each)):
        while crossed[link] < min(crossings, number[link]):
            candidates = pair[begin[link] : begin[link + 1]]
            candidates = random.choice(candidates, min(_TRIED, len(candidates)), replace=False)
            best = candidates[_worth(steps[candidates], link, crossed, crossings, steps, on)]
            if int(best) in on.get(link, []):
                break
            chosen.append(int(best))
            for step in steps[best][steps[best] != NONE].tolist():
                crossed[step] += 1
                on.setdefault(step, []).append(int(best))
    rounds = _rounds(steps[chosen])
    return Crossings(
        tuple(
            tuple((int(first[chosen[n]]), int(second[chosen[n]])) for n in members)
            for members in rounds
        ),
        tuple(int(each) for each in np.nonzero(crossed < crossings)[0]),
    )


def _worth(
    candidates: NDArray[np.int32],
    link: int,
    crossed: NDArray[np.int32],
    crossings: int,
    steps: NDArray[np.int32],
    on: dict[int, list[int]],
) -> int:
    """Return the candidate that crosses most that is still to be crossed, and shares least."""
    real = candidates != NONE
    wanted = (real & (crossed[candidates] < crossings)).sum(axis=1)
    before = on.get(link, [])
    shared = np.isin(candidates, steps[before]).sum(axis=1) if before else 0
    taken = np.array([tuple(row) in {tuple(steps[n]) for n in before} for row in candidates])
    return int(np.argmax(wanted - 2 * shared - 100 * taken))


def _rounds(steps: NDArray[np.int32]) -> list[list[int]]:
    """Put pairs into rounds, each into the first in which none of its links is taken."""
    rounds: list[list[int]] = []
    busy: list[set[int]] = []
    for n, row in enumerate(steps):
        links = set(row[row != NONE].tolist())
        for members, taken in zip(rounds, busy, strict=True):
            if not links & taken:
                members.append(n)
                taken |= links
                break
        else:
            rounds.append([n])
            busy.append(links)
    return rounds

"""Which of many changes explain a loss: the next set of them to try, by all that was tried.

Delta debugging (Zeller, Hildebrandt, IEEE Trans. Softw. Eng. 28(2), 2002, 183-200) in its
progression form (Marques-Silva, Janota, Belov, CAV 2013, 592-607): the changes have an order, and
of the sets of its first ones the first that has the loss is found by halving. The last change of
that set is part of the cause. Where it is not the cause alone it is kept, and the search goes on in
those before it. A single change of n takes log2(n) sets, and one more for itself alone; an
interaction of two about twice as many. Then all others are tried without the cause: what has the
loss still has another cause.

A set that nobody could judge, since it does not build or run, or noise hides it, is passed over:
others near it are tried, then the changes in the opposite order, for one may need another. What
cannot be separated stays together, as one unit.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

#: What a set of changes is, as `sequential.decide` says it: it has the loss, it has not, or nobody
#: can tell.
BAD: Final = 1
GOOD: Final = -1
CANNOT_TELL: Final = 0
#: Numbers of changes, from 0 on; the others are as in the good state.
Changes = frozenset[int]
#: Where a range is divided; the others where the first set cannot be judged.
_DIVISIONS = (1 / 2, 1 / 4, 3 / 4)


@dataclass(frozen=True)
class Found:
    """The end of a search: each cause has units, all of which it takes; a unit is a change or more.

    `rest` is what all changes but those of the causes are. Without a cause it is that of all.
    """

    causes: tuple[tuple[Changes, ...], ...]
    rest: int


class _AskedFor(Exception):
    """A set that has to be tried first."""

    def __init__(self, changes: Changes) -> None:
        super().__init__()
        self.changes = changes


def most(count: int) -> int:
    """Return how many judged sets two single causes among `count` changes take, or one of two."""
    return 2 * math.ceil(math.log2(max(count, 1))) + 5


def following(count: int, told: Mapping[Changes, int]) -> Changes | Found:
    """Return the set of `count` changes to try next, or the end of the search.

    `told` is what is known of sets (`BAD`, `GOOD`, `CANNOT_TELL`). The empty set is good.
    """

    def word(changes: Changes) -> int:
        if changes and changes not in told:
            raise _AskedFor(changes)
        return told[changes] if changes else GOOD

    causes: list[tuple[Changes, ...]] = []
    left = frozenset(range(count))
    try:
        while word(left) == BAD:
            causes.append(tuple(_cause(sorted(left), word)))
            left -= frozenset().union(*causes[-1])
        return Found(tuple(causes), word(left))
    except _AskedFor as asked:
        return asked.changes


def _cause(rest: Sequence[int], word: Callable[[Changes], int]) -> Iterator[Changes]:
    """Yield the units that have the loss together, of changes that have it."""
    base: Changes = frozenset()
    while rest:
        rest, unit = _divided(rest, base, word)
        yield unit
        base |= unit
        # Without others left it is known to have the loss.
        if rest and word(base) == BAD:
            return


def _divided(
    rest: Sequence[int], base: Changes, word: Callable[[Changes], int]
) -> tuple[Sequence[int], Changes]:
    """Return a unit of the cause, and what of `rest` comes before it.

    With `base` all of `rest` has the loss; `base` alone has not, as far as anybody can tell.
    """
    low, high, turned = 0, len(rest), False
    while high - low > 1:
        points = (low + round((high - low) * part) for part in _DIVISIONS)
        for middle in dict.fromkeys(point for point in points if low < point < high):
            if what := word(base.union(rest[:middle])):
                low, high = (low, middle) if what == BAD else (middle, high)
                turned = False
                break
        else:
            if turned:
                break
            rest, turned = [*rest[:low], *reversed(rest[low:high])], True
    return rest[:low], frozenset(rest[low:high])

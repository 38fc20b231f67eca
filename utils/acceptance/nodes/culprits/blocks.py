"""Sets of nodes between which pairs are slow: what they share is an uplink, or a switch.

Three forms: a matrix in two parts that are good inside; slow nodes that are good with each other;
and a block of senders and receivers, which is what static routes make of one slow cable.
"""

from dataclasses import dataclass
from math import comb, log

import numpy as np

from acceptance.nodes.culprits.constants import (
    BELONGS,
    BETWEEN_SLOW,
    BLOCK_SCORE,
    BLOCKS,
    CONTENDED,
    DENSE,
    FALSE_RATE,
    INSIDE_GOOD,
    LEAST_SIDE,
    POWER_TURNS,
    SETS_FROM,
    SLOW_FROM,
    SMALLEST,
)
from acceptance.nodes.culprits.fit import Bools, Fit, Floats, Ints


@dataclass(frozen=True)
class Block:
    """Pairs from `senders` to `receivers` that are slow; `back`: those in reverse are slow, too.

    `rest`: the receivers are all nodes that are no senders.
    """

    senders: tuple[int, ...]
    receivers: tuple[int, ...]
    forth: bool
    back: bool
    rest: bool = False

    def pairs(self, count: int) -> Bools:
        """Return which pairs of so many nodes it is about."""
        pairs = np.zeros((count, count), dtype=bool)
        for wanted, rows, columns in (
            (self.forth, self.senders, self.receivers),
            (self.back, self.receivers, self.senders),
        ):
            if wanted:
                pairs[np.ix_(rows, columns)] = True
        return pairs


def two_parts(logs: Floats, quantity: str, groups: Ints | None) -> Block | None:
    """Find two sets of nodes that are good inside, with slow pairs between them in any round."""
    count = len(logs)
    if count < SETS_FROM:
        return None
    centred = np.nan_to_num(logs - np.nanmedian(logs))
    sides = [_halves(centred + centred.T)]
    if groups is not None:
        sides += [groups == group for group in np.unique(groups)]
    for side in sides:
        if not LEAST_SIDE <= side.sum() <= count - LEAST_SIDE:
            continue
        inside = np.where(side[:, None] == side, logs, np.nan)
        middle = np.nanmedian(inside)
        forth, back = logs[np.ix_(side, ~side)], logs[np.ix_(~side, side)]
        effect = max(np.nanmedian(forth), np.nanmedian(back)) - middle
        if effect < SMALLEST[quantity]:
            continue
        bound = middle + SLOW_FROM * effect
        slow = [_share(between > bound, between) >= BETWEEN_SLOW for between in (forth, back)]
        good = [_share(between <= bound, between) >= INSIDE_GOOD for between in (forth, back)]
        if _share(inside <= bound, inside) < INSIDE_GOOD or not all(np.logical_or(slow, good)):
            continue
        if 2 * side.sum() > count or (2 * side.sum() == count and not side[0]):
            side, slow = ~side, slow[::-1]
        return Block(_places(side), _places(~side), slow[0], slow[1], rest=True)
    return None


def _share(true: Bools, of: Floats) -> float:
    return float(true.sum() / max(np.isfinite(of).sum(), 1))


def _halves(symmetric: Floats) -> Bools:
    """Return one of two sets between which values are larger than inside of them.

    The sign of the eigenvector of the lowest eigenvalue, improved node by node. Power iteration
    finds it among 1,024 in a hundredth of the time of all of them.
    """
    highest, vector = _largest(symmetric, 0.0)
    if highest > 0:
        _, vector = _largest(symmetric, highest)
    side = vector > 0
    for _ in range(10):
        if side.all() or not side.any():
            break
        to_side = symmetric[:, side].sum(axis=1) / np.maximum(side.sum() - side, 1)
        to_rest = symmetric[:, ~side].sum(axis=1) / np.maximum((~side).sum() - ~side, 1)
        better = to_side < to_rest
        if (better == side).all():
            break
        side = better
    return side


def _largest(symmetric: Floats, shift: float) -> tuple[float, Floats]:
    """Return the eigenvalue that is farthest from a shift, and its eigenvector."""
    vector = np.random.default_rng(0).standard_normal(len(symmetric))
    for _ in range(POWER_TURNS):
        vector /= np.linalg.norm(vector) or 1.0
        vector = symmetric @ vector - shift * vector
    vector /= np.linalg.norm(vector) or 1.0
    return float(vector @ symmetric @ vector), vector


def common_uplinks(fitted: Fit, sends: Bools, receives: Bools) -> list[Block]:
    """Return sets of slow nodes that are good with each other: it is not the links of their own."""
    slow = np.flatnonzero(sends | receives)
    if len(slow) < 2:
        return []
    effect = np.maximum(fitted.sends, fitted.receives)[slow]
    loss = fitted.loss[np.ix_(slow, slow)]
    both = np.stack([loss, loss.T])
    has = np.isfinite(both).sum(axis=0)
    mean = np.nansum(both, axis=0) / np.maximum(has, 1)
    good = (has > 0) & (mean < SLOW_FROM * np.minimum(effect[:, None], effect))
    left, blocks = set(range(len(slow))), []
    while left:
        together, new = set[int](), {min(left)}
        while new - together:
            together |= new
            new = set(np.flatnonzero(good[list(together)].any(axis=0)).tolist()) & left
        left -= together
        part = sorted(together)
        among = np.ix_(part, part)
        number = (has[among] > 0).sum()
        if len(part) > 1 and number and good[among].sum() >= INSIDE_GOOD * number:
            names = slow[part]
            rest = np.setdiff1d(np.arange(len(sends)), names)
            ways = [2 * flags[names].sum() >= len(names) for flags in (sends, receives)]
            blocks.append(
                Block(tuple(names.tolist()), tuple(rest.tolist()), ways[0], ways[1], rest=True)
            )
    return blocks


def slow_blocks(fitted: Fit, loss: Floats, rounds: Ints, quantity: str) -> list[Block]:
    """Find senders and receivers between which most pairs are slow, in pairs no node explains."""
    has = np.isfinite(loss)
    hit = has & (loss >= np.maximum(SMALLEST[quantity], BLOCK_SCORE * fitted.scale))
    if len(loss) < SETS_FROM or not hit.any():
        return []
    number = np.bincount(rounds[has])
    contended = np.bincount(rounds[hit], minlength=len(number)) > CONTENDED * number
    if len(loss) >= 4 * SETS_FROM:
        hit &= ~contended[rounds]
    usual = max(hit.sum() / has.sum(), 1 / has.sum())
    found = []
    for _ in range(BLOCKS):
        block = _densest(hit, has, float(usual))
        if block is None:
            break
        rows, columns = block
        hit[np.ix_(rows, columns)] = False
        found.append(Block(tuple(rows.tolist()), tuple(columns.tolist()), True, False))
    return found


def _densest(hit: Bools, has: Bools, usual: float) -> tuple[Ints, Ints] | None:
    """Return rows and columns of the block around the two rows that share most; None: no block."""
    numbers = hit.astype(np.float32)
    together = numbers @ numbers.T
    counts = np.diagonal(together).copy()
    expected = counts[:, None] * counts / len(hit)
    score = together - expected - 4 * np.sqrt(expected + 1)
    np.fill_diagonal(score, -np.inf)
    one, other = np.unravel_index(int(score.argmax()), score.shape)
    if score[one, other] <= 0:
        return None
    columns = np.flatnonzero(hit[one] & hit[other])
    rows = np.array([one, other])
    for _ in range(10):
        new = _belonging(hit, has, columns)
        if len(new) < LEAST_SIDE:
            return None
        before, rows = rows, new
        columns = _belonging(hit.T, has.T, rows)
        if len(columns) < LEAST_SIDE:
            return None
        if np.array_equal(before, rows):
            break
    cells = has[np.ix_(rows, columns)].sum()
    slow = hit[np.ix_(rows, columns)].sum()
    if slow < DENSE * cells or not _is_certain(len(hit), rows, columns, slow / cells, cells, usual):
        return None
    return rows, columns


def _belonging(hit: Bools, has: Bools, columns: Ints) -> Ints:
    """Return the rows that are slow in most of these columns."""
    number = has[:, columns].sum(axis=1)
    return np.flatnonzero((number > 0) & (hit[:, columns].sum(axis=1) >= BELONGS * number))


def _is_certain(
    count: int, rows: Ints, columns: Ints, share: float, cells: int, usual: float
) -> bool:
    """Tell whether no choice of so many rows and columns has so many slow pairs by chance.

    Chernoff's bound of the binomial tail, times the number of choices.
    """
    choices = log(comb(count, len(rows))) + log(comb(count, len(columns)))
    share = min(share, 1 - 1e-12)
    distance = share * log(share / usual) + (1 - share) * log((1 - share) / (1 - usual))
    return bool(choices - cells * distance < log(FALSE_RATE))


def _places(side: Bools) -> tuple[int, ...]:
    return tuple(np.flatnonzero(side).tolist())

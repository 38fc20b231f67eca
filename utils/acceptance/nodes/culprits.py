"""From a matrix of pairs, and what is inside of the nodes, to the culprits behind the slow ones.

The loss of each pair is compared with the median of its round and distance. What a node's pairs
have in common is the node's; what is left of single pairs is their path's. A culprit is confirmed,
or is not, by what its pairs measured again with nothing else busy.

Pairs that have no value because they failed or hung are told by the node that they share, or each
by itself. A search leaves slow pairs that no culprit explains, and what could not be judged.

By chance a pair is slow both times, while all are busy and alone, with the share of all pairs that
are that slow. More such pairs than that share of those measured again (a Poisson count) are no
chance, whatever they have in common: nothing that slow may pass in silence. Pairs that a culprit
explains count nowhere: they would make those of chance beside them certain.
"""

import math
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, permutations

import numpy as np
from msgspec.structs import replace

from acceptance.core.pairs import ALL_UNITS, INSIDE, UNITS, Pair, PairMatrix
from acceptance.core.text import plural
from acceptance.nodes.culprit import (
    FAILED,
    GROUP,
    NODE,
    NOT_JUDGED,
    ONE_WAY,
    RECEIVES,
    SENDS,
    UNSTEADY,
    UPLINK,
    WAY,
    WITHIN,
    Culprit,
    NodeValues,
    value_of,
)
from acceptance.nodes.explanations import (
    Explanation,
    Measurement,
    places,
    slow_blocks,
    slow_nodes,
    slow_paths,
    slower_kind,
    two_parts,
)
from acceptance.nodes.fit import (
    BOTH_FROM,
    CONFIRMED_FROM,
    EMPIRICAL_FROM,
    FALSE_RATE,
    FEW_AGAIN,
    FEWEST_NODES,
    FEWEST_VALUES,
    LEFT_SCORE,
    MEDIAN_ERROR,
    NAMED_FAILED,
    NOISIEST,
    NOISIEST_OF_THREE,
    PRIOR_NOISE,
    PRIOR_WORTH,
    ROUNDS_FROM,
    SLOW_FROM,
    SMALLEST,
    SMALLEST_INSIDE,
    USUAL,
    Aim,
    Bools,
    Classes,
    Fit,
    Floats,
    Ints,
    better_quarter,
    beyond_chance,
    count_both_ways,
    distances,
    fit,
    log_loss,
    spread,
)

#: Quantities that suffer from the same faults: what is found in several is told of the first.
FAMILIES = (("bandwidth", "both"), ("latency",))
#: Numbers of nodes that are too few for a fit.
PAIR, THREE = 2, 3


def _failed_pairs(matrix: PairMatrix) -> list[Culprit]:
    """Return a culprit for each node of which half of the pairs failed, and for what is left."""
    left, found, tried = dict(matrix.failed), list[Culprit](), matrix.measured
    for pair in left:
        tried[pair] = True

    def tell(nodes: Iterable[int], others: Iterable[int], of: int, pairs: list[Pair]) -> None:
        names = [tuple(matrix.nodes[node] for node in each) for each in (nodes, others)]
        why, _ = Counter(left.pop(pair) for pair in pairs).most_common(1)[0]
        found.append(Culprit(FAILED, names[0], names[1], pairs=len(pairs), of=of, why=why))

    while left:
        counts = Counter(node for pair in left for node in pair)
        node = min(counts, key=lambda name: (-counts[name], name))
        pairs = [pair for pair in left if node in pair]
        own = int(tried[node].sum() + tried[:, node].sum())
        if len({*chain(*pairs)}) < THREE or 2 * len(pairs) < own:
            break
        tell([node], (), own, pairs)
    ways = sorted({(min(pair), max(pair)) for pair in left})
    for one, other in ways[:NAMED_FAILED]:
        tell([one], [other], 2, [pair for pair in ((one, other), (other, one)) if pair in left])
    if left:
        tell(sorted({*chain(*left)}), (), 0, sorted(left))
    return found


def _losses_again(matrix: PairMatrix, quantity: str, fitted: Fit) -> dict[Pair, float]:
    """Return the losses of the suspects of one quantity that were measured again.

    They are compared with the median of the controls, a latency by what each is off the level of
    its round and distance; where there are none, with these levels.
    """
    repeated = matrix.again.get(quantity, {})
    alone = log_loss(np.array([*repeated.values()]), UNITS[quantity]).tolist()
    logs = dict(zip(repeated, alone, strict=True))
    controls = sorted(matrix.controls & logs.keys())
    # Alone a rate is the same at any distance, a latency is not.
    if not controls or quantity == "latency":
        logs = {pair: value - float(fitted.level[pair]) for pair, value in logs.items()}
    middle = float(np.median([logs[pair] for pair in controls])) if controls else 0.0
    return {pair: value - middle for pair, value in logs.items() if pair not in matrix.controls}


def _tail(count: int, mean: float) -> float:
    """Return the probability of so many or more events of a Poisson distribution."""
    below = sum(math.exp(-mean) * mean**k / math.factorial(k) for k in range(min(count, 150)))
    return max(1 - below, 0.0)


def _not_judged(
    matrix: PairMatrix, present: list[str], searches: list["_Search"]
) -> Iterator[Culprit]:
    """Yield what has too few values to be judged, or too much noise."""
    by_name = {search.quantity: search for search in searches}
    for quantity in present:
        names: tuple[str, ...] = ()
        search = by_name.get(quantity)
        if search is None:
            why = "too few pairs were measured to compare nodes with each other"
        elif search.fit.noise > NOISIEST:
            why = f"good pairs differ by {search.fit.noise:.0%}: too much to tell a slow one"
        elif not search.judged.all():
            names = tuple(matrix.nodes[index] for index in places(~search.judged))
            why = "too few of its pairs have a value"
        else:
            continue
        yield Culprit(NOT_JUDGED, names, (), quantity, UNITS[quantity], why=why)


def find(matrix: PairMatrix, *, hops: Ints | None = None) -> list[Culprit]:
    """Return the culprits that `judge` finds."""
    return judge(matrix, hops=hops)[0]


def judge(
    matrix: PairMatrix, *, hops: Ints | None = None, aim: Aim = USUAL
) -> tuple[list[Culprit], list[NodeValues]]:
    """Judge nodes, paths and uplinks by what was measured: what is slow or failed, and of which.

    Returned are the culprits, what could not be judged among them, and values of each node.
    `hops`: (N, N), links between two nodes; without them latencies are asked for the distances.
    `aim`: how small a loss of a node is asked for.
    """
    inside, values = slow_inside(matrix)
    found = [*_failed_pairs(matrix), *inside]
    count = len(matrix.nodes)
    if count == PAIR:
        return [*found, two_nodes(matrix)], [*_of_few(matrix), *values]
    of_nodes: list[NodeValues] = []
    for family in FAMILIES:
        present = [quantity for quantity in family if quantity in matrix.values]
        logs = {each: log_loss(matrix.values[each], UNITS[each]) for each in present}
        far = distances(logs["latency"]) if hops is None and present == ["latency"] else hops
        alike = slower_kind([*logs.values()], matrix.rounds.astype(np.intp), far, family[0])
        searches = [_Search(matrix, quantity, far, alike, aim) for quantity in present]
        searches = [
            search for search in searches if search.judged.sum() >= min(count, FEWEST_NODES)
        ]
        if searches and count == THREE:
            found += _of_three(searches)
        elif searches:
            found += _family(searches)
            of_nodes += [search.node_values() for search in searches]
        found += _not_judged(matrix, present, searches)
    repeated = {pair for again in matrix.again.values() for pair in again} - matrix.controls
    if matrix.not_again and (not repeated or any(each.fails and not each.again for each in found)):
        why = f"{plural(matrix.not_again, 'suspicious pair')} not measured again: no time was left"
        found.append(Culprit(NOT_JUDGED, why=why))
    return found, [*(of_nodes or _of_few(matrix)), *values]


def _of_few(matrix: PairMatrix) -> list[NodeValues]:
    """Return the best pair of each node: with one good partner a node shows what it can do."""
    found = []
    for quantity, values in matrix.values.items():
        both = np.concatenate([values, values.T], axis=1)
        better = np.fmin if UNITS[quantity] == "us" else np.fmax
        best = better.reduce(both, axis=1)
        if np.isfinite(best).any():
            found.append(NodeValues.of(quantity, float(np.nanmedian(best)), best))
    return found


def _of_three(searches: list["_Search"]) -> list[Culprit]:
    """Return what is slow among three nodes."""
    shape = slow_of_three([search.logs for search in searches], searches[0].quantity)
    if shape is None:
        return []
    found = []
    for search in searches:
        search.compare_with(~shape.pairs(THREE))
        found.append(search.culprit(shape))
    why = ""
    if any(each.again is None for each in found):
        why = "slow, and not measured again alone: with three nodes it may be noise"
    elif any(each.kind != found[0].kind for each in found):
        why = "slow, and measured again alone in one quantity only: of three nodes it may be noise"
    elif max(search.fit.noise for search in searches) > NOISIEST_OF_THREE:
        why = "slow, and the other pairs of three nodes differ too much to tell it from noise"
    return [replace(found[0], kind=NOT_JUDGED, why=why) if why else found[0]]


def _family(searches: list["_Search"]) -> list[Culprit]:
    """Return the culprits of quantities that suffer from the same faults, each one once."""
    by_name = {search.quantity: search for search in searches}
    behind: dict[tuple[tuple[int, ...], tuple[int, ...]], Explanation] = {}
    times = Counter[tuple[int, ...]]()
    for search in searches:
        for each in [*search.shared, *search.of_nodes()]:
            if each.kind != UPLINK or not any(map(each.is_mostly, behind.values())):
                behind.setdefault((each.nodes, each.others), each)
            times[each.nodes] += each.kind != UPLINK
    found = [by_name[each.quantity].culprit(each) for each in behind.values()]
    if len(searches) > 1 and len(searches[0].logs) < EMPIRICAL_FROM:
        for index, (each, culprit) in enumerate(zip(behind.values(), found, strict=True)):
            if times[each.nodes] < 2 and culprit.again is None:
                why = f"slow in {culprit.quantity} only, and not measured again: with so few nodes"
                found[index] = replace(culprit, kind=NOT_JUDGED, why=f"{why} it may be noise")
    bad = np.any([search.fit.bad_senders for search in searches], axis=0)
    bad_to = np.any([search.fit.bad_receivers for search in searches], axis=0)
    measurements = [search.measurement(bad, bad_to) for search in searches]
    for path in slow_paths(measurements, searches[0].rounds):
        if (path.nodes, path.others) not in behind:
            behind[path.nodes, path.others] = path
            found.append(by_name[path.quantity].culprit(path))
    left = [] if searches[0].unit == "us" else searches[0].unexplained(behind.values())
    return [*found, *left]


class _Search:
    """Looks for culprits in one quantity of a matrix."""

    def __init__(
        self, matrix: PairMatrix, quantity: str, hops: Ints | None, kind: Bools, aim: Aim
    ) -> None:
        self.matrix, self.quantity, self.unit = matrix, quantity, UNITS[quantity]
        self.smallest = aim.smallest(quantity)
        values = matrix.values[quantity]
        has = np.isfinite(values)
        self.judged = np.minimum(has.sum(axis=0), has.sum(axis=1)) >= FEWEST_VALUES
        self.logs = log_loss(values, self.unit)
        if len(values) == THREE:
            self.compare_with(has)
        if self.judged.sum() < FEWEST_NODES:
            return
        self.rounds = matrix.rounds.astype(np.intp)
        classes = Classes(has, self.rounds, hops)
        #: Logarithms without what a kind of nodes and uplinks take: the rest is seen beside them.
        self.left = self.logs.copy()
        #: The nodes that are alike and slower, and what the pairs of each node lose by that.
        self.kind, self.of_kind = kind, np.zeros(len(values))
        if kind.any():
            self._take_kind(classes)
        #: What several nodes share.
        self.shared: list[Explanation] = []
        # A latency is larger between the leaves of any fabric.
        if self.unit != "us":
            self._take(two_parts(self.left, quantity))
        self.fit = slow_nodes(self.left, classes, quantity, aim)
        if self.unit != "us":
            single = self._unexplained(self.fit.bad_senders, self.fit.bad_receivers)
            self._take(slow_blocks(self.fit, single, self.rounds, quantity))
        #: Of each pair against what good ones have, before anything was taken from it.
        self.loss = self.logs - self.fit.level
        #: Pair -> what it lost when it was measured again; of the suspects only.
        self.again = _losses_again(matrix, quantity, self.fit)

    def compare_with(self, good: Bools) -> None:
        """Compare all pairs with the median of these alone."""
        level = np.full_like(self.logs, np.nanmedian(self.logs[good]))
        loss = self.logs - level
        noise = spread(loss[good & np.isfinite(loss)])
        nobody, nothing = np.zeros(len(loss), dtype=bool), np.zeros(len(loss))
        shares = (nobody, nobody, loss, level, nothing, nothing, loss)
        self.fit, self.loss = Fit(*shares, noise, 1.0, np.full_like(loss, noise)), loss
        self.again = _losses_again(self.matrix, self.quantity, self.fit)

    def _alone(self, pairs: Bools) -> tuple[float, float] | None:
        """Return the median loss of these pairs, and its standard error where they are but a few.

        None: none of them was measured again.
        """
        losses = [loss for pair, loss in self.again.items() if pairs[pair]]
        is_few = len(losses) < FEW_AGAIN * pairs.sum()
        error = MEDIAN_ERROR * self.fit.noise / math.sqrt(len(losses) or 1) if is_few else 0.0
        return (float(np.median(losses)), error) if losses else None

    def _confirms(self, again: float, before: float) -> bool:
        """Tell whether a loss is still there when nothing else is busy."""
        return again >= max(self.smallest / 2, CONFIRMED_FROM * before)

    def _take(self, shared: list[Explanation]) -> None:
        """Take from the logarithms what pairs lose by what several nodes share."""
        for each in shared:
            pairs = each.pairs(len(self.left))
            self.left[pairs] -= np.nanmedian(self.left[pairs]) - np.nanmedian(self.left[~pairs])
        self.shared += shared

    def _take_kind(self, classes: Classes) -> None:
        """Take what nodes lose that are alike and slower: with the others, and with each other."""
        kind = self.kind
        loss = fit(self.logs, classes, kind, kind).loss
        lost = []
        for rows, columns in ((kind, ~kind), (~kind, kind), (kind, kind)):
            pairs = rows[:, None] & columns & np.isfinite(loss)
            lost.append(float(np.median(loss[pairs])) if pairs.any() else 0.0)
            self.left[pairs] -= lost[-1]
        self.of_kind[kind] = (lost[0] + lost[1]) / 2

    def _unexplained(self, bad_senders: Bools, bad_receivers: Bools) -> Floats:
        """Return the loss of the pairs that neither slow nodes nor uplinks explain."""
        loss: Floats = self.fit.loss.copy()
        loss[bad_senders] = np.nan
        loss[:, bad_receivers] = np.nan
        for each in self.shared:
            loss[each.pairs(len(loss))] = np.nan
        return loss

    def measurement(self, bad_senders: Bools, bad_receivers: Bools) -> Measurement:
        """Return what the search of paths looks at.

        Of a few nodes rounds have no level of their own; a pair is compared with its round here.
        """
        loss = self._unexplained(bad_senders, bad_receivers)
        if len(loss) < ROUNDS_FROM:
            for number in np.unique(self.matrix.rounds[np.isfinite(loss)]):
                of_round = (self.matrix.rounds == number) & np.isfinite(loss)
                loss[of_round] -= max(0.0, float(np.median(loss[of_round])))
        return Measurement(self.quantity, self.fit, loss, self.again)

    def _is_of_uplink(self, node: int, *, sends: bool) -> bool:
        """Tell whether a node is good with just those that share a slow uplink in one direction.

        Of a cable that is slow in both, static routes make a block in one direction and a single
        node in the other.
        """
        loss = self.loss[node] if sends else self.loss[:, node]
        good = {node, *np.flatnonzero(loss < SLOW_FROM * np.nanmedian(loss)).tolist()}
        blocks = [each for each in self.shared if each.others]
        sides = [{*(each.others if sends else each.nodes)} for each in blocks]
        return any(2 * len(good & side) > len(good | side) for side in sides)

    def of_nodes(self) -> Iterator[Explanation]:
        """Yield the nodes that are slow, those that are alike as one."""
        if self.kind.any():
            yield Explanation(GROUP, places(self.kind), quantity=self.quantity)
        slow = self.fit.bad_senders | self.fit.bad_receivers
        for node in places(slow & self.judged):
            sends, receives = self.fit.sends[node], self.fit.receives[node]
            kind = SENDS if sends > receives else RECEIVES
            if min(sends, receives) >= BOTH_FROM * max(sends, receives):
                kind = NODE
            if kind == NODE or not self._is_of_uplink(node, sends=kind == SENDS):
                yield Explanation(kind, (node,), quantity=self.quantity)

    def node_values(self) -> NodeValues:
        """Return what pairs of each node with good ones have, by its share in the fit."""
        fitted, level = self.fit, float(np.nanmedian(self.fit.level))
        shares = (fitted.sends + fitted.receives) / 2 + self.of_kind
        values = np.exp((level + shares) * (1 if self.unit == "us" else -1))
        known = np.where(self.judged, values, np.nan)
        # What was supposed before any was seen is no measurement.
        squares = fitted.noise**2 * fitted.freedom - PRIOR_WORTH * PRIOR_NOISE**2
        noise = math.sqrt(max(squares, 0.0) / (fitted.freedom - PRIOR_WORTH))
        return NodeValues.of(self.quantity, value_of(level, self.unit), known, noise)

    def unexplained(self, found: Iterable[Explanation]) -> list[Culprit]:
        """Return what pairs share that are slow twice, if neither `found` nor chance explains."""
        explained = np.zeros(self.loss.shape, dtype=bool)
        for each in found:
            explained |= each.pairs(len(explained))
        unexplained = np.isfinite(self.loss) & ~(explained | explained.T)
        loss = self.fit.loss
        bound = np.maximum(SMALLEST[self.quantity], LEFT_SCORE * self.fit.scale)
        slow = unexplained & (loss >= bound)
        repeated = [(i, j, alone) for (i, j), alone in self.again.items() if unexplained[i, j]]
        twice = np.zeros_like(slow)
        for i, j, alone in repeated:
            twice[i, j] = slow[i, j] and self._confirms(alone, float(loss[i, j]))
        chance = len(repeated) * float(slow.sum()) / max(int(unexplained.sum()), 1)
        if not twice.any() or _tail(int(twice.sum()), chance) >= FALSE_RATE:
            return []
        return [self.culprit(self._shared(twice), twice)]

    def _shared(self, pairs: Bools) -> Explanation:
        """Return what pairs share: a node that is in each of them, else what is between all."""
        ends = np.argwhere(pairs)
        senders, receivers = (tuple(np.unique(each).tolist()) for each in ends.T)
        common = [node for node in np.unique(ends).tolist() if (ends == node).any(axis=1).all()]
        if len(common) != 1:  # a pair has two
            return Explanation(UPLINK, senders, receivers)
        (node,) = common
        one_way = SENDS if node in senders else RECEIVES
        kind = NODE if node in senders and node in receivers else one_way
        return Explanation(kind, (node,), quantity=self.quantity)

    def culprit(self, behind: Explanation, pairs: Bools | None = None) -> Culprit:
        """Return a culprit with its numbers; unsteady, where measured again its pairs are good.

        `pairs`: those that are slow, unless they are all that it explains.
        """
        fitted, kind = self.fit, behind.kind
        pairs = behind.pairs(len(self.loss)) if pairs is None else pairs
        loss = np.where(pairs, self.loss, np.nan)
        effect = np.nanmedian(loss)
        slow = np.nan_to_num(loss, nan=-np.inf) >= SLOW_FROM * effect
        ratio = float(np.median(loss[slow]))
        level = float(np.median(fitted.level[slow]))
        repeated, error = self._alone(slow) or (None, 0.0)
        number, of = int(slow.sum()), int(np.isfinite(loss).sum())
        if kind in (NODE, WAY):
            number, of = count_both_ways(loss, SLOW_FROM * effect)
        # What all of its pairs say goes before what a few of them say alone, within their noise.
        if repeated is not None and not self._confirms(repeated + error, ratio):
            kind = UNSTEADY
        return Culprit(
            kind=kind,
            nodes=tuple(self.matrix.nodes[node] for node in behind.nodes),
            others=tuple(self.matrix.nodes[node] for node in behind.others),
            quantity=self.quantity,
            unit=self.unit,
            value=value_of(level + ratio, self.unit),
            median=value_of(level, self.unit),
            ratio=value_of(ratio, self.unit),
            pairs=number,
            of=of,
            again=None if repeated is None else value_of(repeated, self.unit),
            why=behind.only,
        )


def slow_inside(matrix: PairMatrix) -> tuple[list[Culprit], list[NodeValues]]:
    """Return the nodes that are slow inside, each once for what the same faults slow, and values.

    No node disturbs another one there, and each has a value of its own: so of two the slower one is
    known, though not whether the other one is as it should be.
    """
    found = []
    for node, why in sorted(matrix.inside.failed.items()):
        names, why = (matrix.nodes[node],), f"inside of the node: {why}"
        found.append(Culprit(FAILED, names, (), INSIDE["latency"], pairs=1, of=1, why=why))
    values = []
    for family in ((INSIDE["bandwidth"], INSIDE["both"]), (INSIDE["latency"],)):
        named: set[str] = set()
        for quantity in family:
            of_nodes = matrix.inside.values.get(quantity)
            if of_nodes is None or not np.isfinite(of_nodes).any():
                continue
            unit = ALL_UNITS[quantity]
            logs = log_loss(of_nodes, unit)
            middle = _middle(logs, SMALLEST_INSIDE[unit])
            values.append(NodeValues.of(quantity, value_of(middle, unit), of_nodes))
            for kind, nodes in _slow(logs - middle, SMALLEST_INSIDE[unit]):
                if not named.issuperset(np.array(matrix.nodes)[nodes]):
                    found.append(_culprit(matrix, quantity, middle, kind, nodes))
                    named |= {*found[-1].nodes}
    return found, values


def _middle(logs: Floats, smallest: float) -> float:
    """Return the median; where the nodes are two groups, that of the better one."""
    known = np.sort(logs[np.isfinite(logs)])
    anchor = better_quarter(known)
    if known[known.size // 2] - anchor > smallest:
        known = known[known - anchor <= smallest]
    return float(np.median(known))


def _slow(loss: Floats, smallest: float) -> list[tuple[str, Ints]]:
    """Return the nodes that are worse than good ones are among each other: half of all as one."""
    good = loss[loss <= smallest]
    noise = _noise(spread(good) ** 2 * good.size, good.size)
    wide = beyond_chance(loss.size, good.size + PRIOR_WORTH) * noise
    slow = np.flatnonzero(loss > max(smallest, wide))
    if slow.size and 2 * slow.size >= np.isfinite(loss).sum():
        return [(GROUP, slow)]
    return [(WITHIN, slow[slow == node]) for node in slow]


def _culprit(matrix: PairMatrix, quantity: str, middle: float, kind: str, nodes: Ints) -> Culprit:
    unit, again = ALL_UNITS[quantity], matrix.inside.again.get(quantity, {})
    names = tuple(matrix.nodes[node] for node in nodes)
    level = float(np.median(log_loss(matrix.inside.values[quantity][nodes], unit)))
    repeated = [again[node] for node in nodes.tolist() if node in again]
    alone = float(np.median(log_loss(np.array(repeated), unit))) - middle if repeated else None
    loss = level - middle
    if alone is not None and alone < max(SMALLEST_INSIDE[unit] / 2, CONFIRMED_FROM * loss):
        kind = UNSTEADY
    return Culprit(
        kind, names, (), quantity, unit, value_of(level, unit), value_of(middle, unit),
        value_of(loss, unit), len(names), len(names),
        None if alone is None else value_of(alone, unit),
    )  # fmt: skip


def _noise(squares: float, number: int, lost: int = 1) -> float:
    """Return the standard deviation behind so many squares, of which `lost` are fitted."""
    of = max(number - lost, 1) + PRIOR_WORTH
    return float(np.sqrt((squares + PRIOR_WORTH * PRIOR_NOISE**2) / of))


def _shapes() -> Iterator[Explanation]:
    """Yield what can be slow among three nodes such that another pair is not."""
    for one in range(3):
        yield from (Explanation(kind, (one,)) for kind in (NODE, SENDS, RECEIVES))
    for one, other in permutations(range(3), 2):
        yield Explanation(ONE_WAY, (one,), (other,))
    for one, other in combinations(range(3), 2):
        yield Explanation(WAY, (one,), (other,))


def slow_of_three(logs: Sequence[Floats], quantity: str) -> Explanation | None:
    """Return what explains the slow pairs of three nodes, by quantities with the same faults.

    The one of all shapes whose slow pairs are farthest from the others, if that is farther than the
    pairs within each part are from each other, in each quantity, and all slow ones are worse than
    all others. None: nothing explains them, or there is nothing to explain.
    """
    mean = np.mean([each - np.nanmedian(each) for each in logs], axis=0)
    has = ~np.eye(3, dtype=bool)
    if not np.isfinite(mean[has]).all():
        return None
    best: tuple[float, Explanation | None] = (0.0, None)
    shapes = [*_shapes()]
    for shape in shapes:
        slow = shape.pairs(3)
        bad, good = mean[slow], mean[has & ~slow]
        effect = float(np.median(bad) - np.median(good))
        # In each quantity most of its pairs are slow: of a mean two moments may make a node.
        better_half = (np.sort(each[slow])[(bad.size - 1) // 2] for each in logs)
        others = (np.median(each[has & ~slow]) for each in logs)
        least = min(map(operator.sub, better_half, others))
        squares = float(((bad - bad.mean()) ** 2).sum() + ((good - good.mean()) ** 2).sum())
        noise = _noise(squares, 6, 2) * np.sqrt(1 / bad.size + 1 / good.size)
        apart = float(bad.min() - good.max())
        wide = beyond_chance(len(shapes), 4 + PRIOR_WORTH) * noise
        is_slow = least >= SMALLEST[quantity] and effect >= wide and apart > SLOW_FROM * effect
        if is_slow and apart > best[0]:
            best = apart, shape
    return best[1]


def two_nodes(matrix: PairMatrix) -> Culprit:
    """Return that nobody can judge the one pair of two nodes, and what can."""
    why = (
        "two nodes are one pair: only a reference, the fabric's limit or their past can tell that "
        "they are slow with each other, and nothing tells which of them it is"
    )
    return Culprit(NOT_JUDGED, matrix.nodes, why=why)

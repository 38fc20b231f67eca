"""Matrices of pairs that nodes could have measured, with one fault or none.

Rounds are shifts: in round k node i sends to i + k. Without `uplinks` a pair is as fast as its
nodes; with them, of a leaf of `LEAF` nodes, static routes (by the receiver's number) let pairs
share links, as in a tree with fewer links up than nodes below.
"""

import json
from dataclasses import dataclass

import numpy as np

from acceptance.core.pairs import PairMatrix

LEAF = 16
RATE, TIME = 10_000.0, 2.0
#: What the program measures again: of each sender and receiver so many suspects, and controls.
WORST, CONTROLS, SUSPICIOUS = 4, 12, 1.08
#: A latency is suspect from so many deviations that are usual in its round, and always from LATE.
DEVIATIONS, LATE = 4, 1.3
#: Of fewer pairs the upper quartile stands for their median.
FEW = 8


@dataclass(frozen=True)
class Truth:
    """What a matrix was made with: the kind of culprit, its nodes, the far side; older nodes."""

    kind: str = ""
    nodes: tuple = ()
    others: tuple = ()
    older: tuple = ()

    @property
    def blamed(self):
        return {*self.nodes, *self.others}


def names(count):
    return tuple(f"node{number:04}" for number in range(1, count + 1))


def shifts(count):
    return (np.arange(count) - np.arange(count)[:, None]) % count


def noise(kind, spread, chance, count):
    """Return logarithms by which values are worse: of a family, with one standard deviation."""
    shape = count, count
    if kind == "student":
        return spread / np.sqrt(3) * chance.standard_t(3, shape)
    worse = spread * chance.standard_normal(shape)
    if kind == "bursts":
        worse += (chance.random(shape) < 0.01) * chance.exponential(0.7, shape)
    elif kind == "round":
        worse[shifts(count) == chance.integers(1, count)] += 0.5
    elif kind == "stragglers":
        for _ in range(max(1, count // 20)):
            node, shift = chance.integers(count), chance.integers(1, count)
            worse[node, (node + shift) % count] += 0.7
            worse[(node - shift) % count, node] += 0.7
    return worse


def fault(what, count, chance, share):
    """Return logarithms by which pairs are worse of a fault, and the truth about it."""
    worse, known = np.zeros((count, count)), names(count)
    one, other = sorted(chance.choice(count, 2, replace=False).tolist())
    ranks = np.arange(count)
    leaf = ranks // LEAF == one // LEAF
    if what in ("node", "sends"):
        worse[one] = 1
    if what in ("node", "receives"):
        worse[:, one] = 1
    if what == "path":
        worse[one, other] = worse[other, one] = 1
    if what == "uplinks":
        worse[leaf[:, None] != leaf] = 1
    if what == "cable":
        worse[np.ix_(leaf, ~leaf & (ranks % LEAF == one % LEAF))] = 1
    kinds = {
        "node": "node-slow", "sends": "node-sends-slow", "receives": "node-receives-slow",
        "path": "way-slow", "uplinks": "uplink-slow", "cable": "uplink-slow",
    }  # fmt: skip
    truth = Truth(kinds[what], (known[one],), (known[other],) if what == "path" else ())
    if truth.kind == "uplink-slow":
        truth = Truth(truth.kind, tuple(np.array(known)[leaf].tolist()))
    return -np.log(share) * worse, truth


def contention(count, uplinks):
    """Return logarithms by which pairs are worse in their shift, since links are shared."""
    ranks, worse = np.arange(count), np.zeros((count, count))
    for shift in range(1, count):
        to = (ranks + shift) % count
        leaf, far, route = ranks // LEAF, to // LEAF, to % uplinks
        crosses = leaf != far
        up, down = np.zeros((2, count // LEAF + 1, uplinks))
        np.add.at(up, (leaf[crosses], route[crosses]), 1)
        np.add.at(down, (far[crosses], route[crosses]), 1)
        shared = np.maximum(up[leaf, route], down[far, route])
        worse[ranks, to] = np.log(np.where(crosses, np.maximum(shared, 1), 1))
    return worse


def older(count, chance, what, broken, truth):
    """Return logarithms by which pairs are worse of a quarter of the nodes, 20 % slower; the truth.

    A fault of a node (`what`) is of one of the `older` ones, or of the others.
    """
    chosen = np.sort(chance.choice(count, count // 4, replace=False))
    kind = np.isin(np.arange(count), chosen)
    if what:
        faulty = names(count).index(truth.nodes[0])
        if kind[faulty] != (what == "older"):  # let them change places
            other = chance.choice(np.flatnonzero(kind != kind[faulty]))
            kind[[faulty, other]] = kind[[other, faulty]]
    worse = -np.log(0.8) * (kind[:, None] | kind)
    return worse + broken, tuple(np.array(names(count))[kind].tolist())


def made(
    count,
    seed,
    what="",
    share=0.7,
    spread=0.05,
    family="normal",
    uplinks=0,
    repeats=False,
    kept=(),
    quantities=("bandwidth", "both"),
    far=0.0,
    leaf=LEAF,
    kinds=None,
):
    """Return a matrix and the truth about it.

    `repeats`: suspects are measured again alone, and controls. `kept`: only these shifts. `far`: by
    what fraction a latency is longer between leaves of so many nodes. `kinds`: a quarter of the
    nodes is older; a fault is of one of the `older` or of the `newer` ones.
    """
    chance = np.random.default_rng(seed)
    broken, truth = fault(what, count, chance, share) if what else (0.0, Truth())
    if kinds is not None:
        broken, old = older(count, chance, kinds, broken, truth)
        truth = Truth(truth.kind, truth.nodes, truth.others, old)
    ranks = np.arange(count) // leaf
    away = np.log1p(far) * (ranks[:, None] != ranks)
    busy = contention(count, uplinks) if uplinks else 0.0
    rounds = shifts(count)
    if kept:
        rounds = np.where(np.isin(rounds, kept), rounds, 0)
    values, again = {}, {}
    for quantity in quantities:
        worse = noise(family, spread, chance, count) + busy + broken
        value = TIME * np.exp(worse + away) if quantity == "latency" else RATE * np.exp(-worse)
        np.fill_diagonal(value, np.nan)
        values[quantity] = np.where(rounds == 0, np.nan, value)
    suspects, controls = chosen(values, rounds, chance) if repeats else ([], [])
    for quantity in values if repeats else ():
        worse = noise(family, spread, chance, count) + broken
        alone = TIME * np.exp(worse + away) if quantity == "latency" else RATE * np.exp(-worse)
        again[quantity] = {pair: float(alone[pair]) for pair in (*suspects, *controls)}
    matrix = PairMatrix(names(count), values, rounds.astype(np.int32), again, frozenset(controls))
    return matrix, truth


def chosen(values, rounds, chance):
    """Return the pairs that the program measures again: suspects, and controls."""
    badness = np.zeros(rounds.shape)
    for quantity, value in values.items():
        good = 1 / value if quantity == "latency" else value
        for number in np.unique(rounds[rounds > 0]):
            where = rounds == number
            of_round = np.sort(good[where])[::-1]
            middle = of_round[(len(of_round) - 1) // (4 if len(of_round) < FEW else 2)]
            limit = SUSPICIOUS
            if quantity == "latency":
                off = np.sort(abs(of_round / middle - 1))[(len(of_round) - 1) // 2]
                limit = LATE if len(of_round) < FEW else np.clip(1 + DEVIATIONS * off, limit, LATE)
            worse = middle / good[where] * SUSPICIOUS / limit
            badness[where] = np.maximum(badness[where], worse)
    rows = np.argsort(-badness, axis=1)[:, :WORST]
    worst = sorted((-badness[i, j], i, int(j)) for i in range(len(rows)) for j in rows[i])
    suspects, of_receiver = [], dict.fromkeys(range(len(rows)), 0)
    for bad, sender, receiver in worst:
        of_receiver[receiver] += 1
        if -bad > SUSPICIOUS and of_receiver[receiver] <= WORST:
            suspects.append((sender, receiver))
    good = np.argwhere((badness > 0) & (badness <= SUSPICIOUS))
    picked = chance.permutation(len(good))[:CONTROLS]
    return suspects, [tuple(good[index].tolist()) for index in picked]


def written(nodes, records, rounds):
    """Return records as `patterns all-pairs --output` writes them, with its first and last one."""
    job = {"type": "job", "version": "1.0", "ranks": len(nodes), "bytes": 4194304,
           "timeout_s": 10, "limit_s": 600, "repetitions": [1, 1, 1], "schedule": "shifts",
           "rounds": rounds, "estimate_s": 0.4, "nodes": list(nodes)}  # fmt: skip
    end = {"type": "end", "not_measured": 0, "not_again": 0}
    lines = (json.dumps(line, separators=(",", ":")) for line in (job, *records, end))
    return "".join(f"{line}\n" for line in lines)

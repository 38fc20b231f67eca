"""What nodes measured in pairs and inside, judged, as a case stores it."""

import msgspec
import numpy as np

from acceptance.core.findings import Finding
from acceptance.core.pairs import ALL_UNITS, INSIDE, Inside, PairMatrix
from acceptance.nodes import AllPairs, culprits
from acceptance.nodes.fit import USUAL

NAMES = tuple(f"node{number}" for number in range(1, 9))
VALUES = {"bandwidth": 1e4, "both": 9e3, "latency": 2.0}


def measured(
    slow=(),
    way=(),
    shifts=range(1, 8),
    names=NAMES,
    failed=(),
    inside=(),
    passed=False,
    aim=USUAL,
):
    """Return what nodes measure; slow ones, both ways of a pair, and some inside, at half.

    A slow way is measured again alone, and is the same; of slow nodes that was over if it `passed`.
    """
    count = len(names)
    shift = (np.arange(count) - np.arange(count)[:, None]) % count
    values, bad = {}, [names.index(name) for name in slow]
    pair = [names.index(name) for name in way]
    for quantity, value in VALUES.items():
        values[quantity] = np.where(np.isin(shift, shifts), value, np.nan)
        np.fill_diagonal(values[quantity], np.nan)
        if quantity != "latency":
            values[quantity][bad] /= 2
            values[quantity][:, bad] /= 2
            values[quantity][tuple(pair), tuple(pair[::-1])] /= 2
        for lost in failed:
            values[quantity][lost] = np.nan
    rounds = np.where(np.isin(shift, shifts), shift, 0).astype(np.int32)
    repeated = {(pair[0], pair[1]): 5e3, (pair[1], pair[0]): 5e3} if pair else {}
    if passed:
        repeated = {(node, (node + 1) % count): 1e4 for node in bad}
    of_nodes = {
        name: np.where(np.isin(names, inside) & (ALL_UNITS[name] != "us"), 5e3, 1e4)
        for name in INSIDE.values()
    }
    matrix = PairMatrix(
        names,
        values,
        rounds,
        {"bandwidth": repeated} if repeated else {},
        failed=dict.fromkeys(failed, "no answer within 5 s"),
        inside=Inside(of_nodes),
    )
    found = culprits.judge(matrix, aim=aim)
    return AllPairs.of_matrix(matrix, len(rounds) - 1, *found, aim=aim)


def stored(found):
    """Return the fields of the case of a measurement, failed as its culprits want it."""
    failing = [each for each in found.culprits if each.fails]
    return {
        "name": "AllPairs", "suite": "patterns", "benchmark": "patterns.all-pairs",
        "all_pairs": msgspec.to_builtins(found), "result": "fail" if failing else "pass",
        "findings": tuple(Finding(e.kind, e.text, True, (*e.node.split(),)) for e in failing),
    }  # fmt: skip

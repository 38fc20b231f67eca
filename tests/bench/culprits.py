"""Culprits found in made matrices, beside what the rules name that sites use today.

Run by `make bench`; asserts nothing. All rules see the same matrices: of 200 nodes (or as said), a
fault takes 30 % of the rate of its pairs, noise as said. Of so many runs in 100 is said in how many
the nodes at fault were named (`found`), any other was (`false`), and in how many the culprit was
named with its cause and nothing else (`cause`): its own link, a direction, the path, the uplink.

The rules of others name nodes. They are written from what is published of them:
- ClusterKit (NVIDIA HPC-X, manual): a pair is bad under 93 % of the best bandwidth. A node is named
  here when half of its pairs are bad.
- SuperBench (Xiong et al., USENIX ATC 2024; its rules of diagnosis): a node is bad whose result,
  the median of its pairs here, is 5 % under the median of the nodes.
- z-score: a node is bad whose mean is more than 3 standard deviations under that of the nodes.

Where a quarter of the nodes is older, 20 % slower, all of these are to be told as one kind, which
is the `cause`; a rule that names them one by one has `found` them, too. Of two distances between
nodes ours knows the routes, or does not.
"""

import argparse
import time
import tracemalloc

import numpy as np

from acceptance.core.text import table
from acceptance.nodes.culprits import find
from tests.made_matrices import LEAF, made

#: The shifts of a short night.
SIX = (1, 2, 5, 29, 77, 101)
#: A matrix of latencies alone.
LATENCY = {"quantities": ("latency",)}
#: Name of a row -> how its matrices are made.
FAULTS = {
    "node": {"what": "node"},
    "node, 2 % noise": {"what": "node", "spread": 0.02},
    "node, 10 % noise": {"what": "node", "spread": 0.1},
    "node, Student t, 3": {"what": "node", "family": "student"},
    "node, bursts": {"what": "node", "family": "bursts"},
    "node, 2:1 tree": {"what": "node", "uplinks": 8},
    "node, 12 nodes": {"what": "node", "count": 12},
    "node, 6 shifts": {"what": "node", "kept": SIX},
    "sends slowly": {"what": "sends"},
    "receives slowly": {"what": "receives"},
    "path": {"what": "path"},
    "path, Student t, 3": {"what": "path", "family": "student"},
    "path, 12 nodes": {"what": "path", "count": 12},
    "uplinks of a leaf": {"what": "uplinks"},
    "one uplink, static routes": {"what": "cable"},
    **{
        f"late by {share:.0%}, {count} nodes{told}": {
            "what": "node", "count": count, "share": 1 / (1 + share), **LATENCY, **more
        }
        for count in (12, 64, 200)
        for told, more in {
            "": {}, ", far": {"far": 0.3}, ", far, routes": {"far": 0.3, "routes": True},
        }.items()
        for share in (0.15, 0.43)
    },
    **{
        f"1/4 older, {count} nodes{told}": {"count": count, **more}
        for count in (12, 64)
        for told, more in {
            "": {"kinds": ""},
            ", an older slow": {"kinds": "older", "what": "node"},
            ", another slow": {"kinds": "newer", "what": "node"},
        }.items()
    },
}  # fmt: skip
HEALTHY = {
    "1 % noise": {"spread": 0.01},
    "5 % noise": {},
    "10 % noise": {"spread": 0.1},
    "Student t, 3": {"family": "student"},
    "bursts": {"family": "bursts"},
    "a slow round": {"family": "round"},
    "stragglers": {"family": "stragglers"},
    "2:1 tree": {"uplinks": 8},
    "4:1 tree": {"uplinks": 4},
    "measured again": {"repeats": True},
    "6 shifts, again": {"kept": SIX, "repeats": True},
    "6 shifts, Student t, again": {"kept": SIX, "repeats": True, "family": "student"},
}
#: The same of latencies.
HEALTHY_LATENCY = {
    "5 % noise": {},
    "10 % noise": {"spread": 0.1},
    "Student t, 3": {"family": "student"},
    "bursts": {"family": "bursts"},
    "stragglers": {"family": "stragglers"},
    "leaves of 16, 30 % farther": {"far": 0.3},
    "leaves of 14, 50 % farther": {"far": 0.5, "leaf": 14},
    "leaves of 8, 20 % farther, again": {"far": 0.2, "leaf": 8, "repeats": True},
    "6 shifts, leaves of 14": {"far": 0.5, "leaf": 14, "kept": SIX},
}
FAMILIES = ("normal", "student", "bursts", "round", "stragglers")


def ours(matrix, routes=False):
    """Return the nodes named, and (kind, nodes, others) of each culprit."""
    leaves = np.arange(len(matrix.nodes)) // LEAF
    hops = np.where(leaves[:, None] == leaves, 2, 4) if routes else None
    found = [each for each in find(matrix, hops=hops) if each.fails]
    blamed = {name for each in found for name in (*each.nodes, *each.others)}
    return blamed, {(each.kind, each.nodes, each.others) for each in found}


def named(matrix, bad):
    """Return what a rule of others names: nodes, each of which is taken for slow as a whole."""
    blamed = {name for name, is_bad in zip(matrix.nodes, bad, strict=True) if is_bad}
    return blamed, {("node-slow", (name,), ()) for name in blamed}


def pairs_of_nodes(matrix):
    """Return the values of each node, what it sends and what it receives in one row."""
    values = matrix.values
    rates = values["bandwidth"] if "bandwidth" in values else 1 / values["latency"]
    return np.concatenate([rates, rates.T], axis=1)


def clusterkit(matrix):
    rates = pairs_of_nodes(matrix)
    has = np.isfinite(rates)
    return named(matrix, 2 * (rates < 0.93 * np.nanmax(rates)).sum(axis=1) >= has.sum(axis=1))


def superbench(matrix):
    nodes = np.nanmedian(pairs_of_nodes(matrix), axis=1)
    return named(matrix, nodes < 0.95 * np.median(nodes))


def z_score(matrix):
    nodes = np.nanmean(pairs_of_nodes(matrix), axis=1)
    return named(matrix, nodes < nodes.mean() - 3 * nodes.std())


RULES = {"ClusterKit": clusterkit, "SuperBench": superbench, "z over 3": z_score}


def is_cause(found, truth):
    """Tell whether just the culprit was named; of an uplink most of the nodes that share it.

    Where nodes are older these together are named as well, and nobody else.
    """
    of_kind = {each for each in found if each[0] == "nodes-differ"}
    if truth.older:
        told = {name for _, nodes, _ in of_kind for name in nodes} | {*truth.nodes}
        if len(of_kind) != 1 or told != {*truth.older, *truth.nodes}:
            return False
        found = found - of_kind
        if not truth.nodes:
            return not found
    if len(found) != 1:
        return False
    kind, nodes, others = next(iter(found))
    if kind != truth.kind:
        return False
    if kind == "uplink-slow":
        return 2 * len({*nodes} & {*truth.nodes}) > len({*nodes} | {*truth.nodes})
    return (nodes, others) == (truth.nodes, truth.others)


def is_found(blamed, truth):
    return bool(truth.blamed or truth.older) and {*truth.blamed, *truth.older} <= blamed


def rates(runs, row, **made_of):
    """Return a row: of each rule in how many of 100 runs it found, was wrong, had the cause."""
    settings = {"count": 200, **made_of}
    routes = settings.pop("routes", False)
    counts = {}
    for seed in range(runs):
        for repeats in (False, True):
            matrix, truth = made(seed=seed, repeats=repeats, **settings)
            rules = {"ours, again": ours} if repeats else {"ours": ours, **RULES}
            for name, rule in rules.items():
                blamed, found = rule(matrix, routes) if rule is ours else rule(matrix)
                wrong = (
                    blamed - truth.blamed - {*truth.older} if truth.kind != "uplink-slow" else set()
                )
                if truth.kind == "uplink-slow":
                    # The far side of an uplink is at fault as little as its nodes.
                    wrong = {n for kind, nodes, _ in found if kind != truth.kind for n in nodes}
                    wrong -= truth.blamed
                count = counts.setdefault(name, np.zeros(3))
                count += is_found(blamed, truth), bool(wrong), is_cause(found, truth)
    columns = ("ours", "ours, again", *RULES)
    return [row, *("/".join(f"{100 * n / runs:.0f}" for n in counts[c]) for c in columns)]


def false_rates(runs, name, **made_of):
    """Return a row: in how many of so many healthy runs each rule names anything."""
    row = [name]
    for count, share in ((4, 1.0), (16, 1.0), (64, 0.3), (200, 0.1)):
        number = max(int(runs * share), 1)
        for rule in (ours, *RULES.values()) if count == 200 else (ours,):
            wrong = sum(bool(rule(made(count, seed, **made_of)[0])[0]) for seed in range(number))
            row.append(f"{wrong}/{number}")
    return row


def three(runs, family):
    """Return a row: in how many healthy runs three nodes, measured again, are named, by noise."""
    wrong = [
        sum(
            bool(ours(made(3, s, family=family, spread=spread, repeats=True)[0])[0])
            for s in range(runs)
        )
        for spread in (0.05, 0.1, 0.2)
    ]
    return [family, *(f"{number}/{runs}" for number in wrong)]


def cost(count):
    """Return a row: seconds and bytes that a matrix of so many nodes takes, against its own."""
    matrix, _ = made(count, 1, what="node")
    begin = time.perf_counter()
    find(matrix)
    seconds = time.perf_counter() - begin
    tracemalloc.start()
    find(matrix)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    own = sum(values.nbytes for values in matrix.values.values())
    return [count, f"{seconds:.1f}", f"{most / 1e6:.0f}", f"{most / own:.1f}"]


def why_not():
    """Return why this machine cannot run the bench: it always can."""
    return ""


def main():
    parser = argparse.ArgumentParser("tests.bench.culprits")
    parser.add_argument("--runs", type=int, default=20, help="of a row with a fault (20)")
    parser.add_argument(
        "--healthy", type=int, default=300, help="of a healthy row with 4 nodes (300)"
    )
    options = parser.parse_args()
    columns = ("fault: found/false/cause, in %", "ours", "ours, again", *RULES)
    print(table(columns, [rates(options.runs, name, **of) for name, of in FAULTS.items()]))
    columns = ("healthy: named", *(f"{n} nodes" for n in (4, 16, 64, 200)), *RULES)
    rows = [false_rates(options.healthy, name, **of) for name, of in HEALTHY.items()]
    print(f"\n{table(columns, rows)}\n")
    columns = ("healthy latency: named", *columns[1:])
    rows = [
        false_rates(options.healthy, name, **LATENCY, **of) for name, of in HEALTHY_LATENCY.items()
    ]
    print(f"{table(columns, rows)}\n")
    columns = ("healthy, 3 nodes, again: named", "5 % noise", "10 %", "20 %")
    print(f"{table(columns, [three(options.healthy, family) for family in FAMILIES])}\n")
    columns = ("nodes", "seconds", "MB", "times its matrices")
    print(table(columns, [cost(count) for count in (64, 256, 1024)]))


if __name__ == "__main__":
    main()

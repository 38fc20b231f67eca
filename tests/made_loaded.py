"""What `patterns loaded` writes, made: its times are as they are told, without a program."""

import json
from itertools import product

import numpy as np

from acceptance.suites.loaded import QUANTITIES, WINDOWS

#: Without load, us.
TIMES = {"latency": 2.0, "exchange": 20.0, "allreduce": 6.0}


def bin_of(us):
    """Return the bins of times: 0 to 127 ns one each, then 64 for each power of two."""
    ns = np.round(np.asarray(us) * 1000).astype(np.int64)
    octave = np.maximum(np.floor(np.log2(np.maximum(ns, 1))).astype(np.int64) - 6, 0)
    return 64 * octave + (ns >> octave)


def text(nodes=12, cycles=4, times=None, count=200, loads=WINDOWS, names=None, **changed):
    """Return the output of a run: every second node, from the first one on, is a victim.

    `times` gives the times of half a victim's window, us: of load, quantity, place of the victim,
    cycle and the partner's place; None: as without load. `changed` are options.
    """
    names = names or [f"node{n}" for n in range(nodes)]
    victims = [*range(0, nodes, 2)]
    times = times or (lambda load, quantity, *_: [TIMES[quantity]] * count)
    options = {"time": 5, "warmup": 3, "seed": 1, "share": 0.5, "cycles": cycles, "bytes": 131072,
               "load-bytes": 131072, "ranks": 1, "limit": 60, **changed}  # fmt: skip
    records = [
        {"type": "run", "version": "1.0", "pattern": "loaded", "ranks": nodes, "mpi": "Open MPI",
         "mpi_standard": "3.1"},
        {"type": "options", **options},
        {"type": "plan", "memory_B": 1000, "expected_s": 1.5},
        {"type": "division", "nodes": names, "victims": victims, "loads": [*loads]},
    ]  # fmt: skip
    taken = {}
    for cycle in range(cycles):
        order = np.random.default_rng(cycle).permutation(victims).tolist()
        records.append({"type": "ring", "cycle": cycle + 1, "ranks": order})
        for k in range(len(loads)):
            load = loads[(cycle + k) % len(loads)]
            is_load = load not in WINDOWS[:2]
            row = {"type": "window", "number": cycle * len(loads) + k + 1, "cycle": cycle + 1,
                   "load": load, "victims_s": 0.5, "load_s": 0.6 * is_load, "cut": 0,
                   "load_MBps": 1000 * is_load}  # fmt: skip
            for quantity, field in QUANTITIES.items():
                row[field] = []
                for half, place in product((0, 1), range(len(victims))):
                    at = order.index(victims[place])
                    other = at + 1 if at % 2 == half else at - 1
                    if len(order) % 2 and other in (-1, len(order)) and quantity != "allreduce":
                        row[field].append(None)
                        continue
                    partner = victims.index(order[other % len(order)])
                    of = np.array(times(load, quantity, place, cycle, partner))
                    row[field].append(float(f"{of.mean():.5g}"))
                    taken.setdefault((load, quantity, place), []).append(of)
            records.append(row)
    for place, node in enumerate(victims):
        for load in loads:
            for quantity in QUANTITIES:
                of = np.concatenate(taken[load, quantity, place])
                bins, counts = np.unique(bin_of(of), return_counts=True)
                records.append({
                    "type": "times", "load": load, "quantity": quantity, "node": node,
                    "count": len(of), "sum_us": float(f"{of.sum():.9g}"),
                    "bins": bins.tolist(), "counts": counts.tolist(),
                })  # fmt: skip
    records.append({"type": "end"})
    return "".join(json.dumps(whole(each), separators=(",", ":")) + "\n" for each in records)


def whole(record):
    """Return a record whose numbers are as C prints them: 1 and not 1.0."""
    return {
        key: int(value) if isinstance(value, float) and value.is_integer() else value
        for key, value in record.items()
    }

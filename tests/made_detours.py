"""Outputs of `patterns detours` that are made: who was away, by clocks that run apart."""

import json
import random

#: us: a message, a call that sends, a look for a message, work before each message.
WAY, CALL, LOOK, WORK = 10.0, 2.0, 1.0, 50.0
#: What may happen to a message: its sender is away, the network is late, its receiver is away.
SENDER, NETWORK, RECEIVER = "sender", "network", "receiver"


def exchange(rng, at, events=(), drift=0.0, ahead=0.0):
    """Return the four times of each rank (ns), of an exchange that begins at a time (us).

    `events` are (way, what, us). The second clock is `ahead` (us), and runs faster by `drift`.
    """

    def message(send, since, way):
        late = {what: us for of, what, us in events if of == way}
        sent = send + CALL + late.get(SENDER, 0.0)
        there = send + WAY + rng.uniform(0, 0.4) + sum(late.get(w, 0.0) for w in (SENDER, NETWORK))
        got = there + LOOK / 2 + late.get(RECEIVER, 0.0)
        # Whoever is away does not look; the last look in vain was just before.
        looked = max(there - LOOK / 2, since)
        return sent, looked, got

    sent, sought, had = message(at, at - WORK, 0)
    answer = had + WORK
    answered, looked, got = message(answer, at, 1)
    first = [at, sent, looked, got]
    second = [(1 + drift) * time + ahead for time in (answer, answered, sought, had)]
    return [round(1000 * time) for time in first], [round(1000 * time) for time in second]


def trip(rows):
    (send, _, _, got), (answer, _, _, had) = rows
    return (got - send - (answer - had)) / 1000


def text(late=(), *, usual=2000, drift=30e-6, ahead=700.0, nodes=("node1", "node2"), waited=None):
    """Return the output of two nodes with these `late` exchanges among others: events of each."""
    rng = random.Random(1)
    plan = [()] * usual
    step = usual // max(len(late), 1)
    for k, events in enumerate(late):
        plan[k * step + step // 2] = events
    rows, at = [], 0.0
    for events in plan:
        rows.append(exchange(rng, at, events, drift, ahead))
        at = rows[-1][0][3] / 1000 + WORK
    trips = [trip(row) for row in rows]
    ordered = sorted(trips)
    low, beyond = ordered[usual // 4], 0.6 * ordered[usual // 4]
    slow = [n for n in range(usual) if trips[n] > low + beyond]
    kept = [n for k, n in enumerate(slow) if (k + 1) * min(200 / max(len(slow), 1), 1) // 1
            > k * min(200 / max(len(slow), 1), 1) // 1]  # fmt: skip
    parts = [range(k * usual // 32, (k + 1) * usual // 32) for k in range(32)]
    chosen = {
        "fastest": [min(part, key=trips.__getitem__) for part in parts],
        "sample": [k * usual // 64 for k in range(64)],
        "slow": kept[:200],
    }
    records = [
        {"type": "run", "version": "1.0", "pattern": "detours", "ranks": 2, "mpi": "made",
         "mpi_standard": "4.0"},
        {"type": "options", "time": 5, "warmup": 3, "seed": 1, "work": 50, "detour": 1,
         "seconds": 5, "ranks": 1, "keep": len(chosen["slow"]) if len(kept) > 20 else 20},
        {"type": "pair", "round": 0, "first": 0, "second": 1, "exchanges": usual, "usual_us": low,
         "median_us": ordered[usual // 2], "p99_us": ordered[usual * 99 // 100],
         "p999_us": ordered[usual * 999 // 1000], "beyond_us": beyond, "slow": len(slow)},
        *({"type": "exchange", "why": why, "number": n, "first_ns": rows[n][0],
           "second_ns": rows[n][1]} for why, numbers in chosen.items() for n in numbers),
        *({"type": "detours", "rank": rank, "node": node, "cpu": rank, "begin_ns": 5,
           "least_us": 1, "worked_us": 100000, "lost_us": 900.5, "count": 2, "switched": 2,
           **({} if waited is None else {"waited_us": waited}), "at_ns": [1, 2],
           "longest_ns": [900000, 500]} for rank, node in enumerate(nodes)),
        {"type": "end"},
    ]  # fmt: skip
    return "".join(f"{written(record)}\n" for record in records)


def written(record):
    """Return a line as the program writes it."""

    def number(value):
        return json.loads(f"{value:.9g}") if isinstance(value, float) else value

    made = {key: number(value) for key, value in record.items()}
    return json.dumps(made, separators=(",", ":"))

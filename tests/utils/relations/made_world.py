"""A world of made results for every side of every claim of the papers."""

import csv
import hashlib
import re
from collections import defaultdict

from acceptance.references import PARAMETERS
from tests.made import Case, Database
from tests.utils.relations.second_reading import (
    LESS_IS_BETTER,
    REFERENCE,
    parts,
    rows,
    side_of,
    unit_of,
)

DAY = 86400.0
#: 2026-11-01.
NOW = 1793491200.0

SIZES = (0, 1, 8, 32, 64, 256, 1024, 2048, 8192, 16384, 131072, 1048576, 4194304)
TWO = ("imb.PingPong", "imb.PingPing", "osu.latency", "osu.bw", "osu.bibw")
BUFFERED = ("osu.bw", "osu.bibw", "osu.mbw_mr")
PAIRED = ("osu.multi_lat", "osu.mbw_mr")
AS_STATED = ("patterns", "netperf", "himeno", "hardware")
MACHINES = [f"saini2006:{name}" for name in ("nec-sx8", "altix-nl4", "dell-xeon", "cray-opteron")]


def chance(*words):
    """Return a number from 0 to 1 that is always the same for the same words."""
    digest = hashlib.sha256("/".join(map(str, words)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def completed(benchmark, keys, processes="8", order="5000"):
    """Return the keys that a check would write for a result of which a claim states `keys`."""
    keys = {key: value for key, value in keys.items() if key not in ("message_size", "sizes")}
    suite = benchmark.split(".")[0]
    if suite in AS_STATED:
        return keys
    keys.setdefault("np", "2" if benchmark in TWO else processes)
    keys.setdefault("placement", "intra-node" if suite == "cbr" else "inter-node")
    if suite == "cbr":
        return keys
    keys.setdefault("nodes", "1" if keys["placement"] != "inter-node" else "2")
    if keys["nodes"] != "1":
        keys.setdefault("mapping", "block")
    if int(keys["np"]) > int(keys["nodes"]):
        keys.setdefault("intranode", "shared")
    if suite == "npb":
        keys.setdefault("class", "B")
    if suite == "hpcc":
        keys["order"] = order
    if benchmark in PAIRED:
        keys.setdefault("pairs", str(int(keys["np"]) // 2))
    if benchmark in BUFFERED:
        keys.setdefault("buffers", "same")
    return keys


def names_of(benchmark, stem):
    """Return stem and message size of the metrics of a stem."""
    suite = benchmark.split(".")[0]
    sized = suite in ("imb", "osu", "cbr") and stem != "bandwidth_peak"
    return [(stem, size) for size in SIZES] if sized and benchmark != "imb.Barrier" else [
        (stem, None)
    ]  # fmt: skip


def metric_name(stem, size):
    return stem if size is None else f"{stem}_{size}"


def singles(keys):
    """Yield keys without ranges: those of the powers of two in them, and of their ends."""
    ranged = [key for key, value in keys.items() if ".." in value and key != "message_size"]
    if not ranged:
        yield keys
        return
    low, high = keys[ranged[0]].split("..")
    last = int(high or 4 * int(low))
    powers = {2**power for power in range(12) if int(low) <= 2**power <= last}
    for value in sorted({int(low), last, *powers}):
        pairs = {"np": str(2 * value)} if ranged[0] == "pairs" else {}
        yield from singles({**pairs, **keys, ranged[0]: str(value)})


def cases_of_claims():
    """Return (where, benchmark, keys) -> stems, for every side of a claim.

    Of sides without a partition, those of which all machines are meant.
    """
    found = defaultdict(set)
    for row, name in [(claim, name) for claim in rows() for name in parts(claim)]:
        where, benchmark, metric, keys = side_of(row, name)
        places = [where]
        if where.endswith(":"):
            places = MACHINES if row["relation"] == "proportional" else []
        for place in places if metric and benchmark != "patterns" else []:
            # Now and then a partition was measured with other numbers of processes only.
            processes = "16" if chance("np", place, benchmark) < 0.05 else "8"
            order = str(1000 * (1 + int(9 * chance("order", place))))
            for single in singles(keys):
                whole = completed(benchmark, single, processes, order)
                found[place, benchmark, tuple(sorted(whole.items()))].add(metric)
    return found


def published():
    """Return the values of fatoohi2006's Table 1: where, metric, keys -> value."""
    with (REFERENCE / "fatoohi2006.csv").open(encoding="utf-8", newline="") as file:
        return {
            (
                f"fatoohi2006:{row['partition']}",
                row["metric"],
                re.sub(r";per_node=\d+", "", row["parameters"]),
            ): float(row["value"])
            for row in csv.DictReader(file)
            if row["where"] == "Table 1"
        }


SPEED = {
    "nec-sx8": 25, "cray-x1-msp": 9, "cray-x1-ssp": 6, "altix-nl4": 2.6, "altix-bx2": 3,
    "altix-nl3": 2, "dell-xeon": 1.5, "dell-poweredge": 1.2, "cray-opteron": 1, "qdr-pcie2": 1.36,
    "ddr-pcie2": 1.34, "ddr-pcie1": 1, "sdr-pcie1": 0.9, "nh-qdr": 1.35, "ht-qdr": 1.2,
}  # fmt: skip
#: What goes by the speed of a machine, and by message size and processes as given here, alone.
STEADY = {
    ("imb.Alltoall", "time"): lambda size, np: 1,
    ("imb.Exchange", "bandwidth"): lambda size, np: 1,
    ("osu.bw", "bandwidth"): lambda size, np: 1,
    ("hpcc", "RandomRing-bandwidth"): lambda size, np: 1,
    # These have a peak, grow, and fall with a step at the end.
    ("imb.PingPong", "bandwidth"): lambda size, np: 1 + min(size, 2**34 // max(size, 1)),
    ("imb.Barrier", "time"): lambda size, np: np**0.5,
    ("hpcc", "RandomRing-bandwidth/G-HPL"): lambda size, np: (0.2 if np > 32 else 1) / np**0.5,
}
JITTER = (1.0, 1.0, 1.0, 1.0, 1.02, 0.97, 1.08, 0.8, 1.5, 3.0)


def made_value(table, where, benchmark, stem, size, keys, session):
    """Make a value: by the speed of the partition, a chance of its own, or as it is published."""
    text = ";".join(f"{key}={dict(keys)[key]}" for key in PARAMETERS if key in dict(keys))
    if (where, stem, text) in table:
        return table[where, stem, text]
    speed = SPEED.get(where.split(":")[1], 1.0)
    if steady := STEADY.get((benchmark, stem)):
        value = 10.0 * steady(size, int(dict(keys).get("np", 1)))
        return value / speed if unit_of(benchmark, stem) in LESS_IS_BETTER else value * speed
    # One thing that has nothing to do with the machine: it is proportional to nothing.
    speed = 1.0 if stem == "G-FFTE" else speed
    same = chance("jitter", where, benchmark, stem, size, keys, session)
    speed *= JITTER[int(len(JITTER) * same)]
    if stem == "ratio":
        return 0.5 + speed / 2
    if stem in ("latency", "time") and "pairs" in dict(keys):
        speed *= 1 if dict(keys)["pairs"] in ("1", "2", "4") else 0.5
    level = 10.0 * (1 + (size or 0) / 1000)
    return level / speed if unit_of(benchmark, stem) in LESS_IS_BETTER else level * speed


def world():
    """Return the sessions, the newest last: (day, [(where, benchmark, keys, {name: value, unit},
    passed)]).

    By chance a case failed, was measured long ago only, or twice; and a value is zero, or in
    another unit.
    """
    sessions = {-400: [], -10: [], 0: []}
    table = published()
    for (where, benchmark, keys), stems in sorted(cases_of_claims().items()):
        luck = chance("case", where, benchmark, keys)
        # The latter is always measured: curves of many points, none of which is lost.
        real = benchmark not in ("patterns.b_eff", "imb.Bcast")
        if real and luck < 0.03:
            continue
        days = (0,) if luck < 0.5 else (-10, 0) if luck < 0.7 else (-10,)
        days = (-400,) if real and luck > 0.96 else days
        for day in days:
            metrics = {}
            for stem in sorted(stems):
                odd = chance("unit", where, benchmark, stem, keys) < 0.02 and real
                for name in names_of(benchmark, stem):
                    value = made_value(table, where, benchmark, *name, keys, day)
                    zero = real and chance("zero", where, benchmark, *name, keys) < 0.03
                    unit = "furlong" if odd else unit_of(benchmark, stem)
                    metrics[name] = (0.0 if zero else value, unit)
            passed = not (real and 0.03 <= luck < 0.07) and not (day == 0 and 0.5 <= luck < 0.53)
            sessions[day].append((where, benchmark, dict(keys), metrics, passed))
    return sorted(sessions.items())


def store(path, sessions):
    """Write sessions [(day, cases)] into a database of ReFrame's form; return it."""
    database = Database(path)
    for day, cases in sessions:
        database.add(
            [
                Case(
                    name=f"Made_{number}",
                    metrics={metric_name(*name): value for name, value in metrics.items()},
                    system=where.split(":")[0],
                    partition=where.split(":")[1],
                    environment="made",
                    keys=keys,
                    benchmark=benchmark,
                    suite=benchmark.split(".")[0],
                    result="pass" if passed else "fail",
                )
                for number, (where, benchmark, keys, metrics, passed) in enumerate(cases)
            ],
            start=NOW + DAY * day,
        )
    return path

"""Claims read and evaluated a second time: by brute force, and with nothing of the project.

What `acceptance.claims` says of made results is compared with what this says of them.
"""

import csv
import itertools

from acceptance.claims import FAILS, HOLDS, NOT_MEASURED
from acceptance.core.paths import ROOT

REFERENCE = ROOT / "reference"


def rows():
    """Read the claims of the papers, without the project's reader."""
    with (REFERENCE / "claims.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


UNITS = {
    "latency": "us", "time": "us", "latency_pingpong": "us", "RandomRing-latency": "us",
    "RandomRing-bandwidth": "GB/s", "NaturalRing-bandwidth": "GB/s",
    "RandomRing-bandwidth/G-HPL": "B/kflop", "EP-STREAM-Copy/G-HPL": "B/flop",
    "G-PTRANS/G-HPL": "B/flop", "G-RandomAccess/G-HPL": "update/flop", "EP-DGEMM/G-HPL": "1",
    "G-FFTE/G-HPL": "1", "G-HPL-efficiency": "%", "throughput": "Mbit/s", "transactions": "1/s",
    "performance": "Gflop/s", "ratio": "1",
}  # fmt: skip
LESS_IS_BETTER = ("us", "s")
WORDS = {
    "small": lambda size: size < 64,
    "small-medium": lambda size: size <= 8192,
    "medium": lambda size: 64 <= size <= 8192,
    "medium-large": lambda size: size >= 64,
    "large": lambda size: size > 8192,
    "all": lambda size: True,
}


def unit_of(benchmark, stem):
    return "s" if benchmark.startswith("npb.") else UNITS.get(stem, "MB/s")


def side_of(row, name):
    """Return where a side is, its benchmark and metric, and all the keys that are stated of it."""
    where, *own = row[name].split(";")
    keys = dict(part.split("=") for part in row["parameters"].split(";") if part)
    keys |= dict(part.split("=") for part in own)
    benchmark, metric = keys.pop("benchmark", row["benchmark"]), keys.pop("metric", row["metric"])
    return where, benchmark, metric, keys


def within(stated, actual):
    """Tell whether a key has the stated value, or one of the range `low..high` or `low..`."""
    if stated == actual or actual is None or ".." not in stated or not actual.isdigit():
        return stated == actual
    low, high = stated.split("..")
    return int(low) <= int(actual) and (not high or int(actual) <= int(high))


def fits(row, name, where, benchmark, keys):
    """Tell whether a case is one that a side speaks of, apart from metric and message size."""
    side, wanted, _, stated = side_of(row, name)
    other = side_of(row, "left" if name == "right" else "right")[0]
    anywhere = side.endswith(":")
    place = where.startswith(side) and where != other if anywhere else where == side
    return (
        place
        and (benchmark == wanted or benchmark.startswith(wanted + "."))
        and all(
            within(value, keys.get(key))
            for key, value in stated.items()
            if key not in ("message_size", "sizes")
        )
    )


def measured(row, name, sessions):
    """Return the results of a side above zero, how many are not, and how many cases failed."""
    _, _, metric, stated = side_of(row, name)
    good, zeros, failed = [], 0, 0
    for day, cases in sessions:
        for where, benchmark, keys, metrics, passed in cases:
            if not fits(row, name, where, benchmark, keys):
                continue
            failed += not passed
            for (stem, size), (value, unit) in metrics.items():
                if not passed or (metric and stem != metric):
                    continue
                if "message_size" in stated and not within(stated["message_size"], str(size)):
                    continue
                if "sizes" in stated and (size is None or not WORDS[stated["sizes"]](size)):
                    continue
                if value > 0:
                    good.append((day, where, benchmark, stem, size, keys, value, unit))
                else:
                    zeros += 1
    return good, zeros, failed


def comparable(row, left, right):
    own = {
        part.split("=")[0] for name in ("left", "right") for part in row[name].split(";")[1:]
    }  # fmt: skip
    if "benchmark" not in own and left[2] != right[2]:
        return False
    if "metric" not in own and left[3] != right[3]:
        return False
    if "message_size" not in own and left[4] != right[4]:
        return False
    mine, others = left[5], right[5]
    if "np" not in own and mine.get("np") != others.get("np"):
        return False
    return all(
        mine[key] == others[key]
        for key in mine
        if key in others and key not in own and key not in ("nodes", "order")
    )


def expected_figure(row, left, right):
    """Return what a pair gives, or None where it cannot be compared."""
    if left[7] != right[7]:
        return None
    mine, other, unit = left[6], right[6], left[7]
    if row["relation"] == "similar":
        return 100 * max(mine / other - 1, other / mine - 1)
    if row["unit"] == "x":
        return mine / other
    if row["unit"] in ("", "%"):
        if left[2].startswith("cbr."):
            return abs(other - 1) - abs(mine - 1)
        if unit == "furlong":
            return None
        return 100 * (other - mine if unit in LESS_IS_BETTER else mine - other) / other
    return mine - other if unit == row["unit"] else None


#: As in tolerances.yaml, but written down here.
WITHIN = {
    ("=", "%"): 3, ("=", "x"): 0.1, ("=", "difference"): 0.25,
    ("~", "%"): 10, ("~", "x"): 0.3, ("~", "difference"): 0.5,
    (">=", "%"): 1, (">=", "x"): 0.02, (">=", "difference"): 0.05,
    ("<=", "%"): 1, ("<=", "x"): 0.02, ("<=", "difference"): 0.05,
    ("in", "%"): 1, ("in", "x"): 0.02, ("in", "difference"): 0.05,
}  # fmt: skip


def is_as_claimed(row, figure):
    if row["relation"] == "better":
        return figure > 0
    if row["relation"] == "similar":
        return figure <= 10
    bounds = [float(bound) for bound in row["value"].split("..")]
    compared = row["unit"] if row["unit"] in ("%", "x") else "difference"
    within = WITHIN[row["relation"], compared]
    low, high = (
        bound + sign * (min(within, abs(bound) / 2) if row["unit"] == "%" else within * abs(bound))
        for bound, sign in ((bounds[0], -1), (bounds[-1], 1))
    )
    return (row["relation"] == "<=" or figure >= low) and (
        row["relation"] == ">=" or figure <= high
    )


def expected(row, sessions):
    """Return state, reason, pairs that are as claimed, and pairs."""
    sides = [measured(row, name, sessions) for name in ("left", "right")]
    lacks = [
        "" if good else "zero" if zeros else "only failed cases" if failed else "no result"
        for good, zeros, failed in sides
    ]
    for reason in ("no result", "only failed cases", "zero"):
        if reason in lacks:
            return NOT_MEASURED, reason, 0, 0
    product = itertools.product(sides[0][0], sides[1][0])
    pairs = [two for two in product if comparable(row, *two)]
    if not pairs:
        return NOT_MEASURED, "no common keys", 0, 0
    pairs = [(left, right) for left, right in pairs if abs(left[0] - right[0]) <= 30]
    if not pairs:
        return NOT_MEASURED, "outside the window", 0, 0
    last = max(max(left[0], right[0]) for left, right in pairs)
    newest = {}
    for left, right in pairs:
        if min(left[0], right[0]) < last - 30:
            continue
        point = tuple(
            (
                *one[1:5],
                one[7],
                *sorted(i for i in one[5].items() if i[0] not in ("nodes", "order")),
            )
            for one in (left, right)
        )
        rank = (
            min(int(one[5].get("order", 0)) for one in (left, right)),
            left[5].get("nodes") == right[5].get("nodes"),
            min(left[0], right[0]),
            max(left[0], right[0]),
        )
        if point not in newest or rank > newest[point][0]:
            newest[point] = rank, left, right
    figures = [expected_figure(row, left, right) for _, left, right in newest.values()]
    figures = [figure for figure in figures if figure is not None]
    if not figures:
        return NOT_MEASURED, "different", 0, 0
    held = sum(is_as_claimed(row, figure) for figure in figures)
    enough = held == len(figures) if row["relation"] in (">=", "<=") else held > len(figures) / 2
    return HOLDS if enough else FAILS, "", held, len(figures)

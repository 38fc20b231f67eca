"""Claims read and evaluated a second time: by brute force, and with nothing of the project.

What `acceptance.relations.claims` says of made results is compared with what this says of them.
"""

import csv
import itertools
import math

from acceptance.core.paths import ROOT
from acceptance.relations.claims import FAILS, HOLDS, NOT_MEASURED

REFERENCE = ROOT / "reference"


#: Kinds of relation that are said of one side, and those that are said of all machines.
CURVES = ("level", "grows", "falls", "peak", "step")
POINTS = {"level": 2, "peak": 2, "grows": 3, "falls": 3, "step": 3, "proportional": 3}


class NotMeasured(Exception):
    """The reason, in two or three words."""


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
#: As in tolerances.yaml, but written down here.
WITHIN = {
    ("=", "%"): 3, ("=", "x"): 0.1, ("=", "difference"): 0.25,
    ("~", "%"): 10, ("~", "x"): 0.3, ("~", "decade"): 0.5, ("~", "difference"): 0.5,
    ("bounds", "%"): 1, ("bounds", "x"): 0.02, ("bounds", "decade"): 0.01,
    ("bounds", "difference"): 0.05,
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


def parts(row):
    """Return the names of all results of which a claim speaks: left, right, and what is below."""
    found = ["left", *(["left below"] if " / " in row["left"] else [])]
    if row["right"]:
        found += ["right", *(["right below"] if " / " in row["right"] else [])]
    return found


def side_of(row, name):
    """Return where a side is, its benchmark and metric, and all the keys that are stated of it."""
    where, *own = text_of(row, name).split(";")
    keys = dict(part.split("=") for part in row["parameters"].split(";") if part)
    keys |= dict(part.split("=") for part in own)
    benchmark, metric = keys.pop("benchmark", row["benchmark"]), keys.pop("metric", row["metric"])
    return where, benchmark, metric, keys


def text_of(row, name):
    column, _, below = name.partition(" ")
    return row[column].split(" / ")[1 if below else 0]


def own_keys(row, *names):
    return {part.split("=")[0] for name in names for part in text_of(row, name).split(";")[1:]}


def within(stated, actual):
    """Tell whether a key has the stated value, or one of the range `low..high` or `low..`."""
    if stated == actual or actual is None or ".." not in stated or not actual.isdigit():
        return stated == actual
    low, high = stated.split("..")
    return int(low) <= int(actual) and (not high or int(actual) <= int(high))


def fits(row, name, where, benchmark, keys):
    """Tell whether a case is one that a side speaks of, apart from metric and message size."""
    side, wanted, _, stated = side_of(row, name)
    other = {"left": "right", "right": "left"}.get(name)
    other = side_of(row, other)[0] if other and row[other] else None
    place = where == side or (side.endswith(":") and where.startswith(side) and where != other)
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


def comparable(own, left, right):
    if "benchmark" not in own and left[2] != right[2]:
        return False
    if "metric" not in own and left[3] != right[3]:
        return False
    if "message_size" not in own and left[4] != right[4]:
        return False
    mine, others = left[5], right[5]
    if any(key not in own and mine.get(key) != others.get(key) for key in ("np", "pattern")):
        return False
    return all(
        mine[key] == others[key]
        for key in mine
        if key in others and key not in own and key not in ("nodes", "order")
    )


def matched(own, lefts, rights, same_place=False):
    """Return the pairs that are compared: the newest of each two things."""
    pairs = [
        (left, right)
        for left, right in itertools.product(lefts, rights)
        if comparable(own, left, right) and (not same_place or left[1] == right[1])
    ]
    if not pairs:
        raise NotMeasured("no common keys")
    pairs = [(left, right) for left, right in pairs if abs(left[0] - right[0]) <= 30]
    if not pairs:
        raise NotMeasured("outside the window")
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
            -sum(int(one[5].get("nodes", 0)) for one in (left, right)),
            min(left[0], right[0]),
            max(left[0], right[0]),
        )
        if point not in newest or rank > newest[point][0]:
            newest[point] = rank, left, right
    return [(left, right) for _, left, right in newest.values()]


def goodness(result):
    """Return a number of which more is better; None where no direction is."""
    if result[7] == "furlong" or result[2].startswith("cbr."):
        return None
    return 1 / result[6] if result[7] in LESS_IS_BETTER else result[6]


def quotients(row, column, above, below):
    """Return how many times as good what is above the line is as what is below it."""
    found = []
    for left, right in matched(own_keys(row, column, f"{column} below"), above, below):
        if left[7] != right[7] or goodness(left) is None:
            raise NotMeasured("different")
        keys = {**right[5], **left[5]}
        size = right[4] if left[4] is None else left[4]
        value = goodness(left) / goodness(right)
        where = f"{left[1]} / {right[1]}"
        found.append((min(left[0], right[0]), where, *left[2:4], size, keys, value, "x"))
    return found


def expected_figure(row, left, right):
    """Return what a pair gives, or None where it cannot be compared."""
    if left[7] != right[7]:
        return None
    mine, other, relation, unit = left[6], right[6], row["relation"], left[7]
    if relation in ("similar", "differs"):
        more = max(mine / other, other / mine)
        return more if unit == "x" else 100 * (more - 1)
    if row["unit"] == "x":
        return mine / other
    if row["unit"] == "decade":
        return math.log10(mine) - math.log10(other)
    if left[2].startswith("cbr.") and relation in ("better", "best"):
        return abs(other - 1) - abs(mine - 1)
    if row["unit"] in ("", "%"):
        if goodness(left) is None:
            return None
        if relation in ("slightly-better", "much-better"):
            return 100 * (goodness(left) / goodness(right) - 1)
        return 100 * (other - mine if unit in LESS_IS_BETTER else mine - other) / other
    return mine - other if unit == row["unit"] else None


def is_as_claimed(row, figure, unit=""):
    relation = row["relation"]
    if relation in ("better", "best"):
        return figure > 0
    if relation == "slightly-better":
        return 0 < figure < 50
    if relation == "much-better":
        return figure >= 100
    if relation in ("similar", "differs"):
        alike = figure <= (1.3 if unit == "x" else 10)
        return alike == (relation == "similar")
    bounds = [float(bound) for bound in row["value"].split("..")]
    compared = row["unit"] if row["unit"] in ("%", "x", "decade") else "difference"
    off = WITHIN[relation if relation in ("=", "~") else "bounds", compared]
    low, high = (
        bound + sign * (min(off, abs(bound) / 2) if row["unit"] == "%" else off * abs(bound))
        for bound, sign in ((bounds[0], -1), (bounds[-1], 1))
    )
    if relation == "up-to":
        if bounds[0] < 0:
            return low <= figure <= bounds[0] / 2
        return (1 + (bounds[0] - 1) / 2 if row["unit"] == "x" else bounds[0] / 2) <= figure <= high
    return (relation == "<=" or figure >= low) and (relation == ">=" or figure <= high)


def curves_of(row, results):
    """Return the curves along the key of which left states a range: each a list of points."""
    (key,) = (part.split("=")[0] for part in row["left"].split(";") if ".." in part)
    low, high = (
        next(part for part in row["left"].split(";") if ".." in part).split("=")[1].split("..")
    )
    free = {key, "nodes", "order"} | {"np": {"pairs"}, "pairs": {"np"}}.get(key, set())
    newest = {}
    for one in results:
        name = (*one[1:5], one[7], *sorted(one[5].items()))
        if name not in newest or one[0] > newest[name][0]:
            newest[name] = one
    last = max(one[0] for one in results)
    groups = {}
    for one in newest.values():
        if one[0] < last - 30:
            continue
        keys = {**one[5], **({} if one[4] is None else {"message_size": str(one[4])})}
        kind = frozenset((name, value) for name, value in keys.items() if name not in free)
        groups.setdefault((one[1:4], one[7]), []).append((kind, int(keys[key]), one))
    found = []
    for points in groups.values():
        kinds = {kind for kind, _, _ in points}
        for kind in kinds:
            if any(kind < other for other in kinds):
                continue
            curve = {}
            for other, at, one in points:
                rank = -int(one[5].get("nodes", 0)), one[0]
                if other <= kind and (at not in curve or rank > curve[at][0]):
                    curve[at] = rank, one
            found.append(sorted((at, one) for at, (_, one) in curve.items()))
    ends = {int(low), int(high or low)}
    if row["relation"] == "step":
        ends |= {int(end) for end in row["value"].split("..")}
    return [
        curve
        for curve in found
        if len(curve) >= POINTS[row["relation"]] and ends <= {at for at, _ in curve}
    ]


def curve_is_as_claimed(row, curve):
    """Tell whether a curve, (place, result) in order, is as claimed; None: it cannot tell."""
    values = [one[6] for _, one in curve]
    relation = row["relation"]
    if relation == "level":
        return max(values) <= 1.2 * min(values)
    if relation in ("grows", "falls"):
        rising = values if relation == "grows" else [1 / value for value in values]
        back = any(second < 0.9 * first for first, second in itertools.pairwise(rising))
        return rising[-1] >= 1.1 * rising[0] and not back
    if relation == "step":
        low, high = (int(end) for end in row["value"].split(".."))
        jumps = {
            (one[0], two[0]): abs(math.log(two[1][6] / one[1][6]))
            for one, two in itertools.pairwise(curve)
        }
        if (low, high) not in jumps:
            return None
        jump = jumps.pop((low, high))
        return jump > max(jumps.values())
    bounds = [int(end) for end in row["value"].split("..") if end]
    inside = [bounds[0] <= at <= bounds[-1] if bounds else at != curve[-1][0] for at, _ in curve]
    if all(inside) or not any(inside) or goodness(curve[0][1]) is None:
        return None
    best = [max(goodness(one) for (_, one), here in zip(curve, inside, strict=True) if here == side)
            for side in (True, False)]  # fmt: skip
    return best[0] > best[1]


def groups_of(pairs):
    """Return, of each number of processes, how good left is over how good right is everywhere."""
    groups = {}
    for left, right in pairs:
        if goodness(left) is None or goodness(right) is None:
            raise NotMeasured("different")
        keys = {**right[5], **left[5]}
        what = (*left[2:5], left[7], *right[2:5], right[7], keys.get("np"), keys.get("placement"))
        rank = -int(keys.get("nodes", 0)), left[0]
        group = groups.setdefault(what, {})
        if left[1] not in group or rank > group[left[1]][0]:
            group[left[1]] = rank, goodness(left) / goodness(right)
    return [[value for _, value in group.values()] for group in groups.values() if len(group) >= 3]


def expected(row, sessions):
    """Return state, reason, pairs that are as claimed, and pairs."""
    try:
        judged = outcomes(row, sessions)
    except NotMeasured as reason:
        return NOT_MEASURED, str(reason), 0, 0
    held = sum(is_so for is_so, _ in judged)
    if row["relation"] in (">=", "<=", "best"):
        enough = held == len(judged)
    elif row["relation"] == "up-to":
        enough = max(judged, key=lambda one: one[1] * math.copysign(1, float(row["value"])))[0]
    else:
        enough = held > len(judged) / 2
    return HOLDS if enough else FAILS, "", held, len(judged)


def outcomes(row, sessions):
    """Return of all that is compared whether it is as claimed, and its figure."""
    sides = {name: measured(row, name, sessions) for name in parts(row)}
    lacks = [
        "" if good else "zero" if zeros else "only failed cases" if failed else "no result"
        for good, zeros, failed in sides.values()
    ]
    for reason in ("no result", "only failed cases", "zero"):
        if reason in lacks:
            raise NotMeasured(reason)
    results = {
        name: quotients(row, name, sides[name][0], sides[f"{name} below"][0])
        if f"{name} below" in sides
        else sides[name][0]
        for name in sides
        if " " not in name
    }
    if row["relation"] in CURVES:
        curves = curves_of(row, results["left"])
        found = [is_so for one in curves if (is_so := curve_is_as_claimed(row, one)) is not None]
        if not found:
            raise NotMeasured("too few points" if not curves else "different")
        return [(is_so, 0) for is_so in found]
    own = own_keys(row, "left", "right")
    pairs = matched(own, results["left"], results["right"], row["relation"] == "proportional")
    if row["relation"] == "proportional":
        groups = groups_of(pairs)
        if not groups:
            raise NotMeasured("too few points")
        return [(max(group) <= 1.5 * min(group), 0) for group in groups]
    figures = [(expected_figure(row, *pair), pair[0][7]) for pair in pairs]
    figures = [(figure, unit) for figure, unit in figures if figure is not None]
    if not figures:
        raise NotMeasured("different")
    return [(is_as_claimed(row, figure, unit), figure) for figure, unit in figures]

"""Claims: what the papers, and sites, state of two results, held against made ones."""

import csv
import hashlib
import itertools
import shutil
from collections import Counter, defaultdict

import pytest

from acceptance import references
from acceptance.claims import evaluate as claims
from acceptance.claims import figures as relations
from acceptance.claims.evaluate import FAILS, HOLDS, NOT_MEASURED
from acceptance.core.paths import ROOT
from acceptance.references import PARAMETERS, ReferenceFault
from acceptance.references.csv_rows import CLAIM_COLUMNS, CLAIM_RELATIONS, VALUE_COLUMNS
from acceptance.rfm import database as results
from tests.made import Case, Database

REFERENCE = ROOT / "reference"
COLUMNS = ",".join(CLAIM_COLUMNS)
DAY = 86400.0
#: 2026-11-01.
NOW = 1793491200.0


@pytest.fixture(scope="module")
def library():
    return references.load(REFERENCE)


def rows():
    """Read the claims of the papers, without the project's reader."""
    with (REFERENCE / "claims.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# A world of made results for every side of every claim of the papers.

UNITS = {
    "latency": "us", "time": "us", "latency_pingpong": "us", "RandomRing-latency": "us",
    "RandomRing-bandwidth": "GB/s", "NaturalRing-bandwidth": "GB/s",
    "RandomRing-bandwidth/G-HPL": "B/kflop", "EP-STREAM-Copy/G-HPL": "B/flop",
    "G-PTRANS/G-HPL": "B/flop", "G-RandomAccess/G-HPL": "update/flop", "EP-DGEMM/G-HPL": "1",
    "G-FFTE/G-HPL": "1", "G-HPL-efficiency": "%", "throughput": "Mbit/s", "transactions": "1/s",
    "performance": "Gflop/s", "ratio": "1",
}  # fmt: skip
LESS_IS_BETTER = ("us", "s")
SIZES = (0, 1, 8, 32, 64, 256, 1024, 2048, 8192, 16384, 131072, 1048576, 4194304)
WORDS = {
    "small": lambda size: size < 64,
    "small-medium": lambda size: size <= 8192,
    "medium": lambda size: 64 <= size <= 8192,
    "medium-large": lambda size: size >= 64,
    "large": lambda size: size > 8192,
    "all": lambda size: True,
}
TWO = ("imb.PingPong", "imb.PingPing", "osu.latency", "osu.bw", "osu.bibw")
BUFFERED = ("osu.bw", "osu.bibw", "osu.mbw_mr")
PAIRED = ("osu.multi_lat", "osu.mbw_mr")
WITHOUT_CHECK = ("b_eff", "dense", "netperf", "himeno")


def unit_of(benchmark, stem):
    return "s" if benchmark.startswith("npb.") else UNITS.get(stem, "MB/s")


def chance(*words):
    """Return a number from 0 to 1 that is always the same for the same words."""
    digest = hashlib.sha256("/".join(map(str, words)).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def side_of(row, name):
    """Return where a side is, its benchmark and metric, and all the keys that are stated of it."""
    where, *own = row[name].split(";")
    keys = dict(part.split("=") for part in row["parameters"].split(";") if part)
    keys |= dict(part.split("=") for part in own)
    benchmark, metric = keys.pop("benchmark", row["benchmark"]), keys.pop("metric", row["metric"])
    return where, benchmark, metric, keys


def completed(benchmark, keys, processes="8", order="5000"):
    """Return the keys that a check would write for a result of which a claim states `keys`."""
    keys = {key: value for key, value in keys.items() if key not in ("message_size", "sizes")}
    suite = benchmark.split(".")[0]
    if suite in WITHOUT_CHECK:
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


def wanted_cases():
    """Return (where, benchmark, keys) -> stems, for every side that names a partition."""
    found = defaultdict(set)
    for row in rows():
        for name in ("left", "right"):
            where, benchmark, metric, keys = side_of(row, name)
            if not where.endswith(":") and metric and benchmark != "dense":
                # Now and then a partition was measured with other numbers of processes only.
                processes = "16" if chance("np", where, benchmark) < 0.05 else "8"
                order = str(1000 * (1 + int(9 * chance("order", where))))
                keys = completed(benchmark, keys, processes, order)
                found[where, benchmark, tuple(sorted(keys.items()))].add(metric)
    return found


def published():
    """Return the values of fatoohi2006's Table 1: where, metric, keys -> value."""
    with (REFERENCE / "fatoohi2006.csv").open(encoding="utf-8", newline="") as file:
        return {
            (f"fatoohi2006:{row['partition']}", row["metric"], row["parameters"]): float(
                row["value"]
            )
            for row in csv.DictReader(file)
            if row["where"] == "Table 1"
        }


SPEED = {
    "nec-sx8": 25, "cray-x1-msp": 9, "cray-x1-ssp": 6, "altix-nl4": 2.6, "altix-bx2": 3,
    "altix-nl3": 2, "dell-xeon": 1.5, "dell-poweredge": 1.2, "cray-opteron": 1, "qdr-pcie2": 1.36,
    "ddr-pcie2": 1.34, "ddr-pcie1": 1, "sdr-pcie1": 0.9, "nh-qdr": 1.3, "ht-qdr": 1.2,
}  # fmt: skip
JITTER = (1.0, 1.0, 1.0, 1.0, 1.02, 0.97, 1.08, 0.8, 1.5, 3.0)


def made_value(table, where, benchmark, stem, size, keys, session):
    """Make a value: by the speed of the partition, a chance of its own, or as it is published."""
    text = ";".join(f"{key}={dict(keys)[key]}" for key in PARAMETERS if key in dict(keys))
    if (where, stem, text) in table:
        return table[where, stem, text]
    speed = SPEED.get(where.split(":")[1], 1.0)
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
    for (where, benchmark, keys), stems in sorted(wanted_cases().items()):
        luck = chance("case", where, benchmark, keys)
        real = benchmark != "b_eff"
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


# What is to be expected of it, computed by brute force and from nothing of the project.


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
            keys.get(key) == value
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
                if "message_size" in stated and str(size) != stated["message_size"]:
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
    ("=", "%"): 3, ("=", "x"): 0.1, ("~", "%"): 10, ("~", "x"): 0.3, ("~", "us"): 0.5,
    (">=", "%"): 1, (">=", "x"): 0.02, ("<=", "%"): 1, ("<=", "x"): 0.02, ("in", "%"): 1,
    ("in", "x"): 0.02,
}  # fmt: skip


def is_as_claimed(row, figure):
    if row["relation"] == "better":
        return figure > 0
    if row["relation"] == "similar":
        return figure <= 10
    bounds = [float(bound) for bound in row["value"].split("..")]
    within = WITHIN[row["relation"], row["unit"]]
    low, high = (
        bound + sign * (within if row["unit"] == "%" else within * abs(bound))
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


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A database of made results, and what they are."""
    sessions = world()
    return store(tmp_path_factory.mktemp("world") / "results.db", sessions), sessions


@pytest.fixture(scope="module")
def evaluated(made, library):
    return claims.evaluate(library.claims, results.sessions(made[0]), library.tolerances)


def test_every_claim_of_the_papers_comes_out_as_computed_by_brute_force(made, evaluated):
    table = rows()
    assert len(evaluated) == len(table) == 424
    differing = []
    for row, outcome in zip(table, evaluated, strict=True):
        state, reason, held, compared = expected(row, made[1])
        found = outcome.reason
        if reason == "different":  # units, or units without a direction
            found = "different" if found in ("different units", "no direction") else found
        if (outcome.state, found, outcome.held, outcome.compared) != (
            state,
            reason,
            held,
            compared,
        ):
            differing.append((outcome.claim.line, outcome, (state, reason, held, compared)))
    assert not differing


def test_the_made_results_try_every_relation_both_ways_and_every_reason(evaluated):
    tried = Counter((outcome.claim.relation, outcome.state) for outcome in evaluated)
    for relation in CLAIM_RELATIONS:
        if relation != "in":
            assert tried[relation, HOLDS], relation
        assert tried[relation, FAILS] or relation == "in", relation
    # All but one of the eight ranges are of b_eff, where the values are the published ones.
    assert tried["in", HOLDS] >= 6
    reasons = Counter(outcome.reason for outcome in evaluated)
    assert {"no result", "only failed cases", "zero", "outside the window", "no common keys"} <= {
        *reasons
    }
    assert reasons["different units"] + reasons["no direction"] > 0
    assert reasons[""] > 250
    assert max(outcome.compared for outcome in evaluated) > 20


def test_the_pair_that_decides_gives_the_figure_that_is_shown(evaluated):
    shown = 0
    for row, outcome in zip(rows(), evaluated, strict=True):
        if outcome.ours is None:
            continue
        sides = [
            (None, None, side.benchmark, None, None, None, side.value, side.unit)
            for side in (outcome.left, outcome.right)
        ]
        assert outcome.ours.value == pytest.approx(expected_figure(row, *sides)), row
        assert (outcome.state == HOLDS) == is_as_claimed(row, outcome.ours.value), row
        shown += 1
    assert shown > 250


def test_table_1_of_fatoohi2006_bears_out_what_its_text_says_of_it(evaluated):
    """The published values themselves; the notes of `claims.csv` have the quotients."""
    states = {
        outcome.claim.line: (outcome.state, round(outcome.ours.value, 1))
        for outcome in evaluated
        if outcome.claim.benchmark == "b_eff" and outcome.ours
    }
    assert states[14] == (HOLDS, 8.9)
    assert states[15] == (HOLDS, 10.5)
    assert states[16] == (HOLDS, 25.9)
    assert states[17] == (HOLDS, 6.4)
    assert states[18][0] == states[19][0] == HOLDS
    assert states[20] == (HOLDS, -51.6)
    assert [states[line][0] for line in range(21, 37)] == [HOLDS] * 16


def in_favour(row):
    """Return two values of which a claim holds, and two of which it does not: left, right."""
    _, benchmark, metric, _ = side_of(row, "left")
    less = unit_of(benchmark, metric or "time") in LESS_IS_BETTER
    if benchmark.startswith("cbr."):
        return {"better": ((1.1, 0.5), (2.0, 1.5)), "similar": ((0.7, 0.7), (0.7, 1.4))}[
            row["relation"]
        ]
    right = 100.0

    def left(figure):
        if row["unit"] == "x":
            return right * figure
        if row["unit"] == "us":
            return right + figure
        return right * (1 - figure / 100 if less else 1 + figure / 100)

    if row["relation"] == "better":
        return (left(0.5), right), (left(-0.5), right)
    if row["relation"] == "similar":
        return (105.0, right), (80.0, right)
    bounds = [float(bound) for bound in row["value"].split("..")]
    step = 20.0 if row["unit"] == "%" else 0.7 * abs(bounds[0])
    value = sum(bounds) / len(bounds)
    other = value + step if row["relation"] == "<=" else value - step
    return (left(value), right), (left(other), right)


def test_every_claim_of_the_papers_can_hold_and_can_fail(tmp_path, library):
    """Each on a session of its own, with the keys that the checks write."""
    database = Database(tmp_path / "results.db")
    database.connection.execute("PRAGMA synchronous=OFF")
    for row in rows():
        for values in in_favour(row):
            cases = []
            for name, value in zip(("left", "right"), values, strict=True):
                where, benchmark, metric, keys = side_of(row, name)
                benchmark = {"imb": "imb.Bcast", "dense": "dense.aapc"}.get(benchmark, benchmark)
                where = where + "other" if where.endswith(":") else where
                stem = metric or "time"
                cases.append(
                    Case(
                        metrics={
                            metric_name(*one): (value, unit_of(benchmark, stem))
                            for one in names_of(benchmark, stem)
                            # The same case may be both sides, at two message sizes.
                            if str(one[1]) == keys.get("message_size", str(one[1]))
                        },
                        system=where.split(":")[0],
                        partition=where.split(":")[1],
                        keys=completed(benchmark, keys),
                        benchmark=benchmark,
                    )
                )
            database.add(cases)
    sessions = list(results.sessions(database.path))[::-1]
    assert len(sessions) == 2 * len(library.claims)
    wrong = []
    for number, claim in enumerate(library.claims):
        for session, state in zip(
            sessions[2 * number : 2 * number + 2], (HOLDS, FAILS), strict=True
        ):
            (outcome,) = claims.evaluate([claim], [session], library.tolerances)
            if outcome.state != state:
                wrong.append((claim.line, state, outcome))
    assert not wrong


def test_the_message_sizes_of_words_cover_all_and_are_the_keys_of_the_references():
    assert all(PARAMETERS["sizes"].match(word) for word in relations.SIZES)
    assert len(relations.SIZES) == len(WORDS)
    for word, takes in WORDS.items():
        low, high = relations.SIZES[word]
        assert [low <= size <= high for size in SIZES] == [takes(size) for size in SIZES], word
    text = (REFERENCE / "README.md").read_text()
    for word in relations.SIZES:
        assert f"\n| `{word}` |" in text


# A site's claims, one at a time.

OLD, NEW = "mine:old", "mine:new"
ROW = {
    "paper": "mine", "where": "contract of 2026-03", "benchmark": "imb.Alltoall", "metric": "time",
    "parameters": "", "left": NEW, "right": OLD, "relation": ">=", "value": "20", "unit": "%",
    "printed": "20", "expected": "yes", "note": "",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """A copy of the project's references, for claims of a site."""
    copy = tmp_path / "reference"
    shutil.copytree(REFERENCE, copy)
    (copy / "sites/claims").mkdir(parents=True, exist_ok=True)
    return copy


def write(folder, *changes, name="mine"):
    path = folder / f"sites/claims/{name}.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, CLAIM_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({**ROW, **change} for change in changes)
    return path


def result(
    where,
    value,
    *,
    day=0,
    unit="us",
    stem="time_8",
    benchmark="imb.Alltoall",
    result="pass",
    environment="spack-openmpi",
    fixture=False,
    **keys,
):
    """Make a case with one metric, or several of a dictionary; and the day of its session."""
    values = value if isinstance(value, dict) else {stem: value}
    own = {"np": "8", "nodes": "2", "placement": "inter-node", "mapping": "block", **keys}
    return day, Case(
        metrics={name: (number, unit) for name, number in values.items()},
        system=where.split(":")[0],
        partition=where.split(":")[1],
        environment=environment,
        keys={key: text for key, text in own.items() if text},
        benchmark=benchmark,
        result=result,
        fixture=fixture,
    )


@pytest.fixture
def judge(folder, tmp_path):
    """Evaluate a claim of a site: what differs from `ROW`, and results."""

    def evaluate(change, *cases, **options):
        write(folder, change)
        found = references.load(folder)
        path = tmp_path / "made.db"
        path.unlink(missing_ok=True)
        database = Database(path)
        days = sorted({day for day, _ in cases})
        for day in days:
            database.add(
                [case for when, case in cases if when == day], start=NOW + DAY * day, uuid=f"u{day}"
            )
        own = [claim for claim in found.claims if claim.source == "site"]
        (outcome,) = claims.evaluate(own, results.sessions(path), found.tolerances, **options)
        return outcome

    return evaluate


@pytest.mark.parametrize(
    ("change", "left", "right", "state", "ours"),
    [
        # 25.9 % faster: 100 (10.0 - 7.41) / 10.0.
        ({"relation": "=", "value": "25.9"}, 7.41, 10.0, HOLDS, (25.9, "%")),
        ({"relation": "=", "value": "25.9"}, 7.8, 10.0, FAILS, (22.0, "%")),
        ({"relation": "~", "value": "-50"}, 15.5, 10.0, HOLDS, (-55.0, "%")),
        ({"relation": "~", "value": "2", "unit": "x"}, 17.0, 10.0, HOLDS, (1.7, "x")),
        ({"relation": "~", "value": "2", "unit": "x"}, 13.0, 10.0, FAILS, (1.3, "x")),
        ({"relation": "~", "value": "-0.2", "unit": "us"}, 1.3, 1.5, HOLDS, (-0.2, "us")),
        ({"relation": "~", "value": "-0.2", "unit": "us"}, 1.5, 1.5, FAILS, (0.0, "us")),
        ({"relation": "in", "value": "43..55"}, 5.0, 10.0, HOLDS, (50.0, "%")),
        ({"relation": "in", "value": "43..55"}, 4.4, 10.0, FAILS, (56.0, "%")),
        # A contract means what it says: no leeway, but for the rounding of floating point.
        ({}, 8.0, 10.0, HOLDS, (20.0, "%")),
        ({"value": "0.2", "relation": ">="}, 0.998, 1.0, HOLDS, (0.2, "%")),
        ({}, 8.01, 10.0, FAILS, (19.9, "%")),
        ({"relation": "<=", "value": "2", "unit": "x"}, 20.0, 10.0, HOLDS, (2.0, "x")),
        ({"relation": "<=", "value": "2", "unit": "x"}, 20.1, 10.0, FAILS, (2.01, "x")),
        ({"relation": "better", "value": "", "unit": ""}, 9.99, 10.0, HOLDS, (0.1, "%")),
        ({"relation": "better", "value": "", "unit": ""}, 10.0, 10.0, FAILS, (0.0, "%")),
        ({"relation": "similar", "value": "", "unit": ""}, 11.0, 10.0, HOLDS, (10.0, "%")),
        ({"relation": "similar", "value": "", "unit": ""}, 10.0, 11.2, FAILS, (12.0, "%")),
    ],
)
def test_a_relation_holds_or_fails(judge, change, left, right, state, ours):
    outcome = judge(change, result(NEW, left), result(OLD, right))
    assert outcome.state == state, outcome
    assert (pytest.approx(outcome.ours.value, abs=1e-9), outcome.ours.unit) == ours
    assert (outcome.left.value, outcome.right.value) == (left, right)
    assert (outcome.held, outcome.compared) == (int(state == HOLDS), 1)
    assert outcome.fails_expected == (state == FAILS)


def test_more_is_better_of_a_bandwidth_and_less_of_a_time(judge):
    change = {"metric": "bandwidth", "benchmark": "imb.Sendrecv"}
    both = {"unit": "MB/s", "stem": "bandwidth_8", "benchmark": "imb.Sendrecv"}
    outcome = judge(change, result(NEW, 120.0, **both), result(OLD, 100.0, **both))
    assert (outcome.state, outcome.ours.value) == (HOLDS, pytest.approx(20))


@pytest.mark.parametrize(
    ("left", "right", "state"),
    [(0.9, 1.2, HOLDS), (1.2, 0.9, FAILS), (1.1, 0.5, HOLDS), (0.5, 2.0, HOLDS)],
)
def test_of_two_balance_ratios_the_one_nearer_to_1_is_better(judge, left, right, state):
    change = {"benchmark": "cbr.bw", "metric": "ratio", "relation": "better", "value": "",
              "unit": ""}  # fmt: skip
    both = {"unit": "1", "stem": "ratio_8", "benchmark": "cbr.bw"}
    assert judge(change, result(NEW, left, **both), result(OLD, right, **both)).state == state


@pytest.mark.parametrize(("relation", "holds"), [(">=", False), ("better", True), ("=", True)])
def test_bounds_are_said_of_all_message_sizes_and_the_rest_of_most(judge, relation, holds):
    value = {"better": ""}.get(relation, "20")
    change = {"relation": relation, "value": value, "unit": "%" if value else ""}
    left = {f"time_{size}": 8.0 for size in (4, 8, 16, 32)} | {"time_64": 11.0}
    right = dict.fromkeys(left, 10.0)
    outcome = judge(change, result(NEW, left), result(OLD, right))
    assert outcome.state == (HOLDS if holds else FAILS)
    assert (outcome.held, outcome.compared) == (4, 5)
    # The pair that is shown is the one that decides.
    assert outcome.left.value == (8.0 if holds else 11.0)


def test_half_of_the_pairs_are_not_most_of_them(judge):
    change = {"relation": "better", "value": "", "unit": ""}
    left = {"time_4": 9.0, "time_8": 9.0, "time_16": 11.0, "time_32": 11.0}
    outcome = judge(change, result(NEW, left), result(OLD, dict.fromkeys(left, 10.0)))
    assert (outcome.state, outcome.held, outcome.compared) == (FAILS, 2, 4)


@pytest.mark.parametrize(
    ("word", "sizes"),
    [("small", 1), ("medium", 2), ("large", 1), ("small-medium", 3), ("all", 4)],
)
def test_a_word_for_the_message_sizes_leaves_out_the_others(judge, word, sizes):
    left = {"time_63": 9.0, "time_64": 9.0, "time_8192": 9.0, "time_8193": 9.0}
    change = {"parameters": f"sizes={word}", "relation": "better", "value": "", "unit": ""}
    outcome = judge(change, result(NEW, left), result(OLD, dict.fromkeys(left, 10.0)))
    assert (outcome.state, outcome.compared) == (HOLDS, sizes)


def test_two_mappings_two_paths_and_two_pair_counts_are_sides(judge):
    change = {"left": "mine:new;mapping=block", "right": "mine:new;mapping=cyclic"}
    outcome = judge(change, result(NEW, 7.0), result(NEW, 10.0, mapping="cyclic"))
    assert (outcome.state, outcome.ours.value) == (HOLDS, pytest.approx(30))
    change = {"left": "mine:new;intranode=shared", "right": "mine:new;intranode=loopback"}
    outcome = judge(
        change, result(NEW, 7.0, intranode="shared"), result(NEW, 10.0, intranode="loopback")
    )
    assert outcome.state == HOLDS
    change = {"left": "mine:new;np=8;pairs=4", "right": "mine:new;np=4;pairs=2", "unit": "x",
              "relation": "~", "value": "2"}  # fmt: skip
    four, two = result(NEW, 20.0, pairs="4"), result(NEW, 10.0, np="4", pairs="2", nodes="4")
    outcome = judge(change, four, two)
    assert (outcome.state, outcome.note) == (HOLDS, "")


def test_a_key_that_a_side_does_not_name_agrees_where_both_results_have_it(judge):
    left, right = result(NEW, 7.0, intranode="loopback"), result(OLD, 10.0, intranode="shared")
    outcome = judge({}, left, right)
    assert (outcome.state, outcome.reason) == (NOT_MEASURED, "no common keys")
    assert outcome.detail == (
        "no two results of the sides agree in intranode (loopback against shared)"
    )
    # One process a node: there are no messages inside it.
    assert judge({}, left, result(OLD, 10.0, intranode="")).state == HOLDS


def test_results_of_other_numbers_of_processes_are_not_compared(judge):
    outcome = judge({}, result(NEW, 7.0, np="8"), result(NEW, 3.0, np="16"),
                    result(OLD, 10.0, np="4"))  # fmt: skip
    assert (outcome.state, outcome.reason) == (NOT_MEASURED, "no common keys")
    assert "np (8,16 against 4)" in outcome.detail


def test_the_number_of_nodes_may_differ_and_is_said(judge):
    outcome = judge({}, result(NEW, 7.0, nodes="4"), result(OLD, 10.0, nodes="2"))
    assert (outcome.state, outcome.note) == (HOLDS, "nodes 4 against 2")
    # Where both have the same, these are taken.
    outcome = judge(
        {}, result(NEW, 7.0, nodes="4"), result(NEW, 9.0, nodes="2"), result(OLD, 10.0, nodes="2")
    )
    assert (outcome.state, outcome.ours.value, outcome.compared) == (FAILS, pytest.approx(10), 1)


def test_of_several_problem_sizes_of_hpcc_the_largest_are_compared(judge):
    change = {"benchmark": "hpcc", "metric": "G-HPL"}
    both = {"unit": "Gflop/s", "stem": "G-HPL", "benchmark": "hpcc"}
    outcome = judge(
        change,
        result(NEW, 9.0, order="500", **both),
        result(NEW, 150.0, day=-3, order="80000", **both),
        result(OLD, 100.0, day=-3, order="60000", **both),
    )
    assert (outcome.state, outcome.ours.value) == (HOLDS, pytest.approx(50))
    assert "order 80000 against 60000" in outcome.note


def test_a_suite_is_all_of_its_benchmarks_and_no_metric_all_that_both_have(judge):
    change = {"benchmark": "imb", "metric": "", "relation": "better", "value": "", "unit": ""}
    bcast = {"benchmark": "imb.Bcast"}
    sendrecv = {"benchmark": "imb.Sendrecv", "unit": "MB/s", "stem": "bandwidth_8"}
    outcome = judge(
        change,
        result(NEW, 9.0), result(OLD, 10.0),
        result(NEW, 9.0, **bcast), result(OLD, 10.0, **bcast),
        result(NEW, 9.0, **sendrecv), result(OLD, 10.0, **sendrecv),
        result(NEW, 9.0, benchmark="imbalance.Bcast"),
        result(OLD, 10.0, benchmark="imbalance.Bcast"),
    )  # fmt: skip
    assert (outcome.state, outcome.held, outcome.compared) == (HOLDS, 2, 3)


def test_no_partition_is_every_other_one_of_that_system(judge):
    change = {"right": "mine:"}
    outcome = judge(change, result(NEW, 7.0), result(OLD, 10.0), result("mine:third", 7.5),
                    result("yours:old", 1.0))  # fmt: skip
    assert (outcome.state, outcome.held, outcome.compared) == (FAILS, 1, 2)
    assert outcome.right.partition == "mine:third"


# Bad input.

LEFT = "left: {} of mine:new imb.Alltoall time"
RIGHT = "right: {} of mine:old imb.Alltoall time"


@pytest.mark.parametrize(
    ("cases", "reason", "detail"),
    [
        ((), "no result", f"{LEFT}; {RIGHT}".replace("{}", "no result")),
        ((result(NEW, 7.0),), "no result", RIGHT.format("no result")),
        ((result(OLD, 7.0),), "no result", LEFT.format("no result")),
        (
            (result(NEW, 7.0), result(OLD, 10.0, result="fail")),
            "only failed cases",
            RIGHT.format("only failed cases"),
        ),
        (
            (result(NEW, 7.0, result="fail"), result(OLD, 10.0, result="abort")),
            "only failed cases",
            f"{LEFT}; {RIGHT}".replace("{}", "only failed cases"),
        ),
        (
            (result(NEW, 7.0), result(OLD, 10.0, fixture=True)),
            "no result",
            RIGHT.format("no result"),
        ),
        (
            (result(NEW, 7.0), result(OLD, 0.0)),
            "zero",
            RIGHT.format("only values that are not above zero"),
        ),
        (
            (result(NEW, -7.0), result(OLD, 10.0)),
            "zero",
            LEFT.format("only values that are not above zero"),
        ),
        (
            (result(NEW, float("nan")), result(OLD, float("inf"))),
            "zero",
            f"{LEFT}; {RIGHT}".replace("{}", "only values that are not above zero"),
        ),
        (
            (result(NEW, 7.0), result(OLD, 10.0, unit="s")),
            "different units",
            "left is in 'us', right in 's'",
        ),
        (
            (result(NEW, 7.0, unit="furlong"), result(OLD, 10.0, unit="furlong")),
            "no direction",
            "no result in 'furlong' is better than another",
        ),
        (
            (result(NEW, 7.0), result(OLD, 10.0, day=-31)),
            "outside the window",
            "no two results lie within 30 days of each other; see --window",
        ),
    ],
    ids=[
        "nothing", "right missing", "left missing", "right failed", "both failed", "a fixture",
        "zero", "negative", "not finite", "units", "no direction", "too old",
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_not_measured_and_says_why(judge, cases, reason, detail):
    outcome = judge({}, *cases)
    assert (outcome.state, outcome.reason, outcome.detail) == (NOT_MEASURED, reason, detail)
    assert (outcome.left, outcome.right, outcome.ours) == (None, None, None)
    assert not outcome.fails_expected


def test_a_difference_in_another_unit_than_the_results_is_not_measured(judge):
    change = {"unit": "us", "value": "-0.2", "relation": "~"}
    outcome = judge(change, result(NEW, 7.0, unit="s"), result(OLD, 10.0, unit="s"))
    assert outcome.reason == "different units"
    assert outcome.detail == "the claim is in us, the results in s"


def test_a_case_that_failed_before_it_knew_its_keys_is_a_failed_one(judge):
    day, early = result(OLD, 10.0, result="fail")
    early.keys = "<undefined>"
    outcome = judge({"parameters": "np=8"}, result(NEW, 7.0), (day, early))
    assert outcome.reason == "only failed cases"


def test_a_failed_case_is_left_out_and_said(judge):
    outcome = judge({}, result(NEW, 1.0, result="fail"), result(NEW, 9.0, day=-1),
                    result(OLD, 10.0))  # fmt: skip
    assert (outcome.state, outcome.left.value) == (FAILS, 9.0)
    assert "1 failed case of these or later sessions" in outcome.note
    # One that failed before is of no interest.
    outcome = judge(
        {}, result(NEW, 1.0, day=-2, result="fail"), result(NEW, 7.0), result(OLD, 10.0)
    )
    assert (outcome.state, outcome.note) == (HOLDS, "")


def test_a_zero_among_the_message_sizes_is_left_out_and_said(judge):
    left = {"time_4": 0.0, "time_8": 7.0}
    outcome = judge({}, result(NEW, left), result(OLD, dict.fromkeys(left, 10.0)))
    assert (outcome.state, outcome.compared) == (HOLDS, 1)
    assert outcome.note == "1 value not above zero left out"


def test_of_several_sessions_the_newest_pair_within_the_window_is_taken(judge):
    cases = [
        result(NEW, 9.0, day=-40), result(OLD, 10.0, day=-39),
        result(NEW, 7.0, day=-8), result(NEW, 9.5, day=-9), result(OLD, 10.0, day=-5),
    ]  # fmt: skip
    outcome = judge({}, *cases)
    assert (outcome.state, outcome.left.session, outcome.right.session) == (HOLDS, "u-8", "u-5")
    assert outcome.note == (
        "3 sessions match on the left, 2 on the right: the newest passing pair within 30 days "
        "was taken"
    )
    # The newest result of all has no partner that is near enough: an older one has.
    outcome = judge({}, *cases, result(NEW, 1.0, day=100))
    assert outcome.left.session == "u-8"
    # Whoever asks for it gets a pair that is far apart.
    outcome = judge({}, *cases, result(NEW, 1.0, day=100), window=365.0)
    assert outcome.left.session == "u100"
    assert "within 365 days" in outcome.note


def test_an_old_message_size_does_not_decide_today(judge):
    outcome = judge(
        {},
        result(NEW, {"time_8": 7.0}), result(OLD, {"time_8": 10.0}),
        result(NEW, {"time_16": 9.0}, day=-50), result(OLD, {"time_16": 10.0}, day=-50),
    )  # fmt: skip
    assert (outcome.state, outcome.compared) == (HOLDS, 1)


def test_a_session_that_ran_a_case_again_counts_the_last_time(judge):
    day, again = result(NEW, 7.0)
    again.run_index = 1
    outcome = judge({}, result(NEW, 9.0), (day, again), result(OLD, 10.0))
    assert (outcome.left.value, outcome.compared) == (7.0, 1)


def test_the_same_environment_comes_before_a_newer_result(judge):
    cases = [
        result(NEW, 7.0, day=-3), result(OLD, 10.0, day=-3),
        result(NEW, 9.0, environment="spack-mpich"),
    ]  # fmt: skip
    outcome = judge({}, *cases)
    assert (outcome.left.value, outcome.left.environment) == (7.0, "spack-openmpi")
    assert "also measured with spack-mpich" in outcome.note
    outcome = judge({}, *cases[1:])
    assert outcome.left.value == 9.0
    assert "environments spack-mpich against spack-openmpi" in outcome.note


def test_two_environments_are_sides_of_one_partition(judge):
    change = {
        "left": "mine:new;environment=spack-mpich",
        "right": "mine:new;environment=spack-openmpi",
    }
    cases = [result(NEW, 7.0, environment="spack-mpich"), result(NEW, 10.0)]
    outcome = judge(change, *cases)
    assert (outcome.state, outcome.left.value, outcome.note) == (HOLDS, 7.0, "")
    failed = result(NEW, 7.0, environment="spack-mpich", result="fail")
    assert judge(change, failed, cases[1]).reason == "only failed cases"
    outcome = judge(change, result(NEW, 9.0, result="fail"), cases[0])
    assert outcome.detail.startswith("right: only failed cases of mine:new")


def test_a_claim_whose_relation_has_no_tolerance_is_a_fault(judge, folder):
    path = folder / "tolerances.yaml"
    text = path.read_text()
    start = text.index('  "=":\n')
    path.write_text(text[:start] + text[text.index('  "~":\n') :])
    with pytest.raises(ReferenceFault, match="claims: nothing for the relation '=' of %"):
        judge({"relation": "=", "value": "5"}, result(NEW, 7.0), result(OLD, 10.0))


# The files of sites, and the command.

SITE = """
    site_configuration = {
        "systems": [{
            "name": "mine", "hostnames": [".*"],
            "partitions": [{"name": "new", "environs": []}, {"name": "old", "environs": []}],
        }],
        "environments": [],
    }
"""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"paper": "yours"}, "the paper is 'yours' in the claims of 'mine'"),
        ({"expected": "no"}, "expected is 'no'; write yes, or nothing"),
        ({"left": "mine"}, "'mine' is not of the form system:partition"),
        ({"left": "mine:a b"}, "'mine:a b' is not of the form system:partition"),
        ({"left": "mine:", "right": "yours:"}, "neither side names a partition"),
        ({"left": "koop2008:qdr-pcie2", "right": "koop2008:ddr-pcie2"}, "neither side is of mine"),
        ({"right": "mine:old;ranks=2"}, "unknown key 'ranks'"),
        ({"parameters": "np=two"}, "'two' is no value of 'np'"),
        ({"where": ""}, "the column 'where' is empty"),
        ({"value": "much"}, "the value 'much' is no number"),
    ],
)
def test_a_faulty_claim_of_a_site_is_refused_with_file_and_line(folder, change, words):
    path = write(folder, {}, {**change, "note": "second"})
    with pytest.raises(ReferenceFault) as caught:
        references.load(folder)
    assert str(caught.value).startswith(f"{path}:3: ")
    assert words in str(caught.value)


def test_claims_of_a_site_are_apart_from_its_baselines_and_from_the_papers(folder):
    write(folder, {}, {"left": "mine:new;np=16", "right": "mine:new;np=8", "expected": ""})
    (folder / "sites/mine.csv").write_text(",".join(VALUE_COLUMNS) + "\n")
    found = references.load(folder)
    own = [claim for claim in found.claims if claim.source == "site"]
    assert [(claim.paper, claim.expected, claim.line) for claim in own] == [
        ("mine", True, 2),
        ("mine", False, 3),
    ]
    assert {claim.paper for claim in found.claims if claim.source == "published"} == {*found.papers}
    # What a site compares is measured by the checks that go by what is stated.
    assert {"np": "16"} in list(found.stated("mine", "new", "imb.Alltoall"))


def run(site, folder, *arguments, database=None, **environment):
    return site.acceptance(
        "claims", "--db", database or site.folder / "made.db", *arguments,
        ACCEPTANCE_REFERENCE=str(folder), **environment,
    )  # fmt: skip


@pytest.fixture
def at_site(site, folder):
    """A site with a claim that must hold, and one that need not."""
    site.add_system(SITE)
    path = write(folder, {}, {"value": "50", "expected": "", "printed": "50"})

    def with_results(*cases):
        database = site.folder / "made.db"
        database.unlink(missing_ok=True)
        Database(database).add([case for _, case in cases], start=NOW, uuid="u0")
        return path

    return with_results


def test_the_command_exits_by_the_claims_that_must_hold(site, folder, at_site):
    at_site(result(NEW, 7.5), result(OLD, 10.0))
    done = run(site, folder, "--system", "mine", "--format", "json")
    assert done.status == 0, done.errors
    assert done.data["counts"] == {HOLDS: 1, FAILS: 1, NOT_MEASURED: 0}
    assert done.data["failed_expected"] == 0
    kept, broken = done.data["claims"]
    assert (kept["state"], kept["ours"]) == (HOLDS, {"value": 25.0, "unit": "%"})
    assert kept["claimed"]["relation"] == ">="
    assert kept["claimed"]["value"] == [20.0]
    assert (kept["left"]["value"], kept["left"]["partition"]) == (7.5, "mine:new")
    assert (kept["left"]["session"], kept["left"]["metric"]) == ("u0", "time_8")
    assert (broken["state"], broken["expected"]) == (FAILS, False)

    path = at_site(result(NEW, 9.0), result(OLD, 10.0))
    done = run(site, folder, "--system", "mine")
    assert done.status == 1
    lines = done.output.splitlines()
    assert lines[2].split()[:5] == ["FAILS", "mine,", "contract", "of", "2026-03"]
    for words in ("mine:new: 9 us", "mine:old: 10 us", ">= 20 %", "10 %", "0 of 1"):
        assert words in lines[2]
    assert lines[3].startswith("fails ")
    assert lines[-2] == "2 claims: 0 hold, 2 fail, 0 not measured"
    assert lines[-1] == f"FAILS, expected to hold: {path}:2"


def test_what_is_not_measured_is_counted_and_listed_on_request(site, folder, at_site):
    path = at_site(result(NEW, 7.5))
    done = run(site, folder, "--system", "mine")
    assert done.status == 0
    assert done.output.splitlines() == [
        "2 claims: 0 hold, 0 fail, 2 not measured",
        "not measured: 2 no result (--all lists them)",
        # Of the two only this one is expected.
        f"NOT MEASURED, expected to hold: {path}:2: right: no result of mine:old imb.Alltoall time",
    ]
    done = run(site, folder, "--system", "mine", "--all")
    table = done.output.partition("2 claims: ")[0]
    assert table.count("no result of mine:old imb.Alltoall time") == 2


def test_a_system_without_claims_passes_and_an_unknown_one_does_not(site, folder, at_site):
    at_site(result(NEW, 7.5))
    assert run(site, folder, "--system", "local").output == (
        "0 claims: 0 hold, 0 fail, 0 not measured\n"
    )
    done = run(site, folder, "--system", "mien")
    assert done.status == 2
    assert "no system 'mien'; there are " in done.errors
    assert "mine" in done.errors


def test_an_unknown_partition_is_a_fault_with_its_place_and_the_known_ones(site, folder, at_site):
    at_site(result(NEW, 7.5))
    path = write(folder, {}, {"right": "mine:odl"})
    done = run(site, folder)
    assert done.status == 2
    assert f"{path}:3: there is no partition 'mine:odl'; known: " in done.errors
    assert "mine:new, mine:old" in done.errors


def test_a_partition_that_is_in_the_results_only_is_known(site, folder, at_site):
    at_site(result(NEW, 7.5), result("mine:gone", 10.0))
    write(folder, {"right": "mine:gone"})
    done = run(site, folder, "--system", "mine", "--format", "json")
    assert done.status == 0, done.errors
    assert done.data["counts"][HOLDS] == 1


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder, database: database.unlink(), "made.db: no such file"),
        (lambda folder, database: database.write_text("none"), "made.db: cannot be read"),
        (lambda folder, database: (folder / "claims.csv").unlink(), "claims.csv: cannot be read"),
        (
            lambda folder, database: (folder / "tolerances.yaml").write_text("claims: 5\n"),
            "tolerances.yaml: claims: Expected `object`, got `int`",
        ),
    ],
    ids=["no database", "another file", "no claims", "tolerances"],
)
def test_what_cannot_be_read_exits_with_2(site, folder, at_site, damage, words):
    at_site(result(NEW, 7.5))
    damage(folder, site.folder / "made.db")
    done = run(site, folder)
    assert done.status == 2
    assert words in done.errors


def test_a_configuration_that_cannot_be_read_exits_with_2(site, folder, at_site):
    at_site(result(NEW, 7.5))
    site.add_system("raise RuntimeError('half edited')")
    done = run(site, folder)
    assert done.status == 2
    assert "half edited" in done.errors


@pytest.mark.parametrize("days", ["0", "-1", "nan", "inf", "many"])
def test_a_window_is_a_number_of_days(site, folder, days):
    done = run(site, folder, f"--window={days}")
    assert done.status == 2
    assert f"'{days}' is no number of days" in done.errors


def test_the_command_on_the_made_world_agrees_with_the_library(site, made, evaluated):
    done = run(site, REFERENCE, "--format", "json", database=made[0])
    assert [claim["state"] for claim in done.data["claims"]] == [one.state for one in evaluated]
    unfulfilled = sum(one.fails_expected for one in evaluated)
    assert (done.status, done.data["failed_expected"]) == (1, unfulfilled)
    assert unfulfilled > 0
    done = run(site, REFERENCE, "--system", "koop2008", "--format", "json", database=made[0])
    assert len(done.data["claims"]) == 71

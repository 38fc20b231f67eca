"""Made results of which a claim holds, and of which it fails."""

from tests.made import Case
from tests.utils.relations.made_world import (
    MACHINES,
    SIZES,
    completed,
    metric_name,
    names_of,
    singles,
)
from tests.utils.relations.second_reading import (
    CURVES,
    LESS_IS_BETTER,
    parts,
    side_of,
    unit_of,
    within,
)

#: What a suite as a whole, and a benchmark without a metric, is tried with.
PROGRAMS = {"imb": "imb.Bcast", "patterns": "patterns.aapc", "npb": "npb.mg"}


def cases(row, *, holds):
    """Return cases with results of which a claim holds, or fails."""
    if row["relation"] in CURVES:
        return curve(row, holds)
    if row["relation"] == "proportional":
        return machines(row, holds)
    return pair(row, holds)


def spec(row, name):
    """Return where a result is, its benchmark, metric, and one set of keys without ranges."""
    where, benchmark, metric, keys = side_of(row, name)
    benchmark = PROGRAMS.get(benchmark, benchmark)
    where = where + "other" if where.endswith(":") else where
    return where, benchmark, metric or "time", next(iter(singles(keys)))


def is_less(benchmark, metric):
    return unit_of(benchmark, metric) in LESS_IS_BETTER


def case(where, benchmark, metric, keys, value):
    """Make a case with a value at all the message sizes that its keys speak of."""
    sizes = keys.get("message_size")
    return Case(
        metrics={
            metric_name(*name): (value, unit_of(benchmark, metric))
            for name in names_of(benchmark, metric)
            if sizes is None or within(sizes, str(name[1]))
        },
        system=where.split(":")[0],
        partition=where.split(":")[1],
        keys=completed(benchmark, keys),
        benchmark=benchmark,
    )


def two_values(row, less, *, nearest=False):
    """Return the two values, left and right, of which a claim holds, and of which it fails.

    `nearest`: of two ratios the one nearer to 1 is better.
    """
    relation, right = row["relation"], 100.0

    def left(figure):
        if row["unit"] == "x":
            return right * figure
        if row["unit"] == "decade":
            return right * 10**figure
        if row["unit"] not in ("", "%"):
            return right + figure
        return right * (1 - figure / 100 if less else 1 + figure / 100)

    def good(factor):
        return right / factor if less else right * factor

    if nearest and relation in ("better", "best"):
        return (1.1, 0.5), (2.0, 1.5)
    words = {
        "better": (left(0.5), left(-0.5)), "best": (left(0.5), left(-0.5)),
        "slightly-better": (good(1.4), good(1.6)), "much-better": (good(2.1), good(1.9)),
        "similar": (105.0, 70.0), "differs": (140.0, 105.0),
    }  # fmt: skip
    if relation in words:
        return tuple((value, right) for value in words[relation])
    bounds = [float(bound) for bound in row["value"].split("..")]
    if relation == "up-to":
        nothing = 1.0 if row["unit"] == "x" else 0.0
        return (left(0.9 * bounds[0]), right), (left(nothing), right)
    step = 20.0 if row["unit"] == "%" else 0.7 * abs(bounds[0])
    value = sum(bounds) / len(bounds)
    return (left(value), right), (left(value + step if relation == "<=" else value - step), right)


def pair(row, holds):
    names = parts(row)
    _, benchmark, metric, _ = spec(row, "left")
    if "left below" not in names:
        less, ratio = is_less(benchmark, metric), benchmark.startswith("cbr.")
        values = two_values(row, less, nearest=ratio)
        pairs = zip(("left", "right"), values[not holds], strict=True)
        return [case(*spec(row, name), value) for name, value in pairs]
    # Of quotients more is better, whatever they are made of.
    factors = two_values(row, False)[not holds]
    known = {}
    for side, factor in zip(("left", "right"), factors, strict=True):
        above, below = (name_of(spec(row, name)) for name in (side, f"{side} below"))
        less = is_less(*above[1:3])
        times = 100 / factor if less else factor / 100
        if above in known:
            known[below] = known[above] / times
        else:
            known[above] = known.setdefault(below, 1000.0) * times
    return [case(*name[:3], dict(name[3]), value) for name, value in known.items()]


def name_of(result):
    return (*result[:3], tuple(sorted(result[3].items())))


def curve(row, holds):
    where, benchmark, metric, keys = side_of(row, "left")
    key = next(part.split("=")[0] for part in row["left"].split(";") if ".." in part)
    bounds = [int(end) for end in row["value"].split("..") if end]
    if key == "message_size":
        places = sorted({*SIZES, *bounds} - {0})
    else:
        places = sorted(int(single[key]) for single in singles({key: keys[key]}))
    values = dict(zip(places, goods(row["relation"], places, bounds, holds), strict=True))
    less = is_less(benchmark, metric)
    if key == "message_size":
        fitting = {**keys, "message_size": "1"}
        (_, *rest), made = values.items(), case(where, benchmark, metric, fitting, 1.0)
        made.metrics = {
            metric_name(metric, size): (100 / good if less else 100 * good, "MB/s")
            for size, good in values.items()
        }
        assert rest
        return [made]
    return [
        case(where, benchmark, metric, single, 100.0 * values[int(single[key])])
        for single in singles(keys)
    ]


def goods(relation, places, bounds, holds):
    """Return the values of a curve (of a peak: how good they are) at so many places."""
    count = len(places)
    if relation == "level":
        return [1.0] * (count - 1) + [1.1 if holds else 1.4]
    if relation in ("grows", "falls"):
        way = 1 if (relation == "grows") == holds else -1
        return [1.5 ** (way * number) for number in range(count)]
    if relation == "peak":
        best = [at for at in places if bounds[0] <= at <= bounds[-1]] if bounds else places[:-1]
        return [2.0 if at == (best[0] if holds else places[-1]) else 1.0 for at in places]
    high = bounds[1] if holds else next(at for at in places[1:] if at != bounds[1])
    values = [1.0]
    for at in places[1:]:
        values.append(values[-1] * (4.0 if at == high else 1.1))
    return values


def machines(row, holds):
    made = []
    for number, where in enumerate(MACHINES[:3]):
        for name in parts(row):
            _, benchmark, metric, keys = side_of(row, name)
            less = is_less(benchmark, metric)
            good = 2.0**number * (3.0 if not holds and number and name == "left" else 1.0)
            made.append(case(where, benchmark, metric, keys, 100 / good if less else 100 * good))
    return made

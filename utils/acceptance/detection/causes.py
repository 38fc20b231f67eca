"""Why curves are slow: two sides of them in, the cause that fits what differs out.

What differs is told as ratios of the slow side to the good one: of the intercept of the smallest
messages (L+2o, or g), of G, of o at each end, of the times between the smallest and the largest
sizes, of the 99th percentile over the median. Each is `up`, `down`, the `same`, or open, where
noise hides it or nobody measured it. A row of `CAUSES` says which of them a cause changes; facts
say by which factor or step. No row that fits, or several, or a row that hangs on what is open: then
nobody can tell.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from acceptance.core.pairs import Curve
from acceptance.core.robust import MAD_TO_STD, middle_and_spread
from acceptance.core.text import bytes_text, number_text
from acceptance.detection import loggp
from acceptance.detection.constants import (
    CAUSE_ALIKE,
    CAUSE_ANOTHER,
    CAUSE_ANY,
    CAUSE_BESIDE,
    CAUSE_BESIDE_MOST,
    CAUSE_CERTAIN,
    CAUSE_CLOCKS,
    CAUSE_INTERVAL,
    CAUSE_LEAST,
    CAUSE_NEAR,
    CAUSE_SHORT,
    CAUSE_WITHIN,
    LINE_FEWEST,
    LINE_HUBER,
    LINE_NOISE,
    LINE_TURNS,
    MEDIAN_ERROR,
)
from acceptance.detection.loggp import Floats

#: What a difference is; it is open where noise hides it, or nobody measured it.
UP, DOWN, SAME, OPEN = "up", "down", "same", ""
#: What differs between two sides.
START, GAP, OVERHEAD, MIDDLE, TAIL = "start", "gap", "overhead", "middle", "tail"
CANNOT_TELL = "cannot-tell"

#: A factor of G that a link has where it trained lower, words for it, and the rate that it lets
#: through then at most (MB/s), None: nobody knows. Where something else was slower before, as a
#: slot, the rate tells more than the factor.
Step = tuple[float, str, float | None]
#: What a link can do whose facts nobody stated.
HALVES: tuple[Step, ...] = tuple(
    (factor, f"{words} would do that; facts of the link are not known here", None)
    for factor, words in (
        (2.0, "half of the lanes or half of the rate"),
        (4.0, "a quarter of the lanes or of the rate"),
    )
)


class Cause(Struct, frozen=True):
    """Why something is slow: `kind` is a row of `CAUSES` or `cannot-tell`, `text` for people."""

    kind: str
    text: str


@dataclass(frozen=True)
class Ratio:
    """The logarithm of slow over good and its standard error; a NaN: nobody measured it."""

    log: float
    error: float

    def state(self, least: float, largest: float) -> str:
        """Return what it is, `largest` being the largest difference of all."""
        if math.isnan(self.log):
            return OPEN
        if abs(self.log) > max(least, CAUSE_CERTAIN * self.error):
            beside = abs(self.log) < min(CAUSE_BESIDE * largest, CAUSE_BESIDE_MOST)
            return SAME if beside else UP if self.log > 0 else DOWN
        within = abs(self.log) + CAUSE_INTERVAL * self.error < max(
            CAUSE_ALIKE * least, CAUSE_WITHIN * largest
        )
        return SAME if within else OPEN

    @property
    def text(self) -> str:
        """Write the ratio with its 95 % interval."""
        if math.isnan(self.log):
            return "not measured"
        known = self.error if self.error < CAUSE_ANY else math.inf
        low, high = (math.exp(self.log + way * CAUSE_INTERVAL * known) for way in (-1, 1))
        return f"{math.exp(self.log):.2f} times ({low:.2f} to {high:.2f})"


NOT_MEASURED = Ratio(math.nan, math.inf)


@dataclass(frozen=True)
class Difference:
    """How the slow side differs from the good one, and what is known of the fabric.

    It has a ratio of each, L+2o (or g) in us, G of the slow side in us a byte, and the sizes at
    which each side switches. `steps`: how its links may train; `switch`: the us that one takes.
    """

    ratios: Mapping[str, Ratio]
    states: Mapping[str, str]
    good_start: float
    slow_start: float
    slow_gap: float
    good_switches: tuple[int, ...]
    slow_switches: tuple[int, ...]
    #: Which ends have more overhead, and the sizes between which the middle differs.
    ends: tuple[str, ...]
    between: tuple[int, int]
    per_message: bool
    steps: tuple[Step, ...] = HALVES
    switch: float | None = None

    @property
    def step(self) -> float:
        """Return by how many us the intercept is longer."""
        return self.slow_start - self.good_start

    @property
    def start_name(self) -> str:
        """Name the intercept."""
        return "g" if self.per_message else "L+2o"


#: Tells whether a difference has a cause, and says how; empty: it has not.
Fits = Callable[[Difference], str]


def _trained(difference: Difference) -> str:
    ratio = difference.ratios[GAP]
    near = max(CAUSE_NEAR, 2 * ratio.error)
    off = [(abs(ratio.log - math.log(factor)), words) for factor, words, _ in difference.steps]
    off += [
        (abs(math.log(1 / difference.slow_gap / rate)), words)
        for _, words, rate in difference.steps if rate and not difference.per_message
    ]  # fmt: skip
    words = dict.fromkeys(words for apart, words in sorted(off) if apart < near)
    return ", or ".join([*words][:3])


def _not_trained(difference: Difference) -> str:
    if _trained(difference):
        return ""
    why = "it is shared, limited, or sends packets again"
    if difference.steps is HALVES:
        return f"{why}, or trained at another rate: facts of the link are not known here"
    return f"no lanes or rate of the link explain that: {why}"


def _is_route(difference: Difference, *, certain: bool) -> bool:
    """Tell whether the step may be what switches of another level of a tree take, one each way.

    For certain only a step is one that is known well enough.
    """
    if not difference.switch:
        return False
    error = difference.ratios[START].error * difference.slow_start
    took = 2 * difference.switch
    if certain and CAUSE_CERTAIN * error > CAUSE_WITHIN * took:
        return False
    within = (CAUSE_INTERVAL if certain else CAUSE_CERTAIN) * error
    return abs(difference.step - took) < CAUSE_NEAR * took + within


def _route(difference: Difference) -> str:
    # Where that is neither likely nor out of the question, it may be a delay as well.
    is_route = _is_route(difference, certain=False)
    each = number_text(difference.switch or 0.0)
    return f"a route over 2 switches more, of {each} us each" if is_route else ""


def _not_route(difference: Difference) -> str:
    if _is_route(difference, certain=True):
        return ""
    words = "a delay on the way" if difference.switch else "a longer route or a delay on the way"
    known = difference.states[OVERHEAD] == SAME
    return words if known else f"{words}; o alone nobody measured, it may be the processors"


def _is_clock(difference: Difference) -> bool:
    """Tell whether o is up by no more than the clock of a processor can change."""
    is_up = difference.states[OVERHEAD] == UP
    return is_up and difference.ratios[OVERHEAD].log < math.log(CAUSE_CLOCKS)


def _another_way(difference: Difference) -> str:
    # More overhead than any clock makes is another way whatever G is.
    is_more = difference.states[OVERHEAD] == UP
    names = (START,) if is_more else (START, GAP)
    is_other = all(
        difference.states[name] in (UP, DOWN) and abs(difference.ratios[name].log) > CAUSE_ANOTHER
        for name in names
    )
    is_way = is_other and not _is_clock(difference)
    return "another transport, or another place of the ranks" * is_way


def _processor(difference: Difference) -> str:
    # A clock makes nothing slower by more than the work of the processor.
    clock = difference.ratios[OVERHEAD]
    rest = [difference.ratios[n] for n in (START, GAP, MIDDLE) if difference.states[n] == UP]
    near = [max(CAUSE_NEAR, 2 * math.hypot(each.error, clock.error)) for each in rest]
    further = [each.log > clock.log + apart for each, apart in zip(rest, near, strict=True)]
    if not _is_clock(difference) or any(further):
        return ""
    end = " and ".join(difference.ends)
    return f"the clock of the processor at the {end}, its sleep states, or what else it does"


def _switched(difference: Difference) -> str:
    names = [
        ", ".join(map(bytes_text, sizes)) or "no size"
        for sizes in (difference.slow_switches, difference.good_switches)
    ]
    at = f": now at {names[0]}, of good ones at {names[1]}" if names[0] != names[1] else ""
    return f"the protocol of the MPI switches at another size (its eager limit){at}"


def _noise(difference: Difference) -> str:
    return "now and then something else runs: noise or load"


#: What is the same, what is no longer, and what is not known to be another one.
_NO_MORE, _NOT_MORE, _HARDLY = (SAME,), (SAME, DOWN, OPEN), (SAME, OPEN)
#: What each difference has to be; what is not named may be anything.
_RATE = {GAP: (UP,), START: _NO_MORE, OVERHEAD: _NOT_MORE}
_LATENCY = {START: (UP,), GAP: _NO_MORE, OVERHEAD: _NOT_MORE}
#: Name of a cause -> what it changes, and what fits. The middle follows where an end changes.
CAUSES: dict[str, tuple[Mapping[str, tuple[str, ...]], Fits]] = {
    "link-trained-lower": (_RATE, _trained),
    "rate-lost": (_RATE, _not_trained),
    "longer-route": (_LATENCY, _route),
    "delay": (_LATENCY, _not_route),
    "processor": ({OVERHEAD: (UP,)}, _processor),
    "another-way": ({START: (UP, DOWN)}, _another_way),
    # Another protocol may be better for large messages.
    "protocol-switch": ({START: _NO_MORE, GAP: (SAME, DOWN), MIDDLE: (UP, DOWN)}, _switched),
    # A large message lasts longer than what runs in between, which takes its share of each.
    "noise": (
        {
            START: _HARDLY,
            GAP: (SAME, OPEN, UP),
            MIDDLE: _NOT_MORE,
            OVERHEAD: _NOT_MORE,
            TAIL: (UP,),
        },
        _noise,
    ),
}


def judge(
    good: Sequence[Curve], slow: Sequence[Curve], steps: tuple[Step, ...] = (),
    switch: float | None = None, than: str = "good pairs",
) -> Cause:  # fmt: skip
    """Return why the slow curves are slow, compared with good ones of the same sizes.

    `steps` and `switch` are what is known of the fabric, `than` names the good ones. Curves of
    fewer than `LINES_FEWEST` common sizes tell nothing.
    """
    try:
        difference = dataclasses.replace(differ(good, slow), steps=steps or HALVES, switch=switch)
    except ValueError as err:
        return Cause(CANNOT_TELL, f"cannot tell why: {err}")
    states = difference.states
    # What is open fits a row only where the row takes that.
    names = [
        (name, said)
        for name, (changes, fits) in CAUSES.items()
        if all(states[what] in allowed for what, allowed in changes.items())
        and (said := fits(difference))
    ]
    numbers = ", ".join(_numbers(difference))
    if len(names) == 1:
        name, said = names[0]
        return Cause(name, f"beside {than} {numbers}: {said}")
    if names:
        why = f"as likely {' or '.join(name for name, _ in names)}"
    elif {*states.values()} <= {SAME, OPEN} and states[START] == states[GAP] == SAME:
        why = "measured alone it is as good"
    else:
        differs = {UP, DOWN} & {*states.values()}
        why = "that fits no cause" if differs else "noise hides what differs"
    return Cause(CANNOT_TELL, f"cannot tell why: beside {than} {numbers}: {why}")


def _numbers(difference: Difference) -> Iterator[str]:
    """Yield what differs, and what does not."""
    ratios, states = difference.ratios, difference.states
    start = difference.start_name
    us = f"{number_text(difference.slow_start)} instead of {number_text(difference.good_start)} us"
    changed = {name for name, state in states.items() if state in (UP, DOWN)}
    if GAP in changed:
        yield f"G {ratios[GAP].text}"
    if START in changed:
        yield f"{start} {ratios[START].text}, {us}"
    if OVERHEAD in changed:
        at = f" at the {' and '.join(difference.ends)}" if difference.ends else ""
        yield f"o{at} {ratios[OVERHEAD].text}"
    if MIDDLE in changed and not {GAP, START} & changed:
        first, last = map(bytes_text, difference.between)
        yield f"messages of {first} to {last} {ratios[MIDDLE].text}"
    if TAIL in changed:
        yield f"the 99th percentile {ratios[TAIL].text} as far above the median"
    same = [
        name for what, name in ((START, start), (GAP, "G"), (OVERHEAD, "o")) if states[what] == SAME
    ]
    if same:
        yield f"{' and '.join(same)} the same"
    for what, name in ((START, start), (GAP, "G")):
        if states[what] == OPEN:
            yield f"{name} {ratios[what].text}, not known well enough"


def differ(good: Sequence[Curve], slow: Sequence[Curve]) -> Difference:
    """Compare two sides; raises ValueError where they have no curve, or too few common sizes."""
    if not good or not slow:
        raise ValueError(f"{len(good)} good curves and {len(slow)} slow ones were measured")
    sizes = tuple(sorted(set.intersection(*({*curve.sizes} for curve in (*good, *slow)))))
    times = [np.array([_times(each, sizes) for each in side]) for side in (good, slow)]
    switches = [
        loggp.switches(sizes, np.median(side, axis=0).tolist(), _noise_of(side)) for side in times
    ]
    first = min([each[0] for each in switches if each], default=sizes[-1] + 1)
    last = max([each[-1] for each in switches if each], default=sizes[0])
    small = max(sum(size < first for size in sizes), LINE_FEWEST)
    large = min(sum(size < last for size in sizes), len(sizes) - LINE_FEWEST)
    starts, start = _parameter([side[:, :small] for side in times], sizes[:small], START)
    (_, gap_of_slow), gap = _parameter([side[:, large:] for side in times], sizes[large:], GAP)
    overhead, ends = _overhead(good, slow)
    ratios = {
        START: start, GAP: gap, OVERHEAD: overhead, TAIL: _tail(good, slow, sizes),
    }  # fmt: skip
    ratios[MIDDLE], between = _middle(sizes, times)
    states = _states(ratios)
    return Difference(
        ratios, states, *starts, gap_of_slow, switches[0], switches[1], ends, between,
        any(curve.per_message for curve in slow),
    )  # fmt: skip


def _states(ratios: dict[str, Ratio]) -> dict[str, str]:
    """Return what each is; the middle is nothing by itself where an end differs by half as much."""
    ends = max(abs(np.nan_to_num(ratios[name].log)) for name in (START, GAP))
    inner = abs(ratios[MIDDLE].log)
    is_inner = inner > 2 * ends
    largest = {START: ends, GAP: ends, MIDDLE: 0.0 if is_inner else math.inf}
    if is_inner and ratios[MIDDLE].state(CAUSE_LEAST[MIDDLE], 0.0) != SAME:
        largest |= dict.fromkeys((START, GAP), inner * 0.5 / CAUSE_BESIDE)
    return {
        name: ratio.state(CAUSE_LEAST[name], largest.get(name, 0.0))
        for name, ratio in ratios.items()
    }


def _times(curve: Curve, sizes: Sequence[int]) -> list[float]:
    known = dict(zip(curve.sizes, curve.times, strict=True))
    return [known[size] for size in sizes]


def in_turn(
    good: Sequence[Sequence[Curve]], slow: Sequence[Sequence[Curve]]
) -> tuple[list[Curve], list[Curve]]:
    """Return curves of both sides without what a turn took longer than others, by its good ones.

    The curves of a turn were measured at one time: what passed then, as a lower clock of all
    processors, is of both sides. Turns without a good curve are left out.
    """
    turns = [(some, others) for some, others in zip(good, slow, strict=True) if some]
    if not turns:
        return [], [curve for some in slow for curve in some]
    usual = _usual_of([curve for some, _ in turns for curve in some])
    sides: tuple[list[Curve], list[Curve]] = ([], [])
    for turn in turns:
        times, overheads = (
            np.divide(each, known) for each, known in zip(_usual_of(turn[0]), usual, strict=True)
        )
        for side, curves in zip(sides, turn, strict=True):
            side += [_without(curve, times.tolist(), overheads.tolist()) for curve in curves]
    return sides


def _usual_of(curves: Sequence[Curve]) -> tuple[Floats, Floats]:
    """Return the usual times of each size, and overheads of both ends; NaN where none is known."""
    overheads = np.array([[each or np.nan for each in c.overheads] for c in curves], float)
    return np.median([c.times for c in curves], axis=0), np.median(overheads, axis=0)


def _without(curve: Curve, times: Sequence[float], overheads: Sequence[float]) -> Curve:
    known = zip(curve.overheads, overheads, strict=True)
    return replace(
        curve,
        times=tuple(time / share for time, share in zip(curve.times, times, strict=True)),
        late=tuple(late / share for late, share in zip(curve.late, times, strict=True)),
        overheads=tuple(each / share if each and share > 0 else None for each, share in known),
    )


def _parameter(
    times: Sequence[Floats], sizes: Sequence[int], what: str
) -> tuple[tuple[float, float], Ratio]:
    """Return intercept or slope of both sides, and their ratio.

    Each curve has its own line: what passed while it was measured, as a lower clock, makes it
    another one as a whole. Where curves are few, the error of a line counts if it is more, and one
    side is known no better than curves of the other one are.
    """
    values, errors = [], []
    for side in times:
        fitted = loggp.lines(sizes, side)
        found, error = fitted[:2] if what == START else fitted[2:4]
        value, known = _usual_value(found)
        values.append(value)
        errors.append(max(known, float(np.median(error)) / math.sqrt(len(side))))
    good, slow = values
    if min(values) <= 0:
        return (good, slow), NOT_MEASURED
    off = [error / value for error, value in zip(errors, values, strict=True)]
    few, many = sorted((0, 1), key=lambda side: len(times[side]))
    off[few] = max(off[few], off[many] * math.sqrt(len(times[many]) / len(times[few])))
    return (good, slow), Ratio(math.log(slow / good), math.hypot(*off, LINE_NOISE))


def _usual_value(values: Floats) -> tuple[float, float]:
    """Return Huber's mean of values (1964) and its standard error, 0 of one value."""
    middle, spread = map(float, middle_and_spread(values))
    # Of nearly equal values a few others move the mean further than these spread.
    spread = max(spread, LINE_NOISE * abs(middle)) if spread else 0.0
    counts = np.ones(len(values))
    for _ in range(LINE_TURNS if spread else 0):
        off = np.maximum(np.abs(values - middle), LINE_HUBER * spread)
        counts = LINE_HUBER * spread / off
        middle = float((counts * values).sum() / counts.sum())
    bounded = float(((counts * (values - middle)) ** 2).sum()) / max(len(values) - 1, 1)
    return middle, math.sqrt(bounded / len(values)) / float(np.mean(counts == 1))


def _noise_of(times: Floats) -> float:
    """Return the relative noise of the usual time beside other sizes; 0 of one curve."""
    logs = np.log(times)
    off = logs - np.median(logs, axis=0)
    off -= np.median(off, axis=1, keepdims=True)
    return MEDIAN_ERROR * MAD_TO_STD * float(np.median(np.abs(off))) / math.sqrt(len(times))


def _apart(good: Sequence[float], slow: Sequence[float]) -> Ratio:
    """Return the ratio of two medians of logarithms; each side spreads as the wider one does."""
    if not good or not slow:
        return NOT_MEASURED
    sides = [middle_and_spread(side) for side in (good, slow)]
    (middle, spread), (other, wide) = [tuple(map(float, side)) for side in sides]
    if len(good) + len(slow) == 2:
        return Ratio(other - middle, math.inf)
    error = MEDIAN_ERROR * max(spread, wide) * math.sqrt(1 / len(good) + 1 / len(slow))
    return Ratio(other - middle, math.hypot(error, LINE_NOISE))


def _middle(sizes: Sequence[int], times: Sequence[Floats]) -> tuple[Ratio, tuple[int, int]]:
    """Return the ratio of the times that differ most between the ends, and of which sizes."""
    logs = [np.log(each) for each in times]
    columns = [_apart(*(side[:, i].tolist() for side in logs)) for i in range(len(sizes))]
    off = np.array([each.log for each in columns])
    error = np.array([each.error for each in columns])
    inner = range(2, len(sizes) - 3)
    pairs = [(float(np.sign(off[i]) * min(abs(off[i : i + 2]))), i) for i in inner
             if off[i] * off[i + 1] > 0]  # fmt: skip
    if not pairs:
        return Ratio(0.0, float(np.median(error))), (sizes[0], sizes[-1])
    most, at = max(pairs, key=lambda pair: abs(pair[0]))
    far = [i for i in range(len(sizes)) if off[i] * most > 0 and abs(off[i]) > abs(most) / 2]
    return Ratio(most, float(max(error[at : at + 2]))), (sizes[far[0]], sizes[far[-1]])


def _overhead(good: Sequence[Curve], slow: Sequence[Curve]) -> tuple[Ratio, tuple[str, ...]]:
    """Return the larger ratio of the overheads of both ends, and which of them are up."""
    found = {}
    for end, name in enumerate(("sender", "receiver")):
        sides = [
            [math.log(o) for curve in side if curve.overheads and (o := curve.overheads[end])]
            for side in (good, slow)
        ]
        found[name] = _apart(*sides)
    if any(math.isnan(each.log) for each in found.values()):
        return NOT_MEASURED, ()
    up = [name for name, each in found.items() if each.state(CAUSE_LEAST[OVERHEAD], 0.0) == UP]
    return max(found.values(), key=lambda each: each.log), tuple(up)


def _tail(good: Sequence[Curve], slow: Sequence[Curve], sizes: Sequence[int]) -> Ratio:
    """Return how much further the 99th percentile of short messages is from their median."""
    longest = max(CAUSE_SHORT, sizes[0])

    def far(curve: Curve) -> float:
        each = zip(curve.sizes, curve.times, curve.late, strict=True)
        return float(
            np.mean([math.log(late / time) for size, time, late in each if size <= longest])
        )

    return _apart(*([far(curve) for curve in side if curve.late] for side in (good, slow)))

"""Why curves are slow: two sides of them in, the cause that fits what differs out.

What differs is told as ratios of the slow side to the good one: of the intercept of the smallest
messages (L+2o, or g), of G, of o at each end, of the times between the smallest and the largest
sizes, of the 99th percentile over the median. Each is `up`, `down`, the `same`, or open, where
noise hides it or nobody measured it. A row of `CAUSES` says which of them a cause changes; facts
say by which factor or step. No row that fits, or several, or a row that hangs on what is open: then
nobody can tell.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from acceptance.core.pairs import Curve
from acceptance.core.robust import middle_and_spread
from acceptance.core.text import bytes_text, number_text
from acceptance.detection import loggp
from acceptance.detection.constants import MEDIAN_ERROR
from acceptance.detection.loggp import FEWEST_OF_LINE, Floats

#: What is open; what differs between two sides.
UP, DOWN, SAME, OPEN = "up", "down", "same", ""
START, GAP, OVERHEAD, MIDDLE, TAIL = "start", "gap", "overhead", "middle", "tail"
#: The least ratio (its logarithm) of each that is a difference. [chosen] links, routes and
#: processors that differ do so by more; a 99th percentile is known to a factor.
LEAST = {START: 0.05, GAP: 0.05, OVERHEAD: 0.15, MIDDLE: 0.12, TAIL: 0.7}
#: Standard errors that a difference is beyond, and what is the same within. [chosen] of two sides
#: with five parameters one in 100 shows a difference that is none.
CERTAIN = 3.0
#: Of the least difference so many times is the same, if it is certainly no more. [chosen]
ALIKE = 3.0
#: By how much the clock of a processor changes at most, from its lowest to its highest. [chosen]
CLOCKS = 4.0
#: The ratio (its logarithm) by which both L+2o and G are others on another way. [chosen]
ANOTHER = 0.25
#: Draws of the bootstrap. [chosen] an error is known to a tenth.
_DRAWS = 50
#: What is so small a part of the largest difference is no difference beside it. [chosen]
BESIDE, MOST_BESIDE = 0.2, 0.25
#: The same of what is not known well: it is certainly less than that part. [chosen]
WITHIN = 0.35
#: By how much a factor, or a step, may be off the one that facts say. [chosen] headers and what
#: overlaps; lanes and rates are at least 20 % apart.
NEAR = 0.1
#: Messages of which the 99th percentile is told, in bytes: longer ones are few in a loop.
SHORT = 1024
CANNOT_TELL = "cannot-tell"


class Cause(Struct, frozen=True):
    """Why something is slow: `kind` is a row of `CAUSES` or `cannot-tell`, `text` for people."""

    kind: str
    text: str


@dataclass(frozen=True)
class Step:
    """A `factor` of G that a link has where it trained lower, in words.

    `rate` is what it lets through then at most (MB/s), None: nobody knows. Where something else
    was slower before, as a slot, that tells more than the factor.
    """

    factor: float
    words: str
    rate: float | None = None


#: What a link can do whose facts nobody stated.
HALVES = (
    Step(2.0, "half of the lanes or half of the rate"),
    Step(4.0, "a quarter of the lanes or of the rate"),
)


@dataclass(frozen=True)
class Facts:
    """What is known of a fabric: how its links may train, and the us that a switch takes."""

    steps: tuple[Step, ...] = HALVES
    switch: float | None = None


@dataclass(frozen=True)
class Ratio:
    """The logarithm of slow over good and its standard error; a NaN: nobody measured it."""

    log: float
    error: float

    def state(self, least: float, largest: float) -> str:
        """Return what it is, `largest` being the largest difference of all."""
        if math.isnan(self.log):
            return OPEN
        if abs(self.log) > max(least, CERTAIN * self.error):
            beside = abs(self.log) < min(BESIDE * largest, MOST_BESIDE)
            return SAME if beside else UP if self.log > 0 else DOWN
        within = abs(self.log) + 1.96 * self.error < max(ALIKE * least, WITHIN * largest)
        return SAME if within else OPEN

    @property
    def text(self) -> str:
        """Write the ratio with its 95 % interval."""
        if math.isnan(self.log):
            return "not measured"
        low, high = (math.exp(self.log + way * 1.96 * self.error) for way in (-1, 1))
        return f"{math.exp(self.log):.2f} times ({low:.2f} to {high:.2f})"


NOT_MEASURED = Ratio(math.nan, math.inf)


@dataclass(frozen=True)
class Difference:
    """How the slow side differs from the good one: a ratio of each; L+2o in us, and switches."""

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

    @property
    def step(self) -> float:
        """Return by how many us the intercept is longer."""
        return self.slow_start - self.good_start

    @property
    def start_name(self) -> str:
        """Name the intercept."""
        return "g" if self.per_message else "L+2o"


#: Tells by facts whether a difference has a cause, and says how; empty: it has not.
Fits = Callable[[Difference, Facts], str]


def _trained(difference: Difference, facts: Facts) -> str:
    ratio = difference.ratios[GAP]
    near = max(NEAR, 2 * ratio.error)
    off = [(abs(ratio.log - math.log(step.factor)), step.words) for step in facts.steps]
    off += [
        (abs(math.log(1 / difference.slow_gap / step.rate)), step.words)
        for step in facts.steps if step.rate and not difference.per_message
    ]  # fmt: skip
    words = dict.fromkeys(words for apart, words in sorted(off) if apart < near)
    return ", or ".join([*words][:3])


def _not_trained(difference: Difference, facts: Facts) -> str:
    if _trained(difference, facts):
        return ""
    return (
        "no lanes or rate of the link explain that: it is shared, limited, or sends packets again"
    )


def _route(difference: Difference, facts: Facts) -> str:
    """Tell whether the step is what the switches of another level of a tree take, one each way."""
    if not facts.switch:
        return ""
    error = 1.96 * difference.ratios[START].error * difference.slow_start
    took = 2 * facts.switch
    if abs(difference.step - took) >= NEAR * took + error:
        return ""
    return f"a route over 2 switches more, of {number_text(facts.switch)} us each"


def _not_route(difference: Difference, facts: Facts) -> str:
    if _route(difference, facts):
        return ""
    words = "a delay on the way" if facts.switch else "a longer route or a delay on the way"
    known = difference.states[OVERHEAD] == SAME
    return words if known else f"{words}; o alone nobody measured, it may be the processors"


def _is_clock(difference: Difference) -> bool:
    """Tell whether o is up by no more than the clock of a processor can change."""
    return difference.states[OVERHEAD] == UP and difference.ratios[OVERHEAD].log < math.log(CLOCKS)


def _another_way(difference: Difference, facts: Facts) -> str:
    is_other = min(abs(difference.ratios[name].log) for name in (START, GAP)) > ANOTHER
    is_way = difference.states[OVERHEAD] != UP or not _is_clock(difference)
    return "another transport, or another place of the ranks" * (is_other and is_way)


def _processor(difference: Difference, facts: Facts) -> str:
    if not _is_clock(difference):
        return ""
    end = " and ".join(difference.ends)
    return f"the clock of the processor at the {end}, its sleep states, or what else it does"


def _switched(difference: Difference, facts: Facts) -> str:
    names = [
        ", ".join(map(bytes_text, sizes)) or "no size"
        for sizes in (difference.slow_switches, difference.good_switches)
    ]
    at = f": now at {names[0]}, of good ones at {names[1]}" if names[0] != names[1] else ""
    return f"the protocol of the MPI switches at another size (its eager limit){at}"


@dataclass(frozen=True)
class Row:
    """A cause: in which `states` each difference has to be (what is not named may be anything)."""

    states: Mapping[str, tuple[str, ...]]
    fits: Fits


#: What is the same, what is no longer, and what is not known to be another one.
_NO_MORE, _NOT_MORE, _HARDLY = (SAME,), (SAME, DOWN, OPEN), (SAME, OPEN)


def _says(text: str) -> Fits:
    return lambda difference, facts: text


#: Name of a cause -> what it changes. The middle follows where an end changes.
CAUSES: dict[str, Row] = {
    "link-trained-lower": Row({GAP: (UP,), START: _NO_MORE, OVERHEAD: _NOT_MORE}, _trained),
    "rate-lost": Row({GAP: (UP,), START: _NO_MORE, OVERHEAD: _NOT_MORE}, _not_trained),
    "longer-route": Row({START: (UP,), GAP: _NO_MORE, OVERHEAD: _NOT_MORE}, _route),
    "delay": Row({START: (UP,), GAP: _NO_MORE, OVERHEAD: _NOT_MORE}, _not_route),
    "processor": Row({OVERHEAD: (UP,)}, _processor),
    "another-way": Row({START: (UP, DOWN), GAP: (UP, DOWN)}, _another_way),
    "protocol-switch": Row({START: _NO_MORE, GAP: _NO_MORE, MIDDLE: (UP, DOWN)}, _switched),
    "noise": Row(
        {START: _HARDLY, GAP: _HARDLY, MIDDLE: _NOT_MORE, OVERHEAD: _NOT_MORE, TAIL: (UP,)},
        _says("now and then something else runs: noise or load"),
    ),
}


def judge(
    good: Sequence[Curve], slow: Sequence[Curve], facts: Facts, than: str = "good pairs"
) -> Cause:
    """Return why the slow curves are slow, compared with good ones of the same sizes.

    `than` names the good ones. Curves of fewer than `FEWEST` common sizes tell nothing.
    """
    try:
        difference = differ(good, slow)
    except ValueError as err:
        return Cause(CANNOT_TELL, f"cannot tell why: {err}")
    states = difference.states
    # What is open fits a row only where the row takes that.
    names = [
        (name, said)
        for name, row in CAUSES.items()
        if all(states[what] in allowed for what, allowed in row.states.items())
        and (said := row.fits(difference, facts))
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
        why = "that fits no cause" if UP in states.values() else "noise hides what differs"
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
    fits = [loggp.fit(sizes, _usual(side).tolist()) for side in times]
    first = min([each.switches[0] for each in fits if each.switches], default=sizes[-1] + 1)
    last = max([each.switches[-1] for each in fits if each.switches], default=sizes[0])
    small = max(sum(size < first for size in sizes), FEWEST_OF_LINE)
    large = min(sum(size < last for size in sizes), len(sizes) - FEWEST_OF_LINE)
    starts = [_parameter(side[:, :small], sizes[:small], START) for side in times]
    gaps = [_parameter(side[:, large:], sizes[large:], GAP) for side in times]
    overhead, ends = _overhead(good, slow)
    ratios = {
        START: _ratio(*starts), GAP: _ratio(*gaps), OVERHEAD: overhead,
        TAIL: _tail(good, slow, sizes),
    }  # fmt: skip
    ratios[MIDDLE], between = _middle(sizes, times)
    states = _states(ratios)
    return Difference(
        ratios, states, starts[0].value, starts[1].value, gaps[1].value,
        fits[0].switches, fits[1].switches, ends, between,
        any(curve.per_message for curve in slow),
    )  # fmt: skip


def _states(ratios: dict[str, Ratio]) -> dict[str, str]:
    """Return what each is; the middle is nothing by itself where an end differs by half as much."""
    ends = max(abs(np.nan_to_num(ratios[name].log)) for name in (START, GAP))
    inner = abs(ratios[MIDDLE].log)
    is_inner = inner > 2 * ends
    largest = {START: ends, GAP: ends, MIDDLE: 0.0 if is_inner else math.inf}
    if is_inner and ratios[MIDDLE].state(LEAST[MIDDLE], 0.0) != SAME:
        largest |= dict.fromkeys((START, GAP), inner * 0.5 / BESIDE)
    return {
        name: ratio.state(LEAST[name], largest.get(name, 0.0)) for name, ratio in ratios.items()
    }


def _times(curve: Curve, sizes: Sequence[int]) -> list[float]:
    known = dict(zip(curve.sizes, curve.times, strict=True))
    return [known[size] for size in sizes]


def _usual(times: Floats) -> Floats:
    """Return the median of each size."""
    middle: Floats = np.median(times, axis=0)
    return middle


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
    return _usual(np.array([c.times for c in curves])), _usual(overheads)


def _without(curve: Curve, times: Sequence[float], overheads: Sequence[float]) -> Curve:
    known = zip(curve.overheads, overheads, strict=True)
    return replace(
        curve,
        times=tuple(time / share for time, share in zip(curve.times, times, strict=True)),
        late=tuple(late / share for late, share in zip(curve.late, times, strict=True)),
        overheads=tuple(each / share if each and share > 0 else None for each, share in known),
    )


def _parameter(times: Floats, sizes: Sequence[int], what: str) -> loggp.Estimate:
    """Return intercept or slope of the usual curve, with its error by the bootstrap.

    Drawn are curves (Efron 1979); where these are few, the error of the line counts if it is more.
    """

    def fitted(some: Floats) -> loggp.Estimate:
        found = loggp.line(sizes, _usual(some).tolist())
        return found.start if what == START else found.slope

    own, draw = fitted(times), np.random.default_rng(len(times))
    drawn = [fitted(times[draw.integers(len(times), size=len(times))]).value for _ in range(_DRAWS)]
    return loggp.Estimate(own.value, max(own.error, float(np.std(drawn))))


def _ratio(good: loggp.Estimate, slow: loggp.Estimate) -> Ratio:
    """Return the ratio of a parameter."""
    if min(good.value, slow.value) <= 0:
        return NOT_MEASURED
    off = [each.error / each.value for each in (good, slow)]
    return Ratio(math.log(slow.value / good.value), math.hypot(*off, loggp.LEAST_NOISE))


def _middle_of(logs: Floats) -> tuple[float, float]:
    """Return the median and its standard error."""
    middle, spread = map(float, middle_and_spread(logs))
    return middle, MEDIAN_ERROR * spread / math.sqrt(len(logs))


def _middle(sizes: Sequence[int], times: Sequence[Floats]) -> tuple[Ratio, tuple[int, int]]:
    """Return the ratio of the times that differ most between the ends, and of which sizes."""
    logs = [np.log(each) for each in times]
    off = np.log(_usual(times[1])) - np.log(_usual(times[0]))
    errors = [np.array([_middle_of(column)[1] for column in each.T]) for each in logs]
    error = np.hypot(*errors) + loggp.LEAST_NOISE
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
    found = []
    for end in range(2):
        sides = [
            [curve.overheads[end] for curve in side if curve.overheads] for side in (good, slow)
        ]
        known = [np.array([each for each in side if each], float) for side in sides]
        if min(map(len, known)):
            (log, error), (other, off) = (_middle_of(np.log(each)) for each in reversed(known))
            found.append(Ratio(log - other, math.hypot(error, off, loggp.LEAST_NOISE)))
    if len(found) < 2:
        return NOT_MEASURED, ()
    up = [each.state(LEAST[OVERHEAD], 0.0) == UP for each in found]
    names = tuple(name for name, is_up in zip(("sender", "receiver"), up, strict=True) if is_up)
    return max(found, key=lambda each: each.log), names


def _tail(good: Sequence[Curve], slow: Sequence[Curve], sizes: Sequence[int]) -> Ratio:
    """Return how much further the 99th percentile of short messages is from their median."""
    sides = []
    for side in (good, slow):
        logs = [
            float(np.mean([
                math.log(late / time)
                for size, time, late in zip(curve.sizes, curve.times, curve.late, strict=True)
                if size <= max(SHORT, sizes[0]) and late > 0
            ]))
            for curve in side if curve.late
        ]  # fmt: skip
        if not logs:
            return NOT_MEASURED
        sides.append(_middle_of(np.array(logs)))
    (good_log, good_error), (slow_log, slow_error) = sides
    return Ratio(slow_log - good_log, math.hypot(good_error, slow_error, loggp.LEAST_NOISE))

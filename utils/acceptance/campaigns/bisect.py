"""Which changes between two environments explain a loss: made, measured and judged one by one.

A bisection is a campaign of its own: it goes on where a kill has stopped it. What it measures is in
a results database of its own below its folder, so that no history, gate or alert takes the samples
of an environment that nobody runs for those of the site. What Spack builds is shared.

First both ends are measured in turn, until the loss of a metric is certain, or that there is none
(`detection/sequential.py`). Then sets of changes are tried, as `detection/delta.py` asks for them,
each until it is certainly on the good or on the bad side of the middle between both ends. One half
of `ERROR` is the chance of a wrong word on the ends, however many metrics there are; the other half
that of any wrong word in the whole search, in equal parts.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from acceptance import ledger
from acceptance.campaigns.changes import Change, Side, differences, locks, mixture
from acceptance.campaigns.runner import Runner
from acceptance.campaigns.state import DONE, State, Step
from acceptance.core import state_files
from acceptance.core.errors import QUOTED, Fault
from acceptance.core.paths import Workspace
from acceptance.core.text import clipped, one_line, plural, shortened
from acceptance.core.words import better, is_measured
from acceptance.detection.constants import ERROR, LOOKS
from acceptance.detection.delta import BAD, CANNOT_TELL, GOOD, Changes, Found, following, most
from acceptance.detection.sequential import decide
from acceptance.ledger import Case
from acceptance.relations import noise
from acceptance.relations.comparison import percent

#: Runs of either end after which the noise of a metric can be known (`noise.learn`), and how often
#: a set is measured at once: what is good is mostly certain after one run. `LOOKS` in all.
FEWEST, TIMES = 4, (1, 4, 5)
WORDS = {BAD: "bad", GOOD: "good", CANNOT_TELL: "cannot tell"}
#: What ReFrame 4.10 adds to the name of a case that it repeats.
_REPEATED = re.compile(r" %\.repeat_no=\d+")
#: Case, metric and unit, and what a run of it measured.
Metric = tuple[str, str, str]
Run = dict[Metric, float]
Environment = Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """What is asked for: both sides, the system they are on, ReFrame's arguments, the least loss.

    `least` is a fraction: what is less is no loss.
    """

    good: Side
    bad: Side
    system: Mapping[str, Any]
    arguments: tuple[str, ...]
    least: float


@dataclass(frozen=True)
class Evaluation:
    """A set of changes that was tried: their names, its word, and the median of its runs.

    `loss` is the part that it loses of the good end; `why` nobody can tell.
    """

    changes: tuple[str, ...]
    word: str
    runs: int
    value: float | None
    loss: float | None
    why: str = ""


@dataclass
class Result:
    """The end of a bisection: `sentence` says it, the others are its numbers.

    A cause has units, all of which it takes, each of one change, or of several that could not be
    separated. `word` is `bad` where a cause was found, `good` where there is no loss or nothing
    that can be set explains it.
    """

    sentence: str = ""
    word: str = WORDS[CANNOT_TELL]
    case: str = ""
    metric: str = ""
    unit: str = ""
    good: float | None = None
    bad: float | None = None
    loss: float | None = None
    runs: int = 0
    most: int = 0
    changes: list[Change] = field(default_factory=list)
    evaluations: list[Evaluation] = field(default_factory=list)
    causes: list[list[list[str]]] = field(default_factory=list)

    @property
    def ends(self) -> str:
        """Return what both ends measured."""
        values = f"{self.good:.4g} {self.unit} in GOOD, {self.bad:.4g} {self.unit} in BAD"
        return f"{self.metric} of {self.case}: {values}, {self.runs} runs of each"


def run(
    plan: Plan, state: State, lock: int, workspace: Workspace, tell: Callable[[str], None]
) -> Result:
    """Bisect with ReFrame, each of whose runs is a step of a campaign; raises Interrupted, Fault.

    What was measured before a kill is not measured again.
    """
    workspace = replace(workspace, var=state.folder / "var", built=workspace.spack)
    runner = Runner(state, lock, workspace, None)

    def measure(name: str, number: int, environment: Environment, times: int) -> list[Case]:
        label = f"{name}-{number}"
        step = next((each for each in state.steps if each.name == label), None)
        if step is None:
            file = state.folder / f"{name}.py"
            state_files.write_text(file, _configuration(plan, environment, workspace))
            words = [word for path in (*workspace.config_files, file) for word in ("-C", str(path))]
            repeat = [f"--repeat={times}"] if times > 1 else []
            step = Step(label, (), (*words, *plan.arguments, *repeat))
            state.steps.append(step)
            state.save()
        if step.state != DONE:
            runner.run()
        past = ledger.of(workspace)
        uuids = [attempt.session for attempt in step.attempts if attempt.session]
        return [case for uuid in uuids for case in past.session(uuid).cases]

    def say(line: str) -> None:
        runner.say(f"=== {line}")
        tell(line)

    return Bisection(plan, measure, say).run()


def _configuration(plan: Plan, environment: Environment, workspace: Workspace) -> str:
    """Return a configuration file whose one partition has this environment alone."""
    system, name = plan.system, plan.good.where.partition(":")[2]
    environs = {"environs": [environment["name"]]}
    parts = [{**each, **environs} for each in system["partitions"] if each["name"] == name]
    # Its stage and outputs are nobody's but its own.
    own = {**system, "prefix": str(workspace.var), "partitions": parts}
    bound = {"target_systems": [system["name"]], **environment}
    return f"site_configuration = { ({'systems': [own], 'environments': [bound]})!r}\n"


class Bisection:
    """Searches what a plan asks for; each evaluation is told as a line.

    `measure` returns the cases of a run: the name of the set, the number of the run, how often.
    """

    def __init__(
        self,
        plan: Plan,
        measure: Callable[[str, int, Environment, int], list[Case]],
        tell: Callable[[str], None],
    ) -> None:
        self.plan, self.measure, self.tell = plan, measure, tell
        self.good, self.bad, changes = differences(plan.good, plan.bad)
        self.result = Result(changes=changes)
        self.runs: dict[str, list[Run]] = {}
        self.asked: Counter[str] = Counter()
        self.locks: dict[str, dict[str, str]] = {}
        self.signs: dict[Metric, int] = {}

    def run(self) -> Result:
        """Return what explains the loss; raises Fault where an end does not run."""
        result, before = self.result, self.result.changes
        if not settable_of(before):
            nothing = "nothing that can be set differs, and nothing was measured"
            result.sentence = "; ".join((nothing, *self._unset()))
            return result
        word = self._measure_ends()
        if not self.plan.good.stored:
            ends = (("good", self.plan.good), ("bad", self.plan.bad))
            built = (replace(side, locks=self.locks[name]) for name, side in ends)
            self.good, self.bad, result.changes = differences(*built)
        self.settable = settable_of(result.changes)
        result.most = most(len(self.settable))
        if word == BAD:
            # Both ends were made of these changes, unless what was built tells of more.
            every = frozenset(range(len(self.settable)))
            told = {every: BAD} if before == result.changes else {}
            self.tell(f"worse by {percent(result.loss or 0)}: {result.ends}")
            self._conclude(self._search(told), told)
        else:
            result.word = WORDS[word]
            if left := ", ".join(self._unset()):
                result.sentence += f"; what nobody can set is the same for both ends now: {left}"
        return result

    def _unset(self) -> list[str]:
        return [str(each) for each in self.result.changes if not each.facts]

    def _measure_ends(self) -> int:
        """Measure both ends in turn; return whether one of the metrics is worse in the bad one."""
        every = settable_of(self.result.changes)
        while self.result.runs < LOOKS:
            for name, chosen in (("good", ()), ("bad", every)):
                if why := self._again(name, chosen, 2):
                    raise Fault(f"{name.upper()} cannot be measured: {why}")
            self.result.runs = min(len(self.runs[name]) for name in ("good", "bad"))
            if self.result.runs >= FEWEST and (word := self._judge_ends()):
                return word
        self.result.sentence = (
            f"cannot tell at this cost whether there is a loss: after {self.result.runs} runs of "
            "both ends no metric is certainly worse in BAD, and not each certainly by less than "
            f"{percent(self.plan.least)}"
        )
        return CANNOT_TELL

    def _judge_ends(self) -> int:
        count, least = self.result.runs, math.log1p(self.plan.least)
        ends = [self.runs[name][:count] for name in ("good", "bad")]
        metrics = [each for each in self.signs if all(each in run for end in ends for run in end)]
        if not metrics:
            raise Fault("both ends have no metric in common that says which way is better")
        logs = [np.log([[run[each] for each in metrics] for run in end]) for end in ends]
        apart = (logs[1] - logs[0]) * [self.signs[each] for each in metrics]
        sides = [{*range(count)}, {*range(count, 2 * count)}]
        learnt = [_noise_of(np.exp(each), sides) for each in np.concatenate(logs).T]
        # Of the difference of two runs.
        past = [(math.sqrt(2) * one.spread, one.dof, one.correlation, 0.0) for one in learnt]
        error = ERROR / 2 / len(metrics)
        words, levels, spreads = decide(
            apart - 0.75 * least, np.array(past).T, alpha=error, beta=error, zone=least / 2
        )
        is_lost = words == BAD
        word = BAD if is_lost.any() else GOOD if (words == GOOD).all() else CANNOT_TELL
        if word:
            ranks = np.where(is_lost, levels / spreads, -np.inf) if word == BAD else levels
            self._follow(metrics[int(np.argmax(ranks))])
        if word == GOOD:
            self.result.sentence = (
                f"no loss between the two: of {plural(len(metrics), 'metric')} none is worse in "
                f"BAD by {percent(self.plan.least)} or more; the closest is {self.result.ends}"
            )
        return word

    def _follow(self, metric: Metric) -> None:
        """Let a metric be the one whose loss is explained."""
        result = self.result
        result.case, result.metric, result.unit = self.metric = metric
        result.good, result.bad = (self._level(name) for name in ("good", "bad"))
        self.gap = self.signs[metric] * math.log(result.bad / result.good)
        result.loss = self._loss("bad")

    def _level(self, name: str) -> float:
        return float(np.median([run[self.metric] for run in self.runs[name]]))

    def _loss(self, name: str) -> float:
        """Return by which part of the good end a set is worse."""
        return (self._level(name) / self._level("good") - 1) * self.signs[self.metric]

    def _search(self, told: dict[Changes, int]) -> Found | None:
        """Try sets until the end; None where it comes too late."""
        most, tried = self.result.most, self.result.evaluations
        while not isinstance(asked := following(len(self.settable), told), Found):
            if sum(map(bool, told.values())) >= most or len(tried) >= 2 * most:
                return None
            told[asked] = self._evaluate(asked)
        return asked

    def _evaluate(self, asked: Changes) -> int:
        name, chosen = _name(asked), [self.settable[number] for number in sorted(asked)]
        word, why = CANNOT_TELL, ""
        for times in TIMES:
            why = self._again(name, chosen, times)
            if not why and any(self.metric not in run for run in self.runs[name]):
                why = f"it measured no {self.metric[1]}"
            word = CANNOT_TELL if why else self._judge(name)
            if word or why:
                break
        value, loss = (None, None) if why else (self._level(name), self._loss(name))
        said = "" if value is None else f", {value:.4g} {self.metric[2]}, loss {_percent(loss)}"
        names, runs = tuple(each.name for each in chosen), len(self.runs[name])
        why = why or ("" if word else "its noise hides on which side it is")
        if value is None:
            del self.runs[name]
        self.result.evaluations.append(Evaluation(names, WORDS[word], runs, value, loss, why))
        self.tell(
            f"evaluation {len(self.result.evaluations)} of {self.result.most} at most: "
            f"{WORDS[word]}, {plural(runs, 'run')}{said}{why and f', {why}'}: "
            f"with {shortened(names, 4)}"
        )
        return word

    def _judge(self, name: str) -> int:
        """Tell on which side of the middle between both ends a set certainly is."""
        metric, sign = self.metric, self.signs[self.metric]
        groups = [[run[metric] for run in runs if metric in run] for runs in self.runs.values()]
        parts = [{*range(*each)} for each in pairwise(np.cumsum([0, *map(len, groups)]))]
        known = _noise_of(np.concatenate(groups), parts)
        past = [known.spread, known.dof, known.correlation, sign * known.lean]
        middle = sign * math.log(self.result.good or 1) + self.gap / 2
        beyond = sign * np.log([[run[metric]] for run in self.runs[name]]) - middle
        error = ERROR / 2 / self.result.most
        word, *_ = decide(
            beyond, np.array(past)[:, None], alpha=error, beta=error, zone=self.gap / 2
        )
        return int(word[0])

    def _again(self, name: str, chosen: Sequence[Change], times: int) -> str:
        """Measure a set so many times more; return why nothing was measured, or nothing."""
        side = self.plan.bad if chosen else self.plan.good
        environment = {"name": side.environment["name"], **mixture(self.good, self.bad, chosen)}
        self.asked[name] += 1
        cases = self.measure(name, self.asked[name], environment, times)
        self.locks[name] = locks(cases)
        found: dict[Metric, list[float]] = {}
        for case in cases:
            whole = case.passed or case.fail_phase == "performance"
            for metric in case.metrics if whole and not case.fixture else ():
                way = better(metric.unit, metric.lower, metric.upper)
                if way and is_measured(metric.value):
                    key = _REPEATED.sub("", case.name), metric.name, metric.unit
                    found.setdefault(key, []).append(metric.value)
                    self.signs[key] = 1 if way == "lower" else -1
        count = max(map(len, found.values()), default=0)
        self.runs.setdefault(name, []).extend(
            {key: values[at] for key, values in found.items() if at < len(values)}
            for at in range(count)
        )
        wrong = [each.fail_reason or each.result for each in cases if not each.passed]
        return "" if found else one_line(clipped(next(iter(wrong), "no case of it ran"), QUOTED))

    def _conclude(self, found: Found | None, told: Mapping[Changes, int]) -> None:
        """Say what the search came to."""
        result, settable = self.result, self.settable
        what = f"the loss of {percent(result.loss or 0)} of {result.metric}"
        if found is None or (not found.causes and found.rest == CANNOT_TELL):
            least = min((each for each, word in told.items() if word == BAD), key=len, default=())
            names = ", ".join(settable[each].name for each in sorted(least))
            within = f"; the smallest set that is known to have it: {names}" if names else ""
            result.sentence = f"cannot tell at this cost what explains {what}{within}"
            return
        if not found.causes:
            result.word, left = WORDS[GOOD], ", ".join(self._unset())
            rest = f"what is left cannot be tried here: {left}" if left else "nothing else differs"
            result.sentence = f"no change that can be set explains {what}; {rest}"
            return
        texts, others = [], frozenset(range(len(settable)))
        for cause in found.causes:
            units = [[settable[number] for number in sorted(unit)] for unit in cause]
            result.causes.append([[each.name for each in unit] for unit in units])
            words = " and ".join(map(_unit_text, units)) + ", together" * (len(units) > 1)
            texts.append(f"{words}: alone a loss of {self._text_of(frozenset().union(*cause))}")
            others = others.difference(*cause)
        rest = f"without {'it' if len(texts) == 1 else 'them'} {self._text_of(others)}"
        if found.rest != GOOD:
            rest = "whether the others have a loss of their own, nobody can tell"
        result.word = WORDS[BAD]
        result.sentence = f"{what} is explained by {'; and also by '.join(texts)}; {rest}"

    def _text_of(self, asked: Changes) -> str:
        """Return the loss of a set that was measured; that of all changes may be an end."""
        name = _name(asked) if asked else "good"
        return _percent(self._loss(name if name in self.runs else "bad"))


def _noise_of(values: Any, sides: Sequence[set[int]]) -> noise.Noise:
    """Return the noise of what was measured, to which `FEWEST` runs of both ends belong."""
    learnt = noise.learn(values, sides, ())
    assert learnt is not None
    return learnt


def _name(asked: Changes) -> str:
    """Return the name of a set: its numbers as bits."""
    return f"set{sum(1 << number for number in asked):x}"


def _unit_text(unit: Sequence[Change]) -> str:
    """Name a unit: a change, or those that could not be separated."""
    names = ", ".join(map(str, unit))
    several = f"one or more of {len(unit)} changes that could not be separated ({names})"
    return several if len(unit) > 1 else names


def settable_of(changes: Iterable[Change]) -> list[Change]:
    """Return the changes that can be tried."""
    return [change for change in changes if change.facts]


def _percent(loss: float | None) -> str:
    return f"{100 * (loss or 0):.1f} %"

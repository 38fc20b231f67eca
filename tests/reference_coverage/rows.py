"""The cases that each row judges, and why a row judges none."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from acceptance.core.extras import MODES
from acceptance.core.words import read_metric
from acceptance.references import PARAMETERS, Library, Reference, judged_as_published
from acceptance.site.doctor import STATED
from acceptance.suites import check_of, has_check
from tests.reference_coverage.listing import ListedCase

#: More values than these are not listed in a reason.
_FEW = 12


class Why(Enum):
    """A reason; its value is the word for it."""

    DOCTOR = "the doctor judges"
    HARDWARE = "hardware fact"
    PROGRAM = "no program"
    METRIC = "no metric"
    PARTITION = "no partition"
    WORDS = "size in words"
    KEY = "parameter never run"
    STRICTER = "another row judges"
    BOUND = "cannot fail"
    CASE = "no case"


@dataclass(frozen=True)
class Judged:
    """A case, and those of its metrics that a row judges."""

    case: ListedCase
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class CoveredRow:
    """A row with what it judges; where that is nothing, `why` and `detail` say the reason.

    `simulated`: it judges results of the model of its system, too.
    """

    row: Reference
    judged: tuple[Judged, ...]
    why: Why | None = None
    detail: str = ""
    simulated: bool = False

    @property
    def modes(self) -> tuple[str, ...]:
        """Return the modes in which a case runs that the row judges, the shortest one first."""
        run = {mode for judged in self.judged for mode in judged.case.modes}
        return tuple(mode for mode in MODES if mode in run)

    @property
    def check(self) -> str:
        """Return the file of the check whose metric this is; empty if there is none."""
        return check_of(self.row.benchmark, self.row.metric) or ""


def cover_rows(
    rows: Iterable[Reference],
    library: Library,
    cases: Sequence[ListedCase],
    models: Collection[str] = (),
) -> list[CoveredRow]:
    """Return each row with what it judges of the cases, or why it judges nothing.

    `models` are the systems that have a simulated one, which runs the same cases.
    """
    judging: dict[tuple[str, int], list[Judged]] = defaultdict(list)
    places: dict[tuple[str, ...], list[ListedCase]] = defaultdict(list)
    for case in cases:
        places[case.system, case.partition, case.benchmark].append(case)
        metrics: dict[tuple[str, int], list[str]] = defaultdict(list)
        for name, place in case.judged.items():
            metrics[place].append(name)
        for place, names in metrics.items():
            judging[place].append(Judged(case, tuple(names)))
    covered = []
    for row in rows:
        if judged := judging.get((str(row.path), row.line)):
            simulated = row.system in models and any(_of_model(row, each.case) for each in judged)
            covered.append(CoveredRow(row, tuple(judged), simulated=simulated))
        else:
            there = places[row.system, row.partition, row.benchmark]
            covered.append(CoveredRow(row, (), *_reason(row, library, there)))
    return covered


def _of_model(row: Reference, case: ListedCase) -> bool:
    """Tell whether a row judges such a case of the model, which has an environment of its own."""
    return "environment" not in row.parameters and judged_as_published(
        row.benchmark, row.metric, case.keys
    )


def _reason(row: Reference, library: Library, cases: Sequence[ListedCase]) -> tuple[Why, str]:
    """Return why a row judges none of the cases of its partition and benchmark."""
    if row.benchmark == "hardware" and (key := STATED.get(row.metric)):
        return Why.DOCTOR, f"acceptance doctor compares it with `{key}` of the partition"
    if row.benchmark == "hardware":
        return Why.HARDWARE, "a fact of the machine, which nothing measures"
    if not has_check(row.benchmark):
        return Why.PROGRAM, f"no check runs {row.benchmark}"
    if check_of(row.benchmark, row.metric) is None:
        return Why.METRIC, f"{row.benchmark} has no metric {row.metric}"
    if not row.partition:
        return Why.PARTITION, "the paper does not say of which partition it is"
    if "sizes" in row.parameters:
        return Why.WORDS, "the message size is a word; such rows judge nothing"
    if not cases:
        return Why.CASE, f"no case of {row.benchmark} runs on {row.system}:{row.partition}"
    results = list(_results(row.metric, cases))
    if not results:
        faults = {case.fault for case in cases if case.fault}
        return Why.CASE, "; ".join(sorted(faults)) or f"no case has the metric {row.metric}"
    fitting = [case for case, keys in results if row.fits(keys)]
    if not fitting:
        return Why.KEY, _never_run(row, [keys for _, keys in results])
    if library.thresholds(row) is None:
        return Why.BOUND, f"{row.relation} {row.value:g} {row.unit}: nothing is worse than that"
    rows = {case.judged[name] for case in fitting for name in case.judged}
    lines = sorted(line for path, line in rows if path == str(row.path))
    if lines:
        return Why.STRICTER, f"line {', '.join(map(str, lines))} judges the same results"
    return Why.CASE, "the check leaves it out (too small a problem, another mapping)"


def _results(
    metric: str, cases: Iterable[ListedCase]
) -> Iterator[tuple[ListedCase, Mapping[str, str]]]:
    """Yield each case with the keys of its results of a metric, one for each message size."""
    for case in cases:
        for name in case.metrics:
            stem, own = read_metric(name)
            if stem == metric:
                yield case, {**case.keys, "environment": case.environment, **own}


def _never_run(row: Reference, results: Sequence[Mapping[str, str]]) -> str:
    """Name the parameters of a row that no result has, with the values that results have."""
    if all("message_size" in keys for keys in results) and "message_size" not in row.parameters:
        return "the paper prints no message size"
    missing = []
    for key, value in row.parameters.items():
        values = {keys[key] for keys in results if key in keys}
        if not values:
            missing.append(f"no case has the key {key}")
        elif value not in values:
            run = sorted(values, key=lambda text: (len(text), text))
            shown = f"{', '.join(run[:_FEW])}{', ...' if len(run) > _FEW else ''}"
            missing.append(f"{key}={value} is not run, but {shown}")
    return "; ".join(missing) or f"no case has {_text(row.parameters)} together"


def _text(parameters: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={parameters[key]}" for key in PARAMETERS if key in parameters)

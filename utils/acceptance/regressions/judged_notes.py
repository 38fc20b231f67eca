"""What is worth a note about series that are judged only in part, or not at all."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from acceptance.detection.constants import RECENT
from acceptance.regressions.history.series import CaseHistory, Series, day
from acceptance.regressions.progress import Progress


def impossible(cases: Iterable[CaseHistory]) -> Iterator[str]:
    """Tell which values are no measurement."""
    never: list[str] = []
    partly: Counter[str] = Counter()
    for case in cases:
        for series in case.series:
            if series.impossible and not series.count:
                never.append(series.name)
            elif series.impossible:
                partly[series.name] = series.impossible
    if never:
        more = f" and {len(never) - 1} more" if len(never) > 1 else ""
        yield (f"never more than 0, or no numbers, and not judged: {never[0]}{more}")
    if partly:
        name, count = partly.most_common(1)[0]
        more = f", and {len(partly) - 1} more series have some" if len(partly) > 1 else ""
        yield (
            f"values that are no measurement (0, below, or no number) are left out: {count} of "
            f"{name}{more}"
        )


def moved(series: Sequence[Series], progress: Progress, now: float) -> Iterator[str]:
    """Tell what moved of the series of which nobody said what is better; that is no alert."""
    found = []
    for one in series:
        for change in progress.changes(one)[-1:]:
            if now - one.samples[change.start].time < RECENT:
                when = day(one.samples[change.start].time)
                found.append(
                    f"{one.name}: {change.before:.4g} -> {change.after:.4g} {one.unit} since {when}"
                )
    if found:
        more = f"; and {len(found) - 1} more" if len(found) > 1 else ""
        yield (f"moved, though nothing says which way is better: {found[0]}{more}")

"""Comparisons: of each system the newest session with the one before, and those that are asked for.

What is compared and what is more than noise is decided in `comparison`; here it is drawn.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import msgspec

from acceptance.core.groups import grouped
from acceptance.core.text import bytes_text, plural
from acceptance.core.words import is_simulated
from acceptance.regressions.history import Series
from acceptance.relations.comparison import TOLD, WORDS, Comparison, Row, Starts, Word, compare
from acceptance.relations.sides import SideFault, read
from acceptance.report import addresses
from acceptance.report.plot_model import (
    Axis,
    Mark,
    Page,
    Plot,
    Sample,
    Trace,
)
from acceptance.report.source import Source

GROUP = "Compare"
#: How words look that do not look open.
LOOKS: dict[Word, str] = {"worse": "bad", "better": "good", "same": "none", "only in B": "none"}
#: Rows of a word that stand in the page; the JSON has all of them.
MOST_ROWS = 500


def pages(source: Source) -> list[Page]:
    """Return a page for each comparison that was asked for, and for each system."""
    made = [
        _page(source, f"{a} and {b}", f"{b} compared with {a}", a, b)
        for a, b in source.comparisons
    ]  # fmt: skip
    sessions = source.history.sessions
    systems = sorted({name for session in sessions for name in session.systems})
    made += [_of_system(source, system) for system in systems]
    if not systems:
        made.append(_empty("nothing", "Compare", "No session is stored: nothing was measured."))
    return made


def _of_system(source: Source, system: str) -> Page:
    """Return the page that compares the newest run of a system with one before of the same things.

    A run of something that was not measured before is passed over, unless there is none else.
    """
    title = f"{system}: the newest run and the one before"
    own = [one for one in reversed(source.history.sessions) if system in one.systems]
    runs = [*dict.fromkeys(one.run for one in own)]
    if len(runs) < 2:
        nothing = (
            f"{system} has one run only. With the next one this page compares them; "
            "`acceptance report --compare A B` adds any other two sides."
        )
        return _empty(system, title, nothing)
    newest: dict[tuple[str, ...], str] = {}
    alike = (
        (newest[one.selection], one.run)
        for one in own
        if newest.setdefault(one.selection, one.run) != one.run
    )
    after, before = next(alike, runs[:2])
    return _page(source, system, title, f"{system}@{before}", f"{system}@{after}")


def _empty(name: str, title: str, nothing: str, *, empty: bool = True) -> Page:
    why = {"nothing": nothing, "found": None}
    return Page(addresses.page("compare", name), title, "compare.html.j2", GROUP, why, empty=empty)


def _page(source: Source, name: str, title: str, a: str, b: str) -> Page:
    """Return the page of a comparison: `name` is that in its address."""
    try:
        found = compare(
            source.history, read(a), read(b),
            system=source.system, starts=_starts(source),
        )  # fmt: skip
    except SideFault as err:
        source.note(f"compare {a} {b}: {err}")
        return _empty(name, title, f"Not compared: {err}", empty=False)
    path = addresses.page("compare", name)
    data, (look, said) = addresses.data(path, "all", "json"), _result(found)
    context: dict[str, Any] = {
        "found": found,
        "listed": {word: _groups(rows) for word in WORDS if (rows := found.of(word))},
        "looks": LOOKS,
        "told": TOLD,
        "look": look,
        "said": said,
        "json": data,
        "most": MOST_ROWS,
        "source": source,
    }
    plots = tuple(_plots(found, source))
    files = {data: msgspec.json.encode(found).decode()}
    return Page(path, title, "compare.html.j2", GROUP, context, plots, files, found.simulated)


def _starts(source: Source) -> Starts:
    def starts(series: Series) -> list[int]:
        progress = source.judgements[is_simulated(series.case.key.system)].progress
        return [] if progress is None else [one.start for one in progress.scan(series).changes]

    return starts


def _result(found: Comparison) -> tuple[str, str]:
    """Return the look of the result, and it in a line; what was not looked at is no pass."""
    worse = found.counts["worse"]
    if worse:
        return "bad", f"{plural(worse, 'metric')} worse"
    failed = f"{plural(len(found.failed), 'case')} of A failed in B" if found.failed else ""
    if why := found.why_none or failed:
        return "open", f"cannot judge: {why}"
    return "good", "nothing worse"


def place(row: Row) -> str:
    """Return where a row was measured, on both sides if these differ."""
    return " | ".join(dict.fromkeys(one.where for one in (row.a, row.b) if one is not None))


def _groups(rows: Iterable[Row]) -> list[tuple[str, str, list[Row]]]:
    """Return rows by their cases: name, place and rows; up to `MOST_ROWS` of them."""
    groups = grouped(islice(rows, MOST_ROWS), lambda row: (row.check, place(row)))
    return [(*name, sorted(those, key=_by_size)) for name, those in groups.items()]


def _by_size(row: Row) -> tuple[str, int]:
    return row.stem, row.size or 0


def _plots(found: Comparison, source: Source) -> Iterator[Plot]:
    """Yield the ratios over message size of each metric; those that differ come first."""
    ratios = (row for row in found.rows if row.ratio is not None and row.size)
    groups = grouped(ratios, lambda row: (row.check, place(row), row.stem))
    several = [(name, rows) for name, rows in groups.items() if len(rows) > 1]
    for number, ((check, where, stem), rows) in enumerate(several):
        rows.sort(key=_by_size)
        yield _plot(f"ratio-{number}", f"{stem}: {check}, {where}", rows, found, source)


def _plot(id: str, title: str, rows: list[Row], found: Comparison, source: Source) -> Plot:
    ratios = [
        Sample(float(row.size or 0), row.ratio, row.word,
               source.address(row.b.session) if row.b else "")
        for row in rows
    ]  # fmt: skip
    noise = [Sample(float(row.size or 0), 1.0, low=row.low, high=row.high)
             for row in rows if row.low is not None and row.high is not None]  # fmt: skip
    ratio = Trace("B/A", ratios, simulated=found.simulated)
    band = Trace("noise", noise, "earlier sessions", "band", simulated=found.simulated)
    return Plot(
        id, title, _summary(rows),
        Axis("message size", "B", "log"), Axis("B/A", free=True),
        (band, ratio) if noise else (ratio,),
        (Mark("one", "1: B is as A", y=1.0),),
        _caption(rows),
        on_demand=not any(row.word in TOLD for row in rows),
    )  # fmt: skip


def _summary(rows: list[Row]) -> str:
    """Say in a sentence what is seen: how many sizes are worse, and where it is farthest."""
    told, count = [row for row in rows if row.word in TOLD], Counter(row.word for row in rows)
    if not told:
        unknown = count["cannot tell"]
        rest = f"; of {unknown} nothing can be told" if unknown else ""
        return f"None of {plural(len(rows), 'size')} is known to differ{rest}."
    far = max(told, key=lambda row: abs((row.ratio or 1.0) - 1))
    words = ", ".join(f"{count[word]} {word}" for word in TOLD if count[word])
    return (
        f"Of {plural(len(rows), 'size')} {words}; the farthest is {bytes_text(far.size or 0)}, "
        f"where B is {far.ratio:.3f} of A."
    )


def _caption(rows: list[Row]) -> str:
    row = rows[0]
    if row.direction is None:
        return f"{row.unit or 'No unit'}; nothing tells which way is better."
    better = "above" if row.direction == "higher" else "below"
    return f"{row.unit}: {row.direction} is better, so that B is better {better} 1."

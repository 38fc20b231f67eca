"""`acceptance compare`: two sides beside each other, and what is more than their noise."""

import argparse
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from acceptance.cli.shared import (
    FORMS,
    Columns,
    Commands,
    add_command,
    add_sources,
    columns_of_terminal,
    emit,
    judgements,
    option,
    read,
)
from acceptance.core.groups import grouped
from acceptance.core.text import plural, shortened, table, wrapped
from acceptance.core.words import is_simulated
from acceptance.regressions.history import Series
from acceptance.relations import sides
from acceptance.relations.comparison import (
    CHANCE,
    NIGHTS,
    TOLD,
    WORDS,
    Comparison,
    Row,
    compare,
    percent,
)
from acceptance.verdict import Status

_EXAMPLES = """
  acceptance compare last-1 last                 # the last two runs
  acceptance compare night-1 night               # the last two nights, whatever runs each had
  acceptance compare old-cluster new-cluster     # two systems, the last 7 nights of each
  acceptance compare +openmpi +mpich             # two MPIs of one machine
  acceptance compare 2026-10-01..2026-10-31 2026-11-01..       # before and after a day
  acceptance compare ,openmpi!=5.0.6 ,openmpi=5.0.6    # without a version, and with it
"""
#: Lines of a table of one word, and where text begins.
_ROWS, _INDENT = 25, 12


def add(commands: Commands) -> None:
    """Add the subcommand."""
    width = max(len(form) for form, _ in sides.FORMS)
    forms = "\n".join(f"  {form:{width}}  {meaning}" for form, meaning in sides.FORMS)
    command = add_command(
        commands,
        "compare",
        run,
        "Of each metric it tells the ratio of B to A, and\nwhether that is more than noise. "
        f"A and B are each of one of these forms.\n\n{forms}\n\nexamples:\n{_EXAMPLES}\n"
        "Noise is learnt from the past of each metric. Of all metrics together, a word `worse`,\n"
        f"`better` or `differs` is wrong with a probability of at most {100 * CHANCE:.0f} %\n"
        "(Holm 1979). Of a side of fewer than 3 runs it may be an outlier, which is said.",
        forms=FORMS,
        failed="something is worse in B",
        others="2 also where nothing could be compared, or a case of A failed in B",
    )
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.epilog = textwrap.fill(str(command.epilog), 80)
    option(command, "A", "a side; see above", dest="a")
    option(command, "B", "a side; see above", dest="b")
    option(command, "--nights N", f"nights of a side that names no time ({NIGHTS})", default=NIGHTS)
    option(command, "--all", "a line for each metric, same or not")
    add_sources(command)


def run(options: argparse.Namespace) -> int:
    """Compare two sessions, systems, MPIs or times."""
    a, b = sides.read(options.a), sides.read(options.b)
    history = read(options, whole=True)
    judged = judgements(options, history)

    def starts(series: Series) -> list[int]:
        """Return the samples after which the level changed, as `history` shows them."""
        progress = judged(is_simulated(series.case.key.system)).progress
        return [] if progress is None else [one.start for one in progress.scan(series).changes]

    found = compare(history, a, b, nights=options.nights, system=options.system, starts=starts)
    lines = _listing(found, everything=options.all)
    emit(options, found.rows, _COLUMNS, lines, found, page=True)
    if found.counts["worse"]:
        return Status.FAILED
    return Status.CANNOT_JUDGE if not found.judged or found.failed else Status.PASSED


def _listing(found: Comparison, *, everything: bool) -> Iterator[str]:
    """Yield the whole comparison; each line that is left out is counted."""
    for label, text in _facts(found):
        yield from wrapped(label, text, _INDENT)
    for word in WORDS:
        if rows := found.of(word):
            cases = grouped(rows, _case)
            yield f"\n{word}: {plural(len(rows), 'metric')} of {plural(len(cases), 'case')}"
            yield from _tables(cases, everything) if everything or word in TOLD else _whys(rows)
    yield ""
    if found.failed:
        yield from wrapped("failed", f"in B, and not in A: {'; '.join(found.failed)}", _INDENT)
    counts = ", ".join(f"{found.counts[word]} {word}" for word in WORDS)
    yield from wrapped("total", counts, _INDENT)


def _facts(found: Comparison) -> Iterator[tuple[str, str]]:
    """Yield what was compared, and how, with a label for each."""
    for name, side in (("A", found.a), ("B", found.b)):
        yield name, f"{'SIMULATED, ' if side.simulated else ''}{side.described}"
        if side.software:
            yield "", f"of {shortened(side.software, 3)}"
    yield "the same", ", ".join(found.matched)
    differs = "; ".join(f"{name}: {a} in A, {b} in B" for name, (a, b) in found.differs.items())
    yield "differs", differs or "nothing of the place"
    if found.judged:
        chance = f"at most {100 * found.chance:.0f} % (Holm), {found.level:.2g} for each"
        count = plural(found.judged, "metric")
        yield "judged", f"{count}; any false word among all of them: {chance}"
    else:
        yield "judged", f"nothing: {found.why_none}"
    for note in found.notes:
        yield "note", note


def _tables(cases: Mapping[str, list[Row]], everything: bool) -> Iterator[str]:
    """Yield a table for each case; that with the farthest ratio comes first."""
    ordered: list[Row] = []
    for rows in cases.values():
        ordered += sorted(rows, key=lambda row: (row.stem, row.size or 0))
    shown = ordered if everything else ordered[:_ROWS]
    for case, rows in grouped(shown, _case).items():
        cells = [[cell(row) for cell in _CELLS.values()] for row in rows]
        yield f"  {case}"
        yield textwrap.indent(table([*_CELLS], cells, width=columns_of_terminal() - 4), "    ")
    if len(shown) < len(ordered):
        yield f"  ... and {len(ordered) - len(shown)} more: --all shows them"


def _whys(rows: list[Row]) -> Iterator[str]:
    """Yield how far the ratios of rows go, in how much noise, and why others are not judged."""
    if ratios := [row.ratio for row in rows if row.ratio is not None]:
        widest = max(row.high or 0 for row in rows)
        noise = f", noise up to {percent(widest - 1)}" if widest else ""
        yield f"  B/A {min(ratios):.3f} to {max(ratios):.3f}{noise}"
    for why, count in Counter(row.why for row in rows if row.why and not row.high).items():
        yield from wrapped("", f"{count}: {why}", 2)
    yield "  --all shows each"


def _case(row: Row) -> str:
    return f"{row.check}  {_where(row)}"


def _where(row: Row) -> str:
    return " | ".join(dict.fromkeys(one.where for one in (row.a, row.b) if one is not None))


def _noise(row: Row) -> str:
    """Return the band of a ratio that is chance, and what is to be known of the row."""
    known = row.low is not None and row.high is not None
    band = f"{row.low:.3f} to {row.high:.3f}" if known else "unknown"
    return f"{band}: {row.why}" if row.why else band


_CELLS: dict[str, Callable[[Row], str]] = {
    "metric": lambda row: row.metric,
    "A": lambda row: f"{row.a.value:.4g}" if row.a else "-",
    "B": lambda row: f"{row.b.value:.4g}" if row.b else "-",
    "unit": lambda row: row.unit,
    "B/A": lambda row: f"{row.ratio:.3f}" if row.ratio else "-",
    "noise": _noise,
}
_COLUMNS: Columns = {
    "check": "check",
    "where": _where,
    "result": lambda row: row.word,
    **_CELLS,
}

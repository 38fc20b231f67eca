"""`acceptance compare`: two sides beside each other, and what is more than their noise."""

import argparse
import textwrap
from collections.abc import Callable, Iterator

from acceptance.cli.arguments import (
    Commands,
    add_command,
    add_sources,
    judgements,
    option,
    read,
)
from acceptance.cli.output import Columns, columns_of_terminal, emit
from acceptance.core.text import plural, shortened, table, wrapped
from acceptance.core.words import is_simulated
from acceptance.regressions.history import Series
from acceptance.relations import sides
from acceptance.relations.comparison import (
    CHANCE,
    NIGHTS,
    Comparison,
    Row,
    SideFacts,
    Word,
    compare,
    percent,
)
from acceptance.relations.sides import FORMS
from acceptance.verdict import Status

_EXAMPLES = """
  acceptance compare last-1 last                 # the last two runs
  acceptance compare night-1 night               # the last two nights, whatever runs each had
  acceptance compare old-cluster new-cluster     # two systems, the last 7 nights of each
  acceptance compare +openmpi +mpich             # two MPIs of one machine
  acceptance compare 2026-10-01..2026-10-31 2026-11-01..       # before and after a day
  acceptance compare ,openmpi!=5.0.6 ,openmpi=5.0.6    # without a version, and with it
"""
#: Words of what is more than noise.
_TOLD = (Word.WORSE, Word.BETTER, Word.DIFFERS)
#: Lines of a table of one word, and where text begins.
_ROWS, _INDENT = 25, 12


def add(commands: Commands) -> None:
    """Add the subcommand."""
    width = max(len(form) for form, _ in FORMS)
    forms = "\n".join(f"  {form:{width}}  {meaning}" for form, meaning in FORMS)
    command = add_command(
        commands,
        "compare",
        run,
        "Of each metric it tells the ratio of B to A, and\nwhether that is more than noise. "
        f"A and B are each of one of these forms.\n\n{forms}\n\nexamples:\n{_EXAMPLES}\n"
        "Noise is learnt from the past of each metric. Of all metrics together, a word `worse`,\n"
        f"`better` or `differs` is wrong with a probability of at most {100 * CHANCE:.0f} %\n"
        "(Holm 1979). Of a side of fewer than 3 runs it may be an outlier, which is said.",
        forms=("text", "csv", "json"),
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
    if options.format == "text":
        print("\n".join(_listing(found, everything=options.all)))
    else:
        emit(options, found.rows, _COLUMNS, data=found)
    if found.counts[Word.WORSE]:
        return Status.FAILED
    return Status.CANNOT_JUDGE if not found.judged or found.failed else Status.PASSED


def _listing(found: Comparison, *, everything: bool) -> Iterator[str]:
    """Yield the whole comparison; each line that is left out is counted."""
    yield from _side("A", found.a)
    yield from _side("B", found.b)
    yield from _matched(found)
    if not found.judged:
        yield from wrapped("judged", _nothing(found), _INDENT)
    else:
        yield from wrapped(
            "judged",
            f"{plural(found.judged, 'metric')}; any false word among all of them: at most "
            f"{100 * found.chance:.0f} % (Holm), {found.level:.2g} for each",
            _INDENT,
        )
    for note in found.notes:
        yield from wrapped("note", note, _INDENT)
    for word in Word:
        if rows := found.of(word):
            cases = plural(len({_case(row) for row in rows}), "case")
            yield ""
            yield f"{word.value}: {plural(len(rows), 'metric')} of {cases}"
            yield from _table(rows, everything) if everything or word in _TOLD else _counted(rows)
    if found.failed:
        yield ""
        yield from wrapped("failed", f"in B, and not in A: {'; '.join(found.failed)}", _INDENT)
    counts = ", ".join(f"{found.counts[word]} {word.value}" for word in Word)
    yield ""
    yield from wrapped("total", counts, _INDENT)


def _side(name: str, side: SideFacts) -> list[str]:
    simulated = "SIMULATED, " if side.simulated else ""
    lines = wrapped(name, f"{simulated}{side.described}", _INDENT)
    if side.software:
        lines += wrapped("", f"of {shortened(side.software, 3)}", _INDENT)
    return lines


def _matched(found: Comparison) -> list[str]:
    lines = wrapped("the same", ", ".join(found.matched), _INDENT)
    differs = "; ".join(f"{name}: {a} in A, {b} in B" for name, (a, b) in found.differs.items())
    return lines + wrapped("differs", differs or "nothing of the place", _INDENT)


def _nothing(found: Comparison) -> str:
    if not any(row.a and row.b for row in found.rows):
        return "nothing: A and B have no metric in common"
    return "nothing: of no metric that both have is the noise known, and small enough to tell"


def _table(rows: list[Row], everything: bool) -> Iterator[str]:
    """Yield a line for each metric, below its case; that with the farthest ratio comes first."""
    ranks = {name: rank for rank, name in enumerate(dict.fromkeys(map(_case, rows)))}
    ordered = sorted(rows, key=lambda row: (ranks[_case(row)], row.stem, row.size or 0))
    shown = ordered if everything else ordered[:_ROWS]
    header, *cells = zip(*((name, *map(cell, shown)) for name, cell in _CELLS.items()), strict=True)
    head, rule, *lines = table(header, cells, width=columns_of_terminal() - 4).splitlines()
    yield f"    {head}"
    yield f"    {rule}"
    last = ""
    for row, line in zip(shown, lines, strict=False):
        if _case(row) != last:
            last = _case(row)
            yield f"  {last}"
        yield f"    {line}"
    yield from (f"    {line}" for line in lines[len(shown) :])
    if len(shown) < len(rows):
        yield f"  ... and {len(rows) - len(shown)} more: --all shows them"


def _counted(rows: list[Row]) -> Iterator[str]:
    """Yield a line for each check: how many metrics, between which ratios, in how much noise."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.check, _where(row), "" if row.high else row.why), []).append(row)
    cells = []
    for (check, where, why), those in [*groups.items()][:_ROWS]:
        ratios = [row.ratio for row in those if row.ratio is not None]
        span = f"{min(ratios):.3f} to {max(ratios):.3f}" if ratios else "-"
        widest = max((row.high or 0 for row in those), default=0)
        noise = f"up to {percent(widest - 1)}" if widest and not why else why
        cells.append((check, len(those), span, noise, where))
    text = table(
        ("check", "metrics", "B/A", "noise", "where"), cells, width=columns_of_terminal() - 2,
        remedy="--all shows each metric, --format json all",
    )  # fmt: skip
    yield from (f"  {line}" for line in text.splitlines())
    if len(groups) > _ROWS:
        yield f"  ... and {len(groups) - _ROWS} more checks: --all shows them"


def _where(row: Row) -> str:
    return " | ".join(dict.fromkeys(one.where for one in (row.a, row.b) if one is not None))


def _case(row: Row) -> str:
    return f"{row.check}  {_where(row)}"


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
    "result": lambda row: row.word.value,
    **_CELLS,
}

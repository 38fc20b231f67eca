"""A comparison as text: its sides, what is worse and better, and what could not be told."""

import argparse
from collections.abc import Iterable, Sequence

from acceptance.comparison import Comparison, Row, SideFacts, Word, percent
from acceptance.core.text import WIDTH, plural, shortened, table, wrapped

#: Words of what is more than noise.
_TOLD = (Word.WORSE, Word.BETTER, Word.DIFFERS)
#: Lines of a table of one word, and where text begins.
_ROWS, _INDENT = 25, 12


def listing(found: Comparison, options: argparse.Namespace) -> str:
    """Return the whole comparison; each line that is left out is counted."""
    lines = [*_side("A", found.a), *_side("B", found.b), *_matched(found)]
    if not found.judged:
        lines += wrapped("judged", _nothing(found), _INDENT)
    else:
        lines += wrapped(
            "judged",
            f"{plural(found.judged, 'metric')}; any false word among all of them: at most "
            f"{100 * found.chance:.0f} % (Holm), {found.level:.2g} for each",
            _INDENT,
        )
    for note in found.notes:
        lines += wrapped("note", note, _INDENT)
    most = None if options.all else _ROWS
    for word in _TOLD:
        lines += _table(word, found.of(word), most)
    for word in (Word.SAME, Word.UNKNOWN):
        lines += _table(word, found.of(word), None) if options.all else _groups(found, word)
    for word in (Word.ONLY_A, Word.ONLY_B):
        lines += _only(found.of(word), word, everything=options.all)
    if found.failed:
        lines += ["", *wrapped("failed", f"in B, and not in A: {'; '.join(found.failed)}", _INDENT)]
    counts = ", ".join(f"{found.counts[word]} {word.value}" for word in Word)
    return "\n".join([*lines, "", *wrapped("total", counts, _INDENT)])


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


def _table(word: Word, rows: Sequence[Row], most: int | None) -> Iterable[str]:
    """Yield rows below the names of their cases; the case with the farthest ratio comes first."""
    if not rows:
        return
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(f"{row.check}  {_where(row)}", []).append(row)
    ordered = [
        (name, row)
        for name, those in groups.items()
        for row in sorted(those, key=lambda row: (row.stem, row.size or 0))
    ]
    shown = ordered[:most]
    yield ""
    yield f"{word.value}: {plural(len(rows), 'metric')} of {plural(len(groups), 'case')}"
    header = ("metric", "A", "B", "unit", "B/A", "noise")
    cells = [_cells(row) for _, row in shown]
    head, rule, *lines = table(header, cells, width=WIDTH - 4).splitlines()
    yield f"    {head}"
    yield f"    {rule}"
    last = ""
    for (name, _), line in zip(shown, lines, strict=False):
        if name != last:
            yield f"  {name}"
        last = name
        yield f"    {line}"
    yield from (f"    {line}" for line in lines[len(shown) :])
    if len(shown) < len(rows):
        yield f"  ... and {len(rows) - len(shown)} more: --all shows them"


def _where(row: Row) -> str:
    places = (one.where for one in (row.a, row.b) if one is not None)
    return " | ".join(dict.fromkeys(places))


def _cells(row: Row) -> tuple[str, ...]:
    a, b = (f"{one.value:.4g}" if one else "-" for one in (row.a, row.b))
    ratio = f"{row.ratio:.3f}" if row.ratio else "-"
    why = f": {row.why}" if row.why else ""
    return row.metric, a, b, row.unit, ratio, f"{noise_text(row)}{why}"


def noise_text(row: Row) -> str:
    """Return the band of a ratio that is chance."""
    if row.low is None or row.high is None:
        return "unknown"
    return f"{row.low:.3f} to {row.high:.3f}"


def _groups(found: Comparison, word: Word) -> Iterable[str]:
    """Yield what is the same, or not known, in a line for each check."""
    rows = found.of(word)
    if not rows:
        return
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        place = row.b.where if row.b else ""
        groups.setdefault((row.check, place, "" if row.high else row.why), []).append(row)
    yield ""
    yield f"{word.value}: {plural(len(rows), 'metric')}"
    cells = []
    for (check, place, why), those in list(groups.items())[:_ROWS]:
        ratios = [row.ratio for row in those if row.ratio is not None]
        span = f"{min(ratios):.3f} to {max(ratios):.3f}" if ratios else "-"
        widest = max((row.high or 0 for row in those), default=0)
        known = f"up to {percent(widest - 1)}" if widest and not why else why
        cells.append((check, len(those), span, known, place))
    text = table(
        ("check", "metrics", "B/A", "noise", "where"), cells, width=WIDTH - 2,
        remedy="--all shows each metric, --format json all",
    )  # fmt: skip
    yield from (f"  {line}" for line in text.splitlines())
    if len(groups) > _ROWS:
        yield f"  ... and {len(groups) - _ROWS} more checks: --all shows them"


def _only(rows: Sequence[Row], word: Word, *, everything: bool) -> Iterable[str]:
    if not rows:
        return
    groups: dict[str, list[Row]] = {}
    for row in rows:
        place = row.a or row.b
        groups.setdefault(f"{row.check} at {place.where if place else ''}", []).append(row)
    yield ""
    yield f"{word.value}: {plural(len(rows), 'metric')} of {plural(len(groups), 'case')}"
    shown = list(groups.items())[: None if everything else _ROWS]
    for name, those in shown:
        metrics = shortened((row.metric for row in those), len(those) if everything else 3)
        why = f"; {those[0].why}" if those[0].why else ""
        yield from wrapped("", f"{name}: {metrics}{why}", 2)
    if len(shown) < len(groups):
        yield f"  ... and {len(groups) - len(shown)} more cases: --all shows them"

"""`acceptance history`: the past of metrics, and when they changed."""

import argparse
import difflib
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

from acceptance.alerts import HISTORY
from acceptance.cli.arguments import (
    Commands,
    add_command,
    add_sources,
    judgements,
    option,
    read,
)
from acceptance.cli.output import Columns, columns_of_terminal, emit
from acceptance.core.errors import Fault
from acceptance.core.text import WIDTH, plural, shortened, table, wrapped
from acceptance.core.words import is_simulated
from acceptance.detection import Scan
from acceptance.regressions import Judgement
from acceptance.regressions.history import Series, day, software_text
from acceptance.verdict import Status

#: Series that are shown, and samples of a table.
SHOWN, SAMPLES = 20, 30
#: Names that are near to one that there is not.
_NEAR = 4
#: From the smallest value to the largest; the second is for a terminal without UTF-8.
BLOCKS, PLAIN = "▁▂▃▄▅▆▇█", "_.,-=*#@"


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "history",
        run,
        forms=("text", "csv", "json"),
        failed="a session cannot be read, or is not what was stored",
    )
    option(
        command,
        "metric",
        "pattern (*, ?) of a metric, check, benchmark, partition or environment; several of them "
        "joined by / must all fit: 'PingPong/latency_8'",
        nargs="*",
    )
    add_sources(command)


def run(options: argparse.Namespace) -> int:
    """Show past values of metrics, and when their level changed."""
    history = read(options, whole=True)
    chosen = sorted(
        (
            series
            for series in history.series
            if options.system in (None, series.case.key.system) and fits(series, options.metric)
        ),
        key=lambda series: series.name,
    )
    if not chosen:
        asked = ", ".join(options.metric) or "anything"
        near = [near for pattern in options.metric for near in nearest(history.series, pattern)]
        raise Fault(
            "; ".join([f"no series fits {asked}", *near, *filter(None, [history.left_out])])
        )
    # By the same judge as the gate: what that alarms is shown here.
    judged = judgements(options, history)
    shown = chosen[:SHOWN] if options.format == "text" else chosen
    past = [(one, _data(one, judged(is_simulated(one.case.key.system)))) for one in shown]
    parts = sorted({is_simulated(one.case.key.system) for one in chosen})
    faults = [judged(simulated).fault for simulated in parts]
    notes = [*history.notes, *dict.fromkeys(filter(None, faults))]
    if options.format == "text":
        print(_listing(past, notes, len(chosen) - len(shown)))
    elif options.format == "json":
        emit(options, [data for _, data in past], {})
    else:
        samples = [
            {"series": series.name, "unit": series.unit, **sample}
            for series, data in past
            for sample in data["samples"]
        ]
        emit(options, samples, _COLUMNS)
    return Status.FAILED if history.faults else Status.PASSED


def _listing(past: Sequence[tuple[Series, dict[str, Any]]], notes: Iterable[str], more: int) -> str:
    lines = [f"note     {note}\n" for note in notes]
    lines.append("\n\n".join("\n".join(_lines(*one)) for one in past))
    if len(past) == 1:  # the samples of one series are what was asked for
        lines += ["\n\n", *_last_samples(past[0][1])]
    if more:
        lines.append(f"\n\n... and {more} more series: --format json has all")
    return "".join(lines)


def fits(series: Series, patterns: Sequence[str]) -> bool:
    """Tell whether one of the patterns fits; all parts of it, between slashes, must."""
    names = _names(series)
    return not patterns or any(
        all(any(fnmatchcase(name, part) for name in names) for part in pattern.split("/"))
        for pattern in patterns
    )


def _names(series: Series) -> tuple[str, ...]:
    """Return the names of a series; the last three of them are made of the others."""
    key, benchmark = series.case.key, series.case.benchmark
    places = (key.system, key.partition, key.environment, f"{key.system}:{key.partition}")
    checks = (key.check.split(" ")[0], benchmark.split(".")[-1], benchmark)
    return (series.metric, *checks, *places, key.check, key.where, series.name)


def nearest(history: Iterable[Series], pattern: str) -> Iterator[str]:
    """Yield why a pattern fits none of the series: parts that nothing is named, and what is near.

    What is near belongs to series that the other parts fit.
    """
    series = [*history]
    parts = {part: [one for one in series if fits(one, [part])] for part in pattern.split("/")}
    others = [one for one in series if fits(one, ["/".join(part for part in parts if parts[part])])]
    if all(parts.values()):
        yield f"each part of {pattern} fits some, but none fits all"
    for part in [part for part, fitting in parts.items() if not fitting]:
        word = part.strip("*?").lower()
        names = {name for one in others or series for name in _names(one)[:-3]}
        near = sorted((name for name in names if word in name.lower()), key=lambda n: (len(n), n))
        near = near or difflib.get_close_matches(part, names, n=_NEAR)
        yield f"nothing is named {part}" + (f", but {shortened(near, _NEAR)}" if near else "")


def _data(series: Series, judgement: Judgement) -> dict[str, Any]:
    """Return a series with its samples, changes and open alerts as plain data."""
    assert judgement.progress is not None  # there are series
    key, scan = series.case.key, judgement.progress.scan(series)
    return {
        "system": key.system,
        "simulated": is_simulated(key.system),
        "partition": key.partition,
        "environ": key.environment,
        "check": key.check,
        "parameters": dict(key.keys),
        "metric": series.metric,
        "unit": series.unit,
        "direction": series.direction,
        "level": _finite(scan.level),
        "spread": _finite(scan.spread),
        "needed": scan.needed,
        "samples": [*_samples(series, scan)],
        "changes": [
            {
                "since": _iso(series.samples[change.start].time),
                "decided": _iso(series.samples[change.detected].time),
                "before": float(change.before),
                "after": float(change.after),
                "change": float(change.after / change.before - 1),
                "worse": change.worse,
                "software": _software(series, change.start),
            }
            for change in scan.changes
        ],
        "alerts": [
            {
                "id": incident.alert.id,
                "kind": incident.alert.kind,
                "since": _iso(change.time),
                "before": change.before,
                "after": change.after,
                "text": change.text,
            }
            for incident in judgement.incidents
            for change in incident.changes
            if change.series is series
        ],
    }


def _samples(series: Series, scan: Scan) -> Iterator[dict[str, Any]]:
    """Yield the samples; `marks` are where the level or the software changed."""
    starts = {change.start for change in scan.changes}
    before = None
    for number, (value, run) in enumerate(zip(series.values, series.samples, strict=True)):
        software = dict(run.software)
        marks = {
            "change": number in starts,
            "software": before not in (None, software),
        }
        before = software
        yield {
            "time": _iso(run.time),
            "value": float(value),
            "session": run.session.uuid,
            "software": software,
            "nodes": list(run.nodes),
            "marks": [mark for mark, holds in marks.items() if holds],
        }


_COLUMNS: Columns = {
    **{name: name for name in ("series", "time", "value", "unit", "session")},
    "software": lambda row: software_text(row["software"].items()),
    "nodes": "nodes",
    "marks": "marks",
}


def _finite(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _iso(time: float) -> str:
    return datetime.fromtimestamp(time).astimezone().isoformat(timespec="seconds")


def _lines(series: Series, data: dict[str, Any]) -> Iterator[str]:
    """Yield what is said of a series: its name, its course, its level, changes and alerts."""
    better = f"{series.direction} is better" if series.direction else "which way is better: unknown"
    simulated = ", simulated" if data["simulated"] else ""
    yield f"{series.name} ({series.unit or 'no unit'}, {better}{simulated})"
    if series.case.key.keys:
        keys = " ".join(f"{name}={value}" for name, value in series.case.key.keys)
        yield from wrapped("", keys, 2)
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    width = min(columns_of_terminal(), WIDTH) - 4
    yield f"  {sparkline(series.values, max(width, 20), utf8=utf8)}"
    level, spread = data["level"], data["spread"]
    begin, end = day(series.samples[0].time), day(series.samples[-1].time)
    yield (
        f"  {len(series.values)} samples, {begin} to {end}, {min(series.values):.4g} to "
        f"{max(series.values):.4g}" + ("" if level is None else f"; level {level:.4g}")
        + ("" if spread is None else f", spread {100 * spread:.2g} %")
    )  # fmt: skip
    if data["needed"]:
        yield f"  cannot judge yet; can after {plural(data['needed'], 'more run')}"
    for change in data["changes"]:
        way = "" if series.direction is None else " worse" if change["worse"] else " better"
        software = change["software"] and f"; software {change['software']}"
        yield (
            f"  {change['since'][:10]}  {_levels(change, series.unit)} ("
            f"{100 * abs(change['change']):.3g} %{way}), decided {change['decided'][:10]}{software}"
        )
    for alert in data["alerts"]:
        since = f"{HISTORY[alert['kind']][0]} since {alert['since'][:10]}"
        words = filter(None, (since, _levels(alert, series.unit), alert["text"]))
        yield from wrapped("", f"alert {alert['id']}: {', '.join(words)}", 2)


def _levels(change: dict[str, Any], unit: str) -> str:
    if change["before"] is None or change["after"] is None:
        return ""
    return f"{change['before']:.4g} -> {change['after']:.4g} {unit}"


def sparkline(values: Sequence[float], width: int, *, utf8: bool = True) -> str:
    """Draw the last `width` values, of at least one, between their smallest and largest one."""
    shown = values[-width:]
    signs = BLOCKS if utf8 else PLAIN
    least, span = min(shown), max(shown) - min(shown)
    if not span:
        return signs[len(signs) // 2] * len(shown)
    return "".join(signs[round((value - least) / span * (len(signs) - 1))] for value in shown)


def _software(series: Series, at: int) -> str:
    if not at or series.samples[at].software == series.samples[at - 1].software:
        return ""
    old, new = (software_text(series.samples[number].software) for number in (at - 1, at))
    return f"{old or 'not known'} -> {new or 'not known'}"


def _last_samples(data: dict[str, Any]) -> Iterator[str]:
    rows = [
        (f"{row['time'][:16].replace('T', ' ')}", f"{row['value']:.6g}", ", ".join(row["marks"]),
         " ".join(row["nodes"]))
        for row in data["samples"]
    ]  # fmt: skip
    header = ("time", data["unit"] or "value", "", "nodes")
    shown = table(header, rows[-SAMPLES:], width=columns_of_terminal() - 2)
    yield "\n".join(f"  {line}" for line in shown.splitlines())
    if len(rows) > SAMPLES:
        yield f"\n  {len(rows) - SAMPLES} samples before these: --format csv has all"

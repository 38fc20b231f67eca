"""`acceptance history` and `baseline`: the past of metrics, and what to expect after it."""

import argparse
import difflib
import math
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from acceptance import ledger, references
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
    warn,
)
from acceptance.core.errors import Fault
from acceptance.core.kinds import HISTORY
from acceptance.core.text import WIDTH, plural, shortened, wrapped
from acceptance.core.words import is_simulated
from acceptance.references import write_parameters
from acceptance.regressions import BASELINE_NIGHTS, Judgement, Proposal, new_baseline
from acceptance.regressions.history import History, Series, software_text
from acceptance.relations import false_alarms
from acceptance.verdict import Status

#: Series that are shown, and samples of a table.
SHOWN, SAMPLES = 20, 30
#: Names that are near to one that there is not.
_NEAR = 4
#: From the smallest value to the largest; the second is for a terminal without UTF-8.
BLOCKS, PLAIN = "▁▂▃▄▅▆▇█", "_.,-=*#@"


def add(commands: Commands) -> None:
    """Add the two subcommands."""
    failed = "a session cannot be read, or is not what was stored"
    command = add_command(commands, "history", run, forms=FORMS, failed=failed)
    option(
        command,
        "metric",
        "pattern (*, ?) of a metric, check, benchmark, partition or environment; several of them "
        "joined by / must all fit: 'PingPong/latency_8'",
        nargs="*",
    )
    add_sources(command)

    command = add_command(commands, "baseline", baseline, forms=FORMS)
    add_sources(command)
    chosen = command.add_mutually_exclusive_group()
    option(chosen, "--from ID", "UUIDs, or their beginnings", dest="sessions", nargs="+")
    meaning = f"the last nights (default: {BASELINE_NIGHTS})"
    option(chosen, "--nights N", meaning, default=BASELINE_NIGHTS)
    option(command, "--write", "write it, do not only show it")


def run(options: argparse.Namespace) -> int:
    """Show past values of metrics, and when their level changed."""
    history = read(options, whole=True)
    of_system = (one for one in history.series if options.system in (None, one.case.key.system))
    chosen = sorted(
        (one for one in of_system if fits(one, options.metric)), key=lambda one: one.name
    )
    if not chosen:
        asked = ", ".join(options.metric) or "anything"
        near = [near for pattern in options.metric for near in nearest(history.series, pattern)]
        raise Fault("; ".join(filter(None, (f"no series fits {asked}", *near, history.left_out))))
    # By the same judge as the gate: what that alarms is shown here.
    judged = judgements(options, history)
    judges = [judged(is_simulated(one.case.key.system)) for one in chosen]
    text = options.format == "text"
    most = SHOWN if text else len(chosen)
    past = [_data(*one) for one in zip(chosen[:most], judges, strict=False)]
    samples = [
        {"series": one["name"], "unit": one["unit"], **sample}
        for one in past
        for sample in one["samples"]
    ]
    notes = [*history.notes, *dict.fromkeys(judge.fault for judge in judges if judge.fault)]
    if text:
        which = {is_simulated(one.case.key.system) for one in chosen}
        notes += [said for each in sorted(which) for said in false_alarms.sentences(judged(each))]
    above = [f"note     {note}\n" for note in notes]
    above += "\n\n".join("\n".join(_lines(one)) for one in past).splitlines()
    lines = []
    if len(chosen) > most:
        lines.append(f"\n... and {len(chosen) - most} more series: --format json has all")
    if text and len(past) > 1:
        samples = []  # those of one series are what was asked for
    elif text and (before := len(samples[:-SAMPLES])):
        lines.append(f"{before} samples before these: --format csv has all")
        samples = samples[-SAMPLES:]
    columns = _columns(past[0]["unit"]) if text else _COLUMNS
    emit(options, samples, columns, lines, past, [*above, ""] if samples else above)
    return Status.FAILED if history.faults else Status.PASSED


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
        "name": series.name,
        **{each: getattr(key, each) for each in ("system", "partition", "environment", "check")},
        "simulated": is_simulated(key.system),
        "parameters": dict(key.keys),
        **{each: getattr(series, each) for each in ("metric", "unit", "direction")},
        **{each: float(getattr(scan, each)) for each in ("level", "spread")},
        "needed": scan.needed,
        "samples": [*_samples(series, {change.start for change in scan.changes})],
        "changes": [
            {
                "since": _iso(series.samples[change.start].time),
                "decided": _iso(series.samples[change.detected].time),
                **{each: float(getattr(change, each)) for each in ("before", "after")},
                "change": float(change.after / change.before - 1),
                "worse": change.worse,
                "software": _software(series, change.start),
            }
            for change in scan.changes
        ],
        "alerts": [
            {
                "id": incident.id,
                "kind": incident.finding.kind,
                "since": _iso(change.time),
                **{each: getattr(change, each) for each in ("before", "after", "text")},
            }
            for incident in judgement.incidents
            for change in incident.changes
            if change.series is series
        ],
    }


def _samples(series: Series, starts: Collection[int]) -> Iterator[dict[str, Any]]:
    """Yield the samples; `marks` are `starts`, where the level changed, or the software did."""
    before = None
    for number, (value, run) in enumerate(zip(series.values, series.samples, strict=True)):
        software = dict(run.software)
        changed = {"change": number in starts, "software": before not in (None, software)}
        before = software
        yield {
            "time": _iso(run.time),
            "value": float(value),
            "session": run.session.uuid,
            "software": software,
            "nodes": run.nodes,
            "marks": [mark for mark, holds in changed.items() if holds],
        }


_COLUMNS: Columns = {
    **{name: name for name in ("series", "time", "value", "unit", "session")},
    "software": lambda row: software_text(row["software"].items()),
    "nodes": "nodes",
    "marks": "marks",
}


def _columns(unit: str) -> Columns:
    """Return what is shown of the samples of one series."""
    return {
        "time": lambda row: row["time"][:16].replace("T", " "),
        unit or "value": lambda row: f"{row['value']:.6g}",
        "marks": "marks",
        "nodes": "nodes",
    }


def _iso(time: float) -> str:
    return datetime.fromtimestamp(time).astimezone().isoformat(timespec="seconds")


def _lines(one: dict[str, Any]) -> Iterator[str]:
    """Yield what is said of a series: its name, its course, its level, changes and alerts."""
    unit, direction, samples = one["unit"], one["direction"], one["samples"]
    better = f"{direction} is better" if direction else "which way is better: unknown"
    simulated = ", simulated" if one["simulated"] else ""
    yield f"{one['name']} ({unit or 'no unit'}, {better}{simulated})"
    if one["parameters"]:
        keys = " ".join(f"{name}={value}" for name, value in one["parameters"].items())
        yield from wrapped("", keys, 2)
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    width = min(columns_of_terminal(), WIDTH) - 4
    values = [sample["value"] for sample in samples]
    yield f"  {sparkline(values, max(width, 20), utf8=utf8)}"
    begin, end = (sample["time"][:10] for sample in (samples[0], samples[-1]))
    yield (
        f"  {len(values)} samples, {begin} to {end}, {min(values):.4g} to {max(values):.4g}"
        + ("" if math.isnan(one["level"]) else f"; level {one['level']:.4g}")
        + ("" if math.isnan(one["spread"]) else f", spread {100 * one['spread']:.2g} %")
    )
    if one["needed"]:
        yield f"  cannot judge yet; can after {plural(one['needed'], 'more run')}"
    for change in one["changes"]:
        way = "" if direction is None else " worse" if change["worse"] else " better"
        software = change["software"] and f"; software {change['software']}"
        yield (
            f"  {change['since'][:10]}  {_levels(change, unit)} ("
            f"{100 * abs(change['change']):.3g} %{way}), decided {change['decided'][:10]}{software}"
        )
    for alert in one["alerts"]:
        since = f"{HISTORY[alert['kind']][0]} since {alert['since'][:10]}"
        words = filter(None, (since, _levels(alert, unit), alert["text"]))
        yield from wrapped("", f"alert {alert['id']}: {', '.join(words)}", 2)


def _levels(change: dict[str, Any], unit: str) -> str:
    if change["before"] is None or change["after"] is None:
        return ""
    return f"{change['before']:.4g} -> {change['after']:.4g} {unit}"


def _software(series: Series, at: int) -> str:
    if not at or series.samples[at].software == series.samples[at - 1].software:
        return ""
    old, new = (software_text(series.samples[number].software) for number in (at - 1, at))
    return f"{old or 'not known'} -> {new or 'not known'}"


def sparkline(values: Sequence[float], width: int, *, utf8: bool = True) -> str:
    """Draw the last `width` values, of at least one, between their smallest and largest one."""
    shown = values[-width:]
    signs = BLOCKS if utf8 else PLAIN
    least, span = min(shown), max(shown) - min(shown)
    if not span:
        return signs[len(signs) // 2] * len(shown)
    return "".join(signs[round((value - least) / span * (len(signs) - 1))] for value in shown)


#: Metrics that are named of each reason of a refusal.
_NAMED = 3
_PROPOSED: Columns = {
    "partition": lambda row: row.new.partition,
    "benchmark": lambda row: row.new.benchmark,
    "metric": lambda row: row.new.metric,
    "parameters": lambda row: write_parameters(row.new.parameters),
    "unit": lambda row: row.new.unit,
    "old": lambda row: row.old and row.old.printed,
    "new": lambda row: row.new.printed,
    "change": lambda row: "new" if row.change is None else f"{100 * row.change:+.2f} %",
    "note": lambda row: row.new.note,
}


def baseline(options: argparse.Namespace) -> int:
    """Propose or write the expected values of a system, made of past sessions.

    They stand beside the present ones, and go into reference/sites/SYSTEM.csv.
    """
    history = read(options)
    library = references.load(options.workspace.reference)
    system = options.system or _only_system(history)
    chosen = new_baseline.select(history, options.sessions or (), options.nights)
    if is_simulated(system):
        new_baseline.refuse_faults(ledger.of(options.workspace, options.db), chosen)
    proposal = new_baseline.propose(history, system, chosen, library)
    emit(options, proposal.changes, _PROPOSED, _said(proposal), proposal)
    say = print if options.format == "text" else partial(warn, options)
    if not proposal.changes:
        raise Fault("nothing is fit to be a baseline; nothing was written")
    if not options.write:
        say("nothing was written; --write writes it")
        return Status.PASSED
    new_baseline.write(proposal, library)
    say(f"{proposal.path}: {len(proposal.rows)} rows")
    return Status.PASSED


def _only_system(history: History) -> str:
    systems = sorted({series.case.key.system for series in history.series})
    if not systems:
        raise Fault("no result of any system is stored")
    if len(systems) > 1:
        raise Fault(f"which system? name one with --system: {', '.join(systems)}")
    return systems[0]


def _said(proposal: Proposal) -> Iterator[str]:
    """Yield what stays, and what was refused and why."""
    if proposal.changes:
        yield ""
    if proposal.kept:
        yield f"{len(proposal.kept)} rows stay as they are: not measured, or refused, now"
    for reason, names in proposal.refused.items():
        yield from wrapped("refused", f"{reason}: {shortened(names, _NAMED)}", 9)
    for note in proposal.notes:
        yield from wrapped("note", note, 9)

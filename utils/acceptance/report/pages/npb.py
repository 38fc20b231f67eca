"""NPB as bars of time, over that of one configuration, as papers have it.

Source: Subramoni, Koop and Panda 2009, slides on NPB: "Numbers normalized to NH-DDR-Cyclic", the
partition with the slower rate, ranks laid cyclically. Times are compared at equal class and number
of processes; the ratio is made of Mop/s, which NPB computes of the same time and prints with more
digits; of a simulation, in which no computation takes time, of the time of communication. What
papers print of a partition is normalised in the same way, by what the same paper
prints of the same configuration (Kandadai et al. 2009, Tables 7 and 8).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from acceptance.core.text import plural
from acceptance.core.words import model_of
from acceptance.report.pages.curves import names
from acceptance.report.plot_model import (
    Axis,
    Mark,
    Plot,
    Sample,
    Trace,
    number_text,
)
from acceptance.report.results import Drawn, Kind, Results, Sweep
from acceptance.report.source import Source
from acceptance.suites.npb import BENCHMARKS, COMMUNICATION

METRICS = ("mops_total", COMMUNICATION.stem)
#: What tells configurations apart beside partition and environment.
_TOLD = ("nodes", "mapping", "intranode")
#: A benchmark of a class and a number of processes: `IS.B.16`.
Program = str
PROGRAMS = Axis("Program.class.processes", scale="category")


#: What is compared: a partition, an MPI and how ranks stand, by its name, with its results.
Bars = Mapping[str, Mapping[Program, Sweep]]


def _draw(source: Source, found: Sequence[Results]) -> Drawn:
    several = len(found) > 1
    bars = _bars(found)
    if not bars:
        return "", ()
    plots = [_normalised(source, bars, several=several)] if len(bars) > 1 else []
    if not several:
        plots.append(_before(source, bars) or _speeds(source, bars))
    count = len({name for programs in bars.values() for name in programs})
    text = (
        f"{plural(count, 'program')} of NPB in {plural(len(bars), 'configuration')}: the newest "
        "result of each."
    )
    return text, [("Times", plots)]


pages = Kind("npb", "NPB", "NPB on {}", _draw, lambda case: case.suite == "npb").pages


def _bars(found: Iterable[Results]) -> Bars:
    """Return all configurations; the first one is what others are normalised to.

    Slower fabrics come first, then cyclic ranks, and those that use the memory inside a node.
    """
    configurations: dict[tuple[object, ...], dict[Program, Sweep]] = {}
    for sweep in (sweep for each in found for sweep in each.sweeps.values()):
        name = sweep.benchmark.removeprefix("npb.")
        if name in BENCHMARKS and sweep.stem in METRICS and None in sweep.values:
            nodes, mapping, intranode = (sweep.keys.get(key, "") for key in _TOLD)
            ways = mapping != "cyclic", intranode == "loopback"
            key = *sweep.place.speed, *ways, sweep.environment, nodes, mapping, intranode
            configurations.setdefault(key, {})[program(name, sweep.keys)] = sweep
    listed = [programs for _, programs in sorted(configurations.items())]
    first = [next(iter(programs.values())) for programs in listed]
    told = [
        {"partition": sweep.place.partition, "environment": sweep.environment}
        | {key: sweep.keys[key] for key in _TOLD if key in sweep.keys}
        for sweep in first
    ]
    return dict(zip(names(told, ("partition", "environment")), listed, strict=True))


def program(name: str, keys: Mapping[str, str]) -> Program:
    """Name a program as NPB does: `IS.B.16`."""
    return ".".join((name.upper(), *(keys.get(key, "?") for key in ("class", "np"))))


def _traces(
    source: Source, bars: Bars, value_of: Callable[[Program, Sweep], float | None]
) -> list[Trace]:
    """Return the bars of each configuration that has a program with a value."""
    made = []
    for label, programs in bars.items():
        samples = [
            Sample(name, value, f"{number_text(sweep.values[None].value)} {sweep.unit}, "
                   f"{sweep.note(None)}", sweep.link(source))
            for name, sweep in programs.items()
            if (value := value_of(name, sweep)) is not None
        ]  # fmt: skip
        simulated = any(sweep.simulated for sweep in programs.values())
        if samples:
            made.append(Trace(label, samples, form="bar", simulated=simulated,
                                 group=label))  # fmt: skip
    return made


def _over(sweep: Sweep, other: float) -> float:
    """Return the time of a program over that of another result of it, which is in the same unit."""
    own = sweep.values[None].value
    return own / other if sweep.stem == COMMUNICATION.stem else other / own


def _normalised(source: Source, bars: Bars, *, several: bool) -> Plot:
    """Return times over those of the first configuration: below 1 is faster."""
    base, reference = next(iter(bars.items()))

    def over_base(name: Program, sweep: Sweep) -> float | None:
        base = reference.get(name)
        return _over(sweep, base.values[None].value) if base else None

    traces = _traces(source, bars, over_base)
    best = [(value, name, trace.name) for trace in traces[1:]
            for name, value in zip(trace.x, trace.y, strict=True) if value is not None]  # fmt: skip
    seen = "No program was measured in a second configuration."
    if best:
        seen = f"The least is {number_text(min(best)[0])} ({min(best)[1]}, {min(best)[2]})."
    printed = _published(source, bars, {str(name) for _, name, _ in best}) if several else []
    left_out = {name for programs in bars.values() for name in programs} - {*reference}
    computes = next(iter(reference.values())).stem != COMMUNICATION.stem
    made_of = ", made of Mop/s," if computes else " of communication"
    said = [
        f"Time{made_of} over that of {base}, at equal class and number of processes; below "
        "1 is faster.",
        f"Not drawn, for {base} has no result: {', '.join(sorted(left_out))}." if left_out else "",
        "" if printed or not several else "No paper prints times of these programs here.",
    ]
    return Plot(
        "npb-normalised", f"Time over that of {base}", seen,
        PROGRAMS, Axis(f"Time over {base}"), (*traces, *printed),
        (Mark("one", f"1: {base}", y=1.0),), " ".join(filter(None, said)),
    )  # fmt: skip


def _published(source: Source, bars: Bars, drawn: set[Program]) -> list[Trace]:
    """Return what papers print of these partitions, over what they print of the first one."""
    first = [next(iter(programs.values())).place for programs in bars.values()]
    system = model_of(first[0].system)
    times: dict[str, dict[Program, tuple[float, str]]] = {}
    for row in source.library.values if source.library else ():
        name = row.benchmark.removeprefix("npb.")
        own = row.system == system and name in BENCHMARKS
        if own and row.metric == "time" and row.relation == "=":
            one = program(name, row.parameters)
            times.setdefault(row.partition, {})[one] = row.value, row.citation
    under = times.get(first[0].partition, {})
    made = []
    for partition in dict.fromkeys(place.partition for place in first):
        samples = [
            Sample(name, value / under[name][0], f"{value:g} s, {citation}")
            for name, (value, citation) in times.get(partition, {}).items()
            if name in under and name in drawn
        ]
        if samples:
            name = f"{partition}, as published"
            made.append(Trace(name, samples, "published", "bar", group=partition))
    return made


def _before(source: Source, bars: Bars) -> Plot | None:
    """Return times over the middle of earlier sessions; None: no program has two of them."""

    def over_middle(_: Program, sweep: Sweep) -> float | None:
        known = sweep.earlier(None)
        return _over(sweep, known[1]) if known else None

    traces = _traces(source, bars, over_middle)
    values = [1.0, *(value for trace in traces for value in trace.y if value is not None)]
    least, most = number_text(min(values)), number_text(max(values))
    return Plot(
        "npb-before", "Time over that of earlier sessions",
        f"Between {least} and {most} of the time that it took before.",
        PROGRAMS, Axis("Time over the middle of earlier sessions"), traces,
        (Mark("one", "1: as before", y=1.0),),
        "Over the middle of all earlier sessions of this report, at least two; above 1 is "
        "slower than before. Whether that is more than noise is said by the history.",
    ) if traces else None  # fmt: skip


def _speeds(source: Source, bars: Bars) -> Plot:
    traces = _traces(source, bars, lambda _, sweep: sweep.values[None].value)
    count = sum(len(trace.x) for trace in traces)
    unit = next(iter(next(iter(bars.values())).values())).unit
    what = "Time of communication" if unit == COMMUNICATION.unit else "Speed"
    return Plot(
        "npb-speed", what, f"{plural(count, 'result')}; nothing is there yet to compare them with.",
        PROGRAMS, Axis(what, unit, "log"), traces,
        caption="Not normalised: there are no two earlier sessions.",
    )  # fmt: skip

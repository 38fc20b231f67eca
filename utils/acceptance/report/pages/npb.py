"""NPB as bars of time, over that of one configuration, as papers have it.

Source: Subramoni, Koop and Panda 2009, slides on NPB: "Numbers normalized to NH-DDR-Cyclic", the
partition with the slower rate, ranks laid cyclically. Times are compared at equal class and number
of processes; the ratio is made of Mop/s, which NPB computes of the same time and prints with more
digits; of a simulation, in which no computation takes time, of the time of communication. What
papers print of a partition is normalised in the same way, by what the same paper
prints of the same configuration (Kandadai et al. 2009, Tables 7 and 8).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from acceptance.core.text import plural
from acceptance.core.words import model_of
from acceptance.report import addresses
from acceptance.report.plot_model import (
    Axis,
    Form,
    Mark,
    Origin,
    Page,
    Plot,
    Scale,
    Trace,
    number_text,
)
from acceptance.report.plot_pages import failed, page, speed
from acceptance.report.results import Results, Sweep, results
from acceptance.report.source import Source
from acceptance.suites.npb import COMMUNICATION, NAMES

GROUP = "NPB"
METRICS = ("mops_total", COMMUNICATION.stem)
EMPTY = (
    "No session of this report has a result of NPB on this partition. `reframe -c checks/npb.py "
    "-r` measures it where an environment has NPB, or where Spack can build it."
)
_PROBLEM = ("class", "np")


@dataclass(frozen=True)
class _Configuration:
    """What is compared: a partition, an MPI, and how ranks stand. Slower fabrics come first."""

    rank: tuple[float, str]
    partition: str
    environment: str
    nodes: str
    mapping: str
    intranode: str

    @property
    def order(self) -> tuple[object, ...]:
        """Rank it: the first one is what all are normalised to. Cyclic before block."""
        ways = self.mapping != "cyclic", self.intranode == "loopback"
        return self.rank, *ways, self.environment, self.nodes


#: A benchmark of a class and a number of processes: `IS.B.16`.
Program = str
Bars = dict[_Configuration, dict[Program, Sweep]]


def pages(source: Source) -> list[Page]:
    """Return a page for each partition, and one for each system that has several with results."""
    found = results(source)
    if not found:
        return [page("npb/index.html", GROUP, GROUP, EMPTY)]
    made = []
    for each in found:
        place = each.place
        bars = _bars([each])
        plots = _plots(source, bars, several=False)
        path = addresses.of_partition("npb", place.system, place.partition)
        text = _text(bars) if plots else EMPTY
        title, failures = f"NPB on {place.name}", failed(source, each, "npb")
        made.append(page(path, title, GROUP, text, [("Times", plots)], failures=failures,
                         simulated=place.simulated))  # fmt: skip
    for system in dict.fromkeys(each.place.system for each in found):
        with_results = [each for each in found if each.place.system == system and _bars([each])]
        if len(with_results) > 1:
            bars = _bars(with_results)
            title = f"NPB on {system}: its partitions"
            plots = _plots(source, bars, several=True)
            made.append(page(addresses.of_system("npb", system), title, GROUP, _text(bars),
                             [("Times", plots)],
                             simulated=with_results[0].place.simulated))  # fmt: skip
    return made


def _text(bars: Bars) -> str:
    count = len({name for programs in bars.values() for name in programs})
    return (
        f"{plural(count, 'program')} of NPB in {plural(len(bars), 'configuration')}: the newest "
        "result of each."
    )


def _bars(found: Iterable[Results]) -> Bars:
    bars: Bars = {}
    for each in found:
        for sweep in each.sweeps.values():
            name = sweep.benchmark.removeprefix("npb.")
            if name in NAMES and sweep.stem in METRICS and None in sweep.values:
                keys = sweep.keys
                configuration = _Configuration(
                    speed(each.place), each.place.partition, sweep.environment,
                    keys.get("nodes", ""), keys.get("mapping", ""), keys.get("intranode", ""),
                )  # fmt: skip
                bars.setdefault(configuration, {})[program(name, keys)] = sweep
    return dict(sorted(bars.items(), key=lambda item: item[0].order))


def program(name: str, keys: Mapping[str, str]) -> Program:
    """Name a program as NPB does: `IS.B.16`."""
    return ".".join((name.upper(), *(keys.get(key, "?") for key in _PROBLEM)))


def _names(configurations: Sequence[_Configuration]) -> dict[_Configuration, str]:
    """Name configurations by what tells them apart, and always by partition and environment."""
    told = ("nodes", "mapping", "intranode")
    differ = [field for field in told if len({getattr(one, field) for one in configurations}) > 1]
    forms = {"nodes": "{} nodes", "mapping": "{}", "intranode": "{}"}
    return {
        one: ", ".join((one.partition, one.environment,
                        *(forms[field].format(getattr(one, field)) for field in differ)))
        for one in configurations
    }  # fmt: skip


def _plots(source: Source, bars: Bars, *, several: bool) -> list[Plot]:
    if not bars:
        return []
    plots = []
    names = _names([*bars])
    base = next(iter(bars))
    if len(bars) > 1:
        plots.append(_normalised(source, bars, names, base, several=several))
    if not several:
        plots.append(_before(source, bars, names) or _speeds(source, bars, names))
    return plots


def _trace(
    source: Source, name: str, values: Mapping[Program, tuple[float, Sweep]], group: str
) -> Trace:
    sweeps = [sweep for _, sweep in values.values()]
    links = tuple(sweep.link(source) for sweep in sweeps)
    return Trace(
        name,
        tuple(values),
        tuple(value for value, _ in values.values()),
        form=Form.BAR,
        links=links if any(links) else (),
        notes=tuple(
            f"{number_text(sweep.values[None].value)} {sweep.unit}, {sweep.note(None)}"
            for sweep in sweeps
        ),
        simulated=any(sweep.by.case.simulated for sweep in sweeps),
        group=group,
    )


def _over(sweep: Sweep, other: float) -> float:
    """Return the time of a program over that of another result of it, which is in the same unit."""
    own = sweep.values[None].value
    return own / other if sweep.stem == COMMUNICATION.stem else other / own


def _normalised(
    source: Source,
    bars: Bars,
    names: Mapping[_Configuration, str],
    base: _Configuration,
    *,
    several: bool,
) -> Plot:
    """Return times over those of a configuration: below 1 is faster."""
    reference = bars[base]
    traces = []
    for one, programs in bars.items():
        values = {
            name: (_over(programs[name], reference[name].values[None].value), programs[name])
            for name in reference if name in programs
        }  # fmt: skip
        if values:
            traces.append(_trace(source, names[one], values, names[one]))
    drawn = [name for name in reference if any(name in trace.x for trace in traces[1:])]
    place = next(iter(reference.values())).place
    printed = _published(source, place.system, place.partition, bars, drawn) if several else []
    left_out = {name for programs in bars.values() for name in programs} - {*reference}
    computes = next(iter(reference.values())).stem != COMMUNICATION.stem
    made_of = ", made of Mop/s," if computes else " of communication"
    said = [
        f"Time{made_of} over that of {names[base]}, at equal class and number of processes; below "
        "1 is faster.",
        f"Not drawn, for {names[base]} has no result: {', '.join(sorted(left_out))}."
        if left_out else "",
        "" if printed or not several else "No paper prints times of these programs here.",
    ]  # fmt: skip
    best = [(value, name, trace.name) for trace in traces[1:]
            for name, value in zip(trace.x, trace.y, strict=True) if value is not None]  # fmt: skip
    seen = (
        f"The least is {number_text(min(best)[0])} ({min(best)[1]}, {min(best)[2]})."
        if best
        else ""
    )
    return Plot(
        "npb-normalised",
        f"Time over that of {names[base]}",
        seen or "No program was measured in a second configuration.",
        Axis("Program.class.processes", scale=Scale.CATEGORY),
        Axis(f"Time over {names[base]}"),
        (*traces, *printed),
        marks=(Mark("one", f"1: {names[base]}", y=1.0),),
        caption=" ".join(filter(None, said)),
    )


def _published(
    source: Source, system: str, base: str, bars: Bars, drawn: Sequence[Program]
) -> list[Trace]:
    """Return what papers print of these partitions, over what they print of the base."""
    library = source.library
    times: dict[str, dict[Program, tuple[float, str]]] = {}
    for row in library.values if library else ():
        name = row.benchmark.removeprefix("npb.")
        own = row.system == model_of(system) and name in NAMES
        if own and row.metric == "time" and row.relation == "=":
            one = program(name, row.parameters)
            times.setdefault(row.partition, {})[one] = row.value, row.citation
    under = times.get(base, {})
    made = []
    for partition in dict.fromkeys(one.partition for one in bars):
        values = {name: value for name, value in times.get(partition, {}).items()
               if name in under and name in drawn}  # fmt: skip
        if values:
            made.append(
                Trace(
                    f"{partition}, as published",
                    tuple(values),
                    tuple(value / under[name][0] for name, (value, _) in values.items()),
                    Origin.PUBLISHED,
                    Form.BAR,
                    notes=tuple(f"{value:g} s, {citation}" for value, citation in values.values()),
                    group=partition,
                )
            )
    return made


def _before(source: Source, bars: Bars, names: Mapping[_Configuration, str]) -> Plot | None:
    """Return times over the middle of earlier sessions; None: no program has two of them."""
    traces, low, high = [], 1.0, 1.0
    for one, programs in bars.items():
        values = {}
        for name, sweep in programs.items():
            if known := sweep.earlier(None):
                values[name] = _over(sweep, known[1]), sweep
                low, high = min(low, values[name][0]), max(high, values[name][0])
        if values:
            traces.append(_trace(source, names[one], values, names[one]))
    if not traces:
        return None
    return Plot(
        "npb-before",
        "Time over that of earlier sessions",
        f"Between {number_text(low)} and {number_text(high)} of the time that it took before.",
        Axis("Program.class.processes", scale=Scale.CATEGORY),
        Axis("Time over the middle of earlier sessions"),
        tuple(traces),
        marks=(Mark("one", "1: as before", y=1.0),),
        caption="Over the middle of all earlier sessions of this report, at least two; above 1 is "
        "slower than before. Whether that is more than noise is said by the history.",
    )


def _speeds(source: Source, bars: Bars, names: Mapping[_Configuration, str]) -> Plot:
    traces = [
        _trace(source, names[one], {name: (sweep.values[None].value, sweep)
                                    for name, sweep in programs.items()}, names[one])
        for one, programs in bars.items()
    ]  # fmt: skip
    count = sum(len(trace.x) for trace in traces)
    unit = next(sweep.unit for programs in bars.values() for sweep in programs.values())
    what = "Time of communication" if unit == COMMUNICATION.unit else "Speed"
    return Plot(
        "npb-speed",
        what,
        f"{plural(count, 'result')}; nothing is there yet to compare them with.",
        Axis("Program.class.processes", scale=Scale.CATEGORY),
        Axis(what, unit, Scale.LOG),
        tuple(traces),
        caption="Not normalised: there are no two earlier sessions.",
    )

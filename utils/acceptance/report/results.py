"""What sessions have of each partition, and the pages that draw it: curves, NPB and HPCC.

Of each sweep over message sizes it is the newest, and those before it. Each kind of page has one
for each partition, and one for each system of which it compares several partitions. What is drawn
is all that tells the kinds apart: a function of theirs makes it.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median

from acceptance.core.groups import grouped
from acceptance.core.words import is_measured, read_metric
from acceptance.ledger import Case, Metric, Session
from acceptance.report import addresses
from acceptance.report.plot_model import Page, Plot, time_text
from acceptance.report.runs import Ran, Run
from acceptance.report.source import Place, Source


def count_of(keys: Mapping[str, str], key: str, default: int = 0) -> int:
    """Return a key of a result that is a number; the default where it is none."""
    text = keys.get(key, "")
    return int(text) if text.isdecimal() and text.isascii() else default


@dataclass(frozen=True)
class Sweep:
    """One metric of a benchmark over message sizes, under the same keys and environment.

    `values` are those of the newest session that has them, by message size (bytes; None: a metric
    without sizes); `past` are those of earlier sessions, by when each began (s since the epoch) and
    its id, the newest first.
    """

    place: Place
    environment: str
    benchmark: str
    stem: str
    unit: str
    keys: Mapping[str, str]
    by: Ran
    values: dict[int | None, Metric] = field(default_factory=dict)
    past: dict[tuple[float, str], dict[int | None, float]] = field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        """Tell whether it was simulated."""
        return bool(self.by.case.simulated)

    @property
    def sizes(self) -> list[int]:
        """Return the message sizes that have a result."""
        return sorted(size for size in self.values if size is not None)

    def note(self, size: int | None) -> str:
        """Say of a number when it was measured, in which session, and by what it was judged."""
        metric, session = self.values[size], self.by.session
        judged = "recorded, not judged"
        if metric.judged_by:
            verdict = "passed" if metric.passed else "failed"
            judged = f"{verdict}, judged by {metric.judged_by}"
        return f"{time_text(session.start)}, session {session.uuid[:8]}; {judged}"

    def link(self, source: Source) -> str:
        """Return the address of its case; empty where its session has no page."""
        return source.address(self.by.session.uuid, self.by.number)

    def earlier(self, size: int | None) -> tuple[float, float, float] | None:
        """Return the smallest, middle and largest value of earlier sessions; None: fewer than 2."""
        values = [values[size] for values in self.past.values() if size in values]
        return (min(values), median(values), max(values)) if len(values) > 1 else None


@dataclass
class Results:
    """What the sessions of a report have of one partition."""

    place: Place
    sweeps: dict[tuple[object, ...], Sweep] = field(default_factory=dict)
    #: The cases that did not pass in their newest session.
    failures: list[Ran] = field(default_factory=list)
    newest: Session | None = None
    _ended: set[tuple[str, str]] = field(default_factory=set)

    def add(self, by: Ran) -> None:
        """Take a case; those of newer sessions come first."""
        case = by.case
        self.newest = self.newest or by.session
        if not case.passed and by.key not in self._ended:
            self.failures.append(by)
        self._ended.add(by.key)
        for metric in case.metrics if case.passed else ():
            if is_measured(metric.value):
                self._take(by, metric)

    def _take(self, by: Ran, metric: Metric) -> None:
        case = by.case
        stem, own = read_metric(metric.name)
        size = int(own.pop("message_size")) if "message_size" in own else None
        keys = {**case.keys, **own}
        key = case.environment, case.benchmark, stem, metric.unit, frozenset(keys.items())
        sweep = self.sweeps.get(key)
        if sweep is None:
            sweep = self.sweeps[key] = Sweep(self.place, *key[:4], keys, by)
        if by.session.uuid != sweep.by.session.uuid:
            session = by.session.start, by.session.uuid
            sweep.past.setdefault(session, {}).setdefault(size, metric.value)
        elif by.number == sweep.by.number:
            sweep.values.setdefault(size, metric)


# Several pages ask for it.
@lru_cache(maxsize=1)
def results(source: Source) -> list[Results]:
    """Return what the sessions of a report have of each partition, by their names.

    Of several runs of a case in a session the last one counts. Builds and other fixtures, and plain
    checks, are left out.
    """
    made = {place.name: Results(place) for place in source.measured}
    for session in source.sessions:
        for ran in Run((session,)).cases:
            case, name = ran.case, f"{ran.case.system}:{ran.case.partition}"
            if not case.fixture and not case.plain and name in made:
                made[name].add(ran)
    return [made[name] for name in sorted(made)]


TEMPLATE = "curves.html.j2"
#: What a page says of its plots (empty: there is nothing to say), and the plots of each section.
Drawn = tuple[str, Sequence[tuple[str, Sequence[Plot]]]]
#: The name of a plot or page, and its address.
Links = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Kind:
    """A kind of page: its folder, its entry of the navigation, and its title, `Curves of {}`.

    `draw` is given what sessions have of one partition, or of all those of a system that have
    plots, if the kind `compares` partitions. It names those of the cases that it `shows` which
    failed. A page without text says what would fill it.
    """

    folder: str
    group: str
    title: str
    draw: Callable[[Source, Sequence[Results]], Drawn]
    shows: Callable[[Case], bool]
    compares: bool = True

    def pages(self, source: Source) -> list[Page]:
        """Return a page for each partition, then one for each system with several; never none."""
        drawn = [([each], self.draw(source, [each])) for each in results(source)]
        with_plots = [each for (each,), (_, sections) in drawn if any(of for _, of in sections)]
        every = grouped(with_plots if self.compares else (), lambda each: each.place.system)
        systems = {name: listed for name, listed in every.items() if len(listed) > 1}
        drawn += [(listed, self.draw(source, listed)) for listed in systems.values()]
        empty = Page(f"{self.folder}/index.html", self.group, TEMPLATE, self.group,
                     {"text": "", "sections": (), "failures": (), "links": ()},
                     empty=True)  # fmt: skip
        return [self._page(source, *each, systems) for each in drawn] or [empty]

    def _address(self, place: Place) -> str:
        return addresses.of_partition(self.folder, place.system, place.partition)

    def _page(
        self, source: Source, found: Sequence[Results], drawn: Drawn, systems: Container[str]
    ) -> Page:
        place, (text, sections) = found[0].place, drawn
        of_system = addresses.of_system(self.folder, place.system)
        links: Links = ()
        failures: Links = ()
        if len(found) > 1:
            path, name = of_system, f"{place.system}: its partitions"
            links = [(self.title.format(one.place.name), self._address(one.place)) for one in found]
        else:
            path, name = self._address(place), place.name
            failures = self._failed(source, found[0])
            if place.system in systems:
                links = [("All partitions of this system over each other", of_system)]
        context = {
            "text": text,
            "sections": [(name, [plot.id for plot in plots]) for name, plots in sections if plots],
            "failures": failures,
            "links": links,
        }
        plots = tuple(plot for _, plots in sections for plot in plots)
        return Page(path, self.title.format(name), TEMPLATE, self.group, context, plots,
                    simulated=place.simulated, empty=not (failures or plots))  # fmt: skip

    def _failed(self, source: Source, found: Results) -> list[tuple[str, str]]:
        """Return its cases that did not pass in their newest session, with their addresses."""
        listed = []
        for ran in found.failures:
            case, when = ran.case, time_text(ran.session.start)
            phase = f" ({case.fail_phase})" if case.fail_phase else ""
            if self.shows(case):
                text = f"{case.name} +{case.environment}: {case.result}{phase}, {when}"
                listed.append((text, source.address(ran.session.uuid, ran.number)))
        return listed

"""Pages that are plots in sections: curves, NPB and HPCC.

Each kind has a page for each partition, and one for each system of which it compares several
partitions. What is drawn is all that tells the kinds apart: a function of theirs makes it.
"""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass

from acceptance import suites
from acceptance.ledger import Case
from acceptance.relations import grouped
from acceptance.report import addresses
from acceptance.report.curve_traces import RATIOS
from acceptance.report.plot_model import Page, Plot
from acceptance.report.rendering import time_text
from acceptance.report.results import Results, results
from acceptance.report.source import Place, Source

TEMPLATE = "curves.html.j2"
#: What a page says of its plots (empty: there is nothing to say), and the plots of each section.
Drawn = tuple[str, Sequence[tuple[str, Sequence[Plot]]]]
#: The name of a plot or page, and its address.
Links = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Kind:
    """A kind of page: its folder, its entry of the navigation, and its title, `Curves of {}`.

    `draw` is given what sessions have of one partition, or of all those of a system that have
    plots, if the kind `compares` partitions. A page without text says what would fill it.
    """

    folder: str
    group: str
    title: str
    draw: Callable[[Source, Sequence[Results]], Drawn]
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
            failures = _failed(source, found[0], self.folder)
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


def _failed(source: Source, found: Results, folder: str) -> list[tuple[str, str]]:
    """Return the cases of a kind of page that failed and have not passed since, with addresses."""
    listed = []
    for ran in found.failures:
        case, when = ran.case, time_text(ran.session.start)
        phase = f" ({case.fail_phase})" if case.fail_phase else ""
        if _folder_of(case) == folder:
            text = f"{case.name} +{case.environment}: {case.result}{phase}, {when}"
            listed.append((text, source.address(ran.session.uuid, ran.number)))
    return listed


def _folder_of(case: Case) -> str:
    """Return which kind of page shows a case: its folder; empty: none of these."""
    if case.suite in ("npb", "hpcc"):
        return case.suite
    return "curves" if case.suite in suites.SUITES or case.benchmark in RATIOS else ""

"""Pages that are plots in sections: what those of curves, balance, NPB and HPCC have in common."""

from collections.abc import Sequence

from acceptance import suites
from acceptance.fabric import limit
from acceptance.report import addresses
from acceptance.report.plot_model import Page, Plot
from acceptance.report.results import Results
from acceptance.report.source import Place, Source
from acceptance.rfm import Case

TEMPLATE = "curves.html.j2"


def page(
    path: str,
    title: str,
    group: str,
    text: str,
    sections: Sequence[tuple[str, Sequence[Plot]]] = (),
    *,
    failures: Sequence[tuple[str, str]] = (),
    links: Sequence[tuple[str, str]] = (),
    simulated: bool = False,
) -> Page:
    """Return a page of plots; `text` says what they are, or why there are none.

    `failures` are cases that failed, and `links` other pages, each with its address.
    """
    filled = [(name, plots) for name, plots in sections if plots]
    context = {
        "text": text,
        "sections": [(name, [plot.id for plot in plots]) for name, plots in filled],
        "failures": failures,
        "links": links,
    }
    every = tuple(plot for _, plots in filled for plot in plots)
    return Page(path, title, TEMPLATE, group, context, every, simulated=simulated)


def case_address(source: Source, uuid: str, number: int) -> str:
    """Return the address of a case; empty where its session has no page."""
    return addresses.session(uuid, number) if source.has_page(uuid) else ""


def failed(source: Source, found: Results, kind: str) -> list[tuple[str, str]]:
    """Return the cases of a kind of page that failed and have not passed since, with addresses."""
    return [
        (each.text, case_address(source, each.by.session.uuid, each.by.number))
        for each in found.failures
        if kind_of(each.by.case) == kind
    ]


def kind_of(case: Case) -> str:
    """Return which page shows a case: `balance`, `npb`, `hpcc`, `curves`; empty: none of these."""
    if case.benchmark.startswith("cbr."):
        return "balance"
    if case.suite in ("npb", "hpcc"):
        return case.suite
    return "curves" if case.suite in suites.SUITES else ""


def speed(place: Place) -> tuple[float, str]:
    """Rank partitions, slower fabrics first, as papers have them: SDR, DDR, QDR.

    Those that state no fabric are the last.
    """
    bound = limit(place.facts).bandwidth if place.facts else None
    return bound or float("inf"), place.partition

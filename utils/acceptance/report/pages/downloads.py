"""All numbers as files, for other programs."""

from collections.abc import Sequence

from acceptance.report import addresses
from acceptance.report.plot_model import Page
from acceptance.report.source import Source


def pages(source: Source, made: Sequence[Page] = ()) -> list[Page]:
    """Return the list of all CSV and JSON that the other pages bring."""
    plots = [
        {"page": page, "plot": plot}
        | {ending: addresses.data(page.path, plot.id, ending) for ending in ("csv", "json")}
        for page in made
        for plot in page.plots
    ]
    sessions = [
        {"session": each, "simulated": any(case.simulated for case in each.cases)}
        | {ending: addresses.of_session(each.uuid, ending) for ending in ("csv", "json")}
        for each in source.sessions
    ]
    context = {"plots": plots, "sessions": sessions, "left_out": source.left_out}
    return [Page(addresses.DOWNLOADS, "Downloads", "downloads.html.j2", "Downloads", context)]

"""All numbers as files, for other programs."""

from collections.abc import Sequence

from acceptance.report import addresses
from acceptance.report.plot_model import Page
from acceptance.report.source import Source


def pages(source: Source, made: Sequence[Page] = ()) -> list[Page]:
    """Return the list of all CSV and JSON that the other pages bring."""
    plots = [
        {
            "page": page,
            "plot": plot,
            "csv": addresses.data(page.path, plot.id, "csv"),
            "json": addresses.data(page.path, plot.id, "json"),
        }
        for page in made
        for plot in page.plots
    ]
    sessions = [
        {
            "session": each,
            "csv": addresses.of_session(each.uuid, "csv"),
            "json": addresses.of_session(each.uuid, "json"),
            "simulated": any(case.simulated for case in each.cases),
        }
        for each in source.sessions
    ]
    context = {"plots": plots, "sessions": sessions, "left_out": source.left_out}
    return [Page(addresses.DOWNLOADS, "Downloads", "downloads.html.j2", "Downloads", context)]

"""All numbers as files, for other programs."""

from collections.abc import Sequence

from acceptance.report import addresses
from acceptance.report.plot_model import Page
from acceptance.report.source import Source


def pages(source: Source, made: Sequence[Page] = ()) -> list[Page]:
    """Return the list of all CSV and JSON that the other pages bring."""
    context = {"pages": made, "sessions": source.sessions}
    return [Page(addresses.DOWNLOADS, "Downloads", "downloads.html.j2", "Downloads", context)]

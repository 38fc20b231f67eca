"""From a page to its HTML: every text that is filled in is escaped, and none is run as a script.

A template fills in what stands in the page's context. It has beside that: `page`, `href(address)`
(an address in the site as the page writes it), `plot(id)` (the figure of one of its plots),
`address` (`report/addresses.py`), `report/runs.py` as `runs`, and the filters `number`,
`exact`, `time`, `day`, `seconds`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from markupsafe import Markup

from acceptance.core import text
from acceptance.report import addresses, plot_model, runs
from acceptance.report.plot_model import Page, number_text

#: What stands where there is no number.
NONE = number_text(None)
STATIC = Path(__file__).with_name("static")
#: What a page may load: its own scripts and styles, nothing else. plotly.js adds two constant style
#: elements, which are named by their hashes (the first one is empty); its style attributes are set
#: by `static/plots.js` in a way that needs no exception.
POLICY = (
    "default-src 'none'; script-src 'self'; "
    "style-src 'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' "
    "'sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o='; "
    "img-src 'self' data:; font-src 'none'; base-uri 'none'; form-action 'none'"
)


@dataclass(frozen=True)
class Renderer:
    """Renders the pages of one site; `made` is the line at the end of each page."""

    navigation: Sequence[Page]
    made: str

    def html(self, page: Page) -> str:
        """Return a page as HTML."""

        def href(address: str) -> str:
            return addresses.relative(address, page.path)

        def plot(id: str) -> Markup:
            return plot_model.html(named[id], page.path)

        named = {each.id: each for each in page.plots}
        given: dict[str, Any] = {
            "page": page,
            "policy": POLICY,
            "styles": _of(page, ".css"),
            "scripts": _of(page, ".js"),
            "navigation": self.navigation,
            "made": self.made,
            "simulated_page": page.simulated or any(each.simulated for each in page.plots),
            "href": href,
            "plot": plot,
        }
        template = plot_model.environment().get_template(page.template)
        return template.render(given | dict(page.context))


def _of(page: Page, ending: str) -> list[str]:
    """Return the files of `static/` that a page loads.

    All load `report`, those with plots `plots.js` (which loads what it needs) and `plot.css`, and a
    page of the template `NAME.html.j2` its own `NAME`.
    """
    own = page.template.split(".")[0]
    names = ["report", *(["plot", "plots"] if page.plots or page.draws else []), own]
    there = (STATIC / f"{name}{ending}" for name in dict.fromkeys(names))
    return [f"static/{path.name}" for path in there if path.exists()]


def time_text(when: float | datetime | str) -> str:
    """Return a time (s since the epoch, or ISO 8601) as people write it, in the local zone."""
    if isinstance(when, str):
        try:
            when = datetime.fromisoformat(when)
        except ValueError:
            return str(when)
    elif not isinstance(when, datetime):
        when = datetime.fromtimestamp(when)
    return when.astimezone().strftime("%Y-%m-%d %H:%M")


def _exact_text(value: Any) -> str:
    """Return a number with all of the digits that a benchmark prints; a gap is a dash."""
    if value is None:
        return NONE
    return f"{value:.8g}" if isinstance(value, float) else str(value)


plot_model.environment().globals |= {"address": addresses, "runs": runs}
plot_model.environment().filters |= {
    "exact": _exact_text,
    "time": time_text,
    "day": lambda when: time_text(when)[:10],
    "seconds": lambda seconds: NONE if seconds is None else text.time_text(seconds),
}

"""Pages in a real browser, Debian's Chromium: offline, and with nothing in its console.

Tests import the fixtures: `from tests.browser import browser, page`. `open_page(page, path)` opens
a file of a site from disk, and `axe(page)` tells what checks it for accessibility.
"""

import atexit
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests import needs
from tests.places import PATIENCE

#: Widths of a desk and of a phone, px.
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@cache
def _chromium():
    """Start the one Chromium of a process: modules import the fixture, each as its own."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * PATIENCE)
    playwright = sync_playwright().start()
    atexit.register(playwright.stop)
    return playwright.chromium.launch(
        executable_path=needs.find("chromium"), args=["--no-sandbox", "--disable-gpu"]
    )


def new_page(browser, **options):
    """Return a page of a context of its own, offline, that waits as long as other tests do."""
    context = browser.new_context(**{"viewport": DESK, "offline": True} | options)
    context.set_default_timeout(1000 * PATIENCE)
    return context.new_page()


@pytest.fixture(scope="session")
def browser():
    """Return the one Chromium of a session of tests."""
    needs.skip_without("chromium")
    return _chromium()


class Watched:
    """What a page did that none of the report may do: errors, and requests outside its folder."""

    def __init__(self, page):
        self.page, self.wrong, self.folder = page, [], None
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("request", self._request)
        page.on("requestfailed", self._failed)

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.wrong.append(f"console {message.type}: {message.text}")

    def _failed(self, request):
        # What a page still loads when it is left for another one ends so.
        if request.failure != "net::ERR_ABORTED":
            self.wrong.append(f"failed: {request.url}: {request.failure}")

    def _request(self, request):
        parts = urlsplit(request.url)
        if parts.scheme in ("data", "blob"):
            return
        path = Path(unquote(parts.path))
        if parts.scheme != "file" or (self.folder and self.folder not in path.parents):
            self.wrong.append(f"request to {request.url}")


@pytest.fixture
def page(browser):
    """Return a new page, which fails the test for whatever it does that it must not do."""
    new = new_page(browser, reduced_motion="reduce")
    new.watched = Watched(new)
    yield new
    wrong = list(new.watched.wrong)
    new.context.close()
    assert not wrong, "\n".join(wrong)


def open_page(page, folder, address="index.html"):
    """Open a page of a site from disk; from now on it may load nothing from anywhere else."""
    page.watched.folder = Path(folder).resolve()
    path, mark, place = address.partition("#")
    page.goto((page.watched.folder / path).as_uri() + mark + place)
    return page


def axe(page):
    """Return what axe-core finds wrong with a page, a line each; its script is not of the page."""
    from axe_playwright_python.sync_playwright import Axe

    # It would ask for the styles once more, which no page may.
    found = Axe().run(page, options={"preload": False}).response["violations"]
    return [
        f"{each['id']} ({each['impact']}): {node['target']}: {node.get('failureSummary', '')}"
        for each in found
        for node in each["nodes"]
    ]


def overflow(page):
    """Return how many pixels a page is wider than its window: it must not scroll sideways."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def fits(page):
    """Wait until nothing of a page is wider than its window: plots follow it in a moment."""
    for _ in range(50):
        if overflow(page) <= 0:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{overflow(page)} px wider than the window")

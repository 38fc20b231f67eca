"""The site as a whole: pages are collected, written beside the folder, and put in its place."""

import json
import posixpath
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from markupsafe import Markup

from acceptance.core import machine, state_files
from acceptance.core.errors import Fault
from acceptance.core.groups import grouped
from acceptance.report import addresses, figures, pictures, plot_model, runs
from acceptance.report.pages import (
    compare,
    curves,
    fabric,
    history,
    hpcc,
    npb,
    overview,
    pairs,
    protocol,
    references,
    sessions,
)
from acceptance.report.plot_model import Page, time_text
from acceptance.report.source import Source

#: Plots of a page whose picture stands in it: of more the page would be slow to load.
PICTURES = 50
#: What makes the pages, in the order of the navigation.
MODULES = (
    sessions, history, curves, pairs, fabric, npb, hpcc, compare, protocol, references,
)  # fmt: skip
#: The file by which a folder is known as a report of ours: it lists what stands in the folder.
MARKER = "report.json"
#: Seconds to wait for another process that writes the same folder.
PATIENCE = 60.0
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
#: The library that draws, and where its wheel has it.
LIBRARY = "plotly.min.js"


def write(source: Source, folder: Path) -> tuple[Path, int, int]:
    """Write the site into a folder, whole or not at all; one that stood there is replaced.

    Returns its first page, the number of pages, and its size (bytes). Raises Fault for a folder
    that is no report of ours, and where it cannot be written or the database cannot be read.
    """
    folder = folder.resolve()
    _check(folder)
    made = collect(source)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with (
            state_files.locked(folder.with_name(f".{folder.name}.lock"), PATIENCE),
            _beside(folder) as aside,
        ):
            _check(folder)
            _fill(aside / "new", made, source)
            size = sum(path.stat().st_size for path in aside.rglob("*") if path.is_file())
            if folder.exists():
                folder.rename(aside / "old")
            try:
                (aside / "new").rename(folder)
            except OSError:
                if (aside / "old").exists():
                    (aside / "old").rename(folder)
                raise
    except OSError as err:
        raise Fault(f"{folder}: cannot be written: {err.strerror or err}") from None
    return folder / "index.html", len(made), size


def collect(source: Source) -> list[Page]:
    """Return all pages, the first one first; one that a fault prevents says so."""
    every: list[Page] = []
    for module in MODULES:
        try:
            every += module.pages(source)
        except Fault as err:
            name = module.__name__.rpartition(".")[2]
            source.note(f"no page of {name}: {err}")
    groups = grouped(every, lambda page: page.group).items()
    made = [page for group, listed in groups for page in _indexed(group, listed)]
    # The first one tells what the others could not read.
    return [overview.page(source, [page for page in made if page.empty]), *made]


def _indexed(group: str, listed: list[Page]) -> list[Page]:
    """Return the pages of a group, its index first; one that lists them if they have none."""
    index = [page for page in listed if posixpath.basename(page.path) == "index.html"]
    if not index and len(listed) > 1:
        path = f"{posixpath.dirname(listed[0].path)}/index.html"
        empty = all(page.empty for page in listed)
        named = path, group, "listing.html.j2", group
        index = [Page(*named, {"listed": listed}, empty=empty)]
    return [*index, *(page for page in listed if page not in index)]


def navigation(made: Iterable[Page]) -> list[Page]:
    """Return the first page of each group that has something to show."""
    filled = (page for page in made if not page.empty)
    return [listed[0] for listed in grouped(filled, lambda page: page.group).values()]


def html(page: Page, navigation: Sequence[Page] = (), made: str = "") -> str:
    """Return a page as HTML; `made` is the line at its end.

    Every text that is filled in is escaped, and none is run as a script. A template fills in what
    stands in the page's context. It has beside that: `page`, `href(address)` (an address in the
    site as the page writes it), `plot(id)` (the figure of one of its plots), `address`
    (`report/addresses.py`), `report/runs.py` as `runs`, and the filters `number`, `exact`, `time`,
    `day`, `seconds`.
    """
    named = {each.id: each for each in page.plots}
    pictured = {each.id for each in page.plots[:PICTURES]}

    def plot(id: str) -> Markup:
        drawn = figures.figure(named[id]) if id in pictured else None
        shown = (pictures.picture(drawn), pictures.legend(drawn)) if drawn else ()
        return plot_model.html(named[id], page.path, *shown)

    given = {
        "page": page,
        "policy": POLICY,
        "styles": _static(page, ".css"),
        "scripts": _static(page, ".js"),
        "navigation": navigation,
        "made": made,
        "simulated_page": page.simulated or any(each.simulated for each in page.plots),
        "runs": runs,
        "href": lambda address: addresses.relative(address, page.path),
        "plot": plot,
    }
    template = plot_model.environment().get_template(page.template)
    return template.render(given | dict(page.context))


def _static(page: Page, ending: str) -> list[str]:
    """Return the files of `static/` that a page loads.

    All load `report`, those with plots `plots.js` (which loads what it needs) and `plot.css`, and a
    page of the template `NAME.html.j2` its own `NAME`.
    """
    own = page.template.split(".")[0]
    names = ["report", *(["plot", "plots"] if page.plots or page.draws else []), own]
    there = (STATIC / f"{name}{ending}" for name in dict.fromkeys(names))
    return [f"static/{path.name}" for path in there if path.exists()]


def _fill(folder: Path, made: list[Page], source: Source) -> None:
    """Write all files into a new folder."""
    by = f"acceptance {machine.version()}"
    if commit := machine.commit(source.workspace.root):
        by += f", commit {commit}"
    used = ", ".join(f"{name} {metadata.version(name)}" for name in ("reframe-hpc", "plotly"))
    entries, line = navigation(made), f"{time_text(source.now)}, {by}; {used}"
    shutil.copytree(STATIC, folder / "static")
    if any(page.plots or page.draws for page in made):
        (folder / "static" / LIBRARY).write_bytes(library())
    for page in made:
        files = {page.path: html(page, entries, line), **page.files}
        for plot in page.plots:
            files |= dict(figures.files(plot, page.path))
        for address, text in files.items():
            path = folder / address
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", errors="backslashreplace"))
    there = sorted({*(path.name for path in folder.iterdir()), MARKER})
    marker = {"report": by, "made": source.now.isoformat(timespec="seconds"), "entries": there}
    (folder / MARKER).write_text(json.dumps(marker, indent=1) + "\n", encoding="utf-8")


def library() -> bytes:
    """Return the script of plotly.js, as its wheel brings it but for a pair of parentheses.

    They are around the one function that it consists of: so a browser compiles it while it loads
    it, and not once more when it calls it.
    """
    import plotly

    path = Path(plotly.__file__).parent / "package_data" / LIBRARY
    if not path.is_file():
        raise Fault(f"{path}: the wheel of plotly has no script; install it again")
    script, begin, end = path.read_bytes().rstrip(), b"this, () => {\n", b"\n}));"
    if begin in script and script.endswith(end):
        script = script.removesuffix(end).replace(begin, b"this, (() => {\n", 1) + b"\n})));"
    return script


def _check(folder: Path) -> None:
    """Refuse a place where something else stands: nothing of anybody is deleted."""
    if not folder.exists():
        return
    remedy = "name another one with -o, or remove it"
    if not folder.is_dir():
        raise Fault(f"{folder}: is no folder; {remedy}")
    there = {path.name for path in folder.iterdir()}
    if not there:
        return
    try:
        marker = state_files.read(folder / MARKER)
        known = {*marker["entries"]} if marker and str(marker["report"]) else set()
    except (Fault, ValueError, TypeError, KeyError):
        known = set()
    if not known:
        raise Fault(f"{folder}: holds something that is no report; {remedy}")
    if other := sorted(there - known):
        raise Fault(f"{folder}: holds {other[0]}, which is not of the report; {remedy}")


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """Make a folder beside it, removed in the end; so is one that a kill has left."""
    aside = folder.with_name(f".{folder.name}.acceptance")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    try:
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)

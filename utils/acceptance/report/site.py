"""The site as a whole: pages are collected, written beside the folder, and put in its place."""

import glob
import importlib
import json
import pkgutil
import posixpath
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from acceptance.core import machine, state_files
from acceptance.core.errors import Fault
from acceptance.report import figures
from acceptance.report import pages as modules
from acceptance.report.pages import downloads, overview
from acceptance.report.plot_model import Page
from acceptance.report.rendering import STATIC, Entry, Renderer, time_text
from acceptance.report.source import Source

#: Entries of the navigation, in their order; other groups follow.
GROUPS = (
    "Overview", "Sessions", "History", "Curves", "Pairs", "Fabric", "NPB", "HPCC",
    "Compare", "Protocols", "References", "Downloads",
)  # fmt: skip
#: The file by which a folder is known as a report of ours: it lists what stands in the folder.
MARKER = "report.json"
#: Seconds to wait for another process that writes the same folder.
PATIENCE = 60.0
#: The library that draws, and where its wheel has it.
LIBRARY = "plotly.min.js"


class ReportFault(Fault):
    """A report that cannot be written: where, why, what to do."""


@dataclass(frozen=True)
class Written:
    """A site that was written: its first page, and its size."""

    index: Path
    pages: int
    bytes: int


def write(source: Source, folder: Path) -> Written:
    """Write the site into a folder, whole or not at all; one that stood there is replaced.

    Raises ReportFault for a folder that is no report of ours, and where it cannot be written;
    ResultsFault where the database cannot be read.
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
            (aside / "new").mkdir()
            size = _fill(aside / "new", made, source)
            if folder.exists():
                folder.rename(aside / "old")
            try:
                (aside / "new").rename(folder)
            except OSError:
                (aside / "old").rename(folder)
                raise
    except OSError as err:
        raise ReportFault(f"{folder}: cannot be written: {err.strerror or err}") from None
    return Written(folder / "index.html", len(made), size)


def collect(source: Source) -> list[Page]:
    """Return all pages, those of a group together; one that a fault prevents says so."""
    made: list[Page] = []
    for module in _modules():
        try:
            made += module.pages(source)
        except Fault as err:
            name = module.__name__.rpartition(".")[2]
            source.note(f"no page of {name}: {err}")
    made += downloads.pages(source, made)
    # It tells what the others could not read.
    made += overview.pages(source)
    made += _indexes(made)
    return sorted(made, key=lambda page: _rank(page.group))


def _modules() -> Iterator[ModuleType]:
    """Yield the modules of pages, but for those that are about the others."""
    last = (downloads.__name__, overview.__name__)
    for found in pkgutil.iter_modules(modules.__path__, f"{modules.__name__}."):
        if found.name not in last:
            yield importlib.import_module(found.name)


def _rank(group: str) -> int:
    return GROUPS.index(group) if group in GROUPS else len(GROUPS)


def _indexes(made: Iterable[Page]) -> list[Page]:
    """Return a page that lists those of a group which has several, and no index of its own."""
    groups: dict[str, list[Page]] = {}
    for page in made:
        groups.setdefault(page.group, []).append(page)
    new = []
    for group, listed in groups.items():
        path = f"{posixpath.dirname(listed[0].path)}/index.html"
        if group and len(listed) > 1 and not any(_is_index(page) for page in listed):
            new.append(Page(path, group, "listing.html.j2", group, {"listed": listed}))
    return new


def _is_index(page: Page) -> bool:
    """Tell whether a page is the first of its group."""
    return posixpath.basename(page.path) == "index.html"


def navigation(made: Iterable[Page]) -> list[Entry]:
    """Return the entries of the navigation: of each group its index, or its only page."""
    first: dict[str, Page] = {}
    for page in made:
        if page.group and (page.group not in first or _is_index(page)):
            first[page.group] = page
    order = sorted(first, key=lambda group: (_rank(group), group))
    return [Entry(group, first[group].path) for group in order]


def _fill(folder: Path, made: list[Page], source: Source) -> int:
    """Write all files; return their bytes."""
    commit = machine.commit(source.workspace.root)
    by = f"acceptance {machine.version()}{f', commit {commit}' if commit else ''}"
    renderer = Renderer(navigation(made), f"{time_text(source.now)}, {by}")
    size = 0
    for page in made:
        size += _text(folder, page.path, renderer.html(page))
        for address, text in page.files.items():
            size += _text(folder, address, text)
        for plot in page.plots:
            for address, text in figures.files(plot, page.path):
                size += _text(folder, address, text)
    static = [path for path in sorted(STATIC.iterdir()) if path.suffix in (".css", ".js")]
    if any(page.plots or page.draws for page in made):
        static.append(library())
    (folder / "static").mkdir()
    for path in static:
        shutil.copyfile(path, folder / "static" / path.name)
        size += path.stat().st_size
    marker = {
        "report": by,
        "made": source.now.isoformat(timespec="seconds"),
        "entries": sorted({*(path.name for path in folder.iterdir()), MARKER}),
    }
    return size + _text(folder, MARKER, json.dumps(marker, indent=1) + "\n")


def library() -> Path:
    """Return the script of plotly.js, as its wheel brings it."""
    import plotly

    path = Path(plotly.__file__).parent / "package_data" / LIBRARY
    if not path.is_file():
        raise ReportFault(f"{path}: the wheel of plotly has no script; install it again")
    return path


def _text(folder: Path, address: str, text: str) -> int:
    path = folder / address
    path.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode("utf-8", errors="backslashreplace")
    path.write_bytes(data)
    return len(data)


def _check(folder: Path) -> None:
    """Refuse a place where something else stands: nothing of anybody is deleted."""
    if not folder.exists():
        return
    remedy = "name another one with -o, or remove it"
    if not folder.is_dir():
        raise ReportFault(f"{folder}: is no folder; {remedy}")
    there = {path.name for path in folder.iterdir()}
    if not there:
        return
    try:
        marker = state_files.read(folder / MARKER)
        known = {*marker["entries"]} if marker and str(marker["report"]) else set()
    except (Fault, ValueError, TypeError, KeyError):
        known = set()
    if not known:
        raise ReportFault(f"{folder}: holds something that is no report; {remedy}")
    if other := sorted(there - known):
        raise ReportFault(f"{folder}: holds {other[0]}, which is not of the report; {remedy}")


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """Make a folder beside it, removed in the end; so are those that a kill has left."""
    prefix = f".{folder.name}.acceptance-"
    for left in folder.parent.glob(f"{glob.escape(prefix)}*"):
        shutil.rmtree(left, ignore_errors=True)
    aside = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    try:
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)

"""The site as a whole: pages are collected, written beside the folder, and put in its place."""

import glob
import json
import posixpath
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from acceptance.core import machine, state_files
from acceptance.core.errors import Fault
from acceptance.report import figures
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
from acceptance.report.plot_model import Page
from acceptance.report.rendering import STATIC, Renderer, time_text
from acceptance.report.source import Source

#: What makes the pages, in the order of the navigation.
MODULES = (
    sessions, history, curves, pairs, fabric, npb, hpcc, compare, protocol, references,
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
    """Return all pages, the first one first; one that a fault prevents says so."""
    groups: dict[str, list[Page]] = {}
    for module in MODULES:
        try:
            for page in module.pages(source):
                groups.setdefault(page.group, []).append(page)
        except Fault as err:
            name = module.__name__.rpartition(".")[2]
            source.note(f"no page of {name}: {err}")
    made = [page for group, listed in groups.items() for page in _indexed(group, listed)]
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
    first: dict[str, Page] = {}
    for page in made:
        if not page.empty:
            first.setdefault(page.group, page)
    return [*first.values()]


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

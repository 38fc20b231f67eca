"""The address of each page of the site, relative to its folder, made of the thing it is about.

A name of a system, a benchmark or a node may hold anything. A name in an address is of `a-z`,
`0-9`, `.`, `_` and `-`, and two names that differ never share one, not even on a disk that does not
tell capitals apart.
"""

import hashlib
import posixpath
import re

INDEX = "index.html"
HISTORY = "history/index.html"
SESSIONS = "sessions/index.html"
REFERENCES = "references/index.html"

#: Names that are taken as they are; others, and those that capitals alone tell apart, get a hash.
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_]*([.-][a-z0-9_]+)*\Z")
#: Characters of a name that are kept, and of the hash that follows.
_KEPT, _HASH = 60, 10
#: Names of devices, which some systems refuse as files.
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|\Z)")


def legal(name: str) -> str:
    """Return a name that is legal in an address and as a file; different for different names."""
    if _PLAIN.match(name) and len(name) <= _KEPT and not _RESERVED.match(name):
        return name
    kept = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")[:_KEPT]
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:_HASH]
    return f"{kept or 'x'}--{digest}"


def session(uuid: str, case: int | None = None) -> str:
    """Return the page of a session, or the place of its case of this number on it."""
    return f"sessions/{legal(uuid)}.html" + ("" if case is None else f"#case-{case}")


def of_session(uuid: str, ending: str) -> str:
    """Return the file of a session's numbers: its ending is csv or json."""
    return f"data/sessions/{legal(uuid)}.{ending}"


def output(uuid: str, case: int) -> str:
    """Return the copy of what the job of a session's case of this number printed."""
    return f"data/sessions/{legal(uuid)}-outputs/{case}.txt"


def reference(file: str, line: int) -> str:
    """Return the place of a row of `reference/`, by the name of its file and its line."""
    return f"{REFERENCES}#{legal(file)}-{line}"


def of_partition(kind: str, system: str, partition: str) -> str:
    """Return the page of a kind and a partition; `kind` is `curves`, `fabric`, `pairs`, ..."""
    # No legal name has this sign, so that no two partitions share a page.
    return f"{kind}/{legal(system)}~{legal(partition)}.html"


def of_system(kind: str, system: str) -> str:
    """Return the page of a kind about all partitions of a system; no partition has this name."""
    return f"{kind}/all--{legal(system)}.html"


def page(kind: str, name: str) -> str:
    """Return the page of a comparison, the protocol of an acceptance, or the histories of a thing.

    `kind` is `compare`, `protocol` or `history`, `name` what the thing is called.
    """
    return f"{kind}/{legal(name)}.html"


def of_protocol(campaign: str) -> str:
    """Return the copy of the data that a protocol consists of."""
    return f"data/protocol/{legal(campaign)}.json"


def data(page: str, plot: str, ending: str) -> str:
    """Return the file of a plot of a page: its ending is js, csv or json."""
    return f"data/{posixpath.splitext(page)[0]}/{legal(plot)}.{ending}"


def relative(to: str, page: str) -> str:
    """Return an address as a page writes it: as seen from the folder that the page stands in."""
    path, mark, place = to.partition("#")
    if path == page:
        return mark + place if mark else posixpath.basename(path)
    start = posixpath.dirname(page) or "."
    return posixpath.relpath(path, start) + mark + place

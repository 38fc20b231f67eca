"""All pairs of the nodes of a partition: heat maps, with the culprits named first."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from acceptance.core.errors import ParseError
from acceptance.core.pairs import UNITS
from acceptance.core.text import plural, read_bounded, shortened
from acceptance.ledger import Case
from acceptance.nodes import ALL_PAIRS, AllPairs, Culprit
from acceptance.report import addresses
from acceptance.report.fabric_reading import leaves, newest
from acceptance.report.matrices import Pairs
from acceptance.report.plot_model import Page
from acceptance.report.runs import Ran
from acceptance.report.source import Source
from acceptance.suites.all_pairs import read_so_far

#: The check's class, its benchmark, and the file that it leaves with each value.
CHECK, FILE = "AllPairs", "all-pairs.txt"
#: Bytes of that file that are read: 2,048 nodes write some 100 MB.
MOST_BYTES = 256 * 2**20
#: Pairs that are listed: the worst of each quantity, and those that failed.
WORST, FAILED = 8, 50
INDEX = f"pairs/{addresses.INDEX}"


def pages(source: Source) -> list[Page]:
    """Return an index of partitions, and a page of the newest case of each."""
    cases = newest(source, CHECK, ALL_PAIRS)
    made = {":".join(place): _page(source, case) for place, case in sorted(cases.items())}
    rows = [(place, made.get(place.name)) for place in source.measured]
    named = INDEX, "All pairs of nodes", "pairs_index.html.j2", "Pairs"
    return [Page(*named, {"rows": rows}, empty=not made), *made.values()]


def _page(source: Source, by: Ran) -> Page:
    """Return the page of a case: `measured` is None where nothing is stored of it."""
    case = by.case
    faults: list[str] = []
    measured = None
    try:
        measured = msgspec.convert(case.all_pairs, AllPairs) if case.all_pairs else None
    except ValueError as err:
        faults.append(f"what is stored of all pairs is malformed: {err}")
    if measured is None and not faults:
        faults.append(f"the case measured no pair: {case.fail_reason or case.result}")
    culprits = [each for each in measured.culprits if each.fails] if measured else []
    file = Path(case.folder, FILE) if case.folder else None
    pairs = _pairs(source, case, file, measured.culprits if measured else (), faults)
    context = {
        "by": by,
        "file": file,
        "measured": measured,
        "culprits": culprits,
        "faults": faults,
        "pairs": pairs,
        "summary": _summary(measured, culprits),
        "worst": WORST,
        "most_failed": FAILED,
        "units": UNITS,
    }
    path = addresses.of_partition("pairs", case.system, case.partition)
    title = f"All pairs of {case.system}:{case.partition}"
    plots = tuple(pairs.plots("pairs-")) if pairs else ()
    return Page(
        path, title, "pairs.html.j2", "Pairs", context, plots, simulated=bool(case.simulated)
    )


def _summary(measured: AllPairs | None, culprits: list[Culprit]) -> str:
    if culprits:
        named = shortened([each.subject for each in culprits], 4)
        return f"{plural(len(culprits), 'culprit')}: {named}."
    if measured is None or measured.not_judged:
        return "No culprit is named; not all could be judged, see below."
    return "No culprit: each pair is as good as the others of its round and distance."


def _pairs(
    source: Source, case: Case, file: Path | None, found: Sequence[Culprit], faults: list[str]
) -> Pairs | None:
    """Read the value of each pair; None, and a fault, where these are not there any more."""
    if file is None:
        faults.append("where its output was left is not stored: there is no value of each pair")
        return None
    try:
        text, cut = read_bounded(file, MOST_BYTES)
        read = read_so_far(text, FILE)
    except OSError as err:
        faults.append(f"{file}: {err.strerror or err}: there is no value of each pair any more")
        return None
    except (ParseError, ValueError) as err:
        faults.append(str(err))
        return None
    if cut or read.fault:
        faults.append(f"the file is not whole: {cut or read.fault}")
    by_leaf = leaves(source, case.system)
    return Pairs(read.matrix, by_leaf, found, simulated=bool(case.simulated))

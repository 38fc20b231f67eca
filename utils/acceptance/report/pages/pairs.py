"""All pairs of the nodes of a partition: heat maps, with the culprits named first."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from acceptance.core.errors import ParseError
from acceptance.core.pairs import UNITS
from acceptance.core.text import plural, read_bounded, shortened
from acceptance.nodes import AllPairs
from acceptance.nodes.culprits import Culprit
from acceptance.report import addresses
from acceptance.report.fabric_reading import Newest, leaves, newest
from acceptance.report.matrices import Pairs
from acceptance.report.plot_model import Page, Plot
from acceptance.report.source import Place, Source
from acceptance.suites.all_pairs import read_so_far

#: The check's class, its benchmark, and the file that it leaves with each value.
CHECK, BENCHMARK, FILE = "AllPairs", "patterns.all-pairs", "all-pairs.txt"
#: Bytes of that file that are read: 2,048 nodes write some 100 MB.
MOST_BYTES = 256 * 2**20
#: Pairs that are listed: the worst of each quantity, and those that failed.
WORST, FAILED = 8, 50
INDEX = addresses.pairs("index")
#: What is said of a partition without such a case.
NEVER = (
    "All pairs of its nodes were never measured: `reframe -c checks/all_pairs.py -r` does; a night "
    "takes some rounds of them, an acceptance all"
)


@dataclass(frozen=True)
class Section:
    """What a page says of the case of a partition; `measured` is None where nothing is stored."""

    place: str
    case: str
    file: str
    software: str
    simulated: str
    when: float
    measured: AllPairs | None
    faults: tuple[str, ...]
    culprits: tuple[Culprit, ...] = ()
    notes: tuple[Culprit, ...] = ()
    plots: tuple[Plot, ...] = ()
    worst: tuple[dict[str, Any], ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    more_failed: int = 0


def pages(source: Source) -> list[Page]:
    """Return an index of partitions, and a page of each session with the newest case of one."""
    cases = newest(source, CHECK, BENCHMARK)
    by_session: dict[str, list[tuple[tuple[str, str], Newest]]] = {}
    for place, case in sorted(cases.items()):
        by_session.setdefault(case.session.uuid, []).append((place, case))
    made = [_page(source, uuid, entries) for uuid, entries in by_session.items()]
    return [_index(source, cases, made), *made]


def _index(source: Source, cases: dict[tuple[str, str], Newest], made: list[Page]) -> Page:
    sections = {section.place: (page, section) for page in made for section in page.context["all"]}
    rows = []
    for place in source.measured:
        page, section = sections.get(place.name, (None, None))
        if page is None or section is None:
            rows.append({"place": place, "text": _why_none(place), "link": ""})
            continue
        failing = plural(len(section.culprits), "culprit") if section.culprits else "no culprit"
        text = section.measured.text if section.measured else "; ".join(section.faults)
        rows.append({"place": place, "text": f"{failing}: {text}", "link":
                     addresses.relative(page.path, INDEX)})  # fmt: skip
    return Page(INDEX, "All pairs of nodes", "pairs_index.html.j2", "Pairs", {"rows": rows})


def _why_none(place: Place) -> str:
    return NEVER if place.extras.get("nodes", 2) != 1 else "It has one node: there is no pair."


def _page(source: Source, uuid: str, entries: list[tuple[tuple[str, str], Newest]]) -> Page:
    path = addresses.pairs(uuid)
    sections = [_section(source, path, case, number) for number, (_, case) in enumerate(entries)]
    places = shortened([section.place for section in sections], 3)
    start = entries[0][1].session.start
    context = {"all": sections, "uuid": uuid, "start": start, "summary": _summary(sections)}
    plots = tuple(plot for section in sections for plot in section.plots)
    simulated = any(section.simulated for section in sections)
    title = f"All pairs of {places}"
    return Page(path, title, "pairs.html.j2", "Pairs", context, plots, simulated=simulated)


def _summary(sections: list[Section]) -> str:
    named = [each.subject for section in sections for each in section.culprits]
    if named:
        return f"{plural(len(named), 'culprit')}: {shortened(named, 4)}."
    unjudged = [one for one in sections if one.measured is None or one.measured.not_judged]
    if unjudged:
        return "No culprit is named; not all could be judged, see below."
    return "No culprit: each pair is as good as the others of its round and distance."


def _section(source: Source, path: str, newest_case: Newest, number: int) -> Section:
    case, session = newest_case.case, newest_case.session
    faults: list[str] = []
    measured = None
    try:
        measured = msgspec.convert(case.all_pairs, AllPairs) if case.all_pairs else None
    except ValueError as err:
        faults.append(f"what is stored of all pairs is malformed: {err}")
    if measured is None and not faults:
        faults.append(f"the case measured no pair: {case.fail_reason or case.result}")
    found = measured.culprits if measured else ()
    file = Path(case.folder, FILE) if case.folder else None
    pairs = _pairs(source, newest_case, file, found, faults)
    prefix = f"pairs-{number + 1}-" if number else "pairs-"
    return Section(
        place=f"{case.system}:{case.partition}",
        case=addresses.relative(addresses.session(session.uuid, newest_case.number), path),
        file=str(file or ""),
        software=", ".join(f"{key} {value}" for key, value in case.provenance.items()
                           if key in ("suite", "mpi", "compiler")),
        simulated=case.simulated,
        when=session.start,
        measured=measured,
        faults=tuple(faults),
        culprits=tuple(each for each in found if each.fails),
        notes=tuple(each for each in found if not each.fails),
        plots=tuple(pairs.plots(prefix)) if pairs else (),
        worst=tuple(_worst(pairs)) if pairs else (),
        failed=tuple(
            (pairs.matrix.way(pair), why)
            for pair, why in islice(pairs.matrix.failed.items(), FAILED)
        ) if pairs else (),
        more_failed=max(len(pairs.matrix.failed) - FAILED, 0) if pairs else 0,
    )  # fmt: skip


def _pairs(
    source: Source, newest_case: Newest, file: Path | None, found: tuple[Culprit, ...],
    faults: list[str],
) -> Pairs | None:  # fmt: skip
    """Read the value of each pair; None, and a fault, where these are not there any more."""
    case = newest_case.case
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
    return Pairs.of(read.matrix, by_leaf, found, simulated=bool(case.simulated))


def _worst(pairs: Pairs) -> list[dict[str, Any]]:
    """Return the worst pairs of each quantity, with how far they are off the median."""
    rows = []
    for quantity, values in pairs.matrix.values.items():
        if not (values == values).any():
            continue
        median = pairs.median(quantity)
        for pair in pairs.worst(quantity, WORST):
            again = pairs.matrix.again.get(quantity, {}).get(pair)
            value = float(values[pair])
            rows.append({
                "quantity": quantity, "sender": pairs.matrix.nodes[pair[0]],
                "receiver": pairs.matrix.nodes[pair[1]], "value": value, "unit": UNITS[quantity],
                "share": value / median, "again": again,
            })  # fmt: skip
    return rows

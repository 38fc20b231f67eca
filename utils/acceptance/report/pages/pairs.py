"""All pairs of the nodes of a partition: heat maps, with the culprits named first."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from acceptance.core.errors import ParseError
from acceptance.core.pairs import UNITS
from acceptance.core.text import plural, read_bounded, shortened
from acceptance.nodes import ALL_PAIRS, AllPairs
from acceptance.nodes.culprits import Culprit
from acceptance.report import addresses
from acceptance.report.fabric_reading import Newest, leaves, newest
from acceptance.report.matrices import Pairs
from acceptance.report.plot_model import Page, Plot
from acceptance.report.source import Place, Source
from acceptance.suites.all_pairs import read_so_far

#: The check's class, its benchmark, and the file that it leaves with each value.
CHECK, FILE = "AllPairs", "all-pairs.txt"
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
    """What a page says of the case of a partition.

    `measured` is None where nothing is stored, `pairs` where the values are not there any more.
    """

    by: Newest
    file: Path | None
    measured: AllPairs | None
    faults: Sequence[str]
    pairs: Pairs | None
    plots: tuple[Plot, ...]

    @property
    def place(self) -> str:
        """Return where it was measured."""
        return f"{self.by.case.system}:{self.by.case.partition}"

    @property
    def culprits(self) -> list[Culprit]:
        """Return the culprits that fail."""
        return [each for each in self.measured.culprits if each.fails] if self.measured else []


def pages(source: Source) -> list[Page]:
    """Return an index of partitions, and a page of each session with the newest case of one."""
    cases = newest(source, CHECK, ALL_PAIRS)
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
    named = INDEX, "All pairs of nodes", "pairs_index.html.j2", "Pairs"
    return Page(*named, {"rows": rows}, empty=not made)


def _why_none(place: Place) -> str:
    return NEVER if place.extras.get("nodes", 2) != 1 else "It has one node: there is no pair."


def _page(source: Source, uuid: str, entries: list[tuple[tuple[str, str], Newest]]) -> Page:
    path = addresses.pairs(uuid)
    sections = [_section(source, case, number) for number, (_, case) in enumerate(entries)]
    places = shortened([section.place for section in sections], 3)
    context = {"all": sections, "summary": _summary(sections), "worst": WORST,
               "most_failed": FAILED, "units": UNITS}  # fmt: skip
    plots = tuple(plot for section in sections for plot in section.plots)
    simulated = any(section.by.case.simulated for section in sections)
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


def _section(source: Source, newest_case: Newest, number: int) -> Section:
    case = newest_case.case
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
    plots = tuple(pairs.plots(prefix)) if pairs else ()
    return Section(newest_case, file, measured, faults, pairs, plots)


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

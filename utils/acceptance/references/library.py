"""Reference values: what `reference/` holds, typed, validated as a whole, and looked up.

The columns, keys and words are documented in `reference/README.md`. Nothing is half-loaded: a
malformed row anywhere is a `ReferenceFault` with its file and line.

Here is also told which values lie outside what their references allow, and how far.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, get_args

from acceptance.core.groups import grouped
from acceptance.core.text import number_text, plural
from acceptance.core.words import UNITS, is_simulated
from acceptance.references import external, recordings, rows
from acceptance.references.records import (
    RANGED,
    Claim,
    Printed,
    Reference,
    ReferenceFault,
)
from acceptance.references.tolerances import RECORDED, SOURCES, Tolerances


@dataclass(frozen=True)
class Library:
    """All references of a folder, validated against each other."""

    folder: Path
    papers: dict[str, str]
    #: `system:partition` of the test beds -> what systems.csv says of it, by column.
    partitions: dict[str, rows.Row]
    values: tuple[Reference, ...]
    claims: tuple[Claim, ...]
    tolerances: Tolerances
    baselines: tuple[Reference, ...] = field(default=())
    #: System -> its tolerances, where a site states its own.
    of_sites: dict[str, Tolerances] = field(default_factory=dict)
    #: Simulated system -> what was recorded of it, of those that were asked for.
    _recordings: dict[str, tuple[Reference, ...]] = field(default_factory=dict, init=False)

    @cached_property
    def _index(self) -> dict[tuple[str, ...], list[Reference]]:
        return _indexed((*self.baselines, *self.values))

    def recorded(self, system: str) -> tuple[Reference, ...]:
        """Return what a simulated system gave when it was recorded; read when it is asked for.

        Raises ReferenceFault as `load`.
        """
        if system not in self._recordings:
            found = recordings.read(recordings.recording_of(self.folder, system))
            _check_duplicates(found)
            self._recordings[system] = tuple(found)
            self._index.update(_indexed(found))
        return self._recordings[system]

    def look_up(
        self,
        system: str,
        partition: str,
        benchmark: str,
        metric: str,
        parameters: Mapping[str, str],
        unit: str,
        sources: Sequence[str] = SOURCES,
    ) -> Reference | None:
        """Return the reference that judges a result: a baseline, else a published value.

        Of the rows that fit (`Reference.fits`) the one with the most parameters wins, `=`
        before `~` before a bound, and of two bounds that on the worse side. Raises ValueError when
        two rows fit equally well, or the row that judges has another unit than the result.
        """
        if RECORDED in sources:
            self.recorded(system)
        for source in sources:
            indexed = self._index.get((source, system, partition, benchmark, metric), [])
            if matches := [row for row in indexed if row.fits(parameters)]:
                return best(matches, unit)
        return None

    def tolerances_of(self, system: str) -> Tolerances:
        """Return the tolerances for the results of a system: the site's own, where it has them."""
        return self.of_sites.get(system, self.tolerances)

    def thresholds(self, row: Reference) -> tuple[float | None, float | None] | None:
        """Return how far a result may lie from a row, as `Tolerances.thresholds`; None: any way.

        What a row says itself goes before tolerances.
        """
        if row.within is not None:
            return row.within
        tolerances = self.tolerances_of(row.system)
        return tolerances.thresholds(row.source, row.relation, row.unit)

    def stated(self, system: str, partition: str, benchmark: str) -> list[dict[str, str]]:
        """Return the parameters under which values and claims name results of a benchmark.

        A range is no value that a check could take.
        """
        return self._stated.get((system, partition, benchmark), [])

    @cached_property
    def _stated(self) -> dict[tuple[str, str, str], list[dict[str, str]]]:
        index: dict[tuple[str, str, str], list[dict[str, str]]] = {}
        for row in self.values:
            place = row.system, row.partition, row.benchmark
            index.setdefault(place, []).append(row.parameters)
        for claim in self.claims:
            for side in claim.sides:
                name, _, keys = claim.stated(side)
                single = {
                    key: text for key, text in keys.items() if key not in RANGED or ".." not in text
                }
                index.setdefault((side.system, side.partition, name), []).append(single)
        return index


def _indexed(references: Iterable[Reference]) -> dict[tuple[str, ...], list[Reference]]:
    return grouped(
        references, lambda row: (row.source, row.system, row.partition, row.benchmark, row.metric)
    )


def best(matches: list[Reference], unit: str = "") -> Reference:
    """Return the row that judges, as `Library.look_up`, of those of one source that fit a result.

    Raises ValueError as that does; without a `unit` not for another one.
    """
    # Of a range, two bounds, it is the one on the worse side that judges.
    judging = "<=" if UNITS[matches[0].unit] == "lower" else ">="

    def rank(row: Reference) -> tuple[int, int]:
        bound = 2 if row.relation == judging else 3
        return -len(row.parameters), min(get_args(Printed).index(row.relation), bound)

    first, *others = sorted(matches, key=rank)
    for row in others:
        if rank(row) == rank(first) and row.value != first.value:
            raise ValueError(
                f"{first.path}:{first.line} and {row.path}:{row.line} fit this result equally well"
            )
    if unit and first.unit != unit:
        raise ValueError(
            f"{first.path}:{first.line}: the reference is in {first.unit}, the result in {unit}"
        )
    return first


def load(folder: Path) -> Library:
    """Read and validate everything in a folder laid out like `reference/`.

    It is read once, and again where a file of it is another one. Raises ReferenceFault for the
    first thing that is missing, malformed or contradictory.
    """
    files = ((path, path.stat()) for path in sorted(folder.rglob("*")) if path.is_file())
    return _load(folder, tuple((path, stat.st_mtime_ns, stat.st_size) for path, stat in files))


@lru_cache(maxsize=2)
def _load(folder: Path, _: tuple[tuple[Path, int, int], ...]) -> Library:
    tolerances = Tolerances.load(folder / "tolerances.yaml")
    papers = rows.papers(folder / "papers.bib")
    partitions = rows.partitions(folder / "systems.csv", papers)
    values: list[Reference] = []
    for path in sorted(folder.glob("*.csv")):
        if path.name not in ("systems.csv", "claims.csv"):
            if path.stem not in papers:
                raise ReferenceFault(f"papers.bib has no entry {path.stem!r}", where=str(path))
            values += rows.values(path, "published", partitions)
    for paper in papers:
        if not (folder / f"{paper}.csv").is_file():
            place = str(folder / "papers.bib")
            raise ReferenceFault(f"{paper!r} has no {paper}.csv", where=place)
    baselines = [
        row
        for path in sorted((folder / "sites").glob("*.csv"))
        for row in rows.values(path, "baseline", None)
    ]
    baselines += [
        row for path in sorted((folder / "sites").glob("*.yaml")) for row in external.read(path)
    ]
    of_sites = {
        path.stem: tolerances.overridden(path)
        for place in ("sites/tolerances", "simulated")
        for path in sorted((folder / place).glob("*.yaml"))
    }
    _check_apart(folder)
    for row in baselines:
        known = of_sites.get(row.system, tolerances).table
        if row.within is None and ("baseline", row.unit) not in known:
            raise ReferenceFault(
                f"no tolerance of a baseline in {row.unit}, so that it could judge nothing; state "
                f"one in sites/tolerances/{row.system}.yaml",
                where=str(row.path),
                number=row.line,
            )
    _check_duplicates(values)
    _check_duplicates(baselines)
    claims = rows.claims(folder / "claims.csv", papers, partitions)
    for path in sorted((folder / "sites/claims").glob("*.csv")):
        claims += rows.claims(path, (path.stem,), None)
    judging = tuple(values), tuple(claims), tolerances, tuple(baselines)
    return Library(folder, papers, partitions, *judging, of_sites)


def _check_apart(folder: Path) -> None:
    """Refuse files of simulated systems among those of real ones, and the other way round."""
    of_sites = ("sites/*.csv", "sites/*.yaml", "sites/tolerances/*.yaml")
    places = {**dict.fromkeys(of_sites, False), "simulated/*.*": True}
    for pattern, simulated in places.items():
        for path in sorted(folder.glob(pattern)):
            if is_simulated(path.stem) != simulated:
                what = "are not simulated" if simulated else "are simulated: that is in simulated/"
                raise ReferenceFault(f"no place for systems that {what}", where=str(path))


def _check_duplicates(references: list[Reference]) -> None:
    exact: dict[tuple[str, ...], Reference] = {}
    judging: dict[tuple[str, ...], Reference] = {}
    for row in references:
        message = ""
        if row.relation == "=" and (first := judging.setdefault(row.key, row)) is not row:
            where = f"{first.path}:" if first.path != row.path else "line "
            message = f"{where}{first.line} has '=' for the same quantity, too"
        elif (first := exact.setdefault((*row.key, row.relation, row.where), row)) is not row:
            message = f"a duplicate of line {first.line}"
        if message:
            raise ReferenceFault(message, where=str(row.path), number=row.line)


#: Misses of one case that are written out, the worst first.
_SHOWN = 3


def outside(value: float, reference: float | None, lower: float | None, upper: float | None) -> int:
    """Return -1 for a value below its range, 1 above it, 0 within, or without a reference.

    Thresholds are fractions of the reference, or absolute where it is 0.
    """
    if reference is None:
        return 0
    scale = abs(reference) or 1.0
    if lower is not None and value < reference + lower * scale:
        return -1
    if upper is not None and value > reference + upper * scale:
        return 1
    return 0


def misses_text(perfvalues: Mapping[str, Sequence[Any]], judged_by: Mapping[str, str]) -> list[str]:
    """Return a line for each of the worst misses of a case, and one for the rest.

    `perfvalues` is ReFrame's: `system:partition:metric` -> value, reference, lower, upper, unit,
    result. `judged_by` is metric -> citation of its reference.
    """
    misses: list[tuple[float, str]] = []
    for key, (value, reference, lower, upper, unit, result) in perfvalues.items():
        if result == "fail":
            name = key.split(":", 2)[-1]
            off = (value - reference) / (abs(reference) or 1.0)
            side, allowed = ("below", lower) if off < 0 else ("above", upper)
            most = f"at most {_per_cent(allowed)} {side}" if allowed else f"nothing {side} it"
            text = (
                f"{name}: {_number(value)} {unit} is {_per_cent(off)} {side} {_number(reference)} "
                f"{unit} ({judged_by.get(name) or 'a reference of the check'}; {most})"
            )
            misses.append((-abs(off), text))
    lines = [text for _, text in sorted(misses, key=itemgetter(0))]
    if rest := lines[_SHOWN:]:
        more = f"and {plural(len(rest), 'more metric')}, each nearer to its reference"
        return [*lines[:_SHOWN], more]
    return lines


def _per_cent(fraction: float) -> str:
    return f"{number_text(100 * abs(fraction))} %"


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 9999.5 else f"{value:.0f}"

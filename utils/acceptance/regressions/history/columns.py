"""Samples of a history as columns: what is new, or all of some series.

Nothing else of the series is read, and no object is made of a sample.
"""

import json
import zlib
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TypeVar

import numpy as np

from acceptance.ledger import Runs, Samples, reading
from acceptance.regressions.history.series import History, Sample, Series, Software

_Number = TypeVar("_Number", bound=np.generic)


def since(history: History, number: int, last: int | None = None) -> Samples:
    """Return the samples of all series from a session on, up to a last one, by their numbers."""
    return _columns(history.series, number, last)


def of(series: Iterable[Series]) -> Samples:
    """Return all samples of some series of one history."""
    return _columns([*series], None)


@cache
def _code_of(nodes: tuple[str, ...]) -> int:
    """Return what stands for a set of nodes in every history."""
    return zlib.crc32(" ".join(sorted(set(nodes))).encode())


@cache
def _software_code(software: Software) -> int:
    """Return what stands for software in every history, 0 where none is known."""
    return zlib.crc32(repr(sorted(software)).encode()) if software else 0


def _columns(series: Sequence[Series], first: int | None, last: int | None = None) -> Samples:
    """Return samples of some series, with `first` and `last` those between these sessions."""
    source = next((one.source for one in series if one.source), None)
    if source is None:
        return _of_objects(series, first or 0, last)
    if first is None:
        ids = np.array([one.id for one in series], np.int64)
        found = reading.samples(source.ledger, 0, source.end, ids)
    else:
        end = source.end if last is None else source.place_of(last + 1)
        found = reading.samples(source.ledger, source.place_of(first), end)
    number = source.numbers_of(found.series)
    number[~np.isin(number, np.array([one.number for one in series], np.int32))] = -1
    order = np.argsort(number, kind="stable")
    order = order[np.searchsorted(number[order], 0) :]
    session_of = {place: one.number for place, one in source.sessions.items()}
    sets = {text: tuple(json.loads(text)) for text in {*found.nodes.tolist()}}
    built = {text: tuple(json.loads(text).items()) for text in {*found.software.tolist()}}
    runs = Runs(
        np.array([session_of[place] for place in found.session.tolist()], np.int32),
        found.time,
        np.array([_code_of(sets[text]) for text in found.nodes.tolist()], np.uint32),
        np.array([_software_code(built[text]) for text in found.software.tolist()], np.uint32),
        {_code_of(nodes): nodes for nodes in sets.values()},
    )
    run = np.searchsorted(found.run_id, found.run)[order]
    return Samples(number[order], run, found.value[order], runs)


def _of_objects(series: Sequence[Series], first: int, last: int | None) -> Samples:
    """Return samples of series that no ledger has."""
    runs: dict[int, int] = {}
    kept: list[Sample] = []
    rows: list[tuple[int, int, float]] = []
    for one in sorted(series, key=lambda one: one.number):
        some = slice(one.index_of(first), None if last is None else one.index_of(last + 1))
        for sample, value in zip(one.samples[some], one.values[some], strict=True):
            if id(sample) not in runs:
                runs[id(sample)] = len(kept)
                kept.append(sample)
            rows.append((one.number, runs[id(sample)], value))
    return Samples(
        np.array([number for number, _, _ in rows], np.int32),
        np.array([run for _, run, _ in rows], np.int64),
        np.array([value for _, _, value in rows], np.float64),
        Runs(
            np.array([each.session.number for each in kept], np.int32),
            np.array([each.time for each in kept], np.float64),
            np.array([_code_of(each.nodes) for each in kept], np.uint32),
            np.array([_software_code(each.software) for each in kept], np.uint32),
            {_code_of(each.nodes): each.nodes for each in kept},
        ),
    )

"""Series whose samples are of different sets of nodes, made comparable before they are judged."""

from array import array
from collections.abc import Iterable

import numpy as np

from acceptance.detection.node_sets import comparable
from acceptance.regressions.history.series import Sample, Series


def make_comparable(series: Iterable[Series]) -> None:
    """Set what the values of series would be on the same nodes; most have but one set of them."""
    groups: dict[tuple[int, ...], list[Series]] = {}
    for one in series:
        one.on_same_nodes = None
        if len({sample.nodes for sample in one.samples}) > 1:
            # The metrics of a case were measured by the same jobs, most of them in all.
            groups.setdefault(tuple(map(id, one.samples)), []).append(one)
    for members in groups.values():
        sets = _numbered(members[0].samples)
        logs = np.log(np.array([one.values for one in members]).T)
        changes = comparable(logs, sets) - logs
        for one, change in zip(members, changes.T, strict=True):
            if change.any():
                one.on_same_nodes = array("d", (np.array(one.values) * np.exp(change)).tolist())


def _numbered(samples: Iterable[Sample]) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Number the sets of nodes of samples, in the order in which they came."""
    numbers: dict[frozenset[str], int] = {}
    sets = [numbers.setdefault(frozenset(each.nodes), len(numbers)) for each in samples]
    return np.array(sets, np.intp)

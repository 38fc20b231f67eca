"""Samples of different sets of nodes, made comparable before they are judged."""

import numpy as np

from acceptance.detection.changepoint import Floats
from acceptance.detection.node_sets import comparable_groups
from acceptance.store import Samples


def on_same_nodes(samples: Samples) -> Floats:
    """Return what the values of whole series would be on the same nodes.

    Most have but one set of them.
    """
    values = samples.value.copy()
    ends = np.flatnonzero(np.diff(samples.series, append=-1)) + 1
    groups: dict[bytes, list[tuple[int, int]]] = {}
    for first, last in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        sets = samples.nodes[first:last]
        if (sets != sets[0]).any():
            # The metrics of a case were measured by the same jobs, most of them in all.
            groups.setdefault(sets.tobytes(), []).append((first, last))
    # Groups of as many samples and series go through their steps together.
    alike: dict[tuple[int, int], list[list[tuple[int, int]]]] = {}
    for members in groups.values():
        first, last = members[0]
        alike.setdefault((last - first, len(members)), []).append(members)
    for (length, _), several in alike.items():
        begins = np.array([[first for first, _ in members] for members in several])
        rows = np.arange(length)[:, None, None] + begins
        logs = np.log(values[rows])
        same = comparable_groups(logs, samples.nodes[rows[:, :, 0]])
        values[rows] = np.where(same == logs, values[rows], np.exp(same))
    return np.asarray(values, np.float64)

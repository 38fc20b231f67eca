"""What a pair of processes measured, on two nodes or on one, as ReFrame stores it with the case."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_KEYS = ("round", "nodes", "size", "time", "bandwidth")


@dataclass(frozen=True)
class PairResult:
    """The result of one pair at one message size.

    `round` names the run in which all pairs measured at once. `nodes` are the two on which the
    processes stood, or the one of both. `size` of the message in bytes, `time` of one on its way
    in us, `bandwidth` in MB/s.
    """

    round: str
    nodes: tuple[str, ...]
    size: int
    time: float
    bandwidth: float

    @property
    def inside(self) -> bool:
        """Tell whether both processes stood on one node."""
        return len(self.nodes) == 1

    def as_data(self) -> dict[str, str]:
        """Return what is stored: each field as text."""
        return {
            "round": self.round,
            "nodes": ",".join(self.nodes),
            "size": str(self.size),
            "time": repr(self.time),
            "bandwidth": repr(self.bandwidth),
        }

    @classmethod
    def of_data(cls, data: object) -> "PairResult":
        """Return what `as_data` made; ValueError for anything else."""
        if not isinstance(data, Mapping) or set(data) != set(_KEYS):
            raise ValueError(f"the result of a pair is {data!r}, not {', '.join(_KEYS)}")
        words = {key: str(data[key]) for key in _KEYS}
        nodes = tuple(words["nodes"].split(","))
        try:
            size = int(words["size"])
            time, bandwidth = _positive(words["time"]), _positive(words["bandwidth"])
        except ValueError as err:
            raise ValueError(f"the result of a pair has a bad number: {err}") from None
        if not (words["round"] and all(nodes) and len({*nodes}) == len(nodes) <= 2):
            raise ValueError(f"the result of a pair has no round, or no pair: {data!r}")
        return cls(words["round"], nodes, size, time, bandwidth)


def stored_data(results: Iterable[PairResult]) -> list[dict[str, str]]:
    """Return what a case stores of its pairs."""
    return [result.as_data() for result in results]


def pair_results(stored: object) -> tuple[PairResult, ...]:
    """Read what a case has stored; ValueError for what `stored_data` cannot have made.

    A case that has no pairs stores nothing, or ReFrame's text for what was never set.
    """
    if stored is None or stored == "<undefined>":
        return ()
    if not isinstance(stored, list):
        raise ValueError(f"the results of pairs are {stored!r}, not a list")
    return tuple(map(PairResult.of_data, stored))


def _positive(text: str) -> float:
    value = float(text)
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{text} was not measured")
    return value

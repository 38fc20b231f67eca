"""What was asked of the nodes that a verdict is on, and what is known of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from acceptance.launch import SlurmNode


@dataclass(frozen=True)
class Nodes:
    """What is known of the nodes of partitions, by `system:partition`.

    `known` are those that Slurm has, `stated` how many the facts of a partition state, `limited`
    those that the operator asked for. `every`: each of them must be benchmarked. `again` are the
    sessions that measured suspects again. `paired`: all pairs of them should be measured;
    `unpaired` says why they are on no partition.
    """

    known: Mapping[str, Sequence[SlurmNode]] = field(default_factory=dict)
    stated: Mapping[str, int] = field(default_factory=dict)
    limited: Mapping[str, Sequence[str]] = field(default_factory=dict)
    every: bool = False
    again: Collection[str] = ()
    paired: bool = False
    unpaired: str = ""

    def as_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {**asdict(self), "again": list(self.again)}

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> "Nodes":
        """Return what `as_data` made; TypeError or KeyError for anything else."""
        known = {
            place: [SlurmNode(**node) for node in listed] for place, listed in data["known"].items()
        }
        return cls(**{**data, "known": known})

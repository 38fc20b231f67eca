"""What was asked of the nodes that a verdict is on, and what is known of them."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field

from acceptance.launch import SlurmNode


class Nodes(Struct, frozen=True, forbid_unknown_fields=True):
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
    again: Collection[str] = field(default_factory=list)
    paired: bool = False
    unpaired: str = ""

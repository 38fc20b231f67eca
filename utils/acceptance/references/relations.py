"""Kinds of relation: what a claim may say, in which form, and of which results it is said.

Their meanings are the table "Kinds of relation" of `reference/README.md`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Relation:
    """A kind of relation.

    `pair`: two results are compared; `curve`: the results of one side along a key of which the
    claim states a range; `machines`: two results of each of several partitions. `of` says which of
    several pairs, curves or groups of machines decides, and `tolerance` which entry of
    `tolerances.yaml` says how far their figure may be off; empty: none.
    """

    shape: Literal["pair", "curve", "machines"]
    value: Literal["none", "number", "range", "place", "step"]
    of: Literal["all", "most", "largest"]
    tolerance: str = ""
    #: What a curve, or a group of machines, needs at least.
    points: int = 2


RELATIONS: dict[str, Relation] = {
    "=": Relation("pair", "number", "most", "="),
    "~": Relation("pair", "number", "most", "~"),
    ">=": Relation("pair", "number", "all", "bounds"),
    "<=": Relation("pair", "number", "all", "bounds"),
    "in": Relation("pair", "range", "most", "bounds"),
    "up-to": Relation("pair", "number", "largest", "bounds"),
    "better": Relation("pair", "none", "most"),
    "slightly-better": Relation("pair", "none", "most", "slightly-better"),
    "much-better": Relation("pair", "none", "most", "much-better"),
    "best": Relation("pair", "none", "all"),
    "similar": Relation("pair", "none", "most", "similar"),
    "differs": Relation("pair", "none", "most", "similar"),
    "level": Relation("curve", "none", "most", "level"),
    "grows": Relation("curve", "none", "most", "similar", points=3),
    "falls": Relation("curve", "none", "most", "similar", points=3),
    "peak": Relation("curve", "place", "most"),
    "step": Relation("curve", "step", "most", points=3),
    "proportional": Relation("machines", "none", "most", "proportional", points=3),
}

#: Keys of which a claim may state a range, `low..high` or `low..`: whole numbers.
RANGED = ("np", "message_size", "pairs", "distance")


#: A paper's word for message sizes -> the smallest and the largest one (bytes), both inclusive.
#: Small ones end where koop2008 sees the effect of inlining end, "below 64 bytes" (Section 5.1).
#: Large ones are those that OMB repeats less often than the others, because each fills the pipe by
#: itself: above LARGE_MESSAGE_SIZE, 8192 (osu_util.h); MPIs change to rendezvous about there, too.
SIZES: dict[str, tuple[int, float]] = {
    "small": (0, 63),
    "small-medium": (0, 8192),
    "medium": (64, 8192),
    "medium-large": (64, math.inf),
    "large": (8193, math.inf),
    "all": (0, math.inf),
}


def bounds(text: str) -> tuple[float, float] | None:
    """Return the ends of a range of whole numbers, both inclusive; None: it is no range."""
    low, dots, high = text.partition("..")
    if not dots:
        return None
    return int(low), int(high) if high else float("inf")


def stated_sizes(keys: Mapping[str, str]) -> tuple[float, float]:
    """Return the smallest and the largest message size that keys state (bytes), both inclusive."""
    if size := keys.get("message_size"):
        return bounds(size) or (int(size), int(size))
    return SIZES[keys.get("sizes", "all")]


def agrees(stated: str, measured: str | None) -> bool:
    """Tell whether a key has the value that is stated of it, or one of the stated range."""
    if stated == measured:
        return True
    ends = bounds(stated) if measured is not None and measured.isdecimal() else None
    return ends is not None and ends[0] <= int(str(measured)) <= ends[1]

"""The records of `reference/`: of what a number and a claim consist, how parameters are written.

A kind of relation is what a claim may say, in which form, and of which results. Keys and kinds are
documented in `reference/README.md`.
"""

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from acceptance.core.errors import Fault
from acceptance.core.records import Filled, Measured


@dataclass(frozen=True)
class _Relation:
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


RELATIONS: dict[str, _Relation] = {
    "=": _Relation("pair", "number", "most", "="),
    "~": _Relation("pair", "number", "most", "~"),
    ">=": _Relation("pair", "number", "all", "bounds"),
    "<=": _Relation("pair", "number", "all", "bounds"),
    "in": _Relation("pair", "range", "most", "bounds"),
    "up-to": _Relation("pair", "number", "largest", "bounds"),
    "better": _Relation("pair", "none", "most"),
    "slightly-better": _Relation("pair", "none", "most", "slightly-better"),
    "much-better": _Relation("pair", "none", "most", "much-better"),
    "best": _Relation("pair", "none", "all"),
    "similar": _Relation("pair", "none", "most", "similar"),
    "differs": _Relation("pair", "none", "most", "similar"),
    "level": _Relation("curve", "none", "most", "level"),
    "grows": _Relation("curve", "none", "most", "similar", points=3),
    "falls": _Relation("curve", "none", "most", "similar", points=3),
    "peak": _Relation("curve", "place", "most"),
    "step": _Relation("curve", "step", "most", points=3),
    "proportional": _Relation("machines", "none", "most", "proportional", points=3),
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


_INTEGER = re.compile(r"[1-9]\d*\Z")
_SIZE = re.compile(r"(0|[1-9]\d*)\Z")
_RANGE = re.compile(r"[1-9]\d*(\.\.[1-9]\d*)?\Z")
_TEXT = re.compile(r"[^;=,]+\Z")
#: A range in a claim: of what it is said, or along what; open upwards without its end.
_OPEN_RANGE = re.compile(r"(0|[1-9]\d*)\.\.([1-9]\d*)?\Z")


def _one_of(*words: str) -> re.Pattern[str]:
    return re.compile("(" + "|".join(map(re.escape, words)) + r")\Z")


#: Key of a parameter -> the form of its value. The order is the order in which they are written.
PARAMETERS: dict[str, re.Pattern[str]] = {
    "np": _INTEGER,
    "nodes": _INTEGER,
    "per_node": _INTEGER,
    "class": _one_of(*"SWABCDE"),
    "order": _INTEGER,
    "block": _INTEGER,
    "repetitions": _INTEGER,
    "message_size": _SIZE,
    "sizes": _one_of("small", "small-medium", "medium", "medium-large", "large", "all"),
    "pairs": _INTEGER,
    "placement": _one_of("inter-node", "intra-node", "intra-socket", "inter-socket"),
    "mapping": _one_of("block", "cyclic"),
    "buffers": _one_of("same", "different"),
    "synchronization": _one_of("lock", "flush", "flush_local", "lock_all", "pscw", "fence"),
    "window": _one_of("create", "allocate", "dynamic"),
    "share": re.compile(r"0\.\d+\Z"),
    "gpu": re.compile(r"(cuda|rocm)-[HD][HD]\Z"),
    "intranode": _one_of("shared", "loopback"),
    "distance": _RANGE,
    "pattern": _TEXT,
    "step": _INTEGER,
    "send_size": _INTEGER,
    "recv_size": _INTEGER,
    "local_socket": re.compile(r"\d+(/\d+)?\Z"),
    "remote_socket": re.compile(r"\d+(/\d+)?\Z"),
    "grid": _TEXT,
    "environment": _TEXT,
}


#: A result with one of these, and one without, are not of the same quantity.
OTHERS = (
    *("message_size", "block", "repetitions", "pattern"),
    *("gpu", "synchronization", "window", "share"),
)


class ReferenceFault(Fault):
    """Reference data that cannot be used: file, line and what is wrong with it."""


#: What says how a printed number relates to the quantity.
Printed = Literal["=", "~", ">=", "<="]


#: Fractions of a value.
_Below = Annotated[float, Meta(ge=-1, le=0)]
_Above = Annotated[float, Meta(ge=0, le=sys.float_info.max)]
_OWN = Meta(description="[lower, upper]: fractions from -1 to 0 and from 0 on, or null")


class Reference(Struct, frozen=True, forbid_unknown_fields=True):
    """A number with its origin, from a paper (`published`) or from a site (`baseline`)."""

    source: str
    origin: str
    where: Filled
    system: Filled
    partition: str
    benchmark: Filled
    metric: Filled
    parameters: dict[str, str]
    relation: Printed
    value: Measured
    unit: str
    printed: Filled
    note: str
    path: Path
    line: int
    #: Of a baseline: relative standard deviation of one sample, as a fraction; None: not known.
    spread: Annotated[float, Meta(ge=0, description="a number from 0 on")] | None = None
    #: Thresholds of its own as fractions, below and above; None: those of `tolerances.yaml`.
    within: Annotated[tuple[_Below | None, _Above | None], _OWN] | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """Return what the number is a number of."""
        return (
            self.system,
            self.partition,
            self.benchmark,
            self.metric,
            write_parameters(self.parameters),
        )

    def fits(self, parameters: Mapping[str, str]) -> bool:
        """Tell whether a result with these parameters is one of what the number is of.

        Each parameter of the row has the same value there, and of those that make another quantity
        both or neither name one.
        """
        if any((key in self.parameters) != (key in parameters) for key in OTHERS):
            return False
        keys = with_derived(parameters)
        return all(keys.get(key) == value for key, value in self.parameters.items())

    @property
    def citation(self) -> str:
        """Name source, origin and place: `published kandadai2009, Table 5`.

        It is stored with the results that it judged; `source_of` reads the source back.
        """
        return f"{self.source} {self.origin}, {self.where}"


def decimal(value: float) -> str:
    """Write a number without an exponent, and without a point where it is whole."""
    return f"{Decimal(repr(value)).normalize():f}"


def source_of(citation: str) -> str:
    """Return the source of a stored citation, its first word: `published`, `baseline`, `limit`."""
    return citation.partition(" ")[0]


@dataclass(frozen=True)
class Side:
    """One side of a claim: a partition and the keys in which it differs from the other side.

    The partition is empty where the paper does not say with what it compares. `over`: the side is
    a quotient, how many times as good the result above the line is as the one below.
    """

    system: str
    partition: str
    keys: dict[str, str]
    over: "Side | None" = None

    @property
    def fullname(self) -> str:
        """Return ReFrame's name, `system:partition`; `system:` where no partition is named."""
        return f"{self.system}:{self.partition}"


class Claim(Struct, frozen=True, forbid_unknown_fields=True):
    """A relation between results that a paper or a site states (`published`, `site`).

    Units and relations are those of `reference/README.md`. `right` is None where it is said of the
    results of one side, along a key. `expected`: a system of that name must fulfil it.
    """

    source: str
    paper: str
    where: Filled
    benchmark: str
    metric: str
    parameters: dict[str, str]
    left: Side
    right: Side | None
    relation: str
    value: tuple[float, ...]
    unit: str
    printed: Filled
    expected: bool
    note: str
    path: Path
    line: int

    @property
    def kind(self) -> _Relation:
        """Return the kind of relation."""
        return RELATIONS[self.relation]

    @property
    def named(self) -> dict[str, Side]:
        """Return what the claim speaks of: left, right, and what is below the line of each."""
        sides = {"left": self.left, "left below": self.left.over}
        if self.right is not None:
            sides |= {"right": self.right, "right below": self.right.over}
        return {name: side for name, side in sides.items() if side is not None}

    @property
    def sides(self) -> tuple[Side, ...]:
        """Return the sides of `named`."""
        return tuple(self.named.values())

    @property
    def along(self) -> str:
        """Return the key of whose range a claim about a curve speaks: the one that left states."""
        return next(key for key in RANGED if bounds(self.left.keys.get(key, "")))

    def stated(self, side: Side) -> tuple[str, str, dict[str, str]]:
        """Return benchmark, metric and keys of the results that a side speaks of."""
        keys = {**self.parameters, **side.keys}
        return keys.pop("benchmark", self.benchmark), keys.pop("metric", self.metric), keys


def _columns(record: type[Reference] | type[Claim]) -> tuple[str, ...]:
    place = ("source", "origin", "path", "line", "spread", "within")
    return tuple(name for name in record.__struct_fields__ if name not in place)


#: The columns of `<paper>.csv` and of `claims.csv`: what the records do not say of their place.
#: A baseline may have one more, `spread`.
VALUE_COLUMNS, CLAIM_COLUMNS = _columns(Reference), _columns(Claim)


def with_derived(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of a result with what follows from them: the processes on each node."""
    processes, nodes = parameters.get("np", ""), parameters.get("nodes", "")
    if not (processes.isdecimal() and nodes.isdecimal() and int(nodes)):
        return {**parameters}
    # Where they cannot be spread evenly, those on most of the nodes.
    return {**parameters, "per_node": str(-(-int(processes) // int(nodes)))}


def read_parameters(text: str, ranges: bool = False) -> dict[str, str]:
    """Read `key=value;key=value`; a claim may state `ranges` of whole numbers.

    Raises ValueError for an unknown or repeated key and for a value of the wrong form.
    """
    parameters: dict[str, str] = {}
    for part in filter(None, text.split(";")):
        key, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{part!r} is not of the form key=value")
        if key not in PARAMETERS:
            raise ValueError(f"unknown key {key!r}; known: {', '.join(PARAMETERS)}")
        if key in parameters:
            raise ValueError(f"the key {key!r} stands twice")
        ranged = ranges and key in RANGED and _OPEN_RANGE.match(value)
        if not (ranged or PARAMETERS[key].match(value)):
            raise ValueError(f"{value!r} is no value of {key!r}")
        parameters[key] = value
    return parameters


def write_parameters(parameters: Mapping[str, str]) -> str:
    """Write parameters in the one order that `reference/README.md` gives."""
    return ";".join(f"{key}={parameters[key]}" for key in PARAMETERS if key in parameters)

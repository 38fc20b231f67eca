"""The `extras` of partitions and environments in `config/systems/`: read strictly, in one place.

A key that begins with `site_` is the site's own: nothing here reads it. The facts of a fabric are
read by `acceptance.fabric.facts_of`.
"""

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from acceptance.core.errors import Fault

#: How much is measured, the least first: to see that all works, every night, and when a machine is
#: accepted.
MODES = ("smoke", "nightly", "acceptance")
#: Whether findings of the guidelines are shown, or fail the session.
GUIDELINES = ("show", "fail")
#: How the keys begin that are a site's own.
OWN = "site_"
#: What `nodes` of a partition may be in place of a number: all that the scheduler has up.
ALL = "all"


class ExtrasFault(Fault, ValueError):
    """A key that nothing reads, or a value that cannot be; `where` is file and partition."""


@dataclass(frozen=True)
class Simulated:
    """That a partition is simulated, of which system; and the fat tree, if it is one.

    `leaf` nodes hang on a leaf switch, `spines` switches are above all leaves; 0: no tree.
    """

    of: str
    leaf: int = 0
    spines: int = 0


@dataclass(frozen=True)
class PartitionExtras:
    """What a partition states of itself, apart from its fabric.

    `nodes`, `cores`, `memory` (bytes of a node), `cache` (bytes) and `peak` (Gflop/s of a node) are
    0 and `mode` is empty where nothing is stated; `acceptance.launch.size_of` finds the first three
    elsewhere, and how many are `ALL` nodes. `packed`: jobs also stand on as few nodes as have the
    cores. `inferred` names what is stated, here or of the fabric, though no source prints it.
    """

    nodes: int | str = 0
    cores: int = 0
    memory: int = 0
    memory_bandwidth: float = 0.0
    mode: str = ""
    peak: float = 0.0
    cache: int = 0
    guidelines: str = GUIDELINES[0]
    verify_placement: bool = True
    packed: bool = False
    #: None: measured.
    simulated: Simulated | None = None
    inferred: tuple[str, ...] = ()

    @classmethod
    def read(cls, extras: Mapping[str, object], where: str = "") -> "PartitionExtras":
        """Check all keys and values, and take them; raises ExtrasFault for the first wrong one."""
        known = {**_PARTITION, "fabric": _anything}
        taken = _checked(extras, known, "the extras of a partition", where)
        fabric = extras.get("fabric")
        stated = {*extras, *(fabric if isinstance(fabric, Mapping) else ())}
        for name in taken.get("inferred", ()):  # type: ignore[attr-defined]
            if name not in stated:
                raise ExtrasFault(f"inferred has {name!r}, which is not stated", where=where)
        return cls(**{key: value for key, value in taken.items() if key != "fabric"})  # type: ignore[arg-type]


def node_count(extras: Mapping[str, object], default: int | None = 1) -> int | None:
    """Return how many nodes the extras of a partition state, or the default where they do not.

    None where they state `ALL`, which the scheduler knows, and where what they state is no number
    of nodes: every check there refuses that.
    """
    try:
        return _whole(1)("nodes", extras.get("nodes", default))  # type: ignore[return-value]
    except ValueError:
        return None


def read_environment(
    extras: Mapping[str, object],
    features: Collection[str],
    suites: Collection[str],
    mpis: Collection[str],
    where: str = "",
) -> None:
    """Check what an environment states; raises ExtrasFault for the first thing that is wrong.

    Of `sources`, `suites` and `versions` the keys are known `suites`, or features of this
    environment.
    """
    named = _mapping_of(_text, [*suites, *(name for name in features if name not in suites)])
    known = {
        "mpi": _word(mpis),
        "spack": _mapping_of(_text, ["mpi"], required=True),
        "sources": named,
        "suites": named,
        "versions": named,
    }
    _checked(extras, known, "the extras of an environment", where)


_Check = Callable[[str, object], object]


def _checked(
    given: Mapping[str, object], known: Mapping[str, _Check], what: str, where: str
) -> dict[str, object]:
    if not isinstance(given, Mapping):
        raise ExtrasFault(f"{what} are {given!r}; they have to be a dictionary", where=where)
    taken = {}
    for key, value in given.items():
        if isinstance(key, str) and key.startswith(OWN):
            continue
        try:
            if key not in known:
                raise ValueError(
                    f"unknown key {key!r} in {what}; known: {', '.join(known)}, and whatever "
                    f"begins with {OWN}"
                )
            taken[key] = known[key](key, value)
        except ValueError as err:
            raise ExtrasFault(str(err), where=where) from None
    return taken


def _anything(key: str, value: object) -> object:
    return value


def _whole(least: int) -> _Check:
    def check(key: str, value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{key} is {value!r}; it has to be a whole number from {least} on")
        return value

    return check


def _nodes(key: str, value: object) -> object:
    try:
        return value if value == ALL else _whole(1)(key, value)
    except ValueError as err:
        raise ValueError(f"{err}, or {ALL!r}") from None


def _positive(key: str, value: object) -> object:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < float(str(value)) < math.inf:
        raise ValueError(f"{key} is {value!r}; it has to be a number above 0")
    return value


def _word(words: Collection[str]) -> _Check:
    def check(key: str, value: object) -> object:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"unknown {key}: {value!r}; known: {', '.join(words)}")
        return value

    return check


def _truth(key: str, value: object) -> object:
    if not isinstance(value, bool):
        raise ValueError(f"{key} is {value!r}; it can be True or False")
    return value


def _text(key: str, value: object) -> object:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{key} is {value!r}; it has to be a text")
    return value


def _names(key: str, value: object) -> object:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) for name in value):
        raise ValueError(f"{key} is {value!r}; it has to be a list of names")
    return tuple(value)


def _mapping_of(check: _Check, keys: Collection[str], *, required: bool = False) -> _Check:
    def check_all(key: str, value: object) -> object:
        if not isinstance(value, Mapping):
            raise ValueError(f"{key} is {value!r}; it has to be a dictionary")
        for name in value:
            if name not in keys:
                raise ValueError(f"unknown key {name!r} in {key}; known: {', '.join(keys)}")
            check(f"{key}: {name}", value[name])
        if required and (missing := [name for name in keys if name not in value]):
            raise ValueError(f"{key} has no key {', '.join(map(repr, missing))}")
        return value

    return check_all


def _simulated(key: str, value: object) -> object:
    known = {"of": _text, "leaf": _whole(1), "spines": _whole(1)}
    if not isinstance(value, Mapping) or "of" not in value:
        raise ValueError(f'{key} is {value!r}; it has to be a dictionary with the key "of"')
    return Simulated(**_checked(value, known, key, ""))  # type: ignore[arg-type]


_PARTITION: dict[str, _Check] = {
    "nodes": _nodes,
    "cores": _whole(1),
    "memory": _whole(0),
    "memory_bandwidth": _positive,
    "mode": _word(MODES),
    "peak": _positive,
    "cache": _whole(1),
    "guidelines": _word(GUIDELINES),
    "verify_placement": _truth,
    "packed": _truth,
    "simulated": _simulated,
    "inferred": _names,
}

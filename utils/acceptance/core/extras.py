"""The `extras` of partitions and environments in `config/systems/`: read strictly, in one place.

A key that begins with `site_` is the site's own: nothing here reads it. The facts of a fabric are
read by `acceptance.fabric.facts_of`.
"""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from acceptance.core import records
from acceptance.core.errors import Fault
from acceptance.core.records import Measured, Text, Whole

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


class Simulated(Struct, frozen=True, forbid_unknown_fields=True):
    """That a partition is simulated, of which system; and the fat tree, if it is one.

    `leaf` nodes hang on a leaf switch, `spines` switches are above all leaves; 0: no tree.
    """

    of: Text
    leaf: Whole = 0
    spines: Whole = 0


class PartitionExtras(Struct, frozen=True, forbid_unknown_fields=True):
    """What a partition states of itself; `acceptance.fabric.facts_of` reads its `fabric`.

    `nodes`, `cores`, `memory` (bytes of a node), `cache` (bytes) and `peak` (Gflop/s of a node) are
    0 and `mode` is empty where nothing is stated; `acceptance.machine.size_of` finds the first
    three elsewhere, and how many are `ALL` nodes. `packed`: jobs also stand on as few nodes as have
    the cores. `inferred` names what is stated, here or of the fabric, though no source prints it.
    """

    nodes: Annotated[
        Whole | Literal["all"], Meta(description="a whole number from 1 on, or 'all'")
    ] = 0
    cores: Whole = 0
    memory: Annotated[int, Meta(ge=0, description="a whole number from 0 on")] = 0
    memory_bandwidth: Measured = 0.0
    mode: Literal["", "smoke", "nightly", "acceptance"] = ""
    peak: Measured = 0.0
    cache: Whole = 0
    guidelines: Literal["show", "fail"] = "show"
    verify_placement: bool = True
    packed: bool = False
    #: None: measured.
    simulated: Simulated | None = None
    inferred: tuple[str, ...] = ()
    fabric: Any = None

    @classmethod
    def read(cls, extras: Mapping[str, object], where: str = "") -> "PartitionExtras":
        """Check all keys and values, and take them; raises ExtrasFault for the first wrong one."""
        try:
            stated = records.read(cls, extras, "the extras of a partition", own=OWN)
        except ValueError as err:
            raise ExtrasFault(str(err), where=where) from None
        names = {*extras, *(stated.fabric if isinstance(stated.fabric, Mapping) else ())}
        for name in stated.inferred:
            if name not in names:
                raise ExtrasFault(f"inferred has {name!r}, which is not stated", where=where)
        return stated


def node_count(extras: Mapping[str, object], default: int | None = 1) -> int | None:
    """Return how many nodes the extras of a partition state, or the default where they do not.

    None where they state `ALL`, which the scheduler knows, and where what they state is no number
    of nodes: every check there refuses that.
    """
    nodes = extras.get("nodes", default)
    return nodes if isinstance(nodes, int) and nodes >= 1 and nodes is not True else None


#: Which MPI of Spack's an environment is built with.
_Spack = Annotated[dict[Literal["mpi"], Text], Meta(min_length=1, description='{"mpi": a text}')]


class _Environment(Struct, forbid_unknown_fields=True):
    mpi: str = ""
    spack: _Spack | None = None
    images: dict[str, Text] = {}
    sources: dict[str, Text] = {}
    suites: dict[str, Text] = {}
    versions: dict[str, Text] = {}
    #: What Spack's packages have to be: name -> spec, as `@=1.15.0`.
    packages: dict[str, Text] = {}


def read_environment(
    extras: Mapping[str, object],
    features: Collection[str],
    suites: Collection[str],
    mpis: Collection[str],
    where: str = "",
) -> None:
    """Check what an environment states; raises ExtrasFault for the first thing that is wrong.

    Of `images`, `sources`, `suites` and `versions` the keys are known `suites`, or features of this
    environment.
    """
    names = dict.fromkeys((*suites, *features))
    try:
        stated = records.read(_Environment, extras, "the extras of an environment", own=OWN)
        if "mpi" in extras and stated.mpi not in mpis:
            raise ValueError(f"unknown mpi: {stated.mpi!r}; known: {', '.join(mpis)}")
        for what in ("images", "sources", "suites", "versions"):
            for name in getattr(stated, what):
                if name not in names:
                    raise ValueError(f"unknown key {name!r} in {what}; known: {', '.join(names)}")
    except ValueError as err:
        raise ExtrasFault(str(err), where=where) from None

"""The newest case of a check on each partition, and a fabric as it was read last.

Of that it is what a session says of it, with what is kept of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

from acceptance.core.errors import Fault
from acceptance.fabric import kinds, stored
from acceptance.fabric.topology import Topology
from acceptance.report.runs import Ran, Run
from acceptance.report.source import Source

#: The class of the check that looks at a whole fabric.
CHECK = "FabricView"


def newest(source: Source, check: str, benchmark: str) -> dict[tuple[str, str], Ran]:
    """Return the newest case of a benchmark by system and partition.

    Sessions that have a page are read, then, if nobody has chosen some, others with a case of a
    check, which is named by its class. Raises ResultsFault.
    """
    chosen = source.selection
    whole = not chosen.sessions and chosen.since is None
    others = source.ledger.sessions_of_check(check, float("inf")) if whole else ()
    found: dict[tuple[str, str], Ran] = {}
    wanted = {(place.system, place.partition) for place in source.measured}
    for each in chain(source.sessions, others):
        found = {
            (ran.case.system, ran.case.partition): ran
            for ran in Run((each,)).cases
            if ran.case.benchmark == benchmark and not ran.case.fixture
        } | found
        if wanted <= found.keys():
            break
    return {place: it for place, it in found.items() if chosen.system in (None, place[0])}


@dataclass(frozen=True)
class Reading:
    """A fabric as it was read last: by the case `by`, of which `name` is that of its files.

    `topology` is None where nothing of it is kept; `faults` say why, or what does not fit.
    """

    by: Ran
    name: str
    topology: Topology | None = None
    accepted: stored.AcceptedFabric | None = None
    since: Mapping[str, str] = field(default_factory=dict)
    read_at: str = ""
    faults: tuple[str, ...] = ()

    @property
    def looked(self) -> bool:
        """Tell whether the newest case did look at the fabric."""
        return "fabric_sha256" in self.by.case.provenance


# Several pages ask for it.
@lru_cache(maxsize=1)
def readings(source: Source) -> dict[tuple[str, str], Reading]:
    """Return the newest look at a fabric by the system and partition that looked."""
    cases = newest(source, CHECK, kinds.BENCHMARK)
    return {place: reading(source, case) for place, case in cases.items()}


def leaves(source: Source, system: str) -> dict[str, str]:
    """Return node -> its leaf, as far as the fabrics of a system that were read last tell."""
    found: dict[str, str] = {}
    for (name, _), read in readings(source).items():
        seen = read.topology
        if name != system or seen is None:
            continue
        for node, guids in seen.hosts.items():
            leaf = next(filter(None, map(seen.leaf_of, guids)), None)
            if leaf is not None:
                found[node] = seen.device_name(leaf)
    return found


def reading(source: Source, case: Ran) -> Reading:
    """Return what is kept of the fabric that a case has looked at."""
    faults: list[str] = []
    var, reference = source.workspace.var, source.workspace.reference
    told = case.case.provenance.get("fabric_name")
    names = [told] if told else [case.case.system, f"{case.case.system}-{case.case.partition}"]
    kept_files = {each: stored.state_path(var, each) for each in names}
    name = next((each for each, file in kept_files.items() if file.exists()), names[0])
    topology = accepted = None
    state = stored.State(0.0, None)
    try:
        state = stored.read_state(kept_files[name])
        if (kept := state.fabric) is not None:
            topology = kept.topology
            known = case.case.provenance.get("fabric_sha256")
            if known and known != stored.checksum(kept):
                faults.append("the drawing is of a later reading than the table: it was read again")
        else:
            faults.append(f"nothing of it is kept in {kept_files[name]}: there is no drawing")
        path = stored.path_of(reference, name)
        accepted = stored.read(path, stored.AcceptedFabric)
    except Fault as err:
        faults.append(str(err))
        source.note(err)
    at = stored.stamp(state.time)[:16].replace("T", " ") + " UTC" if state.time else ""
    return Reading(case, name, topology, accepted, state.since, at, tuple(faults))

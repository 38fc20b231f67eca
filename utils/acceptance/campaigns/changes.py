"""Two environments as a set of changes, and what has some of these: an environment of its own.

A side is an environment of the configuration, or that of a stored session with what it was built
and loaded of then. What can be set are variables, modules, the MPI with all that goes with it, and
of Spack's packages versions and variants. All else that differs is listed, and cannot be tried.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from acceptance.core import machine
from acceptance.core.errors import Fault
from acceptance.core.text import there_are
from acceptance.ledger import Case, Ledger
from acceptance.machine import mpi_of_module, read_packages
from acceptance.relations import sides
from acceptance.rfm.configuration import Site

#: A fact of an environment, kind and name: ("variable", "UCX_TLS"); of its extras the key is the
#: kind where the value is a table.
Fact = tuple[str, str]
Facts = dict[Fact, Any]
#: What states the MPI of an environment, and what moves with it.
_MPI: tuple[Fact, ...] = (("extra", "mpi"), ("spack", "mpi"))
_FEATURES: Fact = ("setting", "features")
_WITH_MPI: tuple[Fact, ...] = (
    *_MPI, _FEATURES, ("variable", "PATH"), ("variable", "LD_LIBRARY_PATH"),
)  # fmt: skip
#: What of the provenance of a case a lock, the modules and the environment say, or no cause is.
_SAID = ("spec", "hash", "lock", "compiler", "mpi", "modules", "program", "target", "date", "order")


@dataclass(frozen=True)
class Change:
    """What differs; where it has no `facts` nobody can set it here. Empty: it is not there."""

    name: str
    good: str
    bad: str
    facts: tuple[Fact, ...] = ()

    def __str__(self) -> str:
        """Say what became of it."""
        return f"{self.name} ({self.good or 'none'} -> {self.bad or 'none'})"


@dataclass(frozen=True)
class Side:
    """An environment on a partition (`system:partition`), as it is configured or was stored.

    `locks` are the texts of spack.lock by suite; `facts` of the provenance are those of a session.
    """

    text: str
    where: str
    environment: Mapping[str, Any]
    stored: bool = False
    provenance: Mapping[str, str] = field(default_factory=dict)
    locks: Mapping[str, str] = field(default_factory=dict)


def locks(cases: Sequence[Case]) -> dict[str, str]:
    """Return the text of each spack.lock that the builds among some cases have kept, by suite."""
    paths = {case.suite: Path(case.folder, "spack.lock") for case in cases if case.fixture}
    return {suite: text for suite, path in paths.items() if (text := machine.read_text(path))}


def find(text: str, site: Site, system: Mapping[str, Any], past: Ledger | None, case: str) -> Side:
    """Return a side: PLACE+ENVIRONMENT, or the session whose UUID begins so, with a `case` in it.

    Raises Fault where there is no such.
    """
    if "+" in text:
        place = sides.read(text).place
        if (place[0] or system["name"]) != system["name"]:
            system = site.system(str(place[0]))
        return _configured(text, site, system, place[1] or "", str(place[2]))
    if past is None:
        raise Fault(f"{text}: no session is stored; an environment is +NAME or PLACE+NAME")
    session = past.session(past.full_id(text))
    try:
        cases = [each for each in session.cases if not each.fixture and _is_named(each, case)]
    except re.error as err:
        raise Fault(f"-n {case}: {err}") from None
    if not cases:
        raise Fault(f"{text}: session {session.uuid} has no case {case}")
    first = cases[0]
    side = _configured(text, site, site.system(first.system), first.partition, first.environment)
    told = {key: value for each in session.cases for key, value in each.provenance.items()}
    environment = dict(side.environment)
    if loaded := first.provenance.get("modules", "").split():
        environment["modules"] = loaded
    same = [each for each in session.cases if each.where == first.where]
    return Side(text, side.where, environment, True, told | first.provenance, locks(same))


def _is_named(case: Case, pattern: str) -> bool:
    """Tell whether ReFrame's `-n` selects a case: it matches names without spaces."""
    return bool(re.search(pattern, case.name.replace(" ", "")))


def _configured(
    text: str, site: Site, system: Mapping[str, Any], partition: str, name: str
) -> Side:
    """Return an environment of the configuration on the one partition that has it."""
    known = {(part["name"], name) for part in system["partitions"] for name in part["environs"]}
    fitting = [each for each in sorted(known) if each[1] == name and partition in ("", each[0])]
    if not fitting:
        names = sorted(f"{system['name']}:{part}+{each}" for part, each in known)
        raise Fault(f"{text}: no environment {name}; {there_are(name, names)}")
    if len(fitting) > 1:
        parts = ", ".join(part for part, _ in fitting)
        raise Fault(f"{text}: {name} is on several partitions ({parts}); write PARTITION+{name}")
    ours = [
        each for each in site.environments
        if each["name"] == name and system["name"] in each.get("target_systems", [system["name"]])
    ]  # fmt: skip
    if not ours:
        raise Fault(f"{text}: {system['name']} names {name}, and no environment of it is defined")
    return Side(text, f"{system['name']}:{fitting[0][0]}", ours[-1])


def facts(environment: Mapping[str, Any]) -> Facts:
    """Return what an environment states, fact by fact; not its name."""
    found: Facts = {}
    for key, value in environment.items():
        if key == "env_vars":
            found |= {("variable", str(name)): text for name, text in dict(value).items()}
        elif key == "modules":
            found |= {("module", _stem(module)): module for module in value}
        elif key == "extras":
            for name, stated in value.items():
                table = isinstance(stated, Mapping)
                of = {(name, str(each)): stated[each] for each in stated} if table else {}
                found |= of or {("extra", name): stated}
        elif key not in ("name", "target_systems"):
            found["setting", key] = value
    return found


def _stem(module: Any) -> str:
    """Return the name of a module without its version."""
    name = module if isinstance(module, str) else str(module.get("name", module))
    return name.partition("/")[0]


def mixture(good: Facts, bad: Facts, chosen: Sequence[Change]) -> dict[str, Any]:
    """Return an environment, without a name, that has the chosen changes of the good side."""
    taken = {fact for change in chosen for fact in change.facts}
    made: dict[str, Any] = {}
    for fact in {**good, **bad}:
        side, (kind, name) = bad if fact in taken else good, fact
        if fact not in side:
            continue
        if kind == "variable":
            made.setdefault("env_vars", []).append([name, side[fact]])
        elif kind == "module":
            made.setdefault("modules", []).append(side[fact])
        elif kind == "setting":
            made[name] = side[fact]
        else:
            extras = made.setdefault("extras", {})
            (extras if kind == "extra" else extras.setdefault(kind, {}))[name] = side[fact]
    return made


def differences(good: Side, bad: Side) -> tuple[Facts, Facts, list[Change]]:
    """Return the facts of both sides, and their changes; those that cannot be set come last."""
    sides_facts = facts(good.environment), facts(bad.environment)
    unset = [*_of_locks(good, bad, *sides_facts)]
    if good.stored:
        keys = [*dict.fromkeys([*good.provenance, *bad.provenance])]
        told = (
            Change(key, good.provenance.get(key, ""), bad.provenance.get(key, "")) for key in keys
        )
        unset += [one for one in told if one.name not in _SAID and one.good != one.bad]
    a, b = sides_facts
    differing = [fact for fact in {**a, **b} if a.get(fact) != b.get(fact)]
    of_mpi = [
        fact for fact in differing
        if fact in _WITH_MPI or fact[0] in ("suites", "sources")
        or (fact[0] == "module" and mpi_of_module(fact[1]))
    ] if {*_MPI} & {*differing} else []  # fmt: skip
    if _FEATURES in differing and not of_mpi:  # what it provides is no cause of a loss
        union = sorted({*a.get(_FEATURES, ()), *b.get(_FEATURES, ())})
        a[_FEATURES] = b[_FEATURES] = union
        differing.remove(_FEATURES)
    changes = []
    if of_mpi:
        one, two = (str(next(filter(None, map(each.get, _MPI)), "")) for each in (a, b))
        changes = [Change("MPI", one, two, tuple(of_mpi))]
    for fact in differing:
        if fact not in of_mpi:
            one, two = (str(each.get(fact, "")) for each in (a, b))
            changes.append(Change(" ".join(fact), one, two, (fact,)))
    return a, b, [*changes, *unset]


def _of_locks(good: Side, bad: Side, a: Facts, b: Facts) -> Iterator[Change]:
    """Add to the facts of both sides which packages differ; yield those that one side lacks."""
    for suite in good.locks.keys() & bad.locks.keys():
        (packages, roots), (others, _) = map(read_packages, (good.locks[suite], bad.locks[suite]))
        for name in sorted(packages.keys() | others.keys()):
            one, two = packages.get(name, {}), others.get(name, {})
            if not one or not two:
                yield Change(f"package {name}", one.get("", ""), two.get("", ""))
                continue
            keys = sorted(key for key in {*one, *two} if one.get(key) != two.get(key))
            if name in roots:  # of which the variants are those that its check asks for
                if "" in keys:
                    fact = ("versions", suite)
                    a[fact], b[fact] = (each[""].removeprefix("@=") for each in (one, two))
            elif keys:
                fact = ("packages", name)
                a[fact], b[fact] = (
                    " ".join(each[key] for key in keys if key in each) for each in (one, two)
                )

"""The nodes of a verdict: which were benchmarked, which of how many, and which are slow.

`Verdict.nodes` has an entry for each partition, `system:partition`:

- `known`: the names of its nodes as Slurm has them; empty where nobody says; `count`: how many
  there are, None where that is not known; `origin`: Slurm, or the facts of the partition;
- `benchmarked`, `looked_at`: names of nodes with a benchmark's metrics, and of those whose links
  were looked at;
- `not_up`: name, state and reason of nodes that take no jobs; `limited`: the nodes that the
  operator limited it to, empty where nobody did;
- `findings`: the culprits of all pairs (`nodes.PairFinding`);
- `all_pairs`: what each case measured of all pairs, `not_paired`: why there is none, of several
  nodes. Where nothing is to be said these two are not there.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field

from acceptance.core.extras import node_count
from acceptance.core.pairs import ALL_UNITS, UNITS
from acceptance.core.text import shortened
from acceptance.fabric.view.kinds import BENCHMARK as VIEW
from acceptance.ledger import Case, Session
from acceptance.machine import SlurmNode
from acceptance.nodes import FAILING, AllPairs, PairFinding, compared_pairs
from acceptance.rfm import SiteFault
from acceptance.rfm.configuration import Site
from acceptance.verdict.model import Verdict

#: Names of nodes that a line shows.
_SHOWN = 8
#: The suite of the link check, which measures no node.
_LINKS = "fabric"
#: The benchmark of the cases that measure all pairs.
BENCHMARK = "patterns.all-pairs"
#: Why nodes of a partition were not compared where nobody knows more, and what to do.
NO_CASE = (
    "no case measured all of its pairs (checks/all_pairs.py): that takes an environment with the "
    "feature patterns, which an mpicc provides, and ranks that say where they stand"
)


class Nodes(Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of the nodes of partitions, by `system:partition`.

    `known` are those that Slurm has, `stated` how many the facts of a partition state, `limited`
    those that the operator asked for. `every`: each of them must be benchmarked. `paired`: all
    pairs of them should be measured; `unpaired` says why they are on no partition.
    """

    known: Mapping[str, Sequence[SlurmNode]] = field(default_factory=dict)
    stated: Mapping[str, int] = field(default_factory=dict)
    limited: Mapping[str, Sequence[str]] = field(default_factory=dict)
    every: bool = False
    paired: bool = False
    unpaired: str = ""


def judge_nodes(verdict: Verdict, sessions: Sequence[Session], known: Nodes) -> None:
    """Add the nodes of these sessions, and fail for those that are slow or, if asked, missing."""
    cases = [case for session in sessions for case in session.cases]
    places = {place_of(case) for case in cases if not case.fixture and case.nodes}
    verdict.nodes = {
        place: _coverage(place, cases, known)
        for place in sorted(places | known.known.keys() | known.stated.keys())
    }
    judge_all_pairs(verdict, cases, known.paired, known.unpaired)
    for place, entry in verdict.nodes.items():
        if known.every and (missing := not_benchmarked(entry)):
            verdict.fail(
                "nodes-not-benchmarked", f"{place}: {coverage_text(entry)}; {missing}", place
            )


def stated_nodes(site: Site, systems: Iterable[str]) -> dict[str, int]:
    """Return how many nodes the partitions of these systems state, by `system:partition`."""
    stated: dict[str, int] = {}
    for name in systems:
        with contextlib.suppress(SiteFault):  # a system that this configuration has no more
            for partition in site.system(name)["partitions"]:
                alone = 1 if partition.get("scheduler") == "local" else None
                if count := node_count(partition.get("extras", {}), alone):
                    stated[f"{name}:{partition['name']}"] = count
    return stated


def place_of(case: Case) -> str:
    """Return the partition of a case, as `system:partition`."""
    return f"{case.system}:{case.partition}"


def _coverage(place: str, cases: Iterable[Case], known: Nodes) -> dict[str, Any]:
    here = [case for case in cases if place_of(case) == place and case.metrics]
    slurm, limited = known.known.get(place), list(known.limited.get(place, ()))
    names = [node.name for node in slurm or ()]
    count = len(names) if slurm is not None else known.stated.get(place)
    return {
        "known": names,
        "count": count,
        "origin": "Slurm" if slurm is not None else "the facts of the partition" if count else "",
        "benchmarked": _names(case for case in here if case.suite != _LINKS),
        "looked_at": _names(c for c in here if c.suite == _LINKS and c.benchmark != VIEW),
        "not_up": [
            {"name": node.name, "state": node.state, "reason": node.reason}
            for node in slurm or ()
            if not node.up and (not limited or node.name in limited)
        ],
        "limited": limited,
        "findings": [],
    }


def _names(cases: Iterable[Case]) -> list[str]:
    return sorted({node for case in cases for node in case.nodes})


def _asked(entry: Mapping[str, Any]) -> int | None:
    """Return how many nodes should have been benchmarked; None where that is not known."""
    return len(entry["limited"]) or entry["count"]


def _benchmarked(entry: Mapping[str, Any]) -> list[str]:
    """Return the benchmarked nodes that are among those that were to be."""
    among = {short_name(name) for name in entry["limited"] or entry["known"]}
    return [name for name in entry["benchmarked"] if not among or short_name(name) in among]


def short_name(name: str) -> str:
    """Return a node's name without its domain: not everybody who names it writes that."""
    return name.partition(".")[0]


def not_benchmarked(entry: Mapping[str, Any]) -> str:
    """Say which nodes were not benchmarked, or not with others that were; empty where all were.

    Empty, too, where nobody knows how many there are. Those that are not up are told by themselves.
    """
    benchmarked = _benchmarked(entry)
    away = [node["name"] for node in entry["not_up"]]
    measured = {short_name(name) for name in (*benchmarked, *away)}
    asked = _asked(entry)
    if asked is None:
        return ""
    if len(measured) < asked:
        names = entry["limited"] or entry["known"]
        names = [name for name in names if short_name(name) not in measured]
        return (
            f"not: {shortened(names, _SHOWN)}" if names else f"{asked - len(measured)} are missing"
        )
    compared = {short_name(name) for name in compared_nodes(entry)}
    alone = [name for name in benchmarked if compared and short_name(name) not in compared]
    return f"not compared with the others: {shortened(sorted(alone), _SHOWN)}" if alone else ""


def compared_nodes(entry: Mapping[str, Any]) -> set[str]:
    """Return the nodes that were compared with each other by what is between them."""
    judged = (measured.judged(each) for _, measured in measured_of(entry) for each in UNITS)
    return set[str]().union(*judged)


def coverage_text(entry: Mapping[str, Any]) -> str:
    """Say how many nodes were benchmarked, and which of them the operator asked for."""
    asked = _asked(entry)
    of = f"of {asked} nodes" if asked is not None else "nodes; how many there are is not known"
    words = f"benchmarked {len(_benchmarked(entry))} {of}"
    return f"{words} ({limited})" if (limited := limited_text(entry)) else words


def limited_text(entry: Mapping[str, Any]) -> str:
    """Say that the operator chose nodes; empty where nobody did."""
    if not entry["limited"]:
        return ""
    return f"limited by the operator to {len(entry['limited'])} of {entry['count']} nodes"


def away_text(entry: Mapping[str, Any]) -> str:
    """List the nodes that are not up, with state and reason; empty where all are."""
    away = [SlurmNode(**node, up=False).text for node in entry["not_up"]]
    return f"not up: {shortened(away, _SHOWN)}" if away else ""


def node_lines(entries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a line for each partition with benchmarks, whose nodes should have had one, or lack.

    What a node that is not up lacks has no other line.
    """
    lines = []
    for place, entry in entries.items():
        if not (entry["benchmarked"] or entry["limited"] or entry["not_up"]):
            continue
        of = f" of {entry['count']}" if entry["count"] else ""
        links = f"links of {len(entry['looked_at'])}{of} looked at" if entry["looked_at"] else ""
        parts = (coverage_text(entry), links, all_pairs_text(entry), away_text(entry))
        lines.append(f"{place}: {'; '.join(filter(None, parts))}")
    return lines


def judge_all_pairs(
    verdict: Verdict, cases: Iterable[Case], asked: bool, without: str = ""
) -> None:
    """Add what these cases measured of all pairs, and fail for the culprits.

    `asked`: each partition of several nodes should have such a case, and a note says of which there
    is none; `without` says why none has.
    """
    reasons: dict[str, str] = {}
    for case in cases:
        place = f"{case.system}:{case.partition}"
        if case.benchmark != BENCHMARK or place not in verdict.nodes:
            continue
        if not case.all_pairs:
            reasons[place] = "its case measured none"
            continue
        try:
            measured = msgspec.convert(case.all_pairs, AllPairs)
        except ValueError as err:
            text = f"{case.name} @{case.where}: what is stored of all pairs is malformed: {err}"
            verdict.fail("impossible-value", text, f"{case.name} @{case.where}")
            reasons[place] = "what is stored of it is malformed"
            continue
        _add(verdict, place, case.environment, measured)
    for place, entry in verdict.nodes.items():
        if entry["count"] == 1 or len(entry["limited"]) == 1 or "all_pairs" in entry:
            continue
        entry["not_paired"] = reason = reasons.get(place, without or NO_CASE)
        if asked:
            verdict.notes.append(f"{place}: its nodes were not compared with each other: {reason}")


def _add(verdict: Verdict, place: str, environment: str, measured: AllPairs) -> None:
    entry = verdict.nodes[place]
    data = {"environment": environment, **msgspec.to_builtins(measured)}
    entry.setdefault("all_pairs", []).append(data)
    for finding in (PairFinding(place, environment, each) for each in measured.culprits):
        entry["findings"].append(finding.as_data())
        if finding.kind in FAILING:
            verdict.fail(finding.kind, str(finding), *finding.about)
        else:
            verdict.notes.append(str(finding))


def measured_of(entry: Mapping[str, Any]) -> list[tuple[str, AllPairs]]:
    """Return environment and measurement of each case, of a partition's entry of a verdict."""
    return [
        (data["environment"], msgspec.convert(data, AllPairs))
        for data in entry.get("all_pairs", ())
    ]


def all_pairs_text(entry: Mapping[str, Any]) -> str:
    """Say how many pairs of how many nodes were measured, and how many culprits were found."""
    texts = []
    for _, measured in measured_of(entry):
        failing = sum(each.fails for each in measured.culprits)
        texts.append(f"{measured.text}" + (f", culprits: {failing}" if failing else ""))
    if reason := entry.get("not_paired"):
        texts.append(f"not compared with each other: {reason}")
    return "; ".join(texts)


def has_ended(entry: Mapping[str, Any], what: str, nodes: Sequence[str]) -> bool:
    """Tell whether a quantity of these nodes (`PairFinding.compared`) was measured and judged.

    Of a path both of its directions have to be measured again; of a cable (its ends are the nodes)
    pairs whose routes take it.
    """
    for environment, measured in measured_of(entry):
        for quantity in ("", *ALL_UNITS):
            judged = measured.judged(quantity) if quantity else {*measured.nodes}
            if what == compared_pairs(environment, quantity) and judged and judged >= {*nodes}:
                return True
            if what == compared_pairs(environment, quantity, "paths"):
                return judged >= {*nodes} and measured.looked_at(*nodes)
            if what == compared_pairs(environment, quantity, "cables"):
                return measured.crossed(" - ".join(nodes))
    return False

"""What a run left out: check files that gave no case, and why; nodes that nobody looked at."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from acceptance import references
from acceptance.core.findings import Finding
from acceptance.core.kinds import MINOR, OF_PAIRS
from acceptance.core.text import shortened
from acceptance.fabric import is_viewed, not_judged, not_viewed
from acceptance.fabric.kinds import BENCHMARK as VIEW
from acceptance.ledger import Case, node_of_case
from acceptance.machine import (
    NONE_UP,
    RESUME,
    Size,
    configured_size,
    is_of_suite,
    no_case,
    no_cases_line,
    without_case,
)
from acceptance.nodes import ALL_PAIRS
from acceptance.rfm import LoggedRun, SiteFault, configuration
from acceptance.site import unmet_rows
from acceptance.verdict.cases import text_of
from acceptance.verdict.evidence import Evidence
from acceptance.verdict.model import Verdict
from acceptance.verdict.nodes import SCHEDULER, SHOWN, Nodes, Paired, PartitionNodes, place_of

#: What gives the cases of the link check.
LINK_SUITE = "fabric"
#: Why nodes of a partition were not compared where nobody knows more, and what to do.
_NO_CASE = (
    "no case measured all of its pairs (checks/all_pairs.py): that takes an environment with the "
    "feature patterns, which an mpicc provides, and ranks that say where they stand"
)


#: Kinds of findings that fail where every node is to be measured.
_OF_EVERY = ("not-benchmarked", "node-absent")


def judge_check_files(verdict: Verdict, run: LoggedRun, cases: Iterable[Case]) -> None:
    """Fail for each check file of the search path that gave no case for no stated reason.

    Its partitions are looked at one by one, unless options of the command chose among the cases.
    """
    cases = list(cases)
    given: dict[Path, set[str]] = {}
    for filename, place in {(case.filename, place_of(case)) for case in cases}:
        given.setdefault(Path(filename).resolve(), set()).add(place)
    reasons: list[Finding] = []
    unprovided: list[Finding] = []
    away = none_up(run)
    for path in run.check_files:
        places = given.get(path.resolve(), set())
        if not run.filters:
            why = _why(path.stem, run, away)
            here = [each for each in why if each and each.place[0] not in places]
            reasons += here
            unprovided += _judge_check_file(verdict, path, here, bool(places), len(why))
        elif not cases and all(away.values()) and is_of_suite(path.stem):
            text = "; ".join(f"{place}: {reason}" for place, reason in away.items())
            unprovided.append(without_case(path.name, run.system, text, RESUME))
        elif not places:
            verdict.not_selected[path.name] = " ".join(run.filters)
    told = f"ReFrame: {no_cases_line(reasons)}"  # as the checks said at load
    verdict.notes = [note for note in verdict.notes if note != told]
    provided = any(each.fails for each in reasons) or any(
        c.suite not in ("", LINK_SUITE) for c in cases
    )
    if unprovided and cases and not provided:
        fail_without_suite(verdict)
    for each in unprovided:
        verdict.add(each)


def _judge_check_file(
    verdict: Verdict, path: Path, reasons: Sequence[Finding], ran: bool, partitions: int
) -> list[Finding]:
    """Judge a check file that gave no case on some of its `partitions` for these reasons.

    `ran`: it gave cases on others. Return the reasons of what needs no case.
    """
    promised = [each for each in reasons if each.fails]
    for each in promised:
        todo = f"; {each.remedy}" if each.remedy else ""
        text = f"{path}: gave no case on {each.place[0]}: {each.text}{todo}"
        verdict.fail("check-without-case", text, str(path), each.place[0])
    if promised or ran:
        return [each for each in reasons if not each.fails]
    if reasons and len(reasons) == partitions:
        return [_everywhere(reasons)]
    text = f"{path}: gave no case, though something provides it; see `reframe -c {path} -L`"
    verdict.fail("check-without-case", text, str(path))
    return []


def none_up(run: LoggedRun) -> dict[str, str]:
    """Return partition -> what was said at load if none of its nodes was up then, else nothing."""
    try:
        system = configuration.load(run.config_files).system(run.system)
    except SiteFault:
        return {run.system: ""}
    chosen = _chosen_partition(run)
    names = [part["name"] for part in system["partitions"] if chosen in ("", part["name"])]
    away = dict.fromkeys((f"{system['name']}:{name}" for name in names), "")
    for remark in run.remarks:
        place, _, text = remark.partition(": ")
        if place in away and text.startswith(NONE_UP):
            away[place] = text
    return away or {run.system: ""}


def judge_references(verdict: Verdict, evidence: Evidence) -> None:
    """Fail for the rows of these systems' sites that judge nothing: a check is switched off."""
    if evidence.foreign or evidence.site is None:
        return
    try:
        library = references.load(evidence.workspace.reference)
        unmet = [*unmet_rows(library, evidence.site, evidence.systems)]
    except (references.ReferenceFault, SiteFault):  # told where history and guidelines are judged
        return
    for finding in unmet:
        verdict.add(finding)


def note_links(verdict: Verdict, evidence: Evidence) -> None:
    """Note of which partitions that were measured nobody judges the links, or sees the fabric.

    One that looks at the fabric of a system does so for all partitions of it.
    """
    partitions = {(case.system, case.partition) for case in evidence.cases}
    if evidence.foreign or evidence.site is None:
        return
    for system in evidence.site.systems:
        viewed = any(is_viewed(part.get("extras", {})) for part in system["partitions"])
        for part in system["partitions"]:
            place, extras = f"{system['name']}:{part['name']}", part.get("extras", {})
            if (system["name"], part["name"]) not in partitions:
                continue
            if reason := not_judged(extras):
                verdict.add(Finding(
                    "links-not-judged", f"{place}: not judged: {reason}", found=reason,
                    what=f"links of {place}", expected="a stated rate", place=(place,),
                    source="gate",
                ))  # fmt: skip
            if (reason := not_viewed(extras)) and not viewed:
                verdict.add(Finding(
                    "fabric-not-looked", f"{place}: the fabric was not looked at: {reason}",
                    found=reason, what=f"fabric of {place}", place=(place,), source="gate",
                    expected="all switches and cables looked at", severity=MINOR,
                ))  # fmt: skip


def fail_without_suite(verdict: Verdict) -> None:
    """Fail for a run, or a campaign, that measured nothing."""
    verdict.fail("no-suite", "no suite is provided here: nothing but the links was looked at")


def _why(check: str, run: LoggedRun, away: Mapping[str, str]) -> list[Finding | None]:
    """Say of each partition why a check file (its stem) needs to give no case there.

    Where all nodes were `away` (`none_up`) some may be back by now.
    """
    try:
        site = configuration.load(run.config_files)
        why = _reasons_of(check, site, site.system(run.system), _chosen_partition(run))
    except SiteFault:
        return []
    file, promised = f"{check}.py", is_of_suite(check)
    then = [
        without_case(file, place, text, RESUME, promised=True) if text and promised else None
        for place, text in away.items()
    ]
    return [now or before for now, before in zip_longest(why, then)]


def _reasons_of(
    check: str, site: configuration.Site, system: dict[str, Any], only: str = ""
) -> list[Finding | None]:
    """Say of each partition, or of the `only` one, why a check file (its stem) has no case there.

    None where nothing tells.
    """
    return [
        no_case(
            check,
            f"{system['name']}:{partition['name']}",
            configured_size(partition) or Size(1, 2),
            site.environments_of(partition, system),
            bool(partition.get("extras", {}).get("verify_placement", True)),
            "simulated" in partition.get("extras", {}),
        )
        for partition in system["partitions"]
        if only in ("", partition["name"])
    ]


def why_no_case(check: str, site: configuration.Site, system: dict[str, Any]) -> Finding | None:
    """Say why a check file (its stem) gives no case on a system.

    None where nothing tells, or where something is promised on a partition.
    """
    found = [each for each in _reasons_of(check, site, system) if each]
    if len(found) < len(system["partitions"]) or any(each.fails for each in found):
        return None
    return _everywhere(found)


def _everywhere(found: Sequence[Finding]) -> Finding:
    """Return why a check file gives no case on a system, of the reasons of all its partitions."""
    places: dict[str, list[str]] = {}
    for each in found:
        places.setdefault(each.text, []).append(each.place[0])
    partition, file = found[0].place
    reasons = (f"{', '.join(names)}: {reason}" for reason, names in places.items())
    return without_case(
        file,
        partition.partition(":")[0],
        "; ".join(reasons if len(places) > 1 else places),
        "; ".join(dict.fromkeys(each.remedy for each in found if each.remedy)),
    )


def _chosen_partition(run: LoggedRun) -> str:
    """Return the one partition that the command has chosen, `--system=NAME:PARTITION`, or none."""
    words = " ".join(run.arguments).replace("--system=", "--system ").split()
    chosen = [value for word, value in pairwise(words) if word == "--system"]
    return chosen[-1].partition(":")[2] if chosen else ""


def judge_nodes(verdict: Verdict, cases: Sequence[Case], known: Nodes) -> None:
    """Add the nodes of these cases, and fail for those that are slow or, if asked, missing.

    Where `every` node counts, in an acceptance, one that is not up fails, too. Elsewhere the line
    of the nodes tells it.
    """
    places = {place_of(case) for case in cases if not case.fixture and case.nodes}
    for place in sorted(places | known.known.keys() | known.stated.keys()):
        here = [case for case in cases if place_of(case) == place]
        verdict.nodes[place] = _covered(place, here, known)
        _judge_pairs(verdict, verdict.nodes[place], here, known)
        for finding in verdict.nodes[place].findings:
            if finding.fails or (known.every and finding.kind in _OF_EVERY):
                verdict.add(replace(finding, fails=True))
            elif finding.kind in OF_PAIRS:
                verdict.notes.append(finding.text)


def _covered(place: str, cases: Sequence[Case], known: Nodes) -> PartitionNodes:
    listed, limited = known.known.get(place), tuple(known.limited.get(place, ()))
    count = known.stated.get(place) if listed is None else len(listed)
    benchmarked, looked_at = set[str](), set[str]()
    for case in (case for case in cases if case.benchmark != VIEW):
        if case.suite != LINK_SUITE:
            benchmarked.update(case.nodes if case.metrics else ())
        elif case.metrics or any(finding.nodes for finding in case.findings):  # good or bad
            looked_at.update((*case.nodes, node_of_case(case.name)))
    away = [x for x in listed or () if not x.up and (not limited or x.name in limited)]
    return PartitionNodes(
        place,
        known=tuple(node.name for node in listed or ()),
        count=count,
        not_up={node.name: node.text.removeprefix(f"{node.name} is ") for node in away},
        limited=limited,
        benchmarked=tuple(sorted(benchmarked)),
        looked_at=tuple(sorted(looked_at - {""})),
    )


def _judge_pairs(
    verdict: Verdict, nodes: PartitionNodes, cases: Iterable[Case], known: Nodes
) -> None:
    """Add what cases of a partition measured of all pairs, and fail for the culprits.

    Each partition of several nodes should have such a case: its line says so.
    """
    reason = known.unpaired or _NO_CASE
    for case in (case for case in cases if case.benchmark == ALL_PAIRS):
        if not case.all_pairs:
            reason = "its case measured none"
            continue
        data = {**case.all_pairs, "environment": case.environment}
        try:
            nodes.all_pairs += (msgspec.convert(data, Paired),)
        except ValueError as err:
            where = text_of(case)
            text = f"{where}: what is stored of all pairs is malformed: {err}"
            verdict.fail("impossible-value", text, where)
            reason = "what is stored of it is malformed"
    alone = nodes.count == 1 or len(nodes.limited) == 1
    if alone and known.detect:
        reason = f"one node has no pair, and that it loses {known.detect:.1%} was to be seen"
    if not nodes.all_pairs and (not alone or known.detect):
        nodes.not_paired = reason


def judge_links(verdict: Verdict, evidence: Evidence) -> None:
    """Fail for the nodes that a scheduler has, that are up, and whose links nobody looked at.

    Of a partition that the operator has limited to some nodes only these are judged.
    """
    nodes = evidence.nodes
    _judge_distribution(verdict, evidence)
    for place, listed in nodes.known.items():
        if (count := nodes.stated.get(place, 0)) > len(listed):
            text = f"{place} states {count} nodes, {SCHEDULER} has {len(listed)}"
            verdict.fail("nodes-unknown", text, place)
        entry = verdict.nodes[place]
        up = [name for name in entry.limited or entry.known if name not in entry.not_up]
        if missing := [name for name in up if name not in entry.looked_at]:
            verdict.fail(
                "nodes-not-looked-at",
                f"{place}: the links of {len(up) - len(missing)} of {len(up)} nodes that are up "
                f"were looked at; not: {shortened(missing, SHOWN)}",
                place,
            )
    if nodes.known and evidence.site:
        _tell_once(verdict, evidence.site.system(evidence.system or None))


def _judge_distribution(verdict: Verdict, evidence: Evidence) -> None:
    """Fail for nodes that `--distribute` left out, where no scheduler was asked which there are.

    Without `=all` it leaves out those in some state.
    """
    words = [word for session in evidence.sessions for word in session.command.split()]
    if evidence.foreign or any(word.startswith(("-J", "--job-option")) for word in words):
        return
    for place, count in evidence.nodes.stated.items():
        here = (case for case in evidence.cases if place_of(case) == place)
        links = (case for case in here if case.suite == LINK_SUITE)
        seen = {node for case in links if (node := node_of_case(case.name))}
        if place not in evidence.nodes.known and seen and len(seen) < count:
            partition = place.partition(":")[2]
            verdict.fail(
                "nodes-left-out",
                f"only {len(seen)} of the {count} nodes of {partition} were looked "
                "at; --distribute leaves out those that are not idle, --distribute=up those that "
                "take no jobs, --distribute=all none",
                place,
            )


def _tell_once(verdict: Verdict, system: Mapping[str, Any]) -> None:
    """Leave out which nodes are not up where the checks said it at load: it has its own line."""
    told = {
        f"ReFrame: {system['name']}:{part['name']}: {size.told}"
        for part in system["partitions"]
        if (size := configured_size(part))
    }
    verdict.notes = [note for note in verdict.notes if note not in told]

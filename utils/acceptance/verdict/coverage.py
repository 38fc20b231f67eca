"""What a run left out: check files that gave no case, and nodes that nobody looked at."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise, zip_longest
from pathlib import Path

from acceptance import references
from acceptance.core.extras import node_count
from acceptance.fabric import is_viewed, not_judged, not_viewed
from acceptance.ledger import Case
from acceptance.ledger.session_schema import node_of_case
from acceptance.machine import NONE_UP, RESUME, NoCase, no_cases_line
from acceptance.rfm import LoggedRun, SiteFault, check_files, configuration
from acceptance.site import everywhere, unmet_rows, without_case
from acceptance.suites import SUITES, suite_of
from acceptance.verdict.model import Unselected, Verdict


def judge_check_files(verdict: Verdict, run: LoggedRun, cases: Iterable[Case]) -> None:
    """Fail for each check file of the search path that gave no case for no stated reason.

    Its partitions are looked at one by one, unless options of the command chose among the cases.
    """
    cases = list(cases)
    given: dict[Path, set[str]] = {}
    for case in cases:
        places = given.setdefault(Path(case.filename).resolve(), set())
        places.add(f"{case.system}:{case.partition}")
    reasons: list[NoCase] = []
    away = none_up(run)
    for path in check_files.check_files(run.check_path, recursive=run.recursive):
        places = given.get(path.resolve(), set())
        if not run.filters:
            reasons += _judge_check_file(verdict, path, places, _why(path.stem, run, away))
        elif not cases and all(away.values()) and suite_of(path.stem):
            text = "; ".join(f"{place}: {reason}" for place, reason in away.items())
            verdict.unprovided.append(NoCase(path.name, text, RESUME))
        elif not places:
            verdict.not_selected.append(Unselected(path.name, " ".join(run.filters)))
    told = f"ReFrame: {no_cases_line(reasons)}"  # as the checks said at load
    verdict.notes = [note for note in verdict.notes if note != told]
    provided = any(each.promised for each in reasons) or any(c.suite in SUITES for c in cases)
    if verdict.unprovided and cases and not provided:
        fail_without_suite(verdict)


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


def _judge_check_file(
    verdict: Verdict, path: Path, places: Collection[str], why: Sequence[NoCase | None]
) -> list[NoCase]:
    """Judge a check file that gave cases in these places; `why` it gave none has each partition.

    Return the reasons that hold.
    """
    reasons = [each for each in why if each and each.partition not in places]
    promised = [each for each in reasons if each.promised]
    if not places and not promised and (len(reasons) < len(why) or not why):
        verdict.fail(
            "check-without-case",
            f"{path}: gave no case, though something provides it; see `reframe -c {path} -L`",
            str(path),
        )
    elif not places and not promised:
        verdict.unprovided.append(everywhere(reasons))
    else:
        for each in reasons:
            if each.promised:
                todo = f"; {each.remedy}" if each.remedy else ""
                text = f"{path}: gave no case on {each.partition}: {each.reason}{todo}"
                verdict.fail("check-without-case", text, str(path), each.partition)
            else:
                verdict.unprovided.append(each)
    return reasons


def judge_references(
    verdict: Verdict, folder: Path, config_files: Iterable[Path], systems: Collection[str]
) -> None:
    """Fail for the rows of these systems' sites that judge nothing: a check is switched off."""
    try:
        unmet = unmet_rows(references.load(folder), configuration.load(config_files), systems)
    except (references.ReferenceFault, SiteFault):  # told where history and guidelines are judged
        return
    for rows in unmet:
        verdict.fail("reference-unmet", str(rows), rows.path, rows.reason)


def note_links(
    verdict: Verdict, config_files: Iterable[Path], partitions: Collection[tuple[str, str]]
) -> None:
    """Note of which of these partitions (system, name) nobody judges the links, or sees the fabric.

    One that looks at the fabric of a system does so for all partitions of it.
    """
    try:
        site = configuration.load(config_files)
    except SiteFault:  # told where the guidelines are judged
        return
    for system in site.systems:
        viewed = any(is_viewed(part.get("extras", {})) for part in system["partitions"])
        for part in system["partitions"]:
            place, extras = f"{system['name']}:{part['name']}", part.get("extras", {})
            if (system["name"], part["name"]) not in partitions:
                continue
            if reason := not_judged(extras):
                verdict.links_not_judged[place] = reason
            if (reason := not_viewed(extras)) and not viewed:
                verdict.fabric_not_viewed[place] = reason


def fail_without_suite(verdict: Verdict) -> None:
    """Fail for a run, or a campaign, that measured nothing."""
    verdict.fail("no-suite", "no suite is provided here: nothing but the links was looked at")


def _why(check: str, run: LoggedRun, away: Mapping[str, str]) -> list[NoCase | None]:
    """Say of each partition why a check file (its stem) needs to give no case there.

    Where all nodes were `away` (`none_up`) some may be back by now.
    """
    try:
        site = configuration.load(run.config_files)
        why = without_case(check, site, site.system(run.system), _chosen_partition(run))
    except SiteFault:
        return []
    then = [
        NoCase(f"{check}.py", reason, RESUME, place, True) if reason and suite_of(check) else None
        for place, reason in away.items()
    ]
    return [now or before for now, before in zip_longest(why, then)]


def _chosen_partition(run: LoggedRun) -> str:
    """Return the one partition that the command has chosen, `--system=NAME:PARTITION`, or none."""
    words = " ".join(run.arguments).replace("--system=", "--system ").split()
    chosen = [value for word, value in pairwise(words) if word == "--system"]
    return chosen[-1].partition(":")[2] if chosen else ""


def judge_nodes(verdict: Verdict, run: LoggedRun, cases: Iterable[Case]) -> None:
    """Fail for nodes that `--distribute` left out: without `=all` those in some state."""
    seen: dict[str, set[str]] = {}
    for case in cases:
        if (node := node_of_case(case.name)) and case.suite == "fabric":
            seen.setdefault(case.partition, set()).add(node)
    if not seen or any(word.startswith(("-J", "--job-option")) for word in run.arguments):
        return
    try:
        partitions = configuration.load(run.config_files).system(run.system)["partitions"]
    except SiteFault:
        return
    stated = {part["name"]: node_count(part.get("extras", {})) for part in partitions}
    for partition, nodes in seen.items():
        if len(nodes) < (count := stated.get(partition) or 0):
            verdict.fail(
                "nodes-left-out",
                f"only {len(nodes)} of the {count} nodes of {partition} were looked "
                "at; --distribute leaves out those that are not idle, --distribute=up those that "
                "take no jobs, --distribute=all none",
                partition,
            )

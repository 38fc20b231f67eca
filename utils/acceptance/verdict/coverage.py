"""What a run left out: check files that gave no case, and nodes that nobody looked at."""

from collections.abc import Collection, Iterable
from pathlib import Path

from acceptance import references
from acceptance.core.extras import node_count
from acceptance.fabric import not_judged
from acceptance.rfm import Case, LoggedRun, SiteFault, check_files, configuration
from acceptance.rfm.session_schema import node_of_case
from acceptance.site import unmet_rows, why_no_case
from acceptance.suites import SUITES
from acceptance.verdict.model import Unprovided, Unselected, Verdict


def judge_check_files(verdict: Verdict, run: LoggedRun, cases: Iterable[Case]) -> None:
    """Fail for each check file of the search path that gave no case for no stated reason."""
    cases = list(cases)
    files = {Path(case.filename).resolve() for case in cases}
    for path in check_files.check_files(run.check_path, recursive=run.recursive):
        if path.resolve() in files:
            continue
        if run.filters:
            verdict.not_selected.append(Unselected(path.name, " ".join(run.filters)))
        elif (why := _why(path.stem, run))[0]:
            verdict.unprovided.append(Unprovided(path.name, *why))
        else:
            verdict.fail(
                "check-without-case",
                f"{path}: gave no case, though something provides it; see `reframe -c {path} -L`",
                str(path),
            )
    if verdict.unprovided and cases and not any(case.suite in SUITES for case in cases):
        fail_without_suite(verdict)


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
    """Note which of these partitions (system, name) nobody could judge the links of, and why."""
    try:
        site = configuration.load(config_files)
    except SiteFault:  # told where the guidelines are judged
        return
    for system in site.systems:
        for part in system["partitions"]:
            measured = (system["name"], part["name"]) in partitions
            if measured and (reason := not_judged(part.get("extras", {}))):
                verdict.links_not_judged[f"{system['name']}:{part['name']}"] = reason


def fail_without_suite(verdict: Verdict) -> None:
    """Fail for a run, or a campaign, that measured nothing."""
    verdict.fail("no-suite", "no suite is provided here: nothing but the links was looked at")


def _why(check: str, run: LoggedRun) -> tuple[str, str]:
    """Say why a check file (its stem) needs to give no case, and what to do if it shall."""
    try:
        site = configuration.load(run.config_files)
        return why_no_case(check, site, site.system(run.system))
    except SiteFault:
        return "", ""


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

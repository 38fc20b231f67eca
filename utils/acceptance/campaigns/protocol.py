"""The protocol of an acceptance: what was asked, measured and found, so that others can check it.

It is plain data. The findings and the outcome are functions of what was measured, so that whoever
has a protocol can draw them again (`differences`). Its checksum is the SHA-256 of the canonical
JSON of all but itself: sorted keys, no blanks, UTF-8.
"""

import hashlib
import importlib.metadata
import json
import math
import platform
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import yaml

from acceptance import ledger
from acceptance.campaigns import conclusion, nodes
from acceptance.campaigns import state as campaign
from acceptance.campaigns.markdown import markdown
from acceptance.campaigns.state import CampaignFault, State
from acceptance.core import machine, records, state_files
from acceptance.core.findings import SHARED, Finding, merged
from acceptance.core.kinds import CRITICAL, INFO, MAJOR, MINOR
from acceptance.core.paths import Workspace
from acceptance.core.text import plural
from acceptance.core.words import SIMULATED, is_simulated
from acceptance.ledger import Case, Session
from acceptance.rfm import configuration as site
from acceptance.verdict import (
    LINK_SUITE,
    Nodes,
    Status,
    Verdict,
    judge_nodes,
    misses,
    of_claims,
    result_of,
)

FORMAT = "interconnect acceptance protocol"
VERSION = 5
ACCEPTED, RESERVED, REJECTED = "accepted", "accepted with reservations", "rejected"
UNDECIDED = "not decided"
#: The outcome of what was simulated, whatever its results are: that of the model is `of_model`.
NO_ACCEPTANCE = "no acceptance: simulated"
#: What a protocol has of each finding.
_PRINTED = ("id", "severity", "nodes", "what", "found", "expected", "remedy", "source")

#: What of a provenance is of one run, not of a version.
_OF_RUNS = (
    *("bytes", "date", "placement", "counters", "estimate", "firmware", "hops", "machine"),
    *("memory", "rails", "adapters", "wire"),
    SHARED,
    *("fabric", "fabric_name", "fabric_sha256"),
)
#: What of a verdict a protocol has.
_OF_VERDICT = (
    *("verdict", "system", "problems", "findings", "not_selected", "notes"),
    *("fabric", "guidelines"),
)
#: What of a configuration a reader needs to see; the rest is how ReFrame is driven.
_PARTITION = (
    *("name", "descr", "scheduler", "launcher", "access", "environs", "max_jobs"),
    *("processor", "extras"),
)
_ENVIRONMENT = ("name", "features", "extras", "env_vars")
#: The name of its files.
_NAME = "protocol"


def protocol_of(
    state: State, given: Verdict, workspace: Workspace, config_files: Sequence[Path]
) -> dict[str, Any]:
    """Return the protocol of a campaign that ended with a verdict, with its checksum.

    Raises ResultsFault and SiteFault when results or configuration cannot be read.
    """
    sessions = conclusion.sessions(state, ledger.of(workspace))
    configuration = site.load(config_files)
    system = configuration.system(state.asked.get("system") or None)
    return _sealed({
        "format": FORMAT,
        "version": VERSION,
        "campaign": state.id,
        "system": system["name"],
        "started": state.started,
        "ended": campaign.stamp(campaign.now()),
        **{who: state.people.get(who, "") for who in ("operator", "vendor", "customer")},
        "asked": _asked(state, workspace, configuration, system),
        "measured": [_case(session, case) for session in sessions for case in session.cases],
        "verdict": _given(given),
        "claims": given.claims,
        "versions": _versions(sessions, workspace.root),
    })  # fmt: skip


def decide(data: dict[str, Any], given: Verdict) -> dict[str, Any]:
    """Let the outcome of a protocol be that of its verdict; return the protocol.

    A finding that rejects is a problem of the verdict, too: what is rejected has failed.
    """
    if data.get("of_model", data["outcome"]) == REJECTED and given.status == Status.PASSED:
        for finding in data["findings"]:
            if finding["severity"] in (CRITICAL, MAJOR):
                text = f"rejected: {finding['id']}: {finding['found']}"
                given.fail("protocol", text, finding["id"])
        data = _sealed({**data, "verdict": _given(given)})
    given.outcome = data["outcome"]
    return data


def _given(given: Verdict) -> dict[str, Any]:
    """Return what a protocol has of the verdict beside what follows from the cases."""
    data = given.as_data()
    return {name: data[name] for name in _OF_VERDICT}


def _sealed(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Draw the conclusions of a protocol, and add its checksum."""
    data = plain(facts)
    data |= plain(conclusions(data))
    return {**data, "sha256": checksum(data)}


# What was asked, and with what.


def _asked(
    state: State, workspace: Workspace, configuration: site.Site, system: Mapping[str, Any]
) -> dict[str, Any]:
    names = {name for partition in system["partitions"] for name in partition["environs"]}
    try:
        tolerances = yaml.safe_load(
            (workspace.reference / "tolerances.yaml").read_text(encoding="utf-8")
        )
    except (OSError, *records.NO_YAML) as err:
        tolerances = {"fault": str(err)}
    return {
        "mode": state.asked["mode"],
        "reframe": list(state.asked["reframe"]),
        "steps": msgspec.to_builtins(state.steps),
        "partitions": [_part(partition, _PARTITION) for partition in system["partitions"]],
        "environments": [
            _part(environment, _ENVIRONMENT)
            for environment in configuration.environments
            if environment["name"] in names
            and system["name"] in environment.get("target_systems", [system["name"]])
        ],
        "references": _checksums(
            workspace.reference, "**/*.csv", "**/*.fabric", "**/*.lldp", "*.yaml", "*.bib"
        ),
        "checks": _checksums(workspace.checks, "*.py", "src/*") | _own(state.asked.get("own", ())),
        "tolerances": tolerances,
        "nodes": msgspec.to_builtins(nodes.asked_nodes(state, configuration)),
    }


def _part(data: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: data[name] for name in names if name in data}


def _checksums(folder: Path, *patterns: str) -> dict[str, str]:
    """Return the SHA-256 of files, by their paths below a folder."""
    found = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
        if path.is_file()
    }


def _own(files: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of a site's own check files, by their whole paths."""
    each = map(Path, files)
    return {
        str(path): _checksums(path.parent, path.name).get(path.name, "it is gone") for path in each
    }


def _case(session: Session, case: Case) -> dict[str, Any]:
    return {
        **msgspec.to_builtins(case),
        "session": session.uuid,
        # JSON has no other numbers; the gate reports those (`impossible-value`).
        "metrics": [
            msgspec.to_builtins(metric) for metric in case.metrics if math.isfinite(metric.value)
        ],
    }


def _versions(sessions: Sequence[Session], root: Path) -> dict[str, Any]:
    suites: dict[str, list[dict[str, str]]] = {}
    for session in sessions:
        for case in session.cases:
            versions = {key: text for key, text in case.provenance.items() if key not in _OF_RUNS}
            if versions and versions not in suites.setdefault(case.suite, []):
                suites[case.suite].append(versions)
    return {
        "project": machine.version(),
        "commit": machine.commit(root),
        "reframe": importlib.metadata.version("reframe-hpc"),
        "python": platform.python_version(),
        "host": platform.node(),
        "kernel": platform.release(),
        "suites": suites,
    }


def fabrics_of(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the checksum of each fabric that a protocol has seen, by its name."""
    return {
        told["fabric_name"]: told["fabric_sha256"]
        for case in data["measured"]
        if "fabric_sha256" in (told := case["provenance"])
    }


def check_folder(folder: Path) -> None:
    """Make the folder of a protocol, before all is measured; raises CampaignFault."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as err:
        raise CampaignFault(f"{folder}: no protocol can be written there: {err.strerror}") from None


def path_of(folder: Path) -> Path:
    """Return the protocol of a folder, as data."""
    return folder / f"{_NAME}.json"


def write(data: Mapping[str, Any], folder: Path) -> tuple[Path, Path]:
    """Write a protocol as JSON and as Markdown, each whole; raises StoredFault."""
    paths = path_of(folder), folder / f"{_NAME}.md"
    texts = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n", markdown(data)
    for path, text in zip(paths, texts, strict=True):
        state_files.write_text(path, text)
    return paths


def verify(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Read a protocol, draw its conclusions again, and compare; with the Markdown beside it, too.

    Returns it, and where it does not agree with itself.

    Raises CampaignFault for a file that cannot be read or is no protocol.
    """
    try:
        data = records.from_json(path.read_bytes())
        if not isinstance(data, dict):
            raise ValueError("no protocol")
        lines, text = differences(data), markdown(data)
        beside = path.with_suffix(".md")
        if beside.exists() and beside.read_text(encoding="utf-8") != text:
            lines.append(f"{beside} is not what {path.name} gives")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as err:
        raise CampaignFault(f"{path}: {err}") from None
    return data, lines


def plain(data: Any) -> Any:
    """Return data as JSON gives it back, with anything else than plain data as text."""
    return json.loads(json.dumps(msgspec.to_builtins(data, enc_hook=str), allow_nan=False))


def checksum(data: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a protocol without its checksum."""
    text = json.dumps(
        {key: value for key, value in data.items() if key != "sha256"},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )
    return hashlib.sha256(text.encode()).hexdigest()


def conclusions(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return counts, findings and outcome of a protocol, from the rest of it alone."""
    cases = msgspec.convert(data["measured"], list[Case])
    # What misses its reference was judged, too.
    metrics = [metric for case in cases for metric in case.metrics]
    judged = sum(metric.reference is not None for metric in metrics)
    counts = {
        "cases": sum(not case.fixture for case in cases),
        "passed": sum(case.passed for case in cases if not case.fixture),
        "judged": judged,
        "recorded": len(metrics) - judged,
    }
    stored = data["verdict"]
    verdict = msgspec.convert({key: stored[key] for key in stored if key != "verdict"}, Verdict)
    verdict.cases = [*map(result_of, cases)]
    if "nodes" in data["asked"]:
        judge_nodes(verdict, cases, msgspec.convert(data["asked"]["nodes"], Nodes))
    found = [
        *verdict.everything,
        *of_claims(data["claims"], data["system"]),
        *_of_recorded(cases, judged),
    ]
    if extra := data["asked"]["reframe"]:
        options = " ".join(extra)
        found.append(
            Finding("restricted", options, what="options of ReFrame", place=(data["system"],))
        )
    findings = merged(found)
    decided = outcome(findings, stored["verdict"])
    simulators = simulated_by(data, cases)
    return {
        "counts": counts,
        "node_results": verdict.nodes,
        "could_have_seen": [
            seen for partition in verdict.nodes.values() for seen in partition.could_have_seen
        ],
        "findings": [{name: getattr(each, name) for name in _PRINTED} for each in findings],
        "outcome": NO_ACCEPTANCE if simulators else decided,
        **({SIMULATED: simulators, "of_model": decided} if simulators else {}),
    }


def simulated_by(data: Mapping[str, Any], cases: Sequence[Case]) -> list[str]:
    """Return what simulated any of it, by each witness; empty where machines were measured."""
    found = {case.provenance[SIMULATED] for case in cases if SIMULATED in case.provenance}
    stated = any(part.get("extras", {}).get(SIMULATED) for part in data["asked"]["partitions"])
    named = any(is_simulated(system) for system in (data["system"], *(c.system for c in cases)))
    if not found and (stated or named):
        found = {SIMULATED}
    return sorted(found)


def _of_recorded(cases: Sequence[Case], judged: int) -> Iterator[Finding]:
    """Yield for each suite of a partition what no reference could judge."""
    counts = Counter[tuple[str, str]]()
    for case in cases:
        if case.suite != LINK_SUITE:
            recorded = sum(metric.reference is None for metric in case.metrics)
            counts[f"{case.system}:{case.partition}", case.suite] += recorded
    for (partition, suite), count in counts.items():
        if count:
            found = f"{plural(count, 'metric')} recorded, not judged"
            severity = INFO if judged else MINOR
            yield Finding(
                "recorded", found, what=f"{suite} on {partition}", expected="a reference",
                severity=severity, place=(partition, suite),
            )  # fmt: skip


def outcome(findings: Sequence[Finding], verdict: str) -> str:
    """Return what a system is by its findings; what could not be judged is not decided."""
    severities = {finding.severity for finding in findings}
    if verdict == "cannot-judge":
        return UNDECIDED
    if severities & {CRITICAL, MAJOR} or verdict != "pass":
        return REJECTED
    return RESERVED if MINOR in severities else ACCEPTED


def differences(data: Mapping[str, Any]) -> list[str]:
    """Return where a protocol is not what follows from itself; empty where all agrees.

    Raises ValueError for what is no protocol of this version.
    """
    if data.get("format") != FORMAT or data.get("version") != VERSION:
        which = f"; of version {data['version']} is what wrote it" if "version" in data else ""
        raise ValueError(f"no {FORMAT} of version {VERSION}{which}")
    try:
        return list(_differences(data))
    except (ValueError, KeyError, TypeError, AttributeError) as err:
        raise ValueError(f"a malformed protocol: {err!r}") from None


def _differences(data: Mapping[str, Any]) -> Iterator[str]:
    if data["sha256"] != (content := checksum(data)):
        yield f"checksum: {data['sha256']} is written, its content has {content}"
    for case in msgspec.convert(data["measured"], list[Case]):
        for metric in filter(misses, case.metrics if case.passed else ()):
            yield f"{case.name} @{case.where}: passed, with {metric.name} outside its reference"
    again = plain(conclusions(data))
    for name in ("counts", "outcome", SIMULATED, "of_model"):
        written, follows = (each.get(name, "nothing") for each in (data, again))
        if written != follows:
            yield f"{name}: {written} is written, {follows} follows from the results"
    for what, name in (("nodes", "node_results"), ("what it could have seen", "could_have_seen")):
        if data[name] != again[name]:
            yield f"{what}: something else is written than follows from the results"
    verdict = data["verdict"]
    if verdict["verdict"] == "pass" and verdict["problems"]:
        yield f"verdict: pass is written, with {len(verdict['problems'])} problems"
    yield from _different_findings(data["findings"], again["findings"])


def _different_findings(
    written: Sequence[Mapping[str, Any]], computed: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    of_written, follows = (
        {finding["id"]: finding for finding in findings} for findings in (written, computed)
    )
    if len(of_written) != len(written):
        yield f"findings: of {len(written)} only {len(of_written)} have an id of their own"
    for key in {**of_written, **follows}:
        if key not in of_written:
            yield f"finding {key} follows from the results, and is missing"
        elif key not in follows:
            yield f"finding {key} does not follow from the results"
        elif of_written[key] != follows[key]:
            yield f"finding {key} says something else than follows from the results"

"""The protocol of an acceptance: what was asked, measured and found, so that others can check it.

It is plain data; `acceptance.campaigns.protocol.conclusions` says what follows from it.
"""

import hashlib
import importlib.metadata
import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import yaml

from acceptance import claims, references
from acceptance.campaigns import known_nodes, verdict
from acceptance.campaigns import state as campaign
from acceptance.campaigns.protocol.conclusions import (
    FORMAT,
    REJECTED,
    VERSION,
    checksum,
    conclusions,
    metric_verdict,
    plain,
)
from acceptance.campaigns.state import State
from acceptance.core import machine
from acceptance.core.findings import CRITICAL, MAJOR, SHARED
from acceptance.core.pairs import stored_data
from acceptance.core.paths import Workspace
from acceptance.rfm import Case, ResultsFault, Session
from acceptance.rfm import configuration as site
from acceptance.verdict import Status, Verdict

#: What of a provenance is of one run, not of a version.
_OF_RUNS = (
    "bytes",
    "placement",
    "counters",
    "rounds_left_out",
    "estimate",
    "hops",
    "memory",
    "wire",
    SHARED,
    "fabric",
    "fabric_name",
    "fabric_sha256",
)
#: What of a configuration a reader needs to see; the rest is how ReFrame is driven.
_PARTITION = (
    *("name", "descr", "scheduler", "launcher", "access", "environs", "max_jobs"),
    *("processor", "extras"),
)
_ENVIRONMENT = ("name", "features", "extras", "env_vars")


def build(
    state: State,
    given: Verdict,
    workspace: Workspace,
    config_files: Sequence[Path],
    people: Mapping[str, str],
) -> dict[str, Any]:
    """Return the protocol of a campaign that ended with a verdict, with its checksum.

    Raises ResultsFault and SiteFault when results or configuration cannot be read.
    """
    sessions = verdict.sessions(state, workspace.results)
    configuration = site.load(config_files)
    system = configuration.system(state.asked.get("system") or None)
    data: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "campaign": state.id,
        "system": system["name"],
        "started": state.started,
        "ended": campaign.stamp(campaign.now()),
        **{who: people.get(who, "") for who in ("operator", "vendor", "customer")},
        "asked": _asked(state, workspace, configuration, system),
        "measured": [_case(session, case) for session in sessions for case in session.cases],
        "verdict": {
            name: given.as_data()[name]
            for name in (
                *("verdict", "system", "problems", "unprovided", "not_selected", "notes"),
                *("alerts", "counters", "links_not_judged", "fabric", "fabric_not_viewed"),
            )
        },
        "guidelines": given.guidelines,
        "claims": _claims(workspace, config_files, system["name"]),
        "versions": _versions(sessions, workspace.root),
    }
    data = plain(data)
    data |= plain(conclusions(data))
    return {**data, "sha256": checksum(data)}


def decide(
    state: State,
    given: Verdict,
    workspace: Workspace,
    config_files: Sequence[Path],
    people: Mapping[str, str],
) -> dict[str, Any]:
    """Return the protocol as `build` does, and let its outcome be that of the verdict.

    A finding that rejects is a problem of the verdict, too: what is rejected has failed.
    """
    data = build(state, given, workspace, config_files, people)
    if data.get("of_model", data["outcome"]) == REJECTED and given.status == Status.PASSED:
        for finding in data["findings"]:
            if finding["severity"] in (CRITICAL, MAJOR):
                text = f"rejected: {finding['id']}: {finding['found']}"
                given.fail("protocol", text, finding["id"])
        data = build(state, given, workspace, config_files, people)
    given.outcome = data["outcome"]
    return data


# What was asked, and with what.


def _asked(
    state: State, workspace: Workspace, configuration: site.Site, system: Mapping[str, Any]
) -> dict[str, Any]:
    names = {name for partition in system["partitions"] for name in partition["environs"]}
    try:
        tolerances = yaml.safe_load(
            (workspace.reference / "tolerances.yaml").read_text(encoding="utf-8")
        )
    except (OSError, yaml.YAMLError) as err:
        tolerances = {"fault": str(err)}
    return {
        "mode": state.asked["mode"],
        "reframe": list(state.asked["reframe"]),
        "steps": [
            {
                "name": step.name,
                "state": step.state,
                "reason": step.reason,
                "command": ["reframe", *step.arguments],
                "runs": msgspec.to_builtins(step.attempts),
            }
            for step in state.steps
        ],
        "partitions": [
            {key: partition[key] for key in _PARTITION if key in partition}
            for partition in system["partitions"]
        ],
        "environments": [
            {key: environment[key] for key in _ENVIRONMENT if key in environment}
            for environment in configuration.environments
            if environment["name"] in names
            and system["name"] in environment.get("target_systems", [system["name"]])
        ],
        "references": _checksums(
            workspace.reference, "**/*.csv", "**/*.fabric", "**/*.lldp", "*.yaml", "*.bib"
        ),
        "checks": _checksums(workspace.checks, "*.py", "src/*"),
        "tolerances": tolerances,
        "nodes": msgspec.to_builtins(known_nodes.of_campaign(state, configuration)),
    }


def _checksums(folder: Path, *patterns: str) -> dict[str, str]:
    """Return the SHA-256 of files, by their paths below a folder."""
    found = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
        if path.is_file()
    }


def _case(session: Session, case: Case) -> dict[str, Any]:
    return {
        **asdict(case),
        "session": session.uuid,
        "pairs": stored_data(case.pairs),
        # JSON has no other numbers; the gate reports those (`impossible-value`).
        "metrics": [
            {**asdict(metric), "verdict": metric_verdict(metric)}
            for metric in case.metrics
            if math.isfinite(metric.value)
        ],
    }


def _claims(
    workspace: Workspace, config_files: Sequence[Path], system: str
) -> list[dict[str, Any]]:
    """Return what became of the claims that this system's results can decide.

    Of those that they cannot, the ones that a site wrote down and expects are there, too.
    """
    try:
        library = references.load(workspace.reference)
        outcomes = claims.report.evaluate_database(
            library,
            workspace.results,
            config_files,
            system,
            claims.WINDOW,
            workspace.store_of(workspace.results),
        )
    except claims.UnknownSystem:
        return []
    except (references.ReferenceFault, ResultsFault) as err:
        return [{"state": "not measured", "reason": str(err), "expected": True}]
    return [
        claim
        for claim in claims.report.as_data(outcomes)["claims"]
        if claim["state"] in (claims.HOLDS, claims.FAILS)
        or (claim["source"] == "site" and claim["expected"])
    ]


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

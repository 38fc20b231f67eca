"""The protocol of an acceptance: what was asked, measured and found, so that others can check it.

It is plain data; `acceptance.campaigns.protocol.conclusions` says what follows from it.
"""

import hashlib
import importlib.metadata
import json
import math
import platform
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from acceptance import ledger, references
from acceptance.campaigns import conclusion, nodes
from acceptance.campaigns import state as campaign
from acceptance.campaigns.protocol.conclusions import (
    ACCEPTED,
    FORMAT,
    REJECTED,
    RESERVED,
    VERSION,
    checksum,
    conclusions,
    differences,
    plain,
)
from acceptance.campaigns.protocol.markdown import markdown
from acceptance.campaigns.state import CampaignFault, State
from acceptance.core import machine, state_files
from acceptance.core.findings import SHARED
from acceptance.core.kinds import CRITICAL, MAJOR
from acceptance.core.paths import Workspace
from acceptance.fabric import stored
from acceptance.ledger import Case, ResultsFault, Session
from acceptance.relations import claims
from acceptance.rfm import configuration as site
from acceptance.verdict import Status, Verdict

#: What of a provenance is of one run, not of a version.
_OF_RUNS = (
    *("bytes", "placement", "counters", "estimate", "firmware", "hops", "memory", "wire"),
    SHARED,
    *("fabric", "fabric_name", "fabric_sha256"),
)
#: What of a verdict a protocol has.
_OF_VERDICT = (
    *("verdict", "system", "problems", "findings", "unprovided", "not_selected", "notes"),
    *("fabric", "guidelines"),
)
#: What of a configuration a reader needs to see; the rest is how ReFrame is driven.
_PARTITION = (
    *("name", "descr", "scheduler", "launcher", "access", "environs", "max_jobs"),
    *("processor", "extras"),
)
_ENVIRONMENT = ("name", "features", "extras", "env_vars")


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
        "claims": _claims(workspace, config_files, system["name"]),
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
    except (OSError, yaml.YAMLError) as err:
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


def _claims(
    workspace: Workspace, config_files: Sequence[Path], system: str
) -> list[dict[str, Any]]:
    """Return what became of the claims that this system's results can decide.

    Of those that they cannot, the ones that a site wrote down and expects are there, too.
    """
    try:
        library = references.load(workspace.reference)
        past = ledger.of(workspace)
        outcomes = claims.evaluate_database(library, past, config_files, system, claims.WINDOW)
    except claims.UnknownSystem:
        return []
    except (references.ReferenceFault, ResultsFault) as err:
        return [{"state": "not measured", "reason": str(err), "expected": True}]
    return [
        claim
        for claim in claims.as_data(outcomes)["claims"]
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


_NAME = "protocol"


@dataclass(frozen=True)
class Verified:
    """A protocol that was read, as data and as Markdown; and where it does not agree with itself.

    `checksum` is that of what was read, whatever stands in it.
    """

    data: dict[str, Any]
    markdown: str
    checksum: str
    differences: list[str]


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


def verify(path: Path) -> Verified:
    """Read a protocol, draw its conclusions again, and compare; with the Markdown beside it, too.

    Raises CampaignFault for a file that cannot be read or is no protocol.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(data, dict):
            raise ValueError("no protocol")
        lines, text = differences(data), markdown(data)
        beside = path.with_suffix(".md")
        if beside.exists() and beside.read_text(encoding="utf-8") != text:
            lines.append(f"{beside} is not what {path.name} gives")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as err:
        raise CampaignFault(f"{path}: {err}") from None
    return Verified(data, text, checksum(data), lines)


def accept_fabrics(data: Mapping[str, Any], workspace: Workspace) -> Iterator[str]:
    """Store each fabric that the protocol has seen as accepted, and say so, or why not.

    One that was accepted before stays: a lost cable would be accepted by measuring again. Raises
    Fault.
    """
    seen = {
        told["fabric_name"]: told["fabric_sha256"]
        for case in data["measured"]
        if "fabric_sha256" in (told := case["provenance"])
    }
    for name, fabric in seen.items():
        path = stored.path_of(workspace.reference, name)
        last = stored.read_state(stored.state_path(workspace.var, name)).fabric
        if known := stored.read(path, stored.AcceptedFabric):
            told = f"stays as it was {known.text_of_history}; `acceptance fabric accept` changes it"
        elif data["outcome"] not in (ACCEPTED, RESERVED):
            told = f"is not stored as accepted: {data['outcome']}"
        elif last is None or stored.checksum(last) != fabric:
            told = "is not stored as accepted: it was read again since"
        else:
            reason = f"acceptance {data['campaign']}"
            stored.take_over(path, stored.AcceptedFabric, last, data["ended"], reason)
            told = f"is accepted: {path}"
        yield f"fabric {name} {told}"

"""The fabric as an acceptance has seen it: stored as accepted, where none was accepted before."""

from collections.abc import Iterator, Mapping
from typing import Any

from acceptance.campaigns.protocol.conclusions import ACCEPTED, RESERVED
from acceptance.core.paths import Workspace
from acceptance.fabric import view


def store(data: Mapping[str, Any], workspace: Workspace) -> list[str]:
    """Store each fabric that the protocol has seen, and say so, or why not; raises Fault.

    One that was accepted before stays: a lost cable would be accepted by measuring again.
    """
    return list(_stored(data, workspace))


def _stored(data: Mapping[str, Any], workspace: Workspace) -> Iterator[str]:
    seen = {
        told["fabric_name"]: told["fabric_sha256"]
        for case in data["measured"]
        if "fabric_sha256" in (told := case["provenance"])
    }
    for name, checksum in seen.items():
        path = view.accepted.path_of(workspace.reference, name)
        lines = view.errors.read_lines(view.errors.state_paths(workspace.var, name)[1])
        if known := view.accepted.read(path):
            told = f"stays as it was {known.text_of_history}; `acceptance fabric accept` changes it"
        elif data["outcome"] not in (ACCEPTED, RESERVED):
            told = f"is not stored as accepted: {data['outcome']}"
        elif view.accepted.checksum(lines) != checksum:
            told = "is not stored as accepted: it was read again since"
        else:
            view.accepted.take_over(path, lines, data["ended"], f"acceptance {data['campaign']}")
            told = f"is accepted: {path}"
        yield f"fabric {name} {told}"

"""The files of a protocol: `protocol.json`, and beside it `protocol.md`, which follows from it."""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acceptance.campaigns.protocol.conclusions import checksum, differences
from acceptance.campaigns.protocol.markdown import markdown
from acceptance.campaigns.state import CampaignFault
from acceptance.core import state_files

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
    """Write a protocol as JSON and as Markdown, each whole; raises CampaignFault."""
    paths = path_of(folder), folder / f"{_NAME}.md"
    texts = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n", markdown(data)
    try:
        for path, text in zip(paths, texts, strict=True):
            state_files.write_text(path, text)
    except state_files.StoredFault as err:
        raise CampaignFault(f"the protocol is not written: {err}") from None
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

"""`acceptance protocol`: check the protocol of an acceptance, or print it."""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acceptance.campaigns.protocol import conclusions
from acceptance.campaigns.protocol.markdown import markdown
from acceptance.campaigns.state import CampaignFault

NAME = "protocol"
#: Exit statuses of `verify`.
AGREES, DIFFERS, UNREADABLE = 0, 1, 2


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    command = commands.add_parser("protocol", help="check the protocol of an acceptance")
    command.add_argument("what", choices=("verify", "show"))
    command.add_argument("file", type=Path, metavar="FILE.json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check a protocol, and the Markdown beside it; or print it as Markdown."""
    try:
        data = json.loads(options.file.read_text(encoding="utf-8"))
        if not isinstance(data, dict):
            raise ValueError("no protocol")
        found = conclusions.differences(data)
        text = markdown(data)
        beside = options.file.with_suffix(".md")
        written = beside.read_text(encoding="utf-8") if beside.exists() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as err:
        print(f"acceptance protocol: {options.file}: {err}", file=sys.stderr)
        return UNREADABLE
    if options.what == "show":
        print(text, end="")
        return AGREES
    if written not in (None, text):
        found.append(f"{beside} is not what {options.file.name} gives")
    for line in found:
        print(f"DIFFERS  {line}")
    counts = data["counts"]
    print(f"outcome  {data['outcome']}, {len(data['findings'])} findings")
    print(f"metrics  {counts['judged']} judged, {counts['recorded']} recorded, not judged")
    print(f"sha256   {conclusions.checksum(data)}")
    print(f"\n{'DIFFERS' if found else 'agrees with itself'}")
    return DIFFERS if found else AGREES


def write(data: Mapping[str, Any], folder: Path) -> tuple[Path, Path]:
    """Write `protocol.json` and `protocol.md`, each whole; raises CampaignFault."""
    paths = folder / f"{NAME}.json", folder / f"{NAME}.md"
    texts = json.dumps(data, indent=1, allow_nan=False, ensure_ascii=False) + "\n", markdown(data)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, texts, strict=True):
            part = path.with_name(path.name + ".part")
            part.write_text(text, encoding="utf-8")
            os.replace(part, path)
    except OSError as err:
        raise CampaignFault(f"{folder}: the protocol cannot be written: {err}") from None
    return paths


def check_folder(folder: Path) -> None:
    """Make the folder of a protocol, before all is measured; raises CampaignFault."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as err:
        raise CampaignFault(f"{folder}: no protocol can be written there: {err.strerror}") from None


def last_lines(data: Mapping[str, Any], written: tuple[Path, Path]) -> str:
    """Return what ends an acceptance: outcome, worst findings, files, checksum."""
    lines = [f"\n{data['system']}: {data['outcome']}"]
    told = [one for one in data["findings"] if one["severity"] != "info"]
    for one in told[:20]:
        lines.append(f"{one['severity']:9}{one['id']}: {one['found']}")
    if len(told) > 20:
        lines.append(f"         ... and {len(told) - 20} more: see the protocol")
    return "\n".join([*lines, *map(str, written), f"sha256 {data['sha256']}"])

"""`acceptance protocol`: check the protocol of an acceptance, or print it."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acceptance.campaigns.protocol import verify
from acceptance.cli.arguments import Commands, add_command
from acceptance.core.text import wrapped
from acceptance.verdict import Status

#: Findings that end an acceptance; the protocol has all of them.
_SHOWN = 20


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "protocol",
        "check the protocol of an acceptance",
        "Show a protocol again, or verify that its conclusions follow from what was "
        "measured, and that nobody changed it.",
        failed="changed, or its conclusions do not follow",
    )
    command.add_argument("what", choices=("verify", "show"))
    command.add_argument("file", type=Path, metavar="FILE.json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check a protocol, and the Markdown beside it; or print it as Markdown."""
    verified = verify(options.file)
    if options.what == "show":
        print(verified.markdown, end="")
        return Status.PASSED
    for line in verified.differences:
        print(f"DIFFERS  {line}")
    data, counts = verified.data, verified.data["counts"]
    print(f"outcome  {data['outcome']}, {len(data['findings'])} findings")
    print(f"metrics  {counts['judged']} judged, {counts['recorded']} recorded, not judged")
    print(f"sha256   {verified.checksum}")
    if verified.differences:
        print("\nDIFFERS")
        return Status.FAILED
    print("\nagrees with itself")
    return Status.PASSED


def last_lines(data: Mapping[str, Any], paths: tuple[Path, Path]) -> str:
    """Return what ends an acceptance: outcome, worst findings, files, checksum."""
    lines = [f"\n{data['system']}: {data['outcome']}"]
    findings = [finding for finding in data["findings"] if finding["severity"] != "info"]
    for finding in findings[:_SHOWN]:
        text = f"{finding['id']}: {finding['found']}"
        lines += wrapped(finding["severity"], text, 9, 3, " ... (see the protocol)")
    if len(findings) > _SHOWN:
        lines.append(f"         ... and {len(findings) - _SHOWN} more: see the protocol")
    return "\n".join([*lines, *map(str, paths), f"sha256 {data['sha256']}"])

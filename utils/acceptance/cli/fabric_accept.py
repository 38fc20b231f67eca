"""`acceptance fabric accept`: take over what the last run has seen of the fabric."""

import argparse
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from acceptance.core.errors import Fault
from acceptance.core.text import plural, printable, wrapped
from acceptance.fabric import view
from acceptance.verdict import Status

ACCEPT = "accept"


def add(command: argparse.ArgumentParser) -> None:
    """Add what the command takes for it."""
    command.add_argument(
        "action",
        nargs="?",
        choices=(ACCEPT,),
        help="accept: the fabric as the last run has seen it is what later ones are compared with",
    )
    command.add_argument("--reason", metavar="TEXT", help="why it is accepted; it is kept")


def run(options: argparse.Namespace, system: Mapping[str, Any]) -> int:
    """Accept each fabric of a system that differs from what was accepted."""
    if not (options.reason or "").strip():
        raise Fault("say why, for those who read it later: --reason TEXT")
    places = [system["name"], *(f"{system['name']}-{p['name']}" for p in system["partitions"])]
    found = 0
    for name in places:
        kept, path = view.errors.state_paths(options.workspace.var, name)
        if lines := view.errors.read_lines(path):
            found += 1
            seen = view.errors.stamp(view.errors.read_state(kept).time)
            _accept(options, name, lines, seen)
    if cables := view.neighbours.known(options.workspace.var):
        found += 1
        path = view.neighbours.path_of(options.workspace.reference, system["name"])
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        changed = view.neighbours.take_over(path, cables, now, options.reason)
        told = f"accepted: {path}" if changed else "nothing has changed"
        print(f"{system['name']}: {plural(len(cables), 'cable')} of Ethernet: {told}")
    if not found:
        raise Fault(
            f"no run has looked at the whole fabric of {system['name']} yet: reframe "
            "--mode=maintenance does, where a partition states `view` (config/README.md)"
        )
    return Status.PASSED


def _accept(options: argparse.Namespace, name: str, lines: str, seen: str) -> None:
    path = view.accepted.path_of(options.workspace.reference, name)
    known = view.accepted.read(path)
    if known and view.accepted.body(known.topology) == lines:
        print(f"{name}: nothing has changed since it was {known.text_of_history}")
        return
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    changes = view.accepted.take_over(path, lines, now, options.reason)
    told = plural(len(changes), "change") if known else "for the first time"
    print(f"{name}: accepted as it was read at {seen}, {told}: {path}")
    for each in changes:
        print("\n".join(wrapped("", printable(each.text, keep=""), 2)))

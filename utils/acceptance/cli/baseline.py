"""`acceptance baseline`: what to expect of the coming nights, made of past ones."""

import argparse
import sys
from functools import partial
from typing import Any

from acceptance import references
from acceptance.cli.arguments import Commands, add_command, add_format, positive
from acceptance.cli.output import emit, warn
from acceptance.cli.sources import add_sources, read
from acceptance.core.text import shortened, table, wrapped
from acceptance.core.words import is_simulated
from acceptance.detection.constants import BASELINE_NIGHTS
from acceptance.references import write_parameters
from acceptance.regressions import BaselineFault, Proposal, new_baseline
from acceptance.regressions.history import History
from acceptance.verdict import Status

#: Metrics that are named of each reason of a refusal.
NAMED = 3


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "baseline",
        "make reference/sites/<system>.csv of results",
        "Propose the expectations of the coming runs from past ones, beside the present "
        "expectations.",
        failed="nothing was written, since the answer was no",
    )
    add_sources(command)
    chosen = command.add_mutually_exclusive_group()
    chosen.add_argument(
        "--from", dest="sessions", nargs="+", metavar="SESSION", help="UUIDs, or their beginnings"
    )
    chosen.add_argument(
        "--nights",
        type=positive,
        default=BASELINE_NIGHTS,
        help="the last nights (default: %(default)s)",
    )
    command.add_argument("--write", action="store_true", help="write it, do not only show it")
    command.add_argument("--yes", action="store_true", help="with --write: do not ask")
    add_format(command, "text", "json")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Show a new baseline beside the old one, and write it if asked."""
    history = read(options)
    library = references.load(options.workspace.reference)
    system = options.system or _only_system(history)
    chosen = new_baseline.select(history, options.sessions or (), options.nights)
    if is_simulated(system):
        new_baseline.refuse_faults(options.db or options.workspace.results, chosen)
    proposal = new_baseline.propose(history, system, chosen, library)
    emit(options.format, lambda: proposal_data(proposal), lambda: proposal_text(proposal))
    say = print if options.format == "text" else partial(warn, options)
    if not proposal.changes:
        raise BaselineFault("nothing is fit to be a baseline; nothing was written")
    if not options.write:
        say("nothing was written; --write writes it")
        return Status.PASSED
    if not options.yes and not _agreed(proposal):
        say("nothing was written")
        return Status.FAILED
    new_baseline.write(proposal, library)
    say(f"{proposal.path}: {len(proposal.rows)} rows")
    return Status.PASSED


def _only_system(history: History) -> str:
    systems = sorted({series.case.key.system for series in history.series})
    if len(systems) != 1:
        raise BaselineFault(
            f"which system? name one with --system: {', '.join(systems)}"
            if systems
            else "no result of any system is stored"
        )
    return systems[0]


def _agreed(proposal: Proposal) -> bool:
    if not sys.stdin.isatty():
        raise BaselineFault("nobody can be asked here: --yes writes without asking")
    try:
        return input(f"\nwrite {proposal.path}? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:  # Ctrl-D
        print()
        return False


def proposal_data(proposal: Proposal) -> dict[str, Any]:
    """Return a proposal as plain data."""
    return {
        "system": proposal.system,
        "path": str(proposal.path),
        "changes": [
            {
                "partition": row.new.partition,
                "benchmark": row.new.benchmark,
                "metric": row.new.metric,
                "parameters": dict(row.new.parameters),
                "unit": row.new.unit,
                "old": row.old.value if row.old else None,
                "new": row.new.value,
                "change": row.change,
                "note": row.new.note,
            }
            for row in proposal.changes
        ],
        "kept": len(proposal.kept),
        "refused": proposal.refused,
        "notes": proposal.notes,
    }


def proposal_text(proposal: Proposal) -> str:
    """Return the new rows beside the old ones, and what was refused and why."""
    header = ("partition", "benchmark", "metric", "parameters", "unit", "old", "new", "change", "")
    rows = []
    for change in proposal.changes:
        new, old = change.new, change.old
        fields = write_parameters(new.parameters)
        rows.append(
            (
                new.partition,
                new.benchmark,
                new.metric,
                fields,
                new.unit,
                old.printed if old else "-",
                new.printed,
                f"{100 * change.change:+.2f} %" if change.change is not None else "new",
                new.note,
            )
        )
    lines = [table(header, rows)] if rows else []
    lines.append("")
    if proposal.kept:
        lines.append(f"{len(proposal.kept)} rows stay as they are: not measured, or refused, now")
    for reason, names in proposal.refused.items():
        lines += wrapped("refused", f"{reason}: {shortened(names, NAMED)}", 9)
    for note in proposal.notes:
        lines += wrapped("note", note, 9)
    return "\n".join(lines).lstrip("\n")

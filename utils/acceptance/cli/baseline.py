"""`acceptance baseline`: what to expect of the coming nights, made of past ones."""

import argparse
from collections.abc import Iterator
from functools import partial

from acceptance import ledger, references
from acceptance.cli.arguments import FORMS, Commands, add_command, add_sources, option, read
from acceptance.cli.output import Columns, emit, warn
from acceptance.core.errors import Fault
from acceptance.core.text import shortened, wrapped
from acceptance.core.words import is_simulated
from acceptance.detection.constants import BASELINE_NIGHTS
from acceptance.references import write_parameters
from acceptance.regressions import Proposal, new_baseline
from acceptance.regressions.history import History
from acceptance.verdict import Status

#: Metrics that are named of each reason of a refusal.
NAMED = 3
_COLUMNS: Columns = {
    "partition": lambda row: row.new.partition,
    "benchmark": lambda row: row.new.benchmark,
    "metric": lambda row: row.new.metric,
    "parameters": lambda row: write_parameters(row.new.parameters),
    "unit": lambda row: row.new.unit,
    "old": lambda row: row.old and row.old.printed,
    "new": lambda row: row.new.printed,
    "change": lambda row: "new" if row.change is None else f"{100 * row.change:+.2f} %",
    "note": lambda row: row.new.note,
}


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(commands, "baseline", run, forms=FORMS)
    add_sources(command)
    chosen = command.add_mutually_exclusive_group()
    option(chosen, "--from ID", "UUIDs, or their beginnings", dest="sessions", nargs="+")
    meaning = f"the last nights (default: {BASELINE_NIGHTS})"
    option(chosen, "--nights N", meaning, default=BASELINE_NIGHTS)
    option(command, "--write", "write it, do not only show it")


def run(options: argparse.Namespace) -> int:
    """Propose or write the expected values of a system, made of past sessions.

    They stand beside the present ones, and go into reference/sites/SYSTEM.csv.
    """
    history = read(options)
    library = references.load(options.workspace.reference)
    system = options.system or _only_system(history)
    chosen = new_baseline.select(history, options.sessions or (), options.nights)
    if is_simulated(system):
        new_baseline.refuse_faults(ledger.of(options.workspace, options.db), chosen)
    proposal = new_baseline.propose(history, system, chosen, library)
    emit(options, proposal.changes, _COLUMNS, _said(proposal), proposal)
    say = print if options.format == "text" else partial(warn, options)
    if not proposal.changes:
        raise Fault("nothing is fit to be a baseline; nothing was written")
    if not options.write:
        say("nothing was written; --write writes it")
        return Status.PASSED
    new_baseline.write(proposal, library)
    say(f"{proposal.path}: {len(proposal.rows)} rows")
    return Status.PASSED


def _only_system(history: History) -> str:
    systems = sorted({series.case.key.system for series in history.series})
    if not systems:
        raise Fault("no result of any system is stored")
    if len(systems) > 1:
        raise Fault(f"which system? name one with --system: {', '.join(systems)}")
    return systems[0]


def _said(proposal: Proposal) -> Iterator[str]:
    """Yield what stays, and what was refused and why."""
    if proposal.changes:
        yield ""
    if proposal.kept:
        yield f"{len(proposal.kept)} rows stay as they are: not measured, or refused, now"
    for reason, names in proposal.refused.items():
        yield from wrapped("refused", f"{reason}: {shortened(names, NAMED)}", 9)
    for note in proposal.notes:
        yield from wrapped("note", note, 9)

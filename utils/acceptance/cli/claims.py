"""`acceptance claims`: relations between results that papers, sites and every MPI promise."""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from acceptance import ledger, references
from acceptance.cli.shared import DATABASE, FORMS, Commands, add_command, add_verbs, emit, option
from acceptance.core.words import NO_EVIDENCE, is_simulated, model_of
from acceptance.relations import claims, guidelines
from acceptance.relations.claims import (
    BEYOND_MODEL,
    FAILS,
    HOLDS,
    NOT_MEASURED,
    WINDOW,
    ClaimResult,
)
from acceptance.rfm import configuration
from acceptance.verdict import Status, guidelines_text


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands,
        "claims",
        run,
        f"Two results of a claim lie at most {WINDOW:g} days apart.",
        forms=FORMS,
        failed="a claim that the system must fulfil does not hold",
    )
    option(command, "--system SYSTEM", "only claims in which a side names this system")
    option(command, *DATABASE)
    option(command, "--all", "list what is not measured, too")
    of_mpi = add_command(
        add_verbs(command),
        "guidelines",
        _guidelines,
        forms=FORMS,
        failed="a violation where the partition says that guidelines fail",
    )
    option(of_mpi, "--session ID", "the UUID of a session, or its beginning; default: the last")
    option(of_mpi, *DATABASE)


def run(options: argparse.Namespace) -> int:
    """Compare results with the relations that papers and sites state."""
    past = ledger.of(options.workspace, options.db)
    library = references.load(options.workspace.reference)
    results = claims.evaluate_database(
        library,
        past,
        lambda: configuration.load(options.config_files).systems,
        options.system,
        WINDOW,
    )
    shown = [result for result in results if options.all or result.state in (HOLDS, FAILS)]
    emit(
        options,
        shown,
        {
            "state": lambda each: "FAILS" if each.fails_expected else each.state,
            "claim": lambda each: f"{each.claim.paper}, {each.claim.where}",
            "what": claims.what,
            "left": lambda each: claims.side(each, "left"),
            "right": lambda each: claims.side(each, "right"),
            "published": claims.published,
            "ours": claims.ours,
            "pairs": lambda each: each.left and each.right and f"{each.held} of {each.compared}",
            "note": claims.note,
        },
        [*([""] if shown else []), *_counted(results, options)],
        claims.as_data(results),
    )
    fails = any(result.fails_expected for result in results)
    return Status.FAILED if fails else Status.PASSED


def _counted(results: Sequence[ClaimResult], options: argparse.Namespace) -> Iterator[str]:
    """Yield how many claims hold, fail and are not measured, and those that must hold."""
    states = Counter(result.state for result in results)
    words = {HOLDS: "hold", FAILS: "fail", NOT_MEASURED: "not measured"}
    counts = [f"{states[state]} {word}" for state, word in words.items()]
    if is_simulated(options.system or ""):
        counts.append(f"{states[BEYOND_MODEL]} the model cannot say")
        yield f"SIMULATED: {options.system} is {NO_EVIDENCE.format(model_of(options.system))}"
    yield f"{len(results)} claims: {', '.join(counts)}"
    for state in (NOT_MEASURED, BEYOND_MODEL):
        reasons = Counter(result.reason for result in results if result.state == state)
        if reasons:
            said = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
            yield f"{state}: {said}" + ("" if options.all else " (--all lists them)")
    if of_input := sum(result.of_input and result.state in (HOLDS, FAILS) for result in results):
        yield f"{of_input} of them by an input of the model: small latencies"
    for result in results:
        claim = result.claim
        if result.fails_expected:
            yield f"FAILS, expected to hold: {claim.path}:{claim.line}"
        elif result.state == NOT_MEASURED and claim.expected and claim.source == "site":
            # A contract that nobody can tell of is not fulfilled by that.
            yield f"NOT MEASURED, expected to hold: {claim.path}:{claim.line}: {result.detail}"


def _guidelines(options: argparse.Namespace) -> int:
    """Compare the operations of a session with others that do their work.

    What every correct MPI satisfies requires no reference.
    """
    past = ledger.of(options.workspace, options.db)
    first = (each.uuid for each in reversed(past.entries) if not ledger.repeated(each.label))
    asked = past.full_id(options.session) if options.session else next(first, None)
    session = past.session(asked)
    site = configuration.load(options.config_files)
    found, failing = guidelines.judge(past, session, site.systems, site.environments)
    sort = ledger.campaign_of(session.label).partition("-")[0]
    facts = [
        ("session", session.uuid),
        ("findings", f"{len(found.findings)}, of which {len(failing)} fail"),
        ("compared", guidelines_text(found.counts, sort)),
        *(("skipped", f"{count}: {reason}") for reason, count in found.skipped.items()),
    ]
    emit(
        options,
        found.findings,
        {
            "finding": "guideline",
            "suite": "suite",
            "ranks": "placed",
            "where": "where",
            "sizes": "span",
            "x": lambda each: f"{each.factor:.2f}",
            "worst": lambda each: f"{max(each.sizes.values()):.2f}",
            "p": lambda each: f"{each.p:.1g}",
            "rounds": "rounds",
            "to do": "remedy",
        },
        [*([""] if found.findings else []), *(f"{name:9}{text}" for name, text in facts)],
        {
            "session": session.uuid,
            "rounds": len(guidelines.rounds_of(past, session)),
            **asdict(found),
            "failing": [finding.id for finding in failing],
        },
    )
    return Status.FAILED if failing else Status.PASSED

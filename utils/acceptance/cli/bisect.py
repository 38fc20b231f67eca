"""`acceptance bisect`: which changes between two environments explain a loss."""

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from acceptance import ledger
from acceptance.campaigns import Preview, Step, bisect, preview
from acceptance.campaigns import state as campaign
from acceptance.campaigns.changes import Change, differences, find
from acceptance.cli.shared import (
    BUSY,
    SIGNALLED,
    SYSTEM,
    Commands,
    add_command,
    emit,
    option,
    warn,
)
from acceptance.core.errors import Fault
from acceptance.core.text import plural, time_text, wrapped
from acceptance.machine import BUILD_TIME
from acceptance.relations.comparison import percent
from acceptance.rfm import Interrupted
from acceptance.rfm import configuration as site
from acceptance.verdict import Status

#: Where text begins, and what a set of changes takes where noise is small.
_INDENT, _RUNS = 12, 3
_STATUS = {"bad": Status.PASSED, "good": Status.FAILED, "cannot tell": Status.CANNOT_JUDGE}
_MORE = (
    "GOOD and BAD are two environments, +NAME or SYSTEM:PARTITION+NAME, or two "
    "stored sessions by their ids. Both are measured first: without a loss nothing is searched."
)


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(
        commands, "bisect", run, _MORE, forms=("text", "json"),
        failed="no loss, or none that a change explains which can be set",
        others=f"{BUSY} another campaign runs; {SIGNALLED} + N stopped by signal N",
    )  # fmt: skip
    option(command, "GOOD", "an environment, or a session", dest="good")
    option(command, "BAD", "one that is slower", dest="bad")
    option(command, "-n --name CASE", "what measures it, as reframe -n", dest="case", required=True)
    meaning = "the file or folder that has the check, as reframe -c; our checks"
    option(command, "-c --checkpath PATH", meaning, dest="checks")
    option(command, "--loss LOSS", "what is less is none; default 0.05", default=0.05)
    option(command, *SYSTEM)
    option(command, "--plan", "say what would be tried, and about how long; run nothing")
    option(command, "--new", "start anew, even if one was stopped")
    option(command, "reframe", "of ReFrame", metavar="-- OPTION", nargs="*", default=[])


def run(options: argparse.Namespace) -> int:
    """Find the smallest set of changes between GOOD and BAD that explains a loss.

    The same command goes on where the last one was stopped.
    """
    plan = _plan(options)
    if options.plan:
        return _show(plan, options)
    try:
        return _run(plan, options)
    except campaign.Busy as err:
        warn(options, err)
        return BUSY


def _plan(options: argparse.Namespace) -> bisect.Plan:
    workspace = options.workspace
    workspace.require_records()
    configuration = site.load(options.config_files)
    system = configuration.system(options.system)
    past = ledger.of(workspace) if workspace.results.exists() else None
    good, bad = (
        find(text, configuration, system, past, options.case)
        for text in (options.good, options.bad)
    )
    if good.where != bad.where:
        raise Fault(
            f"GOOD is on {good.where}, BAD on {bad.where}: other nodes are nothing that can be "
            "set; name two environments of one partition"
        )
    if good.stored != bad.stored:
        raise Fault("one side is a session and the other an environment; name two of one kind")
    path = Path(options.checks).resolve() if options.checks else workspace.checks
    name, _, partition = good.where.partition(":")
    arguments = (
        "-c", str(path), "-r", "-n", options.case, f"--system={name}:{partition}",
        *options.reframe,
    )  # fmt: skip
    return bisect.Plan(good, bad, configuration.system(name), arguments, options.loss)


def _run(plan: bisect.Plan, options: argparse.Namespace) -> int:
    """Run what is left of it under the lock of all campaigns, and show its end."""
    campaigns = options.workspace.campaigns
    good, bad, changes = differences(plan.good, plan.bad)
    # What must be the same to go on; a configuration that was edited is another question.
    asked = {
        "arguments": [*plan.arguments], "least": plan.least,
        "sides": [plan.good.text, plan.bad.text], "facts": [repr(good), repr(bad)],
    }  # fmt: skip
    tell = partial(print, file=sys.stderr if options.format == "json" else sys.stdout, flush=True)
    with campaign.locked(campaigns, "bisect") as held:
        now = campaign.now()
        stopped = None if options.new else campaign.unfinished(campaigns, "bisect", asked, now)
        state = stopped or campaign.begin(campaigns, "bisect", asked, [], now)
        state.save()
        campaign.name_holder(held, state)
        tell("\n".join([*_head(plan, changes), *([f"goes on with {state.id}"] if stopped else [])]))
        try:
            result = bisect.run(plan, state, held, options.workspace, tell)
        except Interrupted as err:
            tell(f"{state.id}: {err}; the same command goes on with it")
            return SIGNALLED + err.signal
        except Fault as err:
            raise Fault(f"{err}; what ReFrame printed: {state.log}; --new measures anew") from None
        state.ended, state.summary = campaign.stamp(campaign.now()), result.sentence
        state.status = _STATUS[result.word]
        state.save()
    count = plural(len(result.evaluations), "evaluation")
    passed = sum(each.word == bisect.WORDS[bisect.CANNOT_TELL] for each in result.evaluations)
    told = f", {passed} of them not told" if passed else ""
    lines = [
        "",
        *(_lines("metric", result.ends) if result.metric else ()),
        *_lines("evaluations", f"{count}{told}; any wrong word: at most {percent(bisect.ERROR)}"),
        *_lines("result", result.sentence),
    ]
    emit(options, (), {}, lines, {"campaign": state.id, "result": result})
    return state.status


def _lines(label: str, text: str) -> list[str]:
    return wrapped(label, text, _INDENT)


def _head(plan: bisect.Plan, changes: list[Change]) -> Iterator[str]:
    """Yield both sides, and what differs."""
    for label, side in (("GOOD", plan.good), ("BAD", plan.bad)):
        what = f"session {side.text}, " if side.stored else ""
        yield from _lines(label, f"{what}{side.where}+{side.environment['name']}")
    yield from _lines("changes", f"{len(bisect.settable_of(changes))} that can be set")
    for change in changes:
        yield from _lines("" if change.facts else "cannot set", str(change))
    if plan.good.stored:
        told = "variables are not stored: both sides have those of the configuration now"
        yield from _lines("note", told)
    elif any("spack" in side.environment.get("features", ()) for side in (plan.good, plan.bad)):
        yield from _lines("note", "which of Spack's packages differ is known when both are built")


def _show(plan: bisect.Plan, options: argparse.Namespace) -> int:
    """Print the plan; raises Fault where ReFrame would select nothing."""
    changes = differences(plan.good, plan.bad)[2]
    count = len(bisect.settable_of(changes))
    words = [word for path in options.config_files for word in ("-C", str(path))]
    names = dict.fromkeys(str(side.environment["name"]) for side in (plan.good, plan.bad))
    step = Step("bisect", (), (*words, *plan.arguments, "-p", f"^({'|'.join(names)})$"))
    (each,) = preview([step], "", (), options.workspace)
    if not each.cases:
        raise Fault(f"{options.case} selects no case of {', '.join(names)}")
    most = bisect.most(count)
    sets = (
        f"both ends, {bisect.FEWEST} to {bisect.LOOKS} runs each; then about "
        f"{max(count - 1, 0).bit_length() + 2} sets of changes for a single cause, {most} at most; "
        f"a set takes about {_RUNS} runs, {bisect.LOOKS} at most"
    )
    time = _time(each, len(names), most)
    lines = [*_head(plan, changes), *_lines("evaluations", sets), *_lines("time", time)]
    data = {
        "changes": changes, "most": most, "ends": [bisect.FEWEST, bisect.LOOKS],
        "seconds": each.seconds,
    }  # fmt: skip
    emit(options, (), {}, lines, data)
    return Status.PASSED


def _time(each: Preview, environments: int, most: int) -> str:
    """Say about how long the search takes at most, by one run of the case in each environment."""
    if each.unknown == each.cases + each.builds:
        return "not known: the case never ran here"
    runs = 2 * bisect.FEWEST + _RUNS * most
    builds = f", and {plural(most + 2, 'build')} of about {time_text(BUILD_TIME)} each"
    one = each.seconds / environments
    return (
        f"{runs} runs of {time_text(one)} take {time_text(runs * one)}{builds * bool(each.builds)}"
    )

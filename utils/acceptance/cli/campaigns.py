"""`acceptance nightly` and `acceptance accept`."""

import argparse
import contextlib
import shlex
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from acceptance import ledger
from acceptance.campaigns import (
    ACCEPTED,
    RESERVED,
    Busy,
    Preview,
    Runner,
    State,
    Step,
    conclusion,
    markdown,
    nodes,
    power,
    preview,
    protocol,
    steps,
)
from acceptance.campaigns import state as campaign
from acceptance.cli import report
from acceptance.cli.shared import (
    AGAIN,
    BUSY,
    CONFIG_FILE,
    SIGNALLED,
    SYSTEM,
    Commands,
    add_command,
    add_verbs,
    option,
    painter,
    rounds,
    warn,
)
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.core.text import plural, time_text, wrapped
from acceptance.fabric import seen as fabrics
from acceptance.machine import placement
from acceptance.rfm import Interrupted, marks
from acceptance.rfm import configuration as site
from acceptance.site import refuse_wrong
from acceptance.verdict import (
    Aim,
    Repetition,
    Status,
    Verdict,
    conclude,
    stored,
    verdict_text,
)

_PEOPLE = ("operator", "vendor", "customer")
_OTHERS = f"{BUSY} another campaign runs; {SIGNALLED} + N stopped by signal N"
#: The option that names checks of the site.
_OWN = ("-c", "--checkpath")
#: Findings that end an acceptance; the protocol has all of them.
_SHOWN = 20


def add(commands: Commands) -> None:
    """Add the two subcommands."""
    command = add_command(
        commands,
        "nightly",
        nightly,
        failed="a problem, or a metric that became worse",
        others=_OTHERS,
    )
    option(_add_common(command), "--resume", "go on with a night, or do nothing")
    option(command, "--mode MODE", "another mode than nightly", default="nightly")
    option(command, "--no-alerts", "send no alerts")
    option(command, *AGAIN, default=0, type=rounds)

    command = add_command(
        commands,
        "accept",
        accept,
        failed="the cluster is rejected; with reservations it is accepted",
        others=_OTHERS,
    )
    verbs = add_verbs(command)
    _add_common(command)
    option(command, "--nodes LIST", "only these, node[1-16] say; the protocol tells that")
    for who in _PEOPLE:
        option(command, f"--{who} NAME", "for the protocol")
    option(command, "--output FOLDER", "of the protocol")
    option(command, "--detect LOSS", "see a node, or its cable, that loses so much, 5%% say")
    option(command, "--power CHANCE", "with which it is seen; 0.95")
    option(command, "--false CHANCE", "that a good cluster is rejected, at most; 0.01")
    command.set_defaults(mode="acceptance", again=0, no_alerts=True)

    verify = add_command(
        verbs, "verify", _verify, failed="changed, or its conclusions do not follow"
    )
    for command in (verify, add_command(verbs, "show", _show_protocol)):
        option(command, "FILE.json", dest="file")


def _add_common(command: argparse.ArgumentParser) -> Any:
    """Add what both take; returns the group of those of which one at most may be given."""
    option(command, *SYSTEM)
    meaning = "checks of your own, a file or a folder of them, that take part, as reframe -c"
    option(command, f"{' '.join(_OWN)} PATH", meaning, dest="own", action="append", default=[])
    accepts = command.prog.endswith("accept")
    words = "--dry-run --plan" if accepts else "--dry-run"
    seen = ", and say what nodes and cables it could see" if accepts else ""
    option(command, words, f"count cases and time{seen}; run nothing", dest="dry_run")
    more: dict[str, Any] = {"metavar": "-- OPTION", "nargs": "*", "default": []}
    option(command, "reframe", "of ReFrame, for the benchmarks", **more)
    which = command.add_mutually_exclusive_group()
    option(which, "--new", "start anew, even if one was stopped")
    return which


def nightly(options: argparse.Namespace) -> int:
    """Run the link check and all benchmarks, judge them, and send alerts.

    The same command goes on where the last one was stopped.
    """
    return _run(options)


def accept(options: argparse.Namespace) -> int:
    """Measure all nodes of a new cluster, and write a protocol to be signed.

    The same command goes on where the last one was stopped.
    """
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    """Run a night or an acceptance; the exit status is that of its verdict, or of its protocol."""
    for word in options.reframe:
        if word.startswith((*CONFIG_FILE, *_OWN)):
            raise Fault(f"{word} belongs before --: acceptance {options.command} {word} ... -- ...")
    options.own = steps.own_files(options.own)
    options.workspace.require_records()
    try:
        plan = _plan(options)
        return _show(plan, options) if options.dry_run else _campaign(plan, options)
    except Busy as err:
        warn(options, err)
        return BUSY
    except BrokenPipeError:
        raise
    except OSError as err:  # a full disk, most likely
        raise Fault(f"{err}; the same command goes on") from None
    except KeyboardInterrupt:
        warn(options, "stopped; the same command goes on")
        return SIGNALLED + signal.SIGINT


def _plan(options: argparse.Namespace) -> State:
    """Return a new campaign: a night on nodes whose turn it is, an acceptance on all, or some."""
    configuration = site.load(options.config_files)
    system = configuration.system(options.system)
    refuse_wrong(system, configuration, options.workspace)
    known, night = nodes.ask(system), options.command == "nightly"
    limited, of_turns, notes = {}, dict[str, tuple[str, ...]](), list[str]()
    if night and options.mode != steps.MAINTENANCE:
        earlier = campaign.readable(options.workspace.campaigns, "nightly-*")
        of_turns, notes = nodes.turns(system, known, earlier)
    elif not night and options.nodes is not None:
        limited = nodes.limit(options.nodes, known)
    pinned = placement.write_pins(of_turns) if night else nodes.pinned(limited, known)
    aim = Aim() if night else _aim(options)
    options.planned = [] if night else power.planned(
        aim, configuration, system, known, limited,
        ledger.of(options.workspace) if options.workspace.results.exists() else None,
    )  # fmt: skip
    plan = steps.plan(
        options.mode,
        configuration,
        system=options.system,
        pinned=pinned,
        limited="" if night else pinned,
        excluded=nodes.exclusion(limited, known, system["partitions"]),
        extra=tuple(options.reframe),
        of_pairs=power.options_of(aim, options.planned),
        own=options.own,
    )
    notes += [of.line for of in options.planned if aim.detect]
    # What a campaign must share to be gone on with; login nodes may share `var/`.
    asked = {"mode": options.mode, "system": system["name"], "reframe": options.reframe}
    asked |= {"own": [str(path) for path in options.own]} if options.own else {}
    asked |= {"nodes": limited} if limited else {}
    asked |= {"aim": [aim.detect, aim.power, aim.false]} if aim.detect else {}
    return campaign.begin(
        options.workspace.campaigns, options.command, asked, plan, campaign.now(), known, notes
    )


def _aim(options: argparse.Namespace) -> Aim:
    """Return what is to be seen; raises Fault for how surely without what, or more than it can."""
    if options.detect is None:
        if options.power or options.false:
            raise Fault("--power and --false say how surely --detect LOSS is seen: name that, too")
        return Aim()
    if (false := options.false or 0.01) < Aim().false:
        raise Fault(
            f"--false {false:g}: {Aim().false:g} is the least, with which paths, uplinks and nodes "
            "are named by mistake"
        )
    return Aim(options.detect, options.power or 0.95, false)


def _campaign(new: State, options: argparse.Namespace) -> int:
    """Run, judge and end a campaign under the lock; return the exit status."""
    workspace: Workspace = options.workspace
    kind, night = options.command, options.command == "nightly"
    output = getattr(options, "output", None)
    if output:
        protocol.check_folder(output)
    with campaign.locked(workspace.campaigns, kind) as held, contextlib.ExitStack() as marked:
        longest = campaign.SAME_NIGHT if night else None
        stopped = None if options.new else campaign.unfinished(
            workspace.campaigns, kind, new.asked, campaign.now(), longest
        )  # fmt: skip
        state = stopped or new
        if stopped is None and night and options.resume:
            print("acceptance nightly: no night of these arguments was stopped")
            return Status.PASSED
        # Its mark comes first: if it cannot be stored, no older verdict counts either.
        marked.enter_context(marks.of_campaign(workspace.var, state.id))
        state.save()
        campaign.name_holder(held, state)
        state.people |= {who: name for who in _PEOPLE if (name := getattr(options, who, None))}
        runner = Runner(state, held, workspace, sys.stdout.buffer)
        for note in new.notes if state is new else ():
            runner.say(f"=== {note}")
        if stopped:
            runner.say(f"=== {campaign.stamp(campaign.now())} goes on with {state.id}")
        try:
            runner.run()
            given = conclude(
                workspace,
                conclusion.run_of(state, workspace),
                config_files=options.config_files,
                send=not options.no_alerts,
                again=Repetition(options.again, sys.stderr, [held]) if options.again else None,
            )
        except Interrupted as err:
            runner.say(f"=== {state.id}: {err}; the same command goes on with it")
            return SIGNALLED + err.signal
        last = "" if night else _signed(state, given, options)
        # What is shown is what is kept: the campaign has ended when both are.
        stored.keep(workspace, state.id, given)
        summary = conclusion.summary(state, given)
        rest = "\n".join(filter(None, [*wrapped("", summary, 0), last]))
        runner.say(
            f"\n{verdict_text(given)}\n\n{rest}",
            shown=f"\n{verdict_text(given, painter())}\n\n{rest}",
        )
        state.ended, state.status = campaign.stamp(campaign.now()), given.status
        state.summary = summary
        state.save()
        written = output and protocol.path_of(output)
        runner.say(f"\n{report.after(workspace, options.config_files, written)}")
        return given.status


def _signed(state: State, given: Verdict, options: argparse.Namespace) -> str:
    """Write the protocol of an acceptance, to which the verdict may get problems; say where."""
    data = protocol.protocol_of(state, given, options.workspace, options.config_files)
    data = protocol.decide(data, given)
    written = protocol.write(data, options.output or state.folder)
    refused = "" if data["outcome"] in (ACCEPTED, RESERVED) else data["outcome"]
    told = fabrics.accept_first(
        protocol.fabrics_of(data), options.workspace, data["ended"],
        f"acceptance {data['campaign']}", refused,
    )  # fmt: skip
    return "\n".join([_last_lines(data, written), *told])


def _show(plan: State, options: argparse.Namespace) -> int:
    """Print what the steps would run; raises Fault where a step could not even begin."""
    lines = nodes.lines(plan.nodes) + (plan.notes if plan.kind == "nightly" else [])
    for line in lines:
        print(f"nodes: {line}")
    previews = preview(plan.steps, options.mode, options.reframe, options.workspace)
    for each in previews:
        step = each.step
        said = f"not run: {step.reason}" if step.reason else _amount(each)
        lines = wrapped(f"{step.name}: ", said, 4)
        if not step.reason:
            lines += wrapped("", shlex.join(("reframe", *step.arguments)), 4)
        print("\n".join(lines))
    counted = ("cases", "builds", "seconds", "formula", "guessed", "unknown")
    sums = (sum(getattr(each, name) for each in previews) for name in counted)
    total = Preview(Step("all", (), ()), *sums)
    print("\n".join(wrapped("all: ", f"{_amount(total)}; then the verdict", 4)))
    for planned in options.planned:
        print("\n".join(planned.lines))
    for warning in dict.fromkeys(text for each in previews for text in each.warnings):
        warn(options, f"ReFrame: {warning}")
    return Status.PASSED


def _amount(each: Preview) -> str:
    count = each.cases + each.builds
    if not count:
        return "no case"
    builds = f" and {plural(each.builds, 'build')}" if each.builds else ""
    words = f"{plural(each.cases, 'case')}{builds}, "
    if each.unknown == count:
        return f"{words}time not known: never run here in this mode"
    words += f"about {time_text(each.seconds)}"
    if each.guessed:
        words += f", {time_text(each.formula)} of it by formula: {each.guessed}"
        words += " never ran here in this mode"
    if each.unknown:
        words += f", without {each.unknown} that never ran here, of which no formula tells"
    return words


def _last_lines(data: Mapping[str, Any], paths: tuple[Path, Path]) -> str:
    """Return what ends an acceptance: outcome, worst findings, files, checksum."""
    lines = [f"\n{data['system']}: {data['outcome']}"]
    findings = [finding for finding in data["findings"] if finding["severity"] != "info"]
    for finding in findings[:_SHOWN]:
        text = f"{finding['id']}: {finding['found']}"
        lines += wrapped(finding["severity"], text, 9, 3, " ... (see the protocol)")
    if len(findings) > _SHOWN:
        lines.append(f"         ... and {len(findings) - _SHOWN} more: see the protocol")
    return "\n".join([*lines, *map(str, paths), f"sha256 {data['sha256']}"])


def _verify(options: argparse.Namespace) -> int:
    """Verify a protocol: its checksum, and that its conclusions follow from what was measured."""
    data, differences = protocol.verify(options.file)
    for line in differences:
        print(f"DIFFERS  {line}")
    counts = data["counts"]
    print(f"outcome  {data['outcome']}, {len(data['findings'])} findings")
    print(f"metrics  {counts['judged']} judged, {counts['recorded']} recorded, not judged")
    print(f"sha256   {protocol.checksum(data)}")
    print("\nDIFFERS" if differences else "\nagrees with itself")
    return Status.FAILED if differences else Status.PASSED


def _show_protocol(options: argparse.Namespace) -> int:
    """Print a protocol as Markdown."""
    data, _ = protocol.verify(options.file)
    print(markdown(data), end="")
    return Status.PASSED

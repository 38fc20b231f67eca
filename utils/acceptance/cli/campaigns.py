"""`acceptance nightly` and `acceptance accept`."""

import argparse
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from acceptance.campaigns import (
    Busy,
    CampaignFault,
    Runner,
    State,
    Step,
    conclusion,
    lock,
    nodes,
    protocol,
    rotation,
    steps,
)
from acceptance.campaigns import state as campaign
from acceptance.cli import preview, report
from acceptance.cli import protocol as protocol_cli
from acceptance.cli.arguments import (
    CONFIG_FILE,
    Commands,
    add_command,
    add_confirm,
    add_system,
    names,
)
from acceptance.cli.output import BUSY, SIGNALLED, painter, warn
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace
from acceptance.core.text import wrapped
from acceptance.launch import SlurmNode, slurm_nodes
from acceptance.rfm import Interrupted
from acceptance.rfm import configuration as site
from acceptance.site import refuse_wrong
from acceptance.verdict import Repetition, Status, Verdict, stored, verdict_text

_PEOPLE = ("operator", "vendor", "customer")
_OTHERS = f"{BUSY} another campaign runs; {SIGNALLED} + N stopped by signal N"


class NothingToDo(Exception):
    """There is nothing to go on with, and that is no fault."""


#: What ends a kind of campaign: it may add problems to the verdict, and returns lines to show.
_Finish = Callable[[State, Verdict], str]


def add(commands: Commands) -> None:
    """Add the two subcommands."""
    command = add_command(
        commands,
        "nightly",
        "link check, benchmarks, verdict and alerts, in order",
        "Run the link check and all benchmarks, judge them together, and send what is "
        "new. The same command goes on where the last one was stopped.",
        failed="a problem, or a metric that became worse",
        others=_OTHERS,
    )
    _add_common(command)
    command.add_argument("--mode", default="nightly", help="another mode than nightly")
    command.add_argument("--no-alerts", action="store_true", help="send no alerts")
    add_confirm(command)
    which = command.add_mutually_exclusive_group()
    which.add_argument("--resume", action="store_true", help="go on with a night, or do nothing")
    which.add_argument("--new", action="store_true", help="start anew, even if one was stopped")
    command.set_defaults(run=run)

    command = add_command(
        commands,
        "accept",
        "measure a new cluster, all nodes of it, and write a protocol",
        "Measure all that there is, on all nodes, and write a protocol to be signed. The "
        "same command goes on where the last one was stopped.",
        failed="the cluster is rejected; with reservations it is accepted",
        others=_OTHERS,
    )
    _add_common(command)
    which = command.add_mutually_exclusive_group()
    which.add_argument("--resume", action="store_true", help="go on, or fail if none was stopped")
    which.add_argument("--new", action="store_true", help="start anew, even if one was stopped")
    command.add_argument(
        "--nodes",
        type=names,
        metavar="LIST",
        help="only these, node[1-16] say; the protocol tells that",
    )
    for who in _PEOPLE:
        command.add_argument(f"--{who}", metavar="NAME", help="for the protocol")
    command.add_argument("--output", type=Path, metavar="FOLDER", help="of the protocol")
    command.set_defaults(run=run)


def _add_common(command: argparse.ArgumentParser) -> None:
    add_system(command)
    _add_own(command)
    command.add_argument("--dry-run", action="store_true", help="count cases and time, run nothing")
    command.add_argument(
        "reframe", nargs="*", metavar="-- OPTION", help="of ReFrame, for the benchmarks"
    )


def _add_own(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        *("-c", "--checkpath"),
        dest="own",
        action="append",
        type=Path,
        default=[],
        metavar="PATH",
        help="checks of your own, a file or a folder of them, that take part, as reframe -c",
    )


def run(options: argparse.Namespace) -> int:
    """Run a night or an acceptance; the exit status is that of its verdict, or of its protocol."""
    given = [word for word in options.reframe if word.startswith(CONFIG_FILE)]
    if given:
        raise Fault(f"{given[0]} belongs before --: acceptance {options.command} -C FILE")
    # It chooses none of the benchmarks, wherever it stands.
    among = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    _add_own(among)
    named, options.reframe = among.parse_known_args(options.reframe)
    options.own = steps.own_files([*options.own, *named.own])
    options.workspace.require_records(of_many=True)
    try:
        return {"nightly": _nightly, "accept": _accept}[options.command](options)
    except NothingToDo as err:
        print(f"acceptance {options.command}: {err}")
        return Status.PASSED
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


def _nightly(options: argparse.Namespace) -> int:
    configuration = site.load(options.config_files)
    system = configuration.system(options.system)
    refuse_wrong(system, configuration, options.workspace)
    known = nodes.ask(system)
    earlier = campaign.readable(options.workspace.campaigns, "nightly-*")
    benchmarks = options.mode != steps.MAINTENANCE
    turns = rotation.turns(system, known, earlier) if benchmarks else {}
    plan = steps.plan(
        options.mode,
        configuration,
        system=options.system,
        pinned=slurm_nodes.write_pins(
            {name: turn.nodes for name, turn in turns.items() if turn.nodes}
        ),
        extra=tuple(options.reframe),
        own=options.own,
    )
    notes = [turn.text for turn in turns.values()]
    if options.dry_run:
        return _show(plan, options.mode, known, options, notes)
    asked = _asked(options.mode, configuration, options)

    def resumed() -> State | None:
        stopped = campaign.unfinished(
            options.workspace.campaigns, "nightly", asked, campaign.now(), campaign.SAME_NIGHT
        )
        if stopped is None and options.resume:
            raise NothingToDo("no night of these arguments was stopped")
        return stopped

    def finish(state: State, given: Verdict) -> str:
        return ""

    send = not options.no_alerts
    return _campaign("nightly", asked, plan, known, notes, resumed, finish, send, options)


def _accept(options: argparse.Namespace) -> int:
    configuration = site.load(options.config_files)
    system = configuration.system(options.system)
    refuse_wrong(system, configuration, options.workspace)
    known = nodes.ask(system)
    limited = {} if options.nodes is None else nodes.limit(options.nodes, known)
    plan = steps.plan(
        "acceptance",
        configuration,
        system=options.system,
        pinned=(pinned := nodes.pinned(limited, known)),
        limited=pinned,
        excluded=nodes.exclusion(limited, known, system["partitions"]),
        extra=tuple(options.reframe),
        own=options.own,
    )
    if options.dry_run:
        return _show(plan, "acceptance", known, options)
    asked: dict[str, Any] = _asked("acceptance", configuration, options)
    if limited:
        asked["nodes"] = limited
    if options.output:
        protocol.check_folder(options.output)

    def resumed() -> State | None:
        stopped = campaign.unfinished(options.workspace.campaigns, "accept", asked, campaign.now())
        if stopped is None and options.resume:
            raise CampaignFault("there is no unfinished acceptance of these arguments to resume")
        return stopped

    def finish(state: State, given: Verdict) -> str:
        data = protocol.decide(state, given, options.workspace, options.config_files, state.people)
        written = protocol.write(data, options.output or state.folder)
        told = protocol.accept_fabrics(data, options.workspace)
        return "\n".join([protocol_cli.last_lines(data, written), *told])

    return _campaign("accept", asked, plan, known, [], resumed, finish, False, options)


def _asked(
    mode: str, configuration: site.Site, options: argparse.Namespace
) -> dict[str, str | list[str]]:
    """Return what a campaign must share to be gone on with; login nodes may share `var/`."""
    system = configuration.system(options.system)["name"]
    own = {"own": [str(path) for path in options.own]} if options.own else {}
    return {"mode": mode, "system": system, "reframe": options.reframe, **own}


def _campaign(
    kind: str,
    asked: dict[str, Any],
    plan: Sequence[Step],
    known: Mapping[str, list[SlurmNode]],
    notes: Sequence[str],
    resumed: Callable[[], State | None],
    finish: _Finish,
    send: bool,
    options: argparse.Namespace,
) -> int:
    """Run, judge and end a campaign under the lock; return the exit status."""
    workspace: Workspace = options.workspace
    with lock.locked(workspace.campaigns, f"acceptance {kind}") as held:
        state = None if options.new else resumed()
        started = state is None
        state = state or campaign.begin(
            workspace.campaigns, kind, asked, plan, campaign.now(), known, notes
        )
        lock.name_holder(held, state)
        named = {who: getattr(options, who, None) for who in _PEOPLE}
        state.people |= {who: name for who, name in named.items() if name}
        runner = Runner(state, held, workspace, sys.stdout.buffer)
        times = getattr(options, "confirm", 0)
        for note in notes if started else ():
            runner.say(f"=== {note}")
        if not started:
            runner.say(f"=== {campaign.stamp(campaign.now())} goes on with {state.id}")
        try:
            runner.run()
            if conclusion.add_step(state, workspace):
                runner.run()
            given = conclusion.conclude(
                state,
                workspace,
                options.config_files,
                send=send,
                again=Repetition(times, sys.stderr, [held]) if times else None,
            )
        except Interrupted as err:
            runner.say(f"=== {state.id}: {err}; the same command goes on with it")
            return SIGNALLED + err.signal
        last = finish(state, given)
        # What is shown is what is kept: the campaign has ended when both are.
        stored.keep(workspace, state.id, given)
        summary = conclusion.summary(state, given)
        paragraph = "\n".join(wrapped("", summary, 0))
        rest = "\n".join(filter(None, (paragraph, last)))
        runner.say(
            f"\n{verdict_text(given)}\n\n{rest}",
            shown=f"\n{verdict_text(given, painter())}\n\n{rest}",
        )
        state.ended, state.status = campaign.stamp(campaign.now()), given.status
        state.summary = summary
        state.save()
        output = getattr(options, "output", None)
        written = output and protocol.path_of(output)
        runner.say(f"\n{report.after(workspace, options.config_files, written)}")
        return given.status


def _show(
    plan: Sequence[Step],
    mode: str,
    known: Mapping[str, list[SlurmNode]],
    options: argparse.Namespace,
    notes: Sequence[str] = (),
) -> int:
    for line in (*nodes.lines(known), *notes):
        print(f"nodes: {line}")
    return preview.show(plan, mode, options)

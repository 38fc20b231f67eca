"""`acceptance nightly`, `acceptance accept` and `acceptance protocol`."""

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from acceptance.campaigns import protocol, steps, verdict
from acceptance.campaigns import state as campaign
from acceptance.campaigns.runner import Runner
from acceptance.campaigns.state import Busy, CampaignFault, State
from acceptance.campaigns.steps import Step
from acceptance.cli import protocol as protocol_cli
from acceptance.cli.arguments import positive
from acceptance.core.paths import Workspace
from acceptance.core.text import wrapped
from acceptance.rfm import configuration as site
from acceptance.rfm import database
from acceptance.rfm.process import Interrupted
from acceptance.verdict import Repetition, Status, Verdict, verdict_text

#: Exit statuses beside those of the gate; a campaign that a signal stopped ends with 128 + its
#: number.
BUSY = 3
_SIGNALLED = 128

_PEOPLE = ("operator", "vendor", "customer")


class NothingToDo(Exception):
    """There is nothing to go on with, and that is no fault."""


_Say = Callable[[str], None]
_Finish = Callable[[State, Verdict, _Say], int]


def add_commands(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    config_files: Callable[[], list[Path]],
) -> None:
    """Add the subcommands."""
    command = commands.add_parser(
        "nightly",
        help="link check, benchmarks, verdict and alerts, in order",
        epilog="exit status: 0 pass, 1 failure, 2 cannot judge, 3 another one runs, 128 + N "
        "stopped by signal N; the same command goes on where the last one was stopped",
    )
    _add_common(command)
    command.add_argument("--mode", default="nightly", help="another mode than nightly")
    command.add_argument("--no-alerts", action="store_true", help="send no alerts")
    command.add_argument(
        "--confirm",
        type=positive,
        default=0,
        metavar="N",
        help="before the verdict measure again, N times, what looks worse than it was",
    )
    which = command.add_mutually_exclusive_group()
    which.add_argument("--resume", action="store_true", help="go on with a night, or do nothing")
    which.add_argument("--new", action="store_true", help="go on with nothing, start anew")
    command.set_defaults(run=lambda options: _guarded("nightly", _nightly, options, config_files()))

    command = commands.add_parser(
        "accept",
        help="measure a new cluster, all nodes of it, and write a protocol",
        epilog="exit status: as for nightly; 0 when the cluster is accepted, with or without "
        "reservations, 1 when it is rejected",
    )
    _add_common(command)
    which = command.add_mutually_exclusive_group()
    which.add_argument("--resume", action="store_true", help="go on, or fail if there is nothing")
    which.add_argument("--new", action="store_true", help="go on with nothing, start anew")
    for who in _PEOPLE:
        command.add_argument(f"--{who}", default="", metavar="NAME", help="for the protocol")
    command.add_argument("--output", type=Path, metavar="FOLDER", help="of the protocol")
    command.set_defaults(run=lambda options: _guarded("accept", _accept, options, config_files()))

    protocol_cli.add_command(commands)


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument("--system", help="another system than that of this host")
    command.add_argument("--dry-run", action="store_true", help="print the steps, run nothing")
    command.add_argument(
        "reframe", nargs="*", metavar="-- OPTION", help="of ReFrame, for the benchmarks"
    )


def _guarded(
    name: str,
    run: Callable[[argparse.Namespace, Sequence[Path]], int],
    options: argparse.Namespace,
    files: Sequence[Path],
) -> int:
    try:
        return run(options, files)
    except NothingToDo as err:
        print(f"acceptance {name}: {err}")
        return Status.PASSED
    except Busy as err:
        print(f"acceptance {name}: {err}", file=sys.stderr)
        return BUSY
    except (CampaignFault, site.SiteFault, database.ResultsFault) as err:
        print(f"acceptance {name}: {err}", file=sys.stderr)
        return Status.CANNOT_JUDGE
    except BrokenPipeError:
        raise
    except OSError as err:  # a full disk, most likely
        print(f"acceptance {name}: {err}; the same command goes on", file=sys.stderr)
        return Status.CANNOT_JUDGE
    except KeyboardInterrupt:
        print(f"acceptance {name}: stopped; the same command goes on", file=sys.stderr)
        return _SIGNALLED + signal.SIGINT


def _nightly(options: argparse.Namespace, files: Sequence[Path]) -> int:
    configuration = site.load(files)
    plan = steps.plan(
        options.mode, configuration, system=options.system, extra=tuple(options.reframe)
    )
    if options.dry_run:
        return _show(plan)
    asked = _asked(options.mode, configuration, options)

    def resumed() -> State | None:
        found = campaign.unfinished(
            options.workspace.campaigns, "nightly", asked, campaign.now(), campaign.SAME_NIGHT
        )
        if found is None and options.resume:
            raise NothingToDo("no night of these arguments was stopped")
        return found

    def finish(state: State, given: Verdict, say: _Say) -> int:
        return given.status

    send = not options.no_alerts
    return _campaign("nightly", asked, plan, resumed, finish, send, options, files)


def _accept(options: argparse.Namespace, files: Sequence[Path]) -> int:
    configuration = site.load(files)
    plan = steps.plan(
        "acceptance",
        configuration,
        system=options.system,
        everywhere=True,
        extra=tuple(options.reframe),
    )
    if options.dry_run:
        return _show(plan)
    asked = _asked("acceptance", configuration, options)
    if options.output:
        protocol.check_folder(options.output)

    def resumed() -> State | None:
        found = campaign.unfinished(options.workspace.campaigns, "accept", asked, campaign.now())
        if found is None and options.resume:
            raise CampaignFault("there is no unfinished acceptance of these arguments to resume")
        return found

    def finish(state: State, given: Verdict, say: _Say) -> int:
        data = protocol.build(state, given, options.workspace, files, state.people)
        folder = options.output or state.folder
        written = protocol.write(data, folder)
        say(protocol_cli.last_lines(data, written))
        return protocol.status(data)

    return _campaign("accept", asked, plan, resumed, finish, False, options, files)


def _asked(
    mode: str, configuration: site.Site, options: argparse.Namespace
) -> dict[str, str | list[str]]:
    """Return what a campaign must share to be gone on with; login nodes may share `var/`."""
    system = configuration.system(options.system)["name"]
    return {"mode": mode, "system": system, "reframe": options.reframe}


def _campaign(
    kind: str,
    asked: dict[str, Any],
    plan: Sequence[Step],
    resumed: Callable[[], State | None],
    finish: _Finish,
    send: bool,
    options: argparse.Namespace,
    files: Sequence[Path],
) -> int:
    """Run, judge and end a campaign under the lock; return the exit status."""
    workspace: Workspace = options.workspace
    with campaign.locked(workspace.campaigns, f"acceptance {kind}") as lock:
        state = None if options.new else resumed()
        started = state is None
        state = state or campaign.begin(workspace.campaigns, kind, asked, plan, campaign.now())
        named = {who: getattr(options, who, "") for who in _PEOPLE}
        state.people |= {who: name for who, name in named.items() if name}
        runner = Runner(state, lock, workspace, sys.stdout.buffer)
        times = getattr(options, "confirm", 0)
        if not started:
            runner.say(f"=== {campaign.stamp(campaign.now())} goes on with {state.id}")
        try:
            runner.run()
            given = verdict.conclude(
                state,
                workspace,
                files,
                send=send,
                again=Repetition(times, sys.stderr, [lock]) if times else None,
            )
        except Interrupted as err:
            runner.say(f"=== {state.id}: {err}; the same command goes on with it")
            return _SIGNALLED + err.signal
        given.notes += state.notes
        summary = verdict.summary(state, given)
        paragraph = "\n".join(wrapped("", summary, 0))
        runner.say(f"\n{verdict_text(given)}\n\n{paragraph}")
        status = finish(state, given, runner.say)
        state.ended, state.status, state.summary = campaign.stamp(campaign.now()), status, summary
        state.save()
        return status


def _show(plan: Sequence[Step]) -> int:
    for step in plan:
        words = " ".join(("reframe", *step.arguments))
        print(f"{step.name}: {f'not run: {step.reason}' if step.reason else words}")
    print("verdict")
    return 0

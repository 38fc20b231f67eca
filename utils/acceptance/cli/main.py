"""The command `acceptance`."""

import argparse
import csv
import json
import os
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path

from acceptance import references
from acceptance.cli import (
    alerts,
    baseline,
    guidelines,
    history,
    hpcc_balance,
    init_site,
    limits,
)
from acceptance.cli import (
    campaigns as campaign_cli,
)
from acceptance.cli import (
    claims as claims_cli,
)
from acceptance.cli.arguments import positive
from acceptance.cli.coverage import coverage, covers
from acceptance.core.paths import ROOT, Workspace
from acceptance.core.table import table
from acceptance.references import tables
from acceptance.rfm import configuration as site
from acceptance.rfm import database as results
from acceptance.rfm.process import Interrupted
from acceptance.site import doctor
from acceptance.software import Spack, SpackFault, clone_spack, compose_environment, fill_mirror
from acceptance.suites import SUITES
from acceptance.verdict import Repetition, Status, conclude, junit, verdict_text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; the exit status is that of the process."""
    for stream in (sys.stdout, sys.stderr):  # a terminal need not know all letters of a name
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    options.workspace = Workspace.of()
    status = 1
    try:
        status = options.run(options)
        print(end="", flush=True)  # what is left must not fail after this
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("acceptance: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    except Interrupted as err:
        print(f"acceptance: {err}", file=sys.stderr)
        return 128 + err.signal
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="acceptance", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser(
        "gate",
        help="judge the run that ended last",
        epilog="exit status: 0 pass; 1 failure, or a metric became worse; 2 cannot judge",
    )
    command.add_argument("--run", dest="run_id", help="the run with --session-extras run=ID")
    command.add_argument("--session", help="UUID of a stored session instead of the last run")
    command.add_argument(
        "--db",
        type=Path,
        help="another results database of ReFrame: its last session, and the history of all",
    )
    command.add_argument("--send", action="store_true", help="send alerts that are new, or ended")
    command.add_argument(
        "--confirm",
        type=positive,
        default=0,
        metavar="N",
        help="first measure again, N times, what looks worse than it was",
    )
    command.add_argument("--format", choices=("text", "json", "junit"), default="text")
    command.set_defaults(run=_gate)

    command = commands.add_parser("doctor", help="what this machine can run, what is missing")
    command.add_argument("--system", help="another system than that of this host")
    command.add_argument("--format", choices=("text", "json"), default="text")
    command.set_defaults(run=_doctor)

    command = commands.add_parser("init-site", help="write a first configuration of a new site")
    init_site.add_arguments(command)
    command.set_defaults(run=lambda options: init_site.run(options, _config_files()))

    command = commands.add_parser("references", help="published values and baselines")
    command.add_argument("--paper", help="only those of a paper, by its key")
    command.add_argument("--partition", help="only those of a partition, system:partition")
    command.add_argument("--benchmark", help="only those of suite.program, or of a whole suite")
    command.add_argument("--coverage", action="store_true", help="which check produces each metric")
    command.add_argument("--format", choices=("table", "csv", "json"), default="table")
    command.set_defaults(run=_references)

    command = commands.add_parser("limits", help="what the fabrics can do at most, and why")
    limits.add_arguments(command)
    command.set_defaults(run=lambda options: limits.run(options, _config_files()))

    command = commands.add_parser("claims", help="which stated relations hold in the results")
    claims_cli.add_arguments(command)
    command.set_defaults(run=lambda options: claims_cli.run(options, _config_files()))

    command = commands.add_parser("guidelines", help="what in a session no sound MPI does")
    guidelines.add_arguments(command)
    command.set_defaults(run=lambda options: guidelines.run(options, _config_files()))

    command = commands.add_parser("history", help="series of metrics, and when they changed")
    history.add_arguments(command)
    command.set_defaults(run=history.run)

    command = commands.add_parser("baseline", help="make reference/sites/<system>.csv of results")
    baseline.add_arguments(command)
    command.set_defaults(run=baseline.run)

    command = commands.add_parser("hpcc-balance", help="HPCC's tests per flop of HPL, for plots")
    command.add_argument("--system", help="only this system")
    command.add_argument("--db", type=Path, help="another results database")
    command.add_argument("--format", choices=("table", "csv", "json"), default="table")
    command.set_defaults(run=_hpcc_balance)

    command = commands.add_parser("spack", help="get the pinned Spack, unless there is one")
    command.set_defaults(run=_spack)

    command = commands.add_parser("spack-env", help="the spack.yaml that builds a suite")
    command.add_argument("suite")
    command.add_argument("mpi")
    command.add_argument("--system", default="local")
    command.set_defaults(run=_spack_env)

    command = commands.add_parser("mirror", help="make a mirror for machines without a network")
    command.add_argument("destination", type=Path)
    command.add_argument("--suite", action="append", help="only this suite; may be repeated")
    command.add_argument("--system", help="another system than that of this host")
    command.set_defaults(run=_mirror)

    alerts.add_commands(commands, _config_files)
    campaign_cli.add_commands(commands, _config_files)
    return parser


def _config_files() -> list[Path]:
    named = os.environ.get("RFM_CONFIG_FILES", "")
    return [Path(name) for name in named.split(":") if name] or [ROOT / "config/settings.py"]


def _gate(options: argparse.Namespace) -> int:
    database = options.db
    elsewhere = "--db" if options.db else "--session" if options.session else ""
    for name, value in (("--run", options.run_id), ("--confirm", options.confirm)):
        if elsewhere and value:
            print(
                f"acceptance gate: {name} is of this clone's runs, not for {elsewhere}",
                file=sys.stderr,
            )
            return Status.CANNOT_JUDGE
    if options.session and not database:
        database = options.workspace.results
    given = conclude(
        options.workspace,
        [options.run_id] if options.run_id else [],
        database=database,
        session=options.session,
        config_files=_config_files(),
        send=options.send,
        again=Repetition(options.confirm, sys.stderr) if options.confirm else None,
    )
    if options.format == "json":
        print(json.dumps(given.as_data(), indent=2))
    elif options.format == "junit":
        print(junit(given))
    else:
        print(verdict_text(given))
    return given.status


def _doctor(options: argparse.Namespace) -> int:
    findings = doctor.examine(options.workspace, _config_files(), options.system)
    if options.format == "json":
        print(json.dumps([vars(finding) for finding in findings], indent=2))
    else:
        rows = [(f.what, f.state, f.found, f.remedy) for f in findings]
        print(table(("what", "state", "found", "what to do"), rows))
    return int(any(finding.state == doctor.BROKEN for finding in findings))


def _references(options: argparse.Namespace) -> int:
    try:
        library = references.load(options.workspace.reference)
        rows = tables.select(library, options.paper, options.partition, options.benchmark)
    except (references.ReferenceFault, ValueError) as err:
        print(f"acceptance references: {err}", file=sys.stderr)
        return 1
    covered = coverage(rows)
    if options.format == "csv" and not options.coverage:
        print(tables.as_csv(rows), end="")
        return 0
    if options.format == "json":
        data = [
            {**tables.fields(row), "value": row.value, "source": row.source, "check": check}
            for row, check in covered
        ]
        print(json.dumps(data, indent=2, ensure_ascii=False))
        return 0
    header = ["partition", *tables.SHORT_COLUMNS, *(["check"] if options.coverage else [])]
    lines = [
        [
            f"{row.system}:{row.partition}",
            *(tables.fields(row)[name] for name in tables.SHORT_COLUMNS),
            *([check or "none yet"] if options.coverage else []),
        ]
        for row, check in covered
    ]
    if options.format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerows([header, *lines])
        return 0
    print(table(header, lines))
    if options.coverage:
        produced = sum(check is not None for _, check in covered)
        print(f"\n{produced} of {len(covered)} rows have a check that produces their metric")
        claims = [claim for claim in library.claims if options.paper in (None, claim.paper)]
        both = sum(map(covers, claims))
        print(f"{both} of {len(claims)} claims have checks that produce both of their sides")
    return 0


def _hpcc_balance(options: argparse.Namespace) -> int:
    db = options.db or options.workspace.results
    try:
        library = references.load(options.workspace.reference)
        sessions = list(results.sessions(db)) if db.exists() else []
    except (references.ReferenceFault, results.ResultsFault) as err:
        print(f"acceptance hpcc-balance: {err}", file=sys.stderr)
        return 1
    found = hpcc_balance.points(sessions, library, options.system)
    for problem in hpcc_balance.problems(found, db, options.system):
        print(f"acceptance hpcc-balance: {problem}", file=sys.stderr)
    if options.format == "json":
        print(json.dumps(hpcc_balance.as_data(found), indent=2))
    elif options.format == "csv":
        print(hpcc_balance.as_csv(found), end="")
    else:
        rows = [
            [
                format(value, ".4g") if isinstance(value, float) else "" if value is None else value
                for value in row.values()
            ]
            for row in hpcc_balance.as_data(found)
        ]
        print(table(hpcc_balance.COLUMNS, rows))
    return 0


def _spack(options: argparse.Namespace) -> int:
    workspace: Workspace = options.workspace
    found = Spack.find(workspace)
    if found is not None:
        print(f"spack: {found.root} is there ({found.identity()['spack']}); it will be used")
        return 0
    try:
        print(f"spack: {clone_spack(workspace.spack)} in {workspace.spack}")
    except SpackFault as err:
        print(f"spack: {err}", file=sys.stderr)
        return 1
    return 0


def _found_spack(workspace: Workspace) -> Spack:
    found = Spack.find(workspace)
    if found is None:
        raise SpackFault("there is no Spack; get one with: make spack")
    return found


def _spack_env(options: argparse.Namespace) -> int:
    try:
        print(
            compose_environment(
                options.suite, options.system, options.mpi, _found_spack(options.workspace)
            ),
            end="",
        )
    except SpackFault as err:
        print(f"acceptance spack-env: {err}", file=sys.stderr)
        return 1
    return 0


def _mirror(options: argparse.Namespace) -> int:
    status = 0
    try:
        found = _found_spack(options.workspace)
        configuration = site.load(_config_files())
        system = configuration.system(options.system)
        for suite, mpi in configuration.spack_builds(system, options.suite or SUITES):
            try:
                has = fill_mirror(options.destination, suite, system["name"], mpi, found)
                print(f"{suite} with {mpi}: {has}")
            except SpackFault as err:
                print(f"acceptance mirror: {err}", file=sys.stderr)
                status = 1
    except (SpackFault, site.SiteFault) as err:
        print(f"acceptance mirror: {err}", file=sys.stderr)
        return 1
    return status

"""`acceptance init-site`: a first configuration of a new site."""

import argparse
import shlex
from collections.abc import Mapping
from pathlib import Path

from acceptance.cli.shared import Commands, add_command, near, option, positive
from acceptance.core.extras import ALL
from acceptance.core.paths import INSTALLED, Workspace
from acceptance.core.text import plural
from acceptance.fabric import FabricFault, Facts
from acceptance.machine import NODES
from acceptance.site import Fabric, init
from acceptance.site.init import Plan
from acceptance.verdict import Status


def add(commands: Commands) -> None:
    """Add the subcommand."""
    command = add_command(commands, "init-site", run)
    option(command, "name", "name of the system: letters, digits, - and _")
    meaning = "only this one of Slurm; may be repeated"
    option(command, "--partition NAME", meaning, action="append", default=[])
    option(
        command,
        "--nodes NODES",
        f"maximum number of nodes per partition, or all (default: {NODES})",
        type=lambda text: ALL if text == ALL else positive(text),
        default=NODES,
    )
    option(command, "--like SYSTEM", "copy this system, as koop2008, to be edited; ask nobody")
    option(command, "--local", "this machine alone, without Slurm")
    option(command, "--force", "write files anew that are there")
    option(command, "--dry-run", "print the files, write nothing")


def run(options: argparse.Namespace) -> int:
    """Write a first configuration of a new site.

    It asks Slurm and the nodes, and writes config/systems/NAME.py, in ACCEPTANCE_SYSTEMS or the
    clone, and the files for Spack. What nobody could tell is marked to be filled in.
    """
    workspace: Workspace = options.workspace
    asked = Plan(
        workspace=workspace,
        name=options.name,
        command=_command(options),
        partitions=tuple(options.partition),
        nodes=options.nodes,
        force=options.force or options.dry_run,
        local=options.local,
    )
    plan: Plan | None = None
    if options.like:
        files = init.copy_system(asked, options.like)
    else:
        plan, files = init.prepare_system(asked)
    if options.dry_run:
        for path, text in files.items():
            print(f"# {path}\n{text}")
        return Status.PASSED
    init.write(files)
    if plan:
        print("\n".join([*_summary(plan, files), "", *_next(plan)]))
    else:
        for path in files:
            print(f"written    {near(path)}, like {options.like}: edit it")
    return Status.PASSED


def _command(options: argparse.Namespace) -> str:
    words = ["acceptance", "init-site", options.name]
    words += [word for name in options.partition for word in ("--partition", name)]
    words += ["--nodes", str(options.nodes)] * (options.nodes != NODES)
    words += ["--local"] * options.local
    return shlex.join(words)


def _summary(plan: Plan, files: Mapping[Path, str]) -> list[str]:
    rows = [("system", f"{plan.name}: {plan.descr}")]
    if plan.cluster:
        version = plan.cluster.config.get("SLURM_VERSION", "")
        rows.append(("Slurm", f"{version}, scheduler {plan.cluster.scheduler}"))
    else:
        rows.append(("no Slurm", plan.alone))
    for kind in plan.kinds:
        text = f"{kind.name}: {plural(len(kind.nodes), 'node')} of {plural(kind.cores, 'core')}, "
        text += _text(kind.fabric)
        if kind.fabric.fault:
            text += f", as this machine has it, for no job looked ({kind.fabric.fault})"
        rows.append(("partition", text))
    rows += [("left out", reason) for reason in plan.left_out]
    if plan.search.module_system:
        rows.append(("modules", plan.search.module_system.title))
    rows += [("MPI", f"{m.name} {m.version}: {m.origin}") for m in plan.search.mpis]
    rows += [("not used", other) for other in plan.search.others]
    if plan.shared is False:
        rows.append(("PROBLEM", "the nodes do not see this folder; move the clone to a shared one"))
    rows += [("written", near(path)) for path in files]
    rows += [
        ("fill in", f"{near(path)}:{line}: {what}") for path, line, what in init.to_fill_in(files)
    ]
    return [f"{title:<10} {text}" for title, text in rows]


def _text(fabric: Fabric) -> str:
    try:
        facts = Facts.read(fabric.facts)
    except FabricFault:
        return "fabric not known"
    return f"{facts.text} {f'({facts.device})' if facts.device else ''}".strip()


def _next(plan: Plan) -> list[str]:
    """Return the commands that follow."""
    name, workspace, checks = plan.name, plan.workspace, "checks"
    lines = ["next:"]
    # Spack would build for some minutes; the wheels are there.
    wheels = "-p wheels " if (workspace.wheels / "bin").is_dir() else ""
    if INSTALLED:
        settings = workspace.root / "config/settings.py"
        lines.append(f"  export RFM_CONFIG_FILES={shlex.quote(str(settings))}")
        checks = '"$(acceptance doctor --where checks)"'
    return [
        *lines,
        f"  acceptance doctor --system {name}",
        f"  reframe --system {name} -c {checks} -r {wheels}-n 'LinkCheck|PingPong'",
        "  acceptance gate",
    ]

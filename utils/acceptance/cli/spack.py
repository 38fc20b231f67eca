"""`acceptance spack get`: what builds suites."""

import argparse
import os
from pathlib import Path

from acceptance.cli.shared import SYSTEM, Commands, add_command, add_verbs, option, warn
from acceptance.core.errors import Fault
from acceptance.core.paths import GET_SPACK, Workspace
from acceptance.core.text import there_are
from acceptance.machine import (
    BUILD,
    Spack,
    clone_spack,
    compose_environment,
    fill_mirror,
    spack_suites,
)
from acceptance.rfm import configuration
from acceptance.verdict import Status


def add(commands: Commands) -> None:
    """Add the subcommand."""
    summary = "Get Spack, show the environment of a suite, or fill a mirror."
    verbs = add_verbs(add_command(commands, "spack", run, summary=summary), required=True)
    add_command(verbs, "get", run)
    command = add_command(verbs, "env", _environment)
    option(command, "suite")
    option(command, "mpi")
    option(command, *SYSTEM, default="local")
    command = add_command(verbs, "mirror", _mirror, failed="a suite that could not be mirrored")
    option(command, "destination", type=Path)
    meaning = "only this suite; may be repeated"
    option(command, "--suite SUITE", meaning, action="append")
    option(command, *SYSTEM)


def run(options: argparse.Namespace) -> int:
    """Clone the release of Spack, and its recipes, that the project was tried with.

    Where there is a Spack it is used, and nothing cloned.
    """
    workspace: Workspace = options.workspace
    spack = Spack.find(workspace)
    if spack is None:
        print(f"spack: {clone_spack(workspace.spack)} in {workspace.spack}")
    else:
        print(f"spack: {spack.root} is there ({spack.identity()['spack']}); it will be used")
    return Status.PASSED


def _spack(workspace: Workspace) -> Spack:
    spack = Spack.find(workspace)
    if spack is None:
        raise Fault(f"there is no Spack; get one with: {GET_SPACK}")
    return spack


def _environment(options: argparse.Namespace) -> int:
    """Print the environment of Spack that builds a suite."""
    spack = _spack(options.workspace)
    print(compose_environment(options.suite, options.system, options.mpi, spack), end="")
    return Status.PASSED


def _mirror(options: argparse.Namespace) -> int:
    """Download the sources of all suites of a system, for machines without a network."""
    known = spack_suites(options.workspace)
    suites = options.suite or known
    for name in {*suites} - {*known}:
        raise Fault(f"no suite {name!r}; {there_are(name, known)}")
    os.environ[BUILD] = ",".join(suites)  # also of `local`, built or not
    site = configuration.load(options.config_files)
    system = site.system(options.system)
    builds, status = site.spack_builds(system, suites), Status.PASSED
    if not builds:
        raise Fault(f"Spack builds none of {', '.join(suites)} for {system['name']}")
    spack = _spack(options.workspace)
    for suite, mpi in builds:
        try:
            mirrored = fill_mirror(options.destination, suite, system["name"], mpi, spack)
            print(f"{suite} with {mpi}: {mirrored}")
        except Fault as err:
            warn(options, err)
            status = Status.FAILED
    return status

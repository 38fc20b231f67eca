"""Spack: which one this machine has, how to run it, and what it says of itself.

Facts about Spack in this package were established with 1.1 and 1.2 and packages v2026.03.0.
"""

import contextlib
import itertools
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from acceptance.core import process
from acceptance.core.errors import Fault
from acceptance.core.paths import Workspace

#: A line of a build's log that Spack takes for an error, and how a broken line goes on.
_MARKED, _GOES_ON = re.compile(r"  >> \d+ +(?P<text>.*)"), re.compile(" {12}")


class SpackFault(Fault):
    """Something about Spack that the reader has to fix: what, where and how."""


@dataclass(frozen=True)
class Spack:
    """A Spack: the root of its clone, and the package repository to use with it.

    What it builds, its caches and the environments are in the workspace, and outlive a run.
    Without a package repository Spack gets its own, from the network.
    """

    root: Path
    packages: Path | None
    workspace: Workspace

    @property
    def home(self) -> Path:
        """Return the folder of environments, installed trees and caches."""
        return self.workspace.spack

    @property
    def program(self) -> Path:
        """Return the command `spack`."""
        return self.root / "bin/spack"

    def environment(self) -> dict[str, str]:
        """Return the environment variables that keep this Spack apart from the user's own."""
        return {
            "SPACK_USER_CONFIG_PATH": str(self.home / "config"),
            "SPACK_SYSTEM_CONFIG_PATH": str(self.home / "system"),
            "SPACK_USER_CACHE_PATH": str(self.home / "cache"),
            # It needs clingo, which this environment has from its lock file.
            "SPACK_PYTHON": os.environ.get("SPACK_PYTHON") or sys.executable,
        }

    def run(self, *arguments: str, timeout: float = 3600) -> process.Done:
        """Run a command of Spack for at most `timeout` s; the caller judges how it ended."""
        return process.run(
            [str(self.program), *arguments], timeout, env={**os.environ, **self.environment()}
        )

    def identity(self) -> dict[str, str]:
        """Return the version and commit of Spack, and the commit of the package repository.

        Reads files only, since starting Spack costs a second. An empty commit: no git clone.
        """
        text = read_text(self.root / "lib/spack/spack/__init__.py")
        version = re.search(r'^__version__ = "(.+)"', text, re.MULTILINE)
        return {
            "spack": version[1] if version else "unknown",
            "spack_commit": commit(self.root),
            "packages_commit": commit(self.packages) if self.packages else "",
        }

    @classmethod
    def find(
        cls, workspace: Workspace, environ: Mapping[str, str] = os.environ, home: Path | None = None
    ) -> "Spack | None":
        """Find a Spack: SPACK_ROOT, `spack` on PATH, what `make spack` cloned, `~/spack`.

        The package repository is SPACK_PACKAGES, or a clone beside Spack's: `packages`, or
        `spack-packages`.
        """
        on_path = shutil.which("spack", path=environ.get("PATH"))
        for root in (
            environ.get("SPACK_ROOT"),
            Path(on_path).resolve().parent.parent if on_path else None,
            workspace.spack / "spack",
            (home or Path.home()) / "spack",
        ):
            if root and (Path(root) / "bin/spack").is_file():
                return cls(Path(root), _packages(Path(root), environ), workspace)
        return None


def _packages(root: Path, environ: Mapping[str, str]) -> Path | None:
    named = environ.get("SPACK_PACKAGES")
    candidates = (
        [Path(named)]
        if named
        else [root.parent / "packages", root.parent / f"{root.name}-packages"]
    )
    for folder in candidates:
        if (folder / "repos/spack_repo/builtin/repo.yaml").is_file():
            return folder
    return None


def complaint(output: str) -> str:
    """Return what Spack says went wrong, in one line; empty when it says nothing.

    Of a build that failed it is the first error of its log: the compiler's, most likely.
    """
    if error := _first_of_build_log(output.splitlines()):
        return error[:300]
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if "Error:" in line:
            # The line after the first often holds the reason.
            parts = [line.split("Error:", 1)[1].strip(), *lines[number + 1 : number + 2]]
            return " ".join(parts)[:300]
    return lines[-1][:300] if lines else ""


def _first_of_build_log(lines: Sequence[str]) -> str:
    """Return the first error that Spack shows of the log of a build; empty where it shows none.

    Spack marks such lines (`  >> 67     text`), and goes on with a line that is too long in the
    next one, at its 13th column.
    """
    for number, line in enumerate(lines):
        if match := _MARKED.match(line):
            rest = itertools.takewhile(_GOES_ON.match, lines[number + 1 :])
            return match["text"] + "".join(more[12:] for more in rest)
    return ""


def read_text(path: Path) -> str:
    """Return the text of a file; empty where it cannot be read."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8")
    return ""


def read_yaml(path: Path) -> dict[str, Any]:
    """Return the table of a YAML file; raises SpackFault where it holds none."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as err:
        raise SpackFault(f"{path}: cannot be read: {err}") from None
    if not isinstance(data, dict):
        raise SpackFault(f"{path}: holds no table")
    return data


def commit(folder: Path) -> str:
    """Return the commit of a git clone; empty for any other folder."""
    git = ["git", "-c", "safe.directory=*", "-C", str(folder), "rev-parse", "HEAD"]
    return process.run(git, timeout=60).out.strip()

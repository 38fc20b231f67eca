"""Which release of this project runs."""

import importlib.metadata
from pathlib import Path

from acceptance.core import process


def version() -> str:
    """Return the version of the installed distribution."""
    return importlib.metadata.version("interconnect-acceptance")


def commit(root: Path) -> str:
    """Return the commit of a clone, `-dirty` where files differ from it; empty: no clone of git."""
    done = process.run(["git", "describe", "--always", "--dirty", "--tags"], 30, folder=root)
    return "" if done.fault else done.out.strip()

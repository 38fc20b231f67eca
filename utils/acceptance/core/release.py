"""Which release of this project runs, and with which releases of ReFrame it does."""

import importlib.metadata
import re
from pathlib import Path

from acceptance.core import process

_NAME = "interconnect-acceptance"


def version() -> str:
    """Return the version of the installed distribution."""
    return importlib.metadata.version(_NAME)


def supported_reframe() -> tuple[str, str]:
    """Return the oldest release of ReFrame that is supported, and the first that no longer is.

    They are stated in one place, the requirements of the distribution (pyproject.toml).
    """
    required = " ".join(importlib.metadata.requires(_NAME) or [])
    stated = re.search(r"reframe-hpc(\S+)", required)
    bounds = dict(re.findall(r"(>=|<)([\d.]+)", stated[1])) if stated else {}
    return bounds[">="], bounds["<"]


def unsupported_reframe(installed: str, *, too_old: bool = False) -> str:
    """Return why a release of ReFrame is not supported, empty if it is; `too_old`: only that."""
    oldest, first = supported_reframe()
    if _numbers(oldest) <= _numbers(installed) and (
        too_old or _numbers(installed) < _numbers(first)
    ):
        return ""
    return f"ReFrame {installed} is not supported: it must be at least {oldest}, and before {first}"


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", release)[:3]))


def commit(root: Path) -> str:
    """Return the commit of a clone, `-dirty` where files differ from it; empty: no clone of git.

    A folder that is inside a clone of something else has none.
    """
    if not (root / ".git").exists():
        return ""
    done = process.run(["git", "describe", "--always", "--dirty", "--tags"], 30, folder=root)
    return "" if done.fault else done.out.strip()
